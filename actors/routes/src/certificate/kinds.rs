//! Kinds of keys and signatures: what HAProxy loads at OpenSSL's usual security level, and what a handshake may cost.

use x509_parser::{
    certificate::X509Certificate,
    der_parser::Oid,
    oid_registry::{
        OID_EC_P256, OID_HASH_SHA1, OID_KEY_TYPE_EC_PUBLIC_KEY, OID_NIST_EC_P384, OID_NIST_EC_P521,
        OID_PKCS1_RSAENCRYPTION, OID_PKCS1_RSASSAPSS, OID_PKCS1_SHA256WITHRSA, OID_PKCS1_SHA384WITHRSA,
        OID_PKCS1_SHA512WITHRSA, OID_SIG_ECDSA_WITH_SHA256, OID_SIG_ECDSA_WITH_SHA384,
        OID_SIG_ECDSA_WITH_SHA512, OID_SIG_ED25519,
    },
    public_key::PublicKey,
    signature_algorithm::SignatureAlgorithm,
    x509::SubjectPublicKeyInfo,
};

/// The kind of a public key, as far as HAProxy is given it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PublicKeyKind {
    /// RSA, with the bits of its modulus.
    Rsa(usize),
    /// ECDSA on NIST P-256.
    P256,
    /// ECDSA on NIST P-384.
    P384,
    /// ECDSA on NIST P-521.
    P521,
    /// Ed25519.
    Ed25519,
}

/// The kinds of keys among which HAProxy chooses by what a client knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum KeyKind {
    Rsa,
    Ecdsa,
    Other,
}

impl From<PublicKeyKind> for KeyKind {
    fn from(kind: PublicKeyKind) -> Self {
        match kind {
            PublicKeyKind::Rsa(_) => Self::Rsa,
            PublicKeyKind::P256 | PublicKeyKind::P384 | PublicKeyKind::P521 => Self::Ecdsa,
            PublicKeyKind::Ed25519 => Self::Other,
        }
    }
}

/// Where in a chain a certificate stands.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum ChainPosition {
    /// The server's own, whose key signs in each handshake.
    First,
    /// One that is only sent along.
    Behind,
}

/// Of the server's own key: a signature by RSA of 4096 bits takes 5 ms of a thread, by 8192 bits 35.
const LONGEST_RSA: usize = 4096;
/// Below it OpenSSL refuses the certificate.
const SHORTEST_RSA: usize = 2048;

/// Why a certificate cannot stand at that place of a chain.
pub(super) fn check(certificate: &X509Certificate<'_>, place: ChainPosition) -> Result<(), String> {
    let kind = of(certificate.public_key());
    let taken = match (kind, place) {
        (Some(PublicKeyKind::Rsa(bits)), ChainPosition::First) => {
            (SHORTEST_RSA..=LONGEST_RSA).contains(&bits)
        }
        (Some(PublicKeyKind::Rsa(bits)), ChainPosition::Behind) => bits >= SHORTEST_RSA,
        (Some(PublicKeyKind::P521), ChainPosition::First) | (None, _) => false,
        _ => true,
    };
    if !taken {
        let is = match kind {
            Some(PublicKeyKind::Rsa(bits)) => format!("RSA of {bits} bits"),
            Some(kind) => format!("{kind:?}"),
            None => "of another kind".into(),
        };
        let wanted = match place {
            ChainPosition::First => "RSA of 2048 to 4096 bits, ECDSA on P-256 or P-384, or Ed25519",
            ChainPosition::Behind => "RSA of 2048 bits and more, ECDSA on P-256, P-384 or P-521, or Ed25519",
        };
        return Err(format!("has a key that is {is}, it must be {wanted}"));
    }
    if !is_strong(certificate) {
        return Err("is signed with MD5, SHA-1 or what OpenSSL does not know, it must be SHA-256, SHA-384, SHA-512 or Ed25519".into());
    }
    Ok(())
}

pub(super) fn of(key: &SubjectPublicKeyInfo<'_>) -> Option<PublicKeyKind> {
    let algorithm = &key.algorithm.algorithm;
    if *algorithm == OID_PKCS1_RSAENCRYPTION {
        let PublicKey::RSA(rsa) = key.parsed().ok()? else { return None };
        // A long exponent makes each use of the key slow.
        let short = rsa.exponent.iter().skip_while(|byte| **byte == 0).count() <= 8;
        return short.then(|| PublicKeyKind::Rsa(bits(rsa.modulus)));
    }
    if *algorithm == OID_SIG_ED25519 {
        return Some(PublicKeyKind::Ed25519);
    }
    if *algorithm != OID_KEY_TYPE_EC_PUBLIC_KEY {
        return None;
    }
    // The parser takes another tag for that of an identifier, too.
    let parameters = key.algorithm.parameters.as_ref().filter(|any| any.tag().0 == 6)?;
    let curve: Oid<'_> = parameters.as_oid().ok()?;
    [
        (OID_EC_P256, PublicKeyKind::P256),
        (OID_NIST_EC_P384, PublicKeyKind::P384),
        (OID_NIST_EC_P521, PublicKeyKind::P521),
    ]
    .into_iter()
    .find_map(|(known, kind)| (known == curve).then_some(kind))
}

fn bits(number: &[u8]) -> usize {
    let first = number.iter().position(|byte| *byte != 0).unwrap_or(number.len());
    let leading = number.get(first).map_or(0, |byte| byte.leading_zeros() as usize);
    (number.len() - first) * 8 - leading
}

fn is_strong(certificate: &X509Certificate<'_>) -> bool {
    let algorithm = &certificate.signature_algorithm;
    if algorithm.algorithm == OID_PKCS1_RSASSAPSS {
        let Ok(SignatureAlgorithm::RSASSA_PSS(parameters)) = SignatureAlgorithm::try_from(algorithm) else {
            return false;
        };
        return *parameters.hash_algorithm_oid() != OID_HASH_SHA1;
    }
    [
        OID_PKCS1_SHA256WITHRSA,
        OID_PKCS1_SHA384WITHRSA,
        OID_PKCS1_SHA512WITHRSA,
        OID_SIG_ECDSA_WITH_SHA256,
        OID_SIG_ECDSA_WITH_SHA384,
        OID_SIG_ECDSA_WITH_SHA512,
        OID_SIG_ED25519,
    ]
    .contains(&algorithm.algorithm)
}
