//! What may come from the registry, and from nowhere else: licences, banned crates, crates that must be there once.

use crate::{assert_none, licence::allows, metadata, root};
use std::collections::{BTreeMap, BTreeSet};

/// Two versions of these do not work together: their types, or their global state, would not be the same.
const ONLY_ONCE: [&str; 9] =
    ["actix", "actix-rt", "handlebars", "k8s-openapi", "kube", "metrics", "ring", "rustls", "tokio"];

/// As cargo calls it.
const CRATES_IO: &str = "registry+https://github.com/rust-lang/crates.io-index";

/// The strings of the list `name = [ … ]` in deny.toml.
fn list(deny: &str, name: &str) -> Vec<String> {
    let start = deny.lines().skip_while(|line| line.trim() != format!("{name} = [")).skip(1);
    let entries = start.take_while(|line| line.trim() != "]");
    entries.filter_map(|line| Some(line.trim().strip_prefix('"')?.split_once('"')?.0.to_owned())).collect()
}

fn deny_toml(name: &str) -> Vec<String> {
    let list = list(&std::fs::read_to_string(root().join("deny.toml")).expect("deny.toml"), name);
    assert!(!list.is_empty(), "deny.toml has no list {name}");
    list
}

/// Crate, version, licence expression.
type Package = (String, String, Option<String>);

fn packages() -> Vec<Package> {
    let packages = metadata().packages.iter();
    packages.map(|p| (p.name.to_string(), p.version.to_string(), p.license.clone())).collect()
}

fn with_unwelcome_licence(packages: &[Package], allowed: &[String]) -> Vec<String> {
    let unwelcome =
        packages.iter().filter(|(_, _, licence)| !licence.as_deref().is_some_and(|l| allows(allowed, l)));
    unwelcome
        .map(|(name, version, licence)| {
            format!("{name} {version}: licence {licence:?} is not among those of deny.toml")
        })
        .collect()
}

fn banned(packages: &[Package], bans: &[String]) -> Vec<String> {
    let found = packages.iter().filter(|(name, ..)| bans.contains(name));
    found
        .map(|(name, version, _)| {
            format!("{name} {version} is banned by deny.toml: cargo tree -i {name} shows who brings it")
        })
        .collect()
}

fn more_than_once(packages: &[Package], only_once: &[&str]) -> Vec<String> {
    let mut versions: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for (name, version, _) in packages.iter().filter(|(name, ..)| only_once.contains(&name.as_str())) {
        versions.entry(name).or_default().insert(version);
    }
    let twice = versions.into_iter().filter(|(_, versions)| versions.len() > 1);
    twice.map(|(name, versions)| format!("{name} is there as {versions:?}: one version only")).collect()
}

/// Those of these crates, each with its source, that are not of the registry.
fn from_elsewhere(packages: &[(String, Option<String>)]) -> Vec<String> {
    let strange = packages.iter().filter(|(_, source)| source.as_deref() != Some(CRATES_IO));
    strange.map(|(name, source)| format!("{name} comes from {source:?}, and not from crates.io")).collect()
}

#[test]
fn everything_comes_from_crates_io() {
    let of_here = |p: &&cargo_metadata::Package| {
        p.source.is_none() && p.manifest_path.starts_with(&metadata().workspace_root)
    };
    let sources = metadata().packages.iter().filter(|p| !of_here(p));
    let sources: Vec<(String, Option<String>)> =
        sources.map(|p| (p.name.to_string(), p.source.as_ref().map(|source| source.repr.clone()))).collect();
    assert!(sources.len() > 100, "only {sources:?}");
    assert_none(&from_elsewhere(&sources));
}

#[test]
fn another_source_is_found() {
    let of = |source: Option<&str>| ("a".to_owned(), source.map(str::to_owned));
    let strange =
        [of(Some("git+https://example.com/a#0123")), of(Some("registry+https://example.com")), of(None)];
    assert_eq!(from_elsewhere(&strange).len(), 3);
    assert_eq!(from_elsewhere(&[of(Some(CRATES_IO))]).len(), 0);
}

#[test]
fn every_licence_is_welcome() {
    assert_none(&with_unwelcome_licence(&packages(), &deny_toml("allow")));
}

#[test]
fn no_banned_crate_is_there() {
    assert_none(&banned(&packages(), &deny_toml("deny")));
}

#[test]
fn shared_types_come_from_one_version() {
    assert_none(&more_than_once(&packages(), &ONLY_ONCE));
}

fn package(name: &str, version: &str, licence: Option<&str>) -> Package {
    (name.into(), version.into(), licence.map(str::to_owned))
}

#[test]
fn an_unwelcome_or_missing_licence_is_found() {
    let packages = [
        package("a", "1.0.0", Some("GPL-3.0")),
        package("b", "1.0.0", None),
        package("c", "1.0.0", Some("MIT")),
    ];
    assert_eq!(with_unwelcome_licence(&packages, &["MIT".into()]).len(), 2);
}

#[test]
fn a_banned_crate_is_found() {
    assert_eq!(banned(&[package("aws-lc-rs", "1.0.0", None)], &["aws-lc-rs".into()]).len(), 1);
}

#[test]
fn a_second_version_is_found() {
    let twice = [
        package("kube", "4.2.0", None),
        package("kube", "5.0.0", None),
        package("http", "1.0.0", None),
        package("http", "0.2.0", None),
    ];
    assert_eq!(more_than_once(&twice, &ONLY_ONCE).len(), 1);
}

#[test]
fn a_list_of_deny_toml_is_read() {
    assert_eq!(
        list("[x]\nallow = [\n  \"A\",  # why\n  \"B\",\n]\ndeny = [\n  \"C\",\n]\n", "allow"),
        ["A", "B"]
    );
}
