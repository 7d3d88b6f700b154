//! The answering server behind all servers of a configuration: it says what arrived.

use super::{client::MOST_HEADERS, instance::next_connection};
use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Request, Response, header::CONTENT_TYPE};
use http_body_util::{BodyExt, Full, Limited};
use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::TokioIo;
use rustls::{
    ServerConfig,
    pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer},
};
use std::{convert::Infallible, io, io::Cursor, sync::Arc};
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite},
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

/// The request's first line as it arrived, and the beginning of the names of its headers.
const ARRIVED: &str = "arrived";

/// Answers at each connection that HAProxy passes over `servers`, until HAProxy has ended.
pub(super) async fn answer(servers: &UnixStream) -> io::Result<()> {
    let mut open = JoinSet::new();
    while let Some(connection) = next_connection(servers).await? {
        while open.try_join_next().is_some() {}
        if open.len() < MOST_CONNECTIONS {
            open.spawn(serve(connection));
        }
    }
    Ok(())
}

/// In TLS where that is passed through.
async fn serve(mut connection: UnixStream) -> Option<()> {
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
    let mut told = text.into_bytes();
    told.extend_from_slice(&body);
    let mut response = Response::new(Full::new(told.into()));
    *response.headers_mut() = arrived(&line, &head.headers);
    response
}

/// `arrived: GET /path`, and for each header `NAME: VALUE` that arrived `arrived-NAME: VALUE`.
fn arrived(line: &str, headers: &HeaderMap) -> HeaderMap {
    let mut told = HeaderMap::new();
    told.insert(CONTENT_TYPE, HeaderValue::from_static("text/plain"));
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
        told.append(name, value);
    }
    told
}
