//! The command line: what can be asked, and the exit codes 0 (done), 1 (failed), 2 (wrong usage), 3 (`plan`: changes; `replay`, `migrate`: differences),
//! 70 (an actor died), 130 and 143 (ended by a signal).

mod arguments;
mod formats;
mod migrate;
mod printed;
mod running;

pub use arguments::{ClusterArgs, ConfigurationArgs, HaproxyArgs, StateArgs};
pub use formats::{EngineName, FunctionsOutput, SummaryOrJson, ValidateOutput, YamlOrJson};
pub use migrate::{
    MigrateArgs, MigrateCheckArgs, MigrateCommand, MigrateCompareArgs, MigrateConvertArgs, MigrateOutput,
    MigrateTo, MigratedObjectsArgs, SideUrl,
};
pub use printed::{
    CompletionArgs, ConfigArgs, ConfigCommand, CrdArgs, FunctionsArgs, InitArgs, LibraryArgs, LibraryCommand,
    ReferenceArgs, ReferencePage, StartFrom, VersionArgs,
};
pub use running::{ExplainArgs, PublishedArgs, RecordArgs, ReplayArgs, StatusArgs};

use crate::output;
use arguments::{place, variable, version};
use clap::{Args, Parser, Subcommand};
use haptic_model::{Diagnostic, HaproxyVersion};
use std::{
    net::{IpAddr, SocketAddr},
    path::PathBuf,
};

/// Brings HAProxy pods to the configuration that your own templates make of Kubernetes resources.
#[derive(Debug, Parser)]
#[command(name = "haptic", version)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// The subcommands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run the controller in or against a cluster
    Run(RunArgs),
    /// Run beside one HAProxy and take orders from the controller
    Agent(AgentArgs),
    /// Run everything on this machine: manifests from a folder, one HAProxy
    Local(LocalArgs),
    /// Write a first configuration and manifests, to validate, run and change
    Init(InitArgs),
    /// Check a configuration (fields, templates, haproxy -c on what it renders) and run its tests
    Validate(ValidateArgs),
    /// Render a configuration from a folder of manifests into another folder
    Render(RenderArgs),
    /// Show what would change on each HAProxy pod, and whether that takes a reload
    Plan(PlanArgs),
    /// Show how a running controller and its HAProxy pods are: what is in force, what is refused, and why
    Status(StatusArgs),
    /// Show which way a request takes to its servers, or why it takes none
    Explain(ExplainArgs),
    /// Get what a running controller remembers of its last generations, as a file without secrets that can be rendered again
    Record(RecordArgs),
    /// Render what was recorded again, without a cluster, and compare
    Replay(ReplayArgs),
    /// Tell what becomes of manifests that were written for another controller
    Migrate(MigrateArgs),
    /// Measure a configuration with made-up objects: time of each stage, and memory
    Benchmark(BenchmarkArgs),
    /// Print the CustomResourceDefinitions, for kubectl apply -f -
    Crd(CrdArgs),
    /// Print the functions that templates can call, or one of them
    Functions(FunctionsArgs),
    /// List the built-in template libraries, or print one, or a part of one
    Library(LibraryArgs),
    /// Print a configuration as it is taken: its libraries laid under it, defaults filled in
    Config(ConfigArgs),
    /// Print what makes a shell complete commands and options
    Completion(CompletionArgs),
    /// Print the version
    Version(VersionArgs),
    /// Print a page of the documentation that is made of tables in the code
    #[command(hide = true)]
    Reference(ReferenceArgs),
}

/// `haptic run`
#[derive(Debug, Args)]
pub struct RunArgs {
    /// Name of the HAProxyTemplateConfig [default: $CONFIG_NAME]
    #[arg(long, visible_alias = "config-name", env = "HAPTIC_CONFIG_NAME")]
    pub name: Option<String>,
    /// Where it is
    #[command(flatten)]
    pub cluster: ClusterArgs,
    /// Address of the health and metrics servers
    #[arg(long, default_value = "0.0.0.0")]
    pub bind_address: IpAddr,
    /// Address of /debug, which is for this machine only unless this says otherwise [default: 127.0.0.1]
    #[arg(long)]
    pub debug_address: Option<IpAddr>,
    /// Render everything a second time in full and compare: slow, for hunting bugs of HAPTIC itself
    #[arg(long)]
    pub paranoid: bool,
    /// How HAProxy is found
    #[command(flatten)]
    pub haproxy: HaproxyArgs,
}

impl RunArgs {
    /// The name of the configuration.
    ///
    /// # Errors
    /// When nobody gave it.
    pub fn name(&self) -> Result<String, CommandFailure> {
        let name = self.name.clone().or_else(|| variable("CONFIG_NAME"));
        name.ok_or_else(|| {
            CommandFailure::Usage(
                "give --name CONFIG, or set HAPTIC_CONFIG_NAME: the name of the HAProxyTemplateConfig".into(),
            )
        })
    }
}

/// `haptic agent`
#[derive(Debug, Args)]
pub struct AgentArgs {
    /// Address and port to take orders on
    #[arg(long, value_name = "ADDR:PORT", default_value = "0.0.0.0:5555")]
    pub listen: SocketAddr,
    /// Folder for HAProxy's files; nothing else is written to
    #[arg(long, value_name = "DIR")]
    pub dir: PathBuf,
    /// Folder for sockets, when --dir is too long for them
    #[arg(long, value_name = "DIR")]
    pub socket_dir: Option<PathBuf>,
    /// Start this HAProxy and keep it running
    #[arg(
        long,
        value_name = "PATH",
        required_unless_present = "master_socket",
        conflicts_with = "master_socket"
    )]
    pub haproxy: Option<PathBuf>,
    /// Attach to a HAProxy that something else keeps running, by its master socket
    #[arg(long, value_name = "PATH")]
    pub master_socket: Option<PathBuf>,
    /// Folder with the files dataplane_username and dataplane_password [default: HAPTIC_USERNAME and HAPTIC_PASSWORD]
    #[arg(long, value_name = "DIR")]
    pub credentials_dir: Option<PathBuf>,
    /// PEM certificate chain: serve HTTPS
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    pub tls_cert: Option<PathBuf>,
    /// PEM key of --tls-cert
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    pub tls_key: Option<PathBuf>,
    /// An argument passed on to HAProxy, may be repeated
    #[arg(long = "haproxy-arg", value_name = "ARG", allow_hyphen_values = true)]
    pub haproxy_args: Vec<String>,
    /// How long HAProxy may finish its connections once this is told to end; 8 s less than the process has until it is killed
    #[arg(long, value_name = "SECONDS", default_value_t = 15)]
    pub drain: u64,
}

/// `haptic local`
#[derive(Debug, Args)]
#[command(
    after_help = "The controller asks the agent with the credentials HAPTIC_USERNAME and HAPTIC_PASSWORD, else with some of this run only."
)]
pub struct LocalArgs {
    /// The configuration; its changes are taken at once
    #[arg(short = 'f', long = "file", alias = "config", value_name = "FILE")]
    pub file: PathBuf,
    /// Folder of manifests; their changes are taken at once
    #[arg(long, value_name = "DIR")]
    pub resources: PathBuf,
    /// Folder for HAProxy's files [default: a temporary one]
    #[arg(long, value_name = "DIR")]
    pub dir: Option<PathBuf>,
    /// Where everything listens
    #[command(flatten)]
    pub listen: ListenArgs,
    /// Address of the health and metrics servers
    #[arg(long, default_value = "127.0.0.1")]
    pub bind_address: IpAddr,
    /// Address of /debug, which is for this machine only unless this says otherwise [default: 127.0.0.1]
    #[arg(long)]
    pub debug_address: Option<IpAddr>,
    /// Render everything a second time in full and compare: slow, for hunting bugs of HAPTIC itself
    #[arg(long)]
    pub paranoid: bool,
    /// What is kept from one run to the next
    #[command(flatten)]
    pub state: StateArgs,
    /// How HAProxy is found
    #[command(flatten)]
    pub haproxy: HaproxyArgs,
}

/// Where HAProxy and the controller listen on one machine. A default port that is taken is replaced by the next free one.
#[derive(Clone, Debug, Default, Args)]
pub struct ListenArgs {
    /// Address of HAProxy, where the library base says where it listens [default: 127.0.0.1, or what the configuration says]
    #[arg(long, value_name = "ADDRESS")]
    pub listen: Option<IpAddr>,
    /// HAProxy's port for HTTP [default: the configuration's]
    #[arg(long, value_name = "PORT", value_parser = clap::value_parser!(u16).range(1..))]
    pub http_port: Option<u16>,
    /// HAProxy's port for HTTPS [default: the configuration's]
    #[arg(long, value_name = "PORT", value_parser = clap::value_parser!(u16).range(1..))]
    pub https_port: Option<u16>,
    /// HAProxy's port for health, metrics and statistics [default: the configuration's]
    #[arg(long, value_name = "PORT", value_parser = clap::value_parser!(u16).range(1..))]
    pub health_port: Option<u16>,
    /// Port of /debug [default: the configuration's]
    #[arg(long, value_name = "PORT")]
    pub debug_port: Option<u16>,
    /// Port of /livez and /readyz [default: the configuration's]
    #[arg(long, value_name = "PORT")]
    pub healthz_port: Option<u16>,
    /// Port of /metrics [default: the configuration's]
    #[arg(long, value_name = "PORT")]
    pub metrics_port: Option<u16>,
}

/// `haptic validate`
#[derive(Debug, Args)]
pub struct ValidateArgs {
    /// Configurations, one or several, in place of -f; - is standard input
    #[arg(value_name = "FILE", conflicts_with_all = ["file", "name"])]
    pub files: Vec<PathBuf>,
    /// The configuration
    #[command(flatten)]
    pub configuration: ConfigurationArgs,
    /// Render with these manifests instead of none; tests bring their own
    #[arg(long, value_name = "DIR")]
    pub resources: Option<PathBuf>,
    /// Run only this one of validationTests
    #[arg(long, value_name = "NAME")]
    pub test: Option<String>,
    /// Also show which blocks are rendered anew each time, and why
    #[arg(short, long)]
    pub verbose: bool,
    /// Also show everything that was rendered
    #[arg(long)]
    pub dump_rendered: bool,
    /// How the result is printed
    #[arg(long, value_enum, default_value_t)]
    pub output: ValidateOutput,
    /// How HAProxy is found
    #[command(flatten)]
    pub haproxy: HaproxyArgs,
}

/// `haptic render`
#[derive(Debug, Args)]
pub struct RenderArgs {
    /// The configuration; - is standard input
    #[arg(short = 'f', long = "file", alias = "config", value_name = "FILE")]
    pub file: PathBuf,
    /// Folder of manifests
    #[arg(long, value_name = "DIR")]
    pub resources: PathBuf,
    /// Folder the files are written to
    #[arg(long, value_name = "DIR", value_parser = place)]
    pub out: PathBuf,
    /// HAProxy version that templates see as the fleet's
    #[arg(long, value_name = "VERSION", default_value_t = HaproxyVersion::NEWEST, value_parser = version)]
    pub haproxy_version: HaproxyVersion,
    /// What is kept from one run to the next
    #[command(flatten)]
    pub state: StateArgs,
}

/// `haptic plan`
#[derive(Debug, Args)]
pub struct PlanArgs {
    /// Folder with the bundle that runs, as `haptic render --out` writes it
    #[arg(value_name = "RUNNING", conflicts_with = "name")]
    pub running: Option<PathBuf>,
    /// Folder with the bundle that shall run [default: what -f makes of --resources]
    #[arg(value_name = "DESIRED", conflicts_with_all = ["name", "file"])]
    pub desired: Option<PathBuf>,
    /// The configuration that shall run, - is standard input; with --name in place of the cluster's
    #[arg(short = 'f', long = "file", alias = "config", value_name = "FILE")]
    pub file: Option<PathBuf>,
    /// Folder of manifests to render -f from
    #[arg(long, value_name = "DIR", requires = "file", conflicts_with = "name")]
    pub resources: Option<PathBuf>,
    /// Name of the HAProxyTemplateConfig in a cluster: compare with what its HAProxy pods run
    #[arg(long)]
    pub name: Option<String>,
    /// Where it is
    #[command(flatten)]
    pub cluster: ClusterArgs,
    /// HAProxy version that runs RUNNING; pods are asked for theirs
    #[arg(long, value_name = "VERSION", default_value_t = HaproxyVersion::NEWEST, value_parser = version)]
    pub haproxy_version: HaproxyVersion,
    /// How the plan is printed
    #[arg(long, value_enum, default_value_t)]
    pub output: SummaryOrJson,
    /// What is kept from one run to the next
    #[command(flatten)]
    pub state: StateArgs,
    /// How HAProxy is found
    #[command(flatten)]
    pub haproxy: HaproxyArgs,
}

/// `haptic benchmark`
#[derive(Debug, Args)]
pub struct BenchmarkArgs {
    /// The configuration; - is standard input
    #[arg(short = 'f', long = "file", alias = "config", value_name = "FILE")]
    pub file: PathBuf,
    /// How many Ingresses, each with a Service
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = up_to::<1_000_000>)]
    pub ingresses: usize,
    /// Endpoints of each Service
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = up_to::<1_000>)]
    pub endpoints: usize,
    /// HAProxy version that templates see as the fleet's
    #[arg(long, value_name = "VERSION", default_value_t = HaproxyVersion::NEWEST, value_parser = version)]
    pub haproxy_version: HaproxyVersion,
    /// How the figures are printed
    #[arg(long, value_enum, default_value_t)]
    pub output: SummaryOrJson,
    /// How HAProxy is found
    #[command(flatten)]
    pub haproxy: HaproxyArgs,
}

/// What a command ends with.
#[derive(Debug, thiserror::Error)]
pub enum CommandFailure {
    /// Something is wrong, in a sentence.
    #[error("{0}")]
    Because(String),
    /// Arguments that do not fit together, in a sentence.
    #[error("{0}; see --help")]
    Usage(String),
    /// A name that nothing has, in a sentence that names those that there are.
    #[error("{0}")]
    Unknown(String),
    /// Told already; only the exit code is left.
    #[error("exit code {0}")]
    Exit(u8),
}

impl From<String> for CommandFailure {
    fn from(why: String) -> Self {
        Self::Because(why)
    }
}

impl CommandFailure {
    /// Prints what is wrong; only the exit code is left.
    #[must_use]
    pub fn printed(problems: &[Diagnostic]) -> Self {
        output::print_problems(problems);
        Self::Exit(1)
    }

    /// A failure for any error.
    pub fn because(error: impl std::fmt::Display) -> Self {
        Self::Because(error.to_string())
    }
}

/// A number that this machine has memory for.
fn up_to<const MOST: usize>(text: &str) -> Result<usize, String> {
    let number: usize = text.parse().map_err(|_| "it is no number".to_owned())?;
    (number <= MOST).then_some(number).ok_or_else(|| format!("it is more than {MOST}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        use clap::CommandFactory;
        Cli::command().debug_assert();
    }

    #[test]
    fn the_agent_needs_exactly_one_way_to_haproxy() {
        let parse =
            |words: &[&str]| Cli::try_parse_from([&["haptic", "agent", "--dir", "d"], words].concat());
        assert!(parse(&[]).is_err());
        assert!(parse(&["--haproxy", "a", "--master-socket", "b"]).is_err());
        assert!(parse(&["--haproxy", "a"]).is_ok());
    }

    #[test]
    fn a_benchmark_has_a_size() {
        let given = |number: &str| {
            Cli::try_parse_from(["haptic", "benchmark", "-f", "c", "--ingresses", number]).is_ok()
        };
        assert_eq!(
            ["0", "1000000", "1000001", "99999999999999", "-1"].map(given),
            [true, true, false, false, false]
        );
    }

    #[test]
    fn haproxy_listens_at_a_port() {
        let given = |option: &str, port: &str| {
            Cli::try_parse_from(["haptic", "local", "-f", "c", "--resources", "m", option, port]).is_ok()
        };
        for option in ["--http-port", "--https-port", "--health-port"] {
            assert_eq!([given(option, "1"), given(option, "0")], [true, false], "{option}");
        }
    }
}
