//! What was written last of each object, and what the API server will not take.

use super::kinds::StatusKey;
use haptic_model::Object;
use serde_json::Value;
use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
    time::Duration,
};
use tokio::time::Instant;

/// The status of one object is not written more often than this, however often it changes.
const BETWEEN_WRITES: Duration = Duration::from_millis(200);
/// A status that the API server makes something else of is written again after this time.
const IN_VAIN: Duration = Duration::from_secs(60);

/// Statuses that this replica wrote, or would have.
#[derive(Debug, Default)]
pub(crate) struct StatusWrites {
    last: HashMap<StatusKey, WrittenStatus>,
    refused: BTreeMap<StatusKey, String>,
}

/// What was written last of an object.
#[derive(Debug)]
struct WrittenStatus {
    /// What the store had then: as long as it has that, the object is as it was written.
    seen: Arc<Object>,
    object: Arc<Value>,
    /// It is not written again before.
    not_before: Instant,
}

impl StatusWrites {
    /// `object` was written at `now`, while the store had `seen`.
    pub(crate) fn written(
        &mut self,
        key: StatusKey,
        (seen, object): (Arc<Object>, Arc<Value>),
        in_vain: bool,
        now: Instant,
    ) {
        let not_before = now + if in_vain { IN_VAIN } else { BETWEEN_WRITES };
        self.last.insert(key, WrittenStatus { seen, object, not_before });
    }

    /// When `key` may be written again, if that is after `now`.
    pub(crate) fn not_before(&self, key: &StatusKey, now: Instant) -> Option<Instant> {
        self.last.get(key).map(|written| written.not_before).filter(|not_before| *not_before > now)
    }

    /// The object as it was written, unless the store, which has `seen`, has something newer.
    pub(crate) fn object(&mut self, key: &StatusKey, seen: &Arc<Object>) -> Option<Arc<Value>> {
        let written = self.last.get(key)?;
        if Arc::ptr_eq(&written.seen, seen) {
            return Some(written.object.clone());
        }
        self.last.remove(key);
        None
    }

    pub(crate) fn refused(&mut self, key: StatusKey, why: String) {
        self.refused.insert(key, why);
    }

    pub(crate) fn not_refused(&mut self, key: &StatusKey) {
        self.refused.remove(key);
    }

    /// Why one of those is refused that are.
    pub(crate) fn why_refused(&self) -> Option<&str> {
        self.refused.values().next().map(String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use super::{super::kinds::GatewayKind, *};
    use haptic_model::ObjectRef;

    fn stored(version: u64) -> Arc<Object> {
        let reference = Arc::new(ObjectRef::new("gateways", "shop", "web"));
        Arc::new(Object { reference, version, json: b"{}".as_slice().into() })
    }

    #[test]
    fn an_object_is_as_it_was_written_until_the_store_has_something_newer_and_is_not_written_again_at_once() {
        let (mut all, now) = (StatusWrites::default(), Instant::now());
        let key = StatusKey::new(GatewayKind::Gateway, &"shop".into(), &"web".into());
        let (seen, object) = (stored(1), Arc::new(Value::Null));
        assert_eq!((all.not_before(&key, now), all.object(&key, &seen)), (None, None));
        all.written(key.clone(), (seen.clone(), object.clone()), false, now);
        assert_eq!(all.not_before(&key, now), Some(now + BETWEEN_WRITES));
        assert_eq!(all.not_before(&key, now + BETWEEN_WRITES), None);
        assert_eq!(all.object(&key, &seen), Some(object.clone()));
        assert_eq!((all.object(&key, &stored(2)), all.object(&key, &seen)), (None, None));
        all.written(key.clone(), (seen, object), true, now);
        assert_eq!(all.not_before(&key, now), Some(now + IN_VAIN));
    }
}
