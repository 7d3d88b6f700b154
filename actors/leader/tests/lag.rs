//! When a pod counts as behind: not while it moves, and not while it only has not had the time.
#![allow(clippy::unwrap_used, reason = "tests")]

mod validated;

use haptic_leader::report::health::{FleetHealth, LAG_TOLERATED, Lag};
use haptic_model::{Generation, HaproxyPod, pipeline::PodState};
use std::{collections::BTreeMap, time::Duration};
use tokio::time::Instant;
use validated::validated;

const SECOND: Duration = Duration::from_secs(1);

fn pods(states: &[(&str, Option<u64>, Option<&str>)]) -> BTreeMap<HaproxyPod, PodState> {
    let pod = |name: &str| HaproxyPod::at("n", name, ([10, 0, 0, 1], 5555));
    let state = |deployed: Option<u64>, error: Option<&str>| PodState {
        deployed: deployed.map(Generation),
        last_error: error.map(str::to_owned),
        ..PodState::default()
    };
    states.iter().map(|(name, deployed, error)| (pod(name), state(*deployed, *error))).collect()
}

#[test]
fn without_a_bundle_or_without_pods_that_is_what_is_said() {
    let mut lag = Lag::default();
    assert_eq!(lag.advance(None, &pods(&[]), Instant::now()), FleetHealth::NothingToDeploy);
    assert_eq!(lag.advance(Some(&validated(1)), &pods(&[]), Instant::now()), FleetHealth::NoPods);
}

#[test]
fn a_storm_of_generations_is_no_lag_as_long_as_pods_follow() {
    let (mut lag, start) = (Lag::default(), Instant::now());
    for second in 0..120 {
        let newest = validated(u64::from(second) * 50 + 50);
        let behind = pods(&[("a", Some(u64::from(second) * 50 + 49), None)]);
        assert_eq!(lag.advance(Some(&newest), &behind, start + SECOND * second), FleetHealth::Catching);
    }
}

#[test]
fn a_pod_that_does_not_move_is_behind_after_a_while_and_well_again_at_once() {
    let (mut lag, start, newest) = (Lag::default(), Instant::now(), validated(8));
    let stuck = pods(&[("a", Some(8), None), ("b", Some(7), Some("no connection"))]);
    assert_eq!(lag.advance(Some(&newest), &stuck, start), FleetHealth::Catching);
    assert_eq!(lag.advance(Some(&newest), &stuck, start + LAG_TOLERATED - SECOND), FleetHealth::Catching);
    let behind = lag.advance(Some(&newest), &stuck, start + LAG_TOLERATED);
    let said = FleetHealth::Behind { pods: vec!["n/b".into()], of: 2, why: Some("no connection".into()) };
    assert_eq!(behind, said);
    let well = pods(&[("a", Some(8), None), ("b", Some(8), None)]);
    assert_eq!(lag.advance(Some(&newest), &well, start + LAG_TOLERATED), FleetHealth::Deployed(2));
}

#[test]
fn a_pod_that_runs_the_bundle_already_is_not_behind() {
    let newest = validated(3);
    let mut states = pods(&[("a", None, None)]);
    let digest = newest.bundle().digest;
    for state in states.values_mut() {
        state.running = Some(haptic_model::agent_api::Running { digest, generation: Generation(99) });
    }
    assert_eq!(Lag::default().advance(Some(&newest), &states, Instant::now()), FleetHealth::Deployed(1));
}
