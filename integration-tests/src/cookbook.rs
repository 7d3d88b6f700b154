//! The recipes of docs/cookbook.md: what each adds to a configuration, and its objects.
#![allow(
    clippy::missing_panics_doc,
    clippy::unwrap_used,
    reason = "a page that cannot be read fails the test that wants it"
)]

use crate::{
    chart::merged,
    markdown::{Block, blocks, read},
};
use serde_json::{Value, json};

const PAGE: &str = "docs/cookbook.md";

/// One of them.
#[derive(Clone, Debug)]
pub struct Recipe {
    /// The heading.
    pub title: String,
    /// What of `spec` it brings.
    pub spec: Value,
    /// Its objects, an Ingress among them.
    pub manifests: Vec<Value>,
}

/// All, in the order of the page.
#[must_use]
pub fn recipes() -> Vec<Recipe> {
    read(PAGE).split("\n## ").skip(1).map(recipe).collect()
}

/// The Ingress at the head of the page, with this part of one.
#[must_use]
pub fn ingress_with(part: &Value) -> Value {
    let page = read(PAGE);
    let head = page.split("\n## ").next().unwrap_or_default();
    merged(objects(&blocks(head)).swap_remove(0), part)
}

fn recipe(text: &str) -> Recipe {
    let title = text.lines().next().unwrap_or_default().to_owned();
    let (mut spec, mut manifests, mut part) = (json!({}), Vec::new(), json!({}));
    for object in objects(&blocks(text)) {
        if !object["kind"].is_null() {
            manifests.push(object);
        } else if object["spec"].is_object() {
            spec = merged(spec, &object["spec"]);
        } else {
            part = merged(part, &object);
        }
    }
    if manifests.iter().all(|object| object["kind"] != "Ingress") {
        manifests.push(ingress_with(&part));
    }
    Recipe { title, spec, manifests }
}

fn objects(blocks: &[Block]) -> Vec<Value> {
    let yaml = blocks.iter().filter(|block| block.language == "yaml");
    yaml.flat_map(|block| serde_saphyr::from_multiple::<Value>(&block.text).unwrap()).collect()
}
