//! Names in the documentation that are those of something in the program or the chart.

use haptic_model::FindingKind;
use haptic_routes::options::table::TABLE;
use integration_tests::markdown::{anchors, documents, read, root};
use std::{collections::BTreeSet, fs, path::Path};

/// What follows `prefix` in `text`, as far as `belongs` says.
fn after(text: &str, prefix: &str, belongs: fn(char) -> bool) -> BTreeSet<String> {
    let found = text.split(prefix).skip(1).map(|rest| rest.chars().take_while(|c| belongs(*c)).collect());
    found.filter(|name: &String| !name.is_empty()).collect()
}

/// Fails with those of `names` that are not `known`, and the page they are on.
fn assert_known(page: &str, names: BTreeSet<String>, known: &BTreeSet<String>) {
    let strange: Vec<&String> = names.difference(known).collect();
    assert!(strange.is_empty(), "{page}: there are no {strange:?}");
}

#[test]
fn annotations_are_those_of_the_library() {
    let mut known: BTreeSet<String> = TABLE.iter().map(|row| row.name.to_owned()).collect();
    // The label of Secrets, options of paths, an annotation of the configuration, and names of controllers in IngressClasses and GatewayClasses.
    known.extend(
        [
            "use",
            "paths",
            "confirm-deletion",
            "ingress-controller",
            "gateway-controller",
            "v1alpha1",
            "haptic",
        ]
        .map(str::to_owned),
    );
    for page in documents() {
        let names =
            after(&read(&page), "haproxy-haptic.org/", |c| c.is_ascii_lowercase() || c == '-' || c == '1');
        assert_known(&page.display().to_string(), names, &known);
    }
}

/// The texts of all Rust files below `folder`.
fn sources(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let texts = entries.flat_map(|path| match path.extension() {
        _ if path.is_dir() => sources(&path),
        Some(kind) if kind == "rs" => vec![fs::read_to_string(&path).unwrap()],
        _ => Vec::new(),
    });
    texts.collect()
}

#[test]
fn metrics_are_those_of_the_program() {
    let source: String =
        ["actors", "server"].iter().flat_map(|folder| sources(&root().join(folder))).collect();
    let is_name = |c: char| c.is_ascii_lowercase() || c == '_';
    let known: BTreeSet<String> = after(&source, "\"haptic_", is_name);
    assert!(known.len() > 20);
    for page in documents() {
        assert_known(&page.display().to_string(), after(&read(&page), "`haptic_", is_name), &known);
    }
}

#[test]
fn every_kind_of_finding_has_its_line() {
    let operations = read("docs/operations.md");
    for kind in FindingKind::ALL {
        let line = format!("| `{}` | {} |", kind.name(), kind.advice());
        assert!(operations.lines().any(|known| known == line), "docs/operations.md lacks: {line}");
    }
}

#[test]
fn every_alert_has_its_paragraph() {
    let rules = read("charts/haptic/templates/monitoring/rules.yaml");
    let alerts = after(&rules, "- alert: ", |c| c.is_ascii_alphanumeric());
    assert!(alerts.len() > 5, "{alerts:?}");
    let page = "docs/operations.md";
    let headings: BTreeSet<String> = anchors(&read(page)).into_iter().collect();
    let wanted = alerts.iter().map(|alert| alert.to_lowercase()).collect();
    assert_known(page, wanted, &headings);
    let known = alerts.iter().map(|alert| alert.trim_start_matches("Haptic").to_owned()).collect();
    assert_known(page, after(&read(page), "\n### Haptic", |c| c.is_ascii_alphanumeric()), &known);
}
