//! What is removed leaves nothing behind: neither in HAProxy's memory nor on the pod's disk.

use integration_tests::{
    Outcome, Scene, certificate, ensure, eventually, haproxy_pod::HaproxyPod, manifest,
    program::HaproxySeries,
};
use std::{fs, path::Path};

const HOST: &str = "shop.example";
/// In the name of everything that is removed.
const GONE: &str = "gone";

pub async fn leaves_nothing_behind(scene: Scene, series: HaproxySeries) -> Outcome {
    scene.configure().await?;
    let pod = scene.pod_of(series).await?;
    let _controller = scene.controller()?;
    let a = scene.backend("a").await?;
    scene.publish("shop", HOST, &a).await?;
    pod.serves(HOST, "a").await?;
    // Where each step is a reload, once is enough.
    let rounds = if pod.has_agent() { 2 } else { 1 };
    for round in 0..rounds {
        let names = ["one", "two", "three"].map(|name| format!("{name}-{GONE}-{round}"));
        for name in &names {
            let (host, secret) = (format!("{name}.example"), format!("{name}-tls"));
            let certificate = certificate::for_host(&host)?;
            scene.publish(name, &host, &a).await?;
            scene.apply(&manifest::tls_secret(&secret, &certificate)).await?;
            scene.apply(&manifest::tls_ingress(name, &host, name, &secret)).await?;
            pod.serves_tls(&host, "a", &certificate.der).await?;
        }
        ensure(!in_memory(&pod).await?.is_empty(), "the routes are not found in HAProxy's memory")?;
        eventually("the routes are on disk", async || {
            ensure(!on_disk(&pod.folder())?.is_empty(), "no file has them")
        })
        .await?;
        for name in &names {
            let host = format!("{name}.example");
            scene.delete(&manifest::tls_ingress(name, &host, name, "any")).await?;
            scene.delete(&manifest::endpoints(name, &[])).await?;
            scene.delete(&manifest::service(name)).await?;
            pod.answers(&host, 404).await?;
        }
        eventually("nothing is left in HAProxy's memory", async || {
            let left = in_memory(&pod).await?;
            ensure(left.is_empty(), format!("there is {left:?}"))
        })
        .await?;
        eventually("nothing is left on disk", async || {
            let left = on_disk(&pod.folder())?;
            ensure(left.is_empty(), format!("there is {left:?}"))
        })
        .await?;
    }
    pod.serves(HOST, "a").await
}

/// What HAProxy knows of routes that are gone.
async fn in_memory(pod: &HaproxyPod) -> Outcome<Vec<String>> {
    let mut said = String::new();
    for command in ["show backend", "show servers state", "show ssl cert", "show ssl crt-list"] {
        said += &pod.runtime(command).await?;
    }
    for list in pod.runtime("show ssl crt-list").await?.lines().filter(|line| !line.trim().is_empty()) {
        said += &pod.runtime(&format!("show ssl crt-list -n {list}")).await?;
    }
    for map in pod.runtime("show map").await?.lines() {
        if let Some((number, _)) = map.split_once(' ').filter(|(number, _)| number.parse::<u64>().is_ok()) {
            said += &pod.runtime(&format!("show map #{number}")).await?;
        }
    }
    Ok(said.lines().filter(|line| line.contains(GONE)).map(str::to_owned).collect())
}

/// The files of the agent that know routes that are gone. What HAProxy logs is no state.
fn on_disk(folder: &Path) -> Outcome<Vec<String>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.to_string_lossy().into_owned();
        if path.extension().is_some_and(|extension| extension == "log") {
            continue;
        }
        let text = if path.is_dir() {
            found.extend(on_disk(&path)?);
            String::new()
        } else {
            fs::read_to_string(&path).unwrap_or_default()
        };
        if name.contains(GONE) || text.contains(GONE) {
            found.push(name);
        }
    }
    Ok(found)
}
