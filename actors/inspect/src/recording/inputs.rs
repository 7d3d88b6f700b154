//! What a render is made from, built up line by line. Who records and who replays both render from this, and from nothing else.

use super::line::{Named, Opening, RecordedConfig, RecordedEvent, RecordedQuarantine, RecordingLine};
use haptic_attribution::Faults;
use haptic_model::{
    ActiveConfig, Diagnostic, Fleet, HAProxyTemplateConfigSpec, Layout, Object, ObjectRef, Snapshot,
    Snapshots,
    store::{FetchError, FetchObject},
};
use haptic_render::{Checked, CompileCache, RenderJob, RenderLimits, Renderer, Rendering};
use haptic_runtime::panics;
use std::{collections::BTreeMap, sync::Arc, time::Duration};

/// Nobody waits for this render, and the machine may be a slow one.
const TIME: Duration = Duration::from_secs(600);

/// The inputs of the generation that was read last.
#[derive(Debug, Default)]
pub struct ReplayInputs {
    /// Which generation.
    pub opening: Option<Opening>,
    /// What was held back in it.
    pub held: Vec<RecordedQuarantine>,
    /// What was told of it.
    pub events: Vec<RecordedEvent>,
    config: Option<Arc<ActiveConfig>>,
    fleet: Fleet,
    stores: BTreeMap<Arc<str>, Arc<Snapshot>>,
    kept: ReplayCache,
}

/// What is kept from one render to the next.
#[derive(Debug)]
struct ReplayCache {
    renderer: Renderer,
    compiled: CompileCache,
}

impl Default for ReplayCache {
    fn default() -> Self {
        Self { renderer: Renderer::checked(Checked::Never), compiled: CompileCache::default() }
    }
}

impl ReplayInputs {
    /// Takes in what `line` says of inputs; other lines change nothing.
    ///
    /// # Errors
    /// Why it says nothing that makes sense here.
    pub fn take(&mut self, line: &RecordingLine) -> Result<(), String> {
        match line {
            RecordingLine::Generation(opening) => {
                self.opening = Some(opening.clone());
                self.held.clear();
                self.events.clear();
            }
            RecordingLine::Configuration(configuration) => {
                self.config = Some(Arc::new(active(configuration)?))
            }
            RecordingLine::Fleet(fleet) => self.fleet = fleet.clone(),
            RecordingLine::Store(store) => {
                let mut snapshot = match self.stores.get(&store.name) {
                    Some(known) => Snapshot::clone(known),
                    None => Snapshot::full(),
                };
                let fetch = store.on_demand.then(|| Arc::new(Nothing) as Arc<dyn FetchObject>);
                snapshot = snapshot.with_fetch(fetch);
                snapshot.set_synced();
                self.stores.insert(store.name.clone(), Arc::new(snapshot));
            }
            RecordingLine::NoStore(name) => drop(self.stores.remove(name)),
            RecordingLine::Put(put) => {
                let (object, key) = (object(&put.named, put.object.as_ref())?, put.key.as_slice().into());
                Arc::make_mut(self.store(&put.named.store)?).apply(object, key);
            }
            RecordingLine::Remove(named) => {
                let gone = named.reference();
                Arc::make_mut(self.store(&named.store)?).remove(&gone);
            }
            RecordingLine::Held(held) => self.held.push(held.clone()),
            RecordingLine::Told(event) => self.events.push(event.clone()),
            _ => {}
        }
        Ok(())
    }

    /// Renders the generation; objects of stores on demand come from `fetch`.
    ///
    /// # Errors
    /// Everything that keeps it from being a bundle.
    pub fn render(&mut self, fetch: &Arc<dyn FetchObject>) -> Result<Rendering, Faults> {
        let config = self.config.clone().ok_or_else(|| failure("there is no configuration".into()))?;
        let snapshots = self.snapshots(fetch).map_err(failure)?;
        let limits = RenderLimits { time: TIME, ..RenderLimits::default() };
        let (kept, fleet) = (&mut self.kept, &self.fleet);
        let rendered = panics::catch(&Arc::from("recording"), || {
            let compiled = kept.compiled.of(&config).map_err(Faults::of_templates)?;
            kept.renderer.attempt(&RenderJob {
                compiled: &compiled,
                config: &config,
                snapshots: &snapshots,
                fleet,
                limits: &limits,
            })
        });
        rendered.unwrap_or_else(|why| {
            self.kept = ReplayCache::default();
            Err(failure(format!("the render panicked: {why}; this is a bug in HAPTIC")))
        })
    }

    /// The configuration.
    #[must_use]
    pub fn config(&self) -> Option<&Arc<ActiveConfig>> {
        self.config.as_ref()
    }

    /// The pods.
    #[must_use]
    pub fn fleet(&self) -> &Fleet {
        &self.fleet
    }

    /// The stores without what is held back.
    fn snapshots(&self, fetch: &Arc<dyn FetchObject>) -> Result<Snapshots, String> {
        let mut stores = self.stores.clone();
        for store in stores.values_mut().filter(|store| store.is_on_demand()) {
            *store = Arc::new(Snapshot::clone(store).with_fetch(Some(fetch.clone())));
        }
        for RecordedQuarantine { named, instead, .. } in &self.held {
            let Some(store) = stores.get_mut(&named.store) else { continue };
            match instead {
                Some(put) => {
                    let object = object(&put.named, put.object.as_ref())?;
                    Arc::make_mut(store).apply(object, put.key.as_slice().into());
                }
                None => drop(Arc::make_mut(store).remove(&named.reference())),
            }
        }
        Ok(Snapshots::new(stores))
    }

    fn store(&mut self, name: &Arc<str>) -> Result<&mut Arc<Snapshot>, String> {
        self.stores.get_mut(name).ok_or_else(|| format!("no line before it names a store {name:?}"))
    }
}

impl Named {
    /// Who `reference` is.
    #[must_use]
    pub fn of(reference: &ObjectRef) -> Self {
        Self {
            store: reference.resource.clone(),
            namespace: reference.namespace.clone(),
            name: reference.name.clone(),
        }
    }

    /// The same, as the pipeline calls it.
    #[must_use]
    pub fn reference(&self) -> ObjectRef {
        ObjectRef { resource: self.store.clone(), namespace: self.namespace.clone(), name: self.name.clone() }
    }
}

fn failure(why: String) -> Faults {
    Faults::of_templates(vec![Diagnostic::error("render", why)])
}

/// An object as stores keep it.
///
/// # Errors
/// Never in practice: it came from JSON.
pub fn object(named: &Named, value: Option<&serde_json::Value>) -> Result<Object, String> {
    let json = value.map(serde_json::to_vec).transpose().map_err(|error| error.to_string())?;
    let reference = Arc::new(named.reference());
    Ok(Object { reference, version: 0, json: json.unwrap_or_default().into() })
}

fn active(configuration: &RecordedConfig) -> Result<ActiveConfig, String> {
    let spec: HAProxyTemplateConfigSpec = serde_json::from_value(configuration.spec.clone())
        .map_err(|error| format!("its configuration is not one for this version of haptic: {error}"))?;
    Ok(ActiveConfig {
        name: configuration.name.clone(),
        namespace: configuration.namespace.clone(),
        resource_generation: configuration.resource_generation,
        revision: configuration.revision,
        layout: Layout::of(&spec.dataplane)?,
        spec: Arc::new(spec),
        credentials: Vec::new(),
    })
}

/// Stands for whatever fetches until something is rendered.
#[derive(Debug)]
struct Nothing;

impl FetchObject for Nothing {
    fn fetch(&self, reference: &Arc<ObjectRef>) -> Result<Option<Arc<Object>>, FetchError> {
        Err(FetchError::Unanswered(format!("{reference} cannot be fetched: nothing is rendered yet")))
    }
}
