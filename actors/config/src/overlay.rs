//! Settings that a command line lays over those of a file: where things listen on one machine. Pure.

use crate::ConfigCandidate;
use haptic_model::crd::ControllerSpec;
use serde_json::{Map, Value};
use std::sync::Arc;

/// What is laid over; what is empty leaves the file's.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FileOverlay {
    /// Variables of templates.
    pub extra_context: Map<String, Value>,
    /// `controller.healthzPort`.
    pub healthz_port: Option<u16>,
    /// `controller.metricsPort`.
    pub metrics_port: Option<u16>,
    /// `controller.debugPort`.
    pub debug_port: Option<u16>,
}

impl FileOverlay {
    /// `candidate` with these settings.
    #[must_use]
    pub fn over(&self, mut candidate: ConfigCandidate) -> ConfigCandidate {
        if *self == Self::default() {
            return candidate;
        }
        let spec = Arc::make_mut(&mut candidate.spec);
        spec.templating_settings.extra_context.extend(self.extra_context.clone());
        let ControllerSpec { healthz_port, metrics_port, debug_port, .. } = &mut spec.controller;
        let ports = [
            (healthz_port, self.healthz_port),
            (metrics_port, self.metrics_port),
            (debug_port, self.debug_port),
        ];
        for (port, over) in ports {
            *port = over.unwrap_or(*port);
        }
        candidate
    }
}
