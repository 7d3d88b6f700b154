//! Calls of the API server: none takes longer than ten seconds, and its words come with what to do about them.

use kube::core::Status;
use std::{fmt::Display, time::Duration};

const TIMEOUT: Duration = Duration::from_secs(10);

/// Why a call led to nothing.
#[derive(Debug)]
pub(crate) enum CallFailure {
    /// The API server's refusal.
    Refused(Box<Status>),
    /// No answer, or none that can be read.
    Unanswered(String),
}

/// Makes a call.
pub(crate) async fn in_time<T>(call: impl Future<Output = kube::Result<T>>) -> Result<T, CallFailure> {
    match tokio::time::timeout(TIMEOUT, call).await {
        Ok(Ok(answer)) => Ok(answer),
        Ok(Err(kube::Error::Api(status))) => Err(CallFailure::Refused(status)),
        Ok(Err(error)) => Err(CallFailure::Unanswered(error.to_string())),
        Err(_) => Err(CallFailure::Unanswered(late(TIMEOUT))),
    }
}

/// That no answer came.
pub(crate) fn late(timeout: Duration) -> String {
    format!("the API server did not answer within {} s", timeout.as_secs())
}

/// That rights are missing, and which.
pub(crate) fn forbidden(status: &Status, rights: impl Display) -> String {
    format!("{}. Allow {rights}", status.message)
}

/// That the API server does not know resources of ours.
pub(crate) fn unknown(resources: &str) -> String {
    format!("the API server does not know {resources}. Install them with: haptic crd | kubectl apply -f -")
}

impl CallFailure {
    /// The status of the refusal.
    pub(crate) fn code(&self) -> Option<u16> {
        match self {
            Self::Refused(status) => Some(status.code),
            Self::Unanswered(_) => None,
        }
    }

    /// The API server's words, with the rights that the call needs where they are missing.
    pub(crate) fn explained(self, rights: impl Display) -> String {
        match self {
            Self::Refused(status) if status.code == 403 => forbidden(&status, rights),
            Self::Refused(status) => kube::Error::Api(status).to_string(),
            Self::Unanswered(why) => why,
        }
    }
}
