//! One file a subcommand: what it needs, then what it does.

pub mod agent;
pub mod benchmark;
pub mod check_in_sandbox;
pub mod config;
pub mod explain;
pub mod init;
pub mod library;
pub mod local;
pub mod plan;
pub mod print;
pub mod record;
pub mod reference;
pub mod render;
pub mod replay;
pub mod run;
pub mod status;
pub mod validate;

use crate::{
    cli::{ConfigurationArgs, Failure},
    cluster::Cluster,
    output,
};
use haptic_config::Candidate;
use haptic_model::{
    ActiveConfig, Diagnostic, Layout,
    secret::{Credentials, Sensitive},
};
use std::{path::Path, sync::Arc};

/// Why there is no configuration.
enum Loading {
    /// It is there, and wrong.
    Problems(Vec<Diagnostic>),
    /// It is not there.
    Failed(Failure),
}

/// The configuration that `args` name, from its file or its cluster.
async fn load(args: &ConfigurationArgs) -> Result<Candidate, Loading> {
    if let Some(file) = &args.file {
        return load_from(file).map_err(Loading::Problems);
    }
    let Some(name) = &args.name else {
        let usage = "give a configuration with --file FILE, or with --name NAME one of a cluster";
        return Err(Loading::Failed(Failure::Usage(usage.into())));
    };
    let cluster = Cluster::at_a_terminal(&args.cluster).await.map_err(Loading::Failed)?;
    cluster.configuration(name).await.map_err(Loading::Failed)
}

/// Whether `-f` names no file.
fn is_standard_input(file: &Path) -> bool {
    file == Path::new("-")
}

/// Reads the configuration in `file`; `-` is standard input.
fn load_from(file: &Path) -> Result<Candidate, Vec<Diagnostic>> {
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
fn read_config(file: &Path) -> Result<Candidate, Failure> {
    load_from(file).map_err(|problems| {
        output::complain_about(&problems);
        Failure::Exit(1)
    })
}

/// A configuration read from a file, as if it were in force, with credentials that nobody accepts.
pub(crate) fn as_if_active(candidate: Candidate) -> Result<Arc<ActiveConfig>, Failure> {
    let layout = Layout::of(&candidate.spec.dataplane).map_err(Failure::Because)?;
    Ok(Arc::new(ActiveConfig {
        name: candidate.name,
        namespace: candidate.namespace,
        resource_generation: candidate.resource_generation,
        revision: 1,
        spec: candidate.spec,
        layout,
        credentials: vec![Credentials { username: String::new(), password: Sensitive::new(String::new()) }],
    }))
}
