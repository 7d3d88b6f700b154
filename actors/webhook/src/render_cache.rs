//! Renders what would come of a change, beside the pipeline: the stores as they are, and the same with the change laid over
//! them. What did not change is kept between the two, and from one review to the next.

use haptic_attribution::{Faults, brought, changed_part::Reducer};
use haptic_inspect::Readers;
use haptic_model::{
    ActiveConfig, Bundle, Diagnostic, Finding, Fleet, HAProxyTemplateConfigSpec, ObjectRef, Quarantine,
    Severity, Snapshots,
};
use haptic_render::{RenderJob, RenderLimits, RendererFork, Rendering};
use haptic_runtime::Topic;
use haptic_watch::provided;
use serde_json::{Map, Value};
use std::{collections::HashSet, sync::Arc, time::SystemTime};

/// What the pipeline publishes that reviews are judged by.
#[derive(Clone, Debug)]
pub struct LiveTopics {
    /// The configuration in force.
    pub config: Topic<Option<Arc<ActiveConfig>>>,
    /// All stores.
    pub snapshots: Topic<Snapshots>,
    /// What the pipeline holds back.
    pub quarantine: Topic<Quarantine>,
    /// The HAProxy pods.
    pub fleet: Topic<Fleet>,
}

/// The same, at one moment.
#[derive(Clone, Debug)]
pub struct Live {
    /// The configuration in force.
    pub config: Arc<ActiveConfig>,
    /// All stores, each read to its end.
    pub snapshots: Arc<Snapshots>,
    /// What the pipeline holds back.
    pub quarantine: Arc<Quarantine>,
    /// The HAProxy pods.
    pub fleet: Arc<Fleet>,
}

/// One object as it would be: in the stores of these names, with this content or gone.
#[derive(Clone, Debug)]
pub struct ObjectChange {
    /// Names under `watchedResources`.
    pub resources: Vec<Arc<str>>,
    /// Empty for objects without one.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// `None`: it is deleted.
    pub object: Option<Map<String, Value>>,
    /// The labels of its namespace, where a watched resource selects by them.
    pub namespace_labels: Map<String, Value>,
}

/// What comes of a render.
pub type RenderOutcome = Result<Rendering, Faults>;

/// What there is: rendered without the objects that cannot be.
#[derive(Clone, Debug)]
pub struct Baseline {
    /// The stores without them.
    snapshots: Snapshots,
    /// What is wrong with them, and with the templates.
    faults: Vec<Diagnostic>,
    /// The result of its render.
    outcome: RenderOutcome,
}

/// What there is, and what would be.
#[derive(Clone, Debug)]
pub struct RenderComparison {
    /// Without the changes.
    pub before: Option<Arc<Baseline>>,
    /// With them; `None` when they change nothing in any store.
    pub after: Option<RenderOutcome>,
    /// The part of that which they can make invalid, if both are bundles.
    pub part: Option<Bundle>,
}

/// So often objects at fault are left out before the templates are thought to be at fault.
const ROUNDS: usize = 4;

/// Keeps what was rendered last.
#[derive(Debug, Default)]
pub struct RenderCache {
    fork: RendererFork,
    reducer: Reducer,
    base: Option<(Live, Arc<Baseline>)>,
    /// Whether the last render was that of `base`.
    at_base: bool,
}

impl LiveTopics {
    /// Those of them in `readers`.
    #[must_use]
    pub fn of(readers: &Readers) -> Self {
        Self {
            config: readers.config.clone(),
            snapshots: readers.snapshots.clone(),
            quarantine: readers.quarantine.clone(),
            fleet: readers.fleet.clone(),
        }
    }
}

impl Live {
    /// What there is now.
    ///
    /// # Errors
    /// Why nothing can be judged yet.
    pub fn of(topics: &LiveTopics) -> Result<Self, String> {
        let config = (*topics.config.latest()).clone().ok_or("no configuration is in force yet")?;
        let snapshots = topics.snapshots.latest();
        let names = config.spec.watched_resources.keys();
        let unread: Vec<&str> = names.map(String::as_str).filter(|name| !snapshots.synced([*name])).collect();
        if unread.is_empty() {
            let (quarantine, fleet) = (topics.quarantine.latest(), topics.fleet.latest());
            return Ok(Self { config, snapshots, quarantine, fleet });
        }
        Err(format!("not yet read: {}", unread.join(", ")))
    }

    fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.config, &other.config)
            && Arc::ptr_eq(&self.snapshots, &other.snapshots)
            && self.quarantine == other.quarantine
            && self.fleet == other.fleet
    }
}

impl ObjectChange {
    /// Who changes, once for each store.
    pub fn objects(&self) -> impl Iterator<Item = Arc<ObjectRef>> {
        self.resources.iter().map(|name| Arc::new(ObjectRef::new(name, &self.namespace, &self.name)))
    }

    /// The stores with this change, or none when it changes nothing in them.
    ///
    /// # Errors
    /// Why a store cannot hold the object.
    pub fn over(
        &self,
        spec: &HAProxyTemplateConfigSpec,
        snapshots: &Snapshots,
    ) -> Result<Option<Snapshots>, Vec<String>> {
        let mut all = snapshots.clone();
        let mut changed = false;
        for name in &self.resources {
            let laid = match &self.object {
                Some(object) => {
                    provided::with_object(spec, &all, name, object.clone(), &self.namespace_labels)?
                }
                None => provided::without_object(&all, &ObjectRef::new(name, &self.namespace, &self.name)),
            };
            if let (Some(new), Some(old)) = (laid.get(name), all.get(name)) {
                changed |= !new.is_unchanged_since(old);
            }
            all = laid;
        }
        Ok(changed.then_some(all))
    }
}

impl RenderCache {
    /// Goes on from what the pipeline rendered last.
    #[must_use]
    pub fn from_fork(fork: RendererFork) -> Self {
        Self { fork, ..Self::default() }
    }

    /// Whether `config` is what was rendered last.
    #[must_use]
    pub fn knows(&self, config: &Arc<ActiveConfig>) -> bool {
        self.base.as_ref().is_some_and(|(known, _)| Arc::ptr_eq(&known.config, config))
    }

    /// Renders `live` as it is, unless that was done last, and then with all `changes` laid over it.
    pub fn compare(&mut self, live: &Live, changes: &[ObjectChange]) -> RenderComparison {
        let is_news =
            |change: &ObjectChange| !matches!(change.over(&live.config.spec, &live.snapshots), Ok(None));
        if !changes.iter().any(is_news) {
            return RenderComparison { before: None, after: None, part: None };
        }
        let before = self.baseline(live);
        let mut over = before.snapshots.clone();
        for change in changes {
            if let Ok(Some(laid)) = change.over(&live.config.spec, &over) {
                over = laid;
            }
        }
        self.at_base = false;
        let after = self.render(live, &over);
        let part = before.outcome.as_ref().ok().zip(after.as_ref().ok()).map(|(before, after)| {
            let objects = changes.iter().flat_map(ObjectChange::objects).collect();
            self.reducer.reduced(&after.bundle, &before.bundle, &objects)
        });
        RenderComparison { before: Some(before), after: Some(after), part }
    }

    /// Renders `live` as it is, unless that was done last: what is rendered next shares its memory.
    pub fn baseline(&mut self, live: &Live) -> Arc<Baseline> {
        if let Some((known, baseline)) = &self.base
            && self.at_base
            && known.is(live)
        {
            return baseline.clone();
        }
        let baseline = Arc::new(self.render_baseline(live));
        self.base = Some((live.clone(), baseline.clone()));
        self.at_base = true;
        baseline
    }

    /// Renders what there is, without the objects that keep it from being a bundle.
    fn render_baseline(&mut self, live: &Live) -> Baseline {
        let (mut snapshots, mut known) = ((*live.snapshots).clone(), Vec::new());
        for (object, held) in &live.quarantine.held {
            snapshots = provided::without_object(&snapshots, object);
            known.push(held.why.clone().of_object(Some(object.clone())));
        }
        for _ in 0..ROUNDS {
            match self.render(live, &snapshots) {
                Err(faults) if !faults.objects.is_empty() => {
                    known.extend(brought::diagnostics(&faults, &HashSet::new()));
                    for object in faults.objects.keys() {
                        snapshots = provided::without_object(&snapshots, object);
                    }
                }
                outcome => return Baseline { snapshots, faults: known, outcome },
            }
        }
        let outcome = self.render(live, &snapshots);
        Baseline { snapshots, faults: known, outcome }
    }

    fn render(&mut self, live: &Live, snapshots: &Snapshots) -> RenderOutcome {
        let RendererFork { renderer, compiled } = &mut self.fork;
        let compiled = compiled.of(&live.config).map_err(Faults::of_templates)?;
        renderer.set_date(SystemTime::now());
        renderer.attempt(&RenderJob {
            compiled: &compiled,
            config: &live.config,
            snapshots,
            fleet: &live.fleet,
            limits: &RenderLimits::default(),
        })
    }
}

impl RenderComparison {
    /// The bundle without the changes, if there is one.
    #[must_use]
    pub fn bundle_before(&self) -> Option<&Bundle> {
        self.before.as_ref()?.outcome.as_ref().ok().map(|rendering| &rendering.bundle)
    }

    /// What is wrong without the changes.
    #[must_use]
    pub fn faults_before(&self) -> Vec<Diagnostic> {
        let Some(baseline) = &self.before else { return Vec::new() };
        let still = baseline.outcome.as_ref().err().map(|faults| faults.clone().into_diagnostics());
        baseline.faults.iter().cloned().chain(still.into_iter().flatten()).collect()
    }

    /// The warnings about `changed`, and what is found at them.
    #[must_use]
    pub fn warnings(&self, changed: &HashSet<Arc<ObjectRef>>) -> Vec<Diagnostic> {
        let warnings = |outcome: &RenderOutcome| {
            outcome.as_ref().map_or_else(|_| Vec::new(), |rendering| rendering.warnings.clone())
        };
        let after = self.after.as_ref().map(warnings).unwrap_or_default();
        let after = after.into_iter().filter(|d| d.severity == Severity::Warning);
        let after = after.filter(|warning| brought::is_of(warning, changed));
        let found = self.findings_after(changed).map(|(object, found)| found.diagnostic(object));
        after.chain(found).collect()
    }

    /// What is found at `changed` that is refused, and was not found there before.
    #[must_use]
    pub fn refusals(&self, changed: &HashSet<Arc<ObjectRef>>) -> Vec<Diagnostic> {
        let before = self.before.as_ref().and_then(|before| before.outcome.as_ref().ok());
        let is_new = |object: &ObjectRef, found: &Finding| {
            found.is_refused() && before.is_none_or(|before| !before.findings.of(object).contains(found))
        };
        let refused = self.findings_after(changed).filter(|(object, found)| is_new(object, found));
        refused
            .map(|(object, found)| Diagnostic { severity: Severity::Error, ..found.diagnostic(object) })
            .collect()
    }

    fn findings_after<'a>(
        &'a self,
        changed: &'a HashSet<Arc<ObjectRef>>,
    ) -> impl Iterator<Item = (&'a Arc<ObjectRef>, &'a Finding)> {
        let rendering = self.after.as_ref().and_then(|outcome| outcome.as_ref().ok());
        rendering.into_iter().flat_map(move |rendering| {
            changed
                .iter()
                .flat_map(move |object| rendering.findings.of(object).iter().map(move |one| (object, one)))
        })
    }
}
