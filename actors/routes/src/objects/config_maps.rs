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

/// The ConfigMap of that name in any watched resource.
pub(crate) fn find(
    spec: &HAProxyTemplateConfigSpec,
    snapshots: &Snapshots,
    namespace: &str,
    name: &str,
) -> Option<FoundConfigMap> {
    let watched = spec.watched_resources.iter();
    let mut watched =
        watched.filter(|(_, watched)| watched.resources == "configmaps" && watched.api_version == "v1");
    watched.find_map(|(watched, _)| {
        let store = snapshots.get(watched.as_str())?;
        let object = store.load(store.get(namespace, name)?).ok()??;
        let ConfigMap { data } = serde_json::from_value(object.value().ok()?).ok()?;
        let (watched, reference) = (Arc::from(watched.as_str()), object.reference.clone());
        Some(FoundConfigMap { watched, reference, data: data.unwrap_or_default() })
    })
}
