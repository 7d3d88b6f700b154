//! The demo: a short tour of `haptic local` on this terminal, with real requests. Ends with 0 only when every step
//! showed what it promises. `--stay` leaves everything running for your own edits.

mod stage;
mod tour;

use std::process::ExitCode;

fn main() -> ExitCode {
    if rustls::crypto::ring::default_provider().install_default().is_err() {
        return complain("another TLS provider is already installed", ExitCode::FAILURE);
    }
    let stay = match std::env::args().nth(1).as_deref() {
        None => false,
        Some("--stay") => true,
        Some(other) => {
            return complain(&format!("{other:?} is not known; the one option is --stay"), ExitCode::from(2));
        }
    };
    let runtime = match tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return complain(&error.to_string(), ExitCode::FAILURE),
    };
    match runtime.block_on(tour::run(stay)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => complain(&format!("it did not show what it promises: {failure}"), ExitCode::FAILURE),
    }
}

#[expect(clippy::print_stderr, reason = "the demo is read on the terminal")]
fn complain(what: &str, code: ExitCode) -> ExitCode {
    eprintln!("demo: {what}");
    code
}
