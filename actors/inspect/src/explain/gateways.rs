//! What the Gateways that may take a request have at its port: ports of HAProxy, and listeners that are not served.

use super::{
    absent::routes::of_host,
    explanation::{Context, ExplainedRequest, ExplanationStep},
    listeners::{self, NamedListener},
};
use haptic_model::gateway::{GatewayVerdicts, NamespacedName};
use haptic_routes::Routes;
use std::collections::{BTreeMap, BTreeSet};

/// So many Gateways are looked at.
const MOST: usize = 16;

/// A port of a Gateway.
pub struct PortOfGateway {
    gateway: NamespacedName,
    port: u16,
    /// The port of HAProxy behind it.
    pub target: u16,
}

/// What there is at the port of a request.
#[derive(Default)]
pub struct GatewaysAtPort {
    /// Where listeners that routes for its host name take it.
    pub ports: Vec<PortOfGateway>,
    /// Where these Gateways have the port for other routes.
    pub others: Vec<PortOfGateway>,
    /// Of listeners that such routes name and that are not served that they are not, and why.
    pub refused: BTreeSet<String>,
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

impl GatewaysAtPort {
    /// Of the Gateways at which routes ask for the host of a request.
    pub fn of(context: &Context<'_>, request: &ExplainedRequest) -> Self {
        let routes = of_host(context, &request.host);
        if routes.is_empty() {
            return Self::default();
        }
        let mut resolved = Routes::default();
        let _sets = resolved.beside(context.config, context.snapshots);
        let (verdicts, asked) = (resolved.gateway_verdicts(), request.asked_port());
        let mut named: BTreeSet<NamespacedName> = BTreeSet::new();
        let (mut ports, mut refused) = (BTreeMap::new(), BTreeSet::new());
        for route in &routes {
            let listeners = listeners::named(context, &verdicts, route, &request.host);
            named.extend(listeners.iter().map(|listener| listener.gateway.clone()));
            for listener in listeners.into_iter().filter(|listener| listener.is_at(asked)) {
                match listener.target {
                    Some(target) => {
                        let NamedListener { gateway, verdict, .. } = listener;
                        let port = PortOfGateway { gateway, port: verdict.port, target };
                        // Gateways that share a port of HAProxy are one way in.
                        ports.entry(target).or_insert(port);
                    }
                    None => drop(refused.insert(listener.refusal())),
                }
            }
        }
        let others =
            named.iter().take(MOST).flat_map(|gateway| ports_of(&verdicts, gateway, asked)).collect();
        Self { ports: ports.into_values().take(MOST).collect(), others, refused }
    }
}

/// The ports of a Gateway at which requests for a port come in: it is the Gateway's, or HAProxy's behind that.
fn ports_of(verdicts: &GatewayVerdicts, gateway: &NamespacedName, asked: u16) -> Vec<PortOfGateway> {
    let all = verdicts.gateways.get(gateway).into_iter().flat_map(|verdict| &verdict.ports);
    let asked_for = all.filter(|one| one.port == asked || one.target == asked);
    asked_for
        .map(|one| PortOfGateway { gateway: gateway.clone(), port: one.port, target: one.target })
        .collect()
}
