//! One request over HTTP or HTTPS, and all there is to see of its answer.

use integration_tests::http::client_config;
use rustls::{ClientConfig, ClientConnection, StreamOwned, pki_types::ServerName};
use std::{
    io::{BufRead, BufReader, Read, Write},
    net::{SocketAddr, TcpStream},
    sync::Arc,
    time::Duration,
};

/// An answer.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: String,
}

impl Answer {
    /// The value of a header, by its name in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(n, _)| n == name).map(|(_, v)| &**v)
    }

    /// The last number of the address that the request came to, which is that of its service.
    pub fn service(&self) -> Option<u8> {
        let address = (self.status == 200).then(|| self.body.lines().next()).flatten()?;
        address.rsplit('.').next()?.parse().ok()
    }

    /// The request's first line as the server got it.
    pub fn request_line(&self) -> &str {
        self.body.lines().nth(1).unwrap_or_default()
    }

    /// A header of the request as the server got it, by its name in lower case.
    pub fn sent(&self, name: &str) -> Option<&str> {
        let headers = self.body.lines().skip(2).filter_map(|line| line.split_once(": "));
        headers.filter(|(n, _)| n.eq_ignore_ascii_case(name)).map(|(_, v)| v).next()
    }
}

/// How a request is sent.
pub struct Way<'w> {
    /// Where to.
    pub address: SocketAddr,
    /// For TLS: the name that is asked for, and how.
    pub tls: Option<(&'w str, Arc<ClientConfig>)>,
    /// What is sent before all else: the line of the PROXY protocol.
    pub first: &'w str,
}

impl<'w> Way<'w> {
    /// To `address`, for TLS with `server_name`.
    pub fn to(address: SocketAddr, server_name: Option<&'w str>) -> Self {
        let tls = server_name.map(|name| (name, Arc::new(client_config().unwrap())));
        Self { address, tls, first: "" }
    }
}

/// Sends `head` (a request's lines without the last, empty one) and `body`.
pub fn ask(way: &Way<'_>, head: &str, body: &str) -> std::io::Result<Answer> {
    converse(way, head, body).map(|(answer, _)| answer)
}

/// The same, with the certificate that the server showed, in DER.
pub fn converse(way: &Way<'_>, head: &str, body: &str) -> std::io::Result<(Answer, Option<Vec<u8>>)> {
    let mut tcp = TcpStream::connect(way.address)?;
    tcp.set_read_timeout(Some(Duration::from_secs(30)))?;
    tcp.write_all(way.first.as_bytes())?;
    let close = if head.contains("Connection: ") { "" } else { "Connection: close\r\n" };
    let request = format!("{head}Content-Length: {}\r\n{close}\r\n{body}", body.len());
    match &way.tls {
        None => Ok((exchange(&mut tcp, &request)?, None)),
        Some((name, config)) => {
            let name = ServerName::try_from((*name).to_owned()).unwrap();
            let tls = ClientConnection::new(Arc::clone(config), name).unwrap();
            let mut stream = StreamOwned::new(tls, tcp);
            let answer = exchange(&mut stream, &request)?;
            let shown = stream.conn.peer_certificates().and_then(|chain| chain.first());
            Ok((answer, shown.map(|certificate| certificate.to_vec())))
        }
    }
}

fn exchange(stream: &mut (impl Read + Write), request: &str) -> std::io::Result<Answer> {
    stream.write_all(request.as_bytes())?;
    stream.flush()?;
    let mut stream = BufReader::new(stream);
    let mut line = String::new();
    stream.read_line(&mut line)?;
    let status = line.split(' ').nth(1).and_then(|s| s.parse().ok());
    let status = status.ok_or_else(|| std::io::Error::other(format!("no answer: {line:?}")))?;
    let mut headers = Vec::new();
    loop {
        line.clear();
        stream.read_line(&mut line)?;
        match line.trim_end().split_once(':') {
            Some((name, value)) => headers.push((name.to_ascii_lowercase(), value.trim().to_owned())),
            None => break,
        }
    }
    let length = headers.iter().find(|(n, _)| n == "content-length").and_then(|(_, v)| v.parse().ok());
    let mut body = Vec::new();
    match length {
        Some(length) => stream.take(length).read_to_end(&mut body)?,
        None if status == 204 => 0,
        None => stream.read_to_end(&mut body)?,
    };
    Ok(Answer { status, headers, body: String::from_utf8_lossy(&body).into_owned() })
}
