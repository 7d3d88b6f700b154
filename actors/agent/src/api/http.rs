//! The agent over HTTP: a thin layer on [`AgentHandle`].
//!
//! `GET /v1/status`, `GET /v1/incarnation`, `GET /v1/runtime`, `GET /v1/bundle` and `POST /v1/apply` need Basic
//! credentials; `/healthz`, `/readyz` and `/metrics` do not and tell nothing that is secret.

use crate::{api::credentials::Authenticator, api::handle::AgentHandle, options::AgentError};
use actix_web::{
    App, HttpRequest, HttpResponse, HttpServer, ResponseError,
    body::MessageBody,
    dev::{ServerHandle, ServiceRequest, ServiceResponse},
    error::PayloadError,
    http::header::{self, ContentType},
    middleware::{Next, from_fn},
    web::{self, Data},
};
use futures::TryStreamExt;
use haptic_model::agent_api::{self, Apply, LARGEST_BODY, RunningBundle};
use serde::Deserialize;
use std::{net::SocketAddr, sync::Arc, time::Duration};
use tokio::task::JoinHandle;
use tokio_util::task::TaskTracker;

/// How long requests under way may take to be answered once the agent ends. None of them changes anything any more.
const ANSWERING: Duration = Duration::from_millis(500);

/// What the caller knows already.
#[derive(Deserialize)]
struct IncarnationQuery {
    not: u64,
}

/// The HTTP server of an agent. Dropped, it stops at once.
#[derive(Debug)]
pub(crate) struct ListeningServer {
    address: SocketAddr,
    handle: ServerHandle,
    task: Option<JoinHandle<()>>,
    /// The requests that are not answered yet.
    under_way: TaskTracker,
}

impl ListeningServer {
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Ends it; with `graceful`, requests under way have [`ANSWERING`] first. Connections without a request are not waited
    /// for: a controller keeps some open.
    pub(crate) async fn stop(mut self, graceful: bool) {
        if graceful {
            self.under_way.close();
            let _unanswered = tokio::time::timeout(ANSWERING, self.under_way.wait()).await;
        }
        self.handle.stop(false).await;
        if let Some(task) = self.task.take() {
            drop(task.await);
        }
    }
}

impl Drop for ListeningServer {
    fn drop(&mut self) {
        // The order to stop is given by the call; what it returns only waits.
        drop(self.handle.stop(false));
    }
}

/// Serves `agent` at `address`.
pub(crate) fn serve(
    agent: AgentHandle,
    address: SocketAddr,
    authenticator: Authenticator,
    tls: Option<rustls::ServerConfig>,
) -> Result<ListeningServer, AgentError> {
    let refused = |problem| AgentError::Listen { address, problem };
    let (agent, authenticator) = (Data::new(agent), Data::from(Arc::new(authenticator)));
    let under_way = TaskTracker::new();
    let counter = under_way.clone();
    let server = HttpServer::new(move || {
        let counter = counter.clone();
        App::new()
            .wrap(from_fn(move |request, next| count(counter.clone(), request, next)))
            .app_data(agent.clone())
            .app_data(authenticator.clone())
            .service(web::resource("/healthz").get(healthz))
            .service(web::resource("/readyz").get(readyz))
            .service(web::resource("/metrics").get(metrics))
            .service(
                web::scope("/v1")
                    .wrap(from_fn(authenticate))
                    .service(web::resource("/status").get(status))
                    .service(web::resource("/incarnation").get(incarnation))
                    .service(web::resource("/runtime").get(runtime))
                    .service(web::resource("/bundle").get(bundle))
                    .service(web::resource("/apply").post(apply)),
            )
    })
    .workers(1)
    .disable_signals();
    let bound = match tls {
        Some(config) => server.bind_rustls_0_23(address, config),
        None => server.bind(address),
    };
    let bound = bound.map_err(refused)?;
    let address = bound.addrs().first().copied().unwrap_or(address);
    let running = bound.run();
    let handle = running.handle();
    let task = tokio::spawn(async move {
        if let Err(error) = running.await {
            tracing::error!(%error, "the agent's HTTP server failed");
        }
    });
    Ok(ListeningServer { address, handle, task: Some(task), under_way })
}

async fn count(
    under_way: TaskTracker,
    request: ServiceRequest,
    next: Next<impl MessageBody>,
) -> Result<ServiceResponse<impl MessageBody>, actix_web::Error> {
    let _counted = under_way.token();
    next.call(request).await
}

/// Lets only callers with the credentials pass, before their body is read.
async fn authenticate(
    request: ServiceRequest,
    next: Next<impl MessageBody + 'static>,
) -> Result<ServiceResponse<impl MessageBody>, actix_web::Error> {
    let header = request.headers().get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
    let admitted =
        request.app_data::<Data<Authenticator>>().is_some_and(|authenticator| authenticator.accepts(header));
    if admitted {
        return next.call(request).await.map(ServiceResponse::map_into_left_body);
    }
    let answer = HttpResponse::Unauthorized()
        .insert_header((header::WWW_AUTHENTICATE, "Basic realm=\"haptic-agent\""))
        .json(error_json("wrong or no credentials"));
    Ok(request.into_response(answer).map_into_right_body())
}

async fn healthz() -> &'static str {
    "ok\n"
}

async fn readyz(agent: Data<AgentHandle>) -> HttpResponse {
    if agent.ready().await {
        return HttpResponse::Ok().body("ok\n");
    }
    HttpResponse::ServiceUnavailable().body("HAProxy does not run a controller's bundle\n")
}

async fn metrics(agent: Data<AgentHandle>) -> HttpResponse {
    HttpResponse::Ok().content_type("text/plain; version=0.0.4").body(agent.metrics().await)
}

async fn status(agent: Data<AgentHandle>) -> HttpResponse {
    HttpResponse::Ok().json(agent.status().await)
}

async fn incarnation(agent: Data<AgentHandle>, seen: web::Query<IncarnationQuery>) -> HttpResponse {
    HttpResponse::Ok().json(agent.incarnation(seen.not).await)
}

async fn runtime(agent: Data<AgentHandle>) -> HttpResponse {
    match agent.runtime().await {
        Ok(runtime) => HttpResponse::Ok().json(runtime),
        Err(error) => HttpResponse::InternalServerError().json(error_json(&error.to_string())),
    }
}

async fn bundle(agent: Data<AgentHandle>) -> HttpResponse {
    match agent.bundle().await {
        Ok(bundle) => match agent_api::written(&bundle, bytes_of(&bundle)) {
            Ok(json) => HttpResponse::Ok().content_type(ContentType::json()).body(json),
            Err(error) => HttpResponse::InternalServerError().json(error_json(&error.to_string())),
        },
        Err(error) => HttpResponse::InternalServerError().json(error_json(&error.to_string())),
    }
}

/// About how many bytes the bundle has.
fn bytes_of(bundle: &RunningBundle) -> usize {
    bundle.files.iter().map(|(path, content)| path.len() + content.len()).sum()
}

async fn apply(agent: Data<AgentHandle>, request: HttpRequest, payload: web::Payload) -> HttpResponse {
    let body = match body_of(&request, payload).await {
        Ok(body) => body,
        Err(error) => return error.error_response(),
    };
    match serde_json::from_slice::<Apply>(&body) {
        Ok(order) => {
            drop(body);
            HttpResponse::Ok().json(agent.apply(order).await)
        }
        Err(error) => {
            HttpResponse::BadRequest().json(error_json(&format!("this is not an apply order: {error}")))
        }
    }
}

/// The whole body, in memory that need not grow: an order may have megabytes, which would be there twice meanwhile.
async fn body_of(request: &HttpRequest, mut payload: web::Payload) -> Result<Vec<u8>, PayloadError> {
    let length = request.headers().get(header::CONTENT_LENGTH).and_then(|value| value.to_str().ok());
    let length: usize = length.and_then(|length| length.parse().ok()).unwrap_or_default();
    if length > LARGEST_BODY {
        return Err(PayloadError::Overflow);
    }
    let mut body = Vec::with_capacity(length);
    while let Some(chunk) = payload.try_next().await? {
        if body.len() + chunk.len() > LARGEST_BODY {
            return Err(PayloadError::Overflow);
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body)
}

fn error_json(error: &str) -> serde_json::Value {
    serde_json::json!({ "error": error })
}
