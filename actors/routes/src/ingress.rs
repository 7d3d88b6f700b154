//! What an Ingress asks for (`networking.k8s.io/v1`).

use super::{
    auth,
    choices::Choices,
    claims::{Backend, Claims, Fields, Port, RouteClaim, RouteGroup, ToHttps},
    class::Classes,
    contest::Age,
    findings::{foreign, nowhere},
    matching::{ANY_HOST, Match, host_of},
    options::{
        self, Settings,
        groups::{Annotations, Grouping},
        is_like_a_pattern,
    },
    path::{self, Spelling},
    patterns::Pattern,
    regex_cost::PatternCost,
    sentences::shortened,
    services::Services,
};
use haptic_model::{
    Finding, FindingKind,
    host_name::{is_host, wildcard_over},
};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::{
    collections::{BTreeMap, BTreeSet, HashSet},
    sync::Arc,
};

/// The annotation that named the class before `spec.ingressClassName` did.
const CLASS_ANNOTATION: &str = "kubernetes.io/ingress.class";

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

/// What the Ingress in `json` asks for; `None` when its class is not ours. `services` has options, too.
///
/// # Errors
/// When it is no Ingress: what is wrong with it, in words of the field.
pub fn claims(json: &[u8], classes: &Classes, services: &Services) -> Result<Option<Claims>, String> {
    let ingress: Ingress =
        serde_json::from_slice(json).map_err(|e| format!("it cannot be read as an Ingress: {e}"))?;
    let Ingress { metadata, spec } = ingress;
    let spec = spec.unwrap_or_default();
    let annotations = metadata.annotations.unwrap_or_default();
    let class = spec.ingress_class_name.as_deref();
    let class = class.or(annotations.get(CLASS_ANNOTATION).map(String::as_str));
    if !classes.take(class) {
        return Ok(None);
    }
    let settings = classes.settings_of(class);
    let tls = TlsHosts::of(spec.tls.as_deref());
    let written = Annotations::read(&annotations, settings);
    let of_service = |name: &str| services.written(&metadata.namespace, name);
    let grouping = Grouping::new(metadata.name.clone(), written, settings, &of_service);
    let mut reading =
        Reading { claims: Claims::default(), tls, spelling: classes.spelling, grouping, faults: Vec::new() };
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
    reading.www(&hosts);
    reading.certificates(&hosts, spec.tls.as_deref().unwrap_or_default());
    reading.claims.mark_repeated();
    let Reading { mut claims, grouping, faults, .. } = reading;
    claims.client_ca = grouping.own().text("client-ca-secret").map(Arc::from);
    if claims.routes.iter().all(|route| !route.tls) {
        for (option, is_in_vain) in [("ssl-redirect", "true"), ("client-ca-secret", "")] {
            let given =
                grouping.own().text(option).filter(|text| is_in_vain.is_empty() || *text == is_in_vain);
            claims.findings.extend(given.map(|_| options::without_tls(option)));
        }
    }
    let (groups, refused, ineffective) = grouping.done();
    claims.findings.extend(options::code_without_redirect(groups.iter().map(|group| &group.options)));
    let group = |group| group_of(&metadata.namespace, group, settings);
    claims.groups = groups.into_iter().map(group).collect();
    claims.asked = auth::services_of(&metadata.namespace, &claims.groups);
    claims.findings.extend(ineffective);
    claims.findings.extend(nowhere::found(&claims, &metadata.namespace, services));
    claims.findings.extend(foreign::found(annotations.keys().map(String::as_str)));
    // Annotations of others are in the Ingress itself: they may be large, and no route needs them.
    let metadata = json!({ "namespace": metadata.namespace, "name": metadata.name });
    let faults: Vec<String> = refused.iter().map(ToString::to_string).chain(faults).collect();
    let fields = [("metadata", metadata), ("faults", json!(faults))];
    claims.fields =
        fields.map(|(name, value)| (name.to_owned(), value)).into_iter().collect::<Map<_, _>>().into();
    Ok(Some(claims))
}

fn group_of(
    namespace: &str,
    options::groups::OptionGroup { id, mut options }: options::groups::OptionGroup,
    settings: &Settings,
) -> RouteGroup {
    let text = |name: &str| options.get(name).and_then(Value::as_str);
    let affinity = text("affinity").map(|_| "cookie");
    let parts = [text("balance"), affinity, text("protocol")];
    let suffix: String = parts.into_iter().flatten().map(|part| format!("_{part}")).collect();
    let to_https = match text("ssl-redirect") {
        Some("always") => ToHttps::Always,
        Some("false") => ToHttps::Never,
        None if !settings.ssl_redirect => ToHttps::Never,
        _ => ToHttps::WithTls,
    };
    let choices = Choices::of(&options);
    let (suffix, others) = (suffix.into(), choices.backends());
    let mut group = RouteGroup { id, suffix, to_https, others, options: Fields::default() };
    let text = choices.text(&options, |backend| group.name_of(namespace, backend));
    options.extend(text.map(|text| ("choice".to_owned(), json!(text))));
    let mirror = choices.mirror().map(|backend| group.name_of(namespace, backend));
    options.extend(mirror.map(|name| ("mirror".to_owned(), json!(name))));
    group.options = options.into();
    group
}

struct Reading<'r> {
    claims: Claims,
    tls: TlsHosts,
    spelling: Spelling,
    grouping: Grouping<'r>,
    /// What refuses the whole, in sentences.
    faults: Vec<String>,
}

impl Reading<'_> {
    fn found(&mut self, finding: Finding) {
        self.claims.findings.push(finding);
    }

    /// A host as routes compare it, if it is one; "" for every host where that is possible.
    fn host(&mut self, text: &str, may_be_every: bool) -> Option<Arc<str>> {
        let lower = text.to_ascii_lowercase();
        if is_host(&lower) || (may_be_every && text.is_empty()) {
            return Some(host_of(&lower));
        }
        let host = shortened(text);
        let sentence = format!("host {host:?} is no host name, and none like *.shop.example");
        self.found(Finding::new(FindingKind::HostInvalid, sentence).at_host(&host));
        None
    }

    fn rule(&mut self, host: &Arc<str>, rule: &Rule) {
        let paths = rule.http.as_ref().and_then(|http| http.paths.as_deref()).unwrap_or_default();
        for path in paths {
            let text = path.path.as_deref().filter(|p| !p.is_empty()).unwrap_or("/");
            if let Some(pattern) = self.grouping.annotations().pattern(text, path.path_type.as_deref()) {
                self.pattern(host, text, pattern, path.backend.as_ref());
                continue;
            }
            let is_like_a_pattern = path.path_type.as_deref() != Some("Exact") && is_like_a_pattern(text);
            if is_like_a_pattern {
                let shown = shortened(text);
                let sentence = format!(
                    "path {shown:?} is compared as it stands: only with {}path-type: regex it is a regular expression, and a prefix needs no * behind it",
                    options::PREFIX
                );
                self.found(Finding::new(FindingKind::TakenLiterally, sentence).at_host(host).at_path(&shown));
            }
            let Some(compared) = self.compared(text, !is_like_a_pattern) else { continue };
            let wanted = match path.path_type.as_deref() {
                Some("Exact") => Match::exact(host, &compared),
                // What ImplementationSpecific means is up to us: the same as Prefix.
                Some("Prefix" | "ImplementationSpecific") | None => Match::prefix(host, &compared),
                Some(other) => {
                    let (other, text) = (shortened(other), shortened(text));
                    let sentence = format!("pathType {other:?} of {host}{text} is unknown");
                    let finding = Finding::new(FindingKind::PathInvalid, sentence);
                    self.found(finding.at_host(host).at_path(&text));
                    continue;
                }
            };
            self.lead(wanted, text, path.backend.as_ref(), None);
        }
    }

    /// A path that is a regular expression.
    fn pattern(
        &mut self,
        host: &str,
        text: &str,
        pattern: Result<Pattern, String>,
        backend: Option<&IngressBackend>,
    ) {
        match pattern {
            Ok(pattern) => self.lead(pattern.of(host), text, backend, Some(&pattern)),
            Err(why) => {
                let sentence = format!(
                    "path {:?} is a regular expression by {}path-type, and it {why}",
                    shortened(text),
                    options::PREFIX
                );
                if !self.faults.contains(&sentence) {
                    self.faults.push(sentence);
                }
            }
        }
    }

    fn lead(
        &mut self,
        wanted: Match,
        path: &str,
        backend: Option<&IngressBackend>,
        pattern: Option<&Pattern>,
    ) {
        match backend.map(backend_of) {
            Some(Ok(backend)) => self.route(wanted, Some(path), backend, pattern),
            Some(Err(why)) => self.found(at(FindingKind::BackendInvalid, &wanted, format!("{wanted} {why}"))),
            None => self.found(at(FindingKind::BackendInvalid, &wanted, format!("{wanted} has no backend"))),
        }
    }

    /// A path as requests' paths are compared with it; a path that no request can have is refused. `tells`: of another spelling.
    fn compared(&mut self, path: &str, tells: bool) -> Option<String> {
        let shown = shortened(path);
        if !path.starts_with('/') || path.contains(char::is_whitespace) {
            let sentence = format!("path {shown:?} must begin with / and have no blanks");
            self.found(Finding::new(FindingKind::PathInvalid, sentence).at_path(&shown));
            return None;
        }
        if self.spelling == Spelling::Raw {
            return Some(path.to_owned());
        }
        match path::normal(path) {
            Ok(normal) => {
                if tells && (path::is_reshaped(path, &normal) || path.contains(['?', '#'])) {
                    let read = shortened(&normal.text);
                    let sentence = format!(
                        "path {shown:?} is compared as {read:?}, as requests' paths are: write it so"
                    );
                    self.found(Finding::new(FindingKind::PathRespelled, sentence).at_path(&shown));
                }
                Some(normal.text)
            }
            Err(why) => {
                let sentence = format!("path {shown:?} {why}, and such requests are refused");
                self.found(Finding::new(FindingKind::PathInvalid, sentence).at_path(&shown));
                None
            }
        }
    }

    /// Requests that no rule takes: of the hosts that the rules name, or of all when there are no rules.
    fn default_backend(&mut self, of_rules: Option<&Vec<Arc<str>>>, backend: &IngressBackend) {
        let backend = match backend_of(backend) {
            Ok(backend) => backend,
            Err(why) => {
                let sentence = format!("defaultBackend {why}");
                return self.found(Finding::new(FindingKind::BackendInvalid, sentence));
            }
        };
        let every = [ANY_HOST.into()];
        let mut known = HashSet::new();
        for host in of_rules.map_or(&every[..], Vec::as_slice) {
            if known.insert(host) {
                self.route(Match::prefix(host, ""), None, backend.clone(), None);
            }
        }
    }

    /// `path`: as it is written; without one it is for what no path takes.
    fn route(&mut self, mut wanted: Match, path: Option<&str>, backend: Backend, pattern: Option<&Pattern>) {
        wanted.conditions = self.grouping.annotations().conditions(path.unwrap_or_default()).map(Arc::new);
        let (tls, fallback) = (self.tls.cover(&wanted.host), path.is_none());
        let rewrite = pattern.and_then(|pattern| pattern.rewrite.clone());
        let group = self.grouping.number(path.unwrap_or_default(), &backend.service, rewrite);
        let cost = PatternCost::sum(
            pattern.and_then(|pattern| pattern.cost),
            wanted.conditions.as_ref().and_then(|conditions| conditions.cost()),
        );
        self.claims.routes.push(RouteClaim { wanted, cost, backend, fallback, tls, group, repeated: false });
    }

    /// Where it is asked for, the hosts with `www.` in front of these, or without it, lead to these.
    fn www(&mut self, hosts: &[Arc<str>]) {
        if !self.grouping.own().is_on("redirect-www") {
            return;
        }
        let Some(backend) = self.claims.routes.first().map(|route| route.backend.clone()) else { return };
        let known: HashSet<&Arc<str>> = hosts.iter().collect();
        for host in known.iter().filter(|host| is_host(host) && !host.starts_with('*')) {
            let other = host.strip_prefix("www.").map_or_else(|| format!("www.{host}"), str::to_owned);
            let other: Arc<str> = other.into();
            if !is_host(&other) || known.contains(&other) {
                continue;
            }
            let (tls, group) = (self.tls.cover(&other), self.grouping.redirecting_to(host));
            let wanted = Match::prefix(&other, "");
            let backend = backend.clone();
            let route =
                RouteClaim { wanted, cost: None, backend, fallback: true, tls, group, repeated: false };
            self.claims.routes.push(route);
        }
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
                self.found(Finding::new(FindingKind::CertificateUnused, sentence));
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
}

/// What is found at the host and the path of a route.
pub(crate) fn at(kind: FindingKind, wanted: &Match, sentence: String) -> Finding {
    Finding::new(kind, sentence).at_host(&wanted.host).at_path(&shortened(&wanted.path))
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
