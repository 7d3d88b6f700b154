//! The record of what an object got, as the object that templates read.

use crate::{
    claims::{Backend, Claims, RouteClaim, RouteGroup, ToHttps, auth},
    matching::{ANY_HOST, Match, MatchShape, lists::MOST, wildcard_over},
    names,
    objects::named_objects::NamedKind,
    options::{self, difference::OPTIONS_OF_GROUPS},
    ownership::{
        contest::{Age, ClaimPriority},
        hosts::{CertificateSource, ClientCa, Tls},
        index::{RouteIndex, hosts_of},
        passthrough::Passing,
    },
    sentences::{few, shortened},
};
use haptic_model::{Finding, FindingKind, ObjectJson, ObjectRef};
use serde_json::{Value, json};
use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet, HashSet},
    sync::Arc,
};

/// The most hosts in one entry of `tls`, for a line of a crt-list and what HAProxy takes at run time are limited.
const HOSTS_OF_AN_ENTRY: usize = 32;

/// The ending of the names of backends whose servers get TLS as it comes. No port has a colon, so that others have other names.
const TLS_BACKEND: &str = ":tls";

/// The backend in which nothing is found, by the library base.
const NOWHERE: &str = "not_found";

/// An object, and where what it got is looked up.
pub(crate) struct RecordInput<'i> {
    pub object: &'i ObjectRef,
    pub claims: &'i Claims,
    pub index: &'i RouteIndex,
}

/// The things that the hosts of one entry of `tls` have in common.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Entry {
    /// Namespace and name of the Secret, both empty of the default certificate.
    certificate: (Arc<str>, Arc<str>),
    client_ca: Option<ClientCa>,
    /// Whether it is the first certificate of the hosts.
    first: bool,
    /// Whether this CA alone verifies their clients.
    trusted: bool,
    /// The wildcard itself, where it leaves hosts out.
    wildcard: Option<Arc<str>>,
}

/// The JSON of an object's routes, and what is found at it. In the JSON are its own `fields`, `options`,
/// [`OPTIONS_OF_GROUPS`], `routes`, `backends`, `tls`, `clientCa` and `rejected`.
pub(crate) fn of(got: &RecordInput<'_>) -> (ObjectJson, Vec<Finding>) {
    let mut found = got.claims.findings.clone();
    let (mut routes, mut backends) = (Vec::new(), Vec::new());
    let (mut known, mut served) = (HashSet::new(), BTreeSet::new());
    for claim in &got.claims.routes {
        match got.refusal(claim) {
            Some(why) => found.extend(why),
            None => {
                let Some(group) = got.claims.groups.get(claim.group) else { continue };
                let is_nowhere = claim.standing == ClaimPriority::Rest && !group.asks_for_passwords;
                let backend = match is_nowhere {
                    true => json!({"name": NOWHERE}),
                    false => backend(got.object, group, &claim.backend),
                };
                if !is_nowhere && known.insert((claim.group, &claim.backend)) {
                    backends.push(backend.clone());
                }
                let others = group.others.iter().filter(|other| known.insert((claim.group, other)));
                backends.extend(others.map(|other| self::backend(got.object, group, other)));
                served.insert(&claim.wanted.host);
                routes.push(route(claim, group, backend, got.passes(&claim.wanted.host)));
            }
        }
    }
    found.extend(served.iter().flat_map(|host| got.about_host(host)));
    found.extend(got.left_out());
    found.extend(got.not_passed());
    let over: HashSet<String> = served.iter().filter_map(|host| wildcard_over(host)).collect();
    let brought = got.claims.certificates.iter();
    found.extend(brought.flat_map(|(host, secrets)| got.about_certificate(host, secrets, &over)));
    found.extend(got.without_certificate());
    found.extend(got.index.named_objects().missing(&got.object.namespace, got.claims));
    found.extend(got.shown_to_servers());
    found.extend(got.asks_nobody());
    let found = few(found);
    let rejected: Vec<&str> = found.iter().map(|finding| &*finding.sentence).collect();
    let own = got.claims.fields.read();
    let mut fields: FieldTexts<'_> =
        own.iter().map(|(name, value)| (name.as_str(), value.to_string().into())).collect();
    let options = got.claims.groups.first().map_or("null", |group| group.options.json());
    fields.insert("options", options.into());
    fields.insert(OPTIONS_OF_GROUPS, got.options_of_groups().into());
    for (name, value) in [
        ("routes", Value::Array(routes)),
        ("backends", Value::Array(backends)),
        ("lists", got.lists()),
        ("tls", got.tls()),
        ("rejected", json!(rejected)),
    ] {
        fields.insert(name, value.to_string().into());
    }
    if let Some(backend) = &got.claims.left_to {
        let hosts: Vec<_> = hosts_of(got.claims).into_iter().filter(|host| got.is_first_of(host)).collect();
        fields.insert("left", json!({"backend": backend, "hosts": hosts}).to_string().into());
    }
    let passed = got.claims.passed.is_some().then(|| got.passed()).into_iter().flatten();
    fields.extend(passed.map(|(name, value)| (name, value.to_string().into())));
    if let Some(secret) = &got.claims.client_ca {
        let name = json!(format!("{}/{secret}", got.object.namespace));
        fields.insert("clientCa", name.to_string().into());
    }
    (ObjectJson::packed(dict(&fields).into_bytes()), found)
}

/// JSON by the names of fields. Options are passed on as the text that they are.
type FieldTexts<'t> = BTreeMap<&'t str, Cow<'t, str>>;

fn dict(fields: &FieldTexts<'_>) -> String {
    let fields = fields.iter().map(|(name, value)| format!("{}:{value}", Value::from(*name)));
    format!("{{{}}}", fields.collect::<Vec<_>>().join(","))
}

impl RecordInput<'_> {
    /// Why it has not what it asks for; nothing is said of what was only asked for where nobody else does.
    fn refusal(&self, claim: &RouteClaim) -> Option<Option<Finding>> {
        // What nobody asks for is somebody's, and it makes no difference whose.
        if claim.standing == ClaimPriority::Rest {
            let winner = self.index.holder(&claim.wanted).and_then(|holder| holder.object.as_ref());
            let has_it = !claim.repeated && winner.is_some_and(|winner| *winner.object == *self.object);
            return (!has_it).then_some(None);
        }
        if claim.repeated {
            let sentence = || format!("{} is named twice, the first one counts", claim.wanted);
            return Some(
                (claim.standing == ClaimPriority::Asked)
                    .then(|| claim.wanted.finding(FindingKind::RouteRepeated, sentence())),
            );
        }
        let holder = self.index.holder(&claim.wanted)?;
        if let Some(others) = self.host_of_others(claim) {
            return Some(Some(others));
        }
        if self.index.steps_back(&self.object.namespace, claim) {
            return Some(self.not_redirected(&claim.wanted));
        }
        let is_default = claim.standing != ClaimPriority::Asked;
        let what = if is_default { "the default of " } else { "" };
        let Some(winner) = &holder.object else {
            let sentence = format!("{what}{} {}", claim.wanted, kept_for(&holder.namespace));
            return Some(Some(claim.wanted.finding(FindingKind::RouteConflict, sentence)));
        };
        if *winner.object == *self.object {
            return None;
        }
        // A default backend steps back without a word: that is what it is for.
        if is_default
            && winner.standing == ClaimPriority::Asked
            && winner.object.namespace == self.object.namespace
        {
            return Some(None);
        }
        let reason = self.reason(&winner.object, &winner.age);
        let sentence = format!("{what}{} is taken by {}, {reason}", claim.wanted, winner.object);
        Some(Some(claim.wanted.finding(FindingKind::RouteConflict, sentence)))
    }

    /// The finding that another host is not redirected; none for the root of a host, which belongs to the object with all of its paths.
    fn not_redirected(&self, wanted: &Match) -> Option<Finding> {
        (*wanted != Match::exact(&wanted.host, "/")).then(|| {
            let host = host_name(&wanted.host);
            let sentence = format!("{host} is not redirected: a wildcard over it has routes");
            wanted.finding(FindingKind::HostConflict, sentence)
        })
    }

    /// Why a route that takes other paths than its own, or of what is only another name of a host, is not for this object.
    fn host_of_others(&self, claim: &RouteClaim) -> Option<Finding> {
        let Match { host, .. } = &claim.wanted;
        // Of ingress-nginx other names are those of no Ingress (`internal/ingress/controller`: createServers).
        let has_rules = |host: &str| {
            let mut routes = self.claims.routes.iter();
            routes.any(|route| *route.wanted.host == *host && route.standing == ClaimPriority::Asked)
        };
        if claim.standing == ClaimPriority::Spare
            && self.claims.is_last_first
            && !has_rules(host)
            && let Some(other) = self.index.first_at(host)
            && other.asks()
        {
            let (wanted, host, other) = (&claim.wanted, host_name(host), &other.object);
            let sentence = format!("{wanted} is not served: {other} has rules for {host}");
            return Some(wanted.finding(FindingKind::HostConflict, sentence));
        }
        let namespace =
            self.index.namespace_of(host).filter(|namespace| **namespace != *self.object.namespace)?;
        let is_spare = matches!(claim.standing, ClaimPriority::Spare | ClaimPriority::Redirect);
        (claim.wanted.is_listed() || is_spare).then(|| {
            let wanted = &claim.wanted;
            let sentence = format!(
                "{wanted} is not served: {} is held by namespace {namespace}, and only its own may be there",
                host_name(host)
            );
            wanted.finding(FindingKind::HostConflict, sentence)
        })
    }

    /// The findings at a host on which it has routes and does not decide all.
    fn about_host(&self, host: &str) -> Vec<Finding> {
        let Some(tls) = self.index.tls(host) else { return Vec::new() };
        let mut found = Vec::new();
        let mut push = |kind, sentence: String| found.push(Finding::new(kind, sentence).at_host(host));
        if let Some(by) = self.held_by_others(host, tls) {
            push(
                FindingKind::HostConflict,
                format!("{by}: its TLS and client verification are not this one's"),
            );
        }
        let own = self.claims.client_ca.as_ref();
        let own =
            own.map(|secret| ClientCa { namespace: self.object.namespace.clone(), secret: secret.clone() });
        if own.is_some() && host == ANY_HOST {
            let sentence = "clients of hosts that no rule names are asked for no certificate: all requests there that need client-ca-secret are refused";
            push(FindingKind::OptionWithoutEffect, sentence.to_owned());
        } else if own.is_some() && own == tls.client_ca && !self.index.hosts().is_alone(host) {
            let sentence = format!(
                "too many hosts are apart from the wildcard over {host}, whose certificates are another namespace's: requests there that need client-ca-secret are refused; list the host in spec.hosts, and the wildcard"
            );
            push(FindingKind::ClientCaConflict, sentence);
        } else if own.is_some() && own != tls.client_ca {
            let other = tls.client_ca.as_ref().map_or("not verified".to_owned(), |ca| {
                format!("verified with the CA of Secret {}/{}", ca.namespace, ca.secret)
            });
            let host = host_name(host);
            let sentence = format!(
                "clients of {host} are {other}: all requests there that need client-ca-secret are refused"
            );
            push(FindingKind::ClientCaConflict, sentence);
        }
        found
    }

    /// `over`: the wildcards over hosts of its own.
    fn about_certificate(&self, host: &str, secrets: &[Arc<str>], over: &HashSet<String>) -> Vec<Finding> {
        let Some(tls) = self.index.tls(host) else { return Vec::new() };
        let by = tls.certificates.as_ref();
        let is_own = by.is_some_and(|by| {
            let same = || secrets.iter().all(|secret| by.secrets.contains(secret));
            *by.object == *self.object || (by.object.namespace == self.object.namespace && same())
        });
        if is_own {
            let namespace = &self.object.namespace;
            let found =
                secrets.iter().filter_map(|secret| self.index.certificates().found(namespace, secret, host));
            return found.collect();
        }
        let secret = secrets.first().map(|name| shortened(name)).unwrap_or_default();
        let whose = match (self.held_by_others(host, tls), by) {
            (Some(held), _) => held,
            (None, Some(by)) => {
                let reason = self.reason(&by.object, &by.age);
                format!("{} has that of {}, {reason}", host_name(host), by.object)
            }
            (None, None) => return Vec::new(),
        };
        // Hosts of its own right below a wildcard have a line each.
        let instead = if over.contains(host) { "only used for hosts with routes" } else { "not used" };
        let sentence =
            format!("the certificate of {} in Secret {secret} is {instead}: {whose}", host_name(host));
        vec![Finding::new(FindingKind::CertificateUnused, sentence).at_host(host)]
    }

    /// The hosts that `spec.tls` names and that neither a certificate of its own nor one of the wildcard over them is for.
    fn without_certificate(&self) -> Vec<Finding> {
        let hosts: BTreeSet<&Arc<str>> = self
            .claims
            .routes
            .iter()
            .filter(|route| route.tls && !route.repeated && *route.wanted.host != *ANY_HOST)
            .map(|route| &route.wanted.host)
            .filter(|host| !self.claims.certificates.contains_key(*host))
            .collect();
        let has = |host: &str| self.index.tls(host)?.certificates.as_ref();
        let found = |host: &str| match has(host).or_else(|| has(&wildcard_over(host)?)) {
            Some(by) if by.source == CertificateSource::Class => {
                self.index.certificates().found(&by.namespace, by.secrets.first()?, host)
            }
            Some(by) if by.source == CertificateSource::Object => None,
            Some(_) | None => self.index.certificates().found_at_default(host),
        };
        hosts.into_iter().filter(|host| self.passes(host).is_none()).filter_map(|host| found(host)).collect()
    }

    /// The faults of the certificates that its servers are shown.
    fn shown_to_servers(&self) -> Vec<Finding> {
        let named = self.claims.named_objects.iter().filter(|named| named.kind == NamedKind::Certificate);
        let found = named.filter_map(|named| {
            let certificates = self.index.certificates();
            let found = certificates.found_at_option(&self.object.namespace, &named.name, named.without)?;
            Some(found.at_annotation(&format!("{}{}", options::PREFIX, named.option)))
        });
        found.collect()
    }

    /// Where it has somebody asked behind a route that is not there, is not for it, or is guarded in the same way.
    fn asks_nobody(&self) -> Vec<Finding> {
        let lookups: BTreeSet<_> = self.claims.lookups().collect();
        let not_there = lookups.into_iter().filter_map(|(host, path)| {
            let place = shortened(&format!("{host}{path}"));
            let (kind, why) = match self.index.answering(host, path) {
                None => (FindingKind::ServiceMissing, "there is none".to_owned()),
                Some((object, _))
                    if object.namespace != self.object.namespace && !self.index.is_listed(host) =>
                {
                    let why =
                        format!("that is one of {object}: spec.hosts must give the host to both namespaces");
                    (FindingKind::HostConflict, why)
                }
                Some((object, route)) if self.index.is_asked_about(object, route) => {
                    let why = format!(
                        "that is one of {object}, which auth-url guards as well: give the path a route of its own, without auth-url"
                    );
                    (FindingKind::ServiceMissing, why)
                }
                Some(_) => return None,
            };
            let sentence = format!(
                "auth-url asks behind the route of {place}, and {why}; requests that it guards are refused"
            );
            Some(options::finding(kind, auth::OPTION, sentence).at_host(host))
        });
        not_there.collect()
    }

    /// The holder of a host that is not listed, if it is another namespace.
    fn held_by_others(&self, host: &str, tls: &Tls) -> Option<String> {
        let holder = tls.holder.as_ref().filter(|holder| holder.namespace != self.object.namespace)?;
        if self.index.is_listed(host) {
            return None;
        }
        let host = host_name(host);
        Some(match &holder.object {
            Some(first) => {
                format!("{host} is held by {}, {}", first.object, self.reason(&first.object, &first.age))
            }
            None => format!("{host} {}", kept_for(&holder.namespace)),
        })
    }

    fn reason(&self, other: &ObjectRef, age: &Age) -> &'static str {
        if *age < self.claims.age {
            "which is older"
        } else if *age == self.claims.age
            && self.claims.is_last_first
            && other.namespace == self.object.namespace
        {
            "which comes last by name"
        } else if *age == self.claims.age && *other < *self.object {
            "which comes first by name"
        } else {
            "whose namespace had it first"
        }
    }

    /// The options that each group has otherwise than the object as a whole.
    fn options_of_groups(&self) -> String {
        let mut groups = self.claims.groups.iter();
        let mut all = FieldTexts::new();
        all.extend(groups.next().map(|group| (&*group.id, "{}".into())));
        all.extend(groups.map(|group| (&*group.id, group.options.json().into())));
        dict(&all)
    }

    /// The lists that are printed for the object.
    fn lists(&self) -> Value {
        let lists = self.listed_hosts().into_iter().filter_map(|host| {
            let list = self.index.list_of(host, self.object)?;
            Some(json!({"host": host, "chunks": list.chunks()}))
        });
        lists.collect()
    }

    fn listed_hosts(&self) -> BTreeSet<&Arc<str>> {
        let of_hosts = self.claims.routes.iter().filter(|route| route.wanted.is_listed());
        of_hosts.map(|route| &route.wanted.host).collect()
    }

    /// How TLS of a host is passed through to its servers, if it is.
    fn passes(&self, host: &str) -> Option<Passing<'_>> {
        let wanted = self.claims.passed.as_ref()?.contains_key(host);
        self.index.passing(host).filter(|passing| wanted && *passing.object == *self.object)
    }

    /// The hosts whose TLS goes to its servers as it comes, and those that it is the first to have routes on whose TLS ends here: a
    /// wildcard over them that is passed through must not take these.
    fn passed(&self) -> [(&'static str, Value); 2] {
        let hosts: Vec<&Arc<str>> = hosts_of(self.claims).into_iter().collect();
        let passed = hosts.iter().filter_map(|host| {
            let passing = self.passes(host)?;
            let parts = [&self.object.namespace, &self.object.name, &passing.backend.service];
            let port = passing.backend.port.to_string();
            let parts = parts.map(|part| &**part).into_iter().chain([&*port]).collect::<Vec<_>>();
            let name = names::name_of(&parts, "").unwrap_or_default() + TLS_BACKEND;
            let mut backend = backend(self.object, passing.group, passing.backend);
            *backend.get_mut("name")? = name.into();
            Some(json!({"host": host, "group": passing.group.id, "backend": backend}))
        });
        let ended = hosts.iter().filter(|host| {
            !host.starts_with('*') && self.is_first_of(host) && self.index.passing(host).is_none()
        });
        [("passed", passed.collect()), ("ended", ended.map(|host| json!(host)).collect())]
    }

    /// Whether it is the one that has the routes of a host.
    fn is_first_of(&self, host: &str) -> bool {
        let holder = self.index.hosts().get(host).and_then(|host| host.routes.holder.as_ref());
        holder.and_then(|holder| holder.object.as_ref()).is_some_and(|first| *first.object == *self.object)
    }

    /// Why TLS does not go to its servers, for each host that it wants that for; what others have over HTTP only.
    fn not_passed(&self) -> Vec<Finding> {
        let wanted = self.claims.passed.iter().flat_map(|passed| passed.keys());
        let refused = wanted.filter_map(|host| self.index.not_passed(host, self.object));
        let hosts = hosts_of(self.claims).into_iter();
        let over_http = hosts.filter_map(|host| {
            let other = self.index.passing(host)?.object;
            (*other != *self.object).then(|| {
                let sentence = format!(
                    "TLS of {host} is passed through to the servers of {other}: routes of this one have requests over HTTP only"
                );
                Finding::new(FindingKind::HostConflict, sentence).at_host(host)
            })
        });
        refused.chain(over_http).collect()
    }

    /// The findings for routes that do not fit into the lists that are printed for the object.
    fn left_out(&self) -> Vec<Finding> {
        let lists = self.listed_hosts().into_iter().filter_map(|host| {
            let left_out = self.index.list_of(host, self.object)?.left_out;
            (left_out > 0).then(|| {
                let sentence = format!(
                    "{left_out} routes of {} are not served: of regular expressions and conditions a host has {MOST}, and less where they are expensive, none of more than some thousand bytes; those count that begin with most",
                    host_name(host)
                );
                Finding::new(FindingKind::TooManyRoutes, sentence).at_host(host)
            })
        });
        lists.collect()
    }

    /// The lines that the object has in the crt-list.
    fn tls(&self) -> Value {
        let mut entries: BTreeMap<Entry, Vec<&Arc<str>>> = BTreeMap::new();
        let hosts: BTreeSet<&Arc<str>> =
            self.claims.certificates.keys().chain(hosts_of(self.claims)).collect();
        for host in hosts {
            let Some(tls) = self.index.tls(host) else { continue };
            if tls.listed_by.as_deref() != Some(self.object) {
                continue;
            }
            let hosts = self.index.hosts();
            let Some(by) = &tls.certificates else { continue };
            for (number, secret) in self.shown(&by.namespace, &by.secrets) {
                let entry = Entry {
                    certificate: (by.namespace.clone(), secret.clone()),
                    client_ca: tls.client_ca.clone(),
                    first: number == 0,
                    trusted: tls.client_ca.is_some() && hosts.is_alone(host),
                    wildcard: hosts.apart_from(host).map(|_| host.clone()),
                };
                entries.entry(entry).or_default().push(host);
            }
        }
        let chunks = entries.iter().flat_map(|(entry, hosts)| {
            hosts.chunks(HOSTS_OF_AN_ENTRY).map(move |hosts| self.entry(entry, hosts))
        });
        chunks.collect()
    }

    /// Of a host's certificates those that HAProxy may show, with their places: of two with keys of one kind it shows the first one only, and takes another order at a
    /// start only.
    fn shown<'s>(&self, namespace: &str, secrets: &'s [Arc<str>]) -> Vec<(usize, &'s Arc<str>)> {
        let mut shown: Vec<(usize, &Arc<str>)> = secrets.iter().enumerate().collect();
        if shown.len() > 1 {
            let mut kinds = BTreeSet::new();
            let certificates = self.index.certificates();
            shown.retain(|(_, secret)| {
                certificates.kind(namespace, secret).is_none_or(|kind| kinds.insert(kind))
            });
        }
        shown
    }

    fn entry(&self, entry: &Entry, hosts: &[&Arc<str>]) -> Value {
        let (namespace, secret) = &entry.certificate;
        let except = entry.wildcard.as_ref().and_then(|wildcard| self.index.hosts().apart_from(wildcard));
        let mut value = json!({
            "hosts": hosts, "except": except.cloned().unwrap_or_default(),
            "namespace": namespace, "secret": secret, "first": entry.first, "trusted": entry.trusted,
            "default": secret.is_empty(),
        });
        if let (Some(ca), Some(fields)) = (&entry.client_ca, value.as_object_mut()) {
            fields.insert("ca".to_owned(), json!({"namespace": ca.namespace, "secret": ca.secret}));
        }
        value
    }
}

fn route(claim: &RouteClaim, group: &RouteGroup, backend: Value, passing: Option<Passing<'_>>) -> Value {
    let https = match passing {
        Some(passing) => group.to_https != ToHttps::Never && !passing.has_http,
        None => group.to_https == ToHttps::Always || (claim.tls && group.to_https == ToHttps::WithTls),
    };
    let path = if claim.wanted.path.is_empty() { "/" } else { &*claim.wanted.path };
    json!({
        "host": claim.wanted.host, "path": path, "length": claim.wanted.path.len(),
        "exact": claim.wanted.shape == MatchShape::Exact, "kind": kind_of(&claim.wanted),
        "key": claim.wanted.key(), "tls": claim.tls, "https": https,
        "group": group.id, "backend": backend, "nowhere": claim.standing == ClaimPriority::Rest,
    })
}

/// The map that has the route's key.
fn kind_of(wanted: &Match) -> &'static str {
    match wanted.shape {
        _ if wanted.is_listed() => "listed",
        MatchShape::Exact => "exact",
        _ => "prefix",
    }
}

fn backend(object: &ObjectRef, group: &RouteGroup, backend: &Backend) -> Value {
    let name = group.name_of(&object.namespace, backend);
    json!({"name": name, "service": backend.service, "port": backend.port.to_json(), "group": group.id})
}

fn kept_for(namespace: &str) -> String {
    format!(
        "is kept for namespace {namespace}, which had it until lately (controller.hostHold); spec.hosts gives it to others at once"
    )
}

fn host_name(host: &str) -> &str {
    if host == ANY_HOST { "every other host" } else { host }
}
