//! PEM in place of secret PEM: a certificate for each certificate, a key for each key, pairs that fit where pairs fitted, and
//! something that cannot be read where something could not.

use super::{
    keys::{DH_PARAMETERS, Forge, PrivateKeyKind, Whose},
    text::{self, Seed},
};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use haptic_routes::certificate::{self, framed};
use x509_parser::pem::Pem;

/// A part of a text.
enum PemPart<'t> {
    /// Everything from `-----BEGIN` to the end of the line with `-----END`.
    Block { label: &'t str, body: String, all: &'t str },
    /// A line that is in no block.
    Line(&'t str),
}

/// Whether `text` has a block, or as much as the beginning of one.
#[must_use]
pub fn is_pem(text: &str) -> bool {
    text.lines().any(|line| marker(line).is_some())
}

/// The private keys in `text`, each as PEM.
#[must_use]
pub fn private_keys(text: &str) -> Vec<String> {
    let keys = parts(text).into_iter().filter_map(|part| match part {
        PemPart::Block { label, all, .. } if label.ends_with("PRIVATE KEY") => Some(all.to_owned()),
        _ => None,
    });
    keys.collect()
}

/// In place of `text`; `keys` are all private keys that its certificates may belong to.
///
/// # Errors
/// Never in practice: what is made is made of constants.
pub fn pseudonym(text: &str, keys: &[String], seed: Seed, forge: &mut Forge) -> Result<String, String> {
    let mut stands = String::new();
    for (number, part) in parts(text).into_iter().enumerate() {
        let seed = seed.nth(number);
        match part {
            PemPart::Line(line) if marker(line).is_some() => stands.push_str(line),
            PemPart::Line(line) => stands.push_str(&text::text(line, seed)),
            PemPart::Block { label, body, all } => {
                stands.push_str(&block(label, &body, all, keys, seed, forge)?)
            }
        }
    }
    Ok(stands)
}

fn block(
    label: &str,
    body: &str,
    all: &str,
    keys: &[String],
    seed: Seed,
    forge: &mut Forge,
) -> Result<String, String> {
    let Ok(der) = STANDARD.decode(body) else {
        return Ok(framed(label, "!"));
    };
    let unreadable = || framed(label, &STANDARD.encode(text::masked(&"x".repeat(der.len()), seed)));
    if label.contains("ENCRYPTED") {
        return Ok(unreadable());
    }
    if label.ends_with("PRIVATE KEY") {
        let kind = PrivateKeyKind::of_private(label, &der);
        return Ok(kind.map_or_else(unreadable, |kind| kind.private(label).to_owned()));
    }
    let made = match label {
        "CERTIFICATE" => match certificate(all, &der, keys, seed, forge) {
            Some(made) => made,
            None => return Ok(unreadable()),
        },
        "X509 CRL" => forge.revocations(seed),
        "DH PARAMETERS" => return Ok(DH_PARAMETERS.to_owned()),
        // The name of a curve.
        "EC PARAMETERS" if der.len() <= 12 => return Ok(framed(label, body)),
        _ => return Ok(unreadable()),
    };
    made.map(|pem| pem.replace('\r', "")).map_err(|error| error.to_string())
}

/// `None` for what is none.
fn certificate(
    pem: &str,
    der: &[u8],
    keys: &[String],
    seed: Seed,
    forge: &mut Forge,
) -> Option<Result<String, rcgen::Error>> {
    let read = Pem { label: "CERTIFICATE".into(), contents: der.to_vec() };
    let certificate = read.parse_x509().ok()?;
    let own = keys.iter().find(|key| certificate::pair(pem, key).is_ok());
    let kind = own
        .and_then(|key| kind_of_key(key))
        .unwrap_or_else(|| PrivateKeyKind::of_public(certificate.public_key()));
    let whose = if own.is_some() { Whose::Own } else { Whose::Others };
    Some(forge.certificate(kind, whose, certificate.is_ca(), seed))
}

fn kind_of_key(pem: &str) -> Option<PrivateKeyKind> {
    parts(pem).into_iter().find_map(|part| match part {
        PemPart::Block { label, body, .. } => PrivateKeyKind::of_private(label, &STANDARD.decode(body).ok()?),
        PemPart::Line(_) => None,
    })
}

/// What a line with `-----BEGIN X-----` or `-----END X-----` says.
fn marker(line: &str) -> Option<(&str, &str)> {
    let inside = line.trim().strip_prefix("-----")?.strip_suffix("-----")?;
    let (what, label) = inside.split_once(' ')?;
    let is_label = label.len() < 40
        && label.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b' ');
    (matches!(what, "BEGIN" | "END") && is_label).then_some((what, label))
}

fn parts(text: &str) -> Vec<PemPart<'_>> {
    let mut parts = Vec::new();
    let mut rest = text;
    while let Some(line) = rest.split_inclusive('\n').next() {
        let block = match marker(line) {
            Some(("BEGIN", label)) => block_of(rest, label),
            _ => None,
        };
        let taken = block.as_ref().map_or(line.len(), |(all, _)| all.len());
        parts.push(match (block, marker(line)) {
            (Some((all, body)), Some((_, label))) => PemPart::Block { label, body, all },
            _ => PemPart::Line(line),
        });
        rest = rest.get(taken..).unwrap_or_default();
    }
    parts
}

/// The block that `text` begins with, and what is inside without line ends.
fn block_of<'t>(text: &'t str, label: &str) -> Option<(&'t str, String)> {
    let mut length = 0;
    let mut body = String::new();
    for (number, line) in text.split_inclusive('\n').enumerate() {
        length += line.len();
        match marker(line) {
            Some(("END", ended)) if ended == label => return Some((text.get(..length)?, body)),
            Some(_) if number > 0 => return None,
            Some(_) => {}
            None => body.push_str(line.trim()),
        }
    }
    None
}
