//! HTTP calls to one pod, with awc: the newest credentials that work, one limit of time a call, errors in our words.

use super::{TransportError, error::Peer, tls};
use awc::{
    Client, ClientResponse, Connector,
    error::{ConnectError, PayloadError, SendRequestError},
    http::{
        Method, StatusCode,
        header::{self, HeaderMap},
    },
};
use base64::Engine;
use bytes::{Bytes, BytesMut};
use futures::{Stream, TryStreamExt};
use haptic_model::{ActiveConfig, HaproxyPod, config::Credentials, crd::Scheme};
use std::{cell::Cell, net::SocketAddr, sync::Arc, time::Duration};

/// Bytes of an answer, but for a bundle.
const LONGEST_ANSWER: usize = 64 << 20;
/// Making a connection inside a cluster.
const CONNECT_LIMIT: Duration = Duration::from_secs(2);
/// As much of an unexpected answer as a person needs.
const EXCERPT: usize = 200;

/// Whoever listens on one pod.
pub struct Caller {
    client: Client,
    base: String,
    peer: Peer,
    /// `IP:port`.
    pub address: String,
    /// `Authorization` values, the newest credentials first.
    authorizations: Vec<String>,
    /// The one that worked last.
    accepted: Cell<usize>,
}

/// What is called.
#[derive(Clone)]
pub struct PodCall<'a> {
    /// `GET` and the like.
    pub method: Method,
    /// For errors.
    pub path: &'static str,
    /// The whole path, with its query.
    pub target: &'a str,
    /// Of the body.
    pub content_type: Option<&'a str>,
    /// One more header.
    pub header: Option<(&'static str, &'a str)>,
    /// What is sent.
    pub body: Option<Bytes>,
    /// The whole exchange takes no longer.
    pub limit: Duration,
    /// No more bytes are read.
    pub longest_answer: usize,
}

/// What was answered.
pub struct PodReply {
    /// Its first line.
    pub status: StatusCode,
    headers: HeaderMap,
    /// Its content.
    pub body: Bytes,
}

impl<'a> PodCall<'a> {
    /// A call without a body.
    #[must_use]
    pub fn get(path: &'static str, limit: Duration) -> Self {
        let (method, target) = (Method::GET, path);
        let longest_answer = LONGEST_ANSWER;
        Self { method, path, target, content_type: None, header: None, body: None, limit, longest_answer }
    }

    /// A call with a body.
    #[must_use]
    pub fn post(path: &'static str, content_type: &'a str, body: Bytes, limit: Duration) -> Self {
        Self {
            method: Method::POST,
            content_type: Some(content_type),
            body: Some(body),
            ..Self::get(path, limit)
        }
    }
}

impl PodReply {
    /// A header as text.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// The beginning of the body.
    pub fn excerpt(&self) -> String {
        String::from_utf8_lossy(&self.body).trim().chars().take(EXCERPT).collect()
    }
}

impl Caller {
    /// `peer` on `pod`, as `config` says it is reached.
    ///
    /// # Errors
    /// [`TransportError::Setup`]: https without a usable `caBundle`.
    pub fn new(peer: Peer, pod: &HaproxyPod, config: &ActiveConfig) -> Result<Self, TransportError> {
        let dataplane = &config.spec.dataplane;
        let address = SocketAddr::new(pod.address, pod.port).to_string();
        let connector = Connector::new().timeout(CONNECT_LIMIT);
        let (scheme, connector) = match dataplane.scheme {
            Scheme::Http => ("http", connector),
            Scheme::Https => {
                let bundle = dataplane.ca_bundle.as_deref().ok_or_else(|| {
                    TransportError::Setup(
                        "dataplane.scheme is https: set dataplane.caBundle to the certificate that signs the pods' ones"
                            .to_owned(),
                    )
                })?;
                let tls = tls::client(bundle).map_err(TransportError::Setup)?;
                ("https", connector.rustls_0_23(Arc::new(tls)))
            }
        };
        Ok(Self {
            client: Client::builder().connector(connector).disable_timeout().disable_redirects().finish(),
            base: format!("{scheme}://{address}"),
            peer,
            address,
            authorizations: config.credentials.iter().map(basic).collect(),
            accepted: Cell::new(0),
        })
    }

    /// Calls with each of the known credentials until one is accepted, beginning with the one that worked last.
    pub async fn call(&self, call: PodCall<'_>) -> Result<PodReply, TransportError> {
        let known = self.authorizations.len();
        for attempt in 0..known {
            let index = (self.accepted.get() + attempt) % known;
            let Some(authorization) = self.authorizations.get(index) else { break };
            let reply = self.call_as(authorization, call.clone()).await?;
            if reply.status != StatusCode::UNAUTHORIZED {
                self.accepted.set(index);
                return Ok(reply);
            }
        }
        Err(TransportError::Unauthorised { peer: self.peer, address: self.address.clone() })
    }

    async fn call_as(&self, authorization: &str, call: PodCall<'_>) -> Result<PodReply, TransportError> {
        let PodCall { method, path, target, content_type, header, body, limit, longest_answer } = call;
        // awc's own limit, 5 s, is shorter than a reload may take: it is off, and ours counts.
        let mut request = self
            .client
            .request(method, format!("{}{target}", self.base))
            .insert_header((header::AUTHORIZATION, authorization));
        if let Some(kind) = content_type {
            request = request.insert_header((header::CONTENT_TYPE, kind));
        }
        if let Some(header) = header {
            request = request.insert_header(header);
        }
        let exchange = async {
            let sent = match body {
                Some(body) => request.send_body(body),
                None => request.send(),
            };
            let mut response = sent.await.map_err(|error| self.explain(path, &error))?.timeout(limit);
            let body =
                body_of(&mut response, longest_answer).await.map_err(|error| self.broken(path, &error))?;
            Ok(PodReply { status: response.status(), headers: response.headers().clone(), body })
        };
        match tokio::time::timeout(limit, exchange).await {
            Ok(reply) => reply,
            Err(_) => Err(TransportError::Timeout { address: self.address.clone(), call: path, limit }),
        }
    }

    fn explain(&self, call: &'static str, error: &SendRequestError) -> TransportError {
        let (peer, address) = (self.peer, self.address.clone());
        let unreachable =
            |cause: String| TransportError::Unreachable { peer, address: address.clone(), cause };
        match error {
            SendRequestError::Connect(ConnectError::Timeout) | SendRequestError::Timeout => {
                unreachable(format!("no answer within {CONNECT_LIMIT:?}"))
            }
            SendRequestError::Connect(ConnectError::Io(cause)) if is_tls(cause) => {
                TransportError::Tls { peer, address, cause: cause.to_string() }
            }
            SendRequestError::Connect(ConnectError::Io(cause)) => unreachable(cause.to_string()),
            SendRequestError::Connect(ConnectError::Disconnected) => {
                unreachable("it was closed before an answer came".to_owned())
            }
            SendRequestError::Connect(cause) => unreachable(cause.to_string()),
            SendRequestError::Response(cause) => match cut_off(cause) {
                Some(cause) => unreachable(cause),
                None => self.unexpected(call, format!("what is not HTTP ({cause})")),
            },
            other => self.broken(call, other),
        }
    }

    fn broken(&self, call: &'static str, cause: &dyn std::fmt::Display) -> TransportError {
        TransportError::Broken { address: self.address.clone(), call, cause: cause.to_string() }
    }

    /// What answered so is somebody else.
    pub fn unexpected(&self, call: &'static str, answer: String) -> TransportError {
        TransportError::Stranger { peer: self.peer, address: self.address.clone(), call, answer }
    }

    /// It could not do what was asked.
    pub fn failed(&self, call: &'static str, answer: String) -> TransportError {
        TransportError::Failed { peer: self.peer, address: self.address.clone(), call, answer }
    }
}

/// The body, in memory that need not grow: a bundle has megabytes, which would be there twice meanwhile.
async fn body_of<S>(response: &mut ClientResponse<S>, longest: usize) -> Result<Bytes, PayloadError>
where
    S: Stream<Item = Result<Bytes, PayloadError>> + Unpin,
{
    let length = response.headers().get(header::CONTENT_LENGTH).and_then(|value| value.to_str().ok());
    let length: Option<usize> = length.and_then(|length| length.parse().ok());
    let mut body = BytesMut::with_capacity(length.unwrap_or_default().min(longest));
    while let Some(chunk) = response.try_next().await? {
        if body.len() + chunk.len() > longest {
            return Err(PayloadError::Overflow);
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body.freeze())
}

/// rustls hands its errors over inside those of the connection.
fn is_tls(error: &std::io::Error) -> bool {
    error.get_ref().is_some_and(|inner| inner.is::<rustls::Error>())
}

/// Why a connection ended before an answer came, if that is what happened.
fn cut_off(error: &dyn std::error::Error) -> Option<String> {
    error.source()?.downcast_ref::<std::io::Error>().map(ToString::to_string)
}

fn basic(credentials: &Credentials) -> String {
    let pair = format!("{}:{}", credentials.username, credentials.password.reveal());
    format!("Basic {}", base64::engine::general_purpose::STANDARD.encode(pair))
}
