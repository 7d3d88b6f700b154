//! The single paths of its hosts that a family answers itself.

use crate::options::value::OptionValues;

/// The answer to requests for one path.
#[derive(Clone, Debug, PartialEq)]
pub struct PathAnswer {
    /// The whole path.
    pub path: String,
    /// Whether it counts only where a route of the Ingress takes the path.
    pub of_routes: bool,
    /// The options that answer them.
    pub options: OptionValues,
}

impl PathAnswer {
    /// The options of the Ingress that could answer before these.
    pub const WITHOUT: [&str; 6] = [
        "redirect-to",
        "redirect-code",
        "redirect-keep-path",
        "redirect-keep-query",
        "redirect-absolute",
        "satisfy",
    ];
}
