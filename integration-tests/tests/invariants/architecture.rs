//! Dependency direction: server -> webhook -> inspect -> stage crates -> attribution -> {runtime, haproxy, routes} -> model -> text.

use crate::{assert_none, metadata};
use cargo_metadata::Metadata;

/// One crate of the workspace and one line of its dependency table, of any kind.
#[derive(Clone, Debug)]
struct Edge {
    from: String,
    to: String,
    features: Vec<String>,
}

/// The crates that are a stage of the pipeline, and the agent.
pub const STAGES: [&str; 10] = [
    "config",
    "watch",
    "resolve",
    "debounce",
    "render",
    "validate",
    "deploy",
    "leader",
    "commentator",
    "agent",
];
/// All crates below the binary: each may use those before it, as far as [`wrong_direction`] says.
const BELOW_SERVER: [&str; 19] = [
    "text",
    "model",
    "haproxy",
    "runtime",
    "routes",
    "attribution",
    "config",
    "watch",
    "resolve",
    "debounce",
    "render",
    "validate",
    "deploy",
    "data-plane-api",
    "leader",
    "commentator",
    "inspect",
    "webhook",
    "agent",
];
/// `inspect` and `webhook` stand on all stages but the agent, and `webhook` on `inspect`, whose tests of a configuration it runs.
const INSPECT: usize = 16;
const WEBHOOK: usize = 17;
/// Those that may name types of Kubernetes' own API.
const KNOW_KUBERNETES: [&str; 5] = ["model", "config", "watch", "deploy", "leader"];

fn edges(metadata: &Metadata) -> Vec<Edge> {
    let crates = metadata.workspace_packages();
    let edge = |from: &str, to: &cargo_metadata::Dependency| Edge {
        from: from.trim_start_matches("haptic-").to_owned(),
        to: to.name.clone(),
        features: to.features.clone(),
    };
    // The tests may look into everything.
    let checked = crates.iter().filter(|package| package.name.as_str() != "integration-tests");
    checked.flat_map(|package| package.dependencies.iter().map(|to| edge(&package.name, to))).collect()
}

/// A crate may use our own crates below it, and none beside it.
fn wrong_direction(edges: &[Edge]) -> Vec<String> {
    let allowed = |from: &str| -> &[&str] {
        match from {
            "text" => &[],
            "model" => &["text"],
            "haproxy" | "runtime" | "routes" => &["text", "model"],
            "attribution" => &["text", "model", "haproxy", "routes"],
            stage if STAGES.contains(&stage) => {
                &["text", "model", "haproxy", "runtime", "routes", "attribution"]
            }
            // A transport of deploy's pods, which deploy does not know.
            "data-plane-api" => &["text", "model", "haproxy", "runtime", "deploy"],
            "inspect" => &BELOW_SERVER[..INSPECT],
            "webhook" => &BELOW_SERVER[..WEBHOOK],
            _ => &BELOW_SERVER,
        }
    };
    let ours = edges.iter().filter_map(|edge| Some((&edge.from, edge.to.strip_prefix("haptic-")?)));
    let wrong = ours.filter(|(from, to)| !allowed(from).contains(to));
    wrong
        .map(|(from, to)| format!("{from} depends on {to}: stages meet in model, and in server's wiring"))
        .collect()
}

/// text, model, haproxy, routes and attribution are pure: no actors, no runtime, no connections.
fn impure(edges: &[Edge]) -> Vec<String> {
    let does_io = |edge: &&Edge| {
        let connects =
            edge.features.iter().any(|f| ["client", "config", "runtime", "ws"].contains(&f.as_str()));
        ["actix", "tokio", "hyper", "awc", "async", "reqwest", "kube-client", "kube-runtime"]
            .iter()
            .any(|io| edge.to.starts_with(io))
            || (edge.to == "kube" && connects)
    };
    let pure = edges
        .iter()
        .filter(|edge| ["text", "model", "haproxy", "routes", "attribution"].contains(&edge.from.as_str()));
    pure.filter(does_io)
        .map(|edge| {
            format!(
                "{} depends on {} {:?}: it is plain data and functions",
                edge.from, edge.to, edge.features
            )
        })
        .collect()
}

/// Only those that talk to the API server name its types.
fn knows_kubernetes(edges: &[Edge]) -> Vec<String> {
    let users = edges
        .iter()
        .filter(|edge| edge.to == "k8s-openapi" && !KNOW_KUBERNETES.contains(&edge.from.as_str()));
    users
        .map(|edge| format!("{} depends on k8s-openapi; only {} may", edge.from, KNOW_KUBERNETES.join(", ")))
        .collect()
}

#[test]
fn crates_depend_only_downwards() {
    assert_none(&wrong_direction(&edges(metadata())));
}

#[test]
fn what_is_below_the_stages_is_pure() {
    assert_none(&impure(&edges(metadata())));
}

#[test]
fn few_crates_know_kubernetes_types() {
    assert_none(&knows_kubernetes(&edges(metadata())));
}

#[test]
fn the_rules_see_this_workspace() {
    let edges = edges(metadata());
    assert!(edges.iter().any(|edge| edge.from == "haptic" && edge.to == "haptic-deploy"), "{edges:?}");
    assert!(
        STAGES.iter().all(|stage| edges.iter().any(|edge| edge.from == *stage)),
        "a stage has another name"
    );
}

fn edge(from: &str, to: &str, features: &[&str]) -> Edge {
    Edge { from: from.into(), to: to.into(), features: features.iter().map(|f| (*f).into()).collect() }
}

#[test]
fn a_stage_that_uses_another_is_found() {
    assert_eq!(
        wrong_direction(&[edge("render", "haptic-validate", &[]), edge("render", "haptic-model", &[])]).len(),
        1
    );
    assert_eq!(
        wrong_direction(&[edge("model", "haptic-haproxy", &[]), edge("runtime", "haptic-haproxy", &[])])
            .len(),
        2
    );
    assert_eq!(
        wrong_direction(&[edge("deploy", "haptic-agent", &[]), edge("haptic", "haptic-agent", &[])]).len(),
        1
    );
    for (from, to, wrong) in [
        ("model", "haptic-text", 0),
        ("text", "haptic-model", 1),
        ("webhook", "haptic-inspect", 0),
        ("inspect", "haptic-render", 0),
        ("inspect", "haptic-webhook", 1),
        ("webhook", "haptic-agent", 1),
        ("leader", "haptic-inspect", 1),
        ("data-plane-api", "haptic-deploy", 0),
        ("deploy", "haptic-data-plane-api", 1),
    ] {
        assert_eq!(wrong_direction(&[edge(from, to, &[])]).len(), wrong, "{from} -> {to}");
    }
}

#[test]
fn a_pure_crate_with_a_client_is_found() {
    assert_eq!(
        impure(&[edge("model", "kube", &["derive", "client"]), edge("model", "kube", &["derive"])]).len(),
        1
    );
    assert_eq!(
        impure(&[
            edge("haproxy", "tokio", &[]),
            edge("haproxy", "actix-rt", &[]),
            edge("watch", "tokio", &[])
        ])
        .len(),
        2
    );
}

#[test]
fn a_crate_that_should_not_know_kubernetes_types_is_found() {
    assert_eq!(
        knows_kubernetes(&[edge("render", "k8s-openapi", &[]), edge("watch", "k8s-openapi", &[])]).len(),
        1
    );
}
