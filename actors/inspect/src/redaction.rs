//! Objects and configurations as they may be shown: without what Secrets hold, and without what fields of that name hold.

use haptic_text::{REDACTED, redaction::text};
use serde_json::Value;

/// An object or configuration without secrets: those of Secrets, those of fields that are called so, and in texts.
pub fn fields(value: &mut Value) {
    if value.get("kind").is_some_and(|kind| kind == "Secret") {
        for part in ["data", "stringData"] {
            let entries = value.get_mut(part).and_then(Value::as_object_mut);
            entries.into_iter().flat_map(|e| e.values_mut()).for_each(hide);
        }
    }
    within(value, &mut hide);
}

/// The same, by `hide`, but for what Secrets hold.
pub fn within(value: &mut Value, hide: &mut dyn FnMut(&mut Value)) {
    match value {
        Value::Object(entries) => {
            for (name, value) in entries {
                if names_a_secret(name) && (value.is_string() || value.is_number()) {
                    hide(value);
                } else {
                    within(value, hide);
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| within(item, hide)),
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
