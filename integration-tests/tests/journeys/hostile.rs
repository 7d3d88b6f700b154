//! Hostile objects of every kind come to a cluster in which two others are served, by a fleet of every HAProxy: their answers do
//! not change by a byte, and who is held back is named with a reason.

use integration_tests::{
    Failure, Outcome, Scene, certificate, ensure, eventually_within,
    haproxy_pod::HaproxyPod,
    hostile::{Field, Tenant, payloads},
    http, manifest,
    program::HaproxySeries,
};
use serde_json::Value;
use std::{net::Ipv4Addr, time::Duration};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};

const TENANTS: [&str; 2] = ["tenant-a", "tenant-b"];
/// Each field is hostile in so many ways here; in all ways in the tests of the libraries, without a cluster.
const WAYS: usize = 3;
/// What HAProxy's checker alone finds is found step by step.
const CALM_WITHIN: Duration = Duration::from_secs(180);

/// All that is asked again and again.
const PATHS: [&str; 5] = ["/", "/exact", "/prefix/x", "/other?x=y", "/%22%27%0a"];

pub async fn objects(scene: Scene) -> Outcome {
    let evil = scene.another_namespace("evil").await?;
    let configuration = scene.configuration()?.watching(&[&scene.namespace, &evil]);
    scene.configure_with(&configuration.manifest).await?;
    let mut pods = Vec::new();
    for series in [HaproxySeries::V3_4, HaproxySeries::V3_2, HaproxySeries::V3_0] {
        pods.push(scene.pod_of(series).await?);
    }
    let controller = scene.ready_controller().await?;
    let mut backends = Vec::new();
    for name in TENANTS {
        let backend = scene.backend(name).await?;
        let host = host(name);
        let certificate = certificate::for_host(&host)?;
        scene.apply(&manifest::tls_secret(name, &certificate)).await?;
        scene.publish(name, &host, &backend).await?;
        scene.apply(&manifest::tls_ingress(name, &host, name, name)).await?;
        for pod in &pods {
            pod.serves_tls(&host, name, &certificate.der).await?;
        }
        backends.push(backend);
    }
    let mut witness = Witness::of(&pods).await?;
    let backend = scene.backend("evil").await?;
    let accepted = attack(&scene, &evil, backend.address, &mut witness).await?;
    ensure(accepted > 100, format!("the API server took only {accepted} hostile objects"))?;
    let after = scene.backend("after").await?;
    scene.publish("after", "after.example", &after).await?;
    eventually_within(CALM_WITHIN, "a change behind all of them is live", async || {
        witness.look().await?;
        for pod in &pods {
            pod.get("after.example", "/").await?.is_from("after")?;
        }
        Ok(())
    })
    .await?;
    eventually_within(CALM_WITHIN, "what each pod runs has passed all checks", async || {
        witness.look().await?;
        for pod in &pods {
            pod.has_stored_what_it_runs().await?;
        }
        Ok(())
    })
    .await?;
    let shown = http::get((controller.address, 6060).into(), "debug", "/debug/quarantine").await?;
    let shown: Value = serde_json::from_str(&shown.body)?;
    let held = shown["objects"].as_array().cloned().unwrap_or_default();
    ensure(held.len() > 30, format!("only {} of {accepted} are held back: {shown}", held.len()))?;
    for one in held {
        let (object, sentence) = (one["object"].as_str(), one["sentence"].as_str().unwrap_or_default());
        let named = object.is_some_and(|object| object.contains(&evil) && sentence.contains(object));
        ensure(named && !sentence.contains("internal error"), format!("{one}"))?;
    }
    witness.saw_no_change().await
}

/// Asks for others, again and again, and remembers what was another answer than at first.
struct Witness<'p> {
    pods: &'p [HaproxyPod],
    first: Vec<String>,
    change: Option<String>,
}

impl<'p> Witness<'p> {
    async fn of(pods: &'p [HaproxyPod]) -> Outcome<Self> {
        Ok(Self { pods, first: answers(pods).await?, change: None })
    }

    async fn look(&mut self) -> Outcome {
        let now = answers(self.pods).await?;
        let change = now.into_iter().zip(&self.first).find(|(now, first)| now != *first);
        self.change = self.change.take().or(change.map(|(now, first)| format!("{first:?} became {now:?}")));
        Ok(())
    }

    async fn saw_no_change(mut self) -> Outcome {
        self.look().await?;
        self.change.map_or(Ok(()), |change| Err(Failure::new(change)))
    }
}

/// Writes hostile objects; how many the API server takes. Others are asked meanwhile.
async fn attack(scene: &Scene, evil: &str, address: Ipv4Addr, witness: &mut Witness<'_>) -> Outcome<usize> {
    let certificate = certificate::for_host("evil.example")?;
    let tenant = Tenant::new(evil, "evil.example", &certificate.pem, &certificate.key)?
        .renamed("127.0.9.1", &address.to_string());
    for object in &tenant.objects {
        scene.cluster.apply(evil, &as_written(object, "")).await.ok();
    }
    let payloads = payloads()?;
    let mut accepted = 0;
    for (number, field) in tenant.fields()?.iter().filter(|field| is_written(field)).enumerate() {
        for way in 0..WAYS {
            let payload = payloads.get((number * WAYS + way) % payloads.len());
            let payload = payload.ok_or_else(|| Failure::new("there are no payloads"))?;
            // Once behind what is right: some texts are taken in their shape only.
            let hostile = if way == number % WAYS {
                tenant.with_behind(field, &payload.text)
            } else {
                tenant.with(field, &payload.text)
            };
            let object = as_written(&hostile.objects[field.object()], &format!("-{number}-{way}"));
            accepted += usize::from(scene.cluster.apply(evil, &object).await.is_ok());
        }
        if number % 16 == 0 {
            witness.look().await?;
        }
    }
    Ok(accepted)
}

/// Of metadata a user writes names, labels and annotations.
fn is_written(field: &Field) -> bool {
    let metadata = field.pointer().strip_prefix("/metadata/");
    metadata.is_none_or(|rest| rest.starts_with("annotations") || rest.starts_with("labels"))
        && !field.pointer().starts_with("/status")
}

fn as_written(object: &Value, suffix: &str) -> Value {
    let mut object = object.clone();
    let name = format!("{}{suffix}", object["metadata"]["name"].as_str().unwrap_or_default());
    if let Some(metadata) = object["metadata"].as_object_mut() {
        metadata.retain(|field, _| ["namespace", "labels", "annotations"].contains(&field.as_str()));
        metadata.insert("name".into(), name.into());
    }
    object
}

fn host(tenant: &str) -> String {
    format!("{tenant}.example")
}

/// Every byte that others are answered with.
async fn answers(pods: &[HaproxyPod]) -> Outcome<Vec<String>> {
    let mut all = Vec::new();
    for (pod, tenant) in pods.iter().flat_map(|pod| TENANTS.map(|tenant| (pod, tenant))) {
        for path in PATHS {
            all.push(raw(pod, &host(tenant), path).await?);
        }
        let tls = http::get_tls(pod.https(), &host(tenant), "/").await?;
        all.push(format!("{} {} {:?}", tls.status, tls.body, tls.certificate));
    }
    Ok(all)
}

/// Head and body of one answer, as they come.
async fn raw(pod: &HaproxyPod, host: &str, path: &str) -> Outcome<String> {
    let mut connection = TcpStream::connect(pod.http()).await?;
    let request =
        format!("GET {path} HTTP/1.1\r\nHost: {host}\r\nX-Request-Id: 1\r\nConnection: close\r\n\r\n");
    connection.write_all(request.as_bytes()).await?;
    let mut answer = Vec::new();
    connection.read_to_end(&mut answer).await?;
    Ok(String::from_utf8_lossy(&answer).into_owned())
}
