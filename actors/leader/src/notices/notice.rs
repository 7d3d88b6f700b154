//! What happened, as a notice about something that people look at.

use haptic_model::{Diagnostic, Event, LimitReached, ObjectFinding, ObjectRef, Oversized, Quarantined};
use haptic_text::shortened;
use std::{collections::HashMap, sync::Arc};

/// The API server refuses longer ones.
const LONGEST: usize = 1000;

/// So many objects of a namespace that are held back at once get a notice; the condition and the log count the others.
const FIRST: usize = 10;

/// What a notice is about.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum NoticeSubject {
    /// The configuration.
    Config,
    /// A watched object.
    Object(Arc<ObjectRef>),
    /// A watched object that is too large for its store.
    Oversized(Arc<Oversized>),
    /// A namespace, or the configuration for objects that are in none.
    Namespace(Arc<str>),
    /// A HAProxy pod, `namespace/name`.
    Pod(Arc<str>),
}

impl NoticeSubject {
    /// The namespace whose people may have caused it.
    #[must_use]
    pub fn namespace(&self) -> Option<&Arc<str>> {
        match self {
            Self::Object(object) => Some(&object.namespace),
            Self::Oversized(oversized) => Some(&oversized.object.namespace),
            Self::Namespace(namespace) => Some(namespace),
            Self::Config | Self::Pod(_) => None,
        }
    }
}

/// One Kubernetes Event to be.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Notice {
    /// What it is about.
    pub about: NoticeSubject,
    /// Warning, or Normal.
    pub warning: bool,
    /// One word, as Kubernetes has it: `RenderFailed`.
    pub reason: &'static str,
    /// What was being done: `Render`.
    pub action: &'static str,
    /// The sentence.
    pub note: String,
    /// Whether it is not said again as long as the API server keeps it, whoever said it.
    pub once: bool,
}

/// The notices that `event` is worth; most are worth none.
#[must_use]
pub fn of(event: &Event) -> Vec<Notice> {
    match event {
        Event::ConfigAccepted { revision, .. } => vec![Notice {
            about: NoticeSubject::Config,
            warning: false,
            reason: "ConfigurationAccepted",
            action: "Validate",
            note: format!(
                "the configuration is accepted (revision {revision} of this controller); condition Ready says when it is in \
                 force on every pod"
            ),
            once: false,
        }],
        Event::ConfigRejected { diagnostics, .. } => blamed("ConfigurationRejected", "Validate", diagnostics),
        Event::CredentialsTroubled { why: Some(why), .. } => vec![credentials_unreadable(why)],
        Event::RenderFailed { diagnostics, .. } => blamed("RenderFailed", "Render", diagnostics),
        Event::ValidationFailed { diagnostics, .. } => blamed("CheckFailed", "Render", diagnostics),
        Event::QuarantineChanged { entered, left, .. } => {
            let left = left.iter().filter(|released| !released.gone).map(|released| Notice {
                about: NoticeSubject::Object(Arc::clone(&released.object)),
                warning: false,
                reason: "Released",
                action: "Render",
                note: released.to_string(),
                once: false,
            });
            fair(entered.iter().map(|held| held_back(held))).into_iter().chain(fair(left)).collect()
        }
        Event::Warned { diagnostic, .. } if diagnostic.object.is_some() => {
            blamed("Warned", "Render", std::slice::from_ref(diagnostic))
        }
        Event::MassDeletionHeld { missing } => {
            vec![warning(NoticeSubject::Config, "DeletionsHeld", "Watch", &missing.to_string())]
        }
        Event::LimitReached { reached } => vec![limit_reached(reached)],
        Event::ObjectMalformed { object, message } => {
            vec![warning(NoticeSubject::Object(Arc::clone(object)), "Malformed", "Watch", message)]
        }
        Event::DeployFailed { pod, message, .. } => {
            vec![warning(NoticeSubject::Pod(Arc::clone(pod)), "DeploymentFailed", "Deploy", message)]
        }
        Event::TakenBack { generation, pod, why, .. } => {
            let note = format!(
                "generation {generation} was live and HAProxy's checker refuses it: {why}; it is taken back"
            );
            vec![warning(NoticeSubject::Pod(Arc::clone(pod)), "TakenBack", "Deploy", &note)]
        }
        Event::DriftFound { pod, what } => {
            let note = format!("somebody else changed HAProxy: {what}; it is brought back");
            vec![warning(NoticeSubject::Pod(Arc::clone(pod)), "DriftFound", "Deploy", &note)]
        }
        _ => Vec::new(),
    }
}

/// The first few of each namespace: who waits for a namespace with thousands waits for ever.
fn fair(notices: impl Iterator<Item = Notice>) -> Vec<Notice> {
    let mut counts: HashMap<Arc<str>, usize> = HashMap::new();
    let is_among_first = |notice: &Notice| {
        let Some(namespace) = notice.about.namespace() else { return true };
        let count = counts.entry(namespace.clone()).or_default();
        *count += 1;
        *count <= FIRST
    };
    notices.filter(is_among_first).collect()
}

/// One for each thing at fault: an object, or else the configuration.
#[must_use]
pub fn blamed(reason: &'static str, action: &'static str, diagnostics: &[Diagnostic]) -> Vec<Notice> {
    let mut notices: Vec<Notice> = Vec::new();
    for diagnostic in diagnostics {
        let about = diagnostic.object.clone().map_or(NoticeSubject::Config, NoticeSubject::Object);
        // Where in the output it is changes with every other object.
        let text = Diagnostic { output: None, ..diagnostic.clone() }.to_string();
        match notices.iter_mut().find(|notice| notice.about == about) {
            Some(notice) => notice.note = fitting(&format!("{}\n{text}", notice.note)),
            None => notices.push(warning(about, reason, action, &text)),
        }
    }
    notices
}

/// That an object is held back.
#[must_use]
pub fn held_back(held: &Quarantined) -> Notice {
    warning(NoticeSubject::Object(Arc::clone(&held.object)), "Quarantined", "Render", &held.to_string())
}

/// What is found at an object.
#[must_use]
pub fn found(found: &ObjectFinding) -> Notice {
    let about = NoticeSubject::Object(Arc::clone(&found.object));
    Notice { once: true, ..warning(about, found.finding.kind.reason(), "Render", &found.finding.sentence) }
}

/// That the Secret of the credentials is not as it should be.
#[must_use]
pub fn credentials_unreadable(why: &Diagnostic) -> Notice {
    warning(NoticeSubject::Config, "CredentialsUnreadable", "Validate", &why.to_string())
}

/// That objects are left out because they are too large or too many.
#[must_use]
pub fn limit_reached(reached: &LimitReached) -> Notice {
    let about = match reached {
        LimitReached::Namespace { namespace, .. } => NoticeSubject::Namespace(Arc::clone(namespace)),
        LimitReached::Object(oversized) => NoticeSubject::Oversized(Arc::clone(oversized)),
    };
    warning(about, "LimitReached", "Watch", &reached.to_string())
}

fn warning(about: NoticeSubject, reason: &'static str, action: &'static str, note: &str) -> Notice {
    Notice { about, warning: true, reason, action, note: fitting(note), once: false }
}

fn fitting(note: &str) -> String {
    if note.len() <= LONGEST { note.to_owned() } else { shortened(note, LONGEST - 5).into_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use haptic_model::Generation;

    fn failed(diagnostics: Vec<Diagnostic>) -> Vec<Notice> {
        of(&Event::RenderFailed { generation: Generation(1), configuration: 1, diagnostics })
    }

    #[test]
    fn each_object_at_fault_gets_one_notice_and_the_configuration_what_is_nobodys() {
        let object = |name: &str| Some(Arc::new(ObjectRef::new("ingresses", "default", name)));
        let notices = failed(vec![
            Diagnostic::error("render", "no host").of_object(object("shop")),
            Diagnostic::error("render", "no path").of_object(object("shop")),
            Diagnostic::error("render", "no host").of_object(object("blog")),
            Diagnostic::error("render", "no template"),
        ]);
        assert_eq!(notices.len(), 3);
        assert!(notices[0].note.contains("no host") && notices[0].note.contains("no path"));
        assert_eq!(notices[2].about, NoticeSubject::Config);
    }

    #[test]
    fn a_long_story_is_cut_to_what_the_api_server_takes() {
        let notices = failed(vec![Diagnostic::error("render", "ü".repeat(2000))]);
        assert!(notices[0].note.len() <= LONGEST, "{}", notices[0].note.len());
        assert!(notices[0].note.ends_with('…'));
    }

    #[test]
    fn what_works_is_no_news() {
        assert!(of(&Event::LeadershipChanged { leads: true, why: None }).is_empty());
    }
}
