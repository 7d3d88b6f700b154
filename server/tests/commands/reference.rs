//! The tables that pages of the documentation are made of say what the code does.

use haptic_model::FindingKind;
use std::{collections::BTreeSet, fs, path::Path};

fn root() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// A source file, without its tests.
fn code(path: &str) -> String {
    let text = fs::read_to_string(root().join(path)).unwrap();
    text.split("#[cfg(test)]").next().unwrap_or_default().to_owned()
}

/// What stands in quotes in it and looks like `wanted`.
fn quoted(code: &str, wanted: impl Fn(&str) -> bool) -> BTreeSet<String> {
    code.split('"').skip(1).step_by(2).filter(|word| wanted(word)).map(str::to_owned).collect()
}

/// `RenderFailed`, but no sentence.
fn is_name(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_uppercase()) && word.chars().all(|c| c.is_ascii_alphanumeric())
}

fn named<'a>(words: impl IntoIterator<Item = &'a str>) -> BTreeSet<String> {
    words.into_iter().map(str::to_owned).collect()
}

#[test]
fn every_kubernetes_event_is_in_the_table() {
    let table = haptic_leader::notices::table::NOTICES;
    let declared = named(table.iter().flat_map(|notice| [notice.reason, notice.action]));
    let mut used = quoted(&code("actors/leader/src/notices/notice.rs"), is_name);
    used.extend(named(FindingKind::ALL.iter().map(|kind| kind.reason())));
    assert_eq!(declared, used);
}

#[test]
fn every_condition_and_its_reasons_are_in_the_table() {
    let table = haptic_leader::report::table::CONDITIONS;
    let words = table.iter().flat_map(|condition| {
        let reasons = condition.reasons.iter().flat_map(|(status, reason, _)| [*status, *reason]);
        reasons.chain([condition.kind])
    });
    let declared = named(words);
    let mut used = quoted(&code("actors/leader/src/report/status.rs"), is_name);
    used.extend(quoted(&code("actors/leader/src/report/health.rs"), is_name));
    used.remove("Valid");
    assert_eq!(declared, used);
}

#[test]
fn every_kind_of_line_is_in_the_table() {
    let used = quoted(&code("actors/model/src/event.rs"), is_name);
    let figures = named(["Timed", "Planned", "Waited", "Kept", "LeftOut"]);
    let declared = named(haptic_commentator::event_log::kinds::KINDS.iter().map(|(kind, ..)| *kind));
    assert_eq!(declared, &used - &figures);
}

/// Every source of the controller that may record.
fn sources(folder: &Path, found: &mut Vec<String>) {
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let path = entry.path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|end| end == "rs") {
            found.push(fs::read_to_string(&path).unwrap());
        }
    }
}

#[test]
fn every_metric_that_the_code_names_is_in_the_table_and_the_other_way_round() {
    let mut texts = Vec::new();
    for folder in ["actors", "server/src"] {
        sources(&root().join(folder), &mut texts);
    }
    let recorded = |text: &String| {
        let calls = ["counter!(", "gauge!(", "histogram!("];
        let calls = calls.iter().flat_map(|call| text.match_indices(call).map(|(at, call)| at + call.len()));
        let first = |at: usize| {
            let argument = text[at..].trim_start();
            let literal = argument.strip_prefix('"').and_then(|literal| literal.split('"').next());
            let constant = argument.strip_prefix("table::").and_then(|constant| constant.split('.').next());
            let named = constant.map(|constant| format!("haptic_{}", constant.to_lowercase()));
            literal.map(str::to_owned).or(named)
        };
        calls.filter_map(first).collect::<Vec<_>>()
    };
    let used: BTreeSet<String> = texts.iter().flat_map(recorded).collect();
    // The agent has a table of its own, and a test that holds it against its page.
    let used = used.into_iter().filter(|name| !name.starts_with("haptic_agent_")).collect::<BTreeSet<_>>();
    let names = haptic_commentator::metrics::METRICS.iter().map(|metric| metric.name);
    let written = ["haptic_pod_convergence_lag_seconds", "haptic_resource_count"];
    let declared = named(names.filter(|name| !written.contains(name)));
    assert_eq!(declared, used);
}
