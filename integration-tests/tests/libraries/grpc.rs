//! gRPC with tonic's client: one message, messages both ways at a time, trailers; and a limit of bodies around it.

use crate::{
    SERIES,
    around::service,
    gateway, on_each_haproxy,
    options::both,
    site::{Scheme, Site},
};
use base64::{Engine, engine::general_purpose::STANDARD as BASE64};
use bytes::Bytes;
use futures::{StreamExt, future::ready, stream};
use h2::{RecvStream, server::SendResponse};
use http::{HeaderMap, HeaderValue, Response, uri::PathAndQuery};
use integration_tests::certificate::Authority;
use serde_json::{Value, json};
use std::{cell::RefCell, time::Duration};
use tokio::{
    net::{TcpListener, TcpStream},
    runtime::Runtime,
    sync::mpsc,
    task::JoinSet,
};
use tokio_stream::wrappers::ReceiverStream;
use tonic::{
    Request, Status,
    client::Grpc,
    transport::{Certificate, Channel, ClientTlsConfig, Endpoint},
};
use tonic_prost::ProstCodec;

const HOST: &str = "a.example";
/// A service's methods are below its name.
const PATH: &str = "/on.Echo";
const LIMIT: usize = 100_000;
const PATIENCE: Duration = Duration::from_secs(20);

/// A message, as `google.protobuf.BytesValue`.
type Message = Vec<u8>;

/// A server that sends each message back as it comes.
struct Echo {
    port: u16,
    /// Whether the end of each call's messages came, in the order in which they ended.
    ended: mpsc::UnboundedReceiver<bool>,
    _serving: JoinSet<()>,
}

impl Echo {
    async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (port, (tell, ended)) = (listener.local_addr().unwrap().port(), mpsc::unbounded_channel());
        let mut serving = JoinSet::new();
        serving.spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                connections.spawn(serve(stream, tell.clone()));
            }
        });
        Self { port, ended, _serving: serving }
    }

    /// Whether the end came of the call that ends next.
    async fn gets_the_end(&mut self) -> bool {
        self.ended.recv().await.unwrap()
    }
}

async fn serve(stream: TcpStream, tell: mpsc::UnboundedSender<bool>) {
    let mut connection = h2::server::handshake(stream).await.unwrap();
    let mut calls = JoinSet::new();
    while let Some(Ok((request, respond))) = connection.accept().await {
        let tell = tell.clone();
        // Servers of gRPC refuse who cannot read trailers.
        let is_grpc = request.headers().get("te").is_some_and(|te| te == "trailers");
        calls.spawn(async move { tell.send(echo(request.into_body(), respond).await.is_ok() && is_grpc) });
    }
}

async fn echo(mut body: RecvStream, mut respond: SendResponse<Bytes>) -> Result<(), h2::Error> {
    let head = Response::builder().header("content-type", "application/grpc").body(()).unwrap();
    let mut answer = respond.send_response(head, false)?;
    while let Some(chunk) = body.data().await {
        let chunk = chunk?;
        body.flow_control().release_capacity(chunk.len())?;
        answer.send_data(chunk, false)?;
    }
    let status = [("grpc-status", "0"), ("x-trailer", "came")];
    let trailers = status.map(|(name, value)| (name.parse().unwrap(), HeaderValue::from_static(value)));
    answer.send_trailers(HeaderMap::from_iter(trailers))
}

fn manifests(port: u16, authority: &Authority, options: &[(&str, &str)]) -> Vec<Value> {
    let mut manifests = both(options);
    manifests[0]["spec"]["rules"][0]["http"]["paths"][0] = json!({
        "path": PATH, "pathType": "Prefix", "backend": {"service": {"name": "grpc", "port": {"number": 80}}},
    });
    manifests.extend(service("grpc", "IPv4", port, &["127.0.0.1"]));
    let own = authority.sign(&[HOST.to_owned()]).unwrap();
    manifests.push(json!({"kind": "Secret", "metadata": {"namespace": "shop", "name": "a-tls"},
        "data": {"tls.crt": BASE64.encode(own.pem), "tls.key": BASE64.encode(own.key)}}));
    manifests
}

#[test]
fn calls_of_one_message_are_copied() {
    let runtime = Runtime::new().unwrap();
    let (server, mut mirror) = (runtime.block_on(Echo::start()), runtime.block_on(Echo::start()));
    let copied =
        json!({"type": "RequestMirror", "requestMirror": {"backendRef": {"name": "mirror", "port": 80}}});
    let rules = json!([{"filters": [copied], "backendRefs": [{"name": "grpc", "port": 80}]}]);
    let mut route = gateway::route("r", &[], rules);
    route["kind"] = "GRPCRoute".into();
    let mut all = gateway::around();
    all.extend([gateway::gateway("gw", json!([gateway::listener("http", None)])), route]);
    all.extend(service("grpc", "IPv4", server.port, &["127.0.0.1"]));
    all.extend(service("mirror", "IPv4", mirror.port, &["127.0.0.1"]));
    for series in SERIES {
        let site = gateway::GatewaySite::start(series, &all);
        let asked = async {
            let endpoint: Endpoint = format!("http://{}", site.address(80)).parse().unwrap();
            let mut client = Grpc::new(endpoint.connect().await.unwrap());
            client.ready().await.unwrap();
            let codec = ProstCodec::<Message, Message>::default();
            let answer = client.unary(Request::new(vec![b'a'; 5_000]), method("One"), codec).await.unwrap();
            assert_eq!(answer.into_inner().len(), 5_000);
            tokio::time::timeout(PATIENCE, mirror.gets_the_end()).await.expect("there is a copy")
        };
        assert!(runtime.block_on(asked), "{series:?}");
    }
}

async fn client(site: &Site, scheme: Scheme, authority: &Authority) -> Grpc<Channel> {
    let (address, secure) = (site.address(scheme), matches!(scheme, Scheme::Https));
    let name = if secure { "https" } else { "http" };
    let endpoint: Endpoint = format!("{name}://{address}").parse().unwrap();
    let mut endpoint = endpoint.origin(format!("{name}://{HOST}").parse().unwrap());
    if secure {
        let trusted = ClientTlsConfig::new().ca_certificate(Certificate::from_pem(&authority.pem));
        endpoint = endpoint.tls_config(trusted.domain_name(HOST)).unwrap();
    }
    Grpc::new(endpoint.connect().await.unwrap())
}

fn method(name: &str) -> PathAndQuery {
    format!("{PATH}/{name}").parse().unwrap()
}

/// Sends `count` messages of `size` bytes, each once the one before has come back; how many came back, and how the call ended.
async fn converse(client: &mut Grpc<Channel>, count: usize, size: usize) -> (usize, Result<bool, Status>) {
    let (next, messages) = mpsc::channel::<Message>(1);
    next.send(vec![b'a'; size]).await.unwrap();
    client.ready().await.unwrap();
    let codec = ProstCodec::<Message, Message>::default();
    let called = client.streaming(Request::new(ReceiverStream::new(messages)), method("Chat"), codec).await;
    let mut answers = match called {
        Ok(answers) => answers.into_inner(),
        Err(status) => return (0, Err(status)),
    };
    let (mut next, mut came) = (Some(next), 0);
    loop {
        match answers.message().await {
            Ok(Some(message)) => {
                assert_eq!(message.len(), size);
                came += 1;
                if came == count {
                    next = None;
                } else if let Some(next) = &next {
                    // The call may have ended.
                    drop(next.send(message).await);
                }
            }
            Ok(None) => {
                let trailers = answers.trailers().await.unwrap().unwrap();
                return (came, Ok(trailers.get("x-trailer").is_some()));
            }
            Err(status) => return (came, Err(status)),
        }
    }
}

fn each_way(options: &[(&str, &str)], check: impl AsyncFn(Grpc<Channel>, &mut Echo)) {
    let runtime = Runtime::new().unwrap();
    let (echo, authority) = (runtime.block_on(Echo::start()), Authority::new("any").unwrap());
    let (manifests, echo) = (manifests(echo.port, &authority, options), RefCell::new(echo));
    on_each_haproxy(&manifests, |site| {
        for scheme in [Scheme::Http, Scheme::Https] {
            let client = runtime.block_on(client(site, scheme, &authority));
            runtime.block_on(check(client, &mut echo.borrow_mut()));
        }
    });
}

#[test]
fn messages_go_both_ways_and_trailers_come() {
    each_way(&[("protocol", "h2")], async |mut client, echo| {
        client.ready().await.unwrap();
        let codec = ProstCodec::<Message, Message>::default();
        let one = stream::once(ready(vec![b'a'; 1_000_000]));
        let answer = client.client_streaming(Request::new(one), method("One"), codec).await.unwrap();
        assert_eq!(answer.into_inner().len(), 1_000_000);
        let (came, ended) = converse(&mut client, 50, 10_000).await;
        assert!(came == 50 && matches!(ended, Ok(true)), "{came}, {ended:?}");
        assert!(echo.gets_the_end().await && echo.gets_the_end().await);
        // A method of nobody is no message of a server's.
        client.ready().await.unwrap();
        let codec = ProstCodec::<Message, Message>::default();
        let nobody = Request::new(stream::once(ready(Vec::new())).boxed());
        let refused = client.client_streaming(nobody, "/of.Nobody/Call".parse().unwrap(), codec).await;
        let refused = refused.unwrap_err();
        assert!(refused.message().contains("404"), "{refused:?}");
    });
}

#[test]
fn a_limit_of_bodies_counts_messages_as_they_stream() {
    each_way(&[("protocol", "h2"), ("max-body-size", "100000")], async |mut client, echo| {
        let (came, ended) = converse(&mut client, 9, LIMIT / 10).await;
        assert!(
            came == 9 && matches!(ended, Ok(true)),
            "within the limit nothing is different: {came}, {ended:?}"
        );
        assert!(echo.gets_the_end().await);
        let (came, ended) = converse(&mut client, 30, LIMIT / 10).await;
        assert!(came < 10 && ended.is_err(), "{came} came back, and {ended:?}");
        assert!(!echo.gets_the_end().await, "the server never gets the end");
    });
}
