//! The keys that stand in for all others, and certificates for them. They are in this repository: nobody may use them.

use super::text::Seed;
use rcgen::{
    BasicConstraints, CertificateParams, CertificateRevocationListParams, DistinguishedName, DnType, IsCa,
    Issuer, KeyIdMethod, KeyPair, SerialNumber, date_time_ymd,
};
use std::collections::BTreeMap;
use x509_parser::{
    oid_registry::{OID_KEY_TYPE_EC_PUBLIC_KEY, OID_PKCS1_RSAENCRYPTION, OID_SIG_ED25519},
    x509::SubjectPublicKeyInfo,
};

/// Signs what stands in. Its signatures depend on nothing but what is signed.
const AUTHORITY: &str = include_str!("keys/authority.pem");

/// Parameters of RFC 7919, which are no secret.
pub const DH_PARAMETERS: &str = include_str!("keys/dh.pem");

/// The kinds of keys that HAProxy serves with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PrivateKeyKind {
    /// RSA of up to 2048 bits.
    Rsa2048,
    /// RSA of about 3072 bits.
    Rsa3072,
    Rsa4096,
    /// NIST's curve of 256 bits.
    P256,
    /// That of 384 bits, and in place of longer ones.
    P384,
    Ed25519,
}

/// Whose key a certificate is to be for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Whose {
    /// The one that stands in for the key beside it.
    Own,
    /// Another one of the same kind.
    Others,
}

impl PrivateKeyKind {
    /// The kind of a private key: a PEM block of this label with these bytes.
    #[must_use]
    pub fn of_private(label: &str, der: &[u8]) -> Option<Self> {
        let names = |oid: &[u8]| der.windows(oid.len()).take(64).any(|bytes| bytes == oid);
        // The object identifiers as they are written in DER.
        if label == "RSA PRIVATE KEY" || names(&[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 1, 1]) {
            return Some(Self::of_rsa(der.len(), 1500, 2100));
        }
        // In the older form the curve comes behind the number.
        let curve = |oid: &[u8]| der.windows(oid.len()).any(|bytes| bytes == oid);
        match () {
            () if curve(&[0x2a, 0x86, 0x48, 0xce, 0x3d, 3, 1, 7]) => Some(Self::P256),
            () if curve(&[0x2b, 0x81, 0x04, 0, 0x22]) || curve(&[0x2b, 0x81, 0x04, 0, 0x23]) => {
                Some(Self::P384)
            }
            () if names(&[0x2b, 0x65, 0x70]) => Some(Self::Ed25519),
            () => None,
        }
    }

    /// The kind of a certificate's key; the most usual one for what HAProxy hardly ever sees.
    #[must_use]
    pub fn of_public(key: &SubjectPublicKeyInfo<'_>) -> Self {
        let (algorithm, length) = (&key.algorithm.algorithm, key.subject_public_key.data.len());
        match () {
            () if *algorithm == OID_PKCS1_RSAENCRYPTION => Self::of_rsa(length, 330, 460),
            () if *algorithm == OID_SIG_ED25519 => Self::Ed25519,
            () if *algorithm == OID_KEY_TYPE_EC_PUBLIC_KEY && length > 65 => Self::P384,
            () => Self::P256,
        }
    }

    fn of_rsa(length: usize, middle: usize, large: usize) -> Self {
        match length {
            _ if length < middle => Self::Rsa2048,
            _ if length < large => Self::Rsa3072,
            _ => Self::Rsa4096,
        }
    }

    /// The private key that stands in, in the form of a PEM block of this label.
    #[must_use]
    pub fn private(self, label: &str) -> &'static str {
        match (self, label) {
            (Self::Rsa2048, "RSA PRIVATE KEY") => include_str!("keys/rsa-2048-pkcs1.pem"),
            (Self::Rsa3072, "RSA PRIVATE KEY") => include_str!("keys/rsa-3072-pkcs1.pem"),
            (Self::Rsa4096, "RSA PRIVATE KEY") => include_str!("keys/rsa-4096-pkcs1.pem"),
            (Self::P256, "EC PRIVATE KEY") => include_str!("keys/p-256-sec1.pem"),
            (Self::P384, "EC PRIVATE KEY") => include_str!("keys/p-384-sec1.pem"),
            _ => self.pkcs8(),
        }
    }

    fn pkcs8(self) -> &'static str {
        match self {
            Self::Rsa2048 => include_str!("keys/rsa-2048.pem"),
            Self::Rsa3072 => include_str!("keys/rsa-3072.pem"),
            Self::Rsa4096 => include_str!("keys/rsa-4096.pem"),
            Self::P256 => include_str!("keys/p-256.pem"),
            Self::P384 => include_str!("keys/p-384.pem"),
            Self::Ed25519 => include_str!("keys/ed25519.pem"),
        }
    }

    /// A key that is not the one that stands in, but of the same family.
    fn of_others(self) -> &'static str {
        match self {
            Self::Rsa2048 | Self::Rsa3072 | Self::Rsa4096 => include_str!("keys/other-rsa-2048.pem"),
            Self::P256 | Self::P384 => include_str!("keys/other-p-256.pem"),
            Self::Ed25519 => include_str!("keys/other-ed25519.pem"),
        }
    }
}

pub struct Forge {
    issuer: Issuer<'static, KeyPair>,
    pairs: BTreeMap<(PrivateKeyKind, Whose), KeyPair>,
}

impl std::fmt::Debug for Forge {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Forge").finish_non_exhaustive()
    }
}

impl Forge {
    /// One that has made nothing yet.
    ///
    /// # Errors
    /// Never in practice: the authority's key is a constant.
    pub fn new() -> Result<Self, String> {
        let key = KeyPair::from_pem(AUTHORITY).map_err(|error| error.to_string())?;
        let mut params = CertificateParams::default();
        params.distinguished_name = named("HAPTIC stand-ins");
        Ok(Self { issuer: Issuer::new(params, key), pairs: BTreeMap::new() })
    }

    /// A certificate that differs from those of every other seed, as PEM.
    ///
    /// # Errors
    /// Never in practice: the keys are constants.
    pub fn certificate(
        &mut self,
        kind: PrivateKeyKind,
        whose: Whose,
        is_ca: bool,
        seed: Seed,
    ) -> Result<String, rcgen::Error> {
        let pair = match self.pairs.entry((kind, whose)) {
            std::collections::btree_map::Entry::Occupied(known) => known.into_mut(),
            std::collections::btree_map::Entry::Vacant(free) => {
                free.insert(KeyPair::from_pem(match whose {
                    Whose::Own => kind.pkcs8(),
                    Whose::Others => kind.of_others(),
                })?)
            }
        };
        let mut params = CertificateParams::default();
        let name: String = seed.letters().take(12).collect();
        params.distinguished_name = named(&format!("stand-in {name}"));
        params.serial_number = Some(SerialNumber::from_slice(seed.bytes().get(..16).unwrap_or_default()));
        if is_ca {
            params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        }
        Ok(params.signed_by(pair, &self.issuer)?.pem())
    }

    /// A list of revoked certificates that names none.
    ///
    /// # Errors
    /// Never in practice.
    pub fn revocations(&self, seed: Seed) -> Result<String, rcgen::Error> {
        let list = CertificateRevocationListParams {
            this_update: date_time_ymd(2000, 1, 1),
            next_update: date_time_ymd(4000, 1, 1),
            crl_number: SerialNumber::from_slice(seed.bytes().get(..8).unwrap_or_default()),
            issuing_distribution_point: None,
            revoked_certs: Vec::new(),
            key_identifier_method: KeyIdMethod::Sha256,
        };
        list.signed_by(&self.issuer)?.pem()
    }
}

fn named(name: &str) -> DistinguishedName {
    let mut names = DistinguishedName::new();
    names.push(DnType::CommonName, name);
    names
}
