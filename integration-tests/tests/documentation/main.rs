//! What the documentation says is run: its commands, its configuration, its links; and what can be generated is.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "all of this is a test")]

mod blocks;
mod commands;
mod first_configuration;
mod links;
mod names;
mod reference;
