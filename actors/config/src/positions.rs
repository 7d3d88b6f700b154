//! Where in a YAML file a field stands, so that a problem can be told with file, line and column. Pure.
//!
//! The file is walked once more, and only when something is wrong with it.

use granit_parser::{Event, Parser, Span};
use haptic_model::Diagnostic;
use std::collections::BTreeMap;

/// Line and column, from 1.
type LineColumn = (usize, usize);

/// Writes `origin:LINE:COLUMN: ` before each problem whose field, or the field around it, is found in `text`.
#[must_use]
pub fn add_places(problems: Vec<Diagnostic>, text: &str, origin: &str) -> Vec<Diagnostic> {
    let places = places(text);
    let placed = |problem: Diagnostic| {
        let place = problem.field.as_deref().and_then(|field| place_of(field, &places));
        let place = place.map_or(origin.to_owned(), |(line, column)| format!("{origin}:{line}:{column}"));
        Diagnostic { message: format!("{place}: {}", problem.message), ..problem }
    };
    problems.into_iter().map(placed).collect()
}

/// The place of `field` in `places`, or of the nearest field around it: a missing one has none.
fn place_of(field: &str, places: &BTreeMap<String, LineColumn>) -> Option<LineColumn> {
    let mut wanted = plain(field);
    loop {
        if let Some(place) = places.get(&wanted).or_else(|| places.get(wanted.strip_prefix("spec.")?)) {
            return Some(*place);
        }
        wanted.truncate(wanted.rfind('.')?);
    }
}

/// One spelling for all: `spec.watched_resources['a'][0]` and `spec.watchedResources.a.0` are the same field.
fn plain(path: &str) -> String {
    let dotted = path.replace("['", ".").replace("']", "").replace('[', ".").replace([']', '_'], "");
    dotted.to_lowercase()
}

/// Every key of every document by its path; of several with one path, the first.
fn places(text: &str) -> BTreeMap<String, LineColumn> {
    let mut walk = ParserPath::default();
    for event in Parser::new_from_str(text) {
        let Ok((event, span)) = event else { break };
        walk.step(&event, &span);
    }
    walk.places
}

/// The way from the document to where the parser is.
#[derive(Default)]
struct ParserPath {
    enclosing: Vec<Enclosing>,
    places: BTreeMap<String, LineColumn>,
}

enum Enclosing {
    Mapping {
        key: Option<String>,
    },
    /// With the name that the element says it has.
    Sequence {
        index: usize,
        name: Option<String>,
    },
}

impl ParserPath {
    fn step(&mut self, event: &Event<'_>, span: &Span) {
        match event {
            Event::MappingStart(..) => {
                self.note(span);
                self.enclosing.push(Enclosing::Mapping { key: None });
            }
            Event::SequenceStart(..) => {
                self.note(span);
                self.enclosing.push(Enclosing::Sequence { index: 0, name: None });
            }
            Event::MappingEnd | Event::SequenceEnd => {
                self.enclosing.pop();
                self.node_ended();
            }
            Event::Scalar(text, ..) => self.scalar(text, span),
            Event::Alias(_) => self.scalar("", span),
            _ => {}
        }
    }

    /// A key is where its field stands; every other scalar is a value.
    fn scalar(&mut self, text: &str, span: &Span) {
        if let Some(Enclosing::Mapping { key: key @ None }) = self.enclosing.last_mut() {
            *key = Some(text.to_owned());
            self.note(span);
        } else {
            self.named(text, span);
            self.note(span);
            self.node_ended();
        }
    }

    /// `name: TEXT` in an element of a list names the element, which is where its name stands.
    fn named(&mut self, text: &str, span: &Span) {
        if let [.., Enclosing::Sequence { name, .. }, Enclosing::Mapping { key: Some(key) }] =
            &mut *self.enclosing
            && key == "name"
        {
            *name = Some(text.to_owned());
            let path = self.named_path();
            if let Some(element) = path.strip_suffix(".name") {
                self.places.entry(element.to_owned()).or_insert(place(span));
            }
        }
    }

    fn node_ended(&mut self) {
        match self.enclosing.last_mut() {
            Some(Enclosing::Mapping { key }) => *key = None,
            Some(Enclosing::Sequence { index, name }) => (*index, *name) = (*index + 1, None),
            None => {}
        }
    }

    /// An element with a name is found by that, too.
    fn note(&mut self, span: &Span) {
        let numbered = self.path(|index, _| index.to_string());
        for path in [self.named_path(), numbered] {
            self.places.entry(path).or_insert(place(span));
        }
    }

    fn named_path(&self) -> String {
        self.path(|index, name| name.clone().unwrap_or_else(|| index.to_string()))
    }

    fn path(&self, element: impl Fn(usize, &Option<String>) -> String) -> String {
        let steps = self.enclosing.iter().map(|enclosing| match enclosing {
            Enclosing::Mapping { key } => key.clone().unwrap_or_default(),
            Enclosing::Sequence { index, name } => element(*index, name),
        });
        plain(&steps.collect::<Vec<_>>().join("."))
    }
}

fn place(span: &Span) -> LineColumn {
    (span.start.line(), span.start.col() + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
spec:
  pod_selector: {match_labels: {app: a}}
  watchedResources:
    ingresses:
      indexBy:
        - metadata.name
        - bad[
  maps:
    host.map: {template: x}
  validationTests:
    - name: one
      assertions: [{type: contains}]
    - name: two
      assertions:
        - type: haproxy_valid
        - type: contains
";

    fn placed(field: &str) -> String {
        let problems = vec![Diagnostic::error("basic", "wrong").at_field(field)];
        add_places(problems, TEXT, "a.yaml").remove(0).message
    }

    #[test]
    fn a_field_is_found_however_its_path_is_spelled() {
        assert_eq!(placed("spec.podSelector.matchLabels"), "a.yaml:2:18: wrong");
        assert_eq!(placed("spec.watchedResources.ingresses.indexBy[1]"), "a.yaml:7:11: wrong");
        assert_eq!(placed("spec.maps['host.map'].template"), "a.yaml:9:16: wrong");
    }

    #[test]
    fn an_element_is_found_by_number_and_by_name() {
        assert_eq!(placed("spec.validationTests[1].assertions[1]"), "a.yaml:16:11: wrong");
        assert_eq!(placed("spec.validationTests.two.assertions[1]"), "a.yaml:16:11: wrong");
        assert_eq!(placed("spec.validationTests.two.nonesuch"), "a.yaml:13:13: wrong");
    }

    #[test]
    fn a_missing_field_is_placed_where_it_should_be() {
        assert_eq!(placed("spec.credentialsSecretRef"), "a.yaml:1:1: wrong");
        assert_eq!(placed("spec.maps.x.template"), "a.yaml:8:3: wrong");
    }

    #[test]
    fn a_bare_spec_has_its_fields_at_the_top() {
        let problems = vec![Diagnostic::error("basic", "wrong").at_field("spec.foo")];
        assert_eq!(add_places(problems, "a: 1\nfoo: 2\n", "a.yaml").remove(0).message, "a.yaml:2:1: wrong");
    }

    #[test]
    fn a_problem_without_a_field_names_the_file() {
        let placed = |message: &str| {
            add_places(vec![Diagnostic::error("basic", message)], TEXT, "a.yaml").remove(0).message
        };
        assert_eq!(placed("wrong"), "a.yaml: wrong");
        assert_eq!(placed("there is no file \"a.yaml\""), "a.yaml: there is no file \"a.yaml\"");
    }
}
