//! Routes of groups of hosts, as manifests.

use super::{
    Family, IN_CLEAR, OVER_TLS, RouteConverter,
    noted::NotedIngress,
    outcomes::RulesOfHosts,
    route_names::{RouteNames, tail_of},
};
use crate::migrate::convert::manifest::annotations_of;
use crate::migrate::verdicts::CLASS_ANNOTATION;
use haptic_routes::options::PREFIX;
use serde_json::{Map, Value, json};
use std::collections::HashMap;

/// So many rules, and so many hostnames, a route has.
const MOST: usize = 16;
/// So many matches all of its rules have together.
const MOST_MATCHES: usize = 128;

/// What `kubectl apply` notes of the Ingress.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// The ending of a route for requests in the clear.
const CLEAR: &str = "-http";

/// A route before it has its name.
struct PlannedRoute<'r> {
    ending: &'static str,
    /// The port of the Gateway's listener, where that is not any.
    port: Option<u16>,
    hostnames: &'r [String],
    rules: &'r [Value],
}

impl RouteConverter {
    /// The routes of each Ingress.
    pub(super) fn written(&self, hosts: Vec<&[RulesOfHosts]>) -> Vec<Vec<Value>> {
        let planned: Vec<Vec<(String, PlannedRoute<'_>)>> =
            hosts.into_iter().map(|hosts| with_tails(planned(hosts))).collect();
        let mut names = RouteNames::of(self.names.iter().map(|(namespace, name)| (&**namespace, &**name)));
        for (noted, routes) in self.ingresses.iter().zip(&planned) {
            for (tail, _) in routes {
                names.note(&noted.namespace, &noted.name, tail);
            }
        }
        let of_ingress = |(noted, routes): (&NotedIngress, Vec<(String, PlannedRoute<'_>)>)| {
            let metadata = metadata_of(&noted.value, self.family);
            let route = |(tail, route): (String, PlannedRoute<'_>)| {
                let mut metadata = metadata.clone();
                let name = names.unique(&noted.namespace, &noted.name, &tail);
                metadata.insert("name".to_owned(), json!(name));
                self.manifest(metadata, &route)
            };
            routes.into_iter().map(route).collect()
        };
        self.ingresses.iter().zip(planned).map(of_ingress).collect()
    }

    fn manifest(&self, metadata: Map<String, Value>, route: &PlannedRoute<'_>) -> Value {
        let mut spec = Map::from_iter([
            ("parentRefs".to_owned(), json!([self.parent.reference(route.port)])),
            ("rules".to_owned(), json!(route.rules)),
        ]);
        // Without them it is for all hosts.
        if route.hostnames.iter().all(|host| !host.is_empty()) {
            spec.insert("hostnames".to_owned(), json!(route.hostnames));
        }
        json!({
            "apiVersion": "gateway.networking.k8s.io/v1", "kind": "HTTPRoute", "metadata": metadata, "spec": spec,
        })
    }
}

fn planned(hosts: &[RulesOfHosts]) -> Vec<PlannedRoute<'_>> {
    let mut all = Vec::new();
    for (hostnames, rules) in hosts {
        let (first, in_clear) = match rules.is_redirected {
            true => (Some(OVER_TLS), Some((CLEAR, Some(IN_CLEAR), &rules.in_clear))),
            false => (None, None),
        };
        for (ending, port, rules) in std::iter::once(("", first, &rules.all)).chain(in_clear) {
            for hostnames in hostnames.chunks(MOST) {
                let of_rules = parts(rules).into_iter();
                all.extend(of_rules.map(|rules| PlannedRoute { ending, port, hostnames, rules }));
            }
        }
    }
    all
}

/// Each with what stands behind the name of its Ingress.
fn with_tails<'r>(routes: Vec<PlannedRoute<'r>>) -> Vec<(String, PlannedRoute<'r>)> {
    let mut counts: HashMap<&str, usize> = HashMap::new();
    routes.iter().for_each(|route| *counts.entry(route.ending).or_default() += 1);
    let mut numbers: HashMap<&str, usize> = HashMap::new();
    let with_tail = |route: PlannedRoute<'r>| {
        let number = numbers.entry(route.ending).or_default();
        *number += 1;
        let count = counts.get(route.ending).copied().unwrap_or_default();
        (tail_of(route.ending, *number, count), route)
    };
    routes.into_iter().map(with_tail).collect()
}

/// Rules, no more of them and of their matches than a route has.
fn parts(rules: &[Value]) -> Vec<&[Value]> {
    let (mut all, mut start, mut matches) = (Vec::new(), 0, 0);
    for (at, rule) in rules.iter().enumerate() {
        let more = rule.get("matches").and_then(Value::as_array).map_or(0, Vec::len);
        if at - start == MOST || (at > start && matches + more > MOST_MATCHES) {
            all.extend(rules.get(start..at));
            (start, matches) = (at, 0);
        }
        matches += more;
    }
    all.extend(rules.get(start..).filter(|rest| !rest.is_empty()));
    all
}

/// Metadata of the Ingress that a route has as well.
fn metadata_of(value: &Value, family: Family) -> Map<String, Value> {
    let mut metadata = Map::new();
    for field in ["namespace", "labels"] {
        if let Some(value) = value.pointer(&format!("/metadata/{field}")) {
            metadata.insert(field.to_owned(), value.clone());
        }
    }
    let is_of_both = |annotation: &str| {
        !family.has(annotation)
            && !annotation.starts_with(PREFIX)
            && ![CLASS_ANNOTATION, LAST_APPLIED].contains(&annotation)
    };
    let mut annotations = annotations_of(value);
    annotations.retain(|annotation, _| is_of_both(annotation));
    if !annotations.is_empty() {
        metadata.insert("annotations".to_owned(), json!(annotations));
    }
    metadata
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_route_has_no_more_rules_and_matches_than_its_definition_says() {
        let rule = |matches: usize| json!({"matches": vec![json!({}); matches]});
        let sizes = |rules: &[Value]| parts(rules).iter().map(|part| part.len()).collect::<Vec<_>>();
        assert_eq!(sizes(&vec![rule(1); 40]), [16, 16, 8]);
        assert_eq!(sizes(&vec![rule(9); 16]), [14, 2]);
        assert!(sizes(&[]).is_empty());
    }
}
