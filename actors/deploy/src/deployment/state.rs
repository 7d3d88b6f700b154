//! What a deployment is doing: shown at `/debug/actors`, and read there by whoever says it in a sentence.

use haptic_model::Generation;
use serde::{Deserialize, Serialize};

/// The states of one pod's deployment.
///
/// ```text
/// Unknown ──> Reading ──> Standby              nothing to deploy, or another replica leads
///                │  ^
///                │  └───── conflict, drift check, HAProxy began anew, after any failure
///                ├───────> Awaiting            the render does not know what the pod can do
///                v <─────────┘ newer bundle, or time
///             Planning ──> Checking            it needs a reload, and its check has not ended
///                │  │        │ verdict, or newer bundle
///                │  └──────> Waiting           a reload, too soon after the last one
///                v <─────────┘ newer bundle, or time
///             Applying ──> Ahead               live by operations; its check has not ended
///                │           │ verdict
///                │           v
///                ├───────> Converged ──> Planning (newer bundle), Reading (drift check)
///                v
///             BackingOff ──> Reading
/// ```
/// Files are stored beside all of this, as soon as a bundle that the pod has reached passed its check.
/// `Gone` is reached from everywhere: the pod was deleted, and what was under way is dropped.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum DeploymentState {
    /// Nothing is known of the pod yet.
    Unknown,
    /// It is asked what it runs.
    Reading,
    /// It answers, and there is nothing that this replica must deploy.
    Standby,
    /// The way to a bundle is computed.
    Planning {
        /// The bundle's generation.
        generation: Generation,
    },
    /// HAProxy can follow only by a reload, or refused operations: that waits for a checked bundle.
    Checking {
        /// The generation that waits.
        generation: Generation,
    },
    /// What is rendered does not know yet what this pod can do: a first deployment waits for the render that does.
    Awaiting {
        /// The generation that is there.
        generation: Generation,
        /// For how long it waits at most.
        millis: u64,
    },
    /// A reload waits until minDeploymentInterval has passed since the last one.
    Waiting {
        /// The generation that waits.
        generation: Generation,
        /// For how long.
        millis: u64,
    },
    /// An order is under way.
    Applying {
        /// The bundle's generation.
        generation: Generation,
        /// Why HAProxy reloads, if it does.
        reload: Option<String>,
    },
    /// The pod runs the newest bundle, which HAProxy's checker is still looking at.
    Ahead {
        /// Its generation.
        generation: Generation,
    },
    /// The pod runs the newest bundle, and it passed every check.
    Converged {
        /// Its generation.
        generation: Generation,
    },
    /// An attempt failed and is repeated.
    BackingOff {
        /// Why.
        error: String,
        /// When, from the failure on.
        millis: u64,
    },
    /// The pod was deleted.
    Gone,
}
