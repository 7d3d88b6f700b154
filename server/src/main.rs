//! The binary: the allocator, the TLS provider, and the command line.

use haptic::command::{check_in_sandbox, end_with_parent};
use std::process::ExitCode;

#[cfg(not(feature = "system-allocator"))]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> ExitCode {
    if let Some(words) = check_in_sandbox::asked_for() {
        return check_in_sandbox::run(&words);
    }
    if let Some(words) = end_with_parent::asked_for() {
        return end_with_parent::run(&words);
    }
    // Before anything may use TLS: with two providers linked, rustls would panic at first use.
    if rustls::crypto::ring::default_provider().install_default().is_err() {
        haptic::output::print_problem("another TLS provider is already installed; this is a bug in HAPTIC");
        return ExitCode::FAILURE;
    }
    haptic::command::dispatch()
}
