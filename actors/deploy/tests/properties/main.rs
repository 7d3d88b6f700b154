//! For random bundles A and B: what the planned operations make of a HAProxy that runs A is what a HAProxy that starts
//! with B has and answers. A bundle follows on another one several times, so what operations leave behind counts too.
//!
//! `HAPTIC_CASES` says how many pairs are tried on each version, `HAPTIC_SEED` which ones.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a test, which tells how many pairs it tried"
)]

mod changes;
mod dice;
#[path = "../running/mod.rs"]
mod running;
mod seen;
#[path = "../tls/mod.rs"]
mod tls;
mod upstream;
mod world;

use dice::Dice;
use haptic_deploy::{RunningView, Verdict, plan};
use haptic_model::{Bundle, Capabilities, FileKind, HaproxyVersion};
use running::Haproxy;
use seen::{Facts, Sight};

/// Pairs that are tried when nothing else is said.
const CASES: usize = 200;
/// Pairs until a new beginning.
const STEPS: usize = 20;

#[test]
fn haproxy_3_0_ends_as_if_started_anew() {
    check("HAPTIC_HAPROXY_3_0", HaproxyVersion::new(3, 0));
}

#[test]
fn haproxy_3_2_ends_as_if_started_anew() {
    check("HAPTIC_HAPROXY_3_2", HaproxyVersion::new(3, 2));
}

#[test]
fn haproxy_3_4_ends_as_if_started_anew() {
    check("HAPTIC_HAPROXY_3_4", HaproxyVersion::new(3, 4));
}

/// How many pairs ended which way.
#[derive(Debug, Default)]
struct Count {
    nothing: usize,
    at_run_time: usize,
    reloads: usize,
    /// What was found wrong.
    faults: Vec<String>,
}

fn check(variable: &str, version: HaproxyVersion) {
    let Ok(binary) = std::env::var(variable) else {
        panic!("{variable} must be the path of a HAProxy {version}: run this test through `make test`");
    };
    let (cases, seed) = (number("HAPTIC_CASES", CASES), number("HAPTIC_SEED", 0));
    let mut count = Count::default();
    for history in 0..cases.div_ceil(STEPS) {
        let seed = u64::try_from(seed + history).unwrap();
        walk(&binary, version, seed, &mut count);
    }
    let Count { nothing, at_run_time, reloads, faults } = count;
    println!(
        "HAProxy {version}: {at_run_time} at run time, {nothing} with nothing to do, {reloads} by a reload"
    );
    let shown: Vec<&str> = faults.iter().take(3).map(String::as_str).collect();
    assert!(faults.is_empty(), "{} of {cases} pairs end otherwise:\n{}", faults.len(), shown.join("\n\n"));
    assert!(at_run_time * 3 >= cases, "only {at_run_time} of {cases} pairs are changed at run time");
}

fn number(variable: &str, otherwise: usize) -> usize {
    let Ok(text) = std::env::var(variable) else { return otherwise };
    text.parse().unwrap_or_else(|_| panic!("{variable}={text} is not a number"))
}

/// One history of bundles on one HAProxy, which starts anew only where the plan says so.
fn walk(binary: &str, version: HaproxyVersion, seed: u64, count: &mut Count) {
    let mut dice = Dice::new(seed);
    let mut old = changes::world(&mut dice);
    let mut running = Haproxy::start(binary, &old.bundle());
    for step in 0..STEPS {
        let new = changes::changed(&old, &mut dice);
        let (from, to) = (old.bundle(), new.bundle());
        let plan = plan(&RunningView::of(from.clone()), &to, Capabilities::of(version));
        let fresh = Haproxy::start(binary, &to);
        let after = match &plan.verdict {
            Verdict::Reload { .. } => {
                count.reloads += 1;
                None
            }
            verdict => {
                let operations = verdict.operations();
                *(if operations.is_empty() { &mut count.nothing } else { &mut count.at_run_time }) += 1;
                let carried_out =
                    operations.iter().try_for_each(|operation| running.carry_out(operation, &to));
                let touches_tls = operations.iter().any(|operation| operation.to_string().contains("ssl"));
                let sight = Sight { world: &new, version, with_tls: touches_tls || step.is_multiple_of(5) };
                let fault = carried_out.err().or_else(|| difference(sight.of_both(&running, &fresh)));
                let list: String = operations.iter().map(|operation| format!("  {operation}\n")).collect();
                fault.map(|fault| format!("{fault}\nby\n{list}"))
            }
        };
        if let Some(fault) = &after {
            let what = format!("HAProxy {version}, HAPTIC_SEED={seed}, step {step}");
            // Said at once: a long run may be ended before its end.
            println!("{what}: {fault}");
            count.faults.push(format!("{what}: {fault}from and to\n{}", show(&from, &to)));
        }
        if after.is_some() || matches!(plan.verdict, Verdict::Reload { .. }) {
            running = fresh;
        }
        old = new;
    }
}

/// What only one of two HAProxys has.
fn difference((after, expected): (Facts, Facts)) -> Option<String> {
    let only = |one: &Facts, other: &Facts| -> String {
        one.difference(other).map(|fact| format!("  {fact}\n")).collect()
    };
    (after != expected).then(|| {
        let (more, less) = (only(&after, &expected), only(&expected, &after));
        format!("only after the operations:\n{more}only after a start:\n{less}")
    })
}

/// The lines that differ between two bundles.
fn show(old: &Bundle, new: &Bundle) -> String {
    let lines = |bundle: &Bundle| -> Vec<String> {
        let files = bundle.all().filter(|file| file.key.kind != FileKind::Certificate);
        files
            .flat_map(|file| {
                let text = file.text.to_string();
                let mut section = String::new();
                let lines = text.lines().map(|line| {
                    if !line.starts_with([' ', '\t']) {
                        section = line.to_owned();
                    }
                    format!("{} {section} | {line}", file.path)
                });
                lines.collect::<Vec<_>>()
            })
            .collect()
    };
    let (old, new) = (lines(old), lines(new));
    let only = |sign: &str, one: &[String], other: &[String]| -> String {
        one.iter().filter(|line| !other.contains(line)).map(|line| format!("{sign} {line}\n")).collect()
    };
    format!("\n{}{}", only("-", &old, &new), only("+", &new, &old))
}
