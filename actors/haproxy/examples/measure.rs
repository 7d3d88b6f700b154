//! Times parse, check and compare on a generated configuration, in full and after a change of one backend: `cargo run --release --example measure`.

use std::time::{Duration, Instant};

use haptic_haproxy::{
    CheckOptions, Document,
    block_index::{BlockIndex, differing},
    check::{Proof, check},
    diff,
};
use haptic_model::HaproxyVersion;
use haptic_text::{Fragment, Text};
use std::sync::Arc;

const BACKENDS: usize = 10_000;
const ROUNDS: u32 = 40;

fn configuration(port: u16) -> String {
    let mut text = String::from(
        "global\n maxconn 5000\ndefaults profile\n mode http\n timeout client 5s\nfrontend f from profile\n bind :80\n",
    );
    for at in 0..BACKENDS {
        let (high, low) = (at / 250, at % 250);
        text.push_str(&format!("backend default_shop-{at}_http from profile\n"));
        text.push_str("    # rendered from an Ingress and its endpoints\n");
        for host in 1..=3 {
            let port = if at == BACKENDS / 2 { port } else { 8080 };
            let endpoint = format!("10.{high}.{low}.{host}:{port}");
            text.push_str(&format!("    server {endpoint} {endpoint} maxconn 100 weight 10\n"));
        }
    }
    text
}

/// The fastest of some rounds.
fn fastest<T>(mut work: impl FnMut() -> T) -> Duration {
    let round = |_| {
        let start = Instant::now();
        let done = work();
        let took = start.elapsed();
        drop(std::hint::black_box(done));
        took
    };
    (0..ROUNDS).map(round).min().unwrap_or_default()
}

/// A piece a backend; equal pieces are the same memory.
fn pieces(text: &str, known: &Text) -> Text {
    let cuts: Vec<usize> = text.match_indices("\nbackend ").map(|(at, _)| at + 1).collect();
    let starts = std::iter::once(0).chain(cuts.iter().copied());
    let ends = cuts.iter().copied().chain([text.len()]);
    let piece = |(number, (start, end)): (usize, (usize, usize))| {
        let piece = text.get(start..end).unwrap_or_default();
        let before = known.fragments().get(number).filter(|fragment| fragment.as_str() == piece);
        before.cloned().unwrap_or_else(|| Fragment::new(piece, Arc::default()))
    };
    Text::new(starts.zip(ends).enumerate().map(piece).collect())
}

#[allow(clippy::print_stdout)]
fn after_a_change(old: &str, new: &str) {
    let old = pieces(old, &Text::default());
    let new = pieces(new, &old);
    let versions = [HaproxyVersion::new(3, 4)];
    println!("--- {} pieces, one of them changed", new.fragments().len());
    let mut proof = Proof::default();
    let start = std::time::Instant::now();
    let holds = proof.holds(&old, &versions, &|_| true);
    println!(
        "check   {:?} the first time ({holds}, {:.1} MB kept)",
        start.elapsed(),
        proof.bytes() as f64 / 1e6
    );
    let mut turn = [&new, &old].into_iter().cycle();
    println!("check   {:?}", fastest(|| turn.next().map(|text| proof.holds(text, &versions, &|_| true))));
    let before: BlockIndex<()> = BlockIndex::of(&old);
    let advanced = || {
        let mut after = before.clone();
        after.advance(&new);
        after
    };
    println!("block index {:?}", fastest(advanced));
    let after = advanced();
    let compared = || {
        let texts = differing(&before, &after, usize::MAX).into_iter().map(|part| part.texts());
        texts
            .map(|(old, new)| diff::compare(&Document::parse(&old), &Document::parse(&new)).len())
            .sum::<usize>()
    };
    println!("compare {:?} ({} change)", fastest(compared), compared());
    println!("digest  {:?}", fastest(|| new.digest()));
}

#[allow(clippy::print_stdout)]
fn main() {
    let (old, new) = (configuration(8080), configuration(8081));
    let (before, after) = (Document::parse(&old), Document::parse(&new));
    let options = CheckOptions::new(HaproxyVersion::new(3, 4));
    println!("{BACKENDS} backends, {:.2} MB", old.len() as f64 / 1e6);
    println!("parse   {:?}", fastest(|| Document::parse(&old)));
    println!(
        "check   {:?} ({} problems)",
        fastest(|| check(&before, &options)),
        check(&before, &options).len()
    );
    println!("compare {:?}", fastest(|| diff::compare(&before, &after)));
    for change in diff::compare(&before, &after) {
        println!("        {change}");
    }
    after_a_change(&old, &new);
}
