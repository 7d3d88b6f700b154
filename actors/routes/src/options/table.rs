//! The table of options: what annotations `haproxy-haptic.org/NAME` mean. Parsing, refusals and the reference follow from it.

pub use super::row::{Reload, Row, With};

use super::{
    affinity, auth, client, concurrency,
    form::Form,
    header, health,
    kind::Kind,
    level::Level::{Class, Ingress, Path, Service},
    pages, rate, redirects,
    row::ROW,
    tcp, tls, tries,
};
use crate::matching::{conditions::Of, patterns::IGNORING_CASE};
use std::{collections::HashMap, sync::LazyLock};

/// The row of an option.
#[must_use]
pub fn row(name: &str) -> Option<&'static Row> {
    // Each option of each object is looked for: a search in the order of the table compares eight names.
    static ROWS: LazyLock<HashMap<&str, &Row>> =
        LazyLock::new(|| TABLE.iter().map(|row| (row.name, row)).collect());
    ROWS.get(name).copied()
}

/// All options.
pub const TABLE: &[Row] = &[
    Row {
        name: "access-log",
        kind: Kind::Switch,
        example: "false",
        reload: Reload::FirstUse,
        about: "`false`: requests are not in the access log.",
        ..ROW
    },
    Row {
        name: "add-request-headers",
        kind: Kind::Headers(header::HeadersOf::Requests),
        example: "X-A: 1",
        reload: Reload::Change,
        about: "As `request-headers`, beside what the request has of that name.",
        ..ROW
    },
    Row {
        name: "add-response-headers",
        kind: Kind::Headers(header::HeadersOf::Answers),
        example: "Link: </a.css>; rel=preload",
        reload: Reload::Change,
        about: "As `response-headers`, beside what the answer has of that name.",
        ..ROW
    },
    affinity::AFFINITY,
    affinity::COOKIE_DOMAIN,
    affinity::COOKIE_MAX_AGE,
    affinity::COOKIE_NAME,
    affinity::COOKIE_PATH,
    affinity::COOKIE_SAME_SITE,
    affinity::COOKIE_SECURE,
    health::AGENT_INTERVAL,
    health::AGENT_PORT,
    Row {
        name: "allow-from",
        kind: Kind::Networks,
        example: "10.0.0.0/8, fd00::/8",
        guards: true,
        about: "Clients from elsewhere get 403.",
        ..ROW
    },
    Row {
        name: "app-root",
        kind: Kind::Text { most: 1000, form: Form::Path },
        example: "/shop",
        levels: &[Path, Ingress],
        about: "Requests for `/` are redirected there.",
        ..ROW
    },
    auth::CACHE,
    auth::CACHE_KEY,
    auth::CLIENT_HEADERS,
    auth::ERROR_STATUS,
    auth::METHOD,
    Row {
        name: "auth-realm",
        kind: Kind::Text { most: 128, form: Form::Realm },
        example: "my shop",
        default: "restricted",
        with: With::Beside("auth-secret"),
        reload: Reload::Change,
        about: "What the browser shows when it asks for the password.",
        levels: &[Path, Ingress],
        ..ROW
    },
    auth::REQUEST_HEADERS,
    auth::RESPONSE_HEADERS,
    Row {
        name: "auth-secret",
        kind: Kind::Secret,
        example: "users",
        reload: Reload::Change,
        guards: true,
        about: "Labelled Secret with `auth`, lines of `user:hash`, or with an entry for each user: hashes of the kinds `$6$`, `$5$` (`openssl passwd -6`), bcrypt and `$1$` within `passwordLimits`, `$apr1$` and `{SHA}` (`htpasswd`), of which changes take no reload, or `{PLAIN}` or a colon and the password. Without the Secret nobody gets in, by a line of another kind nobody does, and name and password together have 145 bytes at the most.",
        levels: &[Path, Ingress],
        ..ROW
    },
    auth::SIGN_IN,
    auth::SIGN_IN_ALWAYS,
    auth::SIGN_IN_PARAMETER,
    auth::TIMEOUT,
    auth::URL,
    auth::WITHHELD_HEADERS,
    Row {
        name: "balance",
        kind: Kind::Balance,
        example: "leastconn",
        about: "How requests are spread over servers; `roundrobin` without it. The choice is that of `balanceAlgorithms`.",
        levels: &[Path, Ingress, Service, Class],
        ..ROW
    },
    Row {
        name: "balance-hash",
        kind: Kind::RequestKey,
        example: "header:X-User",
        reload: Reload::Change,
        about: "Requests with the same header, cookie or parameter of the query, or of the same client (its address), host, path or URI (path and query, as servers get them) go to the same server, from all HAProxys; when servers come or go few requests change theirs. Those without it are spread in turn. It takes the place of `balance`.",
        levels: &[Path, Ingress, Service, Class],
        ..ROW
    },
    Row {
        name: "bandwidth",
        kind: Kind::SizeOfHaproxy,
        example: "500k",
        reload: Reload::Change,
        about: "Of each answer no more than so many bytes a second are sent.",
        ..ROW
    },
    Row {
        name: "canary-cookie",
        kind: Kind::Text { most: 64, form: Form::Cookie },
        example: "try",
        with: With::Beside("canary-service"),
        reload: Reload::FirstUse,
        levels: &[Path, Ingress],
        about: "A cookie that is `always` leads to the canary, one that is `never` to the Service of the path; asked after `canary-header`.",
        ..ROW
    },
    Row {
        name: "canary-header",
        kind: Kind::Text { most: 64, form: Form::HeaderName },
        example: "X-Canary",
        with: With::Beside("canary-service"),
        reload: Reload::FirstUse,
        levels: &[Path, Ingress],
        about: "A header that is `always` leads to the canary, one that is `never` to the Service of the path.",
        ..ROW
    },
    Row {
        name: "canary-header-pattern",
        kind: Kind::ValueRegex,
        example: "^beta",
        with: With::Needs("canary-header"),
        reload: Reload::FirstUse,
        levels: &[Path, Ingress],
        about: "What `canary-header` has leads to the canary if this expression finds something in it; with `canary-header-value` that counts instead.",
        ..ROW
    },
    Row {
        name: "canary-header-value",
        kind: Kind::Text { most: 256, form: Form::HeaderValue },
        example: "beta",
        with: With::Needs("canary-header"),
        reload: Reload::FirstUse,
        levels: &[Path, Ingress],
        about: "`canary-header` leads to the canary if it has this value; any other, `always` and `never` too, decides nothing.",
        ..ROW
    },
    Row {
        name: "canary-service",
        kind: Kind::ServicePort,
        example: "shop-v2:80",
        reload: Reload::FirstUse,
        levels: &[Path, Ingress],
        about: "A Service of the same namespace that gets some of the requests: those that `canary-header`, else `canary-cookie`, else `canary-weight` choose. Without a ready server it gets none.",
        ..ROW
    },
    Row {
        name: "canary-sticky",
        kind: Kind::Choice(&["true", "false", "all"]),
        example: "true",
        with: With::Beside("canary-service"),
        reload: Reload::FirstUse,
        levels: &[Path, Ingress],
        about: "`true`: a client stays, by a cookie, where `canary-weight` led it first, unless the weight is 0 or 100; so it is with `affinity`, unless this is `false`. `all`: with `affinity` it stays where it was led first, whatever led it there and whatever header, cookie and weight say then.",
        ..ROW
    },
    Row {
        name: "canary-weight",
        kind: Kind::Number { least: 0, most: 100, what: "a percentage" },
        example: "20",
        with: With::Beside("canary-service"),
        reload: Reload::FirstUse,
        levels: &[Path, Ingress],
        about: "So many of 100 requests go to the canary, by chance.",
        ..ROW
    },
    Row {
        name: "client-ca-secret",
        kind: Kind::Secret,
        example: "clients-ca",
        reload: Reload::FirstUse,
        guards: true,
        about: "Labelled Secret with `ca.crt`, up to 250 certificates that clients' must be signed by; others on the host need none. Where any Ingress has it no TLS session is resumed. A host has one CA, that of its oldest Ingress which names one; where another is asked for, requests get 403. A host without a certificate of its own has the default one; clients of hosts that no rule names are asked for none, and get 403.",
        levels: &[Ingress],
        ..ROW
    },
    client::CERTIFICATE,
    client::ERROR_PAGE,
    client::HEADERS,
    client::NAMES,
    client::NAMES_IN,
    client::STATUS,
    Row {
        name: "closed",
        kind: Kind::Switch,
        example: "true",
        guards: true,
        about: "`true`: every request gets 503.",
        ..ROW
    },
    Row {
        name: "compression",
        kind: Kind::Choice(&["gzip"]),
        example: "gzip",
        reload: Reload::Change,
        about: "Answers are compressed for clients that take it, unless servers have done so. What a client can guess part by part of a page that also holds a \
            secret may be found out by its size (BREACH).",
        ..ROW
    },
    Row {
        name: "compression-min-size",
        kind: Kind::SizeOfHaproxy,
        example: "1k",
        with: With::Beside("compression"),
        reload: Reload::Change,
        about: "Answers that say a shorter length are not. HAProxy 3.0 compresses them all the same, and a warning says so.",
        ..ROW
    },
    Row {
        name: "compression-types",
        kind: Kind::MediaTypes,
        example: "text/html, application/json",
        default: "text/html, text/plain, text/css, text/javascript, application/javascript, application/json, image/svg+xml",
        with: With::Beside("compression"),
        reload: Reload::Change,
        about: "The media types that are.",
        ..ROW
    },
    concurrency::LIMIT,
    concurrency::EXEMPT,
    concurrency::STATUS,
    Row {
        name: "connect-error-status",
        kind: Kind::Choice(&["502", "503"]),
        example: "502",
        reload: Reload::FirstUse,
        about: "`502`: where no server can be reached the answer is 502, and 504 where none takes the connection in time; 503 without it.",
        ..ROW
    },
    Row {
        name: "connect-to",
        kind: Kind::Choice(&["endpoints", "service"]),
        example: "service",
        about: "`service`: HAProxy connects to the Service's own address (its clusterIP), and the cluster chooses the server, so that options which choose one do nothing. A Service without such an address has no server.",
        levels: &[Path, Ingress, Service, Class],
        ..ROW
    },
    Row {
        name: "cors-allow-credentials",
        kind: Kind::Switch,
        example: "true",
        with: With::Beside("cors-allow-origin"),
        about: "`true`: browsers may send cookies and passwords. Not together with `cors-allow-origin: '*'`.",
        ..ROW
    },
    Row {
        name: "cors-allow-headers",
        kind: Kind::NamesAsWritten,
        example: "X-A, X-B",
        default: "Authorization, Content-Type, X-Requested-With",
        with: With::Beside("cors-allow-origin"),
        about: "Request headers that browsers may send; `*` for all but `Authorization`, which may stand beside it.",
        ..ROW
    },
    Row {
        name: "cors-allow-methods",
        kind: Kind::NamesAsWritten,
        example: "GET, PUT",
        default: "GET, HEAD, POST, PUT, PATCH, DELETE",
        with: With::Beside("cors-allow-origin"),
        about: "Methods that browsers may use; `*` for all.",
        ..ROW
    },
    Row {
        name: "cors-allow-origin",
        kind: Kind::Origins,
        example: "https://shop.example",
        about: "Turns CORS on; preflight requests are answered.",
        ..ROW
    },
    Row {
        name: "cors-allow-origin-regex",
        kind: Kind::OriginRegex,
        example: "https://shop-[0-9]+[.]example",
        with: With::Needs("cors-allow-origin"),
        reload: Reload::FirstUse,
        about: "A regular expression that whole origins must match, besides those that `cors-allow-origin` lists; bounded as `rewrite-regex`.",
        ..ROW
    },
    Row {
        name: "cors-allow-private-network",
        kind: Kind::Switch,
        example: "true",
        with: With::Beside("cors-allow-origin"),
        reload: Reload::FirstUse,
        about: "`true`: pages of the Internet may ask, though the host is in a private network.",
        ..ROW
    },
    Row {
        name: "cors-expose-headers",
        kind: Kind::NamesAsWritten,
        example: "X-Total, X-Page",
        with: With::Beside("cors-allow-origin"),
        about: "Headers of answers that scripts of other origins may read; `*` for all.",
        ..ROW
    },
    Row {
        name: "cors-max-age",
        kind: Kind::Number { least: 0, most: 999_999_999, what: "a number of seconds" },
        example: "600",
        default: "86400",
        with: With::Beside("cors-allow-origin"),
        about: "So long browsers may keep the answer to a preflight request.",
        ..ROW
    },
    Row {
        name: "cors-preflight",
        kind: Kind::Choice(&["answer", "all", "every", "last", "pass"]),
        example: "pass",
        with: With::Beside("cors-allow-origin"),
        reload: Reload::FirstUse,
        about: "`answer` (default): browsers' preflight requests from origins that are let in are answered. `all`: every OPTIONS request is. `every`: every one of an origin that is let in, before anything else is asked, and all answers say which \
            methods and headers are allowed. `last`: the same behind what refuses clients by their addresses and rates, and behind redirects. `pass`: none is, \
            and servers' answers say which methods and headers are allowed.",
        ..ROW
    },
    tls::DEFAULT_CERTIFICATE,
    pages::DEFAULT_SERVICE,
    Row {
        name: "deny-from",
        kind: Kind::Networks,
        example: "10.0.0.0/8, fd00::/8",
        guards: true,
        about: "Clients from there get 403.",
        ..ROW
    },
    pages::ERROR_PAGES,
    pages::ERROR_PAGES_REPLACE,
    pages::ERROR_SERVICE,
    pages::ERROR_SERVICE_STATUSES,
    Row {
        name: "forwarded-prefix",
        kind: Kind::Text { most: 1000, form: Form::Prefix },
        example: "/shop",
        reload: Reload::FirstUse,
        levels: &[Path, Ingress],
        about: "What servers get as `X-Forwarded-Prefix`: what stands before their paths for clients.",
        ..ROW
    },
    health::CHECK,
    health::FALL,
    health::HOST,
    health::INTERVAL,
    health::METHOD,
    health::PATH,
    health::PORT,
    health::RISE,
    health::STATUS,
    health::TIMEOUT,
    Row {
        name: "host-rewrite",
        kind: Kind::Text { most: 253, form: Form::Host },
        example: "shop.internal",
        levels: &[Path, Ingress, Service],
        about: "What servers get as `Host`. `X-Forwarded-Host` stays the client's.",
        ..ROW
    },
    Row {
        name: "hsts-max-age",
        kind: Kind::Number { least: 0, most: 9_999_999_999, what: "a number of seconds" },
        example: "31536000",
        about: "Seconds: answers over HTTPS have `Strict-Transport-Security`.",
        ..ROW
    },
    Row {
        name: "hsts-preload",
        kind: Kind::Switch,
        example: "true",
        with: With::Beside("hsts-max-age"),
        about: "`true` adds `preload`, by which browsers' vendors may list the host for good.",
        ..ROW
    },
    Row {
        name: "hsts-subdomains",
        kind: Kind::Switch,
        example: "true",
        with: With::Beside("hsts-max-age"),
        about: "`true` adds `includeSubDomains`.",
        ..ROW
    },
    pages::MAINTENANCE,
    pages::MAINTENANCE_EXCEPT,
    Row {
        name: "match-headers",
        kind: Kind::Conditions { of: Of::Header, patterns: false },
        example: "X-Version: 2",
        reload: Reload::FirstUse,
        guards: true,
        levels: &[Path, Ingress],
        about: "Lines of `NAME: VALUE`: only requests with all of these headers are taken. Routes with conditions are asked before others of the same path, those with more of them first. Only the namespace that has a host may have them there, and they take nothing from routes of others.",
        ..ROW
    },
    Row {
        name: "match-headers-regex",
        kind: Kind::Conditions { of: Of::Header, patterns: true },
        example: "X-Version: ^[23]$",
        reload: Reload::FirstUse,
        guards: true,
        levels: &[Path, Ingress],
        about: "The same with regular expressions that find something in the header.",
        ..ROW
    },
    Row {
        name: "match-methods",
        kind: Kind::Names,
        example: "GET, HEAD",
        reload: Reload::FirstUse,
        guards: true,
        levels: &[Path, Ingress],
        about: "Only requests with one of these methods are taken.",
        ..ROW
    },
    Row {
        name: "match-query",
        kind: Kind::Conditions { of: Of::Query, patterns: false },
        example: "beta=1",
        reload: Reload::FirstUse,
        guards: true,
        levels: &[Path, Ingress],
        about: "Lines of `NAME=VALUE`: only requests with all of these parameters are taken.",
        ..ROW
    },
    Row {
        name: "match-query-regex",
        kind: Kind::Conditions { of: Of::Query, patterns: true },
        example: "beta=^[1-9]$",
        reload: Reload::FirstUse,
        guards: true,
        levels: &[Path, Ingress],
        about: "The same with regular expressions that find something in the parameter.",
        ..ROW
    },
    Row {
        name: "max-body-size",
        kind: Kind::Size,
        example: "10m",
        reload: Reload::FirstUse,
        about: "`10m`: a request with a longer body gets 413, at once if it says its length, otherwise as soon as more has come than that; the server never gets the whole. Bodies without a length (chunked, HTTP/2) are counted by a Lua filter of this Ingress alone: one reload when it gets its first limit or loses it. Where a class, or the defaults of another controller's annotations, give all routes a limit, the filter is the frontend's, and a route with another limit takes no reload.",
        ..ROW
    },
    Row {
        name: "max-connections",
        kind: Kind::Number { least: 1, most: 999_999, what: "a number of connections to each server" },
        example: "100",
        about: "To each server at a time; more requests wait.",
        levels: &[Path, Ingress, Service, Class],
        ..ROW
    },
    Row {
        name: "max-queue",
        kind: Kind::Number { least: 1, most: 999_999, what: "a number of requests" },
        example: "50",
        with: With::Needs("max-connections"),
        reload: Reload::Change,
        about: "So many requests wait for one server that they should go to; more of them go to others by `affinity`, and get 503 by `balance-hash`.",
        levels: &[Path, Ingress, Service, Class],
        ..ROW
    },
    Row {
        name: "min-tls-version",
        kind: Kind::Choice(&["TLSv1.2", "TLSv1.3"]),
        example: "TLSv1.2",
        guards: true,
        about: "`TLSv1.2` or `TLSv1.3`: requests over an older one, or over HTTP, get 403.",
        ..ROW
    },
    Row {
        name: "mirror-percent",
        kind: Kind::Number { least: 1, most: 100, what: "a percentage" },
        example: "10",
        default: "100",
        with: With::Beside("mirror-service"),
        levels: &[Path, Ingress],
        about: "Of so many of 100 requests there are copies, by chance.",
        ..ROW
    },
    Row {
        name: "mirror-service",
        kind: Kind::ServicePort,
        example: "shop-v2:80",
        reload: Reload::FirstUse,
        levels: &[Path, Ingress],
        about: "A Service of the same namespace that gets a copy of each request that goes to a server, as that one gets it. Nobody waits for it, and \
            its answer is thrown away. A request with a body of more than 12,000 bytes or of a length that it does not say, or one that upgrades its \
            connection, is not copied, nor are more at a time than `mirrorConcurrency` has.",
        ..ROW
    },
    health::PASSIVE,
    Row {
        name: "path-type",
        kind: Kind::Choice(&["regex", IGNORING_CASE]),
        example: "regex",
        reload: Reload::FirstUse,
        levels: &[Path, Ingress],
        about: "`regex`, or `regex-ignore-case`: paths of the types Prefix and ImplementationSpecific are regular expressions, of up to 500 characters, that a request's path must begin with. They are compared in the normal form of paths. An exact path counts first, then what begins with the most characters that are no pattern, of these an expression before a prefix and the longer expression first. Only the namespace that has a host may have them there, and they take nothing from routes of others.",
        ..ROW
    },
    Row {
        name: "protocol",
        kind: Kind::Choice(&["h1", "h2", "https", "h2s"]),
        example: "h2",
        guards: true,
        about: "Of the servers: `h1`, `h2` (without TLS), `https` or `h2s` (HTTP/1.1 or HTTP/2 over TLS). Without it the `appProtocol` of the Service's port counts (`https`, `kubernetes.io/wss`, `kubernetes.io/h2c`, `grpc`), unless the setting `appProtocol` is false, else `h1`.",
        levels: &[Path, Ingress, Service, Class],
        ..ROW
    },
    Row {
        name: "proxy-protocol",
        kind: Kind::Choice(&["v1", "v2", "v2-ssl", "v2-ssl-cn"]),
        example: "v2",
        reload: Reload::Change,
        levels: &[Path, Ingress, Service, Class],
        about: "Servers are told the client's address by the PROXY protocol, of that version; with `v2-ssl` also of the client's TLS, with `v2-ssl-cn` of the name in its certificate. Those that do not expect it answer nothing.",
        ..ROW
    },
    rate::LIMIT,
    rate::BURST,
    rate::EXEMPT,
    rate::KEY,
    rate::PERIOD,
    rate::STATUS,
    redirects::ABSOLUTE,
    redirects::CODE,
    redirects::EARLY,
    redirects::FIRST,
    redirects::HOST,
    redirects::KEEP_PATH,
    redirects::KEEP_QUERY,
    redirects::PORT,
    redirects::TO,
    redirects::WWW,
    Row {
        name: "remove-request-headers",
        kind: Kind::HeaderNames,
        example: "X-Debug, X-Internal",
        reload: Reload::Change,
        guards: true,
        about: "Removed from requests, in any spelling, before `request-headers` are set. HAProxy adds `X-Forwarded-For` behind that, to requests that have none then.",
        ..ROW
    },
    Row {
        name: "remove-response-headers",
        kind: Kind::HeaderNames,
        example: "Server, X-Powered-By",
        reload: Reload::Change,
        about: "Removed from answers, before `response-headers` are set. The header with the request's number (`requestIdHeader`) stays.",
        ..ROW
    },
    Row {
        name: "request-buffering",
        kind: Kind::TimeUpTo(60_000, "1m"),
        example: "5s",
        reload: Reload::Change,
        about: "So long HAProxy waits for the body of a request, as much of it as fits into its buffer (16 KB), before it connects to a server: slow clients hold none. One that sends less gets 408.",
        ..ROW
    },
    Row {
        name: "request-headers",
        kind: Kind::Headers(header::HeadersOf::Requests),
        example: "X-A: 1",
        reload: Reload::Change,
        about: "Set on requests, in place of what clients say in any spelling. Not what frames a message or is for one connection, such as Content-Length and Upgrade. In values stand `${client-address}`, `${client-port}`, `${host}`, `${path}`, `${request-id}`, `${service}` (its name), `${tls-version}`, `${tls-cipher}`, `${tls-name}`, and of requests `${method}`, `${query}`, `${scheme}`.",
        ..ROW
    },
    Row {
        name: "response-headers",
        kind: Kind::Headers(header::HeadersOf::Answers),
        example: "X-A: 1",
        reload: Reload::Change,
        about: "The same, set on answers of servers; those that HAProxy gives itself, such as 403 and redirects, have none of them. The header with the request's number (`requestIdHeader`) stays HAProxy's own.",
        ..ROW
    },
    tries::RETRIES,
    tries::RETRY,
    tries::RETRY_ON,
    Row {
        name: "rewrite-path",
        kind: Kind::Text { most: 1000, form: Form::Prefix },
        example: "/v2",
        about: "Takes the place of the path that matched: `/api` of `/api/users` becomes `/v2` of `/v2/users`. The rest is the path as it was compared (`paths`).",
        levels: &[Path, Ingress],
        ..ROW
    },
    Row {
        name: "rewrite-regex",
        kind: Kind::Regex,
        example: "^/api/(.*)",
        with: With::Needs("rewrite-replacement"),
        reload: Reload::Change,
        about: "What of the path `rewrite-replacement` takes the place of, up to 500 characters. What would go back and forth over a path, such as `(a+)+b`, is refused; where the path must be bounded for that, longer ones than 1,024 to 8,192 bytes get 414, and so do those for which PCRE2 may have no room: with a repeated group such as `(/[a-z]+)*` longer ones than 512 bytes or more.",
        levels: &[Path, Ingress],
        ..ROW
    },
    Row {
        name: "rewrite-replacement",
        kind: Kind::Text { most: 500, form: Form::Replacement },
        example: "/v2/\\1",
        with: With::Needs("rewrite-regex"),
        reload: Reload::Change,
        about: "A path of up to 500 characters; `\\1` is the first group of `rewrite-regex`.",
        levels: &[Path, Ingress],
        ..ROW
    },
    Row {
        name: "rewrite-rules",
        kind: Kind::Rewrites,
        example: "^/api/(.*) /v2/\\1",
        reload: Reload::Change,
        about: "Up to 5 lines of a regular expression and a path: where the expression finds something in the path, that path takes the place of all of it; `\\1` is what the first group found. One line sees what the line before has made. Expressions are bounded as those of `rewrite-regex`.",
        levels: &[Path, Ingress],
        ..ROW
    },
    Row {
        name: "rewrite-target",
        kind: Kind::Text { most: 500, form: Form::Target },
        example: "/v2/\\1",
        with: With::Needs("path-type"),
        reload: Reload::FirstUse,
        levels: &[Path, Ingress],
        about: "What takes the place of the whole path where `path-type` is given; `\\1` is the first group of the path that matched.",
        ..ROW
    },
    Row {
        name: "satisfy",
        kind: Kind::Choice(&["all", "any"]),
        example: "any",
        reload: Reload::FirstUse,
        guards: true,
        levels: &[Path, Ingress],
        about: "`any`: clients of `allow-from` that are not of `deny-from` need neither a password nor the word of `auth-url`, and others come in with these. Where neither is asked for, it has no effect.",
        ..ROW
    },
    Row {
        name: "server-ca-config-map",
        kind: Kind::ConfigMap,
        example: "servers-ca",
        reload: Reload::FirstUse,
        guards: true,
        about: "Labelled ConfigMap of the same namespace with `ca.crt`, in the place of `server-ca-secret`: of both the nearer counts, and they do not stand at one level. Without the ConfigMap there are no servers.",
        levels: &[Path, Ingress, Service],
        ..ROW
    },
    Row {
        name: "server-ca-entry",
        kind: Kind::Choice(&["ca.crt", "tls.crt"]),
        example: "tls.crt",
        with: With::Needs("server-ca-secret"),
        reload: Reload::Change,
        guards: true,
        levels: &[Path, Ingress, Service],
        about: "The entry of `server-ca-secret` with the certificates; `ca.crt` without it.",
        ..ROW
    },
    Row {
        name: "server-ca-secret",
        kind: Kind::Secret,
        example: "servers-ca",
        reload: Reload::FirstUse,
        guards: true,
        about: "Labelled Secret with `ca.crt` that servers must be signed by, or `server-ca-config-map`; without both servers over TLS are not verified.",
        levels: &[Path, Ingress, Service],
        ..ROW
    },
    Row {
        name: "server-certificate",
        kind: Kind::Choice(&["required", "if-any", "optional"]),
        example: "optional",
        with: With::Needs("server-certificate-secret"),
        reload: Reload::Change,
        guards: true,
        about: "`if-any`: where the Secret of `server-certificate-secret` has no `tls.crt` servers are shown no certificate; `optional`: without the Secret, too; `required` (default): there are no servers then.",
        levels: &[Path, Ingress, Service],
        ..ROW
    },
    Row {
        name: "server-certificate-secret",
        kind: Kind::Secret,
        example: "haproxy-tls",
        reload: Reload::Change,
        guards: true,
        about: "Secret of the same namespace, of type `kubernetes.io/tls` or labelled, with the certificate (`tls.crt`, `tls.key`) that HAProxy shows to servers. Without the Secret there are no servers.",
        levels: &[Path, Ingress, Service],
        ..ROW
    },
    Row {
        name: "server-tls-name",
        kind: Kind::Text { most: 253, form: Form::ServerName },
        example: "shop.internal",
        reload: Reload::Change,
        guards: true,
        about: "What servers over TLS are called: HAProxy asks for that name (SNI), and with `server-ca-secret` their certificates must have it; \
            `NAME.NAMESPACE.svc` of the Service without it. `$host` is the host of the request; with `$none` no name is asked for, and none is verified.",
        levels: &[Path, Ingress, Service],
        ..ROW
    },
    health::SLOW_START,
    tls::PASSTHROUGH,
    tls::PASSTHROUGH_HTTP_PORT,
    redirects::HTTPS,
    redirects::HTTPS_CODE,
    redirects::HTTPS_PORT,
    redirects::HTTPS_SLASH,
    tcp::ALLOW_FROM,
    tcp::PORTS,
    tcp::TLS_SECRET,
    Row {
        name: "timeout-connect",
        kind: Kind::Time,
        example: "5s",
        about: "To a server.",
        levels: &[Path, Ingress, Service, Class],
        ..ROW
    },
    Row {
        name: "timeout-queue",
        kind: Kind::Time,
        example: "30s",
        about: "How long a request waits for a server that is free.",
        levels: &[Path, Ingress, Service, Class],
        ..ROW
    },
    Row {
        name: "timeout-server",
        kind: Kind::Time,
        example: "2m",
        about: "How long a server may be silent.",
        levels: &[Path, Ingress, Service, Class],
        ..ROW
    },
    Row {
        name: "timeout-tunnel",
        kind: Kind::Time,
        example: "1h",
        about: "How long a WebSocket or another tunnel may be silent.",
        levels: &[Path, Ingress, Service, Class],
        ..ROW
    },
    tls::ALPN,
    tls::CIPHERS,
    tls::MIN_VERSION,
    Row {
        name: "trailing-slash",
        kind: Kind::Choice(&["add", "remove"]),
        example: "add",
        levels: &[Path, Ingress],
        about: "`add`: requests for the path of the route itself are redirected to it with a slash behind it. `remove`: those for any path with a slash at its end to the one without.",
        ..ROW
    },
    Row {
        name: "weights",
        kind: Kind::Weights,
        example: "shop-v2:80=20, shop-v3:80=5",
        reload: Reload::FirstUse,
        levels: &[Path, Ingress],
        about: "So many of 100 requests go to these Services of the same namespace, by chance, the rest to that of the path. One without a ready server gets none.",
        ..ROW
    },
];
