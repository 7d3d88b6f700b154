//! What one watch is to do, and what a new configuration changes about the running ones. Pure.

use haptic_model::{
    StoreLimits,
    crd::{HAProxyTemplateConfigSpec, StoreKind, WatchedResource},
};
use std::{collections::BTreeMap, sync::Arc};

/// All that decides what a store holds. Two equal specs are the same watch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WatchSpec {
    /// The name under `watchedResources`.
    pub name: Arc<str>,
    /// What to watch; the webhook's switch is always off here, because it changes nothing about a watch.
    pub resource: WatchedResource,
    /// Paths of fields that are not kept.
    pub ignore: Vec<String>,
    /// How much the store may hold.
    pub limits: StoreLimits,
}

/// What to do with the running watches when the configuration changes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WatchPlan {
    /// Unchanged: actor and store go on.
    pub keep: Vec<Arc<str>>,
    /// New.
    pub start: Vec<Arc<WatchSpec>>,
    /// The same name, but another spec: its store counts as not synced until the new list has ended.
    pub replace: Vec<Arc<WatchSpec>>,
    /// No longer named.
    pub stop: Vec<Arc<str>>,
}

impl WatchSpec {
    /// The watch of one entry.
    #[must_use]
    pub fn new(name: &str, resource: &WatchedResource, ignore: &[String], limits: StoreLimits) -> Self {
        let resource = WatchedResource { enable_validation_webhook: false, ..resource.clone() };
        Self { name: name.into(), resource, ignore: ignore.to_vec(), limits }
    }

    /// All watches of a configuration, by name.
    #[must_use]
    pub fn all(config: &HAProxyTemplateConfigSpec) -> BTreeMap<Arc<str>, Arc<Self>> {
        let limits = StoreLimits::from(&config.controller.limits);
        config
            .watched_resources
            .iter()
            .map(|(name, resource)| {
                let spec = Self::new(name, resource, &config.watched_resources_ignore_fields, limits);
                (spec.name.clone(), Arc::new(spec))
            })
            .collect()
    }

    /// Whether `status` of these objects is what controllers such as this one say of what they made of them: another one changes nothing that is
    /// rendered.
    #[must_use]
    pub fn owns_status(&self) -> bool {
        self.keeps_version()
            || (self.group() == "networking.k8s.io" && self.resource.resources == "ingresses")
    }

    /// Whether `metadata.resourceVersion` of these objects is kept: by it a status that is written says what its writer has seen, and need not
    /// read the object once more.
    #[must_use]
    pub fn keeps_version(&self) -> bool {
        self.group() == "gateway.networking.k8s.io"
    }

    fn group(&self) -> &str {
        self.resource.api_version.split_once('/').map_or("", |(group, _)| group)
    }

    /// Whether the store holds what others name.
    #[must_use]
    pub fn is_named(&self) -> bool {
        self.resource.store == StoreKind::Named
    }

    /// Whether an API server is asked for metadata only, and for objects one by one.
    pub(crate) fn watches_metadata(&self) -> bool {
        self.is_on_demand() || self.is_named()
    }

    /// Whether only references are kept.
    #[must_use]
    pub fn is_on_demand(&self) -> bool {
        self.resource.store == StoreKind::OnDemand
    }
}

/// From the watches that run to the watches that shall run.
#[must_use]
pub fn diff(
    running: &BTreeMap<Arc<str>, Arc<WatchSpec>>,
    wanted: &BTreeMap<Arc<str>, Arc<WatchSpec>>,
) -> WatchPlan {
    let mut plan = WatchPlan::default();
    for (name, spec) in wanted {
        match running.get(name) {
            Some(old) if old == spec => plan.keep.push(name.clone()),
            Some(_) => plan.replace.push(spec.clone()),
            None => plan.start.push(spec.clone()),
        }
    }
    plan.stop = running.keys().filter(|name| !wanted.contains_key(*name)).cloned().collect();
    plan
}

#[cfg(test)]
mod tests {
    use super::*;

    fn specs(entries: &[(&str, &str, bool)]) -> BTreeMap<Arc<str>, Arc<WatchSpec>> {
        let spec = |(name, selector, webhook): &(&str, &str, bool)| {
            let resource = WatchedResource {
                api_version: "v1".into(),
                resources: "services".into(),
                label_selector: Some((*selector).to_owned()),
                enable_validation_webhook: *webhook,
                ..WatchedResource::default()
            };
            (Arc::from(*name), Arc::new(WatchSpec::new(name, &resource, &[], StoreLimits::default())))
        };
        entries.iter().map(spec).collect()
    }

    #[test]
    fn unchanged_watches_are_kept_whatever_happens_to_the_others() {
        let running = specs(&[("a", "x=1", false), ("b", "x=1", false), ("c", "x=1", false)]);
        let wanted = specs(&[("a", "x=1", false), ("b", "x=2", false), ("d", "x=1", false)]);
        let plan = diff(&running, &wanted);
        let names = |specs: &[Arc<WatchSpec>]| specs.iter().map(|s| s.name.to_string()).collect::<Vec<_>>();
        assert_eq!(plan.keep, [Arc::from("a")]);
        assert_eq!((names(&plan.replace), names(&plan.start)), (vec!["b".into()], vec!["d".into()]));
        assert_eq!(plan.stop, [Arc::from("c")]);
    }

    #[test]
    fn statuses_of_ingresses_and_routes_are_our_own_and_those_of_services_are_not() {
        let owns = |api_version: &str, resources: &str| {
            let resource = WatchedResource {
                api_version: api_version.into(),
                resources: resources.into(),
                ..WatchedResource::default()
            };
            WatchSpec::new("a", &resource, &[], StoreLimits::default()).owns_status()
        };
        assert!(
            owns("gateway.networking.k8s.io/v1", "httproutes") && owns("networking.k8s.io/v1", "ingresses")
        );
        assert!(!owns("v1", "services") && !owns("example.com/v1", "ingresses"));
    }

    #[test]
    fn the_webhooks_switch_changes_no_watch() {
        let plan = diff(&specs(&[("a", "x=1", false)]), &specs(&[("a", "x=1", true)]));
        assert_eq!(plan, WatchPlan { keep: vec!["a".into()], ..WatchPlan::default() });
    }
}
