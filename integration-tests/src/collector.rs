//! An OpenTelemetry collector that keeps what it is sent: gRPC over HTTP/2, with the one method that traces need.

use crate::failure::{Failure, Outcome};
use bytes::{Bytes, BytesMut};
use h2::{RecvStream, server::SendResponse};
use http::{HeaderMap, HeaderValue, Response, StatusCode};
use opentelemetry_proto::tonic::{
    collector::trace::v1::ExportTraceServiceRequest,
    common::v1::{KeyValue, any_value::Value},
    trace::v1::Span,
};
use prost::Message;
use std::{
    net::{Ipv4Addr, SocketAddr},
    sync::{Arc, Mutex, PoisonError},
};
use tokio::{
    net::{TcpListener, TcpStream},
    task::JoinSet,
};

/// A message's first five bytes: whether it is compressed, and its length.
const PREFIX: usize = 5;

/// A running collector; it ends when it is dropped, with its connections.
pub struct Collector {
    /// Where it listens.
    pub address: SocketAddr,
    received: Arc<Mutex<Received>>,
    _serving: JoinSet<()>,
}

/// What it was sent.
#[derive(Clone, Debug, Default)]
pub struct Received {
    /// Names of services.
    pub services: Vec<String>,
    /// All spans.
    pub spans: Vec<Span>,
}

impl Collector {
    /// Starts one on a free port.
    pub async fn start() -> Outcome<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let (address, received) = (listener.local_addr()?, Arc::new(Mutex::new(Received::default())));
        let (mut serving, kept) = (JoinSet::new(), received.clone());
        serving.spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                connections.spawn(serve(stream, kept.clone()));
            }
        });
        Ok(Self { address, received, _serving: serving })
    }

    /// What it was sent so far.
    #[must_use]
    pub fn received(&self) -> Received {
        self.received.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// An attribute's value, as text.
#[must_use]
pub fn attribute(attributes: &[KeyValue], key: &str) -> Option<String> {
    let found = attributes.iter().find(|attribute| attribute.key == key)?;
    match found.value.as_ref()?.value.as_ref()? {
        Value::StringValue(text) => Some(text.clone()),
        Value::IntValue(number) => Some(number.to_string()),
        _ => None,
    }
}

async fn serve(stream: TcpStream, received: Arc<Mutex<Received>>) {
    let Ok(mut connection) = h2::server::handshake(stream).await else { return };
    let mut calls = JoinSet::new();
    while let Some(Ok((request, respond))) = connection.accept().await {
        let received = received.clone();
        // A call that cannot be read gets no answer: its sender counts that as a failure.
        calls.spawn(async move { drop(answer(request.into_body(), respond, &received).await) });
    }
}

async fn answer(
    mut body: RecvStream,
    mut respond: SendResponse<Bytes>,
    received: &Mutex<Received>,
) -> Outcome {
    let mut bytes = BytesMut::new();
    while let Some(chunk) = body.data().await {
        let chunk = chunk.map_err(failed)?;
        body.flow_control().release_capacity(chunk.len()).map_err(failed)?;
        bytes.extend_from_slice(&chunk);
    }
    let message = bytes.get(PREFIX..).ok_or_else(|| Failure::new("a message without its length"))?;
    let export = ExportTraceServiceRequest::decode(message).map_err(failed)?;
    {
        let mut received = received.lock().unwrap_or_else(PoisonError::into_inner);
        for resource in export.resource_spans {
            let attributes = resource.resource.map(|resource| resource.attributes).unwrap_or_default();
            received.services.extend(attribute(&attributes, "service.name"));
            received.spans.extend(resource.scope_spans.into_iter().flat_map(|scope| scope.spans));
        }
    }
    let head = Response::builder().status(StatusCode::OK).header("content-type", "application/grpc");
    let mut stream = respond.send_response(head.body(()).map_err(failed)?, false).map_err(failed)?;
    stream.send_data(Bytes::from_static(&[0; PREFIX]), false).map_err(failed)?;
    let trailers = HeaderMap::from_iter([(
        http::header::HeaderName::from_static("grpc-status"),
        HeaderValue::from_static("0"),
    )]);
    stream.send_trailers(trailers).map_err(failed)
}

fn failed(why: impl std::fmt::Display) -> Failure {
    Failure::new(why.to_string())
}
