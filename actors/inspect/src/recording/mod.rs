//! Recordings: what the last generations were made from, and what a render makes of it, as one file that shows no Secret; and
//! the same rendered again somewhere else.
//!
//! A recording is [lines](line), written by who [makes](make) it and read, whole or not at all, from a [file]. Both sides render
//! from the lines alone ([inputs]), so what one expects the other can do. Pseudonyms take the place of what
//! Secrets hold before anything is written.

pub mod file;
pub mod inputs;
pub mod line;
pub mod make;
mod pseudonym;
mod redaction;
pub mod replay;
pub mod stream;
#[cfg(test)]
mod tests;
pub mod text;
