//! The settings of a family: `extraContext.annotationFamilies.NAME`.

use super::{config::FamilyConfig, family::Family};
use serde_json::{Map, Value as Json};
use std::collections::{BTreeMap, BTreeSet};

/// A family that is switched on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FamilySettings {
    /// The family.
    pub family: Family,
    /// Classes of ours whose Ingresses have these annotations.
    classes: BTreeSet<String>,
    /// Classes of theirs that are ours now, by name.
    pub(crate) take_classes: BTreeSet<String>,
    /// Controllers of theirs whose classes are ours now.
    pub(crate) take_controllers: BTreeSet<String>,
    /// Whether what is known of snippets is translated; otherwise nothing of them has an effect.
    pub snippets: bool,
    /// The ConfigMap of its own controller, and before it the setting `config`.
    pub config: FamilyConfig,
    /// The ConfigMap of its own controller, as it is named.
    pub(crate) config_map: Option<String>,
}

impl FamilySettings {
    /// The families that are switched on by `annotationFamilies` of the settings.
    #[must_use]
    pub fn of(context: &Map<String, Json>) -> Vec<Self> {
        let given = |family: Family| {
            let settings = context.get("annotationFamilies")?.get(family.name())?.as_object()?;
            Some(Self::read(family, settings))
        };
        Family::ALL.into_iter().filter_map(given).collect()
    }

    fn read(family: Family, settings: &Map<String, Json>) -> Self {
        let texts = |name: &str| {
            let all = settings.get(name).and_then(Json::as_array);
            all.into_iter().flatten().filter_map(Json::as_str).map(str::to_owned).collect()
        };
        let text_of = |value: &Json| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        let config = settings.get("config").and_then(Json::as_object).into_iter().flatten();
        let config: BTreeMap<String, String> =
            config.map(|(key, value)| (key.clone(), text_of(value))).collect();
        let config_map = settings.get("configMap").and_then(Json::as_str).filter(|name| !name.is_empty());
        Self {
            family,
            classes: texts("classes"),
            take_classes: texts("takeClasses"),
            take_controllers: texts("takeControllers"),
            snippets: settings.get("snippets").and_then(Json::as_str) == Some("translate"),
            config: FamilyConfig::read(family, &config),
            config_map: config_map.map(str::to_owned),
        }
    }

    /// Of what a ConfigMap alone says.
    #[must_use]
    pub(super) fn of_config(family: Family, config: FamilyConfig) -> Self {
        Self {
            family,
            classes: BTreeSet::new(),
            take_classes: BTreeSet::new(),
            take_controllers: BTreeSet::new(),
            snippets: false,
            config,
            config_map: None,
        }
    }

    /// Whether what the routes of a host leave over is answered by no wildcard and no route for every host.
    #[must_use]
    pub(crate) fn keeps_hosts(&self) -> bool {
        self.family.keeps_hosts() || self.config.is_on("strict-host")
    }

    /// The same above what a ConfigMap says.
    #[must_use]
    pub(crate) fn above(&self, config: &FamilyConfig) -> Self {
        Self { config: config.beneath(self.config.clone()), ..self.clone() }
    }

    /// The same beneath what the ConfigMap of a class says.
    #[must_use]
    pub(crate) fn beneath(&self, config: &FamilyConfig) -> Self {
        Self { config: self.config.beneath(config.clone()), ..self.clone() }
    }

    /// Whether Ingresses of a class have these annotations; `controller` is that of the IngressClass. A family that names no
    /// classes is read on all that are ours.
    #[must_use]
    pub fn is_of(&self, class: Option<&str>, controller: Option<&str>) -> bool {
        let Self { classes, take_classes, take_controllers, .. } = self;
        if classes.is_empty() && take_classes.is_empty() && take_controllers.is_empty() {
            return true;
        }
        class.is_some_and(|class| classes.contains(class) || take_classes.contains(class))
            || controller.is_some_and(|controller| take_controllers.contains(controller))
    }
}
