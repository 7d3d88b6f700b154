//! What an API server takes: the limits that shape hostile objects. A test of the cases here, the API server's own word in
//! the journey `hostile_worst_objects`.

use serde_json::Value;

/// Of all annotations of an object, keys and values.
pub const ANNOTATIONS: usize = 256 << 10;
/// Of the data of a Secret.
pub const SECRET: usize = 1 << 20;
/// Of a whole object, for etcd.
pub const OBJECT: usize = 1_500_000;
/// Of most names.
pub const NAME: usize = 253;
/// Of a namespace, a Service, and each part of a host.
pub const LABEL: usize = 63;
/// Endpoints of an EndpointSlice, and addresses of each.
pub const ENDPOINTS: (usize, usize) = (1000, 100);
/// Ports of an EndpointSlice.
pub const PORTS: usize = 20_000;

/// Why an API server would not take `object`, as far as it is known here.
#[must_use]
pub fn refusal(object: &Value) -> Option<String> {
    let metadata = &object["metadata"];
    let (name, namespace) = (text(&metadata["name"]), text(&metadata["namespace"]));
    let longest = if object["kind"] == "Service" { LABEL } else { NAME };
    let annotations: usize = fields(&metadata["annotations"]).map(|(k, v)| k.len() + text(v).len()).sum();
    let data: usize = fields(&object["data"]).map(|(_, v)| text(v).len() / 4 * 3).sum();
    let checks = [
        (is_name(name, longest), format!("the name {name}")),
        (is_name(namespace, LABEL) && !namespace.contains('.'), format!("the namespace {namespace}")),
        (annotations <= ANNOTATIONS, format!("{annotations} bytes of annotations")),
        (data <= SECRET, format!("{data} bytes of data")),
        (object.to_string().len() <= OBJECT, "too many bytes".to_owned()),
        (hosts(object).all(is_host), "a host".to_owned()),
        (paths(object).all(|(kind, path)| is_path(kind, path)), "a path".to_owned()),
        (
            object["endpoints"].as_array().is_none_or(|all| all.len() <= ENDPOINTS.0),
            "its endpoints".to_owned(),
        ),
        (object["ports"].as_array().is_none_or(|all| all.len() <= PORTS), "its ports".to_owned()),
    ];
    checks.into_iter().find(|(holds, _)| !holds).map(|(_, what)| what)
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn fields(value: &Value) -> impl Iterator<Item = (&String, &Value)> {
    value.as_object().into_iter().flatten()
}

fn items(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn hosts(object: &Value) -> impl Iterator<Item = &str> {
    let spec = &object["spec"];
    let rules = items(&spec["rules"]).map(|rule| text(&rule["host"])).filter(|host| !host.is_empty());
    rules.chain(items(&spec["tls"]).flat_map(|tls| items(&tls["hosts"]).map(text)))
}

fn paths(object: &Value) -> impl Iterator<Item = (&str, &str)> {
    let rules = items(&object["spec"]["rules"]);
    let paths = rules.flat_map(|rule| items(&rule["http"]["paths"]));
    paths.map(|path| (text(&path["pathType"]), text(&path["path"])))
}

/// A DNS subdomain: parts of letters, digits and dashes.
fn is_name(name: &str, longest: usize) -> bool {
    let is_inner = |c: u8| c.is_ascii_lowercase() || c.is_ascii_digit();
    let is_part = |part: &str| {
        let bytes = part.as_bytes();
        bytes.iter().all(|c| is_inner(*c) || *c == b'-')
            && bytes.first().is_some_and(|c| is_inner(*c))
            && bytes.last().is_some_and(|c| is_inner(*c))
    };
    name.len() <= longest && name.split('.').all(is_part)
}

fn is_host(host: &str) -> bool {
    is_name(host.strip_prefix("*.").unwrap_or(host), NAME)
}

fn is_path(kind: &str, path: &str) -> bool {
    let lower = path.to_ascii_lowercase();
    let is_plain = !["//", "/./", "/../", "%2f"].iter().any(|bad| lower.contains(bad))
        && !["/..", "/."].iter().any(|end| path.ends_with(end));
    path.starts_with('/') && (kind == "ImplementationSpecific" || is_plain)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_is_too_long_or_no_name_is_refused() {
        let named = |name: &str| json!({"kind": "Ingress", "metadata": {"namespace": "n", "name": name}});
        assert_eq!(refusal(&named(&"a".repeat(NAME))), None);
        for bad in ["a".repeat(NAME + 1), "-a".into(), "a..b".into(), "A".into(), String::new()] {
            assert!(refusal(&named(&bad)).is_some(), "{bad}");
        }
    }

    #[test]
    fn paths_are_taken_by_their_kind() {
        assert!(is_path("ImplementationSpecific", "/a//b") && !is_path("Prefix", "/a//b"));
        assert!(!is_path("Exact", "/%2F") && is_path("Exact", "/%41") && !is_path("Exact", "a"));
    }

    #[test]
    fn annotations_count_with_their_keys() {
        let with = |size: usize| json!({"kind": "Ingress", "metadata": {"namespace": "n", "name": "a", "annotations": {"key": "v".repeat(size)}}});
        assert_eq!(refusal(&with(ANNOTATIONS - 3)), None);
        assert!(refusal(&with(ANNOTATIONS - 2)).is_some());
    }
}
