//! The kinds whose statuses are ours, and where their objects are: in which store, and at which address of the API server.

use super::references::GROUP;
use haptic_model::{
    crd::{StoreKind, WatchedResource},
    gateway::RouteKind,
};
use kube::api::ApiResource;
use std::{collections::BTreeMap, sync::Arc};

/// A kind with a status of ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum GatewayKind {
    Class,
    Gateway,
    ListenerSet,
    Route(RouteKind),
    Policy,
}

/// One object with a status of ours.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct StatusKey {
    pub(crate) kind: GatewayKind,
    /// Empty for GatewayClasses.
    pub(crate) namespace: Arc<str>,
    pub(crate) name: Arc<str>,
}

/// Where objects of a kind are.
#[derive(Clone, Debug)]
pub(crate) struct KindSource {
    /// The name under `watchedResources`.
    pub(crate) store: Arc<str>,
    pub(crate) resource: ApiResource,
    /// Whether the store has objects as they are, so that a status need not be read before it is written.
    pub(crate) is_complete: bool,
}

impl GatewayKind {
    pub(crate) const ALL: [Self; 8] = [
        Self::Class,
        Self::Gateway,
        Self::ListenerSet,
        Self::Route(RouteKind::Http),
        Self::Route(RouteKind::Grpc),
        Self::Route(RouteKind::Tls),
        Self::Route(RouteKind::Tcp),
        Self::Policy,
    ];

    /// Whether all of a status is one controller's, and does not say whose.
    pub(crate) const fn is_whole(self) -> bool {
        matches!(self, Self::Gateway | Self::ListenerSet)
    }

    /// The kind's name, and its plural in URLs.
    pub(crate) const fn names(self) -> (&'static str, &'static str) {
        match self {
            Self::Class => ("GatewayClass", "gatewayclasses"),
            Self::Gateway => ("Gateway", "gateways"),
            Self::ListenerSet => ("ListenerSet", "listenersets"),
            Self::Route(kind) => kind.names(),
            Self::Policy => ("BackendTLSPolicy", "backendtlspolicies"),
        }
    }

    /// Those kinds that are `watched`, without the `ignored` fields. A kind that is watched twice is taken from the entry that comes first by name.
    pub(crate) fn sources(
        watched: &BTreeMap<String, WatchedResource>,
        ignored: &[String],
    ) -> BTreeMap<Self, KindSource> {
        let hides = |path: &String| {
            let path = path.trim_start_matches(['{', '.']);
            path.starts_with("status") || path.starts_with("metadata.generation")
        };
        let ignores_status = ignored.iter().any(hides);
        let mut sources = BTreeMap::new();
        for (name, watched) in watched {
            let Some(version) = watched.api_version.strip_prefix(GROUP).and_then(|v| v.strip_prefix('/'))
            else {
                continue;
            };
            let Some(kind) = Self::ALL.into_iter().find(|kind| kind.names().1 == watched.resources) else {
                continue;
            };
            let (singular, plural) = kind.names();
            sources.entry(kind).or_insert_with(|| KindSource {
                store: name.as_str().into(),
                resource: ApiResource {
                    group: GROUP.into(),
                    version: version.into(),
                    api_version: watched.api_version.clone(),
                    kind: singular.into(),
                    plural: plural.into(),
                },
                is_complete: !ignores_status && watched.store == StoreKind::Full,
            });
        }
        sources
    }
}

impl StatusKey {
    pub(crate) fn new(kind: GatewayKind, namespace: &Arc<str>, name: &Arc<str>) -> Self {
        Self { kind, namespace: namespace.clone(), name: name.clone() }
    }
}

impl std::fmt::Display for StatusKey {
    /// `HTTPRoute shop/web`.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let kind = self.kind.names().0;
        if self.namespace.is_empty() {
            write!(f, "{kind} {}", self.name)
        } else {
            write!(f, "{kind} {}/{}", self.namespace, self.name)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_found_by_what_is_watched_whatever_it_is_called() {
        let watched = |api_version: &str, resources: &str| WatchedResource {
            api_version: api_version.into(),
            resources: resources.into(),
            ..WatchedResource::default()
        };
        let mut all = BTreeMap::new();
        for (name, version, plural) in [
            ("mine", "gateway.networking.k8s.io/v1", "httproutes"),
            ("other", "example.com/v1", "gateways"),
            ("services", "v1", "services"),
        ] {
            all.insert(name.to_owned(), watched(version, plural));
        }
        let sources = GatewayKind::sources(&all, &[]);
        assert_eq!(sources.keys().collect::<Vec<_>>(), [&GatewayKind::Route(RouteKind::Http)]);
        let source = &sources[&GatewayKind::Route(RouteKind::Http)];
        assert!((&*source.store, source.is_complete) == ("mine", true));
        let ignoring = GatewayKind::sources(&all, &["status.parents".to_owned()]);
        assert!(ignoring.values().all(|source| !source.is_complete));
    }
}
