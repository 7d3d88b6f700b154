//! HTTPS of the agent: PEM files, followed when they change, or a certificate of its own.

use crate::options::{AgentError, TlsSource};
use rustls::{
    ServerConfig,
    crypto::ring,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject},
    server::{ClientHello, ResolvesServerCert},
    sign::{CertifiedKey, SingleCertAndKey},
};
use std::{
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
    time::SystemTime,
};

/// The server's settings for `source`.
pub(crate) fn server_config(source: &TlsSource) -> Result<ServerConfig, AgentError> {
    let resolver: Arc<dyn ResolvesServerCert> = match source {
        TlsSource::Files { certificate, key } => Arc::new(Followed::new(certificate.clone(), key.clone())?),
        TlsSource::SelfSigned { names } => Arc::new(SingleCertAndKey::from(self_signed(names)?)),
    };
    let builder = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|e| AgentError::Tls(e.to_string()))?;
    Ok(builder.with_no_client_auth().with_cert_resolver(resolver))
}

/// Reads its files anew when their times change; unusable new files leave the old certificate in use.
#[derive(Debug)]
struct Followed {
    certificate: PathBuf,
    key: PathBuf,
    loaded: Mutex<(Times, Arc<CertifiedKey>)>,
}

type Times = (Option<SystemTime>, Option<SystemTime>);

impl Followed {
    fn new(certificate: PathBuf, key: PathBuf) -> Result<Self, AgentError> {
        let first = load(&certificate, &key)?;
        let times = times(&certificate, &key);
        Ok(Self { loaded: Mutex::new((times, Arc::new(first))), certificate, key })
    }
}

impl ResolvesServerCert for Followed {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        let mut loaded = self.loaded.lock().unwrap_or_else(PoisonError::into_inner);
        let now = times(&self.certificate, &self.key);
        if now != loaded.0 {
            loaded.0 = now;
            match load(&self.certificate, &self.key) {
                Ok(new) => loaded.1 = Arc::new(new),
                Err(error) => tracing::error!(%error, "the new certificate is not used"),
            }
        }
        Some(loaded.1.clone())
    }
}

fn times(certificate: &PathBuf, key: &PathBuf) -> Times {
    let time = |path: &PathBuf| std::fs::metadata(path).and_then(|m| m.modified()).ok();
    (time(certificate), time(key))
}

fn load(certificate: &PathBuf, key: &PathBuf) -> Result<CertifiedKey, AgentError> {
    let unreadable =
        |path: &PathBuf, problem: String| AgentError::Tls(format!("{}: {problem}", path.display()));
    let chain = CertificateDer::pem_file_iter(certificate)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .map_err(|e| unreadable(certificate, e.to_string()))?;
    if chain.is_empty() {
        return Err(unreadable(certificate, "there is no certificate in it".to_owned()));
    }
    let der = PrivateKeyDer::from_pem_file(key).map_err(|e| unreadable(key, e.to_string()))?;
    CertifiedKey::from_der(chain, der, &ring::default_provider()).map_err(|e| unreadable(key, e.to_string()))
}

fn self_signed(names: &[String]) -> Result<CertifiedKey, AgentError> {
    let problem = |e: &dyn std::fmt::Display| AgentError::Tls(e.to_string());
    let made = rcgen::generate_simple_self_signed(names.to_vec()).map_err(|e| problem(&e))?;
    let key = PrivateKeyDer::try_from(made.signing_key.serialize_der()).map_err(|e| problem(&e))?;
    CertifiedKey::from_der(vec![made.cert.der().clone()], key, &ring::default_provider())
        .map_err(|e| problem(&e))
}
