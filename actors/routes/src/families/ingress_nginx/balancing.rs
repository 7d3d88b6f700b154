//! Balancing: the server that gets a request.

use crate::{
    families::{ReadAnnotations, Translation},
    sentences::shortened,
};

/// The cookie of nginx.
const COOKIE: &str = "INGRESSCOOKIE";

/// `load-balance`, `upstream-hash-by`.
pub fn balance(said: &ReadAnnotations<'_>, to: &mut Translation<'_>) {
    if said.text("load-balance") == Some("ewma") {
        to.set("balance", "leastconn", "load-balance");
    }
    let Some(by) = said.text("upstream-hash-by").filter(|_| !said.has("affinity")) else { return };
    let name = by.replace(['{', '}'], "");
    let named = |prefix: &str, of: &str| {
        let name = name.strip_prefix(prefix)?;
        let name = if of == "header" { name.replace('_', "-") } else { name.to_owned() };
        Some(format!("{of}:{name}"))
    };
    let key = match &*name {
        "$request_uri" => Some("uri".to_owned()),
        "$uri" => Some("path".to_owned()),
        "$host" | "$http_host" => Some("host".to_owned()),
        "$remote_addr" | "$binary_remote_addr" | "$the_real_ip" => Some("client".to_owned()),
        name if name.matches('$').count() != 1 => None,
        _ => named("$http_", "header")
            .or_else(|| named("$cookie_", "cookie"))
            .or_else(|| named("$arg_", "query")),
    };
    match key {
        Some(key) => to.set("balance-hash", &key, "upstream-hash-by"),
        None => to.ignore("upstream-hash-by", "is not one variable that is known"),
    }
}

/// `affinity`, `session-cookie-*`.
pub fn affinity(said: &ReadAnnotations<'_>, to: &mut Translation<'_>) {
    // Without it no attribute counts.
    if !said.has("affinity") {
        return;
    }
    let wanted = said.text("session-cookie-name").unwrap_or(COOKIE);
    let is_name = to.is_value("affinity-cookie-name", wanted);
    if !is_name {
        let how = format!("is {:?}, as no cookie here is called: it is {COOKIE}", shortened(wanted));
        to.differs("session-cookie-name", &how);
    }
    to.set("affinity-cookie-name", if is_name { wanted } else { COOKIE }, "session-cookie-name");
    if let Some(domain) = said.text("session-cookie-domain") {
        // A dot in front says nothing to browsers (RFC 6265, 5.2.3).
        let domain = domain.strip_prefix('.').unwrap_or(domain).to_ascii_lowercase();
        to.set("affinity-cookie-domain", &domain, "session-cookie-domain");
    }
    if let Some(path) = said.text("session-cookie-path") {
        to.set("affinity-cookie-path", path, "session-cookie-path");
    }
    let age = said.number("session-cookie-max-age").or_else(|| said.number("session-cookie-expires"));
    if let Some(age) = age {
        match age > 0 {
            true => to.set("affinity-cookie-max-age", &age.to_string(), "session-cookie-max-age"),
            false => to.ignore("session-cookie-max-age", "is not more than 0"),
        }
    }
    let site = match said.text("session-cookie-samesite") {
        Some("none") => Some("None"),
        Some("lax") => Some("Lax"),
        Some("strict") => Some("Strict"),
        _ => None,
    };
    to.set("affinity-cookie-same-site", site.unwrap_or("unset"), "session-cookie-samesite");
    if said.is_on("session-cookie-secure") {
        to.set("affinity-cookie-secure", "true", "session-cookie-secure");
    }
}

/// `default-backend`, `custom-http-errors`, `mirror-target`.
pub fn others(said: &ReadAnnotations<'_>, to: &mut Translation<'_>) {
    if let Some(service) = said.text("default-backend") {
        // Of its ports the first one counts there.
        let service = format!("{service}:{}", to.about().default_port.unwrap_or(80));
        to.set("default-service", &service, "default-backend");
        intercepted(&service, said, to);
    } else if said.has("custom-http-errors") && !said.is_on("disable-proxy-intercept-errors") {
        let instead = "answers of servers pass as they are without default-backend, which names the Service that makes others: there the controller's own default backend does; error-pages has pages of a ConfigMap";
        match said.is_annotated("custom-http-errors") {
            true => to.cannot("custom-http-errors", instead),
            false => to.differs("custom-http-errors", &format!("has no effect on most Ingresses: {instead}")),
        }
    }
    if let Some(target) = said.text("mirror-target") {
        match mirrored(target, to.about().namespace) {
            Some(service) => to.set("mirror-service", &service, "mirror-target"),
            None => to.cannot(
                "mirror-target",
                "only Services of the same namespace get copies of requests, at the same path",
            ),
        }
    }
}

/// `custom-http-errors`: answers of servers in whose place others come.
fn intercepted(service: &str, said: &ReadAnnotations<'_>, to: &mut Translation<'_>) {
    let Some(statuses) = said.text("custom-http-errors") else { return };
    if said.is_on("disable-proxy-intercept-errors") {
        return;
    }
    to.set("error-service", service, "custom-http-errors");
    to.set("error-service-statuses", statuses, "custom-http-errors");
}

/// `http://NAME.NAMESPACE.svc:PORT$request_uri` as `NAME:PORT`.
fn mirrored(target: &str, namespace: &str) -> Option<String> {
    let rest = target.strip_prefix("http://")?;
    let authority = rest.strip_suffix("$request_uri")?.trim_end_matches('/');
    let (host, port) = authority.split_once(':').unwrap_or((authority, "80"));
    let (name, domain) = host.split_once('.').unwrap_or((host, ""));
    let own = [
        String::new(),
        namespace.to_owned(),
        format!("{namespace}.svc"),
        format!("{namespace}.svc.cluster.local"),
    ];
    own.contains(&domain.to_owned()).then(|| format!("{name}:{port}"))
}
