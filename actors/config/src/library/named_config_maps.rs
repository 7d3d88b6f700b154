//! The ConfigMaps of other controllers that settings name: they are watched by their names.

use serde_json::{Map, Value, json};

/// Settings of `extraContext.annotationFamilies.NAME` that name a ConfigMap, each with what the watched resource's name ends with.
const SETTINGS: [(&str, &str); 3] =
    [("configMap", "configmap"), ("tcpServices", "tcpservices"), ("udpServices", "udpservices")];

/// Watches each ConfigMap that a setting names as NAMESPACE/NAME, unless the configuration has a watched resource of that name.
pub(super) fn watch(spec: &mut Value) {
    let families = spec.pointer("/templatingSettings/extraContext/annotationFamilies");
    let named: Vec<(String, Value)> =
        families.and_then(Value::as_object).into_iter().flatten().flat_map(of_family).collect();
    if named.is_empty() {
        return;
    }
    let Some(spec) = spec.as_object_mut() else { return };
    let watched = spec.entry("watchedResources").or_insert_with(|| Value::Object(Map::new()));
    if let Some(watched) = watched.as_object_mut() {
        for (name, resource) in named {
            watched.entry(name).or_insert(resource);
        }
    }
}

fn of_family((family, settings): (&String, &Value)) -> Vec<(String, Value)> {
    let named = SETTINGS.iter().filter_map(|(setting, ending)| {
        let (namespace, name) = settings.get(setting)?.as_str()?.split_once('/')?;
        let is_name = |text: &str| {
            !text.is_empty()
                && text.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b"-.".contains(&b))
        };
        let resource = json!({
            "apiVersion": "v1", "resources": "configmaps", "namespaces": [namespace],
            "fieldSelector": format!("metadata.name={name}"),
        });
        (is_name(namespace) && is_name(name))
            .then(|| (format!("{}{ending}", family.replace('-', "")), resource))
    });
    named.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_config_map_that_a_setting_names_is_watched_by_its_name() {
        let mut spec = json!({
            "watchedResources": {"haproxyorgconfigmap": {"apiVersion": "v1", "resources": "configmaps"}},
            "templatingSettings": {"extraContext": {"annotationFamilies": {
                "ingress-nginx": {"configMap": "edge/nginx-config", "tcpServices": "edge/tcp", "config": {}},
                "haproxy-org": {"configMap": "edge/other", "tcpServices": ""},
                "haproxy-ingress": {"configMap": "no-namespace", "tcpServices": "a/b,metadata.name=c"},
            }}},
        });
        watch(&mut spec);
        let watched = spec["watchedResources"].as_object().unwrap();
        let names: Vec<&String> = watched.keys().collect();
        assert_eq!(names, ["haproxyorgconfigmap", "ingressnginxconfigmap", "ingressnginxtcpservices"]);
        assert_eq!(
            watched["ingressnginxconfigmap"],
            json!({"apiVersion": "v1", "resources": "configmaps", "namespaces": ["edge"], "fieldSelector": "metadata.name=nginx-config"})
        );
        assert_eq!(watched["haproxyorgconfigmap"].get("namespaces"), None);
    }
}
