//! What became of one route: which listeners take it, what its rules do, and what is said of each of its parents.

use super::{
    conditions::{met, unmet},
    hostname,
    inputs::{GatewayInputs, level_of},
    levels::LevelEntry,
    listeners::{GatewayListener, Protocol, name_of},
    matches,
    objects::{GROUP, GatewayResource, ParentRef, RouteSpec, UnreadPart},
    parsed::ReadServices,
    policies::{BackendClient, BackendPolicies},
    references::BackendKey,
    rules::{KeptSettings, ResolvedRule, RuleReader, RuleSettings, kept},
};
use crate::matching::Match;
use haptic_model::{
    Finding, Limit,
    gateway::{NamespacedName, ParentVerdict, RouteKind, RouteVerdict, StatusCondition},
};
use litemap::LiteMap;
use serde_json::Value;
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

/// A route, resolved. Lists are in their order, and take the room that they need: there are as many of them as routes.
#[derive(Debug, Default)]
pub(super) struct ResolvedRoute {
    /// Services that it names, whether or not they are there.
    pub uses: Box<[NamespacedName]>,
    /// Ids of the listeners that take it, if it is accepted.
    pub attached: Box<[Arc<str>]>,
    /// Their Gateways.
    pub gateways: Box<[NamespacedName]>,
    pub entries: LiteMap<Arc<str>, Vec<Arc<LevelEntry>>>,
    /// The settings of its rules, by the names of these.
    pub settings: Box<[(String, KeptSettings)]>,
    pub backends: Box<[BackendKey]>,
    /// What is to be said of paths and Services that are served all the same.
    pub doubts: BTreeSet<Finding>,
    /// None where no parent is ours.
    pub verdict: Option<Arc<RouteVerdict>>,
}

/// What is asked for at the listeners that take a route.
#[derive(Default)]
struct AskedFor {
    entries: LiteMap<Arc<str>, Vec<Arc<LevelEntry>>>,
    settings: Vec<(String, KeptSettings)>,
    backends: BTreeSet<BackendKey>,
}

/// What its rules do at some of its listeners.
struct ReadRules {
    rules: Vec<ResolvedRule>,
    /// Whether all references lead to something.
    resolved: StatusCondition,
    /// Services that they name.
    uses: BTreeSet<NamespacedName>,
    doubts: BTreeSet<Finding>,
}

/// What the rules of a route are called by.
struct RuleNames<'r> {
    word: &'static str,
    route: &'r NamespacedName,
    /// How many rules had the same matches so far.
    known: BTreeMap<String, usize>,
}

impl RuleNames<'_> {
    /// What the next rule is called in HAProxy's maps: names have no `:` and no `/`. It is called by the requests that it is for and not by its place:
    /// maps change one after the other, and meanwhile a request would find the action of the rule that had the place before.
    fn next(&mut self, rule: &ResolvedRule) -> String {
        let (namespace, name) = self.route;
        let common = format!("{}//{namespace}:{name}:{}", self.word, rule.short_name);
        let known = self.known.entry(rule.short_name.clone()).or_default();
        *known += 1;
        if *known == 1 { common } else { format!("{common}-{known}") }
    }
}

/// The word of a kind's rules.
fn word_of(kind: RouteKind) -> &'static str {
    match kind {
        RouteKind::Http => "http",
        RouteKind::Grpc => "grpc",
        RouteKind::Tls => "tls",
        RouteKind::Tcp => "tcp",
    }
}

/// The word of rules of TLSRoutes whose TLS servers open.
const PASSED: &str = "passed";

impl ReadRules {
    fn of(
        kind: RouteKind,
        route: &GatewayResource<RouteSpec>,
        inputs: &GatewayInputs,
        services: &ReadServices<'_>,
        policies: &BackendPolicies,
    ) -> Self {
        let mut reader = RuleReader {
            kind,
            kind_name: name_of(kind),
            namespace: &route.metadata.namespace,
            grants: &inputs.grants,
            services,
            policies,
            spelling: inputs.spelling,
            uses: BTreeSet::new(),
            bad: None,
            doubts: BTreeSet::new(),
        };
        let mut read = |rule: &Value| match kind {
            RouteKind::Http | RouteKind::Grpc => reader.read(rule),
            RouteKind::Tls | RouteKind::Tcp => reader.read_stream(rule),
        };
        let rules = route.spec.rules.iter().map(|rule| read(&rule.value())).collect();
        let resolved = match &reader.bad {
            Some(bad) => unmet("ResolvedRefs", bad.reason, bad.message.clone()),
            None => met("ResolvedRefs", "ResolvedRefs", "all references lead to something"),
        };
        Self { rules, resolved, uses: reader.uses, doubts: reader.doubts }
    }
}

impl ResolvedRoute {
    pub fn of(
        kind: RouteKind,
        route: &GatewayResource<RouteSpec>,
        inputs: &GatewayInputs,
        services: &ReadServices<'_>,
    ) -> Self {
        let namespace = &route.metadata.namespace;
        let parents = parents(route, inputs);
        if parents.is_empty() {
            return Self::default();
        }
        let read = |policies| ReadRules::of(kind, route, inputs, services, policies);
        let ended = read(&inputs.policies);
        // What servers open themselves nobody opens before, whatever policies say of TLS towards servers.
        let no_policies = BackendPolicies::default();
        let passed = (kind == RouteKind::Tls).then(|| read(&no_policies));
        let broken = unsupported(&ended.rules);
        let is_rejected = matches!(broken, Some((true, _)));
        let (hostnames, unread) = read_hostnames(&route.spec.hostnames);
        let (mut attached, mut gateways) = (BTreeSet::new(), BTreeSet::new());
        let mut verdicts = Vec::new();
        let (mut levels, mut passed_levels) = (BTreeMap::new(), BTreeMap::new());
        for (reference, parent, listeners) in parents {
            let taken = match &unread {
                Some(why) if hostnames.is_empty() => Err(unmet("Accepted", "UnsupportedValue", why.clone())),
                _ => taken_by(kind, namespace, &hostnames, &parent, listeners, inputs),
            };
            let is_passed = |listener: &&Arc<GatewayListener>| listener.protocol == Some(Protocol::PassedTls);
            let is_all_passed = taken.as_ref().is_ok_and(|taken| taken.iter().all(is_passed));
            let is_served = taken.as_ref().is_ok_and(|taken| taken.iter().any(|listener| listener.is_served));
            let mut conditions = match taken {
                Err(refused) => vec![refused],
                Ok(taken) => {
                    for listener in taken {
                        gateways.insert(listener.gateway.clone());
                        if is_rejected {
                            continue;
                        }
                        attached.insert(listener.id.clone());
                        let of_listener = levels_of(listener, &hostnames).into_iter();
                        if is_passed(&listener) {
                            passed_levels.extend(of_listener.map(|level| (level, None)));
                            continue;
                        }
                        let client = inputs.client(&listener.gateway);
                        levels.extend(of_listener.map(|level| (level, client.clone())));
                    }
                    match &broken {
                        Some((true, why)) => vec![unmet("Accepted", "UnsupportedValue", why.clone())],
                        _ => vec![met("Accepted", "Accepted", "the route is attached")],
                    }
                }
            };
            let rules =
                passed.as_ref().filter(|_| is_all_passed).map_or(&ended.resolved, |one| &one.resolved);
            conditions.push(rules.clone());
            verdicts.push(ParentVerdict { reference: reference.text().into(), conditions, is_served });
        }
        let (name, most) = (route.metadata.key(), inputs.routes_per_object);
        let names = |word| RuleNames { word, route: &name, known: BTreeMap::new() };
        let mut all = AskedFor::default();
        let mut asked = all.add(names(word_of(kind)), route, ended.rules, &levels, most);
        if let Some(passed) = passed {
            asked += all.add(names(PASSED), route, passed.rules, &passed_levels, most);
        }
        let crowded = crowded(asked, most);
        let partly = partly_invalid(broken.as_ref(), [unread, crowded].into_iter().flatten());
        for verdict in &mut verdicts {
            verdict.conditions.extend(partly.iter().filter(|_| !hostnames.is_empty()).cloned());
            verdict.conditions.shrink_to_fit();
        }
        verdicts.shrink_to_fit();
        let generation = route.metadata.generation;
        let has_others = verdicts.len() < route.spec.parent_refs.len();
        let AskedFor { mut entries, settings, backends } = all;
        entries.iter_mut().for_each(|(_, entries)| entries.shrink_to_fit());
        Self {
            uses: ended.uses.into_iter().collect(),
            attached: attached.into_iter().collect(),
            gateways: gateways.into_iter().collect(),
            entries,
            settings: settings.into(),
            backends: backends.into_iter().collect(),
            doubts: ended.doubts,
            verdict: Some(Arc::new(RouteVerdict { generation, parents: verdicts, has_others })),
        }
    }
}

impl AskedFor {
    /// Adds what is asked for at `levels`, until the route has `most` entries; how many there would be.
    fn add(
        &mut self,
        mut names: RuleNames<'_>,
        route: &GatewayResource<RouteSpec>,
        rules: Vec<ResolvedRule>,
        levels: &BTreeMap<Arc<str>, Option<BackendClient>>,
        most: usize,
    ) -> usize {
        if levels.is_empty() {
            return 0;
        }
        if self.entries.is_empty() {
            self.entries = LiteMap::with_capacity(levels.len());
        }
        let seniority = route.metadata.seniority();
        let (mut asked_for, before) = (0, self.entries.values().map(Vec::len).sum::<usize>());
        for (number, rule) in rules.into_iter().enumerate() {
            let ways = Ways::of(names.next(&rule), &rule, levels);
            for (index, asked) in rule.matches.iter().enumerate() {
                for (level, client) in levels {
                    let Some(name) = ways.names.get(&client.as_ref()) else { continue };
                    asked_for += 1;
                    if before + asked_for > most {
                        continue;
                    }
                    let wanted = Match { host: level.clone(), ..asked.wanted.clone() };
                    let value = format!("{name}/{}", wanted.path.len()).into();
                    let entry = LevelEntry {
                        rank: (matches::rank(&wanted), seniority.clone(), number, index),
                        wanted,
                        cost: asked.cost,
                        value,
                    };
                    self.entries.entry(level.clone()).or_default().push(Arc::new(entry));
                }
            }
            for (name, (settings, backends)) in ways.all {
                self.settings.extend(
                    settings
                        .into_iter()
                        .map(|(ending, settings)| (format!("{name}{ending}"), kept(settings))),
                );
                self.backends.extend(backends);
            }
        }
        asked_for
    }
}

/// What a rule does, by the certificates that servers are shown where it is asked.
struct Ways<'l> {
    names: BTreeMap<Option<&'l BackendClient>, String>,
    /// By their names.
    all: BTreeMap<String, RuleSettings>,
}

impl<'l> Ways<'l> {
    fn of(
        common: String,
        rule: &ResolvedRule,
        levels: &'l BTreeMap<Arc<str>, Option<BackendClient>>,
    ) -> Self {
        let clients: BTreeSet<Option<&BackendClient>> = levels.values().map(Option::as_ref).collect();
        let mut this = Self { names: BTreeMap::new(), all: BTreeMap::new() };
        for client in clients {
            let name_for =
                |client: &BackendClient| format!("{common}@{}:{}", client.gateway.0, client.gateway.1);
            let shown = client.and_then(|client| Some((name_for(client), rule.shown(client)?)));
            let (name, way) =
                shown.unwrap_or_else(|| (common.clone(), (rule.settings.clone(), rule.backends.clone())));
            this.names.insert(client, name.clone());
            this.all.insert(name, way);
        }
        this
    }
}

/// The route's parents that are ours, as they are written and read, with their listeners.
fn parents<'g>(
    route: &'g GatewayResource<RouteSpec>,
    inputs: &'g GatewayInputs,
) -> Vec<(&'g UnreadPart, ParentRef, &'g [Arc<GatewayListener>])> {
    let read = |written: &'g UnreadPart| {
        let parent: ParentRef = serde_json::from_str(written.text()).ok()?;
        if parent.group.as_deref().is_some_and(|group| group != GROUP) {
            return None;
        }
        let namespace = parent.namespace.as_ref().unwrap_or(&route.metadata.namespace);
        let kind = parent.kind.as_deref().unwrap_or("Gateway");
        let listeners = inputs.parent(kind, &(namespace.clone(), parent.name.clone()))?;
        Some((written, parent, listeners))
    };
    route.spec.parent_refs.iter().filter_map(read).collect()
}

/// The listeners of a parent that take a route.
fn taken_by<'g>(
    kind: RouteKind,
    namespace: &str,
    hostnames: &[Option<Arc<str>>],
    parent: &ParentRef,
    listeners: &'g [Arc<GatewayListener>],
    inputs: &GatewayInputs,
) -> Result<Vec<&'g Arc<GatewayListener>>, StatusCondition> {
    let is_named = |listener: &&Arc<GatewayListener>| {
        parent.section_name.as_ref().is_none_or(|name| *name == listener.name)
            && parent.port.is_none_or(|port| port == listener.port)
    };
    let named: Vec<&Arc<GatewayListener>> = listeners.iter().filter(is_named).collect();
    if named.is_empty() {
        let message = format!("{} has no listener of this sectionName and port", parent.name);
        return Err(unmet("Accepted", "NoMatchingParent", message));
    }
    let allows = |listener: &&Arc<GatewayListener>| {
        listener.kinds.contains(&kind) && listener.allowed.admit(namespace, &inputs.namespaces)
    };
    let allowing: Vec<&Arc<GatewayListener>> = named.into_iter().filter(allows).collect();
    if allowing.is_empty() {
        let message =
            format!("no listener of {} takes {}s of namespace {namespace}", parent.name, name_of(kind));
        return Err(unmet("Accepted", "NotAllowedByListeners", message));
    }
    let fits = |listener: &&Arc<GatewayListener>| {
        hostnames.iter().any(|hostname| {
            hostname.as_ref().is_none_or(|hostname| hostname::intersect(&listener.hostname, hostname))
        })
    };
    let fitting: Vec<&Arc<GatewayListener>> = allowing.into_iter().filter(fits).collect();
    if fitting.is_empty() {
        let message = format!("no listener of {} has a hostname in common with the route", parent.name);
        return Err(unmet("Accepted", "NoMatchingListenerHostname", message));
    }
    Ok(fitting)
}

/// Where the route's matches are looked for: below its own hostnames, as far as the listener is for them.
fn levels_of(listener: &GatewayListener, hostnames: &[Option<Arc<str>>]) -> Vec<Arc<str>> {
    if !listener.is_served {
        return Vec::new();
    }
    let fitting = hostnames.iter().filter(|hostname| {
        hostname.as_ref().is_none_or(|hostname| hostname::intersect(&listener.hostname, hostname))
    });
    fitting.map(|hostname| level_of(listener, hostname.as_deref())).collect()
}

/// A route's hostnames as they are compared, `None` for all hosts, and what is to be said of those that cannot be served.
fn read_hostnames(written: &[String]) -> (Vec<Option<Arc<str>>>, Option<String>) {
    if written.is_empty() {
        return (vec![None], None);
    }
    let hostnames = written.iter().filter_map(|one| hostname::read(one)).map(Some).collect();
    let unread: Vec<&str> =
        written.iter().filter(|one| hostname::read(one).is_none()).map(String::as_str).collect();
    let why = (!unread.is_empty()).then(|| {
        let all = unread.join(", ");
        format!(
            "Dropped Hostname {all}: a name has letters, digits and hyphens, and at most {} labels behind a wildcard",
            hostname::MOST_LABELS
        )
    });
    (hostnames, why)
}

/// What is to be said of more entries than a route may have.
fn crowded(asked: usize, most: usize) -> Option<String> {
    (asked > most).then(|| {
        format!(
            "Dropped Rules beyond {most} matches: there are {asked} of them, each counted at each hostname of each listener, and the first {most} are \
             served. Make several routes of it, or raise {}",
            Limit::RoutesPerObject.field()
        )
    })
}

/// What of a route cannot be done while the rest is.
fn partly_invalid(
    broken: Option<&(bool, String)>,
    others: impl Iterator<Item = String>,
) -> Option<StatusCondition> {
    let rules = match broken {
        Some((true, _)) => return None,
        Some((false, why)) => Some(why.clone()),
        None => None,
    };
    let parts: Vec<String> = rules.into_iter().chain(others).collect();
    (!parts.is_empty()).then(|| met("PartiallyInvalid", "UnsupportedValue", parts.join("; ")))
}

/// Whether nothing of a route can be done, and what cannot.
fn unsupported(rules: &[ResolvedRule]) -> Option<(bool, String)> {
    let is_all = rules.iter().all(|rule| rule.unsupported.is_some());
    let why = |rule: &ResolvedRule| {
        let why = rule.unsupported.as_deref()?;
        Some(if is_all { format!("{why}; the route gets no requests") } else { sentence_of_rule(why) })
    };
    let partly = |rule: &ResolvedRule| rule.dropped.as_deref().map(sentence_of_share);
    let broken: Vec<(usize, String)> = rules
        .iter()
        .enumerate()
        .filter_map(|(number, rule)| Some((number, why(rule).or_else(|| partly(rule))?)))
        .collect();
    let (number, sentence) = broken.first()?;
    let others: Vec<String> = broken.iter().skip(1).map(|(number, _)| number.to_string()).collect();
    let others = match others.as_slice() {
        [] => String::new(),
        [one] => format!("; rule {one} cannot be done either"),
        some => format!("; rules {} cannot be done either", some.join(", ")),
    };
    Some((is_all, format!("Dropped Rule {number}: {sentence}{others}")))
}

fn sentence_of_rule(why: &str) -> String {
    // A match that cannot be read takes no request.
    format!("{why}; requests that its matches still take get an error")
}

fn sentence_of_share(why: &str) -> String {
    format!("{why}; the share of requests that it would get gets an error")
}
