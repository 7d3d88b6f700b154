//! What stops a deployment on its way.

use crate::{call_error::CallError, error::ApiError};
use haptic_model::agent_api::Outcome;
use std::fmt::Display;

/// What stops a deployment.
#[derive(Debug)]
pub(crate) enum Stop {
    /// For the one who ordered it.
    Outcome(Outcome),
    /// A call led to nothing: nobody knows how the pod is.
    Api(ApiError),
}

impl Stop {
    /// Operations ended half-way: nobody knows any more what HAProxy runs.
    pub fn half_way(why: impl Display) -> Self {
        Self::Outcome(Outcome::Refused { message: why.to_string(), reload_may_help: true })
    }

    /// What the one who ordered it is told.
    pub fn into_result(self) -> Result<Outcome, ApiError> {
        match self {
            Self::Outcome(outcome) => Ok(outcome),
            Self::Api(error) => Err(error),
        }
    }
}

impl From<Outcome> for Stop {
    fn from(outcome: Outcome) -> Self {
        Self::Outcome(outcome)
    }
}

impl From<ApiError> for Stop {
    fn from(error: ApiError) -> Self {
        Self::Api(error)
    }
}

/// A refused operation ends half-way.
impl From<CallError> for Stop {
    fn from(error: CallError) -> Self {
        error.refusal().map_or_else(Self::Api, Self::half_way)
    }
}
