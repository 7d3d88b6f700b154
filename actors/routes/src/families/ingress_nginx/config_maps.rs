//! Headers of ConfigMaps that are named: by annotations, those of the Ingress's own namespace, and by the ConfigMap of the controller.

use super::{access::withhold, nginx_text::with_variables};
use crate::{
    families::{
        ReadAnnotations, Translation,
        header_steps::{HeaderStep, HeadersTo, distrust},
        secrets::own_secret,
    },
    objects::referenced::ReferencedKind,
};
use serde_json::Value;

/// Variables of nginx, and ours for them.
const VARIABLES: [(&str, &str); 15] = [
    ("args", "query"),
    ("host", "host"),
    ("http_host", "host"),
    ("pass_access_scheme", "scheme"),
    ("query_string", "query"),
    ("remote_addr", "client-address"),
    ("remote_port", "client-port"),
    ("req_id", "request-id"),
    ("request_id", "request-id"),
    ("request_method", "method"),
    ("scheme", "scheme"),
    ("ssl_cipher", "tls-cipher"),
    ("ssl_protocol", "tls-version"),
    ("ssl_server_name", "tls-name"),
    ("uri", "path"),
];

/// Names of headers, each with its value.
type NamedHeaders = Vec<(String, String)>;

/// `add-headers`, `proxy-set-headers`, `custom-headers`, `auth-proxy-set-headers`. What all answers get counts where `custom-headers` says nothing of it
/// (headers-more adds up what its levels say).
pub fn headers(said: &ReadAnnotations<'_>, to: &mut Translation<'_>) {
    let own = own_entries("custom-headers", said, to);
    let custom = custom(&own, said, to);
    let mut answered = of_all("add-headers", "response-headers", said, to);
    answered.retain(|(name, _)| !custom.iter().any(|(other, _)| other.eq_ignore_ascii_case(name)));
    let custom_lines = lines(&custom);
    for (all, key) in [(lines(&answered), "add-headers"), (custom_lines, "custom-headers")] {
        if !all.is_empty() {
            to.add("response-headers", &all, key);
        }
    }
    let sent = of_all("proxy-set-headers", "request-headers", said, to);
    let sent: Vec<HeaderStep> = sent.into_iter().map(|(name, value)| HeaderStep::Set(name, value)).collect();
    HeadersTo::SERVERS.take(&sent, "proxy-set-headers", to);
    if said.has("auth-url") {
        let asked = own_entries("auth-proxy-set-headers", said, to);
        withhold(asked.into_iter().map(|(name, _)| name), "auth-proxy-set-headers", to);
    }
}

/// Each line of a value would be a header of its own, whoever allows that one.
fn is_one_line(value: &str) -> bool {
    !value.contains(['\r', '\n'])
}

fn lines(headers: &[(String, String)]) -> String {
    headers.iter().map(|(name, value)| format!("{name}: {value}")).collect::<Vec<_>>().join("\n")
}

/// The entries of the ConfigMap that an annotation names; nobody gets in where that cannot be read.
fn own_entries(key: &'static str, said: &ReadAnnotations<'_>, to: &mut Translation<'_>) -> NamedHeaders {
    let Some(text) = said.text(key) else { return NamedHeaders::new() };
    let namespace = to.about().namespace;
    let Some(name) = own_secret(text, namespace) else {
        to.close(key, "names no ConfigMap of the same namespace");
        return NamedHeaders::new();
    };
    match to.referenced(ReferencedKind::ConfigMap, namespace, name) {
        None => NamedHeaders::new(),
        Some(Ok(config_map)) => entries(&config_map),
        Some(Err(why)) => {
            to.close(key, &why);
            NamedHeaders::new()
        }
    }
}

fn entries(config_map: &Value) -> NamedHeaders {
    let data = config_map.get("data").and_then(Value::as_object);
    let texts = data.into_iter().flatten();
    texts.filter_map(|(name, text)| Some((name.clone(), text.as_str()?.trim().to_owned()))).collect()
}

/// Those of `custom-headers`, all of which must be allowed (`internal/ingress/annotations/customheaders/main.go`). A dollar sign is one there.
fn custom(own: &[(String, String)], said: &ReadAnnotations<'_>, to: &mut Translation<'_>) -> NamedHeaders {
    let allowed = said.list("global-allowed-response-headers", "");
    for (name, value) in own {
        let why = if !allowed.contains(name) {
            "which global-allowed-response-headers of the controller's ConfigMap does not allow"
        } else if value.contains("${")
            || !is_one_line(value)
            || !to.is_value("response-headers", &format!("{name}: {value}"))
        {
            "whose value or name is none that can be set"
        } else {
            continue;
        };
        to.close("custom-headers", &format!("names a ConfigMap with header {name:?}, {why}"));
        return NamedHeaders::new();
    }
    own.to_vec()
}

/// Those of a ConfigMap that the controller's names for all Ingresses, whatever its namespace. What cannot be set is left out.
fn of_all(
    key: &'static str,
    option: &'static str,
    said: &ReadAnnotations<'_>,
    to: &mut Translation<'_>,
) -> NamedHeaders {
    let Some(text) = said.text(key) else { return NamedHeaders::new() };
    let Some((namespace, name)) = text.split_once('/') else {
        to.ignored_by_config(key, "is no NAMESPACE/NAME");
        return NamedHeaders::new();
    };
    let read = match to.referenced(ReferencedKind::ConfigMap, namespace, name) {
        None => return NamedHeaders::new(),
        Some(Ok(config_map)) => entries(&config_map),
        Some(Err(why)) => {
            to.ignored_by_config(key, &why);
            return NamedHeaders::new();
        }
    };
    let mut headers = NamedHeaders::new();
    for (name, value) in read {
        // Without a value nginx does not pass the header on.
        if value.is_empty() && option == "request-headers" && to.is_value("remove-request-headers", &name) {
            to.add("remove-request-headers", &name, key);
            continue;
        }
        let value = with_our_variables(&value).filter(|value| is_one_line(value));
        match value.filter(|value| to.is_value(option, &format!("{name}: {value}"))) {
            Some(value) => headers.push((name, value)),
            None => {
                to.ignored_by_config(
                    key,
                    &format!("names a ConfigMap with header {name:?}, which cannot be set so"),
                );
                if option == "request-headers" {
                    distrust(&name, key, to);
                }
            }
        }
    }
    headers
}

/// A value with our variables in the place of those of nginx; `None` where it has others.
fn with_our_variables(value: &str) -> Option<String> {
    with_variables(value, |name| {
        let (_, ours) = VARIABLES.iter().find(|(theirs, _)| *theirs == name)?;
        Some(format!("${{{ours}}}"))
    })
}

#[cfg(test)]
mod tests {
    use super::with_our_variables;

    #[test]
    fn variables_of_nginx_are_ours_or_none() {
        let read = |value: &str| with_our_variables(value);
        assert_eq!(read("plain; a=1").as_deref(), Some("plain; a=1"));
        assert_eq!(read("$scheme://${host}$uri-").as_deref(), Some("${scheme}://${host}${path}-"));
        for value in ["$geoip_country", "${host", "a$", "$http_cookie"] {
            assert_eq!(read(value), None, "{value}");
        }
    }
}
