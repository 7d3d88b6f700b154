//! The function library: one table, offered to every engine and printed by `haptic functions`.
//!
//! A function sees its arguments and the [`Session`](crate::session::Session), nothing of an engine.

mod access;
mod arithmetic;
mod call;
mod comparison;
mod control;
mod encoding;
mod function;
mod haproxy;
mod headers;
mod listing;
mod lists;
mod printf;
mod quantities;
mod resources;
mod strings;
mod variables;

pub use call::Call;
pub use control::glob_matches;
pub(crate) use function::LONGEST_TEXT;
pub use function::{Argument, Count, Function, Group, Kind, LONGEST_LIST, Role};
pub use haproxy::{check_name, path_of};
pub use listing::{Listing, example};

/// All functions, by group, then in the order of the documentation.
pub fn table() -> impl Iterator<Item = &'static Function> {
    [
        access::FUNCTIONS,
        lists::FUNCTIONS,
        variables::FUNCTIONS,
        comparison::FUNCTIONS,
        strings::FUNCTIONS,
        encoding::FUNCTIONS,
        arithmetic::FUNCTIONS,
        haproxy::FUNCTIONS,
        quantities::FUNCTIONS,
        headers::FUNCTIONS,
        resources::FUNCTIONS,
        control::FUNCTIONS,
    ]
    .into_iter()
    .flatten()
}

/// The function of that name.
#[must_use]
pub fn find(name: &str) -> Option<&'static Function> {
    table().find(|f| f.name == name)
}

/// All names.
pub fn names() -> impl Iterator<Item = &'static str> {
    table().map(|f| f.name)
}

/// Whether `name` is called for its effect, as a tag of its own.
#[must_use]
pub fn is_statement(name: &str) -> bool {
    find(name).is_some_and(|f| f.role != Role::Value)
}
