//! Certificates and the crt-lists that name them.
//!
//! HAProxy serves the first line of a crt-list that fits a host, and what is added at run time comes last; so a line
//! that must win over a later one needs a reload, and so does a default certificate.

use super::{
    authorities::fits_socket,
    crt_list::{CrtListDifference, CrtListLine, difference, entries},
    usages::{How, Usages},
};
use haptic_model::{Bundle, BundleFile, Capabilities, Operation};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};
use x509_parser::{
    der_parser::Oid,
    extensions::GeneralName,
    oid_registry::{OID_KEY_TYPE_EC_PUBLIC_KEY, OID_PKCS1_RSAENCRYPTION},
    pem::Pem,
};

/// Files that HAProxy reads beside a certificate.
const COMPANIONS: &[&str] = &["key", "ocsp", "issuer", "sctl", "rsa", "ecdsa", "dsa"];
/// Bytes of a crt-list line that the socket takes.
const LONGEST_LINE: usize = 8000;

/// What the certificates and crt-lists of a running HAProxy are and shall be.
pub(super) struct CertificateChanges<'a> {
    pub old: &'a Bundle,
    pub new: &'a Bundle,
    pub usages: &'a Usages,
    pub desired_usages: &'a Usages,
    pub capabilities: Capabilities,
}

/// What was found: operations, and reasons to reload.
#[derive(Debug, Default)]
pub(super) struct CertificateFindings {
    pub operations: Vec<Operation>,
    pub reasons: Vec<String>,
    /// Files that are dealt with.
    pub known: BTreeSet<String>,
}

/// What becomes of a certificate among those that HAProxy has loaded.
#[derive(Clone, Copy)]
enum CertificateUse {
    Leaves,
    Stays,
    Comes,
}

/// One crt-list before and after.
struct List<'t> {
    path: &'t str,
    strict_sni: bool,
    old: Vec<CrtListLine<'t>>,
    new: Vec<CrtListLine<'t>>,
}

impl CertificateChanges<'_> {
    /// Compares everything.
    pub fn findings(&self) -> CertificateFindings {
        let texts = self.list_texts();
        let mut findings = CertificateFindings::default();
        let mut lists = Vec::new();
        for (path, (old, new)) in &texts {
            findings.known.insert((*path).to_owned());
            match self.list(path, old, new) {
                Ok(list) => lists.push(list),
                Err(why) => findings.reasons.push(format!("crt-list {path}: {why}")),
            }
        }
        for list in &lists {
            match self.lines(list) {
                Ok(operations) => findings.operations.extend(operations),
                Err(why) => findings.reasons.push(format!("crt-list {}: {why}", list.path)),
            }
        }
        self.files(&lists, &mut findings);
        findings
    }

    /// Old and new text of each crt-list in use.
    fn list_texts(&self) -> BTreeMap<&str, (String, String)> {
        let is_list = |how: &How| matches!(how, How::CrtList { .. });
        let lists = self.usages.all().filter(|(_, usages)| usages.iter().any(|usage| is_list(&usage.how)));
        let text = |bundle: &Bundle, path: &str| bundle.files.get(path).map(|file| file.text.to_string());
        lists.filter_map(|(path, _)| Some((path, (text(self.old, path)?, text(self.new, path)?)))).collect()
    }

    fn list<'t>(&self, path: &'t str, old: &'t str, new: &'t str) -> Result<List<'t>, String> {
        let unreadable = || "a line has quotes or brackets that only HAProxy reads".to_owned();
        let strict = |how: &How| matches!(how, How::CrtList { strict_sni: true });
        Ok(List {
            path,
            strict_sni: self.usages.of(path).iter().all(|usage| strict(&usage.how)),
            old: entries(old).ok_or_else(unreadable)?,
            new: entries(new).ok_or_else(unreadable)?,
        })
    }

    fn lines(&self, list: &List<'_>) -> Result<Vec<Operation>, String> {
        let CrtListDifference { added, removed } = difference(&list.old, &list.new);
        if added.is_empty() && removed.is_empty() {
            return Ok(Vec::new());
        }
        if self.usages.renames_certificates {
            return Err(
                "with crt-base or a crt-store its names are known only when HAProxy starts".to_owned()
            );
        }
        if !list.strict_sni
            && list.old.first().map(CrtListLine::line) != list.new.first().map(CrtListLine::line)
        {
            return Err("its first line is the default certificate, chosen when HAProxy starts".to_owned());
        }
        let mut operations = Vec::new();
        for (position, entry) in &added {
            self.check_line(entry)?;
            let later = list.new.iter().enumerate().skip(position + 1);
            let mut kept = later.filter(|(at, _)| !added.iter().any(|(position, _)| position == at));
            if let Some((_, winner)) = kept.find(|(_, later)| self.compete(later, entry)) {
                return Err(format!(
                    "{} must come before {}, and what is added at run time comes last",
                    entry.certificate, winner.certificate
                ));
            }
            operations.push(Operation::AddCrtListLine { list: list.path.to_owned(), line: entry.line() });
        }
        let is_alike = |one: &CrtListLine<'_>, other: &CrtListLine<'_>| {
            one.certificate == other.certificate && one.hosts == other.hosts
        };
        let is_new = |at: usize| added.iter().any(|(position, _)| *position == at);
        let kept = || list.new.iter().enumerate().filter(|(at, _)| !is_new(*at)).map(|(_, kept)| kept);
        for entry in &removed {
            if kept().any(|kept| is_alike(kept, entry)) {
                return Err(format!("two lines of {} name the same hosts", entry.certificate));
            }
        }
        let gone = removed
            .iter()
            .map(|entry| Operation::DeleteCrtListLine { list: list.path.to_owned(), line: entry.line() });
        operations.extend(gone);
        Ok(operations)
    }

    fn check_line(&self, entry: &CrtListLine<'_>) -> Result<(), String> {
        let certificate = entry.certificate;
        // With other authorities connections that former ones let in would count as verified: those of a process that ends do not go on.
        if entry.options.contains("file ") || entry.options.contains("ocsp-update") {
            return Err(format!("{certificate} has options that are read only when HAProxy starts"));
        }
        if entry.line().len() > LONGEST_LINE || entry.line().chars().any(char::is_control) {
            return Err(format!("the line of {certificate} is too long for the socket"));
        }
        Ok(())
    }

    /// The certificates that HAProxy has loaded, and shall have.
    fn files(&self, lists: &[List<'_>], findings: &mut CertificateFindings) {
        let named = |how: &How| *how == How::Certificate;
        let of = |usages: &Usages, side: fn(&List<'_>) -> Vec<String>| -> BTreeSet<String> {
            let by_lines = usages.all().filter(|(_, usages)| usages.iter().any(|usage| named(&usage.how)));
            lists.iter().flat_map(side).chain(by_lines.map(|(path, _)| path.to_owned())).collect()
        };
        let loaded = of(self.usages, |list| certificates_of(&list.old));
        let wanted = of(self.desired_usages, |list| certificates_of(&list.new));
        for certificate in loaded.union(&wanted) {
            findings.known.insert(certificate.clone());
            let usage = match (loaded.contains(certificate), wanted.contains(certificate)) {
                (true, true) => CertificateUse::Stays,
                (true, false) => CertificateUse::Leaves,
                (false, _) => CertificateUse::Comes,
            };
            match self.file(certificate, usage, lists) {
                Ok(operation) => findings.operations.extend(operation),
                Err(why) => findings.reasons.push(format!("certificate {certificate} {why}")),
            }
        }
    }

    fn file(
        &self,
        path: &str,
        usage: CertificateUse,
        lists: &[List<'_>],
    ) -> Result<Option<Operation>, String> {
        let certificate = path.to_owned();
        match (usage, self.old.files.get(path), self.new.files.get(path)) {
            (CertificateUse::Leaves, ..) => Ok(Some(Operation::DeleteCertificate { certificate })),
            // One that is not of the bundle is the same before and after.
            (CertificateUse::Stays, None, None) => Ok(None),
            (CertificateUse::Stays, Some(old), Some(new)) if old.digest == new.digest => Ok(None),
            (CertificateUse::Stays, _, None) => Err("is gone, but still named".to_owned()),
            (CertificateUse::Comes, _, None) => Err("is new and no file of the bundle".to_owned()),
            (CertificateUse::Comes, _, Some(new)) => {
                self.check_file(path, new)?;
                Ok(Some(Operation::AddCertificate { certificate }))
            }
            (CertificateUse::Stays, _, Some(new)) => {
                self.check_file(path, new)?;
                // Its hosts go behind those of all others.
                if lists.iter().any(|list| self.wins(path, list)) {
                    return Err("changed, and must stay before another one for the same host".to_owned());
                }
                Ok(Some(Operation::SetCertificate { certificate }))
            }
        }
    }

    /// Whether a line of `certificate` stands before another one for the same host.
    fn wins(&self, certificate: &str, list: &List<'_>) -> bool {
        let mut own = list.new.iter().enumerate().filter(|(_, entry)| entry.certificate == certificate);
        own.any(|(at, entry)| list.new.iter().skip(at + 1).any(|later| self.compete(later, entry)))
    }

    /// Whether two certificates may be served for the same host, so that the first line of them is. Between keys of RSA and of elliptic curves HAProxy chooses by
    /// what a client knows (`ssl_sock_chose_sni_ctx`).
    fn compete(&self, one: &CrtListLine<'_>, other: &CrtListLine<'_>) -> bool {
        if one.certificate == other.certificate {
            return false;
        }
        let share_hosts = match (self.hosts(one), self.hosts(other)) {
            (Some(one), Some(other)) => !one.is_disjoint(&other),
            _ => true,
        };
        let kind = |line: &CrtListLine<'_>| key_kind(&self.new.files.get(line.certificate)?.text.to_string());
        share_hosts && kind(one).zip(kind(other)).is_none_or(|(one, other)| one == other)
    }

    /// The hosts of a line: its own, or those of its certificate; `None` when that is not known.
    fn hosts(&self, entry: &CrtListLine<'_>) -> Option<BTreeSet<String>> {
        if entry.hosts.is_empty() {
            return sni_hosts(&self.new.files.get(entry.certificate)?.text.to_string());
        }
        let hosts = entry.hosts.iter().filter(|host| !host.starts_with('!'));
        Some(hosts.map(|host| host.to_lowercase()).collect())
    }

    fn check_file(&self, path: &str, file: &Arc<BundleFile>) -> Result<(), String> {
        if self.usages.of(path).iter().any(|usage| usage.how != How::Certificate) {
            return Err("changed, and is used for more than a certificate".to_owned());
        }
        let text = file.text.to_string();
        if !text.contains("PRIVATE KEY-----") {
            return Err("has its key in another file, which is read only when HAProxy starts".to_owned());
        }
        let beside = |bundle: &Bundle| {
            COMPANIONS
                .iter()
                .find(|kind| bundle.files.contains_key(format!("{path}.{kind}").as_str()))
                .copied()
        };
        if let Some(kind) = beside(self.old).or_else(|| beside(self.new)) {
            return Err(format!(
                "changed, and has a file {path}.{kind}, which is read only when HAProxy starts"
            ));
        }
        fits_socket(&text, self.capabilities)
    }
}

/// The kind of key of the first certificate of a file, where it is one of those that HAProxy chooses among.
fn key_kind(pem: &str) -> Option<Oid<'static>> {
    let certificate =
        Pem::iter_from_buffer(pem.as_bytes()).flatten().find(|block| block.label == "CERTIFICATE")?;
    let kind = certificate.parse_x509().ok()?.public_key().algorithm.algorithm.to_owned();
    [OID_PKCS1_RSAENCRYPTION, OID_KEY_TYPE_EC_PUBLIC_KEY].contains(&kind).then_some(kind)
}

/// The certificates of lines.
fn certificates_of(lines: &[CrtListLine<'_>]) -> Vec<String> {
    lines.iter().map(|entry| entry.certificate.to_owned()).collect()
}

/// The hosts that a certificate itself is for: a line of a crt-list that names none takes these. Names among the certificate's alternative names, and the common names of its subject, as HAProxy takes them
/// (`ckch_inst_new_load_store`), in lower case; `None` for a text whose first certificate cannot be read.
fn sni_hosts(pem: &str) -> Option<BTreeSet<String>> {
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
        let hosts: Vec<String> = sni_hosts(&format!("# first the key\n{pem}")).unwrap().into_iter().collect();
        assert_eq!(hosts, ["*.b.example", "a.example", "c.example"]);
        assert_eq!(sni_hosts("-----BEGIN CERTIFICATE-----\nx\n-----END CERTIFICATE-----\n"), None);
    }
}
