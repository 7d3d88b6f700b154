//! Thousands of elections against an adversary: never two leaders at once, and always one when there is peace again.
//!
//! Each schedule is drawn from its number, so a failure names the number that repeats it. What the API server, the
//! network and the processes may do is in [`world`].
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

mod world;

use world::{Fault, Rules, Violation, World};

const SCHEDULES: u64 = 2000;

fn run(rules: Rules, schedules: u64) -> Result<(), (u64, Violation)> {
    (0..schedules).try_for_each(|seed| World::new(seed, rules).run().map_err(|violation| (seed, violation)))
}

fn must_hold(rules: Rules) {
    if let Err((seed, violation)) = run(rules, SCHEDULES) {
        panic!("schedule {seed} of {rules:?}: {violation:?}");
    }
}

/// With this fault the same schedules must find two leaders, or they prove nothing.
fn must_break(fault: Fault, rules: Rules) {
    let found = run(Rules { fault: Some(fault), ..rules }, SCHEDULES);
    assert!(matches!(found, Err((_, Violation::TwoLeaders(..)))), "{fault:?} went unnoticed: {found:?}");
}

#[test]
fn lost_late_and_repeated_messages_frozen_processes_and_skewed_clocks_never_make_two_leaders() {
    must_hold(Rules::default());
}

#[test]
fn processes_that_die_and_start_anew_never_make_two_leaders() {
    must_hold(Rules { crashes: true, ..Rules::default() });
}

#[test]
fn a_lease_deleted_again_and_again_never_makes_two_leaders() {
    must_hold(Rules { deletions: true, ..Rules::default() });
}

#[test]
fn every_leadership_has_an_epoch_of_its_own_and_a_newer_one_than_those_before() {
    must_hold(Rules { crashes: true, deletions: true, only_epochs: true, ..Rules::default() });
}

#[test]
fn a_process_that_takes_a_living_one_for_dead_is_found() {
    must_break(Fault::LivingFormer, Rules { crashes: true, ..Rules::default() });
}

#[test]
fn writes_that_are_no_compare_and_swap_are_found() {
    must_break(Fault::BlindWrites, Rules::default());
}

#[test]
fn a_leader_that_does_not_fence_itself_is_found() {
    must_break(Fault::NoFence, Rules::default());
}

#[test]
fn a_candidate_that_trusts_a_fast_clock_instead_of_waiting_is_found() {
    must_break(Fault::Impatience, Rules::default());
}

#[test]
fn leading_at_once_by_a_lease_made_anew_is_found() {
    must_break(Fault::HastyCreation, Rules { deletions: true, ..Rules::default() });
}
