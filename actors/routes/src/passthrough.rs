//! TLS that is passed through to servers: what a client says over TLS to such a host is opened by nobody here.
//!
//! Who has the requests for `/` of a host decides, if the host is its namespace's: whoever may answer a host's TLS may have it passed
//! through, and nobody else.

use super::{
    claims::{Claims, PassedHost, PassedHosts, Port},
    contest::ClaimPriority,
    matching::ANY_HOST,
    options::{self, Settings},
};
use haptic_model::{Finding, FindingKind};
use std::sync::Arc;

/// The annotation.
pub(crate) const OPTION: &str = "ssl-passthrough";

/// The port of the Service that requests over HTTP go to.
pub(crate) const HTTP_PORT: &str = "ssl-passthrough-http-port";

impl Claims {
    /// What `ssl-passthrough` makes of the routes for `/`; `port`: where requests over HTTP go.
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

fn without_effect(why: &str) -> Finding {
    let sentence = format!("annotation {}{OPTION} has no effect: {why}", options::PREFIX);
    options::finding(FindingKind::OptionWithoutEffect, OPTION, sentence)
}
