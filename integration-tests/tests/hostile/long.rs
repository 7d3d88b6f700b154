//! `make soak`: every worst case at a running controller and alone at a fresh start, then thousands that a seed makes: one by
//! one, a thousand at once in one namespace and in a thousand, and the controller killed in their midst. `ONLY=random` leaves
//! the worst cases out.

use crate::fast::chosen;
use integration_tests::{
    Outcome,
    hostile::{Bounds, Case, Options, Suite, around, random::Generator, worst},
    network::Block,
    program::HaproxySeries,
    runner,
};
use std::path::Path;

/// What random cases are asked for by.
const RANDOM: &str = "random";
/// At once.
const MANY: u64 = 1_000;
/// Ingresses of others beside so many.
const INNOCENT: u64 = 10_000;
/// One after the other, in groups of so many.
const GROUP: u64 = 20;

pub async fn run(dir: &Path, wanted: &[String]) -> Outcome<usize> {
    let number =
        |name: &str, otherwise| std::env::var(name).ok().and_then(|n| n.parse().ok()).unwrap_or(otherwise);
    let (seed, objects): (u64, u64) = (number("HAPTIC_SEED", 1), number("HAPTIC_OBJECTS", 10_000));
    let innocent = usize::try_from(number("HAPTIC_INNOCENT", 0))?;
    runner::print(&format!("SEED={seed}, {objects} objects by chance, {innocent} innocent Ingresses"));
    let options = Options {
        block: Block(1),
        series: HaproxySeries::default(),
        innocent,
        gateways: false,
        dir: dir.to_owned(),
    };
    let addresses = around(options.block);
    let cases = chosen_or_all(worst::all(addresses)?, wanted);
    let of_gateways = chosen_or_all(worst::of_gateways(addresses)?, wanted);
    let mut suite = Suite::start(options.clone(), Bounds::promised()).await?;
    for series in [HaproxySeries::V3_0, HaproxySeries::V3_2, HaproxySeries::V3_4] {
        runner::print(&format!("== {series:?}"));
        suite.goes_on_with(Options { series, ..options.clone() }).await?;
        for case in &cases {
            suite.attempt(case).await?;
        }
        for case in &cases {
            suite.start_among(&format!("a start with {}", case.name), &[case]).await?;
        }
    }
    // From here on Gateways are served, too.
    let options = Options { gateways: true, ..options };
    suite.starts_over_with(options.clone()).await?;
    for case in &of_gateways {
        suite.attempt(case).await?;
    }
    for case in &of_gateways {
        suite.start_among(&format!("a start with {}", case.name), &[case]).await?;
    }
    if !wanted.is_empty() && !wanted.iter().any(|word| word == RANDOM) {
        return suite.end().await;
    }
    let generator = Generator::with_gateways(addresses)?;
    for first in (0..objects.saturating_sub(2 * MANY)).step_by(usize::try_from(GROUP)?) {
        let group = together(&generator, seed, first..first + GROUP, None);
        let trial = suite.attempt(&group).await?;
        if !trial.found.is_empty() {
            for number in first..first + GROUP {
                suite.attempt(&generator.case(seed, number, None)).await?;
            }
        }
    }
    let last = objects.saturating_sub(2 * MANY);
    let in_one = together(&generator, seed, last..last + MANY, Some("mallory-all"));
    let in_many = together(&generator, seed, last + MANY..last + 2 * MANY, None);
    let innocent = usize::try_from(number("HAPTIC_INNOCENT", INNOCENT))?;
    suite.starts_over_with(Options { innocent, ..options }).await?;
    for (group, bounds) in [(in_one, Bounds::many()), (in_many, Bounds::everywhere())] {
        suite.judges_by(bounds);
        suite.attempt(&group).await?;
        suite.start_among(&format!("a start with {}", group.name), &[&group]).await?;
        suite.killed_among(&group).await?;
    }
    suite.end().await
}

/// All, rare ones too, unless some are named.
fn chosen_or_all(cases: Vec<Case>, wanted: &[String]) -> Vec<Case> {
    if wanted.is_empty() { cases } else { chosen(cases, wanted) }
}

/// Several cases as one.
fn together(
    generator: &Generator,
    seed: u64,
    numbers: std::ops::Range<u64>,
    namespace: Option<&str>,
) -> Case {
    let place = if namespace.is_some() { "one namespace" } else { "namespaces of their own" };
    let name = format!("seed {seed}, {} to {} in {place}", numbers.start, numbers.end);
    let mut cases = numbers.map(|number| generator.case(seed, number, namespace));
    let mut all = cases.next().unwrap_or_else(|| generator.case(seed, 0, namespace));
    for case in cases {
        all.objects.extend(case.objects);
        all.asks.extend(case.asks);
    }
    // In one namespace they share a Service.
    let mut seen = std::collections::HashSet::new();
    let identity = |object: &serde_json::Value| {
        let metadata = &object["metadata"];
        format!("{} {} {}", object["kind"], metadata["namespace"], metadata["name"])
    };
    all.objects.retain(|object| seen.insert(identity(object)));
    Case { name, ..all }
}
