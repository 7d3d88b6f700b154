//! TLS with clients, for hosts that the Ingress brings certificates for.

use crate::families::{annotations::ReadAnnotations, tls, translation::Translation};

/// `ssl-ciphers`, `tls-alpn`, `ssl-options-host`, else `ssl-options` of the ConfigMap.
pub(super) fn all(said: &ReadAnnotations<'_>, out: &mut Translation<'_>) {
    if let Some(list) = said.text("ssl-ciphers") {
        tls::ciphers(list, "ssl-ciphers", out);
    }
    if let Some(list) = said.text("tls-alpn") {
        tls::alpn(list, "tls-alpn", out);
    }
    let of_host = said.text("ssl-options-host").map(|text| (text, "ssl-options-host"));
    if let Some((text, key)) = of_host.or_else(|| Some((said.text("ssl-options")?, "ssl-options"))) {
        tls::bind_options(text, key, out);
    }
}
