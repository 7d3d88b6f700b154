//! Whatever a value is and wherever it stands: it is refused, or HAProxy reads exactly its bytes there and the same
//! lines and words around it as with a harmless value. Judged by a tokenizer that shares nothing with the pass.

use crate::support::parse_line::words;
use haptic_model::FileKind;
use haptic_render::{
    encode::encode,
    framing::{self, FramedText},
};
use proptest::prelude::*;

/// Text between values, and how values are printed: `T` plain, `A` by `arg`, `L` by `lf`.
fn framed(pieces: &[String], printed: &[char], values: &[String]) -> FramedText {
    let mut text = String::new();
    for (index, piece) in pieces.iter().enumerate() {
        text.push_str(piece);
        if let (Some(kind), Some(value)) = (printed.get(index), values.get(index)) {
            let mark =
                [('A', framing::ARGUMENT), ('L', framing::LOG_FORMAT)].into_iter().find(|(k, _)| k == kind);
            text.push(mark.map_or(framing::VALUE, |(_, mark)| mark));
            text.push_str(value);
            text.push(framing::END);
        }
    }
    text.push('\n');
    FramedText { pieces: vec![text.into()], ..FramedText::default() }
}

/// What is written, or nothing when a value is refused: by the pass, not by the proof behind it, which finds the pass's mistakes.
fn encoded(
    kind: FileKind,
    pieces: &[String],
    printed: &[char],
    values: &[String],
) -> Result<Option<String>, TestCaseError> {
    match encode(kind, &framed(pieces, printed, values)) {
        Ok(text) => Ok(Some(text.to_string())),
        Err(refused) => {
            let defect = refused.iter().find(|d| d.message.contains("internal error"));
            prop_assert_eq!(defect, None, "of {:?} with {:?}", pieces, values);
            Ok(None)
        }
    }
}

fn placeholders(count: usize) -> Vec<String> {
    (0..count).map(|i| format!("z{i}z")).collect()
}

/// Values that meet HAProxy's special characters often.
fn value() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => proptest::collection::vec(
            prop_oneof![
                4 => proptest::sample::select(vec![
                    " ", "\"", "'", "\\", "#", "$", "{", "}", "!", "|", "%", "[", "]", "(", ")", ",", "-", "x", "n",
                    "0", "or", "if", "unless", "${A}", "\\\"", "\n", "\t", "\r", "\0", "é", "\u{a0}", "\u{85}",
                ]).prop_map(str::to_owned),
                1 => ".{0,3}".prop_map(|s| s),
            ],
            0..5,
        ).prop_map(|parts| parts.concat()),
        1 => "[a-z0-9.-]{0,8}",
    ]
    .prop_map(|text| text.chars().filter(|c| !framing::is_mark(*c)).collect())
}

/// Template text that puts values into every state of the lexer.
fn structure() -> impl Strategy<Value = String> {
    proptest::collection::vec(
        proptest::sample::select(vec![
            " ",
            " ",
            " ",
            "\"",
            "'",
            "\\",
            "#",
            "$",
            "${",
            "}",
            "{ ",
            " }",
            "!",
            "a",
            "x",
            "4",
            "hdr(",
            ")",
            ",",
            "%",
            "%[",
            "]",
            " if ",
            " or ",
            " -- ",
            "\t",
            "\r",
            "str",
            " lf-string ",
            " string ",
        ]),
        0..5,
    )
    .prop_map(|parts| parts.concat())
}

fn start() -> impl Strategy<Value = String> {
    proptest::sample::select(vec![
        "  description ",
        "  server s ",
        "  acl a path ",
        "  http-request deny if { path ",
        "  http-request set-header X ",
        "  http-request return status 200 content-type text/plain string ",
        "  http-request set-var(txn.x) ",
        "  use_backend ",
        "  unknown ",
        "backend ",
        ".if ",
        "",
        "  # ",
    ])
    .prop_map(str::to_owned)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2048, ..ProptestConfig::default() })]

    #[test]
    fn no_value_changes_the_words_around_it(
        start in start(),
        parts in proptest::collection::vec((structure(), proptest::sample::select(vec!['T', 'T', 'A', 'L']), value()), 1..4),
        last in structure(),
    ) {
        let mut pieces: Vec<String> = parts.iter().map(|(piece, ..)| piece.clone()).collect();
        pieces[0].insert_str(0, &start);
        pieces.push(last);
        let printed: Vec<char> = parts.iter().map(|(_, kind, _)| *kind).collect();
        let values: Vec<String> = parts.into_iter().map(|(.., value)| value).collect();
        let harmless = placeholders(values.len());
        let Some(hostile) = encoded(FileKind::Config, &pieces, &printed, &values)? else { return Ok(()) };
        let plain: String = pieces.iter().zip(harmless.iter().map(String::as_str).chain([""])).flat_map(|(p, v)| [p.as_str(), v]).collect();
        prop_assert_eq!(hostile.matches('\n').count(), 1);
        let expected = words(&plain).map(|words| {
            let fill = |word: String| harmless.iter().zip(&values).fold(word, |w, (h, v)| w.replace(h, v));
            words.into_iter().map(fill).collect::<Vec<_>>()
        });
        prop_assert_eq!(words(&hostile), expected, "{} -> {}", plain, hostile);
    }

    #[test]
    fn a_map_line_keeps_its_key_and_value(key in value(), text in value(), lead in "[ \t]{0,2}", gap in "[ \t]{1,3}") {
        let pieces = [lead, gap, String::new()];
        if let Some(line) = encoded(FileKind::Map, &pieces, &['T', 'T'], &[key.clone(), text.clone()])? {
            prop_assert!(!line.starts_with('#'));
            let line = line.strip_suffix('\n').unwrap_or(&line).trim_start_matches([' ', '\t']);
            let end = line.find([' ', '\t', '\r', '\n']).unwrap_or(line.len());
            prop_assert_eq!(&line[..end], key);
            prop_assert_eq!(line[end..].trim_matches([' ', '\t']), text);
        } else {
            let control = |s: &str| s.chars().any(|c| c.is_ascii_control());
            prop_assert!(control(&key) || control(&text) || key.is_empty() || key.contains(' ') || key.starts_with('#') || text.trim_matches(' ') != text);
        }
    }

    #[test]
    fn a_crt_list_line_keeps_its_words(file in value(), filter in value()) {
        let pieces = [String::new(), " [alpn h2] ".to_owned(), " *.x".to_owned()];
        if let Some(line) = encoded(FileKind::CrtList, &pieces, &['T', 'T'], &[file.clone(), filter.clone()])? {
            let words: Vec<&str> = line.split([' ', '\t', '\n', '\r', '\u{B}', '\u{C}', '[', ']']).filter(|w| !w.is_empty()).collect();
            prop_assert_eq!(words, vec![file.as_str(), "alpn", "h2", filter.as_str(), "*.x"]);
            prop_assert!(!line.starts_with('#') && !filter.starts_with('!'));
        }
    }

    #[test]
    fn any_text_with_any_marks_ends_without_a_panic(
        pieces in proptest::collection::vec(
            proptest::collection::vec(
                prop_oneof![
                    (0xE000u32..0xE010).prop_map(|c| char::from_u32(c).unwrap().to_string()),
                    Just("0:1;".to_owned()), Just("0;".to_owned()), Just("\n".to_owned()), structure(), ".{0,2}",
                ],
                0..12,
            ).prop_map(|parts| parts.concat()),
            0..4,
        ),
    ) {
        let framed = FramedText {
            pieces: pieces.into_iter().map(Into::into).collect(),
            templates: vec!["t".into()],
            objects: vec![std::sync::Arc::new(haptic_model::ObjectRef::new("r", "", "o"))],
        };
        for kind in [FileKind::Config, FileKind::Map, FileKind::CrtList, FileKind::Certificate, FileKind::General] {
            if let Ok(text) = encode(kind, &framed) {
                prop_assert!(!text.to_string().contains(framing::is_mark));
                for fragment in text.fragments() {
                    prop_assert_eq!(fragment.as_str().split_inclusive('\n').count(), fragment.blame().lines.len());
                }
            }
        }
    }
}
