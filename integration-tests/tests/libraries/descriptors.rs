//! Descriptors of HAProxy: what objects need of them never keeps it from starting, and no namespace's checks take those of others.

use crate::{
    SERIES,
    options::{both, certificate},
    site::{Scheme, Site, rendered_for_with, sentences},
};
use serde_json::{Value, json};

const OPTIONS: [(&str, &str); 3] =
    [("health-check", "tcp"), ("agent-check-port", "9999"), ("health-check-interval", "1s")];

/// The Ingress with `options` leads to a Service with so many endpoints, which are nowhere.
fn checked(options: &[(&str, &str)], endpoints: usize) -> Vec<Value> {
    let mut manifests = both(options);
    let addresses: Vec<Value> = (0..endpoints)
        .map(|n| json!({"addresses": [format!("127.9.{}.{}", n / 200, n % 200 + 1)]}))
        .collect();
    manifests.push(json!({"kind": "EndpointSlice",
        "metadata": {"namespace": "shop", "name": "s1", "labels": {"kubernetes.io/service-name": "s1"}},
        "addressType": "IPv4", "ports": [{"name": "web", "port": 9}], "endpoints": addresses}));
    manifests.push(certificate());
    manifests
}

#[test]
fn haproxy_starts_and_serves_with_fewer_descriptors_than_it_may_need() {
    for series in SERIES {
        let site = Site::start_with_few(2_000, series, &checked(&OPTIONS, 100));
        assert_eq!(site.get(Scheme::Http, "a.example", "/off").service(), Some(2), "{series:?}");
    }
}

#[test]
fn servers_beyond_a_namespaces_share_are_not_checked_and_its_object_is_told() {
    for (options, most, checks) in
        [(&OPTIONS[..1], 38, 0), (&OPTIONS[..1], 40, 20), (&OPTIONS[..2], 78, 0), (&OPTIONS[..2], 80, 40)]
    {
        for series in SERIES {
            let limit = |spec: &mut Value| spec["controller"] = json!({"limits": {"checks": most}});
            let (bundle, warnings) = rendered_for_with(series, &checked(options, 20), limit).unwrap();
            let config = bundle.config.text.to_string();
            let servers = || config.lines().filter(|line| line.trim_start().starts_with("server 127.9."));
            let words = || servers().flat_map(str::split_ascii_whitespace);
            let found = words().filter(|word| ["check", "agent-check"].contains(word)).count();
            assert_eq!((servers().count(), found), (20, checks), "{config}");
            let said = sentences(&warnings);
            let is_told = said.contains("shop/on") && said.contains("controller.limits.checks");
            assert_eq!(is_told, checks == 0, "{said}");
        }
    }
}
