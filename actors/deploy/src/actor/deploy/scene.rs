//! What the tests of a deployment have in common: one deployment, and a pod whose answers are scripted.

use crate::{
    DeployTopics, FleetArguments, PlanCache,
    deployment::{PodPublishers, RefusedReload, test_bundles},
    transport::{CallFuture, Connect, Transport, TransportError},
};
use futures::FutureExt;
use haptic_model::{
    ActiveConfig, Bundle, BundleFile, Diagnostic, Event, FileKey, FileKind, Fleet, Generation,
    HAProxyTemplateConfigSpec, HaproxyPod, HaproxyVersion, Operation, Snapshots,
    agent_api::{Apply, Epoch, Method, Outcome, Running, RunningBundle, RunningServer, Runtime, Status},
    pipeline::{Candidate, Leadership, PodState, Refused, Rendered, Validated},
};
use haptic_runtime::{Envelope, Events, Health, Publisher, Supervision, Topic, topic};
use haptic_text::{Content, Digest, Text};
use std::{
    collections::{BTreeMap, VecDeque},
    rc::Rc,
    sync::{Arc, Mutex},
    time::Duration,
};
use tokio::{
    sync::{mpsc, watch},
    time::Instant,
};

/// The pod's side: applies what it is told, unless an answer is scripted.
pub(super) struct Pod {
    pub(super) status: Status,
    /// Of what runs, and of what is stored.
    pub(super) contents: BTreeMap<String, String>,
    pub(super) files: BTreeMap<Digest, BTreeMap<String, Digest>>,
    pub(super) texts: BTreeMap<Digest, String>,
    pub(super) anew: watch::Sender<u64>,
    pub(super) weight: u32,
    pub(super) scripted: VecDeque<Result<Outcome, TransportError>>,
    pub(super) delay: Duration,
    /// How long it takes to say how it is.
    pub(super) answers_after: Duration,
    /// How long it takes to say what HAProxy runs.
    pub(super) is_looked_at_for: Duration,
    /// Nothing listens where its status is asked for.
    pub(super) silent: bool,
    pub(super) calls: Vec<String>,
    pub(super) orders: Vec<(Instant, Arc<Apply>)>,
}

#[derive(Clone)]
pub(super) struct Scripted(pub(super) Arc<Mutex<Pod>>);

pub(super) struct Scene {
    pub(super) pod: Scripted,
    pub(super) leadership: Publisher<Leadership>,
    pub(super) candidate: Publisher<Option<Arc<Candidate>>>,
    pub(super) validated: Publisher<Option<Arc<Validated>>>,
    pub(super) refused: Publisher<Option<Arc<Refused>>>,
    pub(super) config: Arc<ActiveConfig>,
    pub(super) config_cell: Publisher<Option<Arc<ActiveConfig>>>,
    pub(super) events: mpsc::Receiver<Envelope<Event>>,
    pub(super) state: Topic<PodState>,
    pub(super) refused_reload: Topic<Option<RefusedReload>>,
    pub(super) generation: u64,
    /// As templates see it.
    pub(super) fleet: Arc<Fleet>,
    /// As they are rendered from now on.
    pub(super) snapshots: Snapshots,
}

impl Transport for Scripted {
    fn status(&self) -> CallFuture<'_, Status> {
        async {
            self.0.lock().unwrap().calls.push("status".into());
            let takes = self.0.lock().unwrap().answers_after;
            tokio::time::sleep(takes).await;
            let pod = self.0.lock().unwrap();
            if pod.silent { Err(unanswered("/v1/status")) } else { Ok(pod.status.clone()) }
        }
        .boxed_local()
    }

    fn running_bundle(&self) -> CallFuture<'_, Option<RunningBundle>> {
        async {
            let mut pod = self.0.lock().unwrap();
            pod.calls.push("bundle".into());
            Ok(Some(RunningBundle { config: "haproxy.cfg".into(), files: pod.contents.clone() }))
        }
        .boxed_local()
    }

    fn runtime(&self) -> CallFuture<'_, Runtime> {
        async {
            let takes = self.0.lock().unwrap().is_looked_at_for;
            tokio::time::sleep(takes).await;
            Ok(self.0.lock().unwrap().runtime())
        }
        .boxed_local()
    }

    fn incarnation(&self, not: u64) -> CallFuture<'_, u64> {
        async move {
            let mut anew = self.0.lock().unwrap().anew.subscribe();
            Ok(*anew.wait_for(|incarnation| *incarnation != not).await.unwrap())
        }
        .boxed_local()
    }

    fn apply(&self, order: Arc<Apply>) -> CallFuture<'_, Outcome> {
        async move {
            let delay = self.0.lock().unwrap().delay;
            tokio::time::sleep(delay).await;
            let mut pod = self.0.lock().unwrap();
            let what = if order.method == Method::Store { "store" } else { "apply" };
            pod.calls.push(format!("{what} {}", order.generation));
            pod.orders.push((Instant::now(), Arc::clone(&order)));
            match pod.scripted.pop_front() {
                Some(answer) => answer,
                None => Ok(pod.apply(&order)),
            }
        }
        .boxed_local()
    }
}

impl Pod {
    pub(super) fn apply(&mut self, order: &Apply) -> Outcome {
        let there = if order.method == Method::Store { self.status.stored } else { self.status.running };
        let running = there.map(|running| running.digest);
        if running != order.base {
            return Outcome::Conflict { running };
        }
        let Some(mut files) = self.files_since(order.since) else {
            return Outcome::Missing { paths: vec![] };
        };
        for (path, digest) in &order.files {
            match digest {
                Some(digest) => files.insert(path.clone(), *digest),
                None => files.remove(path),
            };
        }
        for content in order.contents.values() {
            let text = match content {
                Content::Whole(text) => text.clone(),
                Content::Patch(patch) => patch.apply(&self.texts[&patch.of], 1 << 20).unwrap(),
            };
            self.texts.insert(Digest::of(text.as_bytes()), text);
        }
        let lacks = files.iter().filter(|(_, digest)| !self.texts.contains_key(digest));
        let paths: Vec<String> = lacks.map(|(path, _)| path.clone()).collect();
        if !paths.is_empty() {
            return Outcome::Missing { paths };
        }
        if let Method::Runtime { operations, .. } = &order.method
            && operations.iter().any(|operation| matches!(operation, Operation::SetServerWeight { .. }))
        {
            self.weight = 1;
        }
        let reached = Some(Running { digest: order.target, generation: order.generation });
        let reloaded = matches!(order.method, Method::Reload { .. });
        if !matches!(order.method, Method::Store) {
            (self.status.running, self.status.exact) = (reached, true);
            self.contents = files.iter().map(|(p, digest)| (p.clone(), self.texts[digest].clone())).collect();
        }
        if !matches!(order.method, Method::Runtime { store: false, .. }) {
            (self.status.stored, self.status.intact) = (reached, true);
        }
        self.files.insert(order.target, files);
        self.status.worker_pid += u32::from(reloaded);
        Outcome::Applied { reloaded, worker_pid: self.status.worker_pid, log: String::new() }
    }

    pub(super) fn files_since(&self, since: Option<Digest>) -> Option<BTreeMap<String, Digest>> {
        let Some(since) = since else { return Some(BTreeMap::new()) };
        self.files.get(&since).cloned()
    }

    /// Its server as its configuration has it, unless somebody changed its weight.
    pub(super) fn runtime(&self) -> Runtime {
        let config = self.contents.get("haproxy.cfg").map(String::as_str).unwrap_or_default();
        let servers = config.lines().filter_map(|line| {
            let (address, port) = line.strip_prefix(" server a ")?.split_once(':')?;
            Some(RunningServer {
                backend: "b".into(),
                server: "a".into(),
                address: address.parse().ok(),
                port: port.parse().ok()?,
                weight: self.weight,
                state: haptic_model::operation::ServerState::Ready,
            })
        });
        Runtime { servers: servers.collect(), ..Runtime::default() }
    }

    /// Somebody has brought it to `bundle`.
    pub(super) fn runs(&mut self, bundle: &Bundle, generation: u64) {
        let files = bundle.all().map(|file| (file.path.to_string(), file.digest)).collect();
        self.contents = bundle.all().map(|file| (file.path.to_string(), file.text.to_string())).collect();
        self.texts.extend(bundle.all().map(|file| (file.digest, file.text.to_string())));
        self.files.insert(bundle.digest, files);
        self.status.running = Some(Running { digest: bundle.digest, generation: Generation(generation) });
        self.status.stored = self.status.running;
    }

    /// HAProxy dies and comes back with what is on disk.
    pub(super) fn begin_anew(&mut self, setback: &str) {
        (self.status.running, self.status.exact) = (self.status.stored, true);
        self.status.setback = Some(setback.to_owned());
        self.status.worker_pid += 1;
        self.status.incarnation += 1;
        self.anew.send_replace(self.status.incarnation);
    }
}

impl Scene {
    /// A pod that runs its bootstrap file, and a controller that leads and has validated nothing.
    pub(super) fn new() -> Self {
        Self::with(true)
    }

    pub(super) fn with(leads: bool) -> Self {
        tokio::time::pause();
        let pod = Scripted(Arc::new(Mutex::new(Pod {
            status: Status {
                version: HaproxyVersion::new(3, 4),
                version_text: "3.4.7".into(),
                running: None,
                exact: true,
                stored: None,
                incarnation: 1,
                setback: None,
                epoch: Epoch::default(),
                worker_pid: 1,
                old_workers: 0,
                reloads: 0,
                alive: true,
                intact: true,
                data_plane_api: None,
            },
            contents: BTreeMap::new(),
            files: BTreeMap::new(),
            texts: BTreeMap::new(),
            anew: watch::Sender::new(1),
            weight: 1,
            scripted: VecDeque::new(),
            delay: Duration::from_millis(5),
            answers_after: Duration::ZERO,
            is_looked_at_for: Duration::ZERO,
            silent: false,
            calls: Vec::new(),
            orders: Vec::new(),
        })));
        let config = Arc::new(active_config());
        let (leadership, led) = topic(Leadership { leads, epoch: Epoch::default() });
        let (candidate, live) = topic(None);
        let (validated, newest) = topic(None);
        let (refused, bad) = topic(None);
        let (config_writer, config_reader) = topic(Some(Arc::clone(&config)));
        let ((state, states), (refused_reload, refused_reloads)) = (topic(PodState::default()), topic(None));
        let publishers = PodPublishers { state, refused_reload };
        let (events, received) = Events::channel(100);
        let double = pod.clone();
        let connect: Connect = Arc::new(move |_, _| Ok(Rc::new(double.clone()) as Rc<dyn Transport>));
        let topics = DeployTopics {
            leadership: led,
            candidate: live,
            validated: newest,
            refused: bad,
            config: config_reader,
        };
        let supervision = Supervision::new(Health::new()).on_escalate(|actor| panic!("{actor} escalated"));
        let arbiter = actix::Arbiter::current();
        let plans = PlanCache::new();
        FleetArguments { topics, events, plans, connect, arbiter, supervision }
            .deploy_to(target(), publishers);
        Self {
            pod,
            leadership,
            candidate,
            validated,
            refused,
            config,
            config_cell: config_writer,
            events: received,
            state: states,
            refused_reload: refused_reloads,
            generation: 0,
            fleet: Arc::default(),
            snapshots: Snapshots::default(),
        }
    }

    /// A new bundle passes all checks.
    pub(super) fn validate(&mut self, bundle: Bundle) {
        let rendered = self.render(bundle);
        self.pass_check(rendered);
    }

    /// A new bundle passes everything but HAProxy's own checker, which is still at work.
    pub(super) fn propose(&mut self, bundle: Bundle) -> Arc<Rendered> {
        let rendered = self.render(bundle);
        self.candidate.publish(Some(Arc::new(Candidate { rendered: rendered.clone() })));
        rendered
    }

    /// The configuration says `validation: {express: false}`.
    pub(super) fn wants_checks_first(&mut self) {
        self.reconfigure(|spec| spec.validation.express = false);
    }

    /// A new configuration is in force.
    pub(super) fn reconfigure(&mut self, change: impl FnOnce(&mut HAProxyTemplateConfigSpec)) {
        let mut config = ActiveConfig::clone(&self.config);
        change(Arc::make_mut(&mut config.spec));
        self.config = Arc::new(config);
        self.config_cell.publish(Some(self.config.clone()));
    }

    pub(super) fn pass_check(&mut self, rendered: Arc<Rendered>) {
        let validated = Validated { rendered, took: Duration::ZERO, warnings: Vec::new() };
        self.validated.publish(Some(Arc::new(validated)));
        self.refused.publish(None);
    }

    pub(super) fn fail_check(&mut self, rendered: Arc<Rendered>) {
        let diagnostics = vec![Diagnostic::error("haproxy", "unknown keyword 'x'").at_template("main", 7, 1)];
        self.refused.publish(Some(Arc::new(Refused { rendered, diagnostics })));
    }

    pub(super) fn render(&mut self, bundle: Bundle) -> Arc<Rendered> {
        self.generation += 1;
        let (generation, config) = (Generation(self.generation), Arc::clone(&self.config));
        let rendered = Rendered::of(generation, config, self.snapshots.clone(), bundle);
        Arc::new(Rendered { fleet: Arc::clone(&self.fleet), ..rendered })
    }

    pub(super) async fn next(&mut self) -> Event {
        let event = tokio::time::timeout(Duration::from_secs(600), self.events.recv()).await;
        event.expect("an event within ten minutes").unwrap().payload.as_ref().clone()
    }

    /// Until a generation is deployed: its number and reload reason.
    pub(super) async fn deployed(&mut self) -> (u64, Option<String>) {
        let began = Instant::now();
        loop {
            assert!(began.elapsed() < Duration::from_secs(600), "nothing is deployed");
            if let Event::Deployed { generation, reload, .. } = self.next().await {
                return (generation.0, reload);
            }
        }
    }

    /// Until a generation is deployed: how long after the change.
    pub(super) async fn lag(&mut self) -> Option<Duration> {
        loop {
            if let Event::Deployed { lag, .. } = self.next().await {
                return lag;
            }
        }
    }

    pub(super) async fn failed(&mut self) -> String {
        loop {
            if let Event::DeployFailed { message, .. } = self.next().await {
                return message;
            }
        }
    }

    /// Leads from now on, or does not, since the Lease has changed hands `transitions` times.
    pub(super) fn lead(&self, leads: bool, transitions: i64) {
        let epoch = Epoch { lease_created: 1, transitions };
        self.leadership.publish(Leadership { leads, epoch });
    }

    /// How often drift was told since it was asked last.
    pub(super) fn drift_so_far(&mut self) -> usize {
        let mut events = std::iter::from_fn(|| self.events.try_recv().ok());
        events.by_ref().filter(|event| matches!(*event.payload, Event::DriftFound { .. })).count()
    }

    pub(super) async fn pass(&self, time: Duration) {
        tokio::time::sleep(time).await;
    }

    pub(super) fn script(&self, answers: impl IntoIterator<Item = Result<Outcome, TransportError>>) {
        self.pod.0.lock().unwrap().scripted.extend(answers);
    }

    pub(super) fn calls(&self) -> Vec<String> {
        std::mem::take(&mut self.pod.0.lock().unwrap().calls)
    }

    pub(super) fn order(&self, index: usize) -> (Instant, Arc<Apply>) {
        self.pod.0.lock().unwrap().orders[index].clone()
    }

    pub(super) fn deployed_so_far(&self) -> Option<Generation> {
        self.state.latest().deployed
    }
}

pub(super) fn target() -> HaproxyPod {
    HaproxyPod::at("n", "p", ([10, 0, 0, 1], 5555))
}

pub(super) fn active_config() -> ActiveConfig {
    let spec = serde_json::json!({"credentialsSecretRef": {"name": "s"}, "podSelector": {"matchLabels": {"a": "b"}}});
    ActiveConfig::of("c", "n", serde_json::from_value(spec).unwrap())
}

/// A bundle that differs from another one in `maxconn` by a reload and in `server` by the socket.
pub(super) fn bundle(maxconn: u32, server: u8) -> Bundle {
    let text = format!("global\n maxconn {maxconn}\nbackend b\n server a 10.0.0.{server}:80\n");
    let map = BundleFile::new(FileKey::new(FileKind::Map, "h.map"), "maps/h.map", Text::plain("a b\n"));
    Bundle::new(BundleFile::new(FileKey::config(), "haproxy.cfg", Text::plain(&text)), [map])
}

/// The frontends of two objects: without the second one's, and with it.
pub(super) fn before_and_after_an_object_came() -> [Bundle; 2] {
    let after = test_bundles::blocks(&["a", "b"]);
    let before = after.iter().take(2).cloned().collect();
    [before, after]
        .map(|blocks| Bundle::new(BundleFile::new(FileKey::config(), "haproxy.cfg", Text::new(blocks)), []))
}

pub(super) fn refused(reload_may_help: bool) -> Result<Outcome, TransportError> {
    Ok(Outcome::Refused { message: "No such server.".into(), reload_may_help })
}

pub(super) fn timeout() -> Result<Outcome, TransportError> {
    Err(unanswered("/v1/apply"))
}

pub(super) fn unanswered(call: &'static str) -> TransportError {
    TransportError::Timeout { address: "10.0.0.1:5555".into(), call, limit: Duration::from_secs(30) }
}
