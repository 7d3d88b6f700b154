//! Where a request goes: the route model, a direct reading of the Ingress specification, and HAProxy with the rendered
//! maps all say the same, for any Ingresses and any request.

use crate::support::Setup;
use haptic_model::{ObjectRef, Snapshot, Snapshots};
use haptic_routes::{
    Records, Routes,
    claims::Claims,
    class::Classes,
    families::Neighbours,
    index::RouteIndex,
    ingress::{self, IngressInputs},
    referenced::ReferencedObjects,
    services::Services,
    store_of,
};
use proptest::{
    prelude::*,
    test_runner::{Config, TestRunner},
};
use serde_json::{Value, json};
use std::{
    fmt::Write as _,
    io::{BufRead, BufReader, Read, Write},
    os::unix::net::UnixStream,
    process::{Child, Command, Stdio},
    sync::Arc,
    time::{Duration, Instant},
};

const HOSTS: [&str; 6] = ["", "a.example", "A.example", "*.example", "b.a.example", "*.a.example"];
const PATHS: [&str; 9] = ["/", "/x", "/x/", "/x/y", "/xy", "/X", "/x/y/z", "/x.y", "/%20"];
const KINDS: [&str; 3] = ["Exact", "Prefix", "ImplementationSpecific"];
const ASKED_HOSTS: [&str; 9] = [
    "a.example",
    "A.EXAMPLE",
    "z.example",
    "example",
    "b.a.example",
    "c.a.example",
    "c.b.a.example",
    "other",
    "*.example",
];
const ASKED_PATHS: [&str; 13] =
    ["/", "/x", "/x/", "/x/y", "/x/y/", "/xy", "/X", "/x/y/z", "/x/z", "/x.y", "/x.y/z", "/%20", "/y"];

/// One Ingress: its name, its age, its rules (host, paths), its default backend.
#[derive(Clone, Debug)]
struct Sketch {
    name: String,
    created: Option<u8>,
    rules: Vec<(usize, Vec<(usize, usize)>)>,
    default: bool,
}

fn sketch() -> impl Strategy<Value = Sketch> {
    let paths = prop::collection::vec((0..PATHS.len(), 0..KINDS.len()), 0..4);
    let rules = prop::collection::vec((0..HOSTS.len(), paths), 0..4);
    (0..6_u8, prop::option::of(0..3_u8), rules, any::<bool>()).prop_map(|(name, created, rules, default)| {
        Sketch { name: format!("i{name}"), created, rules, default }
    })
}

impl Sketch {
    /// Every backend is a service of its own, so that an answer says which rule it came of.
    fn object(&self) -> Value {
        let backend = |service: String| json!({"service": {"name": service, "port": {"number": 80}}});
        let rules: Vec<Value> = self
            .rules
            .iter()
            .enumerate()
            .map(|(r, (host, paths))| {
                let paths: Vec<Value> = paths
                    .iter()
                    .enumerate()
                    .map(|(p, (path, kind))| json!({"path": PATHS[*path], "pathType": KINDS[*kind], "backend": backend(format!("s{r}-{p}"))}))
                    .collect();
                match HOSTS[*host] {
                    "" => json!({"http": {"paths": paths}}),
                    host => json!({"host": host, "http": {"paths": paths}}),
                }
            })
            .collect();
        let mut object = json!({"metadata": {"namespace": "n", "name": self.name}, "spec": {"rules": rules}});
        if let Some(created) = self.created {
            object["metadata"]["creationTimestamp"] = json!(format!("2026-01-0{}T00:00:00Z", created + 1));
        }
        if self.default {
            object["spec"]["defaultBackend"] = backend("default".into());
        }
        object
    }
}

/// Where a request goes by the words of the specification: among the rules that match host and path, the one with the
/// most specific host; of these the longest path; of these the exact one; of these the oldest Ingress, then the first
/// by name, then the first in the Ingress.
fn by_the_specification(ingresses: &[Sketch], host: &str, path: &str) -> Option<String> {
    let mut best: Option<(Rank, String)> = None;
    for ingress in ingresses {
        let age = (ingress.created.is_none(), ingress.created, ingress.name.clone());
        let mut offer = |rank: Rank, service: String| {
            if best.as_ref().is_none_or(|(b, _)| rank < *b) {
                best = Some((rank, format!("n_{}_{service}_80", ingress.name)));
            }
        };
        for (r, (rule_host, paths)) in ingress.rules.iter().enumerate() {
            let Some(specificity) = host_matches(HOSTS[*rule_host], host) else { continue };
            for (p, (rule_path, kind)) in paths.iter().enumerate() {
                let exact = KINDS[*kind] == "Exact";
                if path_matches(PATHS[*rule_path], exact, path) {
                    // An exact path is the whole path of the request: no other can be longer.
                    let length = if exact { usize::MAX } else { elements(PATHS[*rule_path]).len() };
                    let rank = (specificity, usize::MAX - length, !exact, false, age.clone(), (r, p));
                    offer(rank, format!("s{r}-{p}"));
                }
            }
            if ingress.default {
                offer((specificity, usize::MAX, true, true, age.clone(), (r, 0)), "default".into());
            }
        }
        if ingress.default && ingress.rules.is_empty() {
            offer((2, usize::MAX, true, true, age.clone(), (0, 0)), "default".into());
        }
    }
    best.map(|(_, backend)| backend)
}

type Rank = (u8, usize, bool, bool, (bool, Option<u8>, String), (usize, usize));

/// 0 for the host itself, 1 for a wildcard, 2 for no host.
fn host_matches(rule: &str, host: &str) -> Option<u8> {
    let (rule, host) = (rule.to_ascii_lowercase(), host.to_ascii_lowercase());
    if rule.is_empty() {
        return Some(2);
    }
    if rule == host {
        return Some(0);
    }
    let suffix = rule.strip_prefix("*.")?;
    let (first, rest) = host.split_once('.')?;
    (!first.is_empty() && rest == suffix).then_some(1)
}

fn elements(path: &str) -> Vec<&str> {
    path.split('/').filter(|element| !element.is_empty()).collect()
}

fn path_matches(rule: &str, exact: bool, path: &str) -> bool {
    if exact { rule == path } else { elements(path).starts_with(&elements(rule)) }
}

fn distinct(mut ingresses: Vec<Sketch>) -> Vec<Sketch> {
    ingresses.sort_by(|a, b| a.name.cmp(&b.name));
    ingresses.dedup_by(|a, b| a.name == b.name);
    ingresses
}

fn setup(ingresses: &[Sketch]) -> Setup {
    let each = |exact: &str| {
        format!(
            "{{{{#each (routes \"ingresses\") as |set|}}}}\n{{{{#each set.routes as |r|}}}}\n{{{{#if (eq r.exact {exact})}}}}\n{{{{r.key}}}} {{{{r.backend.name}}}}\n{{{{/if}}}}\n{{{{/each}}}}\n{{{{/each}}}}\n"
        )
    };
    let setup = Setup::new("").map("exact.map", &each("true")).map("prefix.map", &each("false"));
    ingresses
        .iter()
        .fold(setup, |setup, i| setup.object("ingresses", "n", &i.name, &["n", &i.name], i.object()))
}

/// An index and its records.
#[derive(Default)]
struct RecordedIndex {
    index: RouteIndex,
    records: Records,
}

impl RecordedIndex {
    fn update(&mut self, changes: impl IntoIterator<Item = (Arc<ObjectRef>, Option<Claims>)>) {
        let touched = self.index.update(changes);
        self.records.write(&self.index, touched);
    }

    fn sets(&self) -> &Snapshot {
        self.records.sets()
    }
}

fn index(ingresses: &[Sketch]) -> RecordedIndex {
    let mut index = RecordedIndex::default();
    index.update(ingresses.iter().map(|i| (reference(&i.name), claims(i))));
    index
}

fn reference(name: &str) -> Arc<ObjectRef> {
    Arc::new(ObjectRef::new("ingresses", "n", name))
}

fn claims(ingress: &Sketch) -> Option<Claims> {
    let claims = ingress::claims(
        ingress.object().to_string().as_bytes(),
        &Classes::all(),
        &IngressInputs {
            services: &Services::default(),
            neighbours: &Neighbours::default(),
            referenced: &ReferencedObjects::default(),
        },
    );
    Some(claims.unwrap())
}

fn model(index: &RouteIndex, host: &str, path: &str) -> Option<String> {
    index.answer(host, path).map(|(o, b)| format!("{}_{}_{}_{}", o.namespace, o.name, b.service, b.port))
}

fn requests() -> impl Iterator<Item = (&'static str, &'static str)> {
    ASKED_HOSTS.iter().flat_map(|host| ASKED_PATHS.iter().map(|path| (*host, *path)))
}

proptest! {
    #![proptest_config(Config { cases: 96, failure_persistence: None, ..Config::default() })]

    #[test]
    fn the_model_answers_as_the_specification_reads(ingresses in prop::collection::vec(sketch(), 0..6)) {
        let ingresses = distinct(ingresses);
        let index = index(&ingresses).index;
        for (host, path) in requests() {
            let expected = by_the_specification(&ingresses, host, path);
            prop_assert_eq!(model(&index, host, path), expected, "{}{}", host, path);
        }
    }

    #[test]
    fn after_any_history_the_index_is_that_of_a_fresh_start(
        history in prop::collection::vec((sketch(), any::<bool>()), 1..20)
    ) {
        let mut grown = RecordedIndex::default();
        let mut there: Vec<Sketch> = Vec::new();
        for (ingress, put) in history {
            there.retain(|i| i.name != ingress.name);
            grown.update([(reference(&ingress.name), put.then(|| claims(&ingress)).flatten())]);
            if put {
                there.push(ingress);
            }
            let fresh = index(&there);
            let sets = |i: &RecordedIndex| i.sets().iter().map(|o| String::from_utf8(o.json.bytes().into_owned()).unwrap()).collect::<Vec<_>>();
            prop_assert_eq!(sets(&grown), sets(&fresh));
        }
    }
}

#[test]
fn a_change_touches_only_the_sets_that_share_a_claim() {
    let ingress = |name: &str, host: usize| Sketch {
        name: name.into(),
        created: None,
        rules: vec![(host, vec![(1, 1)])],
        default: false,
    };
    let mut index = index(&[ingress("i1", 1), ingress("i2", 3), ingress("i3", 4)]);
    let before = index.sets().clone();
    index.update([(reference("i1"), claims(&ingress("i1", 3)))]);
    let changed: Vec<String> = index
        .sets()
        .differences_from(&before)
        .map(|d| d.after.or(d.before).unwrap().0.reference.name.to_string())
        .collect();
    assert_eq!(changed, ["i1", "i2"]);
}

#[test]
fn what_an_object_does_not_get_is_said_with_the_reason() {
    let rejected = |ingresses: &[Sketch], name: &str| -> Vec<String> {
        let index = index(ingresses);
        let set = index.sets().get("n", name).unwrap().value().unwrap();
        set["rejected"].as_array().unwrap().iter().map(|r| r.as_str().unwrap().to_owned()).collect()
    };
    let ingress = |name: &str, created| Sketch {
        name: name.into(),
        created,
        rules: vec![(1, vec![(1, 1), (2, 2)])],
        default: false,
    };
    let twice = "a.example/x (Prefix) is named twice, the first one counts";
    assert_eq!(
        rejected(&[ingress("a", Some(2)), ingress("b", Some(1))], "a"),
        ["a.example/x (Prefix) is taken by ingresses n/b, which is older", twice]
    );
    assert_eq!(
        rejected(&[ingress("a", Some(1)), ingress("b", Some(1))], "b")[0],
        "a.example/x (Prefix) is taken by ingresses n/a, which comes first by name"
    );
    assert_eq!(rejected(&[ingress("a", None)], "a"), [twice]);
}

#[test]
fn an_ingress_of_another_class_takes_nothing_from_anyone() {
    let classed = |class: Option<&str>| {
        let mut object = json!({"metadata": {"namespace": "n", "name": "i"}, "spec": {"rules": []}});
        if let Some(class) = class {
            object["spec"]["ingressClassName"] = json!(class);
        }
        object
    };
    let class = |controller: &str, default: bool| {
        json!({"metadata": {"annotations": {"ingressclass.kubernetes.io/is-default-class": default.to_string()}},
            "spec": {"controller": controller}})
    };
    let ours = |default: bool, object: Value| {
        let mut setup = Setup::new("{{len (routes \"ingresses\")}}").with(
            "watchedResources/ingressclasses",
            json!({"apiVersion": "networking.k8s.io/v1", "resources": "ingressclasses"}),
        );
        setup.stores.insert("ingressclasses".into(), haptic_model::Snapshot::full());
        setup
            .object(
                "ingressclasses",
                "",
                "ours",
                &["", "ours"],
                class("haproxy-haptic.org/ingress-controller", default),
            )
            .object("ingressclasses", "", "theirs", &["", "theirs"], class("example.com/other", true))
            .object("ingresses", "n", "i", &["n", "i"], object)
    };
    let counted = |setup: &Setup| {
        let mut routes = Routes::default();
        let all: Snapshots = routes.beside(&setup.config(), &setup.snapshots());
        all.get(&store_of("ingresses")).unwrap().len()
    };
    assert_eq!(counted(&ours(false, classed(Some("ours")))), 1);
    assert_eq!(counted(&ours(false, classed(Some("theirs")))), 0);
    assert_eq!(counted(&ours(false, classed(None))), 0);
    assert_eq!(counted(&ours(true, classed(None))), 1);
    let mut old = classed(None);
    old["metadata"]["annotations"] = json!({"kubernetes.io/ingress.class": "ours"});
    assert_eq!(counted(&ours(false, old)), 1);
    let named = ours(false, classed(Some("special"))).extra(json!({"ingressClass": {"name": "special"}}));
    assert_eq!(counted(&named), 1);
    let without = ours(false, classed(None)).extra(json!({"ingressClass": {"withoutClass": true}}));
    assert_eq!(counted(&without), 1);
}

struct Haproxy(Child);

impl Drop for Haproxy {
    fn drop(&mut self) {
        self.0.kill().and_then(|()| self.0.wait()).expect("HAProxy can be stopped");
    }
}

/// Several worlds at once, each a frontend with maps of its own.
fn agrees_with_haproxy(variable: &str) {
    let binary = std::env::var(variable)
        .unwrap_or_else(|_| panic!("{variable} does not name a HAProxy: run this test through `make test`"));
    let mut runner = TestRunner::new(Config { failure_persistence: None, ..Config::default() });
    let worlds: Vec<Vec<Sketch>> = (0..30)
        .map(|_| {
            let tree = prop::collection::vec(sketch(), 1..6).new_tree(&mut runner).unwrap();
            distinct(proptest::strategy::ValueTree::current(&tree))
        })
        .collect();
    let folder = tempfile::tempdir().unwrap();
    let mut config =
        String::from("global\n  default-path config\ndefaults\n  mode http\n  timeout client 30s\n");
    for (number, world) in worlds.iter().enumerate() {
        let (bundle, _) = setup(world).bundle().unwrap_or_else(|e| panic!("{}", crate::support::all(&e)));
        for file in bundle.files.values() {
            let name = format!("{number}-{}", file.key.name);
            std::fs::write(folder.path().join(name), file.text.to_string()).unwrap();
        }
        write!(
            config,
            "frontend f{number}\n  bind unix@{}/{number}.sock\n{}  http-request return status 200 content-type text/plain lf-string %[var(txn.route)]\n",
            folder.path().display(),
            lookups(number)
        )
        .unwrap();
    }
    std::fs::write(folder.path().join("haproxy.cfg"), config).unwrap();
    let mut command = Command::new(binary);
    command.args(["-db", "-f"]).arg(folder.path().join("haproxy.cfg")).stderr(Stdio::piped());
    let mut haproxy = Haproxy(command.stdout(Stdio::null()).spawn().expect("HAProxy starts"));
    for (number, world) in worlds.iter().enumerate() {
        let connection = connect(&mut haproxy, &folder.path().join(format!("{number}.sock")));
        let mut connection = BufReader::new(connection);
        for (host, path) in requests() {
            let expected = by_the_specification(world, host, path).unwrap_or_default();
            let said = ask(&mut connection, host, path);
            assert_eq!(said, expected, "{host}{path} with {world:#?}");
        }
    }
}

/// The lookups of the library `ingress`.
fn lookups(number: usize) -> String {
    let mut rules = String::from(
        "  http-request set-var(txn.path) path\n  http-request set-var(txn.host) req.hdr(host),host_only,lower\n",
    );
    let hosts = ["var(txn.host)", "var(txn.host),regsub(^[^.]+,*)", "str(*)"];
    for (nth, host) in hosts.iter().enumerate() {
        let unless = if nth == 0 { "" } else { " if !{ var(txn.route) -m found }" };
        write!(rules, "  http-request set-var(txn.rules) {host}{unless}\n  http-request set-var(txn.route) var(txn.rules),concat(,txn.path,),map({number}-exact.map){unless}\n  http-request set-var(txn.route) var(txn.rules),concat(,txn.path,/),map_beg({number}-prefix.map) if !{{ var(txn.route) -m found }}\n").unwrap();
    }
    rules
}

fn connect(haproxy: &mut Haproxy, socket: &std::path::Path) -> UnixStream {
    let deadline = Instant::now() + Duration::from_secs(30);
    loop {
        if let Ok(connection) = UnixStream::connect(socket) {
            return connection;
        }
        let ended = haproxy.0.try_wait().unwrap().is_some();
        if ended || Instant::now() > deadline {
            let mut said = String::new();
            haproxy.0.stderr.take().unwrap().take(3000).read_to_string(&mut said).unwrap();
            panic!("HAProxy does not run: {said}");
        }
        std::thread::park_timeout(Duration::from_millis(5));
    }
}

fn ask(connection: &mut BufReader<UnixStream>, host: &str, path: &str) -> String {
    write!(connection.get_mut(), "GET {path}?q=/x HTTP/1.1\r\nhost: {host}:8080\r\n\r\n").unwrap();
    let (mut line, mut length) = (String::new(), 0);
    loop {
        line.clear();
        connection.read_line(&mut line).unwrap();
        let text = line.trim_end().to_ascii_lowercase();
        if text.is_empty() {
            break;
        }
        if let Some(value) = text.strip_prefix("content-length: ") {
            length = value.parse().unwrap();
        }
    }
    let mut body = vec![0; length];
    connection.read_exact(&mut body).unwrap();
    String::from_utf8(body).unwrap()
}

#[test]
fn haproxy_3_0_routes_as_the_specification_reads() {
    agrees_with_haproxy("HAPTIC_HAPROXY_3_0");
}

#[test]
fn haproxy_3_2_routes_as_the_specification_reads() {
    agrees_with_haproxy("HAPTIC_HAPROXY_3_2");
}

#[test]
fn haproxy_3_4_routes_as_the_specification_reads() {
    agrees_with_haproxy("HAPTIC_HAPROXY_3_4");
}
