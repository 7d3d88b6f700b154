//! The controller under test, as a user starts it.

use crate::{
    configuration,
    eventually::{PATIENCE, eventually},
    failure::{Failure, Outcome, ensure},
    http::{self, Connection},
    process::Process,
    program,
};
use serde_json::Value;
use std::{
    collections::BTreeMap,
    ffi::OsString,
    net::Ipv4Addr,
    path::{Path, PathBuf},
    time::Duration,
};
use tokio::process::Command;

/// Where it tells how it is. Its ports are the defaults: it has an address of its own.
pub const HEALTH_PORT: u16 = 8080;
const DEBUG_PORT: u16 = 6060;
const METRICS_PORT: u16 = 9090;
/// How long a controller may take to end when asked to: what a pod is given, and some more for a loaded machine.
const DRAIN: Duration = Duration::from_secs(40);

/// One running controller.
pub struct Controller {
    /// Where it listens.
    pub address: Ipv4Addr,
    process: Process,
    scratch: PathBuf,
    start: Start,
}

/// How one is started.
#[derive(Clone)]
pub struct Start {
    /// What starts `haptic`: its path, and what is before it.
    pub words: Vec<OsString>,
    /// Of its environment.
    pub variables: Vec<(String, String)>,
    /// Where its configuration is.
    pub namespace: String,
    /// Whose rights it has.
    pub kubeconfig: PathBuf,
    /// Where it listens.
    pub address: Ipv4Addr,
    /// What it prints.
    pub log: PathBuf,
}

impl Controller {
    /// Starts one; does not wait for anything.
    pub fn start(start: Start) -> Outcome<Self> {
        let (program, before) = start.words.split_first().ok_or_else(|| Failure::new("nothing to start"))?;
        let mut command = Command::new(program);
        let scratch = start.log.with_extension("tmp");
        std::fs::create_dir_all(&scratch)?;
        command.env("TMPDIR", &scratch).env("POD_NAME", start.log.file_stem().unwrap_or_default());
        command.envs(start.variables.iter().map(|(name, value)| (name, value))).args(before);
        command.args(["run", "--name", configuration::NAME, "--namespace", &start.namespace]);
        command.arg("--kubeconfig").arg(&start.kubeconfig);
        for listens in ["--bind-address", "--debug-address"] {
            command.arg(listens).arg(start.address.to_string());
        }
        let process = Process::start(command, &start.log)?;
        Ok(Self { address: start.address, process, scratch, start })
    }

    /// It crashes, and is started again in the same pod.
    pub async fn crash(self) -> Outcome<Self> {
        let start = self.start.clone();
        self.kill().await?;
        Self::start(start)
    }

    /// Waits until it says that it is ready.
    ///
    /// # Errors
    /// It ended, or never is: what it says instead.
    pub async fn ready(&mut self) -> Outcome {
        eventually("the controller is ready", async || {
            self.process.ensure_running()?;
            let answer = http::get(self.health(), "controller", "/readyz?verbose").await?;
            ensure(answer.status == 200, format!("{} {}", answer.status, answer.body))
        })
        .await
    }

    /// Asks once: whether it says that it is live and ready.
    ///
    /// # Errors
    /// It is not, or does not answer: what it says instead.
    pub async fn is_live_and_ready(&self) -> Outcome {
        self.is_healthy(["/livez?verbose", "/readyz?verbose"]).await
    }

    /// Asks once: whether it says that it is live, by both names.
    ///
    /// # Errors
    /// It is not, or does not answer: what it says instead.
    pub async fn is_live(&self) -> Outcome {
        self.is_healthy(["/livez?verbose", "/healthz?verbose"]).await
    }

    async fn is_healthy(&self, paths: [&str; 2]) -> Outcome {
        for path in paths {
            let answer = http::get(self.health(), "controller", path).await?;
            ensure(answer.status == 200, format!("{path}: {} {}", answer.status, answer.body))?;
        }
        Ok(())
    }

    /// The number of its process.
    #[must_use]
    pub fn process_id(&self) -> u32 {
        self.process.id()
    }

    /// Waits until its log contains `words`.
    pub async fn says(&self, words: &str) -> Outcome {
        eventually(format!("the controller's log says {words:?}"), async || {
            ensure(self.process.printed().contains(words), "it does not")
        })
        .await
    }

    /// What it says of its actor `name`.
    pub async fn actor(&self, name: &str) -> Outcome<Value> {
        let answer = self.debug_actors().await?;
        let mut actors = answer["actors"].as_array().into_iter().flatten();
        let actor = actors.find(|actor| actor["name"] == name);
        actor.cloned().ok_or_else(|| Failure::new(format!("no actor {name} in {answer}")))
    }

    /// What its deployments are doing, by name of their actors: `applying`.
    pub async fn deployments(&self) -> Outcome<BTreeMap<String, String>> {
        let answer = self.debug_actors().await?;
        let actors = answer["actors"].as_array().into_iter().flatten();
        let named = actors.filter_map(|actor| Some((actor["name"].as_str()?, actor)));
        let deployments = named.filter(|(name, _)| name.starts_with("deploy "));
        let state = |actor: &Value| actor["detail"]["state"].as_str().unwrap_or_default().to_owned();
        Ok(deployments.map(|(name, actor)| (name.to_owned(), state(actor))).collect())
    }

    /// Where its temporary files are.
    #[must_use]
    pub fn scratch(&self) -> &Path {
        &self.scratch
    }

    /// A page of `/debug`.
    pub async fn debug_page(&self, path: &str) -> Outcome<String> {
        let answer = http::get(self.debug(), "controller", path).await?;
        answer.has_status(200)?;
        Ok(answer.body)
    }

    /// What it answers to a path of `/debug`: status and body.
    pub async fn debug_answer(&self, path: &str) -> Outcome<(u16, String)> {
        let answer = http::get(self.debug(), "controller", path).await?;
        Ok((answer.status, answer.body))
    }

    /// All its metrics.
    pub async fn metrics(&self) -> Outcome<String> {
        let answer = http::get((self.address, METRICS_PORT).into(), "controller", "/metrics").await?;
        answer.has_status(200)?;
        Ok(answer.body)
    }

    /// The sum of a metric over all its labels.
    pub async fn metric_sum(&self, name: &str) -> Outcome<f64> {
        let labelled = format!("{name}{{");
        let metrics = self.metrics().await?;
        let lines = metrics.lines().filter(|line| line.starts_with(&labelled));
        Ok(lines.filter_map(|line| line.rsplit(' ').next()?.parse::<f64>().ok()).sum())
    }

    async fn debug_actors(&self) -> Outcome<Value> {
        Ok(serde_json::from_str(&self.debug_page("/debug/actors").await?)?)
    }

    /// The address of its `/debug`, as `haptic status --url` takes it.
    #[must_use]
    pub fn debug_url(&self) -> String {
        format!("http://{}", self.debug())
    }

    /// What `haptic status` prints of it, and its exit code.
    pub async fn status(&self) -> Outcome<(Option<i32>, String)> {
        let mut command = Command::new(program::haptic()?);
        let done = command.args(["status", "--url", &self.debug_url()]).output().await?;
        let told = [done.stdout, done.stderr].concat();
        Ok((done.status.code(), String::from_utf8_lossy(&told).into_owned()))
    }

    /// What it printed so far.
    #[must_use]
    pub fn printed(&self) -> String {
        self.process.printed()
    }

    /// Its actors by name, each with how often it was restarted.
    pub async fn actors(&self) -> Outcome<BTreeMap<String, u64>> {
        let answer = self.debug_actors().await?;
        let actors = answer["actors"].as_array().into_iter().flatten();
        let restarts = actors.map(|a| Some((a["name"].as_str()?.to_owned(), a["restarts"].as_u64()?)));
        restarts.collect::<Option<_>>().ok_or_else(|| Failure::new(format!("no actors in {answer}")))
    }

    /// Why it is not ready, in its own words.
    pub async fn why_not_ready(&self) -> Outcome<String> {
        let answer = http::get(self.health(), "controller", "/readyz?verbose").await?;
        answer.has_status(503)?;
        Ok(answer.body)
    }

    /// Waits until it says that it is not ready, with all of `words` in its reason; gives the whole reason.
    ///
    /// # Errors
    /// It ended, or never says them: what it says instead.
    pub async fn waits_because(&mut self, words: &[&str]) -> Outcome<String> {
        eventually(format!("/readyz says why: {words:?}"), async || {
            self.process.ensure_running()?;
            let why = self.why_not_ready().await?;
            let missing = words.iter().find(|word| !why.contains(**word));
            missing.map_or(Ok(()), |word| Err(Failure::new(format!("no {word:?} in: {why}"))))?;
            Ok(why)
        })
        .await
    }

    /// Waits for its end by itself: its exit code and all it printed.
    pub async fn ended(&mut self) -> Outcome<(i32, String)> {
        let code = self.process.ended(PATIENCE).await?;
        Ok((code, self.process.printed()))
    }

    /// Makes `actor` panic; a debug build can.
    pub async fn panic(&self, actor: &str) -> Outcome {
        self.make("panic", actor).await
    }

    /// Makes `actor` block its thread until [`Controller::unblock`]; a debug build can.
    pub async fn block(&self, actor: &str) -> Outcome {
        self.make("block", actor).await
    }

    /// Lets `actor` go on.
    pub async fn unblock(&self, actor: &str) -> Outcome {
        self.make("unblock", actor).await
    }

    /// Tells its observers so many events at once; a debug build can.
    pub async fn flood(&self, events: usize) -> Outcome {
        self.make("flood", &events.to_string()).await
    }

    /// What it says has happened, oldest first.
    pub async fn events(&self) -> Outcome<Vec<Value>> {
        Ok(serde_json::from_str(&self.debug_page("/debug/events").await?)?)
    }

    /// `method` on `/debug/log-level` and `path` behind it; what it says of the level then.
    pub async fn log_level(&self, method: &str, path: &str) -> Outcome<Value> {
        let mut connection = Connection::open(self.debug(), None).await?;
        let path = format!("/debug/log-level{path}");
        let response = connection.request(method, "controller", &path).await?;
        ensure(response.status == 200, format!("{method} {path}: {} {}", response.status, response.body))?;
        Ok(serde_json::from_str(&response.body)?)
    }

    async fn make(&self, what: &str, actor: &str) -> Outcome {
        let mut connection = Connection::open(self.debug(), None).await?;
        let path = format!("/debug/{what}/{}", percent_encoded(actor));
        let response = connection.request("POST", "controller", &path).await?;
        ensure(response.status < 300, format!("no {what} of {actor}: {} {}", response.status, response.body))
    }

    /// The value of one of its metrics, with its labels; 0 before it was counted.
    pub async fn metric(&self, name: &str) -> Outcome<f64> {
        let metrics = self.metrics().await?;
        let value = metrics.lines().find_map(|line| line.strip_prefix(name)?.trim().parse().ok());
        Ok(value.unwrap_or_default())
    }

    /// Stops it, without its notice, until [`Controller::resume`].
    pub fn pause(&self) -> Outcome {
        self.process.pause()
    }

    /// Lets it go on after [`Controller::pause`].
    pub fn resume(&self) -> Outcome {
        self.process.resume()
    }

    /// Ends it without asking.
    pub async fn kill(self) -> Outcome {
        self.process.kill().await
    }

    /// Asks it to end.
    ///
    /// # Errors
    /// It takes longer than a pod is given, or its exit code is not 0.
    pub async fn terminate(self) -> Outcome {
        let code = self.process.terminate(DRAIN).await?;
        ensure(code == 0, format!("the controller ended with exit code {code}"))
    }

    fn health(&self) -> std::net::SocketAddr {
        (self.address, HEALTH_PORT).into()
    }

    fn debug(&self) -> std::net::SocketAddr {
        (self.address, DEBUG_PORT).into()
    }
}

/// A name as part of a path: what a URL does not take as it is becomes `%XX`.
fn percent_encoded(name: &str) -> String {
    let as_it_is = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte);
    name.bytes().map(|b| if as_it_is(b) { char::from(b).to_string() } else { format!("%{b:02X}") }).collect()
}
