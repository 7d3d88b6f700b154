//! Every value means something, and nothing else is taken.

use crate::{render, steady};
use integration_tests::{
    Outcome,
    chart::{self, merged},
    ensure,
};
use serde_json::{Value, json};
use std::{collections::BTreeMap, fs};

/// A value that is not the default, where it cannot be guessed; and what has to be said besides for it to matter.
fn examples() -> BTreeMap<&'static str, (Value, Value)> {
    let autoscaled = json!({ "haproxy": { "autoscaling": { "enabled": true } } });
    let monitored = json!({ "monitoring": {
        "podMonitors": { "enabled": true }, "rules": { "enabled": true }, "dashboard": { "enabled": true },
    } });
    let behind_node_ports = json!({ "haproxy": { "service": { "type": "NodePort" } } });
    let by_cert_manager = json!({ "webhook": { "certificate": { "certManager": { "enabled": true } } } });
    let by_sidecar = json!({ "haproxy": { "transport": "dataplaneapi" } });
    let with_gateways = json!({ "gateway": { "enabled": true } });
    let shared = json!({ "gateway": { "enabled": true, "serviceMode": "shared" } });
    let plain = Value::Null;
    [
        ("image.digest", json!(format!("sha256:{}", "0".repeat(64))), &plain),
        ("image.pullPolicy", json!("Always"), &plain),
        ("configuration.libraries", json!(["base"]), &plain),
        ("configuration.extraContext", json!({ "accessLog": "json" }), &plain),
        ("configuration.spec", json!({ "logging": { "level": "DEBUG" } }), &plain),
        ("ingressClass.controller", json!("example.com/edge"), &plain),
        ("ingressClass.parameters", json!({"kind": "ConfigMap", "name": "edge"}), &plain),
        ("ingressStatus.addresses", json!(["192.0.2.7"]), &plain),
        ("gateway.class.create", json!(false), &with_gateways),
        ("gateway.class.name", json!("edge"), &with_gateways),
        (
            "gateway.class.parameters",
            json!({"group": "haproxy-haptic.org", "kind": "HAProxyTemplateConfig", "namespace": "edge", "name": "haptic"}),
            &with_gateways,
        ),
        ("gateway.controller", json!("example.com/edge"), &with_gateways),
        ("gateway.serviceMode", json!("shared"), &with_gateways),
        ("gateway.sharedPorts", json!([8081]), &shared),
        ("gateway.serviceType", json!("ClusterIP"), &with_gateways),
        ("gateway.allowedAddresses", json!(["192.0.2.0/24"]), &with_gateways),
        ("gateway.annotationPrefixes", json!(["example.com/"]), &with_gateways),
        ("webhook.resources", json!(["services"]), &plain),
        ("webhook.failurePolicy", json!("Fail"), &plain),
        ("webhook.namespaceSelector", json!({ "matchLabels": { "edge": "true" } }), &plain),
        ("webhook.objectSelector", json!({ "matchLabels": { "edge": "true" } }), &plain),
        ("webhook.certificate.certManager.issuerRef", json!({ "name": "ours" }), &by_cert_manager),
        ("controller.leaderElection.leaseDuration", json!("30s"), &plain),
        ("controller.leaderElection.renewDeadline", json!("12s"), &plain),
        ("controller.leaderElection.retryPeriod", json!("3s"), &plain),
        ("controller.env", json!([{ "name": "RUST_LOG", "value": "debug" }]), &plain),
        ("controller.tolerations", json!([{ "operator": "Exists" }]), &plain),
        ("controller.affinity", json!({ "podAntiAffinity": {} }), &plain),
        ("haproxy.kind", json!("DaemonSet"), &plain),
        ("haproxy.version", json!("3.0"), &plain),
        ("haproxy.transport", json!("dataplaneapi"), &plain),
        ("haproxy.dataplaneapi.image", json!("ours"), &by_sidecar),
        ("haproxy.dataplaneapi.program", json!("/bin/dataplaneapi"), &by_sidecar),
        ("haproxy.dataplaneapi.haproxy", json!("/bin/haproxy"), &by_sidecar),
        ("haproxy.dataplaneapi.resources.requests.cpu", json!("1"), &by_sidecar),
        ("haproxy.dataplaneapi.resources.requests.memory", json!("1Gi"), &by_sidecar),
        ("haproxy.dataplaneapi.resources.limits", json!({ "memory": "2Gi" }), &by_sidecar),
        ("haproxy.autoscaling.minReplicas", json!(3), &autoscaled),
        ("haproxy.autoscaling.maxReplicas", json!(30), &autoscaled),
        ("haproxy.autoscaling.cpuPercent", json!(50), &autoscaled),
        ("haproxy.service.type", json!("ClusterIP"), &plain),
        ("haproxy.service.nodePorts.http", json!(30080), &behind_node_ports),
        ("haproxy.service.nodePorts.https", json!(30443), &behind_node_ports),
        ("haproxy.service.externalTrafficPolicy", json!("Cluster"), &plain),
        ("haproxy.service.loadBalancerSourceRanges", json!(["192.0.2.0/24"]), &plain),
        ("haproxy.files.medium", json!(""), &plain),
        ("haproxy.files.sizeLimit", json!("1Gi"), &plain),
        ("haproxy.env", json!([{ "name": "RUST_LOG", "value": "debug" }]), &plain),
        ("haproxy.tolerations", json!([{ "operator": "Exists" }]), &plain),
        ("haproxy.affinity", json!({ "podAntiAffinity": {} }), &plain),
        ("podSecurityContext.seccompProfile.type", json!("Localhost"), &plain),
        ("listenAddress", json!("::"), &plain),
        ("networkPolicy.clients", json!([{ "ipBlock": { "cidr": "192.0.2.0/24" } }]), &plain),
        ("networkPolicy.metrics", json!([{ "podSelector": {} }]), &plain),
        ("monitoring.podMonitors.interval", json!("10s"), &monitored),
        ("monitoring.podMonitors.scopes", json!(["global"]), &monitored),
        ("monitoring.podMonitors.labels", json!({ "a": "b" }), &monitored),
        ("monitoring.rules.labels", json!({ "a": "b" }), &monitored),
        ("monitoring.dashboard.labels.grafana_dashboard", json!("2"), &monitored),
    ]
    .map(|(path, value, with)| (path, (value, with.clone())))
    .into()
}

/// Another value of the same type.
fn other(default: &Value) -> Value {
    match default {
        Value::Bool(set) => json!(!set),
        Value::Number(number) => json!(number.as_i64().unwrap_or_default() + 1),
        Value::Array(_) => json!(["other"]),
        Value::Object(_) => json!({ "other": "other" }),
        _ => json!("other"),
    }
}

/// Paths of all values that hold no others, with their defaults.
fn leaves(path: &str, value: &Value, found: &mut BTreeMap<String, Value>) {
    match value.as_object().filter(|fields| !fields.is_empty()) {
        Some(fields) => {
            for (key, inner) in fields {
                let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
                leaves(&path, inner, found);
            }
        }
        None => drop(found.insert(path.to_owned(), value.clone())),
    }
}

fn at(path: &str, value: Value) -> Value {
    path.rsplit('.').fold(value, |inner, key| json!({ key: inner }))
}

fn defaults() -> BTreeMap<String, Value> {
    let text = fs::read_to_string(chart::folder().join("values.yaml")).unwrap();
    let mut found = BTreeMap::new();
    leaves("", &serde_saphyr::from_str(&text).unwrap(), &mut found);
    found
}

#[tokio::test]
async fn every_value_changes_what_is_rendered() -> Outcome {
    let examples = examples();
    let mut known: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    for (path, default) in defaults() {
        let (value, with) =
            examples.get(path.as_str()).cloned().unwrap_or_else(|| (other(&default), Value::Null));
        let around = if with.is_null() { steady() } else { merged(steady(), &with) };
        let without = match known.get(&around.to_string()) {
            Some(rendered) => rendered.clone(),
            None => render(&around).await?,
        };
        known.insert(around.to_string(), without.clone());
        let changed = merged(around, &at(&path, value.clone()));
        let rendered = render(&changed).await.map_err(|f| f.during(&format!("{path}={value}")))?;
        ensure(rendered != without, format!("{path}={value} changes nothing"))?;
    }
    let unknown: Vec<_> = examples.keys().filter(|path| !defaults().contains_key(**path)).collect();
    ensure(unknown.is_empty(), format!("values.yaml has no {unknown:?}"))
}

/// Pods and Service would stay at the other port.
#[tokio::test]
async fn a_port_that_is_set_in_the_wrong_place_is_refused_by_name() -> Outcome {
    for (wrong, right) in [
        ("configuration.extraContext.httpPort", "haproxy.ports.http"),
        ("configuration.extraContext.httpsPort", "haproxy.ports.https"),
        ("configuration.extraContext.healthPort", "haproxy.ports.metrics"),
        ("configuration.spec.dataplane.port", "haproxy.agentPort"),
    ] {
        let refused = render(&merged(steady(), &at(wrong, json!(8085)))).await.err();
        let why = refused.map(|failure| failure.sentence().to_owned()).unwrap_or_default();
        ensure(why.contains(wrong) && why.contains(right), format!("{wrong}: {why}"))?;
        let both = merged(at(wrong, json!(8085)), &at(right, json!(8085)));
        render(&merged(steady(), &both)).await.map_err(|failure| failure.during(wrong))?;
    }
    Ok(())
}

/// Names that do not exist at each place where there are others, and a value of a wrong type for each.
#[tokio::test]
async fn what_is_misspelt_or_of_a_wrong_type_is_refused_by_name() -> Outcome {
    let free = [
        "labels",
        "configuration.extraContext",
        "configuration.spec",
        "controller.resources",
        "haproxy.resources",
        "haproxy.dataplaneapi.resources",
        "podSecurityContext",
        "webhook.namespaceSelector",
        "webhook.objectSelector",
        "webhook.certificate.certManager.issuerRef",
        "monitoring.dashboard.labels",
    ];
    let strict: BTreeMap<String, Value> =
        defaults().into_iter().filter(|(path, _)| !free.iter().any(|free| path.starts_with(free))).collect();
    ensure(strict.len() > 80, format!("only {strict:?}"))?;
    let (mut misspelt, mut wrong) = (steady(), steady());
    for (path, default) in &strict {
        misspelt = merged(misspelt, &at(&format!("{path}x"), default.clone()));
        let other_type = if default.is_string() { json!([7]) } else { json!("no such thing") };
        wrong = merged(wrong, &at(path, other_type));
    }
    let why = async |values: &Value| -> Outcome<String> {
        let rendered = render(values).await;
        Ok(rendered.err().map(|failure| failure.sentence().to_owned()).unwrap_or_default())
    };
    let (of_names, of_types) = (why(&misspelt).await?, why(&wrong).await?);
    for path in strict.keys() {
        let place = format!("/{}", path.replace('.', "/"));
        let (parent, name) = place.rsplit_once('/').unwrap_or_default();
        let (parent, name) = (format!("at '{parent}'"), format!("'{name}x'"));
        let named = of_names.lines().any(|line| line.contains(&parent) && line.contains(&name));
        ensure(named, format!("{path}x is taken: {of_names}"))?;
        let place = format!("at '{place}'");
        ensure(of_types.contains(&place), format!("{path} may be of any type: {of_types}"))?;
    }
    Ok(())
}
