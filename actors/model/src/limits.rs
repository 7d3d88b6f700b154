//! What watched objects may take at most, and what everybody says about those that are beyond it.

use crate::{crd::LimitsSpec, diagnostic::Diagnostic};
use haptic_text::ObjectRef;
use std::{collections::BTreeMap, fmt, sync::Arc};

/// A limit of the configuration, below `controller.limits`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Limit {
    /// Bytes of one object.
    ObjectBytes,
    /// Objects of one watched resource in one namespace.
    ObjectsPerNamespace,
    /// Bytes of one watched resource's objects.
    StoreBytes,
    /// Bytes of all watched resources' objects.
    WatchedBytes,
    /// Bytes that one object's block prints.
    BlockBytes,
    /// Bytes of the values that are made for one object's block.
    ValueBytes,
    /// Routes, and hosts of certificates, of one object.
    RoutesPerObject,
    /// Bytes of one file.
    FileBytes,
    /// Lines of one map.
    MapEntries,
    /// Servers of haproxy.cfg.
    Servers,
    /// Active checks of servers.
    Checks,
    /// Files that templates add.
    Files,
}

/// The limits of one store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoreLimits {
    /// See [`LimitsSpec::object_bytes`].
    pub object_bytes: usize,
    /// See [`LimitsSpec::objects_per_namespace`].
    pub objects_per_namespace: usize,
    /// See [`LimitsSpec::store_bytes`].
    pub store_bytes: usize,
    /// See [`LimitsSpec::watched_bytes`].
    pub watched_bytes: Option<usize>,
}

/// An object that is larger than any may be: what is known of it without keeping it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Oversized {
    /// Which.
    pub object: Arc<ObjectRef>,
    /// As the object says it, for those who write about it.
    pub api_version: Arc<str>,
    /// As the object says it.
    pub kind: Arc<str>,
    /// As the object says it.
    pub uid: Arc<str>,
    /// How large it is.
    pub bytes: usize,
    /// How large it may be.
    pub limit: usize,
    /// Whether the version before, which is smaller, stays in force; otherwise it is left out.
    pub replaced: bool,
}

/// What one store does not hold because of its limits.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RejectedObjects {
    /// How many objects of which namespace, because it has too many of them or they take too much.
    pub crowded: BTreeMap<Arc<str>, Crowded>,
    /// Objects that are too large, the first few of each namespace.
    pub oversized: Vec<Arc<Oversized>>,
    /// How many are too large.
    pub oversized_count: usize,
}

/// A namespace of which objects are left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Crowded {
    /// By which limit.
    pub by: Limit,
    /// What that limit is.
    pub most: usize,
    /// How many objects are left out.
    pub rejected: usize,
}

/// One thing that a limit is told of: a namespace or an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LimitReached {
    /// Objects of a namespace are left out.
    Namespace {
        /// The watched resource's name.
        resource: Arc<str>,
        /// Empty for objects that are in none.
        namespace: Arc<str>,
        /// Why.
        crowded: Crowded,
    },
    /// An object is too large.
    Object(Arc<Oversized>),
}

/// What every store does not hold, by its name; one that holds everything has no entry.
pub type AllRejected = BTreeMap<Arc<str>, RejectedObjects>;

impl Limit {
    /// Those of stores.
    pub const OF_STORES: [Self; 4] =
        [Self::ObjectBytes, Self::ObjectsPerNamespace, Self::StoreBytes, Self::WatchedBytes];
    /// Those of what is rendered.
    const OF_RENDERS: [Self; 6] =
        [Self::BlockBytes, Self::ValueBytes, Self::FileBytes, Self::MapEntries, Self::Servers, Self::Files];

    /// Its name below `controller.limits`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::ObjectBytes => "objectBytes",
            Self::ObjectsPerNamespace => "objectsPerNamespace",
            Self::StoreBytes => "storeBytes",
            Self::WatchedBytes => "watchedBytes",
            Self::BlockBytes => "blockBytes",
            Self::ValueBytes => "valueBytes",
            Self::RoutesPerObject => "routesPerObject",
            Self::FileBytes => "fileBytes",
            Self::MapEntries => "mapEntries",
            Self::Servers => "servers",
            Self::Checks => "checks",
            Self::Files => "files",
        }
    }

    /// Its path in the configuration.
    #[must_use]
    pub fn field(self) -> String {
        format!("spec.controller.limits.{}", self.name())
    }

    /// The limit that `diagnostic` says is passed.
    #[must_use]
    pub fn passed(diagnostic: &Diagnostic) -> Option<Self> {
        let field = diagnostic.field.as_deref()?;
        Self::OF_RENDERS.into_iter().find(|limit| limit.field() == field)
    }
}

impl From<&LimitsSpec> for StoreLimits {
    fn from(spec: &LimitsSpec) -> Self {
        Self {
            object_bytes: spec.object_bytes,
            objects_per_namespace: spec.objects_per_namespace,
            store_bytes: spec.store_bytes,
            watched_bytes: spec.watched_bytes,
        }
    }
}

impl Default for StoreLimits {
    fn default() -> Self {
        Self::from(&LimitsSpec::default())
    }
}

impl RejectedObjects {
    /// Whether the store holds everything.
    #[must_use]
    pub fn is_nothing(&self) -> bool {
        self.crowded.is_empty() && self.oversized_count == 0
    }

    /// How many objects are left out, or in force as they were, by limit.
    #[must_use]
    pub fn counts(&self) -> [(Limit, usize); Limit::OF_STORES.len()] {
        Limit::OF_STORES.map(|limit| {
            let crowded = self.crowded.values().filter(|crowded| crowded.by == limit);
            let oversized = if limit == Limit::ObjectBytes { self.oversized_count } else { 0 };
            (limit, oversized + crowded.map(|crowded| crowded.rejected).sum::<usize>())
        })
    }

    /// All that is to be told of store `resource`.
    pub fn reached<'a>(&'a self, resource: &'a Arc<str>) -> impl Iterator<Item = LimitReached> + 'a {
        let namespaces = self.crowded.iter().map(|(namespace, crowded)| LimitReached::Namespace {
            resource: resource.clone(),
            namespace: namespace.clone(),
            crowded: *crowded,
        });
        namespaces.chain(self.oversized.iter().cloned().map(LimitReached::Object))
    }

    /// What is news for somebody who knows `before`: a number that changed is none.
    #[must_use]
    pub fn news(&self, before: &Self, resource: &Arc<str>) -> Vec<LimitReached> {
        let is_new = |reached: &LimitReached| match reached {
            LimitReached::Namespace { namespace, crowded, .. } => {
                before.crowded.get(namespace).is_none_or(|known| known.by != crowded.by)
            }
            LimitReached::Object(oversized) => !before.oversized.contains(oversized),
        };
        self.reached(resource).filter(is_new).collect()
    }
}

impl LimitReached {
    /// Which limit.
    #[must_use]
    pub fn limit(&self) -> Limit {
        match self {
            Self::Namespace { crowded, .. } => crowded.by,
            Self::Object(_) => Limit::ObjectBytes,
        }
    }
}

impl fmt::Display for LimitReached {
    /// The one sentence that Event, condition, log and `haptic status` say: nothing in it moves while it stays true.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.limit().name();
        match self {
            Self::Object(oversized) => {
                let Oversized { object, bytes, limit, replaced, .. } = &**oversized;
                match replaced {
                    true => write!(f, "{object} stays in force as it was, its new version is too large")?,
                    false => write!(f, "{object} is too large and left out")?,
                }
                write!(f, ": {bytes} bytes, of {limit} that it may have. Make it smaller, or raise")?;
            }
            Self::Namespace { resource, namespace, crowded } => {
                let most = crowded.most;
                match crowded.by {
                    Limit::StoreBytes => write!(f, "{resource} take more than {most} bytes, and")?,
                    Limit::WatchedBytes => write!(
                        f,
                        "all watched objects take more than {most} bytes, {resource} more than their share, of which"
                    )?,
                    _ => write!(f, "there are more than {most} {resource} in")?,
                }
                match &**namespace {
                    "" => f.write_str(" no namespace")?,
                    name => write!(f, " namespace {name}")?,
                }
                if matches!(crowded.by, Limit::StoreBytes | Limit::WatchedBytes) {
                    f.write_str(" has most")?;
                }
                f.write_str(
                    ": those that were created last are left out. Delete what is not needed, or raise",
                )?;
            }
        }
        write!(f, " controller.limits.{name}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn oversized(replaced: bool, bytes: usize) -> Arc<Oversized> {
        Arc::new(Oversized {
            object: Arc::new(ObjectRef::new("ingresses", "shop", "big")),
            api_version: "networking.k8s.io/v1".into(),
            kind: "Ingress".into(),
            uid: "u".into(),
            bytes,
            limit: 1000,
            replaced,
        })
    }

    fn crowded(by: Limit, rejected: usize) -> RejectedObjects {
        let crowded = Crowded { by, most: 20, rejected };
        RejectedObjects { crowded: [("junk".into(), crowded)].into(), ..RejectedObjects::default() }
    }

    fn said(rejected: &RejectedObjects) -> Vec<String> {
        rejected.reached(&"ingresses".into()).map(|reached| reached.to_string()).collect()
    }

    #[test]
    fn each_sentence_says_what_is_left_out_and_which_limit_to_raise() {
        assert_eq!(
            said(&crowded(Limit::ObjectsPerNamespace, 7)),
            [
                "there are more than 20 ingresses in namespace junk: those that were created last are left out. Delete what \
              is not needed, or raise controller.limits.objectsPerNamespace"
            ]
        );
        assert!(
            said(&crowded(Limit::StoreBytes, 7))[0]
                .starts_with("ingresses take more than 20 bytes, and namespace junk has most: those")
        );
        assert_eq!(
            said(&crowded(Limit::WatchedBytes, 7)),
            [
                "all watched objects take more than 20 bytes, ingresses more than their share, of which namespace junk has most: \
              those that were created last are left out. Delete what is not needed, or raise controller.limits.watchedBytes"
            ]
        );
        let large = |replaced| LimitReached::Object(oversized(replaced, 2000)).to_string();
        assert_eq!(
            large(false),
            "ingresses shop/big is too large and left out: 2000 bytes, of 1000 that it may have. Make it smaller, or raise \
             controller.limits.objectBytes"
        );
        assert!(large(true).starts_with("ingresses shop/big stays in force as it was"));
    }

    #[test]
    fn another_number_is_no_news_and_another_version_is() {
        let resource: Arc<str> = "ingresses".into();
        let (few, many) = (crowded(Limit::ObjectsPerNamespace, 1), crowded(Limit::ObjectsPerNamespace, 9000));
        assert_eq!(few.news(&RejectedObjects::default(), &resource).len(), 1);
        assert_eq!(many.news(&few, &resource), []);
        let large = |bytes| RejectedObjects {
            oversized: vec![oversized(false, bytes)],
            oversized_count: 1,
            ..RejectedObjects::default()
        };
        assert_eq!(large(2000).news(&large(2000), &resource), []);
        assert_eq!(large(3000).news(&large(2000), &resource).len(), 1);
        assert_eq!(large(1).counts().map(|(_, count)| count), [1, 0, 0, 0]);
        assert_eq!(many.counts().map(|(_, count)| count), [0, 9000, 0, 0]);
    }
}
