//! The parts that evaluators of every template language share: printing, calls of functions, snippets in snippets, objects' blocks.
//!
//! An evaluator knows what its language's names and blocks mean; nothing here does.

pub(crate) mod cacheability;
mod failure;
mod machine;
mod object;

pub(crate) use failure::{EvaluationFailure, EvaluationResult};
pub(crate) use machine::Machine;
pub(crate) use object::{BlockId, LanguageEvaluator, object_block};
