//! The software bill of materials: [CycloneDX 1.6](https://cyclonedx.org/docs/1.6/json/), the same bytes for the same sources.

use crate::linked::Linked;
use cargo_metadata::Package;
use serde_json::{Value, json};

/// The document.
pub fn document(linked: &Linked) -> Value {
    let crates: Vec<Value> =
        linked.crates.iter().map(|package| component(package, "library", linked)).collect();
    let everything = std::iter::once(&linked.program).chain(&linked.crates);
    let dependencies: Vec<Value> = everything
        .map(|package| {
            let needed = linked.needs.get(&package.id).into_iter().flatten();
            let mut needed: Vec<String> = needed
                .filter_map(|id| linked.crates.iter().find(|other| other.id == *id))
                .map(reference)
                .collect();
            needed.sort();
            json!({ "ref": reference(package), "dependsOn": needed })
        })
        .collect();
    json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": { "component": component(&linked.program, "application", linked) },
        "components": crates,
        "dependencies": dependencies,
    })
}

/// As [package URLs](https://github.com/package-url/purl-spec) name crates.
fn reference(package: &Package) -> String {
    format!("pkg:cargo/{}@{}", package.name, package.version)
}

fn component(package: &Package, kind: &str, linked: &Linked) -> Value {
    let mut component = json!({
        "type": kind,
        "bom-ref": reference(package),
        "purl": reference(package),
        "name": package.name,
        "version": package.version,
        "licenses": [{ "expression": expression(package) }],
    });
    let digest = linked.digests.get(&(package.name.to_string(), package.version.to_string()));
    if let (Some(fields), Some(digest)) = (component.as_object_mut(), digest) {
        fields.insert("hashes".into(), json!([{ "alg": "SHA-256", "content": digest }]));
    }
    if let (Some(fields), Some(place)) = (component.as_object_mut(), &package.repository) {
        fields.insert("externalReferences".into(), json!([{ "type": "vcs", "url": place }]));
    }
    component
}

/// In SPDX's words: `A/B` is an older way to write `A OR B`.
fn expression(package: &Package) -> String {
    package.license.clone().unwrap_or_else(|| "NOASSERTION".into()).replace('/', " OR ")
}
