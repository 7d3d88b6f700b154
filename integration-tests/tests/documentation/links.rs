//! Links, make targets and steps of the demo that the documentation names are there.

use integration_tests::markdown::{anchors, blocks, documents, links, read, root};
use std::{
    collections::BTreeSet,
    fs,
    path::{Component, Path, PathBuf},
};

#[test]
fn every_relative_link_leads_somewhere() {
    for document in documents() {
        for link in links(&read(&document)) {
            if link.contains("://") {
                continue;
            }
            let (path, anchor) = link.split_once('#').map_or((link.as_str(), None), |(p, a)| (p, Some(a)));
            let this = root().join(&document);
            let target = if path.is_empty() { this } else { this.parent().unwrap().join(path) };
            assert!(target.exists(), "{}: {link} does not exist", document.display());
            let there = fs::read_to_string(&target).unwrap_or_default();
            let known = anchor.is_none_or(|a| anchors(&there).iter().any(|known| known == a));
            assert!(known, "{}: {link} has no such heading", document.display());
        }
    }
}

/// `link` as seen from `folder`, without `..`.
fn below(folder: &Path, link: &str) -> PathBuf {
    Path::new(link).components().fold(folder.to_owned(), |path, part| match part {
        Component::ParentDir => path.parent().map(Path::to_owned).unwrap_or_default(),
        part => path.join(part),
    })
}

/// Nobody finds a page to which no links lead.
#[test]
fn every_page_is_reached_from_the_index() {
    let mut reached = BTreeSet::from([PathBuf::from("docs/README.md")]);
    let mut ahead: Vec<PathBuf> = reached.iter().cloned().collect();
    while let Some(page) = ahead.pop() {
        for link in links(&read(&page)) {
            let target = below(page.parent().unwrap(), link.split('#').next().unwrap_or_default());
            if target.starts_with("docs") && root().join(&target).is_file() && reached.insert(target.clone())
            {
                ahead.push(target);
            }
        }
    }
    let pages = documents().into_iter().filter(|page| page.starts_with("docs"));
    let lost: Vec<PathBuf> = pages.filter(|page| !reached.contains(page)).collect();
    assert!(lost.is_empty(), "no link leads from docs/README.md to {lost:?}");
}

#[test]
fn every_make_target_exists() {
    let makefile = read("Makefile");
    for document in documents() {
        let text = read(&document);
        for word in text.split("make ").skip(1).filter_map(|rest| rest.split(['`', '\n', ' ']).next()) {
            let names = word.bytes().all(|b| b.is_ascii_lowercase());
            // Prose says "make" too; only code spans and commands are looked at, and they end with ` or a line.
            if names && !word.is_empty() && text.contains(&format!("`make {word}`")) {
                assert!(
                    makefile.contains(&format!("\n{word}:")),
                    "{}: there is no target {word}",
                    document.display()
                );
            }
        }
    }
}

#[test]
fn the_demo_shown_is_the_demo() {
    let tour = read("integration-tests/src/bin/demo/tour.rs");
    let readme = read("README.md");
    let block = blocks(&readme).into_iter().find(|b| b.text.starts_with("HAPTIC demo")).unwrap();
    let steps: Vec<&str> =
        block.text.lines().filter_map(|l| l.strip_prefix("* ")?.rsplit_once(": ")).map(|s| s.0).collect();
    assert!(steps.len() >= 3, "{steps:?}");
    for step in steps {
        assert!(tour.contains(&format!("\"{step}\"")), "the demo has no step {step:?}");
    }
}
