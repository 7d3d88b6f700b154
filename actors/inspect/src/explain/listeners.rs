//! The listeners that a route is meant for: those that its parentRefs name, of Gateways and ListenerSets, as far as they are for a host.

use super::explanation::Context;
use haptic_model::{
    Snapshot,
    gateway::{GatewayPort, GatewayVerdicts, ListenerVerdict, NamespacedName, RouteKind, StatusCondition},
    host_name::suffix,
};
use serde_json::Value;
use std::sync::Arc;

const GROUP: &str = "gateway.networking.k8s.io";

/// A listener that a route names.
#[derive(Debug)]
pub struct NamedListener<'v> {
    /// Whose it is: `Gateway edge/web`, or a ListenerSet.
    parent: String,
    /// Its Gateway.
    pub gateway: NamespacedName,
    /// What is decided about it.
    pub verdict: &'v ListenerVerdict,
    /// The port of HAProxy behind its own, if it is served.
    pub target: Option<u16>,
    /// Why nothing of its parent is served.
    of_parent: Option<&'v str>,
}

impl NamedListener<'_> {
    /// Whether requests for a port come to it: for its own, or for that of HAProxy.
    pub fn is_at(&self, port: u16) -> bool {
        self.verdict.port == port || self.target == Some(port)
    }

    /// That it is not served, and why.
    pub fn refusal(&self) -> String {
        let ListenerVerdict { name, port, conditions, .. } = self.verdict;
        let why = unmet(conditions).or(self.of_parent).map(|why| format!(": {why}")).unwrap_or_default();
        format!("listener {name} of {} at port {port} is not served{why}", self.parent)
    }
}

/// What the first condition says that should hold and does not.
fn unmet(conditions: &[StatusCondition]) -> Option<&str> {
    conditions.iter().find(|one| !one.holds).map(|one| &*one.message)
}

/// Those that a route names and that are for routes of its kind and a host, at any port.
pub fn named<'v>(
    context: &Context<'_>,
    verdicts: &'v GatewayVerdicts,
    route: &(RouteKind, NamespacedName),
    host: &str,
) -> Vec<NamedListener<'v>> {
    let parents = verdicts.routes.get(route).into_iter().flat_map(|verdict| &verdict.parents);
    let read = parents.filter_map(|parent| {
        let parent_ref =
            ParentReference { context, verdicts, kind: route.0.name(), written: parent.reference.value() };
        parent_ref.listeners(&route.1.0, host)
    });
    read.flatten().collect()
}

/// A parentRef of a route.
struct ParentReference<'p, 'v> {
    context: &'p Context<'p>,
    verdicts: &'v GatewayVerdicts,
    /// The route's kind.
    kind: &'static str,
    written: Value,
}

impl<'v> ParentReference<'_, 'v> {
    /// The listeners that it means, of those for `host`.
    fn listeners(&self, namespace: &Arc<str>, host: &str) -> Option<Vec<NamedListener<'v>>> {
        let name = named_by(&self.written, namespace)?;
        let is_set = text(&self.written, "kind") == Some("ListenerSet");
        let (resources, kind) =
            if is_set { ("listenersets", "ListenerSet") } else { ("gateways", "Gateway") };
        let object = store(self.context, resources)?.get(&name.0, &name.1)?.value().ok()?;
        let (gateway, verdicts, conditions) = if is_set {
            let verdict = self.verdicts.listener_sets.get(&name)?;
            let gateway = named_by(object.pointer("/spec/parentRef")?, &name.0)?;
            (gateway, verdict.listeners.as_slice(), verdict.conditions.as_slice())
        } else {
            let verdict = self.verdicts.gateways.get(&name)?;
            (name.clone(), verdict.listeners.as_slice(), verdict.conditions.as_slice())
        };
        let ports = self.verdicts.gateways.get(&gateway).map(|one| one.ports.as_slice()).unwrap_or_default();
        let meant = verdicts.iter().filter(|one| self.means(one) && is_for(&object, &one.name, host));
        let listener = |verdict: &'v ListenerVerdict| NamedListener {
            parent: format!("{kind} {}/{}", name.0, name.1),
            gateway: gateway.clone(),
            verdict,
            target: target_of(ports, verdict),
            of_parent: unmet(conditions),
        };
        Some(meant.map(listener).collect())
    }

    fn means(&self, listener: &ListenerVerdict) -> bool {
        let port = self.written.get("port").and_then(Value::as_u64);
        // Nothing is known of the kinds of one that is not valid.
        let kinds = &listener.supported_kinds;
        (kinds.is_empty() || kinds.iter().any(|(_, kind)| *kind == self.kind))
            && text(&self.written, "sectionName").is_none_or(|name| *name == *listener.name)
            && port.is_none_or(|port| port == u64::from(listener.port))
    }
}

fn target_of(ports: &[GatewayPort], listener: &ListenerVerdict) -> Option<u16> {
    let port = ports.iter().find(|one| one.port == listener.port && listener.is_served)?;
    Some(port.target)
}

/// Whether the listener of that name in a Gateway or ListenerSet is for a host.
fn is_for(object: &Value, listener: &str, host: &str) -> bool {
    let all = object.pointer("/spec/listeners").and_then(Value::as_array).into_iter().flatten();
    let hostname =
        all.filter(|one| text(one, "name") == Some(listener)).find_map(|one| text(one, "hostname"));
    hostname.is_none_or(|hostname| hostname.is_empty() || takes(hostname, host))
}

/// Whether a hostname, or a wildcard over any number of labels, is for a host.
pub fn takes(hostname: &str, host: &str) -> bool {
    let hostname = hostname.to_ascii_lowercase();
    let below = |end: &str| host.len() > end.len() && host.ends_with(end);
    hostname == host || suffix(&hostname).is_some_and(below)
}

/// The store of a kind of the Gateway API.
pub fn store<'c>(context: &Context<'c>, resources: &str) -> Option<&'c Arc<Snapshot>> {
    let watched = context.config.spec.watched_resources.iter();
    let mut of = watched
        .filter(|(_, one)| one.resources == resources && one.api_version.starts_with(&format!("{GROUP}/")));
    let store = context.snapshots.get(of.next()?.0)?;
    (!store.is_on_demand()).then_some(store)
}

/// The object that a reference names, in `namespace` if it says no other.
fn named_by(reference: &Value, namespace: &Arc<str>) -> Option<NamespacedName> {
    let namespace = text(reference, "namespace").map_or_else(|| namespace.clone(), Arc::from);
    Some((namespace, text(reference, "name")?.into()))
}

fn text<'v>(value: &'v Value, field: &str) -> Option<&'v str> {
    value.get(field).and_then(Value::as_str)
}
