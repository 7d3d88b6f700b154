//! Times parse, check and compare on a generated configuration: `cargo run --release --example measure`.

use std::time::{Duration, Instant};

use haptic_haproxy::{CheckOptions, Document, Version, check, diff};

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

#[allow(clippy::print_stdout)]
fn main() {
    let (old, new) = (configuration(8080), configuration(8081));
    let (before, after) = (Document::parse(&old), Document::parse(&new));
    let options = CheckOptions::new(Version::new(3, 4));
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
}
