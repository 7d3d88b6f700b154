//! Certificates: an authority for the cluster's API server, self-signed ones for hosts.

use crate::failure::Outcome;
use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair, PKCS_ED25519, SanType};

/// A certificate and its key.
#[derive(Clone, Debug)]
pub struct Certificate {
    /// The certificate in PEM.
    pub pem: String,
    /// Its private key in PEM.
    pub key: String,
    /// The certificate in DER: what a TLS client sees of it.
    pub der: Vec<u8>,
}

/// A new certificate for `host`, signed by itself. Two for the same host differ.
pub fn for_host(host: &str) -> Outcome<Certificate> {
    signed_by_itself(host, &KeyPair::generate()?)
}

/// The same with a key that not everybody takes.
pub fn with_ed25519(host: &str) -> Outcome<Certificate> {
    signed_by_itself(host, &KeyPair::generate_for(&PKCS_ED25519)?)
}

fn signed_by_itself(host: &str, key: &KeyPair) -> Outcome<Certificate> {
    let certificate = CertificateParams::new([host.to_owned()])?.self_signed(key)?;
    Ok(Certificate { pem: certificate.pem(), key: key.serialize_pem(), der: certificate.der().to_vec() })
}

/// Somebody who signs certificates.
pub struct Authority {
    /// Its own certificate in PEM.
    pub pem: String,
    issuer: Issuer<'static, KeyPair>,
}

impl Authority {
    /// A new one of that name.
    pub fn new(name: &str) -> Outcome<Self> {
        let key = KeyPair::generate()?;
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.distinguished_name.push(DnType::CommonName, name);
        let pem = params.self_signed(&key)?.pem();
        Ok(Self { pem, issuer: Issuer::new(params, key) })
    }

    /// A new certificate for `names`.
    pub fn sign(&self, names: &[String]) -> Outcome<Certificate> {
        self.sign_with(CertificateParams::new(names.to_vec())?)
    }

    /// The same, and it is over already.
    pub fn sign_expired(&self, names: &[String]) -> Outcome<Certificate> {
        let mut params = CertificateParams::new(names.to_vec())?;
        params.not_after = rcgen::date_time_ymd(2020, 1, 1);
        self.sign_with(params)
    }

    /// A new certificate of a client: its common name, and names that are host names, e-mail addresses and URIs.
    pub fn sign_client(&self, common_name: &str, names: &[&str]) -> Outcome<Certificate> {
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::OrganizationName, "Shop, Inc.");
        params.distinguished_name.push(DnType::CommonName, common_name);
        for name in names {
            let text = (*name).try_into()?;
            params.subject_alt_names.push(if name.contains("://") {
                SanType::URI(text)
            } else if name.contains('@') {
                SanType::Rfc822Name(text)
            } else {
                SanType::DnsName(text)
            });
        }
        self.sign_with(params)
    }

    fn sign_with(&self, params: CertificateParams) -> Outcome<Certificate> {
        let key = KeyPair::generate()?;
        let certificate = params.signed_by(&key, &self.issuer)?;
        Ok(Certificate { pem: certificate.pem(), key: key.serialize_pem(), der: certificate.der().to_vec() })
    }
}

/// A certificate for the API server at `names`, and the certificate of the authority that signed it, in PEM.
pub fn for_api_server(names: &[String]) -> Outcome<(Certificate, String)> {
    let authority = Authority::new("journeys")?;
    Ok((authority.sign(names)?, authority.pem))
}

/// A new private key, and its public key, both in PEM.
pub fn key_pair() -> Outcome<(String, String)> {
    let pair = KeyPair::generate()?;
    Ok((pair.serialize_pem(), pair.public_key_pem()))
}
