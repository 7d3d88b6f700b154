//! TLS that is passed through to servers: what a client says over TLS to such a host is opened by nobody here.
//!
//! The holder of the requests for `/` of a host decides, if the host is its namespace's: whoever may answer a host's TLS may have it passed
//! through, and nobody else.

use super::{contest::ClaimPriority, index::RouteIndex};
use crate::{
    claims::{Backend, Claims, PassedHost, PassedHosts, Port, RouteClaim, RouteGroup},
    matching::{ANY_HOST, Match},
    options::{self, Settings, difference::GroupOptions},
};
use haptic_model::{Finding, FindingKind, ObjectRef};
use std::sync::Arc;

/// The annotation.
pub(crate) const OPTION: &str = "ssl-passthrough";

/// The port of the Service that requests over HTTP go to.
pub(crate) const HTTP_PORT: &str = "ssl-passthrough-http-port";

/// The options that guard access and cannot be asked of a connection that is not opened: where one of them counts, TLS ends here.
const UNASKED: [&str; 6] =
    ["auth-secret", "auth-url", "client-ca-secret", "min-tls-version", "tls-ciphers", "tls-min-version"];

/// The servers that get TLS of a host as it comes.
pub(crate) struct Passing<'i> {
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

impl Claims {
    /// Takes the routes for `/` for `ssl-passthrough`; `port`: where requests over HTTP go.
    pub(crate) fn pass_through(&mut self, port: Option<u16>, settings: &Settings) {
        if !settings.passthrough {
            let sentence = "it is switched off for all: the operator sets passthrough: true".to_owned();
            return self.findings.push(without_effect(&sentence));
        }
        let mut passed = PassedHosts::new();
        for route in self
            .routes
            .iter_mut()
            .filter(|route| route.standing == ClaimPriority::Asked && route.wanted.is_root())
        {
            let (host, backend) = (route.wanted.host.clone(), route.backend.clone());
            if *host == *ANY_HOST {
                continue;
            }
            if let Some(port) = port {
                route.backend.port = Port::Number(port);
            }
            passed.entry(host).or_insert(PassedHost { backend, has_http: port.is_some() });
        }
        let without: Vec<&Arc<str>> = self
            .routes
            .iter()
            .map(|route| &route.wanted.host)
            .filter(|host| !passed.contains_key(*host))
            .collect();
        if let Some(host) = without.first() {
            let sentence = if ***host == *ANY_HOST {
                "for rules without a host: TLS is passed through by the name that clients ask for".to_owned()
            } else {
                format!("for {host}: there must be a path / of type Prefix or Exact")
            };
            self.findings.push(without_effect(&sentence).at_host(host));
        }
        self.passed = Some(passed);
    }
}

impl RouteIndex {
    /// The servers that get TLS of `host` as it comes.
    pub(crate) fn passing(&self, host: &str) -> Option<Passing<'_>> {
        let (_, route) = self.root_of(host)?;
        let object = self.holder(&route.wanted)?.object.as_ref().map(|winner| &*winner.object)?;
        self.passed_to(host, object).ok()
    }

    /// The holder of the requests for `/` of a host, and its route for them.
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
    pub(crate) fn not_passed(&self, host: &str, object: &ObjectRef) -> Option<Finding> {
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

fn without_effect(why: &str) -> Finding {
    let sentence = format!("annotation {}{OPTION} has no effect: {why}", options::PREFIX);
    options::finding(FindingKind::OptionWithoutEffect, OPTION, sentence)
}
