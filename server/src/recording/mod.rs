//! Recordings: what the last generations were made from, and what a render makes of it, as one file that shows no Secret; and
//! the same rendered again somewhere else.
//!
//! A recording is [lines](line), written by who [makes](make) it and read, whole or not at all, from a [tape]. Both sides render
//! from the lines alone ([inputs]), so what one expects the other can do. [Stand-ins](stand_in) take the place of what
//! Secrets hold before anything is written.

pub mod inputs;
pub mod line;
pub mod make;
pub mod redaction;
pub mod replay;
pub mod stand_in;
pub mod tape;
#[cfg(test)]
pub(crate) mod tests;
pub mod told;
