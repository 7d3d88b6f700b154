//! Makes a recording of the generations that are remembered: their inputs with stand-ins, and what a render makes of these.
//!
//! It renders by itself, from the lines that it has written; nothing of the pipeline is asked or kept waiting.

use super::{
    inputs::{Inputs, object},
    line::{
        Configuration, FORMAT, Failed, Fetched, File, Head, Held, Line, Named, Opening, Put, Rendered, Store,
        Told,
    },
    redaction,
    stand_in::StandIns,
    tape::Writer,
};
use haptic_commentator::Taken;
use haptic_model::{
    ActiveConfig, Bundle, Fleet, Generation, Object, ObjectRef, Snapshot, Snapshots,
    patch::{Content, Patch},
    store::{FetchObject, Key},
};
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

/// Writes a recording of `generations`; `told` is asked for what was told of each.
///
/// # Errors
/// Why there is none.
pub fn make<W: Write>(
    generations: &[Taken],
    told: impl Fn(Generation) -> Vec<Told>,
    to: W,
) -> Result<W, Stopped> {
    let (Some(first), Some(last)) = (generations.first(), generations.last()) else {
        return Err(Stopped::Nothing);
    };
    let mut maker = Maker {
        writer: Writer::new(to),
        inputs: Inputs::default(),
        stand_ins: Arc::new(Mutex::new(StandIns::new().map_err(Stopped::Unwritable)?)),
        config: None,
        fleet: None,
        stores: BTreeMap::new(),
        rendered: None,
    };
    maker.say(Line::HapticRecording(head(first, last)))?;
    for taken in generations {
        maker.generation(taken, told(taken.generation()))?;
    }
    Ok(maker.writer.end()?)
}

fn head(first: &Taken, last: &Taken) -> Head {
    let config = &last.attempt.config;
    Head {
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
    inputs: Inputs,
    stand_ins: Arc<Mutex<StandIns>>,
    // What was written last of each.
    config: Option<Arc<ActiveConfig>>,
    fleet: Option<Arc<Fleet>>,
    stores: BTreeMap<Arc<str>, Arc<Snapshot>>,
    rendered: Option<Bundle>,
}

impl<W: Write> Maker<W> {
    fn say(&mut self, line: Line) -> Result<(), Stopped> {
        self.inputs.take(&line).map_err(Stopped::Unwritable)?;
        Ok(self.writer.write(&line)?)
    }

    fn generation(&mut self, taken: &Taken, told: Vec<Told>) -> Result<(), Stopped> {
        let attempt = &taken.attempt;
        self.say(Line::Generation(Opening {
            number: taken.generation(),
            unix_ms: unix_ms(taken.at),
            digest: attempt.outcome.as_ref().ok().copied(),
        }))?;
        self.configuration(&attempt.config)?;
        if self.fleet.as_ref().is_none_or(|known| *known != attempt.fleet) {
            self.fleet = Some(attempt.fleet.clone());
            self.say(Line::Fleet(Fleet::clone(&attempt.fleet)))?;
        }
        self.stores(&attempt.given, &attempt.config)?;
        self.held(taken)?;
        for told in told {
            self.say(Line::Told(told))?;
        }
        self.render(&attempt.given, &attempt.config)
    }

    fn configuration(&mut self, config: &Arc<ActiveConfig>) -> Result<(), Stopped> {
        if self.config.as_ref().is_some_and(|known| Arc::ptr_eq(known, config)) {
            return Ok(());
        }
        self.config = Some(config.clone());
        let owner = format!("{}/{}", config.namespace, config.name);
        let spec = redaction::configuration(&owner, &config.spec, &mut lock(&self.stand_ins));
        self.say(Line::Configuration(Configuration {
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
            self.say(Line::NoStore(name.clone()))?;
        }
        let empty = Snapshot::full();
        for (name, store) in given.iter() {
            let known = before.get(name);
            if known.is_none_or(|known| known.is_on_demand() != store.is_on_demand()) {
                self.say(Line::Store(Store { name: name.clone(), on_demand: store.is_on_demand() }))?;
            }
            for difference in store.differences_from(known.map_or(&empty, AsRef::as_ref)) {
                match (difference.after, difference.before) {
                    (Some((object, key)), _) => {
                        let put = self.put(object, key, store, config)?;
                        self.say(Line::Put(put))?;
                    }
                    (None, Some((gone, _))) => self.say(Line::Remove(Named::of(&gone.reference)))?,
                    (None, None) => {}
                }
            }
            self.stores.insert(name.clone(), store.clone());
        }
        Ok(())
    }

    fn held(&mut self, taken: &Taken) -> Result<(), Stopped> {
        let attempt = &taken.attempt;
        for (name, store) in attempt.snapshots.iter() {
            let Some(given) = attempt.given.get(name) else { continue };
            for difference in store.differences_from(given) {
                let Some((object, _)) = difference.before.or(difference.after) else { continue };
                let why = attempt.held.held.get(&object.reference);
                let instead =
                    difference.after.map(|(object, key)| self.put(object, key, store, &attempt.config));
                let held = Held {
                    named: Named::of(&object.reference),
                    why: why.map(|held| held.why.to_string()).unwrap_or_default(),
                    instead: instead.transpose()?,
                };
                self.say(Line::Held(held))?;
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
        let shown = redaction::object(object, key, &config.spec, &mut lock(&self.stand_ins));
        let (value, key) = shown.map_err(Stopped::Unwritable)?;
        Ok(Put { named, key: key.to_vec(), object: Some(value) })
    }

    /// Renders what was written, and writes what comes of it.
    fn render(&mut self, given: &Arc<Snapshots>, config: &Arc<ActiveConfig>) -> Result<(), Stopped> {
        let noting = Arc::new(Noting {
            given: given.clone(),
            config: config.clone(),
            stand_ins: self.stand_ins.clone(),
            fetched: Mutex::default(),
        });
        let fetch: Arc<dyn FetchObject> = noting.clone();
        let outcome = self.inputs.render(&fetch);
        for fetched in mem::take(&mut *lock(&noting.fetched)).into_values() {
            self.say(Line::Fetched(fetched))?;
        }
        let rendering = match outcome {
            Ok(rendering) => rendering,
            Err(faults) => {
                let problems = faults.into_diagnostics().iter().map(ToString::to_string).collect();
                return self.say(Line::Failed(Failed { problems }));
            }
        };
        let bundle = rendering.bundle;
        for line in changed_files(self.rendered.as_ref(), &bundle) {
            self.say(line)?;
        }
        let warnings = rendering.warnings.iter().map(ToString::to_string).collect();
        self.say(Line::Rendered(Rendered { digest: bundle.digest, files: bundle.all().count(), warnings }))?;
        self.rendered = Some(bundle);
        Ok(())
    }
}

/// What leads from the files of one bundle to those of another one.
fn changed_files(before: Option<&Bundle>, after: &Bundle) -> Vec<Line> {
    let known: BTreeMap<_, _> =
        before.iter().flat_map(|bundle| bundle.all()).map(|file| (&file.path, file)).collect();
    let there: BTreeSet<_> = after.all().map(|file| &file.path).collect();
    let gone = known.keys().filter(|path| !there.contains(*path));
    let mut lines: Vec<Line> = gone.map(|path| Line::NoFile(Arc::clone(path))).collect();
    for file in after.all() {
        let old = known.get(&file.path);
        if old.is_some_and(|old| old.digest == file.digest) {
            continue;
        }
        let patch = old.and_then(|old| Patch::between(&old.text, old.digest, &file.text));
        let content = patch.map_or_else(|| Content::Whole(file.text.to_string()), Content::Patch);
        lines.push(Line::File(File { path: file.path.clone(), digest: file.digest, content }));
    }
    lines
}

/// Fetches what the pipeline's own stores fetch, and notes it as it is written down.
#[derive(Debug)]
struct Noting {
    given: Arc<Snapshots>,
    config: Arc<ActiveConfig>,
    stand_ins: Arc<Mutex<StandIns>>,
    fetched: Mutex<BTreeMap<Named, Fetched>>,
}

impl Noting {
    fn load(&self, reference: &ObjectRef) -> Result<Option<Value>, String> {
        let Some(store) = self.given.get(&reference.resource) else { return Ok(None) };
        let Some((known, key)) = store.entry(&reference.namespace, &reference.name) else { return Ok(None) };
        let Some(whole) = store.load(known)? else { return Ok(None) };
        redaction::object(&whole, key, &self.config.spec, &mut lock(&self.stand_ins))
            .map(|(value, _)| Some(value))
    }
}

impl FetchObject for Noting {
    fn fetch(&self, reference: &Arc<ObjectRef>) -> Result<Option<Arc<Object>>, String> {
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
    pub fn give(&self) -> Result<Option<Arc<Object>>, String> {
        match (&self.problem, &self.object) {
            (Some(problem), _) => Err(problem.clone()),
            (None, None) => Ok(None),
            (None, Some(value)) => object(&self.named, Some(value)).map(|object| Some(Arc::new(object))),
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
