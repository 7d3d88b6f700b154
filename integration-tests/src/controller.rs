//! The controller under test, as a user starts it.

use crate::{
    configuration,
    eventually::eventually,
    failure::{Outcome, ensure},
    http::{self, Connection},
    process::Process,
    program,
};
use serde_json::Value;
use std::{net::Ipv4Addr, path::Path, time::Duration};
use tokio::process::Command;

/// Its ports are the defaults: it has an address of its own.
const HEALTH_PORT: u16 = 8080;
const DEBUG_PORT: u16 = 6060;
/// How long a controller may take to end when asked to.
const DRAIN: Duration = Duration::from_secs(25);

/// One running controller.
pub struct Controller {
    /// Where it listens.
    pub address: Ipv4Addr,
    process: Process,
}

impl Controller {
    /// Starts `haptic run` for the configuration in `namespace`; does not wait for anything.
    ///
    /// # Errors
    /// There is no `haptic`.
    pub fn start(namespace: &str, kubeconfig: &Path, address: Ipv4Addr, log: &Path) -> Outcome<Self> {
        let mut command = Command::new(program::haptic()?);
        command.args(["run", "--name", configuration::NAME, "--namespace", namespace]);
        command.arg("--kubeconfig").arg(kubeconfig).arg("--bind-address").arg(address.to_string());
        Ok(Self { address, process: Process::start(command, log)? })
    }

    /// Waits until it says that it is ready.
    ///
    /// # Errors
    /// It ended, or never is: what it says instead.
    pub async fn ready(&mut self) -> Outcome {
        eventually("the controller is ready", async || {
            self.process.ensure_running()?;
            http::get((self.address, HEALTH_PORT).into(), "controller", "/readyz").await?.has_status(200)
        })
        .await
    }

    /// The number of its process.
    #[must_use]
    pub fn process_id(&self) -> u32 {
        self.process.id()
    }

    /// Waits until its log contains `words`.
    ///
    /// # Errors
    /// It never does.
    pub async fn says(&self, words: &str) -> Outcome {
        eventually(format!("the controller's log says {words:?}"), async || {
            ensure(self.process.printed().contains(words), "it does not")
        })
        .await
    }

    /// The names of its actors.
    ///
    /// # Errors
    /// It does not answer.
    pub async fn actors(&self) -> Outcome<Vec<String>> {
        let answer = http::get(self.debug(), "controller", "/debug/actors").await?;
        answer.has_status(200)?;
        let actors: Value = serde_json::from_str(&answer.body)?;
        let list = actors.as_array().or_else(|| actors["actors"].as_array());
        let named = list.into_iter().flatten().filter_map(|actor| actor["name"].as_str()).map(str::to_owned);
        let keys = actors.as_object().into_iter().flat_map(serde_json::Map::keys).cloned();
        Ok(if list.is_some() { named.collect() } else { keys.collect() })
    }

    /// Makes `actor` panic; a debug build can.
    ///
    /// # Errors
    /// There is no such actor.
    pub async fn panic(&self, actor: &str) -> Outcome {
        let mut connection = Connection::open(self.debug(), None).await?;
        let response = connection.request("POST", "controller", &format!("/debug/panic/{actor}")).await?;
        ensure(response.status < 300, format!("no panic of {actor}: {} {}", response.status, response.body))
    }

    /// Ends it without asking.
    ///
    /// # Errors
    /// The kernel refuses.
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

    fn debug(&self) -> std::net::SocketAddr {
        (self.address, DEBUG_PORT).into()
    }
}
