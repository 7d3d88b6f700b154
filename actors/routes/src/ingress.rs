//! What an Ingress asks for (`networking.k8s.io/v1`).

mod aliases;
mod answers;
mod context;
mod manifest;
mod of_hosts;

pub use of_hosts::host_options;

use super::{
    app_root, auth,
    choices::Choices,
    claims::{Backend, Claims, Fields, Port, RouteClaim, RouteGroup, ToHttps},
    class::Classes,
    contest::{Age, ClaimPriority},
    families::{About, Family, FamilySettings, ForeignOptions},
    findings::{foreign, nowhere},
    ingress_ground::IngressGround,
    lists::encoded,
    matching::{ANY_HOST, Match, host_of},
    named_objects,
    options::{
        self, Settings,
        class_objects::{self, qualified_service},
        difference::GroupOptions,
        groups::{Annotations, Grouping, OptionGroup, OwnOptions, RouteSays},
        is_like_a_pattern,
        shared_lines::{self, SharedLines},
        value::OptionValue,
    },
    passthrough,
    path::{self, Spelling},
    patterns::Pattern,
    regex_cost::{PatternCost, asked_of_values},
    sentences::shortened,
};
use context::IngressContext;
use haptic_model::{Finding, FindingKind, host_name::is_host};
use manifest::{
    CLASS_ANNOTATION, HttpPath, Ingress, IngressBackend, Rule, Tls, TlsHosts, backend_of, named_hosts,
    paths_of, prefix_or_exact,
};
use of_hosts::{hosts_of_patterns, spreads, takes_all};
use serde_json::{Map, Value, json};
use std::{
    collections::{BTreeMap, BTreeSet, HashSet},
    sync::Arc,
};

/// What the Ingress in `json` asks for; `None` when its class is not ours.
///
/// # Errors
/// When it is no Ingress: what is wrong with it, in words of the field.
pub fn claims(json: &[u8], classes: &Classes, ground: &IngressGround<'_>) -> Result<Option<Claims>, String> {
    let IngressGround { services, neighbours, referenced } = *ground;
    let ingress: Ingress =
        serde_json::from_slice(json).map_err(|e| format!("it cannot be read as an Ingress: {e}"))?;
    let Ingress { metadata, spec } = ingress;
    let mut spec = spec.unwrap_or_default();
    let annotations = metadata.annotations.unwrap_or_default();
    let class = spec.ingress_class_name.as_deref();
    let class = class.or(annotations.get(CLASS_ANNOTATION).map(String::as_str));
    if !classes.take(class) {
        return Ok(None);
    }
    let settings = classes.settings_of(class);
    let written = Annotations::read(&annotations, settings);
    let families: Vec<&FamilySettings> = classes.families_of(class).collect();
    let tls = TlsHosts::of(spec.tls.as_deref(), families.iter().any(takes_all));
    let mut foreign = ForeignOptions::default();
    let rules = spec.rules.take().unwrap_or_default();
    if !families.is_empty() {
        let (namespace, name) = (&*metadata.namespace, &*metadata.name);
        let has_wildcards = families.iter().any(takes_all);
        let is_beside_tls =
            || named_hosts(&rules).any(|host| neighbours.tls(namespace, &host, has_wildcards));
        let about = About {
            namespace,
            name,
            tls: !matches!(tls, TlsHosts::None) || is_beside_tls(),
            has_wildcards_alone: !rules.is_empty() && named_hosts(&rules).all(|host| host.starts_with('*')),
            names_tls_hosts: spec
                .tls
                .iter()
                .flatten()
                .any(|tls| tls.hosts.as_ref().is_some_and(|all| !all.is_empty())),
            default_port: default_service(&annotations)
                .and_then(|service| services.first_port(namespace, service)),
            referenced: Some(referenced),
        };
        let of_services = spec.foreign_of_services(&rules, |service| services.foreign(namespace, service));
        foreign = ForeignOptions::of(families.iter().copied(), &annotations, &of_services, about, settings);
    }
    // Without such a family others say nothing for it.
    let mut named: BTreeSet<Arc<str>> = BTreeSet::new();
    if foreign.paths.is_some() || families.iter().any(spreads) {
        let aliases = |host: Arc<str>| neighbours.aliases(&metadata.namespace, &host).to_vec();
        named.extend(named_hosts(&rules).flat_map(|host| std::iter::once(host.clone()).chain(aliases(host))));
    }
    for host in &named {
        let (client, closed) = neighbours.client(&metadata.namespace, host);
        foreign.verify_clients(client, closed);
        if let Some(guards) = neighbours.guards(&metadata.namespace, host) {
            foreign.keep_out(guards);
        }
    }
    let is_left_out = foreign.dropped || foreign.canary.is_some();
    let found = std::mem::take(&mut foreign.findings);
    let redirected = std::mem::take(&mut foreign.redirected);
    let patterns = hosts_of_patterns(&rules, foreign.paths.as_ref());
    let rules = if is_left_out { Vec::new() } else { rules };
    let written = written.with(foreign);
    let of_service = |name: &str| services.written(&metadata.namespace, name);
    let grouping = Grouping::new(metadata.name.clone(), written, settings, &of_service);
    let protocol = |backend: &Backend| services.protocol(&metadata.namespace, backend);
    let of_family = families.iter().map(|family| family.family).find(|family| family.reads_target_ports());
    let by_target = |backend: &Backend| services.port_read_by(of_family?, &metadata.namespace, backend);
    let mut reading = Reading {
        claims: Claims::default(),
        tls,
        spelling: classes.spelling,
        grouping,
        around: IngressContext::new(neighbours, metadata.namespace.clone(), patterns),
        protocol: &protocol,
        by_target: &by_target,
        faults: Vec::new(),
    };
    reading.claims.findings = found;
    reading.claims.named = named.into_iter().collect();
    reading.claims.age = metadata.creation_timestamp.map_or(Age::Unknown, Age::Since);
    // `internal/ingress/controller/store`: sorted by namespace and name from the last to the first, then by age.
    reading.claims.is_last_first = families.iter().any(|family| family.family == Family::IngressNginx);
    let mut hosts: Vec<Arc<str>> = Vec::new();
    for rule in &rules {
        let Some(host) = reading.host(rule.host.as_deref().unwrap_or_default(), true) else { continue };
        reading.rule(&host, rule);
        hosts.push(host);
    }
    reading.aliases(&rules);
    reading.answers();
    if let Some(backend) = spec.default_backend.as_ref().filter(|_| !is_left_out) {
        reading.default_backend((!rules.is_empty()).then_some(&hosts), backend);
    }
    reading.roots(&hosts);
    reading.www(&hosts);
    reading.redirected(redirected, &hosts);
    reading.rest(families.iter().find(|family| family.keeps_hosts()).map(|family| family.family));
    reading.certificates(&hosts, spec.tls.as_deref().filter(|_| !is_left_out).unwrap_or_default());
    reading.passed(settings);
    reading.claims.mark_repeated();
    let Reading { mut claims, grouping, faults, .. } = reading;
    claims.client_ca = grouping.own().text("client-ca-secret").map(Arc::from);
    claims.default_certificate = settings.class.certificate();
    claims.left_to = classes.left_to(settings);
    let is_passed = claims.passed.as_ref().is_some_and(|passed| !passed.is_empty());
    if !is_passed && claims.routes.iter().all(|route| !route.tls) {
        let is_redirected = grouping.own().text("ssl-redirect") == Some("true");
        let of_tls = ["tls-alpn", "tls-ciphers", "tls-min-version"].into_iter();
        let given = of_tls.filter(|option| grouping.own().values.contains_key(option));
        let given = given.chain(is_redirected.then_some("ssl-redirect"));
        let given = given.filter(|option| grouping.annotations().says(option));
        claims.findings.extend(given.map(options::without_tls));
    }
    claims.findings.extend(app_root::in_vain(&grouping, &claims, &annotations));
    let says_code = grouping.annotations().says("redirect-code");
    let (groups, refused, ineffective) = grouping.done();
    let in_vain = || options::code_without_redirect(groups.iter().map(|group| &group.options));
    claims.findings.extend(says_code.then(in_vain).flatten());
    claims.named_objects = named_objects::named_by(groups.iter().map(|group| &group.options));
    claims.groups = groups_of(&metadata.namespace, groups, settings, &classes.shared);
    claims.asked = auth::services_of(&metadata.namespace, &claims.groups);
    claims.looked_up = auth::looked_up(&claims.groups);
    claims.findings.extend(ineffective);
    claims.findings.extend(nowhere::found(&claims, &metadata.namespace, services));
    let is_read = |annotation: &str| families.iter().any(|family| family.family.has(annotation));
    let not_read = annotations.keys().map(String::as_str).filter(|annotation| !is_read(annotation));
    claims.findings.extend(foreign::found(not_read));
    // Annotations of others are in the Ingress itself: they may be large, and no route needs them.
    let metadata = json!({ "namespace": metadata.namespace, "name": metadata.name });
    let faults: Vec<String> = refused.iter().map(ToString::to_string).chain(faults).collect();
    let fields = [("metadata", metadata), ("faults", json!(faults))];
    claims.fields =
        fields.map(|(name, value)| (name.to_owned(), value)).into_iter().collect::<Map<_, _>>().into();
    Ok(Some(claims))
}

/// The Service that ingress-nginx' annotation names for what its own cannot answer.
fn default_service(annotations: &BTreeMap<String, String>) -> Option<&str> {
    let mut prefixes = Family::IngressNginx.prefixes().iter();
    prefixes.find_map(|prefix| annotations.get(&format!("{prefix}default-backend"))).map(|text| text.trim())
}

fn groups_of(
    namespace: &str,
    groups: Vec<OptionGroup>,
    settings: &Settings,
    shared: &SharedLines,
) -> Vec<RouteGroup> {
    let (mut groups, none) = (groups.into_iter(), Map::new());
    let Some(OptionGroup { id, options: mut of_object }) = groups.next() else { return Vec::new() };
    let mut first = group_of(namespace, id, &mut of_object, &none, (settings, shared));
    let others = groups.map(|OptionGroup { id, mut options }| {
        let group = group_of(namespace, id, &mut options, &of_object, (settings, shared));
        RouteGroup { options: options.into(), ..group }
    });
    let others: Vec<RouteGroup> = others.collect();
    first.options = of_object.into();
    std::iter::once(first).chain(others).collect()
}

/// The group of these options, and in them what its choices are as HAProxy reads them.
fn group_of(
    namespace: &str,
    id: Arc<str>,
    own: &mut Map<String, Value>,
    of_object: &Map<String, Value>,
    (settings, shared): (&Settings, &SharedLines),
) -> RouteGroup {
    let options = GroupOptions { own, of_object };
    let text = |name: &str| options.text(name);
    let affinity = text("affinity").map(|_| "cookie");
    let pages = settings.class.profile_of(options);
    let lines = shared.profile_of(options).map(str::to_owned);
    let counts_bodies = shared.count_bodies_apart(options);
    let parts = [text("balance"), affinity, text("protocol"), pages.as_deref(), lines.as_deref()];
    let suffix: String = parts.into_iter().flatten().map(|part| format!("_{part}")).collect();
    let to_https = match text("ssl-redirect") {
        Some("always") => ToHttps::Always,
        Some("false") => ToHttps::Never,
        None if !settings.ssl_redirect => ToHttps::Never,
        _ => ToHttps::WithTls,
    };
    let choices = Choices::of(options);
    let (suffix, others) = (suffix.into(), choices.backends());
    let asks_for_passwords = text("auth-secret").is_some();
    let group = RouteGroup { id, suffix, to_https, others, asks_for_passwords, options: Fields::default() };
    let choice = choices.text(options, |backend| group.name_of(namespace, backend));
    let mirror = choices.mirror().map(|backend| group.name_of(namespace, backend));
    let default = choices.default().map(|backend| group.name_of(namespace, backend));
    let of_class = || Some(qualified_service(options.text(class_objects::SERVICE)?)?.name);
    let errors = choices.errors().map(|backend| group.name_of(namespace, backend));
    let origins = options.get("cors-allow-origin-regex").map(|regex| {
        let pattern = regex.get("pattern").and_then(Value::as_str).unwrap_or_default();
        let longest = regex.get("longestPath").map_or_else(String::new, Value::to_string);
        format!("{},{longest}", encoded(&asked_of_values(pattern)))
    });
    let made = [
        ("choice", choice),
        ("mirror", mirror),
        ("default-backend", default.or_else(of_class)),
        (class_objects::PAGES_PROFILE, pages),
        (shared_lines::LINES_PROFILE, lines),
        (shared_lines::BODY_FILTER, counts_bodies.then(|| "own".to_owned())),
        ("errors", errors),
        ("cors-origins", origins),
    ];
    if let Some(window) = options.text("rate-limit-period").and_then(options::rate::window) {
        own.insert(window, json!(true));
    }
    for (name, text) in made {
        if text.is_some() || of_object.contains_key(name) {
            own.insert(name.to_owned(), json!(text));
        }
    }
    group
}

/// A path as that of a cookie.
fn cookie_path(text: &str) -> Option<OptionValue> {
    let row = options::table::row("affinity-cookie-path")?;
    row.kind.read(text, &Settings::default()).ok()
}

struct Reading<'r> {
    claims: Claims,
    tls: TlsHosts,
    spelling: Spelling,
    grouping: Grouping<'r>,
    around: IngressContext<'r>,
    /// What a Service's port says of itself.
    protocol: &'r dyn Fn(&Backend) -> Option<&'static str>,
    /// The port of a Service that a family reads a backend's port as.
    by_target: &'r dyn Fn(&Backend) -> Option<u16>,
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
        for (text, path) in paths_of(rule) {
            let service = path.backend.as_ref().and_then(|backend| backend.service.as_ref());
            let service = service.map(|service| &*service.name);
            if self.grouping.annotations().foreign().level(service).left_out {
                continue;
            }
            let own = self.of_route(host, text, path.path_type.as_deref(), service);
            let family = self.grouping.annotations().path_rules(text);
            if let Some(family) = family.filter(|_| self.around.has_patterns(host)) {
                self.family_pattern(host, text, family.pattern(text), path.backend.as_ref(), own);
                continue;
            }
            if let Some(pattern) = self.grouping.annotations().pattern(text, path.path_type.as_deref()) {
                self.pattern(host, text, pattern, path.backend.as_ref(), own);
                continue;
            }
            if let Some(pattern) = self.foreign_pattern(path, text) {
                self.family_pattern(host, text, pattern, path.backend.as_ref(), own);
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
            self.lead(wanted, text, path.backend.as_ref(), None, own);
        }
    }

    /// What a family says of one route: a canary of it, or that its path without the slash at its end leads to the one with it.
    fn of_route(
        &mut self,
        host: &Arc<str>,
        text: &str,
        path_type: Option<&str>,
        service: Option<&str>,
    ) -> Option<OwnOptions> {
        let mut own = OwnOptions::default();
        self.add_sign_in(host, text, service, &mut own);
        let is_below = |all: &[String]| all.iter().any(|start| text.starts_with(start.as_str()));
        if is_below(&self.grouping.annotations().foreign().over_http) {
            own.label.push_str(" over HTTP");
            own.options.insert("ssl-redirect", OptionValue::Text("false".to_owned()));
        }
        if let Some(rules) = self.grouping.annotations().path_rules(text) {
            self.add_family_rules(host, text, prefix_or_exact(path_type), &mut own);
            let is_same = rules.target.as_deref() == Some(text);
            if is_same && self.grouping.own().text("forwarded-prefix").is_some() {
                own.label.push_str(" not rewritten");
                own.without.push("forwarded-prefix");
            }
            if is_below(&rules.without_auth) {
                own.label.push_str(" for everybody");
                own.without.extend(["auth-url", "auth-secret"]);
            }
        } else if text == "/" {
            self.add_root(host, &mut own);
        }
        (!own.label.is_empty()).then_some(own)
    }

    /// What a family's `oauth` says of a route.
    fn add_sign_in(&mut self, host: &Arc<str>, text: &str, service: Option<&str>, own: &mut OwnOptions) {
        let level = self.grouping.annotations().foreign().level(service);
        let Some(sign_in) = level.sign_in.clone().filter(|sign_in| !sign_in.has(text)) else { return };
        let program = self.around.program(host, &sign_in.prefix).cloned();
        let program = program.map(|program| self.at_port(program));
        if program.is_none() {
            let prefix = shortened(&sign_in.prefix);
            let sentence = format!(
                "oauth asks who has path {prefix} of {}, and no Ingress of the namespace has it: nobody gets in",
                shortened(host)
            );
            let finding = Finding::new(FindingKind::ServiceMissing, sentence).at_host(host);
            // Paths of a host stand together.
            if self.claims.findings.last() != Some(&finding) {
                self.found(finding);
            }
        }
        let by = program.as_ref().map(|Backend { service, port }| format!("{service}:{port}"));
        own.label.push_str(&format!(" signed in by {}{}", by.as_deref().unwrap_or("nobody"), sign_in.prefix));
        own.options.extend(sign_in.options_with(program.as_ref()));
    }

    /// What a family with rules of its own for paths says of one.
    fn add_family_rules(&self, host: &Arc<str>, text: &str, path_type: &str, own: &mut OwnOptions) {
        let canary = self.around.canary(host, text, path_type);
        if let Some(canary) = canary {
            own.label.push_str(&format!(" canary of {host}{text} {path_type}"));
            own.options.extend(canary.iter().map(|(name, value)| (*name, value.clone())));
        }
        let is_literal = !self.around.has_patterns(host);
        let is_redirected = self.grouping.own().text("redirect-to").is_some();
        if is_literal && path_type != "Exact" && text.len() > 1 && text.ends_with('/') && !is_redirected {
            own.label.push_str(" with a slash");
            own.options.insert("trailing-slash", OptionValue::Text("add".to_owned()));
            own.options.insert("redirect-code", OptionValue::Text("301".to_owned()));
        }
        let cookie = self.grouping.own();
        let has_no_path = cookie.text("affinity").is_some() && cookie.text("affinity-cookie-path").is_none();
        if has_no_path
            && text != "/"
            && let Some(path) = cookie_path(text)
        {
            own.label.push_str(&format!(" with cookies for {text}"));
            own.options.insert("affinity-cookie-path", path);
        }
        if text == "/" {
            self.add_root(host, own);
        }
    }

    /// What a family's `app-root` of any Ingress of the namespace says of `/` of a host.
    fn add_root(&self, host: &Arc<str>, own: &mut OwnOptions) {
        if let Some(root) = self.around.root(host) {
            own.label.push_str(&format!(" root of {host}"));
            own.options.extend(root.iter().map(|(name, value)| (*name, value.clone())));
        }
    }

    /// Requests for `/` of hosts where a family's `app-root` counts, and no route of the Ingress takes them, or one that leads all of them
    /// elsewhere.
    fn roots(&mut self, hosts: &[Arc<str>]) {
        let routes = &self.claims.routes;
        let Some(backend) = routes.first().map(|route| route.backend.clone()) else { return };
        let taken = routes.iter().filter(|route| app_root::takes_root(&route.wanted));
        let taken: HashSet<Arc<str>> = taken.map(|route| route.wanted.host.clone()).collect();
        let is_of_rest = self.grouping.annotations().foreign().paths.is_some();
        let leads_away = self.grouping.own().text("redirect-to").is_some();
        let hosts: BTreeSet<&Arc<str>> = hosts.iter().filter(|host| &***host != ANY_HOST).collect();
        for host in hosts.into_iter().filter(|host| !is_of_rest && (leads_away || !taken.contains(*host))) {
            let mut own = OwnOptions::default();
            self.add_root(host, &mut own);
            if own.label.is_empty() {
                continue;
            }
            own.label.push_str(" alone");
            own.without.push("redirect-to");
            let says = RouteSays { protocol: None, own: Some(own) };
            let group = self.grouping.number("", &backend.service, None, says);
            let (wanted, tls) = (Match::exact(host, "/"), self.has_tls(host));
            let standing =
                if taken.contains(host) { ClaimPriority::Fallback } else { ClaimPriority::Redirect };
            let backend = backend.clone();
            let route = RouteClaim { wanted, cost: None, backend, standing, tls, group, repeated: false };
            self.claims.routes.push(route);
        }
    }

    /// What the routes of its hosts leave over, where a family's own controller leaves it to nobody else: of ingress-nginx what the Ingress
    /// says of requests counts there, too.
    fn rest(&mut self, family: Option<Family>) {
        let Some(family) = family else { return };
        let Some(backend) = self.claims.routes.first().map(|route| route.backend.clone()) else { return };
        // Of each host, whether a route of it takes what is left, and whether one has TLS.
        let mut hosts: BTreeMap<Arc<str>, (bool, bool)> = BTreeMap::new();
        for route in self.claims.routes.iter().filter(|route| *route.wanted.host != *ANY_HOST) {
            let (is_whole, has_tls) = hosts.entry(route.wanted.host.clone()).or_default();
            *is_whole |= route.wanted == Match::prefix(&route.wanted.host, "");
            *has_tls |= route.tls;
        }
        for (host, (is_whole, route_has_tls)) in hosts {
            if is_whole {
                continue;
            }
            let wanted = Match::prefix(&host, "");
            let mut own = OwnOptions::default();
            self.add_root(&host, &mut own);
            let group = self.grouping.of_rest((family == Family::IngressNginx).then_some(own));
            let tls = self.has_tls(&host) || route_has_tls;
            let standing = ClaimPriority::Rest;
            let backend = backend.clone();
            let route = RouteClaim { wanted, cost: None, backend, standing, tls, group, repeated: false };
            self.claims.routes.push(route);
        }
    }

    /// Whether it, or for a family one beside it, has TLS for a host.
    fn has_tls(&self, host: &str) -> bool {
        let names = [host, self.around.named(host)];
        let has_wildcards = self.grouping.annotations().foreign().paths.is_some();
        names.into_iter().any(|name| self.tls.cover(name) || self.around.has_tls(name, has_wildcards))
    }

    /// A path that families compare in a way of their own.
    fn foreign_pattern(&self, path: &HttpPath, text: &str) -> Option<Result<Pattern, String>> {
        let service = path.backend.as_ref().and_then(|backend| backend.service.as_ref());
        let service = service.map(|service| &*service.name);
        let raw = self.spelling == Spelling::Raw;
        self.grouping.annotations().foreign_pattern(text, path.path_type.as_deref(), service, raw)
    }

    fn not_served(&mut self, host: &str, text: &str, why: &str) {
        let shown = shortened(text);
        let sentence = format!("path {shown:?} {why}: it is not served");
        self.found(Finding::new(FindingKind::PathInvalid, sentence).at_host(host).at_path(&shown));
    }

    /// A path that a family has as a regular expression. What is not served is taken by shorter paths, which may let more in: of an Ingress
    /// that keeps somebody out nothing is served.
    fn family_pattern(
        &mut self,
        host: &str,
        text: &str,
        pattern: Result<Pattern, String>,
        backend: Option<&IngressBackend>,
        own: Option<OwnOptions>,
    ) {
        match pattern {
            Err(why) if !self.grouping.annotations().is_guarded() => self.not_served(host, text, &why),
            pattern => self.pattern(host, text, pattern, backend, own),
        }
    }

    /// A path that is a regular expression.
    fn pattern(
        &mut self,
        host: &str,
        text: &str,
        pattern: Result<Pattern, String>,
        backend: Option<&IngressBackend>,
        own: Option<OwnOptions>,
    ) {
        match pattern {
            Ok(pattern) => self.lead(pattern.of(host), text, backend, Some(&pattern), own),
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
        own: Option<OwnOptions>,
    ) {
        match backend.map(|backend| self.backend(backend)) {
            Some(Ok(backend)) => self.route(wanted, Some(path), backend, pattern, own),
            Some(Err(why)) => {
                self.found(wanted.finding(FindingKind::BackendInvalid, format!("{wanted} {why}")))
            }
            None => {
                self.found(wanted.finding(FindingKind::BackendInvalid, format!("{wanted} has no backend")))
            }
        }
    }

    /// What leads to a Service, at the port that is meant.
    fn backend(&self, backend: &IngressBackend) -> Result<Backend, String> {
        backend_of(backend).map(|backend| self.at_port(backend))
    }

    fn at_port(&self, backend: Backend) -> Backend {
        let port = (self.by_target)(&backend).map(Port::Number);
        Backend { port: port.unwrap_or_else(|| backend.port.clone()), ..backend }
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
        let backend = match self.backend(backend) {
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
                let mut own = OwnOptions::default();
                self.add_sign_in(host, "", Some(&backend.service), &mut own);
                if of_rules.is_none() && self.grouping.annotations().foreign().paths.is_some() {
                    own.label.push_str(" of all hosts");
                    own.without.extend(["app-root", "redirect-to", "redirect-keep-path", "redirect-code"]);
                    own.options.insert("ssl-redirect", OptionValue::Text("false".to_owned()));
                }
                let own = (!own.label.is_empty()).then_some(own);
                let forms = &self.grouping.annotations().foreign().level(Some(&backend.service)).forms;
                let pattern = forms.of_rest();
                self.route(Match::prefix(host, ""), None, backend.clone(), pattern.as_ref(), own);
            }
        }
    }

    /// `path`: as it is written; without one it is for what no path takes.
    fn route(
        &mut self,
        mut wanted: Match,
        path: Option<&str>,
        backend: Backend,
        pattern: Option<&Pattern>,
        own: Option<OwnOptions>,
    ) {
        let annotations = self.grouping.annotations();
        wanted.conditions = annotations.conditions(path.unwrap_or_default(), &backend.service).map(Arc::new);
        let standing = if path.is_none() { ClaimPriority::Fallback } else { ClaimPriority::Asked };
        let tls = self.has_tls(&wanted.host);
        let rewrite = pattern.and_then(|pattern| pattern.rewrite.clone());
        let protocol = (self.protocol)(&backend);
        let says = RouteSays { protocol, own };
        let group = self.grouping.number(path.unwrap_or_default(), &backend.service, rewrite, says);
        let cost = PatternCost::sum(
            pattern.and_then(|pattern| pattern.cost),
            wanted.conditions.as_ref().and_then(|conditions| conditions.cost()),
        );
        if wanted.conditions.is_some() && self.grouping.annotations().foreign().refuses {
            let refused = Match { conditions: None, ..wanted.clone() };
            self.refuse(refused, path, &backend, pattern.and_then(|pattern| pattern.cost));
        }
        self.claims.routes.push(RouteClaim { wanted, cost, backend, standing, tls, group, repeated: false });
    }

    /// Requests that a route refuses lead to no other route of the host, which another path or a wildcard may have.
    fn refuse(&mut self, wanted: Match, path: Option<&str>, backend: &Backend, cost: Option<PatternCost>) {
        let own = OwnOptions {
            label: " refused".to_owned(),
            options: BTreeMap::from([("closed", OptionValue::Switch(true))]),
            without: Vec::new(),
        };
        let says = RouteSays { protocol: None, own: Some(own) };
        let group = self.grouping.number(path.unwrap_or_default(), &backend.service, None, says);
        let (standing, tls) = (ClaimPriority::Fallback, self.has_tls(&wanted.host));
        let backend = backend.clone();
        self.claims.routes.push(RouteClaim { wanted, cost, backend, standing, tls, group, repeated: false });
    }

    /// Where it is asked for, the hosts with `www.` in front of these, or without it, lead to these.
    fn www(&mut self, hosts: &[Arc<str>]) {
        if !self.grouping.own().is_on("redirect-www") {
            return;
        }
        let known: HashSet<&Arc<str>> = hosts.iter().collect();
        for host in known.iter().filter(|host| is_host(host) && !host.starts_with('*')) {
            let other = host.strip_prefix("www.").map_or_else(|| format!("www.{host}"), str::to_owned);
            let other: Arc<str> = other.into();
            if is_host(&other) && !known.contains(&other) {
                self.redirect(&other, host, ClaimPriority::Spare);
            }
        }
    }

    /// What families have redirected to the first of these hosts.
    fn redirected(&mut self, others: Vec<String>, hosts: &[Arc<str>]) {
        let Some(host) = hosts.iter().find(|host| is_host(host) && !host.starts_with('*')) else { return };
        for other in others.into_iter().map(Arc::<str>::from).filter(|other| !hosts.contains(other)) {
            self.redirect(&other, host, ClaimPriority::Redirect);
        }
    }

    /// Requests for another host lead to `host`, as far as nobody has routes there.
    fn redirect(&mut self, other: &Arc<str>, host: &str, standing: ClaimPriority) {
        let Some(backend) = self.claims.routes.first().map(|route| route.backend.clone()) else { return };
        let (tls, group) = (self.tls.cover(other), self.grouping.redirecting_to(host));
        let wanted = Match::prefix(other, "");
        let route = RouteClaim { wanted, cost: None, backend, standing, tls, group, repeated: false };
        self.claims.routes.push(route);
    }

    /// TLS that servers answer themselves.
    fn passed(&mut self, settings: &Settings) {
        self.claims.passed = settings.passthrough.then(BTreeMap::new);
        let own = self.grouping.own();
        if !own.is_on(passthrough::OPTION) {
            return;
        }
        let port = match own.values.get(passthrough::HTTP_PORT) {
            Some(OptionValue::Number(port)) => u16::try_from(*port).ok(),
            _ => None,
        };
        self.claims.pass_through(port, settings);
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
