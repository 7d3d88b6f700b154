//! How much one object may ask for: a list in an object can be as long as the object, and each entry costs more here, and in
//! HAProxy, than where it is written.

use super::Claims;
use haptic_model::{Finding, FindingKind, Limit};

impl Claims {
    /// The same with at most `most` routes, and hosts with certificates: those that come last are left out, of hosts those that come last by name.
    #[must_use]
    pub fn within(mut self, most: usize) -> Self {
        let certificates = self.certificates.values().map(|secrets| secrets.len()).sum();
        let others = self.groups.iter().map(|group| group.others.len()).sum();
        for (asked, what) in [
            (self.routes.len(), "routes"),
            (certificates, "certificates for hosts"),
            (
                others,
                "Services by canary-service, weights, mirror-service, default-service and error-service",
            ),
        ] {
            if asked > most {
                let sentence = format!(
                    "it asks for {asked} {what}, of {most} that it may: the first {most} count. Make several objects of it, or \
                     raise {}",
                    Limit::RoutesPerObject.field()
                );
                self.findings.push(Finding::new(FindingKind::TooManyRoutes, sentence));
            }
        }
        self.routes.truncate(most);
        let mut left = most;
        for group in &mut self.groups {
            group.others.truncate(left);
            left -= group.others.len();
        }
        let mut left = most;
        self.certificates.retain(|_, secrets| {
            let is_kept = secrets.len() <= left;
            left = if is_kept { left - secrets.len() } else { 0 };
            is_kept
        });
        self
    }
}
