//! What a render of the shipped libraries costs, in full and after a change, without the rest of HAPTIC, so that it builds in a minute:
//! `cargo run --release -p haptic-render --example library_cost [INGRESSES [NAMESPACES [ROUNDS]]]`.
#![allow(clippy::print_stdout, clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)]

use haptic_model::{
    ActiveConfig, Capabilities, Fleet, HaproxyVersion, Object, ObjectRef, Snapshot, Snapshots,
};
use haptic_render::{Checked, RenderJob, RenderLimits, Renderer};
use serde_json::{Value, json};
use std::{
    collections::BTreeMap,
    sync::Arc,
    time::{Duration, Instant},
};

/// As the `haptic` binary.
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

const LIBRARIES: [&str; 3] = [
    include_str!("../../../charts/haptic/libraries/base.yaml"),
    include_str!("../../../charts/haptic/libraries/ssl.yaml"),
    include_str!("../../../charts/haptic/libraries/ingress.yaml"),
];
const VERSION: HaproxyVersion = HaproxyVersion::new(3, 4);

/// The defaults have room for 10,000.
fn config(ingresses: usize) -> ActiveConfig {
    let mut spec = json!({"credentialsSecretRef": {"name": "c"}, "podSelector": {"matchLabels": {"a": "b"}}});
    for library in LIBRARIES {
        let document: Value = serde_saphyr::from_str(library).unwrap();
        merge(&mut spec, document["spec"].clone());
    }
    spec["templatingSettings"]["extraContext"]["ingressClass"]["withoutClass"] = json!(true);
    spec["controller"]["limits"] = json!({
        "fileBytes": ingresses << 12, "mapEntries": 10 * ingresses, "servers": 10 * ingresses, "files": 2 * ingresses,
    });
    let spec = spec.as_object_mut().unwrap();
    spec.remove("validationTests");
    ActiveConfig::of("c", "n", serde_json::from_value(Value::Object(spec.clone())).unwrap())
}

fn merge(into: &mut Value, more: Value) {
    match (into, more) {
        (Value::Object(into), Value::Object(more)) => {
            for (key, value) in more {
                merge(into.entry(key).or_insert(Value::Null), value);
            }
        }
        (into, more) => *into = more,
    }
}

/// One route: an Ingress with its Service and endpoints, as Kubernetes writes them. `round` moves an endpoint, or changes a path.
fn route(number: usize, namespaces: usize, round: usize) -> [(&'static str, String, Value); 3] {
    let (namespace, name) = (format!("ns{}", number % namespaces), format!("service-{number}"));
    let metadata = json!({"namespace": namespace, "name": name, "creationTimestamp": "2026-01-01T00:00:00Z"});
    let backend = json!({"service": {"name": name, "port": {"number": 80}}});
    let path = json!({"path": format!("/{}", if round == 0 { String::new() } else { round.to_string() }),
        "pathType": "Prefix", "backend": backend});
    let ingress = json!({
        "apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "metadata": metadata,
        "spec": {"rules": [{"host": format!("host-{number}.example"), "http": {"paths": [path]}}]},
    });
    let service = json!({
        "apiVersion": "v1", "kind": "Service", "metadata": metadata,
        "spec": {"ports": [{"name": "http", "port": 80, "targetPort": 8080}], "selector": {"app": name}},
    });
    let ready = json!({"ready": true, "serving": true, "terminating": false});
    let endpoint = |n: usize| {
        let (second, third) = (16 + 3 * (number / 50_000) + n, number / 250 % 200);
        let third = if n == 0 && round > 0 { 200 + round % 50 } else { third };
        json!({"addresses": [format!("10.{second}.{third}.{}", number % 250)], "conditions": ready})
    };
    let slice = json!({
        "apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "addressType": "IPv4",
        "metadata": {"namespace": namespace, "name": format!("{name}-1"),
            "labels": {"kubernetes.io/service-name": name}},
        "endpoints": [endpoint(0), endpoint(1), endpoint(2)],
        "ports": [{"name": "http", "port": 7070, "protocol": "TCP"}],
    });
    [("ingresses", name.clone(), ingress), ("services", name.clone(), service), ("endpoints", name, slice)]
}

/// Namespaces are one memory each, as the watches have them.
struct World {
    stores: BTreeMap<Arc<str>, Arc<Snapshot>>,
    namespaces: Vec<Arc<str>>,
}

impl World {
    fn new(config: &ActiveConfig, ingresses: usize, namespaces: usize) -> Self {
        let watched = config.spec.watched_resources.keys();
        let stores = watched.map(|name| (name.as_str().into(), Arc::new(Snapshot::full()))).collect();
        let namespaces = (0..namespaces).map(|number| format!("ns{number}").into()).collect();
        let mut world = Self { stores, namespaces };
        for number in 0..ingresses {
            ["ingresses", "services", "endpoints"].into_iter().for_each(|kind| world.put(kind, number, 0));
        }
        world.stores.values_mut().for_each(|store| Arc::make_mut(store).set_synced());
        world
    }

    fn put(&mut self, kind: &str, number: usize, round: usize) {
        let objects = route(number, self.namespaces.len(), round);
        let (resource, service, object) = objects.into_iter().find(|(name, ..)| *name == kind).unwrap();
        let namespace = self.namespaces[number % self.namespaces.len()].clone();
        let name: Arc<str> = object["metadata"]["name"].as_str().unwrap().into();
        let reference = ObjectRef { resource: resource.into(), namespace: namespace.clone(), name };
        let store = Arc::make_mut(self.stores.get_mut(resource).unwrap());
        store.apply(Object::new(reference, &object), [namespace, service.into()].into());
    }

    fn snapshots(&self) -> Snapshots {
        Snapshots::new(self.stores.clone())
    }
}

fn timed<T>(work: impl FnOnce() -> T) -> (Duration, T) {
    let started = Instant::now();
    let done = work();
    (started.elapsed(), done)
}

fn told(mut times: Vec<Duration>) -> String {
    times.sort();
    format!("median {:.2?}, least {:.2?} of {}", times[times.len() / 2], times[0], times.len())
}

fn main() {
    let number = |at| std::env::args().nth(at).and_then(|text| text.parse::<usize>().ok());
    let (ingresses, namespaces) = (number(1).unwrap_or(10_000), number(2).unwrap_or(1));
    let rounds = number(3).unwrap_or(7);
    let config = config(ingresses);
    let compiled = haptic_render::compile(&config.spec).unwrap();
    let mut world = World::new(&config, ingresses, namespaces);
    let fleet =
        Fleet { versions: vec![VERSION], common: Some(Capabilities::of(VERSION)), ..Fleet::default() };
    let limits = RenderLimits::default();
    let render = |renderer: &mut Renderer, world: &World| {
        let snapshots = world.snapshots();
        timed(|| {
            renderer
                .render(&RenderJob {
                    compiled: &compiled,
                    config: &config,
                    snapshots: &snapshots,
                    fleet: &fleet,
                    limits: &limits,
                })
                .unwrap()
        })
    };
    let full = (0..rounds).map(|_| render(&mut Renderer::checked(Checked::Never), &world).0);
    println!("{ingresses} Ingresses in {namespaces} namespaces; a full render: {}", told(full.collect()));
    let mut renderer = Renderer::checked(Checked::Never);
    let rendering = render(&mut renderer, &world).1;
    let (bundle, warnings) = (rendering.bundle, rendering.warnings.len());
    println!(
        "bundle {} B, haproxy.cfg {} B, {}; {warnings} warnings",
        bundle.size(),
        bundle.config.text.len(),
        bundle.digest
    );
    println!(
        "haproxy.cfg's digest: {}",
        told((0..9).map(|_| timed(|| bundle.config.text.digest()).0).collect())
    );
    for kind in ["endpoints", "services", "ingresses"] {
        let mut last = None;
        let times = (1..=10 * rounds).map(|round| {
            world.put(kind, round * 7919 % ingresses, round);
            let (taken, rendering) = render(&mut renderer, &world);
            last = Some(rendering.bundle.digest);
            taken
        });
        let times = times.skip(rounds).collect();
        println!("one of the {kind} changed: {}, {}", told(times), last.unwrap());
    }
    let (mut forks, mut firsts) = (Vec::new(), Vec::new());
    for _ in 0..rounds {
        let (taken, mut fork) = timed(|| renderer.fork());
        forks.push(taken);
        firsts.push(render(&mut fork, &world).0);
    }
    println!("a fork: {}; its first render: {}", told(forks), told(firsts));
    println!("kept: {:?}", renderer.cache());
}
