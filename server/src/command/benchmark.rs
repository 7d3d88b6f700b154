//! `haptic benchmark`: how long a configuration's templates take, and how much memory.

use crate::{
    cli::{BenchmarkArgs, CommandFailure, SummaryOrJson},
    command::{binaries, input},
    output, process,
};
use haptic_inspect::benchmark::{BenchmarkSize, Measured, Unmeasured};

/// Measures.
///
/// # Errors
/// When the configuration or a template is wrong, or there is nothing in it to measure.
pub fn run(args: &BenchmarkArgs) -> Result<(), CommandFailure> {
    let config = input::read_config(&args.file)?.as_if_active()?;
    let runtime = process::runtime()?;
    runtime.block_on(input::must_be_valid(&config.spec))?;
    let size = BenchmarkSize { ingresses: args.ingresses, endpoints: args.endpoints };
    let mut measured = Measured::of(&config, size, args.haproxy_version)?;
    match binaries::checker(&args.haproxy) {
        Err(why) => output::print_problem(&format!("haproxy -c is not measured: {why}")),
        Ok(checker) => {
            let checker = checker.allowing(&config.spec.allow.features);
            let versions = [args.haproxy_version];
            let verdict = measured.checked(|bundle| {
                let checked = async { Ok(checker.check(bundle, &versions).await) };
                runtime.block_on(process::until_signal(checked))
            })?;
            if !verdict.passed() {
                return Err(CommandFailure::printed(&verdict.diagnostics));
            }
        }
    }
    match args.output {
        SummaryOrJson::Json => output::print_json(&measured.as_json()),
        SummaryOrJson::Summary => output::print(&measured.as_text(&args.file.display().to_string())),
    }
    .map_err(CommandFailure::because)
}

impl From<Unmeasured> for CommandFailure {
    fn from(unmeasured: Unmeasured) -> Self {
        match unmeasured {
            Unmeasured::Wrong(problems) => Self::printed(&problems),
            Unmeasured::Impossible(why) => Self::Because(why),
        }
    }
}
