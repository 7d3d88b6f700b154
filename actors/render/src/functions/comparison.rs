//! Comparing values. Loose on numbers: 1, 1.0 and "1" are equal, and "10" is greater than "9".

use super::{
    call::Call,
    control::glob_matches,
    function::{Function, Group, Kind::*, arg, function, many},
};
use crate::{session::Session, value::Value};
use std::cmp::Ordering;

pub(super) static FUNCTIONS: &[Function] = &[
    function(
        "eq",
        Group::Comparison,
        &[arg("a", Any), arg("b", Any), many("or", Any)],
        "Whether a equals b (or one of further values). 1, 1.0 and \"1\" are equal.",
        (r#"{{eq 1 1.0}} {{eq "1" 1}} {{eq "a" "b" "a"}}"#, "true true true"),
        |call| Ok(Value::Bool(call.rest(1).contains(call.value(0)))),
    ),
    function(
        "ne",
        Group::Comparison,
        &[arg("a", Any), arg("b", Any)],
        "Whether a and b differ.",
        (r#"{{ne "a" "b"}}"#, "true"),
        |call| compare(call, "ne"),
    ),
    function(
        "lt",
        Group::Comparison,
        &[arg("a", Any), arg("b", Any)],
        "Whether a is less than b: as numbers if both spell numbers, otherwise as texts.",
        (r#"{{lt 9 10}} {{lt "9" "10"}} {{lt "a" "b"}}"#, "true true true"),
        |call| compare(call, "lt"),
    ),
    function(
        "lte",
        Group::Comparison,
        &[arg("a", Any), arg("b", Any)],
        "Whether a is less than b or equal.",
        (r#"{{lte 1 1}}"#, "true"),
        |call| compare(call, "lte"),
    ),
    function(
        "gt",
        Group::Comparison,
        &[arg("a", Any), arg("b", Any)],
        "Whether a is greater than b.",
        (r#"{{gt "10" "9"}}"#, "true"),
        |call| compare(call, "gt"),
    ),
    function(
        "gte",
        Group::Comparison,
        &[arg("a", Any), arg("b", Any)],
        "Whether a is greater than b or equal.",
        (r#"{{gte 1 2}}"#, "false"),
        |call| compare(call, "gte"),
    ),
    function(
        "and",
        Group::Comparison,
        &[many("value", Optional)],
        "Whether all values are true. Missing, null, false, 0, \"\", an empty list and an empty dict are not.",
        (r#"{{and 1 "x"}} {{and 1 no.such.thing}}"#, "true false"),
        |call| Ok(Value::Bool(call.rest(0).iter().all(Value::is_true))),
    ),
    function(
        "or",
        Group::Comparison,
        &[many("value", Optional)],
        "Whether any value is true.",
        (r#"{{or 0 "x"}} {{or no.such.thing ""}}"#, "true false"),
        |call| Ok(Value::Bool(call.rest(0).iter().any(Value::is_true))),
    ),
    function(
        "not",
        Group::Comparison,
        &[arg("value", Optional)],
        "Whether a value is not true.",
        (r#"{{not 0}} {{not (array 1)}}"#, "true false"),
        |call| Ok(Value::Bool(!call.value(0).is_true())),
    ),
    function(
        "contains",
        Group::Comparison,
        &[arg("whole", Any), arg("part", Any)],
        "Whether a list has an item, a dict a key, or a text a part.",
        (r#"{{contains (array 1 2) 2}} {{contains "haproxy" "prox"}}"#, "true true"),
        |call| compare(call, "contains"),
    ),
    function(
        "in",
        Group::Comparison,
        &[arg("part", Any), arg("whole", Any)],
        "`contains` the other way round.",
        (r#"{{in "GET" (array "GET" "HEAD")}}"#, "true"),
        |call| compare(call, "in"),
    ),
    function(
        "starts_with",
        Group::Comparison,
        &[arg("text", Text), arg("prefix", Text)],
        "Whether a text begins with another.",
        (r#"{{starts_with "/api/v1" "/api"}}"#, "true"),
        |call| compare(call, "starts_with"),
    ),
    function(
        "ends_with",
        Group::Comparison,
        &[arg("text", Text), arg("suffix", Text)],
        "Whether a text ends with another.",
        (r#"{{ends_with "a.pem" ".pem"}}"#, "true"),
        |call| compare(call, "ends_with"),
    ),
    function(
        "matches",
        Group::Comparison,
        &[arg("text", Text), arg("pattern", Text)],
        "Whether a regular expression is found in a text; anchor it with ^ and $.",
        (r#"{{matches "web-12" "^web-[0-9]+$"}}"#, "true"),
        |call| compare(call, "matches"),
    ),
    function(
        "glob_match",
        Group::Comparison,
        &[arg("text", Text), arg("pattern", Text)],
        "Whether a text fits a pattern, where * is any text and ? is one character.",
        (r#"{{glob_match "a.example.com" "*.example.com"}}"#, "true"),
        |call| compare(call, "glob_match"),
    ),
];

fn compare(call: &Call<'_>, operator: &str) -> Result<Value, String> {
    holds(operator, call.value(0), call.value(1), call.session).map(Value::Bool)
}

/// Whether `a operator b` holds.
pub(super) fn holds(operator: &str, a: &Value, b: &Value, session: &Session<'_>) -> Result<bool, String> {
    let texts = || -> Option<_> { Some((a.printed()?, b.printed()?)) };
    Ok(match operator {
        "eq" => a == b,
        "ne" => a != b,
        "lt" => order(a, b)?.is_lt(),
        "lte" => order(a, b)?.is_le(),
        "gt" => order(a, b)?.is_gt(),
        "gte" => order(a, b)?.is_ge(),
        "contains" => contains(a, b)?,
        "in" => contains(b, a)?,
        "starts_with" => texts().is_some_and(|(a, b)| a.starts_with(&*b)),
        "ends_with" => texts().is_some_and(|(a, b)| a.ends_with(&*b)),
        "glob_match" => texts().is_some_and(|(a, b)| glob_matches(&b, &a)),
        "matches" => match texts() {
            Some((text, pattern)) => session.pattern(&pattern)?.is_match(&text),
            None => false,
        },
        other => {
            return Err(format!(
                "{other:?} is no operator; there are eq ne lt lte gt gte contains in starts_with ends_with matches glob_match"
            ));
        }
    })
}

fn order(a: &Value, b: &Value) -> Result<Ordering, String> {
    if let (Some(a), Some(b)) = (a.as_number(), b.as_number()) {
        return Ok(a.total_cmp(&b));
    }
    match (a, b) {
        (Value::Text(a) | Value::Secret(a), Value::Text(b) | Value::Secret(b)) => Ok(a.cmp(b)),
        _ => Err(format!("{} and {} have no order", a.describe(), b.describe())),
    }
}

fn contains(whole: &Value, part: &Value) -> Result<bool, String> {
    Ok(match whole {
        Value::List(list) => list.contains(part),
        Value::Dict(_) | Value::Object(_) => {
            part.printed().is_some_and(|key| whole.field(&key).is_ok_and(|v| v.is_some()))
        }
        Value::Text(text) | Value::Secret(text) => part.printed().is_some_and(|part| text.contains(&*part)),
        Value::Null | Value::Missing => false,
        other => return Err(format!("{} contains nothing", other.describe())),
    })
}
