//! Texts.

use super::{
    call::Call,
    function::{Function, Group, Kind::*, arg, check_length, function, many, maybe},
    printf::printf,
};
use crate::value::Value;
use haptic_text::suggest::did_you_mean;

pub(super) static FUNCTIONS: &[Function] = &[
    function(
        "lower",
        Group::Strings,
        &[arg("text", Text)],
        "In small letters.",
        (r#"{{lower "Shop.Example"}}"#, "shop.example"),
        |call| Ok(call.text(0).to_lowercase().into()),
    ),
    function(
        "upper",
        Group::Strings,
        &[arg("text", Text)],
        "In capital letters.",
        (r#"{{upper "get"}}"#, "GET"),
        |call| Ok(call.text(0).to_uppercase().into()),
    ),
    function(
        "did_you_mean",
        Group::Strings,
        &[arg("text", Text), arg("known", List)],
        "A question for an error: which of the known texts is meant. Empty when none is near.",
        (r#"{{did_you_mean "timeout" (array "timeouts" "paths")}}"#, r#" (did you mean "timeouts"?)"#),
        |call| {
            let known: Vec<_> = call.list(1).iter().filter_map(Value::printed).collect();
            Ok(did_you_mean(&call.text(0), known.iter().map(|known| &**known)).into())
        },
    ),
    function(
        "trim",
        Group::Strings,
        &[arg("text", Text), maybe("characters", Text)],
        "Without white space (or the given characters) at both ends.",
        (r#"{{trim "  a "}} {{trim "/a/" "/"}}"#, "a a"),
        |call| {
            let (text, characters) = (call.text(0), call.text(1));
            Ok(Value::text(if call.has(1) {
                text.trim_matches(|c| characters.contains(c))
            } else {
                text.trim()
            }))
        },
    ),
    function(
        "trim_prefix",
        Group::Strings,
        &[arg("text", Text), arg("prefix", Text)],
        "Without a prefix, if it has it.",
        (r#"{{trim_prefix "*.example.com" "*"}}"#, ".example.com"),
        |call| {
            let text = call.text(0);
            Ok(Value::text(text.strip_prefix(&*call.text(1)).unwrap_or(&text)))
        },
    ),
    function(
        "trim_suffix",
        Group::Strings,
        &[arg("text", Text), arg("suffix", Text)],
        "Without a suffix, if it has it.",
        (r#"{{trim_suffix "/api/" "/"}}"#, "/api"),
        |call| {
            let text = call.text(0);
            Ok(Value::text(text.strip_suffix(&*call.text(1)).unwrap_or(&text)))
        },
    ),
    function(
        "replace",
        Group::Strings,
        &[arg("text", Text), arg("old", Text), arg("new", Text)],
        "With every old part replaced by a new one.",
        (r#"{{replace "a.b.c" "." "_"}}"#, "a_b_c"),
        replace,
    ),
    function(
        "regex_replace",
        Group::Strings,
        &[arg("text", Text), arg("pattern", Text), arg("new", Text)],
        "With every match of a regular expression replaced; $1 is what the first group matched.",
        (r#"{{regex_replace "/a/12/b" "/([0-9]+)/" "/<$1>/"}}"#, "/a/<12>/b"),
        regex_replace,
    ),
    function(
        "regex_find",
        Group::Strings,
        &[arg("text", Text), arg("pattern", Text), maybe("default", Any)],
        "What a regular expression (or its first group) matches first, or the default; missing if there is neither.",
        (r#"{{regex_find "v12.3" "([0-9]+)\\."}} {{regex_find "x" "[0-9]" 0}}"#, "12 0"),
        |call| {
            let text = call.text(0);
            let found = call
                .session
                .pattern(&call.text(1))?
                .captures(&text)
                .and_then(|c| c.get(1).or_else(|| c.get(0)).map(|m| Value::text(m.as_str())));
            Ok(found.unwrap_or_else(|| call.value(2).clone()))
        },
    ),
    function(
        "repeat",
        Group::Strings,
        &[arg("text", Text), arg("times", Integer)],
        "The text several times over.",
        (r#"{{repeat "ab" 3}}"#, "ababab"),
        repeat,
    ),
    function(
        "indent",
        Group::Strings,
        &[arg("text", Text), arg("spaces", Integer)],
        "With every line that is not empty moved to the right.",
        (r#"{{json (indent "a\nb" 2)}}"#, r#""  a\n  b""#),
        indent,
    ),
    function(
        "string",
        Group::Strings,
        &[arg("value", Text)],
        "A number or boolean as text.",
        (r#"{{json (string 80)}}"#, r#""80""#),
        |call| Ok(Value::Text(call.text(0))),
    ),
    function(
        "printf",
        Group::Strings,
        &[arg("format", Text), many("value", Any)],
        "Values in a text: %s text, %d whole number, %f number, %x hexadecimal, %q quoted, %% percent; with width, 0, - and .precision as in C.",
        (r#"{{printf "srv%03d %s %.1f%%" 7 "up" 99.5}}"#, "srv007 up 99.5%"),
        |call| printf(&call.text(0), call.rest(1)).map(Value::from),
    ),
];

impl From<String> for Value {
    fn from(text: String) -> Self {
        Self::Text(text.into())
    }
}

fn replace(call: &Call<'_>) -> Result<Value, String> {
    let (text, old, new) = (call.text(0), call.text(1), call.text(2));
    let kept = text.len().saturating_sub(old.len());
    check_length(text.matches(&*old).count().saturating_mul(new.len()).saturating_add(kept))?;
    Ok(text.replace(&*old, &new).into())
}

fn regex_replace(call: &Call<'_>) -> Result<Value, String> {
    let (text, pattern, new) = (call.text(0), call.session.pattern(&call.text(1))?, call.text(2));
    let (mut out, mut written) = (String::new(), 0);
    let groups = new.matches('$').count();
    for found in pattern.captures_iter(&text) {
        let Some(whole) = found.get(0) else { continue };
        out.push_str(text.get(written..whole.start()).unwrap_or_default());
        // No group has matched more than the whole.
        let more = groups.saturating_mul(whole.len()).saturating_add(new.len());
        check_length(more.saturating_add(out.len()))?;
        found.expand(&new, &mut out);
        written = whole.end();
    }
    out.push_str(text.get(written..).unwrap_or_default());
    Ok(out.into())
}

fn repeat(call: &Call<'_>) -> Result<Value, String> {
    let (text, times) = (call.text(0), usize::try_from(call.integer(1, 0)).unwrap_or(0));
    check_length(text.len().saturating_mul(times))?;
    Ok(text.repeat(times).into())
}

fn indent(call: &Call<'_>) -> Result<Value, String> {
    let spaces = usize::try_from(call.integer(1, 0)).unwrap_or(0);
    if spaces > 1000 {
        return Err("more than 1000 spaces".into());
    }
    let space = " ".repeat(spaces);
    let text = call.text(0);
    check_length(text.lines().count().saturating_mul(spaces).saturating_add(text.len()))?;
    let lines = text
        .split_inclusive('\n')
        .map(|line| if line.trim().is_empty() { line.to_owned() } else { format!("{space}{line}") });
    Ok(lines.collect::<String>().into())
}
