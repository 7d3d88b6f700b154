//! What renders and what finds causes, without actors: a generation is rendered until one passes.

use crate::SECOND;
use futures::executor::block_on;
use haptic_attribution::{
    causes::{Charge, Ruling, find_causes},
    quarantine::{QuarantineState, RenderTiming},
};
use haptic_model::{
    ActiveConfig, Bundle, Diagnostic, FailureReport, Fleet, Generation, ObjectRef, Severity, Snapshot,
    Snapshots, pipeline::Rendered,
};
use haptic_render::{
    Checked, Program, RenderJob, RenderLimits, Renderer, compile, quarantine::QuarantinedRender,
};
use serde_json::json;
use std::{
    cell::Cell,
    collections::BTreeMap,
    sync::Arc,
    time::{Duration, Instant},
};

/// Longer than anything that is tried again rests.
const HOUR: Duration = Duration::from_secs(3601);

/// There is time for so many checks of parts in one search.
const MOST_CHECKS: usize = 40;

/// A cluster of Ingresses and Services, and the stages that keep its bad objects from stopping the others.
pub struct Stages {
    stores: BTreeMap<Arc<str>, Snapshot>,
    config: Arc<ActiveConfig>,
    compiled: Arc<Program>,
    renderer: Renderer,
    quarantine: QuarantineState,
    good: Option<Arc<Rendered>>,
    generation: u64,
    now: Instant,
    /// How long a check takes.
    pub check: Duration,
    /// What the next render hears.
    report: Option<Arc<FailureReport>>,
}

/// What it took until a bundle passed.
#[derive(Clone, Copy, Debug, Default)]
pub struct Effort {
    pub generations: usize,
    /// Most checks of one generation.
    pub checks: usize,
}

impl Stages {
    pub fn new(template: &str, map: &str, checked: Checked) -> Self {
        let spec = json!({
            "credentialsSecretRef": {"name": "credentials"},
            "podSelector": {"matchLabels": {"app": "haproxy"}},
            "haproxyConfig": {"template": template},
            "maps": {"nets.map": {"template": map}},
            "watchedResources": {
                "ingresses": {"apiVersion": "networking.k8s.io/v1", "resources": "ingresses"},
                "services": {"apiVersion": "v1", "resources": "services"},
            },
        });
        let config = ActiveConfig::of("test", "default", serde_json::from_value(spec).unwrap());
        Self {
            stores: ["ingresses", "services"].map(|name| (name.into(), Snapshot::full())).into(),
            compiled: compile(&config.spec).unwrap(),
            config: Arc::new(config),
            renderer: Renderer::checked(checked),
            quarantine: QuarantineState::default(),
            good: None,
            generation: 0,
            now: Instant::now(),
            check: Duration::ZERO,
            report: None,
        }
    }

    /// The object `name` says `word`.
    pub fn put(&mut self, resource: &str, name: &str, word: &str) {
        self.put_in("n", resource, name, word);
    }

    /// The same in another namespace.
    pub fn put_in(&mut self, namespace: &str, resource: &str, name: &str, word: &str) {
        let object = json!({"metadata": {"namespace": namespace, "name": name}, "word": word});
        self.stores.get_mut(resource).unwrap().put(ObjectRef::new(resource, namespace, name), &object);
    }

    pub fn delete(&mut self, resource: &str, name: &str) {
        self.stores.get_mut(resource).unwrap().remove(&ObjectRef::new(resource, "n", name));
    }

    /// Time goes on.
    pub fn pass(&mut self, time: Duration) {
        self.now += time;
    }

    /// Time goes on until everything that rests is tried again.
    pub fn rest(&mut self) {
        self.now += HOUR;
    }

    /// The names of what is held back.
    pub fn held(&self) -> Vec<String> {
        self.quarantine.described().held.keys().map(|object| object.name.to_string()).collect()
    }

    /// The same without those of one namespace.
    pub fn held_outside(&self, namespace: &str) -> Vec<String> {
        let held = self.quarantine.described().held;
        let others = held.keys().filter(|object| &*object.namespace != namespace);
        others.map(ToString::to_string).collect()
    }

    pub fn suspects(&self) -> usize {
        self.quarantine.described().suspects()
    }

    /// What passed last.
    pub fn text(&self) -> String {
        self.good.as_ref().map(|good| text(&good.bundle)).unwrap_or_default()
    }

    /// Renders until a bundle passes `judge`.
    pub fn settle(&mut self, judge: impl AsyncFn(Bundle) -> Vec<Diagnostic>) -> Effort {
        let mut effort = Effort::default();
        for _ in 0..10 {
            let (passed, checks) = self.turn(&judge);
            effort.generations += 1;
            effort.checks = effort.checks.max(checks);
            if passed {
                return effort;
            }
        }
        panic!("nothing passes; held back: {:?}", self.held());
    }

    /// The same until nobody is only suspected; time goes on.
    pub fn settle_all(&mut self, judge: impl AsyncFn(Bundle) -> Vec<Diagnostic>) {
        self.settle(&judge);
        for _ in 0..100 {
            if self.suspects() == 0 {
                return;
            }
            self.pass(SECOND);
            self.settle(&judge);
        }
        panic!("still suspected: {:?}", self.held());
    }

    /// One generation, and the search for causes if it is refused: whether it passed, and how many checks of all of it the search
    /// took as long as.
    pub fn turn(&mut self, judge: &impl AsyncFn(Bundle) -> Vec<Diagnostic>) -> (bool, usize) {
        let report = self.report.take();
        let (outcome, generation) = self.render(report);
        if outcome.again {
            return (false, 0);
        }
        let rendering = outcome.rendering.unwrap_or_else(|faults| panic!("{faults:?}"));
        let rendered = Arc::new(self.rendered(generation, rendering.bundle, outcome.snapshots));
        let said = block_on(judge(rendered.bundle.clone()));
        if said.iter().all(|diagnostic| diagnostic.severity < Severity::Error) {
            self.good = Some(rendered);
            return (true, 0);
        }
        let (checks, size) = (Cell::new(0), Cell::new(0));
        let counted = async |bundle: Bundle, _| {
            checks.set(checks.get() + 1);
            size.set(size.get() + bundle.size());
            if checks.get() > MOST_CHECKS { None } else { Some(ruling(judge(bundle).await)) }
        };
        let found = block_on(find_causes(
            &Charge {
                bundle: &rendered.bundle,
                good: self.good.as_ref().map(|good| &good.bundle),
                ruling: &ruling(said.clone()),
                throttled: &rendered.previous_failures.throttled,
                is_new_configuration: false,
            },
            counted,
        ));
        let searched = size.get().div_ceil(rendered.bundle.size());
        assert!(!found.proven.is_empty() || !found.suspects.is_empty(), "nobody is at fault: {said:?}");
        self.report = Some(Arc::new(FailureReport {
            rendered: rendered.basis(),
            good: None,
            objects: found.proven,
            suspects: found.suspects,
            templates: None,
            took: self.check * (1 + searched as u32),
        }));
        (false, searched)
    }

    fn render(&mut self, report: Option<Arc<FailureReport>>) -> (QuarantinedRender, Generation) {
        self.generation += 1;
        let generation = Generation(self.generation);
        let (snapshots, fleet, limits) = (self.snapshots(), Fleet::default(), RenderLimits::default());
        let job = RenderJob {
            compiled: &self.compiled,
            config: &self.config,
            snapshots: &snapshots,
            fleet: &fleet,
            limits: &limits,
        };
        let good = self.good.as_ref().map(|good| good.basis());
        let timing = RenderTiming { generation, now: self.now, good: good.as_ref() };
        if let Some(report) = report {
            job.receive(&report, &mut self.quarantine, &self.renderer, &timing);
        }
        (job.render(&mut self.quarantine, &mut self.renderer, &timing), generation)
    }

    /// What a cluster with these Ingresses alone looks like.
    pub fn expected(&self, ingresses: &BTreeMap<String, String>) -> String {
        let mut other = Self {
            stores: self.stores.clone(),
            config: self.config.clone(),
            compiled: self.compiled.clone(),
            renderer: Renderer::checked(Checked::Never),
            quarantine: QuarantineState::default(),
            good: None,
            generation: 0,
            now: self.now,
            check: self.check,
            report: None,
        };
        let all: Vec<_> =
            self.stores["ingresses"].iter().map(|object| object.reference.name.clone()).collect();
        all.iter().for_each(|name| other.delete("ingresses", name));
        ingresses.iter().for_each(|(name, word)| other.put("ingresses", name, word));
        let (outcome, _) = other.render(None);
        assert_eq!((other.held(), outcome.renders), (vec![], 1));
        text(&outcome.rendering.unwrap().bundle)
    }

    fn snapshots(&self) -> Snapshots {
        Snapshots::new(self.stores.iter().map(|(n, s)| (n.clone(), Arc::new(s.clone()))).collect())
    }

    fn rendered(&self, generation: Generation, bundle: Bundle, snapshots: Snapshots) -> Rendered {
        let previous_failures = self.quarantine.previous_failures(self.now);
        Rendered { previous_failures, ..Rendered::of(generation, self.config.clone(), snapshots, bundle) }
    }
}

fn ruling(mut said: Vec<Diagnostic>) -> Ruling {
    said.retain(|diagnostic| diagnostic.severity == Severity::Error);
    if said.is_empty() { Ruling::Passes } else { Ruling::Refused(said) }
}

fn text(bundle: &Bundle) -> String {
    bundle.all().map(|file| format!("== {}\n{}", file.path, file.text)).collect()
}
