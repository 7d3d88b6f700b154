//! Arguments of the commands that ask a running controller, or what it has left.

use super::{
    arguments::{HaproxyArgs, StateArgs, place, version},
    formats::SummaryOrJson,
};
use clap::Args;
use haptic_model::HaproxyVersion;
use std::path::PathBuf;

/// `haptic status`
#[derive(Debug, Args)]
pub struct StatusArgs {
    /// Where the controller's /debug is, and nothing else is asked [default: http://127.0.0.1:6060, and what the leader
    /// publishes at the API server where nothing answers there]
    #[arg(long, value_name = "URL", conflicts_with_all = ["name", "namespace", "context", "kubeconfig"])]
    pub url: Option<String>,
    /// What is published
    #[command(flatten)]
    pub published: PublishedArgs,
    /// Look again every two seconds, at the API server every five, until it is ended
    #[arg(long)]
    pub watch: bool,
    /// How it is printed
    #[arg(long, value_enum, default_value_t)]
    pub output: SummaryOrJson,
}

/// Whose published state is read, as kubectl would find it. Each of them asks the API server and nothing else.
#[derive(Clone, Debug, Args)]
pub struct PublishedArgs {
    /// Name of the HAProxyTemplateConfig [default: the only one]
    #[arg(long)]
    pub name: Option<String>,
    /// Its namespace [default: the kubeconfig's; if it has no configuration, that of the only one in the cluster]
    #[arg(short, long)]
    pub namespace: Option<String>,
    /// The kubeconfig's context [default: its current one]
    #[arg(long)]
    pub context: Option<String>,
    /// How to reach the API server [default: $KUBECONFIG, else ~/.kube/config, else the pod's service account]
    #[arg(long, value_name = "FILE")]
    pub kubeconfig: Option<PathBuf>,
}

impl PublishedArgs {
    /// Whether somebody said which cluster or configuration is meant.
    #[must_use]
    pub fn say_which(&self) -> bool {
        self.name.is_some() || self.namespace.is_some() || self.context.is_some() || self.kubeconfig.is_some()
    }
}

/// `haptic explain`
#[derive(Debug, Args)]
pub struct ExplainArgs {
    /// The request: https://shop.example/cart
    #[arg(value_name = "REQUEST")]
    pub request: String,
    /// Where the controller's /debug is
    #[arg(long, value_name = "URL", default_value = "http://127.0.0.1:6060")]
    pub url: String,
    /// A configuration to explain by, - is standard input, in place of a running controller; with --resources
    #[arg(short = 'f', long = "file", alias = "config", value_name = "FILE", conflicts_with = "url")]
    pub file: Option<PathBuf>,
    /// Folder of manifests to render -f from
    #[arg(long, value_name = "DIR", requires = "file")]
    pub resources: Option<PathBuf>,
    /// HAProxy version that templates see as the fleet's
    #[arg(long, value_name = "VERSION", default_value_t = HaproxyVersion::NEWEST, value_parser = version)]
    pub haproxy_version: HaproxyVersion,
    /// How it is printed
    #[arg(long, value_enum, default_value_t)]
    pub output: SummaryOrJson,
    /// What is kept from one run to the next
    #[command(flatten)]
    pub state: StateArgs,
}

/// `haptic record`
#[derive(Debug, Args)]
pub struct RecordArgs {
    /// Where the controller's /debug is
    #[arg(long, value_name = "URL", default_value = "http://127.0.0.1:6060")]
    pub url: String,
    /// The file to write [default: haptic-recording-TIME.jsonl.zst]
    #[arg(short, long, value_name = "FILE", value_parser = place)]
    pub out: Option<PathBuf>,
}

/// `haptic replay`
#[derive(Debug, Args)]
pub struct ReplayArgs {
    /// The recording, as `haptic record` has written it, compressed or not
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Folder to write to what each generation renders, in a folder with its number
    #[arg(long, value_name = "DIR", value_parser = place)]
    pub out: Option<PathBuf>,
    /// Let HAProxy check what each generation renders
    #[arg(long)]
    pub check: bool,
    /// How the result is printed
    #[arg(long, value_enum, default_value_t)]
    pub output: SummaryOrJson,
    /// How HAProxy is found
    #[command(flatten)]
    pub haproxy: HaproxyArgs,
}
