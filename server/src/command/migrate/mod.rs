//! `haptic migrate`: what becomes of manifests that were written for another controller.

mod compare;
mod convert;
mod credentials;
mod side;

use super::{cluster::Cluster, input};
use crate::{
    cli::{
        CommandFailure, MigrateCheckArgs, MigrateCommand, MigrateOutput, MigratedObjectsArgs, PublishedArgs,
    },
    output, process,
};
use haptic_inspect::{
    migrate::{self, MigrationReport, MigrationVerdict, PortConfigMaps},
    offline::objects,
};
use haptic_model::{ActiveConfig, Snapshots};
use haptic_watch::ObjectSource;
use std::{
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
};

/// The exit code where all is served or answered, and something of it otherwise.
const DIFFERS: u8 = 3;

/// Prints what is asked for.
///
/// # Errors
/// Exit code 3 when something is served or answered otherwise, 1 when something cannot be served or asked, or the objects cannot be read.
pub fn run(command: &MigrateCommand) -> Result<(), CommandFailure> {
    match command {
        MigrateCommand::Check(args) => check(args),
        MigrateCommand::Compare(args) => compare::run(args),
        MigrateCommand::Convert(args) => convert::run(args),
    }
}

fn check(args: &MigrateCheckArgs) -> Result<(), CommandFailure> {
    let family = args.from.into();
    let MigratedObjectsArgs { config_map, classes, .. } = &args.objects;
    let ports = PortConfigMaps { tcp: args.tcp_services.clone(), udp: args.udp_services.clone() };
    let config = migrate::configuration_with_ports(family, config_map.as_ref(), &ports)
        .map_err(CommandFailure::Because)?;
    let runtime = process::runtime()?;
    let Some(read) = runtime.block_on(read(config, &args.objects))? else {
        return Err(CommandFailure::Usage("give manifests with --file PATH, or --from-cluster".into()));
    };
    let report = migrate::check(family, &read.config, &read.snapshots, config_map.as_ref(), &ports, classes)
        .map_err(CommandFailure::Because)?;
    match args.output {
        MigrateOutput::Summary => output::print(&migrate::as_summary(&report)),
        MigrateOutput::Json => output::print_json(&report),
        MigrateOutput::Markdown => output::print(&migrate::as_markdown(&report)),
    }
    .map_err(CommandFailure::because)?;
    if !read.is_whole {
        return Err(CommandFailure::Exit(1));
    }
    verdict(&report)
}

/// Objects of another controller.
struct MigratedObjects {
    config: ActiveConfig,
    snapshots: Snapshots,
    /// Whether all of them could be read.
    is_whole: bool,
}

/// Reads what `args` name and `config` watches, and prints what cannot be read; nothing where they name nothing.
async fn read(
    config: ActiveConfig,
    args: &MigratedObjectsArgs,
) -> Result<Option<MigratedObjects>, CommandFailure> {
    let (source, copy) = match &args.file {
        Some(file) if file.is_dir() => (ObjectSource::Folder(file.clone()), None),
        Some(file) => {
            let copy = ManifestCopy::of(file)?;
            (ObjectSource::Folder(copy.folder.path().to_owned()), Some(copy))
        }
        None if args.from_cluster => {
            let published = PublishedArgs {
                name: None,
                namespace: None,
                context: args.context.clone(),
                kubeconfig: args.kubeconfig.clone(),
            };
            (ObjectSource::Cluster(Cluster::as_kubectl_does(&published).await?.client), None)
        }
        None => return Ok(None),
    };
    let reading = async { objects::read(&config.spec, &source).await.map_err(CommandFailure::Because) };
    let read = process::until_signal(reading).await?;
    for sentence in &read.problems {
        output::print_problem(
            &copy.as_ref().map_or_else(|| sentence.clone(), |copy| copy.as_of_original(sentence)),
        );
    }
    Ok(Some(MigratedObjects { config, snapshots: read.snapshots, is_whole: read.problems.is_empty() }))
}

fn verdict(report: &MigrationReport) -> Result<(), CommandFailure> {
    if report.objects.is_empty() {
        return Err(CommandFailure::Because("there is no Ingress to be told of".into()));
    }
    match report.objects.iter().map(|object| object.verdict).max() {
        Some(MigrationVerdict::Cannot) => Err(CommandFailure::Exit(1)),
        Some(MigrationVerdict::Differs) => Err(CommandFailure::Exit(DIFFERS)),
        _ => Ok(()),
    }
}

/// A folder with a copy of one file, or of standard input, which may hold Secrets; gone with this.
struct ManifestCopy {
    folder: tempfile::TempDir,
    /// What it is a copy of, as users know it.
    original: String,
}

impl ManifestCopy {
    fn of(path: &Path) -> Result<Self, CommandFailure> {
        let (original, text) = match input::is_standard_input(path) {
            true => ("standard input".to_owned(), std::io::read_to_string(std::io::stdin())),
            false => (path.display().to_string(), std::fs::read_to_string(path)),
        };
        let text =
            text.map_err(|error| CommandFailure::Because(format!("cannot read {original}: {error}")))?;
        let only_us = std::fs::Permissions::from_mode(0o700);
        let folder = tempfile::Builder::new().permissions(only_us).tempdir();
        let copy = Self { folder: folder.map_err(CommandFailure::because)?, original };
        std::fs::write(copy.path(), text).map_err(CommandFailure::because)?;
        Ok(copy)
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("manifests.yaml")
    }

    /// What is said of the copy, said of what it is a copy of.
    fn as_of_original(&self, sentence: &str) -> String {
        sentence.replace(&*self.path().display().to_string(), &self.original)
    }
}
