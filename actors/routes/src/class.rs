//! Which Ingresses are ours: IngressClass, default class, and the annotation of old.

use super::{options::Settings, path::Spelling};
use haptic_model::{ActiveConfig, HAProxyTemplateConfigSpec, Snapshots};
use serde_json::Value;
use std::{collections::BTreeSet, sync::Arc};

/// `spec.controller` of the classes that are ours, unless `extraContext.ingressClass.controller` says otherwise.
pub const CONTROLLER: &str = "haproxy-haptic.org/ingress-controller";

/// On an IngressClass that Ingresses without a class belong to.
const DEFAULT_ANNOTATION: &str = "ingressclass.kubernetes.io/is-default-class";

/// The classes that are ours.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Classes {
    /// Every Ingress is ours, because no IngressClasses are watched.
    all: bool,
    names: BTreeSet<String>,
    /// Ingresses without a class are ours.
    without: bool,
    /// How the paths of Ingresses are compared.
    pub(super) spelling: Spelling,
    /// What the configuration says of their options.
    pub(super) options: Arc<Settings>,
}

impl Classes {
    /// Every class.
    #[must_use]
    pub fn all() -> Self {
        Self {
            all: true,
            names: BTreeSet::new(),
            without: true,
            spelling: Spelling::default(),
            options: Arc::default(),
        }
    }

    /// Our classes among the watched ones. `extraContext.ingressClass` has `controller`, `name` (a class that is ours even
    /// if there is no IngressClass of that name) and `withoutClass` (whether Ingresses without a class are ours).
    #[must_use]
    pub fn of(config: &ActiveConfig, snapshots: &Snapshots) -> Self {
        let options = Arc::new(Settings::of(&config.spec.templating_settings.extra_context));
        let Some(store) = store_of(&config.spec).and_then(|name| snapshots.get(name)) else {
            return Self { spelling: spelling(config), options, ..Self::all() };
        };
        let settings = config.spec.templating_settings.extra_context.get("ingressClass");
        let setting = |key: &str| settings.and_then(|s| s.get(key));
        let controller = setting("controller").and_then(Value::as_str).unwrap_or(CONTROLLER);
        let name = setting("name").and_then(Value::as_str).filter(|n| !n.is_empty());
        let mut classes = Self {
            all: false,
            names: name.map(str::to_owned).into_iter().collect(),
            without: setting("withoutClass").and_then(Value::as_bool).unwrap_or(false),
            spelling: spelling(config),
            options,
        };
        for object in store.iter() {
            let Ok(Some(class)) = store.load(object) else { continue };
            let Ok(value) = class.value() else { continue };
            if value.pointer("/spec/controller").and_then(Value::as_str) != Some(controller) {
                continue;
            }
            let annotations = value.pointer("/metadata/annotations");
            let default = annotations.and_then(|a| a.get(DEFAULT_ANNOTATION)).and_then(Value::as_str);
            classes.without |= default == Some("true");
            classes.names.insert(class.reference.name.to_string());
        }
        classes
    }

    /// Whether an Ingress of that class is ours.
    #[must_use]
    pub fn take(&self, class: Option<&str>) -> bool {
        self.all
            || match class {
                Some(class) => self.names.contains(class),
                None => self.without,
            }
    }
}

/// What `extraContext.paths` says; also where requests of other spellings are refused their paths are those of the routes.
fn spelling(config: &ActiveConfig) -> Spelling {
    match config.spec.templating_settings.extra_context.get("paths").and_then(Value::as_str) {
        Some("raw") => Spelling::Raw,
        _ => Spelling::Normal,
    }
}

/// The watched resource that holds IngressClasses.
pub(super) fn store_of(spec: &HAProxyTemplateConfigSpec) -> Option<&str> {
    let is = |w: &haptic_model::crd::WatchedResource| {
        w.resources == "ingressclasses" && w.api_version.starts_with("networking.k8s.io/")
    };
    spec.watched_resources.iter().find(|(_, w)| is(w)).map(|(name, _)| name.as_str())
}

/// The names under which Ingresses are watched.
pub fn ingress_stores(spec: &HAProxyTemplateConfigSpec) -> impl Iterator<Item = Arc<str>> {
    let is = |w: &haptic_model::crd::WatchedResource| {
        w.resources == "ingresses" && w.api_version.starts_with("networking.k8s.io/")
    };
    spec.watched_resources.iter().filter(move |(_, w)| is(w)).map(|(name, _)| name.as_str().into())
}
