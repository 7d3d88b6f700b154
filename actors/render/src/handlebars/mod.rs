//! Handlebars: the `handlebars` crate reads the templates, the evaluator here renders them.
//!
//! The crate's own renderer prints nothing for null, copies values at every block and cannot tell values from
//! structure, so only its grammar is used. What is missing is an error, never an empty string.

mod cacheability;
mod convert;
mod evaluate;
mod foreign;
pub(crate) mod node;
pub(crate) mod path;
mod scan;
mod scope;

pub(crate) use cacheability::walk_part;
pub(crate) use convert::template as read;
pub(crate) use evaluate::print;
pub(crate) use node::Block;
