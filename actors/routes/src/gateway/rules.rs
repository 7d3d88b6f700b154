//! The effects of a route's rule on its requests, as settings that HAProxy finds by the rule's name.

use super::{
    grants::Grants,
    matches::{self, WantedRequests},
    objects::{
        BackendRef, Cors, ExternalAuth, Filter, HeaderModifier, NamedValue, ObjectReference, PathModifier,
        Redirect, RouteRule, UrlRewrite,
    },
    parsed::ReadServices,
    policies::{BackendClient, BackendPolicies},
    references::{BackendKey, BadReference, ServerLanguage, WantedBackend},
    retries::RetryProfile,
    values::{LONGEST, header, header_names, milliseconds, url_path},
};
use crate::{matching::path::Spelling, names, options::header::is_haproxys_own};
use haptic_model::{
    Finding, FindingKind,
    gateway::{NamespacedName, RouteKind},
};
use haptic_text::Digest;
use serde_json::Value;
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

/// 24 days. A longer time HAProxy takes for one that is over already: it counts milliseconds in 31 bits.
const LONGEST_TIMEOUT: u64 = 2_073_600_000;

/// Of a digest of a rule's matches: as many as tell the rules of one route apart.
const DIGITS: usize = 6;

/// The sign for all methods or headers.
const ANYTHING: &str = "*";

/// Settings by their names. A value has no `|`.
pub(super) type MapSettings = BTreeMap<&'static str, String>;

/// The same in no more room than they need: there are as many of them as rules.
pub(super) type KeptSettings = Box<[(&'static str, Box<str>)]>;

/// Settings by the endings of the rule's name, and the backends in them.
pub(super) type RuleSettings = (Vec<(String, MapSettings)>, BTreeSet<BackendKey>);

pub(super) fn kept(settings: MapSettings) -> KeptSettings {
    settings.into_iter().map(|(name, value)| (name, value.into_boxed_str())).collect()
}

/// The settings of one of the backends of a rule, and all backends in them.
type ChoiceSettings = (MapSettings, BTreeSet<BackendKey>);

/// The settings for the requests of a rule.
struct ReadSettings {
    settings: Vec<(String, MapSettings)>,
    backends: BTreeSet<BackendKey>,
    /// Why some of its backends are not asked.
    dropped: Option<String>,
}

/// A rule that was read.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ResolvedRule {
    pub matches: Vec<WantedRequests>,
    /// The name of it in its route: a short digest of its matches as they are written.
    pub short_name: String,
    /// By the ending of the rule's name: of the rule itself, and of each of the backends that one is chosen of.
    pub settings: Vec<(String, MapSettings)>,
    pub backends: BTreeSet<BackendKey>,
    /// Why it cannot be done: it answers that something is wrong with it.
    pub unsupported: Option<String>,
    /// Why some of its backends are not asked, while it is done: their share of requests gets an error.
    pub dropped: Option<String>,
}

/// The inputs that rules are read with.
pub(super) struct RuleReader<'r> {
    pub kind: RouteKind,
    pub kind_name: &'static str,
    pub namespace: &'r Arc<str>,
    pub grants: &'r Grants,
    pub services: &'r ReadServices<'r>,
    pub policies: &'r BackendPolicies,
    /// How paths are compared.
    pub spelling: Spelling,
    /// All Services that the route names.
    pub uses: BTreeSet<NamespacedName>,
    /// The first reference that leads nowhere.
    pub bad: Option<BadReference>,
    /// The findings at paths and Services that are served all the same.
    pub doubts: BTreeSet<Finding>,
}

impl ResolvedRule {
    /// The settings and backends of the rule where servers are shown a certificate; `None`: none of its backends is asked over TLS.
    pub fn shown(&self, client: &BackendClient) -> Option<RuleSettings> {
        let of_client: BTreeMap<String, BackendKey> = self
            .backends
            .iter()
            .filter(|key| key.tls.is_some())
            .map(|key| (backend_name(key), key.shown(client)))
            .collect();
        if of_client.is_empty() {
            return None;
        }
        let mut settings = self.settings.clone();
        for (_, settings) in &mut settings {
            for named in ["backend", "auth"] {
                if let Some(backend) = settings.get_mut(named)
                    && let Some(key) = of_client.get(backend)
                {
                    *backend = backend_name(key);
                }
            }
        }
        for mirror in settings.iter_mut().filter_map(|(_, settings)| settings.get_mut("mirror")) {
            for (name, key) in &of_client {
                *mirror = mirror.replace(&format!("{name},"), &format!("{},", backend_name(key)));
            }
        }
        let in_clear = self.backends.iter().filter(|key| key.tls.is_none()).cloned();
        Some((settings, of_client.into_values().chain(in_clear).collect()))
    }
}

/// Of the matches of a rule; of none, too.
fn short_digest(matches: Option<&Value>) -> String {
    let text = matches.map(Value::to_string).unwrap_or_default();
    Digest::of(text.as_bytes()).to_string().get(..DIGITS).unwrap_or_default().to_owned()
}

impl RuleReader<'_> {
    /// The answer of a broken rule: for gRPC that the service is not available.
    fn failure(&self) -> String {
        if self.kind == RouteKind::Grpc { "503".into() } else { "500".into() }
    }

    pub fn read(&mut self, rule: &Value) -> ResolvedRule {
        let mut unsupported = None;
        let matches = match self.matches(rule) {
            Ok(matches) => matches,
            Err((matches, why)) => {
                unsupported = Some(why);
                matches
            }
        };
        self.doubts.extend(matches.iter().filter_map(|one| one.doubt.clone()));
        let short_name = short_digest(rule.get("matches"));
        let done = serde_json::from_value::<RouteRule>(rule.clone())
            .map_err(|why| format!("it cannot be read: {why}"))
            .and_then(|rule| self.settings_and_references(&rule));
        match (unsupported, done) {
            (None, Ok(ReadSettings { settings, backends, dropped })) => {
                ResolvedRule { matches, short_name, settings, backends, unsupported: None, dropped }
            }
            (Some(why), _) | (None, Err(why)) => ResolvedRule {
                matches,
                short_name,
                settings: vec![(String::new(), self.refused())],
                backends: BTreeSet::new(),
                unsupported: Some(why),
                dropped: None,
            },
        }
    }

    /// The settings of requests for which nothing can be done.
    fn refused(&self) -> MapSettings {
        MapSettings::from([("status", self.failure())])
    }

    /// The matches that can be read, also where one of them cannot: the broken part answers for the others.
    fn matches(&self, rule: &Value) -> Result<Vec<WantedRequests>, (Vec<WantedRequests>, String)> {
        let asked = rule.get("matches").and_then(Value::as_array).filter(|all| !all.is_empty());
        let everything = [Value::Object(serde_json::Map::new())];
        let asked = asked.map_or(everything.as_slice(), Vec::as_slice);
        let mut problem = None;
        let read = asked.iter().filter_map(|one| match self.requests(one) {
            Ok(wanted) => Some(wanted),
            Err(why) => {
                problem.get_or_insert(why);
                None
            }
        });
        let read: Vec<WantedRequests> = read.collect();
        match problem {
            Some(why) => Err((read, why)),
            None => Ok(read),
        }
    }

    fn requests(&self, asked: &Value) -> Result<WantedRequests, String> {
        let unreadable = |why: serde_json::Error| format!("a match cannot be read: {why}");
        if self.kind == RouteKind::Grpc {
            matches::of_grpc(&serde_json::from_value(asked.clone()).map_err(unreadable)?)
        } else {
            matches::of_http(&serde_json::from_value(asked.clone()).map_err(unreadable)?, self.spelling)
        }
    }

    /// Of all references of a rule it is known whether they lead to something, also of one that cannot be done.
    fn settings_and_references(&mut self, rule: &RouteRule) -> Result<ReadSettings, String> {
        let done = self.settings(rule);
        if !done.as_ref().is_ok_and(|done| done.dropped.is_none()) {
            self.look_at_references(rule);
        }
        done
    }

    fn look_at_references(&mut self, rule: &RouteRule) {
        let of_backends = rule.backend_refs.iter().flat_map(|one| &one.filters);
        let all: Vec<&Filter> = rule.filters.iter().chain(of_backends).collect();
        let mirrors = all.iter().filter_map(|one| Some(&one.request_mirror.as_ref()?.backend_ref));
        let asked = all.iter().filter_map(|one| Some(&one.external_auth.as_ref()?.backend_ref));
        let of_filters = mirrors.chain(asked).map(|one| (&one.target, one.port));
        let backends = rule.backend_refs.iter().map(|one| (&one.target, one.port));
        for (target, port) in backends.chain(of_filters) {
            self.found(target, port, None);
        }
    }

    fn settings(&mut self, rule: &RouteRule) -> Result<ReadSettings, String> {
        let mut common = MapSettings::new();
        filters(&rule.filters, &mut common)?;
        timeouts(rule, &mut common)?;
        let time = time_of_all_tries(rule);
        let retry = rule.retry.as_ref().map(|retry| RetryProfile::of(retry, time.is_some())).transpose()?;
        // Each try would have the time of the rule again.
        let is_timed = common.contains_key("within");
        let retry = retry.or_else(|| is_timed.then(RetryProfile::none)).map(Arc::new);
        if retry.as_ref().is_some_and(|retry| retry.attempts > 0) {
            common.insert("retry", "all".into());
        }
        if let Some(time) = time.filter(|_| retry.as_ref().is_some_and(|retry| retry.is_timed)) {
            common.insert("tries-within", time.to_string());
        }
        let mut backends = BTreeSet::new();
        self.mirrors(&rule.filters, &mut common, &mut backends)?;
        self.external_auth(&rule.filters, &mut common, &mut backends)?;
        let (mut choices, mut refused) = (Vec::new(), Vec::new());
        for reference in &rule.backend_refs {
            let weight = reference.weight.unwrap_or(1);
            match self.choice(reference, common.clone(), retry.as_ref()) {
                Ok((own, used)) => {
                    choices.push((weight, own));
                    backends.extend(used);
                }
                Err(why) => {
                    choices.push((weight, self.refused()));
                    refused.push((&reference.target.name, why));
                }
            }
        }
        let dropped = match refused.as_slice() {
            [(_, why), ..] if refused.len() == rule.backend_refs.len() => return Err(why.clone()),
            [(name, why), ..] => Some(format!("backendRef {name}: {why}")),
            [] => None,
        };
        let is_answered = common.contains_key("redirect");
        choices.retain(|(weight, _)| *weight > 0);
        let mut settings = match choices.len() {
            _ if is_answered => vec![(String::new(), common)],
            0 => {
                common.insert("status", self.failure());
                vec![(String::new(), common)]
            }
            1 if rule.backend_refs.len() == 1 => {
                choices.into_iter().map(|(_, own)| (String::new(), own)).collect()
            }
            // Also where only one of several has a weight: a rollout begins and ends so, and no step of it is a reload.
            _ => chosen(choices),
        };
        // Of what nobody can be asked about nobody gets copies, nor a redirect.
        for (_, settings) in &mut settings {
            if settings.contains_key("auth-place") && !settings.contains_key("auth") {
                settings.remove("mirror");
                settings.remove("redirect");
            }
        }
        let over_tls = backends.iter().filter(|key| key.tls.is_some()).map(backend_name).collect();
        if settings.iter().any(|(_, settings)| longest_size(settings, &over_tls) > LONGEST) {
            return Err(format!("its filters are longer than {LONGEST} bytes"));
        }
        Ok(ReadSettings { settings, backends, dropped })
    }

    /// The settings of requests for one of the backends: `own` says it for all of them.
    fn choice(
        &mut self,
        reference: &BackendRef,
        mut own: MapSettings,
        retry: Option<&Arc<RetryProfile>>,
    ) -> Result<ChoiceSettings, String> {
        let mut backends = BTreeSet::new();
        match self.backend(&reference.target, reference.port, retry) {
            Some(backend) => {
                own.insert("backend", backend_name(&backend));
                backends.insert(backend);
            }
            None => own.extend(self.refused()),
        }
        self.mirrors(&reference.filters, &mut own, &mut backends)?;
        filters(&reference.filters, &mut own)?;
        self.external_auth(&reference.filters, &mut own, &mut backends)?;
        Ok((own, backends))
    }

    /// The backends that get copies, as NAME,NUMERATOR,DENOMINATOR; for each. One that is not there gets none.
    fn mirrors(
        &mut self,
        filters: &[Filter],
        settings: &mut MapSettings,
        backends: &mut BTreeSet<BackendKey>,
    ) -> Result<(), String> {
        for filter in filters.iter().filter(|filter| filter.kind == "RequestMirror") {
            let mirror = filter.request_mirror.as_ref().ok_or("filter RequestMirror says nothing")?;
            let (numerator, denominator) = match (&mirror.fraction, mirror.percent) {
                (Some(fraction), _) => (fraction.numerator, fraction.denominator.unwrap_or(100)),
                (None, Some(percent)) => (percent, 100),
                (None, None) => (1, 1),
            };
            if denominator == 0 || numerator > denominator {
                return Err(format!("a share of {numerator}/{denominator} of requests cannot be mirrored"));
            }
            let target = &mirror.backend_ref;
            if let Some(backend) = self.backend(&target.target, target.port, None) {
                let text = settings.entry("mirror").or_default();
                *text += &format!("{},{numerator},{denominator};", backend_name(&backend));
                backends.insert(backend);
            }
        }
        Ok(())
    }

    /// The service that is asked whether requests may pass. Where it is not there, nobody gets in, a redirect neither.
    fn external_auth(
        &mut self,
        filters: &[Filter],
        settings: &mut MapSettings,
        backends: &mut BTreeSet<BackendKey>,
    ) -> Result<(), String> {
        for filter in filters.iter().filter(|filter| filter.kind == "ExternalAuth") {
            let auth = filter.external_auth.as_ref().ok_or("filter ExternalAuth says nothing")?;
            if settings.contains_key("auth-place") {
                return Err("filter ExternalAuth stands there twice; requests are asked about once".into());
            }
            asked(auth, settings)?;
            let target = &auth.backend_ref;
            if let Some(backend) = self.backend(&target.target, target.port, None) {
                settings.insert("auth", backend_name(&backend));
                backends.insert(backend);
            } else {
                settings.insert("status", self.failure());
                settings.remove("redirect");
            }
        }
        Ok(())
    }

    pub fn backend(
        &mut self,
        target: &ObjectReference,
        port: Option<u16>,
        retry: Option<&Arc<RetryProfile>>,
    ) -> Option<BackendKey> {
        let (backend, doubt) = self.found(target, port, retry)?;
        self.doubts.extend(doubt.map(|doubt| Finding::new(FindingKind::TlsWithoutPolicy, doubt)));
        Some(backend)
    }

    /// The backend that a reference leads to, and the findings at it.
    fn found(
        &mut self,
        target: &ObjectReference,
        port: Option<u16>,
        retry: Option<&Arc<RetryProfile>>,
    ) -> Option<(BackendKey, Option<String>)> {
        let wanted = WantedBackend {
            kind: self.kind_name,
            namespace: self.namespace,
            target,
            port,
            language: match self.kind {
                RouteKind::Http => ServerLanguage::Http,
                RouteKind::Grpc => ServerLanguage::Http2,
                RouteKind::Tls | RouteKind::Tcp => ServerLanguage::Any,
            },
            retry: retry.cloned(),
            policies: self.policies,
        };
        self.uses.insert(wanted.name());
        match wanted.backend(self.grants, self.services) {
            Ok(backend) => {
                let doubt = wanted.doubt(&backend, self.services);
                Some((backend, doubt))
            }
            Err(bad) => {
                self.bad.get_or_insert(bad);
                None
            }
        }
    }
}

/// The bytes of settings where backends that are asked `over_tls` have the longest names: they have others where they are shown a certificate.
fn longest_size(settings: &MapSettings, over_tls: &BTreeSet<String>) -> usize {
    let bytes: usize = settings.iter().map(|(name, value)| name.len() + value.len() + 2).sum();
    let single = ["backend", "auth"].into_iter().filter_map(|named| settings.get(named).map(String::as_str));
    let mirrors = settings.get("mirror").into_iter().flat_map(|mirrors| mirrors.split(';'));
    let named = single.chain(mirrors.filter_map(|mirror| Some(mirror.split_once(',')?.0)));
    let growing = named.filter(|name| over_tls.contains(*name));
    bytes + growing.map(|name| names::LONGEST_OF_FILES.saturating_sub(name.len())).sum::<usize>()
}

/// One of several, by their weights.
pub(super) fn chosen(choices: Vec<(u32, MapSettings)>) -> Vec<(String, MapSettings)> {
    let total: u64 = choices.iter().map(|(weight, _)| u64::from(*weight)).sum();
    // HAProxy's random numbers have 32 bits.
    let scale = u64::max(1, total / 1_000_000_000 + 1);
    let mut text = String::new();
    let mut sum = 0;
    for (number, (weight, _)) in choices.iter().enumerate() {
        let share = u64::from(*weight) / scale;
        sum += share;
        text += &format!("to,{number},{share};");
    }
    text += &format!("total,{sum},;");
    let of_rule = MapSettings::from([("choice", text)]);
    let each = choices.into_iter().enumerate().map(|(number, (_, own))| (format!("+{number}"), own));
    std::iter::once((String::new(), of_rule)).chain(each).collect()
}

/// The name of a backend in HAProxy. No namespace has a `:`, so nobody else's has this name.
pub(super) fn backend_name(key: &BackendKey) -> String {
    let BackendKey { namespace, service, port, protocol, tls, retry } = key;
    let (of, port) = (format!("gateway:{namespace}"), port.to_string());
    let profile = retry.as_ref().map(|retry| retry.name());
    let asked = tls.as_ref().map(|tls| tls.word());
    let mut parts = vec![of.as_str(), service, &port, protocol];
    parts.extend(profile.as_deref());
    parts.extend(asked.as_deref());
    if let Some(client) = tls.as_ref().and_then(|tls| tls.client.as_ref()) {
        parts.extend([&*client.gateway.0, &*client.gateway.1]);
    }
    names::name_of(&parts, "").unwrap_or_default()
}

fn timeouts(rule: &RouteRule, settings: &mut MapSettings) -> Result<(), String> {
    let Some(timeouts) = &rule.timeouts else { return Ok(()) };
    let mut least: Option<u64> = None;
    for text in [&timeouts.request, &timeouts.backend_request].into_iter().flatten() {
        let time =
            milliseconds(text).ok_or_else(|| format!("timeout {text:?} is no duration such as 500ms"))?;
        // Zero is no timeout at all, and so not HAProxy's own either.
        let time = if time == 0 { LONGEST_TIMEOUT } else { time.min(LONGEST_TIMEOUT) };
        least = Some(least.map_or(time, |least| least.min(time)));
    }
    if let Some(time) = least {
        settings.insert("timeout-server", time.to_string());
    }
    if let Some(time) = least.filter(|time| *time < LONGEST_TIMEOUT) {
        settings.insert("within", time.to_string());
    }
    Ok(())
}

/// The time that a rule allows for a request, if that is bounded.
pub(super) fn time_of_all_tries(rule: &RouteRule) -> Option<u64> {
    let time = milliseconds(rule.timeouts.as_ref()?.request.as_ref()?)?;
    (1..LONGEST_TIMEOUT).contains(&time).then_some(time)
}

/// Changes of headers add up: those of a rule come first, then those of a backend. Of all other filters one takes the place of another of its type.
fn filters(all: &[Filter], settings: &mut MapSettings) -> Result<(), String> {
    for filter in all {
        let missing = || format!("filter {} says nothing", filter.kind);
        match filter.kind.as_str() {
            "RequestHeaderModifier" => {
                let modifier = filter.request_header_modifier.as_ref().ok_or_else(missing)?;
                headers(modifier, settings.entry("request-headers").or_default())?;
            }
            "ResponseHeaderModifier" => {
                let modifier = filter.response_header_modifier.as_ref().ok_or_else(missing)?;
                headers(modifier, settings.entry("response-headers").or_default())?;
            }
            "RequestRedirect" => redirect(filter.request_redirect.as_ref().ok_or_else(missing)?, settings)?,
            "URLRewrite" => rewrite(filter.url_rewrite.as_ref().ok_or_else(missing)?, settings)?,
            // Read beside them.
            "RequestMirror" | "ExternalAuth" => {}
            "CORS" => cors(filter.cors.as_ref().ok_or_else(missing)?, settings)?,
            other => return Err(format!("filter {other} is not supported")),
        }
    }
    Ok(())
}

/// How it is asked. Without `allowedResponseHeaders` servers are told all that it answers.
fn asked(auth: &ExternalAuth, settings: &mut MapSettings) -> Result<(), String> {
    if auth.protocol != "HTTP" {
        return Err(format!("ExternalAuth by protocol {} is not supported; HTTP is", auth.protocol));
    }
    if auth.forward_body.as_ref().is_some_and(|body| body.max_size > 0) {
        return Err("ExternalAuth with forwardBody is not supported: who is asked gets no bodies".into());
    }
    settings.insert("auth-place", "gateway".into());
    let prefix = url_path(&auth.http.path);
    let prefix = prefix.trim_matches('/');
    if !prefix.is_empty() {
        settings.insert("auth-prefix", format!("/{prefix}"));
    }
    let passed = header_names(&auth.http.allowed_headers)?;
    let passed =
        if passed.is_empty() { "authorization".to_owned() } else { format!("authorization,{passed}") };
    settings.insert("auth-request-headers", passed);
    let returned = header_names(&auth.http.allowed_response_headers)?;
    // Of the answer these are its own, or a client's would be taken away that HAProxy needs.
    if let Some(name) = returned.split(',').find(|name| *name == "host" || is_haproxys_own(name)) {
        return Err(format!("ExternalAuth with {name} in allowedResponseHeaders is not supported"));
    }
    if !returned.is_empty() {
        settings.insert("auth-response-headers", returned);
    }
    Ok(())
}

fn headers(modifier: &HeaderModifier, text: &mut String) -> Result<(), String> {
    for one in firsts(&modifier.set) {
        *text += &header("set", &one.name, &one.value)?;
    }
    for one in firsts(&modifier.add) {
        *text += &header("add", &one.name, &one.value)?;
    }
    for name in &modifier.remove {
        *text += &header("del", name, "")?;
    }
    Ok(())
}

/// Of entries for the same header, in small or capital letters, the first counts.
fn firsts(entries: &[NamedValue]) -> impl Iterator<Item = &NamedValue> {
    let mut known = BTreeSet::new();
    entries.iter().filter(move |one| known.insert(one.name.to_ascii_lowercase()))
}

fn host(text: &str) -> Result<String, String> {
    let host = text.to_ascii_lowercase();
    let is_one = haptic_model::host_name::is_host(&host) && !host.starts_with('*');
    is_one.then_some(host).ok_or_else(|| format!("hostname {text:?} is none"))
}

/// Sets `whole` or `below`, by what takes the place of a path.
fn path(
    modifier: &PathModifier,
    (whole, below): (&'static str, &'static str),
    settings: &mut MapSettings,
) -> Result<(), String> {
    match (modifier.kind.as_str(), &modifier.replace_full_path, &modifier.replace_prefix_match) {
        ("ReplaceFullPath", Some(path), _) => {
            let path = url_path(path);
            let path = if path.starts_with('/') { path } else { format!("/{path}") };
            settings.insert(whole, path);
        }
        ("ReplacePrefixMatch", _, Some(path)) => {
            let path = url_path(path);
            let path = if path.starts_with('/') { path } else { format!("/{path}") };
            settings.insert(below, path.trim_end_matches('/').to_owned());
        }
        (kind, ..) => return Err(format!("a path cannot be replaced by {kind}")),
    }
    Ok(())
}

fn redirect(redirect: &Redirect, settings: &mut MapSettings) -> Result<(), String> {
    settings.retain(|name, _| !name.starts_with("redirect"));
    let code = redirect.status_code.unwrap_or(302);
    if ![301, 302, 303, 307, 308].contains(&code) {
        return Err(format!("status code {code} is none of a redirect"));
    }
    settings.insert("redirect", code.to_string());
    if let Some(scheme) = &redirect.scheme {
        if !["http", "https"].contains(&scheme.as_str()) {
            return Err(format!("scheme {scheme} is neither http nor https"));
        }
        settings.insert("redirect-scheme", scheme.clone());
    }
    if let Some(hostname) = &redirect.hostname {
        settings.insert("redirect-host", host(hostname)?);
    }
    if let Some(port) = redirect.port {
        settings.insert("redirect-port", port.to_string());
    }
    redirect.path.as_ref().map_or(Ok(()), |one| path(one, ("redirect-whole", "redirect-below"), settings))
}

fn rewrite(rewrite: &UrlRewrite, settings: &mut MapSettings) -> Result<(), String> {
    settings.retain(|name, _| !["host", "path-whole", "path-below"].contains(name));
    if let Some(hostname) = &rewrite.hostname {
        settings.insert("host", host(hostname)?);
    }
    rewrite.path.as_ref().map_or(Ok(()), |one| path(one, ("path-whole", "path-below"), settings))
}

fn cors(cors: &Cors, settings: &mut MapSettings) -> Result<(), String> {
    settings.retain(|name, _| !name.starts_with("cors"));
    settings.insert("cors", listed(&cors.allow_origins)?);
    for (name, items) in [("cors-methods", &cors.allow_methods), ("cors-headers", &cors.allow_headers)] {
        // What has a * among other characters is a name like any other.
        let all = items.iter().any(|item| item == ANYTHING).then(|| ANYTHING.to_owned());
        let text = all.map_or_else(|| listed(items), Ok)?;
        settings.extend((!text.is_empty()).then_some((name, text)));
    }
    // Where there are credentials, * is a name for browsers.
    let is_exposed = |item: &&String| !cors.allow_credentials || *item != ANYTHING;
    let exposed: Vec<String> = cors.expose_headers.iter().filter(is_exposed).cloned().collect();
    if !exposed.is_empty() {
        settings.insert("cors-expose", listed(&exposed)?);
    }
    if cors.allow_credentials {
        settings.insert("cors-credentials", "true".into());
    }
    settings.insert("cors-max-age", cors.max_age.unwrap_or(5).to_string());
    Ok(())
}

/// Items of CORS with commas between them.
fn listed(items: &[String]) -> Result<String, String> {
    let is_item = |item: &String| item.bytes().all(|byte| byte.is_ascii_graphic() && !b",|;".contains(&byte));
    match items.iter().find(|item| !is_item(item)) {
        Some(item) => Err(format!("CORS: {item:?} is neither an origin, a method nor a header")),
        None => Ok(items.join(",")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn of_entries_for_the_same_header_the_first_counts() {
        let modifier = json!({
            "set": [{"name": "X-A", "value": "1"}, {"name": "x-b", "value": "2"}, {"name": "x-a", "value": "3\r\n"}],
            "add": [{"name": "x-a", "value": "4"}, {"name": "X-A", "value": "5"}],
            "remove": ["X-C", "x-c"],
        });
        let modifier: HeaderModifier = serde_json::from_value(modifier).unwrap();
        let mut text = String::new();
        headers(&modifier, &mut text).unwrap();
        assert_eq!(text, "set,X-A,1;set,x-b,2;add,x-a,4;del,X-C,;del,x-c,;");
    }

    #[test]
    fn a_timeout_is_one_that_haproxy_can_count() {
        for (asked, known) in [
            (json!({"request": "10s", "backendRequest": "300ms"}), Some("300")),
            (json!({"request": "10s", "backendRequest": "0s"}), Some("10000")),
            (json!({"request": "0s"}), Some("2073600000")),
            (json!({"request": "720h"}), Some("2073600000")),
            (json!({"request": "99999h"}), Some("2073600000")),
            (json!({}), None),
        ] {
            let rule: RouteRule = serde_json::from_value(json!({"timeouts": asked})).unwrap();
            let mut settings = MapSettings::new();
            timeouts(&rule, &mut settings).unwrap();
            assert_eq!(settings.get("timeout-server").map(String::as_str), known, "{rule:?}");
            let within = known.filter(|time| *time != "2073600000");
            assert_eq!(settings.get("within").map(String::as_str), within, "{rule:?}");
        }
    }
}
