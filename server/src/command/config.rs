//! `haptic config view`: a configuration as the controller takes it, whole.

use crate::{
    cli::{ConfigCommand, Failure, ViewArgs, YamlOrJson},
    cluster::Cluster,
    command, output, process,
};
use haptic_config::Candidate;
use serde_json::{Value, json};

/// Prints the configuration with the parts of its libraries laid under it and every default filled in.
///
/// # Errors
/// When there is no such configuration, it does not fit its types, or standard output cannot be written.
pub fn run(command: &ConfigCommand) -> Result<(), Failure> {
    let ConfigCommand::View(args) = command;
    let resource = as_resource(&load(args)?)?;
    match args.output {
        YamlOrJson::Yaml => output::print(&serde_saphyr::to_string(&resource).map_err(Failure::because)?),
        YamlOrJson::Json => output::print_json(&resource),
    }
    .map_err(Failure::because)
}

fn load(args: &ViewArgs) -> Result<Candidate, Failure> {
    match (&args.file, &args.name) {
        (Some(file), _) => command::read_config(file),
        (None, Some(name)) => process::runtime()?
            .block_on(async { Cluster::reach(&args.cluster).await?.configuration(name).await }),
        (None, None) => Err(Failure::Usage("give -f CONFIG, or --name CONFIG of a cluster".into())),
    }
}

fn as_resource(candidate: &Candidate) -> Result<Value, Failure> {
    let name = &*candidate.name;
    let metadata = match &*candidate.namespace {
        "" => json!({"name": name}),
        namespace => json!({"name": name, "namespace": namespace}),
    };
    let spec = serde_json::to_value(&*candidate.spec).map_err(Failure::because)?;
    Ok(json!({
        "apiVersion": "haproxy-haptic.org/v1alpha1",
        "kind": "HAProxyTemplateConfig",
        "metadata": metadata,
        "spec": spec,
    }))
}
