//! What an Ingress asks for (`networking.k8s.io/v1`).

use super::{
    claims::{Backend, Claims, Port, RouteClaim},
    class::Classes,
    contest::Age,
    matching::{ANY_HOST, Match, host_of},
    path::{self, Spelling},
    sentences::shortened,
};
use haptic_model::host_name::{is_host, wildcard_over};
use serde::Deserialize;
use serde_json::{Map, json};
use std::{
    collections::{BTreeMap, BTreeSet, HashSet},
    sync::Arc,
};

/// The annotation that named the class before `spec.ingressClassName` did.
const CLASS_ANNOTATION: &str = "kubernetes.io/ingress.class";

/// What our own annotations begin with; templates see them as `options`, without it.
const OPTIONS: &str = "haproxy-haptic.org/";

/// What one of them may have: twice what any of the built-in libraries takes. Of a larger one only its size is told.
const OPTION_BYTES: usize = 64 << 10;

/// The annotation that names the Secret with the CA of clients.
const CLIENT_CA: &str = "haproxy-haptic.org/client-ca-secret";

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Ingress {
    metadata: Metadata,
    spec: Option<Spec>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Metadata {
    #[serde(default)]
    namespace: Arc<str>,
    #[serde(default)]
    name: Arc<str>,
    creation_timestamp: Option<Arc<str>>,
    annotations: Option<BTreeMap<String, String>>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Spec {
    ingress_class_name: Option<String>,
    default_backend: Option<IngressBackend>,
    tls: Option<Vec<Tls>>,
    rules: Option<Vec<Rule>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Tls {
    hosts: Option<Vec<String>>,
    secret_name: Option<Arc<str>>,
}

#[derive(Deserialize)]
struct Rule {
    host: Option<String>,
    http: Option<Http>,
}

#[derive(Deserialize)]
struct Http {
    paths: Option<Vec<HttpPath>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct HttpPath {
    path: Option<String>,
    path_type: Option<String>,
    backend: Option<IngressBackend>,
}

#[derive(Deserialize)]
struct IngressBackend {
    service: Option<ServiceBackend>,
    resource: Option<ResourceBackend>,
}

#[derive(Deserialize)]
struct ServiceBackend {
    name: Arc<str>,
    port: Option<ServicePort>,
}

#[derive(Deserialize)]
struct ServicePort {
    number: Option<u16>,
    name: Option<Arc<str>>,
}

#[derive(Deserialize)]
struct ResourceBackend {
    kind: String,
    name: String,
}

/// What the Ingress in `json` asks for; `None` when its class is not ours.
///
/// # Errors
/// When it is no Ingress: what is wrong with it, in words of the field.
pub fn claims(json: &[u8], classes: &Classes) -> Result<Option<Claims>, String> {
    let ingress: Ingress =
        serde_json::from_slice(json).map_err(|e| format!("it cannot be read as an Ingress: {e}"))?;
    let Ingress { metadata, spec } = ingress;
    let spec = spec.unwrap_or_default();
    let annotations = metadata.annotations.unwrap_or_default();
    let class = spec.ingress_class_name.as_deref();
    if !classes.take(class.or(annotations.get(CLASS_ANNOTATION).map(String::as_str))) {
        return Ok(None);
    }
    let tls = TlsHosts::of(spec.tls.as_deref());
    let mut reading = Reading { claims: Claims::default(), tls, spelling: classes.spelling };
    reading.claims.age = metadata.creation_timestamp.map_or(Age::Unknown, Age::Since);
    let rules = spec.rules.unwrap_or_default();
    let mut hosts: Vec<Arc<str>> = Vec::new();
    for rule in &rules {
        let Some(host) = reading.host(rule.host.as_deref().unwrap_or_default(), true) else { continue };
        reading.rule(&host, rule);
        hosts.push(host);
    }
    if let Some(backend) = &spec.default_backend {
        reading.default_backend((!rules.is_empty()).then_some(&hosts), backend);
    }
    reading.certificates(&hosts, spec.tls.as_deref().unwrap_or_default());
    reading.client_ca(annotations.get(CLIENT_CA));
    reading.claims.mark_repeated();
    // Annotations of others are in the Ingress itself: they may be large, and no route needs them.
    let own = annotations.iter().filter_map(|(key, value)| Some((key.strip_prefix(OPTIONS)?, value)));
    let (options, large): (BTreeMap<_, _>, BTreeMap<_, _>) =
        own.partition(|(_, value)| value.len() <= OPTION_BYTES);
    let large: BTreeMap<_, _> = large.into_iter().map(|(key, value)| (key, value.len())).collect();
    let metadata = json!({ "namespace": metadata.namespace, "name": metadata.name });
    let fields = [("metadata", metadata), ("options", json!(options)), ("oversized", json!(large))];
    reading.claims.fields =
        fields.map(|(name, value)| (name.to_owned(), value)).into_iter().collect::<Map<_, _>>().into();
    Ok(Some(reading.claims))
}

struct Reading {
    claims: Claims,
    tls: TlsHosts,
    spelling: Spelling,
}

impl Reading {
    /// A host as routes compare it, if it is one; "" for every host where that is possible.
    fn host(&mut self, text: &str, may_be_every: bool) -> Option<Arc<str>> {
        let lower = text.to_ascii_lowercase();
        if is_host(&lower) || (may_be_every && text.is_empty()) {
            return Some(host_of(&lower));
        }
        let sentence = format!("host {:?} is no host name, and none like *.shop.example", shortened(text));
        self.claims.refused.push(sentence);
        None
    }

    fn rule(&mut self, host: &Arc<str>, rule: &Rule) {
        let paths = rule.http.as_ref().and_then(|http| http.paths.as_deref()).unwrap_or_default();
        for path in paths {
            let text = path.path.as_deref().filter(|p| !p.is_empty()).unwrap_or("/");
            let Some(compared) = self.compared(text) else { continue };
            let wanted = match path.path_type.as_deref() {
                Some("Exact") => Match::exact(host, &compared),
                // What ImplementationSpecific means is up to us: the same as Prefix.
                Some("Prefix" | "ImplementationSpecific") | None => Match::prefix(host, &compared),
                Some(other) => {
                    let (other, text) = (shortened(other), shortened(text));
                    let sentence = format!("pathType {other:?} of {host}{text} is unknown");
                    self.claims.refused.push(sentence);
                    continue;
                }
            };
            match path.backend.as_ref().map(backend_of) {
                Some(Ok(backend)) => self.route(wanted, backend, false),
                Some(Err(why)) => self.claims.refused.push(format!("{wanted} {why}")),
                None => self.claims.refused.push(format!("{wanted} has no backend")),
            }
        }
    }

    /// A path as requests' paths are compared with it; a path that no request can have is refused.
    fn compared(&mut self, path: &str) -> Option<String> {
        let shown = shortened(path);
        if !path.starts_with('/') || path.contains(char::is_whitespace) {
            self.claims.refused.push(format!("path {shown:?} must begin with / and have no blanks"));
            return None;
        }
        if self.spelling == Spelling::Raw {
            return Some(path.to_owned());
        }
        match path::normal(path) {
            Ok(normal) => {
                if path::is_reshaped(path, &normal) || path.contains(['?', '#']) {
                    let read = shortened(&normal.text);
                    let sentence = format!(
                        "path {shown:?} is compared as {read:?}, as requests' paths are: write it so"
                    );
                    self.claims.refused.push(sentence);
                }
                Some(normal.text)
            }
            Err(why) => {
                self.claims.refused.push(format!("path {shown:?} {why}, and such requests are refused"));
                None
            }
        }
    }

    /// Requests that no rule takes: of the hosts that the rules name, or of all when there are no rules.
    fn default_backend(&mut self, of_rules: Option<&Vec<Arc<str>>>, backend: &IngressBackend) {
        let backend = match backend_of(backend) {
            Ok(backend) => backend,
            Err(why) => return self.claims.refused.push(format!("defaultBackend {why}")),
        };
        let every = [ANY_HOST.into()];
        let mut known = HashSet::new();
        for host in of_rules.map_or(&every[..], Vec::as_slice) {
            if known.insert(host) {
                self.route(Match::prefix(host, ""), backend.clone(), true);
            }
        }
    }

    fn route(&mut self, wanted: Match, backend: Backend, fallback: bool) {
        let tls = self.tls.cover(&wanted.host);
        self.claims.routes.push(RouteClaim { wanted, backend, fallback, tls, repeated: false });
    }

    fn certificates(&mut self, hosts: &[Arc<str>], tls: &[Tls]) {
        let mut brought: BTreeMap<Arc<str>, Vec<Arc<str>>> = BTreeMap::new();
        for entry in tls {
            // Without a Secret the default certificate answers for the hosts.
            let Some(secret) = entry.secret_name.as_ref().filter(|s| !s.is_empty()) else { continue };
            let named = entry.hosts.as_deref().unwrap_or_default();
            let wanted: BTreeSet<Arc<str>> = if named.is_empty() {
                hosts.iter().filter(|h| &***h != ANY_HOST).cloned().collect()
            } else {
                named.iter().filter_map(|host| self.host(host, false)).collect()
            };
            if wanted.is_empty() && named.is_empty() {
                let secret = shortened(secret);
                let sentence =
                    format!("the certificate of Secret {secret} is for no host: name its hosts in spec.tls");
                self.claims.refused.push(sentence);
            }
            for host in wanted {
                let secrets = brought.entry(host).or_default();
                if !secrets.contains(secret) {
                    secrets.push(secret.clone());
                }
            }
        }
        let brought = brought.into_iter().map(|(host, secrets)| (host, secrets.into()));
        self.claims.certificates = brought.collect();
    }

    fn client_ca(&mut self, secret: Option<&String>) {
        let Some(secret) = secret else { return };
        if is_host(secret) && !secret.starts_with('*') {
            self.claims.client_ca = Some(secret.as_str().into());
        } else {
            let sentence = format!(
                "annotation {CLIENT_CA} is {:?}, which is no name of a Secret: all requests are refused",
                shortened(secret)
            );
            self.claims.refused.push(sentence);
        }
    }
}

/// The hosts for which an Ingress asks for TLS.
enum TlsHosts {
    None,
    All,
    These(HashSet<Arc<str>>),
}

impl TlsHosts {
    fn of(tls: Option<&[Tls]>) -> Self {
        let entries = tls.unwrap_or_default();
        if entries.is_empty() {
            return Self::None;
        }
        let hosts = |entry: &Tls| entry.hosts.clone().filter(|h| !h.is_empty());
        match entries.iter().map(hosts).collect::<Option<Vec<_>>>() {
            Some(hosts) => Self::These(hosts.iter().flatten().map(|h| host_of(h)).collect()),
            None => Self::All,
        }
    }

    fn cover(&self, host: &str) -> bool {
        match self {
            Self::None => false,
            Self::All => true,
            Self::These(hosts) => {
                hosts.contains(host) || wildcard_over(host).is_some_and(|over| hosts.contains(&*over))
            }
        }
    }
}

fn backend_of(backend: &IngressBackend) -> Result<Backend, String> {
    if let Some(ResourceBackend { kind, name }) = &backend.resource {
        return Err(format!("leads to the resource {kind} {name}; only Services can be reached"));
    }
    let service = backend.service.as_ref().ok_or("has no Service")?;
    let port = service.port.as_ref();
    let port = match (port.and_then(|p| p.name.clone()), port.and_then(|p| p.number)) {
        (Some(name), _) if !name.is_empty() => Port::Name(name),
        (_, Some(number)) if number > 0 => Port::Number(number),
        _ => return Err(format!("names no port of Service {}", service.name)),
    };
    Ok(Backend { service: service.name.clone(), port })
}
