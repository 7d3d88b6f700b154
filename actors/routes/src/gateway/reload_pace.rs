//! The routes that count: changes of a route that take a reload are held to a pace, as those of Ingresses are.

use super::{
    levels::RouteId,
    objects::{GatewayResource, Readable, RouteRule, RouteSpec},
    parsed::StoredObjects,
    retries::RetryProfile,
    rules::time_of_all_tries,
};
use crate::reload_pace::{ReadAtStart, ReloadPace, ReloadsPerMinute};
use haptic_model::{Finding, Object, ObjectRef, gateway::RouteKind};
use memchr::memmem;
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Instant,
};

type RouteResource = GatewayResource<RouteSpec>;

/// The routes that count, each as it is or as it was before.
#[derive(Clone, Debug, Default)]
pub(super) struct CountingRoutes {
    pace: ReloadPace<Object>,
    counting: BTreeMap<RouteId, Arc<Object>>,
}

impl ReadAtStart for Object {
    /// Each way of trying again is a profile. All else comes and goes at run time, or stays for a while.
    type Lines<'a> = BTreeSet<String>;

    fn lines(&self) -> Self::Lines<'_> {
        // Most have none.
        let route = memmem::find(&self.json.bytes(), br#""retry""#).and_then(|_| RouteResource::read(self));
        let rules = route.map(|route| route.spec.rules).unwrap_or_default();
        let profiles = rules.iter().filter_map(|rule| {
            let rule = rule.value();
            rule.get("retry")?;
            let rule: RouteRule = serde_json::from_value(rule).ok()?;
            let profile = RetryProfile::of(rule.retry.as_ref()?, time_of_all_tries(&rule).is_some()).ok()?;
            (!profile.is_none()).then(|| profile.name())
        });
        profiles.collect()
    }
}

impl CountingRoutes {
    /// The same with all routes to come.
    pub fn emptied(&self) -> Self {
        Self { pace: self.pace.clone(), counting: BTreeMap::new() }
    }

    /// Sets the time, and how many reloads a minute may be; without a time nothing waits.
    pub fn set_clock(&mut self, clock: Option<(Instant, ReloadsPerMinute)>) {
        self.pace.set_clock(clock);
    }

    /// When the next route's turn is.
    pub fn due(&self) -> Option<Instant> {
        self.pace.due()
    }

    /// The routes whose turn it is.
    pub fn due_routes(&self) -> Vec<RouteId> {
        let id = |object: &Arc<ObjectRef>| {
            let kind = RouteKind::ALL.into_iter().find(|kind| *object.resource == *kind.plural())?;
            Some((kind, (object.namespace.clone(), object.name.clone())))
        };
        self.pace.due_objects().filter_map(id).collect()
    }

    /// Whether none counts: the next ones begin again.
    pub fn is_empty(&self) -> bool {
        self.counting.is_empty()
    }

    /// The finding at a route that waits.
    pub fn found(&self, id: &RouteId) -> Option<Finding> {
        self.pace.found(&object_of(id))
    }

    /// `before` counts in a newer version that asks for the same.
    pub fn renew(&mut self, id: &RouteId, before: &Arc<Object>, now: &Arc<Object>) {
        if let Some(counting) = self.counting.get_mut(id).filter(|counting| Arc::ptr_eq(counting, before)) {
            counting.clone_from(now);
        }
    }

    /// Whether this version of a route is the one that counts.
    #[cfg(test)]
    pub fn holds(&self, id: &RouteId, version: &Arc<Object>) -> bool {
        self.counting.get(id).is_some_and(|counting| Arc::ptr_eq(counting, version))
    }

    /// The part that counts of a route that is as `routes` has it. With `is_free` all begins again.
    pub fn admit(
        &mut self,
        id: &RouteId,
        routes: Option<&StoredObjects>,
        is_free: bool,
    ) -> Option<RouteResource> {
        let (object, known) = (Arc::new(object_of(id)), self.counting.remove(id));
        let wanted = routes.and_then(|routes| {
            let wanted = routes.get(&id.1)?;
            Some((wanted, RouteResource::read(wanted)?))
        });
        let Some((wanted, read)) = wanted else {
            self.pace.delete(&object, known.as_deref());
            return None;
        };
        let counting = self.pace.admit(&object, known.as_ref(), wanted.clone(), is_free)?;
        let read = if Arc::ptr_eq(&counting, wanted) { Some(read) } else { RouteResource::read(&counting) };
        self.counting.insert(id.clone(), counting);
        read
    }
}

fn object_of((kind, (namespace, name)): &RouteId) -> ObjectRef {
    ObjectRef::new(kind.plural(), namespace, name)
}
