//! Rules over the text of our own sources.

use crate::{assert_none, root};
use std::{
    fs,
    path::{Path, PathBuf},
};

/// The stage crates; the agent serves HTTP with actix-web, and `runtime` is what knows actix.
const STAGES: [&str; 9] =
    ["config", "watch", "resolve", "debounce", "render", "validate", "deploy", "leader", "commentator"];
const LONGEST: usize = 900;
const MEDIAN: usize = 250;

/// A source file: its path below the workspace, and its text.
type Source = (String, String);

fn sources() -> Vec<Source> {
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

/// The lines of a source without comments.
fn code(text: &str) -> impl Iterator<Item = &str> {
    text.lines().map(|line| line.split("//").next().unwrap_or_default())
}

/// In a stage crate only `actor.rs`, or files in `actor/`, know actix.
fn actix_outside_actors(sources: &[Source]) -> Vec<String> {
    let plain = sources.iter().filter(|(path, _)| {
        let stage = STAGES.iter().any(|stage| path.starts_with(&format!("actors/{stage}/src/")));
        stage && !path.ends_with("/src/actor.rs") && !path.contains("/src/actor/")
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

/// The workspace's lints reach a crate only when it asks for them.
fn without_lints(manifests: &[Source]) -> Vec<String> {
    let lax = manifests.iter().filter(|(_, text)| !text.contains("[lints]\nworkspace = true"));
    lax.map(|(path, _)| format!("{path} lacks [lints] workspace = true")).collect()
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
