//! From an operation to the lines of HAProxy's command socket. The only place that makes commands which change HAProxy.
//!
//! Every word is checked: nothing that an order contains can end a command or begin another.

use haptic_model::{Operation, operation::ServerState};
use std::net::{IpAddr, SocketAddr};

/// An operation that cannot be put into commands.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("{operation}: {problem}")]
pub(crate) struct CommandError {
    operation: String,
    problem: String,
}

/// The commands of `operation`, in order, without line ends.
///
/// # Errors
/// A name, number or parameter that HAProxy would misread.
pub(crate) fn commands(operation: &Operation) -> Result<Vec<String>, CommandError> {
    lines(operation).map_err(|problem| CommandError { operation: plain(&operation.to_string()), problem })
}

fn lines(operation: &Operation) -> Result<Vec<String>, String> {
    Ok(match operation {
        Operation::SetServerAddress { backend, server, address, port } => {
            let ip: IpAddr = address.parse().map_err(|_| format!("{address:?} is not an IP address"))?;
            if *port == 0 {
                return Err("port 0 is none".to_owned());
            }
            vec![format!("set server {} addr {ip} port {port}", full_name(backend, server)?)]
        }
        Operation::SetServerWeight { backend, server, weight } => {
            if *weight > 256 {
                return Err(format!("weight {weight} is above 256"));
            }
            vec![format!("set server {} weight {weight}", full_name(backend, server)?)]
        }
        Operation::SetServerState { backend, server, state } => {
            vec![format!("set server {} state {}", full_name(backend, server)?, word_of(*state))]
        }
        Operation::SetServerMaxconn { backend, server, maxconn } => {
            vec![format!("set maxconn server {} {maxconn}", full_name(backend, server)?)]
        }
        Operation::AddServer { backend, server, address, params, enabled } => {
            let name = full_name(backend, server)?;
            check_address(address)?;
            let mut add = format!("add server {name} {}", escaped(address)?);
            for param in params {
                add.push(' ');
                add.push_str(&escaped(param)?);
            }
            let mut lines = vec![add];
            if *enabled {
                // A server that was added starts in maintenance, and its checks stopped.
                if params.iter().any(|p| p == "check") {
                    lines.push(format!("enable health {name}"));
                }
                lines.push(format!("enable server {name}"));
            }
            lines
        }
        Operation::DeleteServer { backend, server } => {
            let name = full_name(backend, server)?;
            vec![format!("set server {name} state maint"), format!("del server {name}")]
        }
    })
}

/// Backend and server of `operation`.
pub(crate) fn target(operation: &Operation) -> (&str, &str) {
    match operation {
        Operation::SetServerAddress { backend, server, .. }
        | Operation::SetServerWeight { backend, server, .. }
        | Operation::SetServerState { backend, server, .. }
        | Operation::SetServerMaxconn { backend, server, .. }
        | Operation::AddServer { backend, server, .. }
        | Operation::DeleteServer { backend, server } => (backend, server),
    }
}

/// An address as in haproxy.cfg, when it is an IP address with a port.
pub(crate) fn socket_address(address: &str) -> Option<(IpAddr, u16)> {
    let bare = address.strip_prefix("ipv4@").or_else(|| address.strip_prefix("ipv6@")).unwrap_or(address);
    if let Ok(socket) = bare.parse::<SocketAddr>() {
        return Some((socket.ip(), socket.port()));
    }
    // HAProxy also takes fd00::1:80 without brackets: the last colon separates the port.
    let (ip, port) = bare.rsplit_once(':')?;
    Some((ip.parse().ok()?, port.parse().ok()?))
}

fn word_of(state: ServerState) -> &'static str {
    match state {
        ServerState::Ready => "ready",
        ServerState::Drain => "drain",
        ServerState::Maint => "maint",
    }
}

fn full_name(backend: &str, server: &str) -> Result<String, String> {
    check_name(backend)?;
    check_name(server)?;
    Ok(format!("{backend}/{server}"))
}

/// HAProxy's rule for names of proxies and servers (configuration manual, 2.2: letters, digits, `-`, `_`, `.`, `:`).
pub(crate) fn check_name(name: &str) -> Result<(), String> {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | ':');
    if name.is_empty() || name.len() > 255 || !name.chars().all(fits) {
        return Err(format!("{name:?} is not a name that HAProxy takes (letters, digits, - _ . :)"));
    }
    Ok(())
}

/// A server's address: IP and port, or a socket's path. HAProxy resolves no names of servers added at run time.
fn check_address(address: &str) -> Result<(), String> {
    if address.strip_prefix("unix@").unwrap_or(address).starts_with('/') {
        return Ok(());
    }
    match socket_address(address) {
        Some((_, port)) if port > 0 => Ok(()),
        _ => Err(format!("{address:?} is neither an IP address with a port nor a socket's path")),
    }
}

/// One word for the command socket: spaces and backslashes escaped (management guide, 9.3).
fn escaped(word: &str) -> Result<String, String> {
    if word.is_empty() {
        return Err("an empty parameter cannot be given at run time".to_owned());
    }
    if word.contains(';')
        || word.chars().any(char::is_control)
        || word.starts_with("<<")
        || word.starts_with('#')
    {
        return Err(format!("the parameter {word:?} cannot be given at run time"));
    }
    Ok(word.replace('\\', "\\\\").replace(' ', "\\ "))
}

fn plain(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).take(200).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn add(address: &str, params: &[&str]) -> Operation {
        Operation::AddServer {
            backend: "shop".to_owned(),
            server: "web_1".to_owned(),
            address: address.to_owned(),
            params: params.iter().map(|p| (*p).to_owned()).collect(),
            enabled: true,
        }
    }

    #[test]
    fn a_server_with_checks_gets_its_checks_enabled_too() {
        assert_eq!(
            commands(&add("10.0.0.1:80", &["weight", "5", "check"])).unwrap(),
            [
                "add server shop/web_1 10.0.0.1:80 weight 5 check",
                "enable health shop/web_1",
                "enable server shop/web_1"
            ]
        );
    }

    #[test]
    fn a_space_in_a_parameter_does_not_end_it() {
        let lines = commands(&add("10.0.0.1:80", &["sni", r"str(a b\c)"])).unwrap();
        assert_eq!(lines[0], r"add server shop/web_1 10.0.0.1:80 sni str(a\ b\\c)");
    }

    #[test]
    fn nothing_in_an_order_begins_another_command() {
        for bad in ["a;b", "a\nshutdown sessions", "a\tb", "<<", "", "#"] {
            assert!(commands(&add("10.0.0.1:80", &[bad])).is_err(), "{bad:?}");
        }
        for bad in ["a b", "a/b", "a;b", "", "a\nb", "ä"] {
            let operation = Operation::DeleteServer { backend: bad.to_owned(), server: "s".to_owned() };
            assert!(commands(&operation).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn addresses_are_numbers_or_socket_paths() {
        for good in [
            "10.0.0.1:80",
            "[fd00::1]:80",
            "fd00::1:80",
            "ipv4@10.0.0.1:80",
            "unix@/run/x.sock",
            "/run/x.sock",
        ] {
            assert!(commands(&add(good, &[])).is_ok(), "{good}");
        }
        for bad in ["shop.example:80", "10.0.0.1", "10.0.0.1:0", "10.0.0.1:99999", "10.0.0.1:80;x", "unix@x"]
        {
            assert!(commands(&add(bad, &[])).is_err(), "{bad}");
        }
    }

    #[test]
    fn numbers_that_haproxy_would_wrap_or_refuse_are_refused() {
        let address = |address: &str, port| Operation::SetServerAddress {
            backend: "b".to_owned(),
            server: "s".to_owned(),
            address: address.to_owned(),
            port,
        };
        assert!(commands(&address("10.0.0.1", 0)).is_err());
        assert!(commands(&address("name.example", 80)).is_err());
        assert_eq!(commands(&address("fd00::1", 80)).unwrap(), ["set server b/s addr fd00::1 port 80"]);
        let weight =
            Operation::SetServerWeight { backend: "b".to_owned(), server: "s".to_owned(), weight: 257 };
        assert!(commands(&weight).is_err());
    }
}
