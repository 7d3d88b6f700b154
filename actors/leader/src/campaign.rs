//! The loop of one replica: reads the configuration, watches the Lease, tries when the election says so, and keeps the
//! fence informed. It ends when it is told to, with the Lease released.

use crate::{
    Election, Fence, Succession, Timing,
    election::{Answer, Next, Sight},
    lease::LeaseApi,
    succession::Former,
};
use futures::StreamExt;
use haptic_model::{ActiveConfig, agent_api::Epoch, crd::LeaderElectionSpec, pipeline::Leadership};
use haptic_runtime::CellReader;
use serde::Serialize;
use std::{future::pending, sync::Arc, time::Duration};
use tokio::time::Instant;

/// The API server has this long to take a released Lease back.
const RELEASE: Duration = Duration::from_secs(3);

/// What a replica needs to take part.
#[derive(Clone)]
pub struct Campaign {
    /// The API server.
    pub client: kube::Client,
    /// Where the Lease is.
    pub namespace: Arc<str>,
    /// Under which name.
    pub identity: Arc<str>,
    /// What a process before left, and the next one finds.
    pub succession: Arc<Succession>,
    /// With which settings; `None` until a configuration was seen.
    pub settings: CellReader<Option<LeaderElectionSpec>>,
    /// Who is told whether we lead.
    pub fence: Fence,
    /// True once the process ends.
    pub stop: CellReader<bool>,
    /// Shows how it goes.
    pub show: Arc<dyn Fn(&Standing) + Send + Sync>,
}

/// How a replica stands, for `/debug/actors`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Standing {
    /// Our name.
    pub identity: String,
    /// The Lease; `None` while there is no election.
    pub lease: Option<String>,
    /// Whether we lead.
    pub leads: bool,
    /// Who holds the Lease, as far as it was seen.
    pub holder: Option<String>,
    /// How often it changed hands.
    pub transitions: i64,
    /// Why the last attempt failed, if it did.
    pub trouble: Option<String>,
}

/// The settings that a configuration gives; nothing changes for a reader while they stay the same.
#[must_use]
pub fn settings_of(config: &ActiveConfig) -> LeaderElectionSpec {
    config.spec.controller.leader_election.clone()
}

/// Why an election for one Lease ended.
enum Ended {
    Stopped,
    OtherSettings,
}

impl Campaign {
    /// Takes part until told to stop.
    pub async fn run(mut self) {
        let mut before: Option<String> = None;
        loop {
            let settings = self.settings.read().as_ref().clone();
            let ended = match settings {
                None => {
                    self.show(&Standing::default());
                    self.until_something_changes().await
                }
                Some(settings) if !settings.enabled => {
                    self.fence.hold_alone();
                    self.show(&Standing { leads: true, ..Standing::default() });
                    self.until_something_changes().await
                }
                Some(settings) => {
                    let election = self.election(&settings, before.as_deref());
                    before = Some(settings.lease_name.clone());
                    self.stand(election, &settings.lease_name).await
                }
            };
            if matches!(ended, Ended::Stopped) {
                self.fence.end();
                return;
            }
        }
    }

    fn election(&self, settings: &LeaderElectionSpec, before: Option<&str>) -> Election {
        let (timing, seed, now) = (Timing::of(settings), seed_of(&self.identity), Instant::now());
        let identity = Arc::clone(&self.identity);
        match before {
            Some(name) if name != settings.lease_name => {
                Election::of_another_lease(identity, timing, seed, now)
            }
            _ => {
                let election = Election::new(identity, timing, seed, now);
                match self.succession.former(&self.full_name(&settings.lease_name)) {
                    Some(former) => election.succeeding(former.identity.as_str().into(), former.epoch),
                    None => election,
                }
            }
        }
    }

    /// `namespace/name` of the Lease.
    fn full_name(&self, lease: &str) -> String {
        format!("{}/{lease}", self.namespace)
    }

    /// Without a Lease.
    async fn until_something_changes(&mut self) -> Ended {
        let was = self.settings.read();
        tokio::select! {
            _ = self.stop.wait_for(|stop| *stop) => {
                self.succession.forget();
                Ended::Stopped
            }
            _ = self.settings.wait_for(|settings| *settings != *was) => Ended::OtherSettings,
        }
    }

    /// Stands for the Lease `name` until told to stop, or until the settings ask for something else.
    async fn stand(&mut self, mut election: Election, name: &str) -> Ended {
        let lease = LeaseApi {
            client: self.client.clone(),
            namespace: Arc::clone(&self.namespace),
            name: name.into(),
            identity: Arc::clone(&self.identity),
        };
        let watch = lease.watch();
        futures::pin_mut!(watch);
        let mut attempt = None;
        let mut trouble = None;
        let ended = loop {
            self.tell(&election, name, trouble.as_deref());
            let wake = match (&attempt, election.next(Instant::now())) {
                (Some(_), _) => None,
                (None, Next::Wait(until)) => Some(until),
                (None, Next::Attempt(warrant)) => {
                    let began = election.begin(warrant, Instant::now());
                    let lease = lease.clone();
                    attempt = Some(Box::pin(async move {
                        let answer = lease.attempt(&began).await;
                        (began, answer)
                    }));
                    None
                }
            };
            tokio::select! {
                biased;
                (began, answer) = next_answer(&mut attempt) => {
                    attempt = None;
                    trouble = self.report(name, trouble, &answer);
                    election.concluded(&began, answer, Instant::now());
                    if let Some(tenure) = election.tenure(Instant::now()) {
                        self.leave(name, tenure.epoch);
                        self.fence.hold(tenure);
                    } else {
                        self.fence.end();
                    }
                }
                _ = self.stop.wait_for(|stop| *stop), if attempt.is_none() => break Ended::Stopped,
                settings = self.settings.changed(), if attempt.is_none() => match settings.as_ref() {
                    Some(settings) if settings.enabled && settings.lease_name == name => {
                        election.set_timing(Timing::of(settings));
                    }
                    _ => break Ended::OtherSettings,
                },
                Some(sight) = watch.next() => election.watched(sight, Instant::now()),
                () = until(wake) => {}
            }
        };
        election.resign();
        self.fence.end();
        let is_released = release(&lease, &election).await;
        if is_released && matches!(ended, Ended::Stopped) {
            self.succession.forget();
        }
        ended
    }

    /// Notes a leadership that begins.
    fn leave(&self, name: &str, epoch: Epoch) {
        let now = *self.fence.leadership().read();
        if (Leadership { leads: true, epoch }) != now {
            let (identity, lease) = (self.identity.to_string(), self.full_name(name));
            self.succession.leave(&Former { identity, lease, epoch });
        }
    }

    fn tell(&self, election: &Election, name: &str, trouble: Option<&str>) {
        let (holder, transitions) = match election.seen() {
            Sight::Present(record) => (record.holder.clone(), record.epoch.transitions),
            Sight::Absent | Sight::Unknown => (None, 0),
        };
        self.show(&Standing {
            lease: Some(self.full_name(name)),
            leads: election.tenure(Instant::now()).is_some(),
            holder,
            transitions,
            trouble: trouble.map(str::to_owned),
            ..Standing::default()
        });
    }

    /// Tells of trouble when it begins, changes and ends, not with every attempt.
    fn report(&self, name: &str, before: Option<String>, answer: &Answer) -> Option<String> {
        let now = match answer {
            Answer::Failed(why) => Some(why.clone()),
            _ => None,
        };
        if before != now {
            self.fence.tell_trouble(name, now.as_deref());
        }
        now
    }

    fn show(&self, standing: &Standing) {
        (self.show)(&Standing { identity: self.identity.to_string(), ..standing.clone() });
    }
}

/// An attempt is always heard to its end: a second one beside it would be judged by what the first one changes.
async fn next_answer<F: Future + Unpin>(attempt: &mut Option<F>) -> F::Output {
    match attempt {
        Some(attempt) => attempt.await,
        None => pending().await,
    }
}

async fn until(wake: Option<Instant>) {
    match wake {
        Some(then) => tokio::time::sleep_until(then).await,
        None => pending().await,
    }
}

/// Whether we hold the Lease no more.
async fn release(lease: &LeaseApi, election: &Election) -> bool {
    let ours = matches!(election.seen(), Sight::Present(record) if record.holder.as_deref() == Some(&*lease.identity));
    if !ours {
        return true;
    }
    match lease.release(RELEASE).await {
        Ok(true) => {
            tracing::info!(lease = %lease.name, "the Lease is released; another replica may lead at once");
        }
        Ok(false) => {}
        Err(why) => {
            tracing::warn!(lease = %lease.name, "the Lease could not be released and runs out by itself: {why}");
            return false;
        }
    }
    true
}

/// Any number that differs from replica to replica.
fn seed_of(identity: &str) -> u64 {
    use std::hash::{DefaultHasher, Hash, Hasher};
    let mut hasher = DefaultHasher::new();
    identity.hash(&mut hasher);
    hasher.finish()
}
