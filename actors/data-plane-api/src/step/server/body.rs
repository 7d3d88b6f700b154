//! A server that comes, as the API is told of it.

use crate::step::needs_reload::CannotAddServer;
use serde_json::{Map, Value, json};
use std::net::IpAddr;

/// How a parameter of a server is written in the body.
#[derive(Clone, Copy)]
enum Field {
    Number(&'static str),
    Word(&'static str),
    /// `enabled`, and it takes no value.
    Flag(&'static str),
}

/// Fields of `runtime_add_server` that mean the same in all versions of the API from 3.0 on. Checks are none of them: it adds a
/// server with `check` and never starts the check.
const FIELDS: &[(&str, Field)] = &[
    ("weight", Field::Number("weight")),
    ("maxconn", Field::Number("maxconn")),
    ("minconn", Field::Number("minconn")),
    ("maxqueue", Field::Number("maxqueue")),
    ("pool-max-conn", Field::Number("pool_max_conn")),
    ("pool-low-conn", Field::Number("pool_low_conn")),
    ("ssl", Field::Flag("ssl")),
    ("send-proxy", Field::Flag("send-proxy")),
    ("send-proxy-v2", Field::Flag("send-proxy-v2")),
    ("verify", Field::Word("verify")),
    ("verifyhost", Field::Word("verifyhost")),
    ("sni", Field::Word("sni")),
    ("alpn", Field::Word("alpn")),
    ("proto", Field::Word("proto")),
    ("ws", Field::Word("ws")),
    ("ca-file", Field::Word("ssl_cafile")),
    ("crt", Field::Word("ssl_certificate")),
];

/// The body of the call that adds the server.
///
/// # Errors
/// Why it would not be the server that it should be.
pub(super) fn body(name: &str, address: &str, params: &[String]) -> Result<Value, CannotAddServer> {
    let (host, port) = endpoint(address)?;
    let mut body = Map::new();
    body.insert("name".into(), json!(name));
    body.insert("address".into(), json!(host));
    body.insert("port".into(), json!(port));
    let mut words = params.iter();
    while let Some(keyword) = words.next() {
        let Some((_, field)) = FIELDS.iter().find(|(known, _)| known == keyword) else {
            return Err(CannotAddServer::Keyword { keyword: keyword.clone() });
        };
        let mut value = || words.next().map(String::as_str).unwrap_or_default();
        let (field, value) = match field {
            Field::Flag(field) => (field, json!("enabled")),
            Field::Word(field) => (field, json!(value())),
            Field::Number(field) => (field, json!(number(keyword, value())?)),
        };
        body.insert((*field).into(), value);
    }
    Ok(Value::Object(body))
}

fn endpoint(address: &str) -> Result<(IpAddr, u16), CannotAddServer> {
    let (host, port) = address.rsplit_once(':').ok_or(CannotAddServer::WithoutPort)?;
    let ip = host.trim_matches(['[', ']']).parse();
    let ip = ip.map_err(|_| CannotAddServer::NoIpAddress { host: host.to_owned() })?;
    let port = port.parse().map_err(|_| CannotAddServer::NoPort { port: port.to_owned() })?;
    Ok((ip, port))
}

fn number(keyword: &str, value: &str) -> Result<u32, CannotAddServer> {
    let no_number = |_| CannotAddServer::NoNumber { keyword: keyword.to_owned(), value: value.to_owned() };
    value.parse().map_err(no_number)
}
