//! Most objects of a watched resource that vanish at once, as a mistake makes them vanish: what everybody says about it.

use std::{collections::BTreeMap, fmt, sync::Arc, time::Duration};

/// The annotation of the configuration that confirms that objects are meant to be gone, as [`MassDeletion::token`] says it.
pub const CONFIRMATION: &str = "haproxy-haptic.org/confirm-deletion";

/// Objects that a new list does not name any more, and that stay in force for a while all the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MassDeletion {
    /// The watched resource's name.
    pub resource: Arc<str>,
    /// How many vanished.
    pub missing: usize,
    /// Of how many.
    pub of: usize,
    /// Whether this process never saw them: an earlier one wrote down how many there were. Then nothing is deployed.
    pub at_start: bool,
    /// For how long.
    pub hold: Duration,
    /// The configuration to annotate, `namespace/name`.
    pub config: Arc<str>,
}

/// What is held at one moment, by watched resource.
pub type MassDeletions = BTreeMap<Arc<str>, MassDeletion>;

/// What the configuration's resource says beside its spec.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Remarks {
    /// The value of [`CONFIRMATION`].
    pub confirmed: Option<Arc<str>>,
    /// How many objects of each watched resource there were when the status was written last.
    pub watched: BTreeMap<String, usize>,
}

impl MassDeletion {
    /// What confirms this one and no later one of another size: `ingresses:120`.
    #[must_use]
    pub fn token(&self) -> String {
        format!("{}:{}", self.resource, self.missing)
    }

    /// Whether `remarks` confirm it: several tokens are separated by commas.
    #[must_use]
    pub fn is_confirmed(&self, remarks: &Remarks) -> bool {
        let token = self.token();
        remarks.confirmed.iter().flat_map(|confirmed| confirmed.split(',')).any(|part| part.trim() == token)
    }
}

impl fmt::Display for MassDeletion {
    /// The one sentence that Event, condition, log and history say.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { resource, missing, of, hold, .. } = self;
        let seconds = hold.as_secs();
        match self.at_start {
            false => write!(
                f,
                "{missing} of {of} {resource} vanished at once, not by being deleted one by one, and stay in force for \
                 {seconds} s",
            ),
            true => write!(
                f,
                "{missing} of {of} {resource} that were there before this controller started are not, and nothing is \
                 deployed for {seconds} s",
            ),
        }?;
        let (namespace, name) = self.config.split_once('/').unwrap_or(("", &self.config));
        write!(
            f,
            ". Look at its selectors, namespaces and rights. If they are meant to be gone: kubectl annotate haptpl {name} -n \
             {namespace} --overwrite {CONFIRMATION}={}",
            self.token()
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sentence_says_how_many_for_how_long_and_what_confirms_it() {
        let mut held = MassDeletion {
            resource: "ingresses".into(),
            missing: 120,
            of: 130,
            at_start: false,
            hold: Duration::from_secs(600),
            config: "edge/first".into(),
        };
        let sentence = held.to_string();
        assert!(sentence.starts_with("120 of 130 ingresses vanished at once"), "{sentence}");
        assert!(
            sentence.ends_with(
                "kubectl annotate haptpl first -n edge --overwrite haproxy-haptic.org/confirm-deletion=ingresses:120"
            ),
            "{sentence}"
        );
        let says = |confirmed: &str| Remarks { confirmed: Some(confirmed.into()), ..Remarks::default() };
        assert!(held.is_confirmed(&says("services:9, ingresses:120")));
        assert!(!held.is_confirmed(&says("ingresses:12")) && !held.is_confirmed(&Remarks::default()));
        held.at_start = true;
        assert!(held.to_string().contains("nothing is deployed for 600 s"));
    }
}
