//! A bundle as the planner looks at it: what its files mean is found out when first needed, once, and from what is
//! known of the bundle before it where that is the same.

use super::{
    map_keys::MapKeys,
    references::References,
    usages::{How, KeyMatch, Usages},
};
use haptic_haproxy::{
    Document,
    block_index::{Aggregate, BlockIndex, in_sections},
    views::Bases,
};
use haptic_model::{Bundle, BundleFile, FileKey, FileKind, Layout, agent_api::RunningBundle};
use haptic_text::{Digest, Text};
use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, OnceLock, PoisonError},
};

/// What a pod runs.
#[derive(Default)]
pub struct RunningView {
    bundle: Option<Bundle>,
    block_index: OnceLock<BlockIndex<ConfigIndex>>,
    /// Of maps that have changed, by path.
    keys: Mutex<BTreeMap<Arc<str>, MapKeys>>,
}

/// What lines refer to, and what files are used for, counted block by block: after a change only the changed blocks are read.
#[derive(Clone, Debug, Default)]
pub(crate) struct ConfigIndex {
    pub(super) references: References,
    pub(super) usages: Usages,
}

impl Aggregate for ConfigIndex {
    /// Blocks that use files are found again: the order of uses is the order in which maps change.
    fn enter(&mut self, block: &Document<'_>, bases: &Bases) -> bool {
        self.references.count(block, 1);
        self.usages.count(block, bases, 1)
    }

    fn remove(&mut self, block: &Document<'_>, bases: &Bases) {
        self.references.count(block, -1);
        self.usages.count(block, bases, -1);
    }
}

impl RunningView {
    /// A pod that runs no bundle of a controller.
    #[must_use]
    pub fn bootstrap() -> Self {
        Self::default()
    }

    /// A pod that runs `bundle`.
    #[must_use]
    pub fn of(bundle: Bundle) -> Self {
        Self { bundle: Some(bundle), ..Self::default() }
    }

    /// A view with a fault, for the test that proves that tests find one: it and its followers never forget a mention.
    #[doc(hidden)]
    #[must_use]
    pub fn forgetful(bundle: Bundle) -> Self {
        let view = Self::of(bundle);
        let mut block_index = BlockIndex::forgetful();
        block_index
            .advance(&view.bundle.as_ref().map(|bundle| bundle.config.text.clone()).unwrap_or_default());
        Self { block_index: block_index.into(), ..view }
    }

    /// A pod that sent what it runs. The kinds of its files are taken from their folders.
    ///
    /// # Errors
    /// A sentence, when haproxy.cfg is not among the files.
    pub fn read_back(running: RunningBundle, layout: &Layout) -> Result<Self, String> {
        let RunningBundle { config: path, mut files } = running;
        let config = files.remove(&path).ok_or_else(|| format!("the pod sent its files without {path}"))?;
        let config = BundleFile::new(FileKey::config(), &path, in_sections(&config));
        let files = files.into_iter().map(|(path, content)| {
            let key = key_of(&path, &content, layout);
            BundleFile::new(key, &path, Text::plain(&content))
        });
        Ok(Self::of(Bundle::new(config, files)))
    }

    /// The bundle's digest; `None` for the bootstrap file.
    #[must_use]
    pub fn digest(&self) -> Option<Digest> {
        self.bundle.as_ref().map(|bundle| bundle.digest)
    }

    /// The bundle; `None` for the bootstrap file.
    #[must_use]
    pub fn bundle(&self) -> Option<&Bundle> {
        self.bundle.as_ref()
    }

    /// Whether rules of haproxy.cfg change the map or list at `path` in memory, so that its file says only how it began.
    pub(crate) fn is_rewritten(&self, path: &str) -> bool {
        self.block_index().aggregate().usages.of(path).iter().any(|usage| usage.how == How::Rewritten)
    }

    /// Its haproxy.cfg.
    pub(crate) fn block_index(&self) -> &BlockIndex<ConfigIndex> {
        self.block_index.get_or_init(|| self.bundle.as_ref().map(block_index_of).unwrap_or_default())
    }

    /// Takes over what is known of `before`, so that only what differs will be read.
    pub(super) fn follow(&self, before: &Self) {
        let (Some(bundle), Some(old)) = (&self.bundle, &before.bundle) else { return };
        // Before the cell below is filled: two views may follow each other at once.
        let known = before.block_index();
        self.block_index.get_or_init(|| {
            let mut block_index = known.clone();
            block_index.advance(&bundle.config.text);
            block_index
        });
        let is_same = |path: &str| {
            let digest = |bundle: &Bundle| bundle.files.get(path).map(|file| file.digest);
            digest(bundle) == digest(old)
        };
        let known = before.known_keys().clone();
        self.known_keys().extend(known.into_iter().filter(|(path, _)| is_same(path)));
    }

    /// The keys of the map at `path`; `None` when two entries may match the same.
    pub(super) fn keys(&self, path: &str, kinds: &[KeyMatch]) -> Option<MapKeys> {
        let known = self.known_keys().get(path).filter(|keys| keys.are_for(kinds)).cloned();
        known.or_else(|| {
            let file = self.bundle.as_ref()?.files.get(path)?;
            let keys = MapKeys::of(kinds, &file.text.to_string())?;
            self.keep_keys(path, keys.clone());
            Some(keys)
        })
    }

    /// Keeps what was found out of a map's keys.
    pub(super) fn keep_keys(&self, path: &str, keys: MapKeys) {
        self.known_keys().insert(path.into(), keys);
    }

    fn known_keys(&self) -> std::sync::MutexGuard<'_, BTreeMap<Arc<str>, MapKeys>> {
        self.keys.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn block_index_of(bundle: &Bundle) -> BlockIndex<ConfigIndex> {
    BlockIndex::of(&bundle.config.text)
}

/// What a file on a pod is, as far as its path says. Certificates and crt-lists share a folder.
fn key_of(path: &str, content: &str, layout: &Layout) -> FileKey {
    let below = |dir: &str| match path.strip_prefix(dir).and_then(|rest| rest.strip_prefix('/')) {
        Some(name) => Some(name),
        None if dir.is_empty() => Some(path),
        None => None,
    };
    if let Some(name) = below(&layout.maps) {
        FileKey::new(FileKind::Map, name)
    } else if let Some(name) = below(&layout.certificates) {
        let kind = if content.contains("-----BEGIN ") { FileKind::Certificate } else { FileKind::CrtList };
        FileKey::new(kind, name)
    } else {
        FileKey::new(FileKind::General, below(&layout.general).unwrap_or(path))
    }
}

impl std::fmt::Debug for RunningView {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("RunningView").field(&self.digest()).finish()
    }
}
