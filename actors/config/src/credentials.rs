//! Credentials from a Secret, and how long the ones before them are still tried.

use haptic_model::{Diagnostic, HAProxyTemplateConfigSpec, config::Credentials};
use haptic_text::Sensitive;
use k8s_openapi::api::core::v1::Secret;
use std::{collections::BTreeMap, fmt};

/// Credentials kept after a rotation: the Secret reaches pods later than us, up to minutes.
const REMEMBERED: usize = 3;

/// The Secret that a configuration names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SecretName {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
}

impl fmt::Display for SecretName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.namespace, self.name)
    }
}

/// The Secret that `spec`, in `namespace`, names.
#[must_use]
pub fn secret_of(spec: &HAProxyTemplateConfigSpec, namespace: &str) -> SecretName {
    let reference = &spec.credentials_secret_ref;
    let namespace = reference.namespace.clone().unwrap_or_else(|| namespace.to_owned());
    SecretName { namespace, name: reference.name.clone() }
}

/// The credentials in a Secret's `data`, already decoded from Base64.
///
/// # Errors
/// Names the keys that are missing or not text; never shows a value.
pub fn from_secret(
    reference: &SecretName,
    data: &BTreeMap<String, Vec<u8>>,
) -> Result<Credentials, Diagnostic> {
    let read = |key: &str| match data.get(key).map(|v| String::from_utf8(v.clone())) {
        Some(Ok(text)) if !text.trim().is_empty() => Ok(text.trim_end_matches(['\n', '\r']).to_owned()),
        Some(_) => Err(problem(reference, &format!("key {key} is empty or not text"))),
        None => Err(problem(reference, &format!("key {key} is missing"))),
    };
    Ok(Credentials {
        username: read("dataplane_username")?,
        password: Sensitive::new(read("dataplane_password")?),
    })
}

/// The decoded `data` of `secret`.
#[must_use]
pub fn data_of(secret: Secret) -> BTreeMap<String, Vec<u8>> {
    secret.data.unwrap_or_default().into_iter().map(|(key, value)| (key, value.0)).collect()
}

/// That the Secret does not exist.
#[must_use]
pub fn missing(reference: &SecretName) -> Diagnostic {
    problem(reference, "it does not exist")
}

/// The list to try: the new credentials first, then the ones before.
#[must_use]
pub fn rotate(new: &Credentials, before: &[Credentials]) -> Vec<Credentials> {
    let older = before.iter().filter(|c| *c != new).cloned();
    std::iter::once(new.clone()).chain(older).take(REMEMBERED).collect()
}

/// That it may not be read, in the API server's words.
#[must_use]
pub fn unreadable(reference: &SecretName, why: &str) -> Diagnostic {
    problem(reference, &format!("it cannot be read: {why}")).help(format!(
        "Allow list and watch on secret {} in namespace {}",
        reference.name, reference.namespace
    ))
}

fn problem(reference: &SecretName, what: &str) -> Diagnostic {
    let SecretName { namespace, name } = reference;
    Diagnostic::error("basic", format!("Secret {reference}: {what}"))
        .at_field("spec.credentialsSecretRef")
        .help(format!(
            "Create it with: kubectl create secret generic -n {namespace} {name} --from-literal=dataplane_username=haptic \
             --from-literal=dataplane_password=…"
        ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secret(name: &str) -> SecretName {
        SecretName { namespace: "a".into(), name: name.into() }
    }

    fn data(pairs: &[(&str, &str)]) -> BTreeMap<String, Vec<u8>> {
        pairs.iter().map(|(k, v)| ((*k).to_owned(), v.as_bytes().to_vec())).collect()
    }

    #[test]
    fn a_missing_key_is_named_and_no_value_is_shown() {
        let said = from_secret(&secret("creds"), &data(&[("dataplane_username", "admin-name")]))
            .unwrap_err()
            .to_string();
        assert!(said.contains("dataplane_password is missing"), "{said}");
        assert!(!said.contains("admin-name"), "{said}");
    }

    #[test]
    fn a_final_newline_is_not_part_of_a_password() {
        let found =
            from_secret(&secret("c"), &data(&[("dataplane_username", "u"), ("dataplane_password", "p\n")]))
                .unwrap();
        assert_eq!(found.password.reveal(), "p");
        assert!(!format!("{found:?}").contains("\"p\""));
    }

    #[test]
    fn after_a_rotation_the_old_password_is_still_tried_last() {
        let make = |p: &str| Credentials { username: "u".into(), password: Sensitive::new(p.into()) };
        let list = rotate(&make("new"), &[make("old")]);
        assert_eq!(list, [make("new"), make("old")]);
        assert_eq!(rotate(&make("new"), &list).len(), 2);
    }
}
