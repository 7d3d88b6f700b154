//! `haptic migrate check`: verdicts about manifests that were written for another controller.

use super::place::Place;
use serde_json::Value;
use std::fmt::Write;

fn ingress(name: &str, class: &str, annotations: &str) -> String {
    format!(
        "---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {{name: {name}, namespace: shop, annotations: {{{annotations}}}}}
spec:
  ingressClassName: {class}
  rules:
    - host: {name}.example
      http: {{paths: [{{path: /, pathType: Prefix, backend: {{service: {{name: web, port: {{number: 80}}}}}}}}]}}
"
    )
}

const SERVICE: &str = "---
apiVersion: v1
kind: Service
metadata: {name: web, namespace: shop, annotations: {haproxy.org/check: \"true\"}}
spec: {ports: [{port: 80}]}
";

const CONFIG_MAP: &str = "---
apiVersion: v1
kind: ConfigMap
metadata: {name: haproxy, namespace: edge}
data: {maxconn: \"1000\", timeout-server: 5s, nonesuch: x}
";

const SAME: &str = "haproxy.org/timeout-server: '30000'";
const DIFFERS: &str = "haproxy.org/rate-limit-requests: '10'";
const CANNOT: &str = "haproxy.org/backend-config-snippet: 'http-request deny'";

fn check(place: &Place, more: &[&str], code: i32, words: &[&str]) -> String {
    let arguments = [&["migrate", "check", "--from", "haproxy-org"], more].concat();
    let done = place.haptic(&arguments);
    done.must(code, words);
    done.out
}

#[test]
fn each_object_is_the_same_or_differs_or_cannot_be_served() {
    let place = Place::new();
    place.write("same.yaml", &ingress("a", "haproxy", SAME));
    check(&place, &["-f", "same.yaml"], 0, &["1 objects: 1 the same, 0 served otherwise"]);
    place.write("differs.yaml", &(ingress("a", "haproxy", SAME) + &ingress("b", "haproxy", DIFFERS)));
    check(
        &place,
        &["-f", "differs.yaml"],
        3,
        &[
            "differs Ingress shop/b",
            "rate-limit-requests: each Ingress counts for itself",
            "(here rate-limit)",
            "2 objects: 1 the same, 1 served",
        ],
    );
    let all = ingress("a", "haproxy", SAME)
        + &ingress("b", "other", DIFFERS)
        + &ingress("c", "haproxy", CANNOT)
        + SERVICE;
    place.write("all/objects.yaml", &all);
    let text = check(&place, &["-f", "all", "--output", "json"], 1, &[]);
    let report: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(report["totals"], serde_json::json!({"objects": 4, "same": 1, "differs": 2, "cannot": 1}));
    let verdict = |name: &str| {
        let of_name = report["objects"].as_array().unwrap().iter().find(|object| object["name"] == name);
        of_name.unwrap()["verdict"].as_str().unwrap().to_owned()
    };
    assert_eq!(["a", "b", "c", "web"].map(verdict), ["same", "differs", "cannot", "differs"]);
    check(&place, &["-f", "all", "--class", "haproxy"], 1, &["cannot Ingress shop/c", "3 objects"]);
    let page = check(&place, &["-f", "all", "--output", "markdown"], 1, &["# Migration from haproxy-org"]);
    assert!(page.contains("| Ingress shop/c | `haproxy.org/backend-config-snippet` | cannot |"), "{page}");
}

#[test]
fn values_that_are_so_here_are_the_same() {
    let place = Place::new();
    let cookie =
        "haproxy-ingress.github.io/affinity: cookie, haproxy-ingress.github.io/session-cookie-strategy";
    let check = |strategy: &str, code: i32, words: &[&str]| {
        place.write("objects.yaml", &ingress("a", "haproxy", &format!("{cookie}: {strategy}")));
        place
            .haptic(&["migrate", "check", "--from", "haproxy-ingress", "-f", "objects.yaml"])
            .must(code, words);
    };
    check("insert", 0, &["1 objects: 1 the same"]);
    check("prefix", 3, &["session-cookie-strategy"]);
}

#[test]
fn the_config_map_of_the_controller_is_judged_and_counts_for_ingresses() {
    let place = Place::new();
    place.write("objects.yaml", &(ingress("a", "haproxy", "") + CONFIG_MAP));
    let words = [
        "cannot ConfigMap edge/haproxy",
        "maxconn: `maxConnections`",
        "nonesuch: its own controller does not know it",
    ];
    check(&place, &["-f", "objects.yaml", "--config-map", "edge/haproxy"], 1, &words);
    check(
        &place,
        &["-f", "objects.yaml", "--config-map", "edge/none"],
        1,
        &["there is no ConfigMap edge/none"],
    );
    check(&place, &["-f", "objects.yaml", "--config-map", "edge"], 2, &["must be NAMESPACE/NAME"]);
}

const PORTS: &str = "---
apiVersion: v1
kind: ConfigMap
metadata: {name: tcp, namespace: edge}
data: {\"5432\": \"shop/web:80\", \"none\": \"shop/web:80\"}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: udp, namespace: edge}
data: {\"53\": \"shop/dns:53\"}
---
apiVersion: ingress.v3.haproxy.org/v3
kind: TCP
metadata: {name: db, namespace: shop}
spec:
  - name: rows
    frontend: {binds: [{port: 5433}], acl_list: [{acl_name: a}]}
    service: {name: web, port: 80}
";

#[test]
fn lists_of_ports_and_custom_resources_are_judged() {
    let place = Place::new();
    place.write("objects.yaml", &(ingress("a", "haproxy", SAME) + PORTS));
    let lists = ["--tcp-services", "edge/tcp", "--udp-services", "edge/udp"];
    let words = [
        "cannot ConfigMap edge/tcp",
        "its key is no port",
        "port 5432 is none that the operator lists in tcpPorts",
        "cannot ConfigMap edge/udp",
        "HAProxy passes on no UDP",
        "cannot TCP shop/db",
        "has acl_list",
        "4 objects: 1 the same",
    ];
    check(&place, &[&["-f", "objects.yaml"], &lists[..]].concat(), 1, &words);
    check(&place, &["-f", "objects.yaml"], 1, &["cannot TCP shop/db", "2 objects"]);
    let nowhere = ["-f", "objects.yaml", "--udp-services", "edge/none"];
    check(&place, &nowhere, 1, &["there is no ConfigMap edge/none"]);
}

#[test]
fn bad_input_is_told_and_what_is_good_is_judged() {
    let place = Place::new();
    place.write("good.yaml", &ingress("a", "haproxy", SAME));
    check(&place, &[], 2, &["--file"]);
    check(&place, &["-f", "nonesuch.yaml"], 1, &["cannot read nonesuch.yaml"]);
    place.write("empty.yaml", "");
    check(&place, &["-f", "empty.yaml"], 1, &["there is no Ingress"]);
    place.write("broken/a.yaml", "kind: [");
    place.write("broken/b.yaml", &ingress("b", "haproxy", SAME));
    check(&place, &["-f", "broken"], 1, &["a.yaml", "1 objects: 1 the same"]);
    place.haptic(&["migrate", "check", "--from", "traefik", "-f", "good.yaml"]).must(2, &["ingress-nginx"]);
    let large = "x".repeat(300_000);
    place.write("large.yaml", &ingress("l", "haproxy", &format!("haproxy.org/allow-list: '{large}'")));
    check(&place, &["-f", "large.yaml"], 1, &["shorter than 64 KiB", "all requests get 503"]);
}

#[test]
fn what_kubectl_prints_is_read() {
    let place = Place::new();
    let items: String = [ingress("a", "haproxy", SAME), ingress("b", "haproxy", CANNOT)]
        .iter()
        .map(|manifest| manifest.replace("---\n", "  - ").replace('\n', "\n    "))
        .map(|manifest| manifest.trim_end().to_owned() + "\n")
        .collect();
    place.write("list.yaml", &format!("apiVersion: v1\nkind: List\nitems:\n{items}"));
    check(&place, &["-f", "list.yaml"], 1, &["cannot Ingress shop/b", "2 objects: 1 the same"]);
}

#[test]
fn many_ingresses_are_judged_in_a_few_seconds() {
    let place = Place::new();
    let mut all = String::new();
    for number in 0..2_000 {
        _ = write!(all, "{}", ingress(&format!("i{number}"), "haproxy", &format!("{SAME}, {DIFFERS}")));
    }
    place.write("all.yaml", &all);
    let begin = std::time::Instant::now();
    check(&place, &["-f", "all.yaml"], 3, &["2000 objects: 0 the same, 2000 served otherwise"]);
    assert!(begin.elapsed().as_secs() < 60, "{:?}", begin.elapsed());
}

#[test]
fn what_cannot_be_read_is_named_as_it_was_given() {
    let place = Place::new();
    place.write("half.yaml", &(ingress("a", "haproxy", SAME) + "---\nkind: [\n"));
    let done = place.haptic(&["migrate", "check", "--from", "haproxy-org", "-f", "half.yaml"]);
    done.must(1, &["half.yaml:"]);
    assert!(!done.err.contains("manifests.yaml"), "{}", done.err);
    let open = || std::fs::File::open(place.path().join("half.yaml")).unwrap();
    let done = place.haptic_with(&["migrate", "check", "--from", "haproxy-org", "-f", "-"], |command| {
        command.stdin(open());
    });
    done.must(1, &["standard input:"]);
}
