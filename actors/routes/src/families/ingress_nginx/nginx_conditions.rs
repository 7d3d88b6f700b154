//! `if` with a refusal: what a request must have so that it is not refused, as far as options say that.

use crate::families::Translation;

/// The methods that there are; `if` that refuses one of them leaves the others.
const METHODS: [&str; 9] = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "CONNECT", "TRACE"];

/// The needs of requests.
#[derive(Debug, Default)]
pub struct NginxNeeds {
    /// One of these, where it is said.
    methods: Option<Vec<String>>,
    /// Options with their lines.
    lines: Vec<(&'static str, String)>,
}

impl NginxNeeds {
    /// Takes the condition of a refusal, if it is known: the words behind `if`, with their parentheses.
    pub fn takes(&mut self, condition: &[&str]) -> bool {
        let Some([variable, operator, value]) = operands(condition) else { return false };
        if variable == "$request_method" {
            return self.takes_methods(operator, value);
        }
        let (exact, pattern, name, between) = if let Some(name) = variable.strip_prefix("$http_") {
            ("match-headers", "match-headers-regex", name.replace('_', "-"), ": ")
        } else if let Some(name) = variable.strip_prefix("$arg_") {
            ("match-query", "match-query-regex", name.to_owned(), "=")
        } else {
            return false;
        };
        let (option, value) = match operator {
            // Only what is not there is refused.
            "=" if value.is_empty() => (pattern, ".".to_owned()),
            "!=" if !value.is_empty() => (exact, value.to_owned()),
            "!~" => (pattern, value.to_owned()),
            "!~*" => (pattern, format!("(?i){value}")),
            _ => return false,
        };
        // Blanks around it are no part of the value of an option.
        let is_plain = value.trim() == value && !value.is_empty() && !value.contains(['\n', '\r']);
        let is_text = option == pattern || !value.contains('$');
        self.lines.push((option, format!("{name}{between}{value}")));
        is_plain && is_text
    }

    fn takes_methods(&mut self, operator: &str, value: &str) -> bool {
        let named: Vec<&str> = match operator {
            "=" | "!=" => vec![value],
            "~" | "!~" => {
                let value = value.strip_prefix('^').unwrap_or(value);
                let value = value.strip_suffix('$').unwrap_or(value);
                let inner = value.strip_prefix('(').and_then(|value| value.strip_suffix(')'));
                inner.unwrap_or(value).split('|').collect()
            }
            _ => return false,
        };
        if !named.iter().all(|method| METHODS.contains(method)) {
            return false;
        }
        let is_refused = |method: &&str| named.contains(method) != operator.starts_with('!');
        let left = METHODS.into_iter().filter(|method| !is_refused(method));
        let known = self.methods.take();
        let is_left = |method: &&str| known.as_ref().is_none_or(|all| all.iter().any(|one| one == method));
        let methods: Vec<String> = left.filter(is_left).map(str::to_owned).collect();
        let is_any = !methods.is_empty();
        self.methods = Some(methods);
        is_any
    }

    /// Sets the options.
    pub fn set(self, key: &str, to: &mut Translation<'_>) {
        let mut all: Vec<(&'static str, String)> = Vec::new();
        for (option, line) in self.lines {
            match all.iter_mut().find(|(known, _)| *known == option) {
                Some((_, lines)) => *lines += &format!("\n{line}"),
                None => all.push((option, line)),
            }
        }
        all.extend(self.methods.map(|methods| ("match-methods", methods.join(", "))));
        if !all.is_empty() {
            to.ingress.refuses = true;
            to.differs(key, "refuses some requests by if: they get 503");
        }
        for (option, text) in all {
            to.set(option, &text, key);
        }
    }
}

/// `($a = b)` as its three words, of which the last may be empty.
pub fn operands<'w>(condition: &[&'w str]) -> Option<[&'w str; 3]> {
    let (first, rest) = condition.split_first()?;
    let first = first.strip_prefix('(')?;
    let mut words: Vec<&str> = Some(first).filter(|first| !first.is_empty()).into_iter().collect();
    words.extend(rest.iter().copied());
    let last = words.pop()?.strip_suffix(')')?;
    // The parenthesis may stand by itself, behind a value or in the place of an empty one.
    if words.len() < 3 || !last.is_empty() {
        words.push(last);
    }
    words.try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn needed(conditions: &[&[&str]]) -> Option<String> {
        let mut needs = NginxNeeds::default();
        if !conditions.iter().all(|condition| needs.takes(condition)) {
            return None;
        }
        let methods = needs.methods.map(|methods| methods.join(","));
        let lines = needs.lines.into_iter().map(|(option, line)| format!("{option} {line}"));
        Some(methods.into_iter().chain(lines).collect::<Vec<_>>().join("; "))
    }

    #[test]
    fn what_is_refused_says_what_requests_must_have() {
        let one = |condition: &[&str]| needed(&[condition]);
        assert_eq!(one(&["($request_method", "!~", "^(GET|HEAD)$)"]).as_deref(), Some("GET,HEAD"));
        assert_eq!(one(&["(", "$request_method", "!=", "POST", ")"]).as_deref(), Some("POST"));
        let but_trace = "GET,HEAD,POST,PUT,PATCH,DELETE,OPTIONS,CONNECT";
        assert_eq!(one(&["($request_method", "=", "TRACE)"]).as_deref(), Some(but_trace));
        let two: [&[&str]; 2] =
            [&["($request_method", "=", "TRACE)"], &["($request_method", "!~", "GET|TRACE)"]];
        assert_eq!(needed(&two).as_deref(), Some("GET"));
        assert_eq!(one(&["($http_x_key", "!=", "a b)"]).as_deref(), Some("match-headers x-key: a b"));
        assert_eq!(one(&["($http_x_key", "=", ")"]).as_deref(), Some("match-headers-regex x-key: ."));
        assert_eq!(one(&["($http_x", "!~*", "^a$)"]).as_deref(), Some("match-headers-regex x: (?i)^a$"));
        assert_eq!(one(&["($arg_t", "!=", "1)"]).as_deref(), Some("match-query t=1"));
    }

    #[test]
    fn what_options_do_not_say_is_not_taken() {
        for condition in [
            &["($http_x", "=", "a)"][..],
            &["($http_user_agent", "~*", "bot)"],
            &["($http_x)"],
            &["($http_x", "!=", "$host)"],
            &["($http_x", "!=", " a)"],
            &["($host", "!=", "a)"],
            &["($request_method", "~", "^P)"],
            &["(-f", "$request_filename)"],
            &["$http_x", "!=", "a"],
            &[],
        ] {
            assert_eq!(needed(&[condition]), None, "{condition:?}");
        }
    }
}
