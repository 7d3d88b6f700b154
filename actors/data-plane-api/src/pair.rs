//! Whether a certificate and its key belong together. One pair that does not, once it is in the API's storage, makes every later
//! push and every other certificate fail; so it is found before.

use rustls::{
    crypto::ring::sign::any_supported_type,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject},
    sign::CertifiedKey,
};

/// # Errors
/// What is wrong with the pair in `pem`.
pub(crate) fn check(pem: &str) -> Result<(), String> {
    let chain: Vec<CertificateDer<'_>> = CertificateDer::pem_slice_iter(pem.as_bytes())
        .collect::<Result<_, _>>()
        .map_err(|error| format!("no certificate can be read in it ({error})"))?;
    if chain.is_empty() {
        return Err("there is no certificate in it".to_owned());
    }
    let key = PrivateKeyDer::from_pem_slice(pem.as_bytes())
        .map_err(|error| format!("no key can be read in it ({error})"))?;
    // Keys of other kinds are HAProxy's to judge.
    let Ok(key) = any_supported_type(&key) else { return Ok(()) };
    match CertifiedKey::new(chain, key).keys_match() {
        Err(rustls::Error::InconsistentKeys(rustls::InconsistentKeys::KeyMismatch)) => {
            Err("its key does not belong to its certificate".to_owned())
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_of_another_certificate_is_found() {
        let made = |host: &str| rcgen::generate_simple_self_signed([host.to_owned()]).unwrap();
        let (one, other) = (made("a.example"), made("b.example"));
        let pem = |certificate: &str, key: String| format!("{certificate}{key}");
        assert_eq!(check(&pem(&one.cert.pem(), one.signing_key.serialize_pem())), Ok(()));
        let mixed = check(&pem(&one.cert.pem(), other.signing_key.serialize_pem()));
        assert_eq!(mixed, Err("its key does not belong to its certificate".to_owned()));
        assert!(check("x").is_err() && check(&one.cert.pem()).is_err());
    }
}
