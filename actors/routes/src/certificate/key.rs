//! A private key, understood and written again in PKCS#8, so that HAProxy is never the first to look into it.

use super::{
    der::{OCTET_STRING, SEQUENCE, elements, inside},
    kinds::{self, PublicKeyKind},
};
use ring::{
    rand::SystemRandom,
    rsa,
    signature::{
        ECDSA_P256_SHA256_ASN1_SIGNING, ECDSA_P384_SHA384_ASN1_SIGNING, EcdsaKeyPair, Ed25519KeyPair, KeyPair,
    },
};
use x509_parser::{pem::Pem, x509::SubjectPublicKeyInfo};

/// `PrivateKeyInfo` (RFC 5208) up to the key: version 0 and the algorithm.
const RSA: &[u8] = b"\x02\x01\x00\x30\x0d\x06\x09\x2a\x86\x48\x86\xf7\x0d\x01\x01\x01\x05\x00";
const P256: &[u8] =
    b"\x02\x01\x00\x30\x13\x06\x07\x2a\x86\x48\xce\x3d\x02\x01\x06\x08\x2a\x86\x48\xce\x3d\x03\x01\x07";
const P384: &[u8] = b"\x02\x01\x00\x30\x10\x06\x07\x2a\x86\x48\xce\x3d\x02\x01\x06\x05\x2b\x81\x04\x00\x22";
const ED25519: &[u8] = b"\x02\x01\x00\x30\x05\x06\x03\x2b\x65\x70";
/// Version 1 of an `ECPrivateKey` (RFC 5915).
const EC_VERSION: &[u8] = b"\x02\x01\x01";

/// The DER of the private key in `pem` if it is that of the public one, all its parts agree, and its kind is one that
/// HAProxy is given.
pub(super) fn fitting(public: &SubjectPublicKeyInfo<'_>, pem: &Pem) -> Option<Vec<u8>> {
    let inner = match &*pem.label {
        "PRIVATE KEY" => inside_pkcs8(&pem.contents)?,
        _ => &*pem.contents,
    };
    let point = &*public.subject_public_key.data;
    match kinds::of(public)? {
        PublicKeyKind::Rsa(_) => {
            let pair = rsa::KeyPair::from_der(inner).ok()?;
            (pair.public_key().as_ref() == point).then(|| pkcs8(RSA, inner))
        }
        PublicKeyKind::P256 => {
            let scalar = scalar(inner, 32)?;
            let signs = &ECDSA_P256_SHA256_ASN1_SIGNING;
            EcdsaKeyPair::from_private_key_and_public_key(signs, &scalar, point, &SystemRandom::new())
                .ok()?;
            Some(pkcs8(P256, &ec_private_key(&scalar)))
        }
        PublicKeyKind::P384 => {
            let scalar = scalar(inner, 48)?;
            let signs = &ECDSA_P384_SHA384_ASN1_SIGNING;
            EcdsaKeyPair::from_private_key_and_public_key(signs, &scalar, point, &SystemRandom::new())
                .ok()?;
            Some(pkcs8(P384, &ec_private_key(&scalar)))
        }
        PublicKeyKind::Ed25519 => {
            let seed = inside(inner, OCTET_STRING)?;
            Ed25519KeyPair::from_seed_and_public_key(seed, point).ok()?;
            Some(pkcs8(ED25519, &wrapped(OCTET_STRING, seed)))
        }
        PublicKeyKind::P521 => None,
    }
}

/// The secret number of an `ECPrivateKey`, as long as its curve has it.
fn scalar(ec_private_key: &[u8], length: usize) -> Option<Vec<u8>> {
    let fields = elements(inside(ec_private_key, SEQUENCE)?);
    let number = fields.get(1).filter(|(tag, _)| *tag == OCTET_STRING).map(|(_, content)| *content)?;
    let zeros = length.checked_sub(number.len())?;
    Some([&vec![0; zeros], number].concat())
}

/// Without the public key, which OpenSSL computes.
fn ec_private_key(scalar: &[u8]) -> Vec<u8> {
    wrapped(SEQUENCE, &[EC_VERSION, &wrapped(OCTET_STRING, scalar)].concat())
}

fn pkcs8(head: &[u8], key: &[u8]) -> Vec<u8> {
    wrapped(SEQUENCE, &[head, &wrapped(OCTET_STRING, key)].concat())
}

fn wrapped(tag: u8, content: &[u8]) -> Vec<u8> {
    let bytes = content.len().to_be_bytes();
    let length: Vec<u8> = bytes.into_iter().skip_while(|byte| *byte == 0).collect();
    let mut der = vec![tag];
    match *length {
        [] => der.push(0),
        [short] if short < 0x80 => der.push(short),
        // Eight bytes at most.
        _ => der.extend(std::iter::once(0x80 | length.len() as u8).chain(length)),
    }
    der.extend(content);
    der
}

/// The key inside `PrivateKeyInfo`: version, algorithm, key.
fn inside_pkcs8(der: &[u8]) -> Option<&[u8]> {
    let fields = elements(inside(der, SEQUENCE)?);
    fields.get(2).filter(|(tag, _)| *tag == OCTET_STRING).map(|(_, content)| *content)
}
