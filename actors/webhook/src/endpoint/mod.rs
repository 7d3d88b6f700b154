//! What the webhook is called by: a path that only the API server knows, for a while, and a certificate. Every replica has the same.
//!
//! The leader makes them (`authority`), keeps them in a Secret (`stored`) and renews them in time (`renewal`); every replica
//! reads that Secret. The leader alone writes them into the ValidatingWebhookConfiguration (`registration`). What decides is
//! pure; `maintain` reads and writes.

pub(crate) mod authority;
mod certificate;
pub(crate) mod maintain;
mod objects;
mod paths;
mod registration;
mod renewal;
mod stored;

use haptic_runtime::{Publisher, Topic, topic};
use haptic_text::Sensitive;
use rustls::{
    crypto::ring,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject},
    sign::CertifiedKey,
};
use std::sync::Arc;
use subtle::{Choice, ConstantTimeEq};

/// Whether the webhook can be called.
#[derive(Clone, Debug, Default)]
pub enum EndpointState {
    /// The configuration has none.
    #[default]
    Off,
    /// Not yet, and why.
    Waiting(String),
    /// Yes.
    Ready(Arc<Endpoint>),
}

/// What it is called by.
#[derive(Debug)]
pub struct Endpoint {
    /// The paths that are good, with their slashes.
    pub paths: Vec<Sensitive>,
    /// The certificate and its key.
    pub certificate: Arc<CertifiedKey>,
    /// The end of its validity, in seconds since 1970.
    pub expires: i64,
}

/// Publishes how the webhook can be called: all of it for those that answer, and why it cannot be for everybody else.
#[derive(Debug)]
pub struct EndpointWriter {
    state: Publisher<EndpointState>,
    why_not: Publisher<Option<String>>,
}

impl EndpointWriter {
    /// A writer, and its two readers.
    #[must_use]
    pub fn new() -> (Self, Topic<EndpointState>, Topic<Option<String>>) {
        let ((state, all), (why_not, reason)) = (topic(EndpointState::Off), topic(None));
        (Self { state, why_not }, all, reason)
    }

    /// Replaces what was published before.
    pub fn publish(&self, state: EndpointState) {
        self.why_not.publish_if_changed(state.why_not_ready());
        self.state.publish(state);
    }

    /// What was published last.
    #[must_use]
    pub fn latest(&self) -> Arc<EndpointState> {
        self.state.latest()
    }
}

impl EndpointState {
    /// What it is called by, if it can be.
    #[must_use]
    pub fn endpoint(&self) -> Option<&Endpoint> {
        match self {
            Self::Ready(endpoint) => Some(endpoint),
            Self::Off | Self::Waiting(_) => None,
        }
    }

    /// Why not to rely on it.
    #[must_use]
    pub fn why_not_ready(&self) -> Option<String> {
        match self {
            Self::Waiting(why) => Some(format!("the webhook has no certificate: {why}")),
            Self::Off | Self::Ready(_) => None,
        }
    }
}

impl Endpoint {
    /// Whether a request for `path` comes from somebody who knows it. Takes as long whatever is asked for.
    #[must_use]
    pub fn is_asked_for(&self, path: &str) -> bool {
        let is_this = |good: &Sensitive| good.reveal().as_bytes().ct_eq(path.as_bytes());
        self.paths.iter().map(is_this).fold(Choice::from(0), |found, is_this| found | is_this).into()
    }
}

/// A certificate, with those above it, and its key, all PEM.
///
/// # Errors
/// What is wrong with them; nothing of the key.
pub fn certified(chain: &str, key: &str) -> Result<CertifiedKey, String> {
    let certificates = CertificateDer::pem_slice_iter(chain.as_bytes());
    let certificates = certificates
        .collect::<Result<Vec<_>, _>>()
        .map_err(|_| "tls.crt is not a PEM certificate".to_owned())?;
    if certificates.is_empty() {
        return Err("there is no certificate in tls.crt".to_owned());
    }
    let key = PrivateKeyDer::from_pem_slice(key.as_bytes())
        .map_err(|_| "tls.key is not a PEM private key".to_owned())?;
    let certified = CertifiedKey::from_der(certificates, key, &ring::default_provider());
    certified.map_err(|error| format!("tls.crt and tls.key do not fit together: {error}"))
}
