//! The names of the stores that stand beside the store of a resource. No watched resource has such a name.

use std::sync::Arc;

/// The name of the store of sets beside the store `resource`.
#[must_use]
pub fn store_of(resource: &str) -> Arc<str> {
    format!("routes of {resource}").into()
}

/// The name of the store that has an object for each option that any object of the store `resource` asks for.
#[must_use]
pub fn options_of(resource: &str) -> Arc<str> {
    format!("options of {resource}").into()
}

/// The name of the store of userlists beside the store `resource`.
#[must_use]
pub fn userlists_of(resource: &str) -> Arc<str> {
    format!("userlists of {resource}").into()
}

/// The name of the store that has an object for each service that routes of the store `resource` ask whether requests may pass.
#[must_use]
pub fn auth_targets_of(resource: &str) -> Arc<str> {
    format!("authentication of {resource}").into()
}

/// The name of the store that has an object for each IngressClass whose parameters name a ConfigMap, beside the store `resource`.
#[must_use]
pub fn class_settings_of(resource: &str) -> Arc<str> {
    format!("classes of {resource}").into()
}
