//! The memory of one file's render while it runs: its input, its reads, its warnings.
//!
//! Functions get a session and nothing else, so they work the same in every engine.

use crate::{
    block_cache::{
        BlockCache, BlockNumber, FreshBlock, PrintedBlock,
        block::BlockPosition,
        captured::{Boundary, LookupResult, OuterLookup, Uncacheable},
    },
    engine::{patterns::PatternCache, rendered::RenderedFile},
    input::RenderInput,
    output::{
        BufferedBytes, PrintedObject,
        effects::{AddedFile, BlockEffects},
        framing::FramedText,
    },
    quotations::SENTENCE,
    servers::{destinations::meanings, fleet_services},
    value::{Value, recent_objects::RecentObjects, watched::Watched},
};
use haptic_attribution::faults::{Fault, FaultKind, MOST_OF_ONE, MOST_TOLD};
use haptic_model::{
    Diagnostic, FileKey, Object, ObjectRef, Snapshot, default_certificate,
    external_names::{self, Resolved},
    store::{Key, Read},
};
use haptic_text::shortened;
use std::{
    cell::{Cell, RefCell},
    collections::{BTreeMap, BTreeSet, HashMap, btree_map::Entry},
    net::IpAddr,
    sync::Arc,
};

/// Of a search that finds more, no object is kept for the next one.
const FEW: usize = 8;

/// The most compiled patterns that are kept for this file. Templates have few of their own; objects may bring any number.
const PATTERNS: usize = 64;

/// The bytes that the note of a diagnostic or a read takes, besides its words.
const NOTE: usize = 256;

/// A Secret's name and version, and an entry of it.
type SecretEntry = (Arc<ObjectRef>, u64, Arc<str>);

/// The state of one file's render.
pub struct Session<'a> {
    input: RenderInput<'a>,
    /// The render before; blocks are watched for the next one only where there is this.
    cache: Option<&'a BlockCache<'a>>,
    patterns: &'a PatternCache,
    state: RefCell<State>,
    /// The bytes that have come to be held since this was last asked for.
    held: Cell<BufferedBytes>,
}

#[derive(Default)]
struct State {
    /// Reads outside of all objects' blocks.
    outside: Vec<Read>,
    /// Objects whose blocks are being printed, innermost last.
    owners: Vec<Arc<ObjectRef>>,
    /// The progress of the outermost of these blocks.
    block: BlockProgress,
    printed: Vec<PrintedBlock>,
    warnings: Vec<Diagnostic>,
    /// Warnings outside of all blocks.
    warned_outside: usize,
    faults: Vec<Fault>,
    /// Blocks that failed.
    failed: usize,
    added: BTreeMap<FileKey, AddedFile>,
    once: BTreeSet<Arc<str>>,
    patterns: HashMap<Arc<str>, Arc<regex::Regex>>,
    /// The files that Secrets became, by object, version and entry: many routes may name one.
    certificates: HashMap<SecretEntry, Result<Arc<str>, String>>,
    /// Objects of the last blocks, and what they looked for.
    recent: RecentObjects,
    /// The last search: paths of one object often lead to one service.
    last_search: Option<(Read, Value)>,
    /// The last text that was decoded, and what came of it: a file is often added for many lines.
    last_decoded: Option<(Arc<str>, Arc<str>)>,
}

/// The progress of an outermost object's block.
#[derive(Default)]
struct BlockProgress {
    reads: Vec<Read>,
    added: Vec<AddedFile>,
    /// Of these, those that nobody had added before.
    first_added: Vec<FileKey>,
    said: (usize, usize),
    /// Warnings beyond those that are told.
    untold: usize,
    uncacheable: Option<Uncacheable>,
    /// Bytes of the values that functions made for it.
    made: usize,
}

impl<'a> Session<'a> {
    /// A session that has read nothing yet.
    #[must_use]
    pub(crate) fn new(input: RenderInput<'a>, patterns: &'a PatternCache) -> Self {
        Self { input, cache: None, patterns, state: RefCell::default(), held: Cell::default() }
    }

    /// The same, with what is known of the render before.
    #[must_use]
    pub fn with_cache(self, cache: Option<&'a BlockCache<'a>>) -> Self {
        Self { cache, ..self }
    }

    /// The memory of the render before, where an outermost object's block begins.
    pub(crate) fn block_cache(&self) -> Option<&'a BlockCache<'a>> {
        self.cache.filter(|_| self.state.borrow().owners.is_empty())
    }

    /// The input of the render.
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
        let found = match self.cache.and_then(BlockCache::lists).filter(|_| key.is_empty()) {
            Some(lists) => lists.all(resource, store),
            None => self.search(store, &key),
        };
        let read = Read { resource: resource.clone(), key };
        self.state.borrow_mut().last_search = Some((read.clone(), found.clone()));
        self.record(read);
        Ok(found)
    }

    fn search(&self, store: &Arc<Snapshot>, key: &Key) -> Value {
        let found: Vec<&Arc<Object>> =
            if key.is_empty() { store.iter().collect() } else { store.matching(key).collect() };
        let is_kept = !key.is_empty() && found.len() <= FEW;
        let handle = |object: &Arc<Object>| match is_kept {
            true => self.state.borrow_mut().recent.handle(object, store),
            false => Arc::new(Watched::new(object.clone(), store)),
        };
        Value::list(found.into_iter().map(|object| Value::Object(handle(object))).collect())
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
        let recent = &mut self.state.borrow_mut().recent;
        let found = store.get(namespace, name);
        Ok(found.map_or(Value::Missing, |object| Value::Object(recent.handle(object, store))))
    }

    /// The records of the objects of `resource`, with the requests that they got: all of them, or those whose namespace, or
    /// namespace and name, is `key`. The read is recorded.
    ///
    /// # Errors
    /// When there is no such resource, or it holds no routes.
    pub fn routes(&self, resource: &Arc<str>, key: Key) -> Result<Value, String> {
        self.beside(resource, &haptic_routes::store_of(resource), key)
    }

    /// An object if any object of a resource that holds routes asks for the option. The read is recorded.
    ///
    /// # Errors
    /// When there is no such resource, or it holds no routes.
    pub fn askers(&self, resource: &Arc<str>, option: Arc<str>) -> Result<Value, String> {
        self.beside(resource, &haptic_routes::options_of(resource), [option].into())
    }

    /// The users of Secrets that routes of `resource` name: of all, or of those whose namespace, or namespace and name, is
    /// `key`. The read is recorded.
    ///
    /// # Errors
    /// When there is no such resource, or it holds no routes.
    pub fn userlists(&self, resource: &Arc<str>, key: Key) -> Result<Value, String> {
        self.beside(resource, &haptic_routes::userlists_of(resource), key)
    }

    /// The services that are asked whether requests for routes of `resource` may pass. The read is recorded.
    ///
    /// # Errors
    /// When there is no such resource, or it holds no routes.
    pub fn auth_targets(&self, resource: &Arc<str>, key: Key) -> Result<Value, String> {
        self.beside(resource, &haptic_routes::auth_targets_of(resource), key)
    }

    /// The IngressClasses whose parameters name a ConfigMap with options for routes of `resource`. The read is recorded.
    ///
    /// # Errors
    /// When there is no such resource, or it holds no routes.
    pub fn class_settings(&self, resource: &Arc<str>) -> Result<Value, String> {
        self.beside(resource, &haptic_routes::class_settings_of(resource), [].into())
    }

    /// Reads a store that stands beside that of a resource with routes.
    fn beside(&self, resource: &Arc<str>, beside: &Arc<str>, key: Key) -> Result<Value, String> {
        if self.input.snapshots.get(beside).is_some() {
            return self.objects(beside, key);
        }
        let why = if self.store(resource)?.is_on_demand() {
            "its store is on demand"
        } else {
            "they are neither Ingresses nor of the Gateway API"
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
        let recent = &mut self.state.borrow_mut().recent;
        let first = store.iter().next();
        Ok(first.map_or(Value::Missing, |object| Value::Object(recent.handle(object, store))))
    }

    /// The addresses of the name of a Service of type ExternalName. The read is recorded.
    pub fn external_name(&self, name: &Arc<str>) -> Option<Resolved> {
        let resource: Arc<str> = external_names::STORE.into();
        let store = self.input.snapshots.get(&resource)?;
        self.record(Read { resource, key: external_names::key(name) });
        serde_json::from_slice(&store.get("", name)?.json.bytes()).ok()
    }

    /// Whether a Service that leads to HAProxy's own pods has that address and port. The read is recorded.
    pub fn leads_to_fleet(&self, address: IpAddr, port: u64) -> bool {
        let Some(store) = self.input.snapshots.get(fleet_services::STORE) else { return false };
        // Whatever has no pods has no such Services; another fleet is another render from the ground up.
        let has_pods = !self.input.fleet.pods.is_empty();
        has_pods
            && meanings(address).any(|meant| {
                let key = fleet_services::key(meant);
                self.record(Read { resource: fleet_services::STORE.into(), key });
                fleet_services::has(store, meant, port)
            })
    }

    fn store(&self, resource: &str) -> Result<&'a Arc<Snapshot>, String> {
        self.input.snapshots.get(resource).ok_or_else(|| {
            let known: Vec<&str> =
                self.input.config.spec.watched_resources.keys().map(String::as_str).collect();
            let hint = haptic_text::suggest::did_you_mean(resource, known.iter().copied());
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
            state.block.uncacheable.get_or_insert(Uncacheable::OnDemand);
        }
        if !state.block.reads.iter().rev().take(8).any(|known| *known == read) {
            state.block.reads.push(read);
            self.hold(BufferedBytes { said: 0, own: NOTE });
        }
    }

    fn hold(&self, more: BufferedBytes) {
        let held = self.held.get();
        self.held.set(BufferedBytes { said: held.said + more.said, own: held.own + more.own });
    }

    /// The bytes that have come to be held since this was last asked for.
    pub(crate) fn take_held(&self) -> BufferedBytes {
        self.held.take()
    }

    /// Bytes of all that functions have made for the outermost object's block, with `bytes` added.
    pub(crate) fn made(&self, bytes: usize) -> usize {
        let state = &mut *self.state.borrow_mut();
        if !state.owners.is_empty() {
            state.block.made += bytes;
        }
        state.block.made
    }

    /// A handle for an object's block: the one of a block before, if that was not long ago.
    pub(crate) fn recent(&self, object: &Watched) -> Arc<Watched> {
        self.state.borrow_mut().recent.again(object)
    }

    /// Counts reads and effects from now on for this object's block.
    pub(crate) fn enter(&self, object: &Watched) {
        let state = &mut *self.state.borrow_mut();
        if state.owners.is_empty() {
            let uncacheable = object.is_on_demand().then_some(Uncacheable::OnDemand);
            let said = (state.warnings.len(), state.faults.len());
            state.block = BlockProgress { said, uncacheable, ..BlockProgress::default() };
        }
        state.owners.push(object.reference().clone());
    }

    /// The innermost block is over.
    pub(crate) fn leave(&self) {
        let state = &mut *self.state.borrow_mut();
        let owner = state.owners.pop();
        if state.owners.is_empty() && state.block.untold > 0 {
            let more = format!("and {} more warnings", std::mem::take(&mut state.block.untold));
            state.warnings.push(Diagnostic::warning("render", more).of_object(owner));
        }
        if state.owners.is_empty() {
            state.block.made = 0;
        }
    }

    /// The outermost block that has just been left, for the render to come.
    pub(crate) fn remember(&self, site: BlockPosition, boundary: &Boundary, printed: PrintedObject) {
        let state = &mut *self.state.borrow_mut();
        let BlockProgress { reads, added, said, uncacheable, .. } = std::mem::take(&mut state.block);
        know_reads(state.faults.get_mut(said.1..), &reads);
        let (lookups, beyond): (Vec<(OuterLookup, LookupResult)>, _) = boundary.take();
        let inside_line = (!printed.whole_lines).then_some(Uncacheable::InsideLine);
        let effects = BlockEffects {
            warnings: state.warnings.get(said.0..).unwrap_or_default().to_vec(),
            faults: state.faults.get(said.1..).unwrap_or_default().to_vec(),
            added,
        };
        state.printed.push(PrintedBlock::Fresh(Box::new(FreshBlock {
            piece: printed.piece,
            object: site.object.clone(),
            reads,
            site,
            lookups,
            effects,
            uncacheable: uncacheable.or(beyond).or(inside_line),
            bytes: printed.bytes,
            most: printed.most,
        })));
    }

    /// The outermost block that has just been left failed: what it did is undone, what it refused stays refused. Of many that
    /// fail no more is told than one sentence each.
    pub(crate) fn failed(&self, object: &Arc<ObjectRef>, mut diagnostic: Diagnostic) {
        diagnostic.message = shortened(&diagnostic.message, SENTENCE).into_owned();
        self.held.take();
        let state = &mut *self.state.borrow_mut();
        let BlockProgress { reads, first_added, added, said, .. } = std::mem::take(&mut state.block);
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
        state.failed += 1;
        if state.failed > MOST_TOLD {
            state.faults.truncate(said.1 + 1);
        }
        know_reads(state.faults.get_mut(said.1..), &reads);
    }

    /// The block of that number stands again: does again what it did beside printing. Whether that was possible; if
    /// not, nothing was done.
    pub(crate) fn again(&self, number: BlockNumber, effects: Option<&BlockEffects>) -> bool {
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

    /// The group of that number stands again. Its blocks did nothing but print.
    pub(crate) fn again_group(&self, number: usize) {
        self.state.borrow_mut().printed.push(PrintedBlock::KeptGroup(number));
    }

    /// The object whose block is being printed.
    pub(crate) fn owner(&self) -> Option<Arc<ObjectRef>> {
        self.state.borrow().owners.last().cloned()
    }

    /// Remembers a warning. Of many in one block the first are told, and how many there are more.
    pub fn warn(&self, warning: Diagnostic) {
        let state = &mut *self.state.borrow_mut();
        let (warned, most) = match state.owners.is_empty() {
            true => (state.warned_outside, MOST_TOLD),
            false => (state.warnings.len() - state.block.said.0, MOST_OF_ONE),
        };
        if state.owners.is_empty() {
            state.warned_outside += 1;
        } else if warned >= most {
            state.block.untold += 1;
        }
        if warned < most {
            self.hold(BufferedBytes { said: warning.message.len() + NOTE, own: 0 });
            state.warnings.push(warning);
        }
    }

    /// Remembers that an object is refused.
    ///
    /// # Errors
    /// When it is the block's own object and was refused so often that nobody reads more: the block need not go on.
    pub fn refuse(&self, refusal: Diagnostic) -> Result<(), String> {
        let state = &mut *self.state.borrow_mut();
        let object = refusal.object.clone();
        if object.is_some() && object.as_ref() == state.owners.first() {
            let faults = state.faults.get(state.block.said.1..).unwrap_or_default();
            if faults.iter().filter(|fault| fault.object == object).count() + 1 >= MOST_OF_ONE {
                return Err("there may be more that is wrong with it, nothing more is looked for".to_owned());
            }
        }
        self.hold(BufferedBytes { said: refusal.message.len() + NOTE, own: 0 });
        state.faults.push(Fault { object, kind: FaultKind::Registered, diagnostic: refusal, reads: None });
        Ok(())
    }

    /// Adds a file to the bundle. Adding it again with the same content is nothing new.
    ///
    /// # Errors
    /// When it was added with another content: names the object that did.
    pub fn add_file(&self, key: FileKey, content: Arc<str>, secret: bool) -> Result<(), String> {
        let object = self.owner();
        let state = &mut *self.state.borrow_mut();
        let blocks = state.owners.first().cloned().into_iter().collect();
        // Blocks that add the same hold one text together.
        let known = state.added.get(&key).filter(|known| known.content == content);
        let content = known.map_or(content, |known| known.content.clone());
        let file = AddedFile { key, content, secret, object, blocks };
        if !state.owners.is_empty() && !state.block.added.iter().any(|added| added.key == file.key) {
            self.hold(BufferedBytes { said: 0, own: file.content.len() + NOTE });
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
        state.block.uncacheable.get_or_insert(Uncacheable::Once);
        self.hold(BufferedBytes { said: key.len() + NOTE, own: 0 });
        state.once.insert(key.clone())
    }

    /// `pattern` compiled, once for these templates.
    ///
    /// # Errors
    /// The fault of it.
    pub fn pattern(&self, pattern: &Arc<str>) -> Result<Arc<regex::Regex>, String> {
        if let Some(known) = self.state.borrow().patterns.get(pattern) {
            return Ok(known.clone());
        }
        let compiled = self.patterns.compiled(pattern)?;
        let patterns = &mut self.state.borrow_mut().patterns;
        if patterns.len() >= PATTERNS {
            patterns.clear();
        }
        patterns.insert(pattern.clone(), compiled.clone());
        Ok(compiled)
    }

    /// The file that `made` makes of an entry of a Secret, once a render.
    ///
    /// # Errors
    /// The failure of `made`.
    pub fn certificate_file(
        &self,
        secret: &Watched,
        entry: &Arc<str>,
        made: impl FnOnce() -> Result<String, String>,
    ) -> Result<Arc<str>, String> {
        let key = (secret.reference().clone(), secret.version(), entry.clone());
        if let Some(known) = self.state.borrow().certificates.get(&key) {
            return known.clone();
        }
        let file = made().map(Arc::from);
        self.state.borrow_mut().certificates.insert(key, file.clone());
        file
    }

    /// The text that `encoded` stands for, by `decode` unless it is the one that was asked for last.
    ///
    /// # Errors
    /// Those of `decode`.
    pub(crate) fn decoded(
        &self,
        encoded: &Arc<str>,
        decode: impl FnOnce(&str) -> Result<String, String>,
    ) -> Result<Arc<str>, String> {
        if let Some((known, decoded)) = &self.state.borrow().last_decoded
            && Arc::ptr_eq(known, encoded)
        {
            return Ok(decoded.clone());
        }
        let decoded: Arc<str> = decode(encoded)?.into();
        self.state.borrow_mut().last_decoded = Some((encoded.clone(), decoded.clone()));
        Ok(decoded)
    }

    /// The outcome of the render, with the `framed` text.
    pub(crate) fn finish(self, framed: FramedText) -> RenderedFile {
        let State { mut outside, printed, block, mut warnings, warned_outside, faults, added, .. } =
            self.state.into_inner();
        outside.extend(block.reads);
        if let Some(more @ 1..) = warned_outside.checked_sub(MOST_TOLD) {
            warnings.push(Diagnostic::warning("render", format!("and {more} more warnings")));
        }
        let added = added.into_values().collect();
        RenderedFile { framed, outside, blocks: printed, warnings, faults, added }
    }

    /// The faults of objects, when the render stopped.
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
