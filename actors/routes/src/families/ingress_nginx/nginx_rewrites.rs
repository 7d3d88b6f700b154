//! `rewrite`, and `return` with a place to go: lines of `rewrite-rules`, and redirects.

/// A redirect of requests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NginxRedirect {
    code: String,
    base: String,
    /// Whether path and query of the request stand behind it.
    keeps: bool,
    /// Whether its query does.
    keeps_query: bool,
}

impl NginxRedirect {
    /// Of a status and where it leads to, if ours can say it.
    pub fn of(code: &str, target: &str) -> Option<Self> {
        let is_known = ["301", "302", "303", "307", "308"].contains(&code);
        let base = target.strip_suffix("$request_uri").or_else(|| target.strip_suffix("$request_uri?"));
        let (base, keeps) = base.map_or((target, false), |base| (base, true));
        // Only behind a whole host the path of the request is one.
        let is_host = |rest: &str| !rest.is_empty() && !rest.starts_with('/') && !rest.contains(['?', '#']);
        let is_good = !keeps || base.split_once("://").is_some_and(|(_, rest)| is_host(rest));
        let is_said = is_known && is_good && !base.contains('$');
        is_said.then(|| Self { code: code.to_owned(), base: base.to_owned(), keeps, keeps_query: false })
    }

    /// The same of a `rewrite` to `target`, which has the query of the request behind it unless a `?` ends it.
    fn of_rewrite(code: &str, target: &str) -> Option<Self> {
        let (target, is_open) = target.strip_suffix('?').map_or((target, true), |target| (target, false));
        let redirect = Self::of(code, target)?;
        // Behind a query of its own there would be a second one.
        let keeps_query = is_open && !redirect.keeps && !redirect.base.contains(['?', '#']);
        Some(Self { keeps_query, ..redirect })
    }

    /// The options for it.
    pub fn options(&self) -> Vec<(&'static str, String)> {
        let keeps = self.keeps.then(|| ("redirect-keep-path", "true".to_owned()));
        let query = self.keeps_query.then(|| ("redirect-keep-query", "true".to_owned()));
        let others = [
            ("redirect-to", self.base.clone()),
            ("redirect-code", self.code.clone()),
            ("redirect-absolute", "true".to_owned()),
        ];
        keeps.into_iter().chain(query).chain(others).collect()
    }
}

/// The effect of a `rewrite`.
#[derive(Debug, PartialEq, Eq)]
pub enum NginxRewrite {
    /// All requests are redirected.
    Redirect(NginxRedirect),
    /// Requests for this path are.
    RedirectOf(String, NginxRedirect),
    /// The server gets another path: a line of `rewrite-rules`.
    Path(String),
}

/// Reads a `rewrite` by its expression, its target and its flag, if ours can say it.
pub fn rewrite(pattern: &str, target: &str, flag: &str) -> Option<NginxRewrite> {
    let is_url = target.starts_with("http://") || target.starts_with("https://");
    let code = match flag {
        "permanent" => "301",
        "redirect" => "302",
        _ if is_url => "302",
        "" | "last" | "break" => return line(pattern, target).map(NginxRewrite::Path),
        _ => return None,
    };
    if ["^", "^/.*", "^/.*$", "^(.*)$", ".*", "^/(.*)$", "^.*$"].contains(&pattern) {
        // A group that is the whole path; nginx has the query behind it.
        let base = match pattern {
            "^(.*)$" => target.strip_suffix("$1"),
            "^/(.*)$" => target.strip_suffix("/$1"),
            _ => None,
        };
        let target = base.map_or_else(|| target.to_owned(), |base| format!("{base}$request_uri"));
        return NginxRedirect::of_rewrite(code, &target).map(NginxRewrite::Redirect);
    }
    let path = whole_path(pattern)?;
    let target = if pattern.starts_with("^(") { target.replace("$1", &path) } else { target.to_owned() };
    let redirect = NginxRedirect::of_rewrite(code, &target)?;
    (!redirect.keeps).then_some(NginxRewrite::RedirectOf(path, redirect))
}

/// The only path that `^/a$` or `^(/a)$` finds.
fn whole_path(pattern: &str) -> Option<String> {
    let inner = pattern.strip_prefix('^')?.strip_suffix('$')?;
    let inner = inner.strip_prefix('(').and_then(|inner| inner.strip_suffix(')')).unwrap_or(inner);
    let path = inner.replace("\\.", ".").replace("\\-", "-").replace("\\/", "/");
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-~".contains(c);
    (path.starts_with('/') && path.chars().all(is_plain)).then_some(path)
}

/// A line of `rewrite-rules`.
fn line(pattern: &str, target: &str) -> Option<String> {
    let (pattern, target) = with_its_slash(pattern, target)?;
    let is_path = target.starts_with('/') && !target.starts_with("//") && !target.contains(['\\', '?', '#']);
    let mut parts = target.split('$');
    let mut path = parts.next()?.to_owned();
    for part in parts {
        let mut digits = part.chars().map(|c| c.to_digit(10));
        let is_group = digits.next().flatten().is_some_and(|digit| digit > 0);
        if !is_group || digits.next().flatten().is_some() {
            return None;
        }
        path.push('\\');
        path.push_str(part);
    }
    let is_word = |text: &str| !text.is_empty() && !text.contains(char::is_whitespace);
    (is_path && is_word(&pattern) && is_word(&path)).then(|| format!("{pattern} {path}"))
}

/// `(/.*)` and `$1` as `/(.*)` and `/$1`: a path of ours begins with its slash.
fn with_its_slash(pattern: &str, target: &str) -> Option<(String, String)> {
    let Some(rest) = target.strip_prefix("$1") else {
        return Some((pattern.to_owned(), target.to_owned()));
    };
    let (before, group) = pattern.split_once("(/")?;
    let (inner, behind) = group.split_once(')')?;
    let is_simple = !before.contains(['(', '\\', '[', '|']) && !inner.contains(['(', '\\', '|']);
    let is_repeated = |text: &str| text.starts_with(['*', '+', '?', '{']);
    let is_whole =
        !is_repeated(inner) && !is_repeated(behind) && !behind.contains('|') && !rest.contains("$1");
    (is_simple && is_whole).then(|| (format!("{before}/({inner}){behind}"), format!("/{target}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rewrites_are_lines_of_an_expression_and_a_path() {
        let read = |pattern: &str, target: &str| match rewrite(pattern, target, "break") {
            Some(NginxRewrite::Path(line)) => Some(line),
            _ => None,
        };
        assert_eq!(read("^/api/(.*)$", "/v2/$1").as_deref(), Some("^/api/(.*)$ /v2/\\1"));
        assert_eq!(read("/(a)/(b)", "/$2x/$1").as_deref(), Some("/(a)/(b) /\\2x/\\1"));
        assert_eq!(read("^/app(/.*)$", "$1").as_deref(), Some("^/app/(.*)$ /\\1"));
        for (pattern, target) in [
            ("^/a", "/b?c=$1"),
            ("^/a", "/$host"),
            ("^/a", "/$10"),
            ("^/a", "//b"),
            ("^/a", "b"),
            ("^/(a) b", "/$1"),
            ("^/app(/.*)?$", "$1"),
            ("^/(a|b)", "$1"),
        ] {
            assert_eq!(read(pattern, target), None, "{pattern} {target}");
        }
    }

    #[test]
    fn redirects_are_those_of_all_requests_or_of_one_path() {
        let of = |code: &str, target: &str| NginxRedirect::of_rewrite(code, target).unwrap();
        let whole = |target: &str| Some(NginxRewrite::Redirect(of("301", target)));
        assert_eq!(rewrite("^", "https://a.example/", "permanent"), whole("https://a.example/"));
        assert_eq!(
            rewrite("^(.*)$", "https://a.example/x$1", "permanent"),
            whole("https://a.example/x$request_uri")
        );
        let one = |path: &str, target: &str| Some(NginxRewrite::RedirectOf(path.into(), of("302", target)));
        assert_eq!(rewrite("^(/app)$", "$1/", "redirect"), one("/app", "/app/"));
        assert_eq!(rewrite("^/a\\.b$", "https://a.example/c", ""), one("/a.b", "https://a.example/c"));
        let keeps =
            |target: &str| of("301", target).options().contains(&("redirect-keep-query", "true".to_owned()));
        assert_eq!(
            ["/b", "/b?", "/b?c=d", "https://a.example$request_uri"].map(keeps),
            [true, false, false, false]
        );
        for (pattern, target) in
            [("^/a/(.*)$", "/b/$1"), ("^/a.*$", "/b"), ("^(/a)$", "/b$2"), ("^", "$scheme://a/")]
        {
            assert_eq!(rewrite(pattern, target, "redirect"), None, "{pattern} {target}");
        }
        assert_eq!(NginxRedirect::of("301", "https://$host$request_uri"), None);
        assert_eq!(NginxRedirect::of("301", "https:///$request_uri"), None);
        assert_eq!(NginxRedirect::of("200", "https://a.example/"), None);
    }
}
