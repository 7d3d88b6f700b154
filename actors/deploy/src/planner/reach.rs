//! What a pod's transport cannot bring without a reload, though HAProxy could.

use super::{Reason, ReasonKind, Verdict};
use crate::transport::step;
use haptic_model::{Bundle, Capabilities};

/// `verdict`, or a reload where the Data Plane API has no way to one of its operations.
pub(super) fn within(verdict: Verdict, desired: Option<&Bundle>, capabilities: Capabilities) -> Verdict {
    let Verdict::Runtime { operations } = &verdict else { return verdict };
    if capabilities.data_plane_api.is_none() {
        return verdict;
    }
    let content = |path: &str| Some(desired?.files.get(path)?.text.to_string());
    let (mut reasons, mut weight): (Vec<Reason>, usize) = (Vec::new(), 0);
    for operation in operations {
        match step::step(operation, capabilities, &content) {
            Ok(step) => weight += step.weight(),
            Err(sentence) => {
                let reason = Reason::new(ReasonKind::Transport, sentence);
                if !reasons.contains(&reason) {
                    reasons.push(reason);
                }
            }
        }
    }
    if weight > step::MOST {
        let sentence =
            format!("{} operations take the Data Plane API longer than a reload", operations.len());
        reasons.push(Reason::new(ReasonKind::Transport, sentence));
    }
    if reasons.is_empty() { verdict } else { Verdict::Reload { reasons } }
}
