//! A bundle as the planner looks at it: its haproxy.cfg is parsed when first needed, and once.

use super::{backend::References, usages::Usages};
use haptic_haproxy::Document;
use haptic_model::{Bundle, BundleFile, Digest, FileKey, FileKind, Layout, Text, agent_api::RunningBundle};
use self_cell::self_cell;
use std::sync::OnceLock;

/// What a pod runs.
#[derive(Default)]
pub struct RunningView {
    bundle: Option<Bundle>,
    parsed: OnceLock<Configuration>,
}

self_cell!(
    /// A parsed document together with the text it borrows from.
    struct OwnedDocument {
        owner: String,
        #[covariant]
        dependent: Document,
    }
);

/// A parsed haproxy.cfg with what the planner asks of it.
pub(super) struct Configuration {
    document: OwnedDocument,
    /// The defaults section of each section.
    pub inheritance: Vec<Option<usize>>,
    /// What lines refer to.
    pub references: References,
    /// What files are used for.
    pub usages: Usages,
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
        Self { bundle: Some(bundle), parsed: OnceLock::new() }
    }

    /// A pod that sent what it runs. The kinds of its files are taken from their folders.
    ///
    /// # Errors
    /// A sentence, when haproxy.cfg is not among the files.
    pub fn read_back(running: RunningBundle, layout: &Layout) -> Result<Self, String> {
        let RunningBundle { config: path, mut files } = running;
        let config = files.remove(&path).ok_or_else(|| format!("the pod sent its files without {path}"))?;
        let config = BundleFile::new(FileKey::config(), &path, Text::plain(&config));
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

    pub(super) fn configuration(&self) -> &Configuration {
        self.parsed.get_or_init(|| {
            let text = self.bundle.as_ref().map(|bundle| bundle.config.text.to_string()).unwrap_or_default();
            let document = OwnedDocument::new(text, |text| Document::parse(text));
            let inheritance = document.borrow_dependent().inheritance();
            let references = References::read(document.borrow_dependent());
            let usages = Usages::read(document.borrow_dependent());
            Configuration { document, inheritance, references, usages }
        })
    }
}

impl Configuration {
    pub fn document(&self) -> &Document<'_> {
        self.document.borrow_dependent()
    }
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
