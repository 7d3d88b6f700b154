//! TLS towards servers, and certificates of clients.

use super::{
    GatewaySite, around, around_gateway, gateway, listener, object, on_each, route, secret, secret_of,
};
use crate::{
    SERIES,
    around::Around,
    client::{Way, ask, converse},
};
use integration_tests::{
    certificate::{self, Authority, Certificate},
    http::{client_config, client_config_of},
};
use rustls::ClientConfig;
use serde_json::{Value, json};
use std::sync::Arc;

const HOST: &str = "a.example";

fn authority(namespace: &str, name: &str, pem: &str) -> Value {
    json!({"kind": "ConfigMap", "metadata": {"namespace": namespace, "name": name}, "data": {"ca.crt": pem}})
}

fn policy(name: &str, service: &str, ca: &str, hostname: &str) -> Value {
    let validation =
        json!({"caCertificateRefs": [{"group": "", "kind": "ConfigMap", "name": ca}], "hostname": hostname});
    let targets = json!([{"group": "", "kind": "Service", "name": service}]);
    object("BackendTLSPolicy", "shop", name, json!({"targetRefs": targets, "validation": validation}))
}

fn to_service(path: &str, service: &str) -> Value {
    json!({"matches": [{"path": {"type": "PathPrefix", "value": path}}], "backendRefs": [{"name": service, "port": 80}]})
}

#[test]
fn servers_are_asked_over_tls_where_a_policy_says_so_and_only_those_it_trusts() {
    let (own, stranger) = (Authority::new("servers").unwrap(), Authority::new("stranger").unwrap());
    let servers = Around::servers(&own, "servers.example");
    for (ca, hostname, status) in
        [("own", "servers.example", 200), ("own", "other.example", 503), ("stranger", "servers.example", 503)]
    {
        let mut all = around_gateway();
        all.extend(servers.services());
        all.extend([authority("shop", "own", &own.pem), authority("shop", "stranger", &stranger.pem)]);
        all.extend([policy("one", "h1-tls", ca, hostname), policy("broken", "h2-tls", "missing", hostname)]);
        all.push(route("r", &[], json!([to_service("/one", "h1-tls"), to_service("/broken", "h2-tls")])));
        on_each(&all, |site| {
            let one = site.get(HOST, "/one");
            assert_eq!(one.status, status, "{ca} {hostname}");
            if status == 200 {
                assert!(one.body.starts_with("h1-tls HTTP/1.1 servers.example /one"), "{}", one.body);
            }
            assert_eq!(site.get(HOST, "/broken").status, 500, "nothing is sent in clear");
        });
    }
}

#[test]
fn servers_are_shown_the_certificate_of_the_gateway() {
    let (own, clients) = (Authority::new("servers").unwrap(), Authority::new("servers").unwrap());
    let servers = Around::asking(&own, "servers.example");
    let shown = own.sign_client("the-gateway", &[]).unwrap();
    let strange = clients.sign_client("the-gateway", &[]).unwrap();
    let mut all = around();
    for (number, (name, secret)) in [("gw", "right"), ("wrong", "strange")].into_iter().enumerate() {
        let mut listener = listener("http", None);
        listener["port"] = json!(80 + number);
        let mut gateway = gateway(name, json!([listener]));
        gateway["spec"]["tls"] = json!({"backend": {"clientCertificateRef": {"name": secret}}});
        all.push(gateway);
    }
    all.extend([secret_of("edge", "right", &shown), secret_of("edge", "strange", &strange)]);
    all.push(authority("shop", "own", &own.pem));
    all.extend(servers.services());
    all.push(policy("one", "mtls", "own", "servers.example"));
    let mut route = route("r", &[], json!([to_service("/", "mtls")]));
    let parents = ["gw", "wrong"].map(|name| json!({"name": name, "namespace": "edge"}));
    route["spec"]["parentRefs"] = json!(parents);
    all.push(route);
    on_each(&all, |site| {
        let right = site.get(HOST, "/");
        assert!(right.status == 200 && right.body.starts_with("mtls the-gateway"), "{right:?}");
        assert!(site.ask(81, None, "GET", HOST, "/", "").status >= 500);
    });
}

/// The status of a request over TLS by that client; none where there is no connection.
fn status(site: &GatewaySite, port: u16, client: &Arc<ClientConfig>) -> Option<u16> {
    let way = Way { tls: Some((HOST, client.clone())), ..Way::to(site.address(port), Some(HOST)) };
    ask(&way, &format!("GET / HTTP/1.1\r\nHost: {HOST}\r\n"), "").ok().map(|answer| answer.status)
}

#[test]
fn clients_show_the_certificate_that_the_port_asks_for() {
    let (default, of_port) = (Authority::new("default").unwrap(), Authority::new("port").unwrap());
    let https = |port: u16| {
        let mut listener = listener(&format!("https-{port}"), None);
        (listener["port"], listener["protocol"]) = (port.into(), "HTTPS".into());
        listener["tls"] = json!({"certificateRefs": [{"name": "cert"}]});
        listener
    };
    let by = |name: &str, mode: &str| json!({"validation": {"mode": mode, "caCertificateRefs": [{"group": "", "kind": "ConfigMap", "name": name}]}});
    let mut all = around();
    let mut gateway =
        gateway("gw", json!([listener("http", None), https(443), https(444), https(445), https(446)]));
    gateway["spec"]["tls"] = json!({"frontend": {"default": by("default", "AllowValidOnly"), "perPort": [
        {"port": 444, "tls": by("port", "AllowValidOnly")}, {"port": 445, "tls": by("port", "AllowInsecureFallback")},
        {"port": 446, "tls": {}}]}});
    all.push(gateway);
    all.extend([
        secret("edge", "cert", HOST),
        authority("edge", "default", &default.pem),
        authority("edge", "port", &of_port.pem),
    ]);
    all.push(route("r", &[], json!([{"backendRefs": [{"name": "s1", "port": 80}]}])));
    let by = |authority: &Authority| {
        Arc::new(client_config_of(&authority.sign_client("anna", &[]).unwrap()).unwrap())
    };
    let (of_default, of_port, nobody) = (by(&default), by(&of_port), Arc::new(client_config().unwrap()));
    on_each(&all, |site| {
        assert_eq!(site.get(HOST, "/").status, 200, "a port without TLS asks for none");
        // First where no certificate is asked for, so that there are sessions to be resumed.
        for (port, client, expected) in [
            (446, &nobody, Some(200)),
            (443, &nobody, None),
            (443, &of_port, None),
            (443, &of_default, Some(200)),
            (444, &of_default, None),
            (444, &of_port, Some(200)),
            (444, &nobody, None),
            (445, &nobody, Some(200)),
            (445, &of_default, Some(200)),
            (445, &of_port, Some(200)),
        ] {
            assert_eq!(status(site, port, client), expected, "{port}");
        }
    });
}

/// A Secret of no type in particular, which is read by its label.
fn labelled(name: &str, made: &Certificate) -> Value {
    let mut secret = secret_of("edge", name, made);
    secret["type"] = "Opaque".into();
    secret["metadata"]["labels"] = json!({"haproxy-haptic.org/use": "certificate"});
    secret
}

/// A listener of HTTPS at port 443 for all hosts, with the certificate of Secret `cert`.
fn https() -> Value {
    let mut listener = listener("https", None);
    (listener["port"], listener["protocol"]) = (443.into(), "HTTPS".into());
    listener["tls"] = json!({"certificateRefs": [{"name": "cert"}]});
    listener
}

#[test]
fn a_labelled_secret_of_any_type_has_a_certificate() {
    let own = Authority::new("servers").unwrap();
    let servers = Around::asking(&own, "servers.example");
    let (served, towards) =
        (certificate::for_host(HOST).unwrap(), own.sign_client("the-gateway", &[]).unwrap());
    let mut gateway = gateway("gw", json!([https()]));
    gateway["spec"]["tls"] = json!({"backend": {"clientCertificateRef": {"name": "towards"}}});
    let mut all = around();
    all.push(gateway);
    all.extend(servers.services());
    all.extend([
        labelled("cert", &served),
        labelled("towards", &towards),
        authority("shop", "own", &own.pem),
    ]);
    all.push(policy("one", "mtls", "own", "servers.example"));
    all.push(route("r", &[], json!([to_service("/", "mtls")])));
    on_each(&all, |site| {
        let way = Way::to(site.address(443), Some(HOST));
        let (answer, shown) = converse(&way, &format!("GET / HTTP/1.1\r\nHost: {HOST}\r\n"), "").unwrap();
        assert!(answer.status == 200 && answer.body.starts_with("mtls the-gateway"), "{answer:?}");
        assert!(shown.as_ref() == Some(&served.der));
    });
}

#[test]
fn a_port_without_any_certificate_stops_no_other() {
    let mut all = around();
    all.push(gateway("gw", json!([listener("http", None), https()])));
    all.push(labelled("cert", &certificate::for_host(HOST).unwrap()));
    all.push(route("r", &[], json!([{"backendRefs": [{"name": "s1", "port": 80}]}])));
    for series in SERIES {
        // The Secret is in a store that the model looks into, and templates do not.
        let site = GatewaySite::start_with(series, &all, |spec| {
            spec["watchedResources"]["labelledothers"] = json!({"apiVersion": "v1", "resources": "secrets", "labelSelector": "haproxy-haptic.org/use"});
            spec["watchedResources"]["labelledsecrets"] = json!({"apiVersion": "v1", "resources": "configmaps", "labelSelector": "haproxy-haptic.org/use"});
        });
        assert_eq!(site.get(HOST, "/").status, 200);
        assert_eq!(status(&site, 443, &Arc::new(client_config().unwrap())), None);
    }
}
