//! Certificates: storing one brings it to HAProxy, as far as API and HAProxy can.

use super::{ApiStep, NeedsReload};
use haptic_model::Capabilities;

/// A certificate that is new, or has another content.
pub(super) fn bring(
    path: &str,
    capabilities: Capabilities,
    content: &dyn Fn(&str) -> Option<String>,
) -> Result<ApiStep, NeedsReload> {
    let (certificate, haproxy) = (path.to_owned(), capabilities.version);
    let api = capabilities.data_plane_api.unwrap_or(haproxy);
    if !api.api_brings_certificates() {
        return Err(NeedsReload::Certificate { certificate, api });
    }
    let bytes = content(path).map_or(0, |text| text.len());
    if bytes > haproxy.largest_payload() {
        return Err(NeedsReload::LargeCertificate { certificate, haproxy, bytes });
    }
    Ok(ApiStep::Certificate { path: certificate })
}
