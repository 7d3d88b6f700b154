//! A HAProxy that runs what the libraries make of some objects, with a server behind every service.

use crate::{
    client::{self, Answer, Way},
    data_plane_api, echo,
    ports::free_port,
};
use base64::{Engine, engine::general_purpose::STANDARD as BASE64};
use haptic_model::{
    ActiveConfig, Bundle, Capabilities, Diagnostic, Fleet, HAProxyTemplateConfigSpec, HaproxyPod,
    HaproxyVersion, Object, ObjectRef, Snapshot, Snapshots,
    crd::WatchedResource,
    default_certificate,
    external_names::{self, ExternalNames, Resolved},
};
use haptic_render::{Program, RenderJob, RenderLimits, Templates, render};
use integration_tests::{
    certificate::{self, Certificate},
    program::{self, HaproxySeries},
};
use serde_json::{Value, json};
use std::{
    collections::{BTreeMap, HashMap},
    io::{Read as _, Write as _},
    net::{IpAddr, SocketAddr},
    os::unix::net::UnixStream,
    path::Path,
    process::{Child, Command, Stdio},
    sync::{Arc, LazyLock, Mutex, PoisonError},
    time::{Duration, Instant},
};

/// So many services there are: s1, s2, … behind 127.0.1.1, 127.0.1.2, …
const SERVICES: u8 = 40;

/// A running HAProxy; it ends with this value.
pub struct Site {
    series: HaproxySeries,
    haproxy: Mutex<Child>,
    http: u16,
    https: u16,
    folder: tempfile::TempDir,
}

/// HAProxy with the files of `folder`; it ends the process `before` once it listens.
fn spawned(series: HaproxySeries, folder: &Path, before: Option<u32>) -> Child {
    let program = program::haproxy(series).unwrap_or_else(|e| panic!("{e}"));
    spawned_as(&mut Command::new(program), folder, before)
}

/// The same as a process that may open no more than so many descriptors.
fn spawned_with_few(descriptors: u16, series: HaproxySeries, folder: &Path) -> Child {
    let program = program::haproxy(series).unwrap_or_else(|e| panic!("{e}"));
    let script = format!("ulimit -Sn {descriptors} && ulimit -Hn {descriptors} && exec \"$0\" \"$@\"");
    spawned_as(Command::new("sh").args(["-c", &script]).arg(program), folder, None)
}

fn spawned_as(command: &mut Command, folder: &Path, before: Option<u32>) -> Child {
    let output = std::fs::File::options().create(true).append(true).open(folder.join("log")).unwrap();
    let ending = before.into_iter().flat_map(|before| ["-sf".to_owned(), before.to_string()]);
    command
        .current_dir(folder)
        .args(["-db", "-dr", "-f"])
        .arg(folder.join("own.cfg"))
        .arg("-f")
        .arg(folder.join("haproxy.cfg"))
        .args(ending)
        .stdin(Stdio::null())
        .stdout(output.try_clone().unwrap())
        .stderr(output)
        .spawn()
        .unwrap()
}

/// How a request is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheme {
    Http,
    Https,
}

pub const SCHEMES: [Scheme; 2] = [Scheme::Http, Scheme::Https];

impl Drop for Site {
    fn drop(&mut self) {
        let haproxy = self.haproxy.get_mut().unwrap();
        haproxy.kill().and_then(|()| haproxy.wait()).expect("HAProxy can be stopped");
    }
}

impl Site {
    /// Renders and starts.
    pub fn start(series: HaproxySeries, manifests: &[Value]) -> Self {
        Self::start_with(series, manifests, |_| {})
    }

    /// The same with a configuration that `change` changes.
    pub fn start_with(series: HaproxySeries, manifests: &[Value], change: impl Fn(&mut Value)) -> Self {
        Self::start_as(series, manifests, change, &|folder| spawned(series, folder, None))
    }

    /// The same where HAProxy may open no more than so many descriptors.
    pub fn start_with_few(descriptors: u16, series: HaproxySeries, manifests: &[Value]) -> Self {
        Self::start_as(series, manifests, |_| {}, &|folder| spawned_with_few(descriptors, series, folder))
    }

    fn start_as(
        series: HaproxySeries,
        manifests: &[Value],
        change: impl Fn(&mut Value),
        spawned: &dyn Fn(&Path) -> Child,
    ) -> Self {
        let server = echo::start();
        for _ in 0..5 {
            let (http, https, health) = (free_port(), free_port(), free_port());
            let mut spec = spec(http, https, health);
            change(&mut spec);
            let bundle = match rendered(series, &spec, manifests, server) {
                Ok((bundle, _)) => bundle,
                Err(problems) => panic!("{}", sentences(&problems)),
            };
            if let Some(site) = Self::run(series, &bundle, (http, https), spawned) {
                return site;
            }
        }
        panic!("five times a port was taken by somebody else")
    }

    fn run(
        series: HaproxySeries,
        bundle: &Bundle,
        (http, https): (u16, u16),
        spawned: &dyn Fn(&Path) -> Child,
    ) -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        write(series, folder.path(), bundle);
        let haproxy = Mutex::new(spawned(folder.path()));
        let site = Self { series, haproxy, http, https, folder };
        if !site.is_ready() {
            let said = site.said();
            assert!(said.contains("Address already in use"), "{said}");
            return None;
        }
        Some(site)
    }

    /// Whether it answers, once it does or has ended.
    fn is_ready(&self) -> bool {
        let deadline = Instant::now() + Duration::from_secs(30);
        while !answers(&self.folder.path().join(READY)) {
            if self.haproxy.lock().unwrap().try_wait().unwrap().is_some() || Instant::now() > deadline {
                return false;
            }
            std::thread::park_timeout(Duration::from_millis(5));
        }
        true
    }

    /// Another process takes the place of the one that runs, which ends.
    pub fn reload(&self) {
        let mut haproxy = self.haproxy.lock().unwrap();
        let next = spawned(self.series, self.folder.path(), Some(haproxy.id()));
        std::mem::replace(&mut *haproxy, next).wait().unwrap();
        drop(haproxy);
        assert!(self.is_ready(), "{}", self.said());
    }

    /// GET.
    pub fn get(&self, scheme: Scheme, host: &str, path: &str) -> Answer {
        self.ask(scheme, "GET", host, path, "", "")
    }

    /// Any request. `headers`: whole lines, each with its end.
    pub fn ask(
        &self,
        scheme: Scheme,
        method: &str,
        host: &str,
        path: &str,
        headers: &str,
        body: &str,
    ) -> Answer {
        let head = format!("{method} {path} HTTP/1.1\r\nHost: {host}\r\n{headers}");
        client::ask(&self.way(scheme, host), &head, body)
            .unwrap_or_else(|e| panic!("{scheme:?} {method} {host}{path}: {e}"))
    }

    /// Waits until HAProxy has logged these words; all that it has logged by then.
    pub fn logs(&self, words: &str) -> String {
        let deadline = Instant::now() + Duration::from_secs(30);
        let log = || std::fs::read_to_string(self.folder.path().join("log")).unwrap();
        loop {
            let all = log();
            if all.lines().any(|line| line.contains(words)) && all.ends_with('\n') {
                return all;
            }
            assert!(Instant::now() < deadline, "{words:?} is not in\n{all}");
            std::thread::park_timeout(Duration::from_millis(5));
        }
    }

    /// All that HAProxy has printed by now; what it says of its configuration is there before it listens.
    pub fn said(&self) -> String {
        std::fs::read_to_string(self.folder.path().join("log")).unwrap()
    }

    /// How `host` is reached.
    pub fn way<'h>(&self, scheme: Scheme, host: &'h str) -> Way<'h> {
        let name = (scheme == Scheme::Https).then(|| host.split(':').next().unwrap());
        Way::to(self.address(scheme), name)
    }

    /// Where it listens.
    pub fn address(&self, scheme: Scheme) -> SocketAddr {
        let port = if scheme == Scheme::Http { self.http } else { self.https };
        SocketAddr::from(([127, 0, 0, 1], port))
    }
}

/// HAProxy's socket by which it is asked whether it runs. A port may answer for somebody else.
const READY: &str = "ready";

/// Whether a HAProxy answers at its socket: then it listens at all its ports.
fn answers(socket: &Path) -> bool {
    let ask = || {
        let mut connection = UnixStream::connect(socket)?;
        connection.write_all(b"show version\n")?;
        connection.read(&mut [0])
    };
    ask().is_ok_and(|read| read > 0)
}

fn write(series: HaproxySeries, folder: &Path, bundle: &Bundle) {
    let own = format!("global\n  default-path config\n  stats socket unix@{READY}\n");
    std::fs::write(folder.join("own.cfg"), own).unwrap();
    for file in bundle.all() {
        let path = folder.join(&*file.path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, file.text.to_string()).unwrap();
    }
    let config = data_plane_api::run_by(series, &bundle.config.text.to_string());
    std::fs::write(folder.join(&*bundle.config.path), config).unwrap();
}

/// What the libraries make of `manifests`, or why they do not; no HAProxy is needed.
pub fn rendered_alone(manifests: &[Value]) -> Result<(Bundle, Vec<Diagnostic>), Vec<Diagnostic>> {
    rendered_for(HaproxySeries::V3_4, manifests)
}

/// Why the configuration that `change` makes is refused.
pub fn refused_with(change: impl Fn(&mut Value)) -> String {
    let mut spec = spec(7080, 7443, 7084);
    change(&mut spec);
    rendered(HaproxySeries::V3_4, &spec, &[], 8080)
        .map_or_else(|problems| sentences(&problems), |_| String::new())
}

/// The same for a fleet of HAProxys of `series`.
pub fn rendered_for(
    series: HaproxySeries,
    manifests: &[Value],
) -> Result<(Bundle, Vec<Diagnostic>), Vec<Diagnostic>> {
    rendered(series, &spec(7080, 7443, 7084), manifests, 8080)
}

pub fn sentences(problems: &[Diagnostic]) -> String {
    problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

fn rendered(
    series: HaproxySeries,
    spec: &Value,
    manifests: &[Value],
    server: u16,
) -> Result<(Bundle, Vec<Diagnostic>), Vec<Diagnostic>> {
    let config = configuration(spec);
    // Of two objects of one name the test's own counts.
    let mut objects = surroundings(server);
    objects.extend_from_slice(manifests);
    let made = default_certificate::store(Snapshot::full(), Some(&made_certificate()));
    let names = external_names::store(Snapshot::full(), &names_of(manifests));
    let snapshots = snapshots(&config, &objects)
        .with(default_certificate::STORE.into(), Arc::new(made))
        .with(external_names::STORE.into(), Arc::new(names));
    let version = version_of(series);
    let common = Some(Capabilities::of(version));
    let fleet = Fleet { pods: pods_of(manifests), versions: vec![version], common, ..Fleet::default() };
    let compiled = compiled(&config.spec)?;
    let limits = RenderLimits::default();
    let rendered = render(&RenderJob {
        compiled: &compiled,
        config: &config,
        snapshots: &snapshots,
        fleet: &fleet,
        limits: &limits,
    })?;
    data_plane_api::keeps(&rendered.0);
    Ok(rendered)
}

/// The templates of `spec`, compiled once in this process: most tests have those of the libraries alone.
pub fn compiled(spec: &HAProxyTemplateConfigSpec) -> Result<Arc<Program>, Vec<Diagnostic>> {
    static COMPILED: LazyLock<Mutex<HashMap<Templates, Arc<Program>>>> = LazyLock::new(Mutex::default);
    let templates = Templates::of(spec);
    let mut all = COMPILED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = all.get(&templates) {
        return Ok(known.clone());
    }
    let compiled = haptic_render::compile(spec)?;
    all.insert(templates, compiled.clone());
    Ok(compiled)
}

/// The certificate that the controller would have made for hosts that have none, once, whether it is wanted now or not.
fn made_certificate() -> Value {
    static MADE: LazyLock<Certificate> = LazyLock::new(|| certificate::for_host("made.example").unwrap());
    json!({"kind": "Secret", "metadata": {"namespace": "edge", "name": "edge-default-certificate"},
        "data": {"tls.crt": BASE64.encode(&MADE.pem), "tls.key": BASE64.encode(&MADE.key)}})
}

/// The version that a fleet of that HAProxy has.
pub fn version_of(series: HaproxySeries) -> HaproxyVersion {
    match series {
        HaproxySeries::V3_0 => HaproxyVersion::new(3, 0),
        HaproxySeries::V3_2 => HaproxyVersion::new(3, 2),
        HaproxySeries::V3_4 => HaproxyVersion::new(3, 4),
    }
}

/// What the controller would have resolved: "manifests" of kind ExternalName, with a name and addresses.
fn names_of(manifests: &[Value]) -> ExternalNames {
    let names = manifests.iter().filter(|manifest| manifest["kind"] == "ExternalName");
    let known = |name: &Value| {
        let addresses = serde_json::from_value(name["addresses"].clone()).unwrap();
        (name["name"].as_str().unwrap().into(), Resolved { addresses, why: String::new() })
    };
    names.map(known).collect()
}

/// The pods of the fleet: "manifests" of kind HaproxyPod, with an address.
fn pods_of(manifests: &[Value]) -> Vec<HaproxyPod> {
    let pods = manifests.iter().filter(|manifest| manifest["kind"] == "HaproxyPod");
    let address = |pod: &Value| serde_json::from_value::<IpAddr>(pod["address"].clone()).unwrap();
    pods.map(|pod| HaproxyPod::at("edge", "haproxy", (address(pod), 5555))).collect()
}

/// What a user writes, and what makes tests possible side by side.
pub fn spec(http: u16, https: u16, health: u16) -> Value {
    json!({
        "libraries": ["base", "ssl", "ingress"],
        "credentialsSecretRef": {"name": "credentials"},
        "podSelector": {"matchLabels": {"app": "haproxy"}},
        // Where these tests have their servers.
        "allow": {"destinations": ["127.0.0.0/8", "::1"]},
        "templatingSettings": {"extraContext": {
            "bindAddresses": ["127.0.0.1"], "httpPort": http, "httpsPort": https,
            "healthAddress": "127.0.0.1", "healthPort": health, "accessLog": "none", "sslRedirect": false,
            "defaultCertificate": {"namespace": "edge", "name": "default-tls"},
        }},
    })
}

pub fn configuration(spec: &Value) -> ActiveConfig {
    let candidate =
        haptic_config::parse(&spec.to_string(), "edge.yaml").unwrap_or_else(|e| panic!("{}", sentences(&e)));
    ActiveConfig::of(&candidate.name, &candidate.namespace, Arc::unwrap_or_clone(candidate.spec))
}

/// Services with their endpoints, our default class, a certificate.
pub fn surroundings(server: u16) -> Vec<Value> {
    let mut objects: Vec<Value> = (1..=SERVICES)
        .flat_map(|number| {
            let name = format!("s{number}");
            [
                json!({"kind": "Service", "metadata": {"namespace": "shop", "name": name},
                    "spec": {"ports": [{"name": "web", "port": 80}]}}),
                json!({"kind": "EndpointSlice",
                    "metadata": {"namespace": "shop", "name": name, "labels": {"kubernetes.io/service-name": name}},
                    "addressType": "IPv4", "ports": [{"name": "web", "port": server}],
                    "endpoints": [{"addresses": [format!("127.0.1.{number}")]}]}),
            ]
        })
        .collect();
    let certificate = certificate::for_host("default.example").unwrap();
    objects.push(json!({"kind": "Secret", "metadata": {"namespace": "edge", "name": "default-tls"},
        "data": {"tls.crt": BASE64.encode(&certificate.pem), "tls.key": BASE64.encode(&certificate.key)}}));
    objects.push(json!({"kind": "IngressClass",
        "metadata": {"name": "haptic", "annotations": {"ingressclass.kubernetes.io/is-default-class": "true"}},
        "spec": {"controller": "haproxy-haptic.org/ingress-controller"}}));
    objects
}

/// The stores as a watch of each resource would fill them.
pub fn snapshots(config: &ActiveConfig, objects: &[Value]) -> Snapshots {
    with_objects(config, &Snapshots::default(), objects)
}

/// The same beside what there is: that is in the same memory afterwards.
pub fn with_objects(config: &ActiveConfig, beside: &Snapshots, objects: &[Value]) -> Snapshots {
    let stores = config.spec.watched_resources.iter().map(|(name, watched)| {
        let mut store = beside.get(name).map_or_else(Snapshot::full, |store| Snapshot::clone(store));
        for object in objects.iter().filter(|o| watches(name, watched, o)) {
            let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
            let (namespace, own) = (text("/metadata/namespace"), text("/metadata/name"));
            let service = text("/metadata/labels/kubernetes.io~1service-name");
            let key = [namespace, if name == "endpoints" { service } else { own }];
            let object = Object::new(ObjectRef::new(name, namespace, own), object);
            store.apply(object, key.iter().map(|k| Arc::from(*k)).collect());
        }
        store.set_synced();
        (Arc::from(name.as_str()), Arc::new(store))
    });
    Snapshots::new(stores.collect::<BTreeMap<_, _>>())
}

fn watches(name: &str, watched: &WatchedResource, object: &Value) -> bool {
    let kind = object["kind"].as_str().unwrap().to_lowercase();
    let plural = match kind.strip_suffix("cy") {
        Some(start) => format!("{start}cies"),
        None if kind.ends_with("ss") => format!("{kind}es"),
        None if kind.ends_with('s') => kind.clone(),
        None => format!("{kind}s"),
    };
    let labelled = object.pointer("/metadata/labels/haproxy-haptic.org~1use").is_some();
    let wanted = match (name.starts_with("labelled"), &watched.label_selector) {
        (true, Some(_)) => labelled,
        (true, None) => true,
        (false, _) => watched.resources != "secrets" || !labelled,
    };
    plural == watched.resources && wanted
}

/// What the libraries make of `manifests` with a configuration that `change` changes.
pub fn rendered_for_with(
    series: HaproxySeries,
    manifests: &[Value],
    change: impl Fn(&mut Value),
) -> Result<(Bundle, Vec<Diagnostic>), Vec<Diagnostic>> {
    let mut spec = spec(7080, 7443, 7084);
    change(&mut spec);
    rendered(series, &spec, manifests, 8080)
}
