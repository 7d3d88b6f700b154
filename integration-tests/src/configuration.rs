//! The configurations of journeys: the built-in libraries, or the one that is written by hand, made to fit a journey: its
//! own namespace, pods, addresses.
//!
//! What the templates say stays as users get it, but for one thing: pods of a journey share a network, so their
//! frontends bind the pod's own address, from HAProxy's environment, instead of every address.

use crate::failure::{Failure, Outcome};
use serde_json::{Map, Value, json};
use std::{fs, path::Path};

/// The variable that holds a pod's address in the environment of its HAProxy.
pub const POD_ADDRESS: &str = "POD_IP";
/// The name of every journey's configuration.
pub const NAME: &str = "demo";
/// The name of the Secret it refers to.
pub const CREDENTIALS: &str = "demo-credentials";

/// Where frontends listen, in both configurations: plain and TLS.
pub const FRONTEND_PORTS: (u16, u16) = (7080, 7443);
/// Where HAProxy shows its statistics.
pub const HEALTH_PORT: u16 = 7084;

/// A configuration as a manifest.
#[derive(Clone, Debug)]
pub struct Configuration {
    /// The whole object; journeys change it as they like.
    pub manifest: Value,
}

impl Configuration {
    /// The built-in libraries, for `namespace`.
    pub fn libraries(namespace: &str) -> Outcome<Self> {
        let mut manifest = read("fixtures/ingress/config.yaml")?;
        let mut watched = Map::new();
        for name in ["base", "ssl", "ingress"] {
            let library = &mut read(&format!("charts/haptic/libraries/{name}.yaml"))?["spec"];
            watched.extend(library["watchedResources"].as_object().cloned().unwrap_or_default());
            // What binds takes the place of the library's part of that name.
            for snippet in ["bind-10-http", "bind-50-https", "health"] {
                let part = &mut library["templateSnippets"][snippet];
                if !part.is_null() {
                    bind_own_address(part);
                    manifest["spec"]["templateSnippets"][snippet] = part.take();
                }
            }
            if !library["haproxyConfig"].is_null() {
                manifest["spec"]["haproxyConfig"] = library["haproxyConfig"].take();
            }
        }
        let spec = &mut manifest["spec"];
        spec["watchedResources"] = watched.into();
        // Ingresses of journeys are of a class without an IngressClass, and their hosts answer over HTTP also where they have a certificate.
        spec["templatingSettings"]["extraContext"] =
            json!({ "ingressClass": { "name": "haptic" }, "sslRedirect": false });
        Ok(Self::fitted(manifest, namespace))
    }

    /// The one that is written by hand, for `namespace`.
    pub fn by_hand(namespace: &str) -> Outcome<Self> {
        Ok(Self::of(read("fixtures/by-hand/config.yaml")?, namespace))
    }

    /// Any one, for `namespace`.
    #[must_use]
    pub fn of(mut manifest: Value, namespace: &str) -> Self {
        bind_own_address(&mut manifest["spec"]);
        Self::fitted(manifest, namespace)
    }

    fn fitted(mut manifest: Value, namespace: &str) -> Self {
        manifest["metadata"] = json!({ "name": NAME });
        let spec = &mut manifest["spec"];
        spec["credentialsSecretRef"] = json!({ "name": CREDENTIALS });
        spec["podSelector"] = json!({ "matchLabels": pod_labels() });
        spec["dataplane"]["port"] = json!(crate::haproxy_pod::AGENT_PORT);
        spec["controller"] = json!({ "leaderElection": { "leaseDuration": "3s", "renewDeadline": "2s", "retryPeriod": "500ms" } });
        Self { manifest }.watching(&[namespace])
    }

    /// The same with limits that this many Ingresses of one namespace stay within, each with three servers.
    #[must_use]
    pub fn with_room_for(mut self, ingresses: usize) -> Self {
        // So many are within the defaults.
        if ingresses > 10_000 {
            self.manifest["spec"]["controller"]["limits"] = json!({
                "objectsPerNamespace": 2 * ingresses, "storeBytes": ingresses << 14, "watchedBytes": ingresses << 16,
                "fileBytes": 256 << 20, "mapEntries": 10 * ingresses, "servers": 5 * ingresses, "files": 2 * ingresses,
            });
        }
        self
    }

    /// The same for these namespaces.
    #[must_use]
    pub fn watching(mut self, namespaces: &[&str]) -> Self {
        let watched = self.manifest["spec"]["watchedResources"].as_object_mut();
        let watched = watched.into_iter().flat_map(Map::values_mut);
        for resource in watched.filter(|resource| resource["resources"] != "ingressclasses") {
            resource["namespaces"] = json!(namespaces);
        }
        self
    }

    /// The same with the library of the Gateway API beside the others: for listeners at port 80 HAProxy has `port` of its own address.
    #[must_use]
    pub fn with_gateways(mut self, port: u16) -> Self {
        let spec = &mut self.manifest["spec"];
        spec["libraries"] = json!(["base", "ssl", "ingress", "gateway"]);
        spec["controller"]["gateway"] = json!({ "serviceMode": "none" });
        spec["templatingSettings"]["extraContext"]["gateway"] =
            json!({ "portMode": "same", "portTargets": { "80": port } });
        spec["templateSnippets"]["gateway-bind"] =
            json!({ "template": format!("bind \"${{{POD_ADDRESS}}}:{{{{port}}}}\" name {{{{port}}}}") });
        self
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
}

fn read(file: &str) -> Outcome<Value> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(file);
    let text = fs::read_to_string(&file).map_err(|e| Failure::new(format!("{}: {e}", file.display())))?;
    Ok(serde_saphyr::from_str(&text)?)
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
    let everywhere = ["{{address}}:", "{{healthAddress}}:", "*:", ":::", "[::]:", "0.0.0.0:", ":"];
    let quic = "{{#if (contains address \":\")}}quic6{{else}}quic4{{/if}}@";
    let indent = line.len() - line.trim_start().len();
    let rewritten = line.trim_start().strip_prefix("bind ").and_then(|rest| {
        let (family, rest) = rest.strip_prefix(quic).map_or(("", rest), |rest| ("quic4@", rest));
        let rest = everywhere.iter().find_map(|prefix| rest.trim_start().strip_prefix(prefix))?;
        // The port may be an expression.
        let expression = rest.starts_with("{{").then(|| rest.find("}}")).flatten().map(|at| at + 2);
        let end = expression.or_else(|| rest.find(char::is_whitespace)).unwrap_or(rest.len());
        let (port, options) = rest.split_at(end);
        Some(format!("{}bind \"{family}${{{POD_ADDRESS}}}:{port}\"{options}", " ".repeat(indent)))
    });
    rewritten.unwrap_or_else(|| line.to_owned())
}

#[cfg(test)]
mod tests {
    use super::{Configuration, POD_ADDRESS, bound_to_own_address};
    use serde_json::Value;

    #[test]
    fn both_serve_on_addresses_of_the_pods_own() {
        let by_hand = Configuration::by_hand("here").unwrap();
        let libraries = Configuration::libraries("here").unwrap();
        for configuration in [&by_hand, &libraries] {
            let spec = &configuration.manifest["spec"];
            let mut binds = Vec::new();
            all_binds(spec, &mut binds);
            assert!(binds.len() >= 2, "{binds:?}");
            for bind in binds {
                let own = bind.replacen("quic4@", "", 1);
                assert!(own.starts_with(&format!("bind \"${{{POD_ADDRESS}}}:")), "{bind}");
            }
            assert_eq!(spec["watchedResources"]["ingresses"]["namespaces"][0], "here");
        }
        assert_eq!(
            libraries.manifest["spec"]["watchedResources"]["ingressclasses"]["namespaces"],
            Value::Null
        );
    }

    fn all_binds(value: &Value, found: &mut Vec<String>) {
        match value {
            Value::String(text) => {
                let lines = text.lines().map(str::trim);
                let binds = lines.filter(|line| line.starts_with("bind ") && !line.starts_with("bind unix@"));
                found.extend(binds.map(str::to_owned));
            }
            Value::Array(items) => items.iter().for_each(|item| all_binds(item, found)),
            Value::Object(fields) => fields.values().for_each(|field| all_binds(field, found)),
            _ => {}
        }
    }

    #[test]
    fn gateways_are_served_on_the_pods_own_address_too() {
        let manifest = Configuration::libraries("here").unwrap().with_gateways(7180).manifest;
        let bind = &manifest["spec"]["templateSnippets"]["gateway-bind"]["template"];
        assert_eq!(bind, "bind \"${POD_IP}:{{port}}\" name {{port}}");
    }

    #[test]
    fn a_bind_of_every_address_becomes_one_of_the_pods_own() {
        assert_eq!(bound_to_own_address("  bind *:80\n"), "  bind \"${POD_IP}:80\"\n");
        assert_eq!(bound_to_own_address("bind :443 ssl crt x\n"), "bind \"${POD_IP}:443\" ssl crt x\n");
        assert_eq!(bound_to_own_address("bind :::80 v4v6"), "bind \"${POD_IP}:80\" v4v6");
        let with_expression_later = "bind :443 ssl crt-list {{file_path \"x\" \"crt-list\"}}";
        assert_eq!(
            bound_to_own_address(with_expression_later),
            with_expression_later.replace(":443", "\"${POD_IP}:443\"")
        );
        assert_eq!(
            bound_to_own_address("bind {{address}}:{{@root.httpPort}}{{#if x}} y{{/if}}\n"),
            "bind \"${POD_IP}:{{@root.httpPort}}\"{{#if x}} y{{/if}}\n"
        );
    }

    #[test]
    fn a_bind_of_one_address_stays() {
        assert_eq!(bound_to_own_address("bind 127.0.0.1:80\n"), "bind 127.0.0.1:80\n");
        assert_eq!(bound_to_own_address("bind unix@x.sock\n"), "bind unix@x.sock\n");
    }
}
