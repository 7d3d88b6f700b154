//! The index of routes: all claims of one kind of object, with conflicts resolved, kept up to date change by
//! change. A change costs as much as there are objects that ask for the same.

use super::{
    asked::Demands,
    contest::{ClaimPriority, Claimant, Claimants, Contest, Holder},
    hosts::{Hosts, Tls},
    memory::{Clock, Holding, Memory},
    owners::Owners,
};
use crate::{
    claims::{Backend, Claims, QualifiedName, RouteClaim, auth},
    families::neighbours::HostOfNamespace,
    findings::{
        certificates::{NamedCertificates, SecretsAtTime},
        missing_objects::NamedObjects,
    },
    matching::{
        Match, MatchShape, candidates_of, hosts,
        lists::{HostList, ListEntry, Lists},
        wildcard_over,
    },
    objects::named_objects::NamedKind,
    reload_pace::{ReloadPace, ReloadsPerMinute},
};
use haptic_model::{Finding, ObjectRef, Snapshot, host_holds::HeldByText};
use std::{
    collections::{BTreeMap, BTreeSet, HashMap, HashSet},
    sync::Arc,
    time::Instant,
};

/// All claims and their winners.
#[derive(Clone, Debug, Default)]
pub struct RouteIndex {
    owners: Arc<Owners>,
    clock: Option<Clock>,
    memory: Memory,
    /// The holdings for which the memory counts differently now.
    undecided: Vec<Holding>,
    claims: BTreeMap<Arc<ObjectRef>, Arc<Claims>>,
    /// The contests for the same requests.
    matches: HashMap<Match, Contest>,
    hosts: Hosts,
    lists: Lists,
    asked: Demands,
    certificates: NamedCertificates,
    named_objects: NamedObjects,
    /// The objects that name a host, as [`Claims::named`] has it.
    naming: HashMap<Arc<str>, BTreeSet<Arc<ObjectRef>>>,
    pace: ReloadPace<Claims>,
    /// All objects are read by something else than before.
    is_read_anew: bool,
    /// By hosts of routes the paths behind which somebody is asked, and the objects that want that.
    lookups: HashMap<Arc<str>, BTreeSet<PathLookup>>,
}

/// A path behind whose route somebody is asked, and the object that wants that.
type PathLookup = (Arc<str>, Arc<ObjectRef>);

/// The parts that are to be decided again.
#[derive(Debug, Default)]
struct Touched {
    matches: HashSet<Match>,
    hosts: BTreeSet<Arc<str>>,
    /// Wildcards of which another certificate may count for the hosts below.
    spreading: BTreeSet<Arc<str>>,
    /// Hosts whose list may be another one.
    lists: BTreeSet<Arc<str>>,
    objects: BTreeSet<Arc<ObjectRef>>,
}

impl Touched {
    /// Notes all that have routes on a host of which TLS may be passed through otherwise now.
    fn pass(&mut self, host: &Arc<str>, hosts: &Hosts) {
        let routes = hosts.get(host).into_iter().flat_map(|known| known.routes.claimants.iter());
        self.objects.extend(routes.map(|claimant| claimant.object.clone()));
    }

    /// Notes a wildcard of which `object` is the first of its namespace to bring a certificate.
    fn spread(&mut self, host: &Arc<str>, object: &ObjectRef, brought: &Claimants) {
        if is_exact(host) || self.spreading.contains(host) {
            return;
        }
        if brought.of(&object.namespace).next().is_some_and(|first| *first.object == *object) {
            self.spreading.insert(host.clone());
        }
    }
}

impl RouteIndex {
    /// An index of nothing in which hosts belong to these namespaces.
    #[must_use]
    pub fn with_owners(owners: Arc<Owners>) -> Self {
        Self { owners, ..Self::default() }
    }

    /// The same with all objects to come: what is remembered stays.
    #[must_use]
    pub fn emptied(&self, owners: Arc<Owners>) -> Self {
        let (memory, undecided) = (self.memory.clone(), self.memory.holdings().cloned().collect());
        let (asked, pace) = (self.asked.emptied(), self.pace.clone());
        Self { clock: self.clock, memory, undecided, asked, pace, ..Self::with_owners(owners) }
    }

    /// Hosts belong to other namespaces from now on: all objects must be given to the next [`Self::update`].
    pub fn set_owners(&mut self, owners: Arc<Owners>) {
        self.owners = owners;
        self.pace.release();
        self.is_read_anew = true;
        self.undecided = self.memory.holdings().cloned().collect();
    }

    /// Remembers what another index had written down. Without a time nothing is.
    pub(crate) fn remember(&mut self, written: &HeldByText) {
        let Some(clock) = self.clock else { return };
        let read = self.memory.read(written, clock.now);
        // Who has them is asked as if for the first time.
        for holding in &read {
            let contest = match holding {
                Holding::Requests(wanted) => self.matches.get_mut(wanted),
                Holding::Host(host) => self.hosts.get_mut(host).map(|host| &mut host.routes),
            };
            if let Some(contest) = contest {
                contest.holder = None;
            }
        }
        self.undecided.extend(read);
    }

    /// The memory, and the holders of what others wait for, to be read by the next controller.
    pub(crate) fn written(&self) -> &HeldByText {
        self.memory.written()
    }

    /// Sets the time of the next [`Self::update`]; without one nothing is remembered.
    pub fn set_clock(&mut self, clock: Option<Clock>) {
        self.clock = clock;
    }

    /// The same of changes that take a reload, and how often that may be; without a time none of them waits.
    pub fn set_pace(&mut self, pace: Option<(Instant, ReloadsPerMinute)>) {
        self.pace.set_clock(pace);
    }

    /// Takes objects that changed, each with what it asks for now; `None` when it is gone or asks for nothing. What was kept
    /// long enough for others is given to who asks for it. Returns the objects that may have got something else than before.
    #[must_use]
    pub fn update(
        &mut self,
        changes: impl IntoIterator<Item = (Arc<ObjectRef>, Option<Claims>)>,
    ) -> BTreeSet<Arc<ObjectRef>> {
        let mut touched = Touched::default();
        self.asked.forget(self.clock.as_ref());
        let forgotten = self.memory.forget(self.clock.as_ref());
        for holding in forgotten.into_iter().chain(std::mem::take(&mut self.undecided)) {
            match holding {
                Holding::Requests(wanted) => drop(touched.matches.insert(wanted)),
                Holding::Host(host) => drop(touched.hosts.insert(host)),
            }
        }
        let is_free = std::mem::take(&mut self.is_read_anew) || self.claims.is_empty();
        let owners = self.owners.clone();
        let admitted = |(object, claims): (Arc<ObjectRef>, Option<Claims>)| {
            let claims = claims.map(|claims| Arc::new(owners.admit(&object.namespace, claims)));
            (object, claims)
        };
        for (object, wanted) in changes.into_iter().map(admitted) {
            let before = self.claims.remove(&object);
            let claims = match (&before, wanted) {
                (_, Some(wanted)) => self.pace.admit(&object, before.as_ref(), wanted, is_free),
                (before, None) => {
                    self.pace.delete(&object, before.as_deref());
                    None
                }
            };
            if let Some(before) = before {
                self.withdraw(&object, &before, &mut touched);
                self.asked.remove(&object.namespace, &before, self.clock.as_ref());
                self.certificates.remove(&object.namespace, &before);
                self.named_objects.remove(&object, &before);
            }
            if let Some(claims) = claims {
                self.enter(&object, &claims, &mut touched);
                self.asked.add(&object.namespace, &claims);
                self.certificates.add(&object.namespace, &claims);
                self.named_objects.add(&object, &claims);
                self.claims.insert(object.clone(), claims);
            }
            touched.objects.insert(object);
        }
        self.decide_requests(&mut touched);
        self.decide_hosts(&mut touched);
        for host in &touched.lists {
            touched.objects.extend(self.lists.of(host).cloned());
        }
        touched.objects
    }

    /// The objects with routes to one of these Services, or that have one asked whether requests may pass.
    pub(crate) fn leading_to(&self, services: &HashSet<Arc<ObjectRef>>) -> Vec<Arc<ObjectRef>> {
        if services.is_empty() {
            return Vec::new();
        }
        let names: HashSet<(&str, &str)> =
            services.iter().map(|service| (&*service.namespace, &*service.name)).collect();
        let leads = |(object, claims): &(&Arc<ObjectRef>, &Arc<Claims>)| {
            let named = |backend: &Backend| names.contains(&(&*object.namespace, &*backend.service));
            let mut others = claims.groups.iter().flat_map(|group| &group.others);
            let mut asked = claims.asked.iter();
            claims.routes.iter().any(|route| named(&route.backend))
                || others.any(named)
                || asked.any(|(of, backend)| names.contains(&(&**of, &*backend.service)))
        };
        self.claims.iter().filter(leads).map(|(object, _)| object.clone()).collect()
    }

    /// The objects whose turn it is to have HAProxy reloaded: they are to be read again, and given to the next [`Self::update`].
    pub(crate) fn due_objects(&self) -> impl Iterator<Item = &Arc<ObjectRef>> {
        self.pace.due_objects()
    }

    /// The objects that name one of these hosts, or one right below a wildcard of them, in its namespace.
    pub(crate) fn naming(&self, hosts: &HashSet<HostOfNamespace>) -> BTreeSet<Arc<ObjectRef>> {
        let in_namespace = |objects: &BTreeSet<Arc<ObjectRef>>, namespace: &str| {
            let all = objects.iter().filter(|object| &*object.namespace == namespace);
            all.cloned().collect::<Vec<_>>()
        };
        let own = hosts.iter().filter_map(|(namespace, host)| Some((self.naming.get(host)?, namespace)));
        let mut all: BTreeSet<_> = own.flat_map(|(objects, of)| in_namespace(objects, of)).collect();
        // However many wildcards there are, hosts are gone through once.
        let mut wildcards: HashMap<&str, Vec<&Arc<str>>> = HashMap::new();
        for (namespace, host) in hosts.iter().filter(|(_, host)| host.starts_with("*.")) {
            wildcards.entry(host).or_default().push(namespace);
        }
        if !wildcards.is_empty() {
            for (host, objects) in &self.naming {
                let over = wildcard_over(host);
                for namespace in over.and_then(|over| wildcards.get(&*over)).into_iter().flatten() {
                    all.extend(in_namespace(objects, namespace));
                }
            }
        }
        all
    }

    /// When an update is due though nothing may have changed.
    #[must_use]
    pub fn due(&self) -> Option<Instant> {
        let kept = self.clock.map(|clock| [self.memory.next(clock.hold), self.asked.next(clock.hold)]);
        kept.into_iter().flatten().flatten().chain(self.pace.due()).min()
    }

    /// Whether something is kept that need not be any more, or counts differently.
    #[must_use]
    pub fn is_due(&self) -> bool {
        match self.clock {
            _ if !self.undecided.is_empty() || self.pace.is_due() => true,
            Some(clock) => self.due().is_some_and(|due| due <= clock.now),
            None => !self.memory.is_empty() || self.asked.has_left(),
        }
    }

    /// The facts about certificates.
    pub(crate) fn certificates(&self) -> &NamedCertificates {
        &self.certificates
    }

    /// The Secrets and ConfigMaps that options name, and whether they are there.
    pub(crate) fn named_objects(&self) -> &NamedObjects {
        &self.named_objects
    }

    /// The options of any objects that name an object of that kind.
    pub(crate) fn options_naming(&self, kind: NamedKind, name: &QualifiedName) -> BTreeSet<&'static str> {
        let naming = self.named_objects.naming(kind, name).filter_map(|object| self.claims.get(object));
        let named = naming.flat_map(|claims| &claims.named_objects);
        named.filter(|named| named.kind == kind && named.name == name.1).map(|named| named.option).collect()
    }

    /// Takes the Secrets and ConfigMaps as they are, at a time. Returns the objects that name them: what is found there may be other than
    /// before.
    #[must_use]
    pub(crate) fn set_secrets(&mut self, secrets: &SecretsAtTime) -> BTreeSet<Arc<ObjectRef>> {
        let mut objects = self.named_objects.update(secrets);
        if let Some(involved) = self.certificates.update(secrets) {
            let has = |(object, claims): &(&Arc<ObjectRef>, &Arc<Claims>)| {
                involved.concern(&object.namespace, claims)
            };
            objects.extend(self.claims.iter().filter(has).map(|(object, _)| object.clone()));
        }
        objects
    }

    /// An object for each option that any object asks for.
    #[must_use]
    pub fn options(&self) -> &Snapshot {
        self.asked.options()
    }

    /// An object for each namespace and target that is asked whether its requests may pass.
    #[must_use]
    pub fn auth_targets(&self) -> &Snapshot {
        self.asked.targets()
    }

    /// Where a request goes whose path is in the form in which paths are compared: the object that has it, and its backend.
    #[must_use]
    pub fn answer(&self, host: &str, path: &str) -> Option<(&ObjectRef, &Backend)> {
        self.answering(host, path).map(|(object, route)| (object, &route.backend))
    }

    /// The same, and its route. A host that belongs to others is answered by nobody else's route for a wildcard or for every host.
    pub(crate) fn answering(&self, host: &str, path: &str) -> Option<(&ObjectRef, &RouteClaim)> {
        let host = host.to_ascii_lowercase();
        let found = hosts(&host).into_iter().find_map(|level| self.answer_of(&level, path));
        found.filter(|(object, _)| self.owners.admit_to(&host, &object.namespace))
    }

    /// Whether somebody is asked about the requests of an object's route.
    pub(crate) fn is_asked_about(&self, object: &ObjectRef, route: &RouteClaim) -> bool {
        self.claims.get(object).is_some_and(|claims| auth::is_asked_about(&claims.groups, route.group))
    }

    /// The same among the routes of one host.
    fn answer_of(&self, host: &Arc<str>, path: &str) -> Option<(&ObjectRef, &RouteClaim)> {
        let keyed = candidates_of(host, path).find_map(|wanted| self.served(&wanted));
        let namespace = self.namespace_of(host);
        let own = self.lists.of(host).filter(|object| namespace == Some(&*object.namespace));
        let routes = own.filter_map(|object| self.claims.get(object)).flat_map(|claims| &claims.routes);
        let fitting = routes
            .map(|route| &route.wanted)
            .filter(|wanted| wanted.host == *host && wanted.is_listed() && wanted.takes(path));
        let listed = fitting.min_by_key(|wanted| wanted.rank()).and_then(|wanted| self.served(wanted));
        match (keyed, listed) {
            (Some(keyed), Some(listed)) if keyed.0.namespace == listed.0.namespace => {
                let first = |(_, route): &(&ObjectRef, &RouteClaim)| {
                    (route.wanted.shape == MatchShape::Exact, route.wanted.path.len())
                };
                let is_looser = matches!(listed.1.wanted.shape, MatchShape::Beginning | MatchShape::AnyCase)
                    && listed.1.wanted.conditions.is_none();
                let (keyed_is, listed_is) = (first(&keyed), first(&listed));
                let keyed_counts = keyed_is > listed_is || (is_looser && keyed_is == listed_is);
                Some(if keyed_counts { keyed } else { listed })
            }
            (keyed, listed) => keyed.or(listed),
        }
    }

    /// The holder of the requests of a match, and the route that it has for them.
    pub(crate) fn served(&self, wanted: &Match) -> Option<(&ObjectRef, &RouteClaim)> {
        let winner = &self.holder(wanted)?.object.as_ref()?.object;
        let routes = &self.claims.get(winner)?.routes;
        let route = routes.iter().find(|route| route.wanted == *wanted && !route.repeated)?;
        (!self.steps_back(&winner.namespace, route)).then_some((&**winner, route))
    }

    /// Whether a redirect of a namespace is for nothing, because another route takes what it is for in a way of its own.
    pub(crate) fn steps_back(&self, namespace: &str, claim: &RouteClaim) -> bool {
        let host = &claim.wanted.host;
        if claim.standing != ClaimPriority::Redirect {
            return false;
        }
        if claim.wanted != Match::exact(host, "/") {
            return self.hosts.yields(host);
        }
        let of_all = self.holder(&Match::prefix(host, "")).and_then(|holder| holder.object.as_ref());
        of_all.is_some_and(|of_all| of_all.asks() && *of_all.object.namespace == *namespace)
    }

    fn enter(&mut self, object: &Arc<ObjectRef>, claims: &Claims, touched: &mut Touched) {
        let claimant = |standing| Claimant {
            age: claims.age.clone(),
            object: object.clone(),
            is_last_first: claims.is_last_first,
            standing,
            verifies: claims.client_ca.is_some(),
        };
        for route in claims.routes.iter().filter(|route| !route.repeated) {
            let contest = self.matches.entry(route.wanted.clone()).or_default();
            contest.claimants.enter(claimant(route.standing));
            touched.matches.insert(route.wanted.clone());
            if route.wanted.is_listed() {
                self.lists.enter(&route.wanted.host, object);
                touched.lists.insert(route.wanted.host.clone());
            }
        }
        for host in &claims.named {
            self.naming.entry(host.clone()).or_default().insert(object.clone());
        }
        for (host, path) in claims.lookups() {
            for level in hosts(host) {
                self.lookups.entry(level).or_default().insert((path.clone(), object.clone()));
            }
        }
        for (host, standing) in standings(claims) {
            self.hosts.entry(host).routes.claimants.enter(claimant(standing));
            touched.hosts.insert(host.clone());
        }
        for host in claims.certificates.keys() {
            let brought = &mut self.hosts.entry(host).certificates;
            brought.enter(claimant(ClaimPriority::Asked));
            touched.spread(host, object, brought);
            touched.hosts.insert(host.clone());
        }
        for host in claims.passed.iter().flat_map(|passed| passed.keys()) {
            touched.pass(host, &self.hosts);
        }
    }

    fn withdraw(&mut self, object: &Arc<ObjectRef>, claims: &Claims, touched: &mut Touched) {
        for route in claims.routes.iter().filter(|route| !route.repeated) {
            if let Some(contest) = self.matches.get_mut(&route.wanted) {
                contest.claimants.leave(claims.rank(object));
                touched.matches.insert(route.wanted.clone());
            }
            if route.wanted.is_listed() {
                self.lists.leave(&route.wanted.host, object);
                touched.lists.insert(route.wanted.host.clone());
            }
        }
        for host in &claims.named {
            if let Some(naming) = self.naming.get_mut(host) {
                naming.remove(object);
                if naming.is_empty() {
                    self.naming.remove(host);
                }
            }
        }
        for (host, path) in claims.lookups() {
            for level in hosts(host) {
                if let Some(lookups) = self.lookups.get_mut(&level) {
                    lookups.remove(&(path.clone(), object.clone()));
                    if lookups.is_empty() {
                        self.lookups.remove(&level);
                    }
                }
            }
        }
        for host in hosts_of(claims) {
            self.hosts.entry(host).routes.claimants.leave(claims.rank(object));
            touched.hosts.insert(host.clone());
        }
        for host in claims.certificates.keys() {
            let brought = &mut self.hosts.entry(host).certificates;
            touched.spread(host, object, brought);
            brought.leave(claims.rank(object));
            touched.hosts.insert(host.clone());
        }
        for host in claims.passed.iter().flat_map(|passed| passed.keys()) {
            touched.pass(host, &self.hosts);
        }
    }

    fn decide_requests(&mut self, touched: &mut Touched) {
        for wanted in std::mem::take(&mut touched.matches) {
            let contest = self.matches.entry(wanted.clone()).or_default();
            let holding = Holding::Requests(wanted.clone());
            let mut is_different = false;
            let lookups = self.lookups.get(&wanted.host).into_iter().flatten();
            let involved = lookups.filter(|(path, _)| wanted.is_listed() || wanted.takes(path));
            touched.objects.extend(involved.map(|(_, object)| object.clone()));
            if decide(contest, &holding, &mut self.memory, self.clock.as_ref(), &self.owners) {
                touched.objects.extend(contest.claimants.iter().map(|claimant| claimant.object.clone()));
                if wanted.is_listed() {
                    touched.lists.insert(wanted.host.clone());
                }
                let passes = |claimant: &Claimant| {
                    let claims = self.claims.get(&claimant.object);
                    claims
                        .and_then(|claims| claims.passed.as_ref())
                        .is_some_and(|passed| passed.contains_key(&wanted.host))
                };
                if wanted.is_root() && contest.claimants.iter().any(passes) {
                    touched.pass(&wanted.host, &self.hosts);
                }
                is_different = true;
            }
            if contest.holder.is_none() {
                self.matches.remove(&wanted);
            }
            // Whether all paths of a host are somebody's decides of redirects of its root.
            if is_different && wanted == Match::prefix(&wanted.host, "") {
                let of_root = self.matches.get(&Match::exact(&wanted.host, "/"));
                touched.objects.extend(of_root.into_iter().flat_map(redirecting));
            }
        }
    }

    /// First who has each host's routes, then what follows for TLS: of the wildcards first, for they cover others.
    fn decide_hosts(&mut self, touched: &mut Touched) {
        let mut wildcards = BTreeSet::new();
        let mut exact = BTreeSet::new();
        let spreading = std::mem::take(&mut touched.spreading);
        for host in std::mem::take(&mut touched.hosts) {
            let contest = &mut self.hosts.entry(&host).routes;
            let holding = Holding::Host(host.clone());
            if decide(contest, &holding, &mut self.memory, self.clock.as_ref(), &self.owners) {
                touched.lists.insert(host.clone());
                for below in (!is_exact(&host)).then(|| self.hosts.covered_by(&host)).into_iter().flatten() {
                    let below = self.hosts.get(&below).map(|below| &below.routes);
                    touched.objects.extend(below.into_iter().flat_map(redirecting));
                }
            }
            let of_kind = if is_exact(&host) { &mut exact } else { &mut wildcards };
            of_kind.insert(host);
        }
        // The routes for every host come first by name, then the wildcards.
        while let Some(host) = wildcards.pop_first() {
            let is_other = self.decide_tls(&host, touched);
            if is_other || spreading.contains(&host) {
                for covered in self.hosts.covered_by(&host) {
                    // Whoever has no certificate there is told of one of the wildcard's.
                    let uncovered = self.hosts.get(&covered).filter(|_| is_other && host.starts_with("*."));
                    let claimants = uncovered.into_iter().flat_map(|host| host.routes.claimants.iter());
                    touched.objects.extend(claimants.map(|claimant| claimant.object.clone()));
                    let of_kind = if is_exact(&covered) { &mut exact } else { &mut wildcards };
                    of_kind.insert(covered);
                }
            }
            self.hosts.forget_unused(&host);
        }
        let mut regrouped = BTreeSet::new();
        for host in exact {
            self.decide_tls(&host, touched);
            self.hosts.forget_unused(&host);
            regrouped.extend(self.hosts.note_apart(&host));
        }
        for wildcard in regrouped {
            let different = self.hosts.choose_apart(&wildcard);
            let involved = different.iter().chain((!different.is_empty()).then_some(&wildcard));
            for host in involved.filter_map(|host| self.hosts.get(host)) {
                touched.objects.extend(host.tls.listed_by.clone());
                let verifying = host.routes.claimants.iter().filter(|claimant| claimant.verifies);
                touched.objects.extend(verifying.map(|claimant| claimant.object.clone()));
            }
        }
    }

    /// Whether anything about a host's TLS became different.
    fn decide_tls(&mut self, host: &Arc<str>, touched: &mut Touched) -> bool {
        let after = self.hosts.tls(host, &self.owners, &self.claims);
        let known = self.hosts.entry(host);
        if known.tls == after {
            return false;
        }
        let before = std::mem::replace(&mut known.tls, after);
        let claimants = known.routes.claimants.iter().chain(known.certificates.iter());
        touched.objects.extend(claimants.map(|claimant| claimant.object.clone()));
        touched.objects.extend(before.listed_by);
        true
    }

    /// The finding at an object whose change waits for its turn.
    pub(crate) fn delay_of(&self, object: &ObjectRef) -> Option<Finding> {
        self.pace.found(object)
    }

    /// The holder of the requests of a match.
    pub(crate) fn holder(&self, wanted: &Match) -> Option<&Holder> {
        self.matches.get(wanted)?.holder.as_ref()
    }

    /// The claims of an object.
    pub(crate) fn claims_of(&self, object: &ObjectRef) -> Option<&Claims> {
        self.claims.get(object).map(|claims| &**claims)
    }

    /// The namespace that has a host's routes.
    pub(crate) fn namespace_of(&self, host: &str) -> Option<&str> {
        Some(&self.hosts.get(host)?.routes.holder.as_ref()?.namespace)
    }

    /// The first object with routes on a host, if it is there.
    pub(crate) fn first_at(&self, host: &str) -> Option<&Claimant> {
        self.hosts.get(host)?.routes.holder.as_ref()?.object.as_ref()
    }

    /// The list of a host, if `object` is the one that it is printed for.
    pub(crate) fn list_of<'i>(&'i self, host: &'i str, object: &ObjectRef) -> Option<HostList<'i>> {
        let namespace = self.namespace_of(host)?;
        let mut own = self.lists.of(host).filter(|object| &*object.namespace == namespace).peekable();
        if own.peek().is_none_or(|first| ***first != *object) {
            return None;
        }
        let entries = own.flat_map(|object| self.entries_of(host, object));
        Some(HostList::new(namespace, entries.collect()))
    }

    fn entries_of<'i>(&'i self, host: &'i str, object: &'i ObjectRef) -> impl Iterator<Item = ListEntry<'i>> {
        let routes = self.claims.get(object).into_iter().flat_map(|claims| &claims.routes);
        let listed = routes.filter(move |route| {
            let is_its_own = || {
                let winner = self.holder(&route.wanted).and_then(|holder| holder.object.as_ref());
                winner.is_some_and(|winner| *winner.object == *object)
            };
            *route.wanted.host == *host && route.wanted.is_listed() && !route.repeated && is_its_own()
        });
        listed.map(|route| ListEntry { wanted: &route.wanted, owner: "", cost: route.cost })
    }

    /// How TLS is answered for a host.
    pub(crate) fn tls(&self, host: &str) -> Option<&Tls> {
        self.hosts.get(host).map(|host| &host.tls)
    }

    pub(crate) fn hosts(&self) -> &Hosts {
        &self.hosts
    }

    /// Whether a host belongs to namespaces by the operator's word.
    pub(crate) fn is_listed(&self, host: &str) -> bool {
        self.owners.of_host(host).is_some()
    }
}

/// Whether somebody else has the holding now. What is remembered of a namespace does not count where it may have nothing.
fn decide(
    contest: &mut Contest,
    holding: &Holding,
    memory: &mut Memory,
    clock: Option<&Clock>,
    owners: &Owners,
) -> bool {
    let is_first = contest.holder.is_none();
    if let Some(clock) = clock {
        memory.note(holding, contest, clock.now);
    }
    let remembered = memory.of(holding).filter(|known| owners.admit_to(holding.host(), &known.namespace));
    let is_different = contest.decide(remembered);
    if let Some(clock) = clock {
        // Whether the namespace is there is known only now of what another controller wrote down.
        if is_first {
            memory.note(holding, contest, clock.now);
        }
        memory.write(holding, contest);
    }
    is_different
}

/// The hosts that an object has routes on, each once.
pub(crate) fn hosts_of(claims: &Claims) -> BTreeSet<&Arc<str>> {
    claims.routes.iter().map(|route| &route.wanted.host).collect()
}

/// How firmly an object asks for each of its hosts. Of what is only another name of a host, or redirected, its TLS is not kept from who asks for it, either.
fn standings(claims: &Claims) -> BTreeMap<&Arc<str>, ClaimPriority> {
    let mut firmest: BTreeMap<&Arc<str>, Option<ClaimPriority>> = BTreeMap::new();
    for route in &claims.routes {
        let known = firmest.entry(&route.wanted.host).or_default();
        let standing = (route.standing != ClaimPriority::Rest).then_some(route.standing);
        *known = (*known).into_iter().chain(standing).min();
    }
    let standing = |firmest: Option<ClaimPriority>| {
        firmest.filter(|standing| *standing >= ClaimPriority::Spare).unwrap_or(ClaimPriority::Asked)
    };
    firmest.into_iter().map(|(host, firmest)| (host, standing(firmest))).collect()
}

/// The objects that redirect what others do not take.
fn redirecting(contest: &Contest) -> impl Iterator<Item = Arc<ObjectRef>> {
    let all = contest.claimants.iter().filter(|claimant| claimant.standing == ClaimPriority::Redirect);
    all.map(|claimant| claimant.object.clone())
}

fn is_exact(host: &str) -> bool {
    !host.starts_with('*')
}
