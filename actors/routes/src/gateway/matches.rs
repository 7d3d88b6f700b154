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
    let conditions = RouteConditions {
        methods: asked.method.clone().into_iter().collect(),
        headers: conditions(&asked.headers, str::to_ascii_lowercase)?,
        query: conditions(&asked.query_params, str::to_owned)?,
    };
    Ok(with(wanted, cost, conditions))
}

/// Of a match of a GRPCRoute.
///
/// # Errors
/// Why it cannot be served.
pub(super) fn of_grpc(asked: &GrpcMatch) -> Result<WantedRequests, String> {
    let none = GrpcMethod { kind: None, service: None, method: None };
    let GrpcMethod { kind, service, method } = asked.method.as_ref().unwrap_or(&none);
    let (wanted, cost) = match (kind.as_deref().unwrap_or("Exact"), service, method) {
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
    let whole = if text.contains('|') { format!("(?:{text})$") } else { format!("{text}$") };
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
