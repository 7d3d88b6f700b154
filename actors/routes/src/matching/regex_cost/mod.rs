//! The cost of a regular expression for HAProxy, evaluated before HAProxy is asked with it.
//!
//! The same text is harmless to the `regex` crate, which never goes back, and deadly to PCRE2, which does: `(a+)+b` on a
//! path of thirty characters keeps a thread busy for hours. So the expression is read as PCRE2 will run it ([`node`]), what
//! both would read differently is refused ([`read`]), and the steps of the worst path are counted ([`steps`]). What PCRE2 has no room
//! for it does not find, so a path that may take more is too long ([`stack`]).

mod compared;
mod node;
mod read;
mod stack;
mod steps;
#[cfg(test)]
mod tests;
mod words;

pub use compared::{Compared, LONGEST_PATH};
pub use read::LONGEST_PATTERN;

use node::Node;
use read::MeasuredPattern;
use std::borrow::Cow;
use words::SoughtWords;

/// Paths that everybody may have: an expression that cannot be asked with these is refused.
const SHORTEST_PATH: usize = 1 << 10;
/// The same of what repeats groups, which few long paths are for.
const SHORTEST_WITH_GROUPS: usize = 512;
/// Steps that one request may take: up to a millisecond of PCRE2 with its compiler (JIT), since they are an upper bound.
const MOST_STEPS: f64 = 4e6;

/// The most that an expression costs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PatternCost {
    /// The longest path, in bytes, that HAProxy may be asked with, so that no request takes more than about a millisecond, or PCRE2's stack.
    pub longest_path: usize,
    /// Steps for the worst path of that length.
    pub steps: f64,
}

impl PatternCost {
    /// The cost of an expression for paths and of steps for other texts.
    #[must_use]
    pub fn sum(of_path: Option<Self>, others: Option<f64>) -> Option<Self> {
        let Some(others) = others else { return of_path };
        let of_path = of_path.unwrap_or(Self { longest_path: LONGEST_PATH, steps: 0.0 });
        Some(Self { steps: of_path.steps + others, ..of_path })
    }

    fn up_to(self, longest: usize) -> Self {
        Self { longest_path: self.longest_path.min(longest), ..self }
    }
}

/// The longest path that HAProxy may be asked with: see [`PatternCost`]. What the expression finds is replaced.
///
/// # Errors
/// Why the expression cannot be used: "it must …".
pub fn longest_path(pattern: &str) -> Result<usize, String> {
    cost_of_rewrites([pattern]).map(|cost| cost.longest_path)
}

/// The longest value that HAProxy may be asked with.
///
/// # Errors
/// Why the expression cannot be used: "it must …".
pub fn longest_value(pattern: &str) -> Result<usize, String> {
    check_finds_something(&read::pattern(pattern)?.node)?;
    cost(pattern, Compared::Value).map(|cost| cost.longest_path)
}

/// The most that an expression costs. A longer value than PCRE2 surely has room for is not asked with; of a path, HAProxy's Lua knows whether there was room.
///
/// # Errors
/// Why the expression cannot be used: "it must …".
pub fn cost(pattern: &str, with: Compared) -> Result<PatternCost, String> {
    match with {
        Compared::Path => cost_of_all(&[read::pattern(pattern)?.node], with),
        Compared::Value => of_value(pattern).map(|(_, cost)| cost),
    }
}

/// The expression that HAProxy is given in place of one for values.
#[must_use]
pub fn asked_of_values(pattern: &str) -> Cow<'_, str> {
    // Most have no such thing in them, and are not read again.
    let expression =
        if pattern.contains(".*") { of_value(pattern).ok().and_then(|(words, _)| words) } else { None };
    expression.map_or(Cow::Borrowed(pattern), Cow::Owned)
}

/// The most that it costs, and the expression that is asked in its place where that costs less.
fn of_value(pattern: &str) -> Result<(Option<String>, PatternCost), String> {
    let MeasuredPattern { node, stack } = read::pattern(pattern)?;
    let as_written = cost_of_all(std::slice::from_ref(&node), Compared::Value);
    let is_short = !matches!(as_written, Ok(PatternCost { longest_path: LONGEST_PATH, .. }));
    match SoughtWords::of(&node).filter(|_| is_short) {
        Some(words) => {
            let cost = longest_within(Compared::Value, |length| words.worst(length))?;
            Ok((Some(words.expression()), cost))
        }
        None => Ok((None, as_written?.up_to(stack.longest()))),
    }
}

/// The most that an expression of a list costs, of which the match is replaced.
///
/// # Errors
/// Why it cannot be used: "it must …".
pub fn cost_of_replaced(pattern: &str) -> Result<PatternCost, String> {
    let MeasuredPattern { node, .. } = read::pattern(pattern)?;
    check_finds_something(&node)?;
    cost_of_all(&[node], Compared::Path)
}

/// The most that several cost that HAProxy's own rules ask one after the other, and of which the matches are replaced.
///
/// # Errors
/// Why one of them cannot be used: "it must …".
pub fn cost_of_rewrites<'p>(patterns: impl IntoIterator<Item = &'p str>) -> Result<PatternCost, String> {
    let (mut nodes, mut roomy) = (Vec::new(), LONGEST_PATH);
    for text in patterns {
        let MeasuredPattern { node, stack } = read::pattern(text)?;
        check_finds_something(&node)?;
        nodes.push(node);
        roomy = roomy.min(stack.longest());
    }
    let cost = cost_of_all(&nodes, Compared::Path)?;
    if roomy < SHORTEST_WITH_GROUPS {
        return Err(format!(
            "must not repeat groups of so few characters: PCRE2 has room for all their rounds on paths of {roomy} bytes at the most. Write [ab]* for (a|b)*"
        ));
    }
    Ok(cost.up_to(roomy))
}

fn check_finds_something(node: &Node) -> Result<(), String> {
    if node.may_be_empty() { Err("must not match the empty path".into()) } else { Ok(()) }
}

fn cost_of_all(nodes: &[Node], with: Compared) -> Result<PatternCost, String> {
    longest_within(with, |length| nodes.iter().map(|node| steps::worst(node, length, with)).sum())
}

/// The longest text of which the worst takes no more steps than may be.
fn longest_within(with: Compared, worst: impl Fn(usize) -> f64) -> Result<PatternCost, String> {
    let lengths = std::iter::successors(Some(LONGEST_PATH), |length| Some(length / 2));
    lengths
        .take_while(|length| *length >= SHORTEST_PATH)
        .map(|length| PatternCost { longest_path: length, steps: worst(length) })
        .find(|cost| cost.steps <= MOST_STEPS)
        .ok_or_else(|| {
            let compared = match with {
                Compared::Path => "path",
                Compared::Value => "value",
            };
            format!("must not go back and forth over a {compared}: of what is repeated, each must end where the next one begins, as in ([^/]+)/(.*)")
        })
}
