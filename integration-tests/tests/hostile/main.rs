//! The hostile suite: the worst objects that an API server takes, beside two innocent tenants on a running HAProxy.
//! Run it with `make hostile`; `make soak` runs it long. `ONLY=words` runs the cases whose names contain one of them.

mod fast;
mod long;

use integration_tests::{Outcome, network, runner};
use std::process::ExitCode;

fn main() -> ExitCode {
    let wanted: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with('-')).collect();
    let run = || -> Outcome<usize> {
        network::enter()?;
        let runtime = tokio::runtime::Runtime::new()?;
        runtime.spawn(runner::end_when_asked());
        let dir = tempfile::Builder::new().prefix("haptic-hostile-").tempdir()?;
        let failed = runtime.block_on(async {
            match std::env::var_os("HAPTIC_SOAK") {
                Some(_) => long::run(dir.path(), &wanted).await,
                None => fast::run(dir.path(), &wanted).await,
            }
        })?;
        if failed > 0 {
            runner::print(&format!("all files are in {}", dir.keep().display()));
        }
        Ok(failed)
    };
    match run() {
        Ok(0) => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(failure) => {
            runner::print(&format!("the hostile suite cannot run: {failure}"));
            ExitCode::FAILURE
        }
    }
}
