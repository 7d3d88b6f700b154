//! When the leader publishes, on a clock that tests turn: how often at most, and after an API server that refuses or is silent.
#![allow(clippy::unwrap_used, reason = "tests")]

mod validated;

use actix::Arbiter;
use haptic_leader::{ReporterActor, ReporterOptions, publish::BETWEEN, reporting::Report};
use haptic_model::{
    HaproxyPod,
    agent_api::Running,
    config::ConfigVerdict,
    pipeline::{Leadership, PodState, Validated},
};
use haptic_runtime::{Health, Publisher, Spec, Supervision, Topic, topic};
use http::{Method, Request, Response};
use kube::{Client, client::Body};
use serde_json::{Value, json};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex},
    time::Duration,
};
use tokio::time::{Instant, sleep};
use tower::{BoxError, service_fn};
use validated::validated;

const STATUS: &str = "/apis/haproxy-haptic.org/v1alpha1/namespaces/n/haproxycfgs/edge/status";

/// What an API server does with writes.
#[derive(Clone, Copy, PartialEq)]
enum Mood {
    Takes,
    Refuses,
    IsSilent,
}

/// An API server that keeps nothing but when each object was written.
#[derive(Clone)]
struct Server {
    mood: Arc<Mutex<Mood>>,
    writes: Arc<Mutex<BTreeMap<String, Vec<Instant>>>>,
}

impl Server {
    fn new(mood: Mood) -> Self {
        Self { mood: Arc::new(Mutex::new(mood)), writes: Arc::default() }
    }

    fn client(&self) -> Client {
        let server = self.clone();
        let service = service_fn(move |request: Request<Body>| {
            let server = server.clone();
            async move { server.answer(request.method().clone(), request.uri().path().to_owned()).await }
        });
        Client::new(service, "n")
    }

    async fn answer(&self, method: Method, path: String) -> Result<Response<Body>, BoxError> {
        let name = path.rsplit('/').next().unwrap_or_default();
        let status = |code: u16, reason: &str| {
            let words = json!({ "kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code,
                "reason": reason, "message": "no" });
            (code, words)
        };
        let mood = *self.mood.lock().unwrap();
        let (code, body) = match (method, mood) {
            (Method::GET, _) if path.ends_with("haproxytemplateconfigs/edge") => (200, configuration()),
            (Method::GET, _) if name.starts_with("haproxy") => (200, json!({ "metadata": {}, "items": [] })),
            (Method::GET, _) => status(404, "NotFound"),
            (_, Mood::IsSilent) => return std::future::pending().await,
            (_, Mood::Refuses) => status(403, "Forbidden"),
            (_, Mood::Takes) if path.contains("haproxytemplateconfigs") => (200, configuration()),
            (_, Mood::Takes) => {
                self.writes.lock().unwrap().entry(path.clone()).or_default().push(Instant::now());
                (200, object(name))
            }
        };
        Ok(Response::builder().status(code).body(Body::from(serde_json::to_vec(&body)?))?)
    }

    fn is(&self, mood: Mood) {
        *self.mood.lock().unwrap() = mood;
    }

    fn written(&self) -> BTreeMap<String, Vec<Instant>> {
        self.writes.lock().unwrap().clone()
    }
}

/// The configuration, which owns what is published.
fn configuration() -> Value {
    json!({ "apiVersion": "haproxy-haptic.org/v1alpha1", "kind": "HAProxyTemplateConfig",
        "metadata": { "name": "edge", "uid": "uid" } })
}

fn object(name: &str) -> Value {
    json!({ "apiVersion": "haproxy-haptic.org/v1alpha1", "kind": "HAProxyCfg", "metadata": { "name": name } })
}

/// A reporter that leads, and what it reports from.
struct Reporting {
    validated: Publisher<Option<Arc<Validated>>>,
    pods: Publisher<BTreeMap<HaproxyPod, PodState>>,
    leadership: Publisher<Leadership>,
    reporting: Topic<haptic_leader::Reporting>,
}

/// A reporter in front of `server`, of these pods.
fn reporter(server: &Server, pods: BTreeMap<HaproxyPod, PodState>) -> Reporting {
    let first = validated(1);
    let config = Arc::clone(&first.rendered.config);
    let judgement = ConfigVerdict {
        resource_generation: 1,
        uid: None,
        problems: Vec::new(),
        leader_election: None,
        credentials: None,
    };
    let (validated, bundles) = topic(Some(Arc::new(first)));
    let (pods, states) = topic(pods);
    let (leadership, leads) = topic(Leadership { leads: true, ..Leadership::default() });
    let reporting = topic(haptic_leader::Reporting::default()).0;
    let read = reporting.topic();
    let options = ReporterOptions {
        client: server.client(),
        namespace: "n".into(),
        name: "edge".into(),
        identity: "replica".into(),
        reporting: Arc::new(reporting),
    };
    Spec::named("reporter")
        .subscribes(&topic(Some(judgement)).1)
        .subscribes(&topic(Some(config)).1)
        .subscribes(&bundles)
        .subscribes(&states)
        .subscribes(&leads)
        .start(&Arbiter::current(), &Supervision::new(Health::new()), move |own| {
            ReporterActor::new(own, options.clone())
        });
    Reporting { validated, pods, leadership, reporting: read }
}

#[actix::test]
async fn no_object_is_written_more_than_once_in_ten_seconds_however_often_it_changes() {
    tokio::time::pause();
    let server = Server::new(Mood::Takes);
    let reporter = reporter(&server, BTreeMap::new());
    for generation in 2..300 {
        sleep(Duration::from_millis(333)).await;
        reporter.validated.publish(Some(Arc::new(validated(generation))));
    }
    let written = server.written();
    let paths: BTreeSet<&str> = written.keys().map(|path| path.rsplit("n/").next().unwrap()).collect();
    assert_eq!(paths, BTreeSet::from(["haproxycfgs/edge", "haproxycfgs/edge/status"]));
    for (path, times) in written {
        let pauses: Vec<Duration> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
        assert!(pauses.len() >= 5, "{path}: {pauses:?}");
        assert!(pauses.iter().all(|pause| *pause >= BETWEEN), "{path}: {pauses:?}");
    }
    assert_eq!(reporter.reporting.latest().omitted, Some(Vec::new()));
}

#[actix::test]
async fn an_api_server_that_refuses_or_is_silent_is_asked_again_though_nothing_changes() {
    tokio::time::pause();
    for (mood, words) in [(Mood::Refuses, "no. Allow list"), (Mood::IsSilent, "did not answer within 10 s")] {
        let server = Server::new(mood);
        let reporter = reporter(&server, BTreeMap::new());
        sleep(Duration::from_secs(25)).await;
        let why = reporter.reporting.latest().failures.get(&Report::Published).cloned().unwrap_or_default();
        assert!(why.contains(words), "{why}");
        assert!(server.written().is_empty());
        server.is(Mood::Takes);
        sleep(Duration::from_secs(90)).await;
        assert!(reporter.reporting.latest().failures.is_empty());
        assert_eq!(server.written().len(), 2, "file and status: {:?}", server.written());
    }
}

/// One pod that runs `validated`.
fn pods_that_run(validated: &Validated) -> BTreeMap<HaproxyPod, PodState> {
    let pod = HaproxyPod::at("n", "p", ([10, 0, 0, 1], 5555));
    let running = Running { digest: validated.bundle().digest, generation: validated.generation() };
    BTreeMap::from([(pod, PodState { running: Some(running), ..PodState::default() })])
}

#[actix::test]
async fn pods_that_have_caught_up_are_told_at_once_and_no_more_often_for_that() {
    tokio::time::pause();
    let server = Server::new(Mood::Takes);
    let reporter = reporter(&server, pods_that_run(&validated(0)));
    let statuses = || server.written().remove(STATUS).unwrap_or_default();
    sleep(Duration::from_secs(1)).await;
    assert_eq!(statuses().len(), 1, "the pod is behind");
    let caught_up = Instant::now();
    reporter.pods.publish(pods_that_run(&validated(1)));
    sleep(Duration::from_secs(1)).await;
    assert_eq!(statuses().last(), Some(&caught_up));
    for generation in 2..300 {
        reporter.validated.publish(Some(Arc::new(validated(generation))));
        sleep(Duration::from_millis(100)).await;
        reporter.pods.publish(pods_that_run(&validated(generation)));
        sleep(Duration::from_millis(233)).await;
    }
    let times = statuses();
    assert!(times.windows(3).all(|three| three[2] - three[0] >= BETWEEN), "{times:?}");
}

#[actix::test]
async fn a_replica_that_leads_no_more_gives_up_what_it_writes_and_shows_no_trouble() {
    tokio::time::pause();
    let server = Server::new(Mood::IsSilent);
    let reporter = reporter(&server, BTreeMap::new());
    sleep(Duration::from_secs(25)).await;
    assert!(!reporter.reporting.latest().failures.is_empty());
    reporter.leadership.publish(Leadership::default());
    sleep(Duration::from_secs(1)).await;
    assert_eq!(*reporter.reporting.latest(), haptic_leader::Reporting::default());
    server.is(Mood::Takes);
    sleep(Duration::from_secs(90)).await;
    assert!(server.written().is_empty());
    reporter.leadership.publish(Leadership { leads: true, ..Leadership::default() });
    sleep(Duration::from_secs(1)).await;
    assert_eq!(server.written().len(), 2, "file and status: {:?}", server.written());
}
