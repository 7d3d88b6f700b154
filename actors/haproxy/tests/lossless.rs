//! Whatever the text, parsing loses nothing of it.

use haptic_haproxy::{CheckOptions, Document, check, diff};
use haptic_model::HaproxyVersion;
use proptest::prelude::*;

/// Text that looks like a configuration, with everything that makes lines hard to cut.
fn tangled() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just("\n"),
        Just("\r\n"),
        Just("\r"),
        Just(" "),
        Just("\t"),
        Just("\""),
        Just("'"),
        Just("\\"),
        Just("#"),
        Just("$"),
        Just("${"),
        Just("}"),
        Just("[*]"),
        Just("-"),
        Just("\\x"),
        Just("4"),
        Just("\0"),
        Just("\u{1b}"),
        Just("é"),
        Just("global"),
        Just("backend "),
        Just("defaults "),
        Just(" from "),
        Just(".if "),
        Just(".endif"),
        Just("server "),
        Just("s 1.1.1.1:80"),
        Just("if"),
        Just("{"),
        Just("!"),
        Just("map("),
        Just("("),
        Just(","),
        Just(")"),
        Just("-f "),
        Just("acl "),
        Just("bind "),
        Just("default-server "),
        Just("\u{1f980}"),
    ];
    prop::collection::vec(piece, 0..60).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn any_text_comes_back_byte_for_byte(text in any::<String>()) {
        prop_assert_eq!(Document::parse(&text).to_string(), text);
    }

    #[test]
    fn tangled_text_comes_back_byte_for_byte_and_nothing_panics_on_it(text in tangled(), other in tangled()) {
        let document = Document::parse(&text);
        prop_assert_eq!(document.to_string(), text.as_str());
        let sections: String = document.sections.iter().map(|section| section.raw).collect();
        prop_assert_eq!(sections, text.as_str());
        for line in document.lines() {
            for word in &line.words {
                let at = word.column - 1;
                prop_assert_eq!(line.raw.get(at..at + word.raw.len()), Some(word.raw));
            }
        }
        let missing = |_: &str| false;
        let options = CheckOptions { version: HaproxyVersion::new(3, 4), files: Some(&missing) };
        prop_assert!(check(&document, &options).iter().all(|p| p.line >= 1 && p.column >= 1));
        prop_assert!(diff::compare(&document, &document.clone()).is_empty());
        drop(diff::compare(&document, &Document::parse(&other)));
    }

    #[test]
    fn a_quoted_value_is_read_back_as_it_was(value in "[ -~é]{1,20}") {
        let single = format!("x '{}'\n", value.replace('\'', "'\\''"));
        let double = format!("x \"{}\"\n", value.replace('\\', "\\\\").replace('"', "\\\"").replace('$', "\\$"));
        for text in [single, double] {
            let document = Document::parse(&text);
            let line = document.lines().next().unwrap();
            prop_assert_eq!(line.words.len(), 2);
            prop_assert_eq!(line.value(1), value.as_str());
        }
    }
}
