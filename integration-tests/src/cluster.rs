//! etcd and a kube-apiserver, ready in about three seconds: RBAC on, token authentication, a certificate that is checked.
//!
//! No kubelet and no controllers: journeys write Pods' status and EndpointSlices themselves.

use crate::{
    audit::{self, Request},
    certificate,
    eventually::eventually_within,
    failure::{Failure, Outcome},
    process::Process,
    program,
};
use base64::Engine as _;
use kube::{
    Api, Client, Config, ResourceExt,
    api::{DeleteParams, DynamicObject, Patch, PatchParams},
    config::{KubeConfigOptions, Kubeconfig},
    core::{GroupVersionKind, TypeMeta},
    discovery::{Scope, pinned_kind},
};
use serde_json::{Value, json};
use std::{
    fs,
    net::Ipv4Addr,
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
    time::Duration,
};
use tokio::process::Command;

const READY_WITHIN: Duration = Duration::from_secs(120);

const AUDIT_LOG: &str = "audit.log";
/// Of etcd, and a copy of it.
const STATE: &str = "etcd";
const SAVED: &str = "etcd-saved";

/// A user with no rights but those that a journey gives.
pub const GUEST: &str = "guest";

/// A running cluster.
pub struct Cluster {
    /// Talks to it as its administrator.
    pub client: Client,
    dir: PathBuf,
    address: Ipv4Addr,
    etcd: Mutex<Option<Process>>,
    api_server: Mutex<Option<Process>>,
}

impl Cluster {
    /// Starts one at `address`, with its files in `dir`.
    ///
    /// # Errors
    /// A part is missing or not ready in two minutes: its last words.
    pub async fn start(address: Ipv4Addr, dir: &Path) -> Outcome<Self> {
        fs::create_dir_all(dir)?;
        let authority = write_keys(address, dir)?;
        let tokens = format!("admin-token,admin,admin,system:masters\n{GUEST}-token,{GUEST},{GUEST}\n");
        fs::write(dir.join("tokens.csv"), tokens)?;
        for user in ["admin", GUEST] {
            fs::write(
                dir.join(format!("{user}.kubeconfig")),
                kubeconfig(address, &authority, user).to_string(),
            )?;
        }
        fs::write(dir.join("audit.json"), audit::policy().to_string())?;
        let etcd = start_etcd(address, dir)?;
        let api_server = start_api_server(address, dir)?;
        let cluster = Self {
            client: client(&dir.join("admin.kubeconfig")).await?,
            dir: dir.to_owned(),
            address,
            etcd: Mutex::new(Some(etcd)),
            api_server: Mutex::new(Some(api_server)),
        };
        cluster.ready().await?;
        Ok(cluster)
    }

    /// The administrator's kubeconfig file.
    #[must_use]
    pub fn kubeconfig(&self) -> PathBuf {
        self.kubeconfig_of("admin")
    }

    /// The kubeconfig file of `user`: `admin` or [`GUEST`].
    #[must_use]
    pub fn kubeconfig_of(&self, user: &str) -> PathBuf {
        self.dir.join(format!("{user}.kubeconfig"))
    }

    /// Where the API server listens, at port 6443.
    #[must_use]
    pub fn address(&self) -> Ipv4Addr {
        self.address
    }

    /// The file with the certificate that signs the API server's.
    #[must_use]
    pub fn authority(&self) -> PathBuf {
        self.dir.join("authority.pem")
    }

    /// What service accounts have asked of the API server until now.
    pub fn audit(&self) -> Outcome<Vec<Request>> {
        audit::read(&self.dir.join(AUDIT_LOG))
    }

    /// Ends the API server without asking; everything it knew stays in etcd.
    pub async fn stop_api_server(&self) -> Outcome {
        let running = self.api_server.lock().unwrap_or_else(PoisonError::into_inner).take();
        running.ok_or_else(|| Failure::new("the API server does not run"))?.kill().await
    }

    /// Starts the API server again; back when it answers.
    ///
    /// # Errors
    /// It is not ready in two minutes.
    pub async fn start_api_server(&self) -> Outcome {
        let started = start_api_server(self.address, &self.dir)?;
        self.api_server.lock().unwrap_or_else(PoisonError::into_inner).replace(started);
        self.ready().await
    }

    /// Copies what etcd has. The API server is away meanwhile.
    ///
    /// # Errors
    /// A part does not end or start, or the disk has no room.
    pub async fn save_state(&self) -> Outcome {
        self.end_state().await?;
        copy_folder(&self.dir.join(STATE), &self.dir.join(SAVED))?;
        self.begin_state().await
    }

    /// Brings etcd back to what was copied, as somebody does who lost it: everything since is forgotten, and versions of objects
    /// begin again from there.
    ///
    /// # Errors
    /// As [`Self::save_state`].
    pub async fn restore_state(&self) -> Outcome {
        self.end_state().await?;
        fs::remove_dir_all(self.dir.join(STATE))?;
        copy_folder(&self.dir.join(SAVED), &self.dir.join(STATE))?;
        self.begin_state().await
    }

    async fn end_state(&self) -> Outcome {
        self.stop_api_server().await?;
        let etcd = self.etcd.lock().unwrap_or_else(PoisonError::into_inner).take();
        etcd.ok_or_else(|| Failure::new("etcd does not run"))?.kill().await
    }

    async fn begin_state(&self) -> Outcome {
        let etcd = start_etcd(self.address, &self.dir)?;
        self.etcd.lock().unwrap_or_else(PoisonError::into_inner).replace(etcd);
        self.start_api_server().await
    }

    /// Server-side apply, as `kubectl apply --server-side --force-conflicts`; without a namespace in the manifest, into `namespace`.
    pub async fn apply(&self, namespace: &str, manifest: &Value) -> Outcome<DynamicObject> {
        let object: DynamicObject = serde_json::from_value(manifest.clone())?;
        let api = self.api(namespace, &object).await?;
        let by = PatchParams::apply("journey").force();
        Ok(api.patch(&object.name_any(), &by, &Patch::Apply(manifest)).await?)
    }

    /// Changes the status of the object that `manifest` names.
    pub async fn set_status(&self, namespace: &str, manifest: &Value, status: &Value) -> Outcome {
        let object: DynamicObject = serde_json::from_value(manifest.clone())?;
        let api = self.api(namespace, &object).await?;
        api.patch_status(&object.name_any(), &PatchParams::default(), &Patch::Merge(status)).await?;
        Ok(())
    }

    /// Deletes the object that `manifest` names, at once.
    pub async fn delete(&self, namespace: &str, manifest: &Value) -> Outcome {
        let object: DynamicObject = serde_json::from_value(manifest.clone())?;
        let api = self.api(namespace, &object).await?;
        api.delete(&object.name_any(), &DeleteParams::default().grace_period(0)).await?;
        Ok(())
    }

    /// The object that `manifest` names, as the API server has it now.
    pub async fn get(&self, namespace: &str, manifest: &Value) -> Outcome<DynamicObject> {
        let object: DynamicObject = serde_json::from_value(manifest.clone())?;
        Ok(self.api(namespace, &object).await?.get(&object.name_any()).await?)
    }

    /// Applies every document of `yaml`, and waits until the resources that it defines are served.
    pub async fn install_definitions(&self, yaml: &str) -> Outcome {
        for definition in serde_saphyr::from_multiple::<Value>(yaml)? {
            self.apply("", &definition).await?;
            eventually_within(READY_WITHIN, "the new resource is served", async || {
                let now = self.get("", &definition).await?.data;
                let conditions = now["status"]["conditions"].as_array().cloned().unwrap_or_default();
                let served = conditions.iter().any(|c| c["type"] == "Established" && c["status"] == "True");
                crate::ensure(served, format!("its conditions are {conditions:?}"))
            })
            .await?;
        }
        Ok(())
    }

    async fn ready(&self) -> Outcome {
        eventually_within(READY_WITHIN, "the API server is ready", async || {
            if let Some(etcd) = self.etcd.lock().unwrap_or_else(PoisonError::into_inner).as_mut() {
                let running = etcd.ensure_running();
                running.map_err(|failure| Failure::new(format!("etcd {}", failure.sentence())))?;
            }
            if let Some(server) = self.api_server.lock().unwrap_or_else(PoisonError::into_inner).as_mut() {
                server.ensure_running()?;
            }
            let probe = http::Request::get("/readyz").body(Vec::new())?;
            self.client.request_text(probe).await?;
            Ok(())
        })
        .await
    }

    async fn api(&self, namespace: &str, object: &DynamicObject) -> Outcome<Api<DynamicObject>> {
        let types: &TypeMeta =
            object.types.as_ref().ok_or_else(|| Failure::new("a manifest without apiVersion and kind"))?;
        let wanted = GroupVersionKind::try_from(types)?;
        let (resource, capabilities) = pinned_kind(&self.client, &wanted).await?;
        let namespace = object.metadata.namespace.as_deref().unwrap_or(namespace);
        Ok(match capabilities.scope {
            Scope::Cluster => Api::all_with(self.client.clone(), &resource),
            Scope::Namespaced => Api::namespaced_with(self.client.clone(), namespace, &resource),
        })
    }
}

async fn client(kubeconfig: &Path) -> Outcome<Client> {
    let file = Kubeconfig::read_from(kubeconfig)?;
    let config = Config::from_custom_kubeconfig(file, &KubeConfigOptions::default()).await?;
    Ok(Client::try_from(config)?)
}

/// Writes the API server's certificate and key and the key that signs service accounts' tokens; gives the authority.
fn write_keys(address: Ipv4Addr, dir: &Path) -> Outcome<String> {
    let (serving, authority) = certificate::for_api_server(&[address.to_string(), "localhost".to_owned()])?;
    fs::write(dir.join("serving.pem"), serving.pem)?;
    fs::write(dir.join("serving.key"), serving.key)?;
    let (private, public) = certificate::key_pair()?;
    fs::write(dir.join("accounts.key"), private)?;
    fs::write(dir.join("accounts.pub"), public)?;
    fs::write(dir.join("authority.pem"), &authority)?;
    Ok(authority)
}

/// A kubeconfig is YAML, and JSON is YAML.
fn kubeconfig(address: Ipv4Addr, authority: &str, user: &str) -> Value {
    let cluster = json!({
        "server": format!("https://{address}:6443"),
        "certificate-authority-data": base64::engine::general_purpose::STANDARD.encode(authority),
    });
    json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "journeys",
        "clusters": [{ "name": "journeys", "cluster": cluster }],
        "users": [{ "name": user, "user": { "token": format!("{user}-token") } }],
        "contexts": [{ "name": "journeys", "context": { "cluster": "journeys", "user": user } }],
    })
}

fn copy_folder(from: &Path, to: &Path) -> Outcome {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy_folder(&entry.path(), &target)?;
        } else {
            fs::copy(entry.path(), target)?;
        }
    }
    Ok(())
}

fn start_etcd(address: Ipv4Addr, dir: &Path) -> Outcome<Process> {
    let (clients, peers) = (format!("http://{address}:2379"), format!("http://{address}:2380"));
    let mut etcd = Command::new(program::etcd()?);
    etcd.arg("--data-dir").arg(dir.join(STATE)).args(["--unsafe-no-fsync", "--log-level=warn"]);
    etcd.args(["--listen-client-urls", &clients, "--advertise-client-urls", &clients]);
    etcd.args(["--listen-peer-urls", &peers, "--initial-advertise-peer-urls", &peers]);
    etcd.args(["--initial-cluster", &format!("default={peers}")]);
    Process::start(etcd, &dir.join("etcd.log"))
}

fn start_api_server(address: Ipv4Addr, dir: &Path) -> Outcome<Process> {
    let file = |flag: &str, name: &str| format!("--{flag}={}", dir.join(name).display());
    let mut server = Command::new(program::kube_apiserver()?);
    server.args([
        format!("--etcd-servers=http://{address}:2379"),
        format!("--bind-address={address}"),
        format!("--advertise-address={address}"),
        file("tls-cert-file", "serving.pem"),
        file("tls-private-key-file", "serving.key"),
        file("service-account-key-file", "accounts.pub"),
        file("service-account-signing-key-file", "accounts.key"),
        file("token-auth-file", "tokens.csv"),
        file("audit-policy-file", "audit.json"),
        file("audit-log-path", AUDIT_LOG),
    ]);
    server.args([
        "--secure-port=6443",
        "--service-account-issuer=https://journeys",
        "--authorization-mode=RBAC",
        "--service-cluster-ip-range=10.98.0.0/16",
        "--enable-aggregator-routing=true",
        "--disable-admission-plugins=ServiceAccount",
        "--allow-privileged=true",
    ]);
    Process::start(server, &dir.join("kube-apiserver.log"))
}
