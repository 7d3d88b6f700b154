//! Configurations that try to get at what is not theirs while HAProxy checks them, with real HAProxys.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]
#![allow(clippy::indexing_slicing, reason = "a test fails by panicking")]

mod configurations;
mod policy;
mod protections;
mod requests;
mod subject;
