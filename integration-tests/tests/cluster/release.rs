//! HAPTIC in the node, as docs/getting-started.md installs it, and the Deployment that traffic goes to.

use crate::{
    node::Node,
    report::{Measure, measured},
    routing::Routing,
};
use integration_tests::{Failure, Outcome, ensure, eventually, http, program::Helm};
use serde_json::Value;
use std::{
    net::{IpAddr, SocketAddr},
    path::Path,
    time::{Duration, Instant},
};

/// Its namespace.
pub const NAMESPACE: &str = "edge";
/// The host of the route that is there from the beginning.
pub const HOST: &str = "hello.example.com";
/// The Deployment that traffic goes to, and its Service.
pub const BACKEND: &str = include_str!("backend.yaml");

/// A release.
pub struct Release {
    /// Where it is.
    pub node: Node,
    /// Its load balancer's: HTTP and HTTPS.
    pub addresses: [SocketAddr; 2],
}

impl Release {
    /// Installs the backend and the release, and waits until its first route is served.
    pub async fn install(node: Node) -> Outcome<(Self, Vec<Measure>)> {
        let began = Instant::now();
        node.apply(BACKEND).await?;
        node.kubectl(&["create", "namespace", NAMESPACE]).await?;
        enforce(&node, "restricted").await?;
        let routing = Routing::chosen();
        routing.prepare(&node).await?;
        let installed = Instant::now();
        let install = ["install", "haptic", "charts/haptic", "--namespace", NAMESPACE];
        node.helm(Helm::V3, &[&install, routing.settings()].concat()).await?;
        ready(&node).await?;
        let to_ready = measured("helm install to Ready", installed);
        let addresses = [80, 443].map(|port| SocketAddr::new(IpAddr::from([0, 0, 0, 0]), port));
        let mut release = Self { node, addresses };
        for deployment in ["haptic-controller", "haptic-haproxy"] {
            release.rolled(deployment).await?;
        }
        routing.open(&release.node).await?;
        let ip = release.address().await?;
        release.addresses.iter_mut().for_each(|address| address.set_ip(ip));
        release.node.kubectl(&["rollout", "status", "deployment/hello", "--timeout=60s"]).await?;
        release.route("hello").await?;
        release.serves(HOST).await?;
        Ok((release, vec![to_ready, measured("to the first route served", began)]))
    }

    async fn address(&self) -> Outcome<IpAddr> {
        eventually("the release has an address", async || {
            Ok(self.node.kubectl(Routing::chosen().address()).await?.parse()?)
        })
        .await
    }

    /// `kubectl get` in its namespace.
    pub async fn get(&self, words: &[&str]) -> Outcome<String> {
        self.node.kubectl(&[&["get", "-n", NAMESPACE], words].concat()).await
    }

    /// `kubectl` in its namespace.
    pub async fn kubectl(&self, words: &[&str]) -> Outcome<String> {
        self.node.kubectl(&[words, &["-n", NAMESPACE]].concat()).await
    }

    /// Waits until a Deployment's rollout is over.
    pub async fn rolled(&self, deployment: &str) -> Outcome {
        let name = format!("deployment/{deployment}");
        self.kubectl(&["rollout", "status", &name, "--timeout=120s"]).await?;
        Ok(())
    }

    /// Restarts a Deployment pod by pod.
    pub async fn restart(&self, deployment: &str) -> Outcome {
        self.kubectl(&["rollout", "restart", &format!("deployment/{deployment}")]).await?;
        self.rolled(deployment).await
    }

    /// Scales the HAProxy pods, and waits until so many are ready and no other is left.
    pub async fn scale(&self, replicas: usize) -> Outcome {
        self.kubectl(&["scale", "deployment/haptic-haproxy", &format!("--replicas={replicas}")]).await?;
        self.rolled("haptic-haproxy").await?;
        self.has_pods("haproxy", replicas).await
    }

    /// Waits until so many pods of a component are left.
    pub async fn has_pods(&self, component: &str, replicas: usize) -> Outcome {
        eventually("pods that are not wanted end", async || {
            let pods = self.pods(component).await?.len();
            ensure(pods == replicas, format!("there are {pods} pods"))
        })
        .await
    }

    /// The names of its pods of a component.
    pub async fn pods(&self, component: &str) -> Outcome<Vec<String>> {
        let label = format!("app.kubernetes.io/component={component}");
        let names = self.get(&["pods", "-l", &label, "-o", "name"]).await?;
        Ok(names.lines().filter_map(|line| Some(line.strip_prefix("pod/")?.to_owned())).collect())
    }

    /// The pod that leads.
    pub async fn leader(&self) -> Outcome<String> {
        let lease: Value = serde_json::from_str(&self.get(&["lease", "haptic", "-o", "json"]).await?)?;
        let holder = lease.pointer("/spec/holderIdentity").and_then(Value::as_str).unwrap_or_default();
        let pod = holder.split('_').next().unwrap_or_default();
        ensure(!pod.is_empty(), "nobody leads")?;
        Ok(pod.to_owned())
    }

    /// Waits until another pod than `former` leads.
    pub async fn another_leads(&self, former: &str) -> Outcome<String> {
        eventually("another pod leads", async || {
            let leader = self.leader().await?;
            ensure(leader != former, format!("{leader} leads"))?;
            Ok(leader)
        })
        .await
    }

    /// Makes a route for NAME.example.com.
    pub async fn route(&self, name: &str) -> Outcome {
        Routing::chosen().route(&self.node, name).await
    }

    /// Takes a route away.
    pub async fn unroute(&self, name: &str) -> Outcome {
        self.node.kubectl(&["delete", Routing::chosen().kind(), name]).await?;
        Ok(())
    }

    /// Makes a route, waits until it is served, and takes it away; how long it took to be served.
    pub async fn a_new_route_is_served(&self, name: &str) -> Outcome<Duration> {
        let began = Instant::now();
        self.route(name).await?;
        self.serves(&format!("{name}.example.com")).await?;
        let took = began.elapsed();
        self.unroute(name).await?;
        Ok(took)
    }

    /// Waits until all HAProxy pods serve a host.
    pub async fn serves(&self, host: &str) -> Outcome {
        eventually(format!("{host} is served"), async || {
            // The pods take turns.
            for _ in 0..8 {
                http::get(self.addresses[0], host, "/").await?.has_status(200)?;
            }
            Ok(())
        })
        .await
    }

    /// Brings the release back to what it was installed as, after a story that did not.
    pub async fn restore(&self) -> Outcome {
        self.enforce("restricted").await?;
        let words = ["upgrade", "haptic", "charts/haptic", "--namespace", NAMESPACE, "--reset-values"];
        let routing = Routing::chosen();
        self.node.helm(Helm::V3, &[&words, routing.settings()].concat()).await?;
        for deployment in ["haptic-controller", "haptic-haproxy"] {
            self.rolled(deployment).await?;
        }
        self.node.kubectl(&["delete", routing.kind(), "--all"]).await?;
        self.route("hello").await?;
        self.serves(HOST).await
    }

    /// The level of Pod Security of its namespace.
    pub async fn enforce(&self, level: &str) -> Outcome {
        enforce(&self.node, level).await
    }

    /// Upgrades the release with these settings besides those it has, and waits for its Deployments.
    pub async fn upgrade(&self, settings: &[&str]) -> Outcome {
        self.upgrade_pods(settings).await?;
        self.rolled("haptic-haproxy").await
    }

    /// The same, whatever its HAProxy pods are.
    pub async fn upgrade_pods(&self, settings: &[&str]) -> Outcome {
        let words: Vec<&str> = settings.iter().flat_map(|setting| ["--set", *setting]).collect();
        self.upgrade_with(&words).await
    }

    /// The same, with helm's own words.
    pub async fn upgrade_with(&self, words: &[&str]) -> Outcome {
        let upgrade =
            ["upgrade", "haptic", "charts/haptic", "--namespace", NAMESPACE, "--reset-then-reuse-values"];
        self.node.helm(Helm::V3, &[&upgrade, words].concat()).await?;
        self.rolled("haptic-controller").await?;
        ready(&self.node).await
    }

    /// Upgrades definitions and release to those of a tree, with its defaults but for how traffic is routed, and waits until it has rolled.
    pub async fn becomes(&self, tree: &Path, tag: Option<&str>) -> Outcome {
        let chart = tree.join("charts/haptic");
        let definitions = chart.join("crds").to_string_lossy().into_owned();
        let apply = ["apply", "--server-side", "--force-conflicts", "-f", &definitions];
        self.node.kubectl(&apply).await?;
        let chart = chart.to_string_lossy();
        let tag = format!("image.tag={}", tag.unwrap_or_default());
        let upgrade =
            ["upgrade", "haptic", &chart, "--namespace", NAMESPACE, "--reset-values", "--set", &tag];
        self.node.helm(Helm::V3, &[&upgrade, Routing::chosen().settings()].concat()).await?;
        for deployment in ["haptic-controller", "haptic-haproxy"] {
            self.rolled(deployment).await?;
        }
        ready(&self.node).await
    }

    /// Deletes a HAProxy pod; how long its container takes to end.
    pub async fn end_of_a_pod(&self) -> Outcome<Duration> {
        let pods = self.pods("haproxy").await?;
        let pod = pods.first().ok_or_else(|| Failure::new("there is no HAProxy pod"))?;
        let agent = self.node.process_of("haptic", pod)?;
        let began = Instant::now();
        self.kubectl(&["delete", "pod", pod, "--wait=false"]).await?;
        eventually("the pod's container ends", async || {
            let agents = self.node.processes_of("haptic", pod);
            ensure(!agents.contains(&agent), format!("process {agent} runs"))
        })
        .await?;
        Ok(began.elapsed())
    }
}

async fn enforce(node: &Node, level: &str) -> Outcome {
    let label = format!("pod-security.kubernetes.io/enforce={level}");
    node.kubectl(&["label", "namespace", NAMESPACE, &label, "--overwrite"]).await?;
    Ok(())
}

async fn ready(node: &Node) -> Outcome {
    node.kubectl(&["wait", "haptpl", "haptic", "-n", NAMESPACE, "--for=condition=Ready", "--timeout=2m"])
        .await?;
    Ok(())
}
