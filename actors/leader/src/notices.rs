//! Kubernetes Events: what people see with `kubectl describe` on the configuration, an object or a pod.
//!
//! [`notice`] makes a notice of what happened, [`limiter`] lets through what is news, [`api`] writes it. Only the
//! leader writes; a notice that is lost is lost.

pub mod api;
pub mod limiter;
pub mod notice;
pub mod table;
