//! The parts of a library as they are written, with their comments: what `haptic library show NAME PART` prints.

use super::{Library, NAMED, TESTS};
use haptic_model::Diagnostic;
use serde_json::{Map, Value};
use std::ops::Range;

/// How much deeper each level of a library stands.
const LEVEL: usize = 2;

/// Something in a library's `spec` that has a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LibraryPart {
    /// `templateSnippets.frontend-10-client`, `extraContext.timeouts`, `haproxyConfig`.
    pub name: String,
    /// What stands there.
    pub value: Value,
    /// The keys that lead there.
    path: Vec<String>,
}

impl LibraryPart {
    fn new(name: String, path: &[&str], value: &Value) -> Self {
        Self { name, value: value.clone(), path: path.iter().map(|&key| key.to_owned()).collect() }
    }

    /// Whether somebody who asks for `name` may mean it: in full, or without the field that it is in.
    #[must_use]
    pub fn is_called(&self, name: &str) -> bool {
        self.name == name || self.own_name() == name
    }

    /// Its name without the field that it is in.
    #[must_use]
    pub fn own_name(&self) -> &str {
        self.path.last().map_or(&*self.name, |own| &**own)
    }
}

impl Library {
    /// Everything in it that can be asked for: fields, and what has a name in one.
    ///
    /// # Errors
    /// As [`Library::spec`].
    pub fn parts(&self) -> Result<Vec<LibraryPart>, Diagnostic> {
        let spec = self.spec()?;
        let mut parts = Vec::new();
        for (field, value) in entries(&spec) {
            parts.push(LibraryPart::new(field.clone(), &[field], value));
            if NAMED.contains(&&**field) && field != TESTS {
                let named = entries(value);
                parts.extend(
                    named.map(|(name, v)| LibraryPart::new(format!("{field}.{name}"), &[field, name], v)),
                );
            }
        }
        let settings = spec.pointer("/templatingSettings/extraContext").map(entries);
        for (name, value) in settings.into_iter().flatten() {
            let path = ["templatingSettings", "extraContext", name];
            parts.push(LibraryPart::new(format!("extraContext.{name}"), &path, value));
        }
        Ok(parts)
    }

    /// A part as it would stand in a configuration of one's own, from `spec:` on; a field that several files have part of, as
    /// a document of each.
    #[must_use]
    pub fn text_of(&self, part: &LibraryPart) -> String {
        self.texts().filter_map(|text| text_in(text, part)).collect::<Vec<_>>().join("---\n")
    }
}

/// A part as one of the files has it.
fn text_in(file: &str, part: &LibraryPart) -> Option<String> {
    let lines: Vec<&str> = file.lines().collect();
    let mut text = "spec:\n".to_owned();
    let mut inside = 0..lines.len();
    for (depth, key) in part.path.iter().enumerate() {
        let indent = (depth + 1) * LEVEL;
        let entry = entry(&lines, inside.clone(), indent, key)?;
        let is_last = depth + 1 == part.path.len();
        let shown = if is_last { entry.with_comments.clone() } else { entry.key..entry.key + 1 };
        for line in lines.get(shown).unwrap_or_default() {
            text.push_str(line);
            text.push('\n');
        }
        inside = entry.key + 1..entry.with_comments.end;
    }
    Some(text)
}

fn entries(value: &Value) -> impl Iterator<Item = (&String, &Value)> {
    value.as_object().into_iter().flat_map(Map::iter)
}

/// The lines of a key and of what belongs to it.
struct KeyLines {
    with_comments: Range<usize>,
    key: usize,
}

/// The entry `key` among the lines `inside`, of which those of its level have this indent.
fn entry(lines: &[&str], inside: Range<usize>, indent: usize, key: &str) -> Option<KeyLines> {
    let is_key = |line: &&str| {
        let own = line.get(indent..).and_then(|own| own.split_once(": ").or_else(|| own.split_once(':')));
        indent_of(line) == indent && own.is_some_and(|(own, _)| own.trim_matches('"') == key)
    };
    let at = inside.clone().find(|&at| lines.get(at).is_some_and(is_key))?;
    let is_comment = |line: &&str| indent_of(line) == indent && line.trim_start().starts_with('#');
    let above = inside.clone().take_while(|&line| line < at).collect::<Vec<_>>();
    let comments = above.into_iter().rev().take_while(|&line| lines.get(line).is_some_and(is_comment));
    let first = comments.last().unwrap_or(at);
    let belongs = |line: &&str| line.trim().is_empty() || indent_of(line) > indent;
    let behind = (at + 1..inside.end).take_while(|&line| lines.get(line).is_some_and(belongs));
    let last = behind.filter(|&line| lines.get(line).is_some_and(|line| !line.trim().is_empty())).last();
    Some(KeyLines { with_comments: first..last.unwrap_or(at) + 1, key: at })
}

fn indent_of(line: &str) -> usize {
    line.len() - line.trim_start_matches(' ').len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::library::LIBRARIES;
    use std::sync::OnceLock;

    #[test]
    fn what_is_shown_of_each_part_is_that_part() {
        for library in &LIBRARIES {
            let parts = library.parts().unwrap();
            assert!(!parts.is_empty(), "{}", library.name);
            for part in parts {
                let text = library.text_of(&part);
                let shown = text.split("\n---\n").fold(Value::Object(Map::new()), |whole, text| {
                    let one: Value = serde_saphyr::from_str(&format!("{text}\n"))
                        .unwrap_or_else(|e| panic!("{e}\n{text}"));
                    crate::library::deep(one, whole)
                });
                let shown = part.path.iter().fold(&shown["spec"], |value, key| &value[key]);
                assert_eq!(*shown, part.value, "{}:\n{text}", part.name);
            }
        }
    }

    #[test]
    fn a_part_has_its_comments_and_nothing_else() {
        let library = Library {
            name: "x",
            summary: "",
            needs: &[],
            text: "spec:\n  maps:\n    # Of a.\n    # More.\n    a.map:\n      template: |\n        # no comment\n\n        x\n\n    # Of b.\n    b.map: {template: b}\n",
            more: &[],
            json: OnceLock::new(),
        };
        let parts = library.parts().unwrap();
        let text = |name: &str| library.text_of(parts.iter().find(|part| part.is_called(name)).unwrap());
        assert_eq!(
            text("a.map"),
            "spec:\n  maps:\n    # Of a.\n    # More.\n    a.map:\n      template: |\n        # no comment\n\n        x\n"
        );
        assert_eq!(text("maps.b.map"), "spec:\n  maps:\n    # Of b.\n    b.map: {template: b}\n");
    }
}
