//! Phase 1 for pods with the Data Plane API: what it would damage or refuse is found before anything is sent there.

use crate::report::at_line;
use haptic_haproxy::{Document, data_plane_api};
use haptic_model::{Bundle, BundleFile, Diagnostic, FileKind};

/// What an Ed25519 key in PKCS #8 begins with, in Base64: its version, and the algorithm's object identifier 1.3.101.112
/// (RFC 8410).
const ED25519: [&str; 2] = ["MC4CAQAwBQYDK2Vw", "MFECAQEwBQYDK2Vw"];

/// As [`problems`], for a haproxy.cfg that was not read otherwise.
pub(crate) fn alone(bundle: &Bundle) -> Vec<Diagnostic> {
    if !bundle.is_for_data_plane_api() {
        return Vec::new();
    }
    let mut found = problems(bundle, &Document::parse(&bundle.config.text.to_string()));
    bundle.redact(&mut found);
    found
}

/// What the API would make of `bundle`, whose haproxy.cfg is `document`, that nobody meant. Nothing for other pods' bundles.
pub(crate) fn problems(bundle: &Bundle, document: &Document<'_>) -> Vec<Diagnostic> {
    if !bundle.is_for_data_plane_api() {
        return Vec::new();
    }
    let refused = data_plane_api::refusals(document).into_iter().map(|problem| {
        let line = u32::try_from(problem.line).unwrap_or(u32::MAX);
        let diagnostic = Diagnostic { help: problem.help, ..Diagnostic::error("syntax", problem.message) };
        at_line(diagnostic, &bundle.config, line)
    });
    let certificates = bundle.files.values().filter(|file| file.key.kind == FileKind::Certificate);
    let large = bundle.files.values().filter_map(|file| too_large(file));
    refused.chain(certificates.filter_map(|file| of_certificate(file))).chain(large).collect()
}

fn too_large(file: &BundleFile) -> Option<Diagnostic> {
    let (path, bytes) = (&file.path, file.text.len());
    let message =
        format!("{path} has {bytes} bytes; the Data Plane API is sent at most {}", data_plane_api::LARGEST);
    let help = "use dataplane.transport agent, or split the file";
    let is_large = bytes > data_plane_api::LARGEST;
    is_large.then(|| at_line(Diagnostic::error("syntax", message).help(help), file, 1))
}

/// Its storage takes a certificate with its RSA or ECDSA key, and writes the file also when it then refuses it.
fn of_certificate(file: &BundleFile) -> Option<Diagnostic> {
    let text = file.text.to_string();
    let has = |what: &str| text.contains(what);
    let (what, help) = if !has("-----BEGIN CERTIFICATE-----") || !has("PRIVATE KEY-----") {
        ("a certificate together with its key", "put CA certificates into files, not sslCertificates")
    } else if ED25519.iter().any(|key| has(key)) {
        ("RSA and ECDSA keys, and this one is Ed25519", "make a certificate with an ECDSA key")
    } else {
        return None;
    };
    let message = format!("The Data Plane API stores only {what}: {}", file.path);
    Some(at_line(Diagnostic::error("syntax", message).help(help), file, 1))
}

#[cfg(test)]
mod tests {
    use crate::syntax::{Syntax, problems};
    use haptic_model::{Bundle, BundleFile, Diagnostic, FileKey, FileKind, HaproxyVersion, crd::Allowance};
    use haptic_text::Text;

    const ALLOWED: [Allowance; 1] = [Allowance::OutsideFiles];
    const PAIR: &str = "-----BEGIN CERTIFICATE-----\nMII\n-----END CERTIFICATE-----\n-----BEGIN PRIVATE KEY-----\nMIG\n-----END PRIVATE KEY-----\n";

    fn bundle(config: &str, certificate: &str) -> Bundle {
        let kind = FileKey::new(FileKind::Certificate, "a.pem");
        let certificate = BundleFile::new(kind, "/etc/haproxy/ssl/a.pem", Text::plain(certificate));
        let config = BundleFile::new(FileKey::config(), "/etc/haproxy/haproxy.cfg", Text::plain(config));
        Bundle::new(config, [certificate])
    }

    /// The same one after another, as the controller asks.
    fn found(config: &str, certificate: &str) -> Vec<Diagnostic> {
        let (bundle, versions) = (bundle(config, certificate), [HaproxyVersion::new(3, 4)]);
        let found = problems(&bundle, &versions, &ALLOWED);
        assert_eq!(Syntax::default().problems(&bundle, &versions, &ALLOWED), found);
        found
    }

    const CONFIG: &str = "defaults d\n  mode http\nfrontend f from d\n  bind :80\n";

    #[test]
    fn what_the_api_would_damage_is_refused_with_its_line() {
        assert_eq!(found(CONFIG, PAIR), []);
        let told = found(&format!("{CONFIG}.if feature(OPENSSL)\n.endif\n"), PAIR);
        assert_eq!(told.len(), 2, "{told:?}");
        assert_eq!(
            told[0].output.as_ref().map(|place| (place.line, &*place.text)),
            Some((5, ".if feature(OPENSSL)"))
        );
    }

    #[test]
    fn the_agents_bundles_may_hold_what_the_api_would_damage() {
        let text = format!("{CONFIG}.if feature(OPENSSL)\n.endif\n");
        let config = BundleFile::new(FileKey::config(), "haproxy.cfg", Text::plain(&text));
        assert_eq!(problems(&Bundle::new(config, []), &[HaproxyVersion::new(3, 4)], &ALLOWED), []);
    }

    #[test]
    fn certificates_that_its_storage_refuses_are_told() {
        let alone = found(CONFIG, PAIR.split_inclusive("-----END CERTIFICATE-----\n").next().unwrap());
        assert!(alone.len() == 1 && alone[0].to_string().contains("together with its key"), "{alone:?}");
        let ed25519 = found(CONFIG, &PAIR.replace("MIG", "MC4CAQAwBQYDK2VwBCIEIA=="));
        assert!(ed25519.len() == 1 && ed25519[0].to_string().contains("this one is Ed25519"), "{ed25519:?}");
    }

    #[test]
    fn a_file_that_is_not_in_the_bundle_is_missed_in_its_folders() {
        let rule = |path: &str| format!("{CONFIG}  http-request deny if {{ src -f {path} }}\n");
        assert_eq!(found(&rule("/etc/other/a.lst"), PAIR), [], "the pod's own");
        let told = found(&rule("/etc/haproxy/ssl/b.lst"), PAIR);
        assert!(told.len() == 1 && told[0].to_string().contains("/etc/haproxy/ssl/b.lst"), "{told:?}");
    }
}
