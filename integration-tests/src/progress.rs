//! What a person sees while a benchmark runs.

use std::io::Write;

/// One line.
pub fn say(text: &str) {
    let mut out = std::io::stdout().lock();
    let _nobody_reads = writeln!(out, "{text}").and_then(|()| out.flush());
}
