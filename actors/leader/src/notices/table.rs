//! Every Kubernetes Event that the leader writes, for the documentation, which a test compares with the code.

use haptic_model::FindingKind;

/// A kind of Kubernetes Event.
#[derive(Clone, Copy, Debug)]
pub struct NoticeKind {
    /// Its reason, by which it is found: `kubectl get events --field-selector reason=…`.
    pub reason: &'static str,
    /// Its action.
    pub action: &'static str,
    /// Whether its type is Warning, and not Normal.
    pub warning: bool,
    /// On which objects it is.
    pub about: &'static str,
    /// What it says, and what is to be done.
    pub meaning: &'static str,
}

const fn warning(
    reason: &'static str,
    action: &'static str,
    about: &'static str,
    meaning: &'static str,
) -> NoticeKind {
    NoticeKind { reason, action, warning: true, about, meaning }
}

const fn normal(
    reason: &'static str,
    action: &'static str,
    about: &'static str,
    meaning: &'static str,
) -> NoticeKind {
    NoticeKind { warning: false, ..warning(reason, action, about, meaning) }
}

const fn found(kind: FindingKind) -> NoticeKind {
    warning(kind.reason(), "Render", "watched object", kind.advice())
}

/// All of them, in the order of the pipeline.
pub const NOTICES: &[NoticeKind] = &[
    normal(
        "ConfigurationAccepted",
        "Validate",
        "configuration",
        "The configuration passed all validators. Condition Ready says when it is in force on every pod.",
    ),
    warning(
        "ConfigurationRejected",
        "Validate",
        "configuration",
        "The configuration is wrong; the one before stays in force. The note says what, and where.",
    ),
    warning(
        "CredentialsUnreadable",
        "Validate",
        "configuration",
        "The Secret of the credentials is not there, lacks a key or may not be read; the credentials before it stay in use. A \
         controller that starts now has none. The note says what to do.",
    ),
    warning(
        "DeletionsHeld",
        "Watch",
        "configuration",
        "Most objects of a watched resource vanished at once; they stay in force for a while. The note says what confirms that \
         they are meant to be gone.",
    ),
    warning(
        "LimitReached",
        "Watch",
        "object that is too large; namespace that has too many",
        "Objects are left out, or stay in force as they were. The note says which limit they reach.",
    ),
    found(FindingKind::ListenerRefused),
    found(FindingKind::ListenersOverlap),
    warning(
        "Malformed",
        "Watch",
        "watched object",
        "The object cannot be used: it stays in force as it was, or is left out where it was not known.",
    ),
    found(FindingKind::PolicyRefused),
    found(FindingKind::ReferenceUnresolved),
    warning(
        "RenderFailed",
        "Render",
        "object at fault, or configuration",
        "Nothing was rendered; the last good configuration stays.",
    ),
    warning(
        "CheckFailed",
        "Render",
        "object at fault, or configuration",
        "What was rendered did not pass the checks; the last good configuration stays.",
    ),
    warning(
        "Quarantined",
        "Render",
        "object at fault",
        "The object is held back so that it does not stop the others: its last good version stays in force, or it is \
         left out. It is tried again when it changes.",
    ),
    normal("Released", "Render", "object that was held back", "The object is good again, and in force."),
    found(FindingKind::RouteNotTaken),
    found(FindingKind::RulesDropped),
    found(FindingKind::RouteUnservable),
    warning(
        "Warned",
        "Render",
        "watched object",
        "A template or a check warns of the object; it is in force.",
    ),
    found(FindingKind::TlsWithoutPolicy),
    found(FindingKind::ServiceMissing),
    found(FindingKind::PortMissing),
    found(FindingKind::SecretMissing),
    found(FindingKind::ConfigMapMissing),
    found(FindingKind::BackendInvalid),
    found(FindingKind::HostInvalid),
    found(FindingKind::PathInvalid),
    found(FindingKind::PathRespelled),
    found(FindingKind::RouteRepeated),
    found(FindingKind::RouteConflict),
    found(FindingKind::HostConflict),
    found(FindingKind::TooManyRoutes),
    found(FindingKind::ReloadDelayed),
    found(FindingKind::ObjectUnreadable),
    found(FindingKind::OptionWithoutEffect),
    found(FindingKind::OptionUnknown),
    found(FindingKind::OptionUnreadable),
    found(FindingKind::TakenLiterally),
    found(FindingKind::ForeignAnnotation),
    found(FindingKind::ForeignDiffers),
    found(FindingKind::ForeignNotServed),
    found(FindingKind::ForeignUnreadable),
    found(FindingKind::NoCertificate),
    found(FindingKind::CertificateDoesNotCover),
    found(FindingKind::CertificateExpired),
    found(FindingKind::CertificateExpiring),
    found(FindingKind::CertificateUnused),
    found(FindingKind::ClientCaConflict),
    warning(
        "DeploymentFailed",
        "Deploy",
        "HAProxy pod",
        "The pod was not brought to the newest configuration; it is tried again.",
    ),
    warning(
        "TakenBack",
        "Deploy",
        "HAProxy pod",
        "A change was live already when HAProxy's checker refused it; the pod goes back.",
    ),
    warning("DriftFound", "Deploy", "HAProxy pod", "Somebody else changed the pod; it is brought back."),
];
