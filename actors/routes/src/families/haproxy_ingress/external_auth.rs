//! Somebody is asked whether a request may pass. Whatever is wrong there lets nobody in, as theirs does.

use crate::{
    families::{
        annotations::ReadAnnotations,
        sign_in::{self, SignIn},
        translation::Translation,
    },
    options::value::OptionValues,
};

/// The values of `oauth`.
const PROGRAMS: [&str; 2] = ["oauth2_proxy", "oauth2-proxy"];
/// `oauth-uri-prefix` and `oauth-headers` where they are not given (`pkg/converters/ingress/defaults.go`).
const DEFAULT_PREFIX: &str = "/oauth2";
const DEFAULT_HEADERS: &str = "X-Auth-Request-Email";

/// All headers of the answer; and by these names programs that are asked tell servers who it is (oauth2-proxy, Authelia, Authentik, Vouch,
/// Pomerium): what clients say so is removed, whatever the answer has.
const ALL: [&str; 11] = [
    "*",
    "x-auth-request-*",
    "x-forwarded-user",
    "x-forwarded-email",
    "x-forwarded-groups",
    "x-forwarded-preferred-username",
    "x-forwarded-access-token",
    "remote-*",
    "x-authentik-*",
    "x-vouch-*",
    "x-pomerium-*",
];

/// `auth-url` and what goes with it.
pub(super) fn external(said: &ReadAnnotations<'_>, out: &mut Translation<'_>) {
    let Some(url) = said.text("auth-url") else { return };
    let service = ["svc://", "service://"].into_iter().find_map(|scheme| url.strip_prefix(scheme));
    let url = match service {
        Some(rest) => match of_service(rest) {
            Some(url) => url,
            None => return out.forbid("auth-url", "is not svc://[NAMESPACE/]NAME:PORT/PATH"),
        },
        None => url.to_owned(),
    };
    if !out.is_value("auth-url", &url) {
        return out.forbid("auth-url", "is nothing that can be asked");
    }
    out.set("auth-url", &url, "auth-url");
    match said.text("auth-method") {
        None => {}
        Some("*") => out.differs(
            "auth-method",
            "is *: it is asked with GET, and X-Original-Method says the client's method",
        ),
        Some(method) => {
            let upper = method.to_ascii_uppercase();
            match out.is_value("auth-method", &upper) {
                true => out.set("auth-method", &upper, "auth-method"),
                false => out.differs(
                    "auth-method",
                    "is none of GET, HEAD, POST, PUT and DELETE: it is asked with GET",
                ),
            }
        }
    }
    if let Some(page) = said.text("auth-signin") {
        match variables(page) {
            Some(page) => {
                out.set("auth-signin", &page, "auth-signin");
                if out.has("auth-signin") {
                    out.set("auth-signin-always", "true", "auth-signin");
                }
            }
            None => out.ignore(
                "auth-signin",
                "has an expression that is not the host, the path or the URL of the request",
            ),
        }
    }
    for (key, option) in [
        ("auth-headers-request", "auth-request-headers"),
        ("auth-headers-succeed", "auth-response-headers"),
        ("auth-headers-fail", ""),
    ] {
        headers(said, key, option, out);
    }
    if said.text("auth-external-placement").is_some_and(|place| place != "backend") {
        out.differs("auth-external-placement", "makes no difference");
    }
}

/// `oauth`: the Ingress of the namespace that has a path of the host is asked (`pkg/converters/ingress/annotations/backend.go`,
/// `buildBackendOAuth`).
pub(super) fn oauth(said: &ReadAnnotations<'_>, out: &mut Translation<'_>) {
    let Some(program) = said.text("oauth") else { return };
    if said.has("auth-url") {
        return out.differs("oauth", "does nothing beside auth-url");
    }
    if !PROGRAMS.contains(&program) {
        return out.close("oauth", "is no program that is known: oauth2_proxy is");
    }
    let prefix = said.text("oauth-uri-prefix").unwrap_or(DEFAULT_PREFIX).trim_end_matches('/');
    let is_found = sign_in::path_of_program(prefix).is_some() && prefix.starts_with('/');
    let page = format!("{prefix}/start?rd=$path");
    if !is_found
        || !out.is_value("auth-url", &format!("http://a{prefix}/auth"))
        || !out.is_value("auth-signin", &page)
    {
        return out.close("oauth-uri-prefix", "is no path with \"auth\" in it, such as /oauth2");
    }
    let headers = said.text("oauth-headers").unwrap_or(DEFAULT_HEADERS);
    let named = headers.split(',').map(|one| one.split(':').next().unwrap_or_default().trim());
    let names = named.filter(|name| !name.is_empty()).collect::<Vec<_>>().join(",");
    if headers.contains(':') {
        out.differs(
            "oauth-headers",
            "fills headers from other ones: each has what the answer has by its name",
        );
    }
    let said_so = [
        ("auth-method", "HEAD"),
        ("auth-signin", &page),
        ("auth-signin-always", "true"),
        ("auth-response-headers", &names),
    ];
    let options =
        said_so.into_iter().filter_map(|(option, text)| Some((option, out.value_of(option, text)?)));
    let options: OptionValues = options.collect();
    if !names.is_empty() && !options.contains_key("auth-response-headers") {
        return out.close("oauth-headers", "is no list of names of headers");
    }
    out.level.sign_in = Some(SignIn { prefix: prefix.to_owned(), options });
}

/// `[NAMESPACE/]NAME:PORT/PATH` as a URL.
fn of_service(text: &str) -> Option<String> {
    // A port with digits alone, and a path behind it.
    let at = text.find(':')?;
    let (service, rest) = (text.get(..at)?, text.get(at + 1..)?);
    let end = rest.find('/').unwrap_or(rest.len());
    let (port, path) = rest.split_at_checked(end)?;
    port.parse::<u16>().ok().filter(|port| *port > 0)?;
    let host = match service.split_once('/') {
        Some((namespace, name)) => format!("{name}.{namespace}.svc"),
        None => service.to_owned(),
    };
    Some(format!("http://{host}:{port}{path}"))
}

/// A location with expressions of HAProxy, in our variables.
fn variables(text: &str) -> Option<String> {
    let mut read = String::new();
    let mut rest = text;
    while let Some((before, behind)) = rest.split_once("%[") {
        let (expression, more) = behind.split_once(']')?;
        read.push_str(before);
        read.push_str(match expression {
            "hdr(host)" | "req.hdr(host)" => "$http_host",
            "var(req.host)" => "$host",
            "path" | "var(req.path)" => "$path",
            "pathq" | "url" | "capture.req.uri" => "$request_uri",
            _ => return None,
        });
        rest = more;
    }
    read.push_str(rest);
    Some(read)
}

fn headers(said: &ReadAnnotations<'_>, key: &'static str, option: &'static str, out: &mut Translation<'_>) {
    let given = said.text(key);
    if option == "auth-response-headers" && given != Some("-") {
        return out.set(option, &answered(given.unwrap_or("*")), key);
    }
    let Some(text) = given else { return };
    if matches!(text, "-") {
        return if option == "auth-request-headers" {
            out.differs(key, "is -: it is asked with the headers Cookie and Authorization all the same");
        } else if option == "auth-response-headers" {
        } else {
            out.differs(key, "is -: clients get the headers of the answer");
        };
    }
    if text.contains('*') || option.is_empty() {
        return out.differs(
            key,
            match option {
                "auth-request-headers" => "has *: all headers are passed on",
                _ => "makes no difference: clients get the headers of the answer",
            },
        );
    }
    out.set(option, text, key);
}

/// The names in a list, in which `*` stands for [`ALL`].
fn answered(list: &str) -> String {
    let named = list.split(',').map(str::trim).filter(|name| !name.is_empty());
    let (all, some): (Vec<&str>, Vec<&str>) = named.partition(|name| *name == "*");
    let all = all.first().into_iter().flat_map(|_| ALL);
    some.into_iter().chain(all).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_headers_of_an_answer_are_those_that_say_who_it_is_too() {
        assert!(answered("*").starts_with("*,x-auth-request-*,"));
        assert_eq!(answered("X-Team, X-Ser*"), "X-Team,X-Ser*");
        assert!(answered("X-Team,*").starts_with("X-Team,*,x-auth-request-*"));
        assert!(crate::options::header::names_or_starts(&answered("*")).is_some());
    }

    #[test]
    fn a_service_is_asked_by_its_name() {
        assert_eq!(of_service("auth:8080/check").as_deref(), Some("http://auth:8080/check"));
        assert_eq!(of_service("sso/auth:8080").as_deref(), Some("http://auth.sso.svc:8080"));
        assert_eq!(
            [of_service("auth/check"), of_service("auth:http/x"), of_service("auth:0/")],
            [None, None, None]
        );
    }

    #[test]
    fn expressions_of_the_request_are_variables() {
        let text = "https://a/start?rd=https://%[hdr(host)]%[path]";
        assert_eq!(variables(text).as_deref(), Some("https://a/start?rd=https://$http_host$path"));
        assert_eq!(variables("https://a/%[src]"), None);
        assert_eq!(variables("/login").as_deref(), Some("/login"));
    }
}
