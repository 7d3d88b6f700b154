//! Jinja2 templates print what those of Python's print: generated ones, rendered by both.

use crate::support::Setup;
use serde_json::Value;
use std::process::Command;

/// What is refused by intention, told by what the refusal says; docs/reference/jinja2.md has the reasons.
const INTENDED: [&str; 3] =
    ["which cannot be printed as text", "is none, which prints nothing", "is undefined"];

fn cases(count: u32, seed: u64) -> Value {
    let python = std::env::var("HAPTIC_JINJA2")
        .expect("HAPTIC_JINJA2 does not name a python: run this test through `make test`");
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/jinja2/generate.py");
    let output =
        Command::new(python).arg(script).arg(count.to_string()).arg(seed.to_string()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn generated_templates_print_what_python_prints() {
    let number = |name: &str| std::env::var(name).ok().and_then(|number| number.parse().ok());
    let seed = number("HAPTIC_SEED").unwrap_or_else(|| u64::from(std::process::id()));
    let cases = cases(5000, seed);
    let (mut same, mut failing, mut refused, mut different) = (0, 0, 0, Vec::new());
    for case in cases["cases"].as_array().unwrap() {
        let template = case["template"].as_str().unwrap();
        let mut setup = Setup::new(template).jinja().extra(cases["context"].clone());
        for (name, text) in cases["snippets"].as_object().unwrap() {
            setup = setup.snippet(name, text.as_str().unwrap());
        }
        match (case["python"].as_str(), crate::support::printed_or_not(&setup)) {
            (Some(python), Ok(ours)) if *python == ours => same += 1,
            (None, Err(_)) => failing += 1,
            (_, Err(why)) if INTENDED.iter().any(|intended| why.contains(intended)) => refused += 1,
            (python, ours) => different.push(format!("{template:?}\n  python {python:?}\n  ours   {ours:?}")),
        }
    }
    println!("seed {seed}: {same} the same, {failing} fail in both, {refused} refused by intention");
    assert!(different.is_empty(), "HAPTIC_SEED={seed}: {} differ\n{}", different.len(), different.join("\n"));
    assert!((failing + refused) * 4 < same, "too many fail to compare the rest");
}
