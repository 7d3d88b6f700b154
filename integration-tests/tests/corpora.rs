//! What fuzzing found, and what it begins with: the targets of `make fuzz` on every stored input.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout, reason = "tests")]

#[path = "../fuzz/targets/mod.rs"]
mod targets;

use std::{collections::BTreeSet, fs, path::Path};

fn replay(target: &str, run: fn(&[u8])) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/fuzz").join(target);
    let mut inputs = 0;
    for entry in fs::read_dir(&folder).expect("a corpus") {
        let path = entry.expect("an entry").path();
        let input = fs::read(&path).expect("an input");
        // The name of the last one is shown when it panics.
        println!("{}", path.display());
        run(&input);
        inputs += 1;
    }
    assert!(inputs > 3, "{target} has only {inputs} inputs");
}

#[test]
fn every_target_has_a_corpus_and_a_test_here() {
    let corpora =
        fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/fuzz")).expect("corpora");
    let corpora: BTreeSet<String> =
        corpora.map(|entry| entry.expect("an entry").file_name().into_string().expect("a name")).collect();
    assert_eq!(corpora, targets::TARGETS.iter().map(|(name, _)| (*name).to_owned()).collect());
    let tests = include_str!("corpora.rs");
    assert!(corpora.iter().all(|name| tests.contains(&format!("replay(\"{name}\","))));
}

#[test]
fn configurations_are_read_without_loss() {
    replay("haproxy_parser", targets::haproxy_parser);
}

#[test]
fn values_stay_values_in_configurations() {
    replay("settle", targets::settle);
}

#[test]
fn values_stay_values_in_maps() {
    replay("map_lexer", targets::map_lexer);
}

#[test]
fn values_stay_values_in_crt_lists() {
    replay("crt_list_lexer", targets::crt_list_lexer);
}

#[test]
fn paths_of_fields_are_refused_or_found() {
    replay("field_path", targets::field_path);
}

#[test]
fn templates_are_refused_or_print_values() {
    replay("template", targets::template);
}

#[test]
fn reviews_change_nothing_of_others() {
    replay("admission_review", targets::admission_review);
}

#[test]
fn orders_do_what_they_say() {
    replay("agent_order", targets::agent_order);
}
