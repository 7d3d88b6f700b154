//! HAProxy's Data Plane API as a transport: what the agent does beside HAProxy is done here, from afar, with the calls that
//! the API has.
//!
//! Its pods differ from those with the agent in this: nothing there knows bundles, so a [record](record::PodRecord) lies beside their
//! files; and a push writes haproxy.cfg after a check of its own, which takes seconds when it is large. So what only adds and
//! removes servers goes [without one](fast_path), ahead of what is on the disk, and is [stored](store) once it has been checked.
//!
//! One call that writes the configuration is under way for a pod at a time, and one that operates HAProxy. An answer "done" is
//! believed after what was done has been read back.

mod apply;
mod call_error;
mod capabilities;
mod client;
mod error;
mod fast_path;
mod files;
mod look;
mod memory;
mod multipart;
mod operate;
mod pair;
mod record;
mod responses;
mod step;
mod stop;
mod store;
mod target;
#[cfg(test)]
mod tests;

pub use capabilities::objections;

use client::Api;
use error::ApiError;
use futures::FutureExt;
use haptic_deploy::{
    Transport, TransportError,
    transport::{CallFuture, Peer, caller::Caller},
};
use haptic_model::{
    ActiveConfig, HaproxyPod, Layout,
    agent_api::{Apply, Method, Outcome, RunningBundle, Runtime, Status},
};
use memory::PodMemory;
use std::{sync::Arc, time::Duration};
use tokio::{
    sync::{Mutex, MutexGuard},
    time::Instant,
};

/// As errors call it.
const PEER: Peer = Peer("Data Plane API");
/// How often HAProxy is asked whether it has begun anew.
const WATCH: Duration = Duration::from_secs(1);
/// As long as an agent keeps that question.
const WATCHED_FOR: Duration = Duration::from_secs(30);

/// The Data Plane API of one pod.
pub struct DataPlaneApi {
    api: Api,
    layout: Layout,
    /// Held while haproxy.cfg on the pod's disk is looked at or written. Taken before the memory.
    disk: Mutex<()>,
    /// What is known of the pod. Held while it is asked or changed, but for the push of an order to store.
    memory: Mutex<PodMemory>,
}

impl DataPlaneApi {
    /// The API on `pod`, as `config` says it is reached.
    ///
    /// # Errors
    /// [`TransportError::Setup`]: https without a usable `caBundle`.
    pub fn new(pod: &HaproxyPod, config: &ActiveConfig) -> Result<Self, TransportError> {
        Ok(Self {
            api: Api {
                caller: Caller::new(PEER, pod, config)?,
                limit: config.spec.dataplane.deployment_timeout.get(),
            },
            layout: config.layout.clone(),
            disk: Mutex::default(),
            memory: Mutex::default(),
        })
    }

    /// What is known, once nobody writes haproxy.cfg. Whoever holds the disk may ask for it.
    async fn settled(&self) -> MutexGuard<'_, PodMemory> {
        let mut memory = self.memory.lock().await;
        if std::mem::take(&mut memory.is_pushing) {
            // That push was given up: what became of it is unknown.
            memory.is_known = false;
        }
        memory
    }

    /// The pod, to carry out `order`. Nobody knows what is there if that ends before its time.
    fn pod<'p>(&'p self, memory: &'p mut PodMemory, order: &Apply) -> apply::PodSession<'p> {
        apply::PodSession {
            api: &self.api,
            layout: &self.layout,
            was_known: std::mem::replace(&mut memory.is_known, false),
            memory,
            epoch: order.epoch,
            version: None,
        }
    }

    async fn carry_out(&self, order: &Apply) -> Result<Outcome, ApiError> {
        if fast_path::is_fast(order) {
            let mut memory = self.memory.lock().await;
            let was_given_up = memory.is_pushing && self.disk.try_lock().is_ok();
            if !was_given_up
                && let Some(outcome) = self.bounded(self.pod(&mut memory, order).fast_path(order)).await?
            {
                return Ok(outcome);
            }
        }
        let _nobody_else_writes = self.disk.lock().await;
        if matches!(order.method, Method::Store) {
            drop(self.settled().await);
            return self.bounded(self.store(order)).await;
        }
        let mut memory = self.settled().await;
        self.bounded(self.pod(&mut memory, order).apply(order)).await
    }

    async fn bounded<T>(&self, work: impl Future<Output = Result<T, ApiError>>) -> Result<T, ApiError> {
        let timeout = || TransportError::Timeout {
            address: self.api.caller.address.clone(),
            call: "a deployment through the Data Plane API",
            limit: self.api.limit,
        };
        tokio::time::timeout(self.api.limit, work).await.unwrap_or_else(|_| Err(timeout().into()))
    }

    /// Another number once HAProxy runs in another process than `not` stands for, or after a while.
    async fn watch(&self, not: u64) -> Result<u64, ApiError> {
        let until = Instant::now() + WATCHED_FOR;
        loop {
            let mut memory = self.memory.lock().await;
            if let Some(pid) = self.api.haproxy().await?.pid() {
                memory.connect(pid);
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
    fn status(&self) -> CallFuture<'_, Status> {
        async move {
            let _nobody_writes = self.disk.lock().await;
            Ok(look::status(&self.api, &self.layout, &mut *self.settled().await).await?)
        }
        .boxed_local()
    }

    fn running_bundle(&self) -> CallFuture<'_, Option<RunningBundle>> {
        async move { Ok(self.memory.lock().await.running_bundle(&self.layout)) }.boxed_local()
    }

    fn runtime(&self) -> CallFuture<'_, Runtime> {
        async move { Ok(look::runtime(&self.api, &self.layout, &mut *self.memory.lock().await).await?) }
            .boxed_local()
    }

    fn incarnation(&self, not: u64) -> CallFuture<'_, u64> {
        async move { Ok(self.watch(not).await?) }.boxed_local()
    }

    fn apply(&self, order: Arc<Apply>) -> CallFuture<'_, Outcome> {
        async move { Ok(self.carry_out(&order).await?) }.boxed_local()
    }
}
