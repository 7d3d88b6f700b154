//! Why a text is not YAML, without the place, the snippet and the advice that the parser has for programmers.

use serde_saphyr::{Error, budget::BudgetBreach};

/// `this is not YAML: …`, or what of it is more than is read.
#[must_use]
pub fn why(error: &Error) -> String {
    beyond(error).or_else(|| misread(error)).unwrap_or_else(|| {
        let said = error.without_snippet().to_string();
        let said = said.lines().next().unwrap_or_default().trim();
        let said = said.rsplit_once(" at line ").map_or(said, |(what, _)| what);
        let said = said.split_once(", set ").map_or(said, |(what, _)| what);
        format!("this is not YAML: {said}")
    })
}

/// In our words, where the text is well-formed and too much: only a bomb, or a mistake, is.
fn beyond(error: &Error) -> Option<String> {
    match error {
        Error::WithSnippet { error, .. } | Error::AliasError { error, .. } => beyond(error),
        Error::AliasReplayLimitExceeded { .. } | Error::AliasExpansionLimitExceeded { .. } => Some(aliases()),
        Error::Budget { breach, .. } => Some(match breach {
            BudgetBreach::Depth { depth } => {
                format!("it is nested deeper than {} levels", depth.saturating_sub(1))
            }
            BudgetBreach::Aliases { .. }
            | BudgetBreach::Anchors { .. }
            | BudgetBreach::RecordedAnchorEvents { .. }
            | BudgetBreach::RecordedAnchorBytes { .. }
            | BudgetBreach::AliasAnchorRatio { .. }
            | BudgetBreach::Nodes { .. }
            | BudgetBreach::Events { .. } => aliases(),
            BudgetBreach::MergeKeys { .. } => "it has more merge keys (<<) than are read".to_owned(),
            _ => "it is larger than what is read".to_owned(),
        }),
        _ => None,
    }
}

/// In our words, where the parser has advice for programmers.
fn misread(error: &Error) -> Option<String> {
    let why = match error {
        Error::WithSnippet { error, .. } | Error::AliasError { error, .. } => return misread(error),
        Error::NullIntoString { .. } => "a name is empty: write one before the colon",
        // Whatever else is expected, that is what people write.
        Error::Unexpected { .. } => {
            "a list or mapping begins here: put quotes around a text that begins with [ or {, or write it in lines of its own, behind |"
        }
        Error::BinaryNotUtf8 { .. } => "what !!binary stands before is no text: leave the tag out",
        _ => return None,
    };
    Some(format!("this is not YAML: {why}"))
}

fn aliases() -> String {
    "it holds more than is read, counted with what its aliases (*name) repeat".to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(text: &str) -> String {
        let read: Result<Vec<serde_json::Value>, _> = serde_saphyr::from_multiple(text);
        read.map_or_else(|error| why(&error), |_| "nothing".to_owned())
    }

    #[test]
    fn what_is_too_much_is_told_in_our_words() {
        let deep = |levels: usize| format!("a: {}{}", "[".repeat(levels), "]".repeat(levels));
        assert_eq!(said(&deep(63)), "nothing");
        assert_eq!(said(&deep(200)), "it is nested deeper than 64 levels");
        let mut bomb = "a: &a [x, x, x, x, x, x, x, x, x]\n".to_owned();
        for (name, before) in "bcdefghi".chars().zip("abcdefgh".chars()) {
            bomb += &format!("{name}: &{name} [{}]\n", vec![format!("*{before}"); 9].join(", "));
        }
        assert!(said(&bomb).starts_with("it holds more than is read"), "{}", said(&bomb));
        assert!(said("a: [").starts_with("this is not YAML: "), "{}", said("a: ["));
        assert!(!said("a: [").contains(" at line "), "{}", said("a: ["));
        for (text, why) in [(": [", "a name is empty"), ("a: {{x}}", "put quotes around a text")] {
            assert!(said(text).contains(why) && !said(text).contains("Option"), "{text}: {}", said(text));
        }
    }
}
