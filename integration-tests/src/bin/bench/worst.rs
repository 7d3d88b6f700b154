//! The worst object of each kind, one at a time beside innocent ones: how much later changes of others are live, and how much
//! memory it takes.

use crate::{figures::Scope, statistics::milliseconds};
use integration_tests::{
    Outcome,
    hostile::{Bounds, Options, Suite, Trial, around, worst},
    network::Block,
    program::HaproxySeries,
};
use std::path::Path;

/// One case of each kind.
const KINDS: [&str; 18] = [
    "TLS Secret of 253",
    "everything at its longest",
    "huge lines in every annotation",
    "huge networks in every annotation",
    "expensive regex 5",
    "one header of 120 KB",
    "annotations nobody knows by the thousand",
    "hosts by the thousand",
    "paths by the thousand",
    "TLS entries by the thousand",
    "ports by the thousand",
    "20,000 endpoints of one Service",
    "a thousand endpoints behind a hundred settings",
    "6,000 users of $6$",
    "certificates broken in every way",
    "30 of client-ca-secret of 700 KB",
    "5,000 paths of alpha's host",
    "a mistake only HAProxy finds in a thousand Ingresses",
];

/// Measures each among `innocent` Ingresses.
pub async fn measure(innocent: usize, block: Block, dir: &Path, into: &mut Scope<'_>) -> Outcome {
    std::fs::create_dir_all(dir)?;
    let options =
        Options { block, series: HaproxySeries::default(), innocent, gateways: false, dir: dir.to_owned() };
    let mut suite = Suite::start(options, Bounds::promised()).await?;
    let calm = suite.calm.clone();
    for case in worst::all(around(block))?.iter().filter(|case| KINDS.contains(&&*case.name)) {
        let trial = suite.attempt(case).await?;
        tell(&trial, &calm, &mut into.within(&case.slug()));
    }
    suite.end().await.map(drop)
}

/// A change that is never live has no time.
fn tell(trial: &Trial, calm: &Trial, into: &mut Scope<'_>) {
    if let (Some(live), Some(calm)) = (trial.live.map(milliseconds), calm.live.map(milliseconds)) {
        into.add("others_live_ms", live);
        into.add("others_live_ratio", live / calm.max(1.0));
    }
    into.add("memory_ratio", trial.peaks.container / calm.peaks.container.max(1.0));
    into.count("promises_broken", trial.found.len() as u64);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_is_a_case() {
        let cases = worst::all(around(Block(1))).unwrap();
        for kind in KINDS {
            assert!(cases.iter().any(|case| case.name == kind), "{kind}");
        }
    }
}
