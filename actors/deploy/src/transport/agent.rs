//! The agent's HTTP interface, spoken with awc. Routes and bodies: [`haptic_model::agent_api`].

use super::{Answer, Transport, TransportError, tls};
use awc::{
    Client, ClientRequest, Connector,
    error::{ConnectError, SendRequestError},
    http::{Method, StatusCode, header},
};
use base64::Engine;
use bytes::Bytes;
use futures::FutureExt;
use haptic_model::{
    ActiveConfig, Content, HaproxyPod,
    agent_api::{Apply, Incarnation, Outcome, RunningBundle, Runtime, Status},
    crd::Scheme,
    secret::Credentials,
};
use haptic_runtime::cpu;
use serde::de::DeserializeOwned;
use std::{cell::Cell, net::SocketAddr, sync::Arc, time::Duration};

/// The largest answer read: a running bundle of a large configuration.
const BODY_LIMIT: usize = 64 * 1024 * 1024;
/// Making a connection inside a cluster.
const CONNECT_LIMIT: Duration = Duration::from_secs(2);
/// An agent answers its status from memory and one socket command.
const STATUS_LIMIT: Duration = Duration::from_secs(5);
/// An agent keeps a question for its next incarnation waiting for less.
const WAIT_LIMIT: Duration = Duration::from_secs(40);
/// Orders up to so many bytes are written on the arbiter's thread: that takes less than handing them over.
const WRITTEN_AT_ONCE: usize = 64 << 10;
/// As much of an unexpected answer as a person needs.
const EXCERPT: usize = 200;

/// One agent.
pub struct AgentTransport {
    client: Client,
    base: String,
    address: String,
    /// `Authorization` values, the newest credentials first.
    authorizations: Vec<String>,
    /// The one that worked last.
    accepted: Cell<usize>,
    apply_limit: Duration,
}

struct Reply {
    status: StatusCode,
    body: Bytes,
}

/// What is called; with a body it is a POST.
#[derive(Clone, Copy)]
struct Call<'a> {
    path: &'static str,
    query: &'a str,
    limit: Duration,
}

impl AgentTransport {
    /// The agent on `pod`, as `config` says it is reached.
    ///
    /// # Errors
    /// [`TransportError::Setup`]: https without a usable `caBundle`.
    pub fn new(pod: &HaproxyPod, config: &ActiveConfig) -> Result<Self, TransportError> {
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
            address,
            authorizations: config.credentials.iter().map(basic).collect(),
            accepted: Cell::new(0),
            apply_limit: dataplane.deployment_timeout.or(Duration::from_secs(30)),
        })
    }

    /// Calls with each of the known credentials until one is accepted, beginning with the one that worked last.
    async fn call(&self, call: Call<'_>, body: Option<Bytes>) -> Result<Reply, TransportError> {
        let known = self.authorizations.len();
        for attempt in 0..known {
            let index = (self.accepted.get() + attempt) % known;
            let Some(authorization) = self.authorizations.get(index) else { break };
            let reply = self.call_as(authorization, call, body.clone()).await?;
            if reply.status != StatusCode::UNAUTHORIZED {
                self.accepted.set(index);
                return Ok(reply);
            }
        }
        Err(TransportError::Unauthorised { address: self.address.clone() })
    }

    async fn call_as(
        &self,
        authorization: &str,
        call: Call<'_>,
        body: Option<Bytes>,
    ) -> Result<Reply, TransportError> {
        let Call { path, limit, .. } = call;
        let exchange = async {
            let sent = match body {
                Some(body) => self
                    .request(authorization, Method::POST, call)
                    .insert_header((header::CONTENT_TYPE, "application/json"))
                    .send_body(body),
                None => self.request(authorization, Method::GET, call).send(),
            };
            let mut response = sent.await.map_err(|error| self.explain(path, &error))?.timeout(limit);
            let body = response.body().limit(BODY_LIMIT).await.map_err(|error| self.broken(path, &error))?;
            Ok(Reply { status: response.status(), body })
        };
        match tokio::time::timeout(limit, exchange).await {
            Ok(reply) => reply,
            Err(_) => Err(TransportError::Timeout { address: self.address.clone(), call: path, limit }),
        }
    }

    // awc's own limit, 5 s, is shorter than a reload may take: it is off, and ours counts.
    fn request(&self, authorization: &str, method: Method, call: Call<'_>) -> ClientRequest {
        self.client
            .request(method, format!("{}{}{}", self.base, call.path, call.query))
            .insert_header((header::AUTHORIZATION, authorization))
    }

    fn explain(&self, call: &'static str, error: &SendRequestError) -> TransportError {
        let address = self.address.clone();
        match error {
            SendRequestError::Connect(ConnectError::Timeout) | SendRequestError::Timeout => {
                TransportError::Unreachable { address, cause: format!("no answer within {CONNECT_LIMIT:?}") }
            }
            SendRequestError::Connect(ConnectError::Io(cause)) if is_tls(cause) => {
                TransportError::Tls { address, cause: cause.to_string() }
            }
            SendRequestError::Connect(ConnectError::Io(cause)) => {
                TransportError::Unreachable { address, cause: cause.to_string() }
            }
            SendRequestError::Connect(cause) => {
                TransportError::Unreachable { address, cause: cause.to_string() }
            }
            SendRequestError::Response(cause) => {
                TransportError::NotAnAgent { address, call, answer: format!("what is not HTTP ({cause})") }
            }
            other => self.broken(call, other),
        }
    }

    fn broken(&self, call: &'static str, cause: &dyn std::fmt::Display) -> TransportError {
        TransportError::Broken { address: self.address.clone(), call, cause: cause.to_string() }
    }

    fn get<'a, T: DeserializeOwned + 'a>(&'a self, call: Call<'a>) -> Answer<'a, T> {
        async move {
            let reply = self.call(call, None).await?;
            self.read(call.path, &reply)
        }
        .boxed_local()
    }

    /// The body as `T`. An outcome may come with any status: the body says what happened.
    fn read<T: DeserializeOwned>(&self, call: &'static str, reply: &Reply) -> Result<T, TransportError> {
        let error = match serde_json::from_slice(&reply.body) {
            Ok(value) => return Ok(value),
            Err(error) => error,
        };
        let text = String::from_utf8_lossy(&reply.body);
        let excerpt: String = text.trim().chars().take(EXCERPT).collect();
        let address = self.address.clone();
        // What an agent says when it fails is a sentence; a success that is not JSON is not an agent's.
        Err(if reply.status.is_success() {
            TransportError::NotAnAgent {
                address,
                call,
                answer: format!("{} {excerpt:?} ({error})", reply.status),
            }
        } else if reply.status == StatusCode::NOT_FOUND {
            TransportError::NotAnAgent { address, call, answer: format!("{} {excerpt:?}", reply.status) }
        } else {
            TransportError::Failed { address, call, answer: format!("{}: {excerpt}", reply.status) }
        })
    }
}

impl Transport for AgentTransport {
    fn status(&self) -> Answer<'_, Status> {
        self.get(Call { path: "/v1/status", query: "", limit: STATUS_LIMIT })
    }

    fn running_bundle(&self) -> Answer<'_, RunningBundle> {
        self.get(Call { path: "/v1/bundle", query: "", limit: self.apply_limit })
    }

    fn runtime(&self) -> Answer<'_, Runtime> {
        self.get(Call { path: "/v1/runtime", query: "", limit: self.apply_limit })
    }

    fn incarnation(&self, not: u64) -> Answer<'_, u64> {
        async move {
            let query = format!("?not={not}");
            let call = Call { path: "/v1/incarnation", query: &query, limit: WAIT_LIMIT };
            self.get::<Incarnation>(call).await.map(|now| now.incarnation)
        }
        .boxed_local()
    }

    fn apply(&self, order: Arc<Apply>) -> Answer<'_, Outcome> {
        async move {
            let body = if sent(&order) > WRITTEN_AT_ONCE {
                let written = cpu("deploy", move || serde_json::to_vec(&*order)).await;
                written.map_err(|error| TransportError::Setup(error.to_string()))?
            } else {
                serde_json::to_vec(&*order)
            };
            let body = body.map_err(|error| {
                TransportError::Setup(format!("the order cannot be written as JSON: {error}"))
            })?;
            let call = Call { path: "/v1/apply", query: "", limit: self.apply_limit };
            let reply = self.call(call, Some(body.into())).await?;
            self.read("/v1/apply", &reply)
        }
        .boxed_local()
    }
}

/// About how many bytes the order has.
fn sent(order: &Apply) -> usize {
    const EACH: usize = 128;
    order.files.len() * EACH + order.contents.values().map(Content::sent).sum::<usize>()
}

/// rustls hands its errors over inside those of the connection.
fn is_tls(error: &std::io::Error) -> bool {
    error.get_ref().is_some_and(|inner| inner.is::<rustls::Error>())
}

fn basic(credentials: &Credentials) -> String {
    let pair = format!("{}:{}", credentials.username, credentials.password.reveal());
    format!("Basic {}", base64::engine::general_purpose::STANDARD.encode(pair))
}
