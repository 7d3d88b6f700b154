//! Events as spans: one trace for each generation, from its first change to the acknowledgement of every pod.
//!
//! Pure: events and times in, finished spans out; who sends them where is the binary's business. A span is made when what it
//! tells of is over, so nothing is carried along by those that work, and nothing is made when nobody wants traces.

use std::{
    collections::{BTreeMap, VecDeque},
    hash::{BuildHasher, RandomState},
    sync::Arc,
    time::{Duration, SystemTime},
};

use haptic_model::{Diagnostic, Event, Fleet, Generation, figure::TimedPart, pipeline::Cause};

/// Generations whose trace is open or may still get spans.
const REMEMBERED: usize = 64;
/// A trace ends when nothing was heard of its generation for so long, whoever has not acknowledged it.
const QUIET: Duration = Duration::from_secs(30);

/// A finished span.
#[derive(Clone, Debug, PartialEq)]
pub struct Span {
    /// The trace it belongs to.
    pub trace: u128,
    /// Its own number.
    pub id: u64,
    /// The span it is part of; `None` for the generation itself.
    pub parent: Option<u64>,
    /// What was done: `render`.
    pub name: &'static str,
    /// When it began.
    pub start: SystemTime,
    /// When it was over.
    pub end: SystemTime,
    /// What is known of it.
    pub attributes: Vec<(&'static str, AttributeValue)>,
    /// Why it failed, if it did.
    pub error: Option<String>,
}

/// An attribute's value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AttributeValue {
    /// Words.
    Text(String),
    /// A number.
    Number(i64),
}

/// What must be remembered between events.
#[derive(Debug, Default)]
pub(crate) struct Traces {
    open: VecDeque<Trace>,
    /// Makes numbers that no other process makes.
    random: RandomState,
    made: u64,
}

#[derive(Debug)]
struct Trace {
    generation: Generation,
    trace: u128,
    root: u64,
    start: SystemTime,
    begun: SystemTime,
    /// When the last thing was heard of it.
    latest: SystemTime,
    attributes: Vec<(&'static str, AttributeValue)>,
    checked: bool,
    error: Option<String>,
    /// The spans of pods' deployments that are under way, and when they were planned.
    pods: BTreeMap<Arc<str>, (u64, SystemTime)>,
    /// Pods that run it.
    there: Vec<Arc<str>>,
    ended: bool,
}

/// A span to be, of whose trace only the generation is known.
struct PendingSpan<'a> {
    name: &'static str,
    took: Duration,
    scope: SpanScope<'a>,
    attributes: Vec<(&'static str, AttributeValue)>,
    error: Option<String>,
}

/// What the work that a span is of belongs to.
enum SpanScope<'a> {
    /// The generation.
    Generation,
    /// All of a pod's deployment.
    Deployment(&'a Arc<str>),
    /// A part of a pod's deployment.
    DeploymentPart(&'a Arc<str>),
    /// A pod's disk, to which the generation is brought beside all deployments.
    Stored(&'a Arc<str>),
}

impl Traces {
    /// Nothing has happened.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The spans that are over with `event`, which was emitted at `at`.
    pub fn receive(&mut self, event: &Event, at: SystemTime, fleet: &Fleet) -> Vec<Span> {
        if let Event::ReconcileStarted { generation, cause, waited } = event {
            return self.begin(*generation, cause, at, *waited);
        }
        let Some(generation) = event.generation() else { return Vec::new() };
        let ids = (self.number(), self.number());
        let Some(trace) = self.open.iter_mut().find(|trace| trace.generation == generation) else {
            return Vec::new();
        };
        trace.latest = trace.latest.max(at);
        let mut spans: Vec<Span> = trace.span_of(event, at, ids).into_iter().collect();
        spans.extend(trace.end_if_over(fleet));
        spans
    }

    /// Ends the traces of which nothing is heard any more.
    pub fn sweep(&mut self, now: SystemTime) -> Vec<Span> {
        let quiet = |trace: &&mut Trace| {
            !trace.ended && now.duration_since(trace.latest).is_ok_and(|quiet| quiet > QUIET)
        };
        self.open.iter_mut().filter(quiet).map(Trace::end).collect()
    }

    /// Ends all traces: the process does.
    pub fn finish(&mut self) -> Vec<Span> {
        self.open.iter_mut().filter(|trace| !trace.ended).map(Trace::end).collect()
    }

    fn begin(
        &mut self,
        generation: Generation,
        cause: &Cause,
        at: SystemTime,
        waited: Duration,
    ) -> Vec<Span> {
        let start = at.checked_sub(waited).unwrap_or(at);
        let (high, low) = (self.number(), self.number());
        let (root, debounce) = (self.number(), self.number());
        let trace = Trace {
            generation,
            trace: (u128::from(high) << 64) | u128::from(low),
            root,
            start,
            begun: at,
            latest: at,
            attributes: vec![
                ("haptic.generation", number(generation.0)),
                ("haptic.cause", AttributeValue::Text(crate::event_log::trigger(cause))),
                ("haptic.changes.created", number(cause.created as u64)),
                ("haptic.changes.modified", number(cause.modified as u64)),
                ("haptic.changes.deleted", number(cause.deleted as u64)),
            ],
            checked: false,
            error: None,
            pods: BTreeMap::new(),
            there: Vec::new(),
            ended: false,
        };
        let mut spans = vec![trace.span(debounce, "debounce", (start, at), Vec::new(), None)];
        self.open.push_back(trace);
        while self.open.len() > REMEMBERED {
            spans.extend(self.open.pop_front().filter(|trace| !trace.ended).as_mut().map(Trace::end));
        }
        spans
    }

    /// Never 0, which means none.
    fn number(&mut self) -> u64 {
        self.made += 1;
        self.random.hash_one(self.made).max(1)
    }
}

impl Trace {
    /// The span that ends with `event`, if one does. Of the numbers the second is for what only begins with it.
    fn span_of(&mut self, event: &Event, at: SystemTime, (id, next): (u64, u64)) -> Option<Span> {
        let part = self.part_of(event, at, next)?;
        let start = at.checked_sub(part.took).unwrap_or(at);
        let PendingSpan { name, scope, mut attributes, error, .. } = part;
        attributes.extend(scope.pod().map(|pod| ("haptic.pod", AttributeValue::Text(pod.to_string()))));
        let (id, parent) = match scope {
            SpanScope::Generation | SpanScope::Stored(_) => (id, self.root),
            SpanScope::Deployment(pod) => (self.pods.remove(pod).map_or(id, |(id, _)| id), self.root),
            SpanScope::DeploymentPart(pod) => (id, self.pods.get(pod)?.0),
        };
        let span = self.span(id, name, (start, at), attributes, error);
        Some(Span { parent: Some(parent), ..span })
    }

    fn part_of<'e>(&mut self, event: &'e Event, at: SystemTime, next: u64) -> Option<PendingSpan<'e>> {
        let part = |name, took| {
            let scope = SpanScope::Generation;
            PendingSpan { name, took, scope, attributes: Vec::new(), error: None }
        };
        Some(match event {
            Event::Rendered { bytes, files, kept, printed, digest, took, .. } => PendingSpan {
                attributes: vec![
                    ("haptic.digest", AttributeValue::Text(digest.to_string())),
                    ("haptic.bytes", number(*bytes as u64)),
                    ("haptic.files", number(*files as u64)),
                    ("haptic.blocks.kept", number(*kept as u64)),
                    ("haptic.blocks.printed", number(*printed as u64)),
                ],
                ..part("render", *took)
            },
            Event::RenderFailed { diagnostics, .. } => {
                let took = at.duration_since(self.begun).unwrap_or_default();
                PendingSpan { error: self.failed(diagnostics), ..part("render", took) }
            }
            Event::Timed { part: TimedPart::Syntax, took, .. } => part("syntax", *took),
            Event::Validated { took, cached, .. } => {
                self.checked = true;
                let cached = AttributeValue::Text(cached.to_string());
                PendingSpan { attributes: vec![("haptic.cached", cached)], ..part("haproxy -c", *took) }
            }
            Event::ValidationFailed { took, diagnostics, .. } => {
                PendingSpan { error: self.failed(diagnostics), ..part("haproxy -c", *took) }
            }
            Event::Planned { pod, kind, operations, took, .. } => {
                // What follows on this pod is part of the span that ends with its answer, and has its number already.
                let planned = at.checked_sub(*took).unwrap_or(at);
                self.pods.entry(Arc::clone(pod)).or_insert((next, planned));
                let attributes = vec![
                    ("haptic.plan", AttributeValue::Text((*kind).to_owned())),
                    ("haptic.operations", number(*operations as u64)),
                ];
                PendingSpan { scope: SpanScope::DeploymentPart(pod), attributes, ..part("plan", *took) }
            }
            Event::Timed { part: TimedPart::Agent, pod: Some(pod), took, .. } => {
                PendingSpan { scope: SpanScope::DeploymentPart(pod), ..part("apply", *took) }
            }
            Event::Timed { part: TimedPart::Store, pod: Some(pod), took, .. } => {
                PendingSpan { scope: SpanScope::Stored(pod), ..part("store", *took) }
            }
            Event::Deployed { pod, reload, operations, files, took, .. } => {
                if !self.there.contains(pod) {
                    self.there.push(Arc::clone(pod));
                }
                let mut attributes = vec![
                    ("haptic.operations", number(*operations as u64)),
                    ("haptic.files", number(*files as u64)),
                ];
                attributes.extend(reload.clone().map(|why| ("haptic.reload", AttributeValue::Text(why))));
                PendingSpan { scope: SpanScope::Deployment(pod), attributes, ..part("deploy", *took) }
            }
            Event::DeployFailed { pod, message, .. } => {
                let planned = self.pods.get(pod).map_or(at, |(_, planned)| *planned);
                let took = at.duration_since(planned).unwrap_or_default();
                let scope = SpanScope::Deployment(pod);
                PendingSpan { scope, error: Some(message.clone()), ..part("deploy", took) }
            }
            _ => return None,
        })
    }

    fn failed(&mut self, diagnostics: &[Diagnostic]) -> Option<String> {
        let why = diagnostics.first().map_or_else(|| "no reason given".to_owned(), ToString::to_string);
        self.error = Some(why);
        self.error.clone()
    }

    /// The root span, once the generation failed, or was checked and is on every pod.
    fn end_if_over(&mut self, fleet: &Fleet) -> Option<Span> {
        let is_there = |pod: &str| self.there.iter().any(|there| **there == *pod);
        let everywhere = !fleet.pods.is_empty() && fleet.pods.iter().all(|pod| is_there(&pod.to_string()));
        let is_over = self.error.is_some() || (self.checked && everywhere);
        (is_over && !self.ended).then(|| self.end())
    }

    fn end(&mut self) -> Span {
        self.ended = true;
        let mut attributes = self.attributes.clone();
        attributes.push(("haptic.pods", number(self.there.len() as u64)));
        let span =
            self.span(self.root, "generation", (self.start, self.latest), attributes, self.error.clone());
        Span { parent: None, ..span }
    }

    fn span(
        &self,
        id: u64,
        name: &'static str,
        (start, end): (SystemTime, SystemTime),
        attributes: Vec<(&'static str, AttributeValue)>,
        error: Option<String>,
    ) -> Span {
        Span { trace: self.trace, id, parent: Some(self.root), name, start, end, attributes, error }
    }
}

impl SpanScope<'_> {
    fn pod(&self) -> Option<&str> {
        match self {
            Self::Generation => None,
            Self::Deployment(pod) | Self::DeploymentPart(pod) | Self::Stored(pod) => Some(pod),
        }
    }
}

fn number(count: u64) -> AttributeValue {
    AttributeValue::Number(i64::try_from(count).unwrap_or(i64::MAX))
}

#[cfg(test)]
mod tests;
