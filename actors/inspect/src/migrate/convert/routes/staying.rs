//! Ingresses of a host stay together: a route that is made of one takes requests that another one guards.

use std::collections::{BTreeSet, HashMap, HashSet};

/// An Ingress, as far as others decide whether it stays.
pub(super) struct StayingIngress {
    pub namespace: String,
    /// `NAMESPACE/NAME`.
    pub name: String,
    pub hosts: BTreeSet<String>,
    pub stays: bool,
}

/// Which of those that do not stay by themselves do so beside others, each with a sentence.
pub(super) fn beside_others(all: &[StayingIngress]) -> HashMap<usize, String> {
    let mut of_hosts: HashMap<(&str, &str), Vec<usize>> = HashMap::new();
    for (number, one) in all.iter().enumerate() {
        for host in &one.hosts {
            of_hosts.entry((&one.namespace, host)).or_default().push(number);
        }
    }
    let mut reasons: HashMap<usize, String> = HashMap::new();
    let by_themselves = all.iter().enumerate().filter(|(_, one)| one.stays);
    let mut staying: Vec<usize> = by_themselves.map(|(number, _)| number).collect();
    let mut known: HashSet<usize> = staying.iter().copied().collect();
    while let Some(one) = staying.pop().and_then(|number| all.get(number)) {
        for host in &one.hosts {
            // Of each host once.
            for other in of_hosts.remove(&(&*one.namespace, host.as_str())).unwrap_or_default() {
                if known.insert(other) {
                    reasons.insert(other, sentence(&one.name, host));
                    staying.push(other);
                }
            }
        }
    }
    reasons
}

fn sentence(name: &str, host: &str) -> String {
    let host = if host.is_empty() { "all hosts".to_owned() } else { format!("host {host}") };
    format!("Ingress {name} is for {host} as well and stays, and a route would take requests that it guards")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn they_stay_with_all_that_share_a_host_with_them() {
        let one = |namespace: &str, name: &str, hosts: &[&str], stays| StayingIngress {
            namespace: namespace.to_owned(),
            name: name.to_owned(),
            hosts: hosts.iter().map(|host| (*host).to_owned()).collect(),
            stays,
        };
        let all = [
            one("shop", "shop/a", &["a.example"], true),
            one("shop", "shop/b", &["a.example", "b.example"], false),
            one("shop", "shop/c", &["b.example"], false),
            one("shop", "shop/d", &["d.example"], false),
            one("other", "other/a", &["a.example"], false),
        ];
        let reasons = beside_others(&all);
        assert_eq!(reasons.len(), 2, "{reasons:?}");
        assert!(reasons[&1].contains("shop/a") && reasons[&2].contains("shop/b"), "{reasons:?}");
    }
}
