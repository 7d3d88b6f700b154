//! What an object asks for in vain, in sentences: what it leads to that is not there, and annotations that nobody here reads.

pub mod foreign;
