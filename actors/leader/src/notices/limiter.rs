//! Lets through what is news: the same is not said twice in ten minutes, of one object not much, of one namespace's objects no
//! more than a part of everything, all together not too fast.
//!
//! A template that fails fails again with each change of any object: without this the API server would store an
//! Event for each of them.

use super::notice::{Notice, NoticeSubject};
use std::{collections::HashMap, sync::Arc, time::Duration};
use tokio::time::Instant;

/// The same notice again.
pub const SAME: Duration = Duration::from_secs(600);
/// Of one object so many in a minute.
pub const EACH: usize = 5;
/// Of all objects of one namespace so many in a minute: a third of what may be said.
pub const OF_NAMESPACE: usize = 20;
const MINUTE: Duration = Duration::from_secs(60);
/// All together: so many at once, and one more each second.
pub const BURST: u32 = 25;
const REFILL: Duration = Duration::from_secs(1);

/// What was said lately.
#[derive(Debug)]
pub struct Limiter {
    written: HashMap<Notice, Instant>,
    about: HashMap<NoticeSubject, Vec<Instant>>,
    namespaces: HashMap<Arc<str>, Vec<Instant>>,
    tokens: u32,
    refilled: Instant,
    swept: Instant,
}

impl Limiter {
    /// Nothing was said.
    #[must_use]
    pub fn new(now: Instant) -> Self {
        Self {
            written: HashMap::new(),
            about: HashMap::new(),
            namespaces: HashMap::new(),
            tokens: BURST,
            refilled: now,
            swept: now,
        }
    }

    /// Whether to say `notice` at `now`; if so, it is said.
    pub fn lets(&mut self, notice: &Notice, now: Instant) -> bool {
        self.refill(now);
        self.sweep(now);
        let lately = |written: Option<&Vec<Instant>>| {
            written.map_or(0, |written| written.iter().filter(|then| now < **then + MINUTE).count())
        };
        let namespace = notice.about.namespace().cloned();
        let of_namespace = namespace.as_ref().map_or(0, |namespace| lately(self.namespaces.get(namespace)));
        let repeated = self.written.get(notice).is_some_and(|then| now < *then + SAME);
        let is_enough = lately(self.about.get(&notice.about)) >= EACH || of_namespace >= OF_NAMESPACE;
        if self.tokens == 0 || repeated || is_enough {
            return false;
        }
        self.tokens -= 1;
        self.about.entry(notice.about.clone()).or_default().push(now);
        if let Some(namespace) = namespace {
            self.namespaces.entry(namespace).or_default().push(now);
        }
        self.written.insert(notice.clone(), now);
        true
    }

    fn refill(&mut self, now: Instant) {
        let new = u32::try_from(now.duration_since(self.refilled).as_secs() / REFILL.as_secs());
        let new = new.unwrap_or(BURST);
        if new > 0 {
            self.tokens = self.tokens.saturating_add(new).min(BURST);
            self.refilled = now;
        }
    }

    fn sweep(&mut self, now: Instant) {
        if now >= self.swept + MINUTE {
            self.written.retain(|_, then| now < *then + SAME);
            let is_recent = |then: &Instant| now < *then + MINUTE;
            for said in self.about.values_mut().chain(self.namespaces.values_mut()) {
                said.retain(is_recent);
            }
            self.about.retain(|_, times| !times.is_empty());
            self.namespaces.retain(|_, times| !times.is_empty());
            self.swept = now;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use haptic_model::ObjectRef;

    fn about(pod: &str, note: &str) -> Notice {
        Notice {
            about: NoticeSubject::Pod(Arc::from(pod)),
            warning: true,
            reason: "DeploymentFailed",
            action: "Deploy",
            note: note.to_owned(),
            once: false,
        }
    }

    #[test]
    fn the_same_is_said_again_only_after_ten_minutes() {
        let start = Instant::now();
        let mut limiter = Limiter::new(start);
        assert!(limiter.lets(&about("a", "no"), start));
        for seconds in [1, 60, 599] {
            assert!(!limiter.lets(&about("a", "no"), start + Duration::from_secs(seconds)));
        }
        assert!(limiter.lets(&about("a", "no"), start + SAME));
    }

    #[test]
    fn one_object_is_not_talked_about_all_the_time() {
        let start = Instant::now();
        let mut limiter = Limiter::new(start);
        let said = (0..1000_u64)
            .filter(|n| limiter.lets(&about("a", &n.to_string()), start + Duration::from_millis(10 * n)));
        assert_eq!(said.count(), EACH);
    }

    #[test]
    fn thousands_of_objects_at_fault_are_a_trickle() {
        let start = Instant::now();
        let mut limiter = Limiter::new(start);
        let said = (0..10_000_u64)
            .filter(|n| limiter.lets(&about(&n.to_string(), "no"), start + Duration::from_millis(*n)));
        assert_eq!(said.count(), 25 + 9);
    }

    #[test]
    fn thousands_of_objects_of_one_namespace_leave_room_for_the_others() {
        let start = Instant::now();
        let mut limiter = Limiter::new(start);
        let mut of = |namespace: &str, number: u64| {
            let object = Arc::new(ObjectRef::new("ingresses", namespace, &number.to_string()));
            let notice = Notice { about: NoticeSubject::Object(object), ..about("", "no") };
            limiter.lets(&notice, start + Duration::from_millis(number))
        };
        let said = (0..59_000).filter(|number| of("evil", *number)).count();
        assert_eq!(said, OF_NAMESPACE);
        assert!(of("good", 59_001), "others are heard");
        assert!(limiter.about.len() <= OF_NAMESPACE + 1, "what is not said is not remembered");
    }

    #[test]
    fn what_was_said_long_ago_is_forgotten() {
        let start = Instant::now();
        let mut limiter = Limiter::new(start);
        for n in 0..100_u64 {
            limiter.lets(&about(&n.to_string(), "no"), start + Duration::from_secs(60 * n));
        }
        assert!(limiter.written.len() <= 11, "{}", limiter.written.len());
    }
}
