//! ConfigMaps by name, among those that are watched.

use haptic_model::{HAProxyTemplateConfigSpec, ObjectRef, Snapshots};
use serde::Deserialize;
use std::{collections::BTreeMap, sync::Arc};

/// One that is there.
pub(crate) struct FoundConfigMap {
    /// The watched resource that has it.
    pub watched: Arc<str>,
    pub reference: Arc<ObjectRef>,
    pub data: BTreeMap<String, String>,
}

#[derive(Deserialize)]
struct ConfigMap {
    #[serde(default)]
    data: Option<BTreeMap<String, String>>,
}

/// The watched resources that are ConfigMaps.
pub(crate) fn watched(spec: &HAProxyTemplateConfigSpec) -> impl Iterator<Item = &str> {
    let watched = spec.watched_resources.iter();
    let watched =
        watched.filter(|(_, watched)| watched.resources == "configmaps" && watched.api_version == "v1");
    watched.map(|(name, _)| name.as_str())
}

/// The ConfigMap of that name in any watched resource.
pub(crate) fn find(
    spec: &HAProxyTemplateConfigSpec,
    snapshots: &Snapshots,
    namespace: &str,
    name: &str,
) -> Option<FoundConfigMap> {
    watched(spec).find_map(|watched| {
        let store = snapshots.get(watched)?;
        let object = store.load(store.get(namespace, name)?).ok()??;
        let ConfigMap { data } = serde_json::from_value(object.value().ok()?).ok()?;
        let (watched, reference) = (Arc::from(watched), object.reference.clone());
        Some(FoundConfigMap { watched, reference, data: data.unwrap_or_default() })
    })
}
