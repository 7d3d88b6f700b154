//! One deployment against a pod whose answers are scripted, in paused time.

use super::*;
use crate::{
    planner::PlanCache,
    roster::{PodStates, Roster},
    transport::{Answer, Connect, Transport},
};
use futures::FutureExt;
use haptic_model::{
    ActiveConfig, Bundle, BundleFile, Complaints, Content, Diagnostic, Digest, Event, FileKey, FileKind,
    Fleet, Generation, HAProxyTemplateConfigSpec, HaproxyPod, HaproxyVersion, Operation, Snapshots, Text,
    agent_api::{Apply, Epoch, Method, Outcome, Running, RunningBundle, RunningServer, Runtime, Status},
    pipeline::{Candidate, Cause, Leadership, Reconcile, Refused, Rendered, Validated},
};
use haptic_runtime::{CellReader, CellWriter, Envelope, Events, cell};
use std::{
    collections::{BTreeMap, VecDeque},
    rc::Rc,
    sync::{Arc, Mutex},
    time::Duration,
};
use tokio::{
    sync::{mpsc, watch},
    task::LocalSet,
    time::Instant,
};

/// The pod's side: applies what it is told, unless an answer is scripted.
pub(super) struct Pod {
    pub(super) status: Status,
    /// Of what runs, and of what is stored.
    contents: BTreeMap<String, String>,
    files: BTreeMap<Digest, BTreeMap<String, Digest>>,
    texts: BTreeMap<Digest, String>,
    anew: watch::Sender<u64>,
    pub(super) weight: u32,
    pub(super) scripted: VecDeque<Result<Outcome, TransportError>>,
    pub(super) delay: Duration,
    /// How long it takes to say how it is.
    answers_after: Duration,
    /// How long it takes to say what HAProxy runs.
    pub(super) is_looked_at_for: Duration,
    /// Nothing listens where its status is asked for.
    silent: bool,
    calls: Vec<String>,
    orders: Vec<(Instant, Arc<Apply>)>,
}

#[derive(Clone)]
pub(super) struct Scripted(pub(super) Arc<Mutex<Pod>>);

pub(super) struct Scene {
    pub(super) pod: Scripted,
    leadership: CellWriter<Leadership>,
    candidate: CellWriter<Option<Arc<Candidate>>>,
    validated: CellWriter<Option<Arc<Validated>>>,
    refused: CellWriter<Option<Arc<Refused>>>,
    config: Arc<ActiveConfig>,
    config_cell: CellWriter<Option<Arc<ActiveConfig>>>,
    events: mpsc::Receiver<Envelope<Event>>,
    states: CellReader<PodStates>,
    complaints: CellReader<Complaints>,
    generation: u64,
    /// As templates see it.
    pub(super) fleet: Arc<Fleet>,
    /// As they are rendered from now on.
    pub(super) snapshots: Snapshots,
    local: LocalSet,
}

impl Transport for Scripted {
    fn status(&self) -> Answer<'_, Status> {
        async {
            self.0.lock().unwrap().calls.push("status".into());
            let takes = self.0.lock().unwrap().answers_after;
            tokio::time::sleep(takes).await;
            let pod = self.0.lock().unwrap();
            if pod.silent { Err(unanswered("/v1/status")) } else { Ok(pod.status.clone()) }
        }
        .boxed_local()
    }

    fn running_bundle(&self) -> Answer<'_, Option<RunningBundle>> {
        async {
            let mut pod = self.0.lock().unwrap();
            pod.calls.push("bundle".into());
            Ok(Some(RunningBundle { config: "haproxy.cfg".into(), files: pod.contents.clone() }))
        }
        .boxed_local()
    }

    fn runtime(&self) -> Answer<'_, Runtime> {
        async {
            let takes = self.0.lock().unwrap().is_looked_at_for;
            tokio::time::sleep(takes).await;
            Ok(self.0.lock().unwrap().runtime())
        }
        .boxed_local()
    }

    fn incarnation(&self, not: u64) -> Answer<'_, u64> {
        async move {
            let mut anew = self.0.lock().unwrap().anew.subscribe();
            Ok(*anew.wait_for(|incarnation| *incarnation != not).await.unwrap())
        }
        .boxed_local()
    }

    fn apply(&self, order: Arc<Apply>) -> Answer<'_, Outcome> {
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
    fn apply(&mut self, order: &Apply) -> Outcome {
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

    fn files_since(&self, since: Option<Digest>) -> Option<BTreeMap<String, Digest>> {
        let Some(since) = since else { return Some(BTreeMap::new()) };
        self.files.get(&since).cloned()
    }

    /// Its server as its configuration has it, unless somebody changed its weight.
    fn runtime(&self) -> Runtime {
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

    fn with(leads: bool) -> Self {
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
        let (leadership, led) = cell(Leadership { leads, epoch: Epoch::default() });
        let (candidate, live) = cell(None);
        let (validated, newest) = cell(None);
        let (refused, bad) = cell(None);
        let (config_writer, config_reader) = cell(Some(Arc::clone(&config)));
        let ((states, states_read), (fleet, _)) = (cell(PodStates::new()), cell(Fleet::default()));
        let (complaint, complaints) = cell(Complaints::new());
        let roster = Roster::new(states, fleet).complaining_to(complaint);
        roster.set_pods(&[target()]);
        let (events, received) = Events::channel(100);
        let double = pod.clone();
        let connect: Connect = Arc::new(move |_, _| Ok(Rc::new(double.clone()) as Rc<dyn Transport>));
        let deployment = Deployment {
            pod: target(),
            board: Board {
                leadership: led,
                candidate: live,
                validated: newest,
                refused: bad,
                config: config_reader,
            },
            plans: PlanCache::new(),
            roster,
            events,
            connect,
            wake: Arc::default(),
            show: Box::new(|_| {}),
        };
        let local = LocalSet::new();
        local.spawn_local(deployment.run());
        Self {
            pod,
            leadership,
            candidate,
            validated,
            refused,
            config,
            config_cell: config_writer,
            events: received,
            states: states_read,
            complaints,
            generation: 0,
            fleet: Arc::default(),
            snapshots: Snapshots::default(),
            local,
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

    fn render(&mut self, bundle: Bundle) -> Arc<Rendered> {
        self.generation += 1;
        let reconcile = Reconcile {
            generation: Generation(self.generation),
            cause: Cause::default(),
            triggered: std::time::Instant::now(),
        };
        let config = Arc::clone(&self.config);
        Arc::new(Rendered {
            reconcile,
            config,
            snapshots: self.snapshots.clone(),
            fleet: Arc::clone(&self.fleet),
            bundle,
            took: Duration::ZERO,
            warnings: Vec::new(),
            hindsight: haptic_model::Hindsight::default(),
        })
    }

    pub(super) async fn next(&mut self) -> Event {
        let (events, local) = (&mut self.events, &self.local);
        let event = local.run_until(tokio::time::timeout(Duration::from_secs(600), events.recv())).await;
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
    async fn lag(&mut self) -> Option<Duration> {
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
        self.local.run_until(tokio::time::sleep(time)).await;
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
        self.states.read()[&target()].deployed
    }
}

pub(super) fn target() -> HaproxyPod {
    HaproxyPod {
        namespace: "n".into(),
        name: "p".into(),
        uid: "1".into(),
        address: [10, 0, 0, 1].into(),
        other_addresses: Vec::new(),
        port: 5555,
    }
}

fn active_config() -> ActiveConfig {
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
fn before_and_after_an_object_came() -> [Bundle; 2] {
    let after = super::blame::tests::blocks(&["a", "b"]);
    let before = after.iter().take(2).cloned().collect();
    [before, after]
        .map(|blocks| Bundle::new(BundleFile::new(FileKey::config(), "haproxy.cfg", Text::new(blocks)), []))
}

pub(super) fn refused(reload_may_help: bool) -> Result<Outcome, TransportError> {
    Ok(Outcome::Refused { message: "No such server.".into(), reload_may_help })
}

fn timeout() -> Result<Outcome, TransportError> {
    Err(unanswered("/v1/apply"))
}

fn unanswered(call: &'static str) -> TransportError {
    TransportError::Timeout { address: "10.0.0.1:5555".into(), call, limit: Duration::from_secs(30) }
}

#[tokio::test(start_paused = true)]
async fn the_first_bundle_is_one_reload_and_a_server_change_is_one_call_without() {
    let mut scene = Scene::new();
    scene.validate(bundle(1, 1));
    let (generation, reload) = scene.deployed().await;
    assert_eq!(generation, 1);
    assert!(reload.unwrap().contains("first configuration"));
    assert_eq!(scene.calls(), ["status", "apply 1"]);
    scene.validate(bundle(1, 2));
    assert_eq!(scene.deployed().await, (2, None));
    assert_eq!(scene.calls(), ["apply 2"]);
    let (_, order) = scene.order(1);
    assert_eq!(order.base, Some(bundle(1, 1).digest));
    assert_eq!(order.contents.keys().collect::<Vec<_>>(), ["haproxy.cfg"], "the map is there already");
    assert_eq!(scene.deployed_so_far(), Some(Generation(2)));
}

#[tokio::test(start_paused = true)]
async fn a_pod_that_runs_the_bundle_already_is_only_asked() {
    let mut scene = Scene::new();
    scene.pod.0.lock().unwrap().runs(&bundle(1, 1), 77);
    scene.validate(bundle(1, 1));
    assert_eq!(scene.deployed().await, (1, None));
    assert_eq!(scene.calls(), ["status"]);
}

#[tokio::test(start_paused = true)]
async fn a_restarted_controller_reads_what_the_pod_runs_and_changes_only_the_difference() {
    let mut scene = Scene::new();
    scene.pod.0.lock().unwrap().runs(&bundle(1, 1), 77);
    scene.validate(bundle(1, 2));
    assert_eq!(scene.deployed().await, (1, None));
    assert_eq!(scene.calls(), ["status", "bundle", "apply 1"]);
}

#[tokio::test(start_paused = true)]
async fn reloads_keep_their_interval_and_the_newest_bundle_wins_the_wait() {
    let mut scene = Scene::new();
    scene.validate(bundle(1, 1));
    scene.deployed().await;
    scene.validate(bundle(2, 1));
    scene.pass(Duration::from_millis(500)).await;
    scene.validate(bundle(3, 1));
    let (generation, reload) = scene.deployed().await;
    assert_eq!((generation, reload.as_deref()), (3, Some("global section: maxconn changed")));
    let gap = scene.order(1).0 - scene.order(0).0;
    assert!(gap >= Duration::from_secs(2) && gap < Duration::from_millis(2100), "{gap:?}");
    scene.validate(bundle(3, 2));
    scene.deployed().await;
    let gap = scene.order(2).0 - scene.order(1).0;
    assert!(gap < Duration::from_millis(100), "a change without a reload waits for nothing: {gap:?}");
}

#[tokio::test(start_paused = true)]
async fn while_a_slow_deployment_runs_only_the_newest_bundle_waits() {
    let mut scene = Scene::new();
    scene.validate(bundle(1, 1));
    scene.deployed().await;
    scene.pod.0.lock().unwrap().delay = Duration::from_secs(5);
    for server in 2..6 {
        scene.validate(bundle(1, server));
        scene.pass(Duration::from_millis(10)).await;
    }
    assert_eq!(scene.deployed().await.0, 2);
    assert_eq!(scene.deployed().await.0, 5);
    assert_eq!(scene.calls(), ["status", "apply 1", "apply 2", "apply 5"]);
}

#[tokio::test(start_paused = true)]
async fn a_conflict_is_read_and_planned_again_at_once() {
    let mut scene = Scene::new();
    scene.validate(bundle(1, 1));
    scene.deployed().await;
    scene.pod.0.lock().unwrap().runs(&bundle(1, 9), 5);
    scene.calls();
    scene.validate(bundle(1, 2));
    assert_eq!(scene.deployed().await, (2, None));
    assert_eq!(scene.calls(), ["apply 2", "status", "bundle", "apply 2"]);
}

#[tokio::test(start_paused = true)]
async fn a_pod_that_always_conflicts_is_retried_with_pauses() {
    let mut scene = Scene::new();
    scene.script((0..8).map(|_| Ok(Outcome::Conflict { running: None })));
    scene.validate(bundle(1, 1));
    assert!(scene.failed().await.contains("does another controller deploy to it"));
    assert!(scene.calls().len() <= 8);
    assert_eq!(scene.deployed().await.0, 1);
}

#[tokio::test(start_paused = true)]
async fn operations_that_the_socket_refuses_become_one_reload() {
    let mut scene = Scene::new();
    scene.validate(bundle(1, 1));
    scene.deployed().await;
    scene.script([refused(true)]);
    scene.validate(bundle(1, 2));
    let (generation, reload) = scene.deployed().await;
    assert_eq!((generation, reload.as_deref()), (2, Some("HAProxy's socket refused: No such server.")));
    scene.validate(bundle(1, 3));
    assert_eq!(scene.deployed().await, (3, None), "the next change goes through the socket again");
}

#[tokio::test(start_paused = true)]
async fn a_refused_reload_is_told_in_haproxys_words_and_tried_again() {
    let mut scene = Scene::new();
    scene.script([refused(false), refused(false)]);
    scene.validate(bundle(1, 1));
    assert!(scene.failed().await.contains("No such server."));
    assert!(scene.states.read()[&target()].last_error.is_some());
    assert_eq!(scene.deployed().await.0, 1);
    assert!(scene.states.read()[&target()].last_error.is_none());
}

#[tokio::test(start_paused = true)]
async fn what_a_pod_cannot_carry_out_is_nobodys_fault_however_often_and_tried_again() {
    let (mut scene, [before, after]) = (Scene::new(), before_and_after_an_object_came());
    scene.validate(before);
    assert_eq!(scene.deployed().await.0, 1);
    scene.script((0..3).map(|_| Ok(Outcome::Failed { message: "No space left on device".into() })));
    scene.validate(after);
    for _ in 0..3 {
        assert!(scene.failed().await.contains("the pod could not carry it out: No space left on device"));
    }
    assert_eq!(scene.deployed().await.0, 2);
    assert!(scene.complaints.read().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_bundle_that_haproxy_refuses_twice_is_what_changed_ones_fault() {
    let (mut scene, [before, after]) = (Scene::new(), before_and_after_an_object_came());
    scene.validate(before);
    assert_eq!(scene.deployed().await.0, 1);
    scene.script([refused(false), refused(false)]);
    scene.validate(after);
    scene.failed().await;
    assert!(scene.complaints.read().is_empty(), "once may be the pod's own trouble");
    scene.failed().await;
    let complaint = scene.complaints.read().first().cloned().expect("a complaint");
    assert_eq!(complaint.objects.iter().map(|(object, _)| &*object.name).collect::<Vec<_>>(), ["b"]);
}

#[tokio::test(start_paused = true)]
async fn after_a_timeout_the_pod_is_asked_before_anything_is_sent_again() {
    let mut scene = Scene::new();
    scene.script([timeout()]);
    scene.validate(bundle(1, 1));
    assert!(scene.failed().await.contains("gave no answer to /v1/apply within 30s"));
    assert_eq!(scene.deployed().await.0, 1);
    assert_eq!(scene.calls(), ["status", "apply 1", "status", "apply 1"]);
}

#[tokio::test(start_paused = true)]
async fn pauses_between_failures_grow_to_their_cap() {
    let mut scene = Scene::new();
    scene.script((0..10).map(|_| timeout()));
    scene.validate(bundle(1, 1));
    assert_eq!(scene.deployed().await.0, 1);
    let gaps: Vec<Duration> = (1..10).map(|n| scene.order(n).0 - scene.order(n - 1).0).collect();
    assert!(gaps[8] >= Duration::from_secs(9), "{gaps:?}");
    assert!(gaps.iter().all(|gap| *gap <= Duration::from_secs(21)), "{gaps:?}");
}

#[tokio::test(start_paused = true)]
async fn a_newer_bundle_ends_a_pause_early() {
    let mut scene = Scene::new();
    scene.script((0..6).map(|_| timeout()));
    scene.validate(bundle(1, 1));
    for _ in 0..6 {
        scene.failed().await;
    }
    let before = Instant::now();
    scene.validate(bundle(1, 2));
    assert_eq!(scene.deployed().await.0, 2);
    assert!(before.elapsed() < Duration::from_secs(3), "{:?}", before.elapsed());
}

#[tokio::test(start_paused = true)]
async fn contents_that_the_pod_lost_are_sent() {
    let mut scene = Scene::new();
    scene.validate(bundle(1, 1));
    scene.deployed().await;
    scene.script([Ok(Outcome::Missing { paths: vec!["maps/h.map".into()] })]);
    scene.validate(bundle(1, 2));
    assert_eq!(scene.deployed().await.0, 2);
    assert_eq!(scene.order(2).1.contents.keys().collect::<Vec<_>>(), ["haproxy.cfg", "maps/h.map"]);
}

#[tokio::test(start_paused = true)]
async fn only_the_leader_deploys_and_a_new_one_does_so_at_once() {
    let mut scene = Scene::with(false);
    scene.validate(bundle(1, 1));
    scene.pass(Duration::from_secs(30)).await;
    assert_eq!(scene.calls(), ["status"], "versions are known on every replica");
    assert!(scene.states.read()[&target()].capabilities.is_some());
    let epoch = Epoch { lease_created: 1, transitions: 4 };
    scene.leadership.publish(Leadership { leads: true, epoch });
    assert_eq!(scene.deployed().await.0, 1);
    assert_eq!(scene.order(0).1.epoch, epoch);
}

#[tokio::test(start_paused = true)]
async fn a_standby_that_can_read_its_pod_again_forgets_why_it_could_not() {
    let scene = Scene::with(false);
    let last_error = || scene.states.read()[&target()].last_error.clone();
    scene.pod.0.lock().unwrap().silent = true;
    scene.pass(Duration::from_secs(5)).await;
    assert!(last_error().unwrap().contains("gave no answer to /v1/status"));
    scene.pod.0.lock().unwrap().silent = false;
    scene.pass(Duration::from_secs(20)).await;
    assert_eq!(last_error(), None);
}

#[tokio::test(start_paused = true)]
async fn how_far_a_pod_lags_is_told_only_of_what_was_brought_to_it_for_the_first_time() {
    let mut scene = Scene::new();
    scene.pod.0.lock().unwrap().runs(&bundle(1, 1), 77);
    scene.validate(bundle(1, 1));
    assert_eq!(scene.lag().await, None, "an actor or a leader before brought it, who knows when");
    scene.validate(bundle(1, 2));
    let lag = scene.lag().await;
    assert!(lag.is_some());
    scene.pod.0.lock().unwrap().status.running = None;
    assert_eq!(scene.lag().await, None, "it had it before somebody changed it");
    assert_eq!(scene.states.read()[&target()].lag, lag);
}

#[tokio::test(start_paused = true)]
async fn a_stale_leader_says_so_and_does_not_insist() {
    let mut scene = Scene::new();
    scene.script([Ok(Outcome::Stale { epoch: Epoch::default() })]);
    scene.validate(bundle(1, 1));
    assert!(scene.failed().await.contains("newer leadership"));
}

#[tokio::test(start_paused = true)]
async fn drift_is_found_told_and_taken_back() {
    let mut scene = Scene::new();
    scene.validate(bundle(1, 1));
    scene.deployed().await;
    let start = Instant::now();
    scene.pod.0.lock().unwrap().status.running = None;
    let Event::DriftFound { what, .. } = scene.next().await else { panic!("drift expected") };
    assert!(what.contains("bootstrap"), "{what}");
    assert!(start.elapsed() <= Duration::from_secs(61));
    assert_eq!(scene.deployed().await.0, 1);
}

/// Another leader brings the pod to another bundle meanwhile.
#[tokio::test(start_paused = true)]
async fn a_replica_that_does_not_lead_any_more_compares_no_pods() {
    let mut scene = Scene::new();
    scene.validate(bundle(1, 1));
    scene.deployed().await;
    scene.lead(false, 1);
    scene.pod.0.lock().unwrap().runs(&bundle(1, 2), 7);
    scene.pass(Duration::from_secs(200)).await;
    scene.validate(bundle(1, 2));
    scene.lead(true, 2);
    scene.pass(Duration::from_secs(200)).await;
    assert_eq!(scene.drift_so_far(), 0);
    scene.pod.0.lock().unwrap().status.running = None;
    scene.pass(Duration::from_secs(61)).await;
    assert_eq!(scene.drift_so_far(), 1, "what is changed while it leads is found");
}

#[tokio::test(start_paused = true)]
async fn a_leadership_that_ends_while_a_pod_is_asked_finds_no_drift() {
    let mut scene = Scene::new();
    scene.validate(bundle(1, 1));
    scene.deployed().await;
    let asked = Duration::from_secs(61);
    scene.pod.0.lock().unwrap().answers_after = Duration::from_secs(5);
    scene.pass(asked).await;
    assert_eq!(scene.calls().last().map(String::as_str), Some("status"));
    scene.lead(false, 1);
    scene.pod.0.lock().unwrap().runs(&bundle(1, 2), 7);
    scene.pass(Duration::from_secs(100)).await;
    assert_eq!(scene.drift_so_far(), 0);
}

#[tokio::test(start_paused = true)]
async fn files_that_somebody_changed_are_written_again_without_a_reload() {
    let mut scene = Scene::new();
    scene.validate(bundle(1, 1));
    scene.deployed().await;
    scene.pod.0.lock().unwrap().status.intact = false;
    let Event::DriftFound { what, .. } = scene.next().await else { panic!("drift expected") };
    assert!(what.contains("files on its disk"), "{what}");
    scene.pass(Duration::from_secs(1)).await;
    assert!(scene.pod.0.lock().unwrap().status.intact);
    assert_eq!(scene.order(1).1.method, Method::Store);
}

#[tokio::test(start_paused = true)]
async fn a_haproxy_that_is_down_is_waited_for() {
    let mut scene = Scene::new();
    scene.validate(bundle(1, 1));
    scene.deployed().await;
    scene.pod.0.lock().unwrap().status.alive = false;
    assert!(scene.failed().await.contains("does not answer its socket"));
    scene.pod.0.lock().unwrap().status.alive = true;
    scene.pass(Duration::from_secs(20)).await;
    assert!(scene.states.read()[&target()].last_error.is_none());
}

/// A pod that can add no backends, as the fleet then says.
async fn pod_without_dynamic_backends(scene: &mut Scene) -> Fleet {
    let version = HaproxyVersion::new(3, 2);
    scene.pod.0.lock().unwrap().status.version = version;
    scene.validate(bundle(1, 1));
    scene.pass(Duration::from_secs(5)).await;
    Fleet::of_version(version)
}

#[tokio::test(start_paused = true)]
async fn what_was_rendered_without_knowing_the_pod_waits_for_what_knows_it() {
    let mut scene = Scene::new();
    let fleet = pod_without_dynamic_backends(&mut scene).await;
    assert_eq!(scene.calls(), ["status"], "it is asked, and nothing is brought");
    scene.fleet = Arc::new(fleet);
    scene.validate(bundle(2, 1));
    assert_eq!(scene.deployed().await.0, 2);
    assert_eq!(scene.calls(), ["apply 2"]);
}

#[tokio::test(start_paused = true)]
async fn when_no_render_knows_the_pod_it_gets_what_there_is() {
    let mut scene = Scene::new();
    pod_without_dynamic_backends(&mut scene).await;
    assert_eq!(scene.deployed().await.0, 1);
}
