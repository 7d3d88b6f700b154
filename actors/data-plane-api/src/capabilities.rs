//! What cannot be brought without a reload, though HAProxy could.

use crate::step::{self, step};
use haptic_model::{Bundle, Capabilities, Operation};

/// Why `operations` cannot bring a pod to `desired` through its Data Plane API; nothing: they can.
#[must_use]
pub fn objections(operations: &[Operation], desired: &Bundle, capabilities: Capabilities) -> Vec<String> {
    if capabilities.data_plane_api.is_none() {
        return Vec::new();
    }
    let content = |path: &str| Some(desired.files.get(path)?.text.to_string());
    let (mut objections, mut weight): (Vec<String>, usize) = (Vec::new(), 0);
    for operation in operations {
        match step(operation, capabilities, &content) {
            Ok(step) => weight += step.weight(),
            Err(why) if objections.contains(&why) => {}
            Err(why) => objections.push(why),
        }
    }
    if weight > step::MOST {
        objections
            .push(format!("{} operations take the Data Plane API longer than a reload", operations.len()));
    }
    objections
}
