//! render
pub mod marks;
pub mod settle;
