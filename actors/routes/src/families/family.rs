//! The families of annotations: their prefixes, their keys, and how their own controllers look for them.

use super::{
    haproxy_ingress::table as haproxy_ingress, haproxy_org::table as haproxy_org,
    ingress_nginx::table as ingress_nginx, key::FamilyKey,
};

/// The controller whose annotations are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Family {
    /// `nginx.ingress.kubernetes.io/`, of kubernetes/ingress-nginx.
    IngressNginx,
    /// `haproxy.org/`, of haproxytech/kubernetes-ingress.
    HaproxyOrg,
    /// `haproxy-ingress.github.io/`, of jcmoraisjr/haproxy-ingress.
    HaproxyIngress,
}

impl Family {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::IngressNginx, Self::HaproxyOrg, Self::HaproxyIngress];

    /// As `extraContext.annotationFamilies` and the library `annotations-NAME` call it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::IngressNginx => "ingress-nginx",
            Self::HaproxyOrg => "haproxy-org",
            Self::HaproxyIngress => "haproxy-ingress",
        }
    }

    /// The prefixes of its annotations; of the same key the first counts.
    #[must_use]
    pub fn prefixes(self) -> &'static [&'static str] {
        match self {
            Self::IngressNginx => ingress_nginx::PREFIXES,
            Self::HaproxyOrg => haproxy_org::PREFIXES,
            Self::HaproxyIngress => haproxy_ingress::PREFIXES,
        }
    }

    /// Its keys, in the order of their names.
    #[must_use]
    pub fn table(self) -> &'static [FamilyKey] {
        match self {
            Self::IngressNginx => ingress_nginx::TABLE,
            Self::HaproxyOrg => haproxy_org::TABLE,
            Self::HaproxyIngress => haproxy_ingress::TABLE,
        }
    }

    /// The key of that name.
    #[must_use]
    pub fn key(self, name: &str) -> Option<&'static FamilyKey> {
        let table = self.table();
        table.binary_search_by(|key| key.name.cmp(name)).ok().and_then(|at| table.get(at))
    }

    /// Whether what a Service says counts before what the Ingress says.
    #[must_use]
    pub fn reads_services(self) -> bool {
        self != Self::IngressNginx
    }

    /// Whether another name of a key counts only where the key itself is said nowhere, not even in the ConfigMap.
    pub(super) fn asks_other_names_last(self) -> bool {
        self != Self::IngressNginx
    }

    /// Whether what the routes of a host leave over is answered by no wildcard and no route for every host.
    #[must_use]
    pub fn keeps_hosts(self) -> bool {
        self != Self::HaproxyIngress
    }

    /// Whether a backend's port may be what a port of the Service leads to.
    #[must_use]
    pub fn reads_target_ports(self) -> bool {
        self != Self::HaproxyOrg
    }

    /// The name of an annotation behind the family's prefix, and which of the prefixes it has.
    pub(super) fn name_of(self, annotation: &str) -> Option<(usize, &str)> {
        let mut prefixes = self.prefixes().iter().enumerate();
        let prefixed = prefixes.find_map(|(rank, prefix)| Some((rank, annotation.strip_prefix(prefix)?)));
        // It takes its keys without a prefix, too (`pkg/store/convert.go`).
        let is_bare = || self == Self::HaproxyOrg && self.key(annotation).is_some();
        prefixed.or_else(|| is_bare().then_some((self.prefixes().len(), annotation)))
    }

    /// The name of an annotation of the family behind the prefix.
    #[must_use]
    pub fn behind_prefix(self, annotation: &str) -> Option<&str> {
        self.name_of(annotation).map(|(_, name)| name)
    }

    /// Whether an annotation is one of the family's.
    #[must_use]
    pub fn has(self, annotation: &str) -> bool {
        self.name_of(annotation).is_some()
    }
}
