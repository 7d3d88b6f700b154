//! A bundle that passed all checks.

use haptic_model::{
    ActiveConfig, Bundle, BundleFile, FileKey, Generation, HAProxyTemplateConfigSpec, Snapshots,
    pipeline::{Rendered, Validated},
};
use haptic_text::Text;
use serde_json::json;
use std::{sync::Arc, time::Duration};

/// Of generation `generation`, with one file that no other generation has.
pub fn validated(generation: u64) -> Validated {
    let spec: HAProxyTemplateConfigSpec = serde_json::from_value(
        json!({"credentialsSecretRef": {"name": "c"}, "podSelector": {"matchLabels": {"a": "b"}}}),
    )
    .unwrap();
    let config = ActiveConfig::of("edge", "n", spec);
    let text = Text::plain(&format!("# {generation}\n"));
    let bundle = Bundle::new(BundleFile::new(FileKey::config(), "haproxy.cfg", text), []);
    let rendered = Rendered::of(Generation(generation), Arc::new(config), Snapshots::default(), bundle);
    Validated { rendered: Arc::new(rendered), took: Duration::ZERO, warnings: Vec::new() }
}
