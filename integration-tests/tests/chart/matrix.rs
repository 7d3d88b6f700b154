//! What must be true of the objects of each combination of values.

use crate::{render, steady};
use integration_tests::{
    Outcome,
    chart::{Release, combinations, merged, the},
    ensure,
    program::Helm,
};
use serde_json::{Value, json};
use std::collections::BTreeSet;

const CLUSTERWIDE: [&str; 5] =
    ["ClusterRole", "ClusterRoleBinding", "GatewayClass", "IngressClass", "ValidatingWebhookConfiguration"];

#[tokio::test]
async fn each_combination_gives_whole_objects() -> Outcome {
    for values in combinations() {
        let objects = render(&merged(steady(), &values)).await?;
        let problems: Vec<String> = objects.iter().filter_map(|o| problem(o, &objects)).collect();
        ensure(problems.is_empty(), format!("{values}: {}", problems.join("; ")))?;
        let ids: BTreeSet<String> = objects
            .iter()
            .map(|o| format!("{} {} {}", o["kind"], o["metadata"]["namespace"], o["metadata"]["name"]))
            .collect();
        ensure(ids.len() == objects.len(), format!("{values}: two objects of one name"))?;
    }
    Ok(())
}

/// What is wrong with `object`, if anything.
fn problem(object: &Value, all: &[Value]) -> Option<String> {
    let (kind, name) = (object["kind"].as_str()?, object["metadata"]["name"].as_str()?);
    let says = |what: &str| Some(format!("{kind} {name} {what}"));
    if object["metadata"]["namespace"].is_string() == CLUSTERWIDE.contains(&kind) {
        return says("has no namespace, or has one and may not");
    }
    if object["metadata"]["labels"]["app.kubernetes.io/instance"] != "haptic" {
        return says("has no label of its release");
    }
    if object.to_string().contains("<nil>") || object.to_string().contains("<no value>") {
        return says("prints a value that is not there");
    }
    match kind {
        "Deployment" | "DaemonSet" => problem_of_pods(object).and_then(|what| says(&what)),
        "Service" | "PodDisruptionBudget" | "NetworkPolicy" => {
            let selector = match kind {
                "Service" => &object["spec"]["selector"],
                "NetworkPolicy" => &object["spec"]["podSelector"]["matchLabels"],
                _ => &object["spec"]["selector"]["matchLabels"],
            };
            let ports = named_ports(object);
            let fits = |pods: &&Value| {
                selects(selector, &pods["spec"]["template"]["metadata"]["labels"])
                    && ports.is_subset(&container_ports(pods))
            };
            let pods = all.iter().filter(|o| o["spec"]["template"]["spec"]["containers"].is_array());
            if pods.filter(fits).count() == 1 {
                None
            } else {
                says("selects not one kind of pods with its ports")
            }
        }
        _ => None,
    }
}

fn problem_of_pods(object: &Value) -> Option<String> {
    let template = &object["spec"]["template"];
    if !selects(&object["spec"]["selector"]["matchLabels"], &template["metadata"]["labels"]) {
        return Some("does not select its own pods".into());
    }
    let pod = &template["spec"];
    let is_safe = containers(pod).all(is_confined)
        && pod["securityContext"]["runAsNonRoot"] == true
        && pod["securityContext"]["seccompProfile"]["type"] == "RuntimeDefault";
    let ports = container_ports(object);
    let is_probed = |container: &Value| {
        ["livenessProbe", "readinessProbe"].iter().all(|probe| {
            let port = [&container[probe]["httpGet"]["port"], &container[probe]["tcpSocket"]["port"]];
            port.iter().any(|port| port.as_str().is_some_and(|port| ports.contains(port)))
        })
    };
    let probed = pod["containers"].as_array().is_some_and(|all| all.iter().all(is_probed));
    match (is_safe, probed) {
        (false, _) => Some("is not confined".into()),
        (_, false) => Some("is probed on a port that it has not".into()),
        _ => None,
    }
}

/// All of a pod, those that prepare it, too.
fn containers(pod: &Value) -> impl Iterator<Item = &Value> {
    ["initContainers", "containers"].into_iter().flat_map(|kind| pod[kind].as_array().into_iter().flatten())
}

fn is_confined(container: &Value) -> bool {
    let safe = &container["securityContext"];
    safe["readOnlyRootFilesystem"] == true
        && safe["allowPrivilegeEscalation"] == false
        && safe["capabilities"]["drop"] == json!(["ALL"])
}

fn selects(selector: &Value, labels: &Value) -> bool {
    let wanted = selector.as_object().cloned().unwrap_or_default();
    !wanted.is_empty() && wanted.iter().all(|(key, value)| labels[key] == *value)
}

fn container_ports(pods: &Value) -> BTreeSet<String> {
    let ports = containers(&pods["spec"]["template"]["spec"])
        .flat_map(|container| container["ports"].as_array().into_iter().flatten());
    ports.filter_map(|port| port["name"].as_str().map(str::to_owned)).collect()
}

/// The ports that a Service or NetworkPolicy names.
fn named_ports(object: &Value) -> BTreeSet<String> {
    let of = |list: &Value, field: &str| -> Vec<String> {
        let ports = list.as_array().into_iter().flatten();
        ports.filter_map(|port| port[field].as_str().map(str::to_owned)).collect()
    };
    let rules = object["spec"]["ingress"].as_array().into_iter().flatten();
    let mut named = of(&object["spec"]["ports"], "targetPort");
    named.extend(rules.flat_map(|rule| of(&rule["ports"], "port")));
    named.into_iter().collect()
}

#[tokio::test]
async fn helm_3_and_helm_4_make_the_same_of_it() -> Outcome {
    let dir = tempfile::tempdir()?;
    for values in combinations().iter().step_by(6) {
        let values = merged(values.clone(), &steady());
        let by = async |helm: Helm| -> Outcome<BTreeSet<String>> {
            let release = Release::rendered("haptic", "edge", dir.path()).by(helm);
            Ok(release.render(&values).await?.iter().map(Value::to_string).collect())
        };
        let (by_3, by_4) = (by(Helm::V3).await?, by(Helm::V4).await?);
        let different: Vec<&String> = by_3.symmetric_difference(&by_4).collect();
        ensure(different.is_empty(), format!("{values}: {different:?}"))?;
    }
    Ok(())
}

#[tokio::test]
async fn redirects_lead_to_the_port_that_clients_find_https_at() -> Outcome {
    let node_port = |port: u16| json!({ "service": { "type": "NodePort", "nodePorts": { "https": port } } });
    for (haproxy, expected) in [
        (json!({}), 443),
        (json!({ "service": { "ports": { "https": 8443 } } }), 8443),
        (node_port(30443), 30443),
        (node_port(0), 443),
        (json!({ "service": { "enabled": false }, "hostPorts": { "https": 9443 } }), 9443),
    ] {
        let objects = render(&merged(steady(), &json!({ "haproxy": haproxy }))).await?;
        let configuration = objects.iter().find(|o| o["kind"] == "HAProxyTemplateConfig");
        let settings = configuration.map(|o| &o["spec"]["templatingSettings"]["extraContext"]);
        let port = settings.map(|settings| settings["httpsPublicPort"].clone()).unwrap_or_default();
        ensure(port == expected, format!("{haproxy}: {port}"))?;
    }
    Ok(())
}

#[tokio::test]
async fn http_3_has_a_port_of_pods_service_and_policy_where_it_is_set() -> Outcome {
    for on in [true, false] {
        let values = json!({"configuration": {"extraContext": {"http3": on}}, "networkPolicy": {"enabled": true},
            "haproxy": {"service": {"type": "NodePort", "nodePorts": {"https": 30443}}}});
        let objects = render(&merged(steady(), &values)).await?;
        let udp = |kind: &str, pointer: &str| {
            let of_kind = objects.iter().filter(|object| object["kind"] == kind);
            let ports = of_kind.filter_map(|object| object.pointer(pointer)?.as_array());
            ports.flatten().filter(|port| port["protocol"] == "UDP").cloned().collect::<Vec<Value>>()
        };
        let service = udp("Service", "/spec/ports");
        let of_pods =
            ["Deployment", "DaemonSet"].map(|kind| udp(kind, "/spec/template/spec/containers/0/ports"));
        let policy = udp("NetworkPolicy", "/spec/ingress/0/ports");
        let counts = [service.len(), of_pods.concat().len(), policy.len()];
        ensure(counts == [usize::from(on); 3], format!("{on}: {service:?} {of_pods:?} {policy:?}"))?;
        ensure(service.iter().all(|port| port["nodePort"] == 30443), format!("{service:?}"))?;
    }
    Ok(())
}

#[tokio::test]
async fn tcp_services_have_ports_of_pods_service_and_policy() -> Outcome {
    let values = json!({"configuration": {"extraContext": {"tcpPorts": [{"ports": 5432, "namespaces": ["db"]}, "9000-9001"]}}, "networkPolicy": {"enabled": true}});
    let objects = render(&merged(steady(), &values)).await?;
    let ports = |kind: &str, pointer: &str, field: &str| {
        let of_kind = objects.iter().filter(|object| object["kind"] == kind);
        let ports = of_kind.filter_map(|object| object.pointer(pointer)?.as_array()).flatten();
        let numbers = ports.filter_map(|port| port[field].as_u64());
        numbers.filter(|port| [5432, 9000, 9001].contains(port)).collect::<Vec<u64>>()
    };
    let containers = "/spec/template/spec/containers/0/ports";
    let of_pods =
        [ports("Deployment", containers, "containerPort"), ports("DaemonSet", containers, "containerPort")]
            .concat();
    let all = [
        of_pods,
        ports("Service", "/spec/ports", "targetPort"),
        ports("NetworkPolicy", "/spec/ingress/0/ports", "port"),
    ];
    ensure(all.iter().all(|ports| *ports == [5432, 9000, 9001]), format!("{all:?}"))?;
    let configuration = objects.iter().find(|object| object["kind"] == "HAProxyTemplateConfig");
    let listed =
        configuration.map(|one| one["spec"]["templatingSettings"]["extraContext"]["tcpPorts"].clone());
    ensure(listed == Some(values["configuration"]["extraContext"]["tcpPorts"].clone()), format!("{listed:?}"))
}

/// An empty list of peers in a rule is everybody, also from outside of the cluster.
#[tokio::test]
async fn metrics_for_nobody_are_for_nobody() -> Outcome {
    let values = json!({"networkPolicy": {"metrics": []}, "monitoring": {"podMonitors": {"enabled": true}}});
    let objects = render(&merged(steady(), &values)).await?;
    let policies = objects.iter().filter(|object| object["kind"] == "NetworkPolicy");
    let rules: Vec<&Value> =
        policies.flat_map(|policy| policy["spec"]["ingress"].as_array().into_iter().flatten()).collect();
    let named = |name: &str| rules.iter().filter(|rule| rule["ports"][0]["port"] == name).collect::<Vec<_>>();
    ensure(named("metrics").is_empty(), format!("{rules:?}"))?;
    let of_agents = named("agent");
    let peers = of_agents.first().and_then(|rule| rule["from"].as_array()).map(Vec::len);
    ensure(peers == Some(1), format!("{of_agents:?}"))
}

#[tokio::test]
async fn the_policy_lets_clients_reach_gateways_at_the_ports_that_settings_give_them() -> Outcome {
    let usual = json!([[20000, 20127], [20200, 20231], [20300, 20363]]);
    let moved = json!({"firstPort": 30000, "ports": 10, "firstTcpPort": 31000});
    for (settings, expected) in
        [(json!({}), usual), (moved, json!([[30000, 30009], [20200, 20231], [31000, 31063]]))]
    {
        let values = json!({"gateway": {"enabled": true},
            "configuration": {"extraContext": {"gateway": settings}}});
        let objects = render(&merged(steady(), &values)).await?;
        let policies = objects.iter().filter(|object| object["kind"] == "NetworkPolicy");
        let ports =
            policies.filter_map(|policy| policy.pointer("/spec/ingress/0/ports")?.as_array()).flatten();
        let ranges = ports.filter(|port| !port["endPort"].is_null());
        let found: BTreeSet<String> =
            ranges.map(|port| json!([port["port"], port["endPort"]]).to_string()).collect();
        let expected: BTreeSet<String> =
            expected.as_array().into_iter().flatten().map(Value::to_string).collect();
        ensure(found == expected, format!("{settings}: {found:?}"))?;
    }
    Ok(())
}

#[tokio::test]
async fn the_service_that_all_gateways_share_leads_to_their_ports_and_the_policy_lets_clients_there()
-> Outcome {
    let values = json!({"gateway": {"enabled": true, "serviceMode": "shared", "sharedPorts": [8081]}});
    let objects = render(&merged(steady(), &values)).await?;
    let of = |kind: &str, list: &str| -> Vec<Value> {
        let of_kind = objects.iter().filter(|object| object["kind"] == kind);
        of_kind.filter_map(|object| object.pointer(list)?.as_array()).flatten().cloned().collect()
    };
    let leads = of("Service", "/spec/ports")
        .into_iter()
        .any(|port| port["port"] == 8081 && port["targetPort"] == 8081);
    let lets = of("NetworkPolicy", "/spec/ingress/0/ports").into_iter().any(|port| port["port"] == 8081);
    ensure(leads && lets, format!("the Service leads there: {leads}; the policy lets clients there: {lets}"))
}

/// Of servers there are as many as a tenant's Services have endpoints.
#[tokio::test]
async fn series_of_servers_are_scraped_only_where_somebody_asks_for_them() -> Outcome {
    let scopes = async |scopes: Value| -> Outcome<Vec<Value>> {
        let values = json!({"monitoring": {"podMonitors": merged(json!({"enabled": true}), &scopes)}});
        let objects = render(&merged(steady(), &values)).await?;
        let monitors = objects.iter().filter(|object| object["kind"] == "PodMonitor");
        let endpoints =
            monitors.flat_map(|one| one["spec"]["podMetricsEndpoints"].as_array().into_iter().flatten());
        Ok(endpoints.filter_map(|endpoint| endpoint.pointer("/params/scope").cloned()).collect())
    };
    let usual = scopes(json!({})).await?;
    ensure(usual == [json!(["global", "frontend", "backend"])], format!("{usual:?}"))?;
    let all = scopes(json!({"scopes": []})).await?;
    ensure(all.is_empty(), format!("{all:?}"))
}

/// A label that is a number in YAML is refused by every API server.
#[tokio::test]
async fn a_release_may_be_called_by_a_number() -> Outcome {
    let dir = tempfile::tempdir()?;
    let objects = Release::rendered("2024", "edge", dir.path()).render(&steady()).await?;
    let labelled = |object: &&Value| object["metadata"]["labels"]["app.kubernetes.io/instance"] == "2024";
    let others: Vec<&Value> = objects.iter().filter(|object| !labelled(object)).collect();
    ensure(others.is_empty(), format!("{others:?}"))?;
    let configuration = objects.iter().find(|object| object["kind"] == "HAProxyTemplateConfig");
    let selected = configuration
        .map(|one| one["spec"]["podSelector"]["matchLabels"]["app.kubernetes.io/instance"].clone());
    ensure(selected == Some(json!("2024")), format!("{selected:?}"))
}

/// It selects all namespaces, so no namespace is read to know which.
#[tokio::test]
async fn an_empty_selector_needs_no_right() -> Outcome {
    for (selector, reads_namespaces) in [("", false), (" ", false), ("edge=true", true)] {
        let values = json!({ "configuration": { "libraries": [], "spec": { "watchedResources": {
            "tls": { "apiVersion": "v1", "resources": "secrets", "namespaceSelector": selector },
        } } } });
        let objects = render(&merged(steady(), &values)).await?;
        let roles = objects.iter().filter(|object| object["kind"] == "ClusterRole");
        let rules: Vec<&Value> =
            roles.flat_map(|role| role["rules"].as_array().into_iter().flatten()).collect();
        let watches = |rule: &&Value| {
            let has = |field: &str, word: &str| {
                rule[field].as_array().is_some_and(|all| all.contains(&json!(word)))
            };
            has("resources", "namespaces") && has("verbs", "watch")
        };
        ensure(rules.iter().any(watches) == reads_namespaces, format!("{selector:?}: {rules:?}"))?;
    }
    Ok(())
}

#[tokio::test]
async fn rights_follow_what_is_watched() -> Outcome {
    let values = json!({ "configuration": { "libraries": ["base"], "spec": { "watchedResources": {
        "pages": { "apiVersion": "example.com/v1", "resources": "pages", "store": "on-demand" },
        "services": { "apiVersion": "v1", "resources": "services", "namespaces": ["a"] },
        "tls": { "apiVersion": "v1", "resources": "secrets", "namespaceSelector": "edge=true" },
    } } } });
    let objects = render(&merged(steady(), &values)).await?;
    let rules = |kind: &str, namespace: Option<&str>| -> Vec<Value> {
        let of = |o: &&Value| o["kind"] == kind && o["metadata"]["namespace"].as_str() == namespace;
        objects.iter().filter(of).flat_map(|o| o["rules"].as_array().cloned().unwrap_or_default()).collect()
    };
    let everywhere = rules("ClusterRole", None);
    let reads = |group: &str, resource: &str, verbs: &Value| {
        everywhere.iter().any(|rule| {
            rule["apiGroups"] == json!([group])
                && rule["resources"] == json!([resource])
                && rule["verbs"] == *verbs
        })
    };
    ensure(reads("example.com", "pages", &json!(["get", "list", "watch"])), format!("{everywhere:?}"))?;
    ensure(reads("", "secrets", &json!(["list", "watch"])), format!("{everywhere:?}"))?;
    ensure(reads("", "namespaces", &json!(["get", "list", "watch"])), format!("{everywhere:?}"))?;
    let text = json!(everywhere).to_string();
    ensure(!text.contains("services") && !text.contains("endpointslices"), text)?;
    let in_a = rules("Role", Some("a"));
    let expected = json!([{ "apiGroups": [""], "resources": ["services"], "verbs": ["list", "watch"] }]);
    ensure(json!(in_a) == expected, format!("{in_a:?}"))
}

#[tokio::test]
async fn config_maps_that_settings_name_are_read_and_no_others() -> Outcome {
    let values = json!({ "configuration": {
        "libraries": ["base", "ssl", "ingress", "annotations-ingress-nginx"],
        "extraContext": { "annotationFamilies": { "ingress-nginx": {
            "configMap": "legacy/nginx-config", "tcpServices": "legacy/tcp",
        } } },
    } });
    let objects = render(&merged(steady(), &values)).await?;
    let in_legacy = |o: &&Value| o["kind"] == "Role" && o["metadata"]["namespace"] == "legacy";
    let rules: Vec<Value> = objects
        .iter()
        .filter(in_legacy)
        .flat_map(|o| o["rules"].as_array().cloned().unwrap_or_default())
        .collect();
    let rule = |name: &str| json!({ "apiGroups": [""], "resources": ["configmaps"], "resourceNames": [name], "verbs": ["list", "watch"] });
    ensure(json!(rules) == json!([rule("nginx-config"), rule("tcp")]), format!("{rules:?}"))
}

#[tokio::test]
async fn the_webhook_guards_what_is_watched_and_nothing_else() -> Outcome {
    let values = |guarded: &[&str]| {
        json!({
            "webhook": { "resources": guarded },
            "configuration": { "spec": { "watchedResources": {
                "pages": { "apiVersion": "example.com/v1", "resources": "pages" },
            } } },
        })
    };
    let objects = render(&merged(steady(), &values(&["ingresses", "pages"]))).await?;
    let registered = &the(&objects, "ValidatingWebhookConfiguration", "haptic.edge")?["webhooks"][1]["rules"];
    let guarded: Vec<&Value> =
        registered.as_array().into_iter().flatten().map(|r| &r["resources"][0]).collect();
    ensure(guarded == [&json!("ingresses"), &json!("pages")], format!("{registered}"))?;
    let watched = &the(&objects, "HAProxyTemplateConfig", "haptic")?["spec"]["watchedResources"];
    ensure(watched["pages"]["enableValidationWebhook"] == true, watched.to_string())?;
    let why = render(&merged(steady(), &values(&["page"]))).await.err().map(|e| e.sentence().to_owned());
    let why = why.unwrap_or_default();
    ensure(why.contains("webhook.resources: nothing called page is watched"), why)
}

#[tokio::test]
async fn haproxy_has_what_the_grace_period_leaves_to_finish_its_connections() -> Outcome {
    let pods = |grace: u32, pause: u32| json!({ "haproxy": { "terminationGracePeriodSeconds": grace, "preStopSeconds": pause } });
    for (grace, pause, drain) in [(30, 5, 17), (600, 20, 572), (30, 0, 22)] {
        let objects = render(&merged(steady(), &pods(grace, pause))).await?;
        let container =
            &the(&objects, "Deployment", "-haproxy")?["spec"]["template"]["spec"]["containers"][0];
        let arguments = container["args"].as_array().cloned().unwrap_or_default();
        ensure(arguments.contains(&json!(format!("--drain={drain}"))), format!("{arguments:?}"))?;
    }
    let why = render(&merged(steady(), &pods(10, 5))).await.err().map(|e| e.sentence().to_owned());
    let why = why.unwrap_or_default();
    ensure(why.contains("haproxy.terminationGracePeriodSeconds must be more than 8 s longer"), why)
}

#[tokio::test]
async fn ports_of_the_configuration_are_those_of_the_container() -> Outcome {
    let ports = json!({ "healthzPort": 18080, "metricsPort": 19090, "webhookPort": 19443 });
    let values = json!({ "configuration": { "spec": { "controller": ports } } });
    let objects = render(&merged(steady(), &values)).await?;
    let pods = &the(&objects, "Deployment", "-controller")?["spec"]["template"]["spec"];
    let expected = json!([
        { "name": "healthz", "containerPort": 18080 },
        { "name": "metrics", "containerPort": 19090 },
        { "name": "webhook", "containerPort": 19443 },
    ]);
    ensure(pods["containers"][0]["ports"] == expected, pods.to_string())
}

#[tokio::test]
async fn releases_in_one_namespace_have_nothing_in_common() -> Outcome {
    let dir = tempfile::tempdir()?;
    let mut seen = BTreeSet::new();
    for name in ["one", "two"] {
        let release = Release::rendered(name, "edge", dir.path());
        for object in release.render(&steady()).await? {
            let id = format!("{} {}", object["kind"], object["metadata"]["name"]);
            ensure(seen.insert(id.clone()), format!("both releases have {id}"))?;
            let spec = &object["spec"];
            for selector in [&spec["selector"]["matchLabels"], &spec["podSelector"]["matchLabels"]] {
                let other = selector.is_object() && selector["app.kubernetes.io/instance"] != name;
                ensure(!other, format!("{id} selects pods of another release: {selector}"))?;
            }
        }
    }
    Ok(())
}
