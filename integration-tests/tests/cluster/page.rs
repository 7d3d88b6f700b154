//! Pages typed word for word: docs/getting-started.md, "In a cluster", and docs/cluster.md, "Without Helm".

use crate::{
    node::Node,
    release::{BACKEND, HOST},
    report::{Measure, measured},
};
use integration_tests::{
    Failure, Outcome, ensure, eventually, http,
    markdown::{self, root},
    process::output,
    program::{self, Helm},
};
use std::{
    net::{IpAddr, SocketAddr},
    os::unix::fs::symlink,
    path::Path,
    time::Instant,
};
use tokio::process::Command;

const PAGE: &str = "docs/getting-started.md";
/// The page of those who have no Helm.
const CLUSTER: &str = "docs/cluster.md";
/// What that page shows, in the order in which it does.
const MANIFESTS: [&str; 3] = ["haproxy", "controller", "rbac"];
/// What its first configuration serves.
const SERVED: &str = "expose=web";
/// Where its HAProxy pods listen.
const PORT: u16 = 7080;

/// Commands that are not typed here, and why.
const LEFT_OUT: &[(&str, &str)] = &[
    ("docker build -t haptic:0.1.0 .", "the node has the image"),
    ("kind load docker-image haptic:0.1.0", "the node has the image"),
    ("kubectl port-forward -n edge service/haptic 8080:80", "the node has load balancers"),
    ("curl -H 'Host: hello.example.com' http://127.0.0.1:8080/hostname", "goes through it"),
];

/// Follows the page with this helm, and takes away what it leaves behind.
pub async fn followed(node: &Node, helm: Helm) -> Outcome<Vec<Measure>> {
    let programs = tempfile::tempdir()?;
    symlink(program::helm(helm)?, programs.path().join("helm"))?;
    symlink(program::kubectl()?, programs.path().join("kubectl"))?;
    let began = Instant::now();
    let mut measures = Vec::new();
    for (command, shown) in markdown::commands(&part(PAGE, "In a cluster")?) {
        if LEFT_OUT.iter().any(|(left_out, _)| *left_out == command) {
            continue;
        }
        let typed = typed(node, programs.path(), &command).await.map_err(|failure| failure.during(&command));
        match command.starts_with("kubectl annotate") {
            true => ensure(typed.is_err(), format!("{command} is to be refused"))?,
            false => {
                let printed = typed?;
                ensure(
                    printed.contains(&shown),
                    format!("{command} printed {printed:?}, the page {shown:?}"),
                )?;
            }
        }
        if command.starts_with("curl") {
            measures.push(measured("from the first command to the first answer", began));
        }
    }
    ensure(!measures.is_empty(), format!("{PAGE} asks for nothing"))?;
    let left = node.kubectl(&["get", "all", "-n", "edge", "-o", "name"]).await?;
    ensure(left.lines().all(|object| object.starts_with("pod/")), format!("the end leaves {left}"))?;
    let secret = node.kubectl(&["get", "secret", "-n", "edge", "-o", "name"]).await?;
    ensure(
        secret.lines().count() == 1,
        format!("the page says that one Secret is left, there are: {secret}"),
    )?;
    node.kubectl(&["delete", "namespace", "edge"]).await?;
    node.kubectl(&["delete", "-f", &root().join("charts/haptic/crds").to_string_lossy()]).await?;
    Ok(measures)
}

fn part(page: &str, title: &str) -> Outcome<String> {
    let text = markdown::read(page);
    let part = text.split("\n## ").find(|part| part.starts_with(title)).map(str::to_owned);
    part.ok_or_else(|| Failure::new(format!("{page} has no part \"{title}\"")))
}

/// Follows the page without Helm, has the first configuration serve the backend, and takes all away.
pub async fn without_helm(node: &Node) -> Outcome<Vec<Measure>> {
    let folder = tempfile::tempdir()?;
    symlink(program::haptic()?, folder.path().join("haptic"))?;
    symlink(program::kubectl()?, folder.path().join("kubectl"))?;
    let first = root().join("fixtures/first");
    let config = first.join("config.yaml").to_string_lossy().into_owned();
    node.apply(BACKEND).await?;
    let began = Instant::now();
    let without_helm = part(CLUSTER, "Without Helm")?;
    let typed_there = ["kubectl create", "haptic crd", "kubectl apply"];
    for (command, _) in markdown::commands(&without_helm) {
        if typed_there.iter().any(|begin| command.starts_with(begin)) {
            typed(node, folder.path(), &command.replace("config.yaml", &config)).await?;
        }
    }
    for manifest in MANIFESTS {
        let shown = format!("<!-- fixtures/first/{manifest}.yaml -->");
        ensure(without_helm.contains(&shown), format!("{CLUSTER} does not show {manifest}.yaml"))?;
        let file = first.join(format!("{manifest}.yaml"));
        node.kubectl(&["apply", "-f", &file.to_string_lossy()]).await?;
    }
    node.kubectl(&["label", "service", "hello", SERVED]).await?;
    node.kubectl(&["annotate", "service", "hello", &format!("example.com/hosts={HOST}")]).await?;
    for pod in pods_of_the_page(node).await? {
        eventually("the first configuration is served", async || {
            http::get(SocketAddr::new(pod, PORT), HOST, "/").await?.has_status(200)
        })
        .await?;
    }
    let served = measured("from the first command until all pods serve", began);
    node.kubectl(&["delete", "namespace", "edge"]).await?;
    let rights = ["clusterrole/haptic", "clusterrolebinding/haptic"];
    node.kubectl(&[&["delete"], &rights[..]].concat()).await?;
    node.kubectl(&["delete", "service,deployment", "hello"]).await?;
    node.kubectl(&["delete", "-f", &root().join("charts/haptic/crds").to_string_lossy()]).await?;
    Ok(vec![served])
}

/// The addresses of its HAProxy pods, once there are two.
async fn pods_of_the_page(node: &Node) -> Outcome<Vec<IpAddr>> {
    eventually("two HAProxy pods have addresses", async || {
        let addresses = "jsonpath={.items[*].status.podIP}";
        let pods = node.kubectl(&["get", "pods", "-n", "edge", "-l", "app=haproxy", "-o", addresses]).await?;
        let pods: Vec<IpAddr> =
            pods.split_whitespace().map(str::parse).collect::<std::result::Result<_, _>>()?;
        ensure(pods.len() == 2, format!("there are {}", pods.len()))?;
        Ok(pods)
    })
    .await
}

/// A request is repeated until it is answered, as a person would who asks before the pods have come up.
async fn typed(node: &Node, programs: &Path, command: &str) -> Outcome<String> {
    let once = async |command: &str| {
        let path = format!("{}:{}", programs.display(), std::env::var("PATH").unwrap_or_default());
        let mut bash = Command::new("bash");
        bash.args(["-c", command]).current_dir(root()).env("PATH", path).env("KUBECONFIG", node.kubeconfig());
        output(&mut bash).await
    };
    if !command.starts_with("curl") {
        return once(command).await;
    }
    let asked = command.replacen("curl", "curl -sf", 1);
    eventually("it is answered", async || {
        let path = "jsonpath={.status.loadBalancer.ingress[0].ip}";
        let address = node.kubectl(&["get", "ingress", "hello", "-o", path]).await?;
        ensure(!address.is_empty(), "the Ingress has no address")?;
        once(&asked.replace("ADDRESS", &address)).await
    })
    .await
}
