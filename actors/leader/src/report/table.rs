//! Every condition of the resource's status, for the documentation, which a test compares with the code.

/// A condition.
#[derive(Clone, Copy, Debug)]
pub struct ConditionKind {
    /// Its type.
    pub kind: &'static str,
    /// What it says when it is True.
    pub meaning: &'static str,
    /// Status and reason it can have, and what they mean.
    pub reasons: &'static [(&'static str, &'static str, &'static str)],
}

/// All of them.
pub const CONDITIONS: &[ConditionKind] = &[
    ConditionKind {
        kind: "Ready",
        meaning: "The configuration is in force on every pod.",
        reasons: &[
            ("True", "Deployed", "it is"),
            ("False", "Invalid", "the configuration is wrong; the one before stays in force"),
            (
                "False",
                "CredentialsUnreadable",
                "the Secret of the credentials is not there, lacks a key or may not be read; those before it stay in use",
            ),
            (
                "False",
                "ResourcesUnreadable",
                "watched resources cannot be read; until they can, the configuration before stays in force",
            ),
            ("False", "RenderFailed", "the last render failed; the last good one stays"),
            ("False", "CheckFailed", "the last render did not pass the checks; the last good one stays"),
            ("False", "NothingToDeploy", "as below, as are those that follow"),
            ("False", "NoPods", ""),
            ("False", "PodsBehind", ""),
            ("Unknown", "InProgress", ""),
        ],
    },
    ConditionKind {
        kind: "TemplatesValid",
        meaning: "All templates compile, and render.",
        reasons: &[
            ("True", "Compiled", "they do"),
            ("False", "Invalid", "a template is wrong; the message says which, and where"),
            ("False", "RenderFailed", "a template fails with the objects that there are"),
            ("Unknown", "Unreadable", "the configuration does not fit its schema"),
        ],
    },
    ConditionKind {
        kind: "CredentialsValid",
        meaning: "The Secret that `spec.credentialsSecretRef` names is there and has what it needs.",
        reasons: &[
            ("True", "Read", "it has"),
            ("False", "CredentialsUnreadable", "as above; the message says what to do"),
        ],
    },
    ConditionKind {
        kind: "Deployed",
        meaning: "Every pod runs the newest valid configuration: that of the condition's `observedGeneration`.",
        reasons: &[
            ("True", "Deployed", "they do"),
            ("False", "ResourcesUnreadable", "as above"),
            ("False", "NothingToDeploy", "nothing has passed all checks yet"),
            ("False", "NoPods", "no HAProxy pod has the labels of `spec.podSelector`"),
            (
                "False",
                "PodsBehind",
                "pods were not brought to it for ten seconds; the message names them and says why",
            ),
            ("Unknown", "InProgress", "it is rendered and checked, and pods are brought to it"),
        ],
    },
    ConditionKind {
        kind: "Quarantined",
        meaning: "Objects are held back so that they do not stop the others.",
        reasons: &[
            ("True", "ObjectsHeldBack", "the message names them and says why"),
            ("False", "None", "there are none"),
        ],
    },
    ConditionKind {
        kind: "DeletionsHeld",
        meaning: "Most objects of a watched resource vanished at once, and stay in force for a while.",
        reasons: &[
            ("True", "ObjectsVanished", "the message says how many of which, and what confirms it"),
            ("False", "None", "there are none"),
        ],
    },
    ConditionKind {
        kind: "LimitsReached",
        meaning: "Objects are left out because they are too large or too many.",
        reasons: &[
            ("True", "ObjectsLeftOut", "the message names objects or namespaces, and the limit to raise"),
            ("False", "None", "there are none"),
        ],
    },
    ConditionKind {
        kind: "Published",
        meaning: "What is rendered, and which pods run it, is in the resources that the leader publishes. Nothing else depends on it.",
        reasons: &[
            ("True", "Complete", "every file is there"),
            (
                "False",
                "Refused",
                "the API server does not take them, or does not answer; the message says what to allow",
            ),
            ("False", "TooLarge", "files are longer than 1 MB even when compressed; the message names them"),
        ],
    },
];
