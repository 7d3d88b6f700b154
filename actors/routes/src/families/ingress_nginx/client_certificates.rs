//! Certificates of clients.

use crate::families::{ReadAnnotations, Translation};

/// The headers by which nginx tells servers of a certificate in any case.
const TOLD: &str = "ssl-client-verify: verify\nssl-client-subject-dn: subject\nssl-client-issuer-dn: issuer";

/// `auth-tls-*`. Whose certificates cannot be told lets nobody in.
pub fn client_certificates(said: &ReadAnnotations<'_>, to: &mut Translation<'_>) {
    let Some(secret) = said.text("auth-tls-secret") else { return };
    let verify = said.text("auth-tls-verify-client").unwrap_or("on");
    let pem = if said.is_on("auth-tls-pass-certificate-to-upstream") { "\nssl-client-cert: pem" } else { "" };
    let headers = format!("{TOLD}{pem}");
    // Nobody is asked for a certificate, and servers believe what these headers say all the same.
    if verify == "off" {
        return to.set("client-certificate-headers", &headers, "auth-tls-secret");
    }
    let own = secret.split_once('/').filter(|(namespace, _)| *namespace == to.about().namespace);
    let Some((_, name)) = own else {
        return to.close("auth-tls-secret", "names a Secret of another namespace");
    };
    to.set("client-ca-secret", name, "auth-tls-secret");
    if !to.has("client-ca-secret") {
        return to.close("auth-tls-secret", "names no Secret");
    }
    to.set("client-certificate-status", "400", "auth-tls-secret");
    let names = said.text("auth-tls-match-cn");
    // Whose name must be known needs a certificate.
    if verify != "on" && names.is_none() {
        to.set("client-certificate", "optional", "auth-tls-verify-client");
    }
    if verify == "optional_no_ca" {
        to.differs("auth-tls-verify-client", "is optional_no_ca: a bad certificate is refused all the same");
    }
    to.set("client-certificate-headers", &headers, "auth-tls-secret");
    if let Some(page) = said.text("auth-tls-error-page") {
        to.set("client-certificate-error-page", page, "auth-tls-error-page");
    }
    if let Some(pattern) = names {
        match common_name(pattern) {
            Some(name) => {
                to.set("client-certificate-names", &name, "auth-tls-match-cn");
                to.set("client-certificate-names-in", "subject", "auth-tls-match-cn");
            }
            None => to.close("auth-tls-match-cn", "is an expression that is not asked here"),
        }
    }
}

/// `CN=name` and `CN=.*\.domain` as names of ours, which are whole names.
fn common_name(pattern: &str) -> Option<String> {
    let name = pattern.strip_prefix("CN=")?;
    let name = name.strip_suffix('$').unwrap_or(name);
    let (wildcard, rest) = match name.strip_prefix(".*") {
        Some(rest) => ("*", rest),
        None => ("", name),
    };
    let rest = rest.replace("\\.", ".").replace("\\-", "-");
    let is_plain = |c: char| c.is_ascii_alphanumeric() || ".-_@ ".contains(c);
    let is_good = !rest.is_empty() && rest.chars().all(is_plain);
    (is_good && (wildcard.is_empty() || rest.starts_with(['.', '@']))).then(|| format!("{wildcard}{rest}"))
}

#[cfg(test)]
mod tests {
    use super::common_name;

    #[test]
    fn names_are_taken_and_other_expressions_are_not() {
        assert_eq!(common_name("CN=anna").as_deref(), Some("anna"));
        assert_eq!(common_name("CN=.*\\.clients\\.example$").as_deref(), Some("*.clients.example"));
        assert_eq!(common_name("CN=(anna|bert)"), None);
        assert_eq!(common_name("CN=.*"), None);
        assert_eq!(common_name("CN=a+"), None);
    }
}
