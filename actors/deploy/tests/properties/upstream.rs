//! Servers behind HAProxy: plain, with TLS, and for agent checks. Each answers which one it is.

use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use rustls::{
    ServerConfig, ServerConnection, Stream,
    pki_types::{CertificateDer, PrivateKeyDer},
};
use std::{
    io::{Read, Write},
    net::TcpListener,
    sync::{Arc, LazyLock},
};

/// Ports of plain servers.
pub static PLAIN: LazyLock<Vec<u16>> = LazyLock::new(|| (0..3).map(plain).collect());
/// Ports of servers with TLS; the certificate of each is signed by the authority of the same number.
pub static TLS: LazyLock<Vec<u16>> = LazyLock::new(|| (0..2).map(with_tls).collect());
/// The port of an agent that says that its server is up.
pub static AGENT: LazyLock<u16> = LazyLock::new(|| {
    serve(|mut stream| {
        let _sent = stream.write_all(b"up\n");
    })
});
/// Certificate authorities in PEM.
pub static AUTHORITIES: LazyLock<Vec<String>> =
    LazyLock::new(|| SIGNERS.iter().map(|signer| signer.0.clone()).collect());

/// The certificate of each authority, and what signs.
static SIGNERS: LazyLock<Vec<(String, Issuer<'static, KeyPair>)>> =
    LazyLock::new(|| (0..2).map(signer).collect());

fn signer(number: usize) -> (String, Issuer<'static, KeyPair>) {
    let key = KeyPair::generate().unwrap();
    let mut params = CertificateParams::new([]).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.distinguished_name.push(rcgen::DnType::CommonName, format!("authority {number}"));
    (params.self_signed(&key).unwrap().pem(), Issuer::new(params, key))
}

/// Calls `answer` for each connection, for as long as the test runs.
fn serve(answer: impl Fn(std::net::TcpStream) + Send + Sync + 'static) -> u16 {
    let listener = TcpListener::bind("0.0.0.0:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let answer = Arc::new(answer);
    std::thread::spawn(move || {
        while let Ok((stream, _)) = listener.accept() {
            let answer = Arc::clone(&answer);
            std::thread::spawn(move || answer(stream));
        }
    });
    port
}

fn plain(number: usize) -> u16 {
    serve(move |mut stream| {
        let mut request = [0; 4096];
        let length = stream.read(&mut request).unwrap_or_default();
        let proxied = if request[..length].starts_with(b"PROXY ") { " by proxy" } else { "" };
        respond(&mut stream, &format!("plain {number}{proxied}"));
    })
}

fn with_tls(number: usize) -> u16 {
    let key = KeyPair::generate().unwrap();
    let params = CertificateParams::new(["up.example".to_owned()]).unwrap();
    let certificate = params.signed_by(&key, &SIGNERS[number].1).unwrap();
    let chain = vec![CertificateDer::from(certificate.der().to_vec())];
    let private = PrivateKeyDer::try_from(key.serialize_der()).unwrap();
    let config = ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(chain, private)
        .unwrap();
    let config = Arc::new(config);
    serve(move |mut stream| {
        let mut connection = ServerConnection::new(Arc::clone(&config)).unwrap();
        let mut tls = Stream::new(&mut connection, &mut stream);
        if tls.read(&mut [0; 4096]).is_ok() {
            let name = tls.conn.server_name().unwrap_or("no name").to_owned();
            respond(&mut tls, &format!("tls {number} {name}"));
        }
    })
}

fn respond(stream: &mut impl Write, body: &str) {
    let length = body.len();
    let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n");
    let _sent = stream.write_all(format!("{head}{body}").as_bytes());
}
