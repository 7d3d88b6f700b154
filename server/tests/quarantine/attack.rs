//! Objects that turn bad and good again faster than checks end starve nobody.

use crate::{NETS, TEMPLATE, WORDS, judge, stages::Stages};
use haptic_render::Checked;
use std::time::Duration;

const SECOND: Duration = Duration::from_secs(1);

/// For so many seconds, a generation each, `attack` changes objects of namespace `evil`, and somebody else changes one of theirs.
/// How many seconds the longest of those changes took until it was live.
fn longest_wait(seconds: usize, attack: impl Fn(&mut Stages, usize)) -> usize {
    let mut stages = Stages::new(TEMPLATE, NETS, Checked::Never);
    stages.put("ingresses", "honest", "first");
    stages.settle(judge);
    let (mut longest, mut waits_since) = (0, None);
    for second in 0..seconds {
        attack(&mut stages, second);
        let word = format!("w{second}");
        stages.put("ingresses", "honest", &word);
        let since = *waits_since.get_or_insert(second);
        let (passed, _) = stages.turn(&judge);
        longest = longest.max(second - since);
        if passed {
            assert!(
                stages.text().contains(&format!("description {word}\n")),
                "what passed is not the newest"
            );
            waits_since = None;
        }
        stages.pass(SECOND);
    }
    longest
}

#[test]
fn one_object_that_is_bad_in_another_way_each_second_delays_nobody_for_long() {
    let longest = longest_wait(120, |stages, second| {
        stages.put_in("evil", "ingresses", "one", &format!("{second} {}", ["named", "unnamed"][second % 2]));
    });
    assert!(longest <= 10, "{longest} s");
}

#[test]
fn thousands_of_objects_that_take_turns_delay_nobody_for_long() {
    for kind in ["named", "unnamed"] {
        let longest = longest_wait(120, |stages, second| {
            stages.put_in("evil", "ingresses", &format!("i{second}"), &format!("{second} {kind}"));
        });
        assert!(longest <= 12, "{longest} s with {kind}");
    }
}

#[test]
fn thousands_of_objects_that_turn_bad_and_good_all_at_once_delay_nobody_for_long() {
    let longest = longest_wait(30, |stages, second| {
        for number in 0..1000 {
            let word = WORDS[(number + second) % WORDS.len()];
            stages.put_in("evil", "ingresses", &format!("i{number}"), word);
        }
    });
    assert!(longest <= 12, "{longest} s");
}
