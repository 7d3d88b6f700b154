//! What a controller knows of one pod with the Data Plane API. All of it can be lost: the pod is then asked, and at worst
//! reloaded once.

use crate::record::PodRecord;
use haptic_model::{
    HaproxyVersion, Layout,
    agent_api::{Apply, RunningBundle},
    bundle::digest_of_files,
};
use haptic_text::{Digest, patch::Content};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

/// The files of a bundle, haproxy.cfg among them, by path.
pub(crate) type Files = BTreeMap<String, (Digest, Arc<str>)>;

#[derive(Default)]
pub(crate) struct PodMemory {
    /// The versions of the API and of HAProxy.
    pub versions: Option<(HaproxyVersion, HaproxyVersion)>,
    /// What the pod's record says.
    pub record: Option<PodRecord>,
    /// Whether the pod is as the record says, as far as this controller saw it.
    pub is_known: bool,
    /// The files of the bundle that HAProxy runs.
    pub files: Option<(Digest, Arc<Files>)>,
    /// Those of the bundle on its disk, while HAProxy is ahead of that.
    pub disk_files: Option<(Digest, Arc<Files>)>,
    /// A push is under way, beside which HAProxy may be operated.
    pub is_pushing: bool,
    /// What is in the pod's storage: files whose content was sent or read.
    pub stored: BTreeMap<String, Digest>,
    /// What the API told of certificates after they were written.
    pub certificates: BTreeMap<String, Digest>,
    /// The configuration's version when it was last read or written here: another one is somebody else's.
    pub version: Option<u64>,
    /// The worker that ran last.
    pub worker_pid: u32,
    /// Reloads that were asked for here.
    pub reloads: u64,
    /// Raised when another worker runs that nobody here asked for.
    pub incarnation: u64,
    /// Servers that have gone, and whose last connections this worker still serves; each with its words in haproxy.cfg.
    pub lingering: BTreeMap<(String, String), String>,
    /// A reload whose end was not seen, because a deployment's time was over.
    pub awaited: Option<Awaited>,
    /// Backends that were shown without any of their servers when they were looked at last.
    pub doubted: BTreeSet<String>,
    /// How often was looked: which map, which backends and which certificates are looked at next.
    pub looked: usize,
}

/// A reload that was asked for, and what is so if it succeeds.
pub(crate) struct Awaited {
    /// By which the API knows it.
    pub id: String,
    /// Of haproxy.cfg as the API wrote it.
    pub checksum: Option<String>,
    /// The worker before it.
    pub before: u32,
    /// What is to be noted on the pod then.
    pub record: PodRecord,
    /// The files of that bundle.
    pub files: Arc<Files>,
}

impl PodMemory {
    /// HAProxy runs as `pid`.
    pub fn connect(&mut self, pid: u32) {
        if self.worker_pid != pid && self.worker_pid != 0 {
            self.incarnation += 1;
        }
        self.connect_asked_for(pid);
    }

    /// The same, after a reload that was asked for here.
    pub fn connect_asked_for(&mut self, pid: u32) {
        if self.worker_pid != pid {
            // They were another worker's: this one has begun with what its files say.
            self.lingering.clear();
        }
        self.worker_pid = pid;
    }

    /// What the pod runs, as its record says.
    pub fn runs(&self) -> Option<Digest> {
        self.record.as_ref().map(|record| record.runs().digest)
    }

    /// HAProxy runs `files` now, and they are on its disk.
    pub fn runs_and_stores(&mut self, digest: Digest, files: Arc<Files>) {
        self.files = Some((digest, files));
        self.disk_files = None;
    }

    /// HAProxy was brought to `files` by operations, the disk being as it was.
    pub fn runs_beyond(&mut self, digest: Digest, files: Arc<Files>) {
        let before = self.files.replace((digest, files));
        self.disk_files = self.disk_files.take().or(before).filter(|(disk_files, _)| *disk_files != digest);
    }

    /// `files` are on the disk now, whatever HAProxy runs.
    pub fn stores(&mut self, digest: Digest, files: Arc<Files>) {
        if self.runs() == Some(digest) {
            self.runs_and_stores(digest, files);
        } else {
            self.disk_files = Some((digest, files));
        }
    }

    /// The files on the disk, if this controller brought them.
    pub fn on_disk(&self) -> Option<&Arc<Files>> {
        self.disk_files.as_ref().or(self.files.as_ref()).map(|(_, files)| files)
    }

    /// The files of a bundle that the pod has.
    fn held(&self, digest: Digest) -> Option<&Arc<Files>> {
        let all = self.files.iter().chain(&self.disk_files);
        all.filter(|(its, _)| *its == digest).map(|(_, files)| files).next()
    }

    /// The files of what runs, if this controller brought them.
    pub fn running_bundle(&self, layout: &Layout) -> Option<RunningBundle> {
        let (digest, files) = self.files.as_ref()?;
        if Some(*digest) != self.runs() {
            return None;
        }
        let files = files.iter().map(|(path, (_, text))| (path.clone(), text.to_string())).collect();
        Some(RunningBundle { config: layout.config_file.clone(), files })
    }

    /// All files of the order's target.
    ///
    /// # Errors
    /// The paths whose content nobody sent; none when all must be sent.
    pub fn target(&self, order: &Apply) -> Result<Files, Vec<String>> {
        let mut files = match order.since {
            None => Files::new(),
            Some(since) => self.held(since).ok_or_else(Vec::new)?.as_ref().clone(),
        };
        let held = self.files.iter().chain(&self.disk_files).flat_map(|(_, files)| files.values());
        let texts: BTreeMap<Digest, &Arc<str>> = held.map(|(digest, text)| (*digest, text)).collect();
        let mut missing = Vec::new();
        for (path, digest) in &order.files {
            let Some(digest) = *digest else {
                files.remove(path);
                continue;
            };
            let text = match order.contents.get(path) {
                Some(Content::Whole(text)) => Some(Arc::from(text.as_str())),
                Some(Content::Patch(patch)) => {
                    let old = texts.get(&patch.of);
                    old.and_then(|old| patch.apply(old, usize::MAX).ok()).map(Arc::from)
                }
                None => texts.get(&digest).map(|text| Arc::clone(text)),
            };
            match text.filter(|text: &Arc<str>| Digest::of(text.as_bytes()) == digest) {
                Some(text) => drop(files.insert(path.clone(), (digest, text))),
                None => missing.push(path.clone()),
            }
        }
        if missing.is_empty() && digest_of(&files, &order.config) != Some(order.target) {
            return Err(Vec::new());
        }
        if missing.is_empty() { Ok(files) } else { Err(missing) }
    }
}

fn digest_of(files: &Files, config: &str) -> Option<Digest> {
    let others = files.iter().filter(|(path, _)| *path != config);
    let others = others.map(|(path, (digest, _))| (path.as_str(), digest));
    Some(digest_of_files((config, &files.get(config)?.0), others))
}
