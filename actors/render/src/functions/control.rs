//! The render itself: stop it, warn, do something once.

use super::{
    call::Call,
    function::{Function, Group, Kind::*, Role, arg, function, many, statement},
};
use crate::{
    quotations::{QUOTE, SENTENCE},
    value::{UNSAID, Value},
};
use haptic_model::Diagnostic;
use haptic_text::shortened;

pub(super) static FUNCTIONS: &[Function] = &[
    statement(
        Role::Effect,
        function(
            "fail",
            Group::Control,
            &[many("text", Text)],
            "Gives up the block of the object that it stands in, and outside of all the whole render; the text says why.",
            (r#"{{#if false}}{{fail "no certificate for " host}}{{/if}}ok"#, "ok"),
            |call| Err(sentence(call, 0)),
        ),
    ),
    statement(
        Role::Effect,
        function(
            "register_error",
            Group::Control,
            &[arg("object", Object), many("text", Text)],
            "Refuses a watched object, saying why.",
            (
                r#"{{#each (list "ingresses") as |ing|}}{{#if (eq ing.spec.rules.0.host "evil")}}{{register_error ing "this host is not yours"}}{{/if}}{{/each}}ok"#,
                "ok",
            ),
            register_error,
        ),
    ),
    statement(
        Role::Effect,
        function(
            "warn",
            Group::Control,
            &[many("text", Text)],
            "Tells a warning to the log, the events and the status; holds nothing back.",
            (r#"{{warn "port " 80 " is not encrypted"}}ok"#, "ok"),
            |call| {
                let owner = call.session.owner();
                call.session.warn(Diagnostic::warning("render", sentence(call, 0)).of_object(owner));
                Ok(Value::Missing)
            },
        ),
    ),
    statement(
        Role::Effect,
        function(
            "debug",
            Group::Control,
            &[many("value", Optional)],
            "Writes values to the log at level DEBUG.",
            (r#"{{debug "here" (array 1 2)}}ok"#, "ok"),
            |call| {
                let values = call
                    .rest(0)
                    .iter()
                    .map(|v| if v.holds_secret() { Ok(UNSAID.into()) } else { Ok(v.to_json()?.to_string()) })
                    .collect::<Result<Vec<_>, String>>()?;
                tracing::debug!(values = values.join(" "), "template");
                Ok(Value::Missing)
            },
        ),
    ),
    function(
        "once",
        Group::Control,
        &[arg("key", Text)],
        "Whether it is asked for the first time in this file with this key.",
        (r#"{{#each (array "a" "a" "b")}}{{#if (once this)}}{{this}}{{/if}}{{/each}}"#, "ab"),
        |call| Ok(Value::Bool(call.session.first_time(&call.text(0)))),
    ),
    statement(
        Role::Glob,
        function(
            "render_glob",
            Group::Control,
            &[arg("pattern", Text)],
            "Prints all snippets whose names fit a pattern (* any text, ? one character), by name.",
            (r#"{{render_glob "example-*"}}"#, "one\ntwo\n"),
            |_| Ok(Value::Missing),
        ),
    ),
];

fn register_error(call: &Call<'_>) -> Result<Value, String> {
    let object = call.object(0).map(|o| o.reference().clone());
    let refusal = Diagnostic::error("render", sentence(call, 1)).of_object(object).help("Change that object");
    call.session.refuse(refusal).map(|()| Value::Missing)
}

/// Of each text that is a part of the sentence no more is said than a quote.
fn sentence(call: &Call<'_>, from: usize) -> String {
    let parts = call.rest(from);
    let most = if parts.len() > 1 { QUOTE } else { SENTENCE };
    let said = |value: &Value| match value {
        Value::Secret(_) => Some(UNSAID.into()),
        other => other.printed().map(|text| shortened(&text, most).into_owned()),
    };
    let sentence: String = parts.iter().filter_map(said).collect();
    shortened(&sentence, SENTENCE).into_owned()
}

/// Whether `text` fits `pattern`, where `*` is any text and `?` is one character.
#[must_use]
pub fn glob_matches(pattern: &str, text: &str) -> bool {
    let (pattern, text): (Vec<char>, Vec<char>) = (pattern.chars().collect(), text.chars().collect());
    let (mut p, mut t) = (0, 0);
    // Where to go on when the text behind the last `*` does not fit: one more character belongs to the star.
    let mut retry = None;
    loop {
        match (pattern.get(p), text.get(t)) {
            (None, None) => return true,
            (Some('*'), _) => {
                p += 1;
                retry = Some((p, t));
            }
            (Some('?'), Some(_)) => (p, t) = (p + 1, t + 1),
            (Some(a), Some(b)) if a == b => (p, t) = (p + 1, t + 1),
            _ => match retry {
                Some((after_star, from)) if from < text.len() => {
                    (p, t) = (after_star, from + 1);
                    retry = Some((after_star, from + 1));
                }
                _ => return false,
            },
        }
    }
}
