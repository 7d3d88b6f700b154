//! Files in the API's storage: which must be written, in which order, and whether they are still what was written.

use crate::{
    call_error::CallError,
    client::{Api, ApiFile},
    error::ApiError,
    memory::{Files, PodMemory},
    pair,
    record::{self, PodRecord},
    responses::ResponseMeaning,
};
use haptic_model::{FileKind, Layout, agent_api::Epoch, layout::RECORD};
use haptic_text::Digest;
use std::collections::{BTreeMap, BTreeSet};

/// What stands in a map that is empty: the API replaces no file by nothing.
const EMPTY: &str = "# empty\n";

/// Certificates asked for in one look: each is a call.
const CERTIFICATES: usize = 200;

/// Looks at what is stored: `false` when something is missing or another content than `record` says. Certificates cannot be read
/// back: what the API tells of them is compared, of many those whose turn it is; the others count as theirs while they are there.
pub(crate) async fn are_intact(
    api: &Api,
    layout: &Layout,
    record: &PodRecord,
    memory: &mut PodMemory,
) -> Result<bool, ApiError> {
    memory.stored.clear();
    memory.certificates.clone_from(&record.certificates);
    let mut intact = record.unsure.is_empty();
    for kind in [FileKind::Map, FileKind::Certificate, FileKind::General] {
        let recorded: Vec<(&String, &Digest)> =
            record.files.iter().filter(|(path, _)| kind_of(path, layout) == Some(kind)).collect();
        if recorded.is_empty() {
            continue;
        }
        let names: BTreeSet<String> = api.stored_names(kind).await?.into_iter().collect();
        let turn = memory.looked % recorded.len().div_ceil(CERTIFICATES);
        for (index, (path, digest)) in recorded.into_iter().enumerate() {
            let name = name_of(path);
            if !names.contains(name) || record.unsure.contains(path) {
                intact = false;
                continue;
            }
            let found = match kind {
                FileKind::Certificate if index / CERTIFICATES == turn => {
                    let stored = api.certificate_digest(name).await?;
                    let is_theirs = record.certificates.get(path).is_none_or(|then| stored == Some(*then));
                    is_theirs.then_some(*digest)
                }
                FileKind::Certificate => Some(*digest),
                _ => api.stored(kind, name).await?.map(|content| digest_of(&content)),
            };
            intact &= found == Some(*digest);
            memory.stored.extend(found.map(|found| (path.clone(), found)));
        }
    }
    Ok(intact)
}

fn digest_of(content: &[u8]) -> Digest {
    if content == EMPTY.as_bytes() { Digest::of(b"") } else { Digest::of(content) }
}

/// The kind of file at `path` in its storage: what lies in folders of the layout.
fn kind_of(path: &str, layout: &Layout) -> Option<FileKind> {
    let (folder, _) = path.rsplit_once('/')?;
    [
        (&layout.maps, FileKind::Map),
        (&layout.certificates, FileKind::Certificate),
        (&layout.general, FileKind::General),
    ]
    .into_iter()
    .find_map(|(its, kind)| (its == folder).then_some(kind))
}

/// The files of `target` besides haproxy.cfg that are not in the storage, in the order in which they must be written: what
/// lists name before the lists.
///
/// # Errors
/// A path in none of its folders.
pub(crate) fn to_write(
    target: &Files,
    stored: &BTreeMap<String, Digest>,
    layout: &Layout,
) -> Result<Vec<(FileKind, String)>, String> {
    let mut files = Vec::new();
    for (path, (digest, _)) in target.iter().filter(|(path, _)| **path != layout.config_file) {
        let kind = kind_of(path, layout).ok_or_else(|| {
            format!("{path} lies in none of the folders of the Data Plane API: compare dataplane.mapsDir and the like")
        })?;
        if stored.get(path) != Some(digest) {
            files.push((kind, path.clone()));
        }
    }
    let rank = |kind: FileKind| match kind {
        FileKind::Certificate => 0,
        FileKind::Map => 1,
        _ => 2,
    };
    files.sort_by_key(|(kind, _)| rank(*kind));
    Ok(files)
}

/// Certificates among `files` whose key is another one's; each would break all later pushes.
///
/// # Errors
/// The first one, as a line of that file.
pub(crate) fn check_pairs(files: &[(FileKind, String)], target: &Files) -> Result<(), String> {
    for (_, path) in files.iter().filter(|(kind, _)| *kind == FileKind::Certificate) {
        let text = target.get(path).map(|(_, text)| &**text).unwrap_or_default();
        pair::check(text).map_err(|why| format!("[{path}:1] : {why}"))?;
    }
    Ok(())
}

/// Where a file goes.
#[derive(Clone, Copy)]
pub(crate) struct FileDestination<'p> {
    pub kind: FileKind,
    pub path: &'p str,
    /// Whether nothing is known to be there.
    pub is_new: bool,
    /// Whether HAProxy is to have it at once, by a reload if need be. Certificates only.
    pub is_live: bool,
}

/// Writes one file of a bundle, and notes that it is there and what the API tells of it. Back with the reload that the API asked
/// for. Refused: it is not there, or not whole.
pub(crate) async fn store(
    api: &Api,
    memory: &mut PodMemory,
    place: FileDestination<'_>,
    content: &str,
) -> Result<Option<String>, CallError> {
    let FileDestination { kind, path, .. } = place;
    memory.stored.remove(path);
    memory.certificates.remove(path);
    let ApiFile { reload, certificate_digest } = put(api, place, content).await?;
    memory.stored.insert(path.to_owned(), Digest::of(content.as_bytes()));
    let digest = certificate_digest.filter(|_| kind == FileKind::Certificate);
    memory.certificates.extend(digest.map(|digest| (path.to_owned(), digest)));
    Ok(reload)
}

/// Writes one file.
pub(crate) async fn put(api: &Api, place: FileDestination<'_>, content: &str) -> Result<ApiFile, CallError> {
    let content = if content.is_empty() { EMPTY } else { content };
    let FileDestination { kind, path, is_new, is_live } = place;
    let is_live = is_live && kind == FileKind::Certificate;
    let name = name_of(path);
    match api.store(kind, name, content, (is_new, is_live)).await {
        // It may be there though nobody recorded it, or be gone though somebody did.
        Err(why) if why.means(ResponseMeaning::Exists) || why.means(ResponseMeaning::NotStored) => {
            api.store(kind, name, content, (!is_new, is_live)).await
        }
        answer => answer,
    }
}

/// Deletes what `target` does not have; what haproxy.cfg still names stays for the next time.
pub(crate) async fn delete_others(
    api: &Api,
    layout: &Layout,
    target: &Files,
    memory: &mut PodMemory,
) -> Result<(), ApiError> {
    let others: Vec<String> =
        memory.stored.keys().filter(|path| !target.contains_key(*path)).cloned().collect();
    for path in others {
        let Some(kind) = kind_of(&path, layout) else { continue };
        match api.delete_stored(kind, name_of(&path)).await {
            Ok(()) => {
                memory.stored.remove(&path);
                memory.certificates.remove(&path);
            }
            Err(CallError::Refused(why)) => tracing::debug!(path, why = why.words, "a file stays on the pod"),
            // HAProxy runs what it should all the same.
            Err(CallError::Api(error @ ApiError::ReadOnly { .. })) => {
                tracing::warn!(path, %error, "a file stays on the pod");
            }
            Err(CallError::Api(error)) => return Err(error),
        }
    }
    Ok(())
}

/// The newer leadership that the pod's record is of, if it is not of `epoch` or one before. Without an election there is one
/// controller, and nothing that its orders could be older than.
pub(crate) async fn newer_leadership(api: &Api, epoch: Epoch) -> Result<Option<Epoch>, ApiError> {
    let record = read_record(api).await?;
    Ok(record.map(|record| record.epoch).filter(|there| record::is_newer(*there, epoch)))
}

/// The pod's record, if it has one that can be read.
pub(crate) async fn read_record(api: &Api) -> Result<Option<PodRecord>, ApiError> {
    let content = api.stored(FileKind::General, RECORD).await?;
    Ok(content.and_then(|content| serde_json::from_slice(&content).ok()))
}

/// Notes `record` on the pod.
pub(crate) async fn write_record(
    api: &Api,
    layout: &Layout,
    memory: &mut PodMemory,
    record: PodRecord,
) -> Result<(), ApiError> {
    let text = serde_json::to_string(&record)
        .map_err(|error| ApiError::setup(format!("the pod's record cannot be written: {error}")))?;
    let path = format!("{}/{RECORD}", layout.general);
    let place = FileDestination {
        kind: FileKind::General,
        path: &path,
        is_new: memory.record.is_none(),
        is_live: false,
    };
    if let Err(error) = put(api, place, &text).await {
        return Err(api.failed("the pod's record", error.refusal()?.words));
    }
    memory.record = Some(record);
    Ok(())
}

pub(crate) fn name_of(path: &str) -> &str {
    path.rsplit_once('/').map_or(path, |(_, name)| name)
}
