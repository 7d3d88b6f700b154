//! DER, as far as it must be read here: the elements of a key, and whether OpenSSL takes what a certificate is made of.

pub(super) const BOOLEAN: u8 = 0x01;
pub(super) const INTEGER: u8 = 0x02;
pub(super) const BIT_STRING: u8 = 0x03;
pub(super) const OCTET_STRING: u8 = 0x04;
pub(super) const NULL: u8 = 0x05;
pub(super) const OBJECT: u8 = 0x06;
pub(super) const UTF8_STRING: u8 = 0x0c;
pub(super) const UNIVERSAL_STRING: u8 = 0x1c;
pub(super) const BMP_STRING: u8 = 0x1e;
pub(super) const SEQUENCE: u8 = 0x30;
const CONSTRUCTED: u8 = 0x20;

/// Elements in elements in a certificate; those in use have about ten.
const DEEPEST: usize = 30;

/// Whether each element of `der` is what its tag says, as strictly as OpenSSL asks, which reads all of a certificate.
pub(super) fn is_well_formed(der: &[u8]) -> bool {
    well_formed(der, DEEPEST)
}

fn well_formed(mut der: &[u8], depth: usize) -> bool {
    if depth == 0 {
        return false;
    }
    while !der.is_empty() {
        let Some((tag, content, rest)) = element(der) else { return false };
        let fits = if tag & CONSTRUCTED != 0 { well_formed(content, depth - 1) } else { is_of(tag, content) };
        // Tags of several bytes are in no certificate.
        if !fits || tag & 0x1f == 0x1f {
            return false;
        }
        der = rest;
    }
    true
}

fn is_of(tag: u8, content: &[u8]) -> bool {
    match (tag, content) {
        (BOOLEAN, [_]) => true,
        // No byte more than the number needs.
        (INTEGER, [0, second, ..]) => second & 0x80 != 0,
        (INTEGER, [0xff, second, ..]) => second & 0x80 == 0,
        (INTEGER, [_, ..]) => true,
        (BIT_STRING, [unused, bits @ ..]) => *unused == 0 || (*unused < 8 && !bits.is_empty()),
        (NULL, []) => true,
        (OBJECT, [first, .., last]) => *first != 0x80 && last & 0x80 == 0,
        (OBJECT, [only]) => only & 0x80 == 0,
        (BOOLEAN | INTEGER | BIT_STRING | NULL | OBJECT, _) => false,
        (UTF8_STRING, text) => std::str::from_utf8(text).is_ok(),
        (UNIVERSAL_STRING, text) => text.len().is_multiple_of(4),
        (BMP_STRING, text) => text.len().is_multiple_of(2),
        _ => true,
    }
}

/// The content of the element that `der` begins with, if it has this tag.
pub(super) fn inside(der: &[u8], tag: u8) -> Option<&[u8]> {
    element(der).filter(|(found, ..)| *found == tag).map(|(_, content, _)| content)
}

pub(super) fn elements(mut der: &[u8]) -> Vec<(u8, &[u8])> {
    let mut all = Vec::new();
    while let Some((tag, content, rest)) = element(der) {
        all.push((tag, content));
        der = rest;
    }
    all
}

/// Tag, content and what follows.
pub(super) fn element(der: &[u8]) -> Option<(u8, &[u8], &[u8])> {
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
