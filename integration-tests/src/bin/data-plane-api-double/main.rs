//! A small double of HAProxy's Data Plane API, for tests: it answers what the real one was recorded to answer and drives a real
//! HAProxy. It reads the same file of settings and takes the same arguments, so that the real one can take its place.
//!
//! What it does not do is what HAPTIC does not ask for. The real one's silent ways are part of it on purpose.
#![allow(clippy::indexing_slicing, reason = "a missing field of a JSON value reads as null")]

mod configuration;
mod haproxy;
mod reloads;
mod runtime;
mod settings;
mod state;
mod storage;

use actix_web::{
    App, HttpRequest, HttpResponse, HttpServer,
    body::{BoxBody, MessageBody},
    dev::{ServiceRequest, ServiceResponse},
    http::header,
    middleware::{Next, from_fn},
    web::{self, Data, PayloadConfig},
};
use base64::Engine as _;
use rustls::{
    ServerConfig,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject},
};
use serde_json::{Value, json};
use settings::Settings;
use state::Double;
use std::{path::PathBuf, sync::Arc, time::Duration};

/// The largest body.
const BODY: usize = 64 << 20;

#[actix_web::main]
async fn main() -> std::io::Result<()> {
    let settings = Settings::from_arguments().map_err(std::io::Error::other)?;
    let address = (settings.host.clone(), settings.port);
    let double = Data::new(Double::new(settings));
    let ticker = double.clone();
    // Its own reloads follow a ticker of fixed phase.
    actix_web::rt::spawn(async move {
        loop {
            tokio::time::sleep(ticker.settings.reload_delay).await;
            reloads::reload_if_asked(&ticker).await;
        }
    });
    let tls = double.settings.tls.as_ref().map(tls).transpose().map_err(std::io::Error::other)?;
    let server = HttpServer::new(move || {
        App::new()
            .app_data(double.clone())
            .app_data(PayloadConfig::new(BODY))
            .wrap(from_fn(guarded))
            .configure(routes)
    })
    .workers(1);
    let server = match tls {
        Some(tls) => server.bind_rustls_0_23(address, tls)?,
        None => server.bind(address)?,
    };
    server.run().await
}

fn tls((certificate, key): &(PathBuf, PathBuf)) -> Result<ServerConfig, String> {
    let said = |error: &dyn std::error::Error| error.to_string();
    let chain = CertificateDer::pem_file_iter(certificate).map_err(|error| said(&error))?;
    let chain = chain.collect::<Result<Vec<_>, _>>().map_err(|error| said(&error))?;
    let key = PrivateKeyDer::from_pem_file(key).map_err(|error| said(&error))?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let server = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let server = server.map_err(|error| said(&error))?.with_no_client_auth();
    server.with_single_cert(chain, key).map_err(|error| said(&error))
}

fn routes(app: &mut web::ServiceConfig) {
    let haproxy = web::scope("/v3/services/haproxy")
        .configure(configuration::routes)
        .configure(reloads::routes)
        .configure(runtime::routes)
        .configure(storage::routes);
    app.service(haproxy)
        .route("/v3/info", web::get().to(info))
        .route("/double/faults", web::post().to(faults))
        .default_service(web::to(async |request: HttpRequest| {
            said(404, &format!("path {} was not found", request.path()))
        }));
}

async fn info(double: Data<Double>) -> HttpResponse {
    let version = format!("{} 0double0", double.settings.version);
    HttpResponse::Ok().json(json!({
        "api": { "build_date": "2026-07-01T00:00:00.000Z", "version": version }, "system": {}
    }))
}

/// Makes something go wrong soon: see [`state::Faults`].
async fn faults(double: Data<Double>, wanted: web::Json<state::Faults>) -> HttpResponse {
    *double.faults.lock().await = wanted.into_inner();
    HttpResponse::NoContent().finish()
}

/// Credentials before anything else, and the configuration's version in every answer.
async fn guarded(
    request: ServiceRequest,
    next: Next<impl MessageBody + 'static>,
) -> Result<ServiceResponse<BoxBody>, actix_web::Error> {
    let Some(double) = request.app_data::<Data<Double>>().cloned() else {
        return next.call(request).await.map(ServiceResponse::map_into_boxed_body);
    };
    let given = request.headers().get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
    let given = given.and_then(|value| value.strip_prefix("Basic "));
    let given = given.and_then(|value| base64::engine::general_purpose::STANDARD.decode(value).ok());
    let (user, password) = &double.settings.user;
    let mut response = if given == Some(format!("{user}:{password}").into_bytes()) {
        let silent = std::mem::take(&mut double.faults.lock().await.silent_for_millis);
        tokio::time::sleep(Duration::from_millis(silent)).await;
        next.call(request).await?.map_into_boxed_body()
    } else {
        let refused = HttpResponse::Unauthorized()
            .insert_header((header::WWW_AUTHENTICATE, "Basic realm=\"API\""))
            .json(json!({ "code": 401, "message": "unauthorized" }));
        request.into_response(refused)
    };
    let version = double.state.lock().await.version;
    response
        .headers_mut()
        .insert(header::HeaderName::from_static("configuration-version"), header::HeaderValue::from(version));
    Ok(response)
}

/// An error as it gives them.
fn said(status: u16, message: &str) -> HttpResponse {
    let code = actix_web::http::StatusCode::from_u16(status).unwrap_or_default();
    HttpResponse::build(code).json(json!({ "code": status, "message": message }))
}

/// A body as JSON, or nothing.
fn json_of(body: &[u8]) -> Value {
    serde_json::from_slice(body).unwrap_or(Value::Null)
}
