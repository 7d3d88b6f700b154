//! The keys of haproxytech/kubernetes-ingress, as of its version 3.2.

use super::values::{NUMBER, SWITCH, TIME};
use crate::families::key::{FamilyKey, KeyPlace, KeyTarget, WrongValue, differs, finding, served};
use KeyPlace::{Config, Ingress, Service};

/// The prefixes of its annotations (`pkg/store/convert.go`); which of them counts is not defined there.
pub const PREFIXES: &[&str] = &["haproxy.org/", "haproxy.com/", "ingress.kubernetes.io/"];

/// Keys of its frontends.
const INGRESS: &[KeyPlace] = &[Ingress, Config];
/// Keys of its backends.
const SERVERS: &[KeyPlace] = &[Service, Ingress, Config];
/// Keys of its backends that it reads on no Ingress.
const SERVICE: &[KeyPlace] = &[Service, Config];
/// Keys of the whole.
const CONFIG: &[KeyPlace] = &[Config];

/// The verdict on lines for a backend.
const SNIPPET: &str = "without `snippets: translate` nothing of it counts, and with it headers, paths, times, balance and compression: no line of `haproxy.cfg` is printed for anybody; one that may keep requests out, and is not known, lets nobody in";

/// Options that a `Backend` may set, and those of annotations that it takes the place of.
const BACKEND: &[&str] = &[
    "add-request-headers",
    "add-response-headers",
    "affinity",
    "affinity-cookie-name",
    "affinity-cookie-same-site",
    "affinity-cookie-secure",
    "balance",
    "balance-hash",
    "compression",
    "compression-types",
    "health-check",
    "health-check-interval",
    "health-check-method",
    "health-check-path",
    "health-check-timeout",
    "max-connections",
    "protocol",
    "proxy-protocol",
    "redirect-code",
    "redirect-keep-path",
    "redirect-to",
    "remove-request-headers",
    "remove-response-headers",
    "request-headers",
    "response-headers",
    "retries",
    "rewrite-rules",
    "server-ca-entry",
    "server-ca-secret",
    "server-certificate-secret",
    "server-tls-name",
    "slow-start",
    "timeout-connect",
    "timeout-queue",
    "timeout-server",
    "timeout-tunnel",
];

/// All keys, in the order of their names.
pub const TABLE: &[FamilyKey] = &[
    FamilyKey {
        value: SWITCH,
        ..differs("abortonclose", SERVERS, "always on: a request whose client went away leaves the queue")
    },
    FamilyKey {
        wrong: WrongValue::Deny,
        to: KeyTarget::Group(&["allow-from"]),
        ..differs(
            "allow-list",
            INGRESS,
            "no `patterns/` files; a list of which some is no network keeps the rest of it, one of which all is let nobody in",
        )
    },
    FamilyKey { to: KeyTarget::Group(&["auth-realm"]), ..served("auth-realm", INGRESS) },
    FamilyKey {
        wrong: WrongValue::Deny,
        to: KeyTarget::Group(&["auth-secret"]),
        ..differs("auth-secret", INGRESS, "of its own namespace; without the Secret nobody gets in")
    },
    FamilyKey {
        wrong: WrongValue::Deny,
        to: KeyTarget::Group(&["auth-secret"]),
        ..differs(
            "auth-type",
            INGRESS,
            "any other value than `basic-auth` protects the route, too; redirects, and answers to OPTIONS by `cors-respond-to-options`, come before a password is asked for",
        )
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
        ..differs("backend-config-snippet", SERVERS, SNIPPET)
    },
    FamilyKey {
        wrong: WrongValue::Deny,
        to: KeyTarget::Alias("deny-list"),
        ..differs("blacklist", INGRESS, "no `patterns/` files; a list that cannot be read closes the route")
    },
    FamilyKey {
        value: SWITCH,
        to: KeyTarget::Group(&["health-check"]),
        ..differs("check", SERVERS, "where it is given; without it Kubernetes' readiness decides")
    },
    FamilyKey {
        to: KeyTarget::Group(&["health-check", "health-check-method", "health-check-path"]),
        ..differs("check-http", SERVERS, "without version and headers")
    },
    FamilyKey {
        value: TIME,
        to: KeyTarget::Group(&["health-check-interval"]),
        ..served("check-interval", SERVERS)
    },
    FamilyKey { value: SWITCH, ..served("clean-certs", CONFIG) },
    FamilyKey {
        wrong: WrongValue::Deny,
        ..differs(
            "client-ca",
            CONFIG,
            "all requests get 503 unless `client-crt-optional` is on: `client-ca-secret` of each Ingress",
        )
    },
    FamilyKey {
        value: SWITCH,
        ..finding("client-crt-optional", CONFIG, "`client-certificate: optional` of each Ingress")
    },
    FamilyKey { value: SWITCH, ..finding("client-strict-sni", CONFIG, "`defaultCertificate: none`") },
    FamilyKey {
        to: KeyTarget::Group(&["affinity", "affinity-cookie-name"]),
        ..differs("cookie-persistence", SERVICE, "by a cookie of the server's name, which is `HttpOnly`")
    },
    FamilyKey {
        to: KeyTarget::Group(&["affinity", "affinity-cookie-name"]),
        ..differs("cookie-persistence-no-dynamic", SERVICE, "the same cookie")
    },
    FamilyKey {
        to: KeyTarget::Group(&["cors-allow-credentials"]),
        ..served("cors-allow-credentials", INGRESS)
    },
    FamilyKey { to: KeyTarget::Group(&["cors-allow-headers"]), ..served("cors-allow-headers", INGRESS) },
    FamilyKey { to: KeyTarget::Group(&["cors-allow-methods"]), ..served("cors-allow-methods", INGRESS) },
    FamilyKey {
        to: KeyTarget::Group(&["cors-allow-origin"]),
        ..differs(
            "cors-allow-origin",
            INGRESS,
            "an expression must be one of whole origins, or of all as `.*` is, for which pages are told their own origin; what is none lets no origin in",
        )
    },
    FamilyKey {
        value: SWITCH,
        to: KeyTarget::Group(&["cors-allow-origin"]),
        ..served("cors-enable", INGRESS)
    },
    FamilyKey { value: TIME, to: KeyTarget::Group(&["cors-max-age"]), ..served("cors-max-age", INGRESS) },
    FamilyKey {
        to: KeyTarget::Group(&["cors-preflight"]),
        ..differs("cors-respond-to-options", INGRESS, "OPTIONS is answered before a password is asked for")
    },
    FamilyKey {
        to: KeyTarget::Group(BACKEND),
        ..differs(
            "cr-backend",
            SERVERS,
            "of the Ingress's own namespace, or as the ConfigMap names it: balance, times, checks, cookie, compression, and rules for headers, paths and redirects without conditions; where another one may keep requests out, or the Backend is not there, nobody gets in",
        )
    },
    FamilyKey {
        to: KeyTarget::Group(&["timeout-connect", "timeout-queue", "timeout-server", "timeout-tunnel"]),
        ..differs(
            "cr-defaults",
            CONFIG,
            "of its fields the times for servers; the others are settings of the libraries",
        )
    },
    finding("cr-frontend-http", CONFIG, "snippets `frontend-*`"),
    finding("cr-frontend-https", CONFIG, "snippets `frontend-*`"),
    finding("cr-frontend-stats", CONFIG, "snippet `health`"),
    finding(
        "cr-global",
        CONFIG,
        "`maxConnections` for its `maxconn`, `accessLog` for its log targets, snippets `global-*` for the rest",
    ),
    finding("default-backend-service", CONFIG, "an Ingress without rules"),
    FamilyKey {
        wrong: WrongValue::Deny,
        to: KeyTarget::Group(&["deny-from"]),
        ..differs("deny-list", INGRESS, "no `patterns/` files; a list that cannot be read closes the route")
    },
    FamilyKey { value: SWITCH, ..served("dontlognull", CONFIG) },
    FamilyKey {
        value: SWITCH,
        ..differs(
            "forwarded-for",
            SERVERS,
            "always; what clients send is removed, unless they are `trustedProxies`",
        )
    },
    finding("frontend-config-snippet", CONFIG, "snippets `frontend-*`"),
    finding("generate-certificates-signer", CONFIG, "cert-manager"),
    finding("global-config-snippet", CONFIG, "snippets `global-*`"),
    finding("hard-stop-after", CONFIG, "snippets `global-*`"),
    finding("http-connection-mode", CONFIG, "HAProxy's own default"),
    FamilyKey { value: SWITCH, ..finding("http-keep-alive", CONFIG, "HAProxy's own default") },
    FamilyKey { value: SWITCH, ..finding("http-server-close", CONFIG, "HAProxy's own default") },
    FamilyKey {
        to: KeyTarget::Group(&["balance", "balance-hash"]),
        ..differs(
            "load-balance",
            SERVERS,
            "of `uri`, `url_param` and `hdr` by a hash that is consistent, with their first argument; `first`, `static-rr` and `rdp-cookie` are not there",
        )
    },
    finding("log-format", CONFIG, "`accessLog`"),
    finding("log-format-tcp", CONFIG, "`accessLog`"),
    FamilyKey { value: SWITCH, ..finding("logasap", CONFIG, "`accessLog`") },
    finding("maxconn", CONFIG, "`maxConnections` in extraContext, the connections that each HAProxy has"),
    finding("nbthread", CONFIG, "HAProxy's own default, as many as CPUs"),
    FamilyKey {
        to: KeyTarget::Group(&["rewrite-rules"]),
        ..differs(
            "path-rewrite",
            INGRESS,
            "up to five lines, whose expressions do not go back and forth over a path and have neither `(?=`, `(?!` nor `\\1` in them, and whose paths begin with / and have no expressions; a line that is another one is left out, and is a finding",
        )
    },
    FamilyKey {
        value: NUMBER,
        to: KeyTarget::Option("max-connections"),
        ..differs("pod-maxconn", SERVERS, "of each HAProxy, not divided by their number")
    },
    finding("prometheus-endpoint-auth-secret", CONFIG, "metrics are for the inside: NetworkPolicy"),
    finding(
        "proxy-protocol",
        CONFIG,
        "`proxyProtocol` in extraContext: then all clients must come by it, not those of a list",
    ),
    finding("quic-alt-svc-max-age", CONFIG, "the setting `http3`, whose Alt-Svc is for an hour"),
    FamilyKey {
        value: TIME,
        to: KeyTarget::Group(&["rate-limit-period"]),
        ..differs(
            "rate-limit-period",
            INGRESS,
            "1, 2, 5, 10, 15 or 30 seconds or minutes, or an hour; another one is counted in the next longer of these, one of more than an hour as its part of an hour",
        )
    },
    FamilyKey {
        value: NUMBER,
        to: KeyTarget::Group(&["rate-limit"]),
        ..differs(
            "rate-limit-requests",
            INGRESS,
            "each Ingress counts for itself, requests without a password, too, and clients of IPv6 by their /64",
        )
    },
    differs("rate-limit-size", INGRESS, "the size of the table is HAPTIC's"),
    FamilyKey {
        value: NUMBER,
        to: KeyTarget::Group(&["rate-limit-status"]),
        ..differs("rate-limit-status-code", INGRESS, "a status that HAProxy has no page for is 403")
    },
    FamilyKey {
        to: KeyTarget::Group(&["rate-limit-exempt"]),
        ..differs("rate-limit-whitelist", INGRESS, "no `patterns/` files")
    },
    finding("request-capture", INGRESS, "`accessLog: json` has host, path and request id"),
    finding("request-capture-len", INGRESS, "see request-capture"),
    FamilyKey {
        to: KeyTarget::Group(&["redirect-to", "redirect-keep-path"]),
        ..differs(
            "request-redirect",
            INGRESS,
            "before a password is asked for, which is the other way round there; one with an expression lets nobody in",
        )
    },
    FamilyKey {
        value: NUMBER,
        to: KeyTarget::Group(&["redirect-code"]),
        ..served("request-redirect-code", INGRESS)
    },
    FamilyKey {
        to: KeyTarget::Group(&["request-headers"]),
        ..differs(
            "request-set-header",
            INGRESS,
            "of expressions `%[...]` those of client, host, path, query, method, TLS and request id; a line with another one, or with an environment variable, is left out, and the client's own header with it; an empty value takes the header away",
        )
    },
    FamilyKey {
        to: KeyTarget::Group(&["response-headers"]),
        ..differs(
            "response-set-header",
            INGRESS,
            "of expressions `%[...]` those of client, host, path, TLS and request id; a line with another one, or with an environment variable, is left out",
        )
    },
    FamilyKey {
        wrong: WrongValue::Deny,
        to: KeyTarget::Group(&[
            "match-headers",
            "match-headers-regex",
            "match-query",
            "match-query-regex",
            "match-methods",
        ]),
        ..differs(
            "route-acl",
            &[Service],
            "conditions of headers as wholes, cookies, parameters of the query and methods that must all hold; with others, such as `rand` or `path_end`, the routes to the Service are left out, so nobody gets there: weights are `canary-weight`",
        )
    },
    served("scale-server-slots", SERVERS),
    FamilyKey { to: KeyTarget::Group(&["proxy-protocol"]), ..served("send-proxy-protocol", SERVERS) },
    FamilyKey {
        wrong: WrongValue::Deny,
        to: KeyTarget::Group(&["server-ca-secret", "server-ca-entry"]),
        ..differs("server-ca", SERVERS, "of its own namespace; without the Secret there are no servers")
    },
    FamilyKey {
        wrong: WrongValue::Deny,
        to: KeyTarget::Group(&["server-certificate-secret"]),
        ..differs("server-crt", SERVERS, "of its own namespace; without the Secret there are no servers")
    },
    FamilyKey { to: KeyTarget::Group(&["protocol"]), ..served("server-proto", SERVERS) },
    FamilyKey { to: KeyTarget::Alias("scale-server-slots"), ..served("server-slots", SERVERS) },
    FamilyKey {
        value: SWITCH,
        to: KeyTarget::Group(&["protocol"]),
        ..differs("server-ssl", SERVERS, "HTTP/1.1 over TLS unless `server-proto: h2` is given")
    },
    FamilyKey { to: KeyTarget::Alias("scale-server-slots"), ..served("servers-increment", SERVERS) },
    FamilyKey { to: KeyTarget::Group(&["host-rewrite"]), ..served("set-host", INGRESS) },
    finding(
        "src-ip-header",
        INGRESS,
        "`trustedProxies` says whose X-Forwarded-For counts: anybody can send a header; beside `allow-list` and `deny-list` another header lets nobody in",
    ),
    finding("ssl-certificate", CONFIG, "`defaultCertificate`"),
    FamilyKey {
        value: SWITCH,
        wrong: WrongValue::Deny,
        to: KeyTarget::Group(&["ssl-passthrough"]),
        ..differs(
            "ssl-passthrough",
            INGRESS,
            "with the setting passthrough, for hosts of its own namespace and a path /; without it requests get 503",
        )
    },
    FamilyKey { value: SWITCH, to: KeyTarget::Group(&["ssl-redirect"]), ..served("ssl-redirect", INGRESS) },
    FamilyKey {
        value: NUMBER,
        to: KeyTarget::Group(&["ssl-redirect-code"]),
        ..served("ssl-redirect-code", INGRESS)
    },
    FamilyKey {
        value: NUMBER,
        to: KeyTarget::Group(&["ssl-redirect-port"]),
        ..served("ssl-redirect-port", INGRESS)
    },
    FamilyKey { value: SWITCH, ..served("standalone-backend", &[Service, Ingress]) },
    finding("stats-config-snippet", CONFIG, "snippet `health`"),
    finding("syslog-server", CONFIG, "standard output; snippets `global-*` for another `log` line"),
    FamilyKey {
        value: TIME,
        to: KeyTarget::Group(&["health-check-timeout"]),
        ..served("timeout-check", SERVERS)
    },
    finding("timeout-client", CONFIG, "`timeouts.client`"),
    finding("timeout-client-fin", CONFIG, "30 s"),
    FamilyKey { value: TIME, to: KeyTarget::Option("timeout-connect"), ..served("timeout-connect", CONFIG) },
    finding("timeout-http-keep-alive", CONFIG, "`timeouts.keepAlive`"),
    finding("timeout-http-request", CONFIG, "`timeouts.request`"),
    FamilyKey { value: TIME, to: KeyTarget::Option("timeout-queue"), ..served("timeout-queue", CONFIG) },
    FamilyKey { value: TIME, to: KeyTarget::Option("timeout-server"), ..served("timeout-server", SERVERS) },
    finding("timeout-server-fin", CONFIG, "snippets `profile-rule-*`"),
    FamilyKey { value: TIME, to: KeyTarget::Option("timeout-tunnel"), ..served("timeout-tunnel", CONFIG) },
    FamilyKey {
        to: KeyTarget::Group(&["tls-alpn"]),
        ..differs(
            "tls-alpn",
            CONFIG,
            "of `h2` and `http/1.1`, for hosts that Ingresses bring certificates for",
        )
    },
    FamilyKey {
        wrong: WrongValue::Deny,
        to: KeyTarget::Alias("allow-list"),
        ..differs("whitelist", INGRESS, "as allow-list")
    },
];
