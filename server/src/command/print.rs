//! `haptic crd`, `haptic functions`, `haptic completion`, `haptic version`: things that are only printed.

use crate::{
    cli::{Cli, CommandFailure, EngineName, FunctionsArgs, FunctionsOutput, SummaryOrJson, YamlOrJson},
    output,
};
use clap::CommandFactory;
use clap_complete::Shell;
use haptic_render::{Language, functions};
use serde_json::json;

/// Prints the CustomResourceDefinitions.
///
/// # Errors
/// When standard output cannot be written.
pub fn crd(format: YamlOrJson) -> Result<(), CommandFailure> {
    match format {
        YamlOrJson::Yaml => output::print(&haptic_config::crd_yaml().map_err(CommandFailure::Because)?),
        YamlOrJson::Json => {
            let list = json!({"apiVersion": "v1", "kind": "List", "items": haptic_config::crds()});
            output::print_json(&list)
        }
    }
    .map_err(CommandFailure::because)
}

/// Prints the template functions, or the one of that name.
///
/// # Errors
/// When there is none of that name, or standard output cannot be written.
pub fn functions(args: &FunctionsArgs) -> Result<(), CommandFailure> {
    let table = match &args.name {
        None => functions::Listing::whole(),
        Some(name) => functions::Listing::of(name).map_err(CommandFailure::Unknown)?,
    };
    let table = table.in_language(match args.engine {
        EngineName::Handlebars => Language::Handlebars,
        EngineName::Jinja2 => Language::Jinja2,
    });
    match args.output {
        FunctionsOutput::Text => output::print(&table.as_text()),
        FunctionsOutput::Markdown => output::print(&table.as_markdown()),
        FunctionsOutput::Json => output::print_json(&table.as_json()),
    }
    .map_err(CommandFailure::because)
}

/// Prints the completions of a shell.
///
/// # Errors
/// When standard output cannot be written.
pub fn completion(shell: Shell) -> Result<(), CommandFailure> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "haptic", &mut script);
    output::print(&String::from_utf8_lossy(&script)).map_err(CommandFailure::because)
}

/// Prints the version.
///
/// # Errors
/// When standard output cannot be written.
pub fn version(format: SummaryOrJson) -> Result<(), CommandFailure> {
    let version = env!("CARGO_PKG_VERSION");
    match format {
        SummaryOrJson::Summary => output::print(&format!("haptic {version}\n")),
        SummaryOrJson::Json => output::print_json(&json!({"version": version})),
    }
    .map_err(CommandFailure::because)
}
