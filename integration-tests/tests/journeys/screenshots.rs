//! Pictures of `/debug`, light and dark: three pods, one of which cannot be reached, and objects that are held back. No test, for
//! people to look at; `make screenshots` asks for it.

use integration_tests::{
    Failure, Outcome, Scene, controller::Controller, ensure, eventually, manifest, process,
};
use serde_json::json;
use std::{env, fs, path::PathBuf};
use tokio::process::Command;

/// Names the folder for the pictures.
pub const FOLDER: &str = "HAPTIC_SCREENSHOTS";
const CHROMIUM: &str = "HAPTIC_CHROMIUM";
const PAGES: [&str; 8] =
    ["now", "generations", "events", "files", "files/haproxy.cfg", "stores", "config", "actors"];
/// As Chromium numbers them.
const SCHEMES: [(&str, u8); 2] = [("dark", 0), ("light", 1)];

pub async fn of_the_page(scene: Scene) -> Outcome {
    scene.configure().await?;
    let mut pods = [scene.pod().await?, scene.pod().await?, scene.pod().await?];
    let controller = scene.ready_controller().await?;
    let backends = [scene.backend("a").await?, scene.backend("b").await?];
    for (name, backend) in ["shop", "blog", "mail", "wiki"].iter().zip(backends.iter().cycle()) {
        scene.publish(name, &format!("{name}.example"), backend).await?;
    }
    for pod in &pods {
        pod.serves("wiki.example", "b").await?;
        pod.has_stored_what_it_runs().await?;
    }
    for (name, annotation, value) in [
        ("limited", "rate-limit", "ten a second"),
        ("rewritten", "rewrite-path", "/x\n  server evil 10.0.0.1:80"),
    ] {
        let mut ingress = manifest::ingress(name, &format!("{name}.example"), "shop");
        ingress["metadata"]["annotations"][format!("haproxy-haptic.org/{annotation}")] = json!(value);
        scene.apply(&ingress).await?;
    }
    pods[2].kill_agent().await?;
    scene.apply(&manifest::endpoints("shop", &[backends[1].address])).await?;
    eventually("there is something to see", async || {
        let (_, told) = controller.status().await?;
        let words = ["pods: 2 of 3 up to date", "/limited", "/rewritten", "pod not deployed"];
        ensure(words.iter().all(|word| told.contains(word)), told)
    })
    .await?;
    take(&controller).await
}

async fn take(controller: &Controller) -> Outcome {
    let named = |variable: &str| {
        env::var_os(variable)
            .map(PathBuf::from)
            .ok_or_else(|| Failure::new(format!("{variable} is not set: `make screenshots` sets it")))
    };
    let (folder, chromium) = (named(FOLDER)?, named(CHROMIUM)?);
    fs::create_dir_all(&folder)?;
    for page in PAGES {
        for (scheme, number) in SCHEMES {
            let picture = folder.join(format!("{}-{scheme}.png", page.replace('/', "-")));
            let mut command = Command::new(&chromium);
            command.args([
                "--no-sandbox",
                "--disable-gpu",
                "--hide-scrollbars",
                "--virtual-time-budget=4000",
            ]);
            command.args([
                "--window-size=1280,1250",
                &format!("--blink-settings=preferredColorScheme={number}"),
            ]);
            command.arg(format!("--screenshot={}", picture.display()));
            process::output(command.arg(format!("{}/debug#{page}", controller.debug_url()))).await?;
        }
    }
    Ok(())
}
