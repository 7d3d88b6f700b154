//! One attempt on a pod: what it takes to bring it a step nearer to the newest bundles.

use super::{
    context::Deployment,
    failure::DeployFailure,
    order::{MissingContent, OrderBaseline},
    other_changes::OtherChanges,
    pod_status::{PodNeed, PodStatus},
    progress::PodProgress,
    refused_reload::RefusedReload,
    state::DeploymentState,
    targets::{Check, DeployTarget, NewestBundles},
};
use crate::{
    planner::{Plan, Reason, ReasonKind, RunningView, Verdict, ahead},
    transport::Transport,
};
use haptic_attribution::failed_reload;
use haptic_model::{
    ActiveConfig, Event, Generation,
    agent_api::{Apply, Method, Outcome},
    figure::TimedPart,
    pipeline::{LastPlan, Leadership, Rendered},
};
use haptic_runtime::cpu;
use std::{
    collections::BTreeMap,
    rc::Rc,
    sync::Arc,
    time::{Duration, SystemTime},
};
use tokio::time::Instant;

/// What an attempt works with. It has the progress of its pod until it ends.
pub(crate) struct DeployAttempt {
    pub deployment: Rc<Deployment>,
    pub progress: PodProgress,
    pub config: Arc<ActiveConfig>,
    pub transport: Rc<dyn Transport>,
    pub leadership: Leadership,
    pub newest: NewestBundles,
    pub began: Instant,
    /// Whether it is time to look at what HAProxy runs.
    pub is_due: bool,
    /// Whether an order to store is under way.
    pub is_storing: bool,
}

/// What follows an attempt.
pub(crate) enum NextStep {
    /// Nothing to do until something changes or the pod must be checked again.
    Wait(DeploymentState),
    /// Another attempt at once.
    Retry(&'static str),
    /// Another attempt then, or when something changes.
    WaitUntil(Instant, DeploymentState),
}

/// A reload that HAProxy did.
struct Reloaded {
    why: String,
    kind: &'static str,
}

impl DeployAttempt {
    /// Brings the pod a step nearer to the newest bundles.
    pub async fn run(&mut self) -> Result<NextStep, DeployFailure> {
        if let Some(step) = self.await_fitting_render() {
            return Ok(step);
        }
        let step = self.advance().await?;
        match step {
            NextStep::Wait(DeploymentState::Converged { .. } | DeploymentState::Ahead { .. })
                if self.is_due =>
            {
                Ok(self.repair_drift().await?.unwrap_or(step))
            }
            step => Ok(step),
        }
    }

    /// Waits for a render that knows what the pod can do, so that the one before it is not deployed and then replaced by a reload.
    /// If none comes, there is something wrong with it, and what there is serves better than nothing.
    fn await_fitting_render(&self) -> Option<NextStep> {
        let generation = self.newest.unfit(self.progress.known.as_ref()?.capabilities)?;
        let until = self.progress.first_read? + FITTING_RENDER_TIMEOUT;
        let left = until.checked_duration_since(Instant::now())?;
        let millis = u64::try_from(left.as_millis()).unwrap_or(u64::MAX);
        (millis > 0).then_some(NextStep::WaitUntil(until, DeploymentState::Awaiting { generation, millis }))
    }

    /// The newest bundle at once if HAProxy can follow by operations; otherwise the newest checked one.
    async fn advance(&mut self) -> Result<NextStep, DeployFailure> {
        let Some(known) = self.progress.known.clone() else {
            return Ok(NextStep::Retry("its state is unknown"));
        };
        let reached = self.progress.reached();
        let follows = self.progress.obstacles.forced_reload.is_none() && known.exact && known.alive;
        let fast_path = self.newest.fast_path(reached).filter(|_| follows);
        if let Some(target) = &fast_path {
            match known.need(target.bundle().digest, None) {
                PodNeed::Nothing => return Ok(self.converge(target)),
                _ => match self.plan(&known, target, PodNeed::Plan).await? {
                    None => return Ok(NextStep::Retry("it changes while it is read")),
                    Some(plan) if plan.verdict.reload_reason().is_none() => {
                        return self.carry_out(&known, target, &plan).await;
                    }
                    Some(_) => {
                        self.await_check();
                        if let Some(step) = self.go_ahead(&known, target).await? {
                            return Ok(step);
                        }
                    }
                },
            }
        }
        self.await_check();
        // What went ahead of the newest stays until that comes, or is refused.
        let stays = self.progress.is_ahead() && self.newest.is_checking();
        let failed = self.progress.obstacles.forced_reload.as_ref().and_then(|reload| reload.failed);
        let waits_for = failed.filter(|failed| self.newest.validated_or_refused() < Some(*failed));
        match self.newest.checked(reached) {
            Some(target) if waits_for.is_none() && !(stays && reached >= Some(target.generation())) => {
                self.bring(&known, target).await
            }
            None if self.newest.validated.is_none() => Ok(NextStep::Wait(DeploymentState::Standby)),
            _ => {
                let waiting = waits_for.or(fast_path.map(|target| target.generation()));
                let live = reached.or(self.newest.newest()).unwrap_or_default();
                Ok(NextStep::Wait(
                    waiting.map_or(DeploymentState::Ahead { generation: live }, |generation| {
                        DeploymentState::Checking { generation }
                    }),
                ))
            }
        }
    }

    /// Says that the pod cannot follow before HAProxy's own checker has ended, if that is what it waits for.
    fn await_check(&mut self) {
        let Some(awaited) = self.newest.awaiting_check() else { return };
        if self.progress.awaited_check.replace(awaited) != Some(awaited) {
            self.deployment.update(|state| state.awaits_check = Some(awaited));
        }
    }

    /// Brings the pod to a bundle that passed every check.
    async fn bring(&mut self, known: &PodStatus, target: DeployTarget) -> Result<NextStep, DeployFailure> {
        let need = known.need(target.bundle().digest, self.progress.converged_worker());
        match need {
            PodNeed::Nothing if self.progress.obstacles.forced_reload.is_none() => {
                return Ok(self.converge(&target));
            }
            PodNeed::Haproxy => {
                self.progress.forget();
                return Err(DeployFailure::Down);
            }
            _ => {}
        }
        self.report_rollback(&target);
        let Some(plan) = self.plan(known, &target, need).await? else {
            return Ok(NextStep::Retry("it changes while it is read"));
        };
        let generation = target.generation();
        if plan.verdict.reload_reason().is_some() {
            if self.is_storing {
                // Its answer wakes.
                return Ok(NextStep::Wait(DeploymentState::Waiting { generation, millis: 0 }));
            }
            let allowed = self.reload_allowed_at();
            if let Some(then) = allowed.filter(|then| *then > Instant::now()) {
                if let Some(NextStep::Wait(state)) = self.go_ahead(known, &target).await? {
                    return Ok(NextStep::WaitUntil(Instant::now(), state));
                }
                let millis = u64::try_from((then - Instant::now()).as_millis()).unwrap_or(u64::MAX);
                return Ok(NextStep::WaitUntil(then, DeploymentState::Waiting { generation, millis }));
            }
        }
        self.carry_out(known, &target, &plan).await
    }

    /// Does what of `target` can be done now, though the whole needs a reload: servers follow their endpoints. `None`: nothing.
    async fn go_ahead(
        &mut self,
        known: &PodStatus,
        target: &DeployTarget,
    ) -> Result<Option<NextStep>, DeployFailure> {
        let follows = self.progress.obstacles.forced_reload.is_none() && known.exact && known.alive;
        let reached = self.progress.reached.as_ref().map(|reached| Arc::clone(&reached.rendered));
        let Some(running) = reached.filter(|reached| known.digest() == Some(reached.bundle.digest)) else {
            return Ok(None);
        };
        let is_same_config = Arc::ptr_eq(&running.config.spec, &target.rendered.config.spec);
        if !(follows && is_same_config && self.newest.allows_fast_path) {
            return Ok(None);
        }
        let (target, capabilities, plans) =
            (target.rendered.clone(), known.capabilities, self.deployment.plans.clone());
        let found = cpu("deploy", move || {
            let apart = OtherChanges::of(&running.snapshots, &target.snapshots, &target.config);
            let bundle = ahead(&running.bundle, &target.bundle, |object| apart.may_go(object))?;
            let between = plans.view(&bundle);
            let plan = plans.plan(&plans.view(&running.bundle), &between, capabilities);
            let rendered = Arc::new(Rendered { bundle, ..Rendered::clone(&running) });
            let can = matches!(plan.verdict, Verdict::Runtime { .. });
            can.then_some((DeployTarget { rendered, check: Check::ServersOnly }, plan, between))
        });
        let Some((between, plan, view)) = found.await? else { return Ok(None) };
        self.progress.views.target = Some(view);
        self.carry_out(known, &between, &plan).await.map(Some)
    }

    /// The plan, or `None` when the pod no longer runs what it said it runs.
    async fn plan(
        &mut self,
        known: &PodStatus,
        target: &DeployTarget,
        need: PodNeed,
    ) -> Result<Option<Arc<Plan>>, DeployFailure> {
        self.deployment.show(&DeploymentState::Planning { generation: target.generation() });
        let desired = self.deployment.plans.view(target.bundle());
        let running = match need {
            PodNeed::Plan if known.exact => self.running_view(known).await?,
            PodNeed::Plan => Some(Arc::new(RunningView::bootstrap())),
            _ => Some(Arc::clone(&desired)),
        };
        let Some(running) = running else { return Ok(None) };
        self.progress.views.running = Some(Arc::clone(&running));
        self.progress.views.target = Some(Arc::clone(&desired));
        let (plans, capabilities) = (self.deployment.plans.clone(), known.capabilities);
        let began = Instant::now();
        let plan = cpu("deploy", move || plans.plan(&running, &desired, capabilities)).await?;
        self.deployment.events.emit(Event::Planned {
            generation: target.generation(),
            pod: self.deployment.name(),
            kind: plan.verdict.kind(),
            operations: plan.verdict.operations().len(),
            took: began.elapsed(),
        });
        let drift = |sentence: &str| Reason { kind: ReasonKind::Drift, sentence: sentence.to_owned() };
        let forced_reload = match &self.progress.obstacles.forced_reload {
            Some(forced_reload) => Some(forced_reload.reason.clone()),
            None if !known.exact => Some(drift(known.last_failure.as_deref().unwrap_or(HALF_WAY))),
            None if need == PodNeed::FilesAndReload => {
                Some(drift("somebody else changed files and restarted or reloaded HAProxy"))
            }
            None if !known.alive && plan.verdict.reload_reason().is_none() => {
                Some(drift("HAProxy does not answer its socket"))
            }
            None => None,
        };
        Ok(Some(forced_reload.map_or(plan.clone(), |reason| Arc::new(plan.by_reload(reason)))))
    }

    /// What the pod runs, from whoever holds it already, or from the pod.
    async fn running_view(&mut self, known: &PodStatus) -> Result<Option<Arc<RunningView>>, DeployFailure> {
        let Some(digest) = known.digest() else { return Ok(Some(Arc::new(RunningView::bootstrap()))) };
        if let Some(view) = self.progress.views.find(digest).or_else(|| self.deployment.plans.known(digest)) {
            return Ok(Some(view));
        }
        let Some(read) = self.transport.running_bundle().await? else {
            return Ok(Some(
                self.reload_from_scratch("what the pod runs was brought by a controller that is gone"),
            ));
        };
        let layout = self.config.layout.clone();
        let view = cpu("deploy", move || RunningView::read_back(read, &layout))
            .await?
            .map_err(DeployFailure::Unreadable)?;
        if view.digest() == Some(digest) {
            return Ok(Some(self.deployment.plans.keep(view)));
        }
        if view.digest() == known.stored_digest() {
            // A controller and an agent before us brought it, and both are gone.
            self.progress.views.stored = Some(self.deployment.plans.keep(view));
            let sentence =
                "what HAProxy runs was brought by operations that neither agent nor controller know any more";
            return Ok(Some(self.reload_from_scratch(sentence)));
        }
        self.progress.forget();
        Ok(None)
    }

    async fn carry_out(
        &mut self,
        known: &PodStatus,
        target: &DeployTarget,
        plan: &Plan,
    ) -> Result<NextStep, DeployFailure> {
        if !self.still_leads() {
            return Ok(NextStep::Retry("another replica leads, or this one again"));
        }
        let reload = plan.verdict.reload_reason();
        self.deployment
            .show(&DeploymentState::Applying { generation: target.generation(), reload: reload.clone() });
        let order = self.order(known, target, plan);
        let known_before = self.progress.order_leaves();
        let began = Instant::now();
        let answer = self.transport.apply(Arc::new(order)).await;
        self.deployment.events.emit(Event::Timed {
            part: TimedPart::Agent,
            generation: target.generation(),
            pod: Some(self.deployment.name()),
            took: began.elapsed(),
        });
        if reload.is_some() {
            self.progress.last_reload = Some(Instant::now());
        }
        let outcome = answer?;
        self.progress.known = known_before;
        self.conclude(target, plan, outcome)
    }

    fn conclude(
        &mut self,
        target: &DeployTarget,
        plan: &Plan,
        outcome: Outcome,
    ) -> Result<NextStep, DeployFailure> {
        match outcome {
            Outcome::Applied { reloaded, worker_pid, log } => {
                self.report_words(target, log.trim());
                Ok(self.applied(target, plan, reloaded, worker_pid))
            }
            Outcome::Conflict { .. } => {
                self.progress.forget();
                Ok(NextStep::Retry("something else runs whenever an order comes"))
            }
            Outcome::Stale { .. } => {
                self.progress.forget();
                Err(DeployFailure::Stale)
            }
            Outcome::Missing { paths } => {
                self.progress.obstacles.missing.learn(paths)?;
                Ok(NextStep::Retry("it lacks contents"))
            }
            Outcome::Refused { message, reload_may_help }
                if reload_may_help && plan.verdict.reload_reason().is_none() =>
            {
                self.progress.forget();
                let sentence = format!("HAProxy's socket refused: {}", target.bundle().redacted(&message));
                self.progress.force_reload(ReasonKind::Refused, sentence, Some(target.generation()));
                Ok(NextStep::Retry("its socket refuses"))
            }
            Outcome::Refused { message, .. } => Err(self.reload_refused(target, &message)),
            Outcome::Failed { message } => {
                self.progress.forget();
                Err(DeployFailure::Failed(target.bundle().redacted(&message)))
            }
        }
    }

    /// Tells what HAProxy said while it took a bundle.
    fn report_words(&self, target: &DeployTarget, words: &str) {
        if words.is_empty() {
            return;
        }
        self.deployment.events.emit(Event::HaproxySaid {
            generation: target.generation(),
            pod: self.deployment.name(),
            text: target.bundle().redacted(words),
        });
    }

    /// The pod runs `target` now.
    fn applied(&mut self, target: &DeployTarget, plan: &Plan, reloaded: bool, worker_pid: u32) -> NextStep {
        let (generation, bundle) = (target.generation(), target.bundle());
        if let Some(known) = &mut self.progress.known {
            known.applied(bundle, generation, worker_pid);
            if stores(known, target, plan) {
                known.stored(bundle, generation);
                self.progress.views.stored = Some(self.deployment.plans.view(bundle));
            }
        }
        self.progress.obstacles.missing = MissingContent::Nothing;
        self.progress.obstacles.forced_reload = None;
        // What is counted and told is what HAProxy did, not what was meant.
        let reload = reloaded.then(|| Reloaded {
            why: plan.verdict.reload_reason().unwrap_or_else(|| "the agent had to".into()),
            kind: plan.verdict.reload_kind().map_or("agent", ReasonKind::name),
        });
        let work = (plan.verdict.operations().len(), plan.write.len());
        self.publish_plan(plan, generation, reload.as_ref().map(|reload| reload.why.clone()));
        self.acknowledge(target, reload, work);
        NextStep::Wait(resting(target))
    }

    /// HAProxy does not take `target`, and runs what it ran before. Once may be the pod's own trouble: a port that a dying worker
    /// holds, a moment without memory.
    fn reload_refused(&mut self, target: &DeployTarget, message: &str) -> DeployFailure {
        self.progress.forget();
        let refused_before = self.progress.refused();
        let reached = self.progress.reached.as_ref().map(|reached| &*reached.rendered);
        let report = failed_reload::failure_report(message, &target.rendered, reached);
        if let Some((report, refused_for)) = report.zip(refused_before) {
            let refused = RefusedReload { report, refused_for };
            self.deployment.publishers.refused_reload.publish(Some(refused));
        }
        DeployFailure::Refused(failed_reload::explained(message, target.bundle()))
    }

    /// Nothing is left to do to HAProxy.
    fn converge(&mut self, target: &DeployTarget) -> NextStep {
        self.acknowledge(target, None, (0, 0));
        NextStep::Wait(resting(target))
    }

    /// The pod is where it should be: remembered, published and, once a generation, told.
    fn acknowledge(
        &mut self,
        target: &DeployTarget,
        reload: Option<Reloaded>,
        (operations, files): (usize, usize),
    ) {
        let view = self.deployment.plans.view(target.bundle());
        let is_another = self.progress.converge(target, view, self.leadership);
        let generation = target.generation();
        let known = self.progress.known.as_ref().map(|known| (known.running, known.stored));
        let sent = reload.is_some() || operations + files > 0;
        // A pod that came after the change follows it from then on.
        let triggered = target.rendered.reconcile.triggered;
        let since = self.progress.first_read.map_or(triggered, |asked| asked.into_std().max(triggered));
        let mut lag = None;
        self.deployment.update(|state| {
            (state.running, state.stored) = known.unwrap_or_default();
            // What it had already, or has again, did not take until now to reach it.
            lag = (sent && state.deployed < Some(generation)).then(|| since.elapsed());
            state.lag = lag.or(state.lag);
            state.deployed = Some(generation);
            state.awaits_check = state.awaits_check.filter(|awaited| *awaited > generation);
            state.last_error = None;
        });
        if !(is_another || sent) {
            return;
        }
        let pod = self.deployment.name();
        let (reload, reload_kind) = reload.map(|reload| (reload.why, reload.kind)).unzip();
        self.deployment.events.emit(Event::Deployed {
            generation,
            pod,
            reload,
            reload_kind,
            operations,
            files,
            // Last, so that it includes every part that is told of.
            took: self.began.elapsed(),
            lag,
        });
    }

    /// A bundle that was live already was refused: told once.
    fn report_rollback(&mut self, target: &DeployTarget) {
        let Some(refused) = &self.newest.refused else { return };
        let generation = refused.rendered.reconcile.generation;
        let was_live = self.progress.is_ahead()
            || self.progress.reached().is_some_and(|reached| reached > target.generation());
        if !was_live || !self.progress.roll_back(generation) {
            return;
        }
        let why = refused.diagnostics.first().map(ToString::to_string).unwrap_or_default();
        self.deployment.events.emit(Event::TakenBack {
            generation,
            pod: self.deployment.name(),
            to: target.generation(),
            why,
        });
    }

    /// Asked right before an order leaves: this process may have lost the leadership since the attempt began.
    pub(super) fn still_leads(&self) -> bool {
        self.deployment.leadership() == self.leadership
    }

    /// When HAProxy may be reloaded again.
    fn reload_allowed_at(&self) -> Option<Instant> {
        let interval = self.config.spec.dataplane.min_deployment_interval.get();
        Some(self.progress.last_reload? + interval)
    }

    /// Nobody knows the way from what the pod runs: a reload is one from everywhere.
    fn reload_from_scratch(&mut self, sentence: &str) -> Arc<RunningView> {
        self.progress.force_reload(ReasonKind::Drift, sentence.to_owned(), None);
        Arc::new(RunningView::bootstrap())
    }

    /// The order that carries out `plan`: a reload brings files to what is on disk, operations to what runs.
    fn order(&self, known: &PodStatus, target: &DeployTarget, plan: &Plan) -> Apply {
        let progress = &self.progress;
        let running = known.digest().filter(|_| known.exact).and_then(|digest| progress.views.find(digest));
        let stored = known.stored_digest().and_then(|digest| progress.views.find(digest));
        let (method, since, besides) = match plan.verdict.reload_reason() {
            Some(reason) => (Method::Reload { reason }, stored, running),
            None => {
                let operations = plan.verdict.operations().to_vec();
                (Method::Runtime { operations, store: stores(known, target, plan) }, running, stored)
            }
        };
        let baseline = OrderBaseline {
            epoch: self.leadership.epoch,
            base: known.digest(),
            since: since.as_ref().and_then(|view| view.bundle()),
            besides: besides.as_ref().and_then(|view| view.bundle()),
            missing: &progress.obstacles.missing,
        };
        baseline.order(target.bundle(), target.generation(), method)
    }

    /// Publishes what was done to the pod.
    fn publish_plan(&self, plan: &Plan, generation: Generation, reload: Option<String>) {
        let mut operations = BTreeMap::new();
        for operation in plan.verdict.operations() {
            *operations.entry(operation.name()).or_default() += 1;
        }
        let last = LastPlan {
            generation,
            reload,
            operations,
            written: plan.write.clone(),
            deleted: plan.delete.clone(),
            took: self.began.elapsed(),
            at: SystemTime::now(),
        };
        self.deployment.update(|state| state.last_plan = Some(Arc::new(last)));
    }
}

/// How long a render that knows the pod is waited for.
const FITTING_RENDER_TIMEOUT: Duration = Duration::from_secs(10);

/// Why a pod whose last order failed half-way is reloaded.
const HALF_WAY: &str = "operations before ended half-way";

/// Whether the bundle is on the pod's disk once the order is carried out.
fn stores(known: &PodStatus, target: &DeployTarget, plan: &Plan) -> bool {
    let is_reload = plan.verdict.reload_reason().is_some();
    is_reload || target.check == Check::Passed && known.capabilities.stores_with_operations()
}

fn resting(target: &DeployTarget) -> DeploymentState {
    let generation = target.generation();
    if target.check == Check::Passed {
        DeploymentState::Converged { generation }
    } else {
        DeploymentState::Ahead { generation }
    }
}
