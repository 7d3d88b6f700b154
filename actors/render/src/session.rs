//! What one file's render remembers while it runs: its input, what it read, what it warned about.
//!
//! Functions get a session and nothing else, so they work the same in every engine.

use crate::{
    around::{Around, Border, Found, Untracked},
    engine::{AddedFile, Read, RenderInput, RenderedFile},
    faults::{Fault, FaultKind},
    marks::Marked,
    output::PrintedObject,
    recall::{Effects, FreshBlock, PrintedBlock, Recall, Site},
    value::Value,
    watched::Watched,
};
use haptic_model::{
    Diagnostic, FileKey, ObjectRef, Snapshot, default_certificate,
    external_names::{self, Resolved},
    store::Key,
};
use std::{
    cell::RefCell,
    collections::{BTreeMap, BTreeSet, HashMap, VecDeque, btree_map::Entry},
    sync::Arc,
};

/// How many parsed objects are kept for the blocks to come.
const RECENT: usize = 16;

/// The state of one file's render.
pub struct Session<'a> {
    input: RenderInput<'a>,
    /// The render before; blocks are watched for the next one only where there is this.
    recall: Option<&'a Recall<'a>>,
    state: RefCell<State>,
}

#[derive(Default)]
struct State {
    /// Reads outside of all objects' blocks.
    outside: Vec<Read>,
    /// Objects whose blocks are being printed, innermost last.
    owners: Vec<Arc<ObjectRef>>,
    /// What the outermost of these blocks does.
    block: Watching,
    printed: Vec<PrintedBlock>,
    warnings: Vec<Diagnostic>,
    faults: Vec<Fault>,
    added: BTreeMap<FileKey, AddedFile>,
    once: BTreeSet<Arc<str>>,
    patterns: HashMap<Arc<str>, regex::Regex>,
    /// Objects of the last blocks, so that one that is wanted again soon is not parsed again.
    recent: VecDeque<Arc<Watched>>,
    /// The last search: paths of one object often lead to one service.
    last_search: Option<(Read, Value)>,
}

/// What an outermost object's block has done so far.
#[derive(Default)]
struct Watching {
    reads: Vec<Read>,
    added: Vec<AddedFile>,
    /// Of these, those that nobody had added before.
    first_added: Vec<FileKey>,
    said: (usize, usize),
    untracked: Option<Untracked>,
}

impl<'a> Session<'a> {
    /// A session that has read nothing yet.
    #[must_use]
    pub fn new(input: RenderInput<'a>) -> Self {
        Self { input, recall: None, state: RefCell::default() }
    }

    /// The same, with what is known of the render before.
    #[must_use]
    pub fn recalling(self, recall: Option<&'a Recall<'a>>) -> Self {
        Self { recall, ..self }
    }

    /// What is known of the render before, where an outermost object's block begins.
    pub(crate) fn recall(&self) -> Option<&'a Recall<'a>> {
        self.recall.filter(|_| self.state.borrow().owners.is_empty())
    }

    /// What is rendered from.
    #[must_use]
    pub fn input(&self) -> &RenderInput<'a> {
        &self.input
    }

    /// The objects of `resource` whose key starts with `key`; all for an empty one. The read is recorded.
    ///
    /// # Errors
    /// When there is no such resource: says which there are.
    pub fn objects(&self, resource: &Arc<str>, key: Key) -> Result<Value, String> {
        let last = self.state.borrow().last_search.clone();
        if let Some((read, found)) = last
            && read.resource == *resource
            && read.key == key
        {
            self.record(read);
            return Ok(found);
        }
        let store = self.store(resource)?;
        let found: Vec<Value> = if key.is_empty() {
            store.iter().map(|o| handle(o, store)).collect()
        } else {
            store.matching(&key).map(|o| handle(o, store)).collect()
        };
        let found = Value::list(found);
        let read = Read { resource: resource.clone(), key };
        self.state.borrow_mut().last_search = Some((read.clone(), found.clone()));
        self.record(read);
        Ok(found)
    }

    /// The object of that name, `Missing` if there is none. The read is recorded.
    ///
    /// # Errors
    /// When there is no such resource: says which there are.
    pub fn object(
        &self,
        resource: &Arc<str>,
        namespace: &Arc<str>,
        name: &Arc<str>,
    ) -> Result<Value, String> {
        let store = self.store(resource)?;
        self.record(Read { resource: resource.clone(), key: [namespace.clone(), name.clone()].into() });
        Ok(store.get(namespace, name).map_or(Value::Missing, |o| handle(o, store)))
    }

    /// What the objects of `resource` got of the requests they ask for: all of them, or those whose namespace, or
    /// namespace and name, is `key`. The read is recorded.
    ///
    /// # Errors
    /// When there is no such resource, or it holds no routes.
    pub fn routes(&self, resource: &Arc<str>, key: Key) -> Result<Value, String> {
        let sets = crate::routes::store_of(resource);
        if self.input.snapshots.get(&sets).is_some() {
            return self.objects(&sets, key);
        }
        let why = if self.store(resource)?.is_on_demand() {
            "its store is on demand"
        } else {
            "they are no Ingresses"
        };
        Err(format!("{resource:?} holds no routes: {why}"))
    }

    /// The Secret of the default certificate, `Missing` if there is none. The read is recorded.
    ///
    /// # Errors
    /// None.
    pub fn default_certificate(&self) -> Result<Value, String> {
        let name: Arc<str> = default_certificate::STORE.into();
        let Some(store) = self.input.snapshots.get(&name) else { return Ok(Value::Missing) };
        self.record(Read { resource: name, key: [].into() });
        Ok(store.iter().next().map_or(Value::Missing, |o| handle(o, store)))
    }

    /// What is known of the name of a Service of type ExternalName. The read is recorded.
    pub fn external_name(&self, name: &Arc<str>) -> Option<Resolved> {
        let resource: Arc<str> = external_names::STORE.into();
        let store = self.input.snapshots.get(&resource)?;
        self.record(Read { resource, key: external_names::key(name) });
        serde_json::from_slice(&store.get("", name)?.json).ok()
    }

    fn store(&self, resource: &str) -> Result<&'a Arc<Snapshot>, String> {
        self.input.snapshots.get(resource).ok_or_else(|| {
            let known: Vec<&str> =
                self.input.config.spec.watched_resources.keys().map(String::as_str).collect();
            let hint = crate::suggest::did_you_mean(resource, known.iter().copied());
            format!("{resource:?} is not watched{hint}; watchedResources has: {}", known.join(", "))
        })
    }

    fn record(&self, read: Read) {
        let on_demand = self.input.snapshots.get(&read.resource).is_some_and(|s| s.is_on_demand());
        let mut state = self.state.borrow_mut();
        if state.owners.is_empty() {
            state.outside.push(read);
            return;
        }
        if on_demand {
            state.block.untracked.get_or_insert(Untracked::OnDemand);
        }
        state.block.reads.push(read);
    }

    /// A handle for an object's block: the one of a block before, if that was not long ago.
    pub(crate) fn recent(&self, object: &Watched) -> Arc<Watched> {
        let recent = &mut self.state.borrow_mut().recent;
        if let Some(known) = recent.iter().find(|known| known.is(object)) {
            return known.clone();
        }
        let fresh = object.fresh();
        if recent.len() >= RECENT {
            recent.pop_front();
        }
        recent.push_back(fresh.clone());
        fresh
    }

    /// What is read and done from now on belongs to this object's block.
    pub(crate) fn enter(&self, object: &Watched) {
        let state = &mut *self.state.borrow_mut();
        if state.owners.is_empty() {
            let untracked = object.is_on_demand().then_some(Untracked::OnDemand);
            let said = (state.warnings.len(), state.faults.len());
            state.block = Watching { said, untracked, ..Watching::default() };
        }
        state.owners.push(object.reference().clone());
    }

    /// The innermost block is over.
    pub(crate) fn leave(&self) {
        self.state.borrow_mut().owners.pop();
    }

    /// The outermost block that has just been left, for the render to come.
    pub(crate) fn remember(&self, site: Site, border: &Border, printed: PrintedObject) {
        let state = &mut *self.state.borrow_mut();
        let Watching { reads, added, said, untracked, .. } = std::mem::take(&mut state.block);
        know_reads(state.faults.get_mut(said.1..), &reads);
        let (around, beyond): (Vec<(Around, Found)>, _) = border.take();
        let inside_line = (!printed.whole_lines).then_some(Untracked::InsideLine);
        let effects = Effects {
            warnings: state.warnings.get(said.0..).unwrap_or_default().to_vec(),
            faults: state.faults.get(said.1..).unwrap_or_default().to_vec(),
            added,
        };
        state.printed.push(PrintedBlock::Fresh(Box::new(FreshBlock {
            piece: printed.piece,
            object: site.object.clone(),
            reads,
            site,
            around,
            effects,
            untracked: untracked.or(beyond).or(inside_line),
            bytes: printed.bytes,
            most: printed.most,
        })));
    }

    /// The outermost block that has just been left failed: what it did is undone, what it refused stays refused.
    pub(crate) fn failed(&self, object: &Arc<ObjectRef>, diagnostic: Diagnostic) {
        let state = &mut *self.state.borrow_mut();
        let Watching { reads, first_added, added, said, .. } = std::mem::take(&mut state.block);
        state.warnings.truncate(said.0);
        for file in added {
            if let Some(known) = state.added.get_mut(&file.key) {
                known.blocks.retain(|block| block != object);
            }
        }
        for key in first_added {
            state.added.remove(&key);
        }
        let object = Some(object.clone());
        state.faults.push(Fault { object, kind: FaultKind::Failed, diagnostic, reads: None });
        know_reads(state.faults.get_mut(said.1..), &reads);
    }

    /// The block of that number stands again: does again what it did beside printing. Whether that was possible; if
    /// not, nothing was done.
    pub(crate) fn again(&self, number: usize, effects: Option<&Effects>) -> bool {
        let state = &mut *self.state.borrow_mut();
        if let Some(effects) = effects {
            let fits = |file: &AddedFile| {
                state.added.get(&file.key).is_none_or(|known| known.content == file.content)
            };
            if !effects.added.iter().all(fits) {
                return false;
            }
            for file in &effects.added {
                match state.added.entry(file.key.clone()) {
                    Entry::Vacant(free) => _ = free.insert(file.clone()),
                    Entry::Occupied(mut known) => known.get_mut().also_by(&file.blocks),
                }
            }
            state.warnings.extend_from_slice(&effects.warnings);
            state.faults.extend_from_slice(&effects.faults);
        }
        state.printed.push(PrintedBlock::Kept(number));
        true
    }

    /// The object whose block is being printed.
    pub(crate) fn owner(&self) -> Option<Arc<ObjectRef>> {
        self.state.borrow().owners.last().cloned()
    }

    /// Remembers a warning.
    pub fn warn(&self, warning: Diagnostic) {
        self.state.borrow_mut().warnings.push(warning);
    }

    /// Remembers that an object is refused.
    pub fn refuse(&self, refusal: Diagnostic) {
        let object = refusal.object.clone();
        let fault = Fault { object, kind: FaultKind::Registered, diagnostic: refusal, reads: None };
        self.state.borrow_mut().faults.push(fault);
    }

    /// Adds a file to the bundle. Adding it again with the same content is nothing new.
    ///
    /// # Errors
    /// When it was added with another content: names the object that did.
    pub fn add_file(&self, key: FileKey, content: Arc<str>, secret: bool) -> Result<(), String> {
        let object = self.owner();
        let state = &mut *self.state.borrow_mut();
        let blocks = state.owners.first().cloned().into_iter().collect();
        let file = AddedFile { key, content, secret, object, blocks };
        if !state.owners.is_empty() {
            state.block.added.push(file.clone());
        }
        match state.added.entry(file.key.clone()) {
            Entry::Vacant(free) => {
                state.block.first_added.push(file.key.clone());
                free.insert(file);
                Ok(())
            }
            Entry::Occupied(mut other) if other.get().content == file.content => {
                other.get_mut().also_by(&file.blocks);
                Ok(())
            }
            Entry::Occupied(other) => {
                let by = other
                    .get()
                    .object
                    .as_ref()
                    .map_or_else(|| "this template".to_owned(), ToString::to_string);
                Err(format!(
                    "{} was added with another content by {by}; give one of them another name",
                    other.key()
                ))
            }
        }
    }

    /// Places warnings and refusals added since the given counts at a template's line.
    pub(crate) fn place_new(&self, before: (usize, usize), template: &str, line: u32, column: u32) {
        let mut state = self.state.borrow_mut();
        let State { warnings, faults, .. } = &mut *state;
        let faults = faults.iter_mut().skip(before.1).map(|fault| &mut fault.diagnostic);
        for diagnostic in warnings.iter_mut().skip(before.0).chain(faults) {
            if diagnostic.template.is_none() {
                *diagnostic = diagnostic.clone().at_template(template, line, column);
            }
        }
    }

    pub(crate) fn said(&self) -> (usize, usize) {
        let state = self.state.borrow();
        (state.warnings.len(), state.faults.len())
    }

    /// Whether `key` is asked for the first time in this file.
    pub fn first_time(&self, key: &Arc<str>) -> bool {
        let state = &mut *self.state.borrow_mut();
        state.block.untracked.get_or_insert(Untracked::Once);
        state.once.insert(key.clone())
    }

    /// `pattern` compiled, once a render.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn pattern(&self, pattern: &Arc<str>) -> Result<regex::Regex, String> {
        if let Some(known) = self.state.borrow().patterns.get(pattern) {
            return Ok(known.clone());
        }
        let compiled = regex::Regex::new(pattern).map_err(|e| {
            let why = e.to_string();
            format!(
                "{pattern:?} is not a regular expression: {}",
                why.lines().last().unwrap_or_default().trim()
            )
        })?;
        self.state.borrow_mut().patterns.insert(pattern.clone(), compiled.clone());
        Ok(compiled)
    }

    /// What came of the render, besides `marked` text.
    pub(crate) fn finish(self, marked: Marked) -> RenderedFile {
        let State { outside, printed, warnings, faults, added, .. } = self.state.into_inner();
        let added = added.into_values().collect();
        RenderedFile { marked, outside, blocks: printed, warnings, faults, added }
    }

    /// What objects were at fault for, when the render stopped.
    pub(crate) fn into_faults(self) -> Vec<Fault> {
        self.state.into_inner().faults
    }
}

fn know_reads(faults: Option<&mut [Fault]>, reads: &[Read]) {
    let faults = faults.unwrap_or_default();
    if !faults.is_empty() {
        let reads: Arc<[Read]> = reads.into();
        faults.iter_mut().for_each(|fault| fault.reads = Some(reads.clone()));
    }
}

fn handle(object: &Arc<haptic_model::Object>, store: &Arc<Snapshot>) -> Value {
    Value::Object(Arc::new(Watched::new(object.clone(), store.clone())))
}
