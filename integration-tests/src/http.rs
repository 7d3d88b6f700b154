//! An HTTP/1.1 client that shows everything a journey asks about an answer: status, body, the certificate presented.
//!
//! One connection serves any number of requests, as a browser's does. Not for anything but tests: it believes every
//! certificate, because which one it gets is what the journey is about.

use crate::{
    certificate::Certificate,
    failure::{Failure, Outcome, ensure},
};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use haptic_validate::requests::AnyCertificate;
use rustls::{
    ClientConfig, ConfigBuilder, DEFAULT_VERSIONS, SupportedCipherSuite, SupportedProtocolVersion,
    client::WantsClientCert,
    crypto::{CryptoProvider, ring},
    pki_types::{CertificateDer, PrivateKeyDer, ServerName, pem::PemObject as _},
};
use std::{net::SocketAddr, sync::Arc, time::Duration};
use tokio::{
    io::{AsyncBufRead, AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader},
    net::TcpStream,
    time::timeout,
};
use tokio_rustls::TlsConnector;

/// No answer after this long is a failure: far longer than even a loaded machine takes.
pub const ANSWER_WITHIN: Duration = Duration::from_secs(20);

/// What came back.
#[derive(Clone, Debug)]
pub struct Response {
    /// The status code.
    pub status: u16,
    /// The body as text.
    pub body: String,
    /// The certificate the server presented, in DER; none over plain HTTP.
    pub certificate: Option<Vec<u8>>,
    /// In small letters.
    headers: Vec<(String, String)>,
    /// Whether the server closes the connection after this answer.
    pub closes: bool,
}

impl Response {
    /// The value of a header, both in small letters.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(its, _)| its == name).map(|(_, value)| value.as_str())
    }

    /// Whether another request may follow on the same connection.
    #[must_use]
    pub fn keeps_connection(&self) -> bool {
        !self.closes
    }

    /// Fails unless this is a 200 of backend `name`.
    #[track_caller]
    pub fn is_from(&self, name: &str) -> Outcome {
        ensure(
            self.status == 200 && self.body.trim() == name,
            format!("answer {} {:?}", self.status, self.body.trim()),
        )
    }

    /// Fails unless its status is `status`.
    #[track_caller]
    pub fn has_status(&self, status: u16) -> Outcome {
        ensure(self.status == status, format!("answer {} {:?}", self.status, self.body.trim()))
    }
}

/// TCP, or TLS over it.
trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}
impl<S: AsyncRead + AsyncWrite + Send + Unpin> Stream for S {}

/// One connection to a server.
pub struct Connection {
    stream: BufReader<Box<dyn Stream>>,
    certificate: Option<Vec<u8>>,
    answered: bool,
}

impl Connection {
    /// Connects to `address`; for TLS, asking for `server_name`.
    ///
    /// # Errors
    /// Refused, reset, or silent for [`ANSWER_WITHIN`].
    pub async fn open(address: SocketAddr, server_name: Option<&str>) -> Outcome<Self> {
        timeout(ANSWER_WITHIN, Self::connect(address, server_name))
            .await
            .unwrap_or_else(|_| Err(too_late(address)))
    }

    async fn connect(address: SocketAddr, server_name: Option<&str>) -> Outcome<Self> {
        let tcp = TcpStream::connect(address).await?;
        tcp.set_nodelay(true)?;
        let Some(name) = server_name else {
            return Ok(Self { stream: BufReader::new(Box::new(tcp)), certificate: None, answered: true });
        };
        let name = ServerName::try_from(name.to_owned())?;
        let tls = TlsConnector::from(Arc::new(client_config()?)).connect(name, tcp).await?;
        let presented = tls.get_ref().1.peer_certificates().and_then(<[_]>::first);
        let certificate = presented.map(|certificate| certificate.to_vec());
        Ok(Self { stream: BufReader::new(Box::new(tls)), certificate, answered: true })
    }

    /// The certificate that the server showed, in DER; none over plain HTTP.
    #[must_use]
    pub fn certificate(&self) -> Option<&[u8]> {
        self.certificate.as_deref()
    }

    /// Whether the last request failed because the server had closed the connection before it said a word, as servers
    /// do with idle ones. HTTP clients then ask again on a new connection.
    #[must_use]
    pub fn was_closed_while_idle(&self) -> bool {
        !self.answered
    }

    /// Sends a request and reads its answer.
    ///
    /// # Errors
    /// The connection broke, or no answer came within [`ANSWER_WITHIN`].
    pub async fn request(&mut self, method: &str, host: &str, path: &str) -> Outcome<Response> {
        self.send(&format!("{method} {path} HTTP/1.1\r\nHost: {host}\r\nContent-Length: 0\r\n\r\n")).await
    }

    /// A GET with Basic credentials: user and password.
    pub async fn get_as(&mut self, (user, password): (&str, &str), path: &str) -> Outcome<Response> {
        let credentials = STANDARD.encode(format!("{user}:{password}"));
        self.send(&format!(
            "GET {path} HTTP/1.1\r\nHost: agent\r\nAuthorization: Basic {credentials}\r\n\r\n"
        ))
        .await
    }

    /// A POST with Basic credentials, user and password, of a body with its type.
    pub async fn post_as(
        &mut self,
        credentials: (&str, &str),
        path: &str,
        (content_type, body): (&str, &str),
    ) -> Outcome<Response> {
        self.ask_as(credentials, ("POST", path), &format!("Content-Type: {content_type}\r\n"), body).await
    }

    /// Any request with Basic credentials, user and password. `head`: further lines of it, each with its end.
    pub async fn ask_as(
        &mut self,
        (user, password): (&str, &str),
        (method, path): (&str, &str),
        head: &str,
        body: &str,
    ) -> Outcome<Response> {
        let (credentials, length) = (STANDARD.encode(format!("{user}:{password}")), body.len());
        self.send(&format!(
            "{method} {path} HTTP/1.1\r\nHost: any\r\nAuthorization: Basic {credentials}\r\n\
             {head}Content-Length: {length}\r\n\r\n{body}"
        ))
        .await
    }

    /// A POST of `body`.
    pub async fn post(&mut self, path: &str, body: &str) -> Outcome<Response> {
        let length = body.len();
        self.send(&format!("POST {path} HTTP/1.1\r\nHost: any\r\nContent-Length: {length}\r\n\r\n{body}"))
            .await
    }

    /// A request with a body of `length` bytes of which none is sent: the answer to the head alone.
    pub async fn announce(&mut self, method: &str, path: &str, length: usize) -> Outcome<Response> {
        self.send(&format!("{method} {path} HTTP/1.1\r\nHost: any\r\nContent-Length: {length}\r\n\r\n")).await
    }

    /// Sends the first half of a POST of `body`, and returns the second for [`Connection::finish`].
    pub async fn begin_post<'b>(&mut self, path: &str, body: &'b str) -> Outcome<&'b str> {
        let (first, second) = body.split_at(body.len() / 2);
        let head = format!("POST {path} HTTP/1.1\r\nHost: any\r\nContent-Length: {}\r\n\r\n", body.len());
        self.write(&format!("{head}{first}")).await?;
        Ok(second)
    }

    /// Sends the rest of a request that was begun, and reads its answer.
    pub async fn finish(&mut self, rest: &str) -> Outcome<Response> {
        self.send(rest).await
    }

    async fn write(&mut self, bytes: &str) -> Outcome {
        self.stream.get_mut().write_all(bytes.as_bytes()).await?;
        Ok(self.stream.get_mut().flush().await?)
    }

    async fn send(&mut self, asked: &str) -> Outcome<Response> {
        let exchange = async {
            self.answered = false;
            self.write(asked).await?;
            self.answered = !self.stream.fill_buf().await?.is_empty();
            read_response(&mut self.stream).await
        };
        let answer = timeout(ANSWER_WITHIN, exchange).await;
        let Ok(answer) = answer else {
            self.answered = true;
            return Err(Failure::new(format!("no answer in {} s", ANSWER_WITHIN.as_secs())));
        };
        let mut response = answer?;
        response.certificate.clone_from(&self.certificate);
        Ok(response)
    }
}

/// One plain request on a connection of its own.
pub async fn get(address: SocketAddr, host: &str, path: &str) -> Outcome<Response> {
    Connection::open(address, None).await?.request("GET", host, path).await
}

/// One request over TLS, with `host` as server name, on a connection of its own.
pub async fn get_tls(address: SocketAddr, host: &str, path: &str) -> Outcome<Response> {
    Connection::open(address, Some(host)).await?.request("GET", host, path).await
}

async fn read_response(stream: &mut BufReader<Box<dyn Stream>>) -> Outcome<Response> {
    let status = line(stream).await?;
    let status = status.split(' ').nth(1).and_then(|code| code.parse().ok());
    let status = status.ok_or_else(|| Failure::new("the answer is not HTTP"))?;
    let (mut length, mut chunked, mut closes, mut headers) = (None, false, false, Vec::new());
    loop {
        let header = line(stream).await?.to_ascii_lowercase();
        let header = header.split_once(':').map(|(name, value)| (name, value.trim()));
        headers.extend(header.map(|(name, value)| (name.to_owned(), value.to_owned())));
        match header {
            None => break,
            Some(("content-length", value)) => length = Some(value.parse::<u64>()?),
            Some(("transfer-encoding", "chunked")) => chunked = true,
            Some(("connection", "close")) => closes = true,
            Some(_) => {}
        }
    }
    let mut body = Vec::new();
    match length {
        _ if chunked => read_chunks(stream, &mut body).await?,
        Some(length) => {
            stream.take(length).read_to_end(&mut body).await?;
            ensure(body.len() as u64 == length, "the answer was cut off")?;
        }
        None if matches!(status, 204 | 304) => {}
        None => {
            closes = true;
            stream.read_to_end(&mut body).await?;
        }
    }
    let body = String::from_utf8_lossy(&body).into_owned();
    Ok(Response { status, body, certificate: None, headers, closes })
}

async fn read_chunks(stream: &mut BufReader<Box<dyn Stream>>, body: &mut Vec<u8>) -> Outcome {
    loop {
        let size = u64::from_str_radix(&line(stream).await?, 16)?;
        stream.take(size).read_to_end(body).await?;
        line(stream).await?;
        if size == 0 {
            return Ok(());
        }
    }
}

/// One line without its end.
pub(crate) async fn line(stream: &mut (impl AsyncBufRead + Unpin)) -> Outcome<String> {
    let mut line = String::new();
    stream.read_line(&mut line).await?;
    ensure(line.ends_with('\n'), "the connection was closed")?;
    Ok(line.trim_end().to_owned())
}

fn too_late(address: SocketAddr) -> Failure {
    Failure::new(format!("no connection to {address} in {} s", ANSWER_WITHIN.as_secs()))
}

/// A client's side of TLS that takes any certificate.
pub fn client_config() -> Outcome<ClientConfig> {
    client_config_with(ring::default_provider().cipher_suites)
}

/// The same for a client that knows only these cipher suites.
pub fn client_config_with(cipher_suites: Vec<SupportedCipherSuite>) -> Outcome<ClientConfig> {
    Ok(believer(cipher_suites)?.with_no_client_auth())
}

/// The same for a client that has this certificate.
pub fn client_config_of(client: &Certificate) -> Outcome<ClientConfig> {
    let chain = vec![CertificateDer::from(client.der.clone())];
    let key = PrivateKeyDer::from_pem_slice(client.key.as_bytes())?;
    Ok(believer(ring::default_provider().cipher_suites)?.with_client_auth_cert(chain, key)?)
}

/// The same over this version of TLS.
pub fn client_config_over(
    client: &Certificate,
    version: &'static SupportedProtocolVersion,
) -> Outcome<ClientConfig> {
    let chain = vec![CertificateDer::from(client.der.clone())];
    let key = PrivateKeyDer::from_pem_slice(client.key.as_bytes())?;
    let suites = ring::default_provider().cipher_suites;
    Ok(believer_over(suites, &[version])?.with_client_auth_cert(chain, key)?)
}

fn believer(
    cipher_suites: Vec<SupportedCipherSuite>,
) -> Outcome<ConfigBuilder<ClientConfig, WantsClientCert>> {
    believer_over(cipher_suites, DEFAULT_VERSIONS)
}

fn believer_over(
    cipher_suites: Vec<SupportedCipherSuite>,
    versions: &[&'static SupportedProtocolVersion],
) -> Outcome<ConfigBuilder<ClientConfig, WantsClientCert>> {
    let provider = Arc::new(CryptoProvider { cipher_suites, ..ring::default_provider() });
    let anyone = Arc::new(AnyCertificate::new(Arc::clone(&provider)));
    let builder = ClientConfig::builder_with_provider(provider).with_protocol_versions(versions)?;
    Ok(builder.dangerous().with_custom_certificate_verifier(anyone))
}
