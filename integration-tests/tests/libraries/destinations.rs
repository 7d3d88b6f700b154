//! Where requests may go: names outside of the cluster, and nowhere near HAProxy itself.

use crate::{
    around::service,
    echo, on_each_haproxy, on_each_haproxy_with,
    protocols::leading_to,
    site::{SCHEMES, Scheme, rendered_alone, sentences},
};
use serde_json::{Value, json};

const HOST: &str = "a.example";

/// Where these tests allow servers: not at 127.0.0.1, where HAProxy is.
fn only_tests_own(spec: &mut Value) {
    spec["allow"] = json!({"destinations": ["127.0.1.0/24"]});
}

/// The Ingress leads to `port` of an ExternalName; `outside.example` is at `addresses`.
fn leading_outside(external_name: &str, port: u16, addresses: &[&str]) -> Vec<Value> {
    let mut manifests = leading_to("outside", port, &[]);
    manifests.push(json!({"kind": "Service", "metadata": {"namespace": "shop", "name": "outside"}, "spec": {
        "type": "ExternalName", "externalName": external_name, "ports": [{"port": port}]}}));
    manifests.push(json!({"kind": "ExternalName", "name": "outside.example", "addresses": addresses}));
    manifests
}

#[test]
fn a_service_may_be_a_name_outside_of_the_cluster() {
    let manifests = leading_outside("Outside.example.", echo::start(), &["127.0.1.77", "169.254.169.254"]);
    on_each_haproxy(&manifests, |site| {
        for scheme in SCHEMES {
            assert_eq!(site.get(scheme, HOST, "/on").service(), Some(77));
            assert_eq!(site.get(scheme, HOST, "/off").service(), Some(2));
        }
    });
}

#[test]
fn a_name_is_no_way_to_what_listens_beside_haproxy() {
    // Something that only the machine itself may talk to.
    let private = echo::start();
    for name in ["127.0.0.1", "0x7f.1", "outside.example"] {
        let manifests = leading_outside(name, private, &["127.0.0.1", "::ffff:7f00:1", "0.0.0.0", "::1"]);
        on_each_haproxy_with(&manifests, only_tests_own, |site| {
            let answer = site.get(Scheme::Http, HOST, "/on");
            assert_eq!((answer.status, answer.service()), (503, None), "{name}: {answer:?}");
            assert_eq!(site.get(Scheme::Http, HOST, "/off").service(), Some(2));
        });
    }
    // It would have been one: the operator may say so.
    on_each_haproxy(&leading_outside("outside.example", private, &["127.0.0.1"]), |site| {
        assert_eq!(site.get(Scheme::Http, HOST, "/on").service(), Some(1));
    });
}

#[test]
fn a_name_is_no_way_to_haproxys_own_metrics() {
    let health = crate::ports::free_port();
    let change = |spec: &mut Value| {
        only_tests_own(spec);
        spec["templatingSettings"]["extraContext"]["healthPort"] = json!(health);
    };
    let mut manifests = leading_outside("127.0.0.1", health, &[]);
    manifests[0]["spec"]["rules"][0]["http"]["paths"][0]["path"] = json!("/");
    on_each_haproxy_with(&manifests, change, |site| {
        for path in ["/metrics", "/stats", "/"] {
            let answer = site.get(Scheme::Http, HOST, path);
            assert!(answer.status == 503 && !answer.body.contains("haproxy_"), "{path}: {answer:?}");
        }
    });
}

#[test]
fn a_request_that_comes_back_to_haproxy_ends_after_a_few_rounds() {
    // As the address of HAProxy's own Service: no port that a setting names.
    let again = crate::ports::free_port();
    let change = |spec: &mut Value| {
        spec["templateSnippets"]["bind-20-again"] = json!({"template": format!("bind 127.0.0.1:{again}\n")});
    };
    let mut manifests = leading_to("hand", 80, &[]);
    manifests.extend(service("hand", "IPv4", again, &["127.0.0.1"]));
    on_each_haproxy_with(&manifests, change, |site| {
        let answer = site.get(Scheme::Http, HOST, "/on");
        assert_eq!((answer.status, answer.service()), (508, None), "{answer:?}");
        assert_eq!(site.get(Scheme::Http, HOST, "/off").service(), Some(2));
    });
}

#[test]
fn of_an_endpoint_slice_written_by_hand_what_is_refused_is_left_out() {
    let port = echo::start();
    let mut manifests = leading_to("hand", 80, &[]);
    manifests.extend(service(
        "hand",
        "IPv4",
        port,
        &["127.0.0.1", "127.0.1.5", "169.254.169.254", "localhost"],
    ));
    manifests
        .extend(service("hand", "IPv6", port, &["::ffff:127.0.0.1", "::1", "fe80::1"]).into_iter().skip(1));
    on_each_haproxy_with(&manifests, only_tests_own, |site| {
        for _ in 0..8 {
            assert_eq!(site.get(Scheme::Http, HOST, "/on").service(), Some(5));
        }
    });
}

#[test]
fn a_warning_names_service_address_and_way_out() {
    let (_, warnings) =
        rendered_alone(&leading_outside("outside.example", 80, &["169.254.169.254"])).unwrap();
    let said = sentences(&warnings);
    for word in ["169.254.169.254 port 80", "link-local", "services shop/outside", "spec.allow.destinations"]
    {
        assert!(said.contains(word), "{word}: {said}");
    }
    let (_, warnings) = rendered_alone(&leading_outside("127.1", 80, &[])).unwrap();
    let said = sentences(&warnings);
    assert!(said.contains("neither a host name nor an IP address") && !said.contains("spec.allow"), "{said}");
}
