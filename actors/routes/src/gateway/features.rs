//! The features that a class claims: only those that work. One table, from which `status.supportedFeatures` follows.

use super::settings::GatewaySettings;

/// The feature that is claimed where the operator allows it: labels and annotations of `spec.infrastructure`.
const INFRASTRUCTURE: &str = "GatewayInfrastructure";

/// The features that a class claims, sorted by name.
pub(super) fn claimed(settings: &GatewaySettings) -> Vec<&'static str> {
    let mut all = FEATURES.to_vec();
    if settings.has_infrastructure {
        all.push(INFRASTRUCTURE);
        all.sort_unstable();
    }
    all
}

/// Always claimed, sorted by name.
pub const FEATURES: &[&str] = &[
    "BackendTLSPolicy",
    "GRPCRoute",
    "GRPCRouteNamedRouteRule",
    "GRPCRouteRequestHeaderModifier",
    "Gateway",
    "GatewayAddressEmpty",
    "GatewayBackendClientCertificate",
    "GatewayFrontendClientCertificateValidation",
    "GatewayFrontendClientCertificateValidationInsecureFallback",
    "GatewayHTTPListenerIsolation",
    "GatewayHTTPSListenerDetectMisdirectedRequests",
    "GatewayPort8080",
    "GatewayRouteHostnameIntersectionPrecedence",
    "HTTPRoute",
    "HTTPRoute303RedirectStatusCode",
    "HTTPRoute307RedirectStatusCode",
    "HTTPRoute308RedirectStatusCode",
    "HTTPRouteBackendProtocolH2C",
    "HTTPRouteBackendProtocolWebSocket",
    "HTTPRouteBackendRequestHeaderModification",
    "HTTPRouteBackendTimeout",
    "HTTPRouteBackendURLRewrite",
    "HTTPRouteCORS",
    "HTTPRouteHostRewrite",
    "HTTPRouteMethodMatching",
    "HTTPRouteNamedRouteRule",
    "HTTPRouteParentRefPort",
    "HTTPRoutePathRedirect",
    "HTTPRoutePathRewrite",
    "HTTPRoutePortRedirect",
    "HTTPRouteQueryParamMatching",
    "HTTPRouteRequestMirror",
    "HTTPRouteRequestMultipleMirrors",
    "HTTPRouteRequestPercentageMirror",
    "HTTPRouteRequestTimeout",
    "HTTPRouteResponseHeaderModification",
    "HTTPRouteRetryCodes",
    "HTTPRouteRetryConnectionError",
    "HTTPRouteSchemeRedirect",
    "ListenerSet",
    "ReferenceGrant",
    "TCPRoute",
    "TLSRoute",
    "TLSRouteModeMixed",
    "TLSRouteModeTerminate",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_lists_what_is_claimed() {
        let page = include_str!("../../../../docs/gateway.md");
        let (_, list) = page.split_once("They are, in this version:\n\n").unwrap_or_default();
        let (list, _) = list.split_once("\n\n").unwrap_or_default();
        let claimed: Vec<String> = FEATURES.iter().map(|name| format!("* `{name}`")).collect();
        assert_eq!(list, claimed.join("\n"));
    }

    #[test]
    fn features_are_sorted_and_named_once() {
        assert!(FEATURES.windows(2).all(|pair| pair[0] < pair[1]));
    }
}
