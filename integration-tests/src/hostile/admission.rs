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

/// Listeners of a Gateway or a ListenerSet.
pub const LISTENERS: usize = 64;
/// Hostnames of a route.
pub const ROUTE_HOSTNAMES: usize = 16;
/// Rules of a route.
pub const ROUTE_RULES: usize = 16;
/// Matches of all rules of a route.
pub const ROUTE_MATCHES: usize = 128;

/// Items of lists of the Gateway API.
const LISTS: [(&str, usize); 16] = [
    ("addresses", 16),
    ("backendRefs", 16),
    ("caCertificateRefs", 8),
    ("certificateRefs", 64),
    ("filters", 16),
    ("from", 16),
    ("headers", 16),
    ("hostnames", ROUTE_HOSTNAMES),
    ("listeners", LISTENERS),
    ("matches", 64),
    ("parentRefs", 32),
    ("queryParams", 16),
    ("rules", ROUTE_RULES),
    ("subjectAltNames", 5),
    ("targetRefs", 16),
    ("to", 16),
];
/// What its fields of fixed words say in fixtures and cases.
const WORDS: [&str; 34] = [
    "AllowInsecureFallback",
    "CORS",
    "Cookie",
    "Exact",
    "ExternalAuth",
    "GET",
    "HTTP",
    "HTTPS",
    "Hostname",
    "IPAddress",
    "In",
    "PathPrefix",
    "Passthrough",
    "Permanent",
    "RegularExpression",
    "ReplaceFullPath",
    "ReplacePrefixMatch",
    "RequestHeaderModifier",
    "RequestMirror",
    "RequestRedirect",
    "ResponseHeaderModifier",
    "Same",
    "Selector",
    "TCP",
    "TLS",
    "Terminate",
    "URI",
    "URLRewrite",
    "http",
    "https",
    "All",
    "None",
    "POST",
    "GRPC",
];

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
        (gateway_api_takes(object), "a field of the Gateway API".to_owned()),
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

/// Whether texts and lists of an object of the Gateway API are as its schemas want them.
fn gateway_api_takes(object: &Value) -> bool {
    if !text(&object["apiVersion"]).starts_with("gateway.networking.k8s.io/") {
        return true;
    }
    let matches = items(&object["spec"]["rules"]).flat_map(|rule| items(&rule["matches"])).count();
    matches <= ROUTE_MATCHES && is_taken("", "spec", &object["spec"])
}

/// Whether the value of a field in something that is called `of` is taken.
fn is_taken(of: &str, field: &str, value: &Value) -> bool {
    match value {
        Value::String(text) => text_is_taken(of, field, text),
        Value::Array(items) => {
            let most = LISTS.iter().find(|(list, _)| *list == field).map_or(usize::MAX, |(_, most)| *most);
            items.len() <= most && items.iter().all(|item| is_taken(of, field, item))
        }
        Value::Object(fields) => {
            let is_plain_path = field == "path" && value["type"] != "RegularExpression";
            let path = value["value"].as_str().filter(|_| is_plain_path);
            path.is_none_or(is_plain) && fields.iter().all(|(name, value)| is_taken(field, name, value))
        }
        _ => true,
    }
}

fn text_is_taken(of: &str, field: &str, text: &str) -> bool {
    let is_between = |least: usize, most: usize| (least..=most).contains(&text.len());
    match (of, field) {
        (_, "hostname" | "hostnames") => is_host(text),
        (_, "namespace") => is_name(text, LABEL) && !text.contains('.'),
        (_, "group") => text.is_empty() || is_name(text, NAME),
        (_, "kind") => is_between(1, LABEL) && text.bytes().all(|c| c.is_ascii_alphanumeric() || c == b'-'),
        (_, "type" | "mode" | "protocol" | "scheme" | "operator" | "lifetimeType")
        | ("matches", "method")
        | ("namespaces", "from") => WORDS.contains(&text),
        (_, "sectionName") | ("listeners" | "rules", "name") => is_name(text, NAME),
        ("headers" | "queryParams" | "set" | "add", "name") => is_between(1, 256) && is_token(text),
        (_, "allowHeaders" | "exposeHeaders") => is_between(1, 256) && is_token(text),
        ("cors", "allowMethods") => WORDS.contains(&text),
        ("cors", "allowOrigins") => {
            is_between(1, NAME) && text.split_once("://").is_some_and(|(_, host)| is_host(host))
        }
        ("headers" | "set" | "add", "value") => is_between(1, 4096),
        ("path" | "queryParams", _) | (_, "service") | ("method", _) => is_between(1, 1024),
        (_, "request" | "backendRequest" | "backoff" | "absoluteTimeout") => is_duration(text),
        ("labels", _) => {
            text.len() <= LABEL && text.bytes().all(|c| c.is_ascii_alphanumeric() || b"-_.".contains(&c))
        }
        (_, "sessionName") => is_between(1, 128),
        (_, "uri") => is_between(1, NAME) && text.contains("://"),
        (_, "name" | "gatewayClassName" | "value") => is_between(1, NAME),
        _ => text.len() <= 4096,
    }
}

/// The name of a header.
fn is_token(text: &str) -> bool {
    text.bytes().all(|c| c.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&c))
}

/// A path that is no pattern.
fn is_plain(path: &str) -> bool {
    let is_of_paths = |c: u8| c.is_ascii_alphanumeric() || b"-._~!$&'()*+,;=:@%/".contains(&c);
    path.bytes().all(is_of_paths) && is_path("Prefix", path)
}

/// Up to four numbers with their units.
fn is_duration(text: &str) -> bool {
    let mut rest = text;
    for _ in 0..4 {
        let behind = rest.trim_start_matches(|c: char| c.is_ascii_digit());
        let unit = ["ms", "h", "m", "s"].iter().find_map(|unit| behind.strip_prefix(unit));
        let (true, Some(next)) = ((1..=5).contains(&(rest.len() - behind.len())), unit) else { return false };
        if next.is_empty() {
            return true;
        }
        rest = next;
    }
    false
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
    fn what_the_schemas_of_the_gateway_api_refuse_is_refused() {
        let route = |spec: Value| {
            let metadata = json!({"namespace": "n", "name": "a"});
            let api = "gateway.networking.k8s.io/v1";
            refusal(&json!({"apiVersion": api, "kind": "HTTPRoute", "metadata": metadata, "spec": spec}))
        };
        let matching = |one: Value| route(json!({"rules": [{"matches": [one]}]}));
        let header = |name: &str, value: &str| matching(json!({"headers": [{"name": name, "value": value}]}));
        let path = |kind: &str, value: &str| matching(json!({"path": {"type": kind, "value": value}}));
        assert_eq!(header("X-One", "\" \n%["), None);
        assert_eq!(path("RegularExpression", "^/(a+)+$"), None);
        assert_eq!(path("PathPrefix", "/a/%41"), None);
        for refused in [
            header("X One", "one"),
            header("X-One", &"a".repeat(4097)),
            path("Prefix", "/a"),
            path("PathPrefix", "/a b"),
            path("Exact", "a"),
            path("RegularExpression", &"a".repeat(1025)),
            route(json!({"hostnames": ["a b"]})),
            route(json!({"hostnames": vec!["a.example"; ROUTE_HOSTNAMES + 1]})),
            route(json!({"rules": vec![json!({"matches": vec![json!({}); 64]}); 3]})),
            route(json!({"rules": [{"timeouts": {"request": "1d"}}]})),
            route(json!({"parentRefs": [{"name": "a", "sectionName": "a b"}]})),
        ] {
            assert!(refused.is_some());
        }
        assert_eq!(route(json!({"rules": [{"timeouts": {"request": "1h30m"}}]})), None);
    }

    #[test]
    fn annotations_count_with_their_keys() {
        let with = |size: usize| json!({"kind": "Ingress", "metadata": {"namespace": "n", "name": "a", "annotations": {"key": "v".repeat(size)}}});
        assert_eq!(refusal(&with(ANNOTATIONS - 3)), None);
        assert!(refusal(&with(ANNOTATIONS - 2)).is_some());
    }
}
