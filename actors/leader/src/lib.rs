//! Who leads: only the leader deploys.
//!
//! This version runs as a single replica, which always leads. Leader election between replicas takes over the same
//! board cell; nothing else will have to change.

use haptic_model::pipeline::Leadership;

/// The leadership of a controller that runs alone.
#[must_use]
pub fn sole_replica() -> Leadership {
    Leadership { leads: true, ..Leadership::default() }
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_controller_that_runs_alone_leads() {
        assert!(super::sole_replica().leads);
    }
}
