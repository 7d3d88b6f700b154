//! The templates of a configuration: their texts, what each is for, and what it is written in.

use super::language::Language;
use haptic_model::{FileKey, FileKind, HAProxyTemplateConfigSpec};
use std::sync::Arc;

/// The purpose of a template.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    /// Printed into a file.
    File(FileKey),
    /// Included by others.
    Snippet,
}

/// One template's text.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Template {
    /// `haproxyConfig`, or the name it has in the configuration.
    pub name: Arc<str>,
    /// The field of the configuration that holds it: `templateSnippets.backend.template`.
    pub field: String,
    /// The purpose of it.
    pub role: Role,
    /// The language of it.
    pub language: Language,
    /// Its text.
    pub source: Arc<str>,
}

/// All templates of a configuration, and all that compiling them depends on.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
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
