//! Certificates: storing one brings it to HAProxy, as far as API and HAProxy can.

use super::{ApiStep, NeedsReload};
use haptic_model::{Capabilities, HaproxyVersion};

/// A certificate of more bytes reaches HAProxy through its socket from 3.4 on.
const SOCKET_TAKES: usize = 16_000;
/// The first API that brings certificates to a running HAProxy.
const CERTIFICATES: HaproxyVersion = HaproxyVersion::new(3, 2);
/// The first HAProxy whose socket takes large certificates.
const LARGE_PAYLOADS: HaproxyVersion = HaproxyVersion::new(3, 4);

/// A certificate that is new, or has another content.
pub(super) fn bring(
    path: &str,
    capabilities: Capabilities,
    content: &dyn Fn(&str) -> Option<String>,
) -> Result<ApiStep, NeedsReload> {
    let (certificate, haproxy) = (path.to_owned(), capabilities.version);
    let api = capabilities.data_plane_api.unwrap_or(haproxy);
    if api < CERTIFICATES {
        return Err(NeedsReload::Certificate { certificate, api });
    }
    let bytes = content(path).map_or(0, |text| text.len());
    if bytes > SOCKET_TAKES && haproxy < LARGE_PAYLOADS {
        return Err(NeedsReload::LargeCertificate { certificate, haproxy, bytes });
    }
    Ok(ApiStep::Certificate { path: certificate })
}
