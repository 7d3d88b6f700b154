//! Stories about the HTTP interface.

use crate::setting::{Backend, Setting, bring, order, reload};
use base64::{Engine, prelude::BASE64_STANDARD};
use haptic_agent::{Agent, AgentError, AgentOptions, CredentialsSource, RunningAgent, TlsSource};
use haptic_model::agent_api::{LARGEST_BODY, Outcome, RunningBundle, Status};
use std::net::SocketAddr;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

const VARIABLE: &str = "HAPTIC_HAPROXY_3_4";

async fn serving(setting: &Setting) -> RunningAgent {
    let dir = setting.dir.path().join("credentials");
    std::fs::create_dir_all(&dir).unwrap();
    std::fs::write(dir.join("dataplane_username"), "admin").unwrap();
    std::fs::write(dir.join("dataplane_password"), "first").unwrap();
    let options = AgentOptions {
        listen: Some("127.0.0.1:0".parse().unwrap()),
        credentials: Some(CredentialsSource::Dir(dir)),
        ..setting.options()
    };
    Agent::start(options).await.unwrap()
}

/// Status code and body of a request.
pub async fn call(
    agent: SocketAddr,
    method: &str,
    path: &str,
    password: Option<&str>,
    body: &str,
) -> (u16, String) {
    let mut stream = TcpStream::connect(agent).await.unwrap();
    let credentials = password
        .map(|p| format!("Authorization: Basic {}\r\n", BASE64_STANDARD.encode(format!("admin:{p}"))))
        .unwrap_or_default();
    let head = format!(
        "{method} {path} HTTP/1.1\r\nHost: agent\r\nConnection: close\r\n{credentials}Content-Length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    let _sent = stream.write_all(body.as_bytes()).await;
    let mut answer = Vec::new();
    let _read = stream.read_to_end(&mut answer).await;
    let answer = String::from_utf8_lossy(&answer).into_owned();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((&answer, ""));
    (head.split(' ').nth(1).and_then(|code| code.parse().ok()).unwrap_or(0), body.to_owned())
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_that_listens_needs_credentials() {
    let setting = Setting::new(VARIABLE);
    let options = AgentOptions { listen: Some("127.0.0.1:0".parse().unwrap()), ..setting.options() };
    let error = Agent::start(options).await.unwrap_err();
    assert!(matches!(error, AgentError::NoCredentials));
    assert!(error.to_string().contains("HAPTIC_USERNAME") && error.to_string().contains("--credentials-dir"));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_address_in_use_is_told_and_leaves_no_haproxy_behind() {
    let setting = Setting::new(VARIABLE);
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let dir = setting.dir.path().join("c");
    std::fs::create_dir_all(&dir).unwrap();
    std::fs::write(dir.join("dataplane_username"), "admin").unwrap();
    std::fs::write(dir.join("dataplane_password"), "x").unwrap();
    let options = AgentOptions {
        listen: Some(taken.local_addr().unwrap()),
        credentials: Some(CredentialsSource::Dir(dir)),
        ..setting.options()
    };
    let error = Agent::start(options).await.unwrap_err();
    assert!(matches!(error, AgentError::Listen { .. }), "{error}");
    assert!(!setting.dir.path().join("d/haproxy.pid").exists(), "HAProxy was started first");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_binary_that_is_not_there_is_named() {
    let setting = Setting::new(VARIABLE);
    let error = Agent::start(AgentOptions::in_process(setting.dir.path(), "/no/haproxy"))
        .await
        .unwrap_err()
        .to_string();
    assert!(error.contains("/no/haproxy") && error.contains("--haproxy"), "{error}");
    let error = Agent::start(AgentOptions::in_process(setting.dir.path(), "/bin/true"))
        .await
        .unwrap_err()
        .to_string();
    assert!(error.contains("this is not HAProxy"), "{error}");
}

/// What 100,000 routes need.
#[tokio::test(flavor = "multi_thread")]
async fn a_large_bundle_comes_in_one_order_and_can_be_read_again() {
    let setting = Setting::new(VARIABLE);
    let agent = serving(&setting).await;
    let address = agent.local_addr().unwrap();
    let one = Backend::start("one").await;
    let mut files = setting.files(&[one.line("s1")]);
    files.insert("general/large.txt".to_owned(), "line\n".repeat(9 << 20));
    let body = serde_json::to_string(&order(None, &files, reload())).unwrap();
    let (code, answer) = call(address, "POST", "/v1/apply", Some("first"), &body).await;
    assert_eq!(code, 200, "{answer}");
    let (_, bundle) = call(address, "GET", "/v1/bundle", Some("first"), "").await;
    assert!(serde_json::from_str::<RunningBundle>(&bundle).unwrap().files == files);
    agent.stop(false).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_controller_can_do_all_over_http() {
    let setting = Setting::new(VARIABLE);
    let agent = serving(&setting).await;
    let address = agent.local_addr().unwrap();
    let one = Backend::start("one").await;
    assert_eq!(call(address, "GET", "/healthz", None, "").await.0, 200);
    assert_eq!(call(address, "GET", "/readyz", None, "").await.0, 503);
    for (method, path) in [("GET", "/v1/status"), ("GET", "/v1/bundle"), ("POST", "/v1/apply")] {
        assert_eq!(call(address, method, path, None, "").await.0, 401, "{path}");
        assert_eq!(call(address, method, path, Some("wrong"), "").await.0, 401, "{path}");
    }
    let (code, empty) = call(address, "GET", "/v1/bundle", Some("first"), "").await;
    assert_eq!((code, serde_json::from_str::<RunningBundle>(&empty).unwrap().files.len()), (200, 0));

    let files = setting.files(&[one.line("s1")]);
    let body = serde_json::to_string(&order(None, &files, reload())).unwrap();
    let (code, answer) = call(address, "POST", "/v1/apply", Some("first"), &body).await;
    assert_eq!(code, 200);
    let outcome: Outcome = serde_json::from_str(&answer).unwrap();
    assert!(matches!(outcome, Outcome::Applied { reloaded: true, .. }), "{answer}");
    assert_eq!(setting.get("/").await.unwrap(), "one");
    assert_eq!(call(address, "GET", "/readyz", None, "").await.0, 200);
    let (_, status) = call(address, "GET", "/v1/status", Some("first"), "").await;
    assert!(serde_json::from_str::<Status>(&status).unwrap().alive, "{status}");
    let (_, bundle) = call(address, "GET", "/v1/bundle", Some("first"), "").await;
    assert_eq!(serde_json::from_str::<RunningBundle>(&bundle).unwrap().files, files);
    let (_, metrics) = call(address, "GET", "/metrics", None, "").await;
    assert!(metrics.contains("haptic_agent_haproxy_reloads_total 1\n"), "{metrics}");
    let (code, error) = call(address, "POST", "/v1/apply", Some("first"), "{\"epoch\":1}").await;
    assert!(code == 400 && error.contains("not an apply order"), "{code} {error}");
    agent.stop(false).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_that_is_too_large_is_refused() {
    let setting = Setting::new(VARIABLE);
    let agent = serving(&setting).await;
    let address = agent.local_addr().unwrap();
    let code = call(address, "POST", "/v1/apply", Some("first"), &" ".repeat(LARGEST_BODY + 1)).await.0;
    assert!(code == 413 || code == 0, "{code}");
    assert_eq!(call(address, "GET", "/v1/status", Some("first"), "").await.0, 200);
    agent.stop(false).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn new_credentials_pass_at_once_and_the_old_ones_for_a_while() {
    let setting = Setting::new(VARIABLE);
    let agent = serving(&setting).await;
    let address = agent.local_addr().unwrap();
    std::fs::write(setting.dir.path().join("credentials/dataplane_password"), "second").unwrap();
    for (password, code) in [("second", 200), ("first", 200), ("third", 401)] {
        assert_eq!(call(address, "GET", "/v1/status", Some(password), "").await.0, code, "{password}");
    }
    agent.stop(false).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn with_a_certificate_it_speaks_only_tls() {
    let setting = Setting::new(VARIABLE);
    let dir = setting.dir.path().join("c");
    std::fs::create_dir_all(&dir).unwrap();
    let made = rcgen::generate_simple_self_signed(["agent.test".to_owned()]).unwrap();
    let (certificate, key) = (dir.join("tls.crt"), dir.join("tls.key"));
    std::fs::write(&certificate, made.cert.pem()).unwrap();
    std::fs::write(&key, made.signing_key.serialize_pem()).unwrap();
    std::fs::write(dir.join("dataplane_username"), "admin").unwrap();
    std::fs::write(dir.join("dataplane_password"), "x").unwrap();
    let options = AgentOptions {
        listen: Some("127.0.0.1:0".parse().unwrap()),
        credentials: Some(CredentialsSource::Dir(dir)),
        tls: Some(TlsSource::Files { certificate, key }),
        ..setting.options()
    };
    let agent = Agent::start(options).await.unwrap();
    let address = agent.local_addr().unwrap();
    let (code, _) = call(address, "GET", "/healthz", None, "").await;
    assert_ne!(code, 200, "it speaks plain HTTP");
    let body = tokio::task::spawn_blocking(move || over_tls(address, made.cert.der().clone())).await.unwrap();
    assert!(body.starts_with("HTTP/1.1 200"), "{body}");
    agent.stop(false).await;
}

/// `GET /healthz` over TLS, verified against `certificate`.
fn over_tls(
    address: std::net::SocketAddr,
    certificate: rustls::pki_types::CertificateDer<'static>,
) -> String {
    use std::io::{Read, Write};
    let mut roots = rustls::RootCertStore::empty();
    roots.add(certificate).unwrap();
    let config = rustls::ClientConfig::builder_with_provider(std::sync::Arc::new(
        rustls::crypto::ring::default_provider(),
    ))
    .with_safe_default_protocol_versions()
    .unwrap()
    .with_root_certificates(roots)
    .with_no_client_auth();
    let mut session =
        rustls::ClientConnection::new(std::sync::Arc::new(config), "agent.test".try_into().unwrap()).unwrap();
    let mut socket = std::net::TcpStream::connect(address).unwrap();
    let mut stream = rustls::Stream::new(&mut session, &mut socket);
    stream.write_all(b"GET /healthz HTTP/1.1\r\nHost: agent.test\r\nConnection: close\r\n\r\n").unwrap();
    let mut answer = Vec::new();
    let _end = stream.read_to_end(&mut answer);
    String::from_utf8_lossy(&answer).into_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_listening_agent_can_be_dropped_and_started_again_at_once() {
    let setting = Setting::new(VARIABLE);
    let agent = serving(&setting).await;
    let one = Backend::start("one").await;
    bring(&agent, None, &setting.files(&[one.line("s1")])).await;
    drop(agent);
    let next = serving(&setting).await;
    let address = next.local_addr().unwrap();
    assert_eq!(call(address, "GET", "/readyz", None, "").await.0, 200);
    next.stop(false).await;
}

/// A client that neither sends its request to the end nor hangs up.
#[tokio::test(flavor = "multi_thread")]
async fn no_client_of_the_agent_keeps_a_stopped_haproxy_alive() {
    let setting = Setting::new(VARIABLE);
    let agent = serving(&setting).await;
    let address = agent.local_addr().unwrap();
    let one = Backend::start("one").await;
    bring(&agent, None, &setting.files(&[one.line("s1")])).await;
    let mut client = TcpStream::connect(address).await.unwrap();
    let credentials = BASE64_STANDARD.encode("admin:first");
    let half = format!(
        "POST /v1/apply HTTP/1.1\r\nHost: agent\r\nAuthorization: Basic {credentials}\r\nContent-Length: 999\r\nExpect: 100-continue\r\n\r\n"
    );
    client.write_all(half.as_bytes()).await.unwrap();
    let mut begun = [0; 12];
    client.read_exact(&mut begun).await.unwrap();
    assert_eq!(&begun, b"HTTP/1.1 100", "the agent waits for the body");
    let stopped = tokio::time::timeout(std::time::Duration::from_secs(20), agent.stop(true)).await;
    assert!(stopped.is_ok(), "the agent waits for its client");
    assert!(setting.get("/").await.is_err(), "HAProxy still runs");
}
