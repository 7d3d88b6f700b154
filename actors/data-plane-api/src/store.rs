//! Storing what HAProxy was brought to by operations, or what it was on the way there: one push beside which HAProxy may be operated.

use crate::{
    DataPlaneApi,
    apply::{ATTEMPTS, PodSession, loss, refused},
    client::{ApiCapabilities, Push, RawConfig},
    error::ApiError,
    files,
    memory::Files,
    record::PodRecord,
    step::server,
    stop::Stop,
};
use bytes::Bytes;
use haptic_model::agent_api::{Apply, Outcome, Running};
use haptic_text::Digest;
use std::sync::Arc;

/// What an order to store comes to.
enum StoreWork {
    /// It is done.
    Done(Outcome),
    /// This is to be pushed, against that version, in which haproxy.cfg is `written`.
    Push { target: Arc<Files>, text: Arc<str>, version: u64, written: Digest },
}

/// How a push ended.
enum Pushed {
    /// What the API wrote.
    Written(RawConfig),
    /// What it wrote, and what is missing there.
    Damaged(RawConfig, String),
    /// For the one who ordered it.
    Stop(Outcome),
}

impl DataPlaneApi {
    /// Stores the order's target. Whoever calls holds the disk.
    pub(crate) async fn store(&self, order: &Apply) -> Result<Outcome, ApiError> {
        let work = {
            let mut memory = self.memory.lock().await;
            let mut pod = self.pod(&mut memory, order);
            let work = pod.work(order).await.or_else(|stop| stop.into_result().map(StoreWork::Done))?;
            memory.is_pushing = matches!(work, StoreWork::Push { .. });
            work
        };
        let (target, text, version, written) = match work {
            StoreWork::Done(outcome) => return Ok(outcome),
            StoreWork::Push { target, text, version, written } => (target, text, version, written),
        };
        let pushed = self.push_beside(order, &text, version, written).await;
        let mut memory = self.memory.lock().await;
        memory.is_pushing = false;
        let mut pod = self.pod(&mut memory, order);
        match pushed? {
            Pushed::Stop(outcome) => {
                let is_ours = !matches!(outcome, Outcome::Conflict { .. } | Outcome::Stale { .. });
                pod.memory.is_known = pod.was_known && is_ours;
                Ok(outcome)
            }
            Pushed::Damaged(raw, what) => {
                pod.memory.version = raw.version;
                pod.take_back(what, None).await
            }
            Pushed::Written(raw) => pod.conclude_storing(order, target, &raw).await,
        }
    }

    /// The push itself, while nobody waits for it: in the place of what was `written`, whatever its version is by now.
    async fn push_beside(
        &self,
        order: &Apply,
        text: &Arc<str>,
        mut version: u64,
        written: Digest,
    ) -> Result<Pushed, ApiError> {
        let sent = Bytes::copy_from_slice(text.as_bytes());
        for _ in 0..ATTEMPTS {
            match self.api.push(sent.clone(), version, ApiCapabilities::Actions("")).await? {
                Push::Written { raw, .. } => {
                    return Ok(match loss(sent, &raw).await {
                        Ok(None) => Pushed::Written(raw),
                        Ok(Some(what)) => Pushed::Damaged(raw, what),
                        Err(stop) => Pushed::Stop(stop.into_result()?),
                    });
                }
                Push::Conflict { .. } => {
                    if let Some(epoch) = files::newer_leadership(&self.api, order.epoch).await? {
                        return Ok(Pushed::Stop(Outcome::Stale { epoch }));
                    }
                    version = self.api.configuration_version().await?;
                    let there = self.api.raw().await?;
                    if there.is_none_or(|raw| raw.digest() != written) {
                        return Ok(Pushed::Stop(Outcome::Conflict { running: None }));
                    }
                }
                Push::Refused(said) => {
                    return Ok(Pushed::Stop(refused(&self.api, &self.layout, sent, said).await?));
                }
                Push::HalfWay(message) => return Ok(Pushed::Stop(Outcome::Failed { message })),
            }
        }
        Err(ApiError::TwoWriters { address: self.api.caller.address.clone() })
    }
}

impl PodSession<'_> {
    async fn work(&mut self, order: &Apply) -> Result<StoreWork, Stop> {
        let version = self.api.configuration_version().await?;
        self.version = Some(version);
        if let Some(outcome) = self.object(order).await? {
            return Err(outcome.into());
        }
        self.memory.is_known = self.was_known;
        let Some(record) = self.memory.record.clone() else {
            return Err(Outcome::Conflict { running: None }.into());
        };
        if record.ahead.is_none() && record.running.digest != order.target {
            // What came after it was pushed with all its files: they are there.
            return Ok(StoreWork::Done(self.applied(false, String::new())));
        }
        let target = Arc::new(self.memory.target(order).map_err(|paths| Outcome::Missing { paths })?);
        if record.running.digest == order.target {
            self.mend(order, &target, record).await?;
            return Ok(StoreWork::Done(self.applied(false, String::new())));
        }
        if !has_files_of(&record, &target, &order.config) {
            // It is older than what is on the disk: what HAProxy runs comes later, with the same files.
            return Ok(StoreWork::Done(self.applied(false, String::new())));
        }
        let text = target.get(&order.config).map(|(_, text)| Arc::clone(text)).unwrap_or_default();
        let version = self.version.unwrap_or(version);
        Ok(StoreWork::Push { target, text, version, written: record.written })
    }

    /// Writes again what somebody else changed of the files on the disk. haproxy.cfg is as it was, or the pod would be unknown.
    async fn mend(&mut self, order: &Apply, target: &Files, record: PodRecord) -> Result<(), Stop> {
        let writes = self.to_write(target)?;
        self.write_files(&writes, &[], target).await?;
        files::delete_others(self.api, self.layout, target, self.memory).await?;
        server::sweep(self.api, self.memory).await?;
        let running = Running { digest: order.target, generation: order.generation };
        let certificates = self.memory.certificates.clone();
        self.write_record(PodRecord { running, certificates, unsure: Vec::new(), ..record }).await?;
        Ok(())
    }

    /// Notes what is on the disk now, beneath what HAProxy runs by now.
    async fn conclude_storing(
        &mut self,
        order: &Apply,
        target: Arc<Files>,
        raw: &RawConfig,
    ) -> Result<Outcome, ApiError> {
        self.memory.version = raw.version;
        // While it was pushed another leader may have operated HAProxy, which raises no version: the record is that one's now.
        if let Err(stop) = self.is_still_ours().await {
            return stop.into_result();
        }
        // Somebody's reload that fails takes back what was written after it, and nobody tells.
        let is_there = raw.version == Some(self.api.configuration_version().await?);
        let Some(record) = self.memory.record.clone().filter(|_| is_there && self.was_known) else {
            return Ok(Outcome::Conflict { running: self.memory.runs() });
        };
        // A worker that began meanwhile did so with what lay on the disk before, or with this.
        if self.api.haproxy().await?.pid() != Some(record.worker_pid) {
            return Ok(Outcome::Conflict { running: None });
        }
        let runs = record.runs();
        let on_disk = Running { digest: order.target, generation: order.generation };
        let written = raw.digest();
        let epoch = record.epoch.max(order.epoch);
        let record = PodRecord { running: on_disk, written, epoch, ..record };
        self.write_record(record.running(runs)).await?;
        self.memory.stores(order.target, target);
        self.memory.is_known = true;
        Ok(self.applied(false, String::new()))
    }
}

/// Whether `target` has the very files that the record names, haproxy.cfg aside.
fn has_files_of(record: &PodRecord, target: &Files, config: &str) -> bool {
    let others = target.iter().filter(|(path, _)| *path != config);
    others.map(|(path, (digest, _))| (path, digest)).eq(&record.files)
}
