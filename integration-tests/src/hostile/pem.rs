//! PEM that is broken in each way that somebody reads otherwise, and keys and certificates of each kind that OpenSSL knows.

use crate::{certificate::Certificate, failure::Outcome};
use std::{fs, path::Path};

/// The files of `fixtures/hostile/pem`: name and text.
pub fn kinds() -> Outcome<Vec<(String, String)>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/hostile/pem");
    let mut kinds = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        kinds.push((name, fs::read_to_string(path)?));
    }
    kinds.sort();
    Ok(kinds)
}

/// Texts made of a good block that are not quite one.
#[must_use]
pub fn broken(good: &str) -> Vec<(&'static str, String)> {
    let (begin, end) = ("-----BEGIN CERTIFICATE-----", "-----END CERTIFICATE-----");
    let inside = good.replace(begin, "").replace(end, "");
    let flat: String = inside.split_whitespace().collect();
    vec![
        ("empty", String::new()),
        ("no end", good.replace(end, "")),
        ("no beginning", good.replace(begin, "")),
        ("begins twice", format!("{begin}\n{good}")),
        ("ends twice", format!("{good}{end}\n")),
        ("good, then cut off", format!("{good}{begin}\n{}", flat.get(..40).unwrap_or_default())),
        ("one inside the other", good.replace(end, &format!("{good}{end}"))),
        ("another name at the end", good.replace(end, "-----END X509 CRL-----")),
        ("trusted", good.replace("CERTIFICATE", "TRUSTED CERTIFICATE")),
        ("a revocation list", good.replace("CERTIFICATE", "X509 CRL")),
        ("a private key", good.replace("CERTIFICATE", "PRIVATE KEY")),
        ("parameters", good.replace("CERTIFICATE", "EC PARAMETERS")),
        (
            "good, then each kind of another",
            KINDS.iter().fold(good.to_owned(), |text, kind| {
                format!("{text}-----BEGIN {kind}-----\n{flat}\n-----END {kind}-----\n")
            }),
        ),
        (
            "headers",
            good.replace(begin, &format!("{begin}\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,00\n\n")),
        ),
        ("one line", format!("{begin}\n{flat}\n{end}\n")),
        (
            "one character a line",
            format!("{begin}\n{}{end}\n", flat.chars().fold(String::new(), |text, c| format!("{text}{c}\n"))),
        ),
        ("no line ends", good.replace('\n', "")),
        ("carriage returns alone", good.replace('\n', "\r")),
        ("blanks before each line", good.replace('\n', "\n ")),
        ("a byte order mark", format!("\u{feff}{good}")),
        ("a zero before", format!("\0{good}")),
        ("a zero inside", good.replace(end, &format!("\0{end}"))),
        ("marks inside", good.replace(end, &format!("\u{e000}\u{e001}\u{e002}{end}"))),
        ("marks between", format!("{good}\u{e000}\u{e001}\n{good}")),
        ("marks instead", "\u{e000}1\u{e001}2\u{e002}".repeat(100)),
        ("no base64", format!("{begin}\n!!!!\n{end}\n")),
        ("base64 of nothing", format!("{begin}\n{end}\n")),
        ("base64 of something else", format!("{begin}\n{}\n{end}\n", "AAAA".repeat(400))),
        ("a length that lies", format!("{begin}\nMIT/////{}\n{end}\n", "AAAA".repeat(40))),
        ("text around", format!("subject=/CN=x\n{good}\nissuer=/CN=y\n")),
        ("a directive behind", format!("{good}\nglobal\n  lua-load /tmp/x\n")),
        ("lower case", good.to_lowercase()),
        ("six dashes", good.replace("-----", "------")),
        ("a path", "/etc/passwd".into()),
    ]
}

const KINDS: [&str; 12] = [
    "CERTIFICATE REQUEST",
    "NEW CERTIFICATE REQUEST",
    "X509 CERTIFICATE",
    "TRUSTED CERTIFICATE",
    "X509 CRL",
    "PUBLIC KEY",
    "PRIVATE KEY",
    "ENCRYPTED PRIVATE KEY",
    "DH PARAMETERS",
    "EC PARAMETERS",
    "PKCS7",
    "SSL SESSION PARAMETERS",
];

/// The same certificate again and again, up to `size` bytes.
#[must_use]
pub fn repeated(certificate: &Certificate, size: usize) -> String {
    certificate.pem.repeat(size / certificate.pem.len())
}
