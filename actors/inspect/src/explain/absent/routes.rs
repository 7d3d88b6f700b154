//! Why no route of the Gateway API takes a request.

use super::{
    super::{
        explanation::{Context, ExplainedRequest},
        listeners::{self, NamedListener, store, takes},
    },
    fields::{list, text},
    ingresses,
    services::ServiceRef,
};
use haptic_model::{
    Object,
    gateway::{NamespacedName, RouteKind},
};
use haptic_routes::{Routes, owners::Owners};
use regex::Regex;
use serde_json::Value;
use std::collections::BTreeSet;

/// The kinds that name hosts.
const KINDS: [RouteKind; 3] = [RouteKind::Http, RouteKind::Grpc, RouteKind::Tls];

/// Whether there is any of them to look at.
pub fn are_watched(context: &Context<'_>) -> bool {
    KINDS.iter().any(|kind| store(context, kind.plural()).is_some())
}

/// Every reason that is found; `None` where no route names the host.
pub fn reasons(context: &Context<'_>, resolved: &Routes, request: &ExplainedRequest) -> Option<Vec<String>> {
    let (mut found, mut is_known) = (Vec::new(), false);
    let owners = Owners::of(&context.config.spec);
    for kind in KINDS {
        let Some(routes) = store(context, kind.plural()) else { continue };
        for object in routes.iter() {
            let Ok(route) = object.value() else { continue };
            let hostnames = list(&route, "/spec/hostnames");
            let look = RouteLook { context, resolved, owners: &owners, kind, object, route: &route, request };
            // Those for all hosts of other controllers' Gateways have no part in it.
            let is_of_host = match hostnames {
                [] => look.is_ours(),
                names => names.iter().filter_map(Value::as_str).any(|name| takes(name, &request.host)),
            };
            if is_of_host {
                is_known = true;
                found.extend(look.reasons());
            }
        }
    }
    is_known.then_some(found)
}

/// Routes that name a host, or all hosts.
pub fn of_host(context: &Context<'_>, host: &str) -> Vec<(RouteKind, NamespacedName)> {
    let mut found = Vec::new();
    for kind in KINDS {
        for object in store(context, kind.plural()).into_iter().flat_map(|routes| routes.iter()) {
            let Ok(route) = object.value() else { continue };
            let hostnames = list(&route, "/spec/hostnames");
            if hostnames.is_empty()
                || hostnames.iter().filter_map(Value::as_str).any(|name| takes(name, host))
            {
                let name = &object.reference;
                found.push((kind, (name.namespace.clone(), name.name.clone())));
            }
        }
    }
    found
}

/// One route that names the host.
struct RouteLook<'a> {
    context: &'a Context<'a>,
    resolved: &'a Routes,
    owners: &'a Owners,
    kind: RouteKind,
    object: &'a Object,
    route: &'a Value,
    request: &'a ExplainedRequest,
}

impl RouteLook<'_> {
    fn id(&self) -> (RouteKind, NamespacedName) {
        let object = &self.object.reference;
        (self.kind, (object.namespace.clone(), object.name.clone()))
    }

    fn is_ours(&self) -> bool {
        self.resolved.gateway_verdicts().routes.contains_key(&self.id())
    }

    fn reasons(&self) -> Vec<String> {
        let object = &self.object.reference;
        if let Some(held) = self.context.quarantine.held.get(object) {
            return vec![held.to_string()];
        }
        if !self.is_ours() {
            return vec![format!(
                "{object}: none of its parentRefs is a Gateway of this controller: is it there, and its GatewayClass accepted?"
            )];
        }
        let why = self.why_not_at_port();
        if !why.is_empty() {
            return why;
        }
        // Also one for more hosts, of which nothing is found.
        if !self.owners.admit_to(&self.request.host, &object.namespace) {
            return vec![format!("{object}: {}", self.owners.refusal(&self.request.host))];
        }
        let findings = self.resolved.findings();
        let found = findings.of(object);
        if !found.is_empty() {
            return found.iter().map(|one| format!("{object}: {}", one.sentence)).collect();
        }
        let rules: Vec<&Value> = self.rules().iter().filter(|rule| self.takes_path(rule)).collect();
        if rules.is_empty() {
            let known: Vec<&str> = self.rules().iter().flat_map(matches_of).filter_map(path_of).collect();
            let known = known.join(", ");
            return vec![format!("{object} names the host, but not this path: it has {known}")];
        }
        let backends = rules.into_iter().flat_map(|rule| list(rule, "/backendRefs"));
        backends.filter_map(|backend| self.why_without_servers(backend)).collect()
    }

    /// Why no listener at the port of the request has the route, where that is so: its other listeners are for other requests.
    fn why_not_at_port(&self) -> Vec<String> {
        let (port, verdicts) = (self.request.asked_port(), self.resolved.gateway_verdicts());
        let all = listeners::named(self.context, &verdicts, &self.id(), &self.request.host);
        let (there, elsewhere): (Vec<_>, Vec<_>) = all.iter().partition(|listener| listener.is_at(port));
        if there.iter().any(|listener| listener.verdict.is_served) {
            return Vec::new();
        }
        let refused: BTreeSet<String> = there.into_iter().map(NamedListener::refusal).collect();
        if !refused.is_empty() || elsewhere.is_empty() {
            return refused.into_iter().collect();
        }
        let ports: BTreeSet<u16> = elsewhere.iter().map(|listener| listener.verdict.port).collect();
        let ports = ports.iter().map(u16::to_string).collect::<Vec<_>>().join(", ");
        let object = &self.object.reference;
        vec![format!(
            "{object} names the host, but is at no listener of port {port}: those that it names have {ports}"
        )]
    }

    fn rules(&self) -> &[Value] {
        list(self.route, "/spec/rules")
    }

    /// Whether a rule takes the path, whatever else it asks for.
    fn takes_path(&self, rule: &Value) -> bool {
        let matches = matches_of(rule);
        matches.is_empty() || matches.iter().any(|one| path_fits(one, &self.request.path))
    }

    fn why_without_servers(&self, backend: &Value) -> Option<String> {
        let object = &self.object.reference;
        let service = ServiceRef {
            object,
            namespace: text(backend, "/namespace").unwrap_or(&object.namespace),
            name: text(backend, "/name")?,
            port_name: None,
            port_number: backend.pointer("/port"),
        };
        service.why_without_servers(self.context)
    }
}

fn matches_of(rule: &Value) -> &[Value] {
    list(rule, "/matches")
}

fn path_of(one: &Value) -> Option<&str> {
    text(one, "/path/value")
}

/// Rules of GRPCRoutes and TLSRoutes name no paths.
fn path_fits(one: &Value, path: &str) -> bool {
    let Some(value) = path_of(one) else { return true };
    match text(one, "/path/type").unwrap_or("PathPrefix") {
        "Exact" => value == path,
        "RegularExpression" => Regex::new(&format!("^(?:{value})$")).is_ok_and(|regex| regex.is_match(path)),
        _ => ingresses::fits("*", path, value),
    }
}
