//! An explanation as text.

use super::explanation::{Explanation, ExplanationStep};
use crate::terminal;
use owo_colors::OwoColorize;
use std::fmt::Write;

/// All of it. What others wrote moves no terminal.
#[must_use]
pub fn as_text(explanation: &Explanation) -> String {
    let mut text = String::new();
    // Writing to a String cannot fail.
    _ = write_explanation(&terminal::all_safe(explanation), &mut text);
    text
}

fn write_explanation(explanation: &Explanation, text: &mut String) -> std::fmt::Result {
    let request = &explanation.request;
    let scheme = if request.tls { "https" } else { "http" };
    let port = request.port.map(|port| format!(":{port}")).unwrap_or_default();
    let given = explanation.given.as_ref().map(|given| format!(" with {given}")).unwrap_or_default();
    let url = format!("{scheme}://{}{port}{}{given}", request.host, request.path);
    let by_itself = explanation.redirected.as_ref().map(|to| format!("is redirected: {to}"));
    let by_itself = by_itself.or_else(|| {
        explanation.fulfilled.as_ref().map(|how| format!("is answered by HAProxy itself: {how}"))
    });
    match (by_itself, &explanation.backend, explanation.why_not.is_empty()) {
        (Some(how), ..) => writeln!(text, "{} {how}", url.bold())?,
        (None, Some(backend), true) => {
            let count = explanation.servers.len();
            let plural = if count == 1 { "" } else { "s" };
            let unless =
                if explanation.may_be_answered_by.is_empty() { "" } else { ", unless a rule answers it" };
            writeln!(
                text,
                "{} goes to backend {}, {count} server{plural}{unless}",
                url.bold(),
                backend.bold()
            )?;
        }
        _ if explanation.is_lost => {
            writeln!(text, "{} {}", url.bold(), "cannot be followed to its end".yellow().bold())?;
        }
        _ => writeln!(text, "{} {}", url.bold(), "is not served".red().bold())?,
    }
    for why in &explanation.why_not {
        writeln!(text, "  {} {}", "because".yellow(), why.replace('\n', "\n          "))?;
    }
    for held in &explanation.held_back {
        writeln!(text, "  {} {held}", "not its newest version:".yellow())?;
    }
    for found in &explanation.found {
        writeln!(text, "  {} {found}", "found:".yellow())?;
    }
    for rule in &explanation.may_be_answered_by {
        writeln!(text, "  {} {rule}", "may be answered by".yellow())?;
    }
    if let Some(generation) = explanation.generation {
        let refused = explanation.refused.map(|refused| format!("; HAProxy's check refused {refused}"));
        let followed = format!("through generation {generation}{}", refused.unwrap_or_default());
        writeln!(text, "  {}", followed.dimmed())?;
    }
    for step in explanation.steps.iter().chain(&explanation.servers) {
        write_step(step, text)?;
    }
    for other in &explanation.also {
        writeln!(text)?;
        write_explanation(other, text)?;
    }
    Ok(())
}

fn write_step(step: &ExplanationStep, text: &mut String) -> std::fmt::Result {
    writeln!(text, "{}  {}", format!("{:>9}", step.what).cyan(), step.text)?;
    if step.file.is_empty() {
        return Ok(());
    }
    let template =
        step.template.as_deref().map(|template| format!(", template {template}")).unwrap_or_default();
    let object = step.object.as_deref().map(|object| format!(", {object}")).unwrap_or_default();
    let from = format!("{}:{}{template}{object}", step.file, step.line);
    writeln!(text, "           {}", from.dimmed())
}
