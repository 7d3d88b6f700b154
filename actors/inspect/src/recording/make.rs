//! Makes a recording of the generations that are remembered: their inputs with pseudonyms, and what a render makes of these.
//!
//! It renders by itself, from the lines that it has written; nothing of the pipeline is asked or kept waiting.

use super::{
    file::Writer,
    inputs::{ReplayInputs, object},
    line::{
        FORMAT, Fetched, File, Named, Opening, Put, RecordedConfig, RecordedEvent, RecordedFailure,
        RecordedQuarantine, RecordedRender, RecordedStore, RecordingHead, RecordingLine,
    },
    pseudonym::Pseudonyms,
    redaction,
};
use haptic_commentator::RecordedAttempt;
use haptic_model::{
    ActiveConfig, Bundle, Fleet, Generation, Object, ObjectRef, Snapshot, Snapshots,
    store::{FetchError, FetchObject, Key},
};
use haptic_text::patch::{Content, Patch};
use serde_json::Value;
use std::{
    collections::{BTreeMap, BTreeSet},
    io::{self, Write},
    mem,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{SystemTime, UNIX_EPOCH},
};

/// Why there is no recording.
#[derive(Debug, thiserror::Error)]
pub enum Stopped {
    /// No generation is remembered.
    #[error("no generation is recorded: none is rendered yet, or controller.recording.generations is 0")]
    Nothing,
    /// Whoever asked for it has gone.
    #[error("it cannot be written: {0}")]
    Writing(#[from] io::Error),
    /// Something in it cannot be written down.
    #[error("{0}; this is a bug in HAPTIC")]
    Unwritable(String),
}

/// Writes a recording of `generations`; `events` gives the events of each.
///
/// # Errors
/// Why there is none.
pub fn make<W: Write>(
    generations: &[RecordedAttempt],
    events: impl Fn(Generation) -> Vec<RecordedEvent>,
    to: W,
) -> Result<W, Stopped> {
    let (Some(first), Some(last)) = (generations.first(), generations.last()) else {
        return Err(Stopped::Nothing);
    };
    let mut maker = Maker {
        writer: Writer::new(to),
        inputs: ReplayInputs::default(),
        pseudonyms: Arc::new(Mutex::new(Pseudonyms::new().map_err(Stopped::Unwritable)?)),
        config: None,
        fleet: None,
        stores: BTreeMap::new(),
        rendered: None,
    };
    maker.write(RecordingLine::HapticRecording(head(first, last)))?;
    for taken in generations {
        maker.generation(taken, events(taken.generation()))?;
    }
    Ok(maker.writer.end()?)
}

fn head(first: &RecordedAttempt, last: &RecordedAttempt) -> RecordingHead {
    let config = &last.attempt.config;
    RecordingHead {
        format: FORMAT,
        haptic: env!("CARGO_PKG_VERSION").to_owned(),
        haproxy: last.attempt.fleet.versions.iter().map(ToString::to_string).collect(),
        configuration: format!("{}/{}", config.namespace, config.name),
        made_unix_ms: unix_ms(SystemTime::now()),
        generations: (first.generation(), last.generation()),
    }
}

fn unix_ms(time: SystemTime) -> u64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

struct Maker<W> {
    writer: Writer<W>,
    inputs: ReplayInputs,
    pseudonyms: Arc<Mutex<Pseudonyms>>,
    // What was written last of each.
    config: Option<Arc<ActiveConfig>>,
    fleet: Option<Arc<Fleet>>,
    stores: BTreeMap<Arc<str>, Arc<Snapshot>>,
    rendered: Option<Bundle>,
}

impl<W: Write> Maker<W> {
    fn write(&mut self, line: RecordingLine) -> Result<(), Stopped> {
        self.inputs.take(&line).map_err(Stopped::Unwritable)?;
        Ok(self.writer.write(&line)?)
    }

    fn generation(&mut self, taken: &RecordedAttempt, events: Vec<RecordedEvent>) -> Result<(), Stopped> {
        let attempt = &taken.attempt;
        self.write(RecordingLine::Generation(Opening {
            number: taken.generation(),
            unix_ms: unix_ms(taken.at),
            digest: attempt.outcome.as_ref().ok().copied(),
        }))?;
        self.configuration(&attempt.config)?;
        if self.fleet.as_ref().is_none_or(|known| *known != attempt.fleet) {
            self.fleet = Some(attempt.fleet.clone());
            self.write(RecordingLine::Fleet(Fleet::clone(&attempt.fleet)))?;
        }
        self.stores(&attempt.given, &attempt.config)?;
        self.held(taken)?;
        for event in events {
            self.write(RecordingLine::Told(event))?;
        }
        self.render(&attempt.given, &attempt.config)
    }

    fn configuration(&mut self, config: &Arc<ActiveConfig>) -> Result<(), Stopped> {
        if self.config.as_ref().is_some_and(|known| Arc::ptr_eq(known, config)) {
            return Ok(());
        }
        self.config = Some(config.clone());
        let owner = format!("{}/{}", config.namespace, config.name);
        let spec = redaction::configuration(&owner, &config.spec, &mut lock(&self.pseudonyms));
        self.write(RecordingLine::Configuration(RecordedConfig {
            namespace: config.namespace.clone(),
            name: config.name.clone(),
            resource_generation: config.resource_generation,
            revision: config.revision,
            spec: spec.map_err(Stopped::Unwritable)?,
        }))
    }

    fn stores(&mut self, given: &Snapshots, config: &ActiveConfig) -> Result<(), Stopped> {
        let before = mem::take(&mut self.stores);
        for name in before.keys().filter(|name| given.get(name).is_none()) {
            self.write(RecordingLine::NoStore(name.clone()))?;
        }
        let empty = Snapshot::full();
        for (name, store) in given.iter() {
            let known = before.get(name);
            if known.is_none_or(|known| known.is_on_demand() != store.is_on_demand()) {
                self.write(RecordingLine::Store(RecordedStore {
                    name: name.clone(),
                    on_demand: store.is_on_demand(),
                }))?;
            }
            for difference in store.differences_from(known.map_or(&empty, AsRef::as_ref)) {
                match (difference.after, difference.before) {
                    (Some((object, key)), _) => {
                        let put = self.put(object, key, store, config)?;
                        self.write(RecordingLine::Put(put))?;
                    }
                    (None, Some((gone, _))) => {
                        self.write(RecordingLine::Remove(Named::of(&gone.reference)))?
                    }
                    (None, None) => {}
                }
            }
            self.stores.insert(name.clone(), store.clone());
        }
        Ok(())
    }

    fn held(&mut self, taken: &RecordedAttempt) -> Result<(), Stopped> {
        let attempt = &taken.attempt;
        for (name, store) in attempt.snapshots.iter() {
            let Some(given) = attempt.given.get(name) else { continue };
            for difference in store.differences_from(given) {
                let Some((object, _)) = difference.before.or(difference.after) else { continue };
                let why = attempt.held.held.get(&object.reference);
                let instead =
                    difference.after.map(|(object, key)| self.put(object, key, store, &attempt.config));
                let held = RecordedQuarantine {
                    named: Named::of(&object.reference),
                    why: why.map(|held| held.why.to_string()).unwrap_or_default(),
                    instead: instead.transpose()?,
                };
                self.write(RecordingLine::Held(held))?;
            }
        }
        Ok(())
    }

    fn put(
        &self,
        object: &Arc<Object>,
        key: &Key,
        store: &Snapshot,
        config: &ActiveConfig,
    ) -> Result<Put, Stopped> {
        let named = Named::of(&object.reference);
        if store.is_on_demand() {
            return Ok(Put { named, key: key.to_vec(), object: None });
        }
        let shown = redaction::object(object, key, &config.spec, &mut lock(&self.pseudonyms));
        let (value, key) = shown.map_err(Stopped::Unwritable)?;
        Ok(Put { named, key: key.to_vec(), object: Some(value) })
    }

    /// Renders what was written, and writes what comes of it.
    fn render(&mut self, given: &Arc<Snapshots>, config: &Arc<ActiveConfig>) -> Result<(), Stopped> {
        let noting = Arc::new(Noting {
            given: given.clone(),
            config: config.clone(),
            pseudonyms: self.pseudonyms.clone(),
            fetched: Mutex::default(),
        });
        let fetch: Arc<dyn FetchObject> = noting.clone();
        let outcome = self.inputs.render(&fetch);
        for fetched in mem::take(&mut *lock(&noting.fetched)).into_values() {
            self.write(RecordingLine::Fetched(fetched))?;
        }
        let rendering = match outcome {
            Ok(rendering) => rendering,
            Err(faults) => {
                let problems = faults.into_diagnostics().iter().map(ToString::to_string).collect();
                return self.write(RecordingLine::Failed(RecordedFailure { problems }));
            }
        };
        let bundle = rendering.bundle;
        for line in changed_files(self.rendered.as_ref(), &bundle) {
            self.write(line)?;
        }
        let warnings = rendering.warnings.iter().map(ToString::to_string).collect();
        self.write(RecordingLine::Rendered(RecordedRender {
            digest: bundle.digest,
            files: bundle.all().count(),
            warnings,
        }))?;
        self.rendered = Some(bundle);
        Ok(())
    }
}

/// What leads from the files of one bundle to those of another one.
fn changed_files(before: Option<&Bundle>, after: &Bundle) -> Vec<RecordingLine> {
    let known: BTreeMap<_, _> =
        before.iter().flat_map(|bundle| bundle.all()).map(|file| (&file.path, file)).collect();
    let there: BTreeSet<_> = after.all().map(|file| &file.path).collect();
    let gone = known.keys().filter(|path| !there.contains(*path));
    let mut lines: Vec<RecordingLine> = gone.map(|path| RecordingLine::NoFile(Arc::clone(path))).collect();
    for file in after.all() {
        let old = known.get(&file.path);
        if old.is_some_and(|old| old.digest == file.digest) {
            continue;
        }
        let patch = old.and_then(|old| Patch::between(&old.text, old.digest, &file.text));
        let content = patch.map_or_else(|| Content::Whole(file.text.to_string()), Content::Patch);
        lines.push(RecordingLine::File(File { path: file.path.clone(), digest: file.digest, content }));
    }
    lines
}

/// Fetches what the pipeline's own stores fetch, and notes it as it is written down.
#[derive(Debug)]
struct Noting {
    given: Arc<Snapshots>,
    config: Arc<ActiveConfig>,
    pseudonyms: Arc<Mutex<Pseudonyms>>,
    fetched: Mutex<BTreeMap<Named, Fetched>>,
}

impl Noting {
    fn load(&self, reference: &ObjectRef) -> Result<Option<Value>, String> {
        let Some(store) = self.given.get(&reference.resource) else { return Ok(None) };
        let Some((known, key)) = store.entry(&reference.namespace, &reference.name) else { return Ok(None) };
        let Some(whole) = store.load(known).map_err(|why| why.to_string())? else { return Ok(None) };
        redaction::object(&whole, key, &self.config.spec, &mut lock(&self.pseudonyms))
            .map(|(value, _)| Some(value))
    }
}

impl FetchObject for Noting {
    fn fetch(&self, reference: &Arc<ObjectRef>) -> Result<Option<Arc<Object>>, FetchError> {
        let named = Named::of(reference);
        let (value, problem) = match self.load(reference) {
            Ok(value) => (value, None),
            Err(problem) => (None, Some(problem)),
        };
        let fetched = Fetched { named: named.clone(), object: value, problem };
        let given = fetched.give();
        lock(&self.fetched).insert(named, fetched);
        given
    }
}

impl Fetched {
    /// What a store on demand gets.
    ///
    /// # Errors
    /// What it was told in place of an object.
    pub fn give(&self) -> Result<Option<Arc<Object>>, FetchError> {
        match (&self.problem, &self.object) {
            (Some(problem), _) => Err(FetchError::Unusable(problem.clone())),
            (None, None) => Ok(None),
            (None, Some(value)) => object(&self.named, Some(value))
                .map(|object| Some(Arc::new(object)))
                .map_err(FetchError::Unusable),
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
