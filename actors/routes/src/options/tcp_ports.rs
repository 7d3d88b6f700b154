//! Ports of TCP as Services and ConfigMaps ask for them, each with a port of a Service.

use crate::claims::Port;

/// `PORT` or `PORT:PORT OF THE SERVICE`, the latter a number or a name.
pub(crate) fn read_port(text: &str) -> Option<(u16, Port)> {
    let (port, of_service) = text.split_once(':').unwrap_or((text, text));
    let number = |text: &str| text.parse::<u16>().ok().filter(|port| *port > 0);
    Some((number(port)?, port_of(of_service)?))
}

/// A port of a Service by number or name.
pub(crate) fn port_of(text: &str) -> Option<Port> {
    if text.bytes().all(|byte| byte.is_ascii_digit()) {
        return text.parse().ok().filter(|port| *port > 0).map(Port::Number);
    }
    let is_name =
        text.len() <= 63 && text.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-');
    is_name.then(|| Port::Name(text.into()))
}

/// Whether a text is some of `PORT` and `PORT:PORT OF THE SERVICE`, with commas between.
#[must_use]
pub fn is_ports(text: &str) -> bool {
    text.split(',').all(|one| read_port(one.trim()).is_some())
}
