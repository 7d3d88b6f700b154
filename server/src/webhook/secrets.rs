//! Whether a configuration that is to be stored can have its credentials.

use super::answer::Answer;
use haptic_config::{
    credentials::SecretName,
    source::{Unusable, check_secret},
};
use haptic_model::{Diagnostic, Severity};
use kube::Client;
use std::time::Duration;

/// A review does not wait longer for it.
const PATIENCE: Duration = Duration::from_secs(3);

/// Asks the API server.
#[derive(Clone)]
pub struct Secrets(Client);

impl Secrets {
    /// Through this client.
    #[must_use]
    pub fn new(client: Client) -> Self {
        Self(client)
    }

    /// Looks for the Secret that a configuration names: a warning if it named it before, or is another controller's that may
    /// read what this one may not.
    ///
    /// # Errors
    /// The answer, if the configuration may not be stored.
    pub async fn look_for(
        &self,
        named: &SecretName,
        is_new: bool,
        is_own: bool,
    ) -> Result<Option<Diagnostic>, Answer> {
        let found = tokio::time::timeout(PATIENCE, check_secret(&self.0, named)).await;
        let unknown = || Unusable::Unknown("the API server does not answer".into());
        verdict(found.unwrap_or_else(|_| Err(unknown())), named, is_new, is_own)
    }
}

fn verdict(
    found: Result<(), Unusable>,
    named: &SecretName,
    is_new: bool,
    is_own: bool,
) -> Result<Option<Diagnostic>, Answer> {
    let warn = |why: Diagnostic| Ok(Some(Diagnostic { severity: Severity::Warning, ..why }));
    match found {
        Ok(()) => Ok(None),
        Err(Unusable::Wrong(why)) if is_new => Err(Answer::denied(&[why])),
        Err(Unusable::Refused(why)) if is_new && is_own => Err(Answer::denied(&[why])),
        Err(Unusable::Wrong(why) | Unusable::Refused(why)) => warn(why),
        Err(Unusable::Unknown(why)) if is_new => {
            Err(Answer::Unjudged { why: format!("Secret {named} cannot be looked for: {why}") })
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
        let said = |found: Unusable, is_new, is_own| match verdict(Err(found), &named, is_new, is_own) {
            Err(Answer::Denied { .. }) => "denied",
            Err(Answer::Unjudged { .. }) => "unjudged",
            Ok(Some(warning)) if warning.severity == Severity::Warning => "warned",
            Ok(None) => "allowed",
            other => panic!("{other:?}"),
        };
        let of = |found: fn(Diagnostic) -> Unusable| {
            [(true, true), (true, false), (false, true)].map(|(new, own)| said(found(why()), new, own))
        };
        assert_eq!(of(Unusable::Wrong), ["denied", "denied", "warned"]);
        assert_eq!(of(Unusable::Refused), ["denied", "warned", "warned"]);
        assert_eq!(of(|_| Unusable::Unknown("away".into())), ["unjudged", "unjudged", "allowed"]);
        assert_eq!(verdict(Ok(()), &named, true, true), Ok(None));
    }
}
