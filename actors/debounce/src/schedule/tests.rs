//! The schedule against a simulated world: changes at random times, reconciles of random cost, virtual time.

use proptest::prelude::*;

use super::*;

/// One reconcile of the simulation.
#[derive(Clone, Copy, Debug)]
struct Run {
    start: Instant,
    end: Instant,
    /// The pace in force when it started.
    intervals: Intervals,
}

/// Plays `changes` against a schedule whose reconciles cost what `costs` says, until nothing is left to do.
fn play(changes: &[Instant], costs: &[Duration], opens: Instant) -> Vec<Run> {
    let mut schedule = Schedule::new(Intervals::default());
    let mut runs: Vec<Run> = Vec::new();
    let mut costs = costs.iter().copied().cycle();
    let mut changes = changes.iter().copied().peekable();
    let mut opening = Some(opens);
    let mut running: Option<Run> = None;
    let mut now = opens.min(changes.peek().copied().unwrap_or(opens));
    loop {
        if let Some(run) = running.filter(|run| run.end <= now) {
            schedule.finished(now, run.end - run.start);
            runs.push(run);
            running = None;
        }
        while changes.next_if(|at| *at <= now).is_some() {
            schedule.changed(now);
        }
        if opening.take_if(|at| *at <= now).is_some() {
            schedule.set_open(true, now);
        }
        let mut due = None;
        match schedule.next(now) {
            ScheduleAction::Now => {
                assert!(running.is_none(), "two reconciles at once");
                assert!(now >= opens, "a reconcile before the gate opened");
                let cost = costs.next().unwrap_or_default();
                running = Some(Run { start: now, end: now + cost, intervals: schedule.intervals() });
                schedule.started();
                continue;
            }
            ScheduleAction::At(at) => {
                assert!(at > now);
                due = Some(at);
            }
            ScheduleAction::Nothing | ScheduleAction::Idle => {}
        }
        let end = running.map(|run| run.end);
        match [changes.peek().copied(), end, opening, due].into_iter().flatten().min() {
            Some(next) => now = next,
            None => return runs,
        }
    }
}

fn instants(epoch: Instant, gaps_in_micros: &[u64]) -> Vec<Instant> {
    let mut at = epoch;
    gaps_in_micros
        .iter()
        .map(|gap| {
            at += Duration::from_micros(*gap);
            at
        })
        .collect()
}

fn gaps() -> impl Strategy<Value = Vec<u64>> {
    let gap = prop_oneof![3 => 0..500u64, 2 => 0..10_000u64, 1 => 0..400_000u64];
    prop::collection::vec(gap, 1..300)
}

fn costs() -> impl Strategy<Value = Vec<Duration>> {
    let micros = prop_oneof![0..5_000u64, 0..100_000u64, 0..30_000_000u64];
    prop::collection::vec(micros.prop_map(Duration::from_micros), 1..20)
}

proptest! {
    #[test]
    fn every_change_is_covered_by_a_later_reconcile_within_the_bound(
        gaps in gaps(), costs in costs(), opens in 0..2_000_000u64
    ) {
        let epoch = Instant::now();
        let opens = epoch + Duration::from_micros(opens);
        let changes = instants(epoch, &gaps);
        let runs = play(&changes, &costs, opens);
        for change in changes {
            let index = runs.iter().position(|run| run.start >= change);
            let index = index.ok_or_else(|| TestCaseError::fail("a change no reconcile covers"))?;
            let before = index.checked_sub(1).map(|before| runs[before].end);
            // Free to start: the gate is open and the reconcile before has ended.
            let free = before.map_or(opens, |end| end.max(opens));
            let bound = free.max(change + runs[index].intervals.max_wait);
            prop_assert!(runs[index].start <= bound, "{:?} late", runs[index].start - bound);
        }
    }

    #[test]
    fn reconciles_never_overlap_and_each_has_a_reason(gaps in gaps(), costs in costs()) {
        let epoch = Instant::now();
        let changes = instants(epoch, &gaps);
        let runs = play(&changes, &costs, epoch);
        prop_assert!(runs.iter().zip(runs.iter().skip(1)).all(|(one, next)| one.end <= next.start));
        prop_assert!(runs.len() <= changes.len() + 1, "the opening and each change make one at most");
    }

    #[test]
    fn an_isolated_change_starts_a_reconcile_at_once(gaps in gaps(), costs in costs()) {
        let epoch = Instant::now();
        let changes = instants(epoch, &gaps);
        let runs = play(&changes, &costs, epoch);
        for (index, change) in changes.iter().enumerate() {
            let last_change = index.checked_sub(1).map_or(epoch, |before| changes[before]);
            let ended: Vec<_> = runs.iter().take_while(|run| run.end <= *change).collect();
            let idle = runs.get(ended.len()).is_none_or(|run| run.start >= *change);
            let last_end = ended.last().map_or(epoch, |run| run.end);
            let cost = ended.last().map_or(Duration::ZERO, |run| run.end - run.start);
            let quiet = Intervals::default().after(cost).quiet;
            if idle && *change - last_change.max(last_end) >= quiet {
                prop_assert!(runs.iter().any(|run| run.start == *change), "change {index} waited");
            }
        }
    }
}

#[test]
fn a_slow_stream_of_isolated_changes_is_never_delayed() {
    let epoch = Instant::now();
    let changes = instants(epoch, &[100_000; 50]);
    let runs = play(&changes, &[Duration::from_millis(10)], epoch);
    assert!(changes.iter().all(|change| runs.iter().any(|run| run.start == *change)));
}

#[test]
fn a_change_at_the_end_of_the_quiet_time_of_another_does_not_put_both_off() {
    let epoch = Instant::now();
    let changes = instants(epoch, &[3_000, 3_000, 3_000, 3_698, 5_000]);
    let runs = play(&changes, &[Duration::ZERO], epoch);
    assert_eq!(runs.last().map(|run| run.start), Some(changes[4]));
    assert_eq!(runs.len(), 5, "the opening, three that follow it, and both of these at once");
}

#[test]
fn the_three_that_follow_an_isolated_change_hardly_wait_and_a_stream_does() {
    let epoch = Instant::now();
    let changes = instants(epoch, &[100_000, 3_500, 3_500, 3_500, 3_500, 3_500, 50_000, 4_000]);
    let runs = play(&changes, &[Duration::from_millis(2)], epoch);
    let waited = |change: &Instant| {
        let run = runs.iter().find(|run| run.start >= *change);
        (run.unwrap().start - *change).as_micros()
    };
    assert_eq!(
        changes.iter().map(waited).collect::<Vec<_>>(),
        [0, 1_000, 1_000, 1_000, 8_500, 5_000, 0, 1_000]
    );
}

#[test]
fn what_follows_a_dear_reconcile_waits_as_a_stream_does() {
    let epoch = Instant::now();
    let changes = instants(epoch, &[100_000, 12_000]);
    let runs = play(&changes, &[Duration::from_millis(10)], epoch);
    assert_eq!(runs.last().map(|run| run.start - changes[1]), Some(Duration::from_millis(5)));
}

#[test]
fn a_ceaseless_stream_cannot_put_a_reconcile_off() {
    let epoch = Instant::now();
    let changes = instants(epoch, &[1_000; 1_000]);
    let runs = play(&changes, &[Duration::from_millis(1)], epoch);
    let rests = runs.iter().zip(runs.iter().skip(1)).map(|(one, next)| next.start - one.start);
    assert!(rests.max() <= Some(Duration::from_millis(53)), "{:?}", runs.len());
    assert!(runs.len() >= 18, "only {} reconciles in a second of changes", runs.len());
}

#[test]
fn slow_reconciles_under_a_storm_leave_half_of_the_time_free() {
    let epoch = Instant::now();
    let changes = instants(epoch, &[1_000; 20_000]);
    let runs = play(&changes, &[Duration::from_millis(500)], epoch);
    let busy: Duration = runs.iter().map(|run| run.end - run.start).sum();
    assert!(busy <= Duration::from_millis(10_600), "busy {busy:?} of 20 s");
    assert!(busy >= Duration::from_secs(8), "busy {busy:?}: changes wait too long");
}

#[test]
fn nothing_starts_while_the_gate_is_closed_and_opening_starts_at_once_even_without_changes() {
    let now = Instant::now();
    let mut schedule = Schedule::new(Intervals::default());
    schedule.changed(now);
    assert_eq!(schedule.next(now + Duration::from_secs(9)), ScheduleAction::Nothing);
    schedule.set_open(true, now + Duration::from_secs(9));
    assert_eq!(schedule.next(now + Duration::from_secs(9)), ScheduleAction::Now);

    let mut untouched = Schedule::new(Intervals::default());
    untouched.set_open(true, now);
    assert_eq!(untouched.next(now), ScheduleAction::Now);
    untouched.started();
    untouched.finished(now, Duration::ZERO);
    untouched.set_open(true, now);
    assert_eq!(untouched.next(now), ScheduleAction::Nothing, "an open gate is no change");
}

#[test]
fn a_new_pace_holds_for_changes_that_already_wait() {
    let now = Instant::now();
    let mut schedule =
        Schedule::new(Intervals { quiet: Duration::from_secs(60), max_wait: Duration::from_secs(60) });
    schedule.set_open(true, now);
    schedule.started();
    schedule.finished(now, Duration::ZERO);
    schedule.changed(now);
    assert_eq!(schedule.next(now), ScheduleAction::At(now + Duration::from_secs(60)));
    schedule.set_intervals(Intervals::default());
    assert_eq!(schedule.next(now), ScheduleAction::At(now + Duration::from_millis(5)));
}
