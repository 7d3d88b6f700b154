//! The requests that show whether an Ingress is answered the same: its hosts and paths in the spellings in which controllers
//! differ, and what its options make a difference for. A function of Ingress, Services and what may be asked.

mod ingress;
mod options;
mod spellings;
mod writer;

pub(in crate::migrate) use ingress::RequestedIngress;

use crate::migrate::{Family, verdicts::CLASS_ANNOTATION, with_data};
use haptic_model::{ActiveConfig, Object, Snapshots};
use haptic_routes::{
    families::{About, ForeignOptions},
    options::Settings,
};
use ingress::RequestedRule;
use options::AskedOptions;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use spellings::named;
use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    sync::Arc,
};
use writer::RequestWriter;

/// Requests for one Ingress.
pub const MOST_REQUESTS: usize = 1_000;
/// The element that no application has.
const NOTHING: &str = "haptic-compare";
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
        let mut writing = RequestWriter::new(self, &tls, AskedOptions::of(&foreign));
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
        writing.done()
    }
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
