//! `haptic migrate convert`: manifests with annotations of ours, and everything else as it was.

use crate::place::{Done, Place};

const MANIFESTS: &str = "\
# What the shop needs.
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata:
  name: a
  namespace: shop
  annotations:
    team: shop
    haproxy.org/timeout-server: 30s # the report
    haproxy.org/backend-config-snippet: http-request deny
spec:
  rules:
    - host: a.example
      http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: web, port: {number: 80}}}}]}
";

fn convert(place: &Place, more: &[&str]) -> Done {
    place.haptic(&[&["migrate", "convert", "--from", "haproxy-org"], more].concat())
}

#[test]
fn annotations_are_converted_and_all_else_stays() {
    let place = Place::new();
    place.write("shop/a.yaml", MANIFESTS);
    let done = convert(&place, &["-f", "shop/a.yaml"]);
    done.must(
        3,
        &[
            "haproxy.org/backend-config-snippet stays",
            "annotations: 1 converted, 1 stay; Ingresses that cannot be edited: 0",
        ],
    );
    let snippet =
        done.out.lines().find(|line| line.starts_with("    # ") && !line.contains("the report")).unwrap();
    let wanted = MANIFESTS
        .replace(
            "haproxy.org/timeout-server: 30s # the report",
            "# the report\n    haproxy-haptic.org/timeout-server: \"30s\"",
        )
        .replace("    haproxy.org/backend", &format!("{snippet}\n    haproxy.org/backend"));
    assert_eq!(done.out, wanted);
    let file = || std::fs::read_to_string(place.path().join("shop/a.yaml")).unwrap();
    assert_eq!(file(), MANIFESTS, "nothing is written without --in-place");
    convert(&place, &["-f", "shop", "--in-place"]).must(3, &["annotations: 1 converted"]);
    assert_eq!(file(), wanted);
    convert(&place, &["-f", "shop", "--in-place"]).must(3, &["annotations: 0 converted, 1 stay"]);
    assert_eq!(file(), wanted);
    place.write("real/a.yaml", MANIFESTS);
    std::os::unix::fs::symlink("real/a.yaml", place.path().join("link.yaml")).unwrap();
    convert(&place, &["-f", "link.yaml", "--in-place"]).must(3, &["annotations: 1 converted"]);
    assert!(place.path().join("link.yaml").is_symlink(), "a link stays one");
    assert_eq!(std::fs::read_to_string(place.path().join("real/a.yaml")).unwrap(), wanted);
    // What is converted is judged as ours.
    let check = ["migrate", "check", "--from", "haproxy-org", "-f", "shop/a.yaml"];
    place.haptic(&check).must(1, &["backend-config-snippet", "1 objects"]);
}

#[test]
fn bad_input_of_a_conversion_is_told_and_nothing_is_written() {
    let place = Place::new();
    place.write("shop/a.yaml", MANIFESTS);
    place.write("shop/b.yaml", "kind: [");
    convert(&place, &["-f", "shop"]).must(2, &["--in-place"]);
    convert(&place, &["-f", "-", "--in-place"]).must(2, &["needs a file or folder"]);
    convert(&place, &["-f", "none.yaml"]).must(1, &["cannot read none.yaml"]);
    convert(&place, &["-f", "shop", "--in-place"]).must(1, &["b.yaml: it is no YAML"]);
    assert_eq!(std::fs::read_to_string(place.path().join("shop/a.yaml")).unwrap(), MANIFESTS);
    place.write(
        "braces.yaml",
        &MANIFESTS.replace(
            "  annotations:\n    team: shop\n",
            "  annotations: {haproxy.org/check: \"true\"}\n  labels:\n",
        ),
    );
    convert(&place, &["-f", "braces.yaml"]).must(1, &["Ingress shop/a stays as it is", "between braces"]);
    convert(&place, &["-f", "shop/a.yaml", "--config-map", "edge/none"])
        .must(1, &["there is no ConfigMap edge/none"]);
}

#[test]
fn ingresses_become_routes_of_a_gateway() {
    let place = Place::new();
    place.write("a.yaml", MANIFESTS);
    let to = ["-f", "a.yaml", "--to", "httproutes"];
    convert(&place, &to).must(2, &["--gateway"]);
    convert(&place, &[&to[..], &["--gateway", "gw"]].concat()).must(2, &["NAMESPACE/NAME"]);
    let done = convert(&place, &[&to[..], &["--gateway", "edge/gw"]].concat());
    // What may keep requests out is not left behind.
    done.must(3, &["not carried: annotation haproxy.org/backend-config-snippet", "Ingress shop/a stays: "]);
    assert!(done.out.contains("\n# What the shop needs.\napiVersion: "), "{}", done.out);
    assert!(done.out.starts_with("# no HTTPRoute: ") && done.out.contains("kind: Ingress"), "{}", done.out);
    let plain: String =
        MANIFESTS.lines().filter(|line| !line.contains("snippet")).map(|line| format!("{line}\n")).collect();
    place.write("a.yaml", &plain);
    convert(&place, &[&to[..], &["--gateway", "edge/gw", "--in-place"]].concat()).must(0, &["HTTPRoutes: 1"]);
    let file = std::fs::read_to_string(place.path().join("a.yaml")).unwrap();
    assert!(file.starts_with("# What the shop needs.\n"), "{file}");
    assert!(file.contains("\nkind: HTTPRoute\n") && !file.contains("kind: Ingress"), "{file}");
}
