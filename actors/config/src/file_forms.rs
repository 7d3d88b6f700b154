//! What files may be written as though the schema of stored resources has another form for it.

use crate::{named_tests, schema};
use haptic_model::Diagnostic;
use serde_json::{Map, Value, json};

const TESTS: [&str; 2] = ["validationTests", "validation_tests"];
const SNIPPETS: [&str; 2] = ["templateSnippets", "template_snippets"];

/// Takes out `allow` where it is the list that it was once: the schema does not know it, and whoever reads it does.
pub(crate) fn take_allow_list(spec: &mut Value) -> Option<Value> {
    let fields = spec.as_object_mut()?;
    fields.get("allow")?.is_array().then(|| fields.remove("allow"))?
}

/// Gives tests and snippets of `spec` the form that `schema` has for them. What is wrong with tests in a map is told
/// here, where they still have the paths that their writer knows.
pub(crate) fn rewrite(spec: &mut Value, schema: &Value) -> Vec<Diagnostic> {
    let Some(fields) = spec.as_object_mut() else { return Vec::new() };
    for snippets in SNIPPETS {
        if let Some(Value::Object(snippets)) = fields.get_mut(snippets) {
            snippets.values_mut().filter(|snippet| snippet.is_string()).for_each(with_template);
        }
    }
    let mut problems = Vec::new();
    for tests in TESTS {
        if let Some(tests) = fields.get_mut(tests)
            && let Value::Object(by_name) = tests
        {
            problems.extend(fit_tests(by_name, schema));
            *tests = named_tests::as_list(std::mem::take(by_name));
        }
    }
    problems
}

fn with_template(text: &mut Value) {
    *text = json!({"template": text.take()});
}

/// Fits tests in a map to the schema of those in a list, without their names.
fn fit_tests(tests: &mut Map<String, Value>, schema: &Value) -> Vec<Diagnostic> {
    let mut of_one = schema.pointer("/properties/validationTests/items").cloned().unwrap_or_default();
    let without_name = |required: &mut Value| {
        if let Some(required) = required.as_array_mut() {
            required.retain(|field| field != "name");
        }
    };
    of_one.get_mut("required").into_iter().for_each(without_name);
    if let Some(known) = of_one.get_mut("properties").and_then(Value::as_object_mut) {
        known.remove("name");
    }
    let of_all = json!({"type": "object", "additionalProperties": of_one});
    let mut all = Value::Object(std::mem::take(tests));
    let problems = schema::fit(&mut all, &of_all, "spec.validationTests");
    if let Value::Object(fitted) = all {
        *tests = fitted;
    }
    // Once is enough: in the list they would be told again, by number.
    if !problems.is_empty() {
        tests.clear();
    }
    problems
}
