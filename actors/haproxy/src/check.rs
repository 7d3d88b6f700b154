//! Phase 1: what can be said against a configuration without running HAProxy, in milliseconds.
//!
//! The rule of this module: **never refuse what HAProxy accepts.** Where a rule cannot be known here (environment
//! variables, lines inside `.if`, words whose place is open) it says nothing; `haproxy -c` comes after it anyway.

mod conditions;
pub(crate) mod disabled;
mod expressions;
mod keywords;
mod names;
mod proof;
mod references;
mod statistics;

pub use proof::Proof;

use crate::document::{Directive, Document, Line};
use crate::keywords::nearest;
use crate::problem::{Code, Problem};
use haptic_model::HaproxyVersion;

/// HAProxy's `MAX_LINE_ARGS`.
const MAX_WORDS: usize = 64;

/// What a configuration is checked against.
#[derive(Clone, Copy)]
pub struct CheckOptions<'a> {
    /// The version of HAProxy; a fleet of several versions is checked once for each.
    pub version: HaproxyVersion,
    /// Whether a file, named as in [`crate::views::FileReference::path`], will be there. `None`: files are not checked.
    pub files: Option<&'a dyn Fn(&str) -> bool>,
}

impl CheckOptions<'_> {
    /// All checks for a version, except for files.
    pub fn new(version: HaproxyVersion) -> Self {
        Self { version, files: None }
    }
}

/// Everything that is wrong with a whole configuration, in the order of its lines, `document.problems` included.
pub fn check(document: &Document<'_>, options: &CheckOptions<'_>) -> Vec<Problem> {
    let mut problems = document.problems.clone();
    final_newline(document, &mut problems);
    directives(document, &mut problems);
    for line in document.lines() {
        too_many_words(line, &mut problems);
    }
    let disabled = disabled::disabled(document);
    if let Some(known) = nearest(options.version) {
        let lua = keywords::loads_lua(document);
        keywords::check(document, known, options.version, (lua, &disabled), &mut problems);
    }
    names::check(document, options.version, &disabled, &mut problems);
    conditions::check(document, &mut problems);
    references::check(document, options, &disabled, &mut problems);
    problems.sort_by_key(|problem| (problem.line, problem.column));
    problems
}

fn final_newline(document: &Document<'_>, problems: &mut Vec<Problem>) {
    if document.text.is_empty() || document.text.ends_with('\n') {
        return;
    }
    let Some(line) = document.lines().last() else { return };
    let message = "The last line does not end with a newline; HAProxy takes the file for truncated.";
    problems.push(
        Problem::new(Code::MissingFinalNewline, line.number, line.raw.len() + 1, message)
            .help("end the file with a newline"),
    );
}

fn too_many_words(line: &Line<'_>, problems: &mut Vec<Problem>) {
    let Some(word) = line.words.get(MAX_WORDS) else { return };
    let message = format!(
        "The line has {} words; HAProxy takes {MAX_WORDS} on a line and refuses it from '{}' on.",
        line.words.len(),
        word.value
    );
    problems.push(Problem::at(Code::TooManyWords, line, MAX_WORDS, message).help("split the line in two"));
}

/// `.if`, `.elif`, `.else` and `.endif` must match.
fn directives(document: &Document<'_>, problems: &mut Vec<Problem>) {
    // For each open `.if`: its line, and whether its `.else` has come.
    let mut open: Vec<(usize, bool)> = Vec::new();
    for line in document.lines() {
        let Some(directive) = line.directive() else { continue };
        let lone = |problems: &mut Vec<Problem>| {
            let message = format!("This '{}' belongs to no '.if'.", line.keyword());
            problems.push(
                Problem::at(Code::UnmatchedDirective, line, 0, message).help("remove it, or add the '.if'"),
            );
        };
        match (directive, open.last_mut()) {
            (Directive::If, _) => open.push((line.number, false)),
            (Directive::Elif | Directive::Else | Directive::Endif, None) => lone(problems),
            (Directive::Elif | Directive::Else, Some((start, true))) => {
                let message = format!("This '{}' comes after the '.else' of line {start}.", line.keyword());
                problems.push(Problem::at(Code::UnmatchedDirective, line, 0, message));
            }
            (Directive::Else, Some((_, seen_else))) => *seen_else = true,
            (Directive::Endif, Some(_)) => _ = open.pop(),
            _ => {}
        }
    }
    for (line, _) in open {
        let message = "This '.if' is never closed.";
        problems.push(Problem::new(Code::UnmatchedDirective, line, 1, message).help("add '.endif'"));
    }
}
