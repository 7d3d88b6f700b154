//! The difference of two bundles, file by file, as unified diffs. No private key is ever part of one.

use haptic_deploy::Plan;
use haptic_model::{Bundle, BundleFile, FileKind};
use serde::Serialize;
use similar::TextDiff;
use std::{collections::BTreeMap, sync::Arc, time::Duration};

/// Files of many thousand changed lines are compared coarsely rather than for ever.
const LIMIT: Duration = Duration::from_secs(5);

/// What becomes of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum FileStatus {
    /// It is not there yet.
    New,
    /// It gets another content.
    Changed,
    /// It goes.
    Gone,
}

/// One file that would change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FileChange {
    /// As haproxy.cfg names it.
    pub path: String,
    /// What becomes of it.
    pub change: FileStatus,
    /// A unified diff; `None` for a certificate, whose content is nobody's business.
    pub diff: Option<String>,
}

/// The files that `plan` changes.
pub(crate) fn changes(plan: &Plan, running: Option<&Bundle>, desired: &Bundle) -> Vec<FileChange> {
    let before = running.map(by_path).unwrap_or_default();
    let after = by_path(desired);
    let mut changes: Vec<FileChange> = plan
        .write
        .iter()
        .chain(&plan.delete)
        .map(|path| change(path, before.get(&**path).copied(), after.get(&**path).copied()))
        .collect();
    // haproxy.cfg is what people want to see first.
    changes.sort_by_key(|change| (change.path != *desired.config.path, change.path.clone()));
    changes
}

fn by_path(bundle: &Bundle) -> BTreeMap<&str, &Arc<BundleFile>> {
    bundle.all().map(|file| (&*file.path, file)).collect()
}

fn change(path: &str, before: Option<&Arc<BundleFile>>, after: Option<&Arc<BundleFile>>) -> FileChange {
    let text = |file: Option<&Arc<BundleFile>>| file.map(|f| f.text.to_string());
    let (old, new) = (text(before), text(after));
    let is_secret = [before, after].into_iter().flatten().any(|file| file.key.kind == FileKind::Certificate)
        || [&old, &new].into_iter().flatten().any(|text| text.contains("PRIVATE KEY-----"));
    if is_secret {
        return FileChange { path: path.to_owned(), change: FileStatus::of(&before, &after), diff: None };
    }
    between(path, old.as_deref(), new.as_deref(), ["running", "desired"])
}

/// What leads from one text of a file to another one; the diff calls these two `sides`.
pub(crate) fn between(path: &str, before: Option<&str>, after: Option<&str>, sides: [&str; 2]) -> FileChange {
    let name =
        |side: &str, there: bool| if there { format!("{side}/{path}") } else { "/dev/null".to_owned() };
    let [old, new] = sides;
    let diff = TextDiff::configure()
        .timeout(LIMIT)
        .diff_lines(before.unwrap_or_default(), after.unwrap_or_default())
        .unified_diff()
        .header(&name(old, before.is_some()), &name(new, after.is_some()))
        .to_string();
    FileChange { path: path.to_owned(), change: FileStatus::of(&before, &after), diff: Some(diff) }
}

impl FileStatus {
    fn of<T>(before: &Option<T>, after: &Option<T>) -> Self {
        match (before, after) {
            (None, _) => Self::New,
            (_, None) => Self::Gone,
            _ => Self::Changed,
        }
    }
}
