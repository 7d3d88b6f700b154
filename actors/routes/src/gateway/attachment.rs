//! The resolution of one route: the listeners that take it, the effects of its rules, and the verdict for each of its parents.

use super::{
    conditions::{met, unmet},
    hostname,
    inputs::{GatewayInputs, level_of},
    levels::LevelEntry,
    listed_hosts::{HostShare, RouteHostname, findings, refusal},
    listeners::{GatewayListener, Protocol},
    matches,
    objects::{GatewayResource, ParentRef, RouteSpec, UnreadPart},
    parents::ParentName,
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
    /// The findings at paths and Services that are served all the same.
    pub doubts: BTreeSet<Finding>,
    /// None where no parent is ours.
    pub verdict: Option<Arc<RouteVerdict>>,
}

/// The listeners that take a route, and where its matches are looked for there.
#[derive(Default)]
struct Attachment {
    /// Their ids.
    listeners: BTreeSet<Arc<str>>,
    gateways: BTreeSet<NamespacedName>,
    levels: RouteLevels,
    /// Those of listeners that pass TLS through.
    passed_levels: RouteLevels,
    /// Hosts of others that it names, for which listeners that take it do not.
    refused: BTreeSet<Arc<str>>,
}

/// Levels, each with the certificate that servers are shown there.
type LevelClients = BTreeMap<Arc<str>, Option<BackendClient>>;

/// The places where matches of a route are looked for: a hostname at a listener each.
#[derive(Default)]
struct RouteLevels {
    clients: LevelClients,
    /// How many more there are than a route may have entries. Nothing is made of them: each takes one at least.
    left_out: usize,
}

impl RouteLevels {
    /// Adds those of a listener, as long as there are no more than `most`.
    fn add(
        &mut self,
        all: impl Iterator<Item = impl FnOnce() -> Arc<str>>,
        client: Option<&BackendClient>,
        most: usize,
    ) {
        for level in all {
            if self.clients.len() < most {
                self.clients.insert(level(), client.cloned());
            } else {
                self.left_out += 1;
            }
        }
    }
}

/// A parent of a route that is ours, as it is written and read, with its listeners.
type ListeningParent<'g> = (&'g UnreadPart, ParentRef, &'g [Arc<GatewayListener>]);

/// A route that was read, before it is known which listeners take it.
struct ReadRoute<'r> {
    kind: RouteKind,
    namespace: &'r str,
    inputs: &'r GatewayInputs,
    hostnames: Vec<RouteHostname>,
    /// The sentence about hostnames that cannot be served.
    unread: Option<String>,
    ended: ReadRules,
    /// Where TLS is passed through.
    passed: Option<ReadRules>,
    broken: Option<BrokenRules>,
}

/// The listeners of a parent that take a route.
#[derive(Default)]
struct TakingListeners<'g> {
    taking: Vec<&'g Arc<GatewayListener>>,
    /// Hosts of others that the route names, for which they, or others of the parent, do not.
    refused: BTreeSet<Arc<str>>,
    /// Those that only a listener names.
    refused_by_narrow: BTreeSet<Arc<str>>,
}

/// The rules of a route that cannot be done.
struct BrokenRules {
    is_all: bool,
    why: String,
}

/// The entries, settings and backends of a route at the listeners that take it.
struct AskedFor<'r> {
    route: &'r GatewayResource<RouteSpec>,
    /// The most entries that a route may have.
    most: usize,
    /// How many it would have.
    count: usize,
    entries: LiteMap<Arc<str>, Vec<Arc<LevelEntry>>>,
    settings: Vec<(String, KeptSettings)>,
    backends: BTreeSet<BackendKey>,
}

/// The effects of its rules at some of its listeners.
struct ReadRules {
    rules: Vec<ResolvedRule>,
    /// Whether all references lead to something.
    resolved: StatusCondition,
    /// Services that they name.
    uses: BTreeSet<NamespacedName>,
    doubts: BTreeSet<Finding>,
}

/// The names of a route's rules.
struct RuleNames<'r> {
    word: &'static str,
    route: &'r NamespacedName,
    /// How many rules had the same matches so far.
    known: BTreeMap<String, usize>,
}

impl RuleNames<'_> {
    /// The name of the next rule in HAProxy's maps: names have no `:` and no `/`. It is made of the requests that the rule is for and not of its place:
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
            kind_name: kind.name(),
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

impl<'r> ReadRoute<'r> {
    fn of(
        kind: RouteKind,
        route: &'r GatewayResource<RouteSpec>,
        inputs: &'r GatewayInputs,
        services: &ReadServices<'_>,
    ) -> Self {
        let read = |policies| ReadRules::of(kind, route, inputs, services, policies);
        let ended = read(&inputs.policies);
        // What servers open themselves nobody opens before, whatever policies say of TLS towards servers.
        let no_policies = BackendPolicies::default();
        let passed = (kind == RouteKind::Tls).then(|| read(&no_policies));
        let broken = unsupported(&ended.rules);
        let (hostnames, unread) = read_hostnames(&route.spec.hostnames);
        let namespace = &route.metadata.namespace;
        let hostnames = RouteHostname::all_of(kind, hostnames, namespace, &inputs.owners);
        Self { kind, namespace, inputs, hostnames, unread, ended, passed, broken }
    }

    /// The verdict for one parent; its listeners that take the route are added to `attachment`.
    fn attach(
        &self,
        (reference, parent, listeners): &ListeningParent<'_>,
        attachment: &mut Attachment,
    ) -> ParentVerdict {
        let (accepted, taken) = match self.taken_by(parent, listeners) {
            Ok(TakingListeners { taking, refused, .. }) => {
                attachment.refused.extend(refused);
                (self.accepted(), taking)
            }
            Err(refused) => (refused, Vec::new()),
        };
        for listener in &taken {
            self.attach_to(listener, attachment);
        }
        let is_all_passed = !taken.is_empty() && taken.iter().all(|listener| passes_tls(listener));
        let rules = self.passed.as_ref().filter(|_| is_all_passed).unwrap_or(&self.ended);
        ParentVerdict {
            reference: reference.text().into(),
            conditions: vec![accepted, rules.resolved.clone()],
            is_served: taken.iter().any(|listener| listener.is_served),
        }
    }

    fn attach_to(&self, listener: &GatewayListener, attachment: &mut Attachment) {
        attachment.gateways.insert(listener.gateway.clone());
        if self.broken.as_ref().is_some_and(|broken| broken.is_all) {
            return;
        }
        attachment.listeners.insert(listener.id.clone());
        let levels = levels_of(listener, &self.hostnames, self.namespace);
        let most = self.inputs.routes_per_object;
        if passes_tls(listener) {
            attachment.passed_levels.add(levels, None, most);
        } else {
            attachment.levels.add(levels, self.inputs.client(&listener.gateway).as_ref(), most);
        }
    }

    /// The condition at a parent whose listeners take the route.
    fn accepted(&self) -> StatusCondition {
        match &self.broken {
            Some(BrokenRules { is_all: true, why }) => unmet("Accepted", "UnsupportedValue", why.clone()),
            _ => met("Accepted", "Accepted", "the route is attached"),
        }
    }

    /// The listeners of a parent that take the route.
    fn taken_by<'g>(
        &self,
        parent: &ParentRef,
        listeners: &'g [Arc<GatewayListener>],
    ) -> Result<TakingListeners<'g>, StatusCondition> {
        if let Some(why) = self.unread.as_ref().filter(|_| self.hostnames.is_empty()) {
            return Err(unmet("Accepted", "UnsupportedValue", why.clone()));
        }
        let Self { kind, namespace, inputs, hostnames, .. } = self;
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
            listener.kinds.contains(kind) && listener.allowed.admit(namespace, &inputs.namespaces)
        };
        let allowing: Vec<&Arc<GatewayListener>> = named.into_iter().filter(allows).collect();
        if allowing.is_empty() {
            let message =
                format!("no listener of {} takes {}s of namespace {namespace}", parent.name, kind.name());
            return Err(unmet("Accepted", "NotAllowedByListeners", message));
        }
        let mut all = TakingListeners::default();
        for listener in allowing {
            all.add(listener, hostnames, namespace);
        }
        if !all.taking.is_empty() {
            return Ok(all);
        }
        all.refused.append(&mut all.refused_by_narrow);
        if all.refused.is_empty() {
            let message = format!("no listener of {} has a hostname in common with the route", parent.name);
            return Err(unmet("Accepted", "NoMatchingListenerHostname", message));
        }
        Err(unmet("Accepted", "NotAllowedByListeners", refusal(&all.refused, &inputs.owners)))
    }
}

impl<'g> TakingListeners<'g> {
    /// Adds a listener that allows a route of these hostnames, if it takes any of them.
    fn add(&mut self, listener: &'g Arc<GatewayListener>, hostnames: &[RouteHostname], namespace: &str) {
        let mut is_taking = false;
        for hostname in hostnames {
            match hostname.share(listener, namespace) {
                HostShare::Nothing => {}
                HostShare::Taken => is_taking = true,
                HostShare::Refused(host) => {
                    let is_named = host == hostname.hosts();
                    let refused = if is_named { &mut self.refused } else { &mut self.refused_by_narrow };
                    refused.insert(host.into());
                }
            }
        }
        if is_taking {
            self.taking.push(listener);
        }
    }
}

impl ResolvedRoute {
    pub fn of(
        kind: RouteKind,
        route: &GatewayResource<RouteSpec>,
        inputs: &GatewayInputs,
        services: &ReadServices<'_>,
    ) -> Self {
        let parents = parents(route, inputs);
        if parents.is_empty() {
            return Self::default();
        }
        let read = ReadRoute::of(kind, route, inputs, services);
        let mut attachment = Attachment::default();
        let mut verdicts: Vec<ParentVerdict> =
            parents.iter().map(|parent| read.attach(parent, &mut attachment)).collect();
        let ReadRoute { hostnames, unread, ended, passed, broken, .. } = read;
        let name = route.metadata.key();
        let names = |word| RuleNames { word, route: &name, known: BTreeMap::new() };
        let mut asked = AskedFor::nothing(route, inputs.routes_per_object);
        asked.add(names(word_of(kind)), ended.rules, &attachment.levels);
        if let Some(passed) = passed {
            asked.add(names(PASSED), passed.rules, &attachment.passed_levels);
        }
        let crowded = crowded(asked.count, asked.most);
        let partly = partly_invalid(broken, [unread, crowded].into_iter().flatten());
        for verdict in &mut verdicts {
            verdict.conditions.extend(partly.iter().filter(|_| !hostnames.is_empty()).cloned());
            verdict.conditions.shrink_to_fit();
        }
        verdicts.shrink_to_fit();
        let mut doubts = ended.doubts;
        doubts.extend(findings(&attachment.refused, &inputs.owners));
        let generation = route.metadata.generation;
        let has_others = verdicts.len() < route.spec.parent_refs.len();
        asked.entries.iter_mut().for_each(|(_, entries)| entries.shrink_to_fit());
        Self {
            uses: ended.uses.into_iter().collect(),
            attached: attachment.listeners.into_iter().collect(),
            gateways: attachment.gateways.into_iter().collect(),
            entries: asked.entries,
            settings: asked.settings.into(),
            backends: asked.backends.into_iter().collect(),
            doubts,
            verdict: Some(Arc::new(RouteVerdict { generation, parents: verdicts, has_others })),
        }
    }
}

impl<'r> AskedFor<'r> {
    fn nothing(route: &'r GatewayResource<RouteSpec>, most: usize) -> Self {
        let (entries, settings, backends) = (LiteMap::new(), Vec::new(), BTreeSet::new());
        Self { route, most, count: 0, entries, settings, backends }
    }

    /// Adds what rules ask for at `levels`, as long as the route has no more entries than it may have.
    fn add(&mut self, mut names: RuleNames<'_>, rules: Vec<ResolvedRule>, all: &RouteLevels) {
        let RouteLevels { clients: levels, left_out } = all;
        if levels.is_empty() {
            return;
        }
        if self.entries.is_empty() {
            self.entries = LiteMap::with_capacity(levels.len());
        }
        for (number, rule) in rules.into_iter().enumerate() {
            let ways = Ways::of(names.next(&rule), &rule, levels);
            self.enter(number, &rule, &ways, levels);
            self.count += rule.matches.len() * left_out;
            for (name, (settings, backends)) in ways.all {
                self.settings.extend(
                    settings
                        .into_iter()
                        .map(|(ending, settings)| (format!("{name}{ending}"), kept(settings))),
                );
                self.backends.extend(backends);
            }
        }
    }

    /// Enters the matches of a rule, which is the route's of that number.
    fn enter(&mut self, number: usize, rule: &ResolvedRule, ways: &Ways<'_>, levels: &LevelClients) {
        let seniority = self.route.metadata.seniority();
        for (index, asked) in rule.matches.iter().enumerate() {
            for (level, client) in levels {
                let Some(name) = ways.names.get(&client.as_ref()) else { continue };
                self.count += 1;
                if self.count > self.most {
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
    }
}

/// The effects of a rule, by the certificates that servers are shown where it is asked.
struct Ways<'l> {
    names: BTreeMap<Option<&'l BackendClient>, String>,
    /// By their names.
    all: BTreeMap<String, RuleSettings>,
}

impl<'l> Ways<'l> {
    fn of(common: String, rule: &ResolvedRule, levels: &'l LevelClients) -> Self {
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

/// The parents that a route names, whosever they are.
pub(super) fn named_parents(route: &GatewayResource<RouteSpec>) -> BTreeSet<ParentName> {
    let parents = route.spec.parent_refs.iter().filter_map(read_parent);
    parents.filter_map(|parent| parent.named(&route.metadata.namespace)).collect()
}

fn read_parent(written: &UnreadPart) -> Option<ParentRef> {
    serde_json::from_str(written.text()).ok()
}

/// The route's parents that are ours.
fn parents<'g>(route: &'g GatewayResource<RouteSpec>, inputs: &'g GatewayInputs) -> Vec<ListeningParent<'g>> {
    let read = |written: &'g UnreadPart| {
        let parent = read_parent(written)?;
        let listeners = inputs.parent(&parent.named(&route.metadata.namespace)?)?;
        Some((written, parent, listeners))
    };
    route.spec.parent_refs.iter().filter_map(read).collect()
}

fn passes_tls(listener: &GatewayListener) -> bool {
    listener.protocol == Some(Protocol::PassedTls)
}

/// Where the matches of a route of `namespace` are looked for: below its own hostnames, as far as the listener takes them.
fn levels_of(
    listener: &GatewayListener,
    hostnames: &[RouteHostname],
    namespace: &str,
) -> impl Iterator<Item = impl FnOnce() -> Arc<str>> {
    let served = hostnames.iter().filter(move |_| listener.is_served);
    let taken = served.filter(move |one| one.share(listener, namespace) == HostShare::Taken);
    taken.map(move |one| move || level_of(listener, one.hostname.as_deref()))
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

/// The sentence about more entries than a route may have.
fn crowded(asked: usize, most: usize) -> Option<String> {
    (asked > most).then(|| {
        format!(
            "Dropped Rules beyond {most} matches: there are {asked} of them, each counted at each hostname of each listener, and the first {most} are \
             served. Make several routes of it, or raise {}",
            Limit::RoutesPerObject.field()
        )
    })
}

/// The condition for parts of a route that cannot be done while the rest is.
fn partly_invalid(
    broken: Option<BrokenRules>,
    others: impl Iterator<Item = String>,
) -> Option<StatusCondition> {
    if broken.as_ref().is_some_and(|broken| broken.is_all) {
        return None;
    }
    let parts: Vec<String> = broken.map(|broken| broken.why).into_iter().chain(others).collect();
    (!parts.is_empty()).then(|| met("PartiallyInvalid", "UnsupportedValue", parts.join("; ")))
}

/// The rules that cannot be done, if there are any.
fn unsupported(rules: &[ResolvedRule]) -> Option<BrokenRules> {
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
    Some(BrokenRules { is_all, why: format!("Dropped Rule {number}: {sentence}{others}") })
}

fn sentence_of_rule(why: &str) -> String {
    // A match that cannot be read takes no request.
    format!("{why}; requests that its matches still take get an error")
}

fn sentence_of_share(why: &str) -> String {
    format!("{why}; the share of requests that it would get gets an error")
}
