//! `haptic crd`, `haptic functions`, `haptic completion`, `haptic version`: things that are only printed.

use crate::{
    cli::{Cli, Failure, FunctionsOutput, SummaryOrJson, YamlOrJson},
    output,
};
use clap::CommandFactory;
use clap_complete::Shell;
use haptic_render::functions;
use serde_json::json;

/// Prints the CustomResourceDefinitions.
///
/// # Errors
/// When standard output cannot be written.
pub fn crd(format: YamlOrJson) -> Result<(), Failure> {
    match format {
        YamlOrJson::Yaml => output::print(&haptic_config::crd_yaml().map_err(Failure::Because)?),
        YamlOrJson::Json => {
            let list = json!({"apiVersion": "v1", "kind": "List", "items": haptic_config::crds()});
            output::print_json(&list)
        }
    }
    .map_err(Failure::because)
}

/// Prints the template functions, or the one of that name.
///
/// # Errors
/// When there is none of that name, or standard output cannot be written.
pub fn functions(name: Option<&str>, format: FunctionsOutput) -> Result<(), Failure> {
    let table = match name {
        None => functions::Listing::whole(),
        Some(name) => functions::Listing::of(name).map_err(Failure::Unknown)?,
    };
    match format {
        FunctionsOutput::Text => output::print(&table.as_text()),
        FunctionsOutput::Markdown => output::print(&table.as_markdown()),
        FunctionsOutput::Json => output::print_json(&table.as_json()),
    }
    .map_err(Failure::because)
}

/// Prints the completions of a shell.
///
/// # Errors
/// When standard output cannot be written.
pub fn completion(shell: Shell) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "haptic", &mut script);
    output::print(&String::from_utf8_lossy(&script)).map_err(Failure::because)
}

/// Prints the version.
///
/// # Errors
/// When standard output cannot be written.
pub fn version(format: SummaryOrJson) -> Result<(), Failure> {
    let version = env!("CARGO_PKG_VERSION");
    match format {
        SummaryOrJson::Summary => output::print(&format!("haptic {version}\n")),
        SummaryOrJson::Json => output::print_json(&json!({"version": version})),
    }
    .map_err(Failure::because)
}
