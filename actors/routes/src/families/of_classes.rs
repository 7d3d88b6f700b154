//! The families with what the ConfigMaps of their controllers say: of all their Ingresses, and of those of one class.

use super::{
    config::FamilyConfig, family::Family, foreign_options::translate, settings::FamilySettings,
    translation::About,
};
use crate::{objects::config_maps, options::Settings, sentences::shortened};
use haptic_model::{Finding, HAProxyTemplateConfigSpec, ObjectRef, Snapshots};
use serde_json::Value;
use std::{collections::BTreeMap, sync::Arc};

/// The families that are switched on, in the order in which they count.
pub type FamiliesOfClass = Arc<[FamilySettings]>;

/// The families that count for each class.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FamiliesOfClasses {
    of_all: FamiliesOfClass,
    of_class: BTreeMap<Arc<str>, FamiliesOfClass>,
    /// The findings at the entries of each ConfigMap.
    pub findings: BTreeMap<Arc<ObjectRef>, Vec<Finding>>,
    /// The faults of the settings, in sentences.
    pub warnings: Vec<String>,
}

impl FamilyConfig {
    /// Adds the findings at values that can be read, as of an Ingress without annotations.
    #[must_use]
    pub fn with_findings(mut self, family: Family, settings: &Settings) -> Self {
        let alone = FamilySettings::of_config(family, self.clone());
        let said = translate(&alone, &BTreeMap::new(), None, About::default(), settings).config_findings;
        for (kind, key, sentence) in said {
            self.find(kind, &key, &sentence);
        }
        self
    }
}

impl FamiliesOfClasses {
    /// Of the settings, and of the ConfigMaps that they name. One that is not there says nothing.
    #[must_use]
    pub fn of(settings: &Settings, spec: &HAProxyTemplateConfigSpec, snapshots: &Snapshots) -> Self {
        let mut all = Self::default();
        let families = settings.families.iter();
        let read: Vec<FamilySettings> =
            families.map(|family| all.with_config_map(family, settings, spec, snapshots)).collect();
        all.of_all = read.into();
        all
    }

    fn with_config_map(
        &mut self,
        family: &FamilySettings,
        settings: &Settings,
        spec: &HAProxyTemplateConfigSpec,
        snapshots: &Snapshots,
    ) -> FamilySettings {
        let setting = format!("extraContext.annotationFamilies.{}", family.family.name());
        let of_setting = family.config.clone().with_findings(family.family, settings).findings;
        let of_setting =
            of_setting.into_iter().map(|finding| format!("{setting}.config: {}", finding.sentence));
        self.warnings.extend(of_setting);
        let Some(named) = &family.config_map else { return family.clone() };
        let (namespace, name) = named.split_once('/').unwrap_or(("", named));
        let Some(found) = config_maps::find(spec, snapshots, namespace, name) else {
            let named = shortened(named);
            self.warnings.push(format!(
                "{setting}.configMap names ConfigMap {named}, which is not there, is not watched or is no NAMESPACE/NAME: its defaults do not count"
            ));
            return family.clone();
        };
        let config = FamilyConfig::read(family.family, &found.data);
        let config = config.with_findings(family.family, settings);
        self.note(&found.reference, &config);
        family.above(&config)
    }

    /// Takes the parameters of a class that is taken over from haproxy-ingress: a ConfigMap in the words of the controller's own.
    pub fn take_parameters(
        &mut self,
        class: &Arc<str>,
        value: &Value,
        settings: &Settings,
        spec: &HAProxyTemplateConfigSpec,
        snapshots: &Snapshots,
    ) {
        let Some(parameters) = value.pointer("/spec/parameters") else { return };
        let text = |field: &str| parameters.get(field).and_then(Value::as_str).unwrap_or_default();
        let controller = value.pointer("/spec/controller").and_then(Value::as_str);
        let is_of = |family: &FamilySettings| {
            family.family == Family::HaproxyIngress && family.is_of(Some(class), controller)
        };
        let Some(family) = self.of_all.iter().find(|family| is_of(family)) else { return };
        if text("kind") != "ConfigMap" {
            return;
        }
        // Theirs is in the namespace of the controller.
        let of_controller = family.config_map.as_deref().and_then(|named| named.split_once('/'));
        let namespace = match text("namespace") {
            "" => of_controller.map_or("", |(namespace, _)| namespace),
            namespace => namespace,
        };
        let Some(found) = config_maps::find(spec, snapshots, namespace, text("name")) else {
            let (class, name) = (shortened(class), shortened(text("name")));
            self.warnings.push(format!(
                "IngressClass {class} names ConfigMap {}/{name} by its parameters, which is not there or not watched: its defaults do not count",
                shortened(namespace)
            ));
            return;
        };
        let config = FamilyConfig::of_class(Family::HaproxyIngress, &found.data);
        let config = config.with_findings(Family::HaproxyIngress, settings);
        let below = |family: &FamilySettings| match family.family {
            Family::HaproxyIngress => family.beneath(&config),
            _ => family.clone(),
        };
        let families: Vec<FamilySettings> = self.of_all.iter().map(below).collect();
        self.of_class.insert(class.clone(), families.into());
        self.note(&found.reference, &config);
    }

    fn note(&mut self, config_map: &Arc<ObjectRef>, config: &FamilyConfig) {
        if !config.findings.is_empty() {
            self.findings.insert(config_map.clone(), crate::sentences::few(config.findings.clone()));
        }
    }

    /// Whether a ConfigMap of theirs says something by one of these keys.
    #[must_use]
    pub fn says_by_config(&self, keys: &[&str]) -> bool {
        self.iter().any(|family| keys.iter().any(|key| family.config.values.contains_key(key)))
    }

    /// All of them, each with what is said of it anywhere.
    pub fn iter(&self) -> impl Iterator<Item = &FamilySettings> {
        self.of_class.values().chain([&self.of_all]).flat_map(|families| families.iter())
    }

    /// Those that count for a class.
    #[must_use]
    pub fn of_class(&self, class: Option<&str>) -> &[FamilySettings] {
        class.and_then(|class| self.of_class.get(class)).unwrap_or(&self.of_all)
    }
}
