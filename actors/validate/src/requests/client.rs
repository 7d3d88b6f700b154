//! One request of a client: over a UNIX socket, from an address that the PROXY protocol tells, in TLS if its URL says so.

use super::{AnyCertificate, ClientReply, ClientRequest};
use bytes::Bytes;
use http::{HeaderValue, Request, header::HOST};
use http_body_util::{BodyExt, Full};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use rustls::{
    ClientConfig,
    pki_types::{CertificateDer, PrivateKeyDer, ServerName, pem::PemObject},
};
use std::{
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
    sync::Arc,
};
use tokio::{
    io::{AsyncRead, AsyncWrite, AsyncWriteExt},
    net::UnixStream,
};
use tokio_rustls::TlsConnector;

/// Of an answer's body.
const MOST_BODY: usize = 64 << 10;
/// Of a message, more than HAProxy takes.
pub(super) const MOST_HEADERS: usize = 512;

/// Where clients believe to be connected to when a `bind` line names no address: documentation's own addresses.
const HERE: (Ipv4Addr, Ipv6Addr) =
    (Ipv4Addr::new(198, 51, 100, 1), Ipv6Addr::new(0x2001, 0xdb8, 0, 1, 0, 0, 0, 1));

/// Certificate and key of a client, as PEM.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientIdentity {
    /// The certificate, and those between it and its authority.
    pub chain: Vec<u8>,
    /// Its key.
    pub key: Vec<u8>,
}

/// Sends `question` over `connection`, from its address and `port` to `to`; what comes of it.
pub(super) async fn ask(
    mut connection: UnixStream,
    question: &ClientRequest,
    port: u16,
    to: (Option<IpAddr>, u16),
) -> ClientReply {
    let first = proxy_line(question.from, port, to);
    if let Err(error) = connection.write_all(first.as_bytes()).await {
        return ClientReply::Closed(error.to_string());
    }
    if !question.is_https() {
        return exchange(connection, question).await;
    }
    let name = match ServerName::try_from(question.host().to_owned()) {
        Ok(name) => name,
        Err(error) => {
            return ClientReply::Impossible(format!("{:?} is no server name: {error}", question.host()));
        }
    };
    match tls(question.identity.as_ref()) {
        Err(why) => ClientReply::Impossible(why),
        Ok(config) => match TlsConnector::from(Arc::new(config)).connect(name, connection).await {
            Ok(connection) => exchange(connection, question).await,
            Err(error) => ClientReply::Closed(format!("TLS: {error}")),
        },
    }
}

/// The header of the PROXY protocol, version 1. Both addresses are of one family.
fn proxy_line(from: IpAddr, port: u16, (to, to_port): (Option<IpAddr>, u16)) -> String {
    let to = to.filter(|to| to.is_ipv4() == from.is_ipv4());
    let (family, to) = match from {
        IpAddr::V4(_) => ("TCP4", to.unwrap_or(HERE.0.into())),
        IpAddr::V6(_) => ("TCP6", to.unwrap_or(HERE.1.into())),
    };
    format!("PROXY {family} {from} {to} {port} {to_port}\r\n")
}

async fn exchange(
    connection: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    question: &ClientRequest,
) -> ClientReply {
    let closed = |error: hyper::Error| match error.is_parse() {
        true => ClientReply::Impossible(format!("the answer is no HTTP: {error}")),
        false => ClientReply::Closed(error.to_string()),
    };
    let (mut sender, conversation) =
        match http1::Builder::new().max_headers(MOST_HEADERS).handshake(TokioIo::new(connection)).await {
            Ok(ends) => ends,
            Err(error) => return closed(error),
        };
    let request = match request(question) {
        Ok(request) => request,
        Err(why) => return ClientReply::Impossible(why),
    };
    let answered = async {
        let response = sender.send_request(request).await.map_err(closed)?;
        let (head, mut body) = response.into_parts();
        let mut text = Vec::new();
        while let Some(frame) = body.frame().await {
            let frame = frame.map_err(closed)?;
            text.extend_from_slice(frame.data_ref().map_or(&[][..], |data| data));
            if text.len() > MOST_BODY {
                text.truncate(MOST_BODY);
                break;
            }
        }
        let text_of = |value: &HeaderValue| String::from_utf8_lossy(value.as_bytes()).into_owned();
        let headers = head.headers.iter().map(|(name, value)| (name.to_string(), text_of(value))).collect();
        Ok(ClientReply::Answer {
            status: head.status.as_u16(),
            headers,
            body: String::from_utf8_lossy(&text).into_owned(),
        })
    };
    tokio::pin!(answered, conversation);
    // The conversation is what moves both; when it has ended, what is answered is known.
    let reply: Result<ClientReply, ClientReply> = tokio::select! {
        reply = &mut answered => reply,
        _ = &mut conversation => answered.await,
    };
    reply.unwrap_or_else(|closed| closed)
}

fn request(question: &ClientRequest) -> Result<Request<Full<Bytes>>, String> {
    let path = question.url.path_and_query().map_or("/", |path| path.as_str());
    let mut request = Request::builder().method(question.method.clone()).uri(path);
    if !question.headers.iter().any(|(name, _)| name == HOST) {
        request = request.header(HOST, question.url.authority().map_or("", |authority| authority.as_str()));
    }
    for (name, value) in &question.headers {
        request = request.header(name, value);
    }
    request.body(Full::new(question.body.clone())).map_err(|error| format!("it is no request: {error}"))
}

/// Whose the server's certificate is matters to no test.
fn tls(identity: Option<&ClientIdentity>) -> Result<ClientConfig, String> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider.clone())
        .with_safe_default_protocol_versions()
        .map_err(|error| format!("TLS cannot be set up: {error}"))?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(AnyCertificate::new(provider)));
    let Some(identity) = identity else { return Ok(config.with_no_client_auth()) };
    let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&identity.chain).collect();
    let chain = chain.map_err(|error| format!("the client's certificate is not PEM: {error}"))?;
    let key = PrivateKeyDer::from_pem_slice(&identity.key)
        .map_err(|error| format!("the client's key is not PEM: {error}"))?;
    config
        .with_client_auth_cert(chain, key)
        .map_err(|error| format!("the client's certificate cannot be used: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_addresses_of_the_proxy_protocol_are_of_one_family() {
        let line = |from: &str, to: Option<&str>| {
            proxy_line(from.parse().unwrap(), 1000, (to.map(|to| to.parse().unwrap()), 443))
        };
        assert_eq!(line("192.0.2.1", Some("10.0.0.1")), "PROXY TCP4 192.0.2.1 10.0.0.1 1000 443\r\n");
        assert_eq!(
            line("2001:db8::9", Some("10.0.0.1")),
            "PROXY TCP6 2001:db8::9 2001:db8:0:1::1 1000 443\r\n"
        );
        assert_eq!(line("192.0.2.1", None), "PROXY TCP4 192.0.2.1 198.51.100.1 1000 443\r\n");
    }
}
