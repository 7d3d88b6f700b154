//! Objects that turn bad and good again faster than checks end starve nobody.

use crate::{NETS, SECOND, TEMPLATE, WORDS, judge, stages::Stages};
use haptic_render::Checked;
use std::time::Duration;

/// As of a large configuration.
const CHECK: Duration = Duration::from_secs(2);

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

/// What an attack cost the others, once its namespace was known.
#[derive(Debug, Default)]
struct Cost {
    /// Most checks of others' bundles that a change of somebody else waited for before its own.
    longest_wait: usize,
    checks: usize,
    passed: usize,
}

/// For so many generations, `attack` changes objects of namespace `evil`, and somebody else changes one of theirs. All time is the
/// checks' own.
fn cost(stages: &mut Stages, generations: usize, attack: impl Fn(&mut Stages, usize)) -> Cost {
    const UNKNOWN: usize = 4;
    let (mut cost, mut waited, mut refused) = (Cost::default(), 0, 0);
    for generation in 0..generations {
        attack(stages, generation);
        let word = format!("w{generation}");
        stages.put("ingresses", "honest", &word);
        let (passed, searched) = stages.turn(&judge);
        stages.pass(CHECK * (1 + searched as u32));
        refused += usize::from(!passed);
        if passed {
            assert!(stages.text().contains(&format!("description {word}\n")), "it is not the newest");
            waited = 0;
        } else if refused > UNKNOWN {
            waited += 1 + searched;
        }
        cost.longest_wait = cost.longest_wait.max(waited);
        if refused >= UNKNOWN {
            cost.checks += 1 + searched;
            cost.passed += usize::from(passed);
        }
        assert_eq!(stages.held_outside("evil"), Vec::<String>::new(), "generation {generation}");
    }
    cost
}

/// How long it takes until everything is in force, while nothing changes and checks are made without a break.
fn recovery(stages: &mut Stages) -> Duration {
    let mut took = Duration::ZERO;
    loop {
        let (passed, searched) = stages.turn(&judge);
        let time = CHECK * (1 + searched as u32);
        stages.pass(time);
        took += time;
        if passed && stages.held().is_empty() {
            return took;
        }
        assert!(took < 600 * SECOND, "{:?} are held back", stages.held());
    }
}

#[test]
fn an_attack_from_a_known_namespace_costs_others_a_few_checks_now_and_then_however_slow_checks_are() {
    type Attack = fn(&mut Stages, usize);
    let turning: [(&str, Attack); 4] = [
        ("all at once", |stages, generation| {
            for number in 0..60 {
                let word = format!("{generation} {}", WORDS[1 + (number + generation) % (WORDS.len() - 1)]);
                stages.put_in("evil", "ingresses", &format!("i{number}"), &word);
            }
        }),
        ("each another one, named", |stages, generation| {
            stages.put_in("evil", "ingresses", &format!("i{generation}"), &format!("{generation} named"));
        }),
        ("each another one", |stages, generation| {
            stages.put_in("evil", "ingresses", &format!("i{generation}"), &format!("{generation} unnamed"));
        }),
        ("what they read", |stages, generation| {
            for number in 0..20 {
                let name = format!("i{number:02}");
                let word = if number % 20 == generation % 20 { "unnamed" } else { "fine" };
                stages.put_in("evil", "services", &name, &format!("{generation} {word}"));
            }
        }),
    ];
    for (what, attack) in turning {
        let mut stages = Stages::new(TEMPLATE, NETS, Checked::Never);
        stages.check = CHECK;
        stages.put("ingresses", "honest", "first");
        (0..20).for_each(|number| stages.put_in("evil", "ingresses", &format!("i{number:02}"), "first"));
        stages.settle(judge);
        let cost = cost(&mut stages, 150, attack);
        assert!(cost.longest_wait <= 3, "{what}: {cost:?}");
        assert!(cost.passed * 2 >= cost.checks, "{what}: {cost:?}");
        for number in 0..150 {
            stages.put_in("evil", "services", &format!("i{number:02}"), "mended");
            stages.put_in("evil", "ingresses", &format!("i{number:02}"), "mended");
            stages.put_in("evil", "ingresses", &format!("i{number}"), "mended");
        }
        let took = recovery(&mut stages);
        println!("{what}: {cost:?}, mended within {took:?}");
        assert!(took <= 120 * SECOND, "{what}: {took:?}");
    }
}

#[test]
fn a_namespace_that_mended_its_ways_does_not_pay_for_another_one_that_did_not() {
    let mut stages = Stages::new(TEMPLATE, NETS, Checked::Never);
    stages.check = CHECK;
    for namespace in ["evil", "reformed"] {
        stages.put_in(namespace, "ingresses", "one", "first");
    }
    stages.settle(judge);
    let (mut late, mut since) = (0, 0);
    for generation in 0..80 {
        let kind = ["named", "unnamed"][generation % 2];
        let reformed =
            if generation < 4 { format!("{generation} {kind}") } else { format!("good{generation}") };
        stages.put_in("evil", "ingresses", "one", &format!("{generation} {kind}"));
        stages.put_in("evil", "ingresses", &format!("i{generation}"), &format!("{generation} {kind}"));
        stages.put_in("reformed", "ingresses", "one", &reformed);
        let (passed, searched) = stages.turn(&judge);
        stages.pass(CHECK * (1 + searched as u32));
        if generation < 40 {
            continue;
        }
        assert_eq!(stages.held_outside("evil"), Vec::<String>::new(), "generation {generation}");
        if passed {
            assert!(stages.text().contains(&format!("description {reformed}\n")), "it is not the newest");
            since = generation;
        }
        late = late.max(generation - since.max(40));
    }
    assert!(late <= 1, "{late} generations");
}
