//! Which frontend takes a request, and at which of its `bind` lines.

use super::explanation::ExplainedRequest;
use haptic_haproxy::{
    Document, Section,
    views::{Bind, binds},
};
use std::ops::RangeInclusive;

/// The port and the name of the `bind` that takes a request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Arrival {
    pub port: Option<u16>,
    pub name: String,
}

/// A frontend that takes a request.
pub struct ArrivalPlace<'d> {
    pub frontend: &'d Section<'d>,
    /// The line of its `bind`.
    pub bind: usize,
    pub arrival: Arrival,
}

/// The first frontend that takes such a request, sooner one that leads to backends. `port` is HAProxy's, where that is known. Where it is
/// not, and HAProxy does not listen at the request's, a Service or a node may lead that one to another.
pub fn place<'d>(
    document: &'d Document<'d>,
    request: &ExplainedRequest,
    port: Option<u16>,
) -> Option<ArrivalPlace<'d>> {
    let fitting = |by_port: Option<u16>, any: bool| {
        let all = document.sections.iter().filter(|section| section.kind.has_frontend());
        let mut all = all.filter(|section| any || chooses(section));
        all.find_map(|section| {
            let takes = |bind: &Bind| {
                takes_scheme(section, bind, request.tls)
                    && by_port.is_none_or(|port| ports(&bind.address).is_some_and(|all| all.contains(&port)))
            };
            let bind = binds(section).into_iter().find(takes)?;
            let only = ports(&bind.address).filter(|all| all.start() == all.end()).map(|all| *all.start());
            Some(at(section, &bind, by_port.or(only)))
        })
    };
    let by_port = |port: u16| fitting(Some(port), false).or_else(|| fitting(Some(port), true));
    let by_any = || fitting(None, false).or_else(|| fitting(None, true));
    match port {
        Some(port) => by_port(port),
        None => request.port.and_then(by_port).or_else(by_any),
    }
}

/// The frontend that listens at a socket.
pub fn behind_socket<'d>(document: &'d Document<'d>, socket: &str) -> Option<ArrivalPlace<'d>> {
    let mut all = document.sections.iter().filter(|section| section.kind.has_frontend());
    all.find_map(|section| {
        let bind = binds(section).into_iter().find(|bind| bind.address == socket)?;
        Some(at(section, &bind, None))
    })
}

fn at<'d>(frontend: &'d Section<'d>, bind: &Bind, port: Option<u16>) -> ArrivalPlace<'d> {
    let name = bind.params.iter().skip_while(|word| *word != "name").nth(1).cloned().unwrap_or_default();
    ArrivalPlace { frontend, bind: bind.line, arrival: Arrival { port, name } }
}

fn chooses(section: &Section<'_>) -> bool {
    section.lines.iter().any(|line| matches!(line.keyword(), "use_backend" | "default_backend"))
}

/// TLS ends there, or is looked into and passed on.
fn takes_scheme(section: &Section<'_>, bind: &Bind, is_tls: bool) -> bool {
    let ends_tls = bind.params.iter().any(|word| word == "ssl");
    let looks_into_tls =
        || section.lines.iter().any(|line| line.words.iter().any(|word| word.value.contains("req.ssl_sni")));
    ends_tls == is_tls || (is_tls && looks_into_tls())
}

/// The ports of an address: `*:20000-20127`, `[::]:80`.
fn ports(address: &str) -> Option<RangeInclusive<u16>> {
    let ports = address.rsplit_once(':')?.1;
    let (first, last) = ports.split_once('-').unwrap_or((ports, ports));
    Some(first.parse().ok()?..=last.parse().ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    const CFG: &str = "frontend web\n bind *:80\n use_backend x\nfrontend many\n bind *:2000-2009 name many\n use_backend y\n\
        frontend tls\n bind *:443\n tcp-request content set-var(txn.host) req.ssl_sni\n use_backend z\n\
        frontend inner\n bind unix@/run/inner ssl name i\n use_backend y\n";

    fn found(url: &str, port: Option<u16>) -> (String, Arrival) {
        let document = Document::parse(CFG);
        let place = place(&document, &ExplainedRequest::parse(url).unwrap(), port).unwrap();
        (place.frontend.name.to_string(), place.arrival)
    }

    #[test]
    fn a_frontend_is_found_by_port_and_scheme() {
        let at = |port: u16, name: &str| Arrival { port: Some(port), name: name.into() };
        assert_eq!(found("http://a/", None), ("web".into(), at(80, "")));
        assert_eq!(found("http://a/", Some(2003)), ("many".into(), at(2003, "many")));
        assert_eq!(found("http://a:2009/", None), ("many".into(), at(2009, "many")));
        assert_eq!(found("http://a:2010/", None).0, "web");
        let document = Document::parse(CFG);
        let request = ExplainedRequest::parse("https://a/").unwrap();
        assert!(place(&document, &request, Some(2003)).is_none(), "it speaks no TLS");
        assert_eq!(found("https://a/", None), ("tls".into(), at(443, "")));
        let inner = behind_socket(&document, "unix@/run/inner").unwrap();
        assert_eq!((&*inner.frontend.name, inner.arrival.name.as_str()), ("inner", "i"));
        assert!(behind_socket(&document, "unix@/run/other").is_none());
    }
}
