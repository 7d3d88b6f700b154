//! What one file's render remembers while it runs: its input, what it read, what it warned about.
//!
//! Functions get a session and nothing else, so they work the same in every engine.

use crate::{
    engine::{AddedFile, BlockReads, Read, Reads, RenderInput, RenderedFile},
    marks::Marked,
    value::Value,
    watched::Watched,
};
use haptic_model::{Diagnostic, FileKey, ObjectRef, Snapshot, store::Key};
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
    state: RefCell<State>,
}

#[derive(Default)]
struct State {
    reads: Reads,
    /// Objects' blocks being printed, innermost last.
    blocks: Vec<BlockReads>,
    warnings: Vec<Diagnostic>,
    refused: Vec<Diagnostic>,
    added: BTreeMap<FileKey, AddedFile>,
    once: BTreeSet<Arc<str>>,
    patterns: HashMap<Arc<str>, regex::Regex>,
    /// Objects of the last blocks, so that one that is wanted again soon is not parsed again.
    recent: VecDeque<Arc<Watched>>,
    /// The last search: paths of one object often lead to one service.
    last_search: Option<(Read, Value)>,
}

impl<'a> Session<'a> {
    /// A session that has read nothing yet.
    #[must_use]
    pub fn new(input: RenderInput<'a>) -> Self {
        Self { input, state: RefCell::default() }
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
        let read = Read { resource: resource.clone(), version: store.version_of(&key), key };
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
        let by_name = self.input.config.spec.watched_resources.get(&**resource).is_some_and(|w| {
            let paths: Vec<&str> = w.index_by.iter().map(String::as_str).collect();
            paths.starts_with(&["metadata.namespace", "metadata.name"])
        });
        // Only an index by name has a bucket for it; otherwise the object depends on the whole store.
        let key: Key = if by_name { [namespace.clone(), name.clone()].into() } else { [].into() };
        self.record(Read { resource: resource.clone(), version: store.version_of(&key), key });
        Ok(store.get(namespace, name).map_or(Value::Missing, |o| handle(o, store)))
    }

    fn store(&self, resource: &str) -> Result<&'a Arc<Snapshot>, String> {
        self.input.snapshots.get(resource).ok_or_else(|| {
            let known: Vec<&str> = self.input.snapshots.iter().map(|(name, _)| &**name).collect();
            let hint = crate::suggest::did_you_mean(resource, known.iter().copied());
            format!("{resource:?} is not watched{hint}; watchedResources has: {}", known.join(", "))
        })
    }

    fn record(&self, read: Read) {
        let mut state = self.state.borrow_mut();
        let state = &mut *state;
        match state.blocks.last_mut() {
            Some(block) => block.reads.push(read),
            None => state.reads.outside.push(read),
        }
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

    /// Reads from now on belong to this object's block.
    pub(crate) fn enter(&self, object: &Watched) {
        self.state.borrow_mut().blocks.push(BlockReads {
            piece: None,
            object: object.reference().clone(),
            version: object.version(),
            reads: Vec::new(),
        });
    }

    /// The innermost block is over. A nested one's reads are its parent's too; an outermost one was `piece`.
    pub(crate) fn leave(&self, piece: Option<usize>) {
        let mut state = self.state.borrow_mut();
        let Some(mut block) = state.blocks.pop() else { return };
        match state.blocks.last_mut() {
            Some(parent) => parent.reads.append(&mut block.reads),
            None => state.reads.blocks.push(BlockReads { piece, ..block }),
        }
    }

    /// The object whose block is being printed.
    pub(crate) fn owner(&self) -> Option<Arc<ObjectRef>> {
        self.state.borrow().blocks.last().map(|b| b.object.clone())
    }

    /// Remembers a warning.
    pub fn warn(&self, warning: Diagnostic) {
        self.state.borrow_mut().warnings.push(warning);
    }

    /// Remembers that an object is refused.
    pub fn refuse(&self, refusal: Diagnostic) {
        self.state.borrow_mut().refused.push(refusal);
    }

    /// Adds a file to the bundle. Adding it again with the same content is nothing new.
    ///
    /// # Errors
    /// When it was added with another content: names the object that did.
    pub fn add_file(&self, key: FileKey, content: Arc<str>) -> Result<(), String> {
        let object = self.owner();
        match self.state.borrow_mut().added.entry(key) {
            Entry::Vacant(free) => {
                let key = free.key().clone();
                free.insert(AddedFile { key, content, object });
                Ok(())
            }
            Entry::Occupied(other) if other.get().content == content => Ok(()),
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
        let State { warnings, refused, .. } = &mut *state;
        for diagnostic in warnings.iter_mut().skip(before.0).chain(refused.iter_mut().skip(before.1)) {
            if diagnostic.template.is_none() {
                *diagnostic = diagnostic.clone().at_template(template, line, column);
            }
        }
    }

    pub(crate) fn said(&self) -> (usize, usize) {
        let state = self.state.borrow();
        (state.warnings.len(), state.refused.len())
    }

    /// Whether `key` is asked for the first time in this file.
    pub fn first_time(&self, key: &Arc<str>) -> bool {
        self.state.borrow_mut().once.insert(key.clone())
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
        let State { reads, warnings, refused, added, .. } = self.state.into_inner();
        RenderedFile { marked, reads, warnings, refused, added: added.into_values().collect() }
    }
}

fn handle(object: &Arc<haptic_model::Object>, store: &Arc<Snapshot>) -> Value {
    Value::Object(Arc::new(Watched::new(object.clone(), store.clone())))
}
