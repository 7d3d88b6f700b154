//! The admission webhook: the API server asks before it stores a configuration or a watched object, and bad ones are refused.
//!
//! A request comes in through [`service`], which reads nothing from a client that does not know the path (it is part of the [`endpoint`]).
//! Its body becomes a [`review::Review`], [`policy`] says what it is about. A configuration is evaluated by `configuration`; objects
//! wait in the queue of the [`ReviewActor`] and are evaluated together by the `evaluator`, which renders beside the pipeline and disturbs none of it.
//! Only faults that the change [brings](haptic_attribution::brought) are a reason to refuse. Nothing is stored, and nothing but the API server is answered: a dry
//! run is a review like any other.

mod actor;
mod answer;
mod configuration;
mod dummy_certificate;
pub mod endpoint;
mod evaluator;
mod failed_tests;
mod lookups;
pub mod policy;
pub mod render_cache;
pub mod review;
pub mod service;
mod space;
pub mod tls;

pub use actor::{ReviewActor, ReviewQueue, WebhookActor, WebhookOptions};
pub use configuration::OwnConfiguration;
