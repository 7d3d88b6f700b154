//! The requests that show whether an Ingress is answered the same: its hosts and paths in the spellings in which controllers
//! differ, and what its options make a difference for. A function of Ingress, Services and what may be asked.

use super::samples;
use crate::migrate::{Family, verdicts::CLASS_ANNOTATION, with_data};
use haptic_model::{ActiveConfig, Object, Snapshots};
use haptic_routes::{
    families::{About, ForeignOptions},
    options::{Settings, value::OptionValue},
};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::{
    collections::{BTreeMap, BTreeSet, HashSet},
    fmt,
    sync::Arc,
};

/// Requests for one Ingress.
pub const MOST_REQUESTS: usize = 1_000;
/// A request has no more bytes of path and query: no controller takes more.
const LONGEST_TARGET: usize = 8 << 10;
/// So many headers of answers count because an Ingress names them, each of so many bytes.
const MOST_COMPARED: usize = 64;
const LONGEST_NAME: usize = 200;
/// The element that no application has.
const NOTHING: &str = "haptic-compare";
/// Where pages come from that nobody trusts.
const OTHER_ORIGIN: &str = "https://haptic-compare.example";
/// Methods that change nothing.
pub const SAFE_METHODS: [&str; 3] = ["GET", "HEAD", "OPTIONS"];

/// How a request is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ComparedScheme {
    /// In the clear.
    Http,
    /// Over TLS.
    Https,
}

/// What a request is to show.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RequestReason {
    /// The path as the Ingress has it.
    Path,
    /// With a slash at its end.
    Slash,
    /// Without the slash at its end.
    NoSlash,
    /// An element more.
    Below,
    /// A longer last element.
    Longer,
    /// In small or capital letters.
    Case,
    /// A letter in its percent-encoded form.
    Encoded,
    /// A slash in its percent-encoded form.
    EncodedSlash,
    /// The other scheme.
    Scheme,
    /// Another method.
    Method,
    /// What conditions of the Ingress ask for.
    Condition,
    /// What a canary asks for.
    Canary,
    /// A page of an origin.
    Origin,
    /// A browser's question before it asks.
    Preflight,
    /// With a name and password.
    Credentials,
    /// What no path of the host takes.
    Rest,
    /// Another name of the host.
    OtherHost,
}

/// A request that both are sent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ComparedRequest {
    /// What it is to show.
    pub why: RequestReason,
    /// How it is made.
    pub scheme: ComparedScheme,
    /// In capital letters.
    pub method: String,
    /// Whom it is for; nothing is the host of the address that is asked.
    pub host: Option<String>,
    /// Path and query, as they are sent.
    pub target: String,
    /// What else is sent.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub headers: Vec<(String, String)>,
    /// Whether a name and password are sent, which are nowhere in here.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub with_credentials: bool,
    /// Headers of the answer that count for this Ingress, in lower case.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub compares: Vec<String>,
}

/// What may be asked.
#[derive(Clone, Debug)]
pub struct RequestPlan {
    /// Schemes in which both sides can be asked.
    pub schemes: Vec<ComparedScheme>,
    /// Methods that may change something and are asked for all the same.
    pub methods: Vec<String>,
    /// Hosts for which there are a name and password.
    pub credentials: BTreeSet<String>,
    /// Ingresses of these classes alone; all where it is empty.
    pub classes: Vec<String>,
    settings: Settings,
}

/// The requests for an Ingress.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct IngressRequests {
    /// In the order in which they are sent.
    pub requests: Vec<ComparedRequest>,
    /// How many there would be beyond what one Ingress and one request may have.
    pub left_out: usize,
}

impl RequestReason {
    /// For people.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Self::Path => "the path itself",
            Self::Slash => "with a slash at its end",
            Self::NoSlash => "without the slash at its end",
            Self::Below => "an element more",
            Self::Longer => "a longer last element",
            Self::Case => "small and capital letters swapped",
            Self::Encoded => "a letter percent-encoded",
            Self::EncodedSlash => "a slash percent-encoded",
            Self::Scheme => "the other scheme",
            Self::Method => "another method",
            Self::Condition => "what conditions ask for",
            Self::Canary => "what the canary asks for",
            Self::Origin => "a page of an origin",
            Self::Preflight => "a preflight",
            Self::Credentials => "with credentials",
            Self::Rest => "what no path takes",
            Self::OtherHost => "another name of the host",
        }
    }
}

impl ComparedScheme {
    /// In front of `://`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::Https => "https",
        }
    }
}

impl ComparedRequest {
    /// Whether it may be sent again: it changes nothing.
    #[must_use]
    pub fn is_safe(&self) -> bool {
        SAFE_METHODS.contains(&&*self.method)
    }
}

impl fmt::Display for ComparedRequest {
    /// `GET https://shop.example/app/ with x-canary: always (what the canary asks for)`
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let host = self.host.as_deref().unwrap_or("*");
        write!(f, "{} {}://{host}{}", self.method, self.scheme.name(), self.target)?;
        for (at, (name, value)) in self.headers.iter().enumerate() {
            write!(f, "{} {name}: {value}", if at == 0 { " with" } else { "," })?;
        }
        write!(f, " ({})", self.why.words())
    }
}

/// An Ingress, as far as requests follow from it.
#[derive(Deserialize)]
pub(in crate::migrate) struct RequestedIngress {
    metadata: RequestedMetadata,
    spec: Option<RequestedSpec>,
}

impl RequestedIngress {
    /// Its paths, each with the Service that it leads to.
    pub(in crate::migrate) fn paths(&self) -> Vec<(String, Option<String>)> {
        let rules = self.spec.iter().flat_map(|spec| spec.rules.iter().flatten());
        let paths = rules.filter_map(|rule| rule.http.as_ref()).flat_map(|http| http.paths.iter().flatten());
        let one = |path: &RequestedPath| {
            let service = path.backend.as_ref().and_then(|backend| backend.service.as_ref());
            (path.path.clone().unwrap_or_default(), service.map(|service| service.name.to_string()))
        };
        paths.map(one).collect()
    }

    /// Whether it has TLS.
    pub(in crate::migrate) fn has_tls(&self) -> bool {
        self.tls().next().is_some()
    }

    /// Whether it has TLS for hosts that it names.
    pub(in crate::migrate) fn names_tls_hosts(&self) -> bool {
        self.tls().any(|tls| tls.hosts.as_ref().is_some_and(|hosts| !hosts.is_empty()))
    }

    fn tls(&self) -> impl Iterator<Item = &RequestedTls> {
        self.spec.iter().flat_map(|spec| spec.tls.iter().flatten())
    }
}

#[derive(Deserialize)]
struct RequestedMetadata {
    annotations: Option<BTreeMap<String, String>>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct RequestedSpec {
    ingress_class_name: Option<String>,
    tls: Option<Vec<RequestedTls>>,
    rules: Option<Vec<RequestedRule>>,
}

#[derive(Deserialize)]
struct RequestedTls {
    hosts: Option<Vec<String>>,
}

#[derive(Deserialize)]
struct RequestedRule {
    host: Option<String>,
    http: Option<RequestedHttp>,
}

#[derive(Deserialize)]
struct RequestedHttp {
    paths: Option<Vec<RequestedPath>>,
}

#[derive(Deserialize)]
struct RequestedPath {
    path: Option<String>,
    backend: Option<RequestedBackend>,
}

#[derive(Deserialize)]
struct RequestedBackend {
    service: Option<RequestedService>,
}

#[derive(Deserialize)]
struct RequestedService {
    name: Arc<str>,
}

impl RequestPlan {
    /// With what `config` makes of annotations of the family, whose ConfigMap has this data.
    #[must_use]
    pub fn new(config: &ActiveConfig, family: Family, data: &Map<String, Value>) -> Self {
        let config = with_data(config, family, data);
        Self {
            schemes: vec![ComparedScheme::Http, ComparedScheme::Https],
            methods: Vec::new(),
            credentials: BTreeSet::new(),
            classes: Vec::new(),
            settings: Settings::of(&config.spec.templating_settings.extra_context),
        }
    }

    /// The requests for the Ingress; none where it is none, or of another class.
    #[must_use]
    pub fn requests(&self, ingress: &Object, snapshots: &Snapshots) -> IngressRequests {
        let Ok(RequestedIngress { metadata, spec }) = serde_json::from_slice(&ingress.json.bytes()) else {
            return IngressRequests::default();
        };
        let (annotations, spec) = (metadata.annotations.unwrap_or_default(), spec.unwrap_or_default());
        let class = spec.ingress_class_name.as_deref();
        let class = class.or_else(|| annotations.get(CLASS_ANNOTATION).map(String::as_str));
        if !self.classes.is_empty() && class.is_none_or(|class| !self.classes.iter().any(|one| one == class))
        {
            return IngressRequests::default();
        }
        let rules = spec.rules.unwrap_or_default();
        let tls = spec.tls.unwrap_or_default();
        let about = About {
            namespace: &ingress.reference.namespace,
            name: &ingress.reference.name,
            tls: !tls.is_empty(),
            names_tls_hosts: tls.iter().any(|tls| tls.hosts.as_ref().is_some_and(|all| !all.is_empty())),
            ..About::default()
        };
        let services = services_of(&rules, &ingress.reference.namespace, snapshots);
        let of_services: Vec<_> = services.iter().map(|(name, texts)| (name.clone(), texts)).collect();
        let families = self.settings.families.iter();
        let foreign = ForeignOptions::of(families, &annotations, &of_services, about, &self.settings);
        let options = AskedOptions::of(&foreign);
        let mut writing = RequestWriter {
            plan: self,
            tls: &tls,
            compares: options.headers_of_answers(),
            options,
            known: HashSet::new(),
            asked: IngressRequests::default(),
        };
        let mut hosts: BTreeMap<Option<String>, Vec<String>> = BTreeMap::new();
        for rule in &rules {
            let host = rule.host.as_deref().filter(|host| !host.is_empty()).map(named);
            let paths = rule.http.iter().flat_map(|http| http.paths.iter().flatten());
            let paths = paths.map(|path| path.path.clone().unwrap_or_default());
            hosts.entry(host).or_default().extend(paths);
        }
        if hosts.is_empty() {
            hosts.insert(None, Vec::new());
        }
        for (host, paths) in &hosts {
            writing.host(host.as_deref(), paths, &foreign);
        }
        writing.asked
    }
}

/// A name of a host: of a wildcard one that it covers.
fn named(host: &str) -> String {
    host.strip_prefix("*.").map_or_else(|| host.to_owned(), |rest| format!("{NOTHING}.{rest}"))
}

/// What the Services say that rules lead to.
fn services_of(
    rules: &[RequestedRule],
    namespace: &str,
    snapshots: &Snapshots,
) -> Vec<(Arc<str>, BTreeMap<String, String>)> {
    let paths =
        rules.iter().filter_map(|rule| rule.http.as_ref()).flat_map(|http| http.paths.iter().flatten());
    let services = paths.filter_map(|path| path.backend.as_ref()?.service.as_ref());
    let names: BTreeSet<Arc<str>> = services.map(|service| service.name.clone()).collect();
    let annotations = |name: &str| {
        let service = snapshots.get("services")?.get(namespace, name)?;
        let RequestedIngress { metadata, .. } = serde_json::from_slice(&service.json.bytes()).ok()?;
        metadata.annotations
    };
    names.into_iter().filter_map(|name| Some((name.clone(), annotations(&name)?))).collect()
}

/// What the options of an Ingress are, wherever they stand.
struct AskedOptions<'o>(Vec<&'o BTreeMap<&'static str, OptionValue>>);

impl<'o> AskedOptions<'o> {
    fn of(foreign: &'o ForeignOptions) -> Self {
        let levels = foreign.levels();
        Self(levels.map(|level| &level.written.values).chain(&foreign.ingress.canary).collect())
    }

    fn values<'s>(&'s self, name: &'s str) -> impl Iterator<Item = &'o OptionValue> + 's {
        self.0.iter().filter_map(move |values| values.get(name))
    }

    fn has(&self, name: &str) -> bool {
        self.values(name).next().is_some()
    }

    /// Texts and names; of expressions what they find something in.
    fn texts(&self, name: &str) -> Vec<String> {
        let of = |value: &OptionValue| match value {
            OptionValue::Text(text) => vec![text.clone()],
            OptionValue::Names(names) => names.to_vec(),
            OptionValue::Regex { pattern, .. } => samples::sample(pattern).into_iter().collect(),
            _ => Vec::new(),
        };
        let all: BTreeSet<String> = self.values(name).flat_map(of).collect();
        all.into_iter().collect()
    }

    /// Names with values that fulfil these conditions.
    fn conditions(&self, name: &str) -> Vec<(String, String)> {
        let mut all = Vec::new();
        for value in self.values(name) {
            let OptionValue::Conditions(conditions) = value else { continue };
            for one in conditions.iter() {
                let value = if name.ends_with("-regex") {
                    samples::sample(&one.value)
                } else {
                    Some(one.value.clone())
                };
                all.extend(value.map(|value| (one.name.clone(), value)));
            }
        }
        all
    }

    fn headers_of_answers(&self) -> Vec<String> {
        let mut names: BTreeSet<String> = BTreeSet::new();
        for option in ["response-headers", "add-response-headers", "remove-response-headers"] {
            for value in self.values(option) {
                match value {
                    OptionValue::Headers(headers) => {
                        names.extend(headers.iter().map(|header| header.name.to_ascii_lowercase()));
                    }
                    OptionValue::Names(all) => names.extend(all.iter().map(|name| name.to_ascii_lowercase())),
                    _ => {}
                }
            }
        }
        names.into_iter().filter(|name| name.len() <= LONGEST_NAME).take(MOST_COMPARED).collect()
    }
}

/// The requests for one Ingress, as far as they are made.
struct RequestWriter<'w> {
    plan: &'w RequestPlan,
    tls: &'w [RequestedTls],
    compares: Vec<String>,
    options: AskedOptions<'w>,
    known: HashSet<String>,
    asked: IngressRequests,
}

impl RequestWriter<'_> {
    fn host(&mut self, host: Option<&str>, paths: &[String], foreign: &ForeignOptions) {
        let (main, other) = self.schemes(host);
        let Some(main) = main else { return };
        let mut seen = HashSet::new();
        for path in paths.iter().map(|path| base(path)).filter(|path| seen.insert(path.clone())) {
            for (why, target) in spellings(&path) {
                self.get(why, main, host, &target);
            }
            let itself = encoded(&path);
            if let Some(other) = other {
                self.get(RequestReason::Scheme, other, host, &itself);
            }
            self.methods(main, host, &itself);
            self.conditions(main, host, &itself);
            self.canary(main, host, &itself);
            self.origins(main, host, &itself);
            self.credentials(main, host, &itself);
        }
        for target in ["/".to_owned(), format!("/{NOTHING}")] {
            self.get(RequestReason::Rest, main, host, &target);
        }
        let Some(host) = host else { return };
        let www = self.options.has("redirect-www").then(|| match host.strip_prefix("www.") {
            Some(rest) => rest.to_owned(),
            None => format!("www.{host}"),
        });
        let first = paths.first().map_or_else(|| "/".to_owned(), |path| encoded(&base(path)));
        let others =
            foreign.ingress.aliases.iter().chain(&foreign.ingress.redirected).map(|name| named(name));
        for name in others.chain(www).collect::<BTreeSet<_>>() {
            self.get(RequestReason::OtherHost, main, Some(&name), &first);
            if let Some(other) = other {
                self.get(RequestReason::OtherHost, other, Some(&name), &first);
            }
        }
    }

    /// The scheme in which most is asked, and the other one, of those in which both sides can be asked.
    fn schemes(&self, host: Option<&str>) -> (Option<ComparedScheme>, Option<ComparedScheme>) {
        let covers = |name: &String| Some(&*named(name)) == host;
        let has_tls = self.tls.iter().any(|tls| match tls.hosts.as_deref() {
            None | Some([]) => true,
            Some(hosts) => hosts.iter().any(covers),
        });
        let mut both = [ComparedScheme::Http, ComparedScheme::Https];
        if has_tls {
            both.reverse();
        }
        let mut schemes = both.into_iter().filter(|scheme| self.plan.schemes.contains(scheme));
        (schemes.next(), schemes.next())
    }

    fn methods(&mut self, scheme: ComparedScheme, host: Option<&str>, target: &str) {
        let more = self.plan.methods.iter().map(String::as_str);
        for method in SAFE_METHODS.into_iter().skip(1).chain(more).collect::<Vec<_>>() {
            self.push(RequestReason::Method, scheme, method, host, target, Vec::new());
        }
    }

    fn conditions(&mut self, scheme: ComparedScheme, host: Option<&str>, target: &str) {
        let of = |options: &AskedOptions<'_>, one: &str, other: &str| {
            [options.conditions(one), options.conditions(other)].concat()
        };
        let headers = of(&self.options, "match-headers", "match-headers-regex");
        let query = of(&self.options, "match-query", "match-query-regex");
        let methods = self.options.texts("match-methods");
        if headers.is_empty() && query.is_empty() && methods.is_empty() {
            return;
        }
        let query: Vec<String> =
            query.iter().map(|(name, value)| format!("{}={}", of_query(name), of_query(value))).collect();
        let target =
            if query.is_empty() { target.to_owned() } else { format!("{target}?{}", query.join("&")) };
        let may_be_asked =
            |method: &&String| SAFE_METHODS.contains(&&***method) || self.plan.methods.contains(method);
        let mut methods: Vec<String> = methods.iter().filter(may_be_asked).cloned().collect();
        if methods.is_empty() {
            methods.push("GET".to_owned());
        }
        for method in methods {
            self.push(RequestReason::Condition, scheme, &method, host, &target, headers.clone());
        }
    }

    fn canary(&mut self, scheme: ComparedScheme, host: Option<&str>, target: &str) {
        let mut values = self.options.texts("canary-header-value");
        values.extend(self.options.texts("canary-header-pattern"));
        values.extend(["always", "never"].map(str::to_owned));
        let headers = self.options.texts("canary-header");
        let cookies = self.options.texts("canary-cookie");
        for value in &values {
            for name in &headers {
                let header = vec![(name.clone(), value.clone())];
                self.push(RequestReason::Canary, scheme, "GET", host, target, header);
            }
        }
        for name in cookies {
            for value in ["always", "never"] {
                let header = vec![("cookie".to_owned(), format!("{name}={value}"))];
                self.push(RequestReason::Canary, scheme, "GET", host, target, header);
            }
        }
    }

    fn origins(&mut self, scheme: ComparedScheme, host: Option<&str>, target: &str) {
        let allowed = self.options.texts("cors-allow-origin");
        let of_expression = self.options.texts("cors-allow-origin-regex");
        if allowed.is_empty() && of_expression.is_empty() {
            return;
        }
        let named = allowed.into_iter().find(|origin| origin.contains("://") && !origin.contains('*'));
        let origins: BTreeSet<String> =
            named.into_iter().chain(of_expression).chain([OTHER_ORIGIN.to_owned()]).collect();
        for origin in origins {
            let origin = ("origin".to_owned(), origin);
            self.push(RequestReason::Origin, scheme, "GET", host, target, vec![origin.clone()]);
            let asks = ("access-control-request-method".to_owned(), "GET".to_owned());
            self.push(RequestReason::Preflight, scheme, "OPTIONS", host, target, vec![origin, asks]);
        }
    }

    fn credentials(&mut self, scheme: ComparedScheme, host: Option<&str>, target: &str) {
        // Who is asked by auth-url may want them as well as a list of users does.
        let is_asked = self.options.has("auth-secret") || self.options.has("auth-url");
        if !is_asked || !host.is_some_and(|host| self.plan.credentials.contains(host)) {
            return;
        }
        self.push(RequestReason::Credentials, scheme, "GET", host, target, Vec::new());
    }

    fn get(&mut self, why: RequestReason, scheme: ComparedScheme, host: Option<&str>, target: &str) {
        self.push(why, scheme, "GET", host, target, Vec::new());
    }

    fn push(
        &mut self,
        why: RequestReason,
        scheme: ComparedScheme,
        method: &str,
        host: Option<&str>,
        target: &str,
        headers: Vec<(String, String)>,
    ) {
        let headers: Vec<_> = headers.into_iter().filter(|(name, value)| is_header(name, value)).collect();
        let with_credentials = why == RequestReason::Credentials;
        let key = format!("{scheme:?} {method} {host:?} {target} {headers:?} {with_credentials}");
        if !self.known.insert(key) {
            return;
        }
        if self.asked.requests.len() >= MOST_REQUESTS || target.len() > LONGEST_TARGET {
            self.asked.left_out += 1;
            return;
        }
        self.asked.requests.push(ComparedRequest {
            why,
            scheme,
            method: method.to_owned(),
            host: host.map(str::to_owned),
            target: target.to_owned(),
            headers,
            with_credentials,
            compares: self.compares.clone(),
        });
    }
}

/// Whether it can be sent as a header; names and passwords are never made up.
fn is_header(name: &str, value: &str) -> bool {
    let is_name =
        !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte));
    let is_secret = ["authorization", "proxy-authorization", "host", "content-length", "transfer-encoding"];
    is_name
        && !is_secret.iter().any(|secret| name.eq_ignore_ascii_case(secret))
        && value.bytes().all(|byte| (0x20..0x7f).contains(&byte))
}

/// A path that a request can have; of an expression one that it takes.
fn base(path: &str) -> String {
    let sample = if samples::is_expression(path) { samples::sample(path) } else { None };
    let path = sample.unwrap_or_else(|| path.to_owned());
    if path.starts_with('/') { path } else { format!("/{path}") }
}

/// The path, and the spellings of it in which controllers differ.
fn spellings(path: &str) -> Vec<(RequestReason, String)> {
    let mut all = vec![(RequestReason::Path, encoded(path))];
    let bare = path.trim_end_matches('/');
    if bare.is_empty() {
        return all;
    }
    let bare = encoded(bare);
    let swapped: String = bare.chars().map(swapped).collect();
    all.push((RequestReason::Slash, format!("{bare}/")));
    all.push((RequestReason::NoSlash, bare.clone()));
    all.push((RequestReason::Below, format!("{bare}/{NOTHING}")));
    all.push((RequestReason::Longer, format!("{bare}x")));
    all.push((RequestReason::Case, swapped));
    let last = bare.rfind('/').map_or(0, |at| at + 1);
    let letter = bare.get(last..).and_then(|end| end.chars().next()).filter(char::is_ascii_alphanumeric);
    if let Some((letter, (before, behind))) = letter.zip(bare.split_at_checked(last)) {
        let behind = behind.get(1..).unwrap_or_default();
        all.push((RequestReason::Encoded, format!("{before}%{:02X}{behind}", u32::from(letter))));
    }
    if let Some((before, behind)) = bare.get(..last).filter(|before| before.len() > 1).map(|before| {
        let before = before.trim_end_matches('/');
        (before, bare.get(last..).unwrap_or_default())
    }) {
        all.push((RequestReason::EncodedSlash, format!("{before}%2F{behind}")));
    }
    let mut seen = HashSet::new();
    all.retain(|(_, target)| seen.insert(target.clone()));
    all
}

fn swapped(letter: char) -> char {
    if letter.is_ascii_uppercase() { letter.to_ascii_lowercase() } else { letter.to_ascii_uppercase() }
}

/// A path as it can be sent: what is percent-encoded already stays so.
fn encoded(path: &str) -> String {
    let bytes = path.as_bytes();
    let is_encoded =
        |at: usize| bytes.get(at + 1..at + 3).is_some_and(|two| two.iter().all(u8::is_ascii_hexdigit));
    let mut text = String::new();
    for (at, byte) in bytes.iter().enumerate() {
        match byte {
            b'%' if is_encoded(at) => text.push('%'),
            byte if byte.is_ascii_alphanumeric() || b"-._~!$&'()*+,;=:@/".contains(byte) => {
                text.push(char::from(*byte))
            }
            byte => text.push_str(&format!("%{byte:02X}")),
        }
    }
    text
}

/// A name or value of a query.
fn of_query(text: &str) -> String {
    encoded(text).replace('&', "%26").replace('+', "%2B").replace('=', "%3D")
}
