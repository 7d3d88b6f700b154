//! How much one object may ask for: a list in an object can be as long as the object, and each entry costs more here, and in
//! HAProxy, than where it is written.

use super::claims::Claims;
use haptic_model::Limit;

impl Claims {
    /// The same with at most `most` routes, and hosts with certificates: those that come last are left out.
    #[must_use]
    pub fn within(mut self, most: usize) -> Self {
        for (asked, what) in
            [(self.routes.len(), "routes"), (self.certificates.len(), "certificates for hosts")]
        {
            if asked > most {
                self.refused.push(format!(
                    "it asks for {asked} {what}, of {most} that it may: the first {most} count. Make several objects of it, or \
                     raise {}",
                    Limit::RoutesPerObject.field()
                ));
            }
        }
        self.routes.truncate(most);
        self.certificates.truncate(most);
        self
    }
}
