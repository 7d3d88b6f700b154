//! To whose servers TLS is passed through, and why it is not to those of others that want it.

use super::{
    claims::{Backend, RouteClaim, RouteGroup},
    index::RouteIndex,
    matching::Match,
    options::{self, difference::GroupOptions},
    passthrough::OPTION,
};
use haptic_model::{Finding, FindingKind, ObjectRef};

/// What guards access and cannot be asked of a connection that is not opened: where one of them counts, TLS ends here.
const UNASKED: [&str; 6] =
    ["auth-secret", "auth-url", "client-ca-secret", "min-tls-version", "tls-ciphers", "tls-min-version"];

/// Who gets what clients say over TLS to a host.
pub(super) struct Passing<'i> {
    pub object: &'i ObjectRef,
    pub backend: &'i Backend,
    pub group: &'i RouteGroup,
    pub has_http: bool,
}

/// Why TLS is not passed through to an object's servers.
enum NotPassed<'i> {
    /// The route for `/` is another object's; nobody's, where the object itself has none.
    Other(Option<&'i ObjectRef>),
    /// The host is another namespace's.
    Host(&'i str),
    /// This option guards access.
    Guarded(&'static str),
}

impl RouteIndex {
    /// Whose servers get what clients say over TLS to `host`.
    pub(super) fn passing(&self, host: &str) -> Option<Passing<'_>> {
        let (_, route) = self.root_of(host)?;
        let object = self.holder(&route.wanted)?.object.as_ref().map(|winner| &*winner.object)?;
        self.passed_to(host, object).ok()
    }

    /// Who has the requests for `/` of a host, and by which route.
    fn root_of(&self, host: &str) -> Option<(&ObjectRef, &RouteClaim)> {
        [Match::prefix(host, ""), Match::exact(host, "/")].iter().find_map(|root| self.served(root))
    }

    fn passed_to<'i>(&'i self, host: &str, object: &ObjectRef) -> Result<Passing<'i>, NotPassed<'i>> {
        let root = self.root_of(host);
        let Some((winner, route)) = root.filter(|(winner, _)| **winner == *object) else {
            return Err(NotPassed::Other(root.map(|(winner, _)| winner)));
        };
        let wanted =
            self.claims_of(winner).and_then(|claims| Some((claims, claims.passed.as_ref()?.get(host)?)));
        let Some((claims, passed)) = wanted else { return Err(NotPassed::Other(None)) };
        match self.namespace_of(host) {
            Some(namespace) if *namespace != *winner.namespace => return Err(NotPassed::Host(namespace)),
            _ => {}
        }
        let Some(group) = claims.groups.get(route.group) else { return Err(NotPassed::Other(None)) };
        let of_object = claims.groups.first().map(|group| group.options.read()).unwrap_or_default();
        let own = group.options.read();
        let options = GroupOptions { own: &own, of_object: &of_object };
        match UNASKED.into_iter().find(|option| options.get(option).is_some()) {
            Some(option) => Err(NotPassed::Guarded(option)),
            None => {
                Ok(Passing { object: winner, backend: &passed.backend, group, has_http: passed.has_http })
            }
        }
    }

    /// Why TLS of a host is not passed through to the servers of an object that wants it.
    pub(super) fn not_passed(&self, host: &str, object: &ObjectRef) -> Option<Finding> {
        let why = self.passed_to(host, object).err()?;
        let kind = match why {
            NotPassed::Guarded(_) => FindingKind::OptionWithoutEffect,
            NotPassed::Other(_) | NotPassed::Host(_) => FindingKind::HostConflict,
        };
        let why = match why {
            NotPassed::Other(Some(other)) => format!("requests for / of it are those of {other}"),
            NotPassed::Other(None) => "requests for / of it are not this one's".to_owned(),
            NotPassed::Host(namespace) => format!("it is held by namespace {namespace}"),
            NotPassed::Guarded(option) => {
                format!(
                    "{}{option} counts there, and could not be asked of what is not opened",
                    options::PREFIX
                )
            }
        };
        let sentence = format!("TLS of {host} is not passed through: {why}; it ends here");
        Some(options::finding(kind, OPTION, sentence).at_host(host))
    }
}
