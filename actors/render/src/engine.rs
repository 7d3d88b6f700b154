//! What templates are to the rest of HAPTIC, whatever languages they are written in.
//!
//! A compiled template prints *marked* text (see [`crate::marks`]); it never quotes anything for HAProxy, which is the
//! settling pass's work.

use crate::{
    block_cache::{BlockCache, PrintedBlock},
    faults::Fault,
    framing::FramedText,
    program::Program,
    value::Value,
};
pub use crate::{captured::Uncacheable, language::Language};
use haptic_model::{
    ActiveConfig, Diagnostic, FileKey, FileKind, Fleet, HAProxyTemplateConfigSpec, ObjectRef, Snapshots,
    crd::LimitsSpec, store::Key,
};
use std::{collections::BTreeSet, sync::Arc, time::Duration};

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
        limits: &RenderLimits,
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
        limits: &RenderLimits,
        recall: Option<&BlockCache<'_>>,
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
    pub why: Uncacheable,
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
    /// What it is written in.
    pub language: Language,
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
    /// Of Jinja2: the line end behind a tag goes with it.
    pub trim_blocks: bool,
    /// Of Jinja2: white space before a tag that stands first in its line goes with it.
    pub lstrip_blocks: bool,
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
pub struct RenderLimits {
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
    pub marked: FramedText,
    /// What was read outside of all objects' blocks.
    pub outside: Vec<Read>,
    /// The outermost objects' blocks in order, when a [`BlockCache`] was given.
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

impl Default for RenderLimits {
    /// 20 s, 32 partials deep, and as many bytes as the configuration says.
    fn default() -> Self {
        let most = usize::MAX;
        Self { time: Duration::from_secs(20), output: most, block: most, values: most, depth: 32 }
    }
}

impl RenderLimits {
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
        let mut sources = Vec::new();
        if let Some(config) = &spec.haproxy_config {
            let role = Role::File(FileKey::config());
            sources.push((
                "haproxyConfig",
                "haproxyConfig".to_owned(),
                role,
                config.engine.as_deref(),
                &config.template,
            ));
        }
        for (name, snippet) in &spec.template_snippets {
            let field = format!("templateSnippets.{name}");
            sources.push((name.as_str(), field, Role::Snippet, snippet.engine.as_deref(), &snippet.template));
        }
        let mut files = |field: &str, kind, name, engine, template| {
            let role = Role::File(FileKey::new(kind, name));
            sources.push((name, format!("{field}.{name}"), role, engine, template));
        };
        for (name, map) in &spec.maps {
            files("maps", FileKind::Map, name, map.engine.as_deref(), &map.template);
        }
        for (name, file) in &spec.files {
            files("files", FileKind::General, name, file.engine.as_deref(), &file.template);
        }
        for (name, certificate) in &spec.ssl_certificates {
            files(
                "sslCertificates",
                FileKind::Certificate,
                name,
                certificate.engine.as_deref(),
                &certificate.template,
            );
        }
        for (name, list) in &spec.crt_lists {
            files("crtLists", FileKind::CrtList, name, list.engine.as_deref(), &list.template);
        }
        let settings = &spec.templating_settings;
        let of_all = settings.engine.as_deref().and_then(Language::named);
        let untold = sources.iter().filter(|(.., engine, _)| engine.is_none());
        let by_others = Language::told_by(untold.map(|(.., source)| source.as_str()));
        let template = |(name, field, role, engine, source): (&str, String, Role, Option<&str>, &String)| {
            let own = || Language::told_by(std::iter::once(source.as_str()));
            let language = engine.and_then(Language::named).or(of_all).or_else(own).or(by_others);
            Template {
                name: name.into(),
                field: format!("{field}.template"),
                role,
                language: language.unwrap_or(Language::Handlebars),
                source: source.as_str().into(),
            }
        };
        Self {
            all: sources.into_iter().map(template).collect(),
            allow_raw_values: settings.allow_raw_values,
            trim_blocks: settings.trim_blocks,
            lstrip_blocks: settings.lstrip_blocks,
        }
    }

    /// The files that these templates print.
    pub fn files(&self) -> impl Iterator<Item = &FileKey> {
        self.all.iter().filter_map(|t| match &t.role {
            Role::File(key) => Some(key),
            Role::Snippet => None,
        })
    }
}

/// The templates of `spec`, ready to render.
///
/// # Errors
/// Everything that is wrong with them, each with template, line and column.
pub fn compile(spec: &HAProxyTemplateConfigSpec) -> Result<Arc<dyn Compiled>, Vec<Diagnostic>> {
    Ok(Arc::new(Program::compile(&Templates::of(spec))?))
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
