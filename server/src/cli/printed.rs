//! Arguments of the commands that print or write what is built in.

use super::{
    arguments::ConfigurationArgs,
    formats::{EngineName, FunctionsOutput, SummaryOrJson, YamlOrJson},
};
use clap::{Args, Subcommand, ValueEnum};
use clap_complete::Shell;
use std::path::PathBuf;

/// `haptic init`
#[derive(Debug, Args)]
pub struct InitArgs {
    /// Folder to write to; nothing that is there is overwritten
    #[arg(value_name = "DIR", default_value = ".")]
    pub folder: PathBuf,
    /// What routes are made of
    #[arg(long, value_enum, default_value_t)]
    pub from: StartFrom,
    /// How it is told what was written
    #[arg(long, value_enum, default_value_t)]
    pub output: SummaryOrJson,
}

/// What a first configuration makes routes of.
#[derive(Clone, Copy, Debug, Default, ValueEnum)]
pub enum StartFrom {
    /// Ingresses, by the built-in libraries: no template to write.
    #[default]
    Ingress,
    /// Services with a label, by templates that are all in the file.
    Services,
}

/// `haptic completion`
#[derive(Debug, Args)]
pub struct CompletionArgs {
    /// Of which shell
    #[arg(value_enum)]
    pub shell: Shell,
}

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
    /// Only this one
    pub name: Option<String>,
    /// The language of the examples
    #[arg(long, value_enum, default_value_t)]
    pub engine: EngineName,
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
    /// What becomes of annotations of haproxytech/kubernetes-ingress.
    HaproxyOrg,
    /// What becomes of annotations of jcmoraisjr/haproxy-ingress.
    HaproxyIngress,
    /// What becomes of annotations of kubernetes/ingress-nginx.
    IngressNginx,
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
    /// Print one with its comments, or a part of it, as it would stand in a configuration of yours
    Show {
        /// Its name
        name: String,
        /// Only this part: frontend-10-client, 404.http, haproxyConfig, extraContext.timeouts
        part: Option<String>,
        /// How it is printed
        #[arg(long, value_enum, default_value_t)]
        output: YamlOrJson,
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
