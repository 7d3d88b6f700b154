//! Paths to fields of an object, in the Kubernetes dialect of JSONPath.
//!
//! `metadata.labels['kubernetes.io/service-name']`, `metadata.labels.kubernetes\.io/service-name`, `{.spec.x}` and
//! `$.spec.rules[0].host` are plain paths and walked at pointer speed. Wildcards, filters, slices and `..` go to an
//! RFC 9535 engine. A path only reads or removes; it never builds.

use serde_json::Value;
use serde_json_path::{JsonPath, PathElement};
use std::fmt;

/// A parsed path; equal when written equally.
#[derive(Clone, Debug)]
pub struct FieldPath {
    text: String,
    route: Route,
}

/// Why a path was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("path `{path}`, column {column}: {message}")]
pub struct FieldPathError {
    /// The path as written.
    pub path: String,
    /// From 1, in characters.
    pub column: usize,
    /// What is wrong there and what to write.
    pub message: String,
}

#[derive(Clone, Debug)]
enum Route {
    Plain(Vec<PathStep>),
    Query(JsonPath),
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum PathStep {
    Field(String),
    /// Negative counts from the end.
    Index(i64),
}

impl FieldPath {
    /// Parses a path.
    ///
    /// # Errors
    /// The column of the first character that cannot be, with a sentence.
    pub fn parse(text: &str) -> Result<Self, FieldPathError> {
        let route = PathParser::new(text).parse().map_err(|(column, message)| FieldPathError {
            path: text.to_owned(),
            column,
            message,
        })?;
        Ok(Self { text: text.to_owned(), route })
    }

    /// The path as written.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The first value the path leads to.
    #[must_use]
    pub fn get<'v>(&self, object: &'v Value) -> Option<&'v Value> {
        match &self.route {
            Route::Plain(steps) => walk(object, steps),
            Route::Query(query) => query.query(object).first(),
        }
    }

    /// Every value the path leads to.
    #[must_use]
    pub fn get_all<'v>(&self, object: &'v Value) -> Vec<&'v Value> {
        match &self.route {
            Route::Plain(steps) => walk(object, steps).into_iter().collect(),
            Route::Query(query) => query.query(object).all(),
        }
    }

    /// The first value as text, as an index or a selector compares it: a string is itself, a number or boolean its
    /// JSON text, a list or an object its compact JSON. Missing or `null` is the empty text.
    #[must_use]
    pub fn text(&self, object: &Value) -> String {
        match self.get(object) {
            None | Some(Value::Null) => String::new(),
            Some(Value::String(text)) => text.clone(),
            Some(other) => other.to_string(),
        }
    }

    /// Removes every value the path leads to; whether there was any.
    pub fn remove(&self, object: &mut Value) -> bool {
        match &self.route {
            Route::Plain(steps) => cut(object, steps),
            Route::Query(query) => {
                let mut found: Vec<Vec<PathStep>> =
                    query.query_located(object).iter().map(|node| steps_of(node.location())).collect();
                // From the back, and once each: removing an element of a list moves those behind it.
                found.sort();
                found.dedup();
                found.reverse();
                found.iter().filter(|steps| cut(object, steps)).count() > 0
            }
        }
    }

    /// Whether it lies below `metadata`: all that a store of references can index by.
    #[must_use]
    pub fn is_metadata(&self) -> bool {
        match &self.route {
            Route::Plain(steps) => {
                matches!(steps.first(), Some(PathStep::Field(name)) if name == "metadata") && steps.len() > 1
            }
            Route::Query(query) => query.to_string().starts_with("$['metadata']"),
        }
    }
}

impl PartialEq for FieldPath {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Eq for FieldPath {}

impl fmt::Display for FieldPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

fn walk<'v>(object: &'v Value, steps: &[PathStep]) -> Option<&'v Value> {
    steps.iter().try_fold(object, |at, step| match (at, step) {
        (Value::Object(fields), PathStep::Field(name)) => fields.get(name),
        (Value::Array(items), PathStep::Index(index)) => items.get(position(items.len(), *index)?),
        _ => None,
    })
}

fn cut(object: &mut Value, steps: &[PathStep]) -> bool {
    let Some((last, parents)) = steps.split_last() else { return false };
    let mut at = object;
    for step in parents {
        let next = match (at, step) {
            (Value::Object(fields), PathStep::Field(name)) => fields.get_mut(name),
            (Value::Array(items), PathStep::Index(index)) => {
                position(items.len(), *index).and_then(|place| items.get_mut(place))
            }
            _ => None,
        };
        let Some(next) = next else { return false };
        at = next;
    }
    match (at, last) {
        (Value::Object(fields), PathStep::Field(name)) => fields.remove(name).is_some(),
        (Value::Array(items), PathStep::Index(index)) => match position(items.len(), *index) {
            Some(place) => {
                items.remove(place);
                true
            }
            None => false,
        },
        _ => false,
    }
}

fn position(length: usize, index: i64) -> Option<usize> {
    let place = if index < 0 { i64::try_from(length).ok()? + index } else { index };
    usize::try_from(place).ok().filter(|place| *place < length)
}

fn steps_of(location: &serde_json_path::NormalizedPath<'_>) -> Vec<PathStep> {
    location
        .iter()
        .map(|element| match element {
            PathElement::Name(name) => PathStep::Field((*name).to_owned()),
            PathElement::Index(index) => PathStep::Index(i64::try_from(*index).unwrap_or(i64::MAX)),
        })
        .collect()
}

/// Column from 1, and a sentence.
type PathError = (usize, String);

struct PathParser {
    characters: Vec<char>,
    at: usize,
    steps: Vec<PathStep>,
    /// The same path in RFC 9535's words.
    query: String,
    /// Column of the first piece that needs a query.
    query_from: Option<usize>,
}

impl PathParser {
    fn new(text: &str) -> Self {
        Self {
            characters: text.chars().collect(),
            at: 0,
            steps: Vec::new(),
            query: "$".into(),
            query_from: None,
        }
    }

    fn parse(mut self) -> Result<Route, PathError> {
        self.strip_braces()?;
        if self.peek() == Some('$') {
            self.at += 1;
        } else if !matches!(self.peek(), None | Some('.' | '[')) {
            self.name()?;
        }
        while let Some(character) = self.peek() {
            match character {
                '.' => self.after_dot()?,
                '[' => self.bracket()?,
                other => return Err(self.refuse(format!("`{other}` cannot follow here; write `.` or `[`"))),
            }
        }
        if self.steps.is_empty() && self.query_from.is_none() {
            return Err((1, "the path is empty; write one like `metadata.name`".into()));
        }
        match self.query_from {
            None => Ok(Route::Plain(self.steps)),
            Some(column) => JsonPath::parse(&self.query).map(Route::Query).map_err(|error| {
                (column, format!("this filter or wildcard is not valid JSONPath: {}", error.message()))
            }),
        }
    }

    /// `{.spec.x}`, as kubectl writes paths.
    fn strip_braces(&mut self) -> Result<(), PathError> {
        if self.peek() != Some('{') {
            return Ok(());
        }
        if self.characters.pop() != Some('}') {
            return Err((self.characters.len() + 1, "the closing `}` is missing".into()));
        }
        self.at = 1;
        Ok(())
    }

    fn after_dot(&mut self) -> Result<(), PathError> {
        self.at += 1;
        match self.peek() {
            Some('*') => {
                self.needs_query(self.at);
                self.at += 1;
                self.query.push_str("[*]");
                Ok(())
            }
            Some('.') => {
                self.needs_query(self.at);
                self.at += 1;
                self.query.push_str("..");
                match self.peek() {
                    Some('*') => {
                        self.at += 1;
                        self.query.push('*');
                        Ok(())
                    }
                    Some('[') => self.bracket(),
                    _ => self.name(),
                }
            }
            // `.['x']` is what people write; the dot is idle.
            Some('[') => self.bracket(),
            _ => self.name(),
        }
    }

    /// A bare name; `\` takes the next character literally.
    fn name(&mut self) -> Result<(), PathError> {
        let mut name = String::new();
        while let Some(character) = self.peek() {
            match character {
                '.' | '[' => break,
                '\\' => {
                    self.at += 1;
                    let Some(escaped) = self.peek() else {
                        return Err(
                            self.refuse("`\\` must be followed by the character it stands for".into())
                        );
                    };
                    name.push(escaped);
                }
                ']' | '{' | '}' | '\'' | '"' | ' ' | '\t' | '(' | ')' | '*' | '?' | ',' => {
                    return Err(self.refuse(format!(
                        "`{character}` cannot stand in a bare name; write the name as `['…']`"
                    )));
                }
                other => name.push(other),
            }
            self.at += 1;
        }
        if name.is_empty() {
            return Err(self.refuse("a field name is missing here".into()));
        }
        self.field(name);
        Ok(())
    }

    fn bracket(&mut self) -> Result<(), PathError> {
        let open = self.at;
        let close = self.closing_bracket(open)?;
        let inside: String = self.characters.get(open + 1..close).unwrap_or_default().iter().collect();
        let content = inside.trim();
        self.at = close + 1;
        if content.is_empty() {
            return Err((
                open + 2,
                "an index, a quoted name or a filter is missing between `[` and `]`".into(),
            ));
        }
        if let Ok(index) = content.parse::<i64>() {
            self.query.push_str(&format!("[{index}]"));
            self.steps.push(PathStep::Index(index));
        } else if let Some(name) = quoted(content) {
            self.field(name);
        } else if content == "*" || content.starts_with('?') || content.contains([':', ',']) {
            self.needs_query(open);
            self.query.push_str(&format!("[{content}]"));
        } else {
            return Err((
                open + 2,
                format!("`{content}` is neither an index nor quoted; write `['{content}']`"),
            ));
        }
        Ok(())
    }

    /// The `]` that closes the `[` at `open`, not counting those within quotes and inner brackets.
    fn closing_bracket(&self, open: usize) -> Result<usize, PathError> {
        let (mut depth, mut quote) = (0_usize, None);
        let mut place = open;
        while let Some(character) = self.characters.get(place) {
            match (quote, character) {
                (Some(_), '\\') => place += 1,
                (Some(mark), other) if mark == *other => quote = None,
                (Some(_), _) => {}
                (None, '\'' | '"') => quote = Some(*character),
                (None, '[') => depth += 1,
                (None, ']') if depth == 1 => return Ok(place),
                (None, ']') => depth -= 1,
                (None, _) => {}
            }
            place += 1;
        }
        let missing = quote.map_or("`]` that closes this `[`".to_owned(), |mark| format!("closing {mark}"));
        Err((open + 1, format!("the {missing} is missing")))
    }

    fn field(&mut self, name: String) {
        let escaped = name.replace('\\', "\\\\").replace('\'', "\\'");
        self.query.push_str(&format!("['{escaped}']"));
        self.steps.push(PathStep::Field(name));
    }

    fn needs_query(&mut self, at: usize) {
        self.query_from.get_or_insert(at + 1);
    }

    fn peek(&self) -> Option<char> {
        self.characters.get(self.at).copied()
    }

    fn refuse(&self, message: String) -> PathError {
        (self.at + 1, message)
    }
}

/// The text between equal quotes that end where the content ends; `\` escapes.
fn quoted(content: &str) -> Option<String> {
    let mark = content.chars().next().filter(|mark| matches!(mark, '\'' | '"'))?;
    let mut name = String::new();
    let mut characters = content.chars().skip(1);
    while let Some(character) = characters.next() {
        match character {
            '\\' => name.push(characters.next()?),
            end if end == mark => return characters.next().is_none().then_some(name),
            other => name.push(other),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn slice() -> Value {
        json!({
            "metadata": {
                "name": "shop-1", "namespace": "a",
                "labels": {"kubernetes.io/service-name": "shop", "it's": "quoted"}
            },
            "ports": [{"name": "http", "port": 80}, {"name": "https", "port": 443}],
            "ready": true
        })
    }

    fn text(path: &str) -> String {
        FieldPath::parse(path).unwrap().text(&slice())
    }

    #[test]
    fn every_spelling_of_a_plain_path_leads_to_the_field() {
        for path in
            ["metadata.name", ".metadata.name", "$.metadata.name", "{.metadata.name}", "metadata['name']"]
        {
            assert_eq!(text(path), "shop-1", "{path}");
        }
        for path in [
            "metadata.labels['kubernetes.io/service-name']",
            "metadata.labels[\"kubernetes.io/service-name\"]",
            "metadata.labels.['kubernetes.io/service-name']",
            r"metadata.labels.kubernetes\.io/service-name",
            r"{.metadata.labels.kubernetes\.io/service-name}",
        ] {
            assert_eq!(text(path), "shop", "{path}");
        }
        assert_eq!(text(r"metadata.labels['it\'s']"), "quoted");
    }

    #[test]
    fn lists_are_reached_by_index_from_either_end() {
        assert_eq!((text("ports[1].name"), text("ports[-1].name")), ("https".into(), "https".into()));
        assert_eq!(text("ports[2].name"), "");
    }

    #[test]
    fn filters_wildcards_and_descent_work_in_the_kubernetes_dialect() {
        assert_eq!(text("ports[?(@.name=='https')].port"), "443");
        assert_eq!(text(r#"{.ports[?(@.name=="http")].port}"#), "80");
        assert_eq!(text("ports[*].name"), "http");
        assert_eq!(text(r"metadata.labels.*"), "quoted");
        assert_eq!(text("..port"), "80");
        assert_eq!(FieldPath::parse("ports[*].port").unwrap().get_all(&slice()), [&json!(80), &json!(443)]);
    }

    #[test]
    fn other_scalars_are_their_text_and_what_is_missing_is_empty() {
        assert_eq!(
            (text("ports[0].port"), text("ready"), text("metadata.uid")),
            ("80".into(), "true".into(), "".into())
        );
    }

    #[test]
    fn removing_leaves_everything_else() {
        let mut object = slice();
        assert!(
            FieldPath::parse("metadata.labels['kubernetes.io/service-name']").unwrap().remove(&mut object)
        );
        assert_eq!(object["metadata"]["labels"], json!({"it's": "quoted"}));
        assert!(!FieldPath::parse("spec.nothing[3]").unwrap().remove(&mut object));
        assert!(FieldPath::parse("ports[*]").unwrap().remove(&mut object));
        assert_eq!(object["ports"], json!([]));
    }

    #[test]
    fn what_is_found_twice_or_out_of_order_is_removed_once() {
        for (path, rest) in [("a[0,0]", "[2,3]"), ("a[1,0]", "[3]"), ("a[::-1]", "[]"), ("..[0,1]", "[3]")] {
            let mut object = json!({"a": [1, 2, 3]});
            assert!(FieldPath::parse(path).unwrap().remove(&mut object));
            assert_eq!(object["a"].to_string(), rest, "{path}");
        }
    }

    #[test]
    fn a_bad_path_is_refused_at_its_column() {
        for (path, column, part) in [
            ("", 1, "empty"),
            ("metadata..", 11, "field name is missing"),
            ("metadata.", 10, "field name is missing"),
            ("metadata.labels['x", 16, "closing '"),
            ("metadata.labels[x]", 17, "['x']"),
            ("ports[]", 7, "between"),
            ("{.metadata.name", 15, "closing `}`"),
            ("ports[?(@.name==)]", 6, "JSONPath"),
            ("meta data", 5, "bare name"),
            ("a]b", 2, "bare name"),
            ("ports[0]x", 9, "cannot follow"),
        ] {
            let error = FieldPath::parse(path).unwrap_err();
            assert_eq!(error.column, column, "{path}: {error}");
            assert!(error.message.contains(part), "{path}: {error}");
        }
    }

    #[test]
    fn only_paths_below_metadata_are_metadata() {
        assert!(FieldPath::parse("{.metadata.labels['a']}").unwrap().is_metadata());
        assert!(FieldPath::parse("metadata.labels.*").unwrap().is_metadata());
        assert!(!FieldPath::parse("spec.metadata.x").unwrap().is_metadata());
        assert!(!FieldPath::parse("metadata").unwrap().is_metadata());
    }
}
