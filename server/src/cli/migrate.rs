//! Arguments of `haptic migrate`.

use clap::{Args, Subcommand, ValueEnum};
use haptic_inspect::migrate::{
    ConfigMapName, Family,
    compare::{ComparedScheme, requests::SAFE_METHODS},
    convert::RouteParent,
};
use std::{path::PathBuf, str::FromStr};

/// `haptic migrate`
#[derive(Debug, Args)]
pub struct MigrateArgs {
    /// What is to be known
    #[command(subcommand)]
    pub command: MigrateCommand,
}

/// What is to be known of a migration.
#[derive(Debug, Subcommand)]
pub enum MigrateCommand {
    /// Tell of manifests for another controller what is served the same, what otherwise, and what not
    ///
    /// Exit code 0: all the same; 3: something is served otherwise; 1: something cannot be served, or nothing could be read.
    Check(MigrateCheckArgs),
    /// Ask the old controller and HAPTIC for the same, and tell what they answer differently
    ///
    /// What is asked follows from the Ingresses: each host and path in several spellings, and what annotations make a difference for.
    /// Only GET, HEAD and OPTIONS are sent, redirects are not followed, and bodies do not count. Exit code 0: all is answered the same; 3:
    /// something is answered otherwise; 1: something got no answer, or nothing could be asked.
    Compare(Box<MigrateCompareArgs>),
    /// Write manifests with annotations of HAPTIC, or HTTPRoutes, in place of another controller's
    ///
    /// With annotations Ingresses are served as before, under the same configuration. Comments, order and all other lines stay as they are; what
    /// no annotation of HAPTIC says stays, with a comment. With --to httproutes each Ingress becomes HTTPRoutes with its comments; what these do
    /// not say is a comment, and an Ingress stays where that guards access or decides where requests go. Exit code 0: all is converted; 3:
    /// something stays or is not carried; 1: something could not be read or edited.
    Convert(MigrateConvertArgs),
}

/// `haptic migrate check`
#[derive(Debug, Args)]
pub struct MigrateCheckArgs {
    /// The controller that the manifests are for
    #[arg(long, value_enum, value_name = "CONTROLLER")]
    pub from: MigrateFrom,
    /// Where they are
    #[command(flatten)]
    pub objects: MigratedObjectsArgs,
    /// The ConfigMap in which the controller has ports of TCP, among the manifests or in the cluster
    #[arg(long, value_name = "NAMESPACE/NAME")]
    pub tcp_services: Option<ConfigMapName>,
    /// The same of UDP
    #[arg(long, value_name = "NAMESPACE/NAME")]
    pub udp_services: Option<ConfigMapName>,
    /// How it is printed
    #[arg(long, value_enum, default_value_t)]
    pub output: MigrateOutput,
}

/// `haptic migrate compare`
#[derive(Debug, Args)]
pub struct MigrateCompareArgs {
    /// The controller that the manifests are for
    #[arg(long, value_enum, value_name = "CONTROLLER")]
    pub from: MigrateFrom,
    /// Where they are; without them all that a recording has is compared
    #[command(flatten)]
    pub objects: MigratedObjectsArgs,
    /// Where the old controller answers, as http://ADDRESS or https://ADDRESS, which may both be given; or a file that --record made
    #[arg(long, value_name = "URL|FILE", required = true)]
    pub reference: Vec<String>,
    /// Where HAPTIC answers, in the same schemes
    #[arg(long, value_name = "URL", required_unless_present = "record")]
    pub ours: Vec<SideUrl>,
    /// Write what the old controller answers into this file, for when it is gone; without --ours nothing is compared
    #[arg(long, value_name = "FILE")]
    pub record: Option<PathBuf>,
    /// Requests a second to each of both
    #[arg(long, value_name = "NUMBER", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub rate: u32,
    /// Seconds that an answer may take
    #[arg(long, value_name = "SECONDS", default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=300))]
    pub timeout: u64,
    /// Ask by this method as well, though it may change something: each path once, without a body; may be repeated
    #[arg(long = "method", value_name = "METHOD")]
    pub methods: Vec<AskedMethod>,
    /// A header of answers that counts as well; may be repeated
    #[arg(long = "header", value_name = "NAME")]
    pub headers: Vec<HeaderName>,
    /// A header by which servers tell who they are; may be repeated
    #[arg(long = "echo-header", value_name = "NAME")]
    pub echo_headers: Vec<HeaderName>,
    /// Names and passwords, in lines of `HOST NAME:PASSWORD`: each is sent for its host alone, where the Ingress asks for one
    #[arg(long, value_name = "FILE")]
    pub credentials: Option<PathBuf>,
    /// The authority (PEM) that signed the certificates of both; without it certificates are not verified
    #[arg(long, value_name = "FILE")]
    pub ca: Option<PathBuf>,
    /// Send credentials though certificates are not verified
    #[arg(long, conflicts_with = "ca")]
    pub insecure: bool,
    /// How it is printed
    #[arg(long, value_enum, default_value_t)]
    pub output: MigrateOutput,
}

/// `haptic migrate convert`
#[derive(Debug, Args)]
pub struct MigrateConvertArgs {
    /// The controller that the manifests are for
    #[arg(long, value_enum, value_name = "CONTROLLER")]
    pub from: MigrateFrom,
    /// A file of manifests, or with --in-place a folder; - is standard input
    #[arg(short = 'f', long = "file", value_name = "PATH")]
    pub file: PathBuf,
    /// What they become
    #[arg(long, value_enum, default_value_t)]
    pub to: MigrateTo,
    /// The Gateway that HTTPRoutes are attached to, and its listener if only one is meant
    #[arg(long, value_name = "NAMESPACE/NAME[/LISTENER]", required_if_eq("to", "httproutes"))]
    pub gateway: Option<RouteParent>,
    /// Write into the files in place of printing
    #[arg(long)]
    pub in_place: bool,
    /// The controller's own ConfigMap, among the manifests
    #[arg(long, value_name = "NAMESPACE/NAME")]
    pub config_map: Option<ConfigMapName>,
    /// Only Ingresses of this class; may be repeated
    #[arg(long = "class", value_name = "NAME")]
    pub classes: Vec<String>,
}

/// Objects that were written for another controller.
#[derive(Debug, Args)]
pub struct MigratedObjectsArgs {
    /// A file or folder of manifests, as of `kubectl get ingress,service,configmap -A -o yaml`; - is standard input
    #[arg(short = 'f', long = "file", value_name = "PATH")]
    pub file: Option<PathBuf>,
    /// Read the cluster's Ingresses and Services in place of manifests
    #[arg(long, conflicts_with = "file")]
    pub from_cluster: bool,
    /// The controller's own ConfigMap, among the manifests or in the cluster
    #[arg(long, value_name = "NAMESPACE/NAME")]
    pub config_map: Option<ConfigMapName>,
    /// Only Ingresses of this class; may be repeated
    #[arg(long = "class", value_name = "NAME")]
    pub classes: Vec<String>,
    /// The kubeconfig's context [default: its current one]
    #[arg(long, requires = "from_cluster")]
    pub context: Option<String>,
    /// How to reach the API server [default: $KUBECONFIG, else ~/.kube/config, else the pod's service account]
    #[arg(long, value_name = "FILE", requires = "from_cluster")]
    pub kubeconfig: Option<PathBuf>,
}

/// The controllers whose annotations are known.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum MigrateFrom {
    /// kubernetes/ingress-nginx
    IngressNginx,
    /// haproxytech/kubernetes-ingress
    HaproxyOrg,
    /// jcmoraisjr/haproxy-ingress
    HaproxyIngress,
}

/// What manifests become.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum MigrateTo {
    /// Ingresses with annotations of HAPTIC
    #[default]
    Annotations,
    /// HTTPRoutes of the Gateway API
    #[value(name = "httproutes")]
    HttpRoutes,
}

/// For people, programs or a page.
#[derive(Clone, Copy, Debug, Default, ValueEnum)]
pub enum MigrateOutput {
    /// For people: what is not the same, and totals.
    #[default]
    Summary,
    /// For programs.
    Json,
    /// A page with tables.
    Markdown,
}

impl From<MigrateFrom> for Family {
    fn from(from: MigrateFrom) -> Self {
        match from {
            MigrateFrom::IngressNginx => Self::IngressNginx,
            MigrateFrom::HaproxyOrg => Self::HaproxyOrg,
            MigrateFrom::HaproxyIngress => Self::HaproxyIngress,
        }
    }
}

/// Where one side of a comparison answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SideUrl {
    /// How it is asked.
    pub scheme: ComparedScheme,
    /// A name or an address.
    pub host: String,
    /// Of TCP.
    pub port: u16,
}

impl SideUrl {
    /// Whether a text is meant as one, and not as a file.
    #[must_use]
    pub fn is_meant(text: &str) -> bool {
        text.contains("://")
    }
}

impl FromStr for SideUrl {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wanted = "must be http://ADDRESS or https://ADDRESS, with a port where it is another one, and without a path";
        let uri: awc::http::Uri = text.parse().map_err(|_| wanted.to_owned())?;
        let (scheme, default) = match uri.scheme_str() {
            Some("http") => (ComparedScheme::Http, 80),
            Some("https") => (ComparedScheme::Https, 443),
            _ => return Err(wanted.to_owned()),
        };
        if uri.authority().is_some_and(|authority| authority.as_str().contains('@')) {
            return Err("must have no name and password: --credentials names a file with them".to_owned());
        }
        match uri.host() {
            Some(host) if !host.is_empty() && matches!(uri.path(), "" | "/") && uri.query().is_none() => {
                Ok(Self { scheme, host: host.to_owned(), port: uri.port_u16().unwrap_or(default) })
            }
            _ => Err(wanted.to_owned()),
        }
    }
}

impl std::fmt::Display for SideUrl {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}://{}:{}", self.scheme.name(), self.host, self.port)
    }
}

/// A method in capital letters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AskedMethod(pub String);

impl FromStr for AskedMethod {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let method = text.to_ascii_uppercase();
        if method.is_empty() || !method.bytes().all(|byte| byte.is_ascii_uppercase()) || method == "CONNECT" {
            return Err("must be a method, such as POST".to_owned());
        }
        if SAFE_METHODS.contains(&&*method) {
            return Err(format!("{method} is asked in any case"));
        }
        Ok(Self(method))
    }
}

/// A header's name in small letters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeaderName(pub String);

impl FromStr for HeaderName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        awc::http::header::HeaderName::from_str(text)
            .map(|name| Self(name.as_str().to_owned()))
            .map_err(|_| "must be the name of a header".to_owned())
    }
}
