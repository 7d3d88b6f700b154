//! Whether a certificate is what RFC 5280 says, element by element: OpenSSL refuses others, and parsers that are more
//! lenient let them pass.

use super::der::{BIT_STRING, BOOLEAN, INTEGER, OBJECT, OCTET_STRING, SEQUENCE, element, is_well_formed};

const SET: u8 = 0x31;
const UTC_TIME: u8 = 0x17;
const GENERALIZED_TIME: u8 = 0x18;
const VERSION: u8 = 0xa0;
const EXTENSIONS: u8 = 0xa3;
/// NumericString, PrintableString, T61String, IA5String, UTF8String and BMPString: what names are written in.
const STRINGS: [u8; 6] = [0x12, 0x13, 0x14, 0x16, 0x0c, 0x1e];

/// Whether `der` is a certificate and nothing else.
pub(super) fn is_certificate(der: &[u8]) -> bool {
    is_well_formed(der) && whole(der).is_some()
}

/// Elements one after the other.
struct Elements<'d>(&'d [u8]);

impl<'d> Elements<'d> {
    /// The content of the next one, if it has this tag.
    fn take(&mut self, tag: u8) -> Option<&'d [u8]> {
        let (found, content, rest) = element(self.0)?;
        (found == tag).then(|| {
            self.0 = rest;
            content
        })
    }

    fn end(&self) -> Option<()> {
        self.0.is_empty().then_some(())
    }
}

/// Each element in a sequence.
fn each(der: &[u8], tag: u8, check: impl Fn(&[u8]) -> Option<()>) -> Option<()> {
    let mut all = Elements(der);
    while !all.0.is_empty() {
        check(all.take(tag)?)?;
    }
    Some(())
}

fn whole(der: &[u8]) -> Option<()> {
    let mut outermost = Elements(der);
    let mut certificate = Elements(outermost.take(SEQUENCE)?);
    outermost.end()?;
    to_be_signed(certificate.take(SEQUENCE)?)?;
    algorithm(certificate.take(SEQUENCE)?)?;
    whole_bytes(certificate.take(BIT_STRING)?)?;
    certificate.end()
}

fn to_be_signed(der: &[u8]) -> Option<()> {
    let mut all = Elements(der);
    if let Some(version) = all.take(VERSION) {
        let mut version = Elements(version);
        version.take(INTEGER).filter(|number| matches!(number, [0..=2]))?;
        version.end()?;
    }
    all.take(INTEGER)?;
    algorithm(all.take(SEQUENCE)?)?;
    name(all.take(SEQUENCE)?)?;
    let mut validity = Elements(all.take(SEQUENCE)?);
    time(&mut validity)?;
    time(&mut validity)?;
    validity.end()?;
    name(all.take(SEQUENCE)?)?;
    let mut key = Elements(all.take(SEQUENCE)?);
    algorithm(key.take(SEQUENCE)?)?;
    whole_bytes(key.take(BIT_STRING)?)?;
    key.end()?;
    if let Some(extensions) = all.take(EXTENSIONS) {
        let mut extensions = Elements(extensions);
        each(extensions.take(SEQUENCE)?, SEQUENCE, extension)?;
        extensions.end()?;
    }
    all.end()
}

/// An identifier, and one parameter at the most.
fn algorithm(der: &[u8]) -> Option<()> {
    let mut all = Elements(der);
    all.take(OBJECT)?;
    let rest = element(all.0).map_or(all.0, |(_, _, rest)| rest);
    rest.is_empty().then_some(())
}

/// Bits that are whole bytes.
fn whole_bytes(bits: &[u8]) -> Option<()> {
    matches!(bits, [0, _, ..]).then_some(())
}

fn name(der: &[u8]) -> Option<()> {
    each(der, SET, |parts| {
        each(parts, SEQUENCE, |part| {
            let mut all = Elements(part);
            all.take(OBJECT)?;
            let (tag, _, rest) = element(all.0)?;
            (STRINGS.contains(&tag) && rest.is_empty()).then_some(())
        })
    })
}

fn time(all: &mut Elements<'_>) -> Option<()> {
    let (digits, length) = match all.take(UTC_TIME) {
        Some(text) => (text, 13),
        None => (all.take(GENERALIZED_TIME)?, 15),
    };
    let (zone, digits) = digits.split_last()?;
    (*zone == b'Z' && digits.len() + 1 == length && digits.iter().all(u8::is_ascii_digit)).then_some(())
}

fn extension(der: &[u8]) -> Option<()> {
    let mut all = Elements(der);
    all.take(OBJECT)?;
    _ = all.take(BOOLEAN);
    all.take(OCTET_STRING)?;
    all.end()
}
