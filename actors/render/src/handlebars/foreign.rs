//! Tags of Go's templates and of Jinja, and how they are written here.

use crate::functions;
use haptic_text::suggest::did_you_mean;

/// Operators of other languages, and the functions for them.
const OPERATORS: [(&str, &str); 8] = [
    (" == ", "eq"),
    (" != ", "ne"),
    (" <= ", "lte"),
    (" >= ", "gte"),
    (" < ", "lt"),
    (" > ", "gt"),
    (" && ", "and"),
    (" || ", "or"),
];

/// How the content of a tag is written here, if it is known from elsewhere.
pub(super) fn help(inner: &str) -> Option<String> {
    let bare = inner.trim().trim_start_matches(['#', '~']).trim();
    if bare.starts_with("- ") || bare.ends_with(" -") {
        return Some("White space is trimmed by {{~ … ~}}".into());
    }
    by_word(bare.split([' ', '(']).next().unwrap_or_default())
        .map(str::to_owned)
        .or_else(|| operator(bare))
        .or_else(|| pipe(bare))
        .or_else(|| dot(bare))
}

fn by_word(word: &str) -> Option<&'static str> {
    Some(match word {
        "range" | "for" => "Write {{#each LIST as |item|}}…{{/each}}",
        "end" | "endif" | "endfor" | "endwith" => "A block is closed by its name: {{/if}}, {{/each}}",
        "template" | "include" | "define" => "Write {{> NAME}}, and NAME into templateSnippets",
        word if word.starts_with('$') => "Write {{let name=value}}, and {{name}}",
        _ => return None,
    })
}

/// `a == b` is `(eq a b)`.
fn operator(bare: &str) -> Option<String> {
    let outside = outside_of_texts(bare);
    let (sign, function) = OPERATORS.into_iter().find(|(sign, _)| outside.contains(sign))?;
    Some(format!("There is no operator{}: write ({function} a b)", sign.trim_end()))
}

/// `a | f` is `f a`.
fn pipe(bare: &str) -> Option<String> {
    let outside = outside_of_texts(bare);
    // `as |item|` has two of them, and is right.
    let at = outside.rfind('|').filter(|_| !outside.contains(" as |"))?;
    let (value, filter) = (bare.get(..at)?.trim(), bare.get(at + 1..)?.trim());
    let name = filter.split([' ', '(']).next().unwrap_or_default();
    let value = value.trim_start_matches('.');
    let value = if value.contains(' ') && !is_text(value) { format!("({value})") } else { value.to_owned() };
    let near = if functions::find(name).is_some() {
        String::new()
    } else {
        format!("; there is no function {name:?}{}", did_you_mean(name, functions::names()))
    };
    Some(format!("There are no pipes: write {{{{{name} {value}}}}}{near}"))
}

/// `.services` is `services`.
fn dot(bare: &str) -> Option<String> {
    let path =
        bare.split(' ').find(|word| word.len() > 1 && word.starts_with('.') && !word.starts_with(".."))?;
    Some(format!("Names have no dot before them: write {}", path.trim_start_matches('.')))
}

fn is_text(value: &str) -> bool {
    value.len() > 1 && value.starts_with(['"', '\'']) && value.ends_with(['"', '\''])
}

/// The same, of the same length, with nothing in its texts.
fn outside_of_texts(text: &str) -> String {
    let mut within = None;
    let blank = |c: char| " ".repeat(c.len_utf8());
    text.chars()
        .map(|c| match within {
            Some(quote) => {
                within = within.filter(|_| c != quote);
                blank(c)
            }
            None if c == '"' || c == '\'' => {
                within = Some(c);
                blank(c)
            }
            None => c.to_string(),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_known_from_elsewhere_is_told_as_it_is_written_here() {
        for (inner, expected) in [
            (" .x | lower ", "There are no pipes: write {{lower x}}"),
            ("\"a | b\" | upper", "There are no pipes: write {{upper \"a | b\"}}"),
            ("join x \",\" | lower", "There are no pipes: write {{lower (join x \",\")}}"),
            (
                "x | lowercase",
                "write {{lowercase x}}; there is no function \"lowercase\" (did you mean \"lower\"?)",
            ),
            ("x | default('|')", "There are no pipes: write {{default x}}"),
            ("range .services", "{{#each LIST as |item|}}"),
            ("- range $i, $s := .services -", "{{~ … ~}}"),
            ("for s in services", "{{#each LIST as |item|}}"),
            ("$x := 1", "{{let name=value}}"),
            ("#if a == b", "There is no operator ==: write (eq a b)"),
            ("#if a && b", "write (and a b)"),
            ("#if .Values.x", "write Values.x"),
        ] {
            let help = help(inner).unwrap_or_default();
            assert!(help.contains(expected), "{inner}: {help}");
        }
    }

    #[test]
    fn what_is_written_as_here_has_no_such_help() {
        for inner in
            ["#each services as |service|", "lower \"a | b == c\"", "../x", "get x \"a.b\"", "> part", "this"]
        {
            assert_eq!(help(inner), None, "{inner}");
        }
    }
}
