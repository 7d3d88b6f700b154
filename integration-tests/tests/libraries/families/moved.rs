//! HTTPRoutes in place of Ingresses with annotations of other controllers: the same requests get the same answers.

use super::{Asked, Cases};
use crate::{
    SERIES,
    client::Answer,
    gateway::{GatewaySite, around, gateway, listener, secret},
};
use haptic_inspect::migrate::{configuration, convert::RouteConverter};
use haptic_routes::families::Family;
use serde_json::{Map, Value, json};
use std::path::Path;

/// Cases that HTTPRoutes say as a whole: family, file, hosts.
const MOVED: [(Family, &str, &[&str]); 5] = [
    (Family::IngressNginx, "canaries.yaml", &["ch.example", "chv.example", "cw.example"]),
    (
        Family::IngressNginx,
        "paths.yaml",
        &["types.example", "regex.example", "whole.example", "same.example", "spread.example"],
    ),
    (
        Family::HaproxyOrg,
        "redirects.yaml",
        &["c.example", "d.example", "g.example", "h.example", "i.example", "j.example"],
    ),
    (Family::HaproxyOrg, "headers.yaml", &["a.example", "c.example"]),
    (Family::HaproxyIngress, "paths.yaml", &["a.example", "b.example", "c.example"]),
];

/// The routes of the Ingresses for these hosts, nothing of which is left.
fn routes(family: Family, cases: &Cases, hosts: &[&str]) -> Vec<Value> {
    let is_of_hosts = |manifest: &Value| {
        let rules = manifest["spec"]["rules"].as_array();
        let is_one = |rule: &Value| hosts.iter().any(|host| rule["host"] == **host);
        manifest["kind"] == "Ingress" && rules.is_some_and(|rules| rules.iter().all(is_one))
    };
    let manifests = cases.manifests(family.prefixes().first().unwrap());
    let text: String =
        manifests.iter().filter(|one| is_of_hosts(one)).map(|one| format!("---\n{one}\n")).collect();
    let config = configuration(family, None).unwrap();
    let mut converter = RouteConverter::new(&config, family, &Map::new(), "edge/gw".parse().unwrap());
    converter.note(&text).unwrap();
    let file = converter.convert(&text).unwrap();
    for one in &file.ingresses {
        assert!(one.left.is_empty() && one.stays.is_none() && one.refused.is_none(), "{one:?}");
    }
    let all: Vec<Value> =
        serde_saphyr::from_multiple(&file.text).unwrap_or_else(|e| panic!("{e}: {}", file.text));
    all.into_iter().filter(|one| one["kind"] == "HTTPRoute").collect()
}

/// The answer at the Gateway, where the request is for one of the hosts.
fn answer(asked: &Asked, site: &GatewaySite, hosts: &[&str]) -> Option<Answer> {
    let (method, url) = asked.ask.split_once(' ').unwrap();
    let (scheme, rest) = url.split_once("://").unwrap();
    let (host, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    if !hosts.contains(&host) {
        return None;
    }
    let (port, name) = if scheme == "https" { (443, Some(host)) } else { (80, None) };
    let headers: String = asked.with.iter().map(|line| format!("{line}\r\n")).collect();
    Some(site.ask(port, name, method, host, path, &headers))
}

#[test]
fn routes_in_place_of_ingresses_answer_the_same() {
    let mut https = listener("https", None);
    (https["port"], https["protocol"]) = (json!(443), json!("HTTPS"));
    https["tls"] = json!({"certificateRefs": [{"name": "cert"}]});
    let mut wrong = Vec::new();
    for (family, file, hosts) in MOVED {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/families").join(family.name());
        let cases: Cases =
            serde_saphyr::from_str(&std::fs::read_to_string(folder.join(file)).unwrap()).unwrap();
        let mut manifests = around();
        manifests.push(gateway("gw", json!([listener("http", None), https.clone()])));
        manifests.push(secret("edge", "cert", "any.example"));
        manifests.extend(routes(family, &cases, hosts));
        for series in SERIES {
            let site = GatewaySite::start(series, &manifests);
            let answers =
                cases.requests.iter().filter_map(|asked| Some((asked, answer(asked, &site, hosts)?)));
            let of_series: Vec<String> = answers.flat_map(|(asked, answer)| asked.wrong(&answer)).collect();
            wrong.extend(of_series.into_iter().map(|why| format!("{file} on {series:?}: {why}")));
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}
