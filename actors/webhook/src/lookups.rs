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

/// Which configuration names a Secret.
#[derive(Clone, Copy, Debug)]
pub enum SecretUser {
    /// This controller's, and it named the Secret before.
    OwnAsBefore,
    /// This controller's, which names it from now on.
    Own,
    /// Another controller's, which may read what this one may not.
    Another,
}

/// Asks the API server.
#[derive(Clone)]
pub struct Lookups(Client);

impl Lookups {
    /// Through this client.
    #[must_use]
    pub fn new(client: Client) -> Self {
        Self(client)
    }

    /// Looks up the Secret that a configuration of `user` names; what may be wrong without harm is a warning.
    ///
    /// # Errors
    /// The answer, if the configuration may not be stored.
    pub async fn credentials(
        &self,
        named: &SecretName,
        user: SecretUser,
    ) -> Result<Option<Diagnostic>, ReviewAnswer> {
        let found = tokio::time::timeout(TIMEOUT, check_secret(&self.0, named)).await;
        let unknown = || Unusable::Unknown("the API server does not answer".into());
        verdict(found.unwrap_or_else(|_| Err(unknown())), named, user)
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
    user: SecretUser,
) -> Result<Option<Diagnostic>, ReviewAnswer> {
    let warn = |why: Diagnostic| Ok(Some(Diagnostic { severity: Severity::Warning, ..why }));
    let Err(why) = found else { return Ok(None) };
    match (user, why) {
        (SecretUser::OwnAsBefore, Unusable::Unknown(_)) => Ok(None),
        (_, Unusable::Unknown(why)) => {
            Err(ReviewAnswer::Undecided { why: format!("Secret {named} cannot be looked for: {why}") })
        }
        (SecretUser::OwnAsBefore, Unusable::Wrong(why) | Unusable::Refused(why)) => warn(why),
        (SecretUser::Another, Unusable::Refused(why)) => warn(why),
        (SecretUser::Another, Unusable::Wrong(why)) => Err(ReviewAnswer::denied(&[why])),
        (SecretUser::Own, Unusable::Wrong(why) | Unusable::Refused(why)) => Err(ReviewAnswer::denied(&[why])),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_change_that_names_it_is_refused_for_a_secret() {
        let named = SecretName { namespace: "a".into(), name: "c".into() };
        let why = || Diagnostic::error("basic", "it does not exist");
        let answer_to = |found: Unusable, user| match verdict(Err(found), &named, user) {
            Err(ReviewAnswer::Denied { .. }) => "denied",
            Err(ReviewAnswer::Undecided { .. }) => "unjudged",
            Ok(Some(warning)) if warning.severity == Severity::Warning => "warned",
            Ok(None) => "allowed",
            other => panic!("{other:?}"),
        };
        let of = |found: fn(Diagnostic) -> Unusable| {
            [SecretUser::Own, SecretUser::Another, SecretUser::OwnAsBefore]
                .map(|user| answer_to(found(why()), user))
        };
        assert_eq!(of(Unusable::Wrong), ["denied", "denied", "warned"]);
        assert_eq!(of(Unusable::Refused), ["denied", "warned", "warned"]);
        assert_eq!(of(|_| Unusable::Unknown("away".into())), ["unjudged", "unjudged", "allowed"]);
        assert_eq!(verdict(Ok(()), &named, SecretUser::Own), Ok(None));
    }
}
