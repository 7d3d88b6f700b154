//! Certificates and keys of Secrets, read and written again: HAProxy is given only what was understood.
//!
//! One block that HAProxy cannot load stops the whole file, and with it everybody's. So nothing of a Secret's text is
//! passed on: a file has the certificates that were parsed, and a key that was found to fit. What costs more than a
//! handshake may, or what HAProxy 3.0, 3.2 or 3.4 refuses to load, is refused here, by its Secret.

mod der;
mod key;
mod kinds;
mod schema;
#[cfg(test)]
mod tests;

pub(crate) use kinds::KeyKind;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use kinds::ChainPosition;
use serde_json::Value;
use x509_parser::{certificate::X509Certificate, parse_x509_certificate, pem::Pem};

/// Certificates that a server sends in each handshake.
const LONGEST_CHAIN: usize = 10;
/// Certificates of authorities in one Secret: Mozilla's whole list is 150.
const MOST_AUTHORITIES: usize = 250;
/// Bytes of one certificate. Those in use are below 3,000.
const LARGEST: usize = 16 << 10;

const CERTIFICATE: &str = "CERTIFICATE";

/// The text of a Secret or ConfigMap under `entry`, as a file for HAProxy; without an entry the pair of `tls.crt` and `tls.key`.
///
/// # Errors
/// Why HAProxy would refuse it, or is not given it.
pub fn of_object(object: &Value, entry: &str) -> Result<String, String> {
    if entry.is_empty() {
        pair(&decoded(object, "tls.crt")?, &decoded(object, "tls.key")?)
    } else {
        authorities(&decoded(object, entry)?, entry)
    }
}

/// The kind of key of the first certificate in a file.
pub(crate) fn key_kind(file: &str) -> Option<KeyKind> {
    let first = Pem::iter_from_buffer(file.as_bytes()).next()?.ok()?;
    let (_, first) = parse_x509_certificate(&first.contents).ok()?;
    kinds::of(first.public_key()).map(KeyKind::from)
}

fn decoded(object: &Value, entry: &str) -> Result<String, String> {
    let encoded = object.pointer("/data").and_then(|data| data.get(entry)).and_then(Value::as_str);
    let encoded = encoded.ok_or_else(|| format!("it has no {entry}"))?;
    // A ConfigMap has PEM as it is, and no Base64 has dashes.
    if encoded.contains("-----BEGIN ") {
        return Ok(encoded.to_owned());
    }
    let bytes =
        STANDARD.decode(encoded.trim()).map_err(|_| format!("{entry} is neither PEM nor Base64 of it"))?;
    String::from_utf8(bytes).map_err(|_| format!("{entry} is not text: it must be PEM"))
}

/// A certificate chain and the key of its first certificate, as a file for HAProxy.
///
/// # Errors
/// Why HAProxy would refuse it, or is not given it.
pub fn pair(chain: &str, key: &str) -> Result<String, String> {
    let chain = certificates(chain, "tls.crt", LONGEST_CHAIN)?;
    let key = key_block(key)?;
    let (mut file, mut fitting) = (String::new(), None);
    for (index, pem) in chain.iter().enumerate() {
        let certificate = parsed(pem, index, "tls.crt")?;
        // A root behind the first certificate is of no use to a client, who must know it already.
        if index > 0 && certificate.subject() == certificate.issuer() {
            continue;
        }
        let place = if index == 0 { ChainPosition::First } else { ChainPosition::Behind };
        kinds::check(&certificate, place)
            .map_err(|why| format!("certificate {} of tls.crt {why}", index + 1))?;
        write(&mut file, CERTIFICATE, &pem.contents);
        if place == ChainPosition::First {
            fitting = key::fitting(certificate.public_key(), &key);
        }
    }
    write(&mut file, "PRIVATE KEY", &fitting.ok_or("tls.key is not the key of the certificate in tls.crt")?);
    Ok(file)
}

/// Certificates of authorities, as a file for HAProxy; `entry` is what they are called.
///
/// # Errors
/// Why HAProxy would refuse them, or is not given them.
pub fn authorities(text: &str, entry: &str) -> Result<String, String> {
    let mut file = String::new();
    for (index, pem) in certificates(text, entry, MOST_AUTHORITIES)?.iter().enumerate() {
        parsed(pem, index, entry)?;
        write(&mut file, CERTIFICATE, &pem.contents);
    }
    Ok(file)
}

fn certificates(text: &str, entry: &str, most: usize) -> Result<Vec<Pem>, String> {
    let mut all = blocks(text, entry)?;
    all.retain(|block| block.label == CERTIFICATE);
    match all.len() {
        0 => Err(format!("{entry} holds no certificate")),
        count if count > most => Err(format!("{entry} holds {count} certificates, {most} are the most")),
        _ => Ok(all),
    }
}

fn parsed<'p>(pem: &'p Pem, index: usize, entry: &str) -> Result<X509Certificate<'p>, String> {
    let number = index + 1;
    if pem.contents.len() > LARGEST {
        return Err(format!("certificate {number} of {entry} is larger than {LARGEST} bytes"));
    }
    match parse_x509_certificate(&pem.contents) {
        Ok(([], certificate)) if schema::is_certificate(&pem.contents) => Ok(certificate),
        _ => Err(format!("certificate {number} of {entry} cannot be read")),
    }
}

fn key_block(text: &str) -> Result<Pem, String> {
    let key = blocks(text, "tls.key")?.into_iter().find(|block| block.label.ends_with("PRIVATE KEY"));
    let key = key.ok_or("tls.key holds no private key")?;
    if key.label.contains("ENCRYPTED") {
        return Err("the key in tls.key is encrypted".into());
    }
    Ok(key)
}

fn blocks(text: &str, entry: &str) -> Result<Vec<Pem>, String> {
    let blocks: Result<_, _> = Pem::iter_from_buffer(text.as_bytes()).collect();
    blocks.map_err(|_| format!("{entry}: it is no valid PEM"))
}

fn write(file: &mut String, label: &str, der: &[u8]) {
    file.push_str(&framed(label, &STANDARD.encode(der)));
}

/// A block of PEM with this Base64.
#[must_use]
pub fn framed(label: &str, base64: &str) -> String {
    let mut pem = format!("-----BEGIN {label}-----\n");
    for line in base64.as_bytes().chunks(64) {
        pem.push_str(&String::from_utf8_lossy(line));
        pem.push('\n');
    }
    pem + &format!("-----END {label}-----\n")
}
