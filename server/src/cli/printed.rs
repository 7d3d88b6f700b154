//! Arguments of the commands that print what is built in.

use super::{ConfigurationArgs, FunctionsOutput, SummaryOrJson, YamlOrJson};
use clap::{Args, Subcommand, ValueEnum};

/// `haptic crd`
#[derive(Debug, Args)]
pub struct CrdArgs {
    /// How it is printed
    #[arg(long, value_enum, default_value_t)]
    pub output: YamlOrJson,
}

/// `haptic functions`
#[derive(Debug, Args)]
pub struct FunctionsArgs {
    /// How they are printed
    #[arg(long, value_enum, default_value_t)]
    pub output: FunctionsOutput,
}

/// `haptic reference`
#[derive(Debug, Args)]
pub struct ReferenceArgs {
    /// Which page
    #[arg(value_enum)]
    pub page: ReferencePage,
}

/// A page of the documentation.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum ReferencePage {
    /// What is counted.
    Metrics,
    /// What is told, in Kubernetes and in the log.
    Events,
    /// What the resource's status says.
    Conditions,
}

/// `haptic library`
#[derive(Debug, Args)]
pub struct LibraryArgs {
    /// What to do.
    #[command(subcommand)]
    pub command: LibraryCommand,
}

/// What can be done with libraries.
#[derive(Debug, Subcommand)]
pub enum LibraryCommand {
    /// List all of them
    List {
        /// How they are printed
        #[arg(long, value_enum, default_value_t)]
        output: SummaryOrJson,
    },
    /// Print one as YAML
    Show {
        /// Its name
        name: String,
    },
}

/// `haptic config`
#[derive(Debug, Args)]
pub struct ConfigArgs {
    /// What to do.
    #[command(subcommand)]
    pub command: ConfigCommand,
}

/// What can be done with a configuration.
#[derive(Debug, Subcommand)]
pub enum ConfigCommand {
    /// Print all of it
    View(ViewArgs),
}

/// `haptic config view`
#[derive(Debug, Args)]
pub struct ViewArgs {
    /// The configuration
    #[command(flatten)]
    pub configuration: ConfigurationArgs,
    /// How it is printed
    #[arg(long, value_enum, default_value_t)]
    pub output: YamlOrJson,
}

/// `haptic version`
#[derive(Debug, Args)]
pub struct VersionArgs {
    /// How it is printed
    #[arg(long, value_enum, default_value_t)]
    pub output: SummaryOrJson,
}
