//! The requests that a rule is for.

use super::{
    objects::{GrpcMatch, GrpcMethod, HttpMatch, NamedValue},
    values::url_path,
};
use crate::{
    matching::{
        Match, MatchShape,
        conditions::{Condition, RouteConditions},
        path::{self, Spelling},
        patterns,
        regex_cost::{self, Compared, PatternCost},
    },
    sentences::shortened,
};
use haptic_model::{Finding, FindingKind};
use std::{cmp::Reverse, sync::Arc};

/// Requests for a path, of no host yet, and what asking for them costs.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct WantedRequests {
    pub wanted: Match,
    pub cost: Option<PatternCost>,
    /// The finding at a path that is compared as another one.
    pub doubt: Option<Finding>,
}

/// Of a match of an HTTPRoute.
///
/// # Errors
/// Why it cannot be served.
pub(super) fn of_http(asked: &HttpMatch, spelling: Spelling) -> Result<WantedRequests, String> {
    let (kind, value) =
        asked.path.as_ref().map_or((None, None), |path| (path.kind.as_deref(), path.value.as_deref()));
    let value = value.unwrap_or("/");
    let compared = || compared(value, spelling);
    let ((wanted, cost), doubt) = match kind.unwrap_or("PathPrefix") {
        "PathPrefix" => compared().map(|(path, doubt)| ((Match::prefix("", &path), None), doubt))?,
        "Exact" => compared().map(|(path, doubt)| ((Match::exact("", &path), None), doubt))?,
        "RegularExpression" => (expression(value)?, None),
        other => return Err(format!("paths of type {other} are not supported")),
    };
    // It stands in the list of the hostname as it is, beside what others ask for.
    if let Some(method) = asked.method.as_ref().filter(|method| !is_method(method)) {
        return Err(format!("method {method:?} is none that requests have"));
    }
    let conditions = RouteConditions {
        methods: asked.method.clone().into_iter().collect(),
        headers: of_headers(&asked.headers)?,
        query: conditions("parameter", &asked.query_params, str::to_owned)?,
    };
    Ok(WantedRequests { doubt, ..with(wanted, cost, conditions) })
}

/// A path as requests' paths are compared with it, and what is to be said of one that is written otherwise.
fn compared(path: &str, spelling: Spelling) -> Result<(String, Option<Finding>), String> {
    if spelling == Spelling::Raw && path.starts_with('/') {
        return Ok((url_path(path), None));
    }
    let normal = path::normal(path).map_err(|_| format!("path {path:?} is none that requests have"))?;
    let is_respelled = path::is_reshaped(path, &normal) || path.contains(['?', '#']);
    let doubt = is_respelled.then(|| {
        let (shown, read) = (shortened(path), shortened(&normal.text));
        let sentence = format!("path {shown:?} is compared as {read:?}, as requests' paths are: write it so");
        Finding::new(FindingKind::PathRespelled, sentence).at_path(&shown)
    });
    Ok((normal.text, doubt))
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
            expression(&format!("/(?:{})/(?:{})", part("service", service)?, part("method", method)?))?
        }
        (other, ..) => return Err(format!("methods of type {other} are not supported")),
    };
    let headers = of_headers(&asked.headers)?;
    Ok(with(wanted, cost, RouteConditions { headers, ..RouteConditions::default() }))
}

/// An expression for a service or a method, which is any where there is none.
fn part<'t>(what: &str, text: &'t Option<String>) -> Result<&'t str, String> {
    let text = text.as_deref().unwrap_or("[^/]+");
    patterns::check_whole(text).map_err(|why| format!("{what} {text:?} {why}"))?;
    Ok(text)
}

/// A path that the expression takes as a whole.
fn expression(text: &str) -> Result<(Match, Option<PatternCost>), String> {
    // What stands around it would make another expression of a parenthesis or a backslash too many.
    patterns::check_whole(text).map_err(|why| format!("path {text:?} {why}"))?;
    let (flag, rest) = flag_of(text);
    let whole = if rest.contains('|') { format!("{flag}(?:{rest})$") } else { format!("{text}$") };
    let pattern = patterns::read(&whole, None).map_err(|why| format!("path {text:?} {why}"))?;
    Ok((pattern.of(""), pattern.cost))
}

/// An expression that takes the value as a whole, and the longest value that is asked.
fn whole_value(text: &str) -> Result<(String, Option<usize>), String> {
    patterns::check_whole(text)?;
    let (flag, rest) = flag_of(text);
    let whole = format!("{flag}^(?:{rest})$");
    let cost = regex_cost::cost(&whole, Compared::Value)?;
    Ok((whole, Some(cost.longest_path)))
}

/// A flag stands at the very start.
fn flag_of(text: &str) -> (&'static str, &str) {
    text.strip_prefix("(?i)").map_or(("", text), |rest| ("(?i)", rest))
}

fn with(wanted: Match, cost: Option<PatternCost>, conditions: RouteConditions) -> WantedRequests {
    let cost = PatternCost::sum(cost, conditions.cost());
    let conditions = (conditions != RouteConditions::default()).then(|| Arc::new(conditions));
    WantedRequests { wanted: Match { conditions, ..wanted }, cost, doubt: None }
}

fn of_headers(asked: &[NamedValue]) -> Result<Vec<Condition>, String> {
    conditions("header", asked, str::to_ascii_lowercase)
}

/// Of conditions with the same name the first counts. `what`: what sentences call them.
fn conditions(
    what: &str,
    asked: &[NamedValue],
    name_of: fn(&str) -> String,
) -> Result<Vec<Condition>, String> {
    let mut all: Vec<Condition> = Vec::with_capacity(asked.len());
    for NamedValue { name, value, kind } in asked {
        let name = name_of(name);
        if all.iter().any(|known| known.name == name) {
            continue;
        }
        let (value, longest) = match kind.as_deref().unwrap_or("Exact") {
            "Exact" => (value.clone(), None),
            "RegularExpression" => {
                whole_value(value).map_err(|why| format!("the value of {what} {name:?} {why}"))?
            }
            other => return Err(format!("values of type {other} are not supported")),
        };
        all.push(Condition { name, value, longest });
    }
    all.sort();
    Ok(all)
}

/// Whole path, its length, and the other conditions: a method, the number of headers, the number of parameters of the query.
pub(super) type Rank = Reverse<(bool, usize, (bool, usize, usize))>;

/// The rank of a match: one that asks for more comes first.
pub(super) fn rank(wanted: &Match) -> Rank {
    let conditions = wanted.conditions.as_deref();
    let says =
        conditions.map_or((false, 0, 0), |all| (!all.methods.is_empty(), all.headers.len(), all.query.len()));
    Reverse((wanted.shape == MatchShape::Exact, wanted.path.len(), says))
}

#[cfg(test)]
mod tests {
    use super::{super::objects::PathMatch, *};

    #[test]
    fn a_path_is_compared_as_those_of_requests_are_and_another_spelling_is_told() {
        for (path, spelling, known, is_told) in [
            ("/p/a;v=1", Spelling::Normal, "/p/a", true),
            ("/p//a", Spelling::Normal, "/p/a", true),
            ("/p/a?b", Spelling::Normal, "/p/a%3Fb", true),
            ("/p/caf\u{e9}", Spelling::Normal, "/p/caf%C3%A9", false),
            ("/p/a", Spelling::Normal, "/p/a", false),
            ("/p/a;v=1", Spelling::Raw, "/p/a;v=1", false),
            ("/p//%c3%a9 b", Spelling::Raw, "/p//%c3%a9%20b", false),
        ] {
            let kind = Some("Exact".to_owned());
            let asked = PathMatch { kind, value: Some(path.to_owned()) };
            let asked = HttpMatch { path: Some(asked), ..HttpMatch::default() };
            let read = of_http(&asked, spelling).unwrap();
            assert_eq!((&*read.wanted.path, read.doubt.is_some()), (known, is_told), "{path} {spelling:?}");
        }
    }

    #[test]
    fn an_expression_with_alternatives_may_ignore_case() {
        let (wanted, _) = expression("(?i)/a|/b").unwrap();
        assert!(wanted.takes("/A") && wanted.takes("/b") && !wanted.takes("/ab"));
    }

    #[test]
    fn what_is_no_expression_by_itself_is_none() {
        for text in ["/a)(b|c", "/a\\", "/a)|(b"] {
            assert!(expression(text).unwrap_err().contains("must be a regular expression"), "{text}");
        }
        for (service, method) in [("a)/(b", "C"), ("a\\", "C"), ("a", "b)|(c")] {
            let kind = Some("RegularExpression".to_owned());
            let method = GrpcMethod { kind, service: Some(service.into()), method: Some(method.into()) };
            let why = of_grpc(&GrpcMatch { method: Some(method), ..GrpcMatch::default() }).unwrap_err();
            assert!(why.contains("must be a regular expression"), "{why}");
        }
    }

    #[test]
    fn what_may_be_empty_is_compared_and_what_costs_too_much_is_told_by_what_it_is() {
        assert!(expression(".*").unwrap().0.takes("/any"));
        let header = |value: &str| {
            let kind = Some("RegularExpression".to_owned());
            let header = NamedValue { name: "X-A".into(), value: value.into(), kind };
            of_http(&HttpMatch { headers: vec![header], ..HttpMatch::default() }, Spelling::Normal)
        };
        assert!(header(".*").is_ok() && header("^(a|b)?$").is_ok());
        for (text, asked) in [("beta.*", "^(?:beta.*)$"), ("(?i)a|b", "(?i)^(?:a|b)$")] {
            let conditions = header(text).unwrap().wanted.conditions.unwrap();
            assert_eq!(conditions.headers[0].value, asked);
        }
        assert!(header("a)|(b").unwrap_err().contains("must be a regular expression"));
        assert!(header(".*flagger-cookie.*abcdefghij.*").is_ok());
        let why = header("(a+)+b").unwrap_err();
        assert!(why.starts_with("the value of header \"x-a\" must") && !why.contains("path"), "{why}");
    }

    #[test]
    fn what_is_no_method_and_no_name_asks_for_nothing() {
        for (method, is_one) in [("GET", true), ("GE\nT", false), ("GET;1,prefix,0,/,", false), ("", false)] {
            let asked = HttpMatch { method: Some(method.into()), ..HttpMatch::default() };
            assert_eq!(of_http(&asked, Spelling::Normal).is_ok(), is_one, "{method}");
        }
        for (service, is_one) in [("a.B_1", true), ("a.B/C x\ny z", false), ("", false)] {
            let method = GrpcMethod { kind: None, service: Some(service.into()), method: Some("C".into()) };
            let asked = GrpcMatch { method: Some(method), ..GrpcMatch::default() };
            assert_eq!(of_grpc(&asked).is_ok(), is_one, "{service}");
        }
    }
}
