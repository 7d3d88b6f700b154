//! Renders a whole bundle: every file, in parallel, encoded, under its path.
//!
//! A pure function of configuration, stores and fleet: the same input gives the same bytes.

mod added;
mod checks;
mod context;
mod difference;
mod file;
pub(crate) mod shares;
mod uses;

use crate::{
    block_cache::{CacheSize, store_lists::StoreLists},
    engine::{Program, rendered::ImpureBlock},
    functions::{check_name, path_of},
    job::RenderJob,
    servers::fleet_services::FleetServices,
};
use added::AddedFiles;
use context::RenderContext;
pub use context::context;
use difference::difference;
use file::{FileMemory, FileResult, Render};
use haptic_attribution::{Fault, Faults};
use haptic_model::{
    ActiveConfig, Bundle, Diagnostic, FileKey, FileKind, Findings, HostHolds, ObjectRef,
    gateway::GatewayVerdicts, store::Read,
};
use haptic_routes::Routes;
use std::{
    collections::{BTreeMap, btree_map::Entry},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
    thread,
    time::{Instant, SystemTime},
};
use uses::FileUses;

/// Room for templates that nest deep; only what is used is taken.
const STACK: usize = 16 << 20;

/// In debug builds one of this many renders is checked against a full one.
const SAMPLED: u64 = 64;

/// A finished render.
#[derive(Clone, Debug)]
pub struct Rendering {
    /// All files.
    pub bundle: Bundle,
    /// The warnings of `warn`.
    pub warnings: Vec<Diagnostic>,
    /// The findings at objects.
    pub findings: Findings,
    /// The verdicts on objects of the Gateway API.
    pub gateway_verdicts: Arc<GatewayVerdicts>,
}

/// Renders bundles one after another, each time only what changed: the result is always that of a full render.
#[derive(Debug, Default)]
pub struct Renderer {
    files: BTreeMap<FileKey, FileMemory>,
    added: AddedFiles,
    lists: Arc<StoreLists>,
    uses: FileUses,
    routes: Routes,
    fleet_services: FleetServices,
    checked: Checked,
    renders: u64,
    forgetful: bool,
    difference: Option<Diagnostic>,
}

/// The renders that are made a second time, in full, and compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Checked {
    /// None.
    Never,
    /// One of 64.
    Sampled,
    /// Each.
    Always,
}

/// Blocks that had to be printed again in the last render whatever had changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UncacheableBlock {
    /// The file that was printed.
    pub file: FileKey,
    /// Where the block is in the templates, and why.
    pub block: ImpureBlock,
    /// For how many objects.
    pub count: usize,
}

/// Renders all files once.
///
/// # Errors
/// Everything that keeps any file from being rendered or encoded, and every object that a template refused.
pub fn render(job: &RenderJob<'_>) -> Result<(Bundle, Vec<Diagnostic>), Vec<Diagnostic>> {
    let rendering = Renderer::checked(Checked::Never).render(job)?;
    let diagnostics = rendering.diagnostics();
    Ok((rendering.bundle, diagnostics))
}

impl Rendering {
    /// Warnings, and of what is found at objects the first few of each namespace, with how much more there is.
    #[must_use]
    pub fn diagnostics(&self) -> Vec<Diagnostic> {
        self.warnings.iter().cloned().chain(self.findings.first_few().diagnostics()).collect()
    }
}

impl Default for Checked {
    /// Sampled in debug builds.
    fn default() -> Self {
        if cfg!(debug_assertions) { Self::Sampled } else { Self::Never }
    }
}

impl Renderer {
    /// A renderer that checks itself so often.
    #[must_use]
    pub fn checked(checked: Checked) -> Self {
        Self { checked, ..Self::default() }
    }

    /// The same, checking itself so often.
    #[must_use]
    pub fn and_checked(self, checked: Checked) -> Self {
        Self { checked, ..self }
    }

    /// A renderer with a fault, for the test that proves that tests find one: it forgets what blocks read.
    #[doc(hidden)]
    #[must_use]
    pub fn forgetful() -> Self {
        Self { checked: Checked::Never, forgetful: true, ..Self::default() }
    }

    /// One that goes on from the last render and shares what is kept of it, checks nothing and has no time.
    #[must_use]
    pub fn fork(&self) -> Self {
        Self {
            files: self.files.clone(),
            added: self.added.clone(),
            // Handles tell their own list when somebody reads them.
            lists: Arc::default(),
            uses: self.uses.clone(),
            routes: self.routes.without_time(),
            fleet_services: self.fleet_services.clone(),
            checked: Checked::Never,
            renders: 0,
            forgetful: self.forgetful,
            difference: None,
        }
    }

    /// Sets the time of the next render, so that what a namespace had is kept for it. Without a time nothing is.
    pub fn set_time(&mut self, now: Instant) {
        self.routes.set_time(now);
    }

    /// Sets the date of the next render, so that it tells of certificates that expire.
    pub fn set_date(&mut self, date: SystemTime) {
        self.routes.set_date(date);
    }

    /// Keeps for namespaces what another renderer kept for them, from the next render on.
    pub fn remember(&mut self, holds: HostHolds) {
        self.routes.remember(holds);
    }

    /// The holds of namespaces, and the holders of what others wait for, as of the last render; `None` before the first.
    #[must_use]
    pub fn holds(&self) -> Option<HostHolds> {
        self.routes.holds()
    }

    /// When another render gives something else though nothing may change until then.
    #[must_use]
    pub fn due(&self) -> Option<Instant> {
        self.routes.due()
    }

    /// As [`render()`]; what did not change since the last render is taken from it, fragments in the same memory.
    ///
    /// # Errors
    /// As [`render()`].
    pub fn render(&mut self, job: &RenderJob<'_>) -> Result<Rendering, Vec<Diagnostic>> {
        self.attempt(job).map_err(Faults::into_diagnostics)
    }

    /// As [`Self::render`], with what is wrong by object: an object at fault does not keep the others' faults from being
    /// found.
    ///
    /// # Errors
    /// Every object at fault, and what is wrong with the templates themselves.
    pub fn attempt(&mut self, job: &RenderJob<'_>) -> Result<Rendering, Faults> {
        let limits = &job.limits.within(&job.config.spec.controller.limits);
        let job = &RenderJob { limits, ..*job };
        let result = self.changed(job);
        self.renders += 1;
        let check = match self.checked {
            Checked::Never => false,
            Checked::Sampled => self.renders.is_multiple_of(SAMPLED),
            Checked::Always => true,
        };
        if !check {
            return result;
        }
        let mut alone = Self { routes: self.routes.emptied(), ..Self::checked(Checked::Never) };
        let full = alone.changed(job);
        let Some(difference) = difference(&result, &full) else { return result };
        tracing::error!(render = self.renders, "{difference}");
        self.difference = Some(difference);
        self.files.clear();
        full
    }

    /// Where the last checked render differed from the full one, told once. There must never be such a place.
    pub fn take_difference(&mut self) -> Option<Diagnostic> {
        self.difference.take()
    }

    fn changed(&mut self, job: &RenderJob<'_>) -> Result<Rendering, Faults> {
        let RenderJob { compiled, config, snapshots, fleet, limits } = *job;
        let paths = paths(config, compiled.files()).map_err(Faults::of_templates)?;
        let context =
            self.context(job).map_err(|e| Faults::of_templates(vec![Diagnostic::error("render", e)]))?;
        let with_routes = ["routes", "userlists", "auth_targets", "class_settings"]
            .iter()
            .any(|name| compiled.calls(name))
            .then(|| self.routes.beside(config, snapshots));
        let snapshots = with_routes.as_ref().unwrap_or(snapshots);
        let snapshots = &self.fleet_services.beside(config, snapshots, fleet);
        let lists = self.lists.clone();
        let render = Render { compiled, config, snapshots, limits, context: &context, lists: &lists };
        self.files.retain(|key, _| paths.contains_key(key));
        for key in paths.keys() {
            self.files.entry(key.clone()).or_default().forgetful = self.forgetful;
        }
        // What a general file is read as is known when haproxy.cfg is.
        let mut results = self.print(&render, &paths, |key| key.kind != FileKind::General);
        let made = results.values().flatten().flatten();
        let added = made.clone().flat_map(|done| &done.added).map(|added| &added.key);
        if paths.keys().chain(added).any(|key| key.kind == FileKind::General) {
            let haproxy_cfg =
                made.filter_map(|done| done.file.as_ref()).find(|file| file.key.kind == FileKind::Config);
            haproxy_cfg.into_iter().for_each(|file| self.uses.advance(&file.text));
        }
        results.append(&mut self.print(&render, &paths, |key| key.kind == FileKind::General));
        lists.end_render(snapshots);
        let (findings, gateway_verdicts) = with_routes
            .as_ref()
            .map(|_| (self.routes.findings(), self.routes.gateway_verdicts()))
            .unwrap_or_default();
        let (bundle, warnings) = assemble(results.into_values(), config, &mut self.added, &self.uses)?;
        Ok(Rendering { bundle, warnings, findings, gateway_verdicts })
    }

    /// Prints some of the files.
    fn print(
        &mut self,
        render: &Render<'_>,
        paths: &BTreeMap<FileKey, String>,
        which: impl Fn(&FileKey) -> bool,
    ) -> BTreeMap<FileKey, FileOutput> {
        let mut results = BTreeMap::new();
        let mut work = Vec::new();
        for (key, file) in self.files.iter_mut().filter(|(key, _)| which(key)) {
            let Some(path) = paths.get(key) else { continue };
            file.read_as(self.uses.reading(key.kind, path));
            match file.unchanged(render, path) {
                Some(done) => drop(results.insert(key.clone(), Some(Ok(done)))),
                None => work.push((key, path, file)),
            }
        }
        let keys: Vec<FileKey> = work.iter().map(|(key, ..)| (*key).clone()).collect();
        let rendered = in_parallel(work, |(key, path, file)| file.render(render, key, path));
        results.extend(keys.into_iter().zip(rendered));
        results
    }

    /// The context of the last render, if it is that of this one, too.
    fn context(&mut self, job: &RenderJob<'_>) -> Result<Arc<RenderContext>, String> {
        let RenderJob { compiled, config, fleet, limits, .. } = *job;
        let mut known = self.files.values().filter_map(FileMemory::context);
        if let Some(context) = known.find(|context| context.is_of(compiled, config, fleet, limits)) {
            return Ok(context.clone());
        }
        // Other templates may list other stores.
        self.lists = Arc::default();
        RenderContext::new(compiled, config, fleet, limits).map(Arc::new)
    }

    /// The reads of the blocks of these objects in the last render, as far as they are kept.
    #[must_use]
    pub fn reads_of<'o>(
        &self,
        objects: impl IntoIterator<Item = &'o Arc<ObjectRef>>,
    ) -> BTreeMap<Arc<ObjectRef>, Vec<Read>> {
        let mut reads = objects.into_iter().map(|object| (object.clone(), Vec::new())).collect();
        self.files.values().for_each(|file| file.reads_of(&mut reads));
        reads
    }

    /// How much is kept for the next render.
    #[must_use]
    pub fn cache(&self) -> CacheSize {
        self.caches().map(|(_, size)| size).fold(CacheSize::default(), CacheSize::and)
    }

    /// The same of each file.
    pub fn caches(&self) -> impl Iterator<Item = (&FileKey, CacheSize)> {
        self.files.iter().map(|(file, memory)| (file, memory.size()))
    }

    /// The blocks of `compiled` templates that the last render could not keep.
    #[must_use]
    pub fn uncacheable(&self, compiled: &Program) -> Vec<UncacheableBlock> {
        let names = compiled.templates();
        let all = self.files.iter().flat_map(|(key, file)| file.uncacheable().map(move |u| (key, u)));
        all.filter_map(|(file, ((template, line, column), why, count))| {
            let template = names.get(usize::from(template))?.clone();
            let block = ImpureBlock { template, line, column, why };
            Some(UncacheableBlock { file: file.clone(), block, count })
        })
        .collect()
    }
}

/// The outcome of a file; none if it was not printed at all.
type FileOutput = Option<Result<FileResult, Vec<Fault>>>;

/// Runs `work` on each item, on as many threads as there are cores; results in the order of the items.
fn in_parallel<T: Send, R: Send>(items: Vec<T>, work: impl Fn(T) -> R + Sync) -> Vec<Option<R>> {
    let workers = thread::available_parallelism().map_or(1, usize::from).min(items.len());
    let slots: Vec<Mutex<(Option<T>, Option<R>)>> =
        items.into_iter().map(|i| Mutex::new((Some(i), None))).collect();
    let next = AtomicUsize::new(0);
    let worker = || {
        while let Some(slot) = slots.get(next.fetch_add(1, Relaxed)) {
            let item = slot.lock().unwrap_or_else(PoisonError::into_inner).0.take();
            let result = item.map(&work);
            slot.lock().unwrap_or_else(PoisonError::into_inner).1 = result;
        }
    };
    thread::scope(|scope| {
        for number in 0..workers {
            let builder = thread::Builder::new().name(format!("render-{number}")).stack_size(STACK);
            if builder.spawn_scoped(scope, worker).is_err() {
                worker();
            }
        }
    });
    slots.into_iter().map(|s| s.into_inner().unwrap_or_else(PoisonError::into_inner).1).collect()
}

fn assemble(
    results: impl Iterator<Item = FileOutput>,
    config_in_force: &ActiveConfig,
    added_files: &mut AddedFiles,
    uses: &FileUses,
) -> Result<(Bundle, Vec<Diagnostic>), Faults> {
    let (mut config, mut files) = (None, Vec::new());
    let (mut warnings, mut problems) = (Vec::new(), Vec::new());
    let of_templates = |problem: Diagnostic| Fault::of_templates(problem);
    let mut added = Vec::new();
    for result in results {
        match result {
            Some(Ok(mut done)) => {
                warnings.append(&mut done.warnings);
                problems.append(&mut done.faults);
                added.append(&mut done.added);
                match done.file {
                    Some(file) if file.key.kind == FileKind::Config => config = Some(file),
                    file => files.extend(file),
                }
            }
            Some(Err(mut errors)) => problems.append(&mut errors),
            None => {
                let bug = "a file was not rendered; this is a bug in HAPTIC";
                problems.push(of_templates(Diagnostic::error("render", bug)));
            }
        }
    }
    match added_files.make(added, &files, config_in_force, uses) {
        Ok(more) => files.extend(more),
        Err(mut refused) => problems.append(&mut refused),
    }
    match config {
        Some(config) if problems.is_empty() => Ok((Bundle::new(config, files), warnings)),
        None if problems.is_empty() => Err(Faults::of_templates(vec![
            Diagnostic::error("render", "there is no template for haproxy.cfg")
                .at_field("haproxyConfig.template")
                .help("Write one, or take it from a library"),
        ])),
        _ => Err(problems.into_iter().collect()),
    }
}

/// The path of every file.
fn paths(config: &ActiveConfig, files: Vec<FileKey>) -> Result<BTreeMap<FileKey, String>, Vec<Diagnostic>> {
    let (mut paths, mut problems) = (BTreeMap::new(), Vec::new());
    let mut taken: BTreeMap<String, FileKey> = BTreeMap::new();
    for key in files {
        let path = match check_name(&key).and_then(|()| path_of(config, &key)).and_then(checked_path) {
            Ok(path) => path,
            Err(message) => {
                problems.push(Diagnostic::error("render", message).at_field(field(&key)));
                continue;
            }
        };
        match taken.entry(path.clone()) {
            Entry::Occupied(other) => problems.push(
                Diagnostic::error("render", format!("{key} and {} would both be {path:?}", other.get()))
                    .at_field(field(&key))
                    .help("Give one of them another name"),
            ),
            Entry::Vacant(free) => {
                free.insert(key.clone());
                paths.insert(key, path);
            }
        }
    }
    if problems.is_empty() { Ok(paths) } else { Err(problems) }
}

/// A path the user gave is relative or absolute, and leads nowhere else.
fn checked_path(path: String) -> Result<String, String> {
    if path.is_empty() || path.contains(char::is_control) || path.split('/').any(|part| part == "..") {
        return Err(format!(
            "{path:?} cannot be the path of a file: it must have no \"..\" and no control characters"
        ));
    }
    Ok(path)
}

fn field(key: &FileKey) -> String {
    match key.kind {
        FileKind::Config => "haproxyConfig".into(),
        FileKind::Map => format!("maps.{}", key.name),
        FileKind::Certificate => format!("sslCertificates.{}", key.name),
        FileKind::CrtList => format!("crtLists.{}", key.name),
        FileKind::General => format!("files.{}", key.name),
    }
}
