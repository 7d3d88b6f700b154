//! What the tour plays on: backends, a folder of manifests, `haptic local`, and the ways to look at them.

use integration_tests::{
    backend::Backend,
    certificate,
    eventually::eventually_within,
    failure::{Failure, Outcome},
    http::{self, Response},
    process::{self, Process},
    program::{self, HaproxySeries},
};
use serde_json::Value;
use std::{
    fs,
    net::{Ipv4Addr, SocketAddr},
    path::{Path, PathBuf},
    time::{Duration, Instant},
};
use tokio::process::Command;

/// Where HAProxy listens; as in the demo's configuration.
pub const HTTP: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 7080);
/// The same for HTTPS.
pub const HTTPS: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 7443);
/// `/debug`, at its default port.
const DEBUG: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 6060);

/// A step that takes longer has failed.
const PATIENCE: Duration = Duration::from_secs(10);

/// Everything that runs for the demo. Ends with it.
pub struct Stage {
    /// The manifests being edited.
    pub manifests: PathBuf,
    /// What HAPTIC logs.
    pub log: PathBuf,
    haptic: Process,
    _backends: Vec<Backend>,
    _folder: tempfile::TempDir,
}

impl Stage {
    /// Copies the manifests, makes a certificate, starts backends and `haptic local`.
    pub async fn set() -> Outcome<Self> {
        let folder = tempfile::Builder::new().prefix("haptic-demo-").tempdir()?;
        let manifests = folder.path().join("manifests");
        fs::create_dir(&manifests)?;
        for entry in fs::read_dir(fixtures().join("manifests"))? {
            let entry = entry?;
            fs::copy(entry.path(), manifests.join(entry.file_name()))?;
        }
        write_certificate(&manifests, "shop.localhost")?;
        let mut backends = Vec::new();
        for (name, last) in [("shop", 11), ("cart", 12), ("shop-moved", 13), ("blog", 14)] {
            backends.push(Backend::start(name, Ipv4Addr::new(127, 0, 0, last)).await?);
        }
        let log = folder.path().join("haptic.log");
        let mut command = Command::new(program::haptic()?);
        command.arg("local").arg("--file").arg(fixtures().join("config.yaml"));
        command.arg("--resources").arg(&manifests);
        // Where the tour asks: taken ones are to be told, not replaced.
        for (port, number) in
            [("--http-port", HTTP.port()), ("--https-port", HTTPS.port()), ("--debug-port", DEBUG.port())]
        {
            command.arg(port).arg(number.to_string());
        }
        command.arg("--haproxy").arg(program::haproxy(HaproxySeries::default())?);
        let haptic = Process::start(command, &log)?;
        Ok(Self { manifests, log, haptic, _backends: backends, _folder: folder })
    }

    /// Fails, with the last lines of its log, when `haptic local` has ended.
    pub fn still_plays(&mut self) -> Outcome {
        self.haptic.ensure_running().map_err(|e| {
            Failure::new(format!("{e}\nIts last words:\n{}", process::last_lines(&self.log, 10)))
        })
    }

    /// Ends `haptic local` as Ctrl-C would.
    pub async fn strike(self) -> Outcome {
        let code = self.haptic.terminate(Duration::from_secs(25)).await?;
        if code == 0 { Ok(()) } else { Err(Failure::new(format!("haptic local ended with {code}"))) }
    }

    /// Replaces a manifest at one stroke, as editors do.
    pub fn write(&self, name: &str, text: &str) -> Outcome {
        let new = self.manifests.join(format!(".{name}.new"));
        fs::write(&new, text)?;
        Ok(fs::rename(new, self.manifests.join(name))?)
    }

    /// A manifest as it is now.
    pub fn read(&self, name: &str) -> Outcome<String> {
        Ok(fs::read_to_string(self.manifests.join(name))?)
    }

    /// Asks until the answer is `wanted`; how long that took since `start`.
    ///
    /// # Errors
    /// The last answer, when it never came.
    pub async fn until(
        &self,
        start: Instant,
        https: bool,
        (host, path): (&str, &str),
        wanted: impl Fn(&Response) -> Outcome,
    ) -> Outcome<Duration> {
        let what = format!("the answer of {host}{path}");
        eventually_within(PATIENCE, what, async || {
            let answer = if https {
                http::get_tls(HTTPS, host, path).await
            } else {
                http::get(HTTP, host, path).await
            };
            wanted(&answer?)
        })
        .await?;
        Ok(start.elapsed())
    }

    /// The newest commentary that contains `words`, awaited.
    pub async fn commentary(&self, after: u64, words: &str) -> Outcome<(u64, String)> {
        let what = format!("commentary with {words:?}");
        eventually_within(PATIENCE, what, async || {
            let said = events().await?;
            let found =
                said.into_iter().filter(|(number, text)| *number > after && text.contains(words)).max();
            found.ok_or_else(|| Failure::new(format!("HAPTIC said nothing about {words:?}")))
        })
        .await
    }

    /// The number of the newest commentary.
    pub async fn now(&self) -> Outcome<u64> {
        Ok(events().await?.into_iter().map(|(number, _)| number).max().unwrap_or(0))
    }
}

/// Writes the Secret with a fresh self-signed certificate for `host`; gives the certificate.
pub fn write_certificate(manifests: &Path, host: &str) -> Outcome<Vec<u8>> {
    let made = certificate::for_host(host)?;
    let secret = serde_json::json!({
        "apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/tls",
        "metadata": {"name": "shop-tls", "namespace": "default"},
        "data": {"tls.crt": base64(&made.pem), "tls.key": base64(&made.key)},
    });
    let new = manifests.join(".shop-tls.new");
    fs::write(&new, secret.to_string())?;
    fs::rename(new, manifests.join("shop-tls.json"))?;
    Ok(made.der)
}

async fn events() -> Outcome<Vec<(u64, String)>> {
    let answer = http::get(DEBUG, "localhost", "/debug/events").await?;
    let all: Value = serde_json::from_str(&answer.body)?;
    let entries = all.as_array().cloned().unwrap_or_default();
    Ok(entries.iter().filter_map(|e| Some((e["number"].as_u64()?, e["text"].as_str()?.to_owned()))).collect())
}

fn base64(text: &str) -> String {
    use base64::Engine;
    base64::engine::general_purpose::STANDARD.encode(text)
}

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/demo")
}
