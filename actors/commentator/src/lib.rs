//! commentator
