//! Which requests a rule is for.

use super::objects::{GrpcMatch, GrpcMethod, HttpMatch, NamedValue};
use crate::{
    conditions::{Condition, RouteConditions},
    matching::{Match, MatchShape},
    path, patterns,
    regex_cost::{self, PatternCost},
};
use std::{cmp::Reverse, sync::Arc};

/// Requests for a path, of no host yet, and what asking for them costs.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct WantedRequests {
    pub wanted: Match,
    pub cost: Option<PatternCost>,
}

/// Of a match of an HTTPRoute.
///
/// # Errors
/// Why it cannot be served.
pub(super) fn of_http(asked: &HttpMatch) -> Result<WantedRequests, String> {
    let (kind, value) =
        asked.path.as_ref().map_or((None, None), |path| (path.kind.as_deref(), path.value.as_deref()));
    let value = value.unwrap_or("/");
    let path = |value: &str| match path::normal(value) {
        Ok(normal) => Ok(normal.text),
        Err(_) => Err(format!("path {value:?} is none that requests have")),
    };
    let (wanted, cost) = match kind.unwrap_or("PathPrefix") {
        "PathPrefix" => (Match::prefix("", &path(value)?), None),
        "Exact" => (Match::exact("", &path(value)?), None),
        "RegularExpression" => expression(value)?,
        other => return Err(format!("paths of type {other} are not supported")),
    };
    // It stands in the list of the hostname as it is, beside what others ask for.
    if let Some(method) = asked.method.as_ref().filter(|method| !is_method(method)) {
        return Err(format!("method {method:?} is none that requests have"));
    }
    let conditions = RouteConditions {
        methods: asked.method.clone().into_iter().collect(),
        headers: conditions(&asked.headers, str::to_ascii_lowercase)?,
        query: conditions(&asked.query_params, str::to_owned)?,
    };
    Ok(with(wanted, cost, conditions))
}

fn is_method(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_uppercase())
}

/// Whether a service or a method may be called so: <https://protobuf.dev/reference/protobuf/proto3-spec/#identifiers>
fn is_grpc_name(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.'))
}

/// Of a match of a GRPCRoute.
///
/// # Errors
/// Why it cannot be served.
pub(super) fn of_grpc(asked: &GrpcMatch) -> Result<WantedRequests, String> {
    let none = GrpcMethod { kind: None, service: None, method: None };
    let GrpcMethod { kind, service, method } = asked.method.as_ref().unwrap_or(&none);
    let kind = kind.as_deref().unwrap_or("Exact");
    let mut names = service.iter().chain(method).filter(|_| kind == "Exact");
    if let Some(name) = names.find(|name| !is_grpc_name(name)) {
        return Err(format!("{name:?} is no name of a service or a method"));
    }
    let (wanted, cost) = match (kind, service, method) {
        (_, None, None) => (Match::prefix("", "/"), None),
        ("Exact", Some(service), Some(method)) => (Match::exact("", &format!("/{service}/{method}")), None),
        ("Exact", Some(service), None) => (Match::prefix("", &format!("/{service}")), None),
        ("Exact", None, Some(method)) => expression(&format!("/[^/]+/{}", regex::escape(method)))?,
        ("RegularExpression", service, method) => {
            let part = |text: &Option<String>| text.clone().unwrap_or_else(|| "[^/]+".into());
            expression(&format!("/(?:{})/(?:{})", part(service), part(method)))?
        }
        (other, ..) => return Err(format!("methods of type {other} are not supported")),
    };
    let headers = conditions(&asked.headers, str::to_ascii_lowercase)?;
    Ok(with(wanted, cost, RouteConditions { headers, ..RouteConditions::default() }))
}

/// A path that the expression takes as a whole.
fn expression(text: &str) -> Result<(Match, Option<PatternCost>), String> {
    // A flag stands at the very start.
    let (flag, rest) = text.strip_prefix("(?i)").map_or(("", text), |rest| ("(?i)", rest));
    let whole = if rest.contains('|') { format!("{flag}(?:{rest})$") } else { format!("{text}$") };
    let pattern = patterns::read(&whole, None).map_err(|why| format!("path {text:?} {why}"))?;
    Ok((pattern.of(""), pattern.cost))
}

fn with(wanted: Match, cost: Option<PatternCost>, conditions: RouteConditions) -> WantedRequests {
    let cost = PatternCost::sum(cost, conditions.cost());
    let conditions = (conditions != RouteConditions::default()).then(|| Arc::new(conditions));
    WantedRequests { wanted: Match { conditions, ..wanted }, cost }
}

/// Of conditions with the same name the first counts.
fn conditions(asked: &[NamedValue], name_of: fn(&str) -> String) -> Result<Vec<Condition>, String> {
    let mut all: Vec<Condition> = Vec::with_capacity(asked.len());
    for NamedValue { name, value, kind } in asked {
        let name = name_of(name);
        if all.iter().any(|known| known.name == name) {
            continue;
        }
        let longest = match kind.as_deref().unwrap_or("Exact") {
            "Exact" => None,
            "RegularExpression" => {
                let cost = regex_cost::cost(value).map_err(|why| format!("value of {name:?} {why}"))?;
                Some(cost.longest_path)
            }
            other => return Err(format!("values of type {other} are not supported")),
        };
        all.push(Condition { name, value: value.clone(), longest });
    }
    all.sort();
    Ok(all)
}

/// Whole path, its length, and what else is asked for: a method, so many headers, so many parameters of the query.
pub(super) type Rank = Reverse<(bool, usize, (bool, usize, usize))>;

/// What asks for more comes first.
pub(super) fn rank(wanted: &Match) -> Rank {
    let conditions = wanted.conditions.as_deref();
    let says =
        conditions.map_or((false, 0, 0), |all| (!all.methods.is_empty(), all.headers.len(), all.query.len()));
    Reverse((wanted.shape == MatchShape::Exact, wanted.path.len(), says))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_expression_with_alternatives_may_ignore_case() {
        let (wanted, _) = expression("(?i)/a|/b").unwrap();
        assert!(wanted.takes("/A") && wanted.takes("/b") && !wanted.takes("/ab"));
    }

    #[test]
    fn what_is_no_method_and_no_name_asks_for_nothing() {
        for (method, is_one) in [("GET", true), ("GE\nT", false), ("GET;1,prefix,0,/,", false), ("", false)] {
            let asked = HttpMatch { method: Some(method.into()), ..HttpMatch::default() };
            assert_eq!(of_http(&asked).is_ok(), is_one, "{method}");
        }
        for (service, is_one) in [("a.B_1", true), ("a.B/C x\ny z", false), ("", false)] {
            let method = GrpcMethod { kind: None, service: Some(service.into()), method: Some("C".into()) };
            let asked = GrpcMatch { method: Some(method), ..GrpcMatch::default() };
            assert_eq!(of_grpc(&asked).is_ok(), is_one, "{service}");
        }
    }
}
