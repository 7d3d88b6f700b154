//! What one attempt may do to the Lease it finds.
//!
//! kube-leader-election judges by the wall clock whether a lease is over, and writes whatever it finds. A permit is
//! the judgement of our own clock instead: it names the one version that may be taken from another holder.

/// The permission for one attempt. A lease that is ours already may always be renewed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Permit {
    /// This version of the Lease, and no other, may be taken.
    pub take: Option<String>,
    /// If there is no Lease, one may be made, which counts its transitions from here.
    pub create: Option<i64>,
    /// The Lease is to count at least so many transitions from now on.
    pub count: Option<i64>,
}

impl Permit {
    /// Only to look, and to renew what is ours.
    #[must_use]
    pub fn look() -> Self {
        Self::default()
    }

    /// Whether the Lease found as `version` may be taken from its holder.
    #[must_use]
    pub fn covers(&self, version: &str) -> bool {
        self.take.as_deref() == Some(version)
    }
}
