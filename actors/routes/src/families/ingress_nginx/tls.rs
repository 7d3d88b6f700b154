//! TLS with clients, for hosts that the Ingress brings certificates for.

use crate::families::{ReadAnnotations, Translation, tls};

/// `ssl-ciphers`; `ssl-protocols` and `use-http2` of the ConfigMap.
pub fn tls(said: &ReadAnnotations<'_>, to: &mut Translation<'_>) {
    if let Some(list) = said.text("ssl-ciphers") {
        tls::ciphers(list, "ssl-ciphers", to);
    }
    let versions = said.text("ssl-protocols").unwrap_or_default();
    if !versions.is_empty() && versions.split_whitespace().all(|version| version == "TLSv1.3") {
        to.set("tls-min-version", "TLSv1.3", "ssl-protocols");
    }
    if said.switch("use-http2") == Some(false) {
        to.set("tls-alpn", "http/1.1", "use-http2");
    }
}
