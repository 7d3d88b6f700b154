//! A configuration that only names the built-in libraries is whole, and the libraries' own tests pass in it.

use crate::place::Place;
use serde_json::Value;

#[test]
fn every_test_of_every_library_passes() {
    let config = concat!(env!("CARGO_MANIFEST_DIR"), "/../fixtures/ingress/config.yaml");
    let done = Place::new().haptic(&["validate", "--output", "json", "-f", config]);
    let said: Value = serde_json::from_str(&done.out).unwrap();
    assert_eq!(done.code, Some(0), "{said:#}");
    assert_eq!(said["failed"], 0, "{said:#}");
    assert!(said["total"].as_u64().is_some_and(|total| total >= 16), "{said:#}");
}

/// A configuration with these settings.
fn with(settings: &str, more: &str) -> String {
    format!(
        "apiVersion: haproxy-haptic.org/v1alpha1\nkind: HAProxyTemplateConfig\nmetadata: {{name: x}}\nspec:\n  \
         libraries: [base, ssl, ingress]\n  credentialsSecretRef: {{name: c}}\n  podSelector: {{matchLabels: {{a: b}}}}\n  \
         templatingSettings: {{extraContext: {{{settings}}}}}\n{more}"
    )
}

#[test]
fn tests_of_the_libraries_say_what_they_rely_on_whatever_the_settings_are() {
    let place = Place::new();
    let unusual = "httpPort: 80, httpsPort: 443, healthPort: 9000, httpsPublicPort: 8443, sslRedirect: false, \
        sslRedirectCode: 301, defaultCertificate: none, trustedProxies: [10.0.0.0/8, 192.0.2.0/24], paths: raw, \
        accessLog: json, proxyProtocol: true, requestIdHeader: X-Id, bindAddresses: [127.0.0.1, '::1'], maxConnections: 10, \
        balanceAlgorithms: [roundrobin]";
    place.write("config.yaml", &with(unusual, ""));
    place.haptic(&["validate", "-f", "config.yaml"]).must(0, &[" passed, 0 failed"]);
    // Annotations of other controllers count for all Ingresses, and gateway listens at hundreds of ports.
    let answering_otherwise = "routes: {defaults: {allow-from: 192.0.2.0/24, ssl-redirect: always}}, \
        forwardedHeaders: [port, scheme, forwarded], passwordLimits: {users: 1, milliseconds: 1}";
    let all = "base, ssl, ingress, gateway, annotations-ingress-nginx, annotations-haproxy-org, annotations-haproxy-ingress";
    place.write("config.yaml", &with(answering_otherwise, "").replace("base, ssl, ingress", all));
    place.haptic(&["validate", "-f", "config.yaml"]).must(0, &[" passed, 0 failed"]);
    // A line of the user's own may answer otherwise, and is no fault of a library.
    let closed = "  templateSnippets: {frontend-05-closed: {template: \"http-request deny\\n\"}}\n";
    place.write("config.yaml", &with("", closed));
    let told =
        "are not sent, because the configuration has lines of its own: templateSnippets.frontend-05-closed";
    place.haptic(&["validate", "-f", "config.yaml"]).must(0, &[" passed, 0 failed", told]);
}

#[test]
fn settings_of_the_libraries_are_checked() {
    let place = Place::new();
    let validated = |settings: &str, more: &str| {
        place.write("config.yaml", &with(settings, more));
        place.haptic(&["validate", "-f", "config.yaml", "--test", "base-paths-raw"])
    };
    for (settings, expected) in [
        ("accessLog: clf", r#"extraContext.accessLog is "clf", it must be json, http or none"#),
        ("defaultCertificate: none2", r#"extraContext.defaultCertificate is "none2", it must be "#),
        ("defaultCertificate: {name: a}", "extraContext.defaultCertificate is {"),
        ("httpsPublicPort: https", r#"extraContext.httpsPublicPort is "https", it must be a port"#),
        ("httpsPublicPort: 70000", "extraContext.httpsPublicPort is 70000, it must be a port"),
        ("httpPublicPort: 65536", "extraContext.httpPublicPort is 65536, it must be a port"),
        ("httpPort: 0", "extraContext.httpPort is 0, it must be a port"),
        (
            "balanceAlgorithms: [leastconn]",
            r#"extraContext.balanceAlgorithms is ["leastconn"], it must be a list with roundrobin"#,
        ),
        ("sslRedirectCode: 200", "extraContext.sslRedirectCode is 200, it must be 301"),
        ("sslMinVersion: 1.3", "extraContext.sslMinVersion is 1.3, it must be TLSv1.2 or TLSv1.3"),
        ("sslRedirect: 'yes'", r#"extraContext.sslRedirect is "yes", it must be true or false"#),
        (
            "trustedProxies: [10.0.0.0/33]",
            r#"extraContext.trustedProxies is ["10.0.0.0/33"], it must be networks"#,
        ),
        (
            "trustedProxies: 10.0.0.0/8",
            r#"extraContext.trustedProxies is "10.0.0.0/8", it must be a list of networks"#,
        ),
        ("timeouts: 5s", r#"extraContext.timeouts is "5s", it must be times by name"#),
        ("bindAddresses: []", "extraContext.bindAddresses is [], it must be a list of addresses"),
        ("requestIdHeader: X Y", r#"extraContext.requestIdHeader is "X Y", it must be a name of a header"#),
        ("affinityCookie: a;b", r#"extraContext.affinityCookie is "a;b", it must be a name of a cookie"#),
        ("routes: {enforce: {}}", r#"extraContext.routes has no "enforce" (did you mean "enforced"?)"#),
        ("passwordLimits: 5", "extraContext.passwordLimits is 5, it must be a dict"),
        (
            "timeouts: {server: 2 minutes}",
            r#"extraContext.timeouts.server is "2 minutes", it must be a time"#,
        ),
    ] {
        validated(settings, "").must_complain(settings, 1, &[expected]);
    }
    let good =
        "accessLog: none, defaultCertificate: {namespace: a, name: b}, trustedProxies: [10.0.0.0/8, '::1']";
    validated(good, "").must_complain(good, 0, &[]);
    let unread = "nothing reads extraContext.timeout; did you mean timeouts?";
    validated("timeout: {server: 2m}", "").must_complain("a setting that nothing reads", 0, &[unread]);
    let page = "  files: {503.http: {template: \"HTTP/1.0 503 Service Unavailable\\r\\n\\r\\nx\"}}\n";
    let untested = "1 test of the library base is not run, because the configuration replaces files.503.http";
    validated("", page).must(0, &[untested]);
}
