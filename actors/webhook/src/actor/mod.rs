//! The crate's actors: the only modules that know actix, besides what serves HTTP.

mod endpoint;
#[cfg(test)]
pub(crate) mod render_stage;
mod review;
mod waiting;

pub use endpoint::{WebhookActor, WebhookOptions};
pub use review::{ReviewActor, ReviewQueue};
