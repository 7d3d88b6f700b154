//! Asks a running controller: one GET of `/debug` over plain HTTP, as from the same machine or through a port-forward.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::{TcpStream, ToSocketAddrs},
    time::Duration,
};

/// How long an answer may take.
const PATIENCE: Duration = Duration::from_secs(10);
/// No head of an answer is longer, and of a refusal no more is shown.
const LONGEST_HEAD: usize = 16 << 10;
const LONGEST_REFUSAL: u64 = 16 << 10;

/// The answer's body.
///
/// # Errors
/// A sentence: nothing listens there, it takes too long, or what it says instead of an answer.
pub fn get(base: &str, path: &str) -> Result<String, String> {
    let mut text = String::new();
    body(base, path, PATIENCE)?.read_to_string(&mut text).map_err(|why| format!("{base}{path}: {why}"))?;
    Ok(text)
}

/// The answer's body, to be read bit by bit; no bit may take longer than `patience`.
///
/// # Errors
/// A sentence: nothing listens there, it takes too long, or what it says instead of an answer.
pub fn body(base: &str, path: &str, patience: Duration) -> Result<impl Read, String> {
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
            "nothing answers at {base}: {why}. In a cluster: kubectl port-forward pod/LEADER 6060 (which one leads: kubectl get \
             leases), or name another address with --url"
        )
    };
    let mut last = std::io::Error::other("the name has no address");
    for address in address.to_socket_addrs().map_err(silent)? {
        match TcpStream::connect_timeout(&address, PATIENCE) {
            Ok(stream) => return exchange(stream, authority, path, patience).map_err(silent)?,
            Err(why) => last = why,
        }
    }
    Err(silent(last))
}

/// HTTP/1.0, so that the body ends where the connection does.
fn exchange(
    mut stream: TcpStream,
    host: &str,
    path: &str,
    patience: Duration,
) -> std::io::Result<Result<BufReader<TcpStream>, String>> {
    stream.set_read_timeout(Some(patience))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    write!(stream, "GET {path} HTTP/1.0\r\nHost: {host}\r\nAccept: application/json\r\n\r\n")?;
    let mut answer = BufReader::new(stream);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") && head.len() < LONGEST_HEAD && answer.read_line(&mut head)? > 0 {}
    let status = head.split_whitespace().nth(1).map(str::to_owned);
    Ok(match status.as_deref() {
        Some("200") => Ok(answer),
        Some(status) => {
            let mut said = String::new();
            answer.take(LONGEST_REFUSAL).read_to_string(&mut said)?;
            Err(format!("{host}{path} answers {status}: {}", said.trim()))
        }
        None => Err(format!("what answers at {host} is no /debug of haptic")),
    })
}

/// `text` as a part of a query.
#[must_use]
pub fn escaped(text: &str) -> String {
    let as_it_is = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    text.bytes().map(|b| if as_it_is(b) { char::from(b).to_string() } else { format!("%{b:02X}") }).collect()
}
