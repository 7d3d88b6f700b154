//! The stories, in the order in which they are told: all happen to one release.

mod failures;
mod leaders;
mod longevity;
mod rollouts;
mod settings;

use crate::{release::Release, report::Measure, routing::Routing};
use integration_tests::Outcome;
use std::{pin::Pin, rc::Rc, time::Duration};

type Happens = Pin<Box<dyn Future<Output = Outcome<Vec<Measure>>>>>;

/// What happens to the release while traffic flows.
pub struct Story {
    /// Its name.
    pub name: &'static str,
    /// For how long requests of an existing route may be lost.
    pub may_lose: Duration,
    /// How long it may take.
    pub limit: Duration,
    /// Whether a WebSocket is open meanwhile.
    pub with_web_socket: bool,
    /// Why it cannot be told here, if it cannot.
    pub lacks: fn() -> Option<String>,
    /// What happens.
    pub happens: Box<dyn Fn(Rc<Release>) -> Happens>,
}

fn story<F>(name: &'static str, happens: impl Fn(Rc<Release>) -> F + 'static) -> Story
where
    F: Future<Output = Outcome<Vec<Measure>>> + 'static,
{
    let happens = Box::new(move |release| Box::pin(happens(release)) as Happens);
    Story { name, may_lose: Duration::ZERO, limit: LIMIT, with_web_socket: true, lacks: || None, happens }
}

impl Story {
    fn may_lose(self, may_lose: Duration) -> Self {
        Self { may_lose, ..self }
    }

    fn without_web_socket(self) -> Self {
        Self { with_web_socket: false, ..self }
    }

    fn lacks(self, lacks: fn() -> Option<String>) -> Self {
        Self { lacks, ..self }
    }

    fn limit(self, limit: Duration) -> Self {
        Self { limit, ..self }
    }
}

fn lacks_program(name: &str) -> Option<String> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let is_here = std::env::split_paths(&path).any(|folder| folder.join(name).is_file());
    (!is_here).then(|| format!("there is no program '{name}' here"))
}

fn lacks_a_clock() -> Option<String> {
    leaders::library_of_clocks().is_none().then(|| "HAPTIC_NODE has no lib/libfaketime.so.1".to_owned())
}

fn lacks_an_earlier_tree() -> Option<String> {
    let Some(tree) = crate::node::earlier() else {
        return Some("FROM=REV names no earlier revision to upgrade from".to_owned());
    };
    let has_gateways = tree.join("charts/haptic/libraries/gateway.yaml").is_file();
    (Routing::chosen() == Routing::Gateway && !has_gateways)
        .then(|| "the revision of FROM=REV knows no Gateways".to_owned())
}

/// Of what Gateways have no form of.
pub fn is_told_with_ingresses() -> Option<String> {
    (Routing::chosen() == Routing::Gateway).then(|| "it is told with Ingresses".to_owned())
}

/// What the story of the Dockerfile is called.
pub const IMAGE: &str = "image";

/// How long a story may take.
const LIMIT: Duration = Duration::from_secs(300);
/// Where HAProxy itself is killed, requests of that pod are lost until it runs again.
const OF_A_KILLED_HAPROXY: Duration = Duration::from_millis(300);
/// Where a container ends, HAProxy ends with it: until kubelet has started it again, and HAProxy from disk.
const OF_A_KILLED_CONTAINER: Duration = Duration::from_secs(3);
/// The one pod of the one node has ended, and kubelet has seen with a probe, one every two seconds, that the next is ready.
const OF_THE_ONLY_POD: Duration = Duration::from_secs(5);
/// All pods' containers at once, which kubelet starts one after the other.
const OF_ALL_CONTAINERS: Duration = Duration::from_secs(6);

/// What takes too long for every run: it is told when somebody asks for it.
pub fn on_request() -> Vec<Story> {
    vec![
        story("longevity", longevity::longevity).limit(Duration::from_secs(24 * 3600)),
        story(IMAGE, rollouts::image_of_the_dockerfile).lacks(|| lacks_program("buildah")),
    ]
}

/// All others.
pub fn all() -> Vec<Story> {
    vec![
        story("calm", failures::calm),
        story("drain-of-a-pod", rollouts::drain_of_a_pod).without_web_socket(),
        story("haproxy-restart", rollouts::haproxy_restart),
        story("controller-restart", rollouts::controller_restart),
        story("scale", rollouts::scale),
        story("node-drained", rollouts::node_drained),
        story("daemonset-and-back", rollouts::daemon_set_and_back),
        story("host-ports", rollouts::host_ports).may_lose(OF_THE_ONLY_POD).lacks(is_told_with_ingresses),
        story("backend-restart", rollouts::backend_restart),
        story("leader-deleted", leaders::deleted),
        story("leader-killed", leaders::killed),
        story("leader-stopped", leaders::stopped),
        story("leader-cut-off", leaders::cut_off),
        story("leaders-clock-jumps", leaders::clock_jumps).lacks(lacks_a_clock),
        story("haproxy-killed", failures::haproxy_killed).may_lose(OF_A_KILLED_HAPROXY),
        story("agent-killed", failures::agent_killed).may_lose(OF_A_KILLED_CONTAINER),
        story("api-server-away", failures::api_server_away).limit(failures::AWAY + LIMIT),
        story("agents-killed-api-server-away", failures::agents_killed_without_api_server)
            .may_lose(OF_ALL_CONTAINERS),
        story("etcd-compacted", failures::etcd_compacted).lacks(|| lacks_program("curl")),
        story("disk-full", failures::disk_full),
        story("kubelet-restart", failures::kubelet_restart),
        story("containerd-restart", failures::containerd_restart),
        story("haproxy-3.0-3.2-3.4", settings::other_haproxy),
        story("credentials-rotated", settings::credentials_rotated),
        story("certificate-renewed", settings::certificate_renewed),
        story("webhook-fail-one-controller", settings::webhook_fails_closed),
        story("autoscaling-switched-on", settings::autoscaling),
        story("upgrade-and-back", rollouts::upgrade_and_back).lacks(lacks_an_earlier_tree),
    ]
}
