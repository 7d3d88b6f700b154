//! How often objects may have HAProxy reloaded: a change of what HAProxy reads at a start only is in force at once, unless its object or
//! its namespace has had several lately. Then the object stays as it was until it is its turn.
//!
//! A deleted object is gone at once. Time comes from outside; without it nothing waits.

use super::{
    claims::{Backend, Claims},
    options::{
        class_objects::{PAGES_OPTIONS, PAGES_PROFILE},
        row::Reload,
        shared_lines::{self, BODY_FILTER, LINES_PROFILE},
        table::row,
    },
};
use haptic_model::{Finding, FindingKind, ObjectRef};
use serde_json::{Map, Value};
use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::Arc,
    time::{Duration, Instant},
};

const MINUTE: Duration = Duration::from_secs(60);
/// The most reloads at once, in minutes' worth.
const MINUTES_AT_ONCE: u32 = 3;

/// The most changes a minute that take a reload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReloadsPerMinute {
    /// Those of one object.
    pub object: u32,
    /// Those of a namespace. What it changes at one time is one.
    pub namespace: u32,
}

impl Default for ReloadsPerMinute {
    fn default() -> Self {
        Self { object: 1, namespace: 10 }
    }
}

impl ReloadsPerMinute {
    /// `reloadsPerMinute` of `extraContext`.
    #[must_use]
    pub fn of(context: &Map<String, Value>) -> Self {
        let default = Self::default();
        let number = |name: &str, otherwise: u32| {
            let number =
                context.get("reloadsPerMinute").and_then(|all| all.get(name)).and_then(Value::as_u64);
            number
                .and_then(|number| u32::try_from(number).ok())
                .filter(|number| *number > 0)
                .unwrap_or(otherwise)
        };
        Self { object: number("object", default.object), namespace: number("namespace", default.namespace) }
    }
}

/// The parts of an object's demand that HAProxy reads at a start only.
pub(super) trait ReadAtStart {
    type Lines<'a>: Default + PartialEq
    where
        Self: 'a;

    /// The parts.
    fn lines(&self) -> Self::Lines<'_>;
}

/// When changes of objects are in force.
#[derive(Clone, Debug)]
pub(super) struct ReloadPace<T> {
    clock: Option<(Instant, ReloadsPerMinute)>,
    /// When each has as many changes left as can be.
    objects: BTreeMap<Arc<ObjectRef>, Instant>,
    namespaces: BTreeMap<Arc<str>, Instant>,
    waiting: BTreeMap<Arc<ObjectRef>, WaitingChange<T>>,
    /// The time of the namespace's last change.
    charged: BTreeMap<Arc<str>, Instant>,
}

/// What counts until a change is in force.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Meanwhile {
    /// What did before.
    Former,
    Nothing,
}

#[derive(Clone, Debug)]
struct WaitingChange<T> {
    until: Instant,
    former: Option<Arc<T>>,
}

impl<T> Default for ReloadPace<T> {
    fn default() -> Self {
        Self {
            clock: None,
            objects: BTreeMap::new(),
            namespaces: BTreeMap::new(),
            waiting: BTreeMap::new(),
            charged: BTreeMap::new(),
        }
    }
}

impl<T: ReadAtStart> ReloadPace<T> {
    /// Sets the time, and how many reloads are many.
    pub fn set_clock(&mut self, clock: Option<(Instant, ReloadsPerMinute)>) {
        self.clock = clock;
        match clock {
            Some((now, _)) => {
                self.objects.retain(|_, full| *full > now);
                self.namespaces.retain(|_, full| *full > now);
                self.charged.retain(|_, at| *at == now);
            }
            None => *self = Self::default(),
        }
    }

    /// Nobody waits any more: what everybody is read by is another one.
    pub fn release(&mut self) {
        self.waiting.clear();
    }

    /// When the next change is in force.
    pub fn due(&self) -> Option<Instant> {
        self.waiting.values().map(|waiting| waiting.until).min()
    }

    /// Whether that is now.
    pub fn is_due(&self) -> bool {
        self.clock.zip(self.due()).is_some_and(|((now, _), due)| due <= now)
    }

    /// The objects whose turn it is.
    pub fn due_objects(&self) -> impl Iterator<Item = &Arc<ObjectRef>> {
        let now = self.clock.map(|(now, _)| now);
        let due = self.waiting.iter().filter(move |(_, waiting)| now.is_some_and(|now| waiting.until <= now));
        due.map(|(object, _)| object)
    }

    /// What counts of an object that waits.
    pub fn meanwhile(&self, object: &ObjectRef) -> Option<Meanwhile> {
        let waiting = self.waiting.get(object)?;
        Some(if waiting.former.is_some() { Meanwhile::Former } else { Meanwhile::Nothing })
    }

    /// The finding at an object that waits.
    pub fn found(&self, object: &ObjectRef) -> Option<Finding> {
        let meanwhile = match self.meanwhile(object)? {
            Meanwhile::Former => "it is served as before",
            Meanwhile::Nothing => "it is not served",
        };
        let sentence = format!(
            "what it asks for takes a reload of HAProxy, and it or its namespace has had several lately (extraContext.reloadsPerMinute): until it is its turn {meanwhile}"
        );
        Some(Finding::new(FindingKind::ReloadDelayed, sentence))
    }

    /// The claims that count for an object that asks for `wanted`, and of which `known` counted until now. With `is_free` all begins again,
    /// and only those wait that did.
    pub fn admit(
        &mut self,
        object: &Arc<ObjectRef>,
        known: Option<&Arc<T>>,
        wanted: Arc<T>,
        is_free: bool,
    ) -> Option<Arc<T>> {
        let waiting = self.waiting.remove(object);
        let Some((now, limits)) = self.clock else { return Some(wanted) };
        let former = waiting.as_ref().map_or_else(|| known.cloned(), |waiting| waiting.former.clone());
        if is_free && waiting.is_none() {
            return Some(wanted);
        }
        if former.as_deref().map(T::lines).unwrap_or_default() == wanted.lines() {
            return Some(wanted);
        }
        let until = match waiting {
            Some(waiting) if is_free => waiting.until,
            _ => self.turn(object, now, limits),
        };
        if until <= now {
            self.charge(object, now, limits);
            return Some(wanted);
        }
        self.waiting.insert(object.clone(), WaitingChange { until, former: former.clone() });
        former
    }

    /// Takes note that an object is gone.
    pub fn delete(&mut self, object: &Arc<ObjectRef>, known: Option<&T>) {
        self.waiting.remove(object);
        if let Some((now, limits)) = self.clock
            && known.is_some_and(|known| known.lines() != T::Lines::default())
        {
            self.charge(object, now, limits);
        }
    }

    /// When a change of the object may be in force.
    fn turn(&self, object: &Arc<ObjectRef>, now: Instant, limits: ReloadsPerMinute) -> Instant {
        let after = |full: Option<&Instant>, a_minute: u32| {
            let at_once = (MINUTE * MINUTES_AT_ONCE).saturating_sub(MINUTE / a_minute);
            full.and_then(|full| full.checked_sub(at_once)).unwrap_or(now)
        };
        let of_object = after(self.objects.get(object), limits.object);
        if self.charged.get(&object.namespace) == Some(&now) {
            return of_object;
        }
        of_object.max(after(self.namespaces.get(&object.namespace), limits.namespace))
    }

    fn charge(&mut self, object: &Arc<ObjectRef>, now: Instant, limits: ReloadsPerMinute) {
        let full = self.objects.entry(object.clone()).or_insert(now);
        *full = (*full).max(now) + MINUTE / limits.object;
        if self.charged.insert(object.namespace.clone(), now) != Some(now) {
            let full = self.namespaces.entry(object.namespace.clone()).or_insert(now);
            *full = (*full).max(now) + MINUTE / limits.namespace;
        }
    }
}

/// Options, and the backends that have them.
type StaticLines<'c> = (Map<String, Value>, Vec<&'c Backend>);

/// The authorities of clients, and the hosts and certificates whose lines name them.
type VerifiedHosts<'c> = (&'c Arc<str>, BTreeSet<&'c Arc<str>>, &'c BTreeMap<Arc<str>, Arc<[Arc<str>]>>);

impl ReadAtStart for Claims {
    /// By the names of groups; of all but the first what is different there. And where clients are verified.
    type Lines<'a> = (BTreeMap<Arc<str>, StaticLines<'a>>, Option<VerifiedHosts<'a>>);

    fn lines(&self) -> Self::Lines<'_> {
        let verified = self.client_ca.as_ref().map(|authorities| {
            let hosts = self.routes.iter().map(|route| &route.wanted.host).collect();
            (authorities, hosts, &self.certificates)
        });
        (lines(self), verified)
    }
}

fn lines(claims: &Claims) -> BTreeMap<Arc<str>, StaticLines<'_>> {
    let mut all = BTreeMap::new();
    let mut has_some = false;
    let mut backends: HashMap<usize, Vec<&Backend>> = HashMap::new();
    for route in claims.routes.iter().filter(|route| !route.repeated) {
        backends.entry(route.group).or_default().push(&route.backend);
    }
    for (number, group) in claims.groups.iter().enumerate() {
        let mut options = group.options.read();
        // What the class, or most of its routes, have stands in profiles, whichever routes have it.
        let has = |profile: &str| options.get(profile).is_some_and(|profile| !profile.is_null());
        let (has_pages, has_lines) = (has(PAGES_PROFILE), has(LINES_PROFILE));
        options.retain(|name, value| match row(name) {
            Some(row) if has_pages && PAGES_OPTIONS.contains(&row.name) => false,
            Some(row) if has_lines && shared_lines::OPTIONS.contains(&row.name) => false,
            // A filter in the object's own backends, whatever the size is.
            None if name == BODY_FILTER => !value.is_null(),
            Some(row) => row.reload == Reload::Change && row.name != "max-body-size",
            None => false,
        });
        let is_own = options.values().any(|value| !value.is_null());
        has_some |= number == 0 && is_own;
        if !has_some && !is_own {
            continue;
        }
        let mut of_group = backends.remove(&number).unwrap_or_default();
        of_group.extend(&group.others);
        of_group.sort();
        of_group.dedup();
        all.insert(group.id.clone(), (options, of_group));
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claims::RouteGroup;
    use serde_json::json;

    fn claims(options: Value) -> Arc<Claims> {
        let options = options.as_object().cloned().unwrap().into();
        let group = RouteGroup { id: "a".into(), options, ..RouteGroup::default() };
        Arc::new(Claims { groups: vec![group], ..Claims::default() })
    }

    fn object(namespace: &str, name: &str) -> Arc<ObjectRef> {
        Arc::new(ObjectRef::new("ingresses", namespace, name))
    }

    struct Story {
        pace: ReloadPace<Claims>,
        begin: Instant,
        known: BTreeMap<Arc<ObjectRef>, Arc<Claims>>,
        wanted: BTreeMap<Arc<ObjectRef>, Arc<Claims>>,
    }

    impl Story {
        fn new() -> Self {
            Self {
                pace: ReloadPace::default(),
                begin: Instant::now(),
                known: BTreeMap::new(),
                wanted: BTreeMap::new(),
            }
        }

        fn at(&mut self, second: u64) {
            let limits = ReloadsPerMinute { object: 1, namespace: 2 };
            self.pace.set_clock(Some((self.begin + Duration::from_secs(second), limits)));
            for object in self.pace.due_objects().cloned().collect::<Vec<_>>() {
                let wanted = self.wanted[&object].clone();
                self.admit(&object, wanted);
            }
        }

        fn admit(&mut self, object: &Arc<ObjectRef>, wanted: Arc<Claims>) {
            self.wanted.insert(object.clone(), wanted.clone());
            match self.pace.admit(object, self.known.get(object), wanted, false) {
                Some(claims) => drop(self.known.insert(object.clone(), claims)),
                None => drop(self.known.remove(object)),
            }
        }

        /// Whether what is asked for is in force.
        fn is_in_force(&mut self, object: &Arc<ObjectRef>, options: Value) -> bool {
            let wanted = claims(options);
            self.admit(object, wanted.clone());
            self.known.get(object) == Some(&wanted)
        }

        fn due(&self) -> Option<u64> {
            self.pace.due().map(|due| due.duration_since(self.begin).as_secs())
        }
    }

    #[test]
    fn an_object_that_asks_for_another_thing_all_the_time_waits_for_its_turn() {
        let (mut story, shop) = (Story::new(), object("shop", "a"));
        story.at(0);
        for compression in [json!({"compression": "gzip"}), json!({}), json!({"compression": "gzip"})] {
            assert!(story.is_in_force(&shop, compression));
        }
        assert!(!story.is_in_force(&shop, json!({"timeout-server": 1})));
        assert_eq!(story.due(), Some(60));
        assert!(story.pace.found(&shop).is_some_and(|said| said.sentence.ends_with("served as before")));
        assert!(story.is_in_force(&shop, json!({"compression": "gzip", "timeout-server": 1})), "no reload");
        assert_eq!((story.due(), story.pace.found(&shop)), (None, None));
        assert!(!story.is_in_force(&shop, json!({"retries": 1})));
        story.at(60);
        assert_eq!((story.due(), story.known.get(&shop)), (None, Some(&claims(json!({"retries": 1})))));
        assert!(!story.is_in_force(&shop, json!({})));
        assert_eq!(story.due(), Some(120));
    }

    #[test]
    fn a_limit_of_bodies_takes_a_reload_when_it_comes_and_goes_and_not_when_it_changes() {
        let (mut story, shop) = (Story::new(), object("shop", "a"));
        story.at(0);
        let counted = |limit: u64| json!({"max-body-size": limit, "body-filter": "own"});
        for limit in [counted(1), json!({}), counted(2)] {
            assert!(story.is_in_force(&shop, limit));
        }
        assert!(story.is_in_force(&shop, counted(3)));
        assert!(!story.is_in_force(&shop, json!({})));
    }

    #[test]
    fn hosts_and_certificates_take_a_reload_where_clients_are_verified() {
        let (mut story, shop) = (Story::new(), object("shop", "a"));
        story.at(0);
        let mut ask = |host: &str, authorities: Option<&str>| {
            let certificates = BTreeMap::from([(host.into(), Arc::from(["tls".into()]))]);
            let client_ca = authorities.map(Arc::from);
            let wanted = Arc::new(Claims { certificates, client_ca, ..Claims::default() });
            story.admit(&shop, wanted.clone());
            story.known.get(&shop) == Some(&wanted)
        };
        assert!((0..9).all(|number| ask(&format!("h{number}"), None)), "nobody is verified");
        assert!(ask("a", Some("ca")) && ask("b", Some("ca")) && ask("b", Some("other")));
        assert!(!ask("a", Some("other")) && !ask("b", None) && ask("b", Some("other")));
    }

    #[test]
    fn what_profiles_and_the_frontend_have_takes_none() {
        let (mut story, shop) = (Story::new(), object("shop", "a"));
        story.at(0);
        let shared = json!({"retries": 2, "lines-profile": "lines-1", "max-body-size": 1});
        for _ in 0..5 {
            for options in [&shared, &json!({})] {
                assert!(story.is_in_force(&shop, options.clone()));
            }
        }
        for options in [json!({"retries": 2}), json!({}), json!({"retries": 2})] {
            assert!(story.is_in_force(&shop, options));
        }
        assert!(!story.is_in_force(&shop, json!({})), "lines of its own do");
    }

    #[test]
    fn a_namespace_waits_whatever_its_objects_are_called_and_others_do_not() {
        let mut story = Story::new();
        let compressed = || json!({"compression": "gzip"});
        for second in 0..6 {
            story.at(second);
            for name in ["x", "y"] {
                let object = object("shop", &format!("{name}{second}"));
                assert!(story.is_in_force(&object, compressed()), "what comes at one time is one reload");
            }
        }
        story.at(6);
        let late = object("shop", "late");
        assert!(!story.is_in_force(&late, compressed()) && !story.known.contains_key(&late));
        assert!(story.pace.found(&late).is_some_and(|said| said.sentence.ends_with("it is not served")));
        assert!(story.is_in_force(&late, json!({})), "without a reload it comes at once");
        assert!(!story.is_in_force(&late, compressed()));
        assert!(story.is_in_force(&object("blog", "late"), compressed()));
        story.at(29);
        assert_eq!(story.due(), Some(30));
        story.at(30);
        assert_eq!((story.due(), story.known.get(&late)), (None, Some(&claims(compressed()))));
    }

    #[test]
    fn whoever_waits_goes_on_waiting_where_all_is_read_anew() {
        let (mut story, shop) = (Story::new(), object("shop", "a"));
        story.at(0);
        for number in 0..4 {
            story.is_in_force(&shop, json!({ "retries": number }));
        }
        let mut anew = story.pace.clone();
        assert_eq!(
            anew.admit(&shop, None, claims(json!({"retries": 3})), true),
            Some(claims(json!({"retries": 2})))
        );
        let other = object("shop", "b");
        assert_eq!(
            anew.admit(&other, None, claims(json!({"retries": 3})), true),
            Some(claims(json!({"retries": 3})))
        );
        story.pace.delete(&shop, Some(&claims(json!({"retries": 2}))));
        assert_eq!(story.due(), None);
    }
}
