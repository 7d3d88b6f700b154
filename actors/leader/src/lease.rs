//! The Lease at the API server: attempts, release and watch.

mod guard;

use crate::{
    election::{Answer, Attempt, Record, Sight},
    warrant::Warrant,
};
use futures::{Stream, StreamExt};
use haptic_model::agent_api::Epoch;
use haptic_runtime::retry;
use k8s_openapi::api::coordination::v1::Lease;
use kube::{
    Api, Client,
    runtime::{
        WatchStreamExt,
        watcher::{self, Event, ExponentialBackoff},
    },
};
use kube_leader_election::{Error, LeaseLock, LeaseLockParams, LeaseLockResult};
use std::{future::ready, sync::Arc, time::Duration};

/// How a Lease is reached, and as whom.
#[derive(Clone)]
pub struct LeaseApi {
    /// The API server.
    pub client: Client,
    /// Where the Lease is.
    pub namespace: Arc<str>,
    /// Its name.
    pub name: Arc<str>,
    /// Whom it should name.
    pub identity: Arc<str>,
}

impl LeaseApi {
    /// Tries to renew, take or make the Lease, as far as the attempt's warrant goes, and within its time.
    pub async fn attempt(&self, attempt: &Attempt) -> Answer {
        let seconds = attempt.timing.lease_seconds();
        let lock = self.lock(attempt.warrant.clone(), seconds);
        match tokio::time::timeout(attempt.timing.attempt(), lock.try_acquire_or_renew()).await {
            Ok(Ok(LeaseLockResult::Acquired(lease))) => Answer::Held(record(&lease)),
            Ok(Ok(LeaseLockResult::NotAcquired(lease))) => Answer::Found(Sight::Present(record(&lease))),
            Ok(Err(error)) => self.answer_to(&error),
            Err(_) => Answer::Failed(format!(
                "the API server did not answer within {:.1} s",
                attempt.timing.attempt().as_secs_f64()
            )),
        }
    }

    /// Writes that nobody holds the Lease, if we do: others take it at once. Whether it was ours.
    ///
    /// # Errors
    /// A sentence: the API server refused or did not answer within `patience`.
    pub async fn release(&self, patience: Duration) -> Result<bool, String> {
        let lock = self.lock(Warrant::look(), 1);
        match tokio::time::timeout(patience, lock.step_down()).await {
            Ok(Ok(())) => Ok(true),
            Ok(Err(Error::ReleaseLockWhenNotLeading { .. } | Error::TraverseLease { .. })) => Ok(false),
            Ok(Err(error)) => Err(self.sentence(&error)),
            Err(_) => Err("the API server did not answer in time".to_owned()),
        }
    }

    /// The Lease as it changes; without end, trouble is tried again.
    pub fn watch(&self) -> impl Stream<Item = Sight> + Send + use<> {
        let api: Api<Lease> = Api::namespaced(self.client.clone(), &self.namespace);
        let only = watcher::Config::default().fields(&format!("metadata.name={}", self.name));
        let mut listed = false;
        let name = Arc::clone(&self.name);
        watcher::watcher(api, only).backoff(ExponentialBackoff::from(retry::pauses())).filter_map(move |event| {
            ready(match event {
                Ok(Event::Init) => {
                    listed = false;
                    None
                }
                Ok(Event::InitApply(lease)) => {
                    listed = true;
                    Some(Sight::Present(record(&lease)))
                }
                Ok(Event::InitDone) => (!listed).then_some(Sight::Absent),
                Ok(Event::Apply(lease)) => Some(Sight::Present(record(&lease))),
                Ok(Event::Delete(_)) => Some(Sight::Absent),
                Err(error) => {
                    tracing::debug!(lease = %name, %error, "the watch of the Lease failed and is tried again");
                    None
                }
            })
        })
    }

    fn lock(&self, warrant: Warrant, seconds: u64) -> LeaseLock {
        let client = guard::client(self.client.clone(), &self.namespace, warrant);
        let params = LeaseLockParams {
            holder_id: self.identity.to_string(),
            lease_name: self.name.to_string(),
            lease_ttl: Duration::from_secs(seconds),
        };
        LeaseLock::new(client, &self.namespace, params)
    }

    fn answer_to(&self, error: &Error) -> Answer {
        match code_of(error) {
            Some(409) => Answer::Conflict,
            Some(guard::NO_LEASE) => Answer::Found(Sight::Absent),
            _ => Answer::Failed(self.sentence(error)),
        }
    }

    fn sentence(&self, error: &Error) -> String {
        let Self { namespace, name, .. } = self;
        match code_of(error) {
            Some(401 | 403) => format!(
                "{error}. Allow get, list, watch, create and patch on leases (coordination.k8s.io) in namespace {namespace}"
            ),
            _ => format!("Lease {namespace}/{name}: {error}"),
        }
    }
}

fn code_of(error: &Error) -> Option<u16> {
    match error {
        Error::ApiError { response } => Some(response.code),
        Error::GetLease(kube::Error::Api(status))
        | Error::CreateLease(kube::Error::Api(status))
        | Error::AcquireLease(kube::Error::Api(status))
        | Error::RenewLease(kube::Error::Api(status))
        | Error::ReleaseLease(kube::Error::Api(status))
        | Error::Kube(kube::Error::Api(status)) => Some(status.code),
        _ => None,
    }
}

/// What the election needs of a Lease.
fn record(lease: &Lease) -> Record {
    let (meta, spec) = (&lease.metadata, lease.spec.as_ref());
    let seconds = spec.and_then(|s| s.lease_duration_seconds).and_then(|s| u64::try_from(s).ok());
    Record {
        version: meta.resource_version.clone().unwrap_or_default(),
        holder: spec.and_then(|s| s.holder_identity.clone()).filter(|holder| !holder.is_empty()),
        lasts: Duration::from_secs(seconds.unwrap_or_default()),
        epoch: Epoch {
            lease_created: meta.creation_timestamp.as_ref().map_or(0, |t| t.0.as_millisecond()),
            transitions: i64::from(spec.and_then(|s| s.lease_transitions).unwrap_or_default()),
        },
    }
}
