//! What a class names for all of its Ingresses: pages, a Service for what they cannot serve, a certificate.

use crate::{
    SERIES,
    class_settings::watching,
    client, on_each_haproxy_with,
    options::annotations,
    site::{SCHEMES, Scheme, Site, refused_with, rendered_alone, rendered_for_with, sentences},
};
use base64::{Engine, engine::general_purpose::STANDARD as BASE64};
use integration_tests::certificate;
use serde_json::{Value, json};

const OF_TEAM: &str = "team.example";
const OF_OTHERS: &str = "others.example";

/// An Ingress with the path `/here`, in a namespace of its own, whose Service is not there.
fn ingress(namespace: &str, class: &str, host: &str, options: &[(&str, &str)]) -> Value {
    json!({"kind": "Ingress", "metadata": {"namespace": namespace, "name": namespace, "annotations": annotations(options)},
        "spec": {"ingressClassName": class, "tls": [{"hosts": [host]}], "rules": [{"host": host, "http": {"paths": [
            {"path": "/here", "pathType": "Prefix", "backend": {"service": {"name": "nobody", "port": {"number": 80}}}}]}}]}})
}

/// One Ingress of the class `team`, which says that, and one of the default class.
fn of_class(data: &Value, options: &[(&str, &str)]) -> Vec<Value> {
    vec![
        ingress("a-team", "team", OF_TEAM, options),
        ingress("others", "haptic", OF_OTHERS, &[]),
        json!({"kind": "IngressClass", "metadata": {"name": "team"}, "spec": {
            "controller": "haproxy-haptic.org/ingress-controller",
            "parameters": {"kind": "ConfigMap", "scope": "Namespace", "namespace": "edge", "name": "team"},
        }}),
        json!({"kind": "ConfigMap", "metadata": {"namespace": "edge", "name": "team"}, "data": data}),
    ]
}

/// The same where the configuration says something of all.
fn watching_with(defaults: Value) -> impl Fn(&mut Value) {
    move |spec: &mut Value| {
        watching(spec);
        spec["templatingSettings"]["extraContext"]["routes"] = json!({ "defaults": defaults });
    }
}

fn pages(namespace: &str, name: &str, data: &Value) -> Value {
    json!({"kind": "ConfigMap", "data": data,
        "metadata": {"namespace": namespace, "name": name, "labels": {"haproxy-haptic.org/use": "pages"}}})
}

fn seen(site: &Site, scheme: Scheme, host: &str, path: &str) -> (u16, String) {
    let answer = site.get(scheme, host, path);
    (answer.status, answer.body.trim_end().to_owned())
}

#[test]
fn routes_of_a_class_have_its_pages_and_nearer_ones_before_them() {
    let of_team = pages("edge", "pages", &json!({"503": "of the team"}));
    for (options, page) in [(&[][..], "of the team"), (&[("error-pages", "own")][..], "of its own")] {
        let mut manifests = of_class(&json!({"defaults": "error-pages: edge/pages"}), options);
        manifests.extend([of_team.clone(), pages("a-team", "own", &json!({"503": "of its own"}))]);
        on_each_haproxy_with(&manifests, watching, |site| {
            for scheme in SCHEMES {
                assert_eq!(seen(site, scheme, OF_TEAM, "/here"), (503, page.to_owned()));
                let (status, of_others) = seen(site, scheme, OF_OTHERS, "/here");
                assert!(status == 503 && of_others.contains("no ready endpoint"), "{of_others}");
            }
        });
    }
}

#[test]
fn pages_of_a_class_come_before_those_of_all() {
    let mut manifests = of_class(&json!({"defaults": "error-pages: edge/pages"}), &[]);
    manifests.push(pages("edge", "pages", &json!({"503": "of the team"})));
    manifests.push(pages("edge", "all", &json!({"503": "of all"})));
    let change = |spec: &mut Value| {
        watching(spec);
        spec["templatingSettings"]["extraContext"]["errorPages"] =
            json!({"namespace": "edge", "name": "all"});
    };
    on_each_haproxy_with(&manifests, change, |site| {
        assert_eq!(seen(site, Scheme::Http, OF_TEAM, "/here"), (503, "of the team".to_owned()));
        assert_eq!(seen(site, Scheme::Http, OF_OTHERS, "/here"), (503, "of all".to_owned()));
    });
}

#[test]
fn what_is_enforced_is_everybodys_and_pages_of_servers_answers_are_shown_where_the_class_says_so() {
    let data = json!({"enforced": "error-pages: edge/pages\nerror-pages-replace: all"});
    let mut manifests = of_class(&data, &[("error-pages", "own")]);
    manifests.extend([
        pages("edge", "pages", &json!({"503": "of the team", "418": "tea"})),
        pages("a-team", "own", &json!({"503": "of its own"})),
    ]);
    let mut served = ingress("shop", "team", "shop.example", &[("error-pages-replace", "own")]);
    served["spec"]["rules"][0]["http"]["paths"][0]["backend"]["service"]["name"] = json!("s1");
    manifests.push(served);
    on_each_haproxy_with(&manifests, watching, |site| {
        assert_eq!(seen(site, Scheme::Http, OF_TEAM, "/here"), (503, "of the team".to_owned()));
        assert_eq!(seen(site, Scheme::Http, "shop.example", "/here/first-418/x"), (418, "tea".to_owned()));
        assert_eq!(site.get(Scheme::Http, "shop.example", "/here").service(), Some(1));
    });
}

#[test]
fn backends_with_the_pages_of_a_class_hold_nothing_but_servers() {
    let mut manifests = of_class(&json!({"defaults": "error-pages: edge/pages"}), &[]);
    manifests.push(pages("edge", "pages", &json!({"503": "of the team"})));
    let (bundle, _) = rendered_for_with(SERIES[2], &manifests, watching).unwrap();
    let config = bundle.config.text.to_string();
    let (_, backend) = config.split_once("backend a-team_a-team_nobody_80_pages-").expect("its backend");
    let lines: Vec<&str> = backend.lines().take_while(|line| !line.trim().is_empty()).collect();
    assert_eq!(lines.len(), 1, "{lines:?}");
}

#[test]
fn the_service_of_a_class_gets_what_its_routes_cannot_serve_and_what_no_route_takes() {
    let manifests = of_class(&json!({"defaults": "default-service: shop/s3:80"}), &[]);
    on_each_haproxy_with(&manifests, watching, |site| {
        for scheme in SCHEMES {
            for path in ["/here", "/else"] {
                assert_eq!(site.get(scheme, OF_TEAM, path).service(), Some(3), "{path}");
            }
            assert_eq!(site.get(scheme, OF_OTHERS, "/here").status, 503);
            assert_eq!(site.get(scheme, OF_OTHERS, "/else").status, 404);
            assert_eq!(site.get(scheme, "strange.example", "/").status, 404);
        }
    });
    // What an Ingress without rules takes is left of everything.
    let mut rest = ingress("shop", "haptic", "x.example", &[]);
    rest["spec"] = json!({"defaultBackend": {"service": {"name": "s1", "port": {"number": 80}}}});
    let mut with_rest = manifests;
    with_rest.push(rest);
    on_each_haproxy_with(&with_rest, watching, |site| {
        let got = [OF_TEAM, OF_OTHERS, "strange.example"].map(|host| site.get(Scheme::Http, host, "/else"));
        assert_eq!(got.map(|answer| answer.service()), [Some(1); 3]);
    });
}

#[test]
fn the_service_of_the_configuration_gets_all_that_nobody_takes() {
    let manifests =
        of_class(&json!({"defaults": "default-service: shop/s3:80"}), &[("default-service", "own:80")]);
    let mut of_own = manifests.clone();
    of_own.extend(json!([
        {"kind": "Service", "metadata": {"namespace": "a-team", "name": "own"}, "spec": {"ports": [{"port": 80}]}},
    ]).as_array().unwrap().clone());
    on_each_haproxy_with(&of_own, watching_with(json!({"default-service": "shop/s4:80"})), |site| {
        let got = |host: &str, path: &str| {
            let answer = site.get(Scheme::Http, host, path);
            (answer.status, answer.service())
        };
        // Its own Service has no server, either.
        assert_eq!(got(OF_TEAM, "/here"), (503, None));
        assert_eq!(got(OF_TEAM, "/else"), (200, Some(3)));
        assert_eq!(got(OF_OTHERS, "/here"), (200, Some(4)));
        assert_eq!(got(OF_OTHERS, "/else"), (200, Some(4)));
        assert_eq!(got("strange.example", "/"), (200, Some(4)));
    });
    let no_server = watching_with(json!({"default-service": "shop/nobody:80"}));
    on_each_haproxy_with(&manifests, no_server, |site| {
        assert_eq!(site.get(Scheme::Http, "strange.example", "/").status, 404);
    });
}

/// The certificate that is shown for a host.
fn shown(site: &Site, host: &str) -> Vec<u8> {
    let head = format!("GET / HTTP/1.1\r\nHost: {host}\r\n");
    client::converse(&site.way(Scheme::Https, host), &head, "").unwrap().1.unwrap()
}

fn tls_secret(namespace: &str, name: &str, host: &str) -> (Value, String) {
    let made = certificate::for_host(host).unwrap();
    let secret = json!({"kind": "Secret", "metadata": {"namespace": namespace, "name": name},
        "data": {"tls.crt": BASE64.encode(&made.pem), "tls.key": BASE64.encode(&made.key)}});
    (secret, made.pem)
}

fn der(pem: &str) -> Vec<u8> {
    let lines: String = pem.lines().filter(|line| !line.starts_with('-')).collect();
    BASE64.decode(lines).unwrap()
}

#[test]
fn hosts_of_a_class_that_bring_no_certificate_have_its_own() {
    let (secret, of_class_pem) = tls_secret("edge", "team-tls", OF_TEAM);
    let (own, own_pem) = tls_secret("own", "tls", "own.example");
    let mut manifests = of_class(&json!({"defaults": "default-certificate: edge/team-tls"}), &[]);
    manifests.extend([secret, own]);
    let mut with_own = ingress("own", "team", "own.example", &[]);
    with_own["spec"]["tls"][0]["secretName"] = json!("tls");
    let mut without_tls = ingress("plain", "team", "plain.example", &[]);
    without_tls["spec"].as_object_mut().unwrap().remove("tls");
    manifests.extend([with_own, without_tls]);
    on_each_haproxy_with(&manifests, watching, |site| {
        assert_eq!(shown(site, OF_TEAM), der(&of_class_pem));
        assert_eq!(shown(site, "own.example"), der(&own_pem));
        let default = shown(site, "strange.example");
        assert!(![der(&of_class_pem), der(&own_pem)].contains(&default));
        for host in [OF_OTHERS, "plain.example"] {
            assert_eq!(shown(site, host), default, "{host}");
        }
    });
}

#[test]
fn who_has_no_word_for_the_class_cannot_name_what_it_names() {
    for (option, value, wanted) in [
        ("error-pages", "edge/pages", "the name of a ConfigMap in the same namespace"),
        ("default-service", "shop/s3:80", "NAME:PORT of a Service in the same namespace"),
    ] {
        let manifests = [ingress("a-team", "haptic", OF_TEAM, &[(option, value)])];
        let said = sentences(&rendered_alone(&manifests).expect_err("a name with a namespace"));
        assert!(said.contains(wanted), "{said}");
    }
    let defaults = |name: &'static str, value: &'static str| {
        refused_with(|spec| {
            spec["templatingSettings"]["extraContext"]["routes"] = json!({"defaults": {name: value}})
        })
    };
    for (option, value, wanted) in [
        ("error-pages", "pages", "NAMESPACE/NAME of a ConfigMap"),
        ("default-service", "s3:80", "NAMESPACE/NAME:PORT of a Service"),
        ("default-certificate", "edge/a/b", "NAMESPACE/NAME of a Secret"),
    ] {
        let said = defaults(option, value);
        assert!(said.contains(&format!("defaults.{option} is {value:?}, it must be {wanted}")), "{said}");
    }
    let nowhere = json!({"defaults":
        "error-pages: edge/none\ndefault-service: edge/none:80\ndefault-certificate: edge/none"});
    let (_, warnings) = rendered_for_with(SERIES[2], &of_class(&nowhere, &[]), watching).unwrap();
    let said = sentences(&warnings);
    for kind in ["ConfigMap", "Service", "TLS Secret"] {
        assert!(said.contains(&format!("there is no {kind} edge/none")), "{said}");
    }
}
