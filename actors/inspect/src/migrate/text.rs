//! A report for people.

use super::{MigratedObject, MigrationNote, MigrationReport, MigrationVerdict};
use std::fmt::Write;

impl MigrationVerdict {
    /// In a word.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Same => "same",
            Self::Differs => "differs",
            Self::Cannot => "cannot",
        }
    }
}

/// The totals, and what is not the same.
#[must_use]
pub fn as_summary(report: &MigrationReport) -> String {
    let mut text = String::new();
    for object in report.objects.iter().filter(|object| object.verdict > MigrationVerdict::Same) {
        let MigratedObject { kind, namespace, name, verdict, notes } = object;
        _ = writeln!(text, "{} {kind} {namespace}/{name}", verdict.word());
        for MigrationNote { annotation, verdict, sentence, options } in notes {
            let mark = if *verdict == MigrationVerdict::Same { "note" } else { verdict.word() };
            let at = annotation.as_deref().map(|annotation| format!("{annotation}: ")).unwrap_or_default();
            let here =
                if options.is_empty() { String::new() } else { format!(" (here {})", options.join(", ")) };
            let sentence = behind(annotation.as_deref().unwrap_or_default(), sentence);
            _ = writeln!(text, "  {mark:<8}{at}{sentence}{here}");
        }
    }
    _ = writeln!(text, "{}", totals(report));
    text
}

/// A sentence without the place that it begins with: `annotation PLACE is …`, or `PLACE: …` at entries of resources and rows of ConfigMaps.
fn behind<'s>(place: &str, sentence: &'s str) -> &'s str {
    let sentence = sentence.strip_prefix("annotation ").unwrap_or(sentence);
    let rest = sentence.strip_prefix(place).and_then(|rest| rest.strip_prefix([':', ' ']));
    rest.unwrap_or(sentence).trim_start()
}

fn totals(report: &MigrationReport) -> String {
    let totals = report.totals;
    format!(
        "{} objects: {} the same, {} served otherwise, {} with something that cannot be served",
        totals.objects, totals.same, totals.differs, totals.cannot
    )
}

/// The same as a page.
#[must_use]
pub fn as_markdown(report: &MigrationReport) -> String {
    let mut text = format!("# Migration from {}\n\n{}.\n", report.family, totals(report));
    for (verdict, title) in [
        (MigrationVerdict::Cannot, "Something cannot be served"),
        (MigrationVerdict::Differs, "Something is served otherwise"),
    ] {
        let mut of_verdict = report.objects.iter().filter(|object| object.verdict == verdict).peekable();
        if of_verdict.peek().is_none() {
            continue;
        }
        _ = write!(text, "\n## {title}\n\n| Object | Annotation | | What |\n|---|---|---|---|\n");
        for object in of_verdict {
            for note in object.notes.iter().filter(|note| note.verdict > MigrationVerdict::Same) {
                let here = if note.options.is_empty() {
                    String::new()
                } else {
                    format!("; here `{}`", note.options.join("`, `"))
                };
                let annotation =
                    note.annotation.as_deref().map(|name| format!("`{}`", cell(name))).unwrap_or_default();
                _ = writeln!(
                    text,
                    "| {} {}/{} | {annotation} | {} | {}{here} |",
                    object.kind,
                    object.namespace,
                    object.name,
                    note.verdict.word(),
                    cell(&note.sentence)
                );
            }
        }
    }
    text
}

/// What stands in one cell of a table.
pub(super) fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace(['\n', '\r'], " ").replace('<', "&lt;")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::migrate::MigrationTotals;

    #[test]
    fn a_place_is_named_once() {
        let summary = |place: &str, sentence: &str| {
            let note = MigrationNote {
                annotation: Some(place.to_owned()),
                verdict: MigrationVerdict::Differs,
                sentence: sentence.to_owned(),
                options: Vec::new(),
            };
            let object = MigratedObject {
                kind: "TCP",
                namespace: "db".into(),
                name: "ports".into(),
                verdict: MigrationVerdict::Differs,
                notes: vec![note],
            };
            let totals = MigrationTotals { objects: 1, differs: 1, ..MigrationTotals::default() };
            as_summary(&MigrationReport { family: "haproxy-org", totals, objects: vec![object] })
        };
        for (place, sentence, line) in [
            (
                "a",
                "a: port 5432 is none that the operator lists",
                "a: port 5432 is none that the operator lists",
            ),
            ("data.53", "data.53 is not served", "data.53: is not served"),
            ("x/retry", "annotation x/retry is \"no\"", "x/retry: is \"no\""),
            ("a", "annotation of another word", "a: of another word"),
            ("a", "any client may come in", "a: any client may come in"),
        ] {
            let told = summary(place, sentence);
            assert!(told.contains(&format!("\n  differs {line}\n")), "{told}");
        }
    }
}
