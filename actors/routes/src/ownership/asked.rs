//! The options that any object asks for, as stores: a template that needs to know reads one object of them, not all routes.

use super::memory::Clock;
use crate::claims::{Claims, auth};
use haptic_model::{Object, ObjectRef, Snapshot};
use std::{
    collections::BTreeMap,
    sync::Arc,
    time::{Duration, Instant},
};

/// The option of those whose routes no key finds, or keys of other kinds than exact paths and prefixes.
const LISTS: &str = "path-lists";

/// Objects of a store, each with its JSON.
pub(crate) type DemandedObjects = BTreeMap<Arc<ObjectRef>, Arc<[u8]>>;

/// Objects that others ask for, and how many ask for each. One that nobody asks for any more stays for the time of the hold: lines of
/// HAProxy's that come and go with it would take a reload each time.
#[derive(Clone, Debug)]
pub(crate) struct UsageCounts {
    counts: BTreeMap<Arc<ObjectRef>, usize>,
    /// Those that nobody asks for, and since when.
    left: BTreeMap<Arc<ObjectRef>, (Instant, Arc<[u8]>)>,
    store: Snapshot,
}

impl Default for UsageCounts {
    fn default() -> Self {
        let mut store = Snapshot::full();
        store.set_synced();
        Self { counts: BTreeMap::new(), left: BTreeMap::new(), store }
    }
}

impl UsageCounts {
    /// All of them, as a store.
    pub(crate) fn store(&self) -> &Snapshot {
        &self.store
    }

    /// The same with all objects to come: what stays for a while stays.
    pub(crate) fn emptied(&self) -> Self {
        let mut emptied = Self { left: self.left.clone(), ..Self::default() };
        for (object, (_, json)) in &self.left {
            emptied.enter(object, json.clone());
        }
        emptied
    }

    pub(crate) fn add(&mut self, objects: DemandedObjects) {
        for (object, json) in objects {
            let count = self.counts.entry(object.clone()).or_default();
            *count += 1;
            if *count == 1 && self.left.remove(&object).is_none_or(|(_, before)| before != json) {
                self.enter(&object, json);
            }
        }
    }

    fn enter(&mut self, object: &Arc<ObjectRef>, json: Arc<[u8]>) {
        let namespace = Some(&object.namespace).filter(|namespace| !namespace.is_empty());
        let key = namespace.into_iter().chain([&object.name]).cloned().collect();
        self.store.apply(Object::new(object.clone(), json), key);
    }

    pub(crate) fn remove(&mut self, objects: DemandedObjects, clock: Option<&Clock>) {
        for (object, json) in objects {
            let Some(count) = self.counts.get_mut(&object) else { continue };
            *count -= 1;
            if *count == 0 {
                self.counts.remove(&object);
                match clock {
                    Some(clock) => drop(self.left.insert(object, (clock.now, json))),
                    None => drop(self.store.remove(&object)),
                }
            }
        }
    }

    /// Forgets what nobody has asked for long enough, without a clock at once.
    pub(crate) fn forget(&mut self, clock: Option<&Clock>) {
        let is_over =
            |since: &Instant| clock.is_none_or(|clock| clock.now.duration_since(*since) >= clock.hold);
        for (object, _) in self.left.extract_if(.., |_, (since, _)| is_over(since)) {
            self.store.remove(&object);
        }
    }

    /// When the next one is forgotten.
    pub(crate) fn next(&self, hold: Duration) -> Option<Instant> {
        self.left.values().map(|(since, _)| *since + hold).min()
    }
}

/// The options that any object asks for, and the services that are asked whether requests may pass.
#[derive(Clone, Debug, Default)]
pub(crate) struct Demands {
    options: UsageCounts,
    targets: UsageCounts,
}

impl Demands {
    /// The same with all objects to come: what stays for a while stays.
    pub(crate) fn emptied(&self) -> Self {
        Self { options: self.options.emptied(), targets: self.targets.emptied() }
    }

    /// An object for each option.
    pub(crate) fn options(&self) -> &Snapshot {
        &self.options.store
    }

    /// An object for each namespace and target of its `auth-url`.
    pub(crate) fn targets(&self) -> &Snapshot {
        &self.targets.store
    }

    pub(crate) fn add(&mut self, namespace: &str, claims: &Claims) {
        let (options, targets) = asked_by(namespace, claims);
        self.options.add(options);
        self.targets.add(targets);
    }

    pub(crate) fn remove(&mut self, namespace: &str, claims: &Claims, clock: Option<&Clock>) {
        let (options, targets) = asked_by(namespace, claims);
        self.options.remove(options, clock);
        self.targets.remove(targets, clock);
    }

    /// Forgets what nobody has asked for long enough, without a clock at once.
    pub(crate) fn forget(&mut self, clock: Option<&Clock>) {
        self.options.forget(clock);
        self.targets.forget(clock);
    }

    /// When the next one is forgotten.
    pub(crate) fn next(&self, hold: Duration) -> Option<Instant> {
        self.options.next(hold).into_iter().chain(self.targets.next(hold)).min()
    }

    /// Whether something stays that nobody asks for.
    pub(crate) fn has_left(&self) -> bool {
        !self.options.left.is_empty() || !self.targets.left.is_empty()
    }
}

fn asked_by(namespace: &str, claims: &Claims) -> (DemandedObjects, DemandedObjects) {
    let (mut options, mut targets) = (DemandedObjects::new(), DemandedObjects::new());
    let option = |name: &str| (Arc::new(ObjectRef::new("options", "", name)), b"{}".as_slice().into());
    for group in &claims.groups {
        let url = group.options.get(auth::OPTION);
        targets.extend(url.and_then(|url| auth::target(namespace, &url)));
        options.extend(group.options.given().iter().map(|name| option(name)));
    }
    if claims.routes.iter().any(|route| route.wanted.is_listed()) {
        options.extend([option(LISTS)]);
    }
    (options, targets)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn claims(options: Value) -> Claims {
        let options = options.as_object().cloned().unwrap().into();
        let group = crate::claims::RouteGroup { options, ..Default::default() };
        Claims { groups: vec![group], ..Claims::default() }
    }

    fn names(store: &Snapshot) -> Vec<String> {
        store.iter().map(|object| object.reference.name.to_string()).collect()
    }

    #[test]
    fn an_option_is_there_as_long_as_one_object_asks_for_it() {
        let both = claims(json!({"retry": "all", "affinity": "cookie"}));
        let one = claims(json!({"retry": "idempotent"}));
        let mut asked = Demands::default();
        asked.add("shop", &both);
        asked.add("shop", &one);
        assert_eq!(names(asked.options()), ["affinity", "retry"]);
        asked.remove("shop", &both, None);
        assert_eq!(names(asked.options()), ["retry"]);
        asked.remove("shop", &one, None);
        assert!(names(asked.options()).is_empty());
    }

    #[test]
    fn who_is_asked_is_there_once_for_each_namespace() {
        let url = |text: &str| {
            let url = crate::options::auth_url::AuthUrl::of(text).unwrap();
            claims(json!({"auth-url": url.to_json()}))
        };
        let mut asked = Demands::default();
        for (namespace, text) in [
            ("shop", "http://sso:80/a"),
            ("shop", "http://sso/b"),
            ("blog", "http://sso.shop.svc/"),
            ("blog", "https://$host/"),
        ] {
            asked.add(namespace, &url(text));
        }
        let read = |object: &Arc<Object>| -> Value { serde_json::from_slice(&object.json.bytes()).unwrap() };
        let all: Vec<Value> = asked.targets().iter().map(read).collect();
        let names: Vec<&str> = all.iter().map(|target| target["name"].as_str().unwrap()).collect();
        assert_eq!(names, ["auth:blog_sso.shop.svc_80_http", "auth:shop_sso_80_http"]);
        assert_eq!((&all[0]["abroad"], &all[0]["service"]), (&json!(true), &json!("sso")));
        assert_eq!((&all[1]["abroad"], &all[1]["namespace"]), (&json!(false), &json!("shop")));
        asked.remove("shop", &url("http://sso/b"), None);
        assert_eq!(asked.targets().iter().count(), 2);
        asked.remove("shop", &url("http://sso:80/a"), None);
        assert_eq!(asked.targets().iter().count(), 1);
    }

    #[test]
    fn what_comes_and_goes_stays_for_the_time_of_the_hold() {
        let claims = claims(json!({"retry": "all"}));
        let (begin, hold) = (Instant::now(), Duration::from_secs(60));
        let at = |seconds: u64| Clock { now: begin + Duration::from_secs(seconds), hold };
        let mut asked = Demands::default();
        for second in [0, 10] {
            asked.add("shop", &claims);
            asked.remove("shop", &claims, Some(&at(second)));
        }
        asked.forget(Some(&at(69)));
        assert_eq!((names(asked.options()).len(), asked.next(hold)), (1, Some(at(70).now)));
        assert_eq!((names(asked.emptied().options()).len(), asked.has_left()), (1, true));
        asked.forget(Some(&at(70)));
        assert_eq!((names(asked.options()).len(), asked.has_left()), (0, false));
    }
}
