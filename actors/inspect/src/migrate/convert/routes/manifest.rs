//! An Ingress as far as routes are made of it. Scalars of files are texts, numbers of ports as well.

use serde::Deserialize;

#[derive(Deserialize)]
pub(super) struct MovedIngress {
    #[serde(default)]
    pub spec: MovedSpec,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct MovedSpec {
    pub default_backend: Option<MovedBackend>,
    pub tls: Vec<MovedTls>,
    pub rules: Vec<MovedHost>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct MovedTls {
    pub hosts: Vec<String>,
    pub secret_name: String,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct MovedHost {
    pub host: String,
    pub http: MovedPaths,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct MovedPaths {
    pub paths: Vec<MovedPath>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct MovedPath {
    pub path: String,
    pub path_type: Option<String>,
    pub backend: MovedBackend,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct MovedBackend {
    /// None where it is another resource.
    pub service: Option<MovedService>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct MovedService {
    pub name: String,
    pub port: MovedPort,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct MovedPort {
    pub name: String,
    pub number: String,
}

impl MovedPort {
    /// The number, or the name.
    pub fn text(&self) -> &str {
        if self.number.is_empty() { &self.name } else { &self.number }
    }
}

impl MovedPath {
    /// The type, by the name of the one that counts where there is none.
    pub fn kind(&self) -> &str {
        self.path_type.as_deref().unwrap_or("ImplementationSpecific")
    }

    pub fn service(&self) -> Option<&str> {
        self.backend.service.as_ref().map(|service| service.name.as_str())
    }
}

impl MovedTls {
    /// Whether it is for this host; without hosts it is for all.
    pub fn covers(&self, host: &str) -> bool {
        let is_it = |name: &String| {
            let rest = name.strip_prefix("*.");
            name == host || rest.is_some_and(|rest| host.split_once('.').is_some_and(|(_, of)| of == rest))
        };
        self.hosts.is_empty() || self.hosts.iter().any(is_it)
    }
}

impl MovedIngress {
    /// All paths, each with the Service that it leads to.
    pub fn paths(&self) -> Vec<(String, Option<String>)> {
        let paths = self.spec.rules.iter().flat_map(|rule| &rule.http.paths);
        paths.map(|path| (path.path.clone(), path.service().map(str::to_owned))).collect()
    }

    pub fn names_tls_hosts(&self) -> bool {
        self.spec.tls.iter().any(|tls| !tls.hosts.is_empty())
    }
}
