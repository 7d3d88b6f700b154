//! Renders what was recorded once more, and compares: byte by byte, or sentence by sentence where it could not be rendered.

use super::{
    file::{Flaw, RecordingReader},
    inputs::ReplayInputs,
    line::{Fetched, File, Named, Opening, RecordedEvent, RecordingHead, RecordingLine},
};
use crate::diff::{FileChange, between};
use haptic_attribution::Faults;
use haptic_model::{
    Bundle, Object, ObjectRef,
    store::{FetchError, FetchObject},
};
use haptic_render::Rendering;
use haptic_text::{Digest, patch::Content};
use serde::Serialize;
use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
    sync::Arc,
};

/// No file of a recording is longer.
const LONGEST: usize = 1 << 30;

/// A recording that was rendered once more.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Replay {
    /// What it is a recording of.
    pub recording: RecordingHead,
    /// The version that has rendered it now.
    pub haptic: &'static str,
    /// Each generation.
    pub generations: Vec<Replayed>,
}

/// A generation that was rendered once more.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Replayed {
    /// Which, and when it was rendered at first.
    #[serde(flatten)]
    pub opening: Opening,
    /// Whether the same came of it.
    pub same: bool,
    /// The digest of what is rendered now.
    pub replayed: Option<Digest>,
    /// How many files there are now; `None`: it cannot be rendered.
    pub files: Option<usize>,
    /// Files that are others than the recorded ones.
    pub differences: Vec<FileChange>,
    /// What was wrong when it was recorded, and is not now.
    pub no_longer_told: Vec<String>,
    /// What is wrong now, and was not when it was recorded.
    pub newly_told: Vec<String>,
    /// Why it cannot be rendered, now as then.
    pub problems: Vec<String>,
    /// What was held back, and why.
    pub held: Vec<String>,
    /// What was told of it when it happened.
    #[serde(rename = "told")]
    pub events: Vec<RecordedEvent>,
}

impl Replay {
    /// How many generations render something else.
    #[must_use]
    pub fn differing(&self) -> usize {
        self.generations.iter().filter(|generation| !generation.same).count()
    }
}

/// What the recording controller rendered.
#[derive(Debug, Default)]
struct Expected(BTreeMap<Arc<str>, (Digest, String)>);

/// How a recorded generation ended.
struct RecordedOutcome<'l> {
    digest: Option<Digest>,
    messages: &'l [String],
}

/// Replays the recording in `file`; `each` is told of every generation, with what it renders now.
///
/// # Errors
/// Why the file cannot be replayed. Nothing of it is rendered then.
pub fn replay(
    file: &Path,
    mut each: impl FnMut(&Replayed, Option<&Bundle>, &ReplayInputs),
) -> Result<Replay, Flaw> {
    let mut whole = RecordingReader::open(file)?;
    whole.head()?;
    whole.verify()?;
    let mut reader = RecordingReader::open(file)?;
    let recording = reader.head()?;
    let mut replay = Replay { recording, haptic: env!("CARGO_PKG_VERSION"), generations: Vec::new() };
    let (mut inputs, mut expected) = (ReplayInputs::default(), Expected::default());
    let mut fetched = BTreeMap::new();
    for (number, line) in (2..).zip(reader) {
        let line = line?;
        let wrong = |why: String| Flaw::Line(number, why);
        inputs.take(&line).map_err(wrong)?;
        let ended = match &line {
            RecordingLine::Fetched(object) => {
                fetched.insert(object.named.clone(), object.clone());
                continue;
            }
            RecordingLine::File(file) => {
                expected.put(file).map_err(wrong)?;
                continue;
            }
            RecordingLine::NoFile(path) => {
                expected.0.remove(path);
                continue;
            }
            RecordingLine::Rendered(rendered) => {
                RecordedOutcome { digest: Some(rendered.digest), messages: &rendered.warnings }
            }
            RecordingLine::Failed(failed) => RecordedOutcome { digest: None, messages: &failed.problems },
            _ => continue,
        };
        let fetch: Arc<dyn FetchObject> = Arc::new(FromFile(fetched.clone()));
        let outcome = inputs.render(&fetch);
        let replayed = compared(&inputs, &expected, &ended, &outcome)
            .ok_or_else(|| wrong("it ends no generation".into()))?;
        each(&replayed, outcome.as_ref().ok().map(|rendering| &rendering.bundle), &inputs);
        replay.generations.push(replayed);
    }
    Ok(replay)
}

fn compared(
    inputs: &ReplayInputs,
    expected: &Expected,
    ended: &RecordedOutcome<'_>,
    outcome: &Result<Rendering, Faults>,
) -> Option<Replayed> {
    let bundle = outcome.as_ref().ok().map(|rendering| &rendering.bundle);
    let messages: Vec<String> = match outcome {
        Ok(rendering) => rendering.warnings.iter().map(ToString::to_string).collect(),
        Err(faults) => faults.clone().into_diagnostics().iter().map(ToString::to_string).collect(),
    };
    let differences = match bundle {
        Some(bundle) if ended.digest.is_some_and(|digest| digest != bundle.digest) => {
            expected.differences(bundle)
        }
        _ => Vec::new(),
    };
    let only_in = |one: &[String], other: &[String]| -> Vec<String> {
        one.iter().filter(|sentence| !other.contains(sentence)).cloned().collect()
    };
    Some(Replayed {
        opening: inputs.opening.clone()?,
        same: ended.digest == bundle.map(|bundle| bundle.digest) && *ended.messages == *messages,
        replayed: bundle.map(|bundle| bundle.digest),
        files: bundle.map(|bundle| bundle.all().count()),
        differences,
        no_longer_told: only_in(ended.messages, &messages),
        newly_told: only_in(&messages, ended.messages),
        problems: if outcome.is_err() { messages } else { Vec::new() },
        held: inputs.held.iter().map(|held| format!("{}: {}", held.named.reference(), held.why)).collect(),
        events: inputs.events.clone(),
    })
}

impl Expected {
    fn put(&mut self, file: &File) -> Result<(), String> {
        let path = &file.path;
        let text = match &file.content {
            Content::Whole(text) => text.clone(),
            Content::Patch(patch) => match self.0.get(path) {
                Some((digest, old)) if *digest == patch.of => {
                    patch.apply(old, LONGEST).map_err(|error| format!("{path}: {error}"))?
                }
                _ => return Err(format!("{path} is told as the difference from a file that is not there")),
            },
        };
        if Digest::of(text.as_bytes()) != file.digest {
            return Err(format!("{path} is not what its digest says"));
        }
        self.0.insert(path.clone(), (file.digest, text));
        Ok(())
    }

    fn differences(&self, bundle: &Bundle) -> Vec<FileChange> {
        let now: BTreeMap<&Arc<str>, _> = bundle.all().map(|file| (&file.path, file)).collect();
        let paths: BTreeSet<&Arc<str>> = self.0.keys().chain(now.keys().copied()).collect();
        let change = |path: &Arc<str>| {
            let (before, after) = (self.0.get(path), now.get(path));
            let same = before.map(|(digest, _)| *digest) == after.map(|file| file.digest);
            let after = after.map(|file| file.text.to_string());
            let before = before.map(|(_, text)| text.as_str());
            (!same).then(|| between(path, before, after.as_deref(), ["recorded", "replayed"]))
        };
        paths.into_iter().filter_map(change).collect()
    }
}

/// Fetches what was fetched when it was recorded.
#[derive(Debug)]
struct FromFile(BTreeMap<Named, Fetched>);

impl FetchObject for FromFile {
    fn fetch(&self, reference: &Arc<ObjectRef>) -> Result<Option<Arc<Object>>, FetchError> {
        match self.0.get(&Named::of(reference)) {
            Some(fetched) => fetched.give(),
            None => Err(FetchError::Unusable(format!(
                "{reference} was not read when this was recorded, and is not in the recording"
            ))),
        }
    }
}
