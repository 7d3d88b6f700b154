//! The queue in front of the judge: so many may wait, and all that wait are judged at once. Whoever comes when it is full is
//! told so at once.

use super::{
    answer::Answer,
    budget::{BUDGET, end_of_checks},
    judge::Judge,
    workshop::{Board, Change},
};
use futures::FutureExt;
use haptic_validate::Checker;
use std::{panic::AssertUnwindSafe, time::Duration};
use tokio::{
    sync::{mpsc, oneshot},
    time::Instant,
};

/// So many reviews may wait.
const QUEUE: usize = 64;
/// So many are judged at once: one bad one among them costs the others a second round.
const TOGETHER: usize = 16;
/// After so long without a review the judge's memory is given back.
const FORGET_AFTER: Duration = Duration::from_secs(600);

struct Case {
    change: Change,
    came: Instant,
    reply: oneshot::Sender<Answer>,
}

/// Where changes are handed in. Clones share the queue.
#[derive(Clone)]
pub struct Desk(mpsc::Sender<Case>);

impl Desk {
    /// Opens a desk whose judge reads `board` and works for as long as a clone of the desk is held. Nobody else should wait for
    /// `checker`.
    #[must_use]
    pub fn open(board: Board, checker: Checker) -> Self {
        let (sender, mut cases) = mpsc::channel(QUEUE);
        tokio::spawn(async move {
            loop {
                let judge = Judge::new(board.clone(), checker.clone());
                if AssertUnwindSafe(work(judge, &mut cases)).catch_unwind().await.is_ok() {
                    return;
                }
                tracing::error!("the webhook's judge panicked; another one goes on. This is a bug in HAPTIC");
            }
        });
        Self(sender)
    }

    /// What the judge says of `change`, which came at `came`.
    pub async fn ask(&self, change: Change, came: Instant) -> Answer {
        let unjudged = |why: &str| Answer::Unjudged { why: why.to_owned() };
        let (reply, answer) = oneshot::channel();
        if self.0.try_send(Case { change, came, reply }).is_err() {
            return unjudged("too many changes at once");
        }
        match tokio::time::timeout_at(came + BUDGET, answer).await {
            Ok(Ok(answer)) => answer,
            Ok(Err(_)) => unjudged("the check itself failed, which is a bug in HAPTIC"),
            Err(_) => unjudged("it took too long"),
        }
    }
}

async fn work(mut judge: Judge, cases: &mut mpsc::Receiver<Case>) {
    let mut waiting = Vec::with_capacity(TOGETHER);
    loop {
        match tokio::time::timeout(FORGET_AFTER, cases.recv_many(&mut waiting, TOGETHER)).await {
            Ok(0) => return,
            Ok(_) => {}
            Err(_) => {
                judge.forget();
                continue;
            }
        }
        // Whoever does not wait any more needs no answer.
        waiting.retain(|case| !case.reply.is_closed());
        let changes: Vec<Change> = waiting.iter().map(|case| case.change.clone()).collect();
        // The last to come waits longest; who came long before it may hear of no reason in time.
        let last = waiting.iter().map(|case| case.came).max().unwrap_or_else(Instant::now);
        let answers = judge.judge(&changes, end_of_checks(last)).await;
        for (case, answer) in waiting.drain(..).zip(answers) {
            // Gone meanwhile: nobody is left to tell.
            drop(case.reply.send(answer));
        }
        if cases.is_empty() {
            judge.rest().await;
        }
    }
}
