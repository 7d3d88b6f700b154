//! Watched objects. What is given are handles: an object is parsed when something reads it.

use super::{Function, Group, Kind::*, arg, function, many};
use crate::value::Value;
use haptic_model::store::Key;

pub(super) static FUNCTIONS: &[Function] = &[
    function(
        "list",
        Group::Resources,
        &[arg("resource", Text)],
        "All objects of a watched resource, by namespace and name.",
        (r#"{{#each (list "ingresses") as |ing|}}{{ing.metadata.name}} {{/each}}"#, "blog shop "),
        |call| call.session.objects(&call.text(0), [].into()),
    ),
    function(
        "fetch",
        Group::Resources,
        &[arg("resource", Text), many("key", Text)],
        "The objects with these index values (the resource's indexBy, in order; fewer values give more objects).",
        (r#"{{len (fetch "endpoints" "default" "shop")}} {{len (fetch "endpoints" "default")}}"#, "2 3"),
        |call| {
            let key: Key = call.rest(1).iter().filter_map(Value::printed).collect();
            call.session.objects(&call.text(0), key)
        },
    ),
    function(
        "get_single",
        Group::Resources,
        &[arg("resource", Text), arg("namespace", Text), arg("name", Text)],
        "The object of that namespace and name; missing if there is none. The namespace of a cluster-wide object is \"\".",
        (r#"{{get (get_single "ingresses" "default" "shop") "spec.rules.0.host"}}"#, "shop.example"),
        |call| call.session.object(&call.text(0), &call.text(1), &call.text(2)),
    ),
];
