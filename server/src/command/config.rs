//! `haptic config view`: a configuration as the controller takes it, whole.

use crate::{
    cli::{CommandFailure, ConfigCommand, YamlOrJson},
    command::input::{Loading, load},
    output, process,
};
use haptic_config::ConfigCandidate;
use serde_json::{Value, json};

/// Prints the configuration with the parts of its libraries laid under it and every default filled in.
///
/// # Errors
/// When there is no such configuration, it does not fit its types, or standard output cannot be written.
pub fn run(command: &ConfigCommand) -> Result<(), CommandFailure> {
    let ConfigCommand::View(args) = command;
    let candidate =
        process::runtime()?.block_on(load(&args.configuration)).map_err(|loading| match loading {
            Loading::Problems(problems) => CommandFailure::printed(&problems),
            Loading::Failed(failure) => failure,
        })?;
    output::print_problems(&candidate.notices);
    let resource = as_resource(&candidate)?;
    match args.output {
        YamlOrJson::Yaml => {
            output::print(&serde_saphyr::to_string(&resource).map_err(CommandFailure::because)?)
        }
        YamlOrJson::Json => output::print_json(&resource),
    }
    .map_err(CommandFailure::because)
}

fn as_resource(candidate: &ConfigCandidate) -> Result<Value, CommandFailure> {
    let name = &*candidate.name;
    let metadata = match &*candidate.namespace {
        "" => json!({"name": name}),
        namespace => json!({"name": name, "namespace": namespace}),
    };
    let spec = serde_json::to_value(&*candidate.spec).map_err(CommandFailure::because)?;
    Ok(json!({
        "apiVersion": "haproxy-haptic.org/v1alpha1",
        "kind": "HAProxyTemplateConfig",
        "metadata": metadata,
        "spec": spec,
    }))
}
