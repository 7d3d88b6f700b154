//! Claims: what belongs to alpha, asked for by a tenant that came later.

use super::super::{
    case::{Around, Ask, Case, Mallory, backend},
    innocents::LISTED,
};
use crate::{
    certificate::{self, Authority},
    failure::Outcome,
};
use serde_json::{Value, json};

/// Hosts of alpha and beta, in every role. Hosts below a wildcard of alpha are free for whoever has a route on them, and so are
/// paths that alpha has no rule for (docs/concepts.md, "What belongs to whom").
const HOSTS: [&str; 7] = [
    "alpha.example",
    "secure.alpha.example",
    "moving.alpha.example",
    "beta.example",
    "*.alpha.example",
    "*.example",
    "*.beta.example",
];

pub fn cases(around: Around) -> Outcome<Vec<Case>> {
    let made = certificate::for_host("alpha.example")?;
    let wild = certificate::for_host("*.example")?;
    let authority = Authority::new("mallory")?;
    let own = |m: &Mallory| vec![m.tls("own", &made.pem, &made.key), m.tls("wild", &wild.pem, &wild.key)];
    let case = |name: &str, objects: &dyn Fn(&Mallory) -> Vec<Value>| {
        Case::new(around, name, |m| {
            let mut all = objects(m);
            all.extend(own(m));
            m.with_web(all)
        })
    };
    let mut cases = vec![
        case("alpha's hosts under TLS", &|m| vec![m.secured("web", &HOSTS, "own")]),
        case("alpha's hosts under TLS with a certificate for any", &|m| {
            vec![m.secured("web", &HOSTS, "wild")]
        }),
        case("alpha's hosts under TLS without a Secret", &|m| vec![m.secured("web", &HOSTS, "nosuch")]),
        case("alpha's hosts under TLS, one Ingress each", &|m| {
            HOSTS.iter().enumerate().map(|(n, host)| m.secured(&format!("i{n}"), &[host], "own")).collect()
        }),
        case("alpha's hosts and paths", &|m| vec![m.ingress_of("web", &HOSTS, &["/", "/private", "/login"])]),
        case("alpha's hosts by a wildcard and by nobody's name", &|m| {
            let mut any = m.ingress("any");
            any["spec"]["rules"] = json!([
                { "host": "*.example", "http": { "paths": [{ "path": "/", "pathType": "Prefix", "backend": backend("web") }] } },
                { "http": { "paths": [{ "path": "/", "pathType": "Prefix", "backend": backend("web") }] } },
            ]);
            any["spec"]["defaultBackend"] = backend("web");
            vec![any]
        }),
        case("alpha's hosts redirected", &|m| {
            let mut ingress = m.ingress_of("web", &HOSTS, &["/", "/login"]);
            ingress["metadata"]["annotations"] = json!({ "haproxy-haptic.org/redirect-to": "https://mallory.example/", "haproxy-haptic.org/redirect-code": "308" });
            vec![ingress]
        }),
        case("alpha's hosts redirected to HTTPS", &|m| {
            let mut ingress = m.secured("web", &HOSTS, "own");
            ingress["metadata"]["annotations"] = json!({ "haproxy-haptic.org/ssl-redirect": "true" });
            vec![ingress]
        }),
        case("alpha's hosts with strange options", &|m| {
            let mut ingress = m.ingress_of("web", &HOSTS, &["/"]);
            ingress["metadata"]["annotations"] = json!({
                "haproxy-haptic.org/deny-from": "0.0.0.0/0,::/0",
                "haproxy-haptic.org/rate-limit": "1",
                "haproxy-haptic.org/rate-limit-period": "hour",
                "haproxy-haptic.org/hsts-max-age": "9999999999",
                "haproxy-haptic.org/min-tls-version": "TLSv1.3",
                "haproxy-haptic.org/max-body-size": "1",
                "haproxy-haptic.org/cors-allow-origin": "*",
            });
            vec![ingress]
        }),
    ];
    cases.push(case("a listed host, by an older object", &|m| {
        let any = format!("*.{LISTED}");
        let mut ingress = m.ingress_of("web", &[LISTED, &any], &["/", "/x"]);
        ingress["metadata"]["creationTimestamp"] = json!("2020-01-01T00:00:00Z");
        ingress["spec"]["rules"][0]["http"]["paths"][0]["pathType"] = "Exact".into();
        ingress["spec"]["tls"] = json!([{ "hosts": [LISTED, any], "secretName": "own" }]);
        vec![ingress]
    }));
    for (name, hosts) in [
        ("all of alpha's hosts", &HOSTS[..]),
        ("the protected host", &HOSTS[1..2]),
        ("a wildcard", &HOSTS[4..5]),
    ] {
        for option in ["client-ca-secret", "auth-secret"] {
            cases.push(case(&format!("{option} of mallory for {name}"), &|m| {
                let mut ingress = m.annotated("web", &[(option, "ca".into())]);
                ingress["spec"]["tls"] = json!([{ "hosts": hosts, "secretName": "own" }]);
                vec![
                    ingress,
                    m.labelled("ca", "ca.crt", &authority.pem),
                    m.labelled("auth", "auth", "anna:x"),
                ]
            }));
        }
    }
    cases.push(case("5,000 paths of alpha's host", &|m| {
        let paths: Vec<String> = (0..5_000).map(|n| format!("/mallory/{n}")).collect();
        vec![m.ingress_of("web", &["alpha.example"], &paths.iter().map(String::as_str).collect::<Vec<_>>())]
    }));
    cases.push(case("a thousand Ingresses for alpha's host", &|m| {
        (0..1_000).map(|n| m.ingress_of(&format!("i{n}"), &["alpha.example"], &["/"])).collect()
    }));
    cases.push(case("a thousand TLS claims on alpha's host", &|m| {
        (0..1_000).map(|n| m.secured(&format!("i{n}"), &["alpha.example"], "own")).collect()
    }));
    cases.push(
        case("hosts that are read as alpha's", &|m| {
            // Not as an API server takes them alone: what a prefix or a pattern makes of them.
            let hosts = [
                "alpha.example.mallory.example",
                "lpha.example",
                "x-alpha.example",
                "example",
                "*.alpha.example.mallory.example",
            ];
            vec![m.secured("web", &hosts, "wild"), m.ingress_of("routes", &hosts, &["/", "/private"])]
        })
        .asking(|_| Ask::get("alpha.example:1", "/private"))
        .asking(|_| Ask::get("ALPHA.example.", "/private")),
    );
    Ok(cases)
}
