//! The answering server behind all servers of a configuration: it says what arrived.

use super::{
    client::MOST_HEADERS,
    instance::next_connection,
    runnable::{INNER_SOCKET_FIELD, OWN_SOCKET, WITH_HEADER, inner_socket},
};
use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Request, Response, StatusCode, header::CONTENT_TYPE};
use http_body_util::{BodyExt, Full, Limited};
use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::TokioIo;
use rustls::{
    ServerConfig,
    pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer},
};
use std::{convert::Infallible, io, io::Cursor, path::Path, sync::Arc};
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt},
    net::UnixStream,
    task::JoinSet,
};
use tokio_rustls::TlsAcceptor;

/// Connections at once; one more is closed.
const MOST_CONNECTIONS: usize = 256;
/// Of a request's body.
const MOST_BODY: usize = 64 << 10;
/// Of the headers that are told as headers: HAProxy refuses an answer whose head is larger than its buffer.
const MOST_TOLD: usize = 6 << 10;
/// Nor does it take more headers than 101, by default.
const MOST_TOLD_HEADERS: usize = 80;
/// The first byte of TLS.
const HANDSHAKE: u8 = 0x16;
/// The first byte of the PROXY protocol, and how many follow until the length of the rest has been said.
const PROXY: u8 = 0x0d;
const PROXY_HEAD: usize = 15;
/// A header of requests that ask whether another one may pass, as the library `ingress` makes them.
const CHECK: &str = "x-haptic-check";
/// What such a request says of the answer: its status, and headers behind a prefix.
const ANSWER_STATUS: &str = "answer-status";
const ANSWER_HEADER: &str = "answer-";

/// The request's first line as it arrived, and the beginning of the names of its headers.
const ARRIVED: &str = "arrived";

/// Answers at each connection that HAProxy passes over `servers`, until HAProxy has ended. Those that HAProxy makes to itself lead to
/// its own sockets, in the folder `sockets`.
pub(super) async fn answer(servers: &UnixStream, sockets: &Arc<Path>) -> io::Result<()> {
    let mut open = JoinSet::new();
    while let Some(connection) = next_connection(servers).await? {
        while open.try_join_next().is_some() {}
        if open.len() < MOST_CONNECTIONS {
            open.spawn(serve(connection, sockets.clone()));
        }
    }
    Ok(())
}

async fn serve(mut connection: UnixStream, sockets: Arc<Path>) -> Option<()> {
    let first = connection.read_u8().await.ok()?;
    if first != PROXY {
        return relay(connection, &sockets.join(OWN_SOCKET), &[first]).await;
    }
    let mut head = [0; PROXY_HEAD];
    connection.read_exact(&mut head).await.ok()?;
    let [.., family, high, low] = head;
    let mut rest = vec![0; u16::from_be_bytes([high, low]).into()];
    connection.read_exact(&mut rest).await.ok()?;
    let Some(to) = inner_socket_named(family, &rest) else { return as_server(connection).await };
    let number = to.trim_start_matches(WITH_HEADER);
    let header = if number == to { Vec::new() } else { [&[first][..], &head, &rest].concat() };
    relay(connection, &sockets.join(inner_socket(number.parse().ok()?)), &header).await
}

/// Leads a connection of HAProxy to a socket of its own, where `before` comes first: it has no call to connect by itself.
async fn relay(mut connection: UnixStream, socket: &Path, before: &[u8]) -> Option<()> {
    let mut own = UnixStream::connect(socket).await.ok()?;
    own.write_all(before).await.ok()?;
    tokio::io::copy_bidirectional(&mut connection, &mut own).await.ok().map(drop)
}

/// What the field for it says in a header of the PROXY protocol, version 2, whose addresses are of this family.
fn inner_socket_named(family: u8, rest: &[u8]) -> Option<&str> {
    let addresses = match family >> 4 {
        1 => 12,
        2 => 36,
        3 => 216,
        _ => 0,
    };
    let mut fields = rest.get(addresses..)?;
    while let [kind, high, low, more @ ..] = fields {
        let (value, after) = more.split_at_checked(u16::from_be_bytes([*high, *low]).into())?;
        if *kind == INNER_SOCKET_FIELD {
            return str::from_utf8(value).ok();
        }
        fields = after;
    }
    None
}

/// In TLS where that is passed through.
async fn as_server(mut connection: UnixStream) -> Option<()> {
    let first = connection.read_u8().await.ok()?;
    let (reader, writer) = connection.into_split();
    let connection = tokio::io::join(Cursor::new([first]).chain(reader), writer);
    if first != HANDSHAKE {
        return converse(connection).await;
    }
    let tls = TlsAcceptor::from(Arc::new(certificate()?)).accept(connection).await;
    converse(tls.ok()?).await
}

async fn converse(connection: impl AsyncRead + AsyncWrite + Unpin) -> Option<()> {
    let service = service_fn(async |request| Ok::<_, Infallible>(echo(request).await));
    http1::Builder::new()
        .max_headers(MOST_HEADERS)
        .serve_connection(TokioIo::new(connection), service)
        .await
        .ok()
}

fn certificate() -> Option<ServerConfig> {
    let made = rcgen::generate_simple_self_signed(["server.example".to_owned()]).ok()?;
    let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(made.signing_key.serialize_der()));
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions().ok()?;
    config.with_no_client_auth().with_single_cert(vec![made.cert.der().clone()], key).ok()
}

async fn echo(request: Request<Incoming>) -> Response<Full<Bytes>> {
    let (head, body) = request.into_parts();
    let body = Limited::new(body, MOST_BODY).collect().await.map(|body| body.to_bytes()).unwrap_or_default();
    let line = format!("{} {}", head.method, head.uri);
    let mut text = format!("{line}\n");
    for (name, value) in &head.headers {
        text.push_str(&format!("{name}: {}\n", String::from_utf8_lossy(value.as_bytes())));
    }
    text.push('\n');
    let mut content = text.into_bytes();
    content.extend_from_slice(&body);
    let mut response = Response::new(Full::new(content.into()));
    *response.headers_mut() = arrived(&line, &head.headers);
    if head.headers.contains_key(CHECK) {
        answer_as_asked(&mut response, &head.headers);
    }
    response
}

/// As an authentication service: with the status, and the headers, that the request asks for.
fn answer_as_asked(response: &mut Response<Full<Bytes>>, headers: &HeaderMap) {
    let status = headers.get(ANSWER_STATUS).and_then(|status| StatusCode::from_bytes(status.as_bytes()).ok());
    *response.status_mut() = status.unwrap_or(StatusCode::OK);
    for (name, value) in headers {
        let name = name.as_str().strip_prefix(ANSWER_HEADER).filter(|name| *name != "status");
        if let Some(name) = name.and_then(|name| HeaderName::try_from(name).ok()) {
            response.headers_mut().append(name, value.clone());
        }
    }
}

/// `arrived: GET /path`, and for each header `NAME: VALUE` that arrived `arrived-NAME: VALUE`.
fn arrived(line: &str, headers: &HeaderMap) -> HeaderMap {
    let mut arrived = HeaderMap::new();
    arrived.insert(CONTENT_TYPE, HeaderValue::from_static("text/plain"));
    let mut left = MOST_TOLD;
    let line = HeaderValue::try_from(line).ok().map(|line| (HeaderName::from_static(ARRIVED), line));
    let headers = headers.iter().filter_map(|(name, value)| {
        Some((HeaderName::try_from(format!("{ARRIVED}-{name}")).ok()?, value.clone()))
    });
    for (name, value) in line.into_iter().chain(headers).take(MOST_TOLD_HEADERS) {
        let size = name.as_str().len() + value.len() + 4;
        if size > left {
            break;
        }
        left -= size;
        arrived.append(name, value);
    }
    arrived
}
