//! Certificates of authorities in ConfigMaps.

use super::named_config_maps::NamedConfigMaps;
use haptic_model::Object;
use serde_json::Value;
use std::sync::Arc;
use x509_parser::{parse_x509_certificate, pem::Pem};

/// The entry that has them.
const ENTRY: &str = "ca.crt";

impl Default for NamedConfigMaps<Arc<str>> {
    fn default() -> Self {
        Self::new(certificates)
    }
}

/// The certificates of a ConfigMap as PEM.
///
/// # Errors
/// Why there are none.
fn certificates(config_map: &Object) -> Result<Arc<str>, String> {
    let value = config_map.value().map_err(|_| "it cannot be read".to_owned())?;
    let text = value.pointer("/data").and_then(|data| data.get(ENTRY)).and_then(Value::as_str);
    let text = text.ok_or_else(|| format!("it has no {ENTRY}"))?;
    let blocks: Result<Vec<Pem>, _> = Pem::iter_from_buffer(text.as_bytes()).collect();
    let blocks = blocks.map_err(|_| format!("{ENTRY} is no valid PEM"))?;
    let is_one = |block: &&Pem| block.label == "CERTIFICATE";
    if !blocks.iter().any(|block| is_one(&block)) {
        return Err(format!("{ENTRY} holds no certificate"));
    }
    if blocks.iter().filter(is_one).any(|block| parse_x509_certificate(&block.contents).is_err()) {
        return Err(format!("{ENTRY} holds a certificate that cannot be read"));
    }
    Ok(text.into())
}
