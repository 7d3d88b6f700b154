//! Rounds of statuses: what each of them looks at, and what came of it.

use super::{
    super::{
        kinds::{GatewayKind, StatusKey},
        status::GatewayAddresses,
        status_api::GatewayStatusApi,
        work::{ObjectVerdict, RoundContext, StatusDone, StatusOutcome, StatusWork, StoredObject},
    },
    GatewayState, controller,
};
use haptic_model::{crd::GatewayServiceMode, pipeline::Leadership};
use haptic_runtime::Topic;
use tokio::time::Instant;

/// So many statuses are looked at in one round: what comes meanwhile waits no longer than that takes.
const AT_ONCE: usize = 200;

impl GatewayState {
    /// What a round looks at, if one may begin.
    pub(crate) fn begin_statuses(&mut self, now: Instant) -> Vec<StatusWork> {
        if self.queue.validated().is_none() {
            return Vec::new();
        }
        let keys = self.queue.take(AT_ONCE, now);
        keys.into_iter().filter_map(|key| self.work_on(key, now)).collect()
    }

    /// What all looks of a round share that begins at `began`; `now` is written to objects.
    pub(crate) fn round_context(
        &self,
        api: GatewayStatusApi,
        leadership: Topic<Leadership>,
        began: Instant,
        now: String,
    ) -> Option<RoundContext> {
        let config = self.config.as_ref()?;
        Some(RoundContext {
            api,
            leadership,
            controller: controller(config).into(),
            verdicts: self.queue.verdicts().clone(),
            fleet: self.queue.fleet().clone(),
            has_addresses: config.spec.controller.gateway.service_mode != GatewayServiceMode::None,
            began,
            now,
        })
    }

    /// The look at `key`, unless there is nothing to look at, or it is too early.
    fn work_on(&mut self, key: StatusKey, now: Instant) -> Option<StatusWork> {
        let source = self.sources.get(&key.kind)?.clone();
        let seen = self.queue.store(key.kind)?.get(&key.namespace, &key.name)?.clone();
        let verdict = self.verdict_of(&key)?;
        if let Some(not_before) = self.written.not_before(&key, now) {
            self.queue.postpone(key, not_before);
            return None;
        }
        let object = match self.written.object(&key, &seen) {
            Some(object) => StoredObject::Written(object),
            None if source.is_complete => StoredObject::InStore,
            None => StoredObject::Unknown,
        };
        let waiting = self.queue.waiting(&key).cloned();
        Some(StatusWork { key, source, object, verdict, waiting, seen })
    }

    /// What was decided about `key`; `None`: it is not known yet how it is reached, and that is looked at when it is.
    fn verdict_of(&self, key: &StatusKey) -> Option<ObjectVerdict> {
        let (verdicts, name) = (self.queue.verdicts(), (key.namespace.clone(), key.name.clone()));
        Some(match key.kind {
            GatewayKind::Class => ObjectVerdict::Class(verdicts.classes.get(&key.name)?.clone()),
            GatewayKind::Gateway => match verdicts.gateways.get(&name) {
                Some(verdict) => {
                    let addresses = self.addresses.get(&name)?;
                    // A round of Services leads there now.
                    let is_led_soon = matches!(addresses, GatewayAddresses::NotLedYet(_))
                        && self.ports.are_run(&name, self.queue.fleet());
                    return (!is_led_soon)
                        .then(|| ObjectVerdict::Gateway(verdict.clone(), addresses.clone()));
                }
                None => ObjectVerdict::Abandoned(self.queue.abandoned(key)),
            },
            GatewayKind::ListenerSet => match verdicts.listener_sets.get(&name) {
                Some(verdict) => ObjectVerdict::ListenerSet(verdict.clone()),
                None => ObjectVerdict::Abandoned(self.queue.abandoned(key)),
            },
            GatewayKind::Route(kind) => {
                let verdict = verdicts.routes.get(&(kind, name)).cloned();
                match self.held.get(key) {
                    Some(held) => ObjectVerdict::HeldRoute(held.clone(), verdict),
                    None => verdict.map_or(ObjectVerdict::None, ObjectVerdict::Route),
                }
            }
            GatewayKind::Policy => {
                verdicts.policies.get(&name).cloned().map_or(ObjectVerdict::None, ObjectVerdict::Policy)
            }
        })
    }

    /// A round has ended with this; why not all of it was written.
    pub(crate) fn take_statuses(&mut self, done: Vec<StatusDone>, now: Instant) -> Option<String> {
        let (mut failed, mut why) = (Vec::new(), None);
        for StatusDone { key, outcome, seen, waits } in done {
            self.written.not_refused(&key);
            match outcome {
                StatusOutcome::Right => {}
                StatusOutcome::Written { object, in_vain } => {
                    self.queue.written(&key);
                    self.writes += 1;
                    if in_vain {
                        tracing::warn!("{key}: the API server stores another status than is written");
                    }
                    self.written.written(key.clone(), (seen, object), in_vain, now);
                }
                StatusOutcome::Failed(sentence) => {
                    why.get_or_insert(sentence);
                    failed.push(key);
                    continue;
                }
                StatusOutcome::Refused(sentence) => {
                    self.written.refused(key, sentence);
                    continue;
                }
                StatusOutcome::Abandoned => continue,
            }
            if waits {
                self.queue.waits(key, now);
            }
        }
        if !failed.is_empty() {
            self.queue.failed(failed, now);
        }
        why.or_else(|| self.written.why_refused().map(str::to_owned))
    }
}
