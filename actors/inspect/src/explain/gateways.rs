//! The ports of HAProxy behind those of the Gateways that may take a request.

use super::{
    absent::routes::of_host,
    explanation::{Context, ExplainedRequest, ExplanationStep},
};
use haptic_model::gateway::{GatewayVerdicts, NamespacedName};
use haptic_routes::Routes;
use serde_json::Value;
use std::{collections::BTreeSet, sync::Arc};

/// So many Gateways are looked at.
const MOST: usize = 16;

/// A port of a Gateway.
pub struct PortOfGateway {
    gateway: NamespacedName,
    port: u16,
    /// The port of HAProxy behind it.
    pub target: u16,
}

impl PortOfGateway {
    /// It, as a step of a request's way.
    pub fn step(&self) -> ExplanationStep {
        let Self { gateway: (namespace, name), port, target } = self;
        ExplanationStep {
            what: "gateway".into(),
            text: format!("Gateway {namespace}/{name}, port {port}: port {target} of HAProxy"),
            object: Some(format!("gateways {namespace}/{name}")),
            ..ExplanationStep::default()
        }
    }
}

/// Those of the Gateways at which routes ask for the host of a request.
pub fn ports(context: &Context<'_>, request: &ExplainedRequest) -> Vec<PortOfGateway> {
    let routes = of_host(context, &request.host);
    if routes.is_empty() {
        return Vec::new();
    }
    let mut resolved = Routes::default();
    let _sets = resolved.beside(context.config, context.snapshots);
    let verdicts = resolved.gateway_verdicts();
    let named: BTreeSet<NamespacedName> = routes
        .iter()
        .filter_map(|route| verdicts.routes.get(route).map(|verdict| (route, verdict)))
        .flat_map(|((_, route), verdict)| {
            verdict.parents.iter().filter_map(|parent| gateway_of(context, &route.0, &parent.reference))
        })
        .collect();
    let asked = request.port.unwrap_or(if request.tls { 443 } else { 80 });
    named.into_iter().take(MOST).filter_map(|gateway| port_of(&verdicts, gateway, asked)).collect()
}

fn port_of(verdicts: &GatewayVerdicts, gateway: NamespacedName, asked: u16) -> Option<PortOfGateway> {
    let port = verdicts.gateways.get(&gateway)?.ports.iter().find(|one| one.port == asked)?;
    Some(PortOfGateway { gateway, port: port.port, target: port.target })
}

/// The Gateway that a route's parent is, or that it belongs to.
fn gateway_of(context: &Context<'_>, namespace: &Arc<str>, parent: &Value) -> Option<NamespacedName> {
    let text = |value: &Value, field: &str| value.get(field).and_then(Value::as_str).map(Arc::<str>::from);
    let named = |value: &Value, namespace: &Arc<str>| {
        Some((text(value, "namespace").unwrap_or_else(|| namespace.clone()), text(value, "name")?))
    };
    let (namespace, name) = named(parent, namespace)?;
    if text(parent, "kind").as_deref() != Some("ListenerSet") {
        return Some((namespace, name));
    }
    let watched = context.config.spec.watched_resources.iter();
    let mut sets = watched.filter(|(_, one)| one.resources == "listenersets");
    let set = context.snapshots.get(sets.next()?.0)?.get(&namespace, &name)?.value().ok()?;
    named(set.pointer("/spec/parentRef")?, &namespace)
}
