//! The node, and what a test does to its processes. All of them are seen from this machine, under its own numbers.

use integration_tests::{
    Failure, Outcome, chart, ensure, eventually,
    markdown::root,
    process::output,
    program::{self, Helm},
};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::{
    ffi::OsStr,
    fs,
    os::unix::process::CommandExt as _,
    path::{Path, PathBuf},
    process::{Command, ExitStatus, Stdio},
};

/// Set for the program that stands beside the node, in the network of its clients.
const BESIDE: &str = "HAPTIC_CLUSTER_BESIDE";
/// A tree of an earlier revision in which `haptic` is built, to upgrade from.
const FROM: &str = "HAPTIC_CLUSTER_FROM";
/// The tag of its image.
pub const EARLIER: &str = "earlier";
/// The tag of the image that the Dockerfile makes as it stands.
pub const BUILT: &str = "built";
/// What `up` ends with where no node can run.
const CANNOT: i32 = 2;

/// A node that is up.
pub struct Node {
    dir: PathBuf,
    first: u32,
}

/// How this program goes on.
pub enum Place {
    /// Beside a node.
    Beside(Node),
    /// It was started again beside one, and that has ended so.
    Ended(ExitStatus),
    /// No node can run here; it was said why.
    Nowhere,
}

impl Node {
    /// Starts a node in `dir` with the image of the release binary, and this program again beside it. `built`: the image that
    /// compiles haptic itself is there, too.
    pub fn enter(dir: &Path, built: bool) -> Outcome<Place> {
        if std::env::var_os(BESIDE).is_some() {
            return Ok(Place::Beside(Self::up(dir)?));
        }
        fs::create_dir_all(dir)?;
        let mut up = script("up");
        up.arg(dir).arg(image(dir, "haptic", &program::haptic()?)?);
        if let Some(tree) = earlier() {
            up.arg(image(dir, EARLIER, &tree.join("target/debug/haptic"))?);
        }
        if built {
            up.arg(by_the_dockerfile(dir)?);
        }
        match up.stdout(Stdio::null()).status()?.code() {
            Some(0) => {}
            Some(CANNOT) => return Ok(Place::Nowhere),
            _ => return Err(Failure::new("the node did not come up")),
        }
        let beside = Command::new("nsenter")
            .arg(format!("--net=/proc/{}/ns/net", Self::up(dir)?.first))
            .arg(std::env::current_exe()?)
            .args(std::env::args_os().skip(1))
            .env(BESIDE, "1")
            .status();
        script("down").arg(dir).status()?;
        Ok(Place::Ended(beside?))
    }

    fn up(dir: &Path) -> Outcome<Self> {
        let first = fs::read_to_string(dir.join("run/first.pid"))?.trim().parse()?;
        Ok(Self { dir: dir.to_owned(), first })
    }

    /// The files of an administrator.
    pub fn kubeconfig(&self) -> PathBuf {
        self.dir.join("run/kubeconfig")
    }

    /// kubectl's output.
    pub async fn kubectl(&self, words: &[&str]) -> Outcome<String> {
        let mut kubectl = tokio::process::Command::new(program::kubectl()?);
        kubectl.env("KUBECONFIG", self.kubeconfig()).args(words);
        output(&mut kubectl).await
    }

    /// What kubectl makes of a manifest.
    pub async fn apply(&self, manifest: &str) -> Outcome {
        let file = tempfile::NamedTempFile::new_in(&self.dir)?;
        fs::write(&file, manifest)?;
        self.kubectl(&["apply", "-f", &file.path().to_string_lossy()]).await?;
        Ok(())
    }

    /// helm's output.
    pub async fn helm(&self, version: Helm, words: &[&str]) -> Outcome<String> {
        let mut helm = chart::command(version, &self.dir)?;
        helm.current_dir(root()).env("KUBECONFIG", self.kubeconfig()).args(words);
        output(&mut helm).await
    }

    /// The node's processes called `name`: those of its programs, and those in containers.
    pub fn processes(&self, name: &str) -> Vec<u32> {
        let all = fs::read_dir("/proc").into_iter().flatten().flatten();
        let numbers = all.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
        numbers
            .filter(|pid| status(*pid, "Name:").as_deref() == Some(name) && self.is_of_node(*pid))
            .collect()
    }

    /// The first process called `name` in the pod `pod`: what its container was started with.
    pub fn process_of(&self, name: &str, pod: &str) -> Outcome<u32> {
        let first = self.processes_of(name, pod).into_iter().min();
        first.ok_or_else(|| Failure::new(format!("pod {pod} has no process {name}")))
    }

    /// All processes called `name` in the pod `pod`.
    pub fn processes_of(&self, name: &str, pod: &str) -> Vec<u32> {
        let host = format!("HOSTNAME={pod}");
        let of_pod = |pid: &u32| {
            let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
            environment.split(|byte| *byte == 0).any(|variable| variable == host.as_bytes())
        };
        self.processes(name).into_iter().filter(of_pod).collect()
    }

    fn is_of_node(&self, pid: u32) -> bool {
        let mut ancestors = std::iter::successors(Some(pid), |pid| status(*pid, "PPid:")?.parse().ok());
        ancestors.any(|pid| pid == self.first)
    }

    /// Runs a program in the network of the process `pid`.
    pub async fn in_network_of(&self, pid: u32, words: &[&str]) -> Outcome<String> {
        let mut command = tokio::process::Command::new("nsenter");
        output(command.arg(format!("--net=/proc/{pid}/ns/net")).args(words)).await
    }

    /// Has etcd forget all revisions but the last, as the API server does every few minutes.
    pub async fn compact(&self) -> Outcome {
        let etcd = *self.processes("etcd").first().ok_or_else(|| Failure::new("there is no etcd"))?;
        let ask = async |path: &str, body: String| -> Outcome<Value> {
            let url = format!("http://127.0.0.1:2379/v3/kv/{path}");
            Ok(serde_json::from_str(&self.in_network_of(etcd, &["curl", "-sf", "-d", &body, &url]).await?)?)
        };
        let answer = ask("range", r#"{"key": "AA=="}"#.to_owned()).await?;
        let revision = answer.pointer("/header/revision").and_then(Value::as_str).unwrap_or_default();
        ask("compaction", format!(r#"{{"revision": "{revision}", "physical": true}}"#)).await?;
        Ok(())
    }

    /// Stops the API server until the result is dropped.
    pub fn without_api_server(&self) -> Outcome<Stopped> {
        let pids = self.processes("kube-apiserver");
        ensure(pids.len() == 1, format!("there are {} API servers", pids.len()))?;
        Stopped::new(pids)
    }

    /// Kills a program of the node, which is started again, and waits until it is.
    pub async fn restart(&self, name: &str) -> Outcome {
        let before = self.processes(name);
        before.iter().try_for_each(|pid| signal(*pid, Signal::KILL))?;
        eventually(format!("{name} is started again"), async || {
            let now = self.processes(name);
            ensure(!now.is_empty() && now.iter().all(|pid| !before.contains(pid)), format!("{now:?}"))
        })
        .await
    }
}

/// The tree to upgrade from.
pub fn earlier() -> Option<PathBuf> {
    std::env::var_os(FROM).filter(|tree| !tree.is_empty()).map(PathBuf::from)
}

/// The archive of an image with this program, in `dir`. One that is called otherwise than `haptic` has that as its tag.
fn image(dir: &Path, name: &str, binary: &Path) -> Outcome<PathBuf> {
    let archive = dir.join(format!("{name}.tar"));
    let mut made = script("image");
    made.arg(&archive).arg(binary).args((name != "haptic").then_some(name));
    ensure(made.status()?.success(), format!("the image of {} cannot be made", binary.display()))?;
    Ok(archive)
}

/// The archive of the image that `release/image` builds, in `dir`.
fn by_the_dockerfile(dir: &Path) -> Outcome<PathBuf> {
    let archive = dir.join(format!("{BUILT}.tar"));
    let made = script("dockerfile").arg(&archive).arg(BUILT).status()?;
    ensure(made.success(), "the Dockerfile makes no image")?;
    Ok(archive)
}

/// Processes that stand still until this is dropped.
pub struct Stopped(Vec<u32>);

impl Stopped {
    /// Stops them.
    pub fn new(pids: Vec<u32>) -> Outcome<Self> {
        pids.iter().try_for_each(|pid| signal(*pid, Signal::STOP))?;
        Ok(Self(pids))
    }
}

impl Drop for Stopped {
    fn drop(&mut self) {
        for pid in &self.0 {
            let _it_has_ended = signal(*pid, Signal::CONT);
        }
    }
}

/// Sends a signal.
pub fn signal(pid: u32, signal: Signal) -> Outcome {
    let pid = i32::try_from(pid)?;
    let pid = Pid::from_raw(pid).ok_or_else(|| Failure::new("0 is no process"))?;
    Ok(kill_process(pid, signal)?)
}

fn status(pid: u32, name: &str) -> Option<String> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    Some(status.lines().find_map(|line| line.strip_prefix(name))?.trim().to_owned())
}

fn script(name: impl AsRef<OsStr>) -> Command {
    let mut script = Command::new(root().join("integration-tests/node").join(name.as_ref()));
    // Ctrl-C is for this program, which takes the node down.
    script.process_group(0);
    script
}
