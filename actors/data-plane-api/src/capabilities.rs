//! What cannot be brought without a reload, though HAProxy could.

use crate::step::{self, NeedsReload};
use haptic_model::{Bundle, Capabilities, Operation};

/// Why `operations` cannot bring a pod to `desired` through its Data Plane API; nothing: they can.
#[must_use]
pub fn objections(operations: &[Operation], desired: &Bundle, capabilities: Capabilities) -> Vec<String> {
    if capabilities.data_plane_api.is_none() {
        return Vec::new();
    }
    let content = |path: &str| Some(desired.files.get(path)?.text.to_string());
    let (mut reasons, mut weight): (Vec<NeedsReload>, usize) = (Vec::new(), 0);
    for operation in operations {
        match step::plan(operation, capabilities, &content) {
            Ok(step) => weight += step.weight(),
            Err(reason) if reasons.contains(&reason) => {}
            Err(reason) => reasons.push(reason),
        }
    }
    if weight > step::MOST {
        reasons.push(NeedsReload::TooMany { operations: operations.len() });
    }
    reasons.iter().map(ToString::to_string).collect()
}
