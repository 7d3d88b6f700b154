//! How traffic is routed: by Ingresses, or by HTTPRoutes at one Gateway (`make cluster ROUTES=gateway`).

use crate::{node::Node, release::NAMESPACE};
use integration_tests::{Outcome, certificate, manifest, program};
use serde_json::{Value, json};
use std::{env, fs, sync::LazyLock};

/// Says which.
const VARIABLE: &str = "HAPTIC_CLUSTER_ROUTES";
/// What the Gateway is called, and the Secret with its certificate.
const GATEWAY: &str = "web";
const GROUP: &str = "gateway.networking.k8s.io";
/// Where addresses of load balancers are.
const OF_SERVICE: &str = "jsonpath={.status.loadBalancer.ingress[0].ip}";
const OF_GATEWAY: &str = "jsonpath={.status.addresses[0].value}";
/// Has a route match by a regular expression that is none.
const NO_EXPRESSION: &str = r#"[{"op": "add", "path": "/spec/rules/0/matches",
    "value": [{"path": {"type": "RegularExpression", "value": "/("}}]}]"#;

static CHOSEN: LazyLock<Routing> = LazyLock::new(|| match asked_for().as_str() {
    "gateway" => Routing::Gateway,
    _ => Routing::Ingresses,
});

/// What a route is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Routing {
    /// An Ingress.
    Ingresses,
    /// An HTTPRoute at the Gateway.
    Gateway,
}

fn asked_for() -> String {
    env::var(VARIABLE).unwrap_or_default()
}

/// What is asked for, where there is no such routing.
pub fn unknown() -> Option<String> {
    Some(asked_for()).filter(|word| !word.is_empty() && word != "gateway")
}

impl Routing {
    /// That of this run.
    pub fn chosen() -> Self {
        *CHOSEN
    }

    /// The kind of a route, as kubectl has it.
    pub fn kind(self) -> &'static str {
        match self {
            Self::Ingresses => "ingress",
            Self::Gateway => "httproute",
        }
    }

    /// What helm is told besides.
    pub fn settings(self) -> &'static [&'static str] {
        match self {
            Self::Ingresses => &[],
            Self::Gateway => &["--set", "gateway.enabled=true"],
        }
    }

    /// What has kubectl print the address of the load balancer that routes are reached by.
    pub fn address(self) -> &'static [&'static str] {
        match self {
            Self::Ingresses => &["get", "service", "haptic", "-n", NAMESPACE, "-o", OF_SERVICE],
            Self::Gateway => &["get", "gateway", GATEWAY, "-o", OF_GATEWAY],
        }
    }

    /// A change of a route that the webhook has to refuse.
    pub fn wrong_change(self) -> &'static [&'static str] {
        match self {
            Self::Ingresses => &["annotate", "ingress", "hello", "haproxy-haptic.org/timeout-server=soon"],
            Self::Gateway => &["patch", "httproute", "hello", "--type=json", "-p", NO_EXPRESSION],
        }
    }

    /// What has to be there before the release is.
    pub async fn prepare(self, node: &Node) -> Outcome {
        if self == Self::Ingresses {
            return Ok(());
        }
        for file in fs::read_dir(program::definitions()?)? {
            let path = file?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            if name.starts_with(&format!("{GROUP}_")) {
                node.kubectl(&["apply", "--server-side", "-f", &path.to_string_lossy()]).await?;
            }
        }
        let class = format!("crd/gatewayclasses.{GROUP}");
        node.kubectl(&["wait", "--for=condition=Established", &class, "--timeout=60s"]).await?;
        Ok(())
    }

    /// What all routes share, once the release is there.
    pub async fn open(self, node: &Node) -> Outcome {
        if self == Self::Ingresses {
            return Ok(());
        }
        let secret = manifest::tls_secret(GATEWAY, &certificate::for_host("*.example.com")?);
        node.apply(&secret.to_string()).await?;
        node.apply(&gateway().to_string()).await?;
        let name = format!("gateway/{GATEWAY}");
        node.kubectl(&["wait", &name, "--for=condition=Programmed", "--timeout=120s"]).await?;
        Ok(())
    }

    /// Takes away what [`Self::open`] made.
    pub async fn close(self, node: &Node) -> Outcome {
        if self == Self::Gateway {
            node.kubectl(&["delete", &format!("gateway/{GATEWAY}"), &format!("secret/{GATEWAY}")]).await?;
        }
        Ok(())
    }

    /// Makes a route for NAME.example.com.
    pub async fn route(self, node: &Node, name: &str) -> Outcome {
        match self {
            Self::Ingresses => ingress(node, name, "").await,
            Self::Gateway => node.apply(&http_route(name).to_string()).await,
        }
    }

    /// The same, and the Secret with the certificate that clients are shown there.
    pub async fn tls_route(self, node: &Node, name: &str) -> Outcome<String> {
        match self {
            Self::Ingresses => {
                ingress(node, name, &format!(",tls={name}")).await?;
                Ok(name.to_owned())
            }
            Self::Gateway => {
                self.route(node, name).await?;
                Ok(GATEWAY.to_owned())
            }
        }
    }

    /// Gives the servers of a route another time to answer.
    pub async fn set_timeout(self, node: &Node, name: &str, seconds: usize) -> Outcome {
        match self {
            Self::Ingresses => {
                let option = format!("haproxy-haptic.org/timeout-server={seconds}s");
                node.kubectl(&["annotate", "ingress", name, &option, "--overwrite"]).await?;
            }
            Self::Gateway => {
                let timeouts = json!({ "request": format!("{seconds}s") });
                let patch = json!([{ "op": "add", "path": "/spec/rules/0/timeouts", "value": timeouts }]);
                node.kubectl(&["patch", "httproute", name, "--type=json", "-p", &patch.to_string()]).await?;
            }
        }
        Ok(())
    }
}

async fn ingress(node: &Node, name: &str, tls: &str) -> Outcome {
    let rule = format!("--rule={name}.example.com/*=hello:80{tls}");
    node.kubectl(&["create", "ingress", name, "--class=haptic", &rule]).await?;
    Ok(())
}

fn gateway() -> Value {
    let tls = json!({ "certificateRefs": [{ "name": GATEWAY }] });
    json!({
        "apiVersion": format!("{GROUP}/v1"), "kind": "Gateway", "metadata": { "name": GATEWAY },
        "spec": {
            "gatewayClassName": "haptic",
            "listeners": [
                { "name": "http", "port": 80, "protocol": "HTTP" },
                { "name": "https", "port": 443, "protocol": "HTTPS", "tls": tls },
            ],
        },
    })
}

fn http_route(name: &str) -> Value {
    json!({
        "apiVersion": format!("{GROUP}/v1"), "kind": "HTTPRoute", "metadata": { "name": name },
        "spec": {
            "parentRefs": [{ "name": GATEWAY }],
            "hostnames": [format!("{name}.example.com")],
            "rules": [{ "backendRefs": [{ "name": "hello", "port": 80 }] }],
        },
    })
}
