//! What is not as it should be though the API answered "done".

use crate::{
    call_error::CallError,
    responses::{ApiRefusal, ResponseMeaning},
};
use haptic_model::operation::ServerState;
use std::net::IpAddr;

/// What differs. Neither key nor value of an entry is told: either may be a token.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Unproven {
    #[error("server {backend}/{server} {difference}, though the Data Plane API said it was done")]
    Server { backend: String, server: String, difference: ServerDifference },
    #[error("an entry of map {map} is not as it should be, though the Data Plane API said it was done")]
    Entry { map: String },
    #[error("map {map} has {is} entries, not {should}, though the Data Plane API said it was done")]
    Entries { map: String, is: usize, should: usize },
    #[error("{list} is not loaded")]
    NotLoaded { list: String },
    #[error("{list} has other patterns than it should, though the Data Plane API said it was done")]
    Patterns { list: String },
}

/// How a server is, and not as it should be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ServerDifference {
    #[error("is not there")]
    Missing,
    #[error("still takes requests")]
    TakesRequests,
    #[error("is at {} port {}, not at {} port {}", .is.0, .is.1, .should.0, .should.1)]
    Address { is: (String, u16), should: (IpAddr, u16) },
    #[error("is checked at port {is}, not {should}")]
    CheckPort { is: u16, should: u16 },
    #[error("has weight {is}, not {should}")]
    Weight { is: u32, should: u32 },
    #[error("is in state {}, not {}", .is.to_lowercase(), format!("{should:?}").to_lowercase())]
    State { is: String, should: ServerState },
}

impl From<Unproven> for CallError {
    fn from(what: Unproven) -> Self {
        Self::Refused(ApiRefusal { meaning: ResponseMeaning::Other, words: what.to_string() })
    }
}
