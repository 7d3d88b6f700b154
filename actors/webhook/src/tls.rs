//! The webhook's side of TLS. Certificate and client authorities are looked up for each handshake, so both change without a
//! connection or the listener ending.

use super::endpoint::EndpointState;
use haptic_model::ActiveConfig;
use haptic_runtime::Topic;
use rustls::{
    CertificateError, DigitallySignedStruct, DistinguishedName, Error, RootCertStore, ServerConfig,
    SignatureScheme,
    client::danger::HandshakeSignatureValid,
    crypto::ring,
    pki_types::{CertificateDer, UnixTime, pem::PemObject},
    server::{
        ClientHello, ResolvesServerCert, WebPkiClientVerifier,
        danger::{ClientCertVerified, ClientCertVerifier},
    },
    sign::CertifiedKey,
};
use std::{
    fmt,
    sync::{Arc, Mutex, PoisonError},
};

/// Settings of a listener that shows the certificate of `endpoint`. Whoever calls must show one that `clientCaBundle` of the
/// configuration in force has signed, where it has one.
///
/// # Errors
/// Never in practice: the provider knows TLS 1.2 and 1.3.
pub fn server_config(
    endpoint: Topic<EndpointState>,
    config: Topic<Option<Arc<ActiveConfig>>>,
) -> Result<ServerConfig, Error> {
    let builder = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()?
        .with_client_cert_verifier(Arc::new(Callers { config, known: Mutex::default() }));
    let mut settings = builder.with_cert_resolver(Arc::new(Shown(endpoint)));
    // A session that goes on from an older one would not be asked for its certificate again.
    settings.session_storage = Arc::new(rustls::server::NoServerSessionStorage {});
    settings.send_tls13_tickets = 0;
    Ok(settings)
}

#[derive(Debug)]
struct Shown(Topic<EndpointState>);

impl ResolvesServerCert for Shown {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        self.0.latest().endpoint().map(|endpoint| endpoint.certificate.clone())
    }
}

/// Who may call, as the configuration in force says it.
struct Callers {
    config: Topic<Option<Arc<ActiveConfig>>>,
    known: Mutex<Option<CachedVerifier>>,
}

/// The verifier of a bundle, or why there is none.
#[derive(Clone)]
struct CachedVerifier {
    bundle: String,
    verifier: Result<Arc<dyn ClientCertVerifier>, String>,
}

impl Callers {
    fn bundle(&self) -> Option<String> {
        let config = self.config.latest();
        config.as_ref().as_ref()?.spec.webhook()?.client_ca_bundle
    }

    fn verifier(&self) -> Result<Arc<dyn ClientCertVerifier>, Error> {
        let bundle = self.bundle().unwrap_or_default();
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.as_ref().is_none_or(|known| known.bundle != bundle) {
            let verifier = verifier(&bundle);
            if let Err(why) = &verifier {
                tracing::error!(
                    "controller.webhook.clientCaBundle cannot be used, and nobody is answered: {why}"
                );
            }
            *known = Some(CachedVerifier { bundle, verifier });
        }
        let verifier = known.as_ref().map(|known| known.verifier.clone());
        verifier.unwrap_or_else(|| Err(String::new())).map_err(Error::General)
    }
}

fn verifier(bundle: &str) -> Result<Arc<dyn ClientCertVerifier>, String> {
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(bundle.as_bytes()) {
        let certificate = certificate.map_err(|error| error.to_string())?;
        roots.add(certificate).map_err(|error| error.to_string())?;
    }
    let provider = Arc::new(ring::default_provider());
    let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider).build();
    verifier.map_err(|error| error.to_string())
}

impl fmt::Debug for Callers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Callers").finish_non_exhaustive()
    }
}

impl ClientCertVerifier for Callers {
    fn offer_client_auth(&self) -> bool {
        self.bundle().is_some()
    }

    fn client_auth_mandatory(&self) -> bool {
        self.bundle().is_some()
    }

    /// None named: a client shows the certificate it has.
    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &[]
    }

    fn verify_client_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        now: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        let verifier = self.verifier().map_err(|_| CertificateError::UnknownIssuer)?;
        verifier.verify_client_cert(end_entity, intermediates, now)
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.verifier()?.verify_tls12_signature(message, certificate, signature)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.verifier()?.verify_tls13_signature(message, certificate, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        ring::default_provider().signature_verification_algorithms.supported_schemes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        endpoint::authority::{self, CertifiedKey},
        endpoint::{Endpoint, certified},
    };
    use haptic_runtime::{Publisher, topic};
    use haptic_text::Sensitive;
    use rustls::{
        ClientConfig, ClientConnection, ServerConnection, SupportedProtocolVersion,
        pki_types::{PrivateKeyDer, ServerName},
        version::{TLS12, TLS13},
    };
    use serde_json::json;

    const NAME: &str = "haptic.edge.svc";

    fn config(bundle: Option<&str>) -> Option<Arc<ActiveConfig>> {
        let spec = json!({
            "credentialsSecretRef": {"name": "c"}, "podSelector": {"matchLabels": {"a": "b"}},
            "controller": {"webhook": {"clientCaBundle": bundle}},
        });
        Some(Arc::new(ActiveConfig::of("edge", "edge", serde_json::from_value(spec).unwrap())))
    }

    /// An authority as an administrator has one, and a client's certificate of it.
    fn client_pair() -> (String, CertifiedKey) {
        let key = rcgen::KeyPair::generate().unwrap();
        let mut params = rcgen::CertificateParams::default();
        params.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
        let authority = params.self_signed(&key).unwrap().pem();
        let own = rcgen::KeyPair::generate().unwrap();
        let signed = rcgen::CertificateParams::new(["api-server".to_owned()]).unwrap();
        let signed = signed.signed_by(&own, &rcgen::Issuer::new(params, key)).unwrap();
        (authority, CertifiedKey { certificate: signed.pem(), key: Sensitive::new(own.serialize_pem()) })
    }

    struct TlsListener {
        settings: Arc<ServerConfig>,
        authority: CertifiedKey,
        endpoint: Publisher<EndpointState>,
        config: Publisher<Option<Arc<ActiveConfig>>>,
    }

    fn now() -> i64 {
        let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
        i64::try_from(since.as_secs()).unwrap()
    }

    impl TlsListener {
        fn new() -> Self {
            let authority = authority::authority(now(), 1000).unwrap();
            let (endpoint, shown) = topic(EndpointState::Off);
            let (config, settings) = topic(config(None));
            let settings = Arc::new(server_config(shown, settings).unwrap());
            let listener = Self { settings, authority, endpoint, config };
            listener.rotate();
            listener
        }

        fn rotate(&self) {
            let pair = authority::certificate(&self.authority, &[NAME.to_owned()], now(), 100).unwrap();
            let certificate = Arc::new(certified(&pair.certificate, pair.key.reveal()).unwrap());
            let endpoint = Endpoint { paths: vec![Sensitive::new("/x".into())], certificate, expires: 0 };
            self.endpoint.publish(EndpointState::Ready(Arc::new(endpoint)));
        }

        /// The certificate that a client is shown, once it has been let in.
        fn greet(
            &self,
            client: Option<&CertifiedKey>,
            version: &'static SupportedProtocolVersion,
        ) -> Result<Vec<u8>, Error> {
            let mut roots = RootCertStore::empty();
            roots
                .add(CertificateDer::from_pem_slice(self.authority.certificate.as_bytes()).unwrap())
                .unwrap();
            let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
                .with_protocol_versions(&[version])
                .unwrap()
                .with_root_certificates(roots);
            let settings = match client {
                None => builder.with_no_client_auth(),
                Some(pair) => {
                    let chain = vec![CertificateDer::from_pem_slice(pair.certificate.as_bytes()).unwrap()];
                    let key = PrivateKeyDer::from_pem_slice(pair.key.reveal().as_bytes()).unwrap();
                    builder.with_client_auth_cert(chain, key).unwrap()
                }
            };
            let name = ServerName::try_from(NAME).unwrap();
            let mut caller = ClientConnection::new(Arc::new(settings), name).unwrap();
            let mut server = ServerConnection::new(self.settings.clone()).unwrap();
            while server.is_handshaking() || caller.is_handshaking() {
                let mut sent = Vec::new();
                while caller.wants_write() {
                    caller.write_tls(&mut sent).unwrap();
                }
                server.read_tls(&mut sent.as_slice()).unwrap();
                server.process_new_packets()?;
                let mut answered = Vec::new();
                while server.wants_write() {
                    server.write_tls(&mut answered).unwrap();
                }
                caller.read_tls(&mut answered.as_slice()).unwrap();
                caller.process_new_packets()?;
            }
            Ok(caller.peer_certificates().unwrap()[0].to_vec())
        }
    }

    #[test]
    fn a_new_certificate_is_shown_to_the_next_client() {
        let listener = TlsListener::new();
        let first = listener.greet(None, &TLS12).unwrap();
        assert_eq!(listener.greet(None, &TLS13).unwrap(), first);
        listener.rotate();
        assert_ne!(listener.greet(None, &TLS13).unwrap(), first);
        listener.endpoint.publish(EndpointState::Waiting("x".into()));
        assert!(listener.greet(None, &TLS13).is_err());
    }

    #[test]
    fn with_authorities_of_clients_only_theirs_are_let_in() {
        let (bundle, client) = client_pair();
        let (_, stranger) = client_pair();
        let listener = TlsListener::new();
        for version in [&TLS12, &TLS13] {
            listener.config.publish(config(Some(&bundle)));
            assert!(listener.greet(Some(&client), version).is_ok());
            assert!(listener.greet(None, version).is_err());
            assert!(listener.greet(Some(&stranger), version).is_err());
            listener.config.publish(config(None));
            assert!(listener.greet(None, version).is_ok());
            listener
                .config
                .publish(config(Some("-----BEGIN CERTIFICATE-----\nx\n-----END CERTIFICATE-----")));
            assert!(listener.greet(Some(&client), version).is_err(), "an unusable bundle lets nobody in");
        }
    }
}
