//! Fits a user's YAML to the CRD's schema: snake_case names become camelCase, and what the schema does not know
//! or has another type is reported with its path. (The API server does the same for resources it stores, but
//! silently drops unknown fields.)

use haptic_model::Diagnostic;
use serde_json::{Map, Value};

/// Renames known snake_case fields in `value` and reports everything that does not fit `schema`.
pub fn fit(value: &mut Value, schema: &Value, path: &str) -> Vec<Diagnostic> {
    let mut problems = Vec::new();
    fit_into(value, schema, path, &mut problems);
    problems
}

fn fit_into(value: &mut Value, schema: &Value, path: &str, problems: &mut Vec<Diagnostic>) {
    if schema.get("x-kubernetes-preserve-unknown-fields").is_some() {
        expect_type(value, schema, path, problems);
        return;
    }
    if value.is_null() && schema.get("nullable").and_then(Value::as_bool) == Some(true) {
        return;
    }
    if !expect_type(value, schema, path, problems) {
        return;
    }
    match value {
        Value::Object(fields) => fit_object(fields, schema, path, problems),
        Value::Array(items) => {
            if let Some(item_schema) = schema.get("items") {
                for (i, item) in items.iter_mut().enumerate() {
                    fit_into(item, item_schema, &format!("{path}[{i}]"), problems);
                }
            }
        }
        Value::String(text) => expect_allowed(text, schema, path, problems),
        _ => {}
    }
}

fn fit_object(fields: &mut Map<String, Value>, schema: &Value, path: &str, problems: &mut Vec<Diagnostic>) {
    if let Some(element) = schema.get("additionalProperties").filter(|s| s.is_object()) {
        for (name, value) in fields.iter_mut() {
            fit_into(value, element, &join(path, name), problems);
        }
        return;
    }
    let Some(known) = schema.get("properties").and_then(Value::as_object) else { return };
    rename_fields(fields, known);
    for (name, value) in fields.iter_mut() {
        match known.get(name) {
            Some(field_schema) => fit_into(value, field_schema, &join(path, name), problems),
            None => problems.push(unknown_field(name, known, path)),
        }
    }
    for name in schema.get("required").and_then(Value::as_array).into_iter().flatten() {
        if let Some(name) = name.as_str().filter(|n| !fields.contains_key(*n)) {
            problems.push(
                Diagnostic::error("basic", format!("required field {name} is missing"))
                    .at_field(join(path, name)),
            );
        }
    }
}

fn rename_fields(fields: &mut Map<String, Value>, known: &Map<String, Value>) {
    let renamed: Vec<(String, String)> = fields
        .keys()
        .filter(|name| !known.contains_key(*name))
        .map(|name| (name.clone(), camel_case(name)))
        .filter(|(_, camel)| known.contains_key(camel) && !fields.contains_key(camel))
        .collect();
    for (snake, camel) in renamed {
        if let Some(value) = fields.remove(&snake) {
            fields.insert(camel, value);
        }
    }
}

fn unknown_field(name: &str, known: &Map<String, Value>, path: &str) -> Diagnostic {
    let problem =
        Diagnostic::error("basic", format!("there is no field {name:?} here")).at_field(join(path, name));
    let closest = known.keys().map(|k| (strsim::osa_distance(name, k), k)).min();
    match closest {
        Some((edits, close)) if edits <= 1 + close.len() / 4 => {
            problem.help(format!("Did you mean {close:?}?"))
        }
        _ => problem.help(format!("Known fields: {}", known.keys().cloned().collect::<Vec<_>>().join(", "))),
    }
}

/// Whether `value` has the schema's type; reports it when not.
fn expect_type(value: &Value, schema: &Value, path: &str, problems: &mut Vec<Diagnostic>) -> bool {
    if schema.get("x-kubernetes-int-or-string").is_some() {
        return expect_text_or_number(value, path, problems);
    }
    let Some(expected) = schema.get("type").and_then(Value::as_str) else { return true };
    let fits = match expected {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        _ => true,
    };
    if !fits {
        let message = format!("{} is expected here, this is {}", with_article(expected), kind_of(value));
        problems.push(Diagnostic::error("basic", message).at_field(path));
    }
    fits && within_bounds(value, schema, path, problems)
}

fn expect_text_or_number(value: &Value, path: &str, problems: &mut Vec<Diagnostic>) -> bool {
    let fits = value.is_string() || value.is_i64() || value.is_u64();
    if !fits {
        let message = format!("a text or a whole number is expected here, this is {}", kind_of(value));
        problems.push(Diagnostic::error("basic", message).at_field(path));
    }
    fits
}

fn within_bounds(value: &Value, schema: &Value, path: &str, problems: &mut Vec<Diagnostic>) -> bool {
    let Some(number) = value.as_f64() else { return true };
    let bound = |name: &str| schema.get(name).and_then(Value::as_f64);
    let (low, high) = (bound("minimum"), bound("maximum"));
    let fits = low.is_none_or(|l| number >= l) && high.is_none_or(|h| number <= h);
    if !fits {
        let limits = match (low, high) {
            (Some(l), Some(h)) => format!("from {l} to {h}"),
            (Some(l), None) => format!("at least {l}"),
            (None, Some(h)) => format!("at most {h}"),
            (None, None) => String::new(),
        };
        problems.push(Diagnostic::error("basic", format!("{number} must be {limits}")).at_field(path));
    }
    fits
}

fn expect_allowed(text: &str, schema: &Value, path: &str, problems: &mut Vec<Diagnostic>) {
    let Some(allowed) = schema.get("enum").and_then(Value::as_array) else { return };
    if !allowed.iter().any(|a| a.as_str() == Some(text)) {
        let choices: Vec<&str> = allowed.iter().filter_map(Value::as_str).collect();
        let message = format!("{text:?} is not one of {}", choices.join(", "));
        problems.push(Diagnostic::error("basic", message).at_field(path));
    }
}

fn join(path: &str, name: &str) -> String {
    let plain = name.chars().all(|c| c.is_alphanumeric() || c == '-' || c == '_');
    match (path.is_empty(), plain) {
        (true, _) => name.to_owned(),
        (false, true) => format!("{path}.{name}"),
        (false, false) => format!("{path}['{name}']"),
    }
}

fn camel_case(name: &str) -> String {
    let mut words = name.split('_');
    let mut camel = words.next().unwrap_or_default().to_owned();
    for word in words {
        let mut letters = word.chars();
        camel.extend(letters.next().map(|c| c.to_ascii_uppercase()));
        camel.push_str(letters.as_str());
    }
    camel
}

fn with_article(kind: &str) -> String {
    match kind {
        "object" => "a mapping (name: value)".into(),
        "array" => "a list".into(),
        "integer" => "a whole number".into(),
        "boolean" => "true or false".into(),
        other => format!("a {other}"),
    }
}

fn kind_of(value: &Value) -> String {
    match value {
        Value::Null => "empty".into(),
        Value::Bool(b) => format!("{b}"),
        Value::Number(n) => format!("the number {n}"),
        Value::String(s) => format!("the text {:?}", s.chars().take(40).collect::<String>()),
        Value::Array(_) => "a list".into(),
        Value::Object(_) => "a mapping".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn schema() -> Value {
        json!({"type": "object", "required": ["podSelector"], "properties": {
            "podSelector": {"type": "object", "properties": {
                "matchLabels": {"type": "object", "additionalProperties": {"type": "string"}}}},
            "port": {"type": "integer", "minimum": 1, "maximum": 65535},
            "scheme": {"type": "string", "enum": ["http", "https"]},
            "extra": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}})
    }

    fn check(mut value: Value, expected: &[&str]) -> Value {
        let said: Vec<String> = fit(&mut value, &schema(), "").iter().map(ToString::to_string).collect();
        assert_eq!(said.len(), expected.len(), "{said:#?}");
        for (said, expected) in said.iter().zip(expected) {
            assert!(said.contains(expected), "{said:?} does not contain {expected:?}");
        }
        value
    }

    #[test]
    fn snake_case_fields_are_renamed_but_not_the_names_users_chose() {
        let fitted = check(json!({"pod_selector": {"match_labels": {"my_label": "x"}}}), &[]);
        assert_eq!(fitted, json!({"podSelector": {"matchLabels": {"my_label": "x"}}}));
    }

    #[test]
    fn an_unknown_field_is_named_with_its_path_and_the_close_one() {
        check(
            json!({"podSelector": {"matchLabel": {}}}),
            &["field podSelector.matchLabel. Did you mean \"matchLabels\"?"],
        );
    }

    #[test]
    fn all_problems_are_reported_at_once() {
        check(
            json!({"port": 70000, "scheme": "ftp", "podSelector": []}),
            &[
                "a mapping (name: value) is expected",
                "70000 must be from 1 to 65535",
                "\"ftp\" is not one of http, https",
            ],
        );
    }

    #[test]
    fn a_missing_required_field_is_named() {
        check(json!({}), &["required field podSelector is missing"]);
    }

    #[test]
    fn the_users_own_variables_are_left_alone() {
        let value = json!({"podSelector": {}, "extra": {"some_thing": [1, {"a_b": null}]}});
        assert_eq!(check(value.clone(), &[]), value);
    }
}
