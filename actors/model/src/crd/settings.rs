//! Settings of the controller itself.

use super::{GatewayServicesSpec, Interval, LimitsSpec, WebhookSpec};
use crate::fleet::TransportKind;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Names a Secret.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SecretReference {
    /// Its name. Keys: `dataplane_username`, `dataplane_password`.
    pub name: String,
    /// Its namespace; the configuration's when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
}

/// Selects pods in the controller's namespace.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PodSelector {
    /// Labels that a pod must all have; at least one.
    pub match_labels: BTreeMap<String, String>,
}

/// Ports, leader election and commentary.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ControllerSpec {
    /// `/livez` and `/healthz`, which are the same, and `/readyz`.
    pub healthz_port: u16,
    /// `/metrics`.
    pub metrics_port: u16,
    /// `/debug`, on loopback unless told otherwise.
    pub debug_port: u16,
    /// The admission webhook's; see `webhook`.
    pub webhook_port: u16,
    /// Who deploys.
    pub leader_election: LeaderElectionSpec,
    /// One line for everything that happens.
    pub event_commentator: EventCommentatorSpec,
    /// What `haptic record` gets.
    pub recording: RecordingSpec,
    /// For how long objects stay in force that vanish at once (more than half of a watched resource, 20 at least), not by being
    /// deleted one by one: a wrong selector must not take all routes away. `0s`: not at all.
    pub mass_deletion_hold: Interval,
    /// For how long a host and its paths are kept for the namespace that had them when its Ingress is deleted or drops them, so
    /// that a re-created or restored one does not lose them to a namespace that waits. `0s`: not at all. The leader
    /// writes down what is kept, so that it outlives controllers.
    pub host_hold: Interval,
    /// Render again after this long without a render, though nothing changed. `0s`: not at all. The same result is deployed nowhere.
    pub reconcile_interval: Interval,
    /// How much watched objects may take, and what is printed for them, so that those of one namespace leave room for all others.
    pub limits: LimitsSpec,
    /// Which addresses the Ingresses that are served show as theirs; without it none are written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ingress_status: Option<IngressStatusSpec>,
    /// How objects of the Gateway API are served, if they are watched.
    pub gateway: GatewayServicesSpec,
    /// The admission webhook, which refuses bad configurations and bad objects before they are stored; `{}` is enough. Without
    /// it there is one, with all defaults, if a watched resource asks for it by `enableValidationWebhook`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub webhook: Option<WebhookSpec>,
}

/// Where the addresses come from that are written to `status.loadBalancer` of Ingresses.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct IngressStatusSpec {
    /// The Service in front of the HAProxy pods: its load balancer's addresses, external IPs, or cluster IP.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub service: Option<ServiceReference>,
    /// IP addresses and host names, after those of the Service.
    pub addresses: Vec<String>,
}

/// Names a Service.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ServiceReference {
    /// Its name.
    pub name: String,
    /// Its namespace; the configuration's when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
}

/// Leader election between replicas.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct LeaderElectionSpec {
    /// Without it, this replica deploys always: run one only.
    pub enabled: bool,
    /// Name of the Lease. Another name is taken up after `leaseDuration`; let it be one that was never used.
    pub lease_name: String,
    /// How long a lease is valid without being renewed.
    pub lease_duration: Interval,
    /// A leader that could not renew for this long steps down.
    pub renew_deadline: Interval,
    /// Pause between attempts.
    pub retry_period: Interval,
}

/// The commentary's memory and level.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct EventCommentatorSpec {
    /// Off: nothing is said, everything works.
    pub enabled: bool,
    /// Events kept for `/debug`: so many steps of generations, and as many warnings and other news.
    pub buffer_size: usize,
    /// trace, debug, info, warn or error.
    pub log_level: String,
}

/// What is remembered of the last generations, so that they can be rendered again somewhere else.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct RecordingSpec {
    /// Generations kept, in memory alone; each takes as much as changed with it. 0: none.
    pub generations: usize,
}

/// Logs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct LoggingSpec {
    /// TRACE (also each stage's time and each plan, whatever eventCommentator.logLevel is), DEBUG, INFO, WARN or ERROR; changes
    /// take effect at once. Without one, that of the environment's LOG_LEVEL, and without that, INFO.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub level: Option<String>,
}

/// How pods are reached and changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct DataplaneSpec {
    /// `agent` or `dataplaneapi`.
    pub transport: TransportKind,
    /// Port of agent or Data Plane API on each pod.
    pub port: u16,
    /// http or https.
    pub scheme: Scheme,
    /// PEM certificates that sign the pods' ones.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ca_bundle: Option<String>,
    /// Least time between two reloads of a pod; changes without a reload never wait for it.
    pub min_deployment_interval: Interval,
    /// How often a pod is compared with what it should run.
    pub drift_prevention_interval: Interval,
    /// Longest time one deployment to one pod may take.
    pub deployment_timeout: Interval,
    /// Where map files lie.
    pub maps_dir: String,
    /// Where certificates lie.
    pub ssl_certs_dir: String,
    /// Where other files lie.
    pub general_storage_dir: String,
    /// Where haproxy.cfg lies.
    pub config_file: String,
}

/// http or https.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Scheme {
    /// Plain.
    #[default]
    Http,
    /// TLS.
    Https,
}

/// How much HAProxy's own checker is waited for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ValidationSpec {
    /// A change that HAProxy takes by operations is live while `haproxy -c` still reads the whole, and is taken back if that refuses
    /// it. `false`: nothing goes live before `haproxy -c` has accepted it, endpoints neither.
    pub express: bool,
}

/// How changes are gathered before a render. An isolated change never waits; with a quiet time of 5ms or less, the first few close behind it
/// wait a fifth of that.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct DebounceSpec {
    /// In a stream of changes, render after this much silence.
    pub quiet: Interval,
    /// Or when the oldest change is this old.
    pub max_wait: Interval,
}

impl Default for ControllerSpec {
    fn default() -> Self {
        Self {
            healthz_port: 8080,
            metrics_port: 9090,
            debug_port: 6060,
            webhook_port: 9443,
            leader_election: LeaderElectionSpec::default(),
            event_commentator: EventCommentatorSpec::default(),
            recording: RecordingSpec::default(),
            mass_deletion_hold: "10m".into(),
            host_hold: "10m".into(),
            reconcile_interval: "0s".into(),
            limits: LimitsSpec::default(),
            ingress_status: None,
            gateway: GatewayServicesSpec::default(),
            webhook: None,
        }
    }
}

impl Default for LeaderElectionSpec {
    fn default() -> Self {
        Self {
            enabled: true,
            lease_name: "haptic-leader".into(),
            lease_duration: "15s".into(),
            renew_deadline: "10s".into(),
            retry_period: "2s".into(),
        }
    }
}

impl Default for EventCommentatorSpec {
    fn default() -> Self {
        Self { enabled: true, buffer_size: 1000, log_level: "info".into() }
    }
}

impl Default for RecordingSpec {
    fn default() -> Self {
        Self { generations: 10 }
    }
}

impl Default for DataplaneSpec {
    fn default() -> Self {
        Self {
            transport: TransportKind::Agent,
            port: 5555,
            scheme: Scheme::Http,
            ca_bundle: None,
            min_deployment_interval: "2s".into(),
            drift_prevention_interval: "60s".into(),
            deployment_timeout: "30s".into(),
            maps_dir: "/etc/haproxy/maps".into(),
            ssl_certs_dir: "/etc/haproxy/ssl".into(),
            general_storage_dir: "/etc/haproxy/general".into(),
            config_file: "/etc/haproxy/haproxy.cfg".into(),
        }
    }
}

impl Default for ValidationSpec {
    fn default() -> Self {
        Self { express: true }
    }
}

impl Default for DebounceSpec {
    fn default() -> Self {
        Self { quiet: "5ms".into(), max_wait: "50ms".into() }
    }
}
