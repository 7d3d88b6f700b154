//! What the leader's Secret holds: the paths, and the certificates that it generated. Pure.

use super::{authority::CertifiedKey, paths::Paths};
use haptic_text::Sensitive;
use std::collections::BTreeMap;

/// The Secret's content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredEndpoint {
    /// Where the webhook is asked.
    pub paths: Paths,
    /// What the leader made; `None` when the certificate is somebody else's.
    pub generated: Option<Generated>,
}

/// An authority, and the certificate that it signed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Generated {
    /// Who signs.
    pub authority: CertifiedKey,
    /// Who is going to sign: made known to the API server before it does.
    pub next: Option<CertifiedKey>,
    /// Who signed before, as long as replicas may show what it signed. Its key is gone.
    pub previous: Option<String>,
    /// The certificate that is shown.
    pub serving: CertifiedKey,
}

impl Generated {
    /// All authorities that the API server is to trust, PEM.
    #[must_use]
    pub fn bundle(&self) -> String {
        let next = self.next.as_ref().map(|pair| &*pair.certificate);
        let all = [Some(&*self.authority.certificate), next, self.previous.as_deref()];
        let lines = all.into_iter().flatten().map(str::trim_end);
        lines.map(|pem| format!("{pem}\n")).collect()
    }
}

impl StoredEndpoint {
    /// From the keys of a Secret; `None` when the path, or half of a pair, is missing.
    #[must_use]
    pub fn read(data: &BTreeMap<String, Vec<u8>>) -> Option<Self> {
        let text = |key: &str| String::from_utf8(data.get(key)?.clone()).ok();
        let pair = |certificate: &str, key: &str| {
            Some(CertifiedKey { certificate: text(certificate)?, key: Sensitive::new(text(key)?) })
        };
        let path = |key: &str| text(key).filter(|path| Paths::is_secret(path)).map(Sensitive::new);
        let paths = Paths {
            current: path("path")?,
            previous: path("previous-path"),
            since: text("path-since").and_then(|since| since.parse().ok()).unwrap_or_default(),
        };
        let generated =
            pair("ca.crt", "ca.key").zip(pair("tls.crt", "tls.key")).map(|(authority, serving)| Generated {
                authority,
                next: pair("next-ca.crt", "next-ca.key"),
                previous: text("previous-ca.crt"),
                serving,
            });
        Some(Self { paths, generated })
    }

    /// The keys of a Secret.
    #[must_use]
    pub fn data(&self) -> BTreeMap<String, Vec<u8>> {
        let mut data = BTreeMap::new();
        let mut put = |key: &str, value: &str| drop(data.insert(key.to_owned(), value.as_bytes().to_vec()));
        put("path", self.paths.current.reveal());
        put("path-since", &self.paths.since.to_string());
        if let Some(previous) = &self.paths.previous {
            put("previous-path", previous.reveal());
        }
        if let Some(generated) = &self.generated {
            let pairs = [
                ("ca", Some(&generated.authority)),
                ("next-ca", generated.next.as_ref()),
                ("tls", Some(&generated.serving)),
            ];
            for (name, pair) in pairs {
                let Some(pair) = pair else { continue };
                put(&format!("{name}.crt"), &pair.certificate);
                put(&format!("{name}.key"), pair.key.reveal());
            }
            if let Some(previous) = &generated.previous {
                put("previous-ca.crt", previous);
            }
        }
        data
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair(name: &str) -> CertifiedKey {
        CertifiedKey {
            certificate: format!("{name} certificate\n"),
            key: Sensitive::new(format!("{name} key")),
        }
    }

    fn stored() -> StoredEndpoint {
        let generated = Generated {
            authority: pair("authority"),
            next: Some(pair("next")),
            previous: Some("previous certificate".into()),
            serving: pair("serving"),
        };
        let [current, previous] = ["a", "b"].map(|path| Sensitive::new(path.repeat(64)));
        StoredEndpoint {
            paths: Paths { current, previous: Some(previous), since: 7 },
            generated: Some(generated),
        }
    }

    #[test]
    fn what_was_written_is_read() {
        let without = StoredEndpoint { generated: None, ..stored() };
        for stored in [stored(), without] {
            assert_eq!(StoredEndpoint::read(&stored.data()), Some(stored));
        }
    }

    #[test]
    fn a_secret_without_a_path_worth_the_name_holds_nothing() {
        for path in ["", "short", &"../".repeat(20), &"a b".repeat(20)] {
            let mut data = stored().data();
            data.insert("path".into(), path.as_bytes().to_vec());
            assert_eq!(StoredEndpoint::read(&data), None, "{path:?}");
        }
    }

    #[test]
    fn the_api_server_trusts_the_next_authority_before_it_signs() {
        let bundle = stored().generated.unwrap().bundle();
        assert_eq!(bundle, "authority certificate\nnext certificate\nprevious certificate\n");
    }
}
