//! What is fuzzed: each function takes any bytes and panics when a promise is broken.
//!
//! `make fuzz` gives them bytes for ten minutes each; `make test` gives them what is in `fixtures/fuzz`.
#![allow(
    clippy::panic,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a broken promise is a panic"
)]

mod agent_order;
mod cluster;
mod field_path;
mod haproxy_parser;
mod review;
mod settle;
mod template;

#[path = "../../../actors/render/tests/support/parse_line.rs"]
mod parse_line;

pub use agent_order::agent_order;
pub use field_path::field_path;
pub use haproxy_parser::haproxy_parser;
pub use review::admission_review;
pub use settle::{crt_list_lexer, map_lexer, settle};
pub use template::template;

/// What any bytes are given to.
pub type Target = fn(&[u8]);

/// Each by the name of its corpus.
pub const TARGETS: [(&str, Target); 8] = [
    ("admission_review", admission_review),
    ("agent_order", agent_order),
    ("crt_list_lexer", crt_list_lexer),
    ("field_path", field_path),
    ("haproxy_parser", haproxy_parser),
    ("map_lexer", map_lexer),
    ("settle", settle),
    ("template", template),
];
