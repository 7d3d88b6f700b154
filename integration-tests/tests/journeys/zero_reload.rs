//! What happens daily in a cluster, on HAProxy 3.4, without a reload.

use base64::{Engine, engine::general_purpose::STANDARD};
use integration_tests::{
    Outcome, Scene, certificate, ensure,
    haproxy_pod::{AGENT_PORT, HaproxyPod},
    manifest,
};
use serde_json::Value;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

const HOST: &str = "shop.example";
const TLS_HOST: &str = "secure.example";

pub async fn everyday_changes(scene: Scene) -> Outcome {
    let (pod, _controller) = scene.running().await?;
    let [a, b] = [scene.backend("a").await?, scene.backend("b").await?];
    scene.publish("shop", HOST, &a).await?;
    pod.serves(HOST, "a").await?;
    let traffic = pod.traffic(HOST);
    traffic.answers(20).await?;
    let before = worker(&scene, &pod).await?;

    scene.publish("blog", "blog.example", &b).await?;
    pod.serves("blog.example", "b").await?;

    scene.delete(&manifest::ingress("blog", "blog.example", "blog")).await?;
    pod.answers("blog.example", 404).await?;
    scene.delete(&manifest::service("blog")).await?;
    scene.publish("blog", "blog.example", &b).await?;
    pod.serves("blog.example", "b").await?;

    let [first, second] = [certificate::for_host(TLS_HOST)?, certificate::for_host(TLS_HOST)?];
    scene.publish("secure", TLS_HOST, &b).await?;
    scene.apply(&manifest::tls_secret("secure-tls", &first)).await?;
    scene.apply(&manifest::tls_ingress("secure", TLS_HOST, "secure", "secure-tls")).await?;
    pod.serves_tls(TLS_HOST, "b", &first.der).await?;
    scene.apply(&manifest::tls_secret("secure-tls", &second)).await?;
    pod.serves_tls(TLS_HOST, "b", &second.der).await?;
    scene.delete(&manifest::tls_ingress("secure", TLS_HOST, "secure", "secure-tls")).await?;
    pod.answers(TLS_HOST, 404).await?;

    traffic.answers(20).await?;
    traffic.finish_without_loss().await?;
    let after = worker(&scene, &pod).await?;
    ensure(before == after, format!("HAProxy reloaded: pid and reloads were {before:?} and are {after:?}"))
}

/// The worker's pid and the count of reloads, as the agent tells them.
async fn worker(scene: &Scene, pod: &HaproxyPod) -> Outcome<(Value, Value)> {
    let credentials = STANDARD.encode(format!("{}:{}", scene.credentials.0, scene.credentials.1));
    let mut agent = TcpStream::connect((pod.address, AGENT_PORT)).await?;
    let request = format!(
        "GET /v1/status HTTP/1.1\r\nHost: agent\r\nAuthorization: Basic {credentials}\r\nConnection: close\r\n\r\n"
    );
    agent.write_all(request.as_bytes()).await?;
    let mut answer = String::new();
    agent.read_to_string(&mut answer).await?;
    let body = answer.split_once("\r\n\r\n").map(|(_, body)| body).unwrap_or_default();
    let status: Value = serde_json::from_str(body)?;
    ensure(status["workerPid"].is_u64(), format!("the agent answers {answer}"))?;
    Ok((status["workerPid"].clone(), status["reloads"].clone()))
}
