//! Which namespaces keep what of hosts, as it is written down for the next controller: one that starts gives a host to nobody who
//! only waited for that. Beside it stand the ports of HAProxy that Gateways have, for which no time passes.
//!
//! The leader writes a record of it, and each controller reads the record before its first render, from a store of its own. No wall
//! clock is asked: the record says how much time is left, and that goes on when it is read. So a hold never ends early; it lasts
//! longer by the time that no controller ran.

use crate::{HAProxyTemplateConfigSpec, Object, ObjectRef, Snapshot};
use imbl::OrdMap;
use serde::{Deserialize, Serialize};
use std::{
    collections::BTreeMap,
    sync::Arc,
    time::{Duration, Instant},
};

/// The name of the store. No watched resource has such a name.
pub const STORE: &str = "host holds";

/// What an entry of a record takes besides its text, in bytes.
const ENTRY: usize = 8;
/// What those of one namespace, age and time have in common, in bytes, besides names.
const GROUP: usize = 80;

/// What a namespace has of a host, or had.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostHold {
    /// The namespace.
    pub namespace: Arc<str>,
    /// By what it is compared with others, as `metadata.creationTimestamp`; `None`: younger than all.
    pub age: Option<Arc<str>>,
    /// Since when it has no object there; `None`: it has one.
    pub gone: Option<Instant>,
}

/// All of one watched resource, by what is held, as a text that only the route model reads.
pub type HeldByText = OrdMap<Arc<str>, HostHold>;

/// All that is to be remembered, by watched resource. Cheap to clone, and to compare with what it was.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HostHolds(pub BTreeMap<Arc<str>, HeldByText>);

/// The record, as JSON.
#[derive(Debug, Default, Serialize, Deserialize)]
struct HoldRecord {
    #[serde(default)]
    holds: Vec<RecordedHold>,
}

/// What one namespace has with the same age, for the same time.
#[derive(Debug, Serialize, Deserialize)]
struct RecordedHold {
    resource: Arc<str>,
    namespace: Arc<str>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    age: Option<Arc<str>>,
    /// Seconds until it is free, once nobody of the namespace asks for it; the whole time if somebody still does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    left: Option<u64>,
    things: Vec<Arc<str>>,
}

/// One thing that is held: of which resource, as text, and by whom.
type HeldThing<'h> = (&'h Arc<str>, &'h Arc<str>, &'h HostHold);

/// Whether a configuration has something to remember: it watches objects that hold hosts, or ports.
#[must_use]
pub fn is_wanted(spec: &HAProxyTemplateConfigSpec) -> bool {
    spec.watched_resources.values().any(|w| match &*w.resources {
        "ingresses" => w.api_version.starts_with("networking.k8s.io/"),
        "gateways" => w.api_version.starts_with("gateway.networking.k8s.io/"),
        _ => false,
    })
}

impl HostHolds {
    /// Whether nothing is to be remembered.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.values().all(OrdMap::is_empty)
    }

    /// Whether time passes for any of them.
    #[must_use]
    pub fn is_counting(&self) -> bool {
        self.0.values().flat_map(OrdMap::values).any(|hold| hold.gone.is_some())
    }

    /// The record of them at `now`, where a thing is kept for `hold`, of about `most` bytes: beyond that the namespace that has most
    /// loses, first what it still has objects for, then what it lost longest ago.
    #[must_use]
    pub fn record(&self, hold: Duration, now: Instant, most: usize) -> String {
        let left = |gone: Instant| {
            let left = hold.saturating_sub(now.saturating_duration_since(gone));
            left.as_secs() + u64::from(left.subsec_nanos() > 0)
        };
        let mut of_namespaces: BTreeMap<&Arc<str>, Vec<HeldThing<'_>>> = BTreeMap::new();
        for (resource, held) in &self.0 {
            for (text, hold) in held {
                of_namespaces.entry(&hold.namespace).or_default().push((resource, text, hold));
            }
        }
        for all in of_namespaces.values_mut() {
            all.sort_by_key(|(_, _, hold)| std::cmp::Reverse(hold.gone));
        }
        let size = |(resource, text, hold): &HeldThing<'_>| {
            let age = hold.age.as_ref().map_or(0, |age| age.len());
            text.len() + ENTRY + GROUP + resource.len() + hold.namespace.len() + age
        };
        let share = share(of_namespaces.values().map(|all| all.iter().map(size).sum()).collect(), most);
        let mut groups: BTreeMap<_, Vec<Arc<str>>> = BTreeMap::new();
        for all in of_namespaces.into_values() {
            let mut bytes = 0;
            for entry in all {
                bytes += size(&entry);
                if bytes > share {
                    break;
                }
                let (resource, text, hold) = entry;
                let key = (resource, &hold.namespace, &hold.age, hold.gone.map(left));
                groups.entry(key).or_default().push(text.clone());
            }
        }
        let holds = groups.into_iter().map(|((resource, namespace, age, left), things)| RecordedHold {
            resource: resource.clone(),
            namespace: namespace.clone(),
            age: age.clone(),
            left,
            things,
        });
        serde_json::to_string(&HoldRecord { holds: holds.collect() }).unwrap_or_default()
    }

    /// Those of a record that is read at `now`. What a namespace still had objects for counts as lost just now: whoever finds its
    /// objects knows better.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn read(record: &[u8], hold: Duration, now: Instant) -> Result<Self, String> {
        let HoldRecord { holds } = serde_json::from_slice(record).map_err(|error| error.to_string())?;
        let mut read = Self::default();
        for RecordedHold { resource, namespace, age, left, things } in holds {
            let passed = left.map_or(Duration::ZERO, |left| hold.saturating_sub(Duration::from_secs(left)));
            let gone = Some(now.checked_sub(passed).unwrap_or(now));
            let hold = HostHold { namespace, age, gone };
            read.0.entry(resource).or_default().extend(things.into_iter().map(|text| (text, hold.clone())));
        }
        Ok(read)
    }
}

/// The most that one of several may take, so that all together take no more than `most`.
fn share(mut takes: Vec<usize>, most: usize) -> usize {
    takes.sort_unstable();
    let mut rest = most;
    let count = takes.len();
    for (number, take) in takes.into_iter().enumerate() {
        let fair = rest / (count - number);
        if take > fair {
            return fair;
        }
        rest -= take;
    }
    most
}

/// `before`, the store until now, with this record as its only object.
#[must_use]
pub fn store(mut before: Snapshot, record: &str) -> Snapshot {
    let object = Object::new(ObjectRef::new(STORE, "", STORE), record.as_bytes());
    before.apply(object, [STORE.into()].into());
    before.set_synced();
    before
}

/// The record in the store.
#[must_use]
pub fn record_in(store: &Snapshot) -> Option<&Arc<Object>> {
    store.get("", STORE)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOLD: Duration = Duration::from_secs(600);

    fn of(namespace: &str, gone: Option<Instant>) -> HostHold {
        HostHold { namespace: namespace.into(), age: Some("2026-01-01T00:00:00Z".into()), gone }
    }

    fn holds(all: impl IntoIterator<Item = (String, HostHold)>) -> HostHolds {
        let held = all.into_iter().map(|(text, hold)| (Arc::from(text), hold)).collect();
        HostHolds([("ingresses".into(), held)].into())
    }

    #[test]
    fn what_is_left_of_the_time_goes_on_where_the_record_is_read() {
        let (written, read) = (Instant::now(), Instant::now() + 5 * HOLD);
        let lost = written.checked_sub(Duration::from_secs(200)).unwrap();
        let before = holds([("a".to_owned(), of("shop", Some(lost))), ("b".to_owned(), of("shop", None))]);
        let record = before.record(HOLD, written, 10_000);
        let after = HostHolds::read(record.as_bytes(), HOLD, read).unwrap();
        let held = &after.0["ingresses"];
        assert_eq!(held["a"], of("shop", Some(read.checked_sub(Duration::from_secs(200)).unwrap())));
        assert_eq!(held["b"], of("shop", Some(read)), "the whole time, for its objects may be gone by now");
        assert!(before.is_counting() && !holds([("b".to_owned(), of("shop", None))]).is_counting());
    }

    #[test]
    fn a_shorter_or_longer_hold_than_the_record_was_written_with_takes_nothing_away() {
        let now = Instant::now();
        let record = holds([("a".to_owned(), of("shop", Some(now)))]).record(HOLD, now, 10_000);
        let shorter = HostHolds::read(record.as_bytes(), Duration::from_secs(60), now).unwrap();
        assert_eq!(shorter.0["ingresses"]["a"].gone, Some(now));
    }

    #[test]
    fn of_what_is_too_much_the_namespace_that_has_most_loses_what_it_lost_longest_ago() {
        let now = Instant::now();
        let long_ago = |seconds| now.checked_sub(Duration::from_secs(seconds));
        let flood = (0..500).map(|n| (format!("flood{n:03}"), of("flood", long_ago(n))));
        let few = (0..5).map(|n| (format!("few{n}"), of("few", long_ago(599))));
        let record = holds(flood.chain(few)).record(HOLD, now, 20_000);
        assert!(record.len() <= 20_000 && record.len() > 8_000, "{}", record.len());
        let read = HostHolds::read(record.as_bytes(), HOLD, now).unwrap();
        let kept: Vec<&str> = read.0["ingresses"].keys().map(|text| &**text).collect();
        assert_eq!(kept.iter().filter(|text| text.starts_with("few")).count(), 5);
        let flood: Vec<&&str> = kept.iter().filter(|text| text.starts_with("flood")).collect();
        assert!(flood.len() > 50 && *flood[0] == "flood000" && !kept.contains(&"flood499"));
    }

    #[test]
    fn what_is_no_record_is_told_and_what_a_later_revision_says_besides_is_passed_over() {
        let now = Instant::now();
        for wrong in ["", "{", "3", r#"{"holds": [{"namespace": 1}]}"#] {
            assert!(HostHolds::read(wrong.as_bytes(), HOLD, now).is_err(), "{wrong}");
        }
        let later =
            r#"{"more": 1, "holds": [{"resource": "r", "namespace": "n", "things": ["x"], "new": true}]}"#;
        let read = HostHolds::read(later.as_bytes(), HOLD, now).unwrap();
        assert_eq!(read.0["r"]["x"].age, None);
        assert!(HostHolds::read(b"{}", HOLD, now).unwrap().is_empty());
    }

    #[test]
    fn the_store_has_the_newest_record() {
        let first = store(Snapshot::full(), "{}");
        assert!(first.is_synced() && store(first.clone(), "{}").is_unchanged_since(&first));
        let second = store(first, r#"{"holds": []}"#);
        assert_eq!(&*record_in(&second).unwrap().json.bytes(), br#"{"holds": []}"#);
    }
}
