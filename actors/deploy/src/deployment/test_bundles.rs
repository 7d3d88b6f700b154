//! Bundles of the blocks of objects, for tests.

use haptic_model::{ActiveConfig, Bundle, Generation, ObjectRef, Snapshot, Snapshots, pipeline::RenderBasis};
use haptic_text::{Blame, Digest, Fragment, LineBlame};
use std::sync::Arc;

/// A line of nobody's, and a block of two lines for each of these objects.
pub fn blocks(names: &[&str]) -> Vec<Fragment> {
    let of = |object: Option<&str>, text: String| {
        let lines = vec![LineBlame { template: 0, object: None, line: 1 }; text.lines().count()];
        let block = object.map(|name| Arc::new(ObjectRef::new("ingresses", "n", name)));
        Fragment::new(text, Arc::new(Blame { templates: vec!["t".into()], lines, block, ..Blame::default() }))
    };
    let first = of(None, "global\n".into());
    let blocks = names.iter().map(|name| of(Some(name), format!("frontend {name}\n  bind :80\n")));
    std::iter::once(first).chain(blocks).collect()
}

/// A store of the objects that blocks of a bundle are of.
pub fn stores_of(bundle: &Bundle) -> Snapshots {
    let mut store = Snapshot::full();
    for reference in bundle.changed_since(None) {
        store.put(reference, b"{}".as_slice());
    }
    Snapshots::default().with("ingresses".into(), Arc::new(store))
}

/// Of a bundle with this digest, which was rendered from nothing.
pub fn basis(digest: Digest) -> RenderBasis {
    let spec = serde_json::json!({"credentialsSecretRef": {"name": "c"}, "podSelector": {"matchLabels": {}}});
    let config = ActiveConfig::of("edge", "haptic", serde_json::from_value(spec).unwrap());
    RenderBasis {
        generation: Generation(1),
        config: Arc::new(config),
        snapshots: Snapshots::default(),
        digest,
    }
}
