//! An Ingress as far as routes are made of it. Scalars of files are texts, numbers of ports as well.

use haptic_model::host_name::wildcard_over;
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::BTreeSet;

#[derive(Debug, Deserialize)]
pub(super) struct MovedIngress {
    #[serde(default)]
    pub spec: MovedSpec,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct MovedSpec {
    pub default_backend: Option<MovedBackend>,
    pub tls: Vec<MovedTls>,
    pub rules: Vec<MovedHost>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct MovedTls {
    pub hosts: Vec<String>,
    pub secret_name: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct MovedHost {
    pub host: String,
    pub http: MovedPaths,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct MovedPaths {
    pub paths: Vec<MovedPath>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct MovedPath {
    pub path: String,
    pub path_type: Option<String>,
    pub backend: MovedBackend,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct MovedBackend {
    /// None where it is another resource.
    pub service: Option<MovedService>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct MovedService {
    pub name: String,
    pub port: MovedPort,
}

#[derive(Clone, Debug, Default, Deserialize)]
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
    /// All paths, which lead to what `spec.defaultBackend` does.
    fn of_rest(backend: &MovedBackend) -> Self {
        Self { path: "/".to_owned(), path_type: Some("Prefix".to_owned()), backend: backend.clone() }
    }

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
        let over = wildcard_over(host);
        self.hosts.is_empty() || self.hosts.iter().any(|name| name == host || Some(name) == over.as_ref())
    }
}

impl MovedIngress {
    /// Of a manifest; a path that is omitted is `/`, and hosts are written in lower case.
    ///
    /// # Errors
    /// Why it cannot be read.
    pub fn read(value: &Value) -> Result<Self, String> {
        let mut ingress = Self::deserialize(value).map_err(|why| format!("it cannot be read: {why}"))?;
        for tls in &mut ingress.spec.tls {
            tls.hosts.iter_mut().for_each(|host| host.make_ascii_lowercase());
        }
        for rule in &mut ingress.spec.rules {
            rule.host.make_ascii_lowercase();
            for path in rule.http.paths.iter_mut().filter(|path| path.path.is_empty()) {
                "/".clone_into(&mut path.path);
            }
        }
        // Without rules it is for all requests.
        if let (true, Some(backend)) = (ingress.spec.rules.is_empty(), &ingress.spec.default_backend) {
            let paths = MovedPaths { paths: vec![MovedPath::of_rest(backend)] };
            ingress.spec.rules.push(MovedHost { host: String::new(), http: paths });
            ingress.spec.default_backend = None;
        }
        Ok(ingress)
    }

    /// Each of its hosts with a path.
    pub fn places(&self) -> impl Iterator<Item = (&str, &MovedPath)> {
        let rules = self.spec.rules.iter();
        rules.flat_map(|rule| rule.http.paths.iter().map(move |path| (rule.host.as_str(), path)))
    }

    pub fn hosts(&self) -> BTreeSet<&str> {
        self.spec.rules.iter().map(|rule| rule.host.as_str()).collect()
    }

    /// The names of the Services that its paths lead to.
    pub fn services(&self) -> BTreeSet<&str> {
        self.places().filter_map(|(_, path)| path.service()).collect()
    }

    pub fn names_tls_hosts(&self) -> bool {
        self.spec.tls.iter().any(|tls| !tls.hosts.is_empty())
    }

    pub fn has_tls(&self, host: &str) -> bool {
        self.spec.tls.iter().any(|tls| tls.covers(host))
    }
}

/// The same as the API server has it: ports are numbers there.
pub(super) fn with_numbers(spec: Option<&Value>) -> Value {
    let mut spec = spec.cloned().unwrap_or_else(|| json!({}));
    make_numbers(&mut spec);
    spec
}

fn make_numbers(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            for (name, field) in fields {
                let number =
                    field.as_str().filter(|_| name == "number").and_then(|text| text.parse::<u16>().ok());
                match number {
                    Some(number) => *field = json!(number),
                    None => make_numbers(field),
                }
            }
        }
        Value::Array(all) => all.iter_mut().for_each(make_numbers),
        _ => {}
    }
}
