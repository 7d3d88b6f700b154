//! The steps of the tour, each with what it changes and what must be seen.

use crate::stage::{HTTP, HTTPS, Stage, write_certificate};
use integration_tests::failure::{Failure, Outcome, ensure};
use std::{
    fs,
    time::{Duration, Instant},
};

const BLOG: &str = "
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: blog, namespace: default}
spec:
  rules:
    - host: blog.localhost
      http:
        paths:
          - {path: /, pathType: Prefix, backend: {service: {name: blog, port: {number: 80}}}}
---
apiVersion: v1
kind: Service
metadata: {name: blog, namespace: default}
spec: {ports: [{name: http, port: 80}]}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: blog-1, namespace: default, labels: {kubernetes.io/service-name: blog}}
addressType: IPv4
ports: [{name: http, port: 8080}]
endpoints: [{addresses: [127.0.0.14]}]
";

/// Somebody tries to smuggle a line into haproxy.cfg through a path.
const BROKEN: &str = r#"
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: broken, namespace: default}
spec:
  rules:
    - host: broken.localhost
      http:
        paths:
          - {path: "/x\n    http-request deny", pathType: Prefix, backend: {service: {name: blog, port: {number: 80}}}}
"#;

/// Plays the whole tour; with `stay`, leaves it running until Ctrl-C.
pub async fn run(stay: bool) -> Outcome {
    let begun = Instant::now();
    say("HAPTIC demo: manifests in a folder, one HAProxy, no cluster.\n");
    let mut stage = Stage::set().await?;
    let played = play(&mut stage).await;
    if let Err(failure) = played {
        let log = integration_tests::process::last_lines(&stage.log, 15);
        return Err(Failure::new(format!("{failure}\n\nThe last lines of its log:\n{log}")));
    }
    if stay {
        return leave_running(stage).await;
    }
    stage.strike().await?;
    say(&format!(
        "\nAll steps shown in {:.1} s. `make local` leaves it running for your own edits.",
        begun.elapsed().as_secs_f64()
    ));
    Ok(())
}

async fn play(stage: &mut Stage) -> Outcome {
    first_deployment(stage).await?;
    routing(stage).await?;
    endpoint_moves(stage).await?;
    host_appears(stage).await?;
    certificate_changes(stage).await?;
    broken_object(stage).await?;
    stage.still_plays()
}

async fn first_deployment(stage: &mut Stage) -> Outcome {
    let start = Instant::now();
    let took = stage.until(start, false, ("shop.localhost", "/"), |a| a.is_from("shop")).await;
    if took.is_err() {
        stage.still_plays()?;
    }
    step("`haptic local` renders, checks and deploys the first configuration", took?);
    shown(&stage.commentary(0, "haproxy").await?.1);
    Ok(())
}

async fn routing(stage: &Stage) -> Outcome {
    let now = Instant::now();
    stage.until(now, false, ("shop.localhost", "/anything"), |a| a.is_from("shop")).await?;
    request("http://shop.localhost/anything", "answered by shop");
    stage.until(now, false, ("shop.localhost", "/cart/items"), |a| a.is_from("cart")).await?;
    request("http://shop.localhost/cart/items", "answered by cart: the longer path wins");
    stage.until(now, false, ("shop.localhost", "/cartoon"), |a| a.is_from("shop")).await?;
    request("http://shop.localhost/cartoon", "answered by shop: /cart matches whole path elements");
    stage.until(now, true, ("shop.localhost", "/"), |a| a.is_from("shop")).await?;
    request("https://shop.localhost/", "answered by shop, with the certificate of Secret shop-tls");
    stage.until(now, false, ("unknown.localhost", "/"), |a| a.has_status(404)).await?;
    request("http://unknown.localhost/", "404: no route");
    Ok(())
}

async fn endpoint_moves(stage: &Stage) -> Outcome {
    let before = stage.now().await?;
    let edited = stage.read("shop.yaml")?.replace("127.0.0.11", "127.0.0.13");
    let start = Instant::now();
    stage.write("shop.yaml", &edited)?;
    let took = stage.until(start, false, ("shop.localhost", "/"), |a| a.is_from("shop-moved")).await?;
    step("Edit shop.yaml: the endpoint moves to another address", took);
    let said = stage.commentary(before, "runtime only").await?.1;
    shown(&said);
    Ok(())
}

async fn host_appears(stage: &Stage) -> Outcome {
    let before = stage.now().await?;
    let start = Instant::now();
    stage.write("blog.yaml", BLOG)?;
    let took = stage.until(start, false, ("blog.localhost", "/"), |a| a.is_from("blog")).await?;
    step("Write blog.yaml: a new host with its Service", took);
    shown(&stage.commentary(before, "haproxy").await?.1);
    Ok(())
}

async fn certificate_changes(stage: &Stage) -> Outcome {
    let before = stage.now().await?;
    let start = Instant::now();
    let new = write_certificate(&stage.manifests, "shop.localhost")?;
    let served = |a: &integration_tests::http::Response| {
        ensure(a.certificate.as_deref() == Some(&new), "HAProxy still serves the old certificate")
    };
    let took = stage.until(start, true, ("shop.localhost", "/"), served).await?;
    step("Write a new certificate into Secret shop-tls", took);
    shown(&stage.commentary(before, "haproxy").await?.1);
    Ok(())
}

async fn broken_object(stage: &Stage) -> Outcome {
    let before = stage.now().await?;
    let start = Instant::now();
    stage.write("broken.yaml", BROKEN)?;
    let (_, said) = stage.commentary(before, "must begin with /").await?;
    step("Write broken.yaml: a path that smuggles a line into haproxy.cfg", start.elapsed());
    shown(&said);
    for (host, from) in [("shop.localhost", "shop-moved"), ("blog.localhost", "blog")] {
        stage.until(Instant::now(), false, (host, "/"), |a| a.is_from(from)).await?;
        request(
            &format!("http://{host}/"),
            &format!("still answered by {from}: a bad object costs nobody else anything"),
        );
    }
    fs::remove_file(stage.manifests.join("broken.yaml"))?;
    let edited = stage.read("shop.yaml")?.replace("127.0.0.13", "127.0.0.11");
    let start = Instant::now();
    stage.write("shop.yaml", &edited)?;
    let took = stage.until(start, false, ("shop.localhost", "/"), |a| a.is_from("shop")).await?;
    step("Remove broken.yaml and move the endpoint back", took);
    Ok(())
}

async fn leave_running(stage: Stage) -> Outcome {
    say(&format!(
        "\nIt stays running. Edit the manifests in {}\n\
         HTTP {HTTP}, HTTPS {HTTPS}; try: curl -H 'Host: shop.localhost' http://{HTTP}/\n\
         What it does: curl http://127.0.0.1:6060/debug/events; its log: {}\n\
         Ctrl-C ends it.",
        stage.manifests.display(),
        stage.log.display()
    ));
    tokio::signal::ctrl_c().await?;
    stage.strike().await
}

fn step(what: &str, took: Duration) {
    say(&format!("\n* {what}: {} ms", took.as_millis()));
}

fn request(what: &str, answer: &str) {
    say(&format!("    GET {what:<40} {answer}"));
}

fn shown(commentary: &str) {
    say(&format!("    {commentary}"));
}

#[expect(clippy::print_stdout, reason = "the demo is read on the terminal")]
fn say(line: &str) {
    println!("{line}");
}
