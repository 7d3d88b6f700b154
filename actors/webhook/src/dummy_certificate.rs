//! Another certificate and key in place of those that a change has nothing to do with: a check for one tenant holds no other's key.
//!
//! HAProxy reads them as it would the real ones. The pipeline has checked the real ones when they became active.

use super::endpoint::authority::{self, CertifiedKey};
use haptic_model::{Bundle, BundleFile, FileKind, ObjectRef};
use haptic_text::Text;
use std::{
    collections::HashSet,
    sync::Arc,
    time::{SystemTime, UNIX_EPOCH},
};

/// What the line begins with before a key, or a certificate that may belong to one (RFC 7468, as OpenSSL reads it). In the middle of a line, as
/// in a script that makes such a text, it is none.
const MARK: &str = "-----BEGIN ";

/// What that line ends with.
const MARKED: [&str; 2] = ["PRIVATE KEY-----", "CERTIFICATE-----"];

/// What HAProxy reads beside a certificate and holds against it.
const COMPANIONS: [&str; 3] = [".ocsp", ".issuer", ".sctl"];

/// So long is the stand-in valid, in seconds: longer than a controller runs.
const LIFETIME: i64 = 10 * 365 * 24 * 3600;

/// A certificate that nobody uses, with its key.
#[derive(Clone, Debug)]
pub struct DummyCertificate(Text);

/// The paths of the files that belong to a change.
pub type OwnPaths = HashSet<Arc<str>>;

impl DummyCertificate {
    /// A new one.
    ///
    /// # Errors
    /// There is no randomness.
    pub fn new() -> Result<Self, String> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        let CertifiedKey { certificate, key } =
            authority::authority(i64::try_from(now).unwrap_or_default(), LIFETIME)?;
        Ok(Self(Text::plain(&format!("{certificate}{}", key.reveal()))))
    }

    /// `bundle` with this in place of every certificate and key that is not `own`.
    #[must_use]
    pub fn in_place(&self, bundle: &Bundle, own: &OwnPaths) -> Bundle {
        let is_strange = |file: &BundleFile| !own.contains(&file.path) && holds_keys(file);
        let companion = |file: &BundleFile| {
            let of = COMPANIONS.iter().find_map(|ending| file.path.strip_suffix(ending));
            of.and_then(|path| bundle.files.get(path)).is_some_and(|certificate| is_strange(certificate))
        };
        let files = bundle.files.values().filter(|file| !companion(file)).map(|file| {
            if is_strange(file) {
                BundleFile::new(file.key.clone(), &file.path, self.0.clone())
            } else {
                (**file).clone()
            }
        });
        Bundle::new((*bundle.config).clone(), files)
    }
}

/// The files of `after` that belong to a change: they are others than `before`, or were printed for one of `changed`.
#[must_use]
pub fn own(after: &Bundle, before: Option<&Bundle>, changed: &HashSet<Arc<ObjectRef>>) -> OwnPaths {
    let is_new = |file: &BundleFile| {
        before.is_some_and(|before| before.files.get(&file.path).is_none_or(|old| old.digest != file.digest))
    };
    let is_printed = |file: &BundleFile| {
        let mut objects = file.text.fragments().iter().flat_map(|fragment| &fragment.blame().objects);
        objects.any(|object| changed.contains(object))
    };
    let files = after.files.values().filter(|file| is_new(file) || is_printed(file));
    files.map(|file| file.path.clone()).collect()
}

fn holds_keys(file: &BundleFile) -> bool {
    if !matches!(file.key.kind, FileKind::Certificate | FileKind::General) {
        return false;
    }
    // A mark may begin in one fragment and end in the next one.
    let text = file.text.to_string();
    let marked = text.lines().filter(|line| line.starts_with(MARK));
    marked.map(str::trim_end).any(|line| MARKED.iter().any(|mark| line.ends_with(mark)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use haptic_model::FileKey;
    use haptic_validate::{Binaries, CheckLimits, Checker, Sandbox};

    const CONFIG: &str = "
defaults
    mode http
    timeout client 5s
    timeout server 5s
    timeout connect 5s
crt-store shop
    load crt ssl/c.pem key ssl/c.key
frontend web
    bind :8443 ssl crt ssl/a.pem crt ssl/b.pem crt @shop/ssl/c.pem ca-file ssl/ca.pem verify optional
    bind :8444 ssl crt-list ssl/list.txt
";

    fn bundle(files: &[(&str, &str)]) -> Bundle {
        let file = |(path, text): &(&str, &str)| {
            let kind = if path.ends_with(".txt") { FileKind::CrtList } else { FileKind::Certificate };
            BundleFile::new(FileKey::new(kind, path), path, Text::plain(text))
        };
        let config = BundleFile::new(FileKey::config(), "haproxy.cfg", Text::plain(CONFIG));
        Bundle::new(config, files.iter().map(file))
    }

    #[tokio::test]
    async fn haproxy_takes_it_in_every_place_and_only_own_keys_are_left() {
        let pair = || authority::authority(1_700_000_000, LIFETIME).unwrap();
        let [a, b, c, ca] = [pair(), pair(), pair(), pair()];
        let whole = |pair: &CertifiedKey| format!("{}{}", pair.certificate, pair.key.reveal());
        let (a_whole, list) = (whole(&a), "ssl/a.pem [alpn h2] a.example\n");
        let before = bundle(&[
            ("ssl/a.pem", &a_whole),
            ("ssl/b.pem", &b.certificate),
            ("ssl/b.pem.key", b.key.reveal()),
            ("ssl/b.pem.ocsp", "an answer about b"),
            ("ssl/c.pem", &c.certificate),
            ("ssl/c.key", c.key.reveal()),
            ("ssl/ca.pem", &ca.certificate),
            ("ssl/list.txt", list),
        ]);
        let new = whole(&pair());
        let mut after = before.clone();
        after.files.insert(
            "ssl/a.pem".into(),
            Arc::new(BundleFile::new(
                FileKey::new(FileKind::Certificate, "ssl/a.pem"),
                "ssl/a.pem",
                Text::plain(&new),
            )),
        );
        let own = own(&after, Some(&before), &HashSet::new());
        assert_eq!(own, OwnPaths::from(["ssl/a.pem".into()]));
        let seen = DummyCertificate::new().unwrap().in_place(&after, &own);
        assert_eq!(seen.files["ssl/a.pem"].text.to_string(), new);
        assert_eq!(seen.files["ssl/list.txt"].text.to_string(), list);
        let all: String = seen.all().map(|file| file.text.to_string()).collect();
        for strange in [&b, &c] {
            assert!(!all.contains(strange.key.reveal()), "another tenant's key is there");
        }
        let haproxys = ["3_0", "3_2", "3_4"].map(|version| {
            std::env::var_os(format!("HAPTIC_HAPROXY_{version}")).expect("run this through `make test`")
        });
        let binaries = Binaries::probe(haproxys).unwrap();
        let versions = [(3, 0), (3, 2), (3, 4)].map(|(a, b)| haptic_model::HaproxyVersion::new(a, b));
        let checker = Checker::new(binaries, CheckLimits::default(), Sandbox::none());
        let verdict = checker.semantics(&seen, &versions).await;
        assert!(verdict.passed(), "{:?}", verdict.diagnostics);
    }

    #[test]
    fn without_a_bundle_before_what_was_printed_for_the_change_is_its_own() {
        let only = bundle(&[("ssl/a.pem", "-----BEGIN CERTIFICATE-----\n")]);
        assert!(own(&only, None, &HashSet::new()).is_empty());
    }

    #[test]
    fn only_what_openssl_takes_for_a_key_or_certificate_is_replaced() {
        let dummy = DummyCertificate::new().unwrap();
        let seen_of = |text: &str| {
            let file = BundleFile::new(FileKey::new(FileKind::General, "a"), "a", Text::plain(text));
            let config = BundleFile::new(FileKey::config(), "haproxy.cfg", Text::plain(CONFIG));
            let seen = dummy.in_place(&Bundle::new(config, [file]), &OwnPaths::new());
            seen.files["a"].text.to_string()
        };
        let script = "return \"-----BEGIN CERTIFICATE-----\\n\" .. lines\n  -----BEGIN PRIVATE KEY-----\n";
        assert_eq!(seen_of(script), script);
        for kind in
            ["CERTIFICATE", "TRUSTED CERTIFICATE", "PRIVATE KEY", "EC PRIVATE KEY", "ENCRYPTED PRIVATE KEY"]
        {
            for end in ["\n", "\r\n", " \n"] {
                let text = format!("# of a tenant\n-----BEGIN {kind}-----{end}secret\n");
                assert!(!seen_of(&text).contains("secret"), "{text}");
            }
        }
    }
}
