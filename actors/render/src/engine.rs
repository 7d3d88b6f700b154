//! What a template engine is to the rest of HAPTIC, so that another language can stand beside Handlebars.
//!
//! An engine prints *marked* text (see [`crate::marks`]); it never quotes anything for HAProxy, which is the
//! settling pass's work.

pub use crate::around::Untracked;
use crate::{
    faults::Fault,
    marks::Marked,
    recall::{PrintedBlock, Recall},
    value::Value,
};
use haptic_model::{
    ActiveConfig, Diagnostic, FileKey, FileKind, Fleet, HAProxyTemplateConfigSpec, ObjectRef, Snapshots,
    crd::LimitsSpec, store::Key,
};
use std::{collections::BTreeSet, sync::Arc, time::Duration};

/// Makes a configuration's templates ready to render.
pub trait Engine: Send + Sync {
    /// Compiles all templates.
    ///
    /// # Errors
    /// Everything that is wrong in any of them, each with template, line and column.
    fn compile(&self, templates: &Templates) -> Result<Arc<dyn Compiled>, Vec<Diagnostic>>;
}

/// A configuration's templates, compiled.
pub trait Compiled: Send + Sync + std::fmt::Debug {
    /// The files there are templates for.
    fn files(&self) -> Vec<FileKey>;

    /// Renders one file in full.
    ///
    /// # Errors
    /// The first failure of no object, with template, line and column, behind those of objects until then.
    fn render(
        &self,
        file: &FileKey,
        input: &RenderInput<'_>,
        limits: &Limits,
    ) -> Result<RenderedFile, Vec<Fault>> {
        self.render_again(file, input, limits, None)
    }

    /// Renders one file, with the blocks that `recall` knows and whose objects, reads and surroundings are the same.
    /// The result settles to the same bytes and origins as that of [`Self::render`].
    ///
    /// # Errors
    /// As [`Self::render`].
    fn render_again(
        &self,
        file: &FileKey,
        input: &RenderInput<'_>,
        limits: &Limits,
        recall: Option<&Recall<'_>>,
    ) -> Result<RenderedFile, Vec<Fault>>;

    /// Who this is: no other compilation has the same while this one, or a clone of it, is alive.
    fn identity(&self) -> &Arc<()>;

    /// The names of all templates, by number.
    fn templates(&self) -> &[Arc<str>];

    /// Whether any template calls that function.
    fn calls(&self, function: &str) -> bool;

    /// Blocks of objects that may have to be rendered each time, and why.
    fn impure_blocks(&self) -> Vec<ImpureBlock>;
}

/// A block for objects whose output may not be kept from one render to the next.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ImpureBlock {
    /// The template's name.
    pub template: Arc<str>,
    /// Its line, from 1.
    pub line: u32,
    /// Its column, from 1.
    pub column: u32,
    /// Why.
    pub why: Untracked,
}

/// What a template is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Role {
    /// Printed into a file.
    File(FileKey),
    /// Included by others.
    Snippet,
}

/// One template's text.
#[derive(Clone, Debug)]
pub struct Template {
    /// `haproxyConfig`, or the name it has in the configuration.
    pub name: Arc<str>,
    /// The field of the configuration that holds it: `templateSnippets.backend.template`.
    pub field: String,
    /// What it is for.
    pub role: Role,
    /// Its text.
    pub source: Arc<str>,
}

/// All templates of a configuration.
#[derive(Clone, Debug, Default)]
pub struct Templates {
    /// In a fixed order: haproxyConfig, snippets, maps, files, certificates, crt-lists, each by name.
    pub all: Vec<Template>,
    /// Whether `{{{raw}}}` may print watched values.
    pub allow_raw_values: bool,
}

/// What a render reads. The same input gives the same bytes.
#[derive(Clone, Copy, Debug)]
pub struct RenderInput<'a> {
    /// The configuration in force.
    pub config: &'a ActiveConfig,
    /// All stores.
    pub snapshots: &'a Snapshots,
    /// The HAProxy pods.
    pub fleet: &'a Fleet,
    /// The top of every template: extraContext's keys, `extraContext`, `config`, `fleet`.
    pub context: &'a Value,
}

/// What a render may use up.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Longest time for one file. The objects of one namespace have half of it.
    pub time: Duration,
    /// Most bytes of one file, marks included. The objects of one namespace have half of it.
    pub output: usize,
    /// Most bytes of one outermost object's block, marks included.
    pub block: usize,
    /// Most bytes of values that functions make for one outermost object's block, whether they are still needed or not.
    pub values: usize,
    /// Deepest nesting of partials.
    pub depth: usize,
}

/// One rendered file, before settling.
#[derive(Clone, Debug, Default)]
pub struct RenderedFile {
    /// Its marked text.
    pub marked: Marked,
    /// What was read outside of all objects' blocks.
    pub outside: Vec<Read>,
    /// The outermost objects' blocks in order, when a [`Recall`] was given.
    pub blocks: Vec<PrintedBlock>,
    /// What `warn` said.
    pub warnings: Vec<Diagnostic>,
    /// Objects that `register_error` refused, and those whose blocks failed and printed nothing.
    pub faults: Vec<Fault>,
    /// Files that `add_file` added.
    pub added: Vec<AddedFile>,
}

/// A file that a template made of what it read, beside those that have a template of their own.
#[derive(Clone, Debug)]
pub struct AddedFile {
    /// Its kind and name.
    pub key: FileKey,
    /// Its content, all of it a value.
    pub content: Arc<str>,
    /// Whether it is from a Secret.
    pub secret: bool,
    /// The object whose block added it first.
    pub object: Option<Arc<ObjectRef>>,
    /// The objects of all outermost blocks that added it.
    pub blocks: BTreeSet<Arc<ObjectRef>>,
}

impl AddedFile {
    /// Others have added the same.
    pub(crate) fn also_by(&mut self, blocks: &BTreeSet<Arc<ObjectRef>>) {
        self.blocks.extend(blocks.iter().cloned());
    }

    /// Whether both are the same file, whoever else added it.
    pub(crate) fn is(&self, other: &Self) -> bool {
        (&self.key, &self.content, &self.object) == (&other.key, &other.content, &other.object)
    }
}

/// One look into a store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Read {
    /// Which store.
    pub resource: Arc<str>,
    /// Key or key prefix, or namespace and name; empty for the whole store.
    pub key: Key,
}

impl Default for Limits {
    /// 20 s, 32 partials deep, and as many bytes as the configuration says.
    fn default() -> Self {
        let most = usize::MAX;
        Self { time: Duration::from_secs(20), output: most, block: most, values: most, depth: 32 }
    }
}

impl Limits {
    /// The same, but no more than a configuration allows.
    #[must_use]
    pub fn within(self, spec: &LimitsSpec) -> Self {
        let (output, block) = (self.output.min(spec.file_bytes), self.block.min(spec.block_bytes));
        Self { output, block, values: self.values.min(spec.value_bytes), ..self }
    }
}

impl Templates {
    /// The templates of `spec`.
    #[must_use]
    pub fn of(spec: &HAProxyTemplateConfigSpec) -> Self {
        let mut all = Vec::new();
        if let Some(config) = &spec.haproxy_config {
            all.push(file("haproxyConfig", "haproxyConfig", FileKey::config(), &config.template));
        }
        for (name, snippet) in &spec.template_snippets {
            all.push(Template {
                name: name.as_str().into(),
                field: format!("templateSnippets.{name}.template"),
                role: Role::Snippet,
                source: snippet.template.as_str().into(),
            });
        }
        let maps = spec.maps.iter().map(|(n, t)| ("maps", FileKind::Map, n, &t.template));
        let files = spec.files.iter().map(|(n, t)| ("files", FileKind::General, n, &t.template));
        let certificates = spec
            .ssl_certificates
            .iter()
            .map(|(n, t)| ("sslCertificates", FileKind::Certificate, n, &t.template));
        let crt_lists = spec.crt_lists.iter().map(|(n, t)| ("crtLists", FileKind::CrtList, n, &t.template));
        all.extend(maps.chain(files).chain(certificates).chain(crt_lists).map(
            |(field, kind, name, source)| {
                file(name, &format!("{field}.{name}"), FileKey::new(kind, name), source)
            },
        ));
        Self { all, allow_raw_values: spec.templating_settings.allow_raw_values }
    }

    /// The files that these templates print.
    pub fn files(&self) -> impl Iterator<Item = &FileKey> {
        self.all.iter().filter_map(|t| match &t.role {
            Role::File(key) => Some(key),
            Role::Snippet => None,
        })
    }
}

fn file(name: &str, field: &str, key: FileKey, source: &str) -> Template {
    Template {
        name: name.into(),
        field: format!("{field}.template"),
        role: Role::File(key),
        source: source.into(),
    }
}

/// The templates of `spec`, ready to render.
///
/// # Errors
/// Everything that is wrong with them, or that there is no such engine.
pub fn compile(spec: &HAProxyTemplateConfigSpec) -> Result<Arc<dyn Compiled>, Vec<Diagnostic>> {
    let engine = engine(&spec.templating_settings.engine).map_err(|problem| vec![problem])?;
    engine.compile(&Templates::of(spec))
}

/// The templates of one configuration at a time, compiled when it first renders.
#[derive(Debug, Default)]
pub struct CompileCache(Option<(u64, Arc<dyn Compiled>)>);

impl CompileCache {
    /// The templates of `config`; those of the revision asked for before are not compiled again.
    ///
    /// # Errors
    /// As [`compile`]; what was compiled before is kept.
    pub fn of(&mut self, config: &ActiveConfig) -> Result<Arc<dyn Compiled>, Vec<Diagnostic>> {
        if let Some((revision, compiled)) = &self.0
            && *revision == config.revision
        {
            return Ok(compiled.clone());
        }
        let compiled = compile(&config.spec)?;
        self.0 = Some((config.revision, compiled.clone()));
        Ok(compiled)
    }

    /// What was compiled last.
    #[must_use]
    pub fn last(&self) -> Option<&dyn Compiled> {
        self.0.as_ref().map(|(_, compiled)| &**compiled)
    }
}

/// The engine of that name in `templatingSettings.engine`.
///
/// # Errors
/// When there is none.
pub fn engine(name: &str) -> Result<Arc<dyn Engine>, Diagnostic> {
    match name {
        "handlebars" => Ok(Arc::new(crate::handlebars::HandlebarsEngine)),
        other => Err(Diagnostic::error("template", format!("there is no template engine {other:?}"))
            .at_field("templatingSettings.engine")
            .help("The engine is \"handlebars\"")),
    }
}
