//! The first page of the documentation, followed word for word by somebody new.
//!
//! Left out is only what [`LEFT_OUT`] names: what builds programs, which are there, and what needs a kubelet.

use crate::chart::{Pods, values_for, webhook_leads_to};
use integration_tests::{
    Failure, Outcome, Scene, ensure, eventually, manifest,
    markdown::{self, Block},
    network::Apart,
    program::{self, HaproxySeries, Helm},
    terminal::Terminal,
};
use k8s_openapi::api::core::v1::Namespace;
use kube::Api;
use serde_json::json;
use std::{
    fs,
    os::unix::fs::{PermissionsExt, symlink},
    path::{Path, PathBuf},
};
use tokio::process::Command;

const PAGE: &str = "docs/getting-started.md";

/// Commands of the page that are not typed here, and why.
const LEFT_OUT: &[(&str, &str)] = &[
    ("make demo", "builds the programs, which are there"),
    ("docker build -t haptic:0.1.0 .", "there is no container engine"),
    ("kind load docker-image haptic:0.1.0", "so there is none to load into"),
    ("kubectl port-forward -n edge service/haptic 8080:80", "there is no kubelet"),
    ("curl -H 'Host: hello.example.com' http://127.0.0.1:8080/hostname", "goes through it"),
];

/// A command of the page, and where and with what end it is typed.
struct Step {
    command: String,
    shown: String,
    in_second_terminal: bool,
}

/// The steps of the page's part `## title`.
fn steps(title: &str) -> Outcome<Vec<Step>> {
    let page = markdown::read(PAGE);
    let part = page.split("\n## ").find(|part| part.starts_with(title));
    let part = part.ok_or_else(|| Failure::new(format!("{PAGE} has no part {title}")))?;
    let consoles = markdown::blocks(part).into_iter().filter(|block| block.language == "console");
    let steps = consoles.flat_map(|block: Block| {
        let fence = format!("```console\n{}```\n", block.text);
        let in_second_terminal = block.comment.is_some();
        let typed = markdown::commands(&fence).into_iter();
        typed.map(move |(command, shown)| Step { command, shown, in_second_terminal })
    });
    Ok(steps.filter(|step| LEFT_OUT.iter().all(|(command, _)| *command != step.command)).collect())
}

/// What a new user has: a clone of this project with its programs built, and a home.
struct Home {
    checkout: PathBuf,
    home: PathBuf,
    /// Programs that the page expects on the PATH.
    programs: PathBuf,
}

impl Home {
    fn make(dir: &Path) -> Outcome<Self> {
        let [checkout, home, programs] = ["checkout", "home", "programs"].map(|name| dir.join(name));
        fs::create_dir_all(checkout.join("target/demo"))?;
        fs::create_dir_all(home.join(".cache/haptic"))?;
        fs::create_dir_all(&programs)?;
        for part in ["fixtures", "charts"] {
            symlink(markdown::root().join(part), checkout.join(part))?;
        }
        symlink(program::haptic()?, checkout.join("target/demo/haptic"))?;
        let haproxy = program::haproxy(HaproxySeries::V3_4)?;
        let cached = haproxy.parent().ok_or_else(|| Failure::new("HAProxy lies in no folder"))?;
        symlink(cached, home.join(".cache/haptic/haproxy-3.4"))?;
        Ok(Self { checkout, home, programs })
    }

    /// Opens a terminal: `shell` starts bash, with nothing of this test's environment.
    fn terminal(&self, mut shell: Command, dir: &Path, more: &[(&str, &Path)]) -> Outcome<Terminal> {
        let path = format!("{}:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin", self.programs.display());
        shell.env_clear().env("PATH", path).env("HOME", &self.home).envs(more.iter().copied());
        shell.current_dir(&self.checkout);
        Terminal::open(shell, dir)
    }

    /// A program of this machine, on the PATH of [`Home`].
    fn give(&self, name: &str, program: &Path) -> Outcome {
        Ok(symlink(program, self.programs.join(name))?)
    }
}

/// Without a cluster: two terminals, in a network of their own.
pub async fn without_a_cluster(scene: Scene) -> Outcome {
    let home = Home::make(&scene.dir)?;
    home.give("python3", &python().await?)?;
    let network = Apart::make(&scene.dir).await?;
    let mut first = home.terminal(network.command(), &scene.dir.join("first"), &[])?;
    let mut second = home.terminal(network.command(), &scene.dir.join("second"), &[])?;
    let (mut typed, mut local) = (0, 0);
    for step in steps("Without a cluster")? {
        typed += 1;
        if step.in_second_terminal {
            shows(&mut second, &step).await?;
            is_stored(&step, &first, local).await?;
        } else if step.command.starts_with("haptic local ") {
            local = first.start(&step.command)?;
            eventually("haptic local runs", async || {
                let said = first.printed(local);
                ensure(said.contains("runs on local/haproxy"), said)
            })
            .await?;
        } else {
            shows(&mut first, &step).await?;
        }
    }
    ensure(typed > 12, format!("only {typed} commands"))
}

/// After a change that is served, a person looks at the first terminal; until then the change has passed all checks, too.
async fn is_stored(step: &Step, first: &Terminal, local: usize) -> Outcome {
    if step.shown != "200\n" {
        return Ok(());
    }
    eventually("the first terminal says what was done", async || {
        let said = first.printed(local);
        let done = said.contains("runtime only") && said.contains("\"method\":\"store\"");
        ensure(done, said)
    })
    .await
}

/// Types a command, as often as it takes until it shows what the page says: a person types slower than HAPTIC works.
async fn shows(terminal: &mut Terminal, step: &Step) -> Outcome {
    if step.shown.is_empty() {
        return terminal.run(&step.command).await.map(drop);
    }
    eventually(format!("`{}` shows what the page says", step.command), async || {
        let printed = terminal.run(&step.command).await?;
        ensure(printed == step.shown, format!("it printed {printed:?} and not {:?}", step.shown))
    })
    .await
}

/// The interpreter itself: what is on the PATH may look for its own in the user's home.
async fn python() -> Outcome<PathBuf> {
    let asked = Command::new("python3").args(["-c", "import sys; print(sys.executable)"]).output().await;
    let told = asked.ok().filter(|output| output.status.success());
    let told =
        told.ok_or_else(|| Failure::new(format!("{PAGE} uses python3: install it, or its package")))?;
    Ok(String::from_utf8_lossy(&told.stdout).trim().into())
}

/// In a cluster: the real API server, kubectl and helm; the chart's pods are processes, as in journey `chart_install`.
pub async fn in_a_cluster(scene: Scene) -> Outcome {
    let mut scene = scene.on_bare_cluster().await?;
    scene.namespace = "edge".into();
    let home = Home::make(&scene.dir)?;
    home.give("kubectl", &program::kubectl()?)?;
    give_helm(&scene, &home)?;
    let kubeconfig = scene.cluster.kubeconfig();
    let mut terminal =
        home.terminal(Command::new("env"), &scene.dir.join("terminal"), &[("KUBECONFIG", &kubeconfig)])?;
    let hello = scene.backend("hello").await?;
    let (mut pods, mut typed) = (None, 0);
    for step in steps("In a cluster")? {
        typed += 1;
        let entrance = format!("http://{}:7080/", scene.block.pod(0));
        let step = Step { command: step.command.replace("http://ADDRESS/", &entrance), ..step };
        match step.command.split_whitespace().take(2).collect::<Vec<_>>()[..] {
            ["kubectl", "annotate"] => refused(&mut terminal, &step).await?,
            ["kubectl", "get"] => shows_address(&scene, &mut terminal, &step).await?,
            ["curl", _] => {
                eventually("the route answers", async || {
                    let printed = terminal.run(&step.command).await?;
                    ensure(printed.ends_with("hello"), printed)
                })
                .await?;
            }
            _ => shows(&mut terminal, &step).await?,
        }
        // What a cluster does by itself.
        match step.command.split_whitespace().take(2).collect::<Vec<_>>()[..] {
            ["helm", "install"] => {
                let release = crate::chart::release(&scene, "haptic");
                pods = Some(Pods::start(&scene, &release, 0, &[0, 1]).await?);
            }
            ["kubectl", "expose"] => {
                let mut slice = manifest::endpoints("hello", &[hello.address]);
                slice["ports"][0]["name"] = json!("");
                scene.cluster.apply("default", &slice).await?;
            }
            ["kubectl", "create"] if step.command.contains("ingress") => {
                webhook_leads_to(&scene, &[0, 1]).await?;
            }
            _ => {}
        }
    }
    ensure(typed > 9, format!("only {typed} commands"))?;
    drop(pods);
    let namespaces: Api<Namespace> = Api::all(scene.cluster.client.clone());
    namespaces.get("edge").await.map(drop).map_err(Failure::from)
}

/// helm, with the values without which pods of one network would be in each other's way.
fn give_helm(scene: &Scene, home: &Home) -> Outcome {
    let values = scene.dir.join("values.json");
    fs::write(&values, values_for(scene.block.pod(0)).to_string())?;
    let program = home.programs.join("helm");
    let script = format!(
        "#!/bin/sh\n[ \"$1\" != install ] || set -- \"$@\" --values {}\nexec {} \"$@\"\n",
        values.display(),
        program::helm(Helm::V4)?.display()
    );
    fs::write(&program, script)?;
    Ok(fs::set_permissions(&program, fs::Permissions::from_mode(0o755))?)
}

async fn refused(terminal: &mut Terminal, step: &Step) -> Outcome {
    let page = markdown::read(PAGE);
    let shown = page.lines().find(|line| line.starts_with("Error from server (Forbidden)"));
    // With what begins behind the sentence: the whole of it is on the page.
    let shown = shown.and_then(|line| line.split(" default/hello").next()).unwrap_or_default();
    ensure(!shown.is_empty(), format!("{PAGE} shows no refusal"))?;
    eventually("the webhook refuses it", async || {
        let (code, printed) = terminal.ended(&step.command).await?;
        if code == 0 {
            terminal.run("kubectl annotate ingress hello haproxy-haptic.org/timeout-server-").await?;
        }
        ensure(code != 0 && printed.starts_with(shown), format!("{code}: {printed}"))
    })
    .await
}

/// The load balancer's address, which nobody gives here.
async fn shows_address(scene: &Scene, terminal: &mut Terminal, step: &Step) -> Outcome {
    let service = json!({ "apiVersion": "v1", "kind": "Service", "metadata": { "name": "haptic" } });
    let given = json!({ "status": { "loadBalancer": { "ingress": [{ "ip": "192.0.2.7" }] } } });
    scene.cluster.set_status(&scene.namespace, &service, &given).await?;
    eventually("the Ingress shows the address", async || {
        let printed = terminal.run(&step.command).await?;
        ensure(printed.contains("192.0.2.7"), printed)
    })
    .await
}
