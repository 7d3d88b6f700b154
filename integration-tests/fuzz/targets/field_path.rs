//! Paths of fields: two ways to walk find the same, and what is removed is what was found.

use haptic_text::FieldPath;
use serde_json::Value;
use std::collections::HashSet;

/// A path is refused, or finds the same whatever asks, and takes away just that. Path and object are two lines.
pub fn field_path(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let (written, json) = text.split_once('\n').unwrap_or((&text, "{}"));
    let Ok(path) = FieldPath::parse(written) else { return };
    let again = FieldPath::parse(&path.to_string()).expect("what was printed is read again");
    let Ok(mut object) = serde_json::from_str::<Value>(json) else { return };
    let found = path.get_all(&object);
    assert_eq!(path.get(&object), found.first().copied(), "get finds what get_all does not");
    assert_eq!(again.get_all(&object), found, "it is read again as something else");
    assert!(path.text(&object).is_empty() || !found.is_empty(), "a text of nothing");
    children_are_found_by_the_other_engine(written, &object, &found);
    let gone: HashSet<*const Value> = found.iter().map(|value| std::ptr::from_ref(*value)).collect();
    let rest = without(&object, &gone);
    let removed = path.remove(&mut object);
    assert_eq!(removed, !gone.is_empty(), "whether something was removed");
    assert_eq!(object, rest, "something else was removed");
}

/// A plain path is walked; with a wildcard behind it, the engine for JSONPath walks the same way.
fn children_are_found_by_the_other_engine(written: &str, object: &Value, found: &[&Value]) {
    let below = match written.strip_suffix('}') {
        Some(inside) if written.starts_with('{') => format!("{inside}.*}}"),
        _ => format!("{written}.*"),
    };
    // Numbers beyond those of JSONPath are plain indices of nothing.
    let Ok(below) = FieldPath::parse(&below) else { return };
    let children = found.iter().flat_map(|value| match value {
        Value::Array(items) => items.iter().collect(),
        Value::Object(fields) => fields.values().collect(),
        _ => Vec::new(),
    });
    assert_eq!(below.get_all(object), children.collect::<Vec<_>>(), "the ways part");
}

/// `value` without those at these addresses, and without what is in them.
fn without(value: &Value, gone: &HashSet<*const Value>) -> Value {
    let stays = |value: &&Value| !gone.contains(&std::ptr::from_ref(*value));
    match value {
        Value::Array(items) => items.iter().filter(stays).map(|item| without(item, gone)).collect(),
        Value::Object(fields) => {
            let fields = fields.iter().filter(|(_, field)| stays(field));
            fields.map(|(name, field)| (name.clone(), without(field, gone))).collect()
        }
        other => other.clone(),
    }
}
