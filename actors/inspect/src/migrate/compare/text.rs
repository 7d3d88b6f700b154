//! What came of a comparison, for people.

use super::{
    ComparedObject, ComparisonReport,
    report::{ComparisonTotals, ShownRequest},
};
use crate::migrate::text::cell;
use std::fmt::Write;

/// What is not answered the same, and the totals.
#[must_use]
pub fn as_comparison_summary(report: &ComparisonReport) -> String {
    let mut text = String::new();
    for object in &report.ingresses {
        let ComparedObject { ingress, shown, .. } = object;
        let word = if object.differing > 0 { "differs" } else { "not asked" };
        _ = writeln!(text, "{word} Ingress {}/{} ({})", ingress.namespace, ingress.name, numbers(object));
        for ShownRequest { request, differences, failure } in shown {
            _ = writeln!(text, "  {request}");
            for difference in differences {
                let (reference, ours) = (value(&difference.reference), value(&difference.ours));
                _ = writeln!(text, "    {}: {reference}, here {ours}", difference.what);
            }
            failure.iter().for_each(|why| _ = writeln!(text, "    no answer: {why}"));
        }
        let more = object.differing + object.not_asked - shown.len();
        if more > 0 {
            _ = writeln!(text, "  and {more} requests more");
        }
    }
    _ = writeln!(text, "{}", totals(&report.totals));
    text
}

/// The same as a page.
#[must_use]
pub fn as_comparison_page(report: &ComparisonReport) -> String {
    let mut text = format!("# Answers compared with {}\n\n{}.\n", report.family, totals(&report.totals));
    if report.ingresses.is_empty() {
        return text;
    }
    _ = write!(text, "\n| Ingress | Request | What | Before | Here |\n|---|---|---|---|---|\n");
    for object in &report.ingresses {
        let name = format!("{}/{}", object.ingress.namespace, object.ingress.name);
        for ShownRequest { request, differences, failure } in &object.shown {
            let request = cell(&request.to_string());
            for difference in differences {
                let (reference, ours) = (value(&difference.reference), value(&difference.ours));
                let (reference, ours) = (cell(&reference), cell(&ours));
                _ = writeln!(
                    text,
                    "| {name} | {request} | {} | {reference} | {ours} |",
                    cell(&difference.what)
                );
            }
            let failed = failure.iter().map(|why| cell(why));
            failed.for_each(|why| _ = writeln!(text, "| {name} | {request} | no answer: {why} | | |"));
        }
        let more = object.differing + object.not_asked - object.shown.len();
        if more > 0 {
            _ = writeln!(text, "| {name} | and {more} requests more | | | |");
        }
    }
    text
}

fn numbers(object: &ComparedObject) -> String {
    let ComparedObject { requests, differing, not_asked, .. } = object;
    match (differing, not_asked) {
        (differing, 0) => format!("{differing} of {requests} requests"),
        (0, not_asked) => format!("{not_asked} of {requests} requests without an answer"),
        (differing, not_asked) => {
            format!("{differing} of {requests} requests, {not_asked} without an answer")
        }
    }
}

fn value(value: &Option<String>) -> String {
    value.as_deref().unwrap_or("nothing").to_owned()
}

fn totals(totals: &ComparisonTotals) -> String {
    let ComparisonTotals { ingresses, same, differs, requests, differing, not_asked } = totals;
    format!(
        "{ingresses} Ingresses: {same} answered the same, {differs} otherwise; {requests} requests: {differing} answered otherwise, \
         {not_asked} without an answer"
    )
}
