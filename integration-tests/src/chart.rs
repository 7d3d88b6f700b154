//! The Helm chart, through the real helm.

use crate::{
    failure::{Failure, Outcome},
    process,
    program::{self, Helm},
};
use serde_json::{Value, json};
use std::{
    ffi::OsStr,
    fs,
    path::{Path, PathBuf},
};
use tokio::process::Command;

/// Where the chart is.
#[must_use]
pub fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../charts/haptic")
}

/// One release of the chart, installed or not.
pub struct Release {
    /// Its name.
    pub name: String,
    /// Its namespace.
    pub namespace: String,
    /// Files of helm and of the values, of this release's own.
    dir: PathBuf,
    kubeconfig: Option<PathBuf>,
    helm: Helm,
}

impl Release {
    /// A release that is only rendered, with its files in `dir`.
    #[must_use]
    pub fn rendered(name: &str, namespace: &str, dir: &Path) -> Self {
        let (name, namespace, dir) = (name.to_owned(), namespace.to_owned(), dir.to_owned());
        Self { name, namespace, dir, kubeconfig: None, helm: Helm::default() }
    }

    /// The same with another helm.
    #[must_use]
    pub fn by(self, helm: Helm) -> Self {
        Self { helm, ..self }
    }

    /// The same in the cluster that `kubeconfig` leads to.
    #[must_use]
    pub fn in_cluster(self, kubeconfig: &Path) -> Self {
        Self { kubeconfig: Some(kubeconfig.to_owned()), ..self }
    }

    /// The objects that helm makes of `values`, asking no cluster.
    ///
    /// # Errors
    /// helm's own words.
    pub async fn render(&self, values: &Value) -> Outcome<Vec<Value>> {
        let values = self.values(values)?;
        let rendered = self.helm("template", ["--values".as_ref(), values.as_os_str()]).await?;
        documents(&rendered)
    }

    /// Installs it, without waiting for pods, which nobody starts; gives what helm prints.
    ///
    /// # Errors
    /// helm's own words.
    pub async fn install(&self, values: &Value) -> Outcome<String> {
        let values = self.values(values)?;
        self.helm("install", ["--values".as_ref(), values.as_os_str()]).await
    }

    /// Upgrades it to `values`.
    ///
    /// # Errors
    /// helm's own words.
    pub async fn upgrade(&self, values: &Value) -> Outcome<String> {
        let values = self.values(values)?;
        self.helm("upgrade", ["--values".as_ref(), values.as_os_str()]).await
    }

    /// Removes it.
    ///
    /// # Errors
    /// helm's own words.
    pub async fn uninstall(&self) -> Outcome<String> {
        let mut helm = self.command("uninstall")?;
        process::output(helm.args([&self.name, "--namespace", &self.namespace])).await
    }

    /// The objects of the installed release, as helm remembers them.
    pub async fn manifest(&self) -> Outcome<Vec<Value>> {
        let mut helm = self.command("get")?;
        let manifest = helm.args(["manifest", &self.name, "--namespace", &self.namespace]);
        documents(&process::output(manifest).await?)
    }

    async fn helm<'a>(&self, verb: &str, arguments: impl IntoIterator<Item = &'a OsStr>) -> Outcome<String> {
        let mut helm = self.command(verb)?;
        helm.arg(&self.name).arg(folder()).args(["--namespace", &self.namespace]).args(arguments);
        process::output(&mut helm).await
    }

    fn command(&self, verb: &str) -> Outcome<Command> {
        let mut helm = command(self.helm, &self.dir)?;
        helm.arg(verb);
        if let Some(kubeconfig) = &self.kubeconfig {
            helm.arg("--kubeconfig").arg(kubeconfig);
        }
        Ok(helm)
    }

    fn values(&self, values: &Value) -> Outcome<PathBuf> {
        fs::create_dir_all(&self.dir)?;
        let file = self.dir.join("values.json");
        fs::write(&file, values.to_string())?;
        Ok(file)
    }
}

/// helm of `version` with its files in `dir`, knowing nothing of the user's.
pub fn command(version: Helm, dir: &Path) -> Outcome<Command> {
    let mut helm = Command::new(program::helm(version)?);
    helm.env("HELM_CACHE_HOME", dir).env("HELM_CONFIG_HOME", dir).env("HELM_DATA_HOME", dir);
    helm.env_remove("KUBECONFIG");
    Ok(helm)
}

/// The documents of `yaml` that say something.
fn documents(yaml: &str) -> Outcome<Vec<Value>> {
    let documents: Vec<Value> = serde_saphyr::from_multiple(yaml)?;
    Ok(documents.into_iter().filter(|document| !document.is_null()).collect())
}

/// The one object of `kind` whose name ends with `name`.
pub fn the<'a>(objects: &'a [Value], kind: &str, name: &str) -> Outcome<&'a Value> {
    let named = |object: &&Value| {
        object["kind"] == kind && object["metadata"]["name"].as_str().is_some_and(|n| n.ends_with(name))
    };
    match objects.iter().filter(named).collect::<Vec<_>>()[..] {
        [one] => Ok(one),
        ref others => Err(Failure::new(format!("{} objects are {kind} …{name}", others.len()))),
    }
}

/// `over` laid over `under`, key by key, as helm does with values.
#[must_use]
pub fn merged(mut under: Value, over: &Value) -> Value {
    match (under.as_object_mut(), over.as_object()) {
        (Some(fields), Some(others)) => {
            for (key, value) in others {
                let before = fields.remove(key).unwrap_or_default();
                fields.insert(key.clone(), merged(before, value));
            }
            under
        }
        _ => over.clone(),
    }
}

/// Values that change which objects there are, or what they look like, each with each.
#[must_use]
pub fn combinations() -> Vec<Value> {
    let kinds = [
        json!({}),
        json!({ "haproxy": {
            "kind": "DaemonSet", "hostPorts": { "http": 80, "https": 443 }, "service": { "enabled": false },
        } }),
        json!({ "haproxy": { "autoscaling": { "enabled": true }, "service": { "type": "NodePort" } } }),
        json!({ "haproxy": { "hostPorts": { "http": 80 }, "service": { "type": "ClusterIP" }, "version": "3.0" } }),
        json!({ "haproxy": { "transport": "dataplaneapi" } }),
    ];
    let others = [
        json!({}),
        json!({
            "fullnameOverride": "edge", "configuration": { "create": false, "name": "mine" },
            "credentials": { "existingSecret": "mine" },
        }),
        json!({ "credentials": { "existingSecret": "" }, "networkPolicy": { "enabled": false } }),
        json!({ "ingressClass": { "create": false }, "ingressStatus": { "enabled": false }, "webhook": { "enabled": false } }),
        json!({ "webhook": {
            "resources": ["ingresses", "services"], "failurePolicy": "Fail",
            "namespaceSelector": { "matchLabels": { "edge": "true" } }, "certificate": { "certManager": { "enabled": true } },
        } }),
        json!({ "gateway": { "enabled": true, "allowedAddresses": ["192.0.2.0/24"] } }),
        json!({ "gateway": { "enabled": true, "class": { "create": false }, "serviceMode": "shared" } }),
        json!({ "monitoring": {
            "podMonitors": { "enabled": true }, "rules": { "enabled": true }, "dashboard": { "enabled": true },
        } }),
        json!({ "configuration": { "spec": { "watchedResources": {
            "services": { "apiVersion": "v1", "resources": "services", "namespaces": ["default", "kube-system"] },
            "pages": { "apiVersion": "example.com/v1", "resources": "pages", "store": "on-demand" },
        } } } }),
    ];
    kinds.iter().flat_map(|kind| others.iter().map(|other| merged(kind.clone(), other))).collect()
}
