//! Filters of texts that are no methods of them.

use super::wrapping::{self, WrapRules};
use crate::{
    evaluation::EvaluationResult,
    jinja::{
        arguments::FilterArguments,
        evaluate::JinjaEvaluator,
        operand::Operand,
        operators::text_from,
        text,
        texts::{TextOperation::Makes, TextSubject},
    },
    output::framing,
};

/// Each word with a capital.
pub(super) fn titled(of: &TextSubject<'_, '_>) -> Result<String, String> {
    let mut result = String::with_capacity(of.text.len());
    let mut begins = true;
    for c in of.text.chars() {
        if begins {
            result.extend(c.to_uppercase());
        } else {
            result.extend(c.to_lowercase());
        }
        begins = c.is_whitespace() || matches!(c, '-' | '(' | '{' | '[' | '<');
    }
    Ok(result)
}

pub(super) fn truncated(of: &TextSubject<'_, '_>) -> Result<String, String> {
    let length = usize::try_from(of.given.whole(0, "length", 255)).unwrap_or(0);
    let end = of.given.text(2, "end").unwrap_or_else(|| "...".into());
    let leeway = usize::try_from(of.given.whole(3, "leeway", 5)).unwrap_or(0);
    let room = length.checked_sub(end.chars().count()).ok_or_else(|| {
        format!("truncate: a text of {length} characters has no room for {end:?} at its end")
    })?;
    if of.text.chars().count() <= length.saturating_add(leeway) {
        return Ok(of.text.to_string());
    }
    let kept: String = of.text.chars().take(room).collect();
    if of.given.is_true(1, "killwords", false) {
        return Ok(kept + &end);
    }
    let whole = kept.rsplit_once(' ').map_or(&*kept, |(before, _)| before);
    Ok(format!("{whole}{end}"))
}

pub(super) fn word_count(of: &str) -> usize {
    let words = of.split(|c: char| !c.is_alphanumeric() && c != '_');
    words.filter(|word| !word.is_empty()).count()
}

pub(super) fn word_wrapped(of: &TextSubject<'_, '_>) -> String {
    let rules = WrapRules {
        width: usize::try_from(of.given.whole(0, "width", 79)).unwrap_or(0),
        cuts_words: of.given.is_true(1, "break_long_words", true),
        between: &of.given.text(2, "wrapstring").unwrap_or_else(|| "\n".into()),
        at_hyphens: of.given.is_true(3, "break_on_hyphens", true),
    };
    wrapping::wrapped(&of.text, rules)
}

pub(super) fn file_size(of: &TextSubject<'_, '_>) -> Result<String, String> {
    let bytes = of.operand.number().or_else(|| of.text.trim().parse().ok());
    let bytes = bytes.ok_or_else(|| format!("filesizeformat: {} is no number", of.operand.describe()))?;
    Ok(wrapping::file_size(bytes, of.given.is_true(0, "binary", false)))
}

/// A text as a part of a URL, in which the characters of `kept` may stand.
fn url_part(of: &str, kept: &str) -> String {
    let mut result = String::new();
    for byte in of.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'_' | b'.' | b'-' | b'~' => {
                result.push(char::from(byte))
            }
            other if kept.as_bytes().contains(&other) => result.push(char::from(other)),
            other => result.push_str(&format!("%{other:02X}")),
        }
    }
    result
}

impl<'p> JinjaEvaluator<'_, 'p> {
    /// A text or number as a path, keys and values as a query.
    pub(super) fn url_encoded(
        &mut self,
        subject: &Operand<'p>,
        given: FilterArguments<'p>,
    ) -> EvaluationResult<Operand<'p>> {
        if !subject.is_text() && subject.number().is_none() {
            return self.query(subject);
        }
        self.text_filter("urlencode", subject, given, Makes(|of| Ok(url_part(&of.text, "/"))))
    }

    /// Keys and values as the query of a URL.
    fn query(&mut self, of: &Operand<'p>) -> EvaluationResult<Operand<'p>> {
        let mut parts = Vec::new();
        for (key, value) in self.given_pairs(of)? {
            let part = |of: &Operand<'p>| match of.printed() {
                Some(text) => Ok(url_part(&text, " ").replace(' ', "+")),
                None => Err(format!("urlencode: {} is no text", of.describe())),
            };
            parts.push(format!("{}={}", part(&key.operand())?, part(&value)?));
        }
        let query = parts.join("&");
        self.check_text(query.len())?;
        self.machine.made(query.len())?;
        Ok(text_from(&query, &[of]))
    }

    /// Each line but the first begins with white space; framed text keeps its frames.
    pub(super) fn indented(
        &mut self,
        subject: &Operand<'p>,
        given: &FilterArguments<'p>,
    ) -> EvaluationResult<Operand<'p>> {
        let before = given.get(0, "width").filter(|width| width.is_text());
        // A value that is put before lines makes a value of them.
        let keeps_frames = before
            .is_none_or(|text| matches!(text, Operand::Markup(text) if !text.contains(framing::is_mark)));
        let indent = self.indentation(given.get(0, "width"))?;
        let of = match subject {
            Operand::Markup(markup) if keeps_frames => markup.to_string(),
            other => other.printed().unwrap_or_default().to_string(),
        };
        self.check_text(of.len().saturating_add(indent.len().saturating_mul(of.matches('\n').count() + 1)))?;
        let (first, blank) = (given.is_true(1, "first", false), given.is_true(2, "blank", false));
        let is_indented =
            |number: usize, line: &str| if number == 0 { first } else { blank || !text::is_empty(line) };
        let mut result = String::new();
        for (number, line) in of.split('\n').enumerate() {
            result.push_str(if number > 0 { "\n" } else { "" });
            result.push_str(if is_indented(number, line) { &indent } else { "" });
            result.push_str(line);
        }
        self.machine.made(result.len())?;
        Ok(match subject {
            Operand::Markup(_) if keeps_frames => Operand::Markup(result.into()),
            other => text_from(&result, &std::iter::once(other).chain(before).collect::<Vec<_>>()),
        })
    }

    /// The text that is put before a line: a text, or a number of blanks.
    fn indentation(&self, width: Option<&Operand<'p>>) -> EvaluationResult<String> {
        if let Some(text) = width.filter(|width| width.is_text()) {
            return Ok(text.printed().unwrap_or_default().to_string());
        }
        let width = usize::try_from(width.and_then(Operand::whole).unwrap_or(4)).unwrap_or(0);
        self.check_text(width)?;
        Ok(" ".repeat(width))
    }
}
