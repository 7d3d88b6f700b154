//! What is shown in place of secrets, wherever text or fields are shown.
//!
//! What comes from a Secret is known by its origin ([`haptic_model::text::Fragment::shown`]) and gone before anything here
//! looks. This is for the rest: what people wrote into templates, extraContext and objects that are no Secrets.

use haptic_model::text::REDACTED;
use serde_json::Value;

/// One line of haproxy.cfg, or of a template of it, without passwords.
#[must_use]
pub fn line(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let (mut before, mut last) = ("", "");
    for part in text.split_inclusive([' ', '\t']) {
        let word = part.trim_end_matches([' ', '\t', '\n', '\r']);
        let secret =
            matches!(last, "password" | "insecure-password") || (last == "auth" && before == "stats");
        match secret && !word.is_empty() && !word.starts_with("{{") && word != REDACTED {
            true => {
                shown.push_str(REDACTED);
                shown.push_str(part.get(word.len()..).unwrap_or_default());
            }
            false => shown.push_str(part),
        }
        if !word.is_empty() {
            (before, last) = (last, word);
        }
    }
    shown
}

/// Text of several lines without passwords and private keys. Lines keep their numbers.
#[must_use]
pub fn text(text: &str) -> String {
    let mut in_key = false;
    let mut shown = String::with_capacity(text.len());
    for part in text.split_inclusive('\n') {
        let begins = part.contains("-----BEGIN") && part.contains("PRIVATE KEY-----");
        if in_key || begins {
            shown.push_str(REDACTED);
            shown.push_str(if part.ends_with('\n') { "\n" } else { "" });
        } else {
            shown.push_str(&line(part));
        }
        in_key = (in_key || begins) && !(part.contains("-----END") && part.contains("PRIVATE KEY-----"));
    }
    shown
}

/// An object or configuration without secrets: those of Secrets, those of fields that are called so, and in texts.
pub fn fields(value: &mut Value) {
    if value.get("kind").is_some_and(|kind| kind == "Secret") {
        for part in ["data", "stringData"] {
            let entries = value.get_mut(part).and_then(Value::as_object_mut);
            entries.into_iter().flat_map(|e| e.values_mut()).for_each(hide);
        }
    }
    hide_within(value);
}

fn hide_within(value: &mut Value) {
    match value {
        Value::Object(entries) => {
            for (name, value) in entries {
                if names_a_secret(name) && (value.is_string() || value.is_number()) {
                    hide(value);
                } else {
                    hide_within(value);
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(hide_within),
        Value::String(string)
            if string.contains("auth") || string.contains("password") || string.contains("KEY") =>
        {
            *string = text(string);
        }
        _ => {}
    }
}

fn hide(value: &mut Value) {
    *value = match value.as_str() {
        Some(hidden) => format!("{REDACTED} {} bytes", hidden.len()),
        None => REDACTED.to_owned(),
    }
    .into();
}

/// Whether a field of that name holds a secret itself, and not the name of one.
fn names_a_secret(name: &str) -> bool {
    let name: String = name.to_ascii_lowercase().chars().filter(char::is_ascii_alphanumeric).collect();
    ["password", "passwd", "passphrase", "token", "apikey", "privatekey", "secretkey", "clientsecret"]
        .iter()
        .any(|ending| name.ends_with(ending))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn passwords_that_somebody_wrote_into_a_template_are_not_shown() {
        for (written, shown) in [
            ("  user a password $5$abc groups g\n", "  user a password [redacted] groups g\n"),
            ("  user a insecure-password  x", "  user a insecure-password  [redacted]"),
            ("  stats auth admin:x", "  stats auth [redacted]"),
            ("  user a password {{hash}}", "  user a password {{hash}}"),
            ("  http-request auth realm x", "  http-request auth realm x"),
            ("  # no password", "  # no password"),
        ] {
            assert_eq!(line(written), shown);
        }
    }

    #[test]
    fn private_keys_are_not_shown_and_lines_keep_their_numbers() {
        let pem = "a\n-----BEGIN EC PRIVATE KEY-----\nMII\n-----END EC PRIVATE KEY-----\nb\n";
        assert_eq!(text(pem), "a\n[redacted]\n[redacted]\n[redacted]\nb\n");
    }

    #[test]
    fn an_object_is_shown_without_its_secrets() {
        let mut secret =
            json!({"kind": "Secret", "metadata": {"name": "s"}, "type": "Opaque", "data": {"a": "Yg=="}});
        fields(&mut secret);
        assert_eq!(secret["data"]["a"], "[redacted] 4 bytes");
        assert_eq!(secret["metadata"]["name"], "s");
        let mut config =
            json!({"extraContext": {"adminPassword": "x", "api-token": 5, "tokenSecretRef": {"name": "t"}}});
        fields(&mut config);
        assert_eq!(config["extraContext"]["adminPassword"], "[redacted] 1 bytes");
        assert_eq!(config["extraContext"]["api-token"], "[redacted]");
        assert_eq!(config["extraContext"]["tokenSecretRef"]["name"], "t");
    }
}
