//! Encoders with faults are found out, each at its first line.

use super::*;
use crate::encode::framed::{PrintPosition, PrintedAs};
use haptic_model::FileKind;

/// `«value»` in a template, and what a pass with a fault would write.
fn judged(reading: impl Into<FileFormat>, template: &str, encoded: &str) -> Option<Breach> {
    let mut spans = Vec::new();
    for (index, part) in template.split(['«', '»']).enumerate() {
        spans.push(match index % 2 {
            0 => LineSpan::Template(part),
            _ => LineSpan::Value(FramedValue {
                text: part,
                printed: PrintedAs::Plain,
                site: PrintPosition::default(),
                secret: false,
            }),
        });
    }
    EncodingProof::new(reading.into()).line(&spans, encoded).err().map(|(_, breach)| breach)
}

#[test]
fn an_encoder_of_configurations_with_a_fault_is_found_out() {
    let cases = [
        ("  description «a b»\n", "  description a b\n", Breach::Words),
        ("  description «a\nb»\n", "  description a\nb\n", Breach::Lines),
        ("  description «a\rb»\n", "  description a\rb\n", Breach::Words),
        ("  description «a#b»\n", "  description a#b\n", Breach::Words),
        ("  description «a\"b»\n", "  description a\"b\n", Breach::Words),
        ("  description «a'b»\n", "  description a'b\n", Breach::Words),
        ("  description «a\\ b»\n", "  description a\\ b\n", Breach::Words),
        ("  description «\\n»\n", "  description \\n\n", Breach::Words),
        ("  description «\\x41»\n", "  description \\x41\n", Breach::Words),
        ("  description \"«a\" b»\"\n", "  description \"a\" b\"\n", Breach::Words),
        ("  description \"«$HOME»\"\n", "  description \"$HOME\"\n", Breach::Words),
        ("  description \"«${HOME}»\"\n", "  description \"${HOME}\"\n", Breach::Words),
        ("  description \"$HOME«x»\"\n", "  description \"$HOMEx\"\n", Breach::Words),
        ("  description '«a'b»'\n", "  description 'a'b'\n", Breach::Words),
        ("  description «»\n", "  description \n", Breach::Words),
        ("  description a\\«nb»\n", "  description a\\nb\n", Breach::Words),
        ("  # «a\n  mode tcp»\n", "  # a\n  mode tcp\n", Breach::Lines),
        ("  «mode» http\n", "  mode http\n", Breach::Directive),
        ("  no «option» x\n", "  no option x\n", Breach::Directive),
        ("  http-request deny if a «or» b\n", "  http-request deny if a or b\n", Breach::Condition),
        ("  http-request deny if a !«Or» b\n", "  http-request deny if a !Or b\n", Breach::Condition),
        (
            "  http-request deny if { path «}» x }\n",
            "  http-request deny if { path } x }\n",
            Breach::Condition,
        ),
        ("  use_backend «if» x\n", "  use_backend if x\n", Breach::Condition),
    ];
    for (template, encoded, breach) in cases {
        assert_eq!(judged(FileKind::Config, template, encoded), Some(breach), "{template} -> {encoded}");
    }
}

#[test]
fn an_encoder_of_maps_with_a_fault_is_found_out() {
    let long = format!("a {}\n", "x".repeat(16_384));
    let cases = [
        ("«a b» c\n", "a b c\n", Breach::Words),
        ("a «b »\n", "a b \n", Breach::Words),
        ("«#a» b\n", "#a b\n", Breach::Words),
        ("«» b\n", " b\n", Breach::Words),
        ("a «b\nc d»\n", "a b\nc d\n", Breach::Lines),
        ("a «b\rc»\n", "a b\rc\n", Breach::Words),
        ("a «x»\n", &long, Breach::Words),
    ];
    for (template, encoded, breach) in cases {
        assert_eq!(judged(FileKind::Map, template, encoded), Some(breach), "{template} -> {encoded}");
    }
}

#[test]
fn an_encoder_of_patterns_with_a_fault_is_found_out() {
    let cases = [
        ("«a\nb»\n", "a\nb\n", Breach::Lines),
        ("«a\rb»\n", "a\rb\n", Breach::Words),
        ("« a»\n", " a\n", Breach::Words),
        ("«#a»\n", "#a\n", Breach::Words),
        ("«»\n", "\n", Breach::Words),
    ];
    for (template, encoded, breach) in cases {
        assert_eq!(judged(FileFormat::Patterns, template, encoded), Some(breach), "{template} -> {encoded}");
    }
    assert_eq!(judged(FileFormat::Patterns, " x«a » \n", " xa  \n"), None);
}

#[test]
fn an_encoder_of_crt_lists_with_a_fault_is_found_out() {
    let cases = [
        ("a.pem «b c»\n", "a.pem b c\n", Breach::Words),
        ("a.pem «[verify none]»\n", "a.pem [verify none]\n", Breach::Words),
        ("«#a.pem» b\n", "#a.pem b\n", Breach::Words),
        ("a.pem «»\n", "a.pem \n", Breach::Words),
        ("a.pem «b\nc.pem»\n", "a.pem b\nc.pem\n", Breach::Lines),
    ];
    for (template, encoded, breach) in cases {
        assert_eq!(judged(FileKind::CrtList, template, encoded), Some(breach), "{template} -> {encoded}");
    }
}

#[test]
fn what_is_written_right_is_proven() {
    for (template, encoded) in [
        ("  description «a b» # «it's»\n", "  description a\\ b # it's\n"),
        ("  description \"${X-a b}«$x»\"\n", "  description \"${X-a b}\\$x\"\n"),
        ("  description \"${X[*]}«x»\"\n", "  description \"${X[*]}x\"\n"),
        ("  description '«a'b»'\n", "  description 'a'\\''b'\n"),
        ("  server «or» 10.0.0.1:80\n", "  server or 10.0.0.1:80\n"),
        ("  # «{»\n", "  # {\n"),
        ("  description \"«unmatched»\n", "  description \"unmatched\n"),
    ] {
        assert_eq!(judged(FileKind::Config, template, encoded), None, "{template} -> {encoded}");
    }
    assert_eq!(judged(FileKind::Map, " «a»/ \t«b c»", " a/ \tb c"), None);
    assert_eq!(judged(FileKind::CrtList, "«a» [alpn «h2»] «b»\n", "a [alpn h2] b\n"), None);
}
