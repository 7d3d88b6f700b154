//! A certificate that somebody else makes and renews: the files of a folder, or the keys of a Secret.

use super::authority::facts;
use super::certified;
use haptic_text::Sensitive;
use rustls::sign::CertifiedKey;
use std::{collections::BTreeMap, path::Path};

/// The certificate to show, and the authorities that the API server is to trust.
#[derive(Clone, Debug)]
pub struct ServingCertificate {
    /// `tls.crt`, with those above it.
    pub chain: String,
    /// `tls.key`.
    pub key: Sensitive,
    /// `ca.crt`; without it somebody else writes the registration's `caBundle`.
    pub bundle: Option<String>,
}

impl ServingCertificate {
    /// From the keys of a Secret.
    ///
    /// # Errors
    /// Which key is missing.
    pub fn of_secret(data: &BTreeMap<String, Vec<u8>>) -> Result<Self, String> {
        let text = |key: &str| data.get(key).and_then(|bytes| String::from_utf8(bytes.clone()).ok());
        let needed = |key: &str| text(key).ok_or_else(|| format!("it has no {key}"));
        Ok(Self {
            chain: needed("tls.crt")?,
            key: Sensitive::new(needed("tls.key")?),
            bundle: text("ca.crt"),
        })
    }

    /// From the files of a folder.
    ///
    /// # Errors
    /// Which file cannot be read.
    pub fn of_folder(folder: &Path) -> Result<Self, String> {
        let read = |name: &str| std::fs::read_to_string(folder.join(name));
        let needed = |name: &str| {
            read(name).map_err(|error| format!("{} cannot be read: {error}", folder.join(name).display()))
        };
        Ok(Self {
            chain: needed("tls.crt")?,
            key: Sensitive::new(needed("tls.key")?),
            bundle: read("ca.crt").ok(),
        })
    }

    /// As TLS shows it, and the end of its validity in seconds since 1970.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn certified(&self) -> Result<(CertifiedKey, i64), String> {
        let certified = certified(&self.chain, self.key.reveal())?;
        Ok((certified, facts(&self.chain)?.until))
    }
}

#[cfg(test)]
mod tests {
    use super::super::authority;
    use super::*;

    #[test]
    fn a_folder_is_read_and_what_is_wrong_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let why = ServingCertificate::of_folder(folder.path()).unwrap_err();
        assert!(why.contains("tls.crt cannot be read"), "{why}");
        let authority = authority::authority(1_800_000_000, 100).unwrap();
        let pair = authority::certificate(&authority, &["a.example".into()], 1_800_000_000, 50).unwrap();
        std::fs::write(folder.path().join("tls.crt"), &pair.certificate).unwrap();
        std::fs::write(folder.path().join("tls.key"), authority.key.reveal()).unwrap();
        let why = ServingCertificate::of_folder(folder.path()).unwrap().certified().unwrap_err();
        assert!(why.contains("do not fit together"), "{why}");
        std::fs::write(folder.path().join("tls.key"), pair.key.reveal()).unwrap();
        let shown = ServingCertificate::of_folder(folder.path()).unwrap();
        assert_eq!((shown.certified().unwrap().1, shown.bundle), (1_800_000_050, None));
    }
}
