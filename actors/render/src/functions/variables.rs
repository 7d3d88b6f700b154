//! Variables. What they do is the engine's, for only it knows blocks; here they are described.

use super::function::{Function, Group, Kind::*, Role, arg, function, many, named, statement};
use crate::value::Value;

pub(super) static FUNCTIONS: &[Function] = &[
    statement(
        Role::Declare,
        function(
            "let",
            Group::Variables,
            &[many("name and value", Any), named("name")],
            "Declares variables in this block, as name=value or in pairs. They are seen in it and in all blocks inside it, snippets included, and read like fields: {{name}}.",
            (r#"{{let port=8080}}{{#each (array "a" "b")}}{{this}}:{{port}} {{/each}}"#, "a:8080 b:8080 "),
            |_| Ok(Value::Missing),
        ),
    ),
    statement(
        Role::Assign,
        function(
            "set",
            Group::Variables,
            &[many("name and value", Any), named("name")],
            "Changes the nearest variables of these names; the change is seen after the loop, too.",
            (r#"{{let sum=0}}{{#each (array 1 2 3) as |n|}}{{set sum=(add sum n)}}{{/each}}{{sum}}"#, "6"),
            |_| Ok(Value::Missing),
        ),
    ),
    statement(
        Role::Push,
        function(
            "push",
            Group::Variables,
            &[arg("name", Variable), many("item", Any)],
            "Adds items to the end of the list in a variable.",
            (
                r#"{{let hosts=(array)}}{{#each (array "a" "b") as |h|}}{{push hosts h}}{{/each}}{{join hosts ","}}"#,
                "a,b",
            ),
            |_| Ok(Value::Missing),
        ),
    ),
];
