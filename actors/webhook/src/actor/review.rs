//! ReviewActor: the queue in front of the evaluator. Reviews that wait are evaluated together; one that there is no room for is
//! answered immediately.

use super::waiting::{Namespaced, WaitingChanges};
use crate::{
    answer::ReviewAnswer,
    evaluator::Evaluator,
    render_cache::{LiveTopics, ObjectChange},
    review::{DEADLINE, end_of_checks},
};
use actix::prelude::*;
use futures::FutureExt;
use haptic_render::actor::ForkRequested;
use haptic_runtime::{ActorHandle, Alarm, Mailbox, OwnHandle, Work};
use haptic_validate::Checker;
use haptic_watch::{NameOrigin, NamedStores};
use serde_json::{Map, Value};
use std::time::Duration;
use tokio::{
    sync::oneshot,
    task::JoinError,
    time::{Instant, timeout_at},
};

/// Without a review for this time the evaluator's memory is freed: the next one begins with what the pipeline has by then, which is shared.
const FORGET_AFTER: Duration = Duration::from_secs(60);

/// A change is to be evaluated.
pub struct ReviewRequested {
    change: ObjectChange,
    received: Instant,
    /// Closed once the client has given up.
    reply: oneshot::Sender<ReviewAnswer>,
}

impl Message for ReviewRequested {
    type Result = ();
}

impl Namespaced for ReviewRequested {
    fn namespace(&self) -> &str {
        &self.change.namespace
    }
}

/// What comes together is evaluated together, or the first one would be evaluated alone and the others wait twice as long: an evaluation
/// waits until nothing has come for so long, or for [`LONGEST_GATHER`] in all. Nothing is waited for once all are there that are expected.
const GATHER: Duration = Duration::from_millis(4);
const LONGEST_GATHER: Duration = Duration::from_millis(12);
/// Who was answered is expected again for so long.
const EXPECTED_FOR: Duration = Duration::from_millis(100);

/// Where changes are handed in, once what they name has been fetched. Clones are the same queue.
#[derive(Clone)]
pub struct ReviewQueue {
    mailbox: Mailbox<ReviewRequested>,
    named: NamedStores,
}

/// Evaluates changes by what the pipeline publishes.
pub struct ReviewActor {
    own: OwnHandle<Self>,
    topics: LiveTopics,
    renderer: Mailbox<ForkRequested>,
    checker: Checker,
    waiting: WaitingChanges<ReviewRequested>,
    /// `None` while it is at work.
    evaluator: Option<Evaluator>,
    working: Option<Work>,
    gathering: Gathering,
    /// Rings when it is over.
    gathered: Alarm,
    idle_since: Instant,
    alarm: Alarm,
}

/// Changes that come together.
#[derive(Debug, Default)]
struct Gathering {
    /// When the first came, or those before were answered, and when the last came.
    since: Option<(Instant, Instant)>,
    /// Those who were answered last and those who waited meanwhile, and until when they are expected.
    expected: Option<(usize, Instant)>,
}

/// Changes are evaluated; an error is the evaluator's panic.
#[derive(Message)]
#[rtype(result = "()")]
struct ChangesEvaluated {
    evaluated: Result<(Evaluator, Vec<ReviewAnswer>), JoinError>,
    replies: Vec<oneshot::Sender<ReviewAnswer>>,
}

/// What the next review needs is rendered.
#[derive(Message)]
#[rtype(result = "()")]
struct EvaluatorPrepared(Evaluator);

impl ReviewQueue {
    /// The queue of `actor`; `named` are the stores that hold what others name.
    #[must_use]
    pub fn of(actor: &ActorHandle<ReviewActor>, named: NamedStores) -> Self {
        Self { mailbox: actor.mailbox(), named }
    }

    /// The answer to `change`, which was received at `received`.
    pub async fn ask(&self, change: ObjectChange, received: Instant) -> ReviewAnswer {
        for resource in &change.resources {
            let by = NameOrigin::Object { resource, namespace: &change.namespace };
            self.fetch_named_by(by, change.object.as_ref()).await;
        }
        let (reply, answer) = oneshot::channel();
        let request = self.mailbox.send(ReviewRequested { change, received, reply });
        let answered = async {
            request.await.ok()?;
            answer.await.ok()
        };
        match timeout_at(received + DEADLINE, answered).await {
            Ok(Some(answer)) => answer,
            Ok(None) => undecided("the check itself failed, which is a bug in HAPTIC"),
            Err(_) => undecided("it took too long"),
        }
    }

    /// Waits until what `object` names is in the stores, a second at most.
    pub async fn fetch_named_by(&self, by: NameOrigin<'_>, object: Option<&Map<String, Value>>) {
        if let Some(json) = object.and_then(|object| serde_json::to_vec(object).ok()) {
            self.named.fetch_named_by(by, &json).await;
        }
    }
}

impl Gathering {
    /// One came.
    fn came(&mut self, now: Instant) {
        self.since = Some((self.since.map_or(now, |(first, _)| first), now));
    }

    /// So many are answered, and so many wait.
    fn answered(&mut self, answered: usize, waiting: usize, now: Instant) {
        self.expected = Some((answered + waiting, now + EXPECTED_FOR));
        self.since = (waiting > 0).then_some((now, now));
    }

    /// Until when more are waited for, while so many wait.
    fn until(&self, waiting: usize, now: Instant) -> Option<Instant> {
        if self.expected.is_some_and(|(expected, until)| waiting >= expected && now < until) {
            return None;
        }
        let (first, last) = self.since?;
        Some((last + GATHER).min(first + LONGEST_GATHER)).filter(|until| now < *until)
    }

    fn begun(&mut self) {
        self.since = None;
    }
}

impl ReviewActor {
    /// An actor with an empty queue, which renders as `renderer` does. Nothing else should wait for `checker`.
    #[must_use]
    pub fn new(
        own: OwnHandle<Self>,
        topics: LiveTopics,
        renderer: Mailbox<ForkRequested>,
        checker: Checker,
    ) -> Self {
        let evaluator = Some(Evaluator::new(topics.clone(), Some(renderer.clone()), checker.clone()));
        let (idle_since, alarm) = (Instant::now(), Alarm::default());
        Self {
            own,
            topics,
            renderer,
            checker,
            waiting: WaitingChanges::new(),
            evaluator,
            working: None,
            gathering: Gathering::default(),
            gathered: Alarm::default(),
            idle_since,
            alarm,
        }
    }

    /// Evaluates what waits, unless the evaluator is at work.
    fn advance(&mut self, context: &mut Context<Self>) {
        // A client that has given up needs no answer.
        self.waiting.retain(|request| !request.reply.is_closed());
        if self.evaluator.is_none() {
            return;
        }
        if let Some(until) = self.gathering.until(self.waiting.len(), Instant::now()) {
            return self.gathered.set(until, context, Self::advance);
        }
        let Some(mut evaluator) = self.evaluator.take() else { return };
        let together = self.waiting.take();
        if together.is_empty() {
            self.evaluator = Some(evaluator);
            return;
        }
        self.gathering.begun();
        // The last one has the latest deadline; the deadline of an earlier one may pass before it is answered.
        let last = together.iter().map(|request| request.received).max().unwrap_or_else(Instant::now);
        let (changes, replies): (Vec<_>, Vec<_>) =
            together.into_iter().map(|request| (request.change, request.reply)).unzip();
        // A task of its own: an evaluation that panics costs only those that wait for it.
        let evaluation = tokio::spawn(async move {
            let answers = evaluator.evaluate(&changes, end_of_checks(last)).await;
            (evaluator, answers)
        });
        let evaluated = evaluation.map(|evaluated| ChangesEvaluated { evaluated, replies });
        self.working = Some(Work::start(context, evaluated));
    }

    /// Renders what there is, so that the next review need not.
    fn prepare(&mut self, mut evaluator: Evaluator, context: &mut Context<Self>) {
        let prepared = async move {
            evaluator.prepare().await;
            EvaluatorPrepared(evaluator)
        };
        self.working = Some(Work::start(context, prepared));
    }

    fn forget_when_idle(&mut self, context: &mut Context<Self>) {
        let Some(evaluator) = &mut self.evaluator else { return };
        let due = self.idle_since + FORGET_AFTER;
        if due <= Instant::now() {
            evaluator.forget();
        } else {
            self.alarm.set(due, context, Self::forget_when_idle);
        }
    }

    fn new_evaluator(&self) -> Evaluator {
        Evaluator::new(self.topics.clone(), Some(self.renderer.clone()), self.checker.clone())
    }
}

fn undecided(why: &str) -> ReviewAnswer {
    ReviewAnswer::Undecided { why: why.to_owned() }
}

haptic_runtime::supervised!(ReviewActor);

impl Handler<ReviewRequested> for ReviewActor {
    type Result = ();

    fn handle(&mut self, request: ReviewRequested, context: &mut Self::Context) {
        self.own.received::<ReviewRequested>(context);
        self.gathering.came(Instant::now());
        if let Some(surplus) = self.waiting.push(request) {
            let why = "too many changes at once, most of them in this namespace";
            // A client that is gone gets none.
            drop(surplus.reply.send(undecided(why)));
        }
        self.advance(context);
    }
}

impl Handler<ChangesEvaluated> for ReviewActor {
    type Result = ();

    fn handle(&mut self, ended: ChangesEvaluated, context: &mut Self::Context) {
        let ChangesEvaluated { evaluated, replies } = ended;
        let evaluator = match evaluated {
            Ok((evaluator, answers)) => {
                self.gathering.answered(answers.len(), self.waiting.len(), Instant::now());
                for (reply, answer) in replies.into_iter().zip(answers) {
                    // A client that is gone gets none.
                    drop(reply.send(answer));
                }
                evaluator
            }
            Err(error) => {
                tracing::error!(
                    "the webhook's evaluator panicked and is replaced, which is a bug in HAPTIC: {error}"
                );
                self.new_evaluator()
            }
        };
        self.evaluator = Some(evaluator);
        self.advance(context);
        if let Some(evaluator) = self.evaluator.take() {
            self.prepare(evaluator, context);
        }
    }
}

impl Handler<EvaluatorPrepared> for ReviewActor {
    type Result = ();

    fn handle(&mut self, EvaluatorPrepared(evaluator): EvaluatorPrepared, context: &mut Self::Context) {
        (self.working, self.evaluator, self.idle_since) = (None, Some(evaluator), Instant::now());
        self.alarm.set(self.idle_since + FORGET_AFTER, context, Self::forget_when_idle);
        self.advance(context);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn what_comes_together_is_gathered_and_nobody_is_waited_for_long() {
        let (mut gathering, start) = (Gathering::default(), Instant::now());
        gathering.came(start);
        assert_eq!(gathering.until(1, start), Some(start + GATHER));
        assert_eq!(gathering.until(1, start + GATHER), None, "one alone waits for no more");
        for number in 1..9 {
            gathering.came(start + number * MS);
        }
        let now = start + 8 * MS;
        assert_eq!(gathering.until(9, now), Some(start + LONGEST_GATHER));
        assert_eq!(gathering.until(9, start + LONGEST_GATHER), None);
    }

    #[test]
    fn who_was_answered_is_waited_for_until_all_of_them_are_back() {
        let (mut gathering, start) = (Gathering::default(), Instant::now());
        gathering.came(start);
        gathering.begun();
        gathering.answered(1, 0, start);
        gathering.came(start + MS);
        assert_eq!(gathering.until(1, start + MS), None, "one after the other waits for nobody");
        gathering.begun();
        // Nine came meanwhile.
        gathering.answered(1, 9, start);
        assert_eq!(gathering.until(9, start), Some(start + GATHER));
        gathering.came(start + MS);
        assert_eq!(gathering.until(10, start + MS), None);
        let later = start + EXPECTED_FOR;
        gathering.begun();
        gathering.came(later);
        assert_eq!(gathering.until(10, later), Some(later + GATHER), "they are others by then");
    }
}
