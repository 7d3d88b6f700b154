//! Whether a certificate and its key are what HAProxy can serve: found out before HAProxy refuses a whole crt-list.
//!
//! It refuses only what is certainly wrong. What it cannot judge, such as a kind of key it does not know, passes: HAProxy
//! itself has the last word.

use x509_parser::{
    oid_registry::{OID_KEY_TYPE_EC_PUBLIC_KEY, OID_PKCS1_RSAENCRYPTION},
    pem::Pem,
    x509::SubjectPublicKeyInfo,
};

/// DER tags.
const INTEGER: u8 = 0x02;
const BIT_STRING: u8 = 0x03;
const OCTET_STRING: u8 = 0x04;
const SEQUENCE: u8 = 0x30;
/// `publicKey` of an `ECPrivateKey` (RFC 5915).
const EC_PUBLIC: u8 = 0xa1;

/// What is wrong with a certificate chain and the key of its first certificate, both in PEM.
#[must_use]
pub fn problem_of_pair(chain: &str, key: &str) -> Option<String> {
    if let Some(problem) = problem_of_certificates(chain, "tls.crt") {
        return Some(problem);
    }
    let key = match blocks(key) {
        Ok(blocks) => blocks.into_iter().find(|b| b.label.ends_with("PRIVATE KEY")),
        Err(why) => return Some(format!("tls.key: {why}")),
    };
    let Some(key) = key else { return Some("tls.key holds no private key".into()) };
    if key.label.contains("ENCRYPTED") {
        return Some("the key in tls.key is encrypted".into());
    }
    let first = blocks(chain).ok()?.into_iter().find(|b| b.label == CERTIFICATE)?;
    let certificate = first.parse_x509().ok()?;
    let fits = fits(certificate.public_key(), &key);
    (fits == Some(false)).then(|| "tls.key is not the key of the certificate in tls.crt".into())
}

/// What is wrong with certificates in PEM; `entry` is what they are called.
#[must_use]
pub fn problem_of_certificates(text: &str, entry: &str) -> Option<String> {
    let blocks = match blocks(text) {
        Ok(blocks) => blocks,
        Err(why) => return Some(format!("{entry}: {why}")),
    };
    let certificates: Vec<&Pem> = blocks.iter().filter(|b| b.label == CERTIFICATE).collect();
    if certificates.is_empty() {
        return Some(format!("{entry} holds no certificate"));
    }
    let broken = certificates.iter().position(|c| c.parse_x509().is_err())?;
    Some(format!("certificate {} of {entry} cannot be read", broken + 1))
}

const CERTIFICATE: &str = "CERTIFICATE";

fn blocks(text: &str) -> Result<Vec<Pem>, String> {
    Pem::iter_from_buffer(text.as_bytes()).collect::<Result<_, _>>().map_err(|_| "it is no valid PEM".into())
}

/// Whether the private key belongs to the public one; `None` where that cannot be told.
fn fits(public: &SubjectPublicKeyInfo<'_>, key: &Pem) -> Option<bool> {
    let algorithm = &public.algorithm.algorithm;
    let inner = match &*key.label {
        "PRIVATE KEY" => inside_pkcs8(&key.contents)?,
        _ => &*key.contents,
    };
    let fields = elements(inside(inner, SEQUENCE)?);
    if *algorithm == OID_PKCS1_RSAENCRYPTION {
        // RSAPrivateKey (RFC 8017): version, modulus, …; the key in the certificate begins with the modulus.
        let own = fields.get(1).filter(|(tag, _)| *tag == INTEGER).map(|(_, n)| *n);
        let theirs = elements(inside(&public.subject_public_key.data, SEQUENCE)?);
        let theirs = theirs.first().filter(|(tag, _)| *tag == INTEGER).map(|(_, n)| *n);
        // A key of another kind has no such field.
        return Some(own.is_some() && own == theirs);
    }
    if *algorithm == OID_KEY_TYPE_EC_PUBLIC_KEY {
        let own = fields.iter().find(|(tag, _)| *tag == EC_PUBLIC).map(|(_, content)| *content)?;
        let bits = inside(own, BIT_STRING)?;
        return Some(bits.get(1..)? == &*public.subject_public_key.data);
    }
    None
}

/// The key inside `PrivateKeyInfo` (RFC 5208): version, algorithm, key.
fn inside_pkcs8(der: &[u8]) -> Option<&[u8]> {
    let fields = elements(inside(der, SEQUENCE)?);
    fields.get(2).filter(|(tag, _)| *tag == OCTET_STRING).map(|(_, content)| *content)
}

/// The content of the element that `der` begins with, if it has this tag.
fn inside(der: &[u8], tag: u8) -> Option<&[u8]> {
    element(der).filter(|(found, ..)| *found == tag).map(|(_, content, _)| content)
}

fn elements(mut der: &[u8]) -> Vec<(u8, &[u8])> {
    let mut all = Vec::new();
    while let Some((tag, content, rest)) = element(der) {
        all.push((tag, content));
        der = rest;
    }
    all
}

/// Tag, content and what follows.
fn element(der: &[u8]) -> Option<(u8, &[u8], &[u8])> {
    let (tag, rest) = der.split_first()?;
    let (first, rest) = rest.split_first()?;
    let (length, rest) = match first {
        0..=0x7f => (usize::from(*first), rest),
        _ => {
            let (bytes, rest) = rest.split_at_checked(usize::from(first & 0x7f))?;
            let length =
                bytes.iter().try_fold(0_usize, |n, b| n.checked_mul(256)?.checked_add(usize::from(*b)));
            (length?, rest)
        }
    };
    let (content, rest) = rest.split_at_checked(length)?;
    Some((*tag, content, rest))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rcgen::{CertificateParams, KeyPair, PKCS_ECDSA_P384_SHA384, PKCS_ED25519};

    /// Made by OpenSSL: an RSA certificate with its key, in PKCS#8 and in the older form.
    const RSA: &str = include_str!("../tests/pem/rsa.pem");
    const RSA_PKCS1: &str = include_str!("../tests/pem/rsa-pkcs1.key");
    const EC_SEC1: &str = include_str!("../tests/pem/ec-sec1.pem");

    fn signed_by_itself(key: &KeyPair) -> String {
        CertificateParams::new(["a.example".to_owned()]).unwrap().self_signed(key).unwrap().pem()
    }

    #[test]
    fn a_certificate_with_its_own_key_is_right_whatever_its_kind() {
        for algorithm in [&rcgen::PKCS_ECDSA_P256_SHA256, &PKCS_ECDSA_P384_SHA384, &PKCS_ED25519] {
            let key = KeyPair::generate_for(algorithm).unwrap();
            assert_eq!(problem_of_pair(&signed_by_itself(&key), &key.serialize_pem()), None);
        }
        assert_eq!(problem_of_pair(RSA, RSA), None);
        assert_eq!(problem_of_pair(RSA, RSA_PKCS1), None);
        assert_eq!(problem_of_pair(EC_SEC1, EC_SEC1), None);
    }

    #[test]
    fn the_key_of_another_certificate_is_found() {
        let (a, b) = (KeyPair::generate().unwrap(), KeyPair::generate().unwrap());
        let wrong = "tls.key is not the key of the certificate in tls.crt";
        assert_eq!(problem_of_pair(&signed_by_itself(&a), &b.serialize_pem()).as_deref(), Some(wrong));
        assert_eq!(problem_of_pair(RSA, &a.serialize_pem()).as_deref(), Some(wrong));
        assert_eq!(problem_of_pair(&signed_by_itself(&a), EC_SEC1).as_deref(), Some(wrong));
    }

    #[test]
    fn what_is_no_certificate_or_key_is_said() {
        let key = KeyPair::generate().unwrap();
        let (chain, key) = (signed_by_itself(&key), key.serialize_pem());
        let garbled = chain.replace("MII", "AAA");
        for (chain, key, said) in [
            ("", &*key, "tls.crt holds no certificate"),
            (&*key, &key, "tls.crt holds no certificate"),
            (&chain, "", "tls.key holds no private key"),
            (&chain, &chain, "tls.key holds no private key"),
            (
                "-----BEGIN CERTIFICATE-----\n!\n-----END CERTIFICATE-----\n",
                &key,
                "tls.crt: it is no valid PEM",
            ),
            (&garbled, &key, "certificate 1 of tls.crt cannot be read"),
            (&format!("{chain}{garbled}"), &key, "certificate 2 of tls.crt cannot be read"),
        ] {
            assert_eq!(problem_of_pair(chain, key).as_deref(), Some(said));
        }
    }

    #[test]
    fn no_key_however_broken_makes_it_panic() {
        let whole: Vec<u8> = Pem::iter_from_buffer(RSA_PKCS1.as_bytes()).next().unwrap().unwrap().contents;
        let certificate = Pem::iter_from_buffer(RSA.as_bytes()).map(Result::unwrap);
        let certificate = certificate.into_iter().find(|b| b.label == CERTIFICATE).unwrap();
        let parsed = certificate.parse_x509().unwrap();
        for end in 0..whole.len() {
            let cut = Pem { label: "RSA PRIVATE KEY".into(), contents: whole[..end].to_vec() };
            assert_ne!(fits(parsed.public_key(), &cut), Some(true), "cut at {end}");
        }
    }
}
