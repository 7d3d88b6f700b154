//! The worst objects of the hostile suite at a real API server: which of them it takes, and what some of them do to others.

use integration_tests::{
    Outcome, Scene, ensure,
    hostile::{
        Arena, Bounds, Case, around,
        memory::Peaks,
        random::Generator,
        worst::{self, masses},
    },
    memory_group::MemoryGroup,
    objects::Objects,
};
use std::collections::BTreeMap;

/// What the chart gives a controller.
const CONTAINER: u64 = 1 << 30;
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
    let objects =
        Objects::Cluster { client: scene.cluster.client.clone(), namespace: scene.namespace.clone() };
    let cases = worst::all(around(scene.block))?;
    let mut refused = BTreeMap::new();
    for case in &cases {
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

/// What no store holds, in a container as the chart makes it: one mass after the other, all at once, and a start among them.
pub async fn objects_within_a_container(scene: Scene) -> Outcome {
    let addresses = around(scene.block);
    let group = MemoryGroup::make("controller", CONTAINER)?;
    let scene = scene.on_own_cluster().await?;
    let controller = scene.controller_within(&group)?;
    let mut arena = Arena::in_cluster_of(scene, controller).await?;
    let bounds = Bounds { more: f64::INFINITY, ..Bounds::loose() };
    for mass in &masses::ALL {
        let trial = arena.attempt(&mass.case(addresses), &bounds, &Peaks::default()).await?;
        eprintln!("{}: {trial}", mass.name);
        let found = trial.found.join("; ");
        eprintln!("{found}");
    }
    ensure(group.kills()? == 0, "the kernel ended a process")?;
    arena.end().await
}
