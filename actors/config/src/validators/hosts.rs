//! `spec.hosts`: every pattern a host, listed once, with at least one namespace.

use haptic_model::{
    Diagnostic, HAProxyTemplateConfigSpec,
    host_name::{EVERY_HOST, is_host},
};
use std::collections::HashMap;

pub(super) fn problems(spec: &HAProxyTemplateConfigSpec, problems: &mut Vec<Diagnostic>) {
    let mut wrong = |field: String, what: String, help: &str| {
        problems.push(Diagnostic::error("basic", what).at_field(field).help(help));
    };
    let mut listed: HashMap<String, String> = HashMap::new();
    for (number, entry) in spec.hosts.iter().enumerate() {
        let at = format!("spec.hosts[{number}]");
        if entry.hosts.is_empty() {
            wrong(
                format!("{at}.hosts"),
                "no host is listed".into(),
                "Give at least one, for example *.shop.example",
            );
        }
        if entry.namespaces.is_empty() {
            let help = "Give at least one; without any nobody could serve these hosts";
            wrong(format!("{at}.namespaces"), "no namespace is listed".into(), help);
        }
        for (place, host) in entry.hosts.iter().enumerate() {
            let (field, lower) = (format!("{at}.hosts[{place}]"), host.to_ascii_lowercase());
            if lower != EVERY_HOST && !is_host(&lower) {
                let help = "Write shop.example, *.shop.example for all hosts below it, or * for every host";
                wrong(field, format!("{} is no host", quoted(host)), help);
            } else if let Some(first) = listed.get(&lower) {
                let help = "List it once, with all its namespaces";
                wrong(field, format!("{host} is listed in {first}, too"), help);
            } else {
                listed.insert(lower, field);
            }
        }
        for (place, namespace) in entry.namespaces.iter().enumerate() {
            let field = format!("{at}.namespaces[{place}]");
            if !is_host(namespace) || namespace.contains('.') || namespace.starts_with('*') {
                let help = "Write its name; patterns are not known here";
                wrong(field, format!("{} is no name of a namespace", quoted(namespace)), help);
            } else if entry.namespaces.iter().take(place).any(|other| other == namespace) {
                wrong(field, format!("{namespace} is listed twice"), "List it once");
            }
        }
    }
}

/// At most 200 bytes of it, for a sentence.
fn quoted(text: &str) -> String {
    let end = text.floor_char_boundary(200);
    format!("{:?}{}", text.get(..end).unwrap_or_default(), if end < text.len() { "…" } else { "" })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn said(hosts: Value) -> Vec<String> {
        let spec = json!({
            "credentialsSecretRef": {"name": "c"}, "podSelector": {"matchLabels": {"a": "b"}}, "hosts": hosts,
        });
        let mut all = Vec::new();
        problems(&serde_json::from_value(spec).unwrap(), &mut all);
        all.iter().map(|d| format!("{}: {}", d.field.as_deref().unwrap_or_default(), d.message)).collect()
    }

    #[test]
    fn hosts_with_namespaces_are_right() {
        let hosts = json!([
            {"hosts": ["shop.example", "*.shop.example"], "namespaces": ["shop", "auth"]},
            {"hosts": ["*"], "namespaces": ["edge"]},
        ]);
        assert_eq!(said(hosts), Vec::<String>::new());
        assert_eq!(said(json!([])), Vec::<String>::new());
    }

    #[test]
    fn each_mistake_is_named_with_its_field() {
        let hosts = json!([
            {"hosts": ["shop.example", "shop.example/x", "*.Shop.example"], "namespaces": ["shop", "shop"]},
            {"hosts": ["SHOP.example", "*shop", ""], "namespaces": ["*", "a.b"]},
            {"hosts": [], "namespaces": []},
        ]);
        assert_eq!(
            said(hosts),
            [
                "spec.hosts[0].hosts[1]: \"shop.example/x\" is no host",
                "spec.hosts[0].namespaces[1]: shop is listed twice",
                "spec.hosts[1].hosts[0]: SHOP.example is listed in spec.hosts[0].hosts[0], too",
                "spec.hosts[1].hosts[1]: \"*shop\" is no host",
                "spec.hosts[1].hosts[2]: \"\" is no host",
                "spec.hosts[1].namespaces[0]: \"*\" is no name of a namespace",
                "spec.hosts[1].namespaces[1]: \"a.b\" is no name of a namespace",
                "spec.hosts[2].hosts: no host is listed",
                "spec.hosts[2].namespaces: no namespace is listed",
            ]
        );
        let long = said(json!([{"hosts": ["ä/".repeat(10_000)], "namespaces": ["a"]}]));
        assert!(long[0].len() < 400, "{}", long[0].len());
    }
}
