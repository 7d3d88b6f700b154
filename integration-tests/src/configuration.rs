//! The demo's configuration, made to fit a journey: its own namespace, pods, addresses.
//!
//! What the templates say stays as users get it, but for one thing: pods of a journey share a network, so their
//! frontends bind the pod's own address, from HAProxy's environment, instead of every address.

use crate::failure::{Failure, Outcome};
use serde_json::{Value, json};
use std::{fs, path::Path};

/// The variable that holds a pod's address in the environment of its HAProxy.
pub const POD_ADDRESS: &str = "POD_IP";
/// The name of every journey's configuration.
pub const NAME: &str = "demo";
/// The name of the Secret it refers to.
pub const CREDENTIALS: &str = "demo-credentials";

/// A configuration as a manifest.
#[derive(Clone, Debug)]
pub struct Configuration {
    /// The whole object; journeys change it as they like.
    pub manifest: Value,
}

impl Configuration {
    /// The demo's, for `namespace`.
    ///
    /// # Errors
    /// It is missing or no YAML.
    pub fn demo(namespace: &str) -> Outcome<Self> {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/demo/config.yaml");
        let text = fs::read_to_string(&file).map_err(|e| Failure::new(format!("{}: {e}", file.display())))?;
        let mut manifest: Value = serde_saphyr::from_str(&text)?;
        manifest["metadata"] = json!({ "name": NAME });
        let spec = &mut manifest["spec"];
        spec["credentialsSecretRef"] = json!({ "name": CREDENTIALS });
        spec["podSelector"] = json!({ "matchLabels": pod_labels() });
        spec["dataplane"]["port"] = json!(crate::haproxy_pod::AGENT_PORT);
        spec["controller"] = json!({ "leaderElection": { "leaseDuration": "3s", "renewDeadline": "2s", "retryPeriod": "500ms" } });
        for resource in
            spec["watchedResources"].as_object_mut().into_iter().flat_map(serde_json::Map::values_mut)
        {
            resource["namespaces"] = json!([namespace]);
        }
        bind_own_address(spec);
        Ok(Self { manifest })
    }

    /// The template of haproxy.cfg.
    #[must_use]
    pub fn template(&self) -> &str {
        self.manifest["spec"]["haproxyConfig"]["template"].as_str().unwrap_or_default()
    }

    /// This configuration with another template of haproxy.cfg.
    #[must_use]
    pub fn with_template(&self, template: String) -> Self {
        let mut changed = self.clone();
        changed.manifest["spec"]["haproxyConfig"]["template"] = Value::String(template);
        changed
    }

    /// The port of its first `bind` line, with `ssl` or without.
    ///
    /// # Errors
    /// It has no such line, or not a number there.
    pub fn port(&self, tls: bool) -> Outcome<u16> {
        let spec = self.manifest["spec"].to_string();
        let binds = spec.split("\\n").filter_map(|line| line.trim_start().strip_prefix("bind "));
        let mut found = binds.filter(|bind| bind.split_whitespace().any(|word| word == "ssl") == tls);
        let port = found.find_map(|bind| {
            let digits = bind.split_once(&format!("${{{POD_ADDRESS}}}:"))?.1;
            digits.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
        });
        port.ok_or_else(|| {
            Failure::new(format!(
                "the demo's configuration has no bind line of a journey's kind (tls: {tls})"
            ))
        })
    }
}

/// The labels of every HAProxy pod.
#[must_use]
pub fn pod_labels() -> Value {
    json!({ "app": "haproxy" })
}

/// Rewrites every `bind` of every address, in all texts of `value`.
fn bind_own_address(value: &mut Value) {
    match value {
        Value::String(text) if text.contains("bind ") => {
            *text = text.split_inclusive('\n').map(bound_to_own_address).collect();
        }
        Value::Array(items) => items.iter_mut().for_each(bind_own_address),
        Value::Object(fields) => fields.values_mut().for_each(bind_own_address),
        _ => {}
    }
}

fn bound_to_own_address(line: &str) -> String {
    let everywhere = ["*:", ":::", "[::]:", "0.0.0.0:", ":"];
    let indent = line.len() - line.trim_start().len();
    let rewritten = line.trim_start().strip_prefix("bind ").and_then(|rest| {
        let rest = everywhere.iter().find_map(|prefix| rest.trim_start().strip_prefix(prefix))?;
        let end = rest.find(char::is_whitespace).unwrap_or(rest.len());
        let (port, options) = rest.split_at(end);
        Some(format!("{}bind \"${{{POD_ADDRESS}}}:{port}\"{options}", " ".repeat(indent)))
    });
    rewritten.unwrap_or_else(|| line.to_owned())
}

#[cfg(test)]
mod tests {
    use super::{Configuration, bound_to_own_address};

    #[test]
    fn the_demo_serves_on_addresses_of_the_pods_own() {
        let demo = Configuration::demo("here").unwrap();
        assert_eq!((demo.port(false).unwrap(), demo.port(true).unwrap()), (7080, 7443));
        assert!(!demo.template().contains("bind *"), "{}", demo.template());
        assert_eq!(demo.manifest["spec"]["watchedResources"]["ingresses"]["namespaces"][0], "here");
    }

    #[test]
    fn a_bind_of_every_address_becomes_one_of_the_pods_own() {
        assert_eq!(bound_to_own_address("  bind *:80\n"), "  bind \"${POD_IP}:80\"\n");
        assert_eq!(bound_to_own_address("bind :443 ssl crt x\n"), "bind \"${POD_IP}:443\" ssl crt x\n");
        assert_eq!(bound_to_own_address("bind :::80 v4v6"), "bind \"${POD_IP}:80\" v4v6");
    }

    #[test]
    fn a_bind_of_one_address_stays() {
        assert_eq!(bound_to_own_address("bind 127.0.0.1:80\n"), "bind 127.0.0.1:80\n");
        assert_eq!(bound_to_own_address("bind unix@x.sock\n"), "bind unix@x.sock\n");
    }
}
