//! The services that are asked whether requests may pass, as templates write them: a backend for each namespace and target.

use super::{Backend, Port, RouteGroup};
use crate::{names::name_of, options::auth_url::AuthPlace};
use haptic_model::ObjectRef;
use serde_json::{Value, json};
use std::sync::Arc;

/// The option that names a target.
pub(crate) const OPTION: &str = "auth-url";

/// The target of `url` (`AuthUrl` as templates read it) for routes in `namespace`; none where a route of the host is looked up alone.
pub(crate) fn target(namespace: &str, url: &Value) -> Option<(Arc<ObjectRef>, Arc<[u8]>)> {
    let [host, port, scheme]: [String; 3] = serde_json::from_value(url.get("target")?.clone()).ok()?;
    // No namespace has a ":", so that no Ingress has a backend of this name.
    let name = name_of(&[&format!("auth:{namespace}"), &*host, &port, &scheme], "").ok()?;
    let port: u16 = port.parse().ok()?;
    let metadata = json!({"namespace": namespace, "name": name});
    let of = |fields: Value| {
        let mut all = json!({
            "kind": "Authentication", "metadata": metadata, "name": name, "host": host, "port": port, "tls": scheme == "https",
        });
        if let (Value::Object(all), Value::Object(fields)) = (&mut all, fields) {
            all.extend(fields);
        }
        all
    };
    let target = match AuthPlace::of(&host)? {
        AuthPlace::OwnHost => return None,
        AuthPlace::Service { namespace: named, name } => {
            let of_service = named.as_deref().unwrap_or(namespace);
            of(json!({"namespace": of_service, "service": name, "abroad": of_service != namespace}))
        }
        AuthPlace::Host(_) => of(json!({"abroad": true})),
    };
    let reference = Arc::new(ObjectRef::new("authentication", namespace, &name));
    Some((reference, target.to_string().into_bytes().into()))
}

/// The Services that the options of routes in `namespace` have asked, with their namespaces, each once.
pub(crate) fn services_of(namespace: &str, groups: &[RouteGroup]) -> Vec<(Arc<str>, Backend)> {
    let mut all: Vec<_> =
        groups.iter().filter_map(|group| service_of(namespace, &group.options.get(OPTION)?)).collect();
    all.sort();
    all.dedup();
    all
}

/// The paths, as the requests have them that ask, behind whose routes the options have somebody asked, with the numbers of the groups.
pub(crate) fn looked_up(groups: &[RouteGroup]) -> Vec<(usize, Arc<str>)> {
    let mut of_all = None;
    let mut all = Vec::new();
    for (number, group) in groups.iter().enumerate() {
        // What a group does not say counts as for the first one.
        let own = group.options.get(OPTION);
        let url = own.as_ref().or(of_all.as_ref());
        let is_own = url.is_some_and(|url| url.get("place").and_then(Value::as_str) == Some("own"));
        if let Some(uri) = url.filter(|_| is_own).and_then(|url| url.get("uri")?.as_str()) {
            all.push((number, uri.split('?').next().unwrap_or_default().into()));
        }
        if number == 0 {
            of_all = own;
        }
    }
    all
}

/// Whether somebody is asked about the requests of a group.
pub(crate) fn is_asked_about(groups: &[RouteGroup], number: usize) -> bool {
    let url = |group: &RouteGroup| group.options.get(OPTION);
    // What a group does not say counts as for the first one.
    let own = groups.get(number).and_then(url);
    own.or_else(|| groups.first().and_then(url)).is_some_and(|url| !url.is_null())
}

fn service_of(namespace: &str, url: &Value) -> Option<(Arc<str>, Backend)> {
    let [host, port, _]: [String; 3] = serde_json::from_value(url.get("target")?.clone()).ok()?;
    let AuthPlace::Service { namespace: named, name } = AuthPlace::of(&host)? else { return None };
    let port = Port::Number(port.parse().ok()?);
    Some((named.as_deref().unwrap_or(namespace).into(), Backend { service: name.as_str().into(), port }))
}
