//! The texts that expressions are compared with.

/// The text that an expression is compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compared {
    /// The path of a request.
    Path,
    /// The value of a header, or of a parameter of the query.
    Value,
}

/// Longer paths than this do not fit into HAProxy's buffer.
pub const LONGEST_PATH: usize = 16 << 10;
