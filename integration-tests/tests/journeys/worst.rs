//! The worst objects of the hostile suite at a real API server: which of them it takes, and what some of them do to others.

use integration_tests::{
    Failure, Outcome, Scene, certificate, ensure,
    hostile::{
        Arena, Bounds, Case, Tenant, around,
        memory::Peaks,
        random::Generator,
        worst::{self, masses},
    },
    memory_group::MemoryGroup,
    objects::Objects,
};
use serde_json::Value;
use std::{collections::BTreeMap, time::Duration};

/// Less than half of what the chart gives a controller, so that masses need not be so large.
const CONTAINER: u64 = 400 << 20;
/// Of the objects of a case that are alike.
const OF_A_CASE: usize = 40;
/// What an API server shapes: how fast objects come, in which order, what it makes of them.
const TRIED: [&str; 9] = [
    "TLS Secret of 253",
    "huge lines in every annotation",
    "names that are nearly the same",
    "hosts of one TLS entry by the thousand",
    "a wrong annotation in a thousand Ingresses",
    "6,000 users of $6$",
    "client-ca-secret broken in every way",
    "alpha's hosts under TLS, one Ingress each",
    "stats at HAProxy's health port by an endpoint",
];

/// The suite knows what an API server takes: what it does not take is no attack.
pub async fn objects_are_taken(scene: Scene) -> Outcome {
    are_taken(&scene, &worst::all(around(scene.block))?).await
}

/// The same for Gateways and their routes.
pub async fn gateways_are_taken(scene: Scene) -> Outcome {
    let scene = scene.on_own_cluster().await?;
    scene.install_gateway_api().await?;
    let addresses = around(scene.block);
    let mut cases = worst::of_gateways(addresses)?;
    let certificate = certificate::for_host("mallory.example")?;
    let tenant = Tenant::with_gateways("mallory", "mallory.example", &certificate.pem, &certificate.key)?;
    let is_of_gateways = |object: &Value| {
        object["apiVersion"].as_str().is_some_and(|version| version.starts_with("gateway.networking.k8s.io/"))
    };
    let mut objects: Vec<Value> = tenant.objects.into_iter().filter(is_of_gateways).collect();
    // The definitions are those of the standard channel, which has no such filter.
    for rules in objects.iter_mut().filter_map(|object| object.pointer_mut("/spec/rules")?.as_array_mut()) {
        rules.retain(|rule| !rule.to_string().contains("ExternalAuth"));
    }
    cases.push(Case::new(addresses, "all that the Gateway API knows", |_| objects));
    are_taken(&scene, &cases).await
}

async fn are_taken(scene: &Scene, cases: &[Case]) -> Outcome {
    let objects =
        Objects::Cluster { client: scene.cluster.client.clone(), namespace: scene.namespace.clone() };
    let mut refused = BTreeMap::new();
    for case in cases {
        for object in case.objects.iter().take(OF_A_CASE) {
            if let Err(failure) = objects.would_be_taken(object).await {
                let what = format!("{} {} {}", case.name, object["kind"], object["metadata"]["name"]);
                refused.entry(what).or_insert(failure.sentence().chars().take(300).collect::<String>());
            }
        }
    }
    ensure(refused.is_empty(), format!("{} objects are refused: {refused:#?}", refused.len()))
}

/// Alpha and beta do not feel them.
pub async fn objects_in_a_cluster(scene: Scene) -> Outcome {
    let addresses = around(scene.block);
    let mut cases: Vec<Case> =
        worst::all(addresses)?.into_iter().filter(|case| TRIED.contains(&&*case.name)).collect();
    ensure(cases.len() == TRIED.len(), "a case has another name")?;
    let generator = Generator::new(addresses)?;
    let mut many = generator.case(7, 0, Some("mallory-many"));
    for number in 1..100 {
        many.objects.extend(generator.case(7, number, Some("mallory-many")).objects);
    }
    cases.push(many);
    let mut arena = Arena::in_cluster(scene.on_own_cluster().await?).await?;
    let bounds = Bounds::loose();
    arena.among("calm", &bounds, &Peaks::default()).await?;
    let calm = arena.among("calm", &bounds, &Peaks::default()).await?;
    for case in &cases {
        let trial = arena.attempt(case, &bounds, &calm.peaks).await?;
        let found = trial.found.join("; ");
        ensure(trial.found.is_empty(), format!("{}: {found} ({trial})", case.name))?;
    }
    arena.end().await
}

/// More than any store holds, in a container: a start among them, and as many more that come later.
pub async fn objects_within_a_container(scene: Scene) -> Outcome {
    let (addresses, group) = (around(scene.block), MemoryGroup::make("controller", CONTAINER)?);
    let scene = scene.on_own_cluster().await?;
    let objects = Objects::Cluster { client: scene.cluster.client.clone(), namespace: "alpha".to_owned() };
    let mass = |half: usize| {
        let objects = &objects;
        async move {
            for mass in &masses::ALL {
                let all = mass.objects(addresses);
                let part = all.into_iter().skip(half).step_by(2).collect();
                let taken = objects.create_group(mass.name, part).await?;
                ensure(taken > 0, format!("the API server takes nothing of the {}", mass.name))?;
            }
            Ok::<_, Failure>(())
        }
    };
    mass(0).await?;
    let controller = scene.controller_within(&group)?;
    let mut arena = Arena::in_cluster_of(scene, controller).await?;
    mass(1).await?;
    // How fast it is shows in the benchmark.
    let patient = Duration::from_secs(120);
    let bounds = Bounds { live: patient, found: patient, checked: patient, ..Bounds::loose() };
    let trial = arena.among("every mass", &bounds, &Peaks::default()).await?;
    let found = trial.found.join("; ");
    ensure(trial.found.is_empty(), format!("{found} ({trial})"))?;
    ensure(group.kills()? == 0, format!("the kernel ended a process of the container ({trial})"))?;
    arena.end().await
}
