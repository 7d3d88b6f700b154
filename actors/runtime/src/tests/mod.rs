//! Tests with real actors that panic, block and flood.

mod flow;
mod liveness;
mod subject;
mod supervision;
mod topics;
mod work;
