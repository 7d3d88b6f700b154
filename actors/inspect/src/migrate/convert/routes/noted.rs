//! Ingresses as they are noted before any is converted.

use super::manifest::MovedIngress;
use serde_json::Value;

/// An Ingress that is to become routes.
#[derive(Debug)]
pub(super) struct NotedIngress {
    pub namespace: String,
    pub name: String,
    pub value: Value,
    /// As far as routes are made of it, or why none are.
    pub ingress: Result<MovedIngress, String>,
}
