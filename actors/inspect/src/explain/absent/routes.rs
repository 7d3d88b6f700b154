//! Why no route of the Gateway API takes a request.

use super::{super::explanation::Context, ingresses, list, services::ServiceRef, text};
use haptic_model::{
    Object, Snapshot,
    gateway::{NamespacedName, RouteKind},
    host_name::suffix,
};
use haptic_routes::Routes;
use regex::Regex;
use serde_json::Value;
use std::sync::Arc;

const GROUP: &str = "gateway.networking.k8s.io";

/// The kinds that name hosts.
const KINDS: [(RouteKind, &str); 3] =
    [(RouteKind::Http, "httproutes"), (RouteKind::Grpc, "grpcroutes"), (RouteKind::Tls, "tlsroutes")];

/// Whether there is any of them to look at.
pub fn are_watched(context: &Context<'_>) -> bool {
    KINDS.iter().any(|(_, resources)| store(context, resources).is_some())
}

/// Every reason that is found; `None` where no route names the host.
pub fn reasons(context: &Context<'_>, resolved: &Routes, host: &str, path: &str) -> Option<Vec<String>> {
    let (mut found, mut is_known) = (Vec::new(), false);
    for (kind, resources) in KINDS {
        let Some(routes) = store(context, resources) else { continue };
        for object in routes.iter() {
            let Ok(route) = object.value() else { continue };
            let hostnames = list(&route, "/spec/hostnames");
            let look = RouteLook { context, resolved, kind, object, route: &route, path };
            // Those for all hosts of other controllers' Gateways have no part in it.
            let is_of_host = match hostnames {
                [] => look.is_ours(),
                names => names.iter().filter_map(Value::as_str).any(|name| takes(name, host)),
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
    for (kind, resources) in KINDS {
        for object in store(context, resources).into_iter().flat_map(|routes| routes.iter()) {
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
    kind: RouteKind,
    object: &'a Object,
    route: &'a Value,
    path: &'a str,
}

impl RouteLook<'_> {
    fn is_ours(&self) -> bool {
        let object = &self.object.reference;
        let name = (object.namespace.clone(), object.name.clone());
        self.resolved.gateway_verdicts().routes.contains_key(&(self.kind, name))
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

    fn rules(&self) -> &[Value] {
        list(self.route, "/spec/rules")
    }

    /// Whether a rule takes the path, whatever else it asks for.
    fn takes_path(&self, rule: &Value) -> bool {
        let matches = matches_of(rule);
        matches.is_empty() || matches.iter().any(|one| path_fits(one, self.path))
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

/// Whether a hostname, or a wildcard over any number of labels, is for a host.
fn takes(hostname: &str, host: &str) -> bool {
    let hostname = hostname.to_ascii_lowercase();
    let below = |end: &str| host.len() > end.len() && host.ends_with(end);
    hostname == host || suffix(&hostname).is_some_and(below)
}

fn store<'c>(context: &Context<'c>, resources: &str) -> Option<&'c Arc<Snapshot>> {
    let watched = context.config.spec.watched_resources.iter();
    let mut of = watched
        .filter(|(_, one)| one.resources == resources && one.api_version.starts_with(&format!("{GROUP}/")));
    let store = context.snapshots.get(of.next()?.0)?;
    (!store.is_on_demand()).then_some(store)
}
