//! The namespaces that a host belongs to by the operator's word (`spec.hosts`).

use crate::{
    claims::Claims,
    matching::ANY_HOST,
    sentences::{named, shortened},
};
use haptic_model::{Finding, FindingKind, HAProxyTemplateConfigSpec, crd::HostOwners, host_name};
use std::{collections::HashMap, sync::Arc};

/// The hosts that are listed. Two are equal when they say the same.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Owners {
    /// By pattern, in lower case.
    listed: HashMap<Arc<str>, Arc<[Arc<str>]>>,
}

/// A pattern of `spec.hosts` with what it covers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    /// In lower case.
    pub pattern: Arc<str>,
    /// The ending of every host below a wildcard.
    pub suffix: Option<String>,
    /// The namespaces that its hosts belong to.
    pub namespaces: Arc<[Arc<str>]>,
}

impl Owners {
    /// The hosts that a configuration lists.
    #[must_use]
    pub fn of(spec: &HAProxyTemplateConfigSpec) -> Self {
        let mut listed = HashMap::new();
        for HostOwners { hosts, namespaces } in &spec.hosts {
            let namespaces: Arc<[Arc<str>]> = namespaces.iter().map(|name| name.as_str().into()).collect();
            listed.extend(hosts.iter().map(|host| (host.to_ascii_lowercase().into(), namespaces.clone())));
        }
        Self { listed }
    }

    /// The namespaces that `host` (of a request, a route or a certificate) belongs to; `None` when it is not listed.
    #[must_use]
    pub fn of_host(&self, host: &str) -> Option<&Arc<[Arc<str>]>> {
        if self.listed.is_empty() {
            return None;
        }
        let parents =
            host.match_indices('.').filter_map(|(at, _)| host.get(at..)).map(|rest| format!("*{rest}"));
        let covering = parents.filter(|pattern| pattern != host);
        let mut covering = covering.chain([host_name::EVERY_HOST.to_owned()]);
        self.listed.get(host).or_else(|| covering.find_map(|pattern| self.listed.get(&*pattern)))
    }

    /// Whether objects of `namespace` may have anything of `host`.
    #[must_use]
    pub fn admit_to(&self, host: &str, namespace: &str) -> bool {
        self.of_host(host).is_none_or(|owners| owners.iter().any(|owner| **owner == *namespace))
    }

    /// Why nothing of a host is served for namespaces that it does not belong to.
    #[must_use]
    pub fn refusal(&self, host: &str) -> String {
        let owners = self.of_host(host).map(|owners| named(owners)).unwrap_or_default();
        let name = if *host == *ANY_HOST { "every host".into() } else { shortened(host) };
        format!("{name} belongs to {owners} by spec.hosts: nothing of it is served there")
    }

    /// The same as it is found at an object of which the rest is served.
    #[must_use]
    pub(crate) fn finding(&self, host: &str) -> Finding {
        Finding::new(FindingKind::HostConflict, self.refusal(host)).at_host(&shortened(host))
    }

    /// All patterns, the most specific first.
    #[must_use]
    pub fn listed(&self) -> Vec<Listed> {
        let listed = |(pattern, namespaces): (&Arc<str>, &Arc<[Arc<str>]>)| Listed {
            pattern: pattern.clone(),
            suffix: host_name::suffix(pattern).map(str::to_owned),
            namespaces: namespaces.clone(),
        };
        let mut all: Vec<Listed> = self.listed.iter().map(listed).collect();
        all.sort_by(|a, b| b.pattern.len().cmp(&a.pattern.len()).then_with(|| a.pattern.cmp(&b.pattern)));
        all
    }

    /// An object's claims without those on hosts that belong to other namespaces.
    #[must_use]
    pub(crate) fn admit(&self, namespace: &str, mut claims: Claims) -> Claims {
        if self.listed.is_empty() {
            return claims;
        }
        let mut refused: Vec<Arc<str>> = Vec::new();
        let mut admits = |host: &Arc<str>| {
            let admitted = self.admit_to(host, namespace);
            if !admitted && refused.last() != Some(host) {
                refused.push(host.clone());
            }
            admitted
        };
        claims.routes.retain(|route| admits(&route.wanted.host));
        claims.certificates.retain(|host, _| admits(host));
        refused.sort();
        refused.dedup();
        claims.findings.extend(refused.iter().map(|host| self.finding(host)));
        claims
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn owners(hosts: Value) -> Owners {
        let spec = json!({
            "credentialsSecretRef": {"name": "c"}, "podSelector": {"matchLabels": {"a": "b"}}, "hosts": hosts,
        });
        Owners::of(&serde_json::from_value(spec).unwrap())
    }

    #[test]
    fn the_most_specific_pattern_that_covers_a_host_counts() {
        let owners = owners(json!([
            {"hosts": ["*.Shop.example", "shop.example"], "namespaces": ["shop"]},
            {"hosts": ["pay.shop.example", "*.pay.shop.example"], "namespaces": ["pay"]},
        ]));
        let of = |host: &str| owners.of_host(host).map(|all| all[0].to_string());
        for (host, owner) in [
            ("shop.example", Some("shop")),
            ("a.shop.example", Some("shop")),
            ("*.shop.example", Some("shop")),
            ("b.a.shop.example", Some("shop")),
            ("*.a.shop.example", Some("shop")),
            ("pay.shop.example", Some("pay")),
            ("x.pay.shop.example", Some("pay")),
            ("*.pay.shop.example", Some("pay")),
            ("*.example", None),
            ("notshop.example", None),
            ("*", None),
        ] {
            assert_eq!(of(host).as_deref(), owner, "{host}");
        }
        let patterns: Vec<_> = owners.listed().into_iter().map(|l| l.pattern.to_string()).collect();
        assert_eq!(patterns, ["*.pay.shop.example", "pay.shop.example", "*.shop.example", "shop.example"]);
    }

    #[test]
    fn a_star_covers_every_host_that_nothing_else_does() {
        let owners = owners(
            json!([{"hosts": ["*"], "namespaces": ["edge"]}, {"hosts": ["a.example"], "namespaces": ["a"]}]),
        );
        let of = |host: &str| owners.of_host(host).map(|all| all[0].to_string());
        assert_eq!(of("a.example").as_deref(), Some("a"));
        for host in ["*", "*.example", "b.example"] {
            assert_eq!(of(host).as_deref(), Some("edge"), "{host}");
        }
    }
}
