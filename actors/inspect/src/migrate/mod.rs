//! What becomes of manifests that were written for another controller: `haptic migrate check`, and whether requests for them are
//! answered the same: `haptic migrate compare`; and manifests with annotations of ours: `haptic migrate convert`.
//!
//! The verdicts are those of the tables and translations that a controller itself uses; nothing is rendered.

pub mod compare;
pub mod convert;
mod page;
mod text;
mod verdicts;

pub use haptic_routes::families::Family;
pub use page::page;
pub use text::{as_markdown, as_summary};
pub use verdicts::{check, config_map_data};

use haptic_model::{
    ActiveConfig, HAProxyTemplateConfigSpec,
    crd::{StoreKind, WatchedResource},
};
use serde::Serialize;
use serde_json::{Map, Value, json};
use std::sync::Arc;

/// What is known of a migration.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct MigrationReport {
    /// Whose annotations.
    pub family: &'static str,
    /// How many objects have which verdict.
    pub totals: MigrationTotals,
    /// Ingresses, Services with annotations of the family, its ConfigMaps, and resources that ask for ports.
    pub objects: Vec<MigratedObject>,
}

/// How many objects have which verdict.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct MigrationTotals {
    /// All.
    pub objects: usize,
    /// Nobody sees a difference.
    pub same: usize,
    /// Something is served otherwise, nothing is missing.
    pub differs: usize,
    /// Something has no effect.
    pub cannot: usize,
}

/// An object.
#[derive(Debug, Serialize)]
pub struct MigratedObject {
    /// Ingress, Service, ConfigMap or TCP.
    pub kind: &'static str,
    /// Where it is.
    pub namespace: Arc<str>,
    /// What it is called.
    pub name: Arc<str>,
    /// The worst of its notes.
    pub verdict: MigrationVerdict,
    /// What is said of it.
    pub notes: Vec<MigrationNote>,
}

/// How near something comes to what it was; the worse the greater.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum MigrationVerdict {
    /// Nobody sees a difference.
    Same,
    /// It is served otherwise.
    Differs,
    /// It has no effect.
    Cannot,
}

/// What is said of an object.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct MigrationNote {
    /// At which annotation, or key of a ConfigMap.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub annotation: Option<String>,
    /// What it means for the migration.
    pub verdict: MigrationVerdict,
    /// What is different, or what there is instead.
    pub sentence: String,
    /// Our options for it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub options: Vec<&'static str>,
}

/// A ConfigMap of the controller that is migrated from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigMapName {
    /// Where it is.
    pub namespace: String,
    /// What it is called.
    pub name: String,
}

impl std::str::FromStr for ConfigMapName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once('/') {
            Some((namespace, name)) if !namespace.is_empty() && !name.is_empty() && !name.contains('/') => {
                Ok(Self { namespace: namespace.to_owned(), name: name.to_owned() })
            }
            _ => Err("must be NAMESPACE/NAME".to_owned()),
        }
    }
}

/// What is read: what has annotations, and what they name.
const READ: [&str; 5] = ["backends", "configmaps", "defaults", "ingresses", "services"];

/// The ConfigMaps in which the controller has lists of ports.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PortConfigMaps {
    /// Of TCP.
    pub tcp: Option<ConfigMapName>,
    /// Of UDP.
    pub udp: Option<ConfigMapName>,
}

impl PortConfigMaps {
    /// Each with the setting that names it, which is also what its store is called.
    fn named(&self) -> impl Iterator<Item = (&'static str, &ConfigMapName)> {
        let all = [("tcpServices", &self.tcp), ("udpServices", &self.udp)];
        all.into_iter().filter_map(|(setting, named)| Some((setting, named.as_ref()?)))
    }
}

/// The store of the ConfigMap.
pub(crate) const CONFIG_MAPS: &str = "configmaps";

/// The custom resources of haproxytech's controller that ask for ports.
pub(crate) const TCP_RESOURCES: &str = "tcps";

/// A configuration that reads Ingresses and Services as they are, what their annotations name, and the ConfigMap that is named.
///
/// # Errors
/// When the built-in libraries cannot be read, which is a fault of the program.
pub fn configuration(family: Family, config_map: Option<&ConfigMapName>) -> Result<ActiveConfig, String> {
    watching(family, config_map, false)
}

/// The same with what asks for ports besides Ingresses and Services.
///
/// # Errors
/// As [`configuration`].
pub fn configuration_with_ports(
    family: Family,
    config_map: Option<&ConfigMapName>,
    ports: &PortConfigMaps,
) -> Result<ActiveConfig, String> {
    let mut config = watching(family, config_map, true)?;
    let mut spec = HAProxyTemplateConfigSpec::clone(&config.spec);
    let mut settings = settings_of(&config, family);
    for (setting, named) in ports.named() {
        let ConfigMapName { namespace, name } = named;
        settings.insert(setting.to_owned(), format!("{namespace}/{name}").into());
        spec.watched_resources.insert(setting.to_owned(), watched(named)?);
    }
    let families = json!({ family.name(): settings });
    spec.templating_settings.extra_context.insert(FAMILIES.to_owned(), families);
    config.spec = Arc::new(spec);
    Ok(config)
}

fn watching(
    family: Family,
    config_map: Option<&ConfigMapName>,
    with_ports: bool,
) -> Result<ActiveConfig, String> {
    let library = format!("annotations-{}", family.name());
    let text = json!({
        "libraries": ["base", "ssl", "ingress", library],
        "credentialsSecretRef": {"name": "none"},
        "podSelector": {"matchLabels": {"app": "none"}},
    });
    let candidate = haptic_config::parse(&text.to_string(), "migration")
        .map_err(|all| all.first().map(ToString::to_string).unwrap_or_default())?;
    let mut config = Arc::unwrap_or_clone(candidate.as_if_active()?);
    let mut spec = HAProxyTemplateConfigSpec::clone(&config.spec);
    let is_read = |kind: &str| READ.contains(&kind) || kind == TCP_RESOURCES && with_ports;
    spec.watched_resources
        .retain(|name, watched| is_read(&watched.resources) && !name.starts_with("labelled"));
    // What is read once is read whole.
    spec.watched_resources.values_mut().for_each(|watched| watched.store = StoreKind::Full);
    if let Some(named) = config_map {
        let watched = watched(named)?;
        spec.watched_resources.entry(CONFIG_MAPS.to_owned()).or_insert(watched);
    }
    config.spec = Arc::new(spec);
    Ok(config)
}

fn watched(ConfigMapName { namespace, name }: &ConfigMapName) -> Result<WatchedResource, String> {
    let watched = json!({
        "apiVersion": "v1", "resources": "configmaps", "namespaces": [namespace],
        "fieldSelector": format!("metadata.name={name}"),
    });
    serde_json::from_value(watched).map_err(|error| error.to_string())
}

/// Where `extraContext` has settings of families.
const FAMILIES: &str = "annotationFamilies";

/// What the configuration says of the family.
fn settings_of(config: &ActiveConfig, family: Family) -> Map<String, Value> {
    let families = config.spec.templating_settings.extra_context.get(FAMILIES);
    families.and_then(|all| all.get(family.name())?.as_object().cloned()).unwrap_or_default()
}

/// The same where the family's ConfigMap has this data.
fn with_data(config: &ActiveConfig, family: Family, data: &Map<String, Value>) -> ActiveConfig {
    let mut spec = HAProxyTemplateConfigSpec::clone(&config.spec);
    let mut settings = settings_of(config, family);
    settings.insert("config".to_owned(), Value::Object(data.clone()));
    let families = json!({ family.name(): settings });
    spec.templating_settings.extra_context.insert(FAMILIES.to_owned(), families);
    let mut config = config.clone();
    config.spec = Arc::new(spec);
    config
}
