//! The Lease at the API server: attempts, release and watch.

mod guard;

use crate::{
    election::{LeaseAttempt, LeaseRecord, LeaseResponse, ObservedLease},
    permit::Permit,
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
    /// Tries to renew, take or make the Lease, as far as the attempt's permit goes, and within its time.
    pub async fn attempt(&self, attempt: &LeaseAttempt) -> LeaseResponse {
        let seconds = attempt.timing.lease_seconds();
        let lock = self.lock(attempt.permit.clone(), seconds);
        match tokio::time::timeout(attempt.timing.attempt(), lock.try_acquire_or_renew()).await {
            Ok(Ok(LeaseLockResult::Acquired(lease))) => LeaseResponse::Held(record(&lease)),
            Ok(Ok(LeaseLockResult::NotAcquired(lease))) => {
                LeaseResponse::Found(ObservedLease::Present(record(&lease)))
            }
            Ok(Err(error)) => self.response_to(&error),
            Err(_) => LeaseResponse::Failed(format!(
                "the API server did not answer within {:.1} s",
                attempt.timing.attempt().as_secs_f64()
            )),
        }
    }

    /// Writes that nobody holds the Lease, if we do: others take it at once. Whether it was ours.
    ///
    /// # Errors
    /// The API server refused, or did not answer within `timeout`.
    pub async fn release(&self, timeout: Duration) -> Result<bool, String> {
        let lock = self.lock(Permit::look(), 1);
        match tokio::time::timeout(timeout, lock.step_down()).await {
            Ok(Ok(())) => Ok(true),
            Ok(Err(Error::ReleaseLockWhenNotLeading { .. } | Error::TraverseLease { .. })) => Ok(false),
            Ok(Err(error)) => Err(self.message(&error)),
            Err(_) => Err("the API server did not answer in time".to_owned()),
        }
    }

    /// The Lease as it changes; without end, trouble is tried again.
    pub fn watch(&self) -> impl Stream<Item = ObservedLease> + Send + use<> {
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
                    Some(ObservedLease::Present(record(&lease)))
                }
                Ok(Event::InitDone) => (!listed).then_some(ObservedLease::Absent),
                Ok(Event::Apply(lease)) => Some(ObservedLease::Present(record(&lease))),
                Ok(Event::Delete(_)) => Some(ObservedLease::Absent),
                Err(error) => {
                    tracing::debug!(lease = %name, %error, "the watch of the Lease failed and is tried again");
                    None
                }
            })
        })
    }

    /// `namespace/name`.
    pub(crate) fn full_name(&self) -> String {
        format!("{}/{}", self.namespace, self.name)
    }

    fn lock(&self, permit: Permit, seconds: u64) -> LeaseLock {
        let client = guard::client(self.client.clone(), &self.namespace, permit);
        let params = LeaseLockParams {
            holder_id: self.identity.to_string(),
            lease_name: self.name.to_string(),
            lease_ttl: Duration::from_secs(seconds),
        };
        LeaseLock::new(client, &self.namespace, params)
    }

    fn response_to(&self, error: &Error) -> LeaseResponse {
        match code_of(error) {
            Some(409) => LeaseResponse::Conflict,
            Some(guard::NO_LEASE) => LeaseResponse::Found(ObservedLease::Absent),
            _ => LeaseResponse::Failed(self.message(error)),
        }
    }

    fn message(&self, error: &Error) -> String {
        match code_of(error) {
            Some(401 | 403) => format!(
                "{error}. Allow get, list, watch, create and patch on leases (coordination.k8s.io) in namespace {}",
                self.namespace
            ),
            _ => format!("Lease {}: {error}", self.full_name()),
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
fn record(lease: &Lease) -> LeaseRecord {
    let (meta, spec) = (&lease.metadata, lease.spec.as_ref());
    let seconds = spec.and_then(|s| s.lease_duration_seconds).and_then(|s| u64::try_from(s).ok());
    LeaseRecord {
        version: meta.resource_version.clone().unwrap_or_default(),
        holder: spec.and_then(|s| s.holder_identity.clone()).filter(|holder| !holder.is_empty()),
        lasts: Duration::from_secs(seconds.unwrap_or_default()),
        epoch: Epoch {
            lease_created: meta.creation_timestamp.as_ref().map_or(0, |t| t.0.as_millisecond()),
            transitions: i64::from(spec.and_then(|s| s.lease_transitions).unwrap_or_default()),
        },
    }
}
