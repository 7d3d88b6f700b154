//! Where each pod is: which generation it runs, and since when it cannot be changed.

use std::{
    collections::BTreeMap,
    sync::Arc,
    time::{Duration, Instant},
};

use haptic_model::{Event, Generation};

use super::{
    EventContext, MessageLevel, Trigger,
    messages::{counted, ms},
};

/// What was heard of the pods.
#[derive(Clone, Debug, Default)]
pub(super) struct Rollout(BTreeMap<Arc<str>, RolloutPod>);

#[derive(Clone, Debug, Default)]
struct RolloutPod {
    runs: Option<Generation>,
    /// Attempts that failed in a row, and when the first one did.
    failing: Option<(u32, Instant)>,
    /// What it took until the last attempt succeeded.
    recovered: Option<(u32, Duration)>,
}

impl Rollout {
    /// How many pods there are.
    pub(super) fn pods(&self) -> usize {
        self.0.len()
    }

    pub(super) fn learn(&mut self, event: &Event, now: Instant) {
        match event {
            Event::PodDiscovered { pod } => {
                self.0.insert(Arc::clone(pod), RolloutPod::default());
            }
            Event::PodGone { pod } => {
                self.0.remove(pod);
            }
            Event::Deployed { pod, generation, .. } => {
                let pod = self.0.entry(Arc::clone(pod)).or_default();
                pod.runs = Some(*generation);
                pod.recovered = pod.failing.take().map(|(times, since)| (times, now.duration_since(since)));
            }
            Event::TakenBack { pod, to, .. } => self.0.entry(Arc::clone(pod)).or_default().runs = Some(*to),
            Event::DeployFailed { pod, .. } => {
                let pod = self.0.entry(Arc::clone(pod)).or_default();
                let (times, since) = pod.failing.unwrap_or((0, now));
                pod.failing = Some((times + 1, since));
            }
            _ => {}
        }
    }

    /// Of a deployment, that it is done or failed.
    pub(super) fn message(
        &self,
        event: &Event,
        context: &EventContext<'_>,
        trigger: Option<&Trigger>,
    ) -> (MessageLevel, String) {
        match event {
            Event::Deployed { generation, pod, reload, operations, files, took, lag, .. } => {
                let how = match (reload, operations, files) {
                    (Some(reason), ..) => format!("reloaded because {reason}, {}", counted(*files, "file")),
                    (None, 0, 0) => "nothing to do".to_owned(),
                    (None, 0, files) => format!("no reload, {}", counted(*files, "file")),
                    (None, operations, _) => format!("runtime only, {}", counted(*operations, "operation")),
                };
                let (there, of) = self.reached(*generation, context);
                let cause = trigger.map_or("the change", |trigger| &trigger.text);
                let mut text = format!(
                    "generation {generation} runs on {pod} ({there}/{of} pods): {how}, {}",
                    ms(*took)
                );
                if let Some(lag) = lag {
                    text.push_str(&format!(", {} after {cause}", ms(*lag)));
                }
                let recovered = self.0.get(pod).and_then(|pod| pod.recovered);
                if let Some((times, after)) = recovered {
                    let attempts = counted(times as usize, "failed attempt");
                    text.push_str(&format!("; it had {attempts} in {}", ms(after)));
                }
                let is_news = there == of || reload.is_some() || recovered.is_some();
                (if is_news { MessageLevel::Info } else { MessageLevel::Debug }, text)
            }
            Event::DeployFailed { generation, pod, message, retry_in } => {
                let (there, of) = self.reached(*generation, context);
                let mut text = format!(
                    "generation {generation} is not on {pod} yet ({there}/{of} pods run it): {message}; next try in {}",
                    ms(*retry_in)
                );
                let failing = self.0.get(pod).and_then(|pod| pod.failing);
                if let Some((times @ 2.., since)) = failing {
                    let lasts = ms(context.now.duration_since(since));
                    text.push_str(&format!(", failed {times} times in a row for {lasts}"));
                }
                (MessageLevel::Warn, text)
            }
            other => super::messages::plain(other),
        }
    }

    /// On how many pods `generation` or a newer one is, of how many.
    fn reached(&self, generation: Generation, context: &EventContext<'_>) -> (usize, usize) {
        let there = |pod: &&RolloutPod| pod.runs.is_some_and(|runs| runs >= generation);
        let seen = self.0.values().filter(there).count();
        if context.fleet.pods.is_empty() {
            return (seen, self.0.len());
        }
        let pods = context.fleet.pods.iter().map(|pod| self.0.get(pod.to_string().as_str()));
        (pods.flatten().filter(there).count(), context.fleet.pods.len())
    }
}
