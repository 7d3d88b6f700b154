//! How long quotations in messages are.

/// The most bytes of a value that are quoted.
pub const QUOTE: usize = 200;
/// The most bytes of a sentence.
pub const SENTENCE: usize = 1_000;
