//! The API server, as far as one Lease is concerned.

use haptic_model::agent_api::Epoch;
use std::sync::Arc;

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Lease {
    pub version: u64,
    pub holder: Arc<str>,
    pub seconds: u64,
    pub epoch: Epoch,
}

/// Create (`on` nothing), or change the version `on`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Write {
    pub on: Option<u64>,
    pub holder: Arc<str>,
    pub seconds: u64,
    pub transitions: i64,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Outcome {
    Read(Option<Lease>),
    Written(Lease),
    Conflict,
    Gone,
}

pub struct Server {
    pub lease: Option<Lease>,
    version: u64,
    /// Writes everything, whatever version it was meant for.
    blind: bool,
}

impl Server {
    pub fn new(blind: bool) -> Self {
        Self { lease: None, version: 0, blind }
    }

    pub fn write(&mut self, write: Write, now: u64) -> Outcome {
        self.version += 1;
        let epoch = match (&self.lease, write.on) {
            (Some(_), None) => return Outcome::Conflict,
            (None, Some(_)) => return Outcome::Gone,
            (None, None) => Epoch {
                lease_created: i64::try_from(now / 1000 * 1000).unwrap(),
                transitions: write.transitions,
            },
            (Some(lease), Some(on)) if lease.version != on && !self.blind => return Outcome::Conflict,
            (Some(lease), Some(_)) => {
                let changes_hands = i64::from(lease.holder != write.holder);
                Epoch { transitions: lease.epoch.transitions + changes_hands, ..lease.epoch }
            }
        };
        let lease = Lease { version: self.version, holder: write.holder, seconds: write.seconds, epoch };
        self.lease = Some(lease.clone());
        Outcome::Written(lease)
    }

    /// Not within the second in which it was made: `creationTimestamp` knows no smaller difference.
    pub fn delete(&mut self, now: u64) -> bool {
        let made = self.lease.as_ref().and_then(|lease| u64::try_from(lease.epoch.lease_created).ok());
        let old_enough = made.is_some_and(|made| now >= made + 1000);
        if old_enough {
            self.version += 1;
            self.lease = None;
        }
        old_enough
    }
}
