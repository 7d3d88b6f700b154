//! Keeps HAProxy running: notices its end at once and starts it again, with growing pauses while it does not stay up.

use crate::haproxy::process::{Launch, Master, NotStarted};
use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};
use tokio::{
    sync::{Notify, watch},
    time::{Instant, timeout},
};

const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(20);
/// How often it is seen how long its log has become.
const LOOK: Duration = Duration::from_secs(2);
/// A HAProxy that lived so long was well: the pauses begin anew.
const WELL: Duration = Duration::from_secs(60);

/// The one HAProxy that an agent keeps.
#[derive(Debug)]
pub(crate) struct HaproxySupervisor {
    launch: Launch,
    master: Mutex<Option<Arc<Master>>>,
    /// The number of the latest attempt that ended, and why it failed.
    ended: watch::Sender<(u64, Option<NotStarted>)>,
    /// The number of the latest attempt that began.
    begun: watch::Sender<u64>,
    wake: Notify,
}

impl HaproxySupervisor {
    pub(crate) fn new(launch: Launch) -> Self {
        Self {
            launch,
            master: Mutex::new(None),
            ended: watch::Sender::new((0, None)),
            begun: watch::Sender::new(0),
            wake: Notify::new(),
        }
    }

    /// Whether a HAProxy of an earlier agent still runs: then it is kept.
    pub(crate) async fn find(&self) -> bool {
        let found = self.launch.find().await;
        let is_there = found.is_some();
        self.set(found.map(Arc::new));
        is_there
    }

    /// One attempt to start.
    pub(crate) async fn start(&self) -> Result<(), NotStarted> {
        let number = *self.begun.borrow() + 1;
        self.begun.send_replace(number);
        let outcome = self.launch.start().await;
        let problem = outcome.as_ref().err().cloned();
        self.set(outcome.ok().map(Arc::new));
        self.ended.send_replace((number, problem.clone()));
        problem.map_or(Ok(()), Err)
    }

    /// For ever: waits for HAProxy's end, starts it again.
    pub(crate) async fn run(&self) {
        let mut pause = FIRST_PAUSE;
        loop {
            if let Some(master) = self.master() {
                let since = Instant::now();
                while timeout(LOOK, master.ended()).await.is_err() {
                    self.launch.trim_log();
                }
                self.set(None);
                tracing::warn!(pid = master.pid, "HAProxy ended; it is started again");
                if since.elapsed() > WELL {
                    pause = FIRST_PAUSE;
                }
            }
            if let Err(problem) = self.start().await {
                tracing::error!(%problem, "HAProxy does not start; tried again in {} ms", pause.as_millis());
            }
            if self.master().is_none() {
                tokio::select! {
                    () = tokio::time::sleep(pause) => {}
                    () = self.wake.notified() => {}
                }
                pause = (pause * 2).min(LONGEST_PAUSE);
            }
        }
    }

    /// Has a HAProxy that is down started now, with the files as they are now. `false` when one came up meanwhile, perhaps
    /// with the files as they were: that one has to be reloaded.
    pub(crate) async fn start_now(&self) -> Result<bool, NotStarted> {
        let begun = *self.begun.borrow();
        self.end_of(begun).await?;
        if self.is_up() {
            return Ok(false);
        }
        self.wake.notify_one();
        self.end_of(begun + 1).await?.map_or(Ok(true), Err)
    }

    /// Waits until an attempt ended; gives why it failed.
    async fn end_of(&self, attempt: u64) -> Result<Option<NotStarted>, NotStarted> {
        let mut ended = self.ended.subscribe();
        let end = ended.wait_for(|(number, _)| *number >= attempt).await;
        end.map(|end| end.1.clone()).map_err(|_| NotStarted::by("the agent ends".to_owned()))
    }

    /// No pause before the next attempt.
    pub(crate) fn wake(&self) {
        self.wake.notify_one();
    }

    pub(crate) fn is_up(&self) -> bool {
        self.master().is_some()
    }

    /// Ends HAProxy.
    pub(crate) async fn end(&self, drain: Option<Duration>) {
        match self.master() {
            Some(master) => master.end(drain).await,
            // It may just be starting.
            None => {
                if let Some(master) = self.launch.find().await {
                    master.end(None).await;
                }
            }
        }
        self.set(None);
    }

    fn master(&self) -> Option<Arc<Master>> {
        self.master.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn set(&self, master: Option<Arc<Master>>) {
        *self.master.lock().unwrap_or_else(PoisonError::into_inner) = master;
    }
}
