//! What HAProxy's Data Plane API makes of a configuration that it is sent, for its double and for whoever asks what comes back.

pub mod canonical;
mod rules;
