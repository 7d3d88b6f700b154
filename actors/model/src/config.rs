//! The configuration in force: validated, with defaults applied and credentials resolved.

use crate::{crd::HAProxyTemplateConfigSpec, layout::Layout, secret::Credentials};
use std::sync::Arc;

/// A valid configuration. Never changes; a new one replaces it.
#[derive(Clone, Debug)]
pub struct ActiveConfig {
    /// Its name.
    pub name: Arc<str>,
    /// Its namespace, which is also the controller's.
    pub namespace: Arc<str>,
    /// `metadata.generation` of the resource; 0 for a file.
    pub resource_generation: i64,
    /// Grows with every configuration this process took into force.
    pub revision: u64,
    /// All fields, defaults applied.
    pub spec: Arc<HAProxyTemplateConfigSpec>,
    /// Where files lie on the pods.
    pub layout: Layout,
    /// The newest first; the ones before it are still tried for a while after a rotation.
    pub credentials: Vec<Credentials>,
}
