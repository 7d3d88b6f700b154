//! `matches` of a rule: a path, and what requests must have in addition.

use haptic_routes::conditions::{Condition, RouteConditions};
use serde_json::{Map, Value, json};

/// The methods that a match may have.
pub(super) const METHODS: [&str; 9] =
    ["GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH"];

/// So many headers, and so many parameters, a match has.
const MOST_CONDITIONS: usize = 16;

/// What a match asks for in addition to a path: a method, so many headers, so many parameters. A Gateway asks those with more first.
pub(super) type MatchRank = (bool, usize, usize);

pub(super) fn rank(conditions: &RouteConditions) -> MatchRank {
    (!conditions.methods.is_empty(), conditions.headers.len(), conditions.query.len())
}

/// One match for each method.
///
/// # Errors
/// The option that no match says, and why.
pub(super) fn matches(
    path: Value,
    conditions: &RouteConditions,
) -> Result<Vec<Value>, (&'static str, &'static str)> {
    let RouteConditions { methods, headers, query } = conditions;
    if !methods.iter().all(|method| METHODS.contains(&method.as_str())) {
        return Err(("match-methods", "matches know no such method"));
    }
    for (option, all) in [("match-headers", headers), ("match-query", query)] {
        if let Some(why) = unsayable(all) {
            return Err((option, why));
        }
    }
    let mut one = Map::from_iter([("path".to_owned(), path)]);
    for (field, all) in [("headers", headers), ("queryParams", query)] {
        if !all.is_empty() {
            one.insert(field.to_owned(), all.iter().map(condition).collect());
        }
    }
    if methods.is_empty() {
        return Ok(vec![Value::Object(one)]);
    }
    let with = |method: &String| {
        let mut one = one.clone();
        one.insert("method".to_owned(), json!(method));
        Value::Object(one)
    };
    Ok(methods.iter().map(with).collect())
}

fn condition(one: &Condition) -> Value {
    match one.longest {
        Some(_) => {
            json!({"type": "RegularExpression", "name": one.name, "value": whole_value(&one.value)})
        }
        None => json!({"type": "Exact", "name": one.name, "value": one.value}),
    }
}

/// An expression that finds something in a value as one that takes all of it.
pub(super) fn whole_value(text: &str) -> String {
    let (flag, rest) = text.strip_prefix("(?i)").map_or(("", text), |rest| ("(?i)", rest));
    if rest.contains('|') {
        return format!("{flag}.*(?:{rest}).*");
    }
    let (head, rest) = rest.strip_prefix('^').map_or((".*", rest), |rest| ("", rest));
    let end = rest.strip_suffix('$').filter(|start| !start.ends_with('\\'));
    let (rest, tail) = end.map_or((rest, ".*"), |rest| (rest, ""));
    format!("{flag}{head}{rest}{tail}")
}

/// Why no match has these conditions.
fn unsayable(all: &[Condition]) -> Option<&'static str> {
    let is_repeated =
        |(at, one): (usize, &Condition)| all.iter().take(at).any(|known| known.name == one.name);
    if all.len() > MOST_CONDITIONS {
        return Some("a match has no more than 16 of them");
    }
    if all.iter().enumerate().any(is_repeated) {
        return Some("a match asks for each name once");
    }
    if all.iter().any(|one| one.value.is_empty()) {
        return Some("a match asks for no empty value");
    }
    let is_named = all.iter().all(|one| is_token(&one.name));
    (!is_named).then_some("a match has no such name")
}

/// Whether a header or a parameter may be called so.
pub(super) fn is_token(name: &str) -> bool {
    let is_inner = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    (1..=256).contains(&name.len()) && name.bytes().all(is_inner)
}

/// Whether a header can be asked for beside these conditions.
pub(super) fn has_place_for(name: &str, conditions: &RouteConditions) -> bool {
    let headers = &conditions.headers;
    headers.len() < MOST_CONDITIONS && !headers.iter().any(|one| one.name.eq_ignore_ascii_case(name))
}

/// The same matches for requests with a header.
pub(super) fn with_header(matches: &[Value], header: &Value) -> Vec<Value> {
    let mut matches = matches.to_vec();
    for one in matches.iter_mut().filter_map(Value::as_object_mut) {
        let headers = one.entry("headers").or_insert_with(|| json!([]));
        if let Some(headers) = headers.as_array_mut() {
            headers.push(header.clone());
        }
    }
    matches
}

#[cfg(test)]
mod tests {
    use super::*;
    use haptic_routes::conditions::{Of, read};

    fn of(methods: &[&str], headers: &str, query: &str) -> Result<usize, &'static str> {
        let lines =
            |text: &str, of| if text.is_empty() { Vec::new() } else { read(text, of, false).unwrap() };
        let conditions = RouteConditions {
            methods: methods.iter().map(|method| (*method).to_owned()).collect(),
            headers: lines(headers, Of::Header),
            query: lines(query, Of::Query),
        };
        matches(json!({}), &conditions).map(|all| all.len()).map_err(|(option, _)| option)
    }

    #[test]
    fn there_is_one_for_each_method() {
        assert_eq!(of(&["GET", "POST"], "X-A: 1", "q=1"), Ok(2));
        assert_eq!(of(&[], "", ""), Ok(1));
    }

    #[test]
    fn what_the_definition_refuses_is_not_said() {
        assert_eq!(of(&["GET", "PROPFIND"], "", ""), Err("match-methods"));
        assert_eq!(of(&[], "X-A: 1\nx-a: 2", ""), Err("match-headers"));
        assert_eq!(of(&[], "", "q="), Err("match-query"));
        assert_eq!(of(&[], "", "a[]=1"), Err("match-query"));
    }

    #[test]
    fn what_is_found_in_a_value_is_whole_with_anything_around() {
        for (found, whole) in [
            ("beta", ".*beta.*"),
            ("^beta", "beta.*"),
            ("^beta$", "beta"),
            (r"beta\$", r".*beta\$.*"),
            ("(?i)^a|b$", "(?i).*(?:^a|b$).*"),
        ] {
            assert_eq!(whole_value(found), whole);
        }
    }

    #[test]
    fn a_header_is_asked_for_once() {
        let headers = read("X-A: 1", Of::Header, false).unwrap();
        let conditions = RouteConditions { headers, ..RouteConditions::default() };
        assert!(!has_place_for("X-a", &conditions) && has_place_for("X-B", &conditions));
    }
}
