//! The stores that Services of Gateways are made from.

use haptic_model::{Object, Snapshot, Snapshots, crd::HAProxyTemplateConfigSpec, gateway::SERVICE_PREFIX};
use std::sync::Arc;

/// The first store of that kind; empty when it is not watched.
pub(crate) fn store(
    spec: &HAProxyTemplateConfigSpec,
    snapshots: &Snapshots,
    version: &str,
    plural: &str,
) -> Arc<Snapshot> {
    let mut watched = spec.watched_resources.iter();
    let name = watched.find(|(_, one)| one.api_version == version && one.resources == plural);
    name.and_then(|(name, _)| snapshots.get(name)).cloned().unwrap_or_default()
}

/// Whether a GatewayClass differs, which another controller may have taken over: the Services of its Gateways go then.
pub(crate) fn classes_differ(store: &str, before: &Snapshots, now: &Snapshots) -> bool {
    match (before.get(store), now.get(store)) {
        (Some(before), Some(now)) => !now.is_unchanged_since(before),
        (before, now) => before.is_some() != now.is_some(),
    }
}

/// Whether a Service or EndpointSlice of a Gateway differs between `before` and `now`, or the one that all share.
pub(crate) fn differ(spec: &HAProxyTemplateConfigSpec, before: &Snapshots, now: &Snapshots) -> bool {
    let shared = spec.controller.ingress_status.as_ref().and_then(|shared| shared.service.as_ref());
    let is_one = |object: &Arc<Object>| {
        let name = &*object.reference.name;
        name.starts_with(SERVICE_PREFIX) || shared.is_some_and(|shared| shared.name == name)
    };
    let mut watched = spec.watched_resources.iter().filter(|(_, one)| {
        matches!(
            (&*one.api_version, &*one.resources),
            ("v1", "services") | ("discovery.k8s.io/v1", "endpointslices")
        )
    });
    watched.any(|(name, _)| {
        let (Some(before), Some(now)) = (before.get(name), now.get(name)) else { return true };
        now.differences_from(before)
            .any(|one| [one.before, one.after].into_iter().flatten().any(|(object, _)| is_one(object)))
    })
}
