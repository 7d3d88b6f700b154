//! Names: as long as Kubernetes allows, alike but for what somebody replaces, and words that mean something elsewhere.

use super::super::{
    admission::{LABEL, NAME},
    case::{Around, Ask, Case, Mallory},
};
use crate::{
    certificate::{self, Authority},
    failure::Outcome,
};
use serde_json::{Value, json};

/// A name of exactly `length` characters: parts of at most 63, which differ in the last.
fn long(length: usize, last: &str) -> String {
    let mut name = "n".repeat(length - last.len());
    for dot in (LABEL..name.len()).step_by(LABEL + 1) {
        name.replace_range(dot..=dot, ".");
    }
    if name.ends_with('.') {
        name.replace_range(name.len() - 1.., "n");
    }
    name + last
}

pub fn cases(around: Around) -> Outcome<Vec<Case>> {
    let authority = Authority::new("mallory")?.pem;
    let certificate = |host: &str| certificate::for_host(host);
    let mut cases = Vec::new();
    for length in [NAME, NAME - 1, 200] {
        let name = &long(length, "z");
        let own = Mallory::new(around, &format!("TLS Secret of {length}")).host;
        let made = certificate(&own)?;
        let case = Case::new(around, &format!("TLS Secret of {length}"), |m| {
            m.with_web(vec![m.tls(name, &made.pem, &made.key), m.secured("web", &[&m.host], name)])
        });
        cases.push(if length == NAME { case } else { case.rarely() });
    }
    let (longest, other) = (&long(NAME, "y"), &long(NAME, "z"));
    for (option, key, value) in [
        ("client-ca-secret", "ca.crt", authority.as_str()),
        ("server-ca-secret", "ca.crt", authority.as_str()),
        ("auth-secret", "auth", "anna:$5$saltsalt$0IyaXrmV7.sGNS6tirgqHLqX/G.FBvgkYA.lpPdS5sA\n"),
    ] {
        let name = format!("longest {option}");
        let made = certificate(&Mallory::new(around, &name).host)?;
        cases.push(
            Case::new(around, &name, |m| {
                let mut ingress =
                    m.annotated("web", &[(option, longest.clone()), ("protocol", "https".into())]);
                ingress["spec"]["tls"] = json!([{ "hosts": [m.host], "secretName": "own" }]);
                m.with_web(vec![m.labelled(longest, key, value), m.tls("own", &made.pem, &made.key), ingress])
            })
            .asking(|m| Ask::get(&m.host, "/").with_password()),
        );
    }
    cases.push(Case::new(around, "everything at its longest", |m| {
        let m = Mallory {
            namespace: format!("mallory-{}", "n".repeat(LABEL - 8)),
            host: format!("{}.example", long(NAME - 8, "h")),
            ..m.clone()
        };
        let service = "s".repeat(LABEL);
        [longest, other]
            .into_iter()
            .flat_map(|name| {
                let mut ingress = m.annotated(name, &[("affinity", "cookie".into()), ("balance", "leastconn".into())]);
                ingress["spec"]["rules"][0]["http"]["paths"][0]["backend"] =
                    json!({ "service": { "name": service, "port": { "name": "a-b-c-d-e-f-g-h" } } });
                [ingress]
            })
            .chain([
                json!({"apiVersion": "v1", "kind": "Service", "metadata": {"namespace": m.namespace, "name": service},
                    "spec": {"clusterIP": "None", "ports": [{"name": "a-b-c-d-e-f-g-h", "port": 80}]}}),
                m.slice(longest, &service, &[around.server.to_string()], 8080),
            ])
            .collect()
    }));
    cases.push(alike(around)?);
    cases.push(Case::new(around, "namespaces that join", |m| {
        let of = |namespace: String| Mallory { namespace, ..m.clone() };
        let (short, long) = (of(m.namespace.clone()), of(format!("{}-web", m.namespace)));
        let mut objects = Vec::new();
        for (tenant, service, number) in
            [(&short, "web-a", 0), (&long, "a", 1), (&short, "web-a-80", 2), (&long, "a-80", 3)]
        {
            let mut ingress = tenant.ingress_of(service, &[&format!("j{number}.{}", m.host)], &["/"]);
            ingress["spec"]["rules"][0]["http"]["paths"][0]["backend"]["service"]["name"] = service.into();
            objects.extend([ingress, tenant.service(service)]);
            objects.push(tenant.slice(service, service, &[around.server.to_string()], 8080));
        }
        objects
    }));
    cases.push(Case::new(around, "names that are words elsewhere", |m| {
        let words = [
            "0",
            "1e3",
            "true",
            "null",
            "default",
            "defaults",
            "global",
            "haproxy",
            "health",
            "http",
            "https",
            "roundrobin",
            "rate-second",
            "rate",
            "status-404",
            "stats",
            "if",
            "from",
            "default.pem",
            "x.pem.key",
            "x.pem.rsa",
            "x.pem.ocsp",
            "x.pem.issuer",
            "x.map",
            "certificates.txt",
            "crt-list",
        ];
        let secrets = words.iter().map(|word| m.labelled(word, "auth", "anna:x"));
        let ingresses = words.iter().map(|word| {
            let mut ingress = m.annotated(word, &[("auth-secret", (*word).to_owned())]);
            ingress["spec"]["rules"][0]["host"] = format!("{word}.{}", m.host).into();
            ingress
        });
        m.with_web(secrets.chain(ingresses).collect())
    }));
    Ok(cases)
}

/// Two of each kind that are one where dots, dashes and capitals are replaced or a name is cut off.
fn alike(around: Around) -> Outcome<Case> {
    let name = "names that are nearly the same";
    let m = Mallory::new(around, name);
    let pairs = [("a.b", "a-b"), ("a.b.c", "a-b.c"), ("x--y", "x-y")];
    let long = (long(NAME, "y"), long(NAME, "z"));
    let pairs = pairs.into_iter().chain([(long.0.as_str(), long.1.as_str())]);
    let mut objects = Vec::new();
    for (number, name) in pairs.flat_map(|(one, other)| [one, other]).enumerate() {
        let host = format!("n{number}.{}", m.host);
        let made = certificate::for_host(&host)?;
        let mut ingress = m.secured(name, &[&host], name);
        ingress["spec"]["rules"][0]["host"] = host.clone().into();
        ingress["metadata"]["annotations"] =
            json!({ "haproxy-haptic.org/client-ca-secret": format!("{}c", &name[..name.len() - 1]) });
        objects.extend([ingress, m.tls(name, &made.pem, &made.key)]);
        objects.push(m.labelled(&format!("{}c", &name[..name.len() - 1]), "ca.crt", &made.pem));
    }
    let mut seen = std::collections::HashSet::new();
    objects.retain(|object: &Value| {
        seen.insert((object["kind"].to_string(), object["metadata"]["name"].to_string()))
    });
    Ok(Case::new(around, name, |m| m.with_web(objects)))
}
