//! What a store does not take, and what it takes when there is room again.

use super::*;
use crate::quota::OVERHEAD;
use haptic_model::Object;

const KIB: usize = 1 << 10;
const FOUR: StoreLimits = StoreLimits {
    object_bytes: 4 * KIB,
    objects_per_namespace: 4,
    store_bytes: 64 * KIB,
    watched_bytes: None,
};

fn object(namespace: &str, name: &str, created: i64) -> Ingested {
    sized(namespace, name, created, 10)
}

fn sized(namespace: &str, name: &str, created: i64, bytes: usize) -> Ingested {
    Ingested {
        object: Object::new(reference(namespace, name), vec![b'x'; bytes]),
        key: [Arc::from(namespace), Arc::from(name)].into(),
        stamp: "".into(),
        created,
        takes: bytes + OVERHEAD,
    }
}

fn reference(namespace: &str, name: &str) -> Arc<ObjectRef> {
    Arc::new(ObjectRef::new("ingresses", namespace, name))
}

fn too_large(name: &str) -> Update {
    let oversized = Oversized {
        object: reference("shop", name),
        api_version: "v1".into(),
        kind: "Ingress".into(),
        uid: "u".into(),
        bytes: 5 * KIB,
        limit: FOUR.object_bytes,
        replaced: false,
    };
    Update::Oversized("".into(), Arc::new(oversized))
}

fn put(writer: &mut StoreWriter, namespace: &str, name: &str, created: i64) {
    writer.apply(Update::Put("".into(), object(namespace, name, created)));
}

fn gone(writer: &mut StoreWriter, namespace: &str, name: &str) {
    writer.apply(Update::Gone("".into(), reference(namespace, name)));
}

fn list(writer: &mut StoreWriter, objects: &[(&str, &str, i64)]) {
    writer.apply(Update::ListBegun("".into()));
    for (namespace, name, created) in objects {
        writer.apply(Update::Listed("".into(), object(namespace, name, *created)));
    }
    writer.apply(Update::ListEnded("".into()));
}

fn listed(base: Snapshot, objects: &[(&str, &str, i64)]) -> StoreWriter {
    let mut writer = StoreWriter::new(base, FOUR);
    writer.apply(Update::Scopes([ListScope::from("")].into()));
    list(&mut writer, objects);
    writer
}

fn names(writer: &StoreWriter) -> String {
    let names = writer.snapshot().iter().map(|object| object.reference.name.to_string());
    names.collect::<Vec<_>>().join(" ")
}

fn rejected(writer: &StoreWriter) -> [usize; 4] {
    writer.rejected().unwrap().counts().map(|(_, count)| count)
}

const JUNK: [(&str, &str, i64); 6] = [
    ("junk", "a", 6),
    ("junk", "b", 5),
    ("junk", "c", 4),
    ("junk", "d", 3),
    ("junk", "e", 2),
    ("junk", "f", 1),
];

#[test]
fn of_too_many_in_a_namespace_the_oldest_are_in_and_other_namespaces_do_not_notice() {
    let mut writer = listed(Snapshot::full(), &JUNK);
    assert_eq!((names(&writer).as_str(), rejected(&writer)), ("c d e f", [0, 2, 0, 0]));
    writer.take_changes();
    put(&mut writer, "junk", "late", 9);
    put(&mut writer, "junk", "a", 6);
    assert_eq!(writer.take_changes(), None, "who is left out changes nothing");
    put(&mut writer, "shop", "x", 99);
    put(&mut writer, "junk", "c", 4);
    assert_eq!((names(&writer).as_str(), rejected(&writer)), ("c d e f x", [0, 3, 0, 0]));
    assert!(writer.wanting().is_empty());
}

#[test]
fn a_restarted_watch_and_a_new_one_hold_the_same() {
    let writer = listed(Snapshot::full(), &JUNK);
    let mut backwards = JUNK;
    backwards.reverse();
    assert_eq!(names(&listed(writer.snapshot().clone(), &backwards)), names(&writer));
    assert_eq!(names(&listed(Snapshot::full(), &backwards)), names(&writer));
}

#[test]
fn a_store_that_goes_on_with_lower_limits_gives_up_what_is_beyond_them() {
    let mut many = Snapshot::full();
    for (number, name) in ["a", "b", "c", "d", "e", "f"].into_iter().enumerate() {
        let json = format!(r#"{{"metadata":{{"creationTimestamp":"2026-01-0{}T00:00:00Z"}}}}"#, 9 - number);
        many.apply(Object::new(reference("junk", name), json.into_bytes()), [].into());
    }
    assert_eq!(names(&StoreWriter::new(many, FOUR)), "c d e f");
}

#[test]
fn a_place_that_is_free_is_asked_for_once_and_taken_by_the_oldest_of_those_left_out() {
    let mut writer = listed(Snapshot::full(), &JUNK);
    gone(&mut writer, "junk", "a");
    assert!(writer.wanting().is_empty(), "it was not in");
    gone(&mut writer, "junk", "e");
    assert_eq!(writer.wanting(), [ListScope::from("junk")].into());
    writer.apply(Update::OfferBegun("junk".into()));
    assert!(writer.wanting().is_empty() && writer.rejected().is_none());
    for (name, created) in [("b", 5), ("c", 4), ("d", 3), ("f", 1)] {
        writer.apply(Update::Offered("junk".into(), object("junk", name, created)));
    }
    writer.apply(Update::OfferEnded("junk".into()));
    assert_eq!((names(&writer).as_str(), rejected(&writer)), ("b c d f", [0, 0, 0, 0]));
    assert!(writer.wanting().is_empty());
}

#[test]
fn what_the_watch_told_during_an_offer_is_as_it_told() {
    let mut writer = listed(Snapshot::full(), &JUNK);
    gone(&mut writer, "junk", "f");
    writer.apply(Update::OfferBegun("junk".into()));
    gone(&mut writer, "junk", "b");
    put(&mut writer, "junk", "new", 7);
    writer.apply(Update::Offered("junk".into(), object("junk", "b", 5)));
    writer.apply(Update::Offered("junk".into(), sized("junk", "new", 7, 99)));
    writer.apply(Update::OfferEnded("junk".into()));
    assert_eq!(names(&writer), "c d e new");
    assert_eq!(writer.snapshot().get("junk", "new").unwrap().json.len(), 10);
    writer.apply(Update::Scopes([ListScope::from("shop")].into()));
    writer.apply(Update::OfferBegun("junk".into()));
    writer.apply(Update::Offered("junk".into(), object("junk", "c", 4)));
    writer.apply(Update::OfferEnded("junk".into()));
    assert_eq!(names(&writer), "", "a namespace that is not watched any more");
}

#[test]
fn an_object_that_is_too_large_is_left_out_and_one_that_becomes_so_stays_as_it_was() {
    let mut writer = listed(Snapshot::full(), &[("shop", "small", 1)]);
    writer.take_changes();
    writer.apply(too_large("small"));
    writer.apply(too_large("big"));
    assert_eq!((names(&writer).as_str(), rejected(&writer)), ("small", [2, 0, 0, 0]));
    assert_eq!(writer.take_changes(), None);
    let replaced: Vec<bool> = writer.rejected().unwrap().oversized.iter().map(|o| o.replaced).collect();
    assert_eq!(replaced, [false, true], "big, small");
    // The next list says the same.
    writer.apply(Update::ListBegun("".into()));
    writer.apply(too_large("small"));
    writer.apply(Update::ListEnded("".into()));
    assert_eq!((names(&writer).as_str(), rejected(&writer)), ("small", [1, 0, 0, 0]));
    put(&mut writer, "shop", "small", 1);
    assert_eq!((rejected(&writer), writer.snapshot().len()), ([0, 0, 0, 0], 1));
}

#[test]
fn a_full_store_gives_up_the_newest_of_whoever_takes_most() {
    let limits = StoreLimits { objects_per_namespace: 100, ..FOUR };
    let mut writer = StoreWriter::new(Snapshot::full(), limits);
    writer.apply(Update::Scopes([ListScope::from("")].into()));
    list(&mut writer, &[]);
    for number in 0..40 {
        writer.apply(Update::Put("".into(), sized("junk", &format!("{number:02}"), number, 3 * KIB)));
    }
    assert_eq!((writer.snapshot().len(), rejected(&writer)), (16, [0, 0, 24, 0]));
    for number in 0..4 {
        writer.apply(Update::Put("".into(), sized("shop", &format!("s{number}"), 100 + number, 3 * KIB)));
    }
    assert_eq!((writer.snapshot().len(), rejected(&writer)), (16, [0, 0, 28, 0]));
    assert!(names(&writer).ends_with("10 11 s0 s1 s2 s3"), "{}", names(&writer));
}

#[test]
fn thousands_of_objects_of_one_namespace_never_take_more_memory_than_it_may() {
    let limits = StoreLimits { objects_per_namespace: 1000, ..StoreLimits::default() };
    let mut writer = StoreWriter::new(Snapshot::full(), limits);
    writer.apply(Update::Scopes([ListScope::from("")].into()));
    writer.apply(Update::ListBegun("".into()));
    let mut most = (0, 0);
    for number in 0..10_000_i64 {
        // The newest first: each displaces another.
        writer.apply(Update::Listed("".into(), object("junk", &number.to_string(), -number)));
        let seen = writer.first.as_ref().map_or(0, |first| first.seen.len());
        let named = writer.lists.values().map(HashSet::len).sum::<usize>();
        most = (most.0.max(writer.snapshot().len()), most.1.max(seen + named));
    }
    writer.apply(Update::Listed("".into(), object("shop", "x", 1)));
    writer.apply(Update::ListEnded("".into()));
    assert_eq!((most, writer.snapshot().len()), ((1000, 2000), 1001));
    assert_eq!(rejected(&writer), [0, 9000, 0, 0]);
    assert!(names(&writer).starts_with("9000 9001 "));
}
