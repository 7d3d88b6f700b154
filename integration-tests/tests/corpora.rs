//! What fuzzing found, and what it begins with: the targets of `make fuzz` on every stored input.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout, reason = "tests")]

#[path = "../fuzz/src/lib.rs"]
mod targets;

use std::{fs, path::Path};

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
fn configurations_are_read_without_loss() {
    replay("haproxy_parser", targets::haproxy_parser);
}

#[test]
fn values_stay_values_in_configurations() {
    replay("settle", targets::settle_config);
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
