//! `haptic replay` and `haptic record`: what is the same, what is not, and files that are no recording.

use crate::place::Place;
use haptic_inspect::recording::{
    file::Writer,
    line::{File, Opening, RecordedConfig, RecordedRender, RecordingHead, RecordingLine},
};
use haptic_model::Generation;
use haptic_text::{Digest, patch::Content};
use serde_json::{Value, json};

const RENDERED: &str = "global\n# 7\n";

/// A recording of one generation that rendered this.
fn recording(by: &str, rendered: &str) -> String {
    recording_of(by, "global\n# {{extraContext.seven}}\n", rendered)
}

fn recording_of(by: &str, template: &str, rendered: &str) -> String {
    let digest = Digest::of(rendered.as_bytes());
    let lines = [
        RecordingLine::HapticRecording(RecordingHead {
            format: 1,
            haptic: by.into(),
            haproxy: vec!["3.4".into()],
            configuration: "haptic/edge".into(),
            made_unix_ms: 1_772_360_100_000,
            generations: (Generation(3), Generation(3)),
        }),
        RecordingLine::Generation(Opening {
            number: Generation(3),
            unix_ms: 1_772_360_000_000,
            digest: None,
        }),
        RecordingLine::Configuration(RecordedConfig {
            namespace: "haptic".into(),
            name: "edge".into(),
            resource_generation: 1,
            revision: 1,
            spec: json!({"credentialsSecretRef": {"name": "c"}, "podSelector": {"matchLabels": {"a": "b"}},
                "haproxyConfig": {"template": template},
                "templatingSettings": {"extraContext": {"seven": 7}}}),
        }),
        RecordingLine::File(File {
            path: "haproxy.cfg".into(),
            digest,
            content: Content::Whole(rendered.into()),
        }),
        RecordingLine::Rendered(RecordedRender {
            digest: haptic_model::bundle::digest_of_files(("haproxy.cfg", &digest), []),
            files: 1,
            warnings: Vec::new(),
        }),
    ];
    let mut writer = Writer::new(Vec::new());
    lines.iter().for_each(|line| writer.write(line).unwrap());
    String::from_utf8(writer.end().unwrap()).unwrap()
}

#[test]
fn what_renders_the_same_ends_with_0_in_any_folder() {
    for place in [Place::new(), Place::new()] {
        place.write("bug.jsonl", &recording(env!("CARGO_PKG_VERSION"), RENDERED));
        let done = place.haptic(&["replay", "bug.jsonl", "--out", "rendered"]);
        done.must(0, &["haptic/edge: generations 3 to 3, recorded 2026-03-01T10:15:00Z"]);
        done.must(
            0,
            &["generation 3, 2026-03-01T10:13:20Z: same, 1 file\n", "1 generation renders the same"],
        );
        assert!(!done.out.contains("this is haptic"), "{}", done.out);
        let written = std::fs::read_to_string(place.path().join("rendered/3/haproxy.cfg")).unwrap();
        assert_eq!(written, RENDERED);
    }
}

#[test]
fn haproxy_says_what_it_thinks_of_what_is_rendered() {
    let place = Place::new();
    let good = "frontend web\n  mode http\n  bind 127.0.0.1:7999\n  timeout client 1s\n# 7\n";
    let template = good.replace("# 7", "# {{extraContext.seven}}");
    let whole = recording_of(env!("CARGO_PKG_VERSION"), &template, good);
    place.write("good.jsonl", &whole);
    place.haptic(&["replay", "good.jsonl", "--check"]).must(0, &["HAProxy accepts it\n"]);
    place.write("bad.jsonl", &recording(env!("CARGO_PKG_VERSION"), RENDERED));
    let done = place.haptic(&["replay", "bad.jsonl", "--check"]);
    done.must_complain("nothing listens", 1, &["HAProxy refuses generation 3:"]);
}

#[test]
fn what_renders_otherwise_ends_with_3_and_shows_how_and_by_which_version() {
    let place = Place::new();
    place.write("bug.jsonl", &recording("0.0.1", "global\n# 8\n"));
    let done = place.haptic(&["replay", "bug.jsonl"]);
    done.must(3, &["-# 8\n", "+# 7\n", "recorded/haproxy.cfg", "1 of 1 generations", "this is haptic"]);
    let done = place.haptic(&["replay", "bug.jsonl", "--output", "json"]);
    let told: Value = serde_json::from_str(&done.out).unwrap();
    assert_eq!((done.code, &told["generations"][0]["same"]), (Some(3), &json!(false)));
    assert_eq!(told["generations"][0]["differences"][0]["path"], "haproxy.cfg");
}

#[test]
fn what_is_no_recording_ends_with_1_and_nothing_is_written() {
    let place = Place::new();
    let whole = recording("0.1.0", RENDERED);
    place.write("cut.jsonl", &whole[..whole.len() - 40]);
    place.write("changed.jsonl", &whole.replace("\"seven\":7", "\"seven\":9"));
    place.write("other.yaml", "kind: Ingress\n");
    rustix::fs::mkfifoat(rustix::fs::CWD, place.path().join("pipe"), rustix::fs::Mode::RUSR).unwrap();
    for (file, said) in [
        ("cut.jsonl", "cut.jsonl is cut off after line 5"),
        ("changed.jsonl", "changed.jsonl was changed after it was recorded"),
        ("other.yaml", "other.yaml is not a recording of haptic"),
        ("nonesuch", "nonesuch cannot be read"),
        ("pipe", "pipe is no file that can be read twice"),
    ] {
        let done = place.haptic(&["replay", file, "--out", "rendered"]);
        done.must_complain(file, 1, &[said]);
        assert!(!place.path().join("rendered").exists(), "{file} was rendered");
    }
}

#[test]
fn nobody_who_answers_leaves_no_file_behind() {
    let place = Place::new();
    let done = place.haptic(&["record", "--url", "http://127.0.0.1:1", "--out", "bug.zst"]);
    done.must_complain("nobody", 1, &["nothing answers at http://127.0.0.1:1"]);
    assert_eq!(std::fs::read_dir(place.path()).unwrap().count(), 0);
}
