//! The documents of a file, and which of them routes can take the place of.

use crate::migrate::convert::{
    edit::{self, ManifestInFile},
    manifest::is_of_kind,
};
use serde_json::Value;

/// The documents of a file, each with the line that begins it.
pub(super) fn documents(text: &str) -> Vec<&str> {
    let (mut all, mut start, mut at) = (Vec::new(), 0, 0);
    for line in text.split_inclusive('\n') {
        let behind = line.strip_prefix("---");
        let is_marker =
            behind.is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', '\t', '\r', '\n']));
        if is_marker && at > start {
            all.extend(text.get(start..at));
            start = at;
        }
        at += line.len();
    }
    all.extend(text.get(start..));
    all
}

/// The line that begins a document; nothing where there is none.
pub(super) fn marker_of(document: &str) -> &str {
    let first = document.split_inclusive('\n').next();
    first.filter(|line| line.starts_with("---")).unwrap_or_default()
}

/// Why no route can take the place of an Ingress in a document.
///
/// # Errors
/// It is no YAML.
pub(super) fn refusal_of(
    document: &str,
    manifests: &[ManifestInFile],
) -> Result<Option<&'static str>, String> {
    if !manifests.iter().any(|one| is_of_kind(&one.value, "Ingress")) {
        return Ok(None);
    }
    if manifests.iter().any(|one| one.is_item) {
        return Ok(Some("it is one of a list: write it as a document of its own"));
    }
    if edit::document_count(document)? > 1 {
        return Ok(Some("something stands behind it: write --- between them"));
    }
    let behind = marker_of(document).trim_start_matches('-').trim();
    let is_free = behind.is_empty() || behind.starts_with('#');
    Ok((!is_free).then_some("it begins in the line with ---: write it below"))
}

/// Whether something of it stands elsewhere in the file.
pub(super) fn has_alias(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(all) => all.iter().any(has_alias),
        Value::Object(all) => all.values().any(has_alias),
        _ => false,
    }
}
