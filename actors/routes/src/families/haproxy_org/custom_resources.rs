//! `Backend` and `Defaults`, custom resources that `cr-backend` and `cr-defaults` name: as far as options of ours say the same. Nothing of them is
//! ever printed.

use super::values::milliseconds;
use crate::{
    families::{
        FamilyKey, KeyPlace,
        annotations::ReadAnnotations,
        backend_lines::{LinesOfBackend, is_guarding_rule, one_word},
        translation::Translation,
    },
    objects::referenced::ReferencedKind,
};
use serde_json::{Map, Value};

/// The key that names a Backend.
const BACKEND: &str = "cr-backend";

/// Keys for Services that count beside a Backend.
const BESIDE: [&str; 5] =
    ["backend-config-snippet", "cr-backend", "route-acl", "scale-server-slots", "standalone-backend"];

/// Fields with times, and what HAProxy calls them.
const TIMES: [(&str, &str); 4] = [
    ("connect_timeout", "connect"),
    ("queue_timeout", "queue"),
    ("server_timeout", "server"),
    ("tunnel_timeout", "tunnel"),
];

/// Fields that say what is so, or what the controller decides itself.
const SO: [&str; 8] = [
    "abortonclose",
    "adv_check",
    "forwardfor",
    "http-server-close",
    "http_reuse",
    "mode",
    "name",
    "redispatch",
];

/// The most fields that are named.
const FEW: usize = 5;

/// Whether a key has no effect where a Backend is named (`getBackendModel` in `pkg/service/service.go`).
pub(in crate::families) fn replaces(key: &FamilyKey) -> bool {
    key.places.contains(&KeyPlace::Service) && !BESIDE.contains(&key.name)
}

/// Namespace and name of the Backend that counts: one of the Ingress's own namespace, unless the ConfigMap of the controller names it.
pub(in crate::families) fn backend_of<'s>(
    said: &'s ReadAnnotations<'_>,
    own: &'s str,
) -> Option<(&'s str, &'s str)> {
    let text = said.text(BACKEND)?;
    let (namespace, name) = text.split_once('/').unwrap_or((own, text));
    (namespace == own || !said.is_annotated(BACKEND)).then_some((namespace, name))
}

/// `cr-backend`. Without the Backend nobody gets in, because it may keep requests out.
pub(super) fn backend(said: &ReadAnnotations<'_>, out: &mut Translation<'_>) {
    let Some((namespace, name)) = backend_of(said, out.about().namespace) else {
        if said.has(BACKEND) {
            out.close(BACKEND, "names a Backend of another namespace");
        }
        return;
    };
    let resource = match out.referenced(ReferencedKind::Backend, namespace, name) {
        None => return,
        Some(Ok(resource)) => resource,
        Some(Err(why)) => return out.close(BACKEND, &why),
    };
    let mut read = ReadResource::default();
    for (name, value) in fields(&resource) {
        read.field(name, value);
    }
    let ReadResource { lines, unknown, guard } = read;
    lines.set(BACKEND, out);
    if let Some(guard) = guard {
        out.close(
            BACKEND,
            &format!("names a Backend with {guard}, which may keep somebody out, and is not known here"),
        );
    } else if !unknown.is_empty() {
        out.differs(BACKEND, &format!("names a Backend with {}, which has no effect", few(&unknown)));
    }
}

/// `cr-defaults` of the ConfigMap: its times count before those of the ConfigMap, and behind those of annotations.
pub(super) fn defaults(said: &ReadAnnotations<'_>, out: &mut Translation<'_>) {
    const KEY: &str = "cr-defaults";
    let Some(text) = said.text(KEY) else { return };
    let Some((namespace, name)) = text.split_once('/') else {
        return out.ignored_by_config(KEY, "is no NAMESPACE/NAME");
    };
    let resource = match out.referenced(ReferencedKind::Defaults, namespace, name) {
        None => return,
        Some(Ok(resource)) => resource,
        Some(Err(why)) => return out.ignored_by_config(KEY, &why),
    };
    let (mut lines, mut unknown) = (LinesOfBackend::default(), Vec::new());
    for (name, value) in fields(&resource) {
        let is_said = name == "server_timeout" && said.has("timeout-server");
        let is_known = is_said || SO.contains(&name) || takes_time(&mut lines, name, value);
        if !is_known {
            unknown.push(name.to_owned());
        }
    }
    lines.set(KEY, out);
    if !unknown.is_empty() {
        out.ignored_by_config(KEY, &format!("names Defaults with {}", few(&unknown)));
    }
}

/// The fields of a resource that say something: older ones have some under `config`.
fn fields(resource: &Value) -> impl Iterator<Item = (&str, &Value)> {
    let spec = resource.get("spec").and_then(Value::as_object);
    let config = spec.and_then(|spec| spec.get("config")).and_then(Value::as_object);
    let all = spec.into_iter().flatten().filter(|(name, _)| *name != "config");
    let all = all.chain(config.into_iter().flatten());
    all.map(|(name, value)| (name.as_str(), value)).filter(|(_, value)| !is_empty(value))
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(all) => all.is_empty(),
        Value::Object(all) => all.values().all(is_empty),
        Value::Bool(_) | Value::Number(_) => false,
    }
}

fn few(names: &[String]) -> String {
    let shown: Vec<&str> = names.iter().take(FEW).map(String::as_str).collect();
    let more = if names.len() > FEW { " and others" } else { "" };
    format!("{}{more}", shown.join(", "))
}

/// A number or a text, as a text.
fn plain(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

/// A number of milliseconds, or a text with its unit.
fn time(value: &Value) -> Option<String> {
    milliseconds(&plain(value)?).map(|time| format!("{time}ms"))
}

fn takes_time(lines: &mut LinesOfBackend, name: &str, value: &Value) -> bool {
    let known = TIMES.iter().find(|(field, _)| *field == name);
    let read = known.and_then(|(_, what)| Some((what, time(value)?)));
    read.is_some_and(|(what, time)| lines.takes_words(&["timeout", what, &time]))
}

/// The parts of a Backend that were read.
#[derive(Default)]
struct ReadResource {
    lines: LinesOfBackend,
    /// Fields that are not known.
    unknown: Vec<String>,
    /// One that may keep requests out.
    guard: Option<String>,
}

impl ReadResource {
    fn field(&mut self, name: &str, value: &Value) {
        let is_known = match (name, value) {
            ("http_request_rule_list" | "http_requests", Value::Array(rules)) => {
                return self.rules("http-request", name, rules);
            }
            ("http_response_rule_list" | "http_after_response_rule_list", Value::Array(rules)) => {
                return self.rules("http-response", name, rules);
            }
            ("balance", Value::Object(balance)) => self.takes_balance(balance),
            ("check_timeout", time_of_check) => {
                self.takes_option("health-check-timeout", time(time_of_check))
            }
            ("disabled", Value::Bool(is_off)) => {
                if *is_off {
                    self.guard.get_or_insert_with(|| name.to_owned());
                }
                return;
            }
            ("compression", Value::Object(compression)) => self.takes_compression(compression),
            ("cookie", Value::Object(cookie)) => self.takes_cookie(cookie),
            ("default_server", Value::Object(server)) => return self.server(server),
            ("hash_type", Value::Object(hash)) => {
                hash.get("method").and_then(Value::as_str) == Some("consistent")
            }
            ("httpchk_params", Value::Object(check)) => self.takes_check(check),
            ("retries", number) => self.takes_option("retries", plain(number)),
            (name, value) => SO.contains(&name) || takes_time(&mut self.lines, name, value),
        };
        if !is_known {
            self.refuse(name.to_owned(), value);
        }
    }

    fn refuse(&mut self, name: String, value: &Value) {
        if may_guard(value) {
            self.guard.get_or_insert_with(|| name.clone());
        }
        self.unknown.push(name);
    }

    fn rules(&mut self, phase: &str, name: &str, rules: &[Value]) {
        for (number, rule) in rules.iter().enumerate() {
            if !self.takes_rule(phase, rule) {
                self.lines.distrusts(told_to_servers(phase, rule).into_iter());
                self.refuse(format!("{name}[{number}]"), rule);
            }
        }
    }

    /// A rule without a condition, as the words of its line.
    fn takes_rule(&mut self, phase: &str, rule: &Value) -> bool {
        let text = |field: &str| rule.get(field).and_then(plain).unwrap_or_default();
        let word = |field: &str| one_word(&text(field)).unwrap_or_default();
        let is_always = ["cond", "cond_test"].iter().all(|field| text(field).is_empty());
        let kind = text("type");
        let arguments = match kind.as_str() {
            "set-header" | "add-header" => vec![word("hdr_name"), word("hdr_format")],
            "del-header" if text("hdr_method").is_empty() => vec![word("hdr_name")],
            "replace-path" => vec![word("path_match"), word("path_fmt")],
            "set-path" => vec![word("path_fmt")],
            "redirect" if text("redir_option").is_empty() => {
                let code = Some(text("redir_code")).filter(|code| !code.is_empty());
                let code = code.unwrap_or_else(|| "302".to_owned());
                vec![text("redir_type"), word("redir_value"), "code".to_owned(), code]
            }
            _ => return false,
        };
        let mut words = vec![phase, kind.as_str()];
        words.extend(arguments.iter().map(String::as_str));
        // Only what is taken whole may stay: a line that is refused half-way sets nothing.
        is_always && arguments.iter().all(|word| !word.is_empty()) && {
            let mut tried = LinesOfBackend::default();
            tried.takes_words(&words) && self.lines.takes_words(&words)
        }
    }

    fn takes_option(&mut self, option: &'static str, text: Option<String>) -> bool {
        text.is_some_and(|text| self.lines.other(option, text))
    }

    fn takes_balance(&mut self, balance: &Map<String, Value>) -> bool {
        let text = |field: &str| balance.get(field).and_then(plain).unwrap_or_default();
        match text("algorithm").as_str() {
            "hdr" => self.lines.takes_words(&["balance", &format!("hdr({})", text("hdr_name"))]),
            "url_param" => self.lines.takes_words(&["balance", "url_param", &text("url_param")]),
            algorithm => self.lines.takes_words(&["balance", algorithm]),
        }
    }

    fn takes_compression(&mut self, compression: &Map<String, Value>) -> bool {
        let all = |field: &str| {
            let list = compression.get(field).and_then(Value::as_array);
            list.into_iter().flatten().filter_map(Value::as_str).collect::<Vec<&str>>()
        };
        let types = all("types");
        let takes = all("algorithms") == ["gzip"] && self.lines.takes_words(&["compression", "algo", "gzip"]);
        if takes && !types.is_empty() {
            let words: Vec<&str> = ["compression", "type"].into_iter().chain(types).collect();
            self.lines.takes_words(&words);
        }
        takes
    }

    /// A cookie that HAProxy itself sets.
    fn takes_cookie(&mut self, cookie: &Map<String, Value>) -> bool {
        let Some(name) = cookie.get("name").and_then(Value::as_str) else { return false };
        if cookie.get("type").and_then(Value::as_str).is_some_and(|kind| kind != "insert") {
            return false;
        }
        self.lines.other("affinity", "cookie");
        self.lines.other("affinity-cookie-name", name);
        self.lines.other("affinity-cookie-same-site", "unset");
        if cookie.get("secure").and_then(Value::as_bool) == Some(true) {
            self.lines.other("affinity-cookie-secure", "true");
        }
        let known = ["dynamic", "httponly", "indirect", "name", "nocache", "secure", "type"];
        let others =
            cookie.iter().filter(|(field, value)| !known.contains(&field.as_str()) && !is_empty(value));
        let others: Vec<String> = others.map(|(field, _)| format!("cookie.{field}")).collect();
        self.unknown.extend(others);
        true
    }

    fn takes_check(&mut self, check: &Map<String, Value>) -> bool {
        let text = |field: &str| check.get(field).and_then(Value::as_str);
        let Some(path) = text("uri") else { return false };
        self.lines.other("health-check", "http");
        self.lines.other("health-check-method", text("method").unwrap_or("OPTIONS"));
        self.lines.other("health-check-path", path)
    }

    /// The protocol that servers speak, and whether they must be somebody.
    fn protocol(&mut self, server: &Map<String, Value>) {
        let text = |field: &str| server.get(field).and_then(Value::as_str).unwrap_or_default();
        let (is_over_tls, is_h2) = (text("ssl") == "enabled", text("proto") == "h2");
        let protocol = match (is_over_tls, is_h2) {
            (false, false) => None,
            (false, true) => Some("h2"),
            (true, false) => Some("https"),
            (true, true) => Some("h2s"),
        };
        if let Some(protocol) = protocol {
            self.lines.other("protocol", protocol);
        }
        if is_over_tls {
            self.lines.other("server-tls-name", "$none");
            // Without a word HAProxy wants it.
            if text("verify") != "none" {
                self.guard.get_or_insert_with(|| "default_server.verify".to_owned());
            }
        }
    }

    /// The settings of each server.
    fn server(&mut self, server: &Map<String, Value>) {
        self.protocol(server);
        for (field, value) in server.iter().filter(|(_, value)| !is_empty(value)) {
            let is_known = match field.as_str() {
                "ssl" | "verify" | "proto" => true,
                "check" => match value.as_str() {
                    Some("enabled") => self.lines.other_unless_said("health-check", "tcp"),
                    other => other == Some("disabled"),
                },
                "inter" => self.takes_option("health-check-interval", time(value)),
                "maxconn" => self.takes_option("max-connections", plain(value)),
                "slowstart" => self.takes_option("slow-start", time(value)),
                _ => false,
            };
            if !is_known {
                self.refuse(format!("default_server.{field}"), value);
            }
        }
    }
}

/// The header whose value a rule sets for servers, or takes from clients.
fn told_to_servers(phase: &str, rule: &Value) -> Option<String> {
    let text = |field: &str| rule.get(field).and_then(plain).unwrap_or_default();
    let is_one = ["set-header", "del-header"].contains(&text("type").as_str());
    (phase == "http-request" && is_one).then(|| text("hdr_name"))
}

/// Whether a rule, or one of a list, may keep requests out.
fn may_guard(value: &Value) -> bool {
    match value {
        Value::Array(all) => all.iter().any(may_guard),
        Value::Object(fields) => {
            let text = |field: &str| fields.get(field).and_then(plain).unwrap_or_default();
            let has_condition = ["cond", "cond_test"].iter().any(|field| !text(field).is_empty());
            let redirects_scheme = text("redir_type") == "scheme";
            let is_guarding = |kind: &str| is_guarding_rule(kind, has_condition, redirects_scheme);
            // Which headers of clients that takes is not known by one name.
            let takes_several =
                text("type") == "del-header" && !["", "str"].contains(&text("hdr_method").as_str());
            // Another server for some requests has no type.
            let leads_elsewhere = has_condition && fields.contains_key("target_server");
            takes_several
                || leads_elsewhere
                || ["type", "action"].iter().any(|field| is_guarding(&text(field)))
        }
        _ => false,
    }
}
