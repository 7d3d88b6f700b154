//! Lines of `NAME: VALUE` that people write for headers of requests and answers.

use super::function::{Function, Group, Kind::*, arg, function};
use crate::value::Value;
use haptic_routes::options::header::{Header, headers, lines};

pub(super) static FUNCTIONS: &[Function] = &[
    function(
        "header_lines",
        Group::Haproxy,
        &[arg("text", Text)],
        "The headers in lines of `NAME: VALUE`, as dicts with name and value.",
        (
            r#"{{#each (header_lines "X-A: 1\nX-B: 2") as |h|}}{{h.name}}={{h.value}} {{/each}}"#,
            "X-A=1 X-B=2 ",
        ),
        |call| {
            let header = |Header { name, value }: Header| {
                Value::dict([("name".into(), name.into()), ("value".into(), value.into())])
            };
            Ok(Value::list(lines(&call.text(0)).map(header).collect()))
        },
    ),
    function(
        "headers_problem",
        Group::Haproxy,
        &[arg("text", Text), arg("most", Integer)],
        "What lines of `NAME: VALUE` must be instead: of the first wrong one, or when there are too many; missing if nothing is wrong. Headers that say where a message ends, or what a connection does, are none to set.",
        (
            r#"{{headers_problem "Content-Length: 1" 9}} {{default (headers_problem "X-A: 1" 9) "none"}}"#,
            "without Content-Length, which HAProxy itself sets none",
        ),
        |call| {
            let most = usize::try_from(call.integer(1, 0)).unwrap_or(0);
            Ok(headers(&call.text(0), most).err().map_or(Value::Missing, Value::from))
        },
    ),
];
