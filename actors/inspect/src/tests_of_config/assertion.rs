//! Whether an assertion holds, and if not, why and where. Pure; only [`Check::Valid`] needs a process, and not here.

use super::{
    ExcerptLine,
    check::Check,
    excerpt::{around, line_of, similar},
    subject::{Outcome, Subject},
    target::Target,
};
use haptic_model::{Bundle, Diagnostic, Severity};
use haptic_text::{FieldPath, Text};
use regex::Regex;
use serde_json::Value;
use similar::TextDiff;

/// Why an assertion does not hold.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Fault {
    /// A sentence, or a few lines.
    pub message: String,
    /// Where, if it is somewhere.
    pub lines: Vec<ExcerptLine>,
}

impl From<String> for Fault {
    fn from(message: String) -> Self {
        Self { message, lines: Vec::new() }
    }
}

/// Judges every check but [`Check::Valid`], which [`judge_verdict`] does.
pub(super) fn judge(check: &Check, subject: &Subject) -> Result<(), Fault> {
    match check {
        Check::Valid => subject.bundle().map(drop).map_err(Fault::from),
        Check::Deterministic => deterministic(subject),
        Check::Contains { target, pattern, wanted: true } => {
            contains(target, &subject.text(target)?, pattern)
        }
        Check::Contains { target, pattern, wanted: false } => lacks(target, &subject.text(target)?, pattern),
        Check::Equals { target, expected } => equals(target, &subject.text(target)?, expected),
        Check::Count { target, pattern, expected } => {
            count(target, &subject.text(target)?, pattern, *expected)
        }
        Check::Order { target, patterns } => order(target, &subject.text(target)?, patterns),
        Check::Path { target: None, path, expected } => {
            subject.bundle()?;
            leads(path, &subject.context, expected.as_deref())
        }
        Check::Path { target: Some(target), path, expected } => {
            let text = subject.text(target)?.to_string();
            let value = serde_json::from_str(&text).map_err(|e| {
                format!("{target} is not JSON ({e}); without a target, jsonpath looks at the context")
            })?;
            leads(path, &value, expected.as_deref())
        }
    }
}

/// What HAProxy and the checks before it said of `bundle`.
pub(super) fn judge_verdict(diagnostics: &[Diagnostic], bundle: &Bundle) -> Result<(), Fault> {
    let errors: Vec<&Diagnostic> = diagnostics.iter().filter(|d| d.severity == Severity::Error).collect();
    let Some(first) = errors.first() else { return Ok(()) };
    let lines = first.output.as_ref().map_or_else(Vec::new, |place| {
        let file = bundle.all().find(|file| file.key == place.file);
        file.map(|file| around(&file.text, &[place.line as usize])).unwrap_or_default()
    });
    let message = errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n");
    Err(Fault { message, lines })
}

fn contains(target: &Target, text: &Text, pattern: &Regex) -> Result<(), Fault> {
    let content = text.to_string();
    if pattern.is_match(&content) {
        return Ok(());
    }
    let near = similar(&content, pattern.as_str());
    let hint = if near.is_some() { "; the line most like it:" } else { "" };
    let lines = near.map(|number| around(text, &[number])).unwrap_or_default();
    Err(Fault { message: format!("pattern \"{pattern}\" not found in {target}{hint}"), lines })
}

fn lacks(target: &Target, text: &Text, pattern: &Regex) -> Result<(), Fault> {
    let found = lines_of(&text.to_string(), pattern);
    if found.is_empty() {
        return Ok(());
    }
    let message = format!("pattern \"{pattern}\" unexpectedly found in {target}{}", times(found.len()));
    Err(Fault { message, lines: around(text, &found) })
}

fn count(target: &Target, text: &Text, pattern: &Regex, expected: usize) -> Result<(), Fault> {
    let found = lines_of(&text.to_string(), pattern);
    if found.len() == expected {
        return Ok(());
    }
    let message =
        format!("pattern \"{pattern}\" found {} times in {target}, expected {expected}", found.len());
    Err(Fault { message, lines: around(text, &found) })
}

fn order(target: &Target, text: &Text, patterns: &[Regex]) -> Result<(), Fault> {
    let content = text.to_string();
    let (mut after, mut line) = (0, 0);
    for (number, pattern) in patterns.iter().enumerate() {
        if let Some(found) = pattern.find_at(&content, after) {
            (after, line) = (found.end(), line_of(&content, found.start()));
            continue;
        }
        let which = format!("pattern {} of {}, \"{pattern}\",", number + 1, patterns.len());
        let (elsewhere, marked) = match pattern.find(&content) {
            Some(found) => {
                let before = line_of(&content, found.start());
                (format!("only before it, in line {before}"), vec![before, line])
            }
            None => ("nowhere else".to_owned(), vec![line]),
        };
        let message = match line {
            0 => format!("{which} not found in {target}"),
            line => format!("{which} not found in {target} after line {line}, {elsewhere}"),
        };
        return Err(Fault { message, lines: around(text, &marked) });
    }
    Ok(())
}

fn equals(target: &Target, text: &Text, expected: &str) -> Result<(), Fault> {
    let content = text.to_string();
    if content == expected {
        return Ok(());
    }
    if content.trim_end_matches('\n') == expected.trim_end_matches('\n') {
        let (has, has_not) = if content.ends_with('\n') {
            (target.to_string(), "expected")
        } else {
            ("expected".into(), "it")
        };
        return Err(format!("only the newlines at the end differ: {has} has more than {has_not}").into());
    }
    let diff = TextDiff::from_lines(expected, &content);
    let diff = diff.unified_diff().context_radius(2).header("expected", &target.to_string()).to_string();
    Err(format!("{target} is not what was expected:\n{}", diff.trim_end()).into())
}

fn leads(path: &FieldPath, value: &Value, expected: Option<&str>) -> Result<(), Fault> {
    let found: Vec<String> =
        path.get_all(value).into_iter().filter(|value| !value.is_null()).map(text_of).collect();
    match expected {
        _ if found.is_empty() => Err(format!("{path} leads to nothing").into()),
        Some(expected) if found.join(" ") != expected => {
            Err(format!("{path} is {:?}, expected {expected:?}", found.join(" ")).into())
        }
        _ => Ok(()),
    }
}

/// As kubectl's jsonpath prints it: a text is itself, anything else its compact JSON.
fn text_of(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn deterministic(subject: &Subject) -> Result<(), Fault> {
    let first = subject.bundle()?;
    match &subject.again {
        Some(Ok(second)) if second.digest == first.digest => Ok(()),
        Some(Ok(second)) => Err(difference(first, second)),
        Some(Err(why)) => Err(format!("it failed when it was rendered again: {why}").into()),
        None => Err("it was not rendered again; this is a bug in HAPTIC".to_owned().into()),
    }
}

fn difference(first: &Bundle, second: &Bundle) -> Fault {
    let differs = first.all().find(|file| {
        second.all().find(|other| other.path == file.path).is_none_or(|other| other.digest != file.digest)
    });
    let Some(file) = differs else {
        return Fault::from("the second render has more files".to_owned());
    };
    let target = Target::File(file.key.clone());
    let again = second.all().find(|other| other.path == file.path);
    let (was, is) = (file.text.to_string(), again.map(|other| other.text.to_string()).unwrap_or_default());
    let line = was.lines().zip(is.lines()).take_while(|(was, is)| was == is).count() + 1;
    let message = format!("{target} is another one when it is rendered again, from line {line} on");
    Fault { message, lines: around(&file.text, &[line]) }
}

fn lines_of(content: &str, pattern: &Regex) -> Vec<usize> {
    pattern.find_iter(content).map(|found| line_of(content, found.start())).collect()
}

fn times(count: usize) -> String {
    if count > 1 { format!(", {count} times") } else { String::new() }
}

/// What was rendered, for whoever asked for it.
pub(super) fn dump(outcome: &Outcome) -> std::collections::BTreeMap<String, String> {
    let bundle = outcome.iter();
    bundle.flat_map(Bundle::all).map(|file| (file.path.to_string(), file.text.to_string())).collect()
}
