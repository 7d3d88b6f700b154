//! The chart installed by helm on a real API server, and its pods' containers started as kubelet would.

use crate::webhook::refusal;
use integration_tests::{
    Failure, Outcome, Scene,
    audit::Request,
    chart::{self, Release},
    container::Container,
    ensure, eventually,
    eventually::PATIENCE,
    http, manifest,
    process::Process,
    program::{self, Helm},
};
use k8s_openapi::api::{apps::v1::Deployment, core::v1::Secret};
use kube::{
    Api,
    api::{ListParams, Patch, PatchParams},
};
use serde_json::{Value, json};
use std::{
    collections::BTreeSet,
    fs,
    net::{Ipv4Addr, SocketAddr},
    os::unix::fs::MetadataExt,
};

const HOST: &str = "shop.example";

/// A release whose one HAProxy pod runs at `address`: all pods of a journey share one network. HAProxy gets an argument as
/// values.yaml shows it.
pub fn values_for(address: Ipv4Addr) -> Value {
    json!({
        "haproxy": { "replicas": 1, "extraArgs": ["--haproxy-arg=-m", "--haproxy-arg=1024"] },
        "configuration": { "extraContext": { "bindAddresses": [address], "healthAddress": address } },
    })
}

/// A release in `scene`'s cluster and namespace.
pub fn release(scene: &Scene, name: &str) -> Release {
    let release = Release::rendered(name, &scene.namespace, &scene.dir.join(name));
    release.in_cluster(&scene.cluster.kubeconfig())
}

/// Pod `name` of the Deployment that ends with `deployment`: its object, and its container running at `address`.
pub async fn pod(
    scene: &Scene,
    objects: &[Value],
    (deployment, name): (&str, &str),
    address: Ipv4Addr,
    more: &[String],
) -> Outcome<Process> {
    let template = &chart::the(objects, "Deployment", deployment)?["spec"]["template"];
    let object = json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": { "name": name, "labels": template["metadata"]["labels"] }, "spec": template["spec"],
    });
    scene.apply(&object).await?;
    scene.cluster.set_status(&scene.namespace, &object, &manifest::pod_status(address, true)).await?;
    let container = Container {
        cluster: &scene.cluster,
        namespace: &scene.namespace,
        name,
        address,
        spec: &template["spec"],
        dir: &scene.dir,
    };
    container.start(more).await
}

/// Controllers and one HAProxy of a release.
pub struct Pods {
    haproxy: (Process, Ipv4Addr),
    controllers: Vec<(Process, Ipv4Addr)>,
}

impl Pods {
    /// Those of `release`: HAProxy at the `number`th address of pods, controllers at these numbers.
    pub async fn start(scene: &Scene, release: &Release, number: u8, controllers: &[u8]) -> Outcome<Self> {
        let objects = release.manifest().await?;
        let address = scene.block.pod(number);
        let name = format!("{}-haproxy-0", release.name);
        let haproxy = pod(scene, &objects, ("-haproxy", &name), address, &[]).await?;
        let mut pods = Self { haproxy: (haproxy, address), controllers: Vec::new() };
        for number in controllers {
            let address = scene.block.controller(*number);
            let name = format!("{}-controller-{number}", release.name);
            let bound = ["--bind-address", "--debug-address"].map(|listens| format!("{listens}={address}"));
            let controller = pod(scene, &objects, ("-controller", &name), address, &bound).await?;
            pods.controllers.push((controller, address));
        }
        Ok(pods)
    }

    /// Waits until all readiness probes succeed, as kubelet makes them.
    async fn ready(&mut self) -> Outcome {
        let controllers = self.controllers.iter_mut().map(|pod| (pod, 8080));
        for ((process, address), port) in controllers.chain([(&mut self.haproxy, 5555)]) {
            eventually(format!("the readiness probe of {address}:{port}"), async || {
                process.ensure_running()?;
                http::get((*address, port).into(), "kubelet", "/readyz").await?.has_status(200)
            })
            .await?;
        }
        Ok(())
    }

    /// What a process that may not be dumped has in /proc is root's, and not its user's. Root itself reads everything.
    fn keep_their_memory_to_themselves(&self) -> Outcome {
        for (process, address) in self.controllers.iter().chain([&self.haproxy]) {
            let folder = format!("/proc/{}", process.id());
            let user = fs::metadata(&folder)?.uid();
            let reader = fs::metadata(format!("{folder}/mem"))?.uid();
            ensure(user == 0 || reader != user, format!("{user} may read the memory of {address}"))?;
        }
        Ok(())
    }

    /// Asks all to end, as kubelet does: they do so, though nothing of the release is left.
    async fn end(self) -> Outcome {
        for (process, address) in self.controllers.into_iter().chain([self.haproxy]) {
            let code = process.terminate(PATIENCE).await?;
            ensure(code == 0, format!("{address} ended with {code}"))?;
        }
        Ok(())
    }

    /// Where clients come in.
    fn entrance(&self) -> SocketAddr {
        (self.haproxy.1, 7080).into()
    }
}

/// Installed on a cluster that never saw it, used, upgraded, removed, and installed again.
pub async fn install(scene: Scene, helm: Helm) -> Outcome {
    let scene = scene.on_bare_cluster().await?;
    let release = release(&scene, "haptic").by(helm);
    let values = values_for(scene.block.pod(0));
    let notes = release.install(&values).await?;
    let next = format!("kubectl wait haptpl haptic -n {}", scene.namespace);
    ensure(notes.contains(&next), format!("the notes are {notes}"))?;
    let mut pods = Pods::start(&scene, &release, 0, &[0, 1]).await?;

    let a = scene.backend("a").await?;
    scene.publish("shop", HOST, &a).await?;
    let entrance = pods.entrance();
    eventually("the Ingress is served", async || http::get(entrance, HOST, "/").await?.is_from("a")).await?;
    pods.ready().await?;
    pods.keep_their_memory_to_themselves()?;
    is_ready(&scene).await?;
    shows_addresses(&scene).await?;
    metrics_are_there(&scene).await?;

    refused_twice_then_upgraded(&scene, &release, &values).await?;
    lease_comes_back(&scene).await?;
    webhook_guards(&scene, &release, &values).await?;
    configuration_is_tested(&scene, &release, &values).await?;
    plan_is_told_in_a_controller(&scene, &release).await?;
    nothing_denied_and_nothing_too_much(&scene, &release.manifest().await?).await?;
    uninstall_and_install_again(&scene, &release, &values).await?;
    pods.end().await
}

/// The pod of `helm test`.
async fn configuration_is_tested(scene: &Scene, release: &Release, values: &Value) -> Outcome {
    let objects = release.render(values).await?;
    let test = chart::the(&objects, "Pod", "-test")?;
    let container = Container {
        cluster: &scene.cluster,
        namespace: &scene.namespace,
        name: "haptic-test",
        address: scene.block.pod(9),
        spec: &test["spec"],
        dir: &scene.dir,
    };
    let mut test = container.start(&[]).await?;
    let code = test.ended(PATIENCE).await?;
    ensure(code == 0, format!("ended with {code}: {}", test.printed()))
}

/// `haptic plan` beside a controller, with its rights.
async fn plan_is_told_in_a_controller(scene: &Scene, release: &Release) -> Outcome {
    let objects = release.manifest().await?;
    let mut spec = chart::the(&objects, "Deployment", "-controller")?["spec"]["template"]["spec"].clone();
    spec["containers"][0]["args"] = json!(["plan", "--name=haptic"]);
    let container = Container {
        cluster: &scene.cluster,
        namespace: &scene.namespace,
        name: "haptic-plan",
        address: scene.block.pod(9),
        spec: &spec,
        dir: &scene.dir,
    };
    let mut plan = container.start(&[]).await?;
    let code = plan.ended(PATIENCE).await?;
    // The change before it may still be on its way.
    let told = plan.printed();
    ensure([0, 3].contains(&code) && told.contains("haptic-haproxy-0"), format!("ended with {code}: {told}"))
}

async fn is_ready(scene: &Scene) -> Outcome {
    let config = json!({
        "apiVersion": "haproxy-haptic.org/v1alpha1", "kind": "HAProxyTemplateConfig", "metadata": { "name": "haptic" },
    });
    eventually("the configuration is Ready", async || {
        let status = scene.cluster.get(&scene.namespace, &config).await?.data["status"].clone();
        let conditions = status["conditions"].as_array().cloned().unwrap_or_default();
        let ready = conditions.iter().any(|c| c["type"] == "Ready" && c["status"] == "True");
        ensure(ready, format!("its status is {status}"))
    })
    .await
}

async fn shows_addresses(scene: &Scene) -> Outcome {
    let service = json!({ "apiVersion": "v1", "kind": "Service", "metadata": { "name": "haptic" } });
    let given = json!({ "status": { "loadBalancer": { "ingress": [{ "ip": "192.0.2.7" }] } } });
    scene.cluster.set_status(&scene.namespace, &service, &given).await?;
    let ingress = manifest::ingress("shop", HOST, "shop");
    eventually("the Ingress shows the Service's address", async || {
        let status = scene.cluster.get(&scene.namespace, &ingress).await?.data["status"].clone();
        ensure(status["loadBalancer"]["ingress"][0]["ip"] == "192.0.2.7", status.to_string())
    })
    .await
}

/// What PodMonitors, alerts and dashboard ask for, HAProxy's own among them.
async fn metrics_are_there(scene: &Scene) -> Outcome {
    let page = async |address: Ipv4Addr, port: u16| -> Outcome<String> {
        let answer = http::get((address, port).into(), "prometheus", "/metrics").await?;
        answer.has_status(200)?;
        Ok(answer.body)
    };
    let (pod, controllers) = (scene.block.pod(0), [scene.block.controller(0), scene.block.controller(1)]);
    eventually("one replica says that it leads", async || {
        let leads = [page(controllers[0], 9090).await?, page(controllers[1], 9090).await?];
        let leaders = leads.iter().filter(|page| page.lines().any(|line| line == "haptic_leader 1")).count();
        ensure(leaders == 1, format!("{leaders} replicas lead"))
    })
    .await?;
    let agent = page(pod, 5555).await?;
    ensure(agent.lines().any(|line| line == "haptic_agent_haproxy_up 1"), agent)?;
    let haproxy = page(pod, 7084).await?;
    for name in ["haproxy_frontend_http_requests_total{", "haproxy_frontend_http_responses_total{"] {
        ensure(haproxy.contains(name), format!("HAProxy tells no {name}"))?;
    }
    Ok(())
}

/// A wrong configuration is told, twice; the upgrade that sets it right keeps the password and takes effect.
async fn refused_twice_then_upgraded(scene: &Scene, release: &Release, values: &Value) -> Outcome {
    let before = credentials(scene).await?;
    for wrong in ["{{#each", "{{#if"] {
        let mut broken = values.clone();
        broken["configuration"]["spec"] =
            json!({ "templateSnippets": { "global-wrong": { "template": wrong } } });
        release.upgrade(&broken).await?;
        eventually("an Event tells of it", async || {
            let refused = events(scene).await?;
            let of_this = |event: &&Value| {
                let note = event["note"].as_str().unwrap_or_default();
                event["reason"] == "ConfigurationRejected" && note.contains("global-wrong")
            };
            let told: u64 =
                refused.iter().filter(of_this).map(|e| 1 + e["series"]["count"].as_u64().unwrap_or(0)).sum();
            ensure(told >= if wrong == "{{#if" { 2 } else { 1 }, format!("told {told} times: {refused:?}"))
        })
        .await?;
    }
    let definitions = fs::read_to_string(chart::folder().join("crds/haproxytemplateconfig.yaml"))?;
    scene.cluster.install_definitions(&definitions).await?;
    let mut changed = values.clone();
    changed["configuration"]["spec"] = json!({ "templateSnippets": { "frontend-35-hello": { "template":
        "http-request return status 200 content-type text/plain string hello if { path /hello }\n" } } });
    release.upgrade(&changed).await?;
    let entrance = (scene.block.pod(0), 7080).into();
    eventually("the upgrade is in force", async || {
        let answer = http::get(entrance, HOST, "/hello").await?;
        ensure(answer.body == "hello", format!("{} {}", answer.status, answer.body))
    })
    .await?;
    is_ready(scene).await?;
    ensure(credentials(scene).await? == before, "the upgrade changed the credentials")
}

/// The webhook's Service leads to these controllers.
pub async fn webhook_leads_to(scene: &Scene, controllers: &[u8]) -> Outcome {
    let addresses: Vec<Ipv4Addr> = controllers.iter().map(|number| scene.block.controller(*number)).collect();
    let mut slice = manifest::endpoints("haptic-webhook", &addresses);
    slice["ports"] = json!([{ "name": "webhook", "port": 9443, "protocol": "TCP" }]);
    scene.apply(&slice).await
}

/// Once the webhook's Service leads to the controllers, what is bad is refused before it is stored.
async fn webhook_guards(scene: &Scene, release: &Release, values: &Value) -> Outcome {
    webhook_leads_to(scene, &[0, 1]).await?;
    let mut bad = manifest::ingress("bad", "bad.example", "shop");
    bad["metadata"]["annotations"] = json!({ "haproxy-haptic.org/timeout-server": "soon" });
    eventually("a bad Ingress is refused", async || {
        let applied = scene.apply(&bad).await;
        if applied.is_ok() {
            scene.delete(&bad).await?;
        }
        let why = refusal(applied)?;
        ensure(why.contains("objects.haproxy-haptic.org") && why.contains("denied the request"), why)
    })
    .await?;
    let broken = json!({ "templateSnippets": { "global-wrong": { "template": "{{#each" } } });
    let broken = chart::merged(values.clone(), &json!({ "configuration": { "spec": broken } }));
    let why = refusal(release.upgrade(&broken).await.map(drop))?;
    ensure(why.contains("configurations.haproxy-haptic.org") && why.contains("global-wrong"), why)?;
    let a_change = json!({ "configuration": { "extraContext": { "accessLog": "json" } } });
    release.upgrade(&chart::merged(values.clone(), &a_change)).await.map(drop)
}

async fn lease_comes_back(scene: &Scene) -> Outcome {
    let lease =
        json!({ "apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": { "name": "haptic" } });
    scene.cluster.delete(&scene.namespace, &lease).await?;
    eventually("somebody leads again", async || {
        let lease = scene.cluster.get(&scene.namespace, &lease).await?.data;
        ensure(
            lease["spec"]["holderIdentity"].as_str().is_some_and(|holder| !holder.is_empty()),
            lease.to_string(),
        )
    })
    .await
}

/// One thing that rules allow.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Right {
    /// All when empty.
    namespace: String,
    group: String,
    resource: String,
    verb: String,
    /// All when empty.
    name: String,
}

impl Right {
    /// What is published is made by a `patch`, which the API server allows only with `create`; only files that templates
    /// have given up are deleted.
    fn is_implied(&self) -> bool {
        self.group == "haproxy-haptic.org" && ["create", "delete"].contains(&self.verb.as_str())
    }

    fn covers(&self, request: &Request) -> bool {
        let within = |limit: &str, value: &str| limit.is_empty() || limit == value;
        (&self.group, &self.resource, &self.verb) == (&request.group, &request.resource, &request.verb)
            && within(&self.namespace, &request.namespace)
            && within(&self.name, &request.name)
    }
}

fn rights(objects: &[Value]) -> BTreeSet<Right> {
    let words = |list: &Value| -> Vec<String> {
        list.as_array().into_iter().flatten().filter_map(|word| word.as_str().map(str::to_owned)).collect()
    };
    let mut rights = BTreeSet::new();
    for role in
        objects.iter().filter(|o| ["Role", "ClusterRole"].contains(&o["kind"].as_str().unwrap_or_default()))
    {
        let namespace = role["metadata"]["namespace"].as_str().unwrap_or_default().to_owned();
        for rule in role["rules"].as_array().into_iter().flatten() {
            let mut names = words(&rule["resourceNames"]);
            if names.is_empty() {
                names.push(String::new());
            }
            for (group, resource, verb, name) in words(&rule["apiGroups"])
                .iter()
                .flat_map(|g| words(&rule["resources"]).into_iter().map(move |r| (g.clone(), r)))
                .flat_map(|(g, r)| words(&rule["verbs"]).into_iter().map(move |v| (g.clone(), r.clone(), v)))
                .flat_map(|(g, r, v)| {
                    names.clone().into_iter().map(move |n| (g.clone(), r.clone(), v.clone(), n))
                })
            {
                rights.insert(Right { namespace: namespace.clone(), group, resource, verb, name });
            }
        }
    }
    rights
}

async fn nothing_denied_and_nothing_too_much(scene: &Scene, objects: &[Value]) -> Outcome {
    let rights = rights(objects);
    ensure(rights.len() > 20, format!("only {rights:?}"))?;
    eventually("all rights are used", async || {
        let requests = scene.cluster.audit()?;
        let used = |right: &Right| right.is_implied() || requests.iter().any(|request| right.covers(request));
        let unused: Vec<&Right> = rights.iter().filter(|right| !used(right)).collect();
        ensure(unused.is_empty(), format!("granted and never used: {unused:?}"))
    })
    .await?;
    let requests = scene.cluster.audit()?;
    let user = format!("system:serviceaccount:{}:haptic", scene.namespace);
    let others: BTreeSet<&str> = requests.iter().map(|r| r.user.as_str()).filter(|u| *u != user).collect();
    ensure(others.is_empty(), format!("requests of {others:?}"))?;
    let denied: BTreeSet<&Request> = requests.iter().filter(|request| request.denied).collect();
    ensure(denied.is_empty(), format!("denied: {denied:?}"))
}

async fn credentials(scene: &Scene) -> Outcome<Value> {
    let secrets: Api<Secret> = Api::namespaced(scene.cluster.client.clone(), &scene.namespace);
    Ok(json!(secrets.get("haptic-credentials").await?.data))
}

async fn events(scene: &Scene) -> Outcome<Vec<Value>> {
    let events: Api<k8s_openapi::api::events::v1::Event> =
        Api::namespaced(scene.cluster.client.clone(), &scene.namespace);
    let listed = events.list(&ListParams::default()).await?;
    Ok(listed.items.iter().map(|event| json!(event)).collect())
}

/// Removed while everything runs, nothing but the credentials stays; another release of that name takes them up.
async fn uninstall_and_install_again(scene: &Scene, release: &Release, values: &Value) -> Outcome {
    let before = credentials(scene).await?;
    let installed = release.manifest().await?;
    release.uninstall().await?;
    let mut left = Vec::new();
    for object in &installed {
        match scene.cluster.get(&scene.namespace, object).await {
            Ok(_) => left.push(format!("{} {}", object["kind"], object["metadata"]["name"])),
            Err(gone) => ensure(gone.sentence().contains("not found"), gone.sentence())?,
        }
    }
    ensure(left == ["\"Secret\" \"haptic-credentials\""], format!("left behind: {left:?}"))?;
    let leases: Api<k8s_openapi::api::coordination::v1::Lease> =
        Api::namespaced(scene.cluster.client.clone(), &scene.namespace);
    let secrets: Api<Secret> = Api::namespaced(scene.cluster.client.clone(), &scene.namespace);
    ensure(leases.list(&ListParams::default()).await?.items.is_empty(), "a Lease is left behind")?;
    let secrets = secrets.list(&ListParams::default()).await?.items;
    ensure(secrets.len() == 1, format!("{} Secrets are left behind", secrets.len()))?;

    release.install(values).await?;
    ensure(credentials(scene).await? == before, "another release made other credentials").and_then(|()| {
        ensure(
            before["dataplane_password"].as_str().is_some_and(|p| p.len() > 30),
            Failure::new("no password").sentence(),
        )
    })
}

/// Two releases in one namespace: each serves its own class with its own pods, and does not mind the other's end.
pub async fn side_by_side(scene: Scene) -> Outcome {
    let scene = scene.on_bare_cluster().await?;
    let releases = [release(&scene, "one"), release(&scene, "two")];
    let a = scene.backend("a").await?;
    scene.publish("shop", HOST, &a).await?;
    let mut all = Vec::new();
    for (number, release) in (0_u8..).zip(&releases) {
        release.install(&values_for(scene.block.pod(number))).await?;
        let mut ingress = manifest::ingress(&release.name, &format!("{}.example", release.name), "shop");
        ingress["spec"]["ingressClassName"] = json!(format!("{}-haptic", release.name));
        scene.apply(&ingress).await?;
        let mut pods = Pods::start(&scene, release, number, &[number]).await?;
        pods.ready().await?;
        all.push(pods);
    }
    let serves_its_own = async |number: usize| {
        let (own, other) = (&releases[number].name, &releases[1 - number].name);
        let ask = async |name: &str| http::get(all[number].entrance(), &format!("{name}.example"), "/").await;
        eventually("a release serves its own class", async || ask(own).await?.is_from("a")).await?;
        ask(other).await?.has_status(404)
    };
    serves_its_own(0).await?;
    serves_its_own(1).await?;
    releases[0].uninstall().await?;
    let b = scene.backend("b").await?;
    scene.apply(&manifest::endpoints("shop", &[b.address])).await?;
    let entrance = all[1].entrance();
    eventually("the other release goes on", async || {
        http::get(entrance, "two.example", "/").await?.is_from("b")
    })
    .await
}

/// What the chart makes of combinations of values is taken by a real API server, and taken away again.
pub async fn combinations(scene: Scene) -> Outcome {
    let scene = scene.on_bare_cluster().await?;
    for file in fs::read_dir(program::definitions()?)? {
        let path = file?.path();
        if path.extension().is_some_and(|extension| extension == "yaml") {
            scene.cluster.install_definitions(&fs::read_to_string(path)?).await?;
        }
    }
    // A third of them has each of their parts at least once.
    for (number, values) in chart::combinations().iter().enumerate().step_by(3) {
        let release = release(&scene, &format!("release-{number}"));
        let during = |failure: Failure| failure.during(&values.to_string());
        let notes = release.install(values).await.map_err(during)?;
        if values["configuration"]["create"] == false {
            ensure(notes.contains("leaseName: edge"), format!("{values}: the notes are {notes}"))?;
        }
        ensure(release.manifest().await?.len() > 10, format!("{values}: hardly anything"))?;
        release.uninstall().await.map_err(during)?;
    }
    Ok(())
}

/// Autoscaling that is switched on, and each upgrade after that, leave as many HAProxy pods as there are.
pub async fn autoscaled(scene: Scene, helm: Helm) -> Outcome {
    let scene = scene.on_bare_cluster().await?;
    let release = release(&scene, "haptic").by(helm);
    let scaled = |least: u32| json!({ "haproxy": { "autoscaling": { "enabled": true, "minReplicas": least, "maxReplicas": 9 } } });
    let deployments: Api<Deployment> = Api::namespaced(scene.cluster.client.clone(), &scene.namespace);
    let replicas = async || {
        let deployment = deployments.get("haptic-haproxy").await?;
        Outcome::Ok(deployment.spec.and_then(|spec| spec.replicas).unwrap_or_default())
    };
    let has = async |wanted: i32| ensure(replicas().await? == wanted, format!("not {wanted} pods"));
    release.install(&json!({ "haproxy": { "replicas": 4 } })).await?;
    release.upgrade(&scaled(2)).await?;
    has(4).await?;
    let by_the_autoscaler = json!({ "spec": { "replicas": 7 } });
    deployments
        .patch_scale("haptic-haproxy", &PatchParams::default(), &Patch::Merge(by_the_autoscaler))
        .await?;
    release.upgrade(&scaled(3)).await?;
    has(7).await
}
