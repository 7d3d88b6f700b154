//! What the leader tells the API server about the configuration: its status, and what it is made of.
//!
//! [`health`] judges what the topics show, [`status`] turns that into the resource's status and keeps it from changing
//! without need, [`api`] reads and writes it.

pub mod api;
pub mod health;
pub mod status;
pub mod table;
