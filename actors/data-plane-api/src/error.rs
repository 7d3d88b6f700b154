//! Why a pod with the Data Plane API could not be asked or changed, in words that a user can act on.

use haptic_deploy::TransportError;

/// Why a call led to nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ApiError {
    /// The same would have happened to any transport.
    #[error(transparent)]
    Call(#[from] TransportError),
    /// A reload is said to have worked, and HAProxy is the same process as before.
    #[error(
        "the Data Plane API on {address} says that HAProxy reloaded, and the same worker answers as before: does its master_runtime \
         lead to the master socket (-S) of this HAProxy?"
    )]
    SameWorker { address: String },
    /// The Data Plane API answers, and HAProxy does not. `hint`: what to look at.
    #[error("the Data Plane API on {address} does not reach HAProxy ({cause}): {hint}")]
    WithoutHaproxy { address: String, cause: String, hint: &'static str },
    /// It cannot write its files.
    #[error(
        "the Data Plane API on {address} cannot write its files ({cause}): are its folders on a volume that it may write to?"
    )]
    ReadOnly { address: String, cause: String },
    /// Its own limit is lower than what it was sent.
    #[error("the Data Plane API on {address} takes no more ({cause}): raise max_body_size in its settings")]
    TooLarge { address: String, cause: String },
    /// Somebody else writes, too.
    #[error(
        "somebody else changes the configuration through the Data Plane API on {address}: is another controller or tool at work there?"
    )]
    TwoWriters { address: String },
}

impl ApiError {
    pub fn setup(why: String) -> Self {
        TransportError::Setup(why).into()
    }
}

impl From<ApiError> for TransportError {
    fn from(error: ApiError) -> Self {
        match error {
            ApiError::Call(error) => error,
            own => Self::Own(own.to_string()),
        }
    }
}
