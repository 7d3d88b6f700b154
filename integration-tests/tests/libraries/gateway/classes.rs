//! What a GatewayClass says of all requests: options of the ConfigMap that it names, and those of the configuration.

use super::{GatewaySite, around, around_gateway, gateway, listener, object, route, secret, to};
use crate::{
    SERIES,
    client::{self, Way},
};
use serde_json::{Value, json};

/// Our class names a ConfigMap that says this, and routes lead to the first service.
fn with_class(data: &Value) -> Vec<Value> {
    let mut manifests = around();
    manifests[0]["spec"]["parametersRef"] =
        json!({"group": "", "kind": "ConfigMap", "namespace": "edge", "name": "class"});
    manifests
        .push(json!({"kind": "ConfigMap", "metadata": {"namespace": "edge", "name": "class"}, "data": data}));
    let mut https = listener("https", Some("a.example"));
    (https["port"], https["protocol"]) = (443.into(), "HTTPS".into());
    https["tls"] = json!({"certificateRefs": [{"name": "cert"}]});
    manifests.push(gateway("gw", json!([listener("http", None), https])));
    manifests.push(secret("edge", "cert", "a.example"));
    manifests
}

fn on_each(manifests: &[Value], change: impl Fn(&mut Value), ask: impl Fn(&GatewaySite)) {
    for series in SERIES {
        ask(&GatewaySite::start_with(series, manifests, &change));
    }
}

#[test]
fn headers_of_a_class_are_set_beside_those_of_rules() {
    let data = json!({
        "defaults": "response-headers: 'X-Default: class'\nrequest-headers: 'X-Both: class'",
        "enforced": "response-headers: 'X-Enforced: class'\nremove-request-headers: X-Secret\nhsts-max-age: 9\nhsts-subdomains: true",
    });
    let mut manifests = with_class(&data);
    let filters = json!([
        {"type": "ResponseHeaderModifier", "responseHeaderModifier": {"set": [{"name": "X-Enforced", "value": "rule"}, {"name": "X-Default", "value": "rule"}]}},
        {"type": "RequestHeaderModifier", "requestHeaderModifier": {"set": [{"name": "X-Secret", "value": "rule"}]}},
    ]);
    let of_path = |path: &str| json!([{"path": {"value": path}}]);
    manifests.push(route(
        "plain",
        &[],
        json!([
            {"matches": of_path("/own"), "filters": filters, "backendRefs": to(1)},
            {"matches": of_path("/"), "backendRefs": to(2)},
        ]),
    ));
    on_each(
        &manifests,
        |_| (),
        |site| {
            let plain = site.ask(80, None, "GET", "a.example", "/", "X-Secret: 1\r\n");
            assert_eq!(plain.service(), Some(2));
            assert_eq!(["x-default", "x-enforced"].map(|name| plain.header(name)), [Some("class"); 2]);
            assert_eq!((plain.sent("x-both"), plain.sent("x-secret")), (Some("class"), None));
            assert_eq!(plain.header("strict-transport-security"), None);
            let own = site.ask(443, Some("a.example"), "GET", "a.example", "/own", "");
            assert_eq!(
                ["x-default", "x-enforced"].map(|name| own.header(name)),
                [Some("rule"), Some("class")]
            );
            assert_eq!(own.sent("x-secret"), None);
            assert_eq!(own.header("strict-transport-security"), Some("max-age=9; includeSubDomains"));
        },
    );
}

#[test]
fn clients_that_a_class_refuses_get_to_no_server_by_requests_or_connections() {
    for (enforced, status) in [
        ("allow-from: 127.0.0.0/8", 200),
        ("allow-from: 10.0.0.0/8", 403),
        ("deny-from: 127.0.0.1", 403),
        ("closed: true", 503),
        ("min-tls-version: TLSv1.2", 403),
    ] {
        let mut manifests = with_class(&json!({ "enforced": enforced }));
        let mut tcp = listener("tcp", None);
        (tcp["port"], tcp["protocol"]) = (5432.into(), "TCP".into());
        manifests[5]["spec"]["listeners"].as_array_mut().unwrap().push(tcp);
        manifests.push(route("plain", &[], json!([{"backendRefs": to(1)}])));
        let parents = json!([{"name": "gw", "namespace": "edge", "sectionName": "tcp"}]);
        manifests.push(object(
            "TCPRoute",
            "shop",
            "tcp",
            json!({"parentRefs": parents, "rules": [{"backendRefs": to(2)}]}),
        ));
        on_each(
            &manifests,
            |_| (),
            |site| {
                assert_eq!(site.get("a.example", "/").status, status, "{enforced}");
                let over_tls = site.ask(443, Some("a.example"), "GET", "a.example", "/", "").status;
                assert_eq!(over_tls, if enforced.starts_with("min") { 200 } else { status }, "{enforced}");
                let head = "GET /x HTTP/1.1\r\nHost: a.example\r\n";
                let connected = client::ask(&Way::to(site.address(5432), None), head, "");
                let is_served = connected.is_ok_and(|answer| answer.service() == Some(2));
                assert_eq!(is_served, status == 200 || enforced.starts_with("min"), "{enforced}");
            },
        );
    }
}

#[test]
fn a_time_of_the_class_counts_where_a_rule_says_none_and_a_longer_one_never_where_it_is_enforced() {
    for (part, of_class, of_rule) in [
        ("defaults", "300ms", None),
        ("defaults", "1h", Some("300ms")),
        ("enforced", "300ms", None),
        ("enforced", "300ms", Some("1h")),
        ("enforced", "1h", Some("300ms")),
    ] {
        let mut data = json!({});
        data[part] = format!("timeout-server: {of_class}").into();
        let mut manifests = with_class(&data);
        let mut rule = json!({"backendRefs": to(1)});
        if let Some(time) = of_rule {
            rule["timeouts"] = json!({ "request": time });
        }
        manifests.push(route("plain", &[], json!([rule])));
        // A path that is never answered.
        on_each(&manifests, |_| (), |site| assert_eq!(site.get("a.example", "/never").status, 504));
    }
}

#[test]
fn what_the_configuration_enforces_counts_for_classes_with_and_without_a_config_map() {
    for mut manifests in
        [around_gateway(), with_class(&json!({"defaults": "response-headers: 'X-A: class'"}))]
    {
        manifests.push(route("plain", &[], json!([{"backendRefs": to(1)}])));
        let change = |spec: &mut Value| {
            spec["templatingSettings"]["extraContext"]["routes"] =
                json!({"enforced": {"response-headers": "X-A: all", "max-body-size": "1k"}});
        };
        on_each(&manifests, change, |site| {
            assert_eq!(site.get("a.example", "/").header("x-a"), Some("all"));
        });
    }
}
