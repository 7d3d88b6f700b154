//! Objects that are held back, so that one bad object never stops the others: what everybody says about them.

use crate::{
    diagnostic::{Diagnostic, TemplatePosition},
    generation::Generation,
    pipeline::RenderBasis,
};
use haptic_text::ObjectRef;
use serde::{Deserialize, Serialize};
use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    sync::Arc,
    time::{Duration, Instant},
};

/// One object that is not in force as it is in its store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Quarantined {
    /// Which.
    pub object: Arc<ObjectRef>,
    /// What is wrong with its present version.
    pub why: Diagnostic,
    /// What stands in for it.
    pub instead: Instead,
    /// Whether nothing is proven: it changed since the last good bundle, as others did, and they are tried again bit by bit.
    pub suspected: bool,
    /// Since which generation.
    pub since: Generation,
    /// Since when, on a clock that only goes on.
    pub at: Instant,
}

/// What is rendered in the place of an object that is held back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Instead {
    /// Nothing: it is left out.
    #[serde(rename = "left out")]
    Nothing,
    /// Its last good version.
    #[serde(rename = "last good version")]
    Former,
    /// Itself without the annotations that cannot be read; closed, where one of them guards access.
    #[serde(rename = "defaults")]
    Defaults,
}

/// What is rendered in the place of an object, as it is published and read back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum PublishedInstead {
    /// One that this revision knows.
    Known(Instead),
    /// What another revision calls it.
    Other(String),
}

/// One object that is in force again as it is in its store, or gone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Released {
    /// Which.
    pub object: Arc<ObjectRef>,
    /// Whether it was deleted.
    pub gone: bool,
}

/// Everything that is held back at one moment, by object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Quarantine {
    /// One entry an object.
    pub held: BTreeMap<Arc<ObjectRef>, Arc<Quarantined>>,
}

/// What a render knew of bundles that were refused before.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PreviousFailures {
    /// The newest of those that a report it had received was about.
    pub newest_report: Option<Generation>,
    /// Namespaces whose changes had several of them refused lately: whoever looks for those at fault begins with them.
    pub throttled: BTreeSet<Arc<str>>,
}

/// What a stage behind the render found at fault in what was rendered.
#[derive(Clone, Debug)]
pub struct FailureReport {
    /// In which render.
    pub rendered: RenderBasis,
    /// What the stage was content with before, when that is not what passed all checks last.
    pub good: Option<RenderBasis>,
    /// The objects at fault, each with what is wrong.
    pub objects: Vec<(Arc<ObjectRef>, Diagnostic)>,
    /// Objects among which at least one is at fault, and nobody knows which yet.
    pub suspects: Vec<(Arc<ObjectRef>, Diagnostic)>,
    /// What is wrong with the templates, when they fail without any object.
    pub templates: Option<Diagnostic>,
    /// How long everybody waited for the refusal and the search.
    pub took: Duration,
}

/// Why an object is held back, as far as it is told: where in the output that shows moves with every other object.
#[derive(PartialEq)]
struct QuarantineReason<'q> {
    message: &'q str,
    /// Another object, at which it was found.
    found_at: Option<&'q ObjectRef>,
    field: Option<&'q str>,
    template: Option<&'q TemplatePosition>,
    help: Option<&'q str>,
}

impl FailureReport {
    /// So many of one stage are kept until they are received.
    pub const KEPT: usize = 8;
}

impl Quarantined {
    /// Whether both are told in the same sentence.
    #[must_use]
    pub fn is_told_as(&self, other: &Self) -> bool {
        self.object == other.object && self.instead == other.instead && self.reason() == other.reason()
    }

    fn reason(&self) -> QuarantineReason<'_> {
        let Diagnostic { message, field, template, object, help, .. } = &self.why;
        QuarantineReason {
            message: message.trim_end_matches('.'),
            found_at: object.as_deref().filter(|other| **other != *self.object),
            field: field.as_deref(),
            template: template.as_ref(),
            help: help.as_deref().filter(|help| !help.is_empty()),
        }
    }
}

impl Default for PublishedInstead {
    /// That of an object of which nothing is known.
    fn default() -> Self {
        Self::Other(String::new())
    }
}

impl Instead {
    /// In a sentence.
    #[must_use]
    pub fn sentence(self) -> &'static str {
        match self {
            Self::Nothing => "It is not served: no good version of it is known",
            Self::Former => "Its last good version is still served",
            Self::Defaults => {
                "It is served without what cannot be read, and closed where that guards access: no good version of it is known"
            }
        }
    }
}

/// The newest reports of one stage, the last one last: a render may take longer than a check.
pub type FailureReports = Vec<Arc<FailureReport>>;

/// Those of pods whose HAProxy refused to reload.
#[derive(Clone, Debug, Default)]
pub struct FailedReloads(pub FailureReports);

impl FailedReloads {
    /// The same with `report` behind them; of more than [`FailureReport::KEPT`] the newest stay.
    #[must_use]
    pub fn with(&self, report: FailureReport) -> Self {
        let surplus = (self.0.len() + 1).saturating_sub(FailureReport::KEPT);
        Self(self.0.iter().skip(surplus).cloned().chain([Arc::new(report)]).collect())
    }
}

impl Quarantine {
    /// How many are only suspected.
    #[must_use]
    pub fn suspects(&self) -> usize {
        self.held.values().filter(|held| held.suspected).count()
    }
}

impl fmt::Display for Quarantined {
    /// The one sentence that Event, condition, log and history say.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Where in the output it is moves with every other object.
        let other = self.why.object.clone().filter(|other| *other != self.object);
        let why = Diagnostic { output: None, help: None, object: other, ..self.why.clone() };
        let object = &self.object;
        let since = if self.instead == Instead::Former { "" } else { " since this controller started" };
        write!(f, "{object}: {why}. {}{since}", self.instead.sentence())?;
        match self.why.help.as_deref() {
            Some("") | None => Ok(()),
            Some(help) => write!(f, ". {help}"),
        }
    }
}

impl fmt::Display for Released {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.gone {
            true => write!(f, "{} is gone, and held back no more", self.object),
            false => write!(f, "{} is good again, and in force", self.object),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_published_is_read_back_and_so_is_what_only_another_revision_knows() {
        let words = [
            ("left out", PublishedInstead::Known(Instead::Nothing)),
            ("last good version", PublishedInstead::Known(Instead::Former)),
            ("defaults", PublishedInstead::Known(Instead::Defaults)),
            ("", PublishedInstead::default()),
            ("Left out", PublishedInstead::Other("Left out".into())),
        ];
        for (word, published) in words {
            let read: PublishedInstead = serde_json::from_value(word.into()).unwrap();
            assert_eq!(read, published);
            assert_eq!(serde_json::to_value(read).unwrap(), word);
        }
    }

    #[test]
    fn the_same_is_told_of_what_only_moved() {
        let object = Arc::new(ObjectRef::new("ingresses", "default", "shop"));
        let why = Diagnostic::error("syntax", "unknown keyword").of_object(Some(object.clone()));
        let held = |why: Diagnostic| Quarantined {
            object: object.clone(),
            why,
            instead: Instead::Former,
            suspected: false,
            since: Generation(3),
            at: Instant::now(),
        };
        let first = held(why.clone());
        let same = [
            why.clone().at_output(crate::FileKey::config(), 17, "foo bar"),
            why.clone().help(""),
            why.clone().of_object(None),
            Diagnostic::warning("haproxy", "unknown keyword."),
        ];
        for why in same {
            let other = held(why);
            assert!(first.is_told_as(&other) && first.to_string() == other.to_string(), "{other}");
        }
        let others = [
            Diagnostic::error("syntax", "another keyword"),
            why.clone().at_field("spec.rules[0]"),
            why.clone().at_template("main", 7, 1),
            why.clone().of_object(Some(Arc::new(ObjectRef::new("services", "default", "shop")))),
            why.help("Did you mean \"fork\"?"),
        ];
        for why in others {
            let other = held(why);
            assert!(!first.is_told_as(&other) && first.to_string() != other.to_string(), "{other}");
        }
        let left_out = Quarantined { instead: Instead::Nothing, ..first.clone() };
        assert!(!first.is_told_as(&left_out));
    }

    #[test]
    fn the_sentence_says_who_why_and_what_is_in_force_and_nothing_that_moves() {
        let object = Arc::new(ObjectRef::new("ingresses", "default", "shop"));
        let why = Diagnostic::error("syntax", "unknown keyword \"foo\"")
            .of_object(Some(object.clone()))
            .at_output(crate::FileKey::config(), 17, "foo bar")
            .help("Did you mean \"fork\"?");
        let held = |instead| Quarantined {
            object: object.clone(),
            why: why.clone(),
            instead,
            suspected: false,
            since: Generation(3),
            at: Instant::now(),
        };
        assert_eq!(
            held(Instead::Former).to_string(),
            "ingresses default/shop: unknown keyword \"foo\". Its last good version is still served. Did you mean \"fork\"?"
        );
        assert!(
            held(Instead::Nothing)
                .to_string()
                .contains("It is not served: no good version of it is known since")
        );
        assert!(
            held(Instead::Defaults)
                .to_string()
                .contains("closed where that guards access: no good version of it")
        );
    }
}
