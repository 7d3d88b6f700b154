//! Rules over the text of our own sources.

use crate::{architecture::STAGES, assert_none, root};
use std::{
    fs,
    path::{Path, PathBuf},
};

/// The webhook's HTTP, with actix-web.
const SERVES: &str = "actors/webhook/src/service.rs";
const LONGEST: usize = 900;
const MEDIAN: usize = 250;

/// A source file: its path below the workspace, and its text.
pub type Source = (String, String);

pub fn sources() -> Vec<Source> {
    let mut files = Vec::new();
    for dir in ["actors", "server", "integration-tests"] {
        collect(&root().join(dir), &mut files);
    }
    let below =
        |path: &Path| path.strip_prefix(root()).expect("a path of the workspace").display().to_string();
    files.iter().map(|path| (below(path), fs::read_to_string(path).expect("a readable source"))).collect()
}

fn collect(dir: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(dir).expect("a readable folder") {
        let path = entry.expect("a readable folder").path();
        if path.is_dir() && !path.ends_with("target") {
            collect(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
}

/// Where a task begins that no supervisor knows, and why it may.
const TASKS: [(&str, &str); 7] = [
    ("actors/config/src/actor.rs", "it ends with its actor's life, and its end ends that life"),
    ("actors/inspect/src/recording/stream.rs", "it ends with its request"),
    ("actors/validate/src/actor.rs", "it ends with its actor's life, and its end is awaited"),
    ("actors/validate/src/requests/instance.rs", "it reads what a process says, and ends with it"),
    ("actors/watch/src/pump.rs", "it ends with its actor's life, and its end ends that life"),
    ("actors/webhook/src/actor/review.rs", "its end is awaited by its actor, which outlives its panic"),
    ("server/src/command/local.rs", "it prints one line and ends"),
];

/// The lines of a source without comments.
fn code(text: &str) -> impl Iterator<Item = &str> {
    text.lines().map(|line| line.split("//").next().unwrap_or_default())
}

/// In a stage crate, and in one that stands on several, only `actor.rs`, or files in `actor/`, know actix. The agent serves HTTP with actix-web.
fn actix_outside_actors(sources: &[Source]) -> Vec<String> {
    let crates = || STAGES.into_iter().chain(["inspect", "webhook"]).filter(|name| *name != "agent");
    let plain = sources.iter().filter(|(path, _)| {
        let stage = crates().any(|stage| path.starts_with(&format!("actors/{stage}/src/")));
        stage && !path.ends_with("/src/actor.rs") && !path.contains("/src/actor/") && path != SERVES
    });
    let knowing = plain
        .filter(|(_, text)| code(text).any(|line| line.contains("actix::") || line.contains("use actix")));
    knowing.map(|(path, _)| format!("{path} uses actix: only the crate's actor.rs or actor/ may")).collect()
}

fn too_long(sources: &[Source]) -> Vec<String> {
    let lines = |text: &str| text.lines().count();
    let mut lengths: Vec<usize> = sources.iter().map(|(_, text)| lines(text)).collect();
    lengths.sort_unstable();
    let median = lengths.get(lengths.len() / 2).copied().unwrap_or_default();
    let giants = sources.iter().filter(|(_, text)| lines(text) > LONGEST);
    let mut violations: Vec<String> = giants
        .map(|(path, text)| format!("{path} has {} lines; at most {LONGEST}: one idea a file", lines(text)))
        .collect();
    if median > MEDIAN {
        violations.push(format!("the median file has {median} lines; at most {MEDIAN}"));
    }
    violations
}

/// Every module says at its head what it is for.
fn without_purpose(sources: &[Source]) -> Vec<String> {
    let headless = sources.iter().filter(|(_, text)| !text.trim_start().starts_with("//!"));
    headless.map(|(path, _)| format!("{path} does not start with //! and what it is for")).collect()
}

/// Who reads logs by generation compares numbers.
fn with_generations_as_text(sources: &[Source]) -> Vec<String> {
    let is_text = |line: &str| {
        ["%generation", "generation = %", "?generation", "generation = ?"]
            .iter()
            .any(|text| line.contains(text))
    };
    let lines = |(path, text): &Source| {
        code(text)
            .filter(|line| line.contains("tracing::") && is_text(line))
            .map(|line| format!("{path}: {line}"))
            .collect::<Vec<_>>()
    };
    sources.iter().flat_map(lines).collect()
}

fn with_unsafe_code(sources: &[Source]) -> Vec<String> {
    let word = concat!("un", "safe");
    let found =
        sources.iter().filter(|(_, text)| code(text).any(|line| line.split_whitespace().any(|w| w == word)));
    found.map(|(path, _)| format!("{path} contains {word} code")).collect()
}

/// Tasks that `/livez` and `/debug/actors` do not know. The agent has no actors: its process ends with its tasks.
fn with_unknown_tasks(sources: &[Source]) -> Vec<String> {
    let of_the_controller = sources.iter().filter(|(path, _)| {
        let is_source =
            path.starts_with("server/src/") || path.contains("/src/") && path.starts_with("actors/");
        let is_exempt = path.starts_with("actors/agent/") || path.starts_with("actors/runtime/");
        is_source && !is_exempt && !path.contains("tests") && !TASKS.iter().any(|(file, _)| file == path)
    });
    let begins_one = |text: &str| code(text).any(|line| line.contains("tokio::spawn("));
    let found =
        of_the_controller.filter(|(_, text)| begins_one(text.split("#[cfg(test)]").next().unwrap_or(text)));
    found
        .map(|(path, _)| format!("{path} begins a task of its own: make it an actor, or a handler of one"))
        .collect()
}

/// Examples in documentation that would have to run: `make unit` leaves them out, because rustdoc reads every crate to find none.
fn with_examples_that_nobody_runs(sources: &[Source]) -> Vec<String> {
    let mut found = Vec::new();
    for (path, text) in sources {
        let fences = text.lines().map(str::trim_start).filter_map(|line| {
            let comment = line.strip_prefix("///").or_else(|| line.strip_prefix("//!"))?;
            comment.trim_start().strip_prefix("```")
        });
        // Every second one closes.
        let opening = fences.step_by(2);
        let examples = opening.filter(|kind| !["text", "yaml", "json", "console"].contains(kind));
        found.extend(examples.map(|kind| format!("{path} has an example of {kind:?}: make it a test")));
    }
    found
}

/// The workspace's lints reach a crate only when it asks for them.
fn without_lints(manifests: &[Source]) -> Vec<String> {
    let lax = manifests.iter().filter(|(_, text)| !text.contains("[lints]\nworkspace = true"));
    lax.map(|(path, _)| format!("{path} lacks [lints] workspace = true")).collect()
}

#[test]
fn every_lasting_task_is_known() {
    assert_none(&with_unknown_tasks(&sources()));
    let bad = vec![("server/src/wiring.rs".to_owned(), "tokio::spawn(follow());".to_owned())];
    assert_eq!(with_unknown_tasks(&bad).len(), 1);
    let sources = sources();
    let has_one =
        |file: &str| sources.iter().any(|(path, text)| path == file && text.contains("tokio::spawn("));
    let stale: Vec<String> =
        TASKS.iter().filter(|(file, _)| !has_one(file)).map(|(f, _)| format!("{f} begins none")).collect();
    assert_none(&stale);
}

#[test]
fn only_actors_know_actix() {
    assert_none(&actix_outside_actors(&sources()));
}

#[test]
fn files_are_short() {
    assert_none(&too_long(&sources()));
}

#[test]
fn every_module_says_what_it_is_for() {
    assert_none(&without_purpose(&sources()));
}

#[test]
fn log_lines_have_generations_as_numbers() {
    let of_others = |source: &Source| !source.0.starts_with("integration-tests");
    assert_none(&with_generations_as_text(&sources().into_iter().filter(of_others).collect::<Vec<_>>()));
}

#[test]
fn documentation_has_no_examples_that_nobody_runs() {
    assert_none(&with_examples_that_nobody_runs(&sources()));
}

#[test]
fn there_is_no_unsafe_code() {
    assert_none(&with_unsafe_code(&sources()));
}

#[test]
fn every_crate_takes_the_workspaces_lints() {
    let packages = crate::metadata()
        .workspace_packages()
        .iter()
        .map(|p| p.manifest_path.to_string())
        .collect::<Vec<_>>();
    let manifests: Vec<Source> = packages
        .into_iter()
        .map(|path| (path.clone(), fs::read_to_string(path).expect("a manifest")))
        .collect();
    assert_none(&without_lints(&manifests));
}

fn source(path: &str, text: &str) -> Source {
    (path.into(), text.into())
}

#[test]
fn actix_in_a_plain_file_is_found() {
    let import = "//! x\nuse actix::prelude::*;\n";
    assert_eq!(actix_outside_actors(&[source("actors/render/src/engine.rs", import)]).len(), 1);
    let fine = [
        source("actors/render/src/actor.rs", import),
        source("actors/render/src/actor/state.rs", import),
        source("actors/runtime/src/keeper.rs", import),
        source("actors/render/src/engine.rs", "//! never actix::Actor\n"),
    ];
    assert!(actix_outside_actors(&fine).is_empty());
}

#[test]
fn long_files_are_found() {
    assert_eq!(
        too_long(&[source("a.rs", &"x\n".repeat(901)), source("b.rs", ""), source("c.rs", "")]).len(),
        1
    );
    assert_eq!(too_long(&[source("a.rs", &"x\n".repeat(251))]).len(), 1);
}

#[test]
fn a_module_without_purpose_is_found() {
    assert_eq!(without_purpose(&[source("a.rs", "use std::fs;\n"), source("b.rs", "//! Why.\n")]).len(), 1);
}

#[test]
fn an_example_that_would_run_is_found() {
    let text = "/// ```text\n/// a\n/// ```\nfn a() {}\n    /// ```\n    /// a();\n    /// ```\n";
    let found = with_examples_that_nobody_runs(&[source("actors/a/src/a.rs", text)]);
    assert_eq!(found, ["actors/a/src/a.rs has an example of \"\": make it a test"]);
}

#[test]
fn unsafe_code_is_found() {
    let word = concat!("un", "safe");
    let comment = format!("// not {word} at all\n");
    assert_eq!(
        with_unsafe_code(&[source("a.rs", &format!("let x = {word} {{ y }};")), source("b.rs", &comment)])
            .len(),
        1
    );
}

#[test]
fn a_crate_without_lints_is_found() {
    assert_eq!(
        without_lints(&[source("a", "[package]\n"), source("b", "[lints]\nworkspace = true\n")]).len(),
        1
    );
}
