//! Keys and certificates that are taken, and those that are refused, each with its sentence.

use super::*;
use rcgen::{CertificateParams, KeyPair, PKCS_ECDSA_P384_SHA384, PKCS_ED25519};

/// Made by OpenSSL: an RSA certificate with its key, in PKCS#8 and in the older form.
const RSA: &str = include_str!("../../../render/tests/pem/rsa.pem");
const RSA_PKCS1: &str = include_str!("../../../render/tests/pem/rsa-pkcs1.key");
const EC_SEC1: &str = include_str!("../../../render/tests/pem/ec-sec1.pem");

fn signed_by_itself(key: &KeyPair) -> String {
    CertificateParams::new(["a.example".to_owned()]).unwrap().self_signed(key).unwrap().pem()
}

fn labels(file: &str) -> Vec<String> {
    Pem::iter_from_buffer(file.as_bytes()).map(|block| block.unwrap().label).collect()
}

#[test]
fn a_certificate_with_its_own_key_is_written_whatever_its_kind() {
    let made = [&rcgen::PKCS_ECDSA_P256_SHA256, &PKCS_ECDSA_P384_SHA384, &PKCS_ED25519]
        .map(|algorithm| KeyPair::generate_for(algorithm).unwrap())
        .map(|key| (signed_by_itself(&key), key.serialize_pem()));
    let pairs = made.iter().map(|(chain, key)| (&**chain, &**key));
    for (chain, key) in pairs.chain([(RSA, RSA), (RSA, RSA_PKCS1), (EC_SEC1, EC_SEC1)]) {
        let file = pair(chain, key).unwrap();
        assert_eq!(labels(&file), ["CERTIFICATE", "PRIVATE KEY"]);
        assert_eq!(pair(&file, &file).unwrap(), file, "it is read as it is written");
    }
}

#[test]
fn the_key_of_another_certificate_is_found() {
    let (a, b) = (KeyPair::generate().unwrap(), KeyPair::generate().unwrap());
    let wrong = Err("tls.key is not the key of the certificate in tls.crt".into());
    assert_eq!(pair(&signed_by_itself(&a), &b.serialize_pem()), wrong);
    assert_eq!(pair(RSA, &a.serialize_pem()), wrong);
    assert_eq!(pair(&signed_by_itself(&a), EC_SEC1), wrong);
}

#[test]
fn what_is_no_certificate_or_key_is_said() {
    let key = KeyPair::generate().unwrap();
    let (chain, key) = (signed_by_itself(&key), key.serialize_pem());
    let garbled = chain.replace("MII", "AAA");
    let (longer, broken) = (chain.repeat(11), "-----BEGIN CERTIFICATE-----\n!\n-----END CERTIFICATE-----\n");
    for (chain, key, said) in [
        ("", &*key, "tls.crt holds no certificate"),
        (&*key, &key, "tls.crt holds no certificate"),
        (&chain, "", "tls.key holds no private key"),
        (&chain, &chain, "tls.key holds no private key"),
        (broken, &key, "tls.crt: it is no valid PEM"),
        (&garbled, &key, "certificate 1 of tls.crt cannot be read"),
        (&format!("{chain}{garbled}"), &key, "certificate 2 of tls.crt cannot be read"),
        (&longer, &key, "tls.crt holds 11 certificates, 10 are the most"),
    ] {
        assert_eq!(pair(chain, key).unwrap_err(), said);
    }
}

#[test]
fn nothing_but_certificates_is_in_a_file_of_authorities() {
    let key = KeyPair::generate().unwrap();
    let good = signed_by_itself(&key);
    let other = |label: &str| format!("-----BEGIN {label}-----\nTUlJQg==\n-----END {label}-----\n");
    for label in
        ["X509 CRL", "TRUSTED CERTIFICATE", "X509 CERTIFICATE", "PKCS7", "PRIVATE KEY", "DH PARAMETERS"]
    {
        let file = authorities(&format!("words\n{}{good}{}", other(label), other(label)), "ca.crt").unwrap();
        assert_eq!(labels(&file), ["CERTIFICATE"], "{label}");
        assert_eq!(
            pair(&format!("{good}{}", other(label)), &key.serialize_pem()).map(|f| labels(&f).len()),
            Ok(2)
        );
    }
    let with_key = authorities(&format!("{good}{}", key.serialize_pem()), "ca.crt").unwrap();
    assert!(!with_key.contains("PRIVATE"), "{with_key}");
    let said = authorities(&good.repeat(251), "ca.crt").unwrap_err();
    assert_eq!(said, "ca.crt holds 251 certificates, 250 are the most");
}

#[test]
fn no_key_however_broken_fits_or_makes_it_panic() {
    let whole = key_block(RSA_PKCS1).unwrap().contents;
    let certificate = certificates(RSA, "tls.crt", 1).unwrap();
    let certificate = parsed(&certificate[0], 0, "tls.crt").unwrap();
    for end in 0..whole.len() {
        let cut = Pem { label: "RSA PRIVATE KEY".into(), contents: whole[..end].to_vec() };
        assert_eq!(key::fitting(certificate.public_key(), &cut), None, "cut at {end}");
    }
}
