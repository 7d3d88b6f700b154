//! The crate's actors: the only modules that know actix, besides what serves HTTP.

mod endpoint;
mod review;
#[cfg(test)]
pub(crate) mod test_render_stage;
mod waiting;

pub use endpoint::{WebhookActor, WebhookOptions};
pub use review::{ReviewActor, ReviewQueue};
