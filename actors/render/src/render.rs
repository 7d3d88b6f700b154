//! Renders a whole bundle: every file, in parallel, settled, under its path.
//!
//! A pure function of configuration, stores and fleet: the same input gives the same bytes.

use crate::{
    added::added_files,
    engine::{AddedFile, Compiled, Limits, Reads, RenderInput},
    functions::{check_name, path_of},
    settle::Settler,
    value::Value,
};
use haptic_model::{
    ActiveConfig, Bundle, BundleFile, Diagnostic, FileKey, FileKind, Fleet, Snapshots, Text, text::Fragment,
};
use std::{
    collections::{BTreeMap, btree_map::Entry},
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
    thread,
};

/// Room for templates that nest deep; only what is used is taken.
const STACK: usize = 16 << 20;

/// A finished render.
#[derive(Clone, Debug)]
pub struct Rendering {
    /// All files.
    pub bundle: Bundle,
    /// What `warn` said.
    pub warnings: Vec<Diagnostic>,
    /// What each file read.
    pub reads: BTreeMap<FileKey, Reads>,
}

/// Renders bundles one after another and makes equal fragments of successive ones the same memory.
#[derive(Debug, Default)]
pub struct Renderer {
    settlers: BTreeMap<FileKey, Settler>,
}

struct Done {
    file: BundleFile,
    reads: Reads,
    warnings: Vec<Diagnostic>,
    refused: Vec<Diagnostic>,
    added: Vec<AddedFile>,
}

/// Renders all files once.
///
/// # Errors
/// Everything that keeps any file from being rendered or settled, and every object that a template refused.
pub fn render(
    compiled: &dyn Compiled,
    config: &ActiveConfig,
    snapshots: &Snapshots,
    fleet: &Fleet,
    limits: &Limits,
) -> Result<(Bundle, Vec<Diagnostic>), Vec<Diagnostic>> {
    let rendering = Renderer::default().render(compiled, config, snapshots, fleet, limits)?;
    Ok((rendering.bundle, rendering.warnings))
}

impl Renderer {
    /// As [`render()`], with fragments shared with the bundle before.
    ///
    /// # Errors
    /// As [`render()`].
    pub fn render(
        &mut self,
        compiled: &dyn Compiled,
        config: &ActiveConfig,
        snapshots: &Snapshots,
        fleet: &Fleet,
        limits: &Limits,
    ) -> Result<Rendering, Vec<Diagnostic>> {
        let paths = paths(config, compiled.files())?;
        let context = context(config, fleet).map_err(|e| vec![Diagnostic::error("render", e)])?;
        let input = RenderInput { config, snapshots, context: &context };
        self.settlers.retain(|key, _| paths.contains_key(key));
        for key in paths.keys() {
            self.settlers.entry(key.clone()).or_default();
        }
        let work =
            self.settlers.iter_mut().filter_map(|(key, settler)| Some((key, paths.get(key)?, settler)));
        let results = in_parallel(work.collect(), |(key, path, settler)| {
            one_file(compiled, key, path, settler, &input, limits)
        });
        assemble(results, config)
    }
}

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

fn one_file(
    compiled: &dyn Compiled,
    key: &FileKey,
    path: &str,
    settler: &mut Settler,
    input: &RenderInput<'_>,
    limits: &Limits,
) -> Result<Done, Vec<Diagnostic>> {
    let rendered = compiled.render(key, input, limits).map_err(|d| vec![in_file(d, key)])?;
    let mut text = settler
        .settle(key.kind, &rendered.marked)
        .map_err(|all| all.into_iter().map(|d| in_file(d, key)).collect::<Vec<_>>())?;
    if key.kind == FileKind::Config {
        text = with_final_newline(text);
    }
    Ok(Done {
        file: BundleFile::new(key.clone(), path, text),
        reads: rendered.reads,
        warnings: rendered.warnings,
        refused: rendered.refused,
        added: rendered.added,
    })
}

/// Says which file was being rendered when a snippet failed.
fn in_file(mut diagnostic: Diagnostic, key: &FileKey) -> Diagnostic {
    let own = if key.kind == FileKind::Config { "haproxyConfig" } else { &*key.name };
    if diagnostic.output.is_none() && diagnostic.template.as_ref().is_some_and(|t| *t.template != *own) {
        diagnostic.message = format!("{} (while {key} was rendered)", diagnostic.message);
    }
    diagnostic
}

/// HAProxy refuses a configuration whose last line has no end.
fn with_final_newline(text: Text) -> Text {
    match text.fragments().split_last() {
        Some((last, before)) if !last.as_str().ends_with('\n') => {
            let last = Fragment::new(format!("{}\n", last.as_str()), last.blame().clone());
            Text::new(before.iter().cloned().chain([last]).collect())
        }
        _ => text,
    }
}

fn assemble(
    results: Vec<Option<Result<Done, Vec<Diagnostic>>>>,
    config_in_force: &ActiveConfig,
) -> Result<Rendering, Vec<Diagnostic>> {
    let (mut config, mut files) = (None, Vec::new());
    let (mut warnings, mut problems, mut reads) = (Vec::new(), Vec::new(), BTreeMap::new());
    let mut added = Vec::new();
    for result in results {
        match result {
            Some(Ok(mut done)) => {
                warnings.append(&mut done.warnings);
                problems.append(&mut done.refused);
                added.append(&mut done.added);
                reads.insert(done.file.key.clone(), done.reads);
                if done.file.key.kind == FileKind::Config {
                    config = Some(done.file);
                } else {
                    files.push(done.file);
                }
            }
            Some(Err(mut errors)) => problems.append(&mut errors),
            None => {
                problems.push(Diagnostic::error("render", "a file was not rendered; this is a bug in HAPTIC"))
            }
        }
    }
    match added_files(added, &files, config_in_force) {
        Ok(more) => files.extend(more),
        Err(mut refused) => problems.append(&mut refused),
    }
    match config {
        Some(config) if problems.is_empty() => {
            Ok(Rendering { bundle: Bundle::new(config, files), warnings, reads })
        }
        None if problems.is_empty() => Err(vec![
            Diagnostic::error("render", "there is no template for haproxy.cfg")
                .at_field("haproxyConfig.template")
                .help("Write one, or take it from a library"),
        ]),
        _ => {
            problems.dedup();
            Err(problems)
        }
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

/// The top of every template: extraContext's keys, and `extraContext`, `config`, `fleet`, which they cannot hide.
///
/// # Errors
/// Never in practice: the configuration came from JSON.
pub fn context(config: &ActiveConfig, fleet: &Fleet) -> Result<Value, String> {
    let extra = &config.spec.templating_settings.extra_context;
    let json = |value: serde_json::Result<serde_json::Value>| {
        value.map(|v| Value::from(&v)).map_err(|e| e.to_string())
    };
    let own = [
        ("extraContext", Value::dict(extra.iter().map(|(k, v)| (k.as_str().into(), v.into())))),
        ("config", json(serde_json::to_value(&*config.spec))?),
        ("fleet", json(serde_json::to_value(fleet))?),
    ];
    let keys = extra.iter().map(|(k, v)| (k.as_str().into(), Value::from(v)));
    Ok(Value::dict(keys.chain(own.into_iter().map(|(k, v)| (k.into(), v)))))
}
