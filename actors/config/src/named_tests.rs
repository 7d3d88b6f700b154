//! The tests of a configuration as plain JSON: the list that it is, and the map by name that is easier to merge.

use haptic_model::Diagnostic;
use serde_json::{Map, Value};

/// The field of a spec.
pub(crate) const FIELD: &str = "validationTests";

/// The tests of `list` by their names.
///
/// # Errors
/// A test without a name, or with that of another one.
pub(crate) fn by_name(list: Vec<Value>) -> Result<Map<String, Value>, Diagnostic> {
    let mut tests = Map::new();
    for (number, mut test) in list.into_iter().enumerate() {
        let wrong = |what: String, help: &str| {
            Diagnostic::error("basic", what).at_field(format!("spec.{FIELD}[{number}]")).help(help)
        };
        let Some(Value::String(name)) = test.as_object_mut().and_then(|test| test.remove("name")) else {
            return Err(wrong("a test has no name".into(), "Write {name: NAME, assertions: [...]}"));
        };
        if tests.contains_key(&name) {
            return Err(wrong(format!("two tests are called {name:?}"), "Give one of them another name"));
        }
        tests.insert(name, test);
    }
    Ok(tests)
}

/// The reverse.
pub(crate) fn as_list(by_name: Map<String, Value>) -> Value {
    let named = |(name, mut test): (String, Value)| {
        if let Some(test) = test.as_object_mut() {
            test.insert("name".to_owned(), name.into());
        }
        test
    };
    by_name.into_iter().map(named).collect()
}
