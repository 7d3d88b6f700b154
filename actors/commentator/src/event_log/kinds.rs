//! Every kind of line, for the documentation, which a test compares with the code.

use super::MessageLevel::{self, Debug, Error, Info, Trace, Warn};

/// The kind of a line (`kind` in a log of JSON and in `/debug/events`), its level, and what it tells.
pub const KINDS: &[(&str, MessageLevel, &str)] = &[
    ("Awaited", Info, "what is missing before anything is rendered"),
    (
        "ConfigAccepted",
        Info,
        "a configuration passed all validators; it is in force once its stores are read",
    ),
    (
        "ConfigRejected",
        Warn,
        "a configuration was refused, and each reason, by validator; Error when a validator did not answer",
    ),
    ("ConfigDeleted", Error, "the configuration in force was deleted; it stays in force"),
    ("CredentialsChanged", Info, "the credentials changed"),
    (
        "CredentialsTroubled",
        Error,
        "the Secret of the credentials is not there, lacks a key or may not be read, and what to do; Info when it is whole again",
    ),
    ("StoreSynced", Info, "a watched resource was read to the end of its list"),
    ("StoreSize", Trace, "how many objects of a watched resource there are, after each change"),
    ("WatchFailed", Warn, "a watch failed and is tried again, and why"),
    (
        "MassDeletionHeld",
        Error,
        "objects vanished at once and stay in force for a while, and what confirms that they are meant to be gone",
    ),
    ("MassDeletionEnded", Warn, "objects that had vanished at once are gone, or are there again"),
    ("LimitReached", Warn, "an object is too large, or a namespace has too many, and is left out"),
    ("ObjectMalformed", Warn, "an object that cannot be read"),
    ("ObjectMended", Info, "such an object can be read, or is gone"),
    ("ManifestRefused", Warn, "a file of `haptic local`, or a part of it, that cannot be used"),
    ("ManifestMended", Info, "such a file can be used again, or is gone"),
    (
        "ManifestIgnored",
        Info,
        "a file of `haptic local` holds objects of a kind that is not watched, or there is no manifest",
    ),
    ("ReconcileStarted", Debug, "a generation begins, and what triggered it"),
    ("Rendered", Debug, "what was rendered, and how much of it anew"),
    ("RenderFailed", Error, "a render failed: cause, template line, object"),
    ("RenderDiffered", Error, "an incremental render was not the full one: a bug"),
    (
        "FindingsChanged",
        Warn,
        "what is found at objects that was not, the first of each namespace; Info when something only ends",
    ),
    ("Warned", Warn, "a warning of a template or of HAProxy; told once as long as it stands"),
    (
        "QuarantineChanged",
        Warn,
        "which objects are held back or let go, and why; Info when they are only let go",
    ),
    ("Validated", Debug, "a generation passed all checks"),
    ("ValidationFailed", Error, "a generation was refused: cause, template line, object"),
    ("PodDiscovered", Info, "a HAProxy pod is there"),
    ("PodGone", Info, "a HAProxy pod is gone"),
    (
        "Deployed",
        Info,
        "a pod runs a generation: on how many pods it is, how, how long it took, what triggered it; Debug on all but the last pod if nothing was reloaded",
    ),
    (
        "DeployFailed",
        Warn,
        "a pod was not brought to a generation, why, how often; the same is told once a minute",
    ),
    ("TakenBack", Warn, "a generation was live on a pod and refused by the check"),
    ("HaproxySaid", Info, "what HAProxy printed while it was reloaded"),
    ("DriftFound", Warn, "somebody else changed a pod, and what"),
    ("ActorRestarted", Error, "a part of the controller failed and runs again"),
    ("LeadershipChanged", Info, "this replica leads or does not; Warn when its time ran out"),
    ("ElectionTroubled", Warn, "the Lease cannot be used, and why; Info when it can be again"),
    ("Reviewed", Info, "the admission webhook refused a change, and why; Warn when it could not judge it"),
    ("EventsLost", Warn, "lines are missing before this one, and how many"),
];

#[cfg(test)]
mod tests {
    use super::KINDS;

    /// Logs, recordings and alerts of others go by them.
    #[test]
    fn kinds_of_before_are_still_there() {
        let before = include_str!("../../../../fixtures/stored/kinds.txt");
        let gone: Vec<&str> =
            before.lines().filter(|kind| KINDS.iter().all(|(name, ..)| name != kind)).collect();
        assert!(gone.is_empty(), "{gone:?}");
        assert!(before.lines().count() > 30);
    }
}
