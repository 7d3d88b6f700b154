//! Every worst case once at a running controller, then all of them at once at a fresh start.

use integration_tests::{
    Outcome,
    hostile::{Bounds, Case, Options, Suite, around, worst},
    network::Block,
    program::HaproxySeries,
};
use std::path::Path;

/// Of the objects of a case that is there at a start together with all others.
const LARGEST: usize = 500_000;

pub async fn run(dir: &Path, wanted: &[String]) -> Outcome<usize> {
    let options = |series, folder: &str| Options {
        block: Block(1),
        series,
        innocent: 0,
        gateways: false,
        dir: dir.join(folder),
    };
    let cases = chosen(worst::all(around(Block(1)))?, wanted);
    let mut suite = Suite::start(options(HaproxySeries::V3_4, "3.4"), Bounds::loose()).await?;
    for case in &cases {
        suite.attempt(case).await?;
    }
    let of_gateways = chosen(worst::of_gateways(around(Block(1)))?, wanted);
    let serving = Options { gateways: true, ..options(HaproxySeries::V3_4, "gateways") };
    if !of_gateways.is_empty() {
        suite.starts_over_with(serving).await?;
    }
    for case in &of_gateways {
        suite.attempt(case).await?;
    }
    if !of_gateways.is_empty() {
        let all: Vec<&Case> = of_gateways.iter().collect();
        suite.start_among("a start among all that have Gateways", &all).await?;
    }
    let together: Vec<&Case> = cases.iter().filter(|case| size(case) < LARGEST).collect();
    for (series, version) in
        [(HaproxySeries::V3_4, "3.4"), (HaproxySeries::V3_2, "3.2"), (HaproxySeries::V3_0, "3.0")]
    {
        suite.goes_on_with(options(series, version)).await?;
        suite.start_among(&format!("a start of HAProxy {version} among all of them"), &together).await?;
    }
    suite.end().await
}

/// Those whose names contain one of the words, or all that are not rare.
pub fn chosen(cases: Vec<Case>, wanted: &[String]) -> Vec<Case> {
    let is_wanted = |case: &Case| {
        if wanted.is_empty() { !case.is_rare } else { wanted.iter().any(|word| case.name.contains(word)) }
    };
    cases.into_iter().filter(is_wanted).collect()
}

fn size(case: &Case) -> usize {
    case.objects.iter().map(|object| object.to_string().len()).sum()
}
