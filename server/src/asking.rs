//! Asks a running controller: one GET of `/debug` over plain HTTP, as from the same machine or through a port-forward.

use std::{
    io::{Read, Write},
    net::{TcpStream, ToSocketAddrs},
    time::Duration,
};

/// How long an answer may take.
const PATIENCE: Duration = Duration::from_secs(10);

/// The answer's body.
///
/// # Errors
/// A sentence: nothing listens there, it takes too long, or what it says instead of an answer.
pub fn get(base: &str, path: &str) -> Result<String, String> {
    let authority = base
        .strip_prefix("http://")
        .ok_or_else(|| format!("{base} does not begin with http://, which is all that /debug speaks"))?;
    let authority = authority.trim_end_matches('/');
    let address = if authority.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok()) {
        authority.to_owned()
    } else {
        format!("{authority}:80")
    };
    let silent = |why: std::io::Error| {
        format!(
            "nothing answers at {base}: {why}. In a cluster: kubectl port-forward deployment/CONTROLLER 6060, or name another \
             address with --url"
        )
    };
    let mut last = std::io::Error::other("the name has no address");
    for address in address.to_socket_addrs().map_err(silent)? {
        match TcpStream::connect_timeout(&address, PATIENCE) {
            Ok(stream) => return exchange(stream, authority, path).map_err(silent)?,
            Err(why) => last = why,
        }
    }
    Err(silent(last))
}

/// HTTP/1.0, so that the body ends where the connection does.
fn exchange(mut stream: TcpStream, host: &str, path: &str) -> std::io::Result<Result<String, String>> {
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    write!(stream, "GET {path} HTTP/1.0\r\nHost: {host}\r\nAccept: application/json\r\n\r\n")?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((&answer, ""));
    Ok(match head.split_whitespace().nth(1) {
        Some("200") => Ok(body.to_owned()),
        Some(status) => Err(format!("{host}{path} answers {status}: {}", body.trim())),
        None => Err(format!("what answers at {host} is no /debug of haptic")),
    })
}

/// `text` as a part of a query.
#[must_use]
pub fn escaped(text: &str) -> String {
    let as_it_is = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    text.bytes().map(|b| if as_it_is(b) { char::from(b).to_string() } else { format!("%{b:02X}") }).collect()
}
