//! Why a call that changes something did not: whoever called may go on after a refusal, and not after anything else.

use crate::{
    error::ApiError,
    responses::{ApiRefusal, ResponseMeaning},
};

/// Why something was not changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum CallError {
    /// HAProxy or the API refused it, or did not do what it said was done.
    Refused(ApiRefusal),
    /// The call led to nothing.
    Api(ApiError),
}

impl CallError {
    /// Whether it is a refusal that means this.
    pub fn means(&self, meaning: ResponseMeaning) -> bool {
        matches!(self, Self::Refused(why) if why.meaning == meaning)
    }

    /// The refusal, for whoever goes on after one.
    ///
    /// # Errors
    /// The call led to nothing.
    pub fn refusal(self) -> Result<ApiRefusal, ApiError> {
        match self {
            Self::Refused(why) => Ok(why),
            Self::Api(error) => Err(error),
        }
    }
}

impl From<ApiError> for CallError {
    fn from(error: ApiError) -> Self {
        Self::Api(error)
    }
}

impl From<ApiRefusal> for CallError {
    fn from(why: ApiRefusal) -> Self {
        Self::Refused(why)
    }
}
