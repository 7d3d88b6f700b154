//! What commands work on: configurations and objects; and what is wrong with them, on standard error.

use super::cluster::Cluster;
use crate::{
    cli::{CommandFailure, ConfigurationArgs},
    output,
};
use haptic_config::{
    ConfigCandidate,
    validators::{TIME_LIMIT, refused, scatter_gather},
};
use haptic_inspect::{offline::objects::ReadObjects, validators};
use haptic_model::{Diagnostic, HAProxyTemplateConfigSpec, Instead, Quarantine};
use std::{path::Path, sync::Arc};

/// Why there is no configuration.
pub enum Loading {
    /// It is there, and wrong.
    Problems(Vec<Diagnostic>),
    /// It is not there.
    Failed(CommandFailure),
}

/// The configuration that `args` name, from its file or its cluster.
pub async fn load(args: &ConfigurationArgs) -> Result<ConfigCandidate, Loading> {
    if let Some(file) = &args.file {
        return load_from(file).map_err(Loading::Problems);
    }
    let Some(name) = &args.name else {
        let usage = "give a configuration with --file FILE, or with --name NAME one of a cluster";
        return Err(Loading::Failed(CommandFailure::Usage(usage.into())));
    };
    let cluster = Cluster::at_a_terminal(&args.cluster).await.map_err(Loading::Failed)?;
    cluster.configuration(name).await.map_err(Loading::Failed)
}

/// Whether `-f` names no file.
pub fn is_standard_input(file: &Path) -> bool {
    file == Path::new("-")
}

/// Reads the configuration in `file`; `-` is standard input.
fn load_from(file: &Path) -> Result<ConfigCandidate, Vec<Diagnostic>> {
    if !is_standard_input(file) {
        return haptic_config::load_file(file);
    }
    let text = std::io::read_to_string(std::io::stdin()).map_err(|error| {
        let problem = Diagnostic::error("basic", format!("cannot read standard input: {error}"));
        vec![problem.help("Give the path of a configuration file with -f")]
    })?;
    haptic_config::parse(&text, "standard input")
}

/// Reads the configuration in `file`, or tells everything that is wrong with it.
pub fn read_config(file: &Path) -> Result<ConfigCandidate, CommandFailure> {
    let candidate = load_from(file).map_err(|problems| CommandFailure::printed(&problems))?;
    output::print_problems(&candidate.notices);
    Ok(candidate)
}

/// Prints which objects are not in the snapshots; whether some should be.
pub fn report_unread(read: &ReadObjects) -> bool {
    read.ignored.iter().chain(&read.problems).for_each(|sentence| output::print_problem(sentence));
    !read.problems.is_empty()
}

/// Prints which objects are left out, each with what is wrong with it.
pub fn report_quarantined(quarantine: &Quarantine) {
    for held in quarantine.held.values() {
        let without = match held.instead {
            Instead::Nothing => "left out",
            Instead::Former => "its last good version",
            Instead::Defaults => "without what cannot be read",
        };
        let message = format!("{without}: {}", held.why.message);
        output::print_problems(&[Diagnostic { message, ..held.why.clone() }]);
    }
}

/// Asks the validators.
///
/// # Errors
/// Prints what they say when they refuse it.
pub async fn must_be_valid(spec: &Arc<HAProxyTemplateConfigSpec>) -> Result<(), CommandFailure> {
    let wrong = scatter_gather(&validators(), spec, TIME_LIMIT).await.diagnostics;
    if refused(&wrong) { Err(CommandFailure::printed(&wrong)) } else { Ok(()) }
}
