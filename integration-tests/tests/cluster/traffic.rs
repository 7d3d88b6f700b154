//! Steady traffic from outside the cluster, in five kinds, at a rate that does not follow the answers: a request that is due
//! is sent, whatever became of those before it.

use integration_tests::{
    Failure, Outcome, ensure,
    http::{self, Connection},
};
use serde::Serialize;
use std::{
    net::SocketAddr,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};
use tokio::{
    net::TcpStream,
    sync::watch,
    task::JoinSet,
    time::{Interval, MissedTickBehavior, interval},
};
use tokio_rustls::TlsConnector;
use tokio_tungstenite::tungstenite::{Message, client::IntoClientRequest as _};

/// Of kept connections, each at a tenth of their rate.
const KEPT: u32 = 10;

/// How a request travels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// On a connection of its own.
    New,
    /// On a connection that is kept.
    Kept,
    /// On a TLS connection of its own.
    Tls,
    /// A stream of one HTTP/2 connection.
    Http2,
    /// A message of one WebSocket, which comes back.
    WebSocket,
}

/// A request that was not answered as it should be.
#[derive(Clone, Debug, Serialize)]
pub struct Lost {
    /// Milliseconds since the traffic began.
    pub at_ms: u64,
    /// How it travelled.
    pub kind: Kind,
    /// What came instead.
    pub why: String,
}

/// How it went.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Tally {
    /// Requests sent.
    pub requests: u64,
    /// Those that were lost.
    pub lost: Vec<Lost>,
}

/// Clients at work, 176 requests a second.
pub struct Traffic {
    clients: JoinSet<()>,
    shared: Arc<Shared>,
    stop: watch::Sender<bool>,
}

struct Shared {
    address: [SocketAddr; 2],
    host: String,
    began: Instant,
    tally: Mutex<Tally>,
}

impl Traffic {
    /// Asks for `host` at `address`, HTTP and HTTPS, until it is finished; without a WebSocket where one would keep a pod
    /// from its end.
    pub fn start(address: [SocketAddr; 2], host: &str, with_web_socket: bool) -> Self {
        let (began, tally) = (Instant::now(), Mutex::default());
        let shared = Arc::new(Shared { address, host: host.to_owned(), began, tally });
        let (stop, stopped) = watch::channel(false);
        let mut clients = JoinSet::new();
        clients.spawn(each_alone(Kind::New, 100, shared.clone(), stopped.clone()));
        clients.spawn(each_alone(Kind::Tls, 20, shared.clone(), stopped.clone()));
        for _ in 0..KEPT {
            clients.spawn(one_after_another::<Option<Connection>>(
                Kind::Kept,
                50 / KEPT,
                shared.clone(),
                stopped.clone(),
            ));
        }
        clients.spawn(one_after_another::<Http2>(Kind::Http2, 5, shared.clone(), stopped.clone()));
        if with_web_socket {
            clients.spawn(one_after_another::<WebSocket>(Kind::WebSocket, 1, shared.clone(), stopped));
        }
        Self { clients, shared, stop }
    }

    /// Stops, waits for the last answers, and says how it went.
    pub async fn finish(mut self) -> Tally {
        self.stop.send_replace(true);
        while self.clients.join_next().await.is_some() {}
        std::mem::take(&mut self.shared.tally.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Shared {
    fn record(&self, kind: Kind, sent: Instant, outcome: Outcome) {
        let mut tally = self.tally.lock().unwrap_or_else(PoisonError::into_inner);
        tally.requests += 1;
        if let Err(failure) = outcome {
            let at_ms = sent.duration_since(self.began).as_millis().try_into().unwrap_or(u64::MAX);
            tally.lost.push(Lost { at_ms, kind, why: failure.sentence().to_owned() });
        }
    }
}

/// When requests are due, until it is stopped.
struct Due(Interval, watch::Receiver<bool>);

impl Due {
    fn new(rate: u32, stopped: watch::Receiver<bool>) -> Self {
        let mut ticks = interval(Duration::from_secs(1) / rate);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Burst);
        Self(ticks, stopped)
    }

    /// Whether there is another one; it waits until then.
    async fn is_next(&mut self) -> bool {
        tokio::select! {
            biased;
            _ = self.1.changed() => false,
            _ = self.0.tick() => true,
        }
    }
}

async fn each_alone(kind: Kind, rate: u32, shared: Arc<Shared>, stopped: watch::Receiver<bool>) {
    let (mut due, mut requests) = (Due::new(rate, stopped), JoinSet::new());
    while due.is_next().await {
        while requests.try_join_next().is_some() {}
        let shared = Arc::clone(&shared);
        requests.spawn(async move {
            let sent = Instant::now();
            let answer = match kind {
                Kind::Tls => http::get_tls(shared.address[1], &shared.host, "/").await,
                _ => http::get(shared.address[0], &shared.host, "/").await,
            };
            shared.record(kind, sent, answer.and_then(|answer| answer.has_status(200)));
        });
    }
    requests.join_all().await;
}

/// A client that keeps something between its requests.
trait Client: Default + Send {
    fn ask(&mut self, shared: &Shared) -> impl Future<Output = Outcome> + Send;
}

async fn one_after_another<C: Client>(
    kind: Kind,
    rate: u32,
    shared: Arc<Shared>,
    stopped: watch::Receiver<bool>,
) {
    let (mut due, mut client) = (Due::new(rate, stopped), C::default());
    while due.is_next().await {
        let sent = Instant::now();
        let outcome = client.ask(&shared).await;
        if outcome.is_err() {
            client = C::default();
        }
        shared.record(kind, sent, outcome);
    }
}

impl Client for Option<Connection> {
    /// A kept connection that the server closed while it was idle is replaced, as every HTTP client does.
    async fn ask(&mut self, shared: &Shared) -> Outcome {
        if let Some(connection) = self.as_mut() {
            match connection.request("GET", &shared.host, "/").await {
                Ok(answer) => {
                    if !answer.keeps_connection() {
                        *self = None;
                    }
                    return answer.has_status(200);
                }
                Err(_) if connection.was_closed_while_idle() => {}
                Err(failure) => return Err(failure),
            }
        }
        let mut connection = Connection::open(shared.address[0], None).await?;
        let answer = connection.request("GET", &shared.host, "/").await?;
        *self = answer.keeps_connection().then_some(connection);
        answer.has_status(200)
    }
}

/// One HTTP/2 connection, replaced when the server says that it goes away.
#[derive(Default)]
struct Http2(Option<h2::client::SendRequest<bytes::Bytes>>);

impl Client for Http2 {
    async fn ask(&mut self, shared: &Shared) -> Outcome {
        if let Some(sender) = self.0.take()
            && let Ok(ready) = sender.ready().await
        {
            match exchange(ready, shared).await {
                Ok(ready) => {
                    self.0 = Some(ready);
                    return Ok(());
                }
                // The server had not begun to answer: every client asks again.
                Err(error) if error.is_go_away() || error.is_io() => {}
                Err(error) => return Err(error.into()),
            }
        }
        let ready = connect(shared).await?.ready().await?;
        self.0 = Some(exchange(ready, shared).await?);
        Ok(())
    }
}

async fn connect(shared: &Shared) -> Outcome<h2::client::SendRequest<bytes::Bytes>> {
    let mut config = http::client_config()?;
    config.alpn_protocols = vec![b"h2".to_vec()];
    let tcp = TcpStream::connect(shared.address[1]).await?;
    let name = shared.host.clone().try_into()?;
    let tls = TlsConnector::from(Arc::new(config)).connect(name, tcp).await?;
    let (sender, connection) = h2::client::handshake(tls).await?;
    tokio::spawn(connection);
    Ok(sender)
}

async fn exchange(
    mut sender: h2::client::SendRequest<bytes::Bytes>,
    shared: &Shared,
) -> Result<h2::client::SendRequest<bytes::Bytes>, h2::Error> {
    let mut request = ::http::Request::new(());
    *request.uri_mut() = format!("https://{}/", shared.host).parse().unwrap_or_default();
    let (answer, _) = sender.send_request(request, true)?;
    let answer = answer.await?;
    let is_good = answer.status() == 200;
    let mut body = answer.into_body();
    while let Some(part) = body.data().await {
        let length = part?.len();
        body.flow_control().release_capacity(length)?;
    }
    if is_good { Ok(sender) } else { Err(h2::Reason::INTERNAL_ERROR.into()) }
}

/// One WebSocket. It ends with the pod that it goes to, and is opened again: that it cannot be opened is a loss.
#[derive(Default)]
struct WebSocket(Option<tokio_tungstenite::WebSocketStream<TcpStream>>);

impl Client for WebSocket {
    async fn ask(&mut self, shared: &Shared) -> Outcome {
        if let Some(socket) = self.0.as_mut()
            && echoes(socket).await.is_ok()
        {
            return Ok(());
        }
        let mut request = format!("ws://{}/ws", shared.host).into_client_request()?;
        // As a browser's. The backend takes none without it.
        request.headers_mut().insert("origin", format!("http://{}", shared.host).parse()?);
        let tcp = TcpStream::connect(shared.address[0]).await?;
        let opened = tokio_tungstenite::client_async(request, tcp);
        let (mut socket, _) = tokio::time::timeout(http::ANSWER_WITHIN, opened).await??;
        echoes(&mut socket).await?;
        self.0 = Some(socket);
        Ok(())
    }
}

async fn echoes(socket: &mut tokio_tungstenite::WebSocketStream<TcpStream>) -> Outcome {
    use futures::{SinkExt as _, StreamExt as _};
    let message = Message::text("hello");
    let echo = async {
        socket.send(message.clone()).await?;
        let answer = socket.next().await.ok_or_else(|| Failure::new("the WebSocket was closed"))??;
        ensure(answer.into_data() == message.into_data(), "another message came back")
    };
    tokio::time::timeout(http::ANSWER_WITHIN, echo).await?
}
