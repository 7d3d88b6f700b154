//! Edits of annotations in a YAML file that leave every other line as it is: order, comments, quotes.
//!
//! The parser says where annotations stand; lines are replaced. What stands otherwise than one annotation a line is refused.

use granit_parser::{Event, Marker, Parser, ScalarStyle, ScanError, Span, StructureStyle};
use serde_json::{Map, Value};
use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Range,
};

/// Deeper files are refused.
const DEEPEST: usize = 100;

/// An object in a file.
#[derive(Clone, Debug)]
pub(super) struct ManifestInFile {
    /// The object; all scalars are texts.
    pub(super) value: Value,
    /// The lines of its annotations, or why they cannot be edited; none where it has none.
    pub(super) annotations: Result<Option<AnnotationLines>, String>,
    /// Whether it is one of a list.
    pub(super) is_item: bool,
}

/// Where annotations stand.
#[derive(Clone, Debug)]
pub(super) struct AnnotationLines {
    /// The line with the name `annotations`, from 0.
    head: usize,
    entries: Vec<AnnotationEntry>,
}

#[derive(Clone, Debug)]
struct AnnotationEntry {
    key: String,
    column: usize,
    lines: Range<usize>,
    /// A comment behind the value.
    comment: Option<String>,
}

/// What is to become of the annotations of an object.
#[derive(Debug, Default)]
pub(super) struct AnnotationEdit {
    pub(super) removed: BTreeSet<String>,
    pub(super) added: BTreeMap<String, String>,
    /// What is said above those that stay.
    pub(super) comments: BTreeMap<String, String>,
}

enum YamlNode {
    Mapping {
        is_flow: bool,
        entries: Vec<YamlEntry>,
    },
    Sequence(Vec<YamlNode>),
    Scalar {
        text: String,
        /// Whether it stands in lines of its own, behind `|` or `>`.
        is_block: bool,
    },
    Alias,
}

struct YamlEntry {
    key: String,
    /// Line from 0, and column.
    start: (usize, usize),
    /// Behind the value: line from 0, and column.
    end: (usize, usize),
    value: YamlNode,
}

/// The objects of a file; those of lists, too.
///
/// # Errors
/// A sentence with the line at which it is no YAML.
pub(super) fn manifests(text: &str) -> Result<Vec<ManifestInFile>, String> {
    let mut events = YamlEvents(Box::new(Parser::new_from_str(text)));
    let (mut all, lines) = (Vec::new(), lines(text));
    while let Some((event, _)) = events.next()? {
        if matches!(event, Event::DocumentStart(..)) {
            let first = events.must()?;
            let root = events.node(first, 0)?.0;
            collect(&root, &lines, false, &mut all);
        }
    }
    Ok(all)
}

/// How many documents there are; a line `...` ends one as well.
///
/// # Errors
/// As [`manifests`].
pub(super) fn document_count(text: &str) -> Result<usize, String> {
    let mut events = YamlEvents(Box::new(Parser::new_from_str(text)));
    let mut count = 0;
    while let Some((event, _)) = events.next()? {
        count += usize::from(matches!(event, Event::DocumentStart(..)));
    }
    Ok(count)
}

fn lines(text: &str) -> Vec<&str> {
    text.split_inclusive('\n').collect()
}

/// The comments of a file, without what else stands in their lines.
///
/// # Errors
/// As [`manifests`].
pub(super) fn comments(text: &str) -> Result<Vec<String>, String> {
    let mut all = Vec::new();
    for event in Parser::new_from_str(text) {
        let (event, _) = event.map_err(|error| format!("it is no YAML: {error}"))?;
        if let Event::Comment(text, _) = event {
            all.push(format!("#{}", text.trim_end()));
        }
    }
    Ok(all)
}

fn collect(node: &YamlNode, lines: &[&str], is_item: bool, all: &mut Vec<ManifestInFile>) {
    let YamlNode::Mapping { entries, .. } = node else { return };
    if let Some(YamlNode::Sequence(items)) = field(entries, "items") {
        items.iter().for_each(|item| collect(item, lines, true, all));
        return;
    }
    all.push(ManifestInFile { value: value(node), annotations: annotations(entries, lines), is_item });
}

fn field<'e>(entries: &'e [YamlEntry], key: &str) -> Option<&'e YamlNode> {
    entries.iter().find(|entry| entry.key == key).map(|entry| &entry.value)
}

fn annotations(entries: &[YamlEntry], lines: &[&str]) -> Result<Option<AnnotationLines>, String> {
    let own_lines = "write each of them in a line of its own";
    let metadata = match field(entries, "metadata") {
        Some(YamlNode::Mapping { entries, .. }) => entries,
        Some(YamlNode::Alias) => {
            return Err("its metadata is an alias of other lines: write it out".to_owned());
        }
        _ => return Ok(None),
    };
    let Some(annotations) = metadata.iter().find(|entry| entry.key == "annotations") else { return Ok(None) };
    let all = match &annotations.value {
        YamlNode::Mapping { is_flow: true, entries } if entries.is_empty() => return Ok(None),
        YamlNode::Mapping { is_flow: true, .. } => {
            return Err(format!("its annotations stand between braces: {own_lines}"));
        }
        YamlNode::Mapping { entries, .. } => entries,
        YamlNode::Alias => {
            return Err("its annotations are an alias of other lines: write them out".to_owned());
        }
        _ => return Ok(None),
    };
    let mut entries = Vec::new();
    for (at, entry) in all.iter().enumerate() {
        let (line, column) = entry.start;
        if !matches!(entry.value, YamlNode::Scalar { .. }) {
            return Err(format!("its annotation {} is no text", entry.key));
        }
        let before: String =
            lines.get(line).map(|line| line.chars().take(column).collect()).unwrap_or_default();
        if !before.trim().is_empty() {
            return Err(format!("something stands in front of its annotation {}: {own_lines}", entry.key));
        }
        let next = all.get(at + 1).map_or(lines.len(), |next| next.start.0);
        let (end, comment) = end_of(entry, next, lines);
        entries.push(AnnotationEntry { key: entry.key.clone(), column, lines: line..end, comment });
    }
    Ok(Some(AnnotationLines { head: annotations.start.0, entries }))
}

/// The line behind an entry, which ends before the line `next`, and a comment behind its value.
fn end_of(entry: &YamlEntry, next: usize, lines: &[&str]) -> (usize, Option<String>) {
    let (start, column) = entry.start;
    let (line, at) = entry.end;
    let is_block = matches!(entry.value, YamlNode::Scalar { is_block: true, .. });
    if is_block || line >= next || at == 0 {
        // Lines of a text are farther in than its key; the parser says where the next thing begins, or near to it.
        let mut end = (line + 1).min(next).max(start + 1);
        let is_of_next = |text: &&str| {
            let indent = text.len() - text.trim_start_matches(' ').len();
            text.trim().is_empty() || indent <= column
        };
        while end > start + 1 && lines.get(end - 1).is_none_or(is_of_next) {
            end -= 1;
        }
        return (end, None);
    }
    let behind: String = lines.get(line).map(|line| line.chars().skip(at).collect()).unwrap_or_default();
    let comment = behind.trim();
    (line + 1, comment.starts_with('#').then(|| comment.to_owned()))
}

fn value(node: &YamlNode) -> Value {
    match node {
        YamlNode::Mapping { entries, .. } => Value::Object(
            entries.iter().map(|entry| (entry.key.clone(), value(&entry.value))).collect::<Map<_, _>>(),
        ),
        YamlNode::Sequence(items) => Value::Array(items.iter().map(value).collect()),
        YamlNode::Scalar { text, .. } => Value::String(text.clone()),
        YamlNode::Alias => Value::Null,
    }
}

/// The file with these edits, of objects in its order.
pub(super) fn edited(text: &str, edits: &[(&AnnotationLines, &AnnotationEdit)]) -> String {
    let lines = lines(text);
    let mut instead: BTreeMap<usize, String> = BTreeMap::new();
    let mut gone: BTreeSet<usize> = BTreeSet::new();
    for (places, edit) in edits {
        let mut added = Some(&edit.added);
        let is_empty =
            edit.added.is_empty() && places.entries.iter().all(|entry| edit.removed.contains(&entry.key));
        if is_empty {
            gone.insert(places.head);
        }
        for entry in &places.entries {
            let first = lines.get(entry.lines.start).copied().unwrap_or_default();
            let end = if first.ends_with("\r\n") { "\r\n" } else { "\n" };
            let indent = " ".repeat(entry.column);
            let mut new = String::new();
            if edit.removed.contains(&entry.key) {
                gone.extend(entry.lines.clone());
                entry.comment.iter().for_each(|comment| new += &format!("{indent}{comment}{end}"));
                for (key, text) in added.take().into_iter().flatten() {
                    new += &format!("{indent}{key}: {}{end}", Value::from(text.as_str()));
                }
            } else if let Some(sentence) = edit.comments.get(&entry.key) {
                let comment = format!("# {}", sentence.split_whitespace().collect::<Vec<_>>().join(" "));
                let before = entry.lines.start.checked_sub(1).and_then(|line| lines.get(line));
                if before.is_none_or(|before| before.trim() != comment) {
                    new += &format!("{indent}{comment}{end}");
                }
            }
            if !new.is_empty() {
                instead.insert(entry.lines.start, new);
            }
        }
    }
    let mut all = String::new();
    for (number, line) in lines.iter().enumerate() {
        all.push_str(instead.get(&number).map_or("", String::as_str));
        if !gone.contains(&number) {
            all.push_str(line);
        }
    }
    all
}

type YamlEvent<'t> = (Event<'t>, Span);

/// The events of a file, one after the other.
struct YamlEvents<'t>(Box<dyn Iterator<Item = Result<YamlEvent<'t>, ScanError>> + 't>);

impl<'t> YamlEvents<'t> {
    /// The next one; comments are none of the object's.
    fn next(&mut self) -> Result<Option<YamlEvent<'t>>, String> {
        loop {
            let next = self.0.next().transpose().map_err(|error| format!("it is no YAML: {error}"))?;
            if next.as_ref().is_none_or(|(event, _)| is_of_objects(event)) {
                return Ok(next);
            }
        }
    }

    fn must(&mut self) -> Result<YamlEvent<'t>, String> {
        self.next()?.ok_or_else(|| "it ends in the middle of an object".to_owned())
    }

    /// A value that begins with this event, and where it ends.
    fn node(
        &mut self,
        (event, span): YamlEvent<'t>,
        depth: usize,
    ) -> Result<(YamlNode, (usize, usize)), String> {
        if depth > DEEPEST {
            return Err(format!("line {} is in more than {DEEPEST} others", span.start.line()));
        }
        match event {
            Event::Scalar(text, style, ..) => {
                let is_block = matches!(style, ScalarStyle::Literal | ScalarStyle::Folded);
                Ok((YamlNode::Scalar { text: text.into_owned(), is_block }, place(&span.end)))
            }
            Event::MappingStart(style, ..) => self.mapping(style == StructureStyle::Flow, depth),
            Event::SequenceStart(..) => {
                let mut items = Vec::new();
                loop {
                    let (event, span) = self.must()?;
                    if matches!(event, Event::SequenceEnd) {
                        return Ok((YamlNode::Sequence(items), place(&span.end)));
                    }
                    items.push(self.node((event, span), depth + 1)?.0);
                }
            }
            _ => Ok((YamlNode::Alias, place(&span.end))),
        }
    }

    fn mapping(&mut self, is_flow: bool, depth: usize) -> Result<(YamlNode, (usize, usize)), String> {
        let mut entries = Vec::new();
        loop {
            let (event, span) = self.must()?;
            let key = match event {
                Event::MappingEnd => return Ok((YamlNode::Mapping { is_flow, entries }, place(&span.end))),
                Event::Scalar(text, ..) => text.into_owned(),
                _ => return Err(format!("the key in line {} is no text", span.start.line())),
            };
            let first = self.must()?;
            let (value, end) = self.node(first, depth + 1)?;
            entries.push(YamlEntry { key, start: place(&span.start), end, value });
        }
    }
}

fn is_of_objects(event: &Event<'_>) -> bool {
    matches!(
        event,
        Event::DocumentStart(..)
            | Event::Scalar(..)
            | Event::Alias(..)
            | Event::SequenceStart(..)
            | Event::SequenceEnd
            | Event::MappingStart(..)
            | Event::MappingEnd
    )
}

/// Line and column from 0.
fn place(marker: &Marker) -> (usize, usize) {
    (marker.line().saturating_sub(1), marker.col())
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
# The shop.
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata:
  name: a   # short
  annotations:
    # Why the first is there.
    x/first: \"1\"  # seconds
    x/second: |
      # no comment
      more

    # Why the third is there.
    x/third: 'it''s'
    other: stays
spec: {rules: []}
---
kind: List
items:
- kind: Service
  metadata:
    annotations:
      x/first: a
    name: s
";

    fn edit(removed: &[&str], added: &[(&str, &str)], comments: &[(&str, &str)]) -> AnnotationEdit {
        let pairs =
            |all: &[(&str, &str)]| all.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect();
        AnnotationEdit {
            removed: removed.iter().map(|key| (*key).to_owned()).collect(),
            added: pairs(added),
            comments: pairs(comments),
        }
    }

    fn done(text: &str, edits: &[AnnotationEdit]) -> String {
        let all = manifests(text).unwrap();
        let places: Vec<AnnotationLines> =
            all.into_iter().filter_map(|one| one.annotations.unwrap()).collect();
        let edits: Vec<_> = places.iter().zip(edits).collect();
        edited(text, &edits)
    }

    #[test]
    fn other_lines_stay_as_they_are() {
        let first = edit(
            &["x/first", "x/second"],
            &[("own/a", "1s"), ("own/b", "two\nlines: \"x\"")],
            &[("x/third", "it has\nno effect")],
        );
        let text = done(TEXT, &[first, edit(&["x/first"], &[], &[])]);
        let wanted = "\
# The shop.
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata:
  name: a   # short
  annotations:
    # Why the first is there.
    # seconds
    own/a: \"1s\"
    own/b: \"two\\nlines: \\\"x\\\"\"

    # Why the third is there.
    # it has no effect
    x/third: 'it''s'
    other: stays
spec: {rules: []}
---
kind: List
items:
- kind: Service
  metadata:
    name: s
";
        assert_eq!(text, wanted);
        let again = edit(&[], &[], &[("x/third", "it has\nno effect")]);
        assert_eq!(done(&text, &[again]), text, "what is said once is not said again");
        let values = manifests(&text).unwrap();
        assert_eq!(values[0].value["metadata"]["annotations"]["own/b"], "two\nlines: \"x\"");
        assert_eq!(values.len(), 2);
    }

    #[test]
    fn windows_lines_stay_so() {
        let text = "kind: Ingress\r\nmetadata:\r\n  annotations:\r\n    a: b\r\n    c: d\r\n";
        let wanted = "kind: Ingress\r\nmetadata:\r\n  annotations:\r\n    o: \"p\"\r\n    c: d\r\n";
        assert_eq!(done(text, &[edit(&["a"], &[("o", "p")], &[])]), wanted);
    }

    #[test]
    fn what_cannot_be_edited_line_by_line_is_refused() {
        let why = |annotations: &str| {
            let text =
                format!("kind: Ingress\nmetadata:\n  labels: &l {{a: b}}\n  annotations: {annotations}\n");
            manifests(&text).unwrap().remove(0).annotations.unwrap_err()
        };
        assert!(why("{a: b}").contains("between braces"));
        assert!(why("*l").contains("alias"));
        assert!(why("\n    a: [b]").contains("annotation a is no text"));
        assert!(manifests("kind: [").unwrap_err().contains("it is no YAML"));
        assert!(manifests(&"[".repeat(5_000)).is_err());
    }
}
