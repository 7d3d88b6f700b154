//! Options of paths, Services and the class, beside those of the Ingress.

use crate::{
    around::{Full, service},
    on_each_haproxy, on_each_haproxy_with,
    options::{both, certificate, users},
    site::{SCHEMES, Scheme, Site, refused_with, rendered_alone, sentences},
};
use serde_json::{Value, json};

/// The Ingress of [`both`] with the paths `/on` and `/on/own`, of services 1 and 3.
fn with_paths(options: &[(&str, &str)]) -> Vec<Value> {
    let mut manifests = both(options);
    let paths = manifests[0].pointer_mut("/spec/rules/0/http/paths").and_then(Value::as_array_mut).unwrap();
    let mut own = paths[0].clone();
    own["path"] = json!("/on/own");
    own["backend"]["service"]["name"] = json!("s3");
    paths.push(own);
    manifests.extend([certificate(), users()]);
    manifests
}

fn line(site: &Site, scheme: Scheme, path: &str) -> String {
    site.get(scheme, "a.example", path).request_line().to_owned()
}

#[test]
fn a_path_has_options_of_its_own_beside_those_of_the_ingress() {
    let paths = "/on/own:\n  rewrite-path: /b\n  auth-secret: users\n  request-headers: 'X-Own: path'\n";
    let manifests = with_paths(&[("rewrite-path", "/a"), ("hsts-max-age", "5"), ("paths", paths)]);
    on_each_haproxy(&manifests, |site| {
        for scheme in SCHEMES {
            assert_eq!(line(site, scheme, "/on/x"), "GET /a/x HTTP/1.1");
            assert_eq!(site.get(scheme, "a.example", "/on/own").status, 401);
            let users = "Authorization: Basic YW5uYTpzZWNyZXQ=\r\n";
            let answer = site.ask(scheme, "GET", "a.example", "/on/own/x", users, "");
            assert_eq!((answer.service(), answer.request_line()), (Some(3), "GET /b/x HTTP/1.1"));
            assert_eq!(answer.sent("x-own"), Some("path"));
            let hsts = (scheme == Scheme::Https).then_some("max-age=5");
            assert_eq!(answer.header("strict-transport-security"), hsts);
            assert_eq!(line(site, scheme, "/off"), "GET /off HTTP/1.1");
        }
    });
}

#[test]
fn a_limit_of_an_ingress_is_one_for_all_its_paths_and_that_of_a_path_its_own() {
    let statuses = |site: &Site, paths: &[&str]| -> Vec<u16> {
        paths.iter().map(|path| site.get(Scheme::Http, "a.example", path).status).collect()
    };
    let of_all = [("rate-limit", "2"), ("rate-limit-period", "hour"), ("paths", "/on/own: {retries: 1}")];
    on_each_haproxy(&with_paths(&of_all), |site| {
        assert_eq!(statuses(site, &["/on", "/on/own", "/on", "/on/own"]), [200, 200, 429, 429]);
    });
    let own = [("rate-limit", "2"), ("rate-limit-period", "hour"), ("paths", "/on/own: {rate-limit: 1}")];
    on_each_haproxy(&with_paths(&own), |site| {
        assert_eq!(statuses(site, &["/on/own", "/on/own", "/on", "/on", "/on"]), [200, 429, 200, 200, 429]);
    });
}

/// Leads `/on/own` to a Service `own` with these annotations, whose server reads nothing.
fn with_service(options: &[(&str, &str)], full: &Full, annotations: Value) -> Vec<Value> {
    let mut manifests = with_paths(options);
    *manifests[0].pointer_mut("/spec/rules/0/http/paths/1/backend/service/name").unwrap() = json!("own");
    let mut service = service("own", "IPv4", full.port, &["127.0.0.1"]);
    service[0]["metadata"]["annotations"] = annotations;
    manifests.extend(service);
    manifests
}

#[test]
fn a_service_has_options_for_what_leads_to_it() {
    let full = Full::listener();
    let patient =
        |spec: &mut Value| spec["templatingSettings"]["extraContext"]["timeouts"] = json!({"connect": "10m"});
    let short = json!({"haproxy-haptic.org/timeout-connect": "200ms", "haproxy-haptic.org/retries": "0"});
    on_each_haproxy_with(&with_service(&[], &full, short), patient, |site| {
        assert_eq!(site.get(Scheme::Http, "a.example", "/on/own").status, 503);
        assert_eq!(site.get(Scheme::Http, "a.example", "/on").service(), Some(1));
    });
}

#[test]
fn what_cannot_be_read_of_a_service_is_told_and_closes_its_routes_where_it_guards() {
    let full = Full::listener();
    let wrong = json!({"haproxy-haptic.org/protocol": "gopher", "haproxy-haptic.org/auth-secret": "users"});
    let manifests = with_service(&[], &full, wrong);
    let (_, warnings) = rendered_alone(&manifests).unwrap_or_else(|e| panic!("{}", sentences(&e)));
    let said = sentences(&warnings);
    for part in [
        "Service own: annotation haproxy-haptic.org/protocol is \"gopher\"",
        "haproxy-haptic.org/auth-secret stands at other levels",
    ] {
        assert!(said.contains(part), "{said}");
    }
    on_each_haproxy(&manifests, |site| {
        assert_eq!(site.get(Scheme::Https, "a.example", "/on/own").status, 503);
        assert_eq!(site.get(Scheme::Https, "a.example", "/on").service(), Some(1));
    });
}

#[test]
fn the_class_has_defaults_and_what_nobody_overrides() {
    let class = |spec: &mut Value| {
        spec["templatingSettings"]["extraContext"]["routes"] = json!({
            "defaults": {"hsts-max-age": 7, "cors-allow-origin": "https://class.example"},
            "enforced": {"max-body-size": "1k", "deny-from": "10.0.0.0/8", "response-headers": "X-Class: yes"},
        });
    };
    let own = [("hsts-max-age", "5"), ("max-body-size", "2k"), ("response-headers", "X-Class: no")];
    let mut manifests = both(&own);
    manifests.push(certificate());
    on_each_haproxy_with(&manifests, class, |site| {
        for (path, age) in [("/on", "max-age=5"), ("/off", "max-age=7")] {
            let origin = "Origin: https://class.example\r\n";
            let answer = site.ask(Scheme::Https, "GET", "a.example", path, origin, "");
            assert_eq!(answer.header("strict-transport-security"), Some(age), "{path}");
            assert_eq!(answer.header("x-class"), Some("yes"), "{path}");
            assert_eq!(answer.header("access-control-allow-origin"), Some("https://class.example"), "{path}");
            let post =
                |bytes| site.ask(Scheme::Http, "POST", "a.example", path, "", &"x".repeat(bytes)).status;
            assert_eq!([post(1024), post(1025)], [200, 413], "{path}");
        }
    });
}

#[test]
fn a_password_lets_in_nobody_whom_the_class_keeps_out() {
    let mut manifests = both(&[("satisfy", "any"), ("auth-secret", "users")]);
    manifests.extend([certificate(), users()]);
    let class = |spec: &mut Value| {
        let enforced = json!({"enforced": {"allow-from": "10.0.0.0/8"}});
        spec["templatingSettings"]["extraContext"]["routes"] = enforced;
    };
    // anna:secret
    let password = "Authorization: Basic YW5uYTpzZWNyZXQ=\r\n";
    on_each_haproxy_with(&manifests, class, |site| {
        for scheme in SCHEMES {
            assert_eq!(site.ask(scheme, "GET", "a.example", "/on", password, "").status, 403);
        }
    });
}

#[test]
fn what_the_class_cannot_say_is_refused_with_the_configuration() {
    let class = json!({"defaults": {"retry": "never"}});
    let said = refused_with(|spec| spec["templatingSettings"]["extraContext"]["routes"] = class.clone());
    assert!(
        said.contains("extraContext.routes.defaults.retry is \"never\", it must be idempotent or all"),
        "{said}"
    );
}

#[test]
fn what_is_wrong_with_a_path_refuses_the_ingress() {
    for (paths, expected) in [
        ("/on: {retry: never}", "annotation haproxy-haptic.org/paths: retry of /on is \"never\", it must be"),
        (
            "/on: 5m",
            "annotation haproxy-haptic.org/paths is \"/on: 5m\", it must be YAML from paths to options",
        ),
        ("/on: {rewrite-regex: ^/a}", "rewrite-regex of /on must be given together"),
    ] {
        let said = sentences(&rendered_alone(&both(&[("paths", paths)])).expect_err(paths));
        assert!(said.contains(expected), "{said}");
    }
    let paths = "/nonesuch: {retry: all}\n/on: {client-ca-secret: ca, tiemout-server: 5m}";
    let (_, warnings) =
        rendered_alone(&both(&[("paths", paths)])).unwrap_or_else(|e| panic!("{}", sentences(&e)));
    let said = sentences(&warnings);
    for part in [
        "haproxy-haptic.org/paths has \"/nonesuch\", which is no path of it",
        "client-ca-secret has no effect there: it stands at Ingress",
        "there is no annotation haproxy-haptic.org/tiemout-server (did you mean",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
}
