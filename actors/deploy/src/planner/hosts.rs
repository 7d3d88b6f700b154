//! The hosts that a certificate itself is for: a crt-list's line that names none takes these.

use std::collections::BTreeSet;
use x509_parser::{extensions::GeneralName, pem::Pem};

/// Names among the certificate's alternative names, and the common names of its subject, as HAProxy takes them
/// (`ckch_inst_new_load_store`), in lower case; `None` for a text whose first certificate cannot be read.
pub(super) fn hosts_of(pem: &str) -> Option<BTreeSet<String>> {
    let certificate =
        Pem::iter_from_buffer(pem.as_bytes()).flatten().find(|block| block.label == "CERTIFICATE")?;
    let certificate = certificate.parse_x509().ok()?;
    let alternative = certificate.subject_alternative_name().ok()?;
    let names =
        alternative.iter().flat_map(|names| &names.value.general_names).filter_map(|name| match name {
            GeneralName::DNSName(name) => Some(*name),
            _ => None,
        });
    let common = certificate.subject().iter_common_name().filter_map(|name| name.as_str().ok());
    Some(names.chain(common).map(str::to_lowercase).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_the_common_name_are_found() {
        let mut params =
            rcgen::CertificateParams::new(["A.example".to_owned(), "*.b.example".to_owned()]).unwrap();
        params.distinguished_name.push(rcgen::DnType::CommonName, "c.example");
        let pem = params.self_signed(&rcgen::KeyPair::generate().unwrap()).unwrap().pem();
        let hosts: Vec<String> = hosts_of(&format!("# first the key\n{pem}")).unwrap().into_iter().collect();
        assert_eq!(hosts, ["*.b.example", "a.example", "c.example"]);
        assert_eq!(hosts_of("-----BEGIN CERTIFICATE-----\nx\n-----END CERTIFICATE-----\n"), None);
    }
}
