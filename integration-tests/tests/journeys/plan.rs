//! `haptic plan` against a cluster: it tells what would happen and changes nothing.

use integration_tests::{
    Failure, Outcome, Scene, configuration, ensure, eventually, manifest,
    program::{self, HaproxySeries},
};
use std::process::Stdio;
use tokio::{io::AsyncWriteExt as _, process::Command};

const HOST: &str = "shop.example";

/// What a command ended with and printed.
struct Planned {
    code: Option<i32>,
    out: String,
    err: String,
}

pub async fn tells_before_it_happens(scene: Scene) -> Outcome {
    let (pod, controller) = scene.running().await?;
    let old = scene.pod_of(HaproxySeries::V3_0).await?;
    let [a, b] = [scene.backend("a").await?, scene.backend("b").await?];
    scene.publish("shop", HOST, &a).await?;
    pod.serves(HOST, "a").await?;
    old.serves(HOST, "a").await?;
    let validated = haptic(&scene, "validate", None).await?;
    ensure(
        validated.code == Some(0) && validated.out.ends_with("demo: valid for HAProxy 3.4\n"),
        validated.told(),
    )?;
    eventually("both pods run what the cluster says", async || {
        let planned = haptic(&scene, "plan", None).await?;
        ensure(planned.code == Some(0) && planned.out.contains("no change"), planned.told())
    })
    .await?;

    controller.kill().await?;
    scene.apply(&manifest::endpoints("shop", &[b.address])).await?;
    let planned = haptic(&scene, "plan", None).await?;
    for words in ["HAProxy 3.0", "HAProxy 3.4", "runtime only", "add server", &b.address.to_string(), "@@"] {
        ensure(planned.out.contains(words), format!("{words:?} is not told: {}", planned.told()))?;
    }
    ensure(planned.code == Some(3), planned.told())?;

    let demo = scene.configuration()?;
    let other = demo.with_template(format!("{}\nfrontend more\n  bind :9998\n", demo.template()));
    let planned = haptic(&scene, "plan", Some(&other.manifest.to_string())).await?;
    ensure(planned.code == Some(3) && planned.out.contains(": reload\n  because "), planned.told())?;
    ensure(planned.out.contains("+frontend more"), planned.told())?;
    pod.get(HOST, "/").await?.is_from("a")
}

impl Planned {
    fn told(&self) -> String {
        format!("{:?}: {}{}", self.code, self.out, self.err)
    }
}

/// With `configuration`, if there is one, as its input.
async fn haptic(scene: &Scene, what: &str, configuration: Option<&str>) -> Outcome<Planned> {
    let mut command = Command::new(program::haptic()?);
    command.args([what, "--name", configuration::NAME, "--namespace", &scene.namespace]);
    command.arg("--kubeconfig").arg(scene.cluster.kubeconfig());
    if configuration.is_some() {
        command.args(["-f", "/dev/stdin"]);
    }
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.kill_on_drop(true).spawn().map_err(|e| Failure::new(e.to_string()))?;
    if let Some(mut input) = child.stdin.take() {
        input.write_all(configuration.unwrap_or_default().as_bytes()).await?;
    }
    let output = child.wait_with_output().await?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Ok(Planned { code: output.status.code(), out: text(&output.stdout), err: text(&output.stderr) })
}
