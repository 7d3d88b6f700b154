//! One deployment to a pod with the Data Plane API, in the order in which nothing it leaves half-way does harm: certificates,
//! maps, other files; HAProxy's checker; operations; one push; what came back; what is no longer needed; the record.

use super::{
    client::{Api, Push, Raw, Reach, Reload},
    files::{self, Place, Stored},
    look,
    memory::{Files, Memory},
    operate::{self, Wanted},
    record::Record,
    step::{Step, step},
    words,
};
use crate::transport::TransportError;
use bytes::Bytes;
use haptic_haproxy::{Document, data_plane_api};
use haptic_model::{
    Capabilities, Digest, FileKind, Layout,
    agent_api::{Apply, Method, Outcome, Running},
    layout::RECORD,
};
use std::{sync::Arc, time::Duration};

/// How often a push is repeated: another version, or a reload that nobody remembers.
const ATTEMPTS: usize = 4;
/// The pause between two questions for a reload that waits.
const RELOAD_PAUSE: Duration = Duration::from_millis(50);

/// A pod while it is changed.
pub(super) struct Pod<'p> {
    pub api: &'p Api,
    pub layout: &'p Layout,
    pub memory: &'p mut Memory,
    /// Whether what it runs was known when this began.
    pub was_known: bool,
}

/// What stops a deployment: an outcome for the one who ordered it.
type Stop = Result<Outcome, TransportError>;

/// How a reload ended.
enum Ended {
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

impl Pod<'_> {
    /// Carries out `order`.
    pub async fn apply(mut self, order: &Apply) -> Result<Outcome, TransportError> {
        if let Some(outcome) = self.object(order).await? {
            return Ok(outcome);
        }
        // A push brings the files at once, so what would be stored is there, or what came after it.
        if matches!(order.method, Method::Store) {
            self.memory.is_known = self.was_known;
            return Ok(self.applied(false, String::new()));
        }
        let target = match self.memory.target(order) {
            Ok(target) => Arc::new(target),
            Err(paths) => {
                self.memory.is_known = self.was_known;
                return Ok(Outcome::Missing { paths });
            }
        };
        let brought = match self.bring(order, &target).await {
            Ok(brought) => brought,
            Err(stop) => return stop,
        };
        self.conclude(order, target, brought).await
    }

    /// Whether the order is for another pod than this one has become.
    async fn object(&mut self, order: &Apply) -> Result<Option<Outcome>, TransportError> {
        let record = look::read_record(self.api).await?;
        if self.memory.versions.is_none() || !self.was_known || record != self.memory.record {
            look::status(self.api, self.layout, self.memory).await?;
            self.was_known = std::mem::replace(&mut self.memory.is_known, false);
        }
        let is_runtime = matches!(order.method, Method::Runtime { .. });
        let running = self.memory.record.as_ref().map(|record| record.running.digest);
        let epoch = self.memory.record.as_ref().map(|record| record.epoch).unwrap_or_default();
        Ok(if epoch > order.epoch {
            Some(Outcome::Stale { epoch })
        } else if running != order.base && !matches!(order.method, Method::Store)
            || is_runtime && !self.was_known
        {
            Some(Outcome::Conflict { running })
        } else {
            None
        })
    }

    async fn bring(&mut self, order: &Apply, target: &Arc<Files>) -> Result<Brought, Stop> {
        let refused = |message: String| Err(Ok(Outcome::Refused { message, reload_may_help: false }));
        let steps = match self.steps(order, target) {
            Ok(steps) => steps,
            Err(message) => return Err(Ok(Outcome::Refused { message, reload_may_help: true })),
        };
        let config = target.get(&order.config).map(|(_, text)| Arc::clone(text)).unwrap_or_default();
        let writes = match files::to_write(target, &self.memory.stored, self.layout) {
            Ok(writes) => writes,
            Err(message) => return refused(message),
        };
        if let Err(message) = files::check_pairs(&writes, target) {
            self.memory.is_known = self.was_known;
            return refused(message);
        }
        let before = self.memory.record.clone();
        self.announce(&order.method, &writes).await.map_err(Err)?;
        let reload = self.write_files(&writes, &steps, target).await?;
        let text = Bytes::copy_from_slice(config.as_bytes());
        if let Err(said) = self.api.validate(text.clone()).await.map_err(Err)? {
            self.restore(&writes).await.map_err(Err)?;
            if let Some(record) = before {
                self.write_record(record).await.map_err(Err)?;
            }
            self.memory.is_known = self.was_known;
            return refused(words::about(&said, &self.layout.config_file, &config, None));
        }
        if !matches!(order.method, Method::Runtime { .. }) {
            return self.reload(text, &config, &writes).await;
        }
        let written = self.operate(&steps, target, text, &config).await?;
        let Some(id) = reload else { return Ok(Brought { written, reloaded: false, log: String::new() }) };
        match self.await_reload(&id).await.map_err(Err)? {
            Ended::Succeeded(log) => Ok(Brought { written, reloaded: true, log }),
            Ended::Failed(message) => Err(Ok(Outcome::Refused { message, reload_may_help: true })),
            Ended::Forgotten => {
                let message = "the Data Plane API forgot the reload that a certificate needs".to_owned();
                Err(Ok(Outcome::Refused { message, reload_may_help: true }))
            }
        }
    }

    /// Notes what is about to happen, as far as it would not show on the pod: whoever comes after an end half-way knows.
    async fn announce(
        &mut self,
        method: &Method,
        writes: &[(FileKind, String)],
    ) -> Result<(), TransportError> {
        let Some(record) = self.memory.record.clone() else { return Ok(()) };
        let half_way = matches!(method, Method::Runtime { .. });
        let certificates = writes.iter().filter(|(kind, _)| *kind == FileKind::Certificate);
        let unsure: Vec<String> = certificates.map(|(_, path)| path.clone()).collect();
        if half_way || !unsure.is_empty() {
            self.write_record(Record { half_way, unsure, ..record }).await?;
        }
        Ok(())
    }

    fn steps(&self, order: &Apply, target: &Files) -> Result<Vec<Step>, String> {
        let Method::Runtime { operations, .. } = &order.method else { return Ok(Vec::new()) };
        let (api, haproxy) = self.memory.versions.ok_or("its version is unknown")?;
        let capabilities = Capabilities::through_data_plane_api(haproxy, api);
        let content = |path: &str| target.get(path).map(|(_, text)| text.to_string());
        operations.iter().map(|operation| step(operation, capabilities, &content)).collect()
    }

    /// Back with the reload that the API asked for, if it did: a certificate that `steps` bring to HAProxy at once did not get there.
    async fn write_files(
        &mut self,
        writes: &[(FileKind, String)],
        steps: &[Step],
        target: &Files,
    ) -> Result<Option<String>, Stop> {
        let mut reload = None;
        for (kind, path) in writes {
            let Some((digest, text)) = target.get(path) else { continue };
            let is_new = !self.memory.stored.contains_key(path);
            self.memory.stored.remove(path);
            let is_live =
                steps.iter().any(|step| matches!(step, Step::Certificate { path: its } if its == path));
            let place = Place { kind: *kind, path, is_new, is_live };
            match files::store(self.api, place, text).await.map_err(Err)? {
                Stored::Done => {}
                Stored::Reload(id) => reload = Some(id),
                Stored::Refused(why) => {
                    self.restore(writes).await.map_err(Err)?;
                    let message = format!("[{path}:1] : the Data Plane API does not store it: {why}");
                    return Err(Ok(Outcome::Refused { message, reload_may_help: false }));
                }
            }
            self.memory.stored.insert(path.clone(), *digest);
        }
        Ok(reload)
    }

    /// The files of what runs in the place of those that were `written`, as far as they are known.
    async fn restore(&mut self, written: &[(FileKind, String)]) -> Result<(), TransportError> {
        let Some((_, before)) = self.memory.files.clone() else { return Ok(()) };
        for (kind, path) in written {
            if let Some((digest, text)) = before.get(path)
                && self.memory.stored.get(path) != Some(digest)
                && let Stored::Done | Stored::Reload(_) =
                    files::store(self.api, Place { kind: *kind, path, is_new: false, is_live: true }, text)
                        .await?
            {
                self.memory.stored.insert(path.clone(), *digest);
            }
        }
        Ok(())
    }

    /// Operations, and the push that brings them to the disk. Actions go with the push, what comes before the first of them
    /// before it, the rest after it.
    async fn operate(
        &mut self,
        steps: &[Step],
        target: &Files,
        text: Bytes,
        config: &str,
    ) -> Result<Digest, Stop> {
        let half_way = |message: String| Err(Ok(Outcome::Refused { message, reload_may_help: true }));
        let is_action = |step: &Step| matches!(step, Step::Action(_));
        let first = steps.iter().position(is_action).unwrap_or(steps.len());
        let (before, rest) = steps.split_at(first);
        let mut wanted = Wanted::default();
        for step in before {
            let done = operate::carry_out(self.api, step, target, self.memory, &mut wanted).await;
            if let Err(why) = done.map_err(Err)? {
                return half_way(why);
            }
        }
        let actions: Vec<&str> = (rest.iter())
            .filter_map(|step| if let Step::Action(words) = step { Some(&**words) } else { None })
            .collect();
        actions.iter().for_each(|words| wanted.action(words));
        let (raw, _) = self.push(&text, config, Reach::Actions(&actions.join(";"))).await?;
        let written = Digest::of(words::content(&raw.text).as_bytes());
        for step in rest {
            let done = operate::carry_out(self.api, step, target, self.memory, &mut wanted).await;
            if let Err(why) = done.map_err(Err)? {
                return half_way(why);
            }
        }
        match wanted.read_back(self.api).await.map_err(Err)? {
            Ok(()) => Ok(written),
            Err(why) => half_way(why),
        }
    }

    /// The whole configuration, against the version that is there. Back with what the API made of it.
    async fn push(
        &mut self,
        text: &Bytes,
        config: &str,
        reach: Reach<'_>,
    ) -> Result<(Raw, Option<String>), Stop> {
        let mut version = self.api.configuration_version().await.map_err(Err)?;
        for _ in 0..ATTEMPTS {
            match self.api.push(text.clone(), version, reach).await.map_err(Err)? {
                Push::Written { raw, reload } => {
                    let lost = data_plane_api::loss(&Document::parse(config), &Document::parse(&raw.text));
                    return match lost {
                        None => Ok((raw, reload)),
                        Some(what) => Err(self.take_back(what).await),
                    };
                }
                Push::Conflict { current } => {
                    version = match current {
                        Some(current) => current,
                        None => self.api.configuration_version().await.map_err(Err)?,
                    };
                }
                Push::Refused(said) => {
                    let message = words::about(&said, &self.layout.config_file, config, None);
                    return Err(Ok(Outcome::Refused { message, reload_may_help: false }));
                }
                Push::HalfWay(message) => {
                    return Err(Ok(Outcome::Refused { message, reload_may_help: true }));
                }
            }
        }
        Err(Err(TransportError::TwoWriters { address: self.api.caller.address.clone() }))
    }

    /// The API damaged what was sent: what ran before takes its place.
    async fn take_back(&mut self, what: String) -> Stop {
        self.put_back().await?;
        let message = format!("the Data Plane API did not keep the configuration as it was sent: {what}");
        Ok(Outcome::Refused { message, reload_may_help: false })
    }

    /// The configuration that ran before, on disk again; HAProxy runs it still.
    async fn put_back(&mut self) -> Result<(), TransportError> {
        let before = self.memory.files.as_ref().and_then(|(_, files)| files.get(&self.layout.config_file));
        let Some((_, text)) = before.cloned() else { return Ok(()) };
        let text = Bytes::copy_from_slice(text.as_bytes());
        for _ in 0..ATTEMPTS {
            let version = self.api.configuration_version().await?;
            match self.api.push(text.clone(), version, Reach::Actions("")).await? {
                Push::Conflict { .. } => {}
                Push::Written { raw, .. } => {
                    let written = Digest::of(words::content(&raw.text).as_bytes());
                    self.memory.is_known = self.was_known
                        && self.memory.record.as_ref().is_some_and(|record| record.written == written);
                    return Ok(());
                }
                Push::Refused(_) | Push::HalfWay(_) => return Ok(()),
            }
        }
        Ok(())
    }

    /// One push that reloads, and the reload's end. A reload that the API forgot, because it was started anew, and a push that
    /// somebody's failed reload took back, are repeated.
    async fn reload(
        &mut self,
        text: Bytes,
        config: &str,
        writes: &[(FileKind, String)],
    ) -> Result<Brought, Stop> {
        for _ in 0..ATTEMPTS {
            let before = self.memory.worker_pid;
            let (raw, id) = self.push(&text, config, Reach::Reload).await?;
            let Some(id) = id else { continue };
            self.memory.reloads += 1;
            match self.await_reload(&id).await.map_err(Err)? {
                Ended::Forgotten => {}
                Ended::Failed(said) => {
                    self.restore(writes).await.map_err(Err)?;
                    self.put_back().await.map_err(Err)?;
                    let said = words::about(&said, &self.layout.config_file, config, Some(&raw.text));
                    return Err(Ok(Outcome::Refused { message: said, reload_may_help: false }));
                }
                Ended::Succeeded(log) => {
                    let there = self.api.raw().await.map_err(Err)?;
                    let is_there = there.is_some_and(|there| there.checksum == raw.checksum);
                    if is_there && self.is_another_worker(before).await.map_err(Err)? {
                        let written = Digest::of(words::content(&raw.text).as_bytes());
                        return Ok(Brought { written, reloaded: true, log });
                    }
                }
            }
        }
        Err(Err(TransportError::TwoWriters { address: self.api.caller.address.clone() }))
    }

    /// Whether HAProxy runs in another process than before, which it then is known to.
    async fn is_another_worker(&mut self, before: u32) -> Result<bool, TransportError> {
        let Ok(haproxy) = self.api.haproxy().await? else { return Ok(false) };
        self.memory.worker_pid = haproxy.pid;
        Ok(haproxy.pid != before)
    }

    async fn await_reload(&mut self, id: &str) -> Result<Ended, TransportError> {
        loop {
            match self.api.reload(id).await? {
                Reload::Waits => tokio::time::sleep(RELOAD_PAUSE).await,
                Reload::Succeeded(log) => return Ok(Ended::Succeeded(log)),
                Reload::Forgotten => return Ok(Ended::Forgotten),
                // HAProxy said nothing: nobody's configuration is at fault.
                Reload::Failed(said) if said.trim().is_empty() => {
                    return Err(TransportError::WithoutHaproxy {
                        address: self.api.caller.address.clone(),
                        cause: "it did not take a reload".to_owned(),
                        hint: "is it running? see the log of its container",
                    });
                }
                Reload::Failed(said) => return Ok(Ended::Failed(said)),
            }
        }
    }

    /// What is left when HAProxy runs the target.
    async fn conclude(
        mut self,
        order: &Apply,
        target: Arc<Files>,
        brought: Brought,
    ) -> Result<Outcome, TransportError> {
        self.memory.files = Some((order.target, Arc::clone(&target)));
        files::delete_others(self.api, self.layout, &target, self.memory).await?;
        operate::sweep(self.api, self.memory).await?;
        let others = target.iter().filter(|(path, _)| **path != order.config);
        let record = Record {
            running: Running { digest: order.target, generation: order.generation },
            epoch: order.epoch,
            written: brought.written,
            worker_pid: self.memory.worker_pid,
            files: others.map(|(path, (digest, _))| (path.clone(), *digest)).collect(),
            half_way: false,
            unsure: Vec::new(),
        };
        self.write_record(record).await?;
        self.memory.is_known = true;
        Ok(self.applied(brought.reloaded, brought.log))
    }

    async fn write_record(&mut self, record: Record) -> Result<(), TransportError> {
        let text = serde_json::to_string(&record)
            .map_err(|error| TransportError::Setup(format!("the pod's record cannot be written: {error}")))?;
        let path = format!("{}/{RECORD}", self.layout.general);
        let place = Place {
            kind: FileKind::General,
            path: &path,
            is_new: self.memory.record.is_none(),
            is_live: false,
        };
        if let Stored::Refused(why) = files::store(self.api, place, &text).await? {
            return Err(self.api.caller.failed("the pod's record", why));
        }
        self.memory.record = Some(record);
        Ok(())
    }

    fn applied(&self, reloaded: bool, log: String) -> Outcome {
        Outcome::Applied { reloaded, worker_pid: self.memory.worker_pid, log }
    }
}
