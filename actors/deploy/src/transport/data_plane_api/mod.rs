//! HAProxy's Data Plane API as a transport: what the agent does beside HAProxy is done here, from afar, with the calls that
//! the API has.
//!
//! Its pods differ from those with the agent in this: a push writes the files at once, after a check of its own, so what HAProxy
//! runs and what is on its disk are the same. And nothing there knows bundles; so a [record](record::Record) lies beside them.
//!
//! One call is under way for a pod at a time. An answer "done" is believed after what was done has been read back.

mod apply;
mod client;
mod files;
mod look;
mod memory;
mod multipart;
mod operate;
mod pair;
mod record;
pub(crate) mod step;
#[cfg(test)]
mod tests;
mod words;

use super::{Answer, Transport, TransportError, caller::Caller, error::Peer};
use client::Api;
use futures::FutureExt;
use haptic_model::{
    ActiveConfig, HaproxyPod, Layout,
    agent_api::{Apply, Outcome, RunningBundle, Runtime, Status},
};
use memory::Memory;
use std::{sync::Arc, time::Duration};
use tokio::{sync::Mutex, time::Instant};

/// How often HAProxy is asked whether it has begun anew.
const WATCH: Duration = Duration::from_secs(1);
/// As long as an agent keeps that question.
const WATCHED_FOR: Duration = Duration::from_secs(30);

/// The Data Plane API of one pod.
pub struct DataPlaneApi {
    api: Api,
    layout: Layout,
    /// What is known of the pod. Held while it is asked or changed.
    memory: Mutex<Memory>,
}

impl DataPlaneApi {
    /// The API on `pod`, as `config` says it is reached.
    ///
    /// # Errors
    /// [`TransportError::Setup`]: https without a usable `caBundle`.
    pub fn new(pod: &HaproxyPod, config: &ActiveConfig) -> Result<Self, TransportError> {
        Ok(Self {
            api: Api {
                caller: Caller::new(Peer::DataPlaneApi, pod, config)?,
                limit: config.spec.dataplane.deployment_timeout.or(Duration::from_secs(30)),
            },
            layout: config.layout.clone(),
            memory: Mutex::default(),
        })
    }

    /// Another number once HAProxy runs in another process than `not` stands for, or after a while.
    async fn watch(&self, not: u64) -> Result<u64, TransportError> {
        let until = Instant::now() + WATCHED_FOR;
        loop {
            let mut memory = self.memory.lock().await;
            if let Ok(haproxy) = self.api.haproxy().await? {
                memory.meet(haproxy.pid);
            }
            let now = memory.incarnation;
            drop(memory);
            if now != not || Instant::now() >= until {
                return Ok(now);
            }
            tokio::time::sleep(WATCH).await;
        }
    }
}

impl Transport for DataPlaneApi {
    fn status(&self) -> Answer<'_, Status> {
        async move { look::status(&self.api, &self.layout, &mut *self.memory.lock().await).await }
            .boxed_local()
    }

    fn running_bundle(&self) -> Answer<'_, Option<RunningBundle>> {
        async move { Ok(self.memory.lock().await.running_bundle(&self.layout)) }.boxed_local()
    }

    fn runtime(&self) -> Answer<'_, Runtime> {
        async move { look::runtime(&self.api, &mut *self.memory.lock().await).await }.boxed_local()
    }

    fn incarnation(&self, not: u64) -> Answer<'_, u64> {
        self.watch(not).boxed_local()
    }

    fn apply(&self, order: Arc<Apply>) -> Answer<'_, Outcome> {
        async move {
            let mut memory = self.memory.lock().await;
            // Nobody knows what is there if this ends before its time.
            let known = std::mem::replace(&mut memory.is_known, false);
            let pod = apply::Pod {
                api: &self.api,
                layout: &self.layout,
                memory: &mut memory,
                was_known: known,
                epoch: order.epoch,
                version: None,
            };
            match tokio::time::timeout(self.api.limit, pod.apply(&order)).await {
                Ok(outcome) => outcome,
                Err(_) => Err(TransportError::Timeout {
                    address: self.api.caller.address.clone(),
                    call: "a deployment through the Data Plane API",
                    limit: self.api.limit,
                }),
            }
        }
        .boxed_local()
    }
}
