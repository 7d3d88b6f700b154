//! Certificates of authorities in ConfigMaps. Many policies may name one: its text is there once, and compared by its digest.

use super::named_config_maps::NamedConfigMaps;
use haptic_model::Object;
use haptic_text::Digest;
use serde_json::Value;
use std::sync::Arc;
use x509_parser::{parse_x509_certificate, pem::Pem};

/// The entry that has them.
const ENTRY: &str = "ca.crt";

/// The most certificates that servers are verified by: Mozilla's whole list is 150.
const MOST: usize = 250;

/// The certificates of one ConfigMap.
#[derive(Clone, Debug)]
pub(super) struct AuthorityText {
    /// PEM.
    pub pem: Arc<str>,
    digest: Digest,
    count: usize,
}

/// Those of all ConfigMaps that one policy names, in their order.
#[derive(Clone, Debug)]
pub(super) struct PolicyAuthorities {
    texts: Box<[AuthorityText]>,
    digest: Digest,
}

impl PolicyAuthorities {
    /// # Errors
    /// That they are too many.
    pub fn of(texts: Vec<AuthorityText>) -> Result<Self, String> {
        let count: usize = texts.iter().map(|text| text.count).sum();
        if count > MOST {
            return Err(format!("it names {count} certificates of authorities, {MOST} are the most"));
        }
        let digest = Digest::of_pieces(texts.iter().map(|text| text.digest.as_bytes().as_slice()));
        Ok(Self { texts: texts.into(), digest })
    }

    /// The name of what they are together.
    pub fn name(&self) -> String {
        self.digest.short()
    }

    pub fn digest(&self) -> &Digest {
        &self.digest
    }

    /// All of them as PEM.
    pub fn pem(&self) -> String {
        self.texts.iter().flat_map(|text| [&*text.pem, "\n"]).collect()
    }
}

impl PartialEq for PolicyAuthorities {
    fn eq(&self, other: &Self) -> bool {
        self.digest == other.digest
    }
}

impl Eq for PolicyAuthorities {}

impl PartialOrd for PolicyAuthorities {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for PolicyAuthorities {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.digest.cmp(&other.digest)
    }
}

impl std::hash::Hash for PolicyAuthorities {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.digest.hash(state);
    }
}

impl Default for NamedConfigMaps<AuthorityText> {
    fn default() -> Self {
        Self::new(certificates)
    }
}

/// The certificates of a ConfigMap as PEM.
///
/// # Errors
/// Why there are none.
fn certificates(config_map: &Object) -> Result<AuthorityText, String> {
    let value = config_map.value().map_err(|_| "it cannot be read".to_owned())?;
    let text = value.pointer("/data").and_then(|data| data.get(ENTRY)).and_then(Value::as_str);
    let text = text.ok_or_else(|| format!("it has no {ENTRY}"))?;
    let blocks: Result<Vec<Pem>, _> = Pem::iter_from_buffer(text.as_bytes()).collect();
    let blocks = blocks.map_err(|_| format!("{ENTRY} is no valid PEM"))?;
    let is_one = |block: &&Pem| block.label == "CERTIFICATE";
    let count = blocks.iter().filter(is_one).count();
    if count == 0 {
        return Err(format!("{ENTRY} holds no certificate"));
    }
    if blocks.iter().filter(is_one).any(|block| parse_x509_certificate(&block.contents).is_err()) {
        return Err(format!("{ENTRY} holds a certificate that cannot be read"));
    }
    Ok(AuthorityText { pem: text.into(), digest: Digest::of(text.as_bytes()), count })
}
