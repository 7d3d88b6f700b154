//! `haptic crd`, `haptic functions`, `haptic version`: things that are only printed.

use crate::{
    cli::{Failure, FunctionsOutput, SummaryOrJson, YamlOrJson},
    output,
};
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

/// Prints the template functions.
///
/// # Errors
/// When standard output cannot be written.
pub fn functions(format: FunctionsOutput) -> Result<(), Failure> {
    match format {
        FunctionsOutput::Text => output::print(&functions::as_text()),
        FunctionsOutput::Markdown => output::print(&functions::as_markdown()),
        FunctionsOutput::Json => output::print_json(&functions::as_json()),
    }
    .map_err(Failure::because)
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
