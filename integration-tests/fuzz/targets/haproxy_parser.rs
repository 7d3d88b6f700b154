//! Reading a configuration: nothing is lost, words are HAProxy's, and what is known block by block is true of the whole.

use super::parse_line::words;
use haptic_haproxy::{CheckOptions, Document, check, check::Proof};
use haptic_model::HaproxyVersion;
use haptic_text::{Blame, Fragment, Text};
use std::sync::Arc;

const VERSIONS: [HaproxyVersion; 3] =
    [HaproxyVersion::new(3, 0), HaproxyVersion::new(3, 2), HaproxyVersion::new(3, 4)];

/// A configuration comes back byte for byte and is checked, whatever it is, and each line has the words that HAProxy
/// reads. A byte `FF` ends one and begins the next: what was proven without reading all again is so.
pub fn haproxy_parser(data: &[u8]) {
    let mut proof = Proof::default();
    for text in data.split(|byte| *byte == 0xFF).map(String::from_utf8_lossy) {
        let document = Document::parse(&text);
        assert_eq!(document.to_string(), text);
        words_are_haproxys(&document);
        let mut found = Vec::new();
        for version in VERSIONS {
            let problems = check(&document, &CheckOptions::new(version));
            let lines = text.split('\n').count();
            assert!(problems.iter().all(|p| (1..=lines).contains(&p.line) && p.column >= 1), "{problems:?}");
            found.extend(problems);
        }
        let lines = text.split_inclusive('\n').map(|line| Fragment::new(line, Arc::<Blame>::default()));
        if proof.holds(&Text::new(lines.collect()), &VERSIONS, &|_| true) {
            assert!(found.is_empty(), "proven to be without {found:?}");
        }
    }
}

fn words_are_haproxys(document: &Document<'_>) {
    for line in document.lines() {
        let troubled = document.problems.iter().any(|problem| problem.line == line.number);
        match words(line.raw) {
            Err(why) => assert!(troubled, "{why}, and nobody says so: {:?}", line.raw),
            Ok(_) if troubled || line.words.iter().any(|word| word.has_variable) => {}
            Ok(words) => {
                let read: Vec<&str> = line.words.iter().map(|word| &*word.value).collect();
                assert_eq!(read, words, "{:?}", line.raw);
            }
        }
    }
}
