//! One deployment that writes haproxy.cfg to a pod with the Data Plane API, in the order in which nothing it leaves half-way does
//! harm: certificates, maps, other files; operations, or HAProxy's checker before a reload; one push; what came back; what is no
//! longer needed; the record.

use crate::{
    client::{Api, ApiCapabilities, HaproxyAnswer, Push, RawConfig, ReloadState},
    error::ApiError,
    files::{self, FileDestination},
    look,
    memory::{Awaited, Files, PodMemory},
    operate::{self, ExpectedState},
    record::{self, PodRecord},
    responses::{self, ApiRefusal, ResponseMeaning},
    step::{self, ApiStep, NeedsReload, server},
    stop::Stop,
    target::ApplyTarget,
};
use bytes::Bytes;
use haptic_haproxy::{Document, data_plane_api};
use haptic_model::{
    Capabilities, FileKind, Layout,
    agent_api::{Apply, Epoch, Method, Outcome, Running},
};
use haptic_runtime::cpu;
use haptic_text::Digest;
use std::{sync::Arc, time::Duration};

/// How often a push is repeated: another version, or a reload that nobody remembers.
pub(crate) const ATTEMPTS: usize = 4;
/// The pause between two questions for a reload that waits.
const RELOAD_PAUSE: Duration = Duration::from_millis(50);
/// How often it is asked for the new worker after a reload that succeeded.
const ASKED: usize = 20;

/// A pod while it is changed.
pub(crate) struct PodSession<'p> {
    pub api: &'p Api,
    pub layout: &'p Layout,
    pub memory: &'p mut PodMemory,
    /// Whether what it runs was known when this began.
    pub was_known: bool,
    /// Whose order it is.
    pub epoch: Epoch,
    /// The configuration's version before the pod was looked at, for the first push: who wrote since is noticed.
    pub version: Option<u64>,
}

/// How a reload ended.
enum ReloadEnd {
    /// With HAProxy's log.
    Succeeded(String),
    /// With HAProxy's words.
    Failed(String),
    /// Nobody knows: the API was started anew meanwhile.
    Forgotten,
}

/// What HAProxy was brought to.
struct Brought {
    written: Digest,
    reloaded: bool,
    log: String,
}

/// The API's checker refused what was `sent`. The lines that it named are those of what the API made of it: of what was sent it is
/// asked once more.
pub(crate) async fn refused(
    api: &Api,
    layout: &Layout,
    sent: Bytes,
    said: String,
) -> Result<Outcome, ApiError> {
    let ours = api.validate(sent.clone()).await?.unwrap_or(said);
    let message = responses::about(&ours, &layout.config_file, &String::from_utf8_lossy(&sent), None);
    Ok(Outcome::Refused { message, reload_may_help: false })
}

impl PodSession<'_> {
    /// Carries out `order`.
    pub async fn apply(mut self, order: &Apply) -> Result<Outcome, ApiError> {
        self.version = Some(self.api.configuration_version().await?);
        if let Some(outcome) = self.object(order).await? {
            return Ok(outcome);
        }
        let target = match self.memory.target(order) {
            Ok(target) => Arc::new(target),
            Err(paths) => {
                self.memory.is_known = self.was_known;
                return Ok(Outcome::Missing { paths });
            }
        };
        match self.bring(order, &target).await {
            Ok(brought) => self.conclude(order, target, brought).await,
            Err(stop) => stop.into_result(),
        }
    }

    /// Whether the pod is as it was left. Whoever else wrote the configuration, or had HAProxy read it, made of it what nobody
    /// here knows.
    pub(crate) async fn is_as_left(&self) -> Result<bool, ApiError> {
        let record = files::read_record(self.api).await?;
        let haproxy = self.api.haproxy().await?;
        Ok(self.memory.versions.is_some()
            && self.was_known
            && record == self.memory.record
            && self.version == self.memory.version
            && haproxy.pid() == Some(self.memory.worker_pid))
    }

    /// Whether the order is for another pod than this one has become; looks at it anew if it is not as it was left.
    pub(crate) async fn object(&mut self, order: &Apply) -> Result<Option<Outcome>, ApiError> {
        if !self.is_as_left().await? {
            look::status(self.api, self.layout, self.memory).await?;
            self.version = self.memory.version;
            self.was_known = std::mem::replace(&mut self.memory.is_known, false);
        }
        Ok(self.objection(order))
    }

    /// Why the order cannot be for the pod as it is known.
    pub(crate) fn objection(&self, order: &Apply) -> Option<Outcome> {
        let running = self.memory.runs();
        let epoch = self.memory.record.as_ref().map(|record| record.epoch).unwrap_or_default();
        let (is_of_the_base, needs_to_be_known) = match order.method {
            Method::Runtime { .. } => (running == order.base, true),
            Method::Reload { .. } => (running == order.base, false),
            Method::Store => (true, true),
        };
        if record::is_newer(epoch, self.epoch) {
            Some(Outcome::Stale { epoch })
        } else if !is_of_the_base || needs_to_be_known && !self.was_known {
            Some(Outcome::Conflict { running })
        } else {
            None
        }
    }

    async fn bring(&mut self, order: &Apply, target: &Arc<Files>) -> Result<Brought, Stop> {
        let refused = |message: String| Err(Outcome::Refused { message, reload_may_help: false }.into());
        let steps = self.steps(order, target).map_err(Stop::half_way)?;
        let config = target.get(&order.config).map(|(_, text)| Arc::clone(text)).unwrap_or_default();
        let writes = self.to_write(target)?;
        if let Err(message) = files::check_pairs(&writes, target) {
            self.memory.is_known = self.was_known;
            return refused(message);
        }
        let before = self.memory.record.clone();
        self.announce(order, &writes).await?;
        let reload = match self.write_files(&writes, &steps, target).await {
            Ok(reload) => reload,
            Err(stop) => {
                if matches!(stop, Stop::Outcome(_)) {
                    self.memory.is_known = self.was_known;
                    self.nothing_happened(before).await?;
                }
                return Err(stop);
            }
        };
        let text = Bytes::copy_from_slice(config.as_bytes());
        if !matches!(order.method, Method::Runtime { .. }) {
            if let Some(said) = self.api.validate(text.clone()).await? {
                self.undo(&writes, &[], before).await?;
                return refused(responses::about(&said, &self.layout.config_file, &config, None));
            }
            return self.reload(order, target, (text, &config), (&writes, before)).await;
        }
        // The push has it checked, and takes as long as that: once is enough.
        let operated = self.operate(&steps, ApplyTarget { files: target, config: &order.config }, text).await;
        if let Err(Stop::Outcome(Outcome::Refused { reload_may_help: false, .. })) = &operated {
            self.undo(&writes, &steps, before).await?;
        }
        let written = operated?;
        let Some(id) = reload else { return Ok(Brought { written, reloaded: false, log: String::new() }) };
        let worker = self.memory.worker_pid;
        match self.await_reload(&id).await? {
            ReloadEnd::Succeeded(log) => {
                self.is_another_worker(worker).await?;
                Ok(Brought { written, reloaded: true, log })
            }
            ReloadEnd::Failed(said) => Err(Stop::half_way(said)),
            ReloadEnd::Forgotten => {
                Err(Stop::half_way("the Data Plane API forgot the reload that a certificate needs"))
            }
        }
    }

    /// Notes that something is about to happen: whoever comes after an end half-way knows that nobody knows what HAProxy runs.
    pub(crate) async fn announce(
        &mut self,
        order: &Apply,
        writes: &[(FileKind, String)],
    ) -> Result<(), ApiError> {
        let Some(record) = self.memory.record.clone() else { return Ok(()) };
        let certificates = writes.iter().filter(|(kind, _)| *kind == FileKind::Certificate);
        let mut unsure = record.unsure.clone();
        unsure.extend(certificates.map(|(_, path)| path.clone()));
        unsure.sort();
        unsure.dedup();
        let epoch = record.epoch.max(order.epoch);
        self.write_record(PodRecord { half_way: true, ahead: None, unsure, epoch, ..record }).await
    }

    /// The configuration was refused: files that were `written` are again what they were, and servers of `steps` that came for it go.
    async fn undo(
        &mut self,
        written: &[(FileKind, String)],
        steps: &[ApiStep],
        before: Option<PodRecord>,
    ) -> Result<(), ApiError> {
        for (backend, server) in steps.iter().filter_map(ApiStep::added_server) {
            if let Err(error) = self.api.delete_server(backend, server).await {
                let why = error.refusal()?.words;
                tracing::debug!(backend, server, why, "a server that came for nothing stays in maintenance");
            }
        }
        self.restore(written).await?;
        self.memory.is_known = self.was_known;
        self.nothing_happened(before).await
    }

    /// HAProxy runs what it ran, and its files are what they were: as the record `before` says, if that was so.
    async fn nothing_happened(&mut self, before: Option<PodRecord>) -> Result<(), ApiError> {
        match before {
            Some(record) if self.memory.is_known => self.write_record(record).await,
            _ => Ok(()),
        }
    }

    pub(crate) fn to_write(&self, target: &Files) -> Result<Vec<(FileKind, String)>, Stop> {
        files::to_write(target, &self.memory.stored, self.layout)
            .map_err(|message| Outcome::Failed { message }.into())
    }

    pub(crate) fn steps(&self, order: &Apply, target: &Files) -> Result<Vec<ApiStep>, NeedsReload> {
        let Method::Runtime { operations, .. } = &order.method else { return Ok(Vec::new()) };
        let (api, haproxy) = self.memory.versions.ok_or(NeedsReload::UnknownVersion)?;
        let capabilities = Capabilities::through_data_plane_api(haproxy, api);
        let content = |path: &str| target.get(path).map(|(_, text)| text.to_string());
        operations.iter().map(|operation| step::plan(operation, capabilities, &content)).collect()
    }

    /// Back with the reload that the API asked for, if it did: a certificate that `steps` bring to HAProxy at once did not get there.
    pub(crate) async fn write_files(
        &mut self,
        writes: &[(FileKind, String)],
        steps: &[ApiStep],
        target: &Files,
    ) -> Result<Option<String>, Stop> {
        let mut reload = None;
        for (kind, path) in writes {
            let Some((_, text)) = target.get(path) else { continue };
            let is_new = !self.memory.stored.contains_key(path);
            let is_live = steps.iter().any(|step| step.brings_certificate(path));
            let place = FileDestination { kind: *kind, path, is_new, is_live };
            match files::store(self.api, self.memory, place, text).await {
                Ok(asked) => reload = asked.or(reload),
                Err(error) => {
                    let why = error.refusal()?;
                    self.restore(writes).await?;
                    return Err(not_stored(*kind, path, &why).into());
                }
            }
        }
        Ok(reload)
    }

    /// The files of what runs in the place of those that were `written`, as far as they are known.
    async fn restore(&mut self, written: &[(FileKind, String)]) -> Result<(), ApiError> {
        let Some((_, before)) = self.memory.files.clone() else { return Ok(()) };
        for (kind, path) in written {
            let Some((digest, text)) = before.get(path) else { continue };
            if self.memory.stored.get(path) != Some(digest) {
                let place = FileDestination { kind: *kind, path, is_new: false, is_live: true };
                if let Err(error) = files::store(self.api, self.memory, place, text).await {
                    error.refusal()?;
                }
            }
        }
        Ok(())
    }

    /// Operations, and the push that brings them to the disk, which takes as long as HAProxy's checker. Where servers only come and
    /// go they do so before it. What changes of those that stay goes with it, in one call: then servers that come are added before
    /// it and brought into service with it, and what goes goes after it.
    async fn operate(
        &mut self,
        steps: &[ApiStep],
        target: ApplyTarget<'_>,
        text: Bytes,
    ) -> Result<Digest, Stop> {
        let mut wanted = ExpectedState::default();
        let is_live_before = steps.iter().all(|step| step.action().is_none());
        let (coming, rest) = parted(steps);
        let (by_action, by_call): (Vec<&ApiStep>, Vec<&ApiStep>) =
            rest.into_iter().partition(|step| step.action().is_some());
        let mut actions = Vec::new();
        if is_live_before {
            self.carry_out_all(steps, target, &mut wanted).await?;
        } else {
            self.carry_out(&coming, target, &mut wanted).await?;
            let taking = coming.iter().filter_map(|step| step.taking_requests());
            actions = taking.chain(by_action.into_iter().cloned()).collect();
        }
        actions.iter().for_each(|step| wanted.expect_action(step));
        let words: Vec<String> = actions.iter().filter_map(ApiStep::action).collect();
        let raw = match self.push(&text, ApiCapabilities::Actions(&words.join(";"))).await {
            Ok((raw, _)) => raw,
            // HAProxy runs what it would not read at a start.
            Err(Stop::Outcome(Outcome::Refused { message, .. })) if is_live_before && !steps.is_empty() => {
                return Err(Stop::half_way(message));
            }
            Err(stop) => return Err(stop),
        };
        let written = raw.digest();
        if !is_live_before {
            self.carry_out(&by_call, target, &mut wanted).await?;
        }
        wanted.read_back(self.api).await?;
        // Somebody's reload that fails takes back what was written after it, and nobody tells.
        if raw.version.is_some() && raw.version != Some(self.api.configuration_version().await?) {
            return Err(Stop::half_way("somebody else wrote the configuration meanwhile"));
        }
        Ok(written)
    }

    async fn carry_out(
        &mut self,
        steps: &[&ApiStep],
        target: ApplyTarget<'_>,
        wanted: &mut ExpectedState,
    ) -> Result<(), Stop> {
        for step in steps {
            operate::carry_out(self.api, step, target, self.memory, wanted).await?;
        }
        Ok(())
    }

    /// All by calls of their own: servers that come take requests before others go.
    pub(crate) async fn carry_out_all(
        &mut self,
        steps: &[ApiStep],
        target: ApplyTarget<'_>,
        wanted: &mut ExpectedState,
    ) -> Result<(), Stop> {
        let (coming, rest) = parted(steps);
        let taking: Vec<ApiStep> = coming.iter().filter_map(|step| step.taking_requests()).collect();
        self.carry_out(&coming, target, wanted).await?;
        self.carry_out(&taking.iter().collect::<Vec<_>>(), target, wanted).await?;
        self.carry_out(&rest, target, wanted).await
    }

    /// The whole configuration, against the version that is there. Back with what the API made of it.
    async fn push(
        &mut self,
        text: &Bytes,
        reach: ApiCapabilities<'_>,
    ) -> Result<(RawConfig, Option<String>), Stop> {
        let mut version = match self.version.take() {
            Some(version) => version,
            None => self.api.configuration_version().await?,
        };
        for _ in 0..ATTEMPTS {
            match self.api.push(text.clone(), version, reach).await? {
                Push::Written { raw, reload } => {
                    self.memory.version = raw.version;
                    return match loss(text.clone(), &raw).await? {
                        None => Ok((raw, reload)),
                        Some(what) => Err(self.take_back(what, reload.as_deref()).await?.into()),
                    };
                }
                Push::Conflict { current } => {
                    self.is_still_ours().await?;
                    if matches!(reach, ApiCapabilities::Actions(_)) {
                        self.is_still_as_recorded().await?;
                    }
                    version = match current {
                        Some(current) => current,
                        None => self.api.configuration_version().await?,
                    };
                }
                Push::Refused(said) => {
                    return Err(refused(self.api, self.layout, text.clone(), said).await?.into());
                }
                Push::HalfWay(said) => return Err(Stop::half_way(said)),
            }
        }
        Err(ApiError::TwoWriters { address: self.api.caller.address.clone() }.into())
    }

    /// Stops when it was another leader who wrote.
    pub(crate) async fn is_still_ours(&self) -> Result<(), Stop> {
        match files::newer_leadership(self.api, self.epoch).await? {
            Some(epoch) => Err(Outcome::Stale { epoch }.into()),
            None => Ok(()),
        }
    }

    /// Stops when the configuration is another one than was brought last: HAProxy may have been told to run it.
    async fn is_still_as_recorded(&self) -> Result<(), Stop> {
        let there = self.api.raw().await?;
        let there = there.map(|raw| raw.digest());
        let recorded = self.memory.record.as_ref().map(|record| record.written);
        match recorded.is_some() && there == recorded {
            true => Ok(()),
            false => Err(Outcome::Conflict { running: self.memory.runs() }.into()),
        }
    }

    /// The API damaged what was sent: what ran before takes its place. No object is at fault of that.
    pub(crate) async fn take_back(
        &mut self,
        what: String,
        reload: Option<&str>,
    ) -> Result<Outcome, ApiError> {
        match reload {
            None => drop(self.put_back(ApiCapabilities::Actions("")).await?),
            // That reload comes, and must find what is whole. The new worker is nobody else's doing.
            Some(asked) => {
                let before = self.memory.worker_pid;
                let put_back = self.put_back(ApiCapabilities::Reload).await?;
                self.await_reload(put_back.as_deref().unwrap_or(asked)).await?;
                self.is_another_worker(before).await?;
                self.memory.is_known = false;
            }
        }
        let message = format!("the Data Plane API did not keep the configuration as it was sent: {what}");
        Ok(Outcome::Failed { message })
    }

    /// The configuration that was on disk before, there again. Back with the reload that was asked for.
    async fn put_back(&mut self, reach: ApiCapabilities<'_>) -> Result<Option<String>, ApiError> {
        let before = self.memory.on_disk().and_then(|files| files.get(&self.layout.config_file));
        let Some((_, text)) = before.cloned() else { return Ok(None) };
        let text = Bytes::copy_from_slice(text.as_bytes());
        for _ in 0..ATTEMPTS {
            let version = self.api.configuration_version().await?;
            match self.api.push(text.clone(), version, reach).await? {
                Push::Conflict { .. } => {}
                Push::Written { raw, reload } => {
                    self.memory.version = raw.version;
                    let written = raw.digest();
                    self.memory.is_known = self.was_known
                        && self.memory.record.as_ref().is_some_and(|record| record.written == written);
                    return Ok(reload);
                }
                Push::Refused(_) | Push::HalfWay(_) => return Ok(None),
            }
        }
        Ok(None)
    }

    /// One push that reloads, and the reload's end. A reload that the API forgot, because it was started anew, and a push that
    /// somebody's failed reload took back, are repeated.
    async fn reload(
        &mut self,
        order: &Apply,
        target: &Arc<Files>,
        (text, config): (Bytes, &str),
        (writes, record): (&[(FileKind, String)], Option<PodRecord>),
    ) -> Result<Brought, Stop> {
        if let HaproxyAnswer::Unreached(cause) = self.api.haproxy().await? {
            return Err(self.without_haproxy(text, cause).await);
        }
        let mut is_same_worker = false;
        for _ in 0..ATTEMPTS {
            let before = self.memory.worker_pid;
            let (raw, id) = self.push(&text, ApiCapabilities::Reload).await?;
            let Some(id) = id else { continue };
            let written = raw.digest();
            self.memory.reloads += 1;
            self.memory.awaited = Some(Awaited {
                id: id.clone(),
                checksum: raw.checksum.clone(),
                before,
                record: self.record(order, target, written),
                files: Arc::clone(target),
            });
            let ended = self.await_reload(&id).await?;
            self.memory.awaited = None;
            match ended {
                ReloadEnd::Forgotten => {}
                ReloadEnd::Failed(said) => {
                    self.restore(writes).await?;
                    self.put_back(ApiCapabilities::Actions("")).await?;
                    self.nothing_happened(record).await?;
                    let is_refusal = responses::is_refusal(&said);
                    let message = responses::about(&said, &self.layout.config_file, config, Some(&raw.text));
                    return Err(match is_refusal {
                        true => Outcome::Refused { message, reload_may_help: false }.into(),
                        false => Outcome::Failed { message }.into(),
                    });
                }
                ReloadEnd::Succeeded(log) => {
                    let there = self.api.raw().await?;
                    let is_there =
                        raw.checksum.is_some() && there.is_some_and(|there| there.checksum == raw.checksum);
                    let is_another = self.is_another_worker(before).await?;
                    if is_there && is_another {
                        return Ok(Brought { written, reloaded: true, log });
                    }
                    is_same_worker = is_there;
                }
            }
        }
        let address = self.api.caller.address.clone();
        Err(match is_same_worker {
            true => ApiError::SameWorker { address }.into(),
            false => ApiError::TwoWriters { address }.into(),
        })
    }

    /// HAProxy is down, and a reload that fails would have the API put back what it read at the last one that worked, which may be
    /// old. So the configuration is only written: HAProxy starts with it, and is reloaded once it is there.
    async fn without_haproxy(&mut self, text: Bytes, cause: String) -> Stop {
        match self.push(&text, ApiCapabilities::Actions("")).await {
            Ok(_) => self.api.without_haproxy(cause).into(),
            Err(stop) => stop,
        }
    }

    /// Whether HAProxy runs in another process than before, which it then is known to. It is asked more than once: the API may
    /// just connect to it anew.
    async fn is_another_worker(&mut self, before: u32) -> Result<bool, ApiError> {
        for _ in 0..ASKED {
            if let Some(pid) = self.api.haproxy().await?.pid()
                && pid != before
            {
                self.memory.connect_asked_for(pid);
                return Ok(true);
            }
            tokio::time::sleep(RELOAD_PAUSE).await;
        }
        Ok(false)
    }

    async fn await_reload(&mut self, id: &str) -> Result<ReloadEnd, ApiError> {
        loop {
            match self.api.reload(id).await? {
                ReloadState::Waits => tokio::time::sleep(RELOAD_PAUSE).await,
                ReloadState::Succeeded(log) => return Ok(ReloadEnd::Succeeded(log)),
                ReloadState::Forgotten => return Ok(ReloadEnd::Forgotten),
                // HAProxy said nothing: nobody's configuration is at fault.
                ReloadState::Failed(said) if said.trim().is_empty() => {
                    return Err(self.api.without_haproxy("it did not take a reload".to_owned()));
                }
                ReloadState::Failed(said) => return Ok(ReloadEnd::Failed(said)),
            }
        }
    }

    /// What is left when HAProxy runs the target.
    async fn conclude(
        mut self,
        order: &Apply,
        target: Arc<Files>,
        brought: Brought,
    ) -> Result<Outcome, ApiError> {
        self.memory.runs_and_stores(order.target, Arc::clone(&target));
        files::delete_others(self.api, self.layout, &target, self.memory).await?;
        server::sweep(self.api, self.memory).await?;
        let record = self.record(order, &target, brought.written);
        self.write_record(record).await?;
        self.memory.is_known = true;
        Ok(self.applied(brought.reloaded, brought.log))
    }

    /// What is noted once the pod runs the target.
    fn record(&self, order: &Apply, target: &Files, written: Digest) -> PodRecord {
        let others = target.iter().filter(|(path, _)| **path != order.config);
        let before = self.memory.record.as_ref().map(|record| record.epoch).unwrap_or_default();
        PodRecord {
            running: Running { digest: order.target, generation: order.generation },
            ahead: None,
            epoch: before.max(order.epoch),
            written,
            worker_pid: self.memory.worker_pid,
            files: others.map(|(path, (digest, _))| (path.clone(), *digest)).collect(),
            certificates: self.memory.certificates.clone(),
            half_way: false,
            unsure: Vec::new(),
        }
    }

    pub(crate) async fn write_record(&mut self, record: PodRecord) -> Result<(), ApiError> {
        files::write_record(self.api, self.layout, self.memory, record).await
    }

    pub(crate) fn applied(&self, reloaded: bool, log: String) -> Outcome {
        Outcome::Applied { reloaded, worker_pid: self.memory.worker_pid, log }
    }
}

/// Servers that come, and everything else.
fn parted(steps: &[ApiStep]) -> (Vec<&ApiStep>, Vec<&ApiStep>) {
    steps.iter().partition(|step| step.added_server().is_some())
}

/// The API does not store the file at `path`. What is not about the content is nobody's fault who printed it.
fn not_stored(kind: FileKind, path: &str, why: &ApiRefusal) -> Outcome {
    let message = format!("[{path}:1] : the Data Plane API does not store it: {}", why.words);
    match kind == FileKind::Certificate && why.meaning == ResponseMeaning::BadCertificate {
        true => Outcome::Refused { message, reload_may_help: false },
        false => Outcome::Failed { message },
    }
}

/// What the API made less of than was sent. Reading two large files keeps a core busy, which others need meanwhile.
pub(crate) async fn loss(sent: Bytes, raw: &RawConfig) -> Result<Option<String>, Stop> {
    let written = Arc::clone(&raw.text);
    let compared = cpu("deploy", move || {
        let sent = String::from_utf8_lossy(&sent);
        data_plane_api::loss(&Document::parse(&sent), &Document::parse(&written))
    });
    compared.await.map_err(|panicked| Outcome::Failed { message: panicked.to_string() }.into())
}
