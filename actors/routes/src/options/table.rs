//! The table of options: what annotations `haproxy-haptic.org/NAME` mean. Parsing, refusals and the reference follow from it.

use super::{
    PREFIX, auth, client,
    kind::{Form, Kind},
    level::Level,
};
use crate::{conditions::Of, patterns::IGNORING_CASE};
use Level::{Class, Ingress, Path, Service};

/// One option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    /// Behind `haproxy-haptic.org/`; rows are in the order of their names.
    pub name: &'static str,
    /// How its value is read.
    pub kind: Kind,
    /// A good value.
    pub example: &'static str,
    /// What counts where the option it goes with is given and it is not; empty: nothing.
    pub default: &'static str,
    /// The option that it goes with.
    pub with: With,
    /// Where it may stand.
    pub levels: &'static [Level],
    /// Whether a change reloads HAProxy, on 3.4.
    pub reload: Reload,
    /// Whether it guards access, to the route or to what servers are sent: a value that cannot be read must let nobody in.
    pub guards: bool,
    /// What it does.
    pub about: &'static str,
}

/// What an option is without another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum With {
    /// It stands alone.
    Nothing,
    /// It is wrong without that one.
    Needs(&'static str),
    /// It has no effect without that one.
    Beside(&'static str),
}

/// Whether HAProxy reads at a start only what an option asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reload {
    /// It follows at run time.
    No,
    /// Once for each change of the option.
    Change,
    /// Once where something is used for the first time; the reference says what.
    FirstUse,
}

impl Row {
    /// What is said where it stands elsewhere.
    #[must_use]
    pub fn misplaced(&self) -> String {
        let words: Vec<&str> = self.levels.iter().map(|level| level.word()).collect();
        format!("annotation {PREFIX}{} has no effect there: it stands at {}", self.name, words.join(", "))
    }
}

/// The row of an option.
#[must_use]
pub fn row(name: &str) -> Option<&'static Row> {
    TABLE.binary_search_by(|row| row.name.cmp(name)).ok().and_then(|at| TABLE.get(at))
}

/// What most rows have.
pub(super) const ROW: Row = Row {
    name: "",
    kind: Kind::Switch,
    example: "",
    default: "",
    with: With::Nothing,
    levels: &[Path, Ingress, Class],
    reload: Reload::No,
    guards: false,
    about: "",
};

/// All options.
pub const TABLE: &[Row] = &[
    Row {
        name: "affinity",
        kind: Kind::Choice(&["cookie"]),
        example: "cookie",
        about: "`cookie`: requests of a client go to the same server. Over HTTPS the cookie is `Secure`.",
        levels: &[Path, Ingress, Service, Class],
        ..ROW
    },
    Row {
        name: "affinity-cookie-name",
        kind: Kind::Text { most: 64, form: Form::Cookie },
        example: "SHOP",
        with: With::Needs("affinity"),
        reload: Reload::Change,
        about: "Another name for that cookie.",
        levels: &[Path, Ingress, Service],
        ..ROW
    },
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
        about: "Labelled Secret with `auth`, lines of `user:hash`, or with an entry for each user: hashes of the kinds `$6$`, `$5$` (`openssl passwd -6`), bcrypt and `$1$` within `passwordLimits`, `$apr1$` and `{SHA}` (`htpasswd`), of which changes take no reload, or `{PLAIN}` and the password. Without the Secret nobody gets in, by a line of another kind nobody does, and name and password together have 145 bytes at the most.",
        levels: &[Path, Ingress],
        ..ROW
    },
    auth::SIGN_IN,
    auth::SIGN_IN_PARAMETER,
    auth::TIMEOUT,
    auth::URL,
    Row {
        name: "balance",
        kind: Kind::Balance,
        example: "leastconn",
        about: "How requests are spread over servers; `roundrobin` without it. The choice is that of `balanceAlgorithms`.",
        levels: &[Path, Ingress, Service, Class],
        ..ROW
    },
    Row {
        name: "bandwidth",
        kind: Kind::Size,
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
        kind: Kind::Regex,
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
        example: "true",
        with: With::Beside("canary-service"),
        reload: Reload::FirstUse,
        levels: &[Path, Ingress],
        about: "`true`: a client stays, by a cookie, where `canary-weight` led it first, unless the weight is 0 or 100; so it is with `affinity`, unless this is `false`.",
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
        about: "Labelled Secret with `ca.crt`, up to 250 certificates that clients' must be signed by; others on the host need none. Where any Ingress has it no TLS session is resumed. A host has one CA, that of its oldest Ingress which names one; where another is asked for, requests get 403.",
        levels: &[Ingress],
        ..ROW
    },
    client::CERTIFICATE,
    client::ERROR_PAGE,
    client::HEADERS,
    client::NAMES,
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
        name: "compression-types",
        kind: Kind::MediaTypes,
        example: "text/html, application/json",
        default: "text/html, text/plain, text/css, text/javascript, application/javascript, application/json, image/svg+xml",
        with: With::Beside("compression"),
        reload: Reload::Change,
        about: "The media types that are.",
        ..ROW
    },
    Row {
        name: "concurrency-limit",
        kind: Kind::Number { least: 1, most: 1_000_000, what: "a number of requests" },
        example: "10",
        about: "Of each client (an IPv4 address, an IPv6 /64) no more requests are answered at a time; the next one gets 429. Each Ingress and each HAProxy counts for itself.",
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
        kind: Kind::Names,
        example: "X-A, X-B",
        default: "Authorization, Content-Type, X-Requested-With",
        with: With::Beside("cors-allow-origin"),
        about: "Request headers that browsers may send.",
        ..ROW
    },
    Row {
        name: "cors-allow-methods",
        kind: Kind::Names,
        example: "GET, PUT",
        default: "GET, HEAD, POST, PUT, PATCH, DELETE",
        with: With::Beside("cors-allow-origin"),
        about: "Methods that browsers may use.",
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
        name: "cors-expose-headers",
        kind: Kind::Names,
        example: "X-Total, X-Page",
        with: With::Beside("cors-allow-origin"),
        about: "Headers of answers that scripts of other origins may read.",
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
        name: "deny-from",
        kind: Kind::Networks,
        example: "10.0.0.0/8, fd00::/8",
        guards: true,
        about: "Clients from there get 403.",
        ..ROW
    },
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
        about: "`10m`: a request with a longer body gets 413, at once if it says its length, otherwise as soon as more has come than that; the server never gets the whole. Bodies without a length (chunked, HTTP/2) are counted by a Lua filter of this Ingress alone: one reload when it gets its first limit or loses it.",
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
        about: "Of the servers: `h1` (default), `h2` (without TLS), `https` or `h2s` (HTTP/1.1 or HTTP/2 over TLS).",
        levels: &[Path, Ingress, Service, Class],
        ..ROW
    },
    Row {
        name: "proxy-protocol",
        kind: Kind::Choice(&["v1", "v2"]),
        example: "v2",
        reload: Reload::Change,
        levels: &[Path, Ingress, Service, Class],
        about: "Servers are told the client's address by the PROXY protocol, of that version. Those that do not expect it answer nothing.",
        ..ROW
    },
    Row {
        name: "rate-limit",
        kind: Kind::Number { least: 1, most: 999_999_999, what: "a number of requests" },
        example: "100",
        about: "Requests of one client (an IPv4 address, an IPv6 /64) in each `rate-limit-period`; more get 429. Each HAProxy counts for itself.",
        ..ROW
    },
    Row {
        name: "rate-limit-exempt",
        kind: Kind::Networks,
        example: "10.0.0.0/8, fd00::/8",
        with: With::Beside("rate-limit"),
        about: "Clients from there have no limit.",
        ..ROW
    },
    Row {
        name: "rate-limit-period",
        kind: Kind::Choice(&["second", "minute", "hour"]),
        example: "minute",
        default: "second",
        with: With::Beside("rate-limit"),
        about: "In which `rate-limit` counts.",
        ..ROW
    },
    Row {
        name: "rate-limit-status",
        kind: Kind::Choice(&["429", "503"]),
        example: "503",
        with: With::Beside("rate-limit"),
        about: "What others get beyond it, with `Retry-After`; 429 without it.",
        ..ROW
    },
    Row {
        name: "redirect-code",
        kind: Kind::Choice(&["301", "302", "303", "307", "308"]),
        example: "301",
        about: "The status of redirects that other options ask for; `302` without it.",
        levels: &[Path, Ingress],
        ..ROW
    },
    Row {
        name: "redirect-host",
        kind: Kind::Text { most: 260, form: Form::Host },
        example: "shop.example",
        levels: &[Path, Ingress],
        about: "Every request is redirected there, with its scheme, path and query.",
        ..ROW
    },
    Row {
        name: "redirect-keep-path",
        example: "true",
        with: With::Beside("redirect-to"),
        levels: &[Path, Ingress],
        about: "`true`: path and query of the request stand behind `redirect-to`, which must be a URL.",
        ..ROW
    },
    Row {
        name: "redirect-to",
        kind: Kind::Text { most: 2000, form: Form::Location },
        example: "https://shop.example/new",
        about: "The answer to every request leads there.",
        levels: &[Path, Ingress],
        ..ROW
    },
    Row {
        name: "redirect-www",
        example: "true",
        levels: &[Ingress],
        about: "`true`: requests for the hosts with `www.` in front, or without it, are redirected to those of the Ingress, as far as nobody has routes there.",
        ..ROW
    },
    Row {
        name: "remove-request-headers",
        kind: Kind::HeaderNames,
        example: "X-Debug, X-Internal",
        reload: Reload::Change,
        guards: true,
        about: "Removed from requests, in any spelling, before `request-headers` are set.",
        ..ROW
    },
    Row {
        name: "remove-response-headers",
        kind: Kind::HeaderNames,
        example: "Server, X-Powered-By",
        reload: Reload::Change,
        about: "Removed from answers, before `response-headers` are set.",
        ..ROW
    },
    Row {
        name: "request-headers",
        kind: Kind::Headers,
        example: "X-A: 1",
        reload: Reload::Change,
        about: "Set on requests. Not what frames a message or is for one connection, such as Content-Length and Upgrade.",
        ..ROW
    },
    Row {
        name: "response-headers",
        kind: Kind::Headers,
        example: "X-A: 1",
        reload: Reload::Change,
        about: "The same, set on answers.",
        ..ROW
    },
    Row {
        name: "retries",
        kind: Kind::Number { least: 0, most: 10, what: "a number" },
        example: "1",
        reload: Reload::Change,
        about: "How often a connection is tried again; 3 times without it.",
        levels: &[Path, Ingress, Service, Class],
        ..ROW
    },
    Row {
        name: "retry",
        kind: Kind::Choice(&["idempotent", "all"]),
        example: "idempotent",
        about: "`idempotent` or `all`: which requests are sent again when a server failed to answer. Without it only those that reached none.",
        levels: &[Path, Ingress, Service, Class],
        ..ROW
    },
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
        about: "What of the path `rewrite-replacement` takes the place of, up to 500 characters. What would go back and forth over a path, such as `(a+)+b`, is refused; where the path must be bounded for that, longer ones than 1,024 to 8,192 bytes get 414.",
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
        name: "rewrite-target",
        kind: Kind::Text { most: 500, form: Form::Target },
        example: "/v2/\\1",
        with: With::Needs("path-type"),
        levels: &[Path, Ingress],
        about: "What takes the place of the whole path where `path-type` is given; `\\1` is the first group of the path that matched.",
        ..ROW
    },
    Row {
        name: "server-ca-secret",
        kind: Kind::Secret,
        example: "servers-ca",
        reload: Reload::FirstUse,
        guards: true,
        about: "Labelled Secret with `ca.crt` that servers must be signed by; without it servers over TLS are not verified.",
        levels: &[Path, Ingress, Service],
        ..ROW
    },
    Row {
        name: "server-certificate-secret",
        kind: Kind::Secret,
        example: "haproxy-tls",
        reload: Reload::Change,
        guards: true,
        about: "TLS Secret of the same namespace with the certificate that HAProxy shows to servers. Without the Secret there are no servers.",
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
            `NAME.NAMESPACE.svc` of the Service without it. `$host` is the host of the request.",
        levels: &[Path, Ingress, Service],
        ..ROW
    },
    Row {
        name: "ssl-redirect",
        kind: Kind::Choice(&["true", "false", "always"]),
        example: "true",
        about: "Whether HTTP is redirected to HTTPS where the Ingress has TLS for the host, or `always`; `sslRedirect` without it.",
        ..ROW
    },
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
