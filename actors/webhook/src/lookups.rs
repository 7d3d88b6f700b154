//! What a review asks the API server: the Secret with a configuration's credentials, and the labels of a namespace, which decide
//! whether a watched resource takes an object.

use super::answer::ReviewAnswer;
use haptic_config::{
    credentials::SecretName,
    source::{Unusable, check_secret},
};
use haptic_model::{Diagnostic, Severity};
use kube::{
    Api, Client,
    api::{ApiResource, DynamicObject, GroupVersionKind},
};
use serde_json::{Map, Value};
use std::time::Duration;

/// A review does not wait longer for the API server.
const TIMEOUT: Duration = Duration::from_secs(3);

/// Asks the API server.
#[derive(Clone)]
pub struct Lookups(Client);

impl Lookups {
    /// Through this client.
    #[must_use]
    pub fn new(client: Client) -> Self {
        Self(client)
    }

    /// Looks up the Secret that a configuration names: a warning if it named it before, or is another controller's that may
    /// read what this one may not.
    ///
    /// # Errors
    /// The answer, if the configuration may not be stored.
    pub async fn credentials(
        &self,
        named: &SecretName,
        is_new: bool,
        is_own: bool,
    ) -> Result<Option<Diagnostic>, ReviewAnswer> {
        let found = tokio::time::timeout(TIMEOUT, check_secret(&self.0, named)).await;
        let unknown = || Unusable::Unknown("the API server does not answer".into());
        verdict(found.unwrap_or_else(|_| Err(unknown())), named, is_new, is_own)
    }

    /// The labels of `namespace`; none when it is gone.
    ///
    /// # Errors
    /// Why they are not known.
    pub async fn labels(&self, namespace: &str) -> Result<Map<String, Value>, String> {
        let kind = ApiResource::from_gvk(&GroupVersionKind::gvk("", "v1", "Namespace"));
        let api: Api<DynamicObject> = Api::all_with(self.0.clone(), &kind);
        let found = tokio::time::timeout(TIMEOUT, api.get_metadata_opt(namespace)).await;
        let unread = |why: String| format!("the labels of namespace {namespace} cannot be read: {why}");
        let found = found.map_err(|_| unread("the API server does not answer".into()))?;
        let found = found.map_err(|error| unread(error.to_string()))?;
        let labels = found.and_then(|namespace| namespace.metadata.labels).unwrap_or_default();
        Ok(labels.into_iter().map(|(name, value)| (name, Value::String(value))).collect())
    }
}

fn verdict(
    found: Result<(), Unusable>,
    named: &SecretName,
    is_new: bool,
    is_own: bool,
) -> Result<Option<Diagnostic>, ReviewAnswer> {
    let warn = |why: Diagnostic| Ok(Some(Diagnostic { severity: Severity::Warning, ..why }));
    match found {
        Ok(()) => Ok(None),
        Err(Unusable::Wrong(why)) if is_new => Err(ReviewAnswer::denied(&[why])),
        Err(Unusable::Refused(why)) if is_new && is_own => Err(ReviewAnswer::denied(&[why])),
        Err(Unusable::Wrong(why) | Unusable::Refused(why)) => warn(why),
        Err(Unusable::Unknown(why)) if is_new => {
            Err(ReviewAnswer::Undecided { why: format!("Secret {named} cannot be looked for: {why}") })
        }
        Err(Unusable::Unknown(_)) => Ok(None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_change_that_names_it_is_refused_for_a_secret() {
        let named = SecretName { namespace: "a".into(), name: "c".into() };
        let why = || Diagnostic::error("basic", "it does not exist");
        let answer_to = |found: Unusable, is_new, is_own| match verdict(Err(found), &named, is_new, is_own) {
            Err(ReviewAnswer::Denied { .. }) => "denied",
            Err(ReviewAnswer::Undecided { .. }) => "unjudged",
            Ok(Some(warning)) if warning.severity == Severity::Warning => "warned",
            Ok(None) => "allowed",
            other => panic!("{other:?}"),
        };
        let of = |found: fn(Diagnostic) -> Unusable| {
            [(true, true), (true, false), (false, true)].map(|(new, own)| answer_to(found(why()), new, own))
        };
        assert_eq!(of(Unusable::Wrong), ["denied", "denied", "warned"]);
        assert_eq!(of(Unusable::Refused), ["denied", "warned", "warned"]);
        assert_eq!(of(|_| Unusable::Unknown("away".into())), ["unjudged", "unjudged", "allowed"]);
        assert_eq!(verdict(Ok(()), &named, true, true), Ok(None));
    }
}
