//! Reading values that may not be there.

use super::{
    call::Call,
    function::{Function, Group, Kind::*, arg, function, maybe},
};
use crate::value::{Value, keypath};
use std::sync::Arc;

pub(super) static FUNCTIONS: &[Function] = &[
    function(
        "get",
        Group::Access,
        &[arg("of", Optional), arg("path", Text), maybe("default", Any)],
        "The value below a dotted path, or the default if it is missing or null. Keys with dots stand in [ ].",
        (
            r#"{{get (dict a=(dict b=1)) "a.b" 0}} {{get (dict) "metadata.labels.[app.kubernetes.io/name]" "none"}}"#,
            "1 none",
        ),
        get,
    ),
    function(
        "has",
        Group::Access,
        &[arg("of", Optional), arg("path", Text)],
        "Whether there is a value below a dotted path; null is none.",
        (r#"{{has (dict a=1) "a"}} {{has (dict a=1) "b.c"}}"#, "true false"),
        |call| Ok(Value::Bool(present(&below(call.value(0), &call.text(1))?))),
    ),
    function(
        "default",
        Group::Access,
        &[arg("value", Optional), arg("fallback", Any)],
        "The value, or the fallback if the value is missing or null.",
        (r#"{{default no.such.thing "fallback"}} {{default 0 5}}"#, "fallback 0"),
        |call| Ok(if present(call.value(0)) { call.value(0).clone() } else { call.value(1).clone() }),
    ),
    function(
        "lookup",
        Group::Access,
        &[arg("of", Optional), arg("key", Any)],
        "The value of one key or position, whatever characters the key has; missing if there is none.",
        (r#"{{lookup (dict a="x") "a"}} {{lookup (array "p" "q") 1}}"#, "x q"),
        |call| Ok(call.value(0).field(&call.text(1))?.cloned().unwrap_or_default()),
    ),
    function(
        "dict_keys",
        Group::Access,
        &[arg("dict", Dict)],
        "The keys of a dict, sorted.",
        (r#"{{json (dict_keys (dict b=1 a=2))}}"#, r#"["a","b"]"#),
        |call| Ok(Value::list(call.dict(0)?.iter().map(|(k, _)| Value::Text(k.clone())).collect())),
    ),
    function(
        "dict_values",
        Group::Access,
        &[arg("dict", Dict)],
        "The values of a dict, in the order of its keys.",
        (r#"{{json (dict_values (dict b=1 a=2))}}"#, "[2,1]"),
        |call| Ok(Value::list(call.dict(0)?.iter().map(|(_, v)| v.clone()).collect())),
    ),
    function(
        "len",
        Group::Access,
        &[arg("of", Any)],
        "How many items, keys or characters; null has none.",
        (r#"{{len (array 1 2 3)}} {{len "über"}}"#, "3 4"),
        len,
    ),
    function(
        "first",
        Group::Access,
        &[arg("list", List), maybe("default", Any)],
        "The first item, or the default; missing if there is neither.",
        (r#"{{first (array 1 2)}} {{first (array) "none"}}"#, "1 none"),
        |call| Ok(call.list(0).first().unwrap_or_else(|| call.value(1)).clone()),
    ),
    function(
        "last",
        Group::Access,
        &[arg("list", List), maybe("default", Any)],
        "The last item, or the default; missing if there is neither.",
        (r#"{{last (array 1 2)}} {{last (array) "none"}}"#, "2 none"),
        |call| Ok(call.list(0).last().unwrap_or_else(|| call.value(1)).clone()),
    ),
    function(
        "slice",
        Group::Access,
        &[arg("of", Any), arg("start", Integer), maybe("end", Integer)],
        "The items (or characters) from start up to end, without end. Negative positions count from the end.",
        (r#"{{json (slice (array 1 2 3 4) 1 3)}} {{slice "haproxy" -5}}"#, "[2,3] proxy"),
        slice,
    ),
];

/// The value below a dotted path.
pub(super) fn below(value: &Value, path: &str) -> Result<Value, String> {
    let mut here = value;
    for key in keypath::walk(path) {
        match here.field(key)? {
            Some(next) => here = next,
            None => return Ok(Value::Missing),
        }
    }
    Ok(here.clone())
}

fn present(value: &Value) -> bool {
    !matches!(value, Value::Missing | Value::Null)
}

fn get(call: &Call<'_>) -> Result<Value, String> {
    let found = below(call.value(0), &call.text(1))?;
    Ok(if present(&found) || !call.has(2) { found } else { call.value(2).clone() })
}

fn len(call: &Call<'_>) -> Result<Value, String> {
    Ok(Value::count(match call.value(0) {
        Value::List(list) => list.len(),
        Value::Dict(dict) => dict.len(),
        Value::Text(text) | Value::Secret(text) => text.chars().count(),
        Value::Null => 0,
        Value::Object(_) => call.dict(0)?.len(),
        other => return Err(format!("{} has no length", other.describe())),
    }))
}

fn slice(call: &Call<'_>) -> Result<Value, String> {
    let range = |length: usize| {
        let position = |p: i64| -> usize {
            let length = i64::try_from(length).unwrap_or(i64::MAX);
            let p = if p < 0 { p.saturating_add(length) } else { p };
            usize::try_from(p.clamp(0, length)).unwrap_or(0)
        };
        let (start, end) = (position(call.integer(1, 0)), position(call.integer(2, i64::MAX)));
        (start, end.max(start))
    };
    match call.value(0) {
        Value::List(list) => {
            let (start, end) = range(list.len());
            Ok(Value::list(list.get(start..end).unwrap_or_default().to_vec()))
        }
        Value::Text(text) | Value::Secret(text) => {
            let (start, end) = range(text.chars().count());
            let part: String = text.chars().skip(start).take(end - start).collect();
            Ok(Value::Text(Arc::from(part)))
        }
        other => Err(format!("{} is neither a list nor a text", other.describe())),
    }
}
