//! The agent transport against a real HTTP server that answers as an agent does, or as something else does.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test"
)]

use actix_web::{App, HttpRequest, HttpResponse, HttpServer, dev::ServerHandle, http::header, web};
use haptic_deploy::{AgentTransport, Transport, TransportError, transport::Peer};
use haptic_model::{
    ActiveConfig, HaproxyPod,
    agent_api::{Apply, Method, Outcome},
    config::Credentials,
};
use haptic_text::{Content, Sensitive};
use serde_json::{Value, json};
use std::{
    net::{SocketAddr, TcpListener},
    sync::{Arc, Mutex},
    time::Duration,
};
use tokio::net::TcpSocket;

const STATUS: &str = r#"{"version":"3.4","versionText":"3.4.7","running":null,"exact":true,"stored":null,"incarnation":1,"setback":null,
    "epoch":{"leaseCreated":0,"transitions":0},"workerPid":7,"oldWorkers":0,"reloads":1,"alive":true,"intact":true}"#;

/// What the server does, and who called it.
#[derive(Clone, Default)]
struct Agent {
    password: &'static str,
    answer: String,
    delay: Duration,
    tried: Arc<Mutex<Vec<String>>>,
}

fn serve(agent: Agent, tls: Option<rustls::ServerConfig>) -> (SocketAddr, ServerHandle) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let app = move || {
        App::new()
            .app_data(web::Data::new(agent.clone()))
            .app_data(web::PayloadConfig::new(64 << 20))
            .default_service(web::to(answer))
    };
    let server = HttpServer::new(app).workers(1).disable_signals();
    let server = match tls {
        None => server.listen(listener).unwrap().run(),
        Some(tls) => server.listen_rustls_0_23(listener, tls).unwrap().run(),
    };
    let handle = server.handle();
    actix_rt::spawn(server);
    (address, handle)
}

async fn answer(request: HttpRequest, agent: web::Data<Agent>, body: web::Bytes) -> HttpResponse {
    use base64::Engine;
    let given =
        request.headers().get(header::AUTHORIZATION).and_then(|v| v.to_str().ok()).unwrap_or_default();
    let given = given.strip_prefix("Basic ").unwrap_or_default();
    let given = base64::engine::general_purpose::STANDARD.decode(given).unwrap_or_default();
    let given = String::from_utf8(given).unwrap();
    agent.tried.lock().unwrap().push(given.clone());
    if given != format!("admin:{}", agent.password) {
        return HttpResponse::Unauthorized().body("who are you?");
    }
    tokio::time::sleep(agent.delay).await;
    match request.path() {
        "/v1/apply" => {
            let order: Apply = serde_json::from_slice(&body).unwrap();
            let running: Value = json!(order.target);
            HttpResponse::Conflict().json(json!({"outcome": "conflict", "running": running}))
        }
        _ => HttpResponse::Ok().body(agent.answer.clone()),
    }
}

fn transport(
    address: SocketAddr,
    passwords: &[&str],
    dataplane: Value,
) -> Result<AgentTransport, TransportError> {
    let spec = json!({
        "credentialsSecretRef": {"name": "s"},
        "podSelector": {"matchLabels": {"a": "b"}},
        "dataplane": dataplane,
    });
    let credentials = |password: &&str| Credentials {
        username: "admin".to_owned(),
        password: Sensitive::new((*password).to_owned()),
    };
    let config = ActiveConfig {
        credentials: passwords.iter().map(credentials).collect(),
        ..ActiveConfig::of("c", "n", serde_json::from_value(spec).unwrap())
    };
    let pod = HaproxyPod::at("n", "p", address);
    AgentTransport::new(&pod, &config)
}

fn agent(password: &'static str) -> Agent {
    Agent { password, answer: STATUS.to_owned(), ..Agent::default() }
}

fn order(content: String) -> Arc<Apply> {
    let digest = haptic_text::Digest::of(b"x");
    Arc::new(Apply {
        epoch: Default::default(),
        generation: Default::default(),
        base: None,
        target: digest,
        config: "haproxy.cfg".into(),
        since: None,
        files: Default::default(),
        contents: [("haproxy.cfg".to_owned(), Content::Whole(content))].into(),
        method: Method::Runtime { operations: vec![], store: true },
    })
}

#[actix_rt::test]
async fn a_status_is_read_and_an_outcome_counts_with_any_http_status() {
    let (address, _server) = serve(agent("new"), None);
    let transport = transport(address, &["new"], json!({})).unwrap();
    assert_eq!(transport.status().await.unwrap().worker_pid, 7);
    let outcome = transport.apply(order("x".repeat(8 << 20))).await.unwrap();
    assert_eq!(outcome, Outcome::Conflict { running: Some(haptic_text::Digest::of(b"x")) });
}

#[actix_rt::test]
async fn after_a_rotation_the_previous_credentials_are_tried_and_then_remembered() {
    let agent = agent("old");
    let tried = Arc::clone(&agent.tried);
    let (address, _server) = serve(agent, None);
    let transport = transport(address, &["new", "old"], json!({})).unwrap();
    transport.status().await.unwrap();
    transport.status().await.unwrap();
    assert_eq!(*tried.lock().unwrap(), ["admin:new", "admin:old", "admin:old"]);
}

#[actix_rt::test]
async fn wrong_credentials_name_the_secret_to_look_at() {
    let (address, _server) = serve(agent("other"), None);
    let error = transport(address, &["new", "old"], json!({})).unwrap().status().await.unwrap_err();
    assert_eq!(error, TransportError::Unauthorised { peer: Peer("agent"), address: address.to_string() });
    assert!(error.to_string().contains("credentialsSecretRef"));
}

#[actix_rt::test]
async fn a_port_where_nobody_listens_asks_whether_the_agent_runs() {
    // Bound without listening: the port is nobody else's meanwhile.
    let not_listening = TcpSocket::new_v4().unwrap();
    not_listening.bind(SocketAddr::from(([127, 0, 0, 1], 0))).unwrap();
    let address = not_listening.local_addr().unwrap();
    let error = transport(address, &["p"], json!({})).unwrap().status().await.unwrap_err();
    assert!(matches!(error, TransportError::Unreachable { .. }), "{error:?}");
    assert!(error.to_string().contains(&format!("is the agent running on {address}?")), "{error}");
}

#[actix_rt::test]
async fn an_agent_that_hangs_is_given_up_in_time() {
    let (address, _server) = serve(Agent { delay: Duration::from_secs(60), ..agent("p") }, None);
    let transport = transport(address, &["p"], json!({"deploymentTimeout": "200ms"})).unwrap();
    let error = transport.apply(order(String::new())).await.unwrap_err();
    assert!(matches!(error, TransportError::Timeout { call: "/v1/apply", .. }), "{error:?}");
}

#[actix_rt::test]
async fn something_else_that_listens_there_is_not_an_agent() {
    let (address, _server) = serve(Agent { answer: "<html>hello".into(), ..agent("p") }, None);
    let error = transport(address, &["p"], json!({})).unwrap().status().await.unwrap_err();
    assert!(matches!(error, TransportError::Stranger { .. }), "{error:?}");
    assert!(error.to_string().contains("<html>hello"), "{error}");
}

#[actix_rt::test]
async fn a_pods_certificate_must_be_signed_by_the_bundle_whatever_its_name() {
    let (authority, server) = certificates();
    let (address, _server) = serve(agent("p"), Some(server));
    let dataplane = |bundle: &str| json!({"scheme": "https", "caBundle": bundle});
    let trusted = transport(address, &["p"], dataplane(&authority)).unwrap();
    assert_eq!(trusted.status().await.unwrap().worker_pid, 7);
    let stranger = transport(address, &["p"], dataplane(&certificates().0)).unwrap();
    let error = stranger.status().await.unwrap_err();
    assert!(matches!(error, TransportError::Tls { .. }), "{error:?}");
    let error = transport(address, &["p"], json!({"scheme": "https"})).map(|_| ()).unwrap_err();
    assert!(error.to_string().contains("set dataplane.caBundle"), "{error}");
}

/// An authority, and a server whose certificate it signed for a name that no pod has.
fn certificates() -> (String, rustls::ServerConfig) {
    let authority_key = rcgen::KeyPair::generate().unwrap();
    let mut parameters = rcgen::CertificateParams::new(Vec::new()).unwrap();
    parameters.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    let authority = parameters.self_signed(&authority_key).unwrap();
    let issuer = rcgen::Issuer::new(parameters, authority_key);
    let key = rcgen::KeyPair::generate().unwrap();
    let leaf = rcgen::CertificateParams::new(vec!["agent.haptic".to_owned()])
        .unwrap()
        .signed_by(&key, &issuer)
        .unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let key = rustls::pki_types::PrivateKeyDer::try_from(key.serialize_der()).unwrap();
    let server = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![leaf.der().clone()], key)
        .unwrap();
    (authority.pem(), server)
}
