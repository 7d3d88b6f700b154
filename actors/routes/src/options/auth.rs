//! Options of external authentication: somebody is asked of each request whether it may pass.

use super::{
    form::Form,
    kind::Kind,
    level::Level,
    row::{ROW, Reload, Row, With},
};

/// `auth-error-status`.
pub const ERROR_STATUS: Row = Row {
    name: "auth-error-status",
    kind: Kind::Choice(&["500", "503"]),
    example: "500",
    about: "`500`: an answer of who is asked that is neither 2xx nor 401 nor 403, and none at all, is 500 for clients. Without it those from 300 to 499 reach \
        them, and all else is 503.",
    ..BESIDE
};

const BESIDE: Row = Row { levels: &[Level::Path, Level::Ingress], with: With::Beside("auth-url"), ..ROW };

/// `auth-url`.
pub const URL: Row = Row {
    name: "auth-url",
    kind: Kind::AuthUrl,
    example: "https://$host/oauth2/auth",
    reload: Reload::FirstUse,
    guards: true,
    about: "Whoever is there is asked of each request whether it may pass: by 2xx it may; other answers below 500 are the client's; \
        no answer, and anything else, is 503. `https://$host/…` is the Service behind the route of that path on the same host and in \
        the same namespace, called directly; `http://NAME:PORT/…` a Service of the namespace; `http://NAME.NAMESPACE.svc:PORT/…` and \
        other hosts, where `allow.destinations` has their addresses.",
    with: With::Nothing,
    ..BESIDE
};

/// `auth-method`.
pub const METHOD: Row = Row {
    name: "auth-method",
    kind: Kind::Choice(&["GET", "HEAD", "POST", "PUT", "DELETE"]),
    example: "POST",
    guards: true,
    about: "With which it is asked; `GET` without it. There is no body, and `X-Original-Method` is the client's.",
    ..BESIDE
};

/// `auth-timeout`.
pub const TIMEOUT: Row = Row {
    name: "auth-timeout",
    kind: Kind::TimeUpTo(10_000, "10s"),
    example: "2s",
    default: "5s",
    about: "So long an answer may take, and a second more for its body.",
    ..BESIDE
};

/// `auth-signin`.
pub const SIGN_IN: Row = Row {
    name: "auth-signin",
    kind: Kind::Text { most: 1000, form: Form::SignIn },
    example: "https://$host/oauth2/start?rd=$escaped_request_uri",
    about: "Clients are redirected there instead of 401. `$host`, `$http_host`, `$scheme`, `$path`, `$request_uri` and `$escaped_request_uri` are the \
        request's; without one of the last two the URL of the request is added as a parameter.",
    ..BESIDE
};

/// `auth-signin-always`.
pub const SIGN_IN_ALWAYS: Row = Row {
    name: "auth-signin-always",
    example: "true",
    with: With::Beside("auth-signin"),
    about: "`true`: clients are redirected there by whatever does not let their requests pass, and no parameter is added.",
    ..BESIDE
};

/// `auth-signin-redirect-param`.
pub const SIGN_IN_PARAMETER: Row = Row {
    name: "auth-signin-redirect-param",
    kind: Kind::Text { most: 64, form: Form::Cookie },
    example: "return_to",
    default: "rd",
    with: With::Beside("auth-signin"),
    about: "What that parameter is called.",
    ..BESIDE
};

/// `auth-request-headers`.
pub const REQUEST_HEADERS: Row = Row {
    name: "auth-request-headers",
    kind: Kind::HeaderNames,
    example: "Cookie, Authorization",
    about: "Headers of the request that are passed to it; all of them without it, but where answers are kept `Cookie` and `Authorization`.",
    ..BESIDE
};

/// `auth-withheld-headers`.
pub const WITHHELD_HEADERS: Row = Row {
    name: "auth-withheld-headers",
    kind: Kind::HeaderNames,
    example: "X-Auth-Realm",
    guards: true,
    about: "Headers of the request, in any spelling, that are not passed to it, whatever else is.",
    ..BESIDE
};

/// `auth-response-headers`.
pub const RESPONSE_HEADERS: Row = Row {
    name: "auth-response-headers",
    kind: Kind::HeaderNamesOrStarts,
    example: "X-Auth-Request-User, X-Auth-Request-Email",
    guards: true,
    about: "Headers of its answer that servers get, or what their names begin with such as `X-Auth-*`; `*` for all but those of the connection, \
        of the body and for clients. What clients send under these names, in any spelling, is removed; of `*` alone what the answer has.",
    ..BESIDE
};

/// `auth-client-headers`.
pub const CLIENT_HEADERS: Row = Row {
    name: "auth-client-headers",
    kind: Kind::HeaderNames,
    example: "X-Auth-Request-Redirect",
    about: "Headers of its answer that clients get with that of the server. They get its cookies in any case.",
    ..BESIDE
};

/// `auth-cache`.
pub const CACHE: Row = Row {
    name: "auth-cache",
    kind: Kind::TimeUpTo(600_000, "10m"),
    example: "30s",
    about: "So long an answer that lets a request pass, and sets no cookie, counts for others like it (`auth-cache-key`), in each thread of each \
        HAProxy for itself. Without it every request is asked for.",
    ..BESIDE
};

/// `auth-cache-key`.
pub const CACHE_KEY: Row = Row {
    name: "auth-cache-key",
    kind: Kind::Several(&["address", "headers", "host", "method", "path"]),
    example: "headers, host",
    default: "address, headers, host, method, path",
    with: With::Beside("auth-cache"),
    guards: true,
    about: "What requests must have in common to be alike, beside the route: the client's address, the headers that are passed \
        (`auth-request-headers`), host, method, path with query.",
    ..BESIDE
};
