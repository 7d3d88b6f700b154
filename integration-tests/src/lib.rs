//! What a journey needs: a cluster, pods, backends, a controller, and HTTP requests that show what HAProxy does.
//!
//! Real parts only, each in a file of its own. Nothing here knows how the controller works inside: a journey sees what
//! a user sees.
#![allow(clippy::indexing_slicing, reason = "a missing field of a JSON value reads as null")]

pub mod audit;
pub mod backend;
pub mod certificate;
pub mod chart;
pub mod cluster;
pub mod collector;
pub mod configuration;
pub mod container;
pub mod controller;
pub mod cookbook;
pub mod data_plane_api;
pub mod dice;
pub mod eventually;
pub mod failure;
pub mod haproxy_pod;
pub mod hostile;
pub mod http;
pub mod load;
pub mod manifest;
pub mod markdown;
pub mod memory_group;
pub mod network;
pub mod objects;
pub mod process;
pub mod program;
pub mod progress;
pub mod registration;
pub mod runner;
pub mod scene;
pub mod sidecar;
pub mod terminal;
pub mod traffic;
pub mod wire;

pub use eventually::{eventually, eventually_within};
pub use failure::{Failure, Outcome, ensure};
pub use runner::{Journey, journey, over_both, soaking};
pub use scene::Scene;
