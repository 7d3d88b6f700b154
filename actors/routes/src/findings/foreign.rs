//! Annotations of other controllers on an Ingress of ours, and what is called what here.

use haptic_model::{Finding, FindingKind};

/// The prefixes of theirs.
const FAMILIES: [&str; 4] = [
    "nginx.ingress.kubernetes.io/",
    "haproxy.org/",
    "haproxy-ingress.github.io/",
    "traefik.ingress.kubernetes.io/",
];

/// The most that are named.
const NAMED: usize = 5;

/// Their names behind what they begin with, in the order of the names, and ours.
const COUNTERPARTS: &[(&str, &str)] = &[
    ("affinity", "affinity"),
    ("allow-list", "allow-from"),
    ("allowlist-source-range", "allow-from"),
    ("app-root", "app-root"),
    ("auth-cache-duration", "auth-cache"),
    ("auth-cache-key", "auth-cache-key"),
    ("auth-headers-request", "auth-request-headers"),
    ("auth-headers-succeed", "auth-response-headers"),
    ("auth-method", "auth-method"),
    ("auth-realm", "auth-realm"),
    ("auth-response-headers", "auth-response-headers"),
    ("auth-secret", "auth-secret"),
    ("auth-signin", "auth-signin"),
    ("auth-signin-redirect-param", "auth-signin-redirect-param"),
    ("auth-tls-error-page", "client-certificate-error-page"),
    ("auth-tls-match-cn", "client-certificate-names"),
    ("auth-tls-pass-certificate-to-upstream", "client-certificate-headers"),
    ("auth-tls-secret", "client-ca-secret"),
    ("auth-tls-verify-client", "client-certificate"),
    ("auth-type", "auth-secret"),
    ("auth-url", "auth-url"),
    ("backend-protocol", "protocol"),
    ("balance-algorithm", "balance"),
    ("blacklist", "deny-from"),
    ("blue-green-balance", "weights, of Services"),
    ("blue-green-deploy", "weights, of Services"),
    ("canary", "canary-service, at the Ingress that it is a canary of"),
    ("canary-by-cookie", "canary-cookie"),
    ("canary-by-header", "canary-header"),
    ("canary-by-header-pattern", "canary-header-pattern"),
    ("canary-by-header-value", "canary-header-value"),
    ("canary-weight", "canary-weight"),
    ("client-ca", "client-ca-secret"),
    ("cookie-persistence", "affinity"),
    ("cors-allow-credentials", "cors-allow-credentials"),
    ("cors-allow-headers", "cors-allow-headers"),
    ("cors-allow-methods", "cors-allow-methods"),
    ("cors-allow-origin", "cors-allow-origin"),
    ("cors-enable", "cors-allow-origin"),
    ("cors-expose-headers", "cors-expose-headers"),
    ("cors-max-age", "cors-max-age"),
    ("custom-headers", "response-headers"),
    ("deny-list", "deny-from"),
    ("denylist-source-range", "deny-from"),
    ("enable-cors", "cors-allow-origin"),
    ("force-ssl-redirect", "ssl-redirect: always"),
    ("from-to-www-redirect", "redirect-www"),
    ("hsts-include-subdomains", "hsts-subdomains"),
    ("hsts-max-age", "hsts-max-age"),
    ("hsts-preload", "hsts-preload"),
    ("limit-allowlist", "rate-limit-exempt and concurrency-limit-exempt"),
    ("limit-rpm", "rate-limit and rate-limit-period"),
    ("limit-rps", "rate-limit"),
    ("limit-whitelist", "rate-limit-exempt"),
    ("load-balance", "balance"),
    ("maxconn-server", "max-connections"),
    ("mirror-target", "mirror-service"),
    ("oauth", "auth-url and auth-signin"),
    ("path-regex", "path-type: regex"),
    ("path-rewrite", "rewrite-path"),
    ("permanent-redirect", "redirect-to and redirect-code"),
    ("pod-maxconn", "max-connections"),
    ("proxy-body-size", "max-body-size"),
    ("proxy-connect-timeout", "timeout-connect"),
    ("proxy-next-upstream", "retry"),
    ("proxy-protocol", "proxy-protocol"),
    ("proxy-read-timeout", "timeout-server"),
    ("proxy-send-timeout", "timeout-server"),
    ("proxy-ssl-name", "server-tls-name"),
    ("proxy-ssl-secret", "server-ca-secret"),
    ("rate-limit-period", "rate-limit-period"),
    ("rate-limit-requests", "rate-limit"),
    ("rate-limit-status-code", "rate-limit-status"),
    ("rate-limit-whitelist", "rate-limit-exempt"),
    ("redirect-to", "redirect-to"),
    ("request-redirect", "redirect-host"),
    ("request-set-header", "request-headers"),
    ("response-set-header", "response-headers"),
    ("rewrite-target", "rewrite-path, or path-type: regex and rewrite-target"),
    ("secure-backends", "protocol"),
    ("secure-crt-secret", "server-certificate-secret"),
    ("secure-sni", "server-tls-name"),
    ("secure-verify-hostname", "server-tls-name"),
    ("send-proxy-protocol", "proxy-protocol"),
    ("server-ca", "server-ca-secret"),
    ("server-crt", "server-certificate-secret"),
    ("server-proto", "protocol"),
    ("server-ssl", "protocol"),
    ("session-cookie-name", "affinity-cookie-name"),
    ("set-host", "host-rewrite"),
    ("ssl-redirect", "ssl-redirect"),
    ("temporal-redirect", "redirect-to"),
    ("timeout-connect", "timeout-connect"),
    ("timeout-queue", "timeout-queue"),
    ("timeout-server", "timeout-server"),
    ("timeout-tunnel", "timeout-tunnel"),
    ("upstream-hash-by", "balance"),
    ("upstream-vhost", "host-rewrite"),
    ("use-regex", "path-type: regex"),
    ("whitelist", "allow-from"),
    ("whitelist-source-range", "allow-from"),
];

/// The one finding about those among `annotations`, if there are any.
pub fn found<'a>(annotations: impl Iterator<Item = &'a str>) -> Option<Finding> {
    let mut foreign: Vec<String> = Vec::new();
    let mut first = None;
    for annotation in annotations {
        if let Some(named) = named(annotation) {
            first.get_or_insert(annotation);
            foreign.push(named);
        }
    }
    let more = foreign.len().saturating_sub(NAMED);
    let rest = if more > 0 { format!(" and {more} more") } else { String::new() };
    let named: Vec<&str> = foreign.iter().take(NAMED).map(String::as_str).collect();
    let sentence =
        format!("annotations of other controllers have no effect here: {}{rest}", named.join(", "));
    first.map(|first| {
        Finding::new(FindingKind::ForeignAnnotation, sentence)
            .at_annotation(&crate::sentences::shortened(first))
    })
}

fn named(annotation: &str) -> Option<String> {
    let key = FAMILIES.iter().find_map(|family| annotation.strip_prefix(family))?;
    let found = COUNTERPARTS.binary_search_by(|(theirs, _)| theirs.cmp(&key));
    let ours = found.ok().and_then(|at| COUNTERPARTS.get(at)).map(|(_, ours)| ours);
    let ours = ours.map_or_else(|| "nothing like it here".to_owned(), |ours| format!("here {ours}"));
    Some(format!("{} ({ours})", crate::sentences::shortened(annotation)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::table::row;

    #[test]
    fn what_others_read_is_named_with_what_it_is_called_here() {
        assert_eq!(found(["example.com/x", "haproxy-haptic.org/retry"].into_iter()), None);
        let nginx = |name: &str| format!("nginx.ingress.kubernetes.io/{name}");
        let all = [nginx("app-root"), nginx("lua-resty-waf"), "haproxy.org/server-ssl".into()];
        assert_eq!(
            found(all.iter().map(String::as_str)).unwrap().sentence,
            "annotations of other controllers have no effect here: nginx.ingress.kubernetes.io/app-root (here app-root), \
             nginx.ingress.kubernetes.io/lua-resty-waf (nothing like it here), haproxy.org/server-ssl (here protocol)"
        );
        let many: Vec<String> = (0..9).map(|n| nginx(&n.to_string())).collect();
        assert!(found(many.iter().map(String::as_str)).unwrap().sentence.ends_with(" and 4 more"));
    }

    #[test]
    fn the_counterparts_are_sorted_and_options_of_ours() {
        assert!(COUNTERPARTS.is_sorted_by(|(a, _), (b, _)| a < b));
        for (_, ours) in COUNTERPARTS {
            let first = ours.split([' ', ',', ':']).next().unwrap();
            assert!(row(first).is_some(), "{ours}");
        }
    }
}
