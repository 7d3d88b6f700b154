//! What the leader's Secret holds: the paths, and the certificates that it made. Pure.

use super::{authority::Pair, paths::Paths};
use haptic_model::secret::Sensitive;
use std::collections::BTreeMap;

/// The Secret's content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kept {
    /// Where the webhook is asked.
    pub paths: Paths,
    /// What the leader made; `None` when the certificate is somebody else's.
    pub made: Option<Made>,
}

/// An authority, and the certificate that it signed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Made {
    /// Who signs.
    pub authority: Pair,
    /// Who is going to sign: made known to the API server before it does.
    pub next: Option<Pair>,
    /// Who signed before, as long as replicas may show what it signed. Its key is gone.
    pub previous: Option<String>,
    /// The certificate that is shown.
    pub serving: Pair,
}

impl Made {
    /// All authorities that the API server is to trust, PEM.
    #[must_use]
    pub fn bundle(&self) -> String {
        let next = self.next.as_ref().map(|pair| &*pair.certificate);
        let all = [Some(&*self.authority.certificate), next, self.previous.as_deref()];
        let lines = all.into_iter().flatten().map(str::trim_end);
        lines.map(|pem| format!("{pem}\n")).collect()
    }
}

impl Kept {
    /// From the keys of a Secret; `None` when the path, or half of a pair, is missing.
    #[must_use]
    pub fn read(data: &BTreeMap<String, Vec<u8>>) -> Option<Self> {
        let text = |key: &str| String::from_utf8(data.get(key)?.clone()).ok();
        let pair = |certificate: &str, key: &str| {
            Some(Pair { certificate: text(certificate)?, key: Sensitive::new(text(key)?) })
        };
        let path = |key: &str| text(key).filter(|path| Paths::is_secret(path)).map(Sensitive::new);
        let paths = Paths {
            current: path("path")?,
            previous: path("previous-path"),
            since: text("path-since").and_then(|since| since.parse().ok()).unwrap_or_default(),
        };
        let made =
            pair("ca.crt", "ca.key").zip(pair("tls.crt", "tls.key")).map(|(authority, serving)| Made {
                authority,
                next: pair("next-ca.crt", "next-ca.key"),
                previous: text("previous-ca.crt"),
                serving,
            });
        Some(Self { paths, made })
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
        if let Some(made) = &self.made {
            let pairs = [
                ("ca", Some(&made.authority)),
                ("next-ca", made.next.as_ref()),
                ("tls", Some(&made.serving)),
            ];
            for (name, pair) in pairs {
                let Some(pair) = pair else { continue };
                put(&format!("{name}.crt"), &pair.certificate);
                put(&format!("{name}.key"), pair.key.reveal());
            }
            if let Some(previous) = &made.previous {
                put("previous-ca.crt", previous);
            }
        }
        data
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair(name: &str) -> Pair {
        Pair { certificate: format!("{name} certificate\n"), key: Sensitive::new(format!("{name} key")) }
    }

    fn kept() -> Kept {
        let made = Made {
            authority: pair("authority"),
            next: Some(pair("next")),
            previous: Some("previous certificate".into()),
            serving: pair("serving"),
        };
        let [current, previous] = ["a", "b"].map(|path| Sensitive::new(path.repeat(64)));
        Kept { paths: Paths { current, previous: Some(previous), since: 7 }, made: Some(made) }
    }

    #[test]
    fn what_was_written_is_read() {
        let without = Kept { made: None, ..kept() };
        for kept in [kept(), without] {
            assert_eq!(Kept::read(&kept.data()), Some(kept));
        }
    }

    #[test]
    fn a_secret_without_a_path_worth_the_name_holds_nothing() {
        for path in ["", "short", &"../".repeat(20), &"a b".repeat(20)] {
            let mut data = kept().data();
            data.insert("path".into(), path.as_bytes().to_vec());
            assert_eq!(Kept::read(&data), None, "{path:?}");
        }
    }

    #[test]
    fn the_api_server_trusts_the_next_authority_before_it_signs() {
        let bundle = kept().made.unwrap().bundle();
        assert_eq!(bundle, "authority certificate\nnext certificate\nprevious certificate\n");
    }
}
