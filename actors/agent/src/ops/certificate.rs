//! Certificates: `new`, `set`, `commit` and `del ssl cert`, and what `show ssl cert FILE` shows of them (management guide, 9.3).

use super::{
    exchange::Preparation,
    pem,
    read_back::{Expectation, ReadBack, ReadBackVerdict},
};
use rustls::pki_types::{CertificateDer, pem::PemObject};

const KIND: &str = "cert";
const SHOW: &str = "show ssl cert ";

// --- commands --------------------------------------------------------------------------------------

pub(super) fn add<'o>(path: &'o str, content: &'o str) -> Preparation<'o> {
    let add = pem::add(KIND, path, with_private_key(content)?)?;
    Ok(add.expecting(move |all| _ = all.certificates.insert(path, Some(content))))
}

pub(super) fn set<'o>(path: &'o str, content: &'o str) -> Preparation<'o> {
    let set = pem::set(KIND, path, with_private_key(content)?)?;
    Ok(set.expecting(move |all| _ = all.certificates.insert(path, Some(content))))
}

pub(super) fn delete<'o>(path: &'o str) -> Preparation<'o> {
    Ok(pem::delete(KIND, path)?.expecting(move |all| _ = all.certificates.insert(path, None)))
}

fn with_private_key(content: &str) -> Result<&str, String> {
    const PROBLEM: &str =
        "the file has no private key; put certificate and key into one file, or leave this to a reload";
    has_private_key(content).then_some(content).ok_or_else(|| PROBLEM.to_owned())
}

/// Whether a certificate file has a private key, without which HAProxy cannot present it. HAProxy 3.4 takes one without at
/// run time all the same.
fn has_private_key(pem: &str) -> bool {
    pem.lines().any(|line| line.starts_with("-----BEGIN ") && line.trim_end().ends_with("PRIVATE KEY-----"))
}

// --- reading back ----------------------------------------------------------------------------------

pub(super) fn questions<'e>(all: &'e Expectation<'_>) -> impl Iterator<Item = ReadBack<'e>> {
    all.certificates.iter().map(|(path, content)| {
        let expected = content.map(Leaf::of);
        ReadBack::new(show(path), move |answer| {
            let difference = match &expected {
                Some(leaf) => leaf.difference(answer),
                None => is_shown(answer).then(|| "is still there".to_owned()),
            };
            ReadBackVerdict::of(difference.map(|difference| format!("certificate {path} {difference}")))
        })
    })
}

pub(crate) fn show(path: &str) -> String {
    format!("{SHOW}{path}")
}

/// HAProxy presents an expired certificate without a word: gives the certificate that `command` shows, and until when it was
/// valid.
pub(super) fn expired<'a>(command: &'a str, answer: &'a str) -> Option<(&'a str, &'a str)> {
    let certificate = command.strip_prefix(SHOW)?;
    expired_at(answer, jiff::Timestamp::now()).map(|until| (certificate, until))
}

/// The certificate that a file presents.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Leaf {
    /// As HAProxy prints it; `None` when the file has no certificate that can be read.
    fingerprint: Option<String>,
    /// All of it in hexadecimal digits, its serial number among them.
    digits: String,
}

impl Leaf {
    /// The first certificate of a PEM file.
    pub(crate) fn of(pem: &str) -> Self {
        let first = CertificateDer::pem_slice_iter(pem.as_bytes()).next().and_then(Result::ok);
        let digits = first.as_deref().map(digits).unwrap_or_default();
        Self { fingerprint: first.map(|der| fingerprint(&der)), digits }
    }

    /// Whether this is its serial number, in hexadecimal digits: the integer behind its version, which is 3, with its tag, its length, and a
    /// zero byte before what would be negative.
    fn has_serial(&self, digits: &str) -> bool {
        let bytes = digits.len() / 2;
        let Some((_, behind)) = self.digits.split_once("A003020102") else { return false };
        behind.starts_with(&format!("02{bytes:02X}{digits}"))
            || behind.starts_with(&format!("02{:02X}00{digits}", bytes + 1))
    }

    /// How the one that HAProxy shows differs.
    pub(crate) fn difference(&self, answer: &str) -> Option<String> {
        if !is_shown(answer) {
            return Some("is not there".to_owned());
        }
        let wanted = self.fingerprint.as_deref()?;
        match (field(answer, "SHA1 FingerPrint"), field(answer, "Serial")) {
            (Some(shown), _) if shown == wanted => None,
            (Some(shown), _) => Some(format!("has the fingerprint {shown}, not {wanted}")),
            // HAProxy ends its answer before the fingerprint where it has no name for the kind of the key, as for Ed25519.
            (None, Some(serial)) if self.has_serial(serial) => None,
            (None, Some(serial)) => Some(format!("has the serial number {serial}, which is another one")),
            (None, None) => Some("is empty".to_owned()),
        }
    }
}

/// Whether HAProxy has the certificate that it was asked for.
fn is_shown(answer: &str) -> bool {
    field(answer, "Filename").is_some()
}

/// Until when the certificate that HAProxy shows was valid, when that is past: `Nov 24 14:28:51 2026 GMT`.
fn expired_at(answer: &str, now: jiff::Timestamp) -> Option<&str> {
    let until = field(answer, "notAfter")?;
    let parsed = jiff::civil::DateTime::strptime("%b %d %H:%M:%S %Y GMT", until).ok()?;
    let end = parsed.to_zoned(jiff::tz::TimeZone::UTC).ok()?.timestamp();
    (end < now).then_some(until)
}

fn field<'a>(answer: &'a str, name: &str) -> Option<&'a str> {
    let value = answer.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    value.map(str::trim).filter(|value| !value.is_empty())
}

fn fingerprint(der: &[u8]) -> String {
    let digest = ring::digest::digest(&ring::digest::SHA1_FOR_LEGACY_USE_ONLY, der);
    digits(digest.as_ref())
}

fn digits(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02X}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn certificate() -> (String, String) {
        let made = rcgen::generate_simple_self_signed(["a.example".to_owned()]).unwrap();
        (made.cert.pem(), made.signing_key.serialize_pem())
    }

    #[test]
    fn another_certificate_of_the_same_name_is_told_by_its_fingerprint() {
        let (pem, key) = certificate();
        let leaf = Leaf::of(&format!("{key}{pem}"));
        let answer = |print: &str| format!("Filename: ssl/a.pem\nStatus: Used\nSHA1 FingerPrint: {print}\n");
        let print = leaf.fingerprint.clone().unwrap();
        assert_eq!(print.len(), 40);
        assert_eq!(leaf.difference(&answer(&print)), None);
        let other = Leaf::of(&certificate().0);
        assert!(other.difference(&answer(&print)).unwrap().contains(&print));
        assert_eq!(leaf.difference("Can't display the certificate: Not found").unwrap(), "is not there");
        assert_eq!(leaf.difference("Filename: ssl/a.pem\nStatus: Empty\n").unwrap(), "is empty");
    }

    #[test]
    fn one_that_haproxy_shows_no_fingerprint_of_is_told_by_its_serial_number() {
        let key = rcgen::KeyPair::generate_for(&rcgen::PKCS_ED25519).unwrap();
        let mut wanted = rcgen::CertificateParams::new(["a.example".to_owned()]).unwrap();
        wanted.serial_number = Some(rcgen::SerialNumber::from_slice(&[0x48, 0xB9, 0x74, 0x12]));
        let leaf = Leaf::of(&wanted.self_signed(&key).unwrap().pem());
        let answer = |serial: &str| {
            format!("Filename: ssl/a.pem\nStatus: Used\nSerial: {serial}\nAlgorithm: OCSP Response Key: \n")
        };
        assert_eq!(leaf.difference(&answer("48B97412")), None);
        assert!(leaf.difference(&answer("02")).is_some(), "the version is no serial number");
        assert!(leaf.difference(&answer("48B97413")).unwrap().contains("48B97413"));
    }

    #[test]
    fn a_file_without_a_key_is_noticed() {
        let (pem, key) = certificate();
        assert!(!has_private_key(&pem));
        assert!(has_private_key(&format!("{pem}{key}")));
        assert!(!has_private_key(""));
    }

    #[test]
    fn an_expired_certificate_is_noticed() {
        let answer = "Filename: a\nnotBefore: Nov 21 14:28:51 2026 GMT\nnotAfter: Dec  4 14:28:51 2026 GMT\n";
        let at = |text: &str| expired_at(answer, text.parse().unwrap());
        assert_eq!(at("2026-12-04T14:28:52Z"), Some("Dec  4 14:28:51 2026 GMT"));
        assert_eq!(at("2026-12-04T14:28:50Z"), None);
        assert_eq!(expired_at("Filename: a\n", jiff::Timestamp::now()), None);
    }
}
