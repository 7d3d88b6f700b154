//! What is proven: which generation holds a part of an object, and whether the ready pods run that generation.

use haptic_model::{
    Generation,
    gateway::{ListenerVerdict, RouteVerdict},
};
use std::sync::Arc;

/// What each ready pod has acknowledged.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct FleetProgress {
    /// One for each ready pod; `None`: nothing of this process.
    pub(crate) pods: Vec<Option<Generation>>,
}

/// Since which generation each part of one object is in what is rendered. Of a route a part is a parent as it is written, of a Gateway a listener, and
/// [`WHOLE`] the object itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct RenderedSince {
    /// `metadata.generation`.
    of: i64,
    /// As few as the object has parents or listeners.
    parts: Box<[(Arc<str>, Generation)]>,
}

/// The part that is the object itself.
pub(crate) const WHOLE: &str = "";

/// What is known of one object.
#[derive(Clone, Copy)]
pub(crate) struct ProgrammedProof<'a> {
    pub(crate) fleet: &'a FleetProgress,
    /// `None`: it was not seen in what is rendered.
    pub(crate) since: Option<&'a RenderedSince>,
}

impl FleetProgress {
    /// The newest generation that every ready pod runs, or a newer one; `None` as long as one runs nothing of ours, or none is ready.
    pub(crate) fn of_all(&self) -> Option<Generation> {
        self.pods.iter().copied().min().flatten()
    }

    /// Whether every ready pod runs `generation`, or a newer one. Where none is ready, nobody is led to one that does not.
    pub(crate) fn has_run(&self, generation: Generation) -> bool {
        self.pods.iter().all(|pod| *pod >= Some(generation))
    }

    /// What waits for `generation`; `None`: nothing does.
    fn waits(&self, generation: Generation) -> Option<String> {
        let (all, run) = (self.pods.len(), self.pods.iter().filter(|pod| **pod >= Some(generation)).count());
        match all {
            0 => Some("no HAProxy pod is ready".into()),
            _ if run == all => None,
            _ => Some(format!("{run} of {all} ready pods run generation {generation}")),
        }
    }
}

impl ProgrammedProof<'_> {
    /// Why `part` is not proven to run; `None`: it is.
    pub(crate) fn waits(&self, part: &str) -> Option<String> {
        match self.since.and_then(|since| since.of_part(part)) {
            Some(generation) => self.fleet.waits(generation),
            None => Some("it is not in a checked configuration yet".into()),
        }
    }
}

impl RenderedSince {
    /// What `rendered` holds of generation `of` of the object, all of it since `generation` unless it was there before.
    pub(crate) fn after(
        before: Option<&Self>,
        of: i64,
        rendered: impl IntoIterator<Item = Arc<str>>,
        generation: Generation,
    ) -> Self {
        let before = before.filter(|before| before.of == of);
        let since = |part: &Arc<str>| before.and_then(|before| before.of_part(part));
        let parts = rendered.into_iter().map(|part| {
            let since = since(&part).unwrap_or(generation);
            (part, since)
        });
        Self { of, parts: parts.collect() }
    }

    /// The newest generation that a part of it waits for.
    pub(crate) fn newest(&self) -> Option<Generation> {
        self.parts.iter().map(|(_, generation)| *generation).max()
    }

    fn of_part(&self, part: &str) -> Option<Generation> {
        self.parts.iter().find(|(name, _)| **name == *part).map(|(_, generation)| *generation)
    }
}

/// The parts of a Gateway, or of a ListenerSet, that are served.
pub(crate) fn parts_of_listeners(listeners: &[ListenerVerdict]) -> impl Iterator<Item = Arc<str>> {
    let served = listeners.iter().filter(|listener| listener.is_served).map(|listener| listener.name.clone());
    std::iter::once(WHOLE.into()).chain(served)
}

/// The parents that accept a route, and that are served.
pub(crate) fn parts_of_route(verdict: &RouteVerdict) -> Vec<Arc<str>> {
    let accepted = verdict.parents.iter().filter(|parent| {
        parent.is_served
            && parent.conditions.iter().any(|condition| condition.kind == "Accepted" && condition.holds)
    });
    accepted.map(|parent| parent.reference.text().clone()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fleet(pods: &[Option<u64>]) -> FleetProgress {
        FleetProgress { pods: pods.iter().map(|pod| pod.map(Generation)).collect() }
    }

    fn after(before: Option<&RenderedSince>, of: i64, parts: &[&str], generation: u64) -> RenderedSince {
        RenderedSince::after(before, of, parts.iter().map(|part| Arc::from(*part)), Generation(generation))
    }

    #[test]
    fn a_part_is_proven_once_every_ready_pod_runs_the_first_generation_with_it() {
        let since = after(None, 1, &["", "web"], 7);
        let waits = |pods: &[Option<u64>], part: &str| {
            ProgrammedProof { fleet: &fleet(pods), since: Some(&since) }.waits(part)
        };
        assert_eq!(waits(&[Some(7), Some(9)], "web"), None);
        assert_eq!(waits(&[Some(7), Some(6), None], "web").unwrap(), "1 of 3 ready pods run generation 7");
        assert!(waits(&[], "web").unwrap().contains("no HAProxy pod is ready"));
        assert!(waits(&[Some(7)], "other").is_some(), "what is not rendered is never proven");
    }

    #[test]
    fn another_generation_of_the_object_is_proven_anew_and_the_same_is_not() {
        let first = after(None, 1, &["", "web"], 7);
        let second = after(Some(&first), 1, &["", "web", "tls"], 8);
        let part = |since: &RenderedSince, part: &str| since.of_part(part).unwrap().0;
        assert_eq!((part(&second, "web"), part(&second, "tls")), (7, 8));
        let gone = after(Some(&second), 1, &["", "web"], 9);
        let back = after(Some(&gone), 1, &["", "web", "tls"], 10);
        assert_eq!(part(&back, "tls"), 10, "what was gone is not taken for what was there");
        let changed = after(Some(&back), 2, &["", "web"], 11);
        assert_eq!((part(&changed, ""), part(&changed, "web")), (11, 11));
    }

    #[test]
    fn one_pod_that_has_nothing_keeps_all_waiting() {
        assert_eq!(fleet(&[Some(3), Some(5)]).of_all(), Some(Generation(3)));
        assert_eq!(fleet(&[Some(3), None]).of_all(), None);
        assert_eq!(fleet(&[]).of_all(), None);
    }
}
