//! Paths, what takes their place, and where requests are redirected.

use crate::{
    families::{PathRules, ReadAnnotations, Translation, redirects::ACME},
    options::value::OptionValue,
};

/// The codes of ours among 300 to 308.
const CODES: [i64; 5] = [301, 302, 303, 307, 308];

/// `use-regex`, `rewrite-target`, `x-forwarded-prefix`. Which paths these concern is known where the paths are.
pub fn paths(said: &ReadAnnotations<'_>, to: &mut Translation<'_>) {
    to.ingress.over_http = said.list("no-tls-redirect-locations", ACME);
    let mut rules = PathRules {
        patterns: said.is_on("use-regex"),
        target: None,
        without_auth: said.list("no-auth-locations", ACME),
    };
    match said.text("rewrite-target") {
        None => {}
        // nginx answers with a redirect there.
        Some(text) if text.starts_with("http://") || text.starts_with("https://") => to.cannot(
            "rewrite-target",
            "it is a URL, which no path is: permanent-redirect and temporal-redirect lead to one, without groups",
        ),
        Some(text) => match target(text) {
            Some(target) => rules.target = Some(target),
            None => to.ignore("rewrite-target", "has variables that are no groups, or is too long"),
        },
    }
    if rules.target.is_some()
        && let Some(prefix) = said.text("x-forwarded-prefix")
    {
        to.set("forwarded-prefix", prefix, "x-forwarded-prefix");
    }
    to.ingress.paths = Some(rules);
}

/// The most other names that count.
const MOST_ALIASES: usize = 100;

/// `server-alias`: more names of its hosts.
pub fn aliases(said: &ReadAnnotations<'_>, to: &mut Translation<'_>) {
    for name in said.text("server-alias").into_iter().flat_map(|all| all.split(',')).map(str::trim) {
        match name.strip_prefix("*.").unwrap_or(name) {
            host if haptic_model::host_name::is_host(&host.to_ascii_lowercase()) => {
                let name = name.to_ascii_lowercase();
                if to.ingress.aliases.contains(&name) {
                    continue;
                }
                if to.ingress.aliases.len() == MOST_ALIASES {
                    let how = format!("has more than {MOST_ALIASES} names: the first of them count");
                    return to.differs("server-alias", &how);
                }
                to.ingress.aliases.push(name);
            }
            _ => to.ignore("server-alias", "has an expression, or what is no host"),
        }
    }
}

/// `/x/$1` as `/x/\1`.
fn target(text: &str) -> Option<String> {
    let mut parts = text.split('$');
    let first = parts.next()?;
    let mut target = if text.starts_with(['/', '$']) { first.to_owned() } else { format!("/{first}") };
    for part in parts {
        if !part.starts_with(|c: char| c.is_ascii_digit()) {
            return None;
        }
        target.push('\\');
        target.push_str(part);
    }
    (target.len() <= 500).then_some(target)
}

/// `temporal-redirect`, `permanent-redirect`, `app-root`, `from-to-www-redirect`.
pub fn redirects(said: &ReadAnnotations<'_>, to: &mut Translation<'_>) {
    let is_url = |text: &str| text.starts_with("http://") || text.starts_with("https://");
    let temporal = said.text("temporal-redirect");
    let mut code = None;
    if let Some(target) = temporal.filter(|target| is_url(target)) {
        to.set("redirect-to", target, "temporal-redirect");
        code = Some(code_of(said, to, "temporal-redirect-code", 300..=307, 302));
    } else if temporal.is_some() {
        to.ignore("temporal-redirect", "is no URL, and with it permanent-redirect");
    } else if let Some(target) = said.text("permanent-redirect") {
        to.set("redirect-to", target, "permanent-redirect");
        code = Some(code_of(said, to, "permanent-redirect-code", 300..=308, 301));
    }
    if let Some(root) = said.text("app-root") {
        match root.starts_with('/') && !root.starts_with("//") {
            true => to.set("app-root", root, "app-root"),
            false => to.ignore("app-root", "does not begin with one /"),
        }
    }
    if said.is_on("from-to-www-redirect") {
        to.set("redirect-www", "true", "from-to-www-redirect");
        to.set("redirect-port", "true", "from-to-www-redirect");
        // Locations of `redirect-to` have its code for these hosts, too; those of `app-root` are always 302.
        if code.is_none() {
            code = Some(https_code(said));
        }
    }
    if let Some(code) = code {
        to.set("redirect-code", &code.to_string(), "permanent-redirect-code");
    }
    if code.is_some() || to.has("app-root") {
        let absolute = if said.is_on("relative-redirects") { "false" } else { "true" };
        to.set("redirect-absolute", absolute, "relative-redirects");
    }
    for option in ["redirect-early", "redirect-first"] {
        to.set(option, "true", "permanent-redirect");
    }
}

/// Of redirects to HTTPS, and to hosts with and without `www.`.
fn https_code(said: &ReadAnnotations<'_>) -> i64 {
    said.number("http-redirect-code").filter(|code| [301, 302, 307, 308].contains(code)).unwrap_or(308)
}

fn code_of(
    said: &ReadAnnotations<'_>,
    to: &mut Translation<'_>,
    key: &str,
    good: std::ops::RangeInclusive<i64>,
    otherwise: i64,
) -> i64 {
    let Some(code) = said.number(key).filter(|code| good.contains(code)) else { return otherwise };
    if CODES.contains(&code) {
        return code;
    }
    to.differs(key, &format!("is {code}, redirects have {otherwise}"));
    otherwise
}

/// `ssl-redirect`, `force-ssl-redirect`, `preserve-trailing-slash`.
pub fn https(said: &ReadAnnotations<'_>, to: &mut Translation<'_>) {
    let text = match (said.is_on("force-ssl-redirect"), said.switch("ssl-redirect").unwrap_or(true)) {
        (true, _) => "always",
        (false, true) => "true",
        (false, false) => "false",
    };
    if text != "true" || to.about().tls {
        to.set_value("ssl-redirect", OptionValue::Text(text.to_owned()));
    }
    let code = https_code(said);
    if text != "false" && code != 308 {
        to.set("ssl-redirect-code", &code.to_string(), "http-redirect-code");
    }
    if text != "false" && !said.is_on("preserve-trailing-slash") {
        to.set("ssl-redirect-slash", "cut", "preserve-trailing-slash");
    }
}

#[cfg(test)]
mod tests {
    use super::target;

    #[test]
    fn groups_are_written_as_ours_and_variables_are_none() {
        let read = |text: &str| target(text);
        assert_eq!(read("/x/$2").as_deref(), Some("/x/\\2"));
        assert_eq!(read("$1/y").as_deref(), Some("\\1/y"));
        assert_eq!(read("x$1$2").as_deref(), Some("/x\\1\\2"));
        assert_eq!(read("/$host/$1"), None);
        assert_eq!(read("/$"), None);
    }
}
