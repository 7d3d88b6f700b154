//! TLS to pods: their certificate must be signed by `dataplane.caBundle`.
//!
//! A pod has no name that lasts and its address is not known when certificates are made, so the signature decides
//! and the name in the certificate does not. The bundle must therefore be an authority for these pods only.

use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme,
    client::{
        WebPkiServerVerifier,
        danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier},
    },
    pki_types::{CertificateDer, ServerName, UnixTime, pem::PemObject},
};
use std::sync::Arc;

/// Checks everything but the name.
#[derive(Debug)]
struct SignedByBundle(Arc<WebPkiServerVerifier>);

/// A client that trusts the certificates in `bundle` (PEM), and only those.
///
/// # Errors
/// A sentence on what is wrong with the bundle.
pub(super) fn client(bundle: &str) -> Result<ClientConfig, String> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let verifier =
        WebPkiServerVerifier::builder_with_provider(Arc::new(roots(bundle)?), Arc::clone(&provider))
            .build()
            .map_err(|error| format!("dataplane.caBundle cannot be used: {error}"))?;
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| format!("TLS cannot be set up: {error}"))?;
    Ok(builder
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(SignedByBundle(verifier)))
        .with_no_client_auth())
}

fn roots(bundle: &str) -> Result<RootCertStore, String> {
    let mut roots = RootCertStore::empty();
    for (index, certificate) in CertificateDer::pem_slice_iter(bundle.as_bytes()).enumerate() {
        let number = index + 1;
        let certificate = certificate
            .map_err(|error| format!("dataplane.caBundle, certificate {number} is not PEM: {error}"))?;
        roots.add(certificate).map_err(|error| {
            format!("dataplane.caBundle, certificate {number} cannot be trusted: {error}")
        })?;
    }
    if roots.is_empty() {
        return Err("dataplane.caBundle holds no PEM certificate".to_owned());
    }
    Ok(roots)
}

impl ServerCertVerifier for SignedByBundle {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        // webpki compares the name last: when that is its only complaint, the chain is good.
        match self.0.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now) {
            Err(Error::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            )) => Ok(ServerCertVerified::assertion()),
            other => other,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.0.verify_tls12_signature(message, certificate, signature)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.0.verify_tls13_signature(message, certificate, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.supported_verify_schemes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bundle_without_a_certificate_is_refused_by_field_name() {
        assert!(client("nothing here").unwrap_err().contains("dataplane.caBundle"));
    }
}
