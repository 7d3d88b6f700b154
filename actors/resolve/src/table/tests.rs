//! Times to live, failures, negative answers, and who is asked for when there are many.

use super::*;
use proptest::prelude::*;

const NAME: &str = "shop.example";

fn names(names: impl IntoIterator<Item = impl AsRef<str>>) -> Vec<Arc<str>> {
    names.into_iter().map(|name| name.as_ref().into()).collect()
}

fn table(now: Instant) -> NameTable {
    let mut table = NameTable::default();
    table.want(&names([NAME]), now);
    table
}

fn found(address: &str, seconds: u64) -> LookupResponse {
    LookupResponse::Addresses(vec![address.parse().unwrap()], Duration::from_secs(seconds))
}

fn failure() -> LookupResponse {
    LookupResponse::Failure("nobody answers".into())
}

fn addresses(table: &NameTable) -> Vec<String> {
    table.known().get(NAME).into_iter().flat_map(|known| &known.addresses).map(ToString::to_string).collect()
}

fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

#[test]
fn an_answer_is_good_for_its_time_to_live_within_bounds() {
    for (lives, good_for) in [(0, 5), (4, 5), (30, 30), (300, 300), (86_400, 300)] {
        let now = Instant::now();
        let mut table = table(now);
        assert_eq!(table.take_due(now), [NAME.into()]);
        assert!(table.take_due(now).is_empty(), "it is under way");
        assert!(!table.is_whole() && table.record(NAME, found("10.0.0.1", lives), now) && table.is_whole());
        assert_eq!(table.next_due(now), Some(now + seconds(good_for)));
        assert!(table.take_due(now + seconds(good_for) - Duration::from_millis(1)).is_empty());
        assert_eq!(table.take_due(now + seconds(good_for)), [NAME.into()]);
    }
}

#[test]
fn addresses_are_sorted_each_once_and_bounded() {
    let now = Instant::now();
    let mut table = table(now);
    let many = (0..100_u8).rev().chain(0..100).map(|last| IpAddr::from([10, 0, 0, last])).collect();
    table.record(NAME, LookupResponse::Addresses(many, seconds(60)), now);
    let known = addresses(&table);
    assert_eq!((known.len(), &*known[0], &*known[31]), (ADDRESSES, "10.0.0.0", "10.0.0.31"));
    let again = (0..100_u8).map(|last| IpAddr::from([10, 0, 0, last])).collect();
    assert!(
        !table.record(NAME, LookupResponse::Addresses(again, seconds(60)), now),
        "the same in another order is no change"
    );
}

#[test]
fn while_nobody_answers_the_last_answer_stays() {
    let mut now = Instant::now();
    let mut table = table(now);
    table.record(NAME, found("10.0.0.1", 5), now);
    for _ in 0..1000 {
        now = table.next_due(now).unwrap();
        table.take_due(now);
        assert!(!table.record(NAME, failure(), now));
        assert!(table.next_due(now).unwrap() - now <= seconds(80));
    }
    assert_eq!(addresses(&table), ["10.0.0.1"]);
    assert!(table.record(NAME, found("10.0.0.2", 5), now));
    assert_eq!(addresses(&table), ["10.0.0.2"]);
}

#[test]
fn that_there_is_nothing_must_be_so_for_a_while() {
    let now = Instant::now();
    let mut table = table(now);
    table.record(NAME, found("10.0.0.1", 5), now);
    assert!(!table.record(NAME, LookupResponse::Nothing, now + seconds(5)));
    assert!(!table.record(NAME, LookupResponse::Nothing, now + seconds(34)));
    // A failure in between says nothing of it, so the time begins anew.
    assert!(!table.record(NAME, failure(), now + seconds(34)));
    assert!(!table.record(NAME, LookupResponse::Nothing, now + seconds(36)));
    assert!(table.record(NAME, LookupResponse::Nothing, now + seconds(66)));
    assert!(addresses(&table).is_empty() && table.known()[NAME].why.contains("does not exist"));
}

#[test]
fn a_name_without_an_answer_has_a_reason_and_is_asked_for_less_and_less_often() {
    let mut now = Instant::now();
    let mut table = table(now);
    assert!(table.record(NAME, failure(), now));
    assert_eq!(table.known()[NAME].why, "nobody answers");
    let mut pauses = Vec::new();
    for _ in 0..6 {
        let due = table.next_due(now).unwrap();
        pauses.push((due - now).as_secs());
        now = due;
        table.record(NAME, LookupResponse::Nothing, now);
    }
    assert_eq!(pauses, [5, 10, 20, 40, 80, 80]);
}

#[test]
fn names_that_nobody_answers_for_leave_room_for_others() {
    let now = Instant::now();
    let mut table = NameTable::default();
    let good = names((0..100).map(|n| format!("good{n:03}.example")));
    let bad = names((0..1000).map(|n| format!("bad{n}.example")));
    table.want(&good, now);
    for name in &good {
        table.record(name, found("10.0.0.1", 5), now);
    }
    table.want(&[bad, good.clone()].concat(), now);
    let first = table.take_due(now);
    assert_eq!(first.len(), DOUBTFUL_AT_ONCE, "nothing else is due");
    let later = table.take_due(now + seconds(5));
    assert_eq!(later.len(), AT_ONCE - DOUBTFUL_AT_ONCE);
    assert!(later.iter().all(|name| good.contains(name)), "{later:?}");
    assert!(
        first.contains(&"bad0.example".into()) && !first.contains(&"bad999.example".into()),
        "the first ones first"
    );
    // One that was never asked for comes before those that failed.
    for name in &first {
        table.record(name, failure(), now);
    }
    assert!(table.take_due(now + seconds(90)).iter().all(|name| !first.contains(name)));
}

#[test]
fn what_is_not_wanted_any_more_is_forgotten_also_while_it_is_asked_for() {
    let now = Instant::now();
    let mut table = table(now);
    table.take_due(now);
    table.want(&[], now);
    assert!(!table.record(NAME, found("10.0.0.1", 5), now));
    assert!(table.known().is_empty() && table.next_due(now).is_none() && table.is_whole());
}

#[test]
fn what_is_remembered_stands_until_there_is_another_answer() {
    let now = Instant::now();
    let known: ExternalNames =
        [(NAME.into(), Resolved { addresses: vec!["10.0.0.1".parse().unwrap()], why: String::new() })].into();
    let mut table = NameTable::remembering(known);
    table.want(&names([NAME]), now);
    assert_eq!(table.take_due(now), [NAME.into()]);
    assert!(!table.record(NAME, failure(), now));
    assert_eq!(addresses(&table), ["10.0.0.1"]);
}

proptest! {
    /// Whatever comes in whatever order: an address that is known was in the last answer that had any, and a name that
    /// was asked for is due again in a bounded time.
    #[test]
    fn what_is_known_is_what_was_answered_last(steps in prop::collection::vec((0..4_u8, 0..400_u64), 1..60)) {
        let mut now = Instant::now();
        let mut table = table(now);
        let mut last: Option<String> = None;
        for (number, (kind, pause)) in steps.into_iter().enumerate() {
            now += seconds(pause);
            let address = format!("10.0.{kind}.{number}");
            let answer = match kind {
                0 => LookupResponse::Nothing,
                1 => failure(),
                _ => { last = Some(address.clone()); found(&address, pause) }
            };
            table.record(NAME, answer, now);
            let known = addresses(&table);
            prop_assert!(known.is_empty() || Some(&known[0]) == last.as_ref());
            prop_assert!(kind < 2 || !known.is_empty());
            let due = table.next_due(now).unwrap();
            prop_assert!(due >= now + SHORTEST && due <= now + LONGEST);
        }
    }
}
