//! Statuses of the Gateway API and Services of Gateways, at a real API server: from kinds that are not there yet to a Gateway that goes.

use integration_tests::{
    Failure, Outcome, Scene, controller::Controller, ensure, eventually, haproxy_pod::HaproxyPod, http::get,
    manifest,
};
use serde_json::{Value, json};
use std::{
    net::SocketAddr,
    time::{Duration, Instant},
};

const FIRST: &str = include_str!("../../../fixtures/gateway/first.yaml");
const GROUP: &str = "gateway.networking.k8s.io/v1";
const CONTROLLER: &str = "haproxy-haptic.org/gateway-controller";
const PROGRAMMED: &str = "haproxy-haptic.org/Programmed";
/// A host whose routes the map of routes fails for.
const REFUSED: &str = "refused.example";
/// An entry of another controller, with what nobody here would write.
const FOREIGN: &str = "example.com/other";

/// A Gateway and a route before, during and after all that changes their statuses.
pub async fn statuses(scene: Scene) -> Outcome {
    let scene = scene.on_own_cluster().await?;
    configure(&scene).await?;
    let pod = scene.pod().await?;
    let mut controller = scene.controller()?;
    // Ready without a kind of the Gateway API, and nothing has to be restarted when they come.
    controller.ready().await?;
    scene.install_gateway_api().await?;

    let backend = scene.backend("a").await?;
    scene.apply(&manifest::service("shop")).await?;
    scene.apply(&manifest::endpoints("shop", &[backend.address])).await?;
    scene.cluster.apply("", &class()).await?;
    scene.apply(&gateway()).await?;
    scene.apply(&route("first")).await?;
    is_programmed(&scene, "first").await?;
    class_is_accepted(&scene).await?;
    let service = gateway_is_reached(&scene, &pod).await?;

    refused_routes_say_what_is_served(&scene).await?;
    streams_are_programmed(&scene).await?;
    waits_for_the_pod(&scene, &pod).await?;
    foreign_entries_stay(&scene).await?;
    controller = another_leader_writes_nothing(&scene, &pod, controller).await?;

    // A tenant's edit is undone.
    let mut taken = service.clone();
    taken["spec"] = json!({ "selector": { "app": "mine" }, "ports": service["spec"]["ports"] });
    taken["metadata"] = json!({ "name": service["metadata"]["name"] });
    scene.apply(&taken).await?;
    eventually("the Service leads to HAProxy's pods again", async || {
        let now = scene.cluster.get(&scene.namespace, &service).await?;
        ensure(now.data["spec"].get("selector").is_none(), now.data["spec"].to_string())
    })
    .await?;

    scene.cluster.delete(&scene.namespace, &gateway()).await?;
    eventually("the Service of a Gateway that is gone goes", async || {
        let found = scene.cluster.get(&scene.namespace, &service).await;
        ensure(found.is_err(), "it is there")
    })
    .await?;
    controller.is_live_and_ready().await
}

/// The port of HAProxy that the Gateway's leads to.
const BEHIND: u16 = 7180;
/// Where cert-manager's solvers are asked.
const CHALLENGE: &str = "/.well-known/acme-challenge/token";

/// What Argo Rollouts, Flagger and cert-manager do. A step of a rollout is what all pods answer by as soon as the route's status says so, and none
/// is a reload; a solver, as an Ingress and as a route, is served within a second.
pub async fn rollouts_and_solvers(scene: Scene) -> Outcome {
    let scene = scene.on_own_cluster().await?;
    scene.install_gateway_api().await?;
    serve_gateways(&scene).await?;
    let pod = scene.pod().await?;
    let controller = scene.ready_controller().await?;
    controller.says("made the certificate for hosts that have none").await?;
    let [stable, canary] = [scene.backend("stable").await?, scene.backend("canary").await?];
    for backend in [&stable, &canary] {
        scene.apply(&manifest::service(&backend.name)).await?;
        scene.apply(&manifest::endpoints(&backend.name, &[backend.address])).await?;
    }
    scene.cluster.apply("", &class()).await?;
    scene.apply(&gateway()).await?;
    scene.apply(&rollout(100, 0)).await?;
    is_programmed_as_it_is(&scene, &rollout(100, 0)).await?;

    let (address, before) = (SocketAddr::from((pod.address, BEHIND)), pod.worker().await?);
    for (weights, only) in
        [((95, 5), None), ((50, 50), None), ((0, 100), Some("canary")), ((100, 0), Some("stable"))]
    {
        let step = rollout(weights.0, weights.1);
        scene.apply(&step).await?;
        is_programmed_as_it_is(&scene, &step).await?;
        for _ in 0..20 {
            let answer = get(address, "rollout.example", "/").await?;
            only.map_or_else(|| answer.has_status(200), |only| answer.is_from(only))?;
        }
    }
    let mut solver = route("solver");
    let path = json!({ "path": { "type": "Exact", "value": CHALLENGE } });
    solver["spec"]["rules"] =
        json!([{ "matches": [path], "backendRefs": [{ "name": "canary", "port": 80 }] }]);
    is_served_within_a_second(&scene, &solver, address).await?;
    let mut solver = manifest::ingress("solver", "solver.example", "canary");
    solver["spec"]["rules"][0]["http"]["paths"][0]["path"] = json!(CHALLENGE);
    is_served_within_a_second(&scene, &solver, pod.http()).await?;
    let after = pod.worker().await?;
    ensure(before == after, format!("HAProxy reloaded: pid and reloads were {before:?} and are {after:?}"))
}

/// All libraries. Pods of journeys share a network, so HAProxy listens at its own address.
async fn serve_gateways(scene: &Scene) -> Outcome {
    scene.configure_with(&scene.configuration()?.with_gateways(BEHIND).manifest).await
}

fn rollout(stable: u32, canary: u32) -> Value {
    let mut rollout = route("rollout");
    let backends = [("stable", stable), ("canary", canary)]
        .map(|(name, weight)| json!({ "name": name, "port": 80, "weight": weight }));
    rollout["spec"]["rules"] = json!([{ "backendRefs": backends }]);
    rollout
}

async fn is_programmed_as_it_is(scene: &Scene, route: &Value) -> Outcome {
    eventually("the route is programmed as it is now", async || {
        let object = scene.cluster.get(&scene.namespace, route).await?;
        let ours = entry_of(&object.data["status"], CONTROLLER);
        let programmed = condition(&ours["conditions"], PROGRAMMED);
        let is_of_now = programmed["observedGeneration"].as_i64() == object.metadata.generation;
        ensure(is_of_now && programmed["status"] == "True", programmed.to_string())
    })
    .await
}

async fn is_served_within_a_second(scene: &Scene, solver: &Value, address: SocketAddr) -> Outcome {
    let began = Instant::now();
    scene.apply(solver).await?;
    eventually("the solver is served", async || {
        get(address, "solver.example", CHALLENGE).await?.is_from("canary")
    })
    .await?;
    let took = began.elapsed();
    ensure(took < Duration::from_secs(1), format!("the {} took {took:?}", solver["kind"]))?;
    scene.delete(solver).await
}

const ROUTES: &str = r#"{{#each (list "httproutes") as |route|}}
{{route.metadata.name}} {{route.metadata.name}}{{#each route.spec.hostnames as |host|}}{{#if (eq host "REFUSED")}}{{route.spec.nope}}{{/if}}{{/each}}
{{/each}}
"#;

/// The built-in libraries, and the kinds of the Gateway API beside them, with a map of the routes.
async fn configure(scene: &Scene) -> Outcome {
    let mut configuration = scene.configuration()?.manifest;
    let spec = &mut configuration["spec"];
    spec["controller"]["gateway"] = json!({ "serviceType": "ClusterIP" });
    for (plural, namespaced) in [
        ("gatewayclasses", false),
        ("gateways", true),
        ("httproutes", true),
        ("referencegrants", true),
        ("tlsroutes", true),
        ("tcproutes", true),
    ] {
        let namespaces = if namespaced { json!([scene.namespace]) } else { json!([]) };
        spec["watchedResources"][plural] =
            json!({ "apiVersion": GROUP, "resources": plural, "namespaces": namespaces, "optional": true });
    }
    spec["maps"]["gateway-routes.map"] = json!({ "template": ROUTES.replace("REFUSED", REFUSED) });
    scene.configure_with(&configuration).await
}

fn class() -> Value {
    json!({
        "apiVersion": GROUP, "kind": "GatewayClass", "metadata": { "name": "haptic" },
        "spec": { "controllerName": CONTROLLER },
    })
}

fn gateway() -> Value {
    first("Gateway")
}

fn route(name: &str) -> Value {
    let mut route = first("HTTPRoute");
    route["metadata"]["name"] = json!(name);
    route["spec"]["hostnames"] = json!([format!("{name}.example")]);
    route
}

/// The object of this kind that docs/gateway.md begins with.
fn first(kind: &str) -> Value {
    let documents = serde_saphyr::from_multiple::<Value>(FIRST).unwrap_or_default();
    documents.into_iter().find(|document| document["kind"] == kind).unwrap_or_default()
}

async fn status(scene: &Scene, manifest: &Value) -> Outcome<Value> {
    let namespace = if manifest["kind"] == "GatewayClass" { "" } else { &scene.namespace };
    Ok(scene.cluster.get(namespace, manifest).await?.data["status"].clone())
}

/// The condition of this type; `null` when there is none.
fn condition(conditions: &Value, kind: &str) -> Value {
    let mut all = conditions.as_array().into_iter().flatten();
    all.find(|one| one["type"] == kind).cloned().unwrap_or_default()
}

fn entry_of(status: &Value, controller: &str) -> Value {
    let mut all = status["parents"].as_array().into_iter().flatten();
    all.find(|one| one["controllerName"] == controller).cloned().unwrap_or_default()
}

fn ensure_true(conditions: &Value, kind: &str) -> Outcome {
    ensure(condition(conditions, kind)["status"] == "True", format!("{kind} of {conditions}"))
}

async fn class_is_accepted(scene: &Scene) -> Outcome {
    eventually("the GatewayClass is accepted", async || {
        let status = status(scene, &class()).await?;
        ensure_true(&status["conditions"], "Accepted")?;
        let features = status["supportedFeatures"].as_array().cloned().unwrap_or_default();
        let names: Vec<_> = features.iter().filter_map(|one| one["name"].as_str()).collect();
        ensure(!names.is_empty() && names.is_sorted(), format!("{names:?}"))
    })
    .await
}

/// The Gateway and the route are, and say so.
async fn is_programmed(scene: &Scene, name: &str) -> Outcome {
    eventually(format!("the Gateway and route {name} are programmed"), async || {
        let of_gateway = status(scene, &gateway()).await?;
        for kind in ["Accepted", "Programmed"] {
            ensure_true(&of_gateway["conditions"], kind)?;
        }
        ensure_true(&of_gateway["listeners"][0]["conditions"], "Programmed")?;
        let ours = entry_of(&status(scene, &route(name)).await?, CONTROLLER);
        for kind in ["Accepted", "ResolvedRefs", PROGRAMMED] {
            ensure_true(&ours["conditions"], kind)?;
        }
        Ok(())
    })
    .await
}

/// Of a route whose new version is refused the former one is served, and of one that never was good nothing; both say so.
async fn refused_routes_say_what_is_served(scene: &Scene) -> Outcome {
    let (mut changed, refused) = (route("first"), route("refused"));
    changed["spec"]["hostnames"] = json!([REFUSED]);
    for manifest in [&changed, &refused] {
        scene.apply(manifest).await?;
    }
    eventually("the former version is said to be served", async || {
        let object = scene.cluster.get(&scene.namespace, &changed).await?;
        let ours = entry_of(&object.data["status"], CONTROLLER);
        let partly = condition(&ours["conditions"], "PartiallyInvalid");
        let is_of_now = partly["observedGeneration"].as_i64() == object.metadata.generation;
        ensure(is_of_now && partly["reason"] == "UnsupportedValue", ours.to_string())?;
        ensure_true(&ours["conditions"], "Accepted")
    })
    .await?;
    eventually("a route without a good version is not accepted", async || {
        let ours = entry_of(&status(scene, &refused).await?, CONTROLLER);
        let accepted = condition(&ours["conditions"], "Accepted");
        ensure(
            accepted["status"] == "False" && accepted["reason"] == "UnsupportedValue",
            accepted.to_string(),
        )
    })
    .await?;
    scene.delete(&refused).await?;
    scene.apply(&route("first")).await?;
    is_programmed_as_it_is(scene, &route("first")).await
}

/// Routes of TLS and of TCP say the same, listeners count them, and the Service has their ports.
async fn streams_are_programmed(scene: &Scene) -> Outcome {
    let mut streams = gateway();
    streams["metadata"]["name"] = json!("streams");
    streams["spec"]["listeners"] = json!([
        { "name": "tls", "port": 443, "protocol": "TLS", "tls": { "mode": "Passthrough" } },
        { "name": "tcp", "port": 5432, "protocol": "TCP" },
        { "name": "web", "port": 9000, "protocol": "HTTP" },
        { "name": "other", "port": 9000, "protocol": "TCP" },
    ]);
    let route = |kind: &str| {
        let rules = first("HTTPRoute")["spec"]["rules"].clone();
        json!({ "apiVersion": GROUP, "kind": kind, "metadata": { "name": "stream" },
            "spec": { "parentRefs": [{ "name": "streams" }], "rules": rules } })
    };
    let mut of_tls = route("TLSRoute");
    of_tls["spec"]["hostnames"] = json!(["a.example"]);
    let routes = [of_tls, route("TCPRoute")];
    for manifest in [&streams, &routes[0], &routes[1]] {
        scene.apply(manifest).await?;
    }
    eventually("routes of TLS and TCP are programmed", async || {
        let of_gateway = status(scene, &streams).await?;
        ensure(of_gateway["listeners"].as_array().is_some_and(|all| all.len() == 4), of_gateway.to_string())?;
        for (number, kind) in ["TLSRoute", "TCPRoute"].into_iter().enumerate() {
            let listener = &of_gateway["listeners"][number];
            ensure_true(&listener["conditions"], "Programmed")?;
            ensure(listener["attachedRoutes"] == 1, listener.to_string())?;
            ensure(listener["supportedKinds"][0]["kind"] == kind, listener.to_string())?;
            let ours = entry_of(&status(scene, &routes[number]).await?, CONTROLLER);
            for condition in ["Accepted", "ResolvedRefs", PROGRAMMED] {
                ensure_true(&ours["conditions"], condition)?;
            }
        }
        for number in [2, 3] {
            let conflict = condition(&of_gateway["listeners"][number]["conditions"], "Conflicted");
            ensure(conflict["reason"] == "ProtocolConflict", conflict.to_string())?;
        }
        Ok(())
    })
    .await?;
    let services = list(scene, "services").await?;
    let is_ours =
        |one: &&Value| one["metadata"]["labels"]["gateway.networking.k8s.io/gateway-name"] == "streams";
    let ports =
        services.iter().find(is_ours).map(|service| service["spec"]["ports"].clone()).unwrap_or_default();
    let ports: Vec<_> = ports.as_array().into_iter().flatten().map(|port| port["port"].clone()).collect();
    ensure(ports == [443, 5432], format!("{ports:?}"))
}

/// By a Service of its own, whose address the Gateway shows, and which leads to the pod.
async fn gateway_is_reached(scene: &Scene, pod: &HaproxyPod) -> Outcome<Value> {
    let shown = status(scene, &gateway()).await?["addresses"].clone();
    let services = list(scene, "services").await?;
    let is_ours = |one: &&Value| one["metadata"]["labels"]["gateway.networking.k8s.io/gateway-name"] == "web";
    let mut service =
        services.iter().find(is_ours).cloned().ok_or_else(|| Failure::new("the Gateway has no Service"))?;
    service["apiVersion"] = json!("v1");
    service["kind"] = json!("Service");
    ensure(shown[0]["value"] == service["spec"]["clusterIP"], format!("{shown}: {service}"))?;
    ensure(service["metadata"]["ownerReferences"][0]["name"] == "web", service.to_string())?;
    let slices = list(scene, "endpointslices").await?;
    let name = &service["metadata"]["name"];
    let slice = slices.iter().find(|one| one["metadata"]["labels"]["kubernetes.io/service-name"] == *name);
    let slice = slice.ok_or_else(|| Failure::new("the Service has no EndpointSlice"))?;
    let address = pod.http().ip().to_string();
    ensure(slice["endpoints"][0]["addresses"][0] == address, slice.to_string())?;
    Ok(service)
}

async fn list(scene: &Scene, plural: &str) -> Outcome<Vec<Value>> {
    let prefix = if plural == "services" { "/api/v1" } else { "/apis/discovery.k8s.io/v1" };
    let path = format!("{prefix}/namespaces/{}/{plural}", scene.namespace);
    let request = http::Request::get(path).body(Vec::new())?;
    let listed: Value = scene.cluster.client.request(request).await?;
    Ok(listed["items"].as_array().cloned().unwrap_or_default())
}

/// What the pod has not acknowledged is accepted and not programmed.
async fn waits_for_the_pod(scene: &Scene, pod: &HaproxyPod) -> Outcome {
    pod.wire.hold_pushes();
    scene.apply(&route("second")).await?;
    eventually("the route says what waits", async || {
        let ours = entry_of(&status(scene, &route("second")).await?, CONTROLLER);
        ensure_true(&ours["conditions"], "Accepted")?;
        let programmed = condition(&ours["conditions"], PROGRAMMED);
        let says = programmed["message"].as_str().unwrap_or_default();
        ensure(programmed["status"] == "False" && says.starts_with("0 of 1 ready pods run"), says)
    })
    .await?;
    pod.wire.hold_no_more();
    pod.wire.release();
    is_programmed(scene, "second").await
}

async fn foreign_entries_stay(scene: &Scene) -> Outcome {
    let condition = json!({
        "type": "example.com/Odd", "status": "Unknown", "reason": "Odd", "message": "", "observedGeneration": 7,
        "lastTransitionTime": "2020-01-01T00:00:00Z",
    });
    let foreign = json!({
        "controllerName": FOREIGN, "parentRef": { "group": "example.com", "kind": "Mesh", "name": "x" },
        "conditions": [condition],
    });
    let ours = entry_of(&status(scene, &route("first")).await?, CONTROLLER);
    let both = json!({ "status": { "parents": [foreign, ours] } });
    scene.cluster.set_status(&scene.namespace, &route("first"), &both).await?;
    let mut changed = route("first");
    changed["spec"]["hostnames"] = json!(["other.example"]);
    scene.apply(&changed).await?;
    eventually("our entry is of the new generation, and the other's as it was", async || {
        let object = scene.cluster.get(&scene.namespace, &changed).await?;
        let generation = object.metadata.generation;
        let status = &object.data["status"];
        let ours = entry_of(status, CONTROLLER)["conditions"].clone();
        let of_now = ours.as_array().into_iter().flatten();
        let is_of_now = of_now.into_iter().all(|one| one["observedGeneration"].as_i64() == generation);
        ensure(is_of_now, ours.to_string())?;
        ensure_true(&ours, PROGRAMMED)?;
        ensure(entry_of(status, FOREIGN) == foreign && status["parents"][0] == foreign, status.to_string())
    })
    .await
}

/// Versions of all that has a status of ours, and of what belongs to the Gateway.
async fn versions(scene: &Scene) -> Outcome<Vec<Option<String>>> {
    let mut versions = Vec::new();
    for manifest in [gateway(), route("first"), route("second")] {
        versions.push(scene.cluster.get(&scene.namespace, &manifest).await?.metadata.resource_version);
    }
    versions.push(scene.cluster.get("", &class()).await?.metadata.resource_version);
    for plural in ["services", "endpointslices"] {
        let text = |one: &Value| one["metadata"]["resourceVersion"].as_str().map(str::to_owned);
        versions.extend(list(scene, plural).await?.iter().map(text));
    }
    Ok(versions)
}

async fn another_leader_writes_nothing(
    scene: &Scene,
    pod: &HaproxyPod,
    controller: Controller,
) -> Outcome<Controller> {
    let before = versions(scene).await?;
    controller.kill().await?;
    let next = scene.ready_controller().await?;
    // A route that it programs itself shows that it leads, and has looked at everything: older statuses come first.
    scene.apply(&route("third")).await?;
    is_programmed(scene, "third").await?;
    pod.has_stored_what_it_runs().await?;
    let (after, shown) = (versions(scene).await?, status(scene, &gateway()).await?);
    // The Gateway has one more route, and its own version may differ for that.
    ensure(shown["listeners"][0]["attachedRoutes"] == 3, shown.to_string())?;
    ensure(before[1..] == after[1..], format!("{before:?} and then {after:?}"))?;
    Ok(next)
}
