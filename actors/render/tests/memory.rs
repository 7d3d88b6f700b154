//! The worst objects that there may be, one and many of them, beside good ones, in processes whose memory is limited as a
//! container's: whoever wrote them pays, everybody else is rendered as ever, and the process stays.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]
#![allow(clippy::print_stdout, reason = "figures are told")]

use haptic_attribution::quarantine::{QuarantineState, RenderTiming};
use haptic_model::{ActiveConfig, Fleet, Generation, Object, ObjectRef, Snapshot, Snapshots};
use haptic_render::{Checked, RenderJob, RenderLimits, Renderer};
use serde_json::{Map, Value, json};
use std::{collections::BTreeMap, process::Command, sync::Arc, time::Instant};

const LIBRARIES: [&str; 3] = [
    include_str!("../../../charts/haptic/libraries/base.yaml"),
    include_str!("../../../charts/haptic/libraries/ssl.yaml"),
    include_str!("../../../charts/haptic/libraries/ingress.yaml"),
];

/// What the chart gives a controller, less what everything beside renders takes; in KiB.
const LIMIT: usize = 768 << 10;

/// Bad objects of a kind: what they are called, and the objects of one of them.
type Worst = (&'static str, fn(&str, usize) -> Vec<Value>);

const WORST: [Worst; 12] = [
    ("nothing", |_, _| vec![]),
    ("wrong lines", |ns, n| annotated(ns, n, "request-headers", &"v\n".repeat(120_000))),
    ("right lines", |ns, n| annotated(ns, n, "request-headers", &"a: b\n".repeat(48_000))),
    ("wrong networks", |ns, n| annotated(ns, n, "allow-from", &"v,".repeat(120_000))),
    ("wrong origins", |ns, n| annotated(ns, n, "cors-allow-origin", &"v,".repeat(120_000))),
    ("unknown options", |ns, n| {
        let options = (0..8_000).map(|option| (format!("haproxy-haptic.org/o{option}"), json!("x")));
        ingress(ns, n, options.collect(), json!({"rules": [rule(ns, n, &["/".to_owned()])]}))
    }),
    ("large pattern", |ns, n| {
        let pattern = format!(r"(\w{{60}}){{60}}{n}");
        let options = [("rewrite-regex", &*pattern), ("rewrite-replacement", "/")];
        let options = options.map(|(name, value)| (format!("haproxy-haptic.org/{name}"), json!(value)));
        ingress(ns, n, options.into_iter().collect(), json!({"rules": [rule(ns, n, &["/".to_owned()])]}))
    }),
    ("paths", |ns, n| {
        let paths: Vec<String> = (0..9_000).map(|path| format!("/{path}")).collect();
        ingress(ns, n, Map::new(), json!({"rules": [rule(ns, n, &paths)]}))
    }),
    ("empty rules", |ns, n| ingress(ns, n, Map::new(), json!({"rules": vec![json!({}); 300_000]}))),
    ("hosts of TLS", |ns, n| {
        let hosts: Vec<String> = (0..40_000).map(|host| format!("h{host}.{ns}{n}.example")).collect();
        ingress(
            ns,
            n,
            Map::new(),
            json!({"tls": [{"hosts": hosts, "secretName": "tls"}], "rules": [rule(ns, n, &["/".to_owned()])]}),
        )
    }),
    ("endpoints", |ns, n| {
        let slices = (0..4).map(|slice| {
            let endpoints: Vec<Value> =
                (0..1_000).map(|e| json!({"addresses": [format!("10.{slice}.{}.{}", e / 250, e % 250)]})).collect();
            let ports: Vec<Value> = (0..2_000).map(|port| json!({"name": format!("p{port}"), "port": port + 1})).collect();
            let labels = json!({"kubernetes.io/service-name": format!("s{n}")});
            json!({"kind": "EndpointSlice", "metadata": {"namespace": ns, "name": format!("s{n}-{slice}"), "labels": labels},
                "addressType": "IPv4", "endpoints": endpoints, "ports": ports})
        });
        let ports: Vec<Value> =
            (0..2_000).map(|port| json!({"name": format!("p{port}"), "port": port + 1})).collect();
        let service = json!({"kind": "Service", "metadata": {"namespace": ns, "name": format!("s{n}")}, "spec": {"ports": ports}});
        let paths: Vec<Value> = (0..200)
            .map(|path| {
                json!({"path": format!("/{path}"), "pathType": "Prefix",
                "backend": {"service": {"name": format!("s{n}"), "port": {"number": path + 1}}}})
            })
            .collect();
        let rules = json!({"rules": [{"host": format!("b{n}.{ns}.example"), "http": {"paths": paths}}]});
        slices.chain([service]).chain(ingress(ns, n, Map::new(), rules)).collect()
    }),
    ("large Secrets", |ns, n| {
        let large = "QUFB".repeat(240_000);
        let secret = json!({"kind": "Secret", "metadata": {"namespace": ns, "name": format!("large{n}"), "labels": {"haproxy-haptic.org/use": "yes"}},
            "data": {"auth": large, "ca.crt": large}});
        let options = ["auth-secret", "client-ca-secret", "server-ca-secret"];
        let options = options.map(|name| (format!("haproxy-haptic.org/{name}"), json!(format!("large{n}"))));
        let rules = json!({"rules": [rule(ns, n, &["/".to_owned()])], "tls": [{"hosts": ["a.example"], "secretName": "tls"}]});
        ingress(ns, n, options.into_iter().collect(), rules).into_iter().chain([secret]).collect()
    }),
];

fn annotated(namespace: &str, number: usize, option: &str, value: &str) -> Vec<Value> {
    let options = [(format!("haproxy-haptic.org/{option}"), json!(value))].into_iter().collect();
    ingress(namespace, number, options, json!({"rules": [rule(namespace, number, &["/".to_owned()])]}))
}

fn ingress(namespace: &str, number: usize, annotations: Map<String, Value>, spec: Value) -> Vec<Value> {
    let metadata = json!({"namespace": namespace, "name": format!("i{number}"), "annotations": annotations,
        "creationTimestamp": "2026-01-01T00:00:00Z"});
    vec![json!({"kind": "Ingress", "metadata": metadata, "spec": spec})]
}

fn rule(namespace: &str, number: usize, paths: &[String]) -> Value {
    let path = |path: &String| json!({"path": path, "pathType": "Prefix", "backend": {"service": {"name": "s", "port": {"number": 80}}}});
    let paths: Vec<Value> = paths.iter().map(path).collect();
    json!({"host": format!("i{number}.{namespace}.example"), "http": {"paths": paths}})
}

/// So many good Ingresses in fifty namespaces, each with a Service and three endpoints.
fn good(count: usize) -> impl Iterator<Item = Value> {
    (0..count).flat_map(|n| {
        let (namespace, name) = (format!("good{}", n % 50), format!("s{n}"));
        let endpoints: Vec<Value> = (1..4).map(|e| json!({"addresses": [format!("10.1.{}.{e}", n % 250)]})).collect();
        let labels = json!({"kubernetes.io/service-name": name});
        let backend = json!({"service": {"name": name, "port": {"number": 80}}});
        let rules = json!({"rules": [{"host": format!("i{n}.{namespace}.example"), "http": {"paths": [
            {"path": "/", "pathType": "Prefix", "backend": backend}]}}]});
        ingress(&namespace, n, Map::new(), rules).into_iter().chain([
            json!({"kind": "Service", "metadata": {"namespace": namespace, "name": name}, "spec": {"ports": [{"name": "web", "port": 80}]}}),
            json!({"kind": "EndpointSlice", "metadata": {"namespace": namespace, "name": name, "labels": labels},
                "addressType": "IPv4", "endpoints": endpoints, "ports": [{"name": "web", "port": 8080}]}),
        ])
    })
}

/// The libraries as one configuration.
fn config() -> ActiveConfig {
    let mut spec = json!({"credentialsSecretRef": {"name": "c"}, "podSelector": {"matchLabels": {"a": "b"}}});
    for library in LIBRARIES {
        let document: Value = serde_saphyr::from_str(library).unwrap();
        merge(&mut spec, document["spec"].clone());
    }
    spec["templatingSettings"]["extraContext"]["ingressClass"]["withoutClass"] = json!(true);
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

fn snapshots(config: &ActiveConfig, objects: impl Iterator<Item = Value>) -> Snapshots {
    let watched = &config.spec.watched_resources;
    let mut stores: BTreeMap<Arc<str>, Snapshot> =
        watched.keys().map(|name| (name.as_str().into(), Snapshot::full())).collect();
    for object in objects {
        let kind = object["kind"].as_str().unwrap().to_lowercase();
        let resource = if kind.ends_with('s') { format!("{kind}es") } else { format!("{kind}s") };
        let labelled = object.pointer("/metadata/labels/haproxy-haptic.org~1use").is_some();
        let name = watched
            .iter()
            .find(|(name, watched)| {
                watched.resources == resource
                    && (resource != "secrets" || labelled == (*name == "labelledsecrets"))
            })
            .unwrap()
            .0;
        let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
        let (namespace, own) = (text("/metadata/namespace"), text("/metadata/name"));
        let service = text("/metadata/labels/kubernetes.io~1service-name");
        let key = [namespace, if name == "endpoints" { service } else { own }].map(Arc::from);
        let object = Object::new(ObjectRef::new(name, namespace, own), &object);
        stores.get_mut(name.as_str()).unwrap().apply(object, key.into());
    }
    let synced = |mut store: Snapshot| {
        store.set_synced();
        Arc::new(store)
    };
    Snapshots::new(stores.into_iter().map(|(name, store)| (name, synced(store))).collect())
}

/// Renders, if it was started for that, until there is a bundle without anybody who is at fault.
#[test]
fn in_a_process_of_its_own() {
    let Ok(case) = std::env::var("HAPTIC_MEMORY_OF") else { return };
    let numbers: Vec<&str> = case.split('|').collect();
    let [name, count, namespaces, good_ones] = numbers[..] else { panic!("{case}") };
    let (count, namespaces): (usize, usize) = (count.parse().unwrap(), namespaces.parse().unwrap());
    let good_ones: usize = good_ones.parse().unwrap();
    let worst = WORST.iter().find(|(known, _)| *known == name).unwrap().1;
    let config = config();
    let bad = (0..count).flat_map(|n| worst(&format!("bad{}", n % namespaces), n));
    let snapshots = snapshots(&config, good(good_ones).chain(bad));
    let before = peak();
    let compiled = haptic_render::compile(&config.spec).unwrap();
    let (mut renderer, mut quarantine) = (Renderer::checked(Checked::Never), QuarantineState::default());
    let (fleet, limits, started) = (Fleet::default(), RenderLimits::default(), Instant::now());
    let job = RenderJob {
        compiled: &compiled,
        config: &config,
        snapshots: &snapshots,
        fleet: &fleet,
        limits: &limits,
    };
    for generation in 1..20 {
        let timing = RenderTiming { generation: Generation(generation), now: Instant::now(), good: None };
        let outcome = job.render(&mut quarantine, &mut renderer, &timing);
        let rendering = match outcome.rendering {
            Ok(rendering) => rendering,
            Err(_) if outcome.again => continue,
            Err(faults) => panic!("it stopped everybody: {:?}", faults.others),
        };
        let text = rendering.bundle.config.text.to_string();
        let alive = (0..good_ones)
            .filter(|n| text.contains(&format!("backend good{}_i{n}_s{n}_80 ", n % 50)))
            .count();
        assert_eq!(alive, good_ones, "good Ingresses are there");
        let held = quarantine.described().held.len();
        let bytes: usize = rendering.bundle.all().map(|file| file.text.to_string().len()).sum();
        println!(
            "{name} x {count} in {namespaces}: {held} held back, {generation} renders, {bytes} bytes printed, {:?}, objects {} KiB, peak {} KiB",
            started.elapsed(),
            before,
            peak()
        );
        return;
    }
    panic!("there is no end to it");
}

/// The most memory that this process has had, in KiB.
fn peak() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

fn survives(name: &str, count: usize, namespaces: usize, good: usize) {
    let limited = Command::new("sh")
        .args(["-c", &format!("ulimit -d {LIMIT}; exec \"$0\" in_a_process_of_its_own --exact --nocapture")])
        .arg(std::env::current_exe().unwrap())
        .env("HAPTIC_MEMORY_OF", format!("{name}|{count}|{namespaces}|{good}"))
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&limited.stdout);
    let why = String::from_utf8_lossy(&limited.stderr);
    assert!(limited.status.success(), "{name} x {count}: {}\n{said}\n{why}", limited.status);
    said.lines().filter(|line| line.contains("peak")).for_each(|line| println!("{line}"));
}

#[test]
fn no_objects_however_bad_take_the_memory_of_everybody() {
    let number = |name: &str, otherwise| {
        std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(otherwise)
    };
    let (many, good) = (number("HAPTIC_MEMORY_MANY", 4), number("HAPTIC_MEMORY_GOOD", 50));
    for (name, _) in WORST {
        survives(name, 1, 1, good);
        survives(name, many, many, good);
    }
}
