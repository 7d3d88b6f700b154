//! What is wrong, where, and what to do: the one form in which every stage reports problems to people.

use crate::bundle::FileKey;
use haptic_text::ObjectRef;
use serde::Serialize;
use std::{fmt, sync::Arc};

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Worth knowing; nothing is held back.
    Warning,
    /// The generation or configuration is refused.
    Error,
}

/// A place in a template.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct TemplatePosition {
    /// The template's name.
    pub template: Arc<str>,
    /// From 1.
    pub line: u32,
    /// From 1; 0 when unknown.
    pub column: u32,
}

/// A place in a rendered file.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct FilePosition {
    /// Which file.
    #[serde(serialize_with = "crate::diagnostic::as_text")]
    pub file: FileKey,
    /// From 1.
    pub line: u32,
    /// The line itself.
    pub text: String,
}

/// One problem.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct Diagnostic {
    /// How bad it is.
    pub severity: Severity,
    /// Who found it: `basic`, `template`, `jsonpath`, `tests`, `watch`, `render`, `structure`, `syntax`, `haproxy`, `deploy`.
    pub source: &'static str,
    /// What is wrong, a sentence without a full stop.
    pub message: String,
    /// The field of the configuration or of the object, as a path.
    pub field: Option<String>,
    /// Where in the templates.
    pub template: Option<TemplatePosition>,
    /// Where in the output.
    pub output: Option<FilePosition>,
    /// The object it was printed for.
    #[serde(serialize_with = "crate::diagnostic::as_optional_text")]
    pub object: Option<Arc<ObjectRef>>,
    /// What to do, when that is known.
    pub help: Option<String>,
}

impl Diagnostic {
    /// An error that `source` found.
    #[must_use]
    pub fn error(source: &'static str, message: impl Into<String>) -> Self {
        Self {
            severity: Severity::Error,
            source,
            message: message.into(),
            field: None,
            template: None,
            output: None,
            object: None,
            help: None,
        }
    }

    /// A warning of `source`.
    #[must_use]
    pub fn warning(source: &'static str, message: impl Into<String>) -> Self {
        Self { severity: Severity::Warning, ..Self::error(source, message) }
    }

    /// At this field.
    #[must_use]
    pub fn at_field(mut self, field: impl Into<String>) -> Self {
        self.field = Some(field.into());
        self
    }

    /// At this line of a template.
    #[must_use]
    pub fn at_template(mut self, template: &str, line: u32, column: u32) -> Self {
        self.template = Some(TemplatePosition { template: template.into(), line, column });
        self
    }

    /// At this line of the output.
    #[must_use]
    pub fn at_output(mut self, file: FileKey, line: u32, text: impl Into<String>) -> Self {
        self.output = Some(FilePosition { file, line, text: text.into() });
        self
    }

    /// While this object was printed.
    #[must_use]
    pub fn of_object(mut self, object: Option<Arc<ObjectRef>>) -> Self {
        self.object = object;
        self
    }

    /// With advice.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }
}

impl fmt::Display for Diagnostic {
    /// One paragraph: what, where, and what to do.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.message.trim_end_matches('.'))?;
        if let Some(object) = &self.object {
            write!(f, "; object {object}")?;
        }
        if let Some(field) = &self.field {
            write!(f, "; field {field}")?;
        }
        if let Some(t) = &self.template {
            write!(f, "; template {}:{}", t.template, t.line)?;
            if t.column > 0 {
                write!(f, ":{}", t.column)?;
            }
        }
        if let Some(o) = &self.output {
            write!(f, "; {}:{}", o.file, o.line)?;
            if !o.text.is_empty() {
                write!(f, " `{}`", o.text.trim())?;
            }
        }
        match self.help.as_deref() {
            Some("") | None => Ok(()),
            Some(help) => write!(f, ". {help}"),
        }
    }
}

pub(crate) fn as_text<T: fmt::Display, S: serde::Serializer>(value: &T, s: S) -> Result<S::Ok, S::Error> {
    s.collect_str(value)
}

#[expect(clippy::ref_option, reason = "serde's signature")]
pub(crate) fn as_optional_text<T: fmt::Display, S: serde::Serializer>(
    value: &Option<T>,
    s: S,
) -> Result<S::Ok, S::Error> {
    match value {
        Some(value) => s.collect_str(value),
        None => s.serialize_none(),
    }
}
