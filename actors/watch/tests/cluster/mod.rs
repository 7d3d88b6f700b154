//! etcd and a kube-apiserver of the tests' own, on free ports of the loopback address.
//!
//! The processes end with the test process, however that ends: each runs under a shell that waits for its standard
//! input to close.

use haptic_watch::api_server;
use kube::{
    Api, Client, Config,
    api::{ApiResource, DynamicObject, Patch, PatchParams},
    config::{AuthInfo, KubeConfigOptions, Kubeconfig},
    core::Request,
};
use serde_json::{Value, json};
use std::{
    fs::File,
    net::TcpListener,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::{Mutex, PoisonError},
    time::Duration,
};

/// May do everything.
pub const ADMIN: &str = "admin-token";
/// May do nothing.
#[allow(dead_code)]
pub const NOBODY: &str = "nobody-token";

const UNDER_US: &str = r#""$@" </dev/null & child=$!; cat >/dev/null; kill -9 $child; wait $child"#;

pub struct Cluster {
    directory: tempfile::TempDir,
    etcd_port: u16,
    peer_port: u16,
    port: u16,
    etcd: Mutex<Option<Process>>,
    api_server: Mutex<Option<Process>>,
}

struct Process(Child);

impl Cluster {
    /// Ready when this returns.
    pub async fn start() -> Self {
        // Two chosen together are two different ones.
        let [etcd_port, peer_port, port] = free_ports();
        let directory = tempfile::tempdir().unwrap();
        let data = directory.path();
        std::fs::write(
            data.join("tokens.csv"),
            format!("{ADMIN},admin,admin,system:masters\nnobody-token,nobody,nobody,\n"),
        )
        .unwrap();
        let keys = rcgen::KeyPair::generate().unwrap();
        std::fs::write(data.join("accounts.key"), keys.serialize_pem()).unwrap();
        std::fs::write(data.join("accounts.pub"), keys.public_key_pem()).unwrap();
        let (etcd, api_server) = (Mutex::default(), Mutex::default());
        let cluster = Self { etcd_port, peer_port, port, etcd, api_server, directory };
        cluster.start_etcd();
        cluster.start_api_server().await;
        cluster
    }

    fn start_etcd(&self) {
        let data = self.directory.path();
        let [client, peer] = [self.etcd_port, self.peer_port].map(|port| format!("http://127.0.0.1:{port}"));
        let etcd = Process::start(
            &binary("HAPTIC_ETCD"),
            &data.join("etcd.log"),
            &[
                format!("--data-dir={}", self.state().display()),
                format!("--listen-client-urls={client}"),
                format!("--advertise-client-urls={client}"),
                format!("--listen-peer-urls={peer}"),
                format!("--initial-advertise-peer-urls={peer}"),
                format!("--initial-cluster=default={peer}"),
                "--unsafe-no-fsync".into(),
            ],
        );
        *self.etcd.lock().unwrap_or_else(PoisonError::into_inner) = Some(etcd);
    }

    fn state(&self) -> PathBuf {
        self.directory.path().join("etcd")
    }

    fn saved_state(&self) -> PathBuf {
        self.directory.path().join("saved")
    }

    /// Saves what etcd has; the API server is away meanwhile.
    #[allow(dead_code)]
    pub async fn save(&self) {
        self.without_etcd(|| copy(&self.state(), &self.saved_state())).await;
    }

    /// Brings etcd back to what was saved, as whoever lost it does: without an API server.
    #[allow(dead_code)]
    pub async fn restore(&self) {
        self.without_etcd(|| {
            std::fs::remove_dir_all(self.state()).unwrap();
            copy(&self.saved_state(), &self.state());
        })
        .await;
    }

    async fn without_etcd(&self, work: impl FnOnce()) {
        self.stop_api_server();
        drop(self.etcd.lock().unwrap_or_else(PoisonError::into_inner).take());
        work();
        self.start_etcd();
        self.start_api_server().await;
    }

    /// Starts the API server (again) and waits until it is ready.
    pub async fn start_api_server(&self) {
        let data = self.directory.path();
        let process = Process::start(
            &binary("HAPTIC_KUBE_APISERVER"),
            &data.join("apiserver.log"),
            &[
                format!("--etcd-servers=http://127.0.0.1:{}", self.etcd_port),
                format!("--secure-port={}", self.port),
                "--bind-address=127.0.0.1".into(),
                "--advertise-address=10.99.0.1".into(),
                format!("--cert-dir={}", data.join("certs").display()),
                format!("--service-account-key-file={}", data.join("accounts.pub").display()),
                format!("--service-account-signing-key-file={}", data.join("accounts.key").display()),
                "--service-account-issuer=https://tests".into(),
                format!("--token-auth-file={}", data.join("tokens.csv").display()),
                "--authorization-mode=RBAC".into(),
                "--service-cluster-ip-range=10.98.0.0/16".into(),
                "--disable-admission-plugins=ServiceAccount".into(),
            ],
        );
        *self.api_server.lock().unwrap_or_else(PoisonError::into_inner) = Some(process);
        let client = self.client(ADMIN).await;
        let ready = http_request("/readyz");
        for _ in 0..600 {
            if client.request_text(ready.clone()).await.is_ok() {
                return;
            }
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
        let log = std::fs::read_to_string(data.join("apiserver.log")).unwrap_or_default();
        let tail: Vec<&str> = log.lines().rev().take(20).collect();
        panic!("the API server was not ready after two minutes; its last lines:\n{}", tail.join("\n"));
    }

    /// Ends the API server without a farewell.
    #[allow(dead_code)]
    pub fn stop_api_server(&self) {
        drop(self.api_server.lock().unwrap_or_else(PoisonError::into_inner).take());
    }

    /// Where a child process finds it: the arguments of [`client_at`].
    #[allow(dead_code)]
    pub fn url(&self) -> String {
        format!("https://127.0.0.1:{}", self.port)
    }

    #[allow(dead_code)]
    pub fn port(&self) -> u16 {
        self.port
    }

    pub async fn client(&self, token: &str) -> Client {
        client_at(&format!("https://127.0.0.1:{}", self.port), token).await
    }
}

pub async fn client_at(url: &str, token: &str) -> Client {
    // Another test of this process may have been first.
    drop(rustls::crypto::ring::default_provider().install_default());
    let kubeconfig: Kubeconfig = serde_json::from_value(json!({
        "clusters": [{"name": "c", "cluster": {"server": url, "insecure-skip-tls-verify": true}}],
        "users": [{"name": "u", "user": AuthInfo::default()}],
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
        "current-context": "x"
    }))
    .unwrap();
    let mut config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await.unwrap();
    config.auth_info.token = Some(token.to_owned().into());
    config.read_timeout = Some(api_server::SILENCE);
    api_server::for_watches(Client::try_from(config).unwrap())
}

/// Server-side apply.
#[allow(dead_code)]
pub async fn apply(client: &Client, plural: &str, manifest: Value) {
    let (api, name) = api(client, plural, &manifest);
    let patch = PatchParams::apply("tests").force();
    // The answer is not read: it may be nested deeper than kube reads.
    let request = Request::new(api.resource_url()).patch(&name, &patch, &Patch::Apply(&manifest)).unwrap();
    client.request_text(request).await.unwrap();
}

#[allow(dead_code)]
pub async fn delete(client: &Client, plural: &str, manifest: Value) {
    let (api, name) = api(client, plural, &manifest);
    api.delete(&name, &kube::api::DeleteParams::default()).await.unwrap();
}

fn api(client: &Client, plural: &str, manifest: &Value) -> (Api<DynamicObject>, String) {
    let text =
        |pointer: &str| manifest.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned();
    let api_version = text("/apiVersion");
    let (group, version) = api_version.split_once('/').unwrap_or(("", &api_version));
    let resource = ApiResource {
        group: group.into(),
        version: version.into(),
        api_version: api_version.clone(),
        kind: text("/kind"),
        plural: plural.into(),
    };
    let namespace = text("/metadata/namespace");
    let api = if namespace.is_empty() {
        Api::all_with(client.clone(), &resource)
    } else {
        Api::namespaced_with(client.clone(), &namespace, &resource)
    };
    (api, text("/metadata/name"))
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap().map(Result::unwrap) {
        let (from, to) = (entry.path(), to.join(entry.file_name()));
        if from.is_dir() {
            copy(&from, &to);
        } else {
            std::fs::copy(from, to).unwrap();
        }
    }
}

fn http_request(path: &str) -> http::Request<Vec<u8>> {
    http::Request::get(path).body(Vec::new()).unwrap()
}

fn binary(variable: &str) -> PathBuf {
    match std::env::var_os(variable) {
        Some(path) => path.into(),
        None => panic!(
            "{variable} is not set: run these tests through `make test`, which provides a real API server"
        ),
    }
}

fn free_ports() -> [u16; 3] {
    let listeners = [(); 3].map(|()| TcpListener::bind("127.0.0.1:0").unwrap());
    listeners.map(|listener| listener.local_addr().unwrap().port())
}

impl Process {
    fn start(program: &Path, log: &Path, arguments: &[String]) -> Self {
        let log = File::create(log).unwrap();
        let child = Command::new("sh")
            .args(["-c", UNDER_US, "sh"])
            .arg(program)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(log.try_clone().unwrap())
            .stderr(log)
            .spawn()
            .unwrap();
        Self(child)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        drop(self.0.wait());
    }
}
