//! The keys of jcmoraisjr/haproxy-ingress, as of its version 0.16, and those of 0.17 that are known.

use super::values::{SIZE, TIME};
use crate::families::{
    key::{FamilyKey, KeyPlace, KeyTarget, WrongValue, differs, finding, served},
    values::{GO_SWITCH, INTEGER},
};
use KeyPlace::{Config, Ingress, Service};

/// The prefixes of its annotations; the first counts.
pub const PREFIXES: &[&str] = &["haproxy-ingress.github.io/", "ingress.kubernetes.io/"];

/// Its scopes Backend and Path.
const SERVERS: &[KeyPlace] = &[Service, Ingress, Config];
/// Its scope Host.
const HOST: &[KeyPlace] = &[Ingress, Config];
/// The place of keys that it reads on Ingresses alone.
const INGRESS: &[KeyPlace] = &[Ingress];
/// The places of keys that it reads there and on Services.
const ANNOTATED: &[KeyPlace] = &[Service, Ingress];
/// Its scopes Global and Frontend.
const CONFIG: &[KeyPlace] = &[Config];

/// The verdict on lines for a backend.
const SNIPPET: &str = "without `snippets: translate` nothing of it counts, and with it headers, paths, times, balance and compression: no line of `haproxy.cfg` is printed for anybody; one that may keep requests out, and is not known, lets nobody in";

/// The verdict on conditions.
const CONDITION: &str = "asked before other routes of the same path, not before those of a longer one; the value is that of the whole header";

/// All keys, in the order of their names.
pub const TABLE: &[FamilyKey] = &[
    finding("acme-emails", CONFIG, "cert-manager"),
    finding("acme-endpoint", CONFIG, "cert-manager"),
    finding("acme-expiring", CONFIG, "cert-manager"),
    finding("acme-preferred-chain", HOST, "cert-manager"),
    FamilyKey { value: GO_SWITCH, ..finding("acme-shared", CONFIG, "cert-manager") },
    FamilyKey { value: GO_SWITCH, ..finding("acme-terms-agreed", CONFIG, "cert-manager") },
    FamilyKey { to: KeyTarget::Group(&["affinity"]), ..served("affinity", ANNOTATED) },
    finding("agent-check-addr", SERVERS, "an agent is asked at the address of its server"),
    FamilyKey {
        value: TIME,
        to: KeyTarget::Group(&["agent-check-interval"]),
        ..served("agent-check-interval", SERVERS)
    },
    FamilyKey { to: KeyTarget::Group(&["agent-check-port"]), ..served("agent-check-port", SERVERS) },
    finding(
        "agent-check-send",
        SERVERS,
        "an agent is told nothing, it answers as soon as there is a connection",
    ),
    FamilyKey { value: GO_SWITCH, ..finding("allow-local-bind", CONFIG, "not needed") },
    finding(
        "allowlist-source-header",
        SERVERS,
        "`trustedProxies` says whose X-Forwarded-For counts: anybody can send a header; beside lists of clients another header lets nobody in",
    ),
    FamilyKey {
        wrong: WrongValue::Deny,
        to: KeyTarget::Group(&["allow-from", "deny-from"]),
        ..differs(
            "allowlist-source-range",
            SERVERS,
            "what is no network is left out, and a list without one lets nobody in",
        )
    },
    FamilyKey {
        to: KeyTarget::Option("app-root"),
        ..differs("app-root", HOST, "of the hosts' routes of its namespace")
    },
    FamilyKey { value: GO_SWITCH, ..served("assign-backend-server-id", SERVERS) },
    differs("auth-external-placement", SERVERS, "makes no difference"),
    differs("auth-headers-fail", SERVERS, "clients get the headers of the answer"),
    FamilyKey {
        to: KeyTarget::Group(&["auth-request-headers"]),
        ..differs("auth-headers-request", SERVERS, "names, without `*` in them")
    },
    FamilyKey {
        to: KeyTarget::Group(&["auth-response-headers"]),
        ..differs(
            "auth-headers-succeed",
            SERVERS,
            "`*` stands at the end of a name alone; with `*`, and so without the key, none of the connection, of the body, of addresses (`X-Forwarded-For` and the like) and for clients; what clients send by the names that oauth2-proxy, Authelia, Authentik, Vouch and Pomerium use is removed",
        )
    },
    finding("auth-log-format", CONFIG, "`accessLog`"),
    FamilyKey {
        to: KeyTarget::Group(&["auth-method"]),
        ..differs("auth-method", SERVERS, "GET, HEAD, POST, PUT and DELETE; `*` and others are GET")
    },
    finding("auth-proxy", CONFIG, "not needed"),
    FamilyKey { to: KeyTarget::Group(&["auth-realm"]), ..served("auth-realm", SERVERS) },
    FamilyKey {
        wrong: WrongValue::Deny,
        to: KeyTarget::Group(&["auth-secret"]),
        ..differs("auth-secret", SERVERS, "of its own namespace; without the Secret nobody gets in")
    },
    FamilyKey {
        to: KeyTarget::Group(&["auth-signin", "auth-signin-always"]),
        ..differs("auth-signin", SERVERS, "of expressions those of host, path and URL")
    },
    FamilyKey {
        value: GO_SWITCH,
        to: KeyTarget::Group(&["client-certificate-headers"]),
        ..served("auth-tls-cert-header", SERVERS)
    },
    finding("auth-tls-default-secret", CONFIG, "client-ca-secret of each Ingress"),
    FamilyKey {
        to: KeyTarget::Group(&["client-certificate-error-page"]),
        ..differs("auth-tls-error-page", HOST, "for clients without a certificate")
    },
    FamilyKey {
        wrong: WrongValue::Deny,
        to: KeyTarget::Group(&["client-ca-secret", "client-certificate-headers"]),
        ..differs(
            "auth-tls-secret",
            HOST,
            "asked of all routes of its namespace on the host; X-SSL-Client-CN, -DN and -SHA1 stand without quotation marks, the DN is as in RFC 2253, and without a certificate none of them is sent",
        )
    },
    FamilyKey { value: GO_SWITCH, ..differs("auth-tls-strict", HOST, "always true") },
    FamilyKey {
        to: KeyTarget::Group(&["client-certificate"]),
        ..differs("auth-tls-verify-client", HOST, "`optional_no_ca` is `optional`")
    },
    FamilyKey {
        wrong: WrongValue::Deny,
        to: KeyTarget::Group(&["auth-url"]),
        ..differs("auth-url", SERVERS, "no answer, and one of 500 or above, is 503")
    },
    FamilyKey { to: KeyTarget::Alias("health-check-interval"), ..served("backend-check-interval", SERVERS) },
    FamilyKey { to: KeyTarget::Group(&["protocol"]), ..differs("backend-protocol", SERVERS, "no FastCGI") },
    served("backend-server-naming", SERVERS),
    served("backend-server-slots-increment", SERVERS),
    FamilyKey {
        to: KeyTarget::Group(&["balance", "balance-hash"]),
        ..differs(
            "balance-algorithm",
            SERVERS,
            "of `uri`, `url_param` and `hdr` by a hash that is consistent, with their first argument; `first`, `static-rr` and `rdp-cookie` are not there",
        )
    },
    finding("bind-fronting-proxy", CONFIG, "`bindAddresses`, ports of the chart"),
    finding("bind-http", CONFIG, "`bindAddresses`, ports of the chart"),
    finding("bind-http-passthrough", CONFIG, "`bindAddresses`, ports of the chart"),
    finding("bind-https", CONFIG, "`bindAddresses`, ports of the chart"),
    finding("bind-ip-addr-healthz", CONFIG, "`bindAddresses`, ports of the chart"),
    finding("bind-ip-addr-http", CONFIG, "`bindAddresses`, ports of the chart"),
    finding("bind-ip-addr-prometheus", CONFIG, "`bindAddresses`, ports of the chart"),
    finding("bind-ip-addr-stats", CONFIG, "`bindAddresses`, ports of the chart"),
    finding("bind-ip-addr-tcp", CONFIG, "`bindAddresses`, ports of the chart"),
    finding("blue-green-balance", SERVERS, "weights and canary-* of the Ingress choose between Services"),
    finding("blue-green-cookie", SERVERS, "weights and canary-* of the Ingress choose between Services"),
    FamilyKey {
        to: KeyTarget::Alias("blue-green-balance"),
        ..finding("blue-green-deploy", SERVERS, "weights and canary-* of the Ingress choose between Services")
    },
    finding("blue-green-header", SERVERS, "weights and canary-* of the Ingress choose between Services"),
    finding("blue-green-mode", SERVERS, "weights and canary-* of the Ingress choose between Services"),
    finding("cert-signer", HOST, "cert-manager"),
    served("close-sessions-duration", CONFIG),
    FamilyKey {
        to: KeyTarget::Group(&[
            "request-headers",
            "response-headers",
            "remove-request-headers",
            "remove-response-headers",
            "rewrite-rules",
            "balance",
            "timeout-server",
        ]),
        ..differs("config-backend", SERVERS, SNIPPET)
    },
    FamilyKey {
        to: KeyTarget::Group(&[
            "request-headers",
            "response-headers",
            "remove-request-headers",
            "remove-response-headers",
            "rewrite-rules",
            "balance",
            "timeout-server",
        ]),
        ..differs("config-backend-early", SERVERS, SNIPPET)
    },
    FamilyKey {
        to: KeyTarget::Group(&[
            "request-headers",
            "response-headers",
            "remove-request-headers",
            "remove-response-headers",
            "rewrite-rules",
            "balance",
            "timeout-server",
        ]),
        ..differs("config-backend-late", SERVERS, SNIPPET)
    },
    finding("config-defaults", CONFIG, "snippets of the operator"),
    finding("config-frontend", CONFIG, "snippets of the operator"),
    finding("config-frontend-early", CONFIG, "snippets of the operator"),
    finding("config-frontend-late", CONFIG, "snippets of the operator"),
    finding("config-global", CONFIG, "snippets of the operator"),
    finding("config-peers", CONFIG, "snippets of the operator"),
    finding("config-proxy", CONFIG, "snippets of the operator"),
    finding("config-sections", CONFIG, "snippets of the operator"),
    finding("config-tcp", CONFIG, "snippets of the operator"),
    finding("config-tcp-service", HOST, "lines of `haproxy.cfg` are printed for nobody"),
    finding("cookie-key", CONFIG, "not needed"),
    FamilyKey {
        value: GO_SWITCH,
        to: KeyTarget::Group(&["cors-allow-credentials"]),
        ..differs("cors-allow-credentials", SERVERS, "not where every origin is let in")
    },
    FamilyKey { to: KeyTarget::Group(&["cors-allow-headers"]), ..served("cors-allow-headers", SERVERS) },
    FamilyKey { to: KeyTarget::Group(&["cors-allow-methods"]), ..served("cors-allow-methods", SERVERS) },
    FamilyKey {
        to: KeyTarget::Group(&["cors-allow-origin"]),
        ..differs(
            "cors-allow-origin",
            SERVERS,
            "`*` instead of the very origin; a list with an element that is wrong lets none in",
        )
    },
    FamilyKey {
        to: KeyTarget::Group(&["cors-allow-origin"]),
        ..differs("cors-allow-origin-regex", SERVERS, "an expression must be one of whole origins")
    },
    FamilyKey {
        value: GO_SWITCH,
        to: KeyTarget::Group(&["cors-allow-origin", "cors-preflight"]),
        ..served("cors-enable", SERVERS)
    },
    FamilyKey { to: KeyTarget::Group(&["cors-expose-headers"]), ..served("cors-expose-headers", SERVERS) },
    FamilyKey { value: INTEGER, to: KeyTarget::Group(&["cors-max-age"]), ..served("cors-max-age", SERVERS) },
    finding("cpu-map", CONFIG, "HAProxy's own default"),
    FamilyKey {
        value: GO_SWITCH,
        ..finding("create-default-frontends", CONFIG, "one frontend for all Ingresses")
    },
    finding("cross-namespace-secrets-ca", CONFIG, "never: Secrets and Services of the same namespace alone"),
    finding("cross-namespace-secrets-crt", CONFIG, "never: Secrets and Services of the same namespace alone"),
    finding(
        "cross-namespace-secrets-passwd",
        CONFIG,
        "never: Secrets and Services of the same namespace alone",
    ),
    finding("cross-namespace-services", CONFIG, "never: Secrets and Services of the same namespace alone"),
    finding("default-backend-redirect", CONFIG, "an Ingress without rules"),
    finding("default-backend-redirect-code", CONFIG, "an Ingress without rules"),
    FamilyKey {
        wrong: WrongValue::Deny,
        to: KeyTarget::Group(&["deny-from"]),
        ..differs("denylist-source-range", SERVERS, "a list with an element that is wrong lets nobody in")
    },
    finding("dns-accepted-payload-size", CONFIG, "resolvers of the cluster"),
    finding("dns-cluster-domain", CONFIG, "resolvers of the cluster"),
    finding("dns-hold-obsolete", CONFIG, "resolvers of the cluster"),
    finding("dns-hold-valid", CONFIG, "resolvers of the cluster"),
    finding("dns-resolvers", CONFIG, "resolvers of the cluster"),
    finding("dns-timeout-retry", CONFIG, "resolvers of the cluster"),
    FamilyKey {
        value: GO_SWITCH,
        ..finding("drain-support", CONFIG, "endpoints that end get no new requests")
    },
    FamilyKey {
        value: GO_SWITCH,
        ..finding("drain-support-redispatch", CONFIG, "endpoints that end get no new requests")
    },
    served("dynamic-scaling", SERVERS),
    FamilyKey { value: GO_SWITCH, ..finding("external-has-lua", CONFIG, "not needed") },
    finding("fcgi-app", SERVERS, "FastCGI is not spoken: a web server beside the pod"),
    finding("fcgi-enabled-apps", CONFIG, "FastCGI is not spoken"),
    finding("forwardfor", CONFIG, "`trustedProxies`"),
    finding("fronting-proxy-port", CONFIG, "`trustedProxies`"),
    served("groupname", CONFIG),
    FamilyKey {
        to: KeyTarget::Alias("request-set-headers"),
        ..differs(
            "headers",
            SERVERS,
            "of expressions `%[...]` those of namespace, Service, client, host, path, TLS and request id",
        )
    },
    finding("health-check-addr", SERVERS, "Kubernetes' readiness decides: give the pods a readinessProbe"),
    FamilyKey { to: KeyTarget::Group(&["health-check-fall"]), ..served("health-check-fall-count", SERVERS) },
    FamilyKey {
        value: TIME,
        to: KeyTarget::Group(&["health-check-interval"]),
        ..served("health-check-interval", SERVERS)
    },
    FamilyKey { to: KeyTarget::Group(&["health-check-port"]), ..served("health-check-port", SERVERS) },
    FamilyKey { to: KeyTarget::Group(&["health-check-rise"]), ..served("health-check-rise-count", SERVERS) },
    FamilyKey {
        to: KeyTarget::Group(&["health-check", "health-check-method", "health-check-path"]),
        ..differs(
            "health-check-uri",
            SERVERS,
            "with OPTIONS, as there, or the method in front of it; without it and the other keys Kubernetes' readiness decides",
        )
    },
    finding("healthz-port", CONFIG, "`healthPort`"),
    FamilyKey { value: GO_SWITCH, to: KeyTarget::Group(&["hsts-max-age"]), ..served("hsts", SERVERS) },
    FamilyKey {
        value: GO_SWITCH,
        to: KeyTarget::Group(&["hsts-subdomains"]),
        ..served("hsts-include-subdomains", SERVERS)
    },
    FamilyKey { value: INTEGER, to: KeyTarget::Group(&["hsts-max-age"]), ..served("hsts-max-age", SERVERS) },
    FamilyKey {
        value: GO_SWITCH,
        to: KeyTarget::Group(&["hsts-preload"]),
        ..served("hsts-preload", SERVERS)
    },
    finding(
        "http-frontend",
        HOST,
        "one frontend for all Ingresses: nothing is served of one that asks for another",
    ),
    finding("http-frontends", CONFIG, "one frontend for all Ingresses"),
    FamilyKey {
        wrong: WrongValue::Deny,
        to: KeyTarget::Group(&["match-headers"]),
        ..differs("http-header-match", INGRESS, CONDITION)
    },
    FamilyKey {
        wrong: WrongValue::Deny,
        to: KeyTarget::Group(&["match-headers-regex"]),
        ..differs("http-header-match-regex", INGRESS, CONDITION)
    },
    finding("http-log-format", CONFIG, "`accessLog`"),
    FamilyKey { value: GO_SWITCH, ..finding("http-passthrough", CONFIG, "`trustedProxies`") },
    finding("http-passthrough-port", CONFIG, "`trustedProxies`"),
    finding("http-port", CONFIG, "ports of the chart"),
    finding("http-response-200", SERVERS, "snippets `frontend-*` of the operator"),
    finding("http-response-400", SERVERS, "`error-pages` of the Ingress, `errorPages` for all"),
    finding("http-response-401", SERVERS, "`error-pages` of the Ingress, `errorPages` for all"),
    finding("http-response-403", SERVERS, "`error-pages` of the Ingress, `errorPages` for all"),
    finding("http-response-404", SERVERS, "a file `404.http` of the operator"),
    finding("http-response-405", SERVERS, "`error-pages` of the Ingress, `errorPages` for all"),
    finding("http-response-407", SERVERS, "`error-pages` of the Ingress, `errorPages` for all"),
    finding("http-response-408", SERVERS, "`error-pages` of the Ingress, `errorPages` for all"),
    finding("http-response-410", SERVERS, "`error-pages` of the Ingress, `errorPages` for all"),
    finding("http-response-413", SERVERS, "`error-pages` of the Ingress, `errorPages` for all"),
    finding("http-response-421", SERVERS, "`error-pages` of the Ingress, `errorPages` for all"),
    finding("http-response-425", SERVERS, "`error-pages` of the Ingress, `errorPages` for all"),
    finding("http-response-429", SERVERS, "`error-pages` of the Ingress, `errorPages` for all"),
    finding("http-response-495", SERVERS, "`auth-tls-error-page` leads to a page"),
    finding("http-response-496", SERVERS, "`auth-tls-error-page` leads to a page"),
    finding("http-response-500", SERVERS, "`error-pages` of the Ingress, `errorPages` for all"),
    finding("http-response-501", SERVERS, "`error-pages` of the Ingress, `errorPages` for all"),
    finding("http-response-502", SERVERS, "`error-pages` of the Ingress, `errorPages` for all"),
    finding("http-response-503", SERVERS, "`error-pages` of the Ingress, `errorPages` for all"),
    finding("http-response-504", SERVERS, "`error-pages` of the Ingress, `errorPages` for all"),
    finding("http-response-prometheus-root", CONFIG, "snippets `frontend-*` of the operator"),
    finding("https-log-format", CONFIG, "`accessLog`"),
    finding("https-port", CONFIG, "ports of the chart"),
    finding("https-to-http-port", CONFIG, "`trustedProxies`"),
    finding("initial-weight", SERVERS, "servers have the same weight"),
    FamilyKey {
        value: INTEGER,
        to: KeyTarget::Group(&["concurrency-limit"]),
        ..differs(
            "limit-connections",
            SERVERS,
            "each Ingress counts for itself, and clients of IPv6 by their /64",
        )
    },
    FamilyKey {
        value: INTEGER,
        to: KeyTarget::Group(&["rate-limit"]),
        ..differs("limit-rps", SERVERS, "each Ingress counts for itself, and clients of IPv6 by their /64")
    },
    FamilyKey {
        to: KeyTarget::Group(&["rate-limit-exempt", "concurrency-limit-exempt"]),
        ..differs("limit-whitelist", SERVERS, "for what of it is no network the limits count")
    },
    FamilyKey { value: GO_SWITCH, ..finding("load-server-state", CONFIG, "not needed") },
    FamilyKey { value: GO_SWITCH, ..served("master-exit-on-failure", CONFIG) },
    finding(
        "max-connections",
        CONFIG,
        "`maxConnections` in extraContext, the connections that each HAProxy has",
    ),
    FamilyKey {
        value: INTEGER,
        to: KeyTarget::Group(&["max-connections"]),
        ..served("maxconn-server", SERVERS)
    },
    FamilyKey { value: INTEGER, to: KeyTarget::Group(&["max-queue"]), ..served("maxqueue-server", SERVERS) },
    finding("modsecurity-args", CONFIG, "a web application firewall behind HAProxy"),
    finding("modsecurity-endpoints", CONFIG, "a web application firewall behind HAProxy"),
    finding("modsecurity-timeout-hello", CONFIG, "a web application firewall behind HAProxy"),
    finding("modsecurity-timeout-idle", CONFIG, "a web application firewall behind HAProxy"),
    finding("modsecurity-timeout-processing", CONFIG, "a web application firewall behind HAProxy"),
    FamilyKey {
        value: GO_SWITCH,
        ..finding("modsecurity-use-coraza", CONFIG, "a web application firewall behind HAProxy")
    },
    finding("nbthread", CONFIG, "HAProxy's own default"),
    finding("no-redirect-locations", CONFIG, "ssl-redirect: \"false\" on the Ingress of that path"),
    FamilyKey { to: KeyTarget::Group(&["ssl-redirect"]), ..served("no-tls-redirect-locations", CONFIG) },
    FamilyKey {
        wrong: WrongValue::Deny,
        to: KeyTarget::Group(&["auth-url", "auth-method", "auth-signin", "auth-signin-always"]),
        ..differs(
            "oauth",
            SERVERS,
            "where no Ingress of the namespace has the path at the host all requests get 503, theirs 403; a program that is not known lets nobody in",
        )
    },
    FamilyKey {
        to: KeyTarget::Group(&["auth-response-headers"]),
        ..differs("oauth-headers", SERVERS, "a header is filled from the one of its own name")
    },
    FamilyKey {
        wrong: WrongValue::Deny,
        ..differs("oauth-uri-prefix", SERVERS, "it must have `auth` in it")
    },
    finding("original-forwarded-for-hdr", CONFIG, "`trustedProxies`"),
    FamilyKey { to: KeyTarget::Group(&["path-type"]), ..served("path-type", INGRESS) },
    finding("path-type-order", CONFIG, "an exact path, then what begins with the most characters"),
    finding("peers-name", CONFIG, "rate-limit and concurrency-limit"),
    finding("peers-port", CONFIG, "rate-limit and concurrency-limit"),
    finding("peers-table", SERVERS, "rate-limit and concurrency-limit"),
    finding("peers-table-global", CONFIG, "rate-limit and concurrency-limit"),
    finding("prometheus-port", CONFIG, "`healthPort`"),
    FamilyKey { value: SIZE, to: KeyTarget::Group(&["max-body-size"]), ..served("proxy-body-size", SERVERS) },
    FamilyKey { to: KeyTarget::Group(&["proxy-protocol"]), ..served("proxy-protocol", ANNOTATED) },
    finding("real-ip-hdr", CONFIG, "X-Real-IP"),
    FamilyKey {
        to: KeyTarget::Group(&["redirect-code"]),
        ..differs(
            "redirect-from",
            HOST,
            "to the first host of the Ingress that is no wildcard, as far as nobody has routes there",
        )
    },
    FamilyKey {
        value: INTEGER,
        to: KeyTarget::Group(&["redirect-code"]),
        ..served("redirect-from-code", CONFIG)
    },
    finding("redirect-from-regex", HOST, "an Ingress for those hosts with redirect-to"),
    FamilyKey {
        to: KeyTarget::Group(&["redirect-to"]),
        ..differs("redirect-to", INGRESS, "the Service must be there")
    },
    FamilyKey {
        value: INTEGER,
        to: KeyTarget::Group(&["redirect-code"]),
        ..served("redirect-to-code", CONFIG)
    },
    FamilyKey {
        to: KeyTarget::Group(&["add-request-headers"]),
        ..differs(
            "request-add-headers",
            SERVERS,
            "of expressions `%[...]` those of namespace, Service, client, host, path, TLS and request id",
        )
    },
    FamilyKey { to: KeyTarget::Group(&["remove-request-headers"]), ..served("request-del-headers", SERVERS) },
    FamilyKey {
        to: KeyTarget::Group(&["request-headers"]),
        ..differs(
            "request-set-headers",
            SERVERS,
            "of expressions `%[...]` those of namespace, Service, client, host, path, TLS and request id",
        )
    },
    FamilyKey {
        to: KeyTarget::Group(&["add-response-headers"]),
        ..differs(
            "response-add-headers",
            SERVERS,
            "of expressions `%[...]` those of namespace, Service, client, host, path, TLS and request id",
        )
    },
    FamilyKey {
        to: KeyTarget::Group(&["remove-response-headers"]),
        ..served("response-del-headers", SERVERS)
    },
    FamilyKey {
        to: KeyTarget::Group(&["response-headers"]),
        ..differs(
            "response-set-headers",
            SERVERS,
            "of expressions `%[...]` those of namespace, Service, client, host, path, TLS and request id",
        )
    },
    FamilyKey {
        to: KeyTarget::Group(&["rewrite-target"]),
        ..differs("rewrite-target", SERVERS, "a path that differs by case is rewritten, too")
    },
    FamilyKey { value: GO_SWITCH, to: KeyTarget::Group(&["protocol"]), ..served("secure-backends", SERVERS) },
    FamilyKey {
        wrong: WrongValue::Deny,
        to: KeyTarget::Group(&["server-certificate-secret"]),
        ..differs(
            "secure-crt-secret",
            SERVERS,
            "of its own namespace; without the Secret there are no servers",
        )
    },
    FamilyKey {
        to: KeyTarget::Group(&["server-tls-name"]),
        ..differs("secure-sni", SERVERS, "`sni` is the host of the request")
    },
    FamilyKey {
        wrong: WrongValue::Deny,
        to: KeyTarget::Group(&["server-ca-secret"]),
        ..differs(
            "secure-verify-ca-secret",
            SERVERS,
            "of its own namespace, without ca.crl; without the Secret there are no servers",
        )
    },
    FamilyKey {
        to: KeyTarget::Group(&["server-tls-name"]),
        ..differs("secure-verify-hostname", SERVERS, "the name is asked for (SNI), too")
    },
    differs("server-alias", HOST, "for the first rule, as far as no Ingress asks for the same there"),
    finding("server-alias-regex", HOST, "hosts, or a wildcard, in spec.rules"),
    FamilyKey {
        value: GO_SWITCH,
        to: KeyTarget::Group(&["connect-to"]),
        ..served("service-upstream", SERVERS)
    },
    FamilyKey {
        to: KeyTarget::Group(&["affinity-cookie-domain"]),
        ..served("session-cookie-domain", SERVERS)
    },
    FamilyKey {
        value: GO_SWITCH,
        ..differs("session-cookie-dynamic", SERVERS, "of the server's name in any case")
    },
    FamilyKey {
        same: &["indirect nocache httponly"],
        ..differs(
            "session-cookie-keywords",
            SERVERS,
            "`indirect nocache httponly` are so; with others these stand all the same",
        )
    },
    FamilyKey {
        to: KeyTarget::Group(&["affinity-cookie-name"]),
        ..differs("session-cookie-name", SERVERS, "HttpOnly, and Secure over HTTPS")
    },
    FamilyKey {
        value: GO_SWITCH,
        same: &["false"],
        ..differs(
            "session-cookie-preserve",
            SERVERS,
            "false is so; with true the cookie is HAProxy's own, too",
        )
    },
    FamilyKey {
        value: GO_SWITCH,
        to: KeyTarget::Group(&["affinity-cookie-same-site"]),
        ..served("session-cookie-same-site", SERVERS)
    },
    FamilyKey {
        value: GO_SWITCH,
        same: &["false"],
        ..differs(
            "session-cookie-shared",
            SERVERS,
            "false is so; with true the cookie is for the host alone, too: session-cookie-domain has it for several",
        )
    },
    FamilyKey {
        same: &["insert"],
        ..differs(
            "session-cookie-strategy",
            SERVERS,
            "insert is so; with prefix and rewrite the cookie is inserted, too",
        )
    },
    FamilyKey {
        same: &["server-name"],
        ..differs(
            "session-cookie-value-strategy",
            SERVERS,
            "server-name is so; with pod-uid the value is made of the server's name, too",
        )
    },
    served("slots-min-free", SERVERS),
    finding("source-address-intf", SERVERS, "HAProxy pods have one address"),
    FamilyKey {
        value: GO_SWITCH,
        to: KeyTarget::Group(&["ssl-redirect"]),
        ..served("ssl-always-add-https", HOST)
    },
    FamilyKey {
        value: GO_SWITCH,
        to: KeyTarget::Group(&["ssl-redirect"]),
        ..served("ssl-always-follow-redirect", HOST)
    },
    finding(
        "ssl-cipher-suites",
        HOST,
        "the suites of TLS 1.3 are those of the setting for all hosts; tls-ciphers has those of TLS 1.2",
    ),
    finding("ssl-cipher-suites-backend", SERVERS, "HAProxy's own defaults"),
    FamilyKey {
        to: KeyTarget::Group(&["tls-ciphers"]),
        ..differs(
            "ssl-ciphers",
            HOST,
            "for hosts that the Ingress brings certificates for, and of the ciphers those that tls-ciphers has",
        )
    },
    finding("ssl-ciphers-backend", SERVERS, "HAProxy's own defaults"),
    finding("ssl-dh-default-max-size", CONFIG, "HAProxy's own default"),
    finding("ssl-dh-param", CONFIG, "HAProxy's own default"),
    finding("ssl-engine", CONFIG, "not there"),
    FamilyKey { value: GO_SWITCH, ..finding("ssl-fingerprint-lower", SERVERS, "client-certificate-headers") },
    finding("ssl-fingerprint-sha2-bits", SERVERS, "client-certificate-headers"),
    finding("ssl-headers-prefix", CONFIG, "client-certificate-headers"),
    FamilyKey { value: GO_SWITCH, ..finding("ssl-mode-async", CONFIG, "not there") },
    FamilyKey {
        to: KeyTarget::Group(&["tls-min-version"]),
        ..differs(
            "ssl-options",
            CONFIG,
            "of its options those that say which versions of TLS there are, for hosts that Ingresses bring certificates for; `sslMinVersion` is for all",
        )
    },
    finding("ssl-options-backend", SERVERS, "HAProxy's own defaults"),
    FamilyKey {
        to: KeyTarget::Group(&["tls-min-version"]),
        ..differs(
            "ssl-options-host",
            HOST,
            "of its options those that say which versions of TLS there are, for hosts that the Ingress brings certificates for",
        )
    },
    FamilyKey {
        value: GO_SWITCH,
        to: KeyTarget::Group(&["ssl-passthrough"]),
        ..differs(
            "ssl-passthrough",
            HOST,
            "with the setting passthrough, for hosts of its own namespace; without it requests get 503",
        )
    },
    FamilyKey {
        to: KeyTarget::Group(&["ssl-passthrough-http-port"]),
        ..differs("ssl-passthrough-http-port", HOST, "a number, no name")
    },
    FamilyKey {
        value: GO_SWITCH,
        to: KeyTarget::Group(&["ssl-redirect"]),
        ..differs(
            "ssl-redirect",
            SERVERS,
            "without the port that the client may have named, and for hosts below a wildcard of spec.tls, too",
        )
    },
    FamilyKey {
        value: INTEGER,
        to: KeyTarget::Group(&["ssl-redirect-code"]),
        ..served("ssl-redirect-code", CONFIG)
    },
    finding("stats-auth", CONFIG, "`healthPort`"),
    finding("stats-port", CONFIG, "`healthPort`"),
    FamilyKey { value: GO_SWITCH, ..finding("stats-proxy-protocol", CONFIG, "`healthPort`") },
    finding("stats-ssl-cert", CONFIG, "`healthPort`"),
    FamilyKey { value: GO_SWITCH, ..served("strict-host", CONFIG) },
    finding("syslog-endpoint", CONFIG, "standard output, `accessLog`"),
    finding("syslog-format", CONFIG, "standard output, `accessLog`"),
    finding("syslog-length", CONFIG, "standard output, `accessLog`"),
    finding("syslog-tag", CONFIG, "standard output, `accessLog`"),
    finding("tcp-log-format", CONFIG, "`accessLog`"),
    finding("tcp-service-log-format", HOST, "a TCP section of the operator"),
    FamilyKey {
        value: INTEGER,
        ..finding(
            "tcp-service-port",
            HOST,
            "`tcp-ports` of the Service, at a port of `tcpPorts`; nothing of the Ingress is served",
        )
    },
    FamilyKey {
        value: GO_SWITCH,
        ..finding(
            "tcp-service-proxy-protocol",
            HOST,
            "`PROXY` in a row of the ConfigMap that `tcpServices` names",
        )
    },
    finding("timeout-client", CONFIG, "`timeouts.client`"),
    finding("timeout-client-fin", CONFIG, "`timeouts.client`"),
    FamilyKey { value: TIME, to: KeyTarget::Option("timeout-connect"), ..served("timeout-connect", SERVERS) },
    finding("timeout-http-request", SERVERS, "`timeouts.request`"),
    finding("timeout-keep-alive", SERVERS, "`timeouts.keepAlive`"),
    FamilyKey { value: TIME, to: KeyTarget::Option("timeout-queue"), ..served("timeout-queue", SERVERS) },
    FamilyKey { value: TIME, to: KeyTarget::Option("timeout-server"), ..served("timeout-server", SERVERS) },
    finding("timeout-server-fin", SERVERS, "HAProxy's own"),
    finding("timeout-stop", CONFIG, "hard-stop-after 30m"),
    FamilyKey { value: TIME, to: KeyTarget::Option("timeout-tunnel"), ..served("timeout-tunnel", SERVERS) },
    FamilyKey {
        to: KeyTarget::Group(&["tls-alpn"]),
        ..differs(
            "tls-alpn",
            HOST,
            "of `h2` and `http/1.1`, for hosts that the Ingress brings certificates for",
        )
    },
    FamilyKey { value: GO_SWITCH, ..served("use-chroot", CONFIG) },
    FamilyKey { value: GO_SWITCH, ..served("use-cpu-map", CONFIG) },
    FamilyKey { value: GO_SWITCH, ..finding("use-forwarded-proto", CONFIG, "`trustedProxies`") },
    FamilyKey { value: GO_SWITCH, ..served("use-haproxy-user", CONFIG) },
    FamilyKey { value: GO_SWITCH, ..finding("use-proxy-protocol", CONFIG, "`proxyProtocol`") },
    finding("use-resolver", SERVERS, "requests go to the endpoints"),
    served("username", CONFIG),
    FamilyKey { value: GO_SWITCH, ..served("var-namespace", HOST) },
    finding("waf", SERVERS, "a web application firewall behind HAProxy"),
    finding("waf-mode", SERVERS, "see waf"),
    FamilyKey {
        wrong: WrongValue::Deny,
        to: KeyTarget::Alias("allowlist-source-range"),
        ..differs(
            "whitelist-source-range",
            SERVERS,
            "what is no network is left out, and a list without one lets nobody in",
        )
    },
    served("worker-max-reloads", CONFIG),
];
