//! How many steps a matcher that goes back takes for the worst text of a length: an upper bound.
//!
//! A sequence is entered once; what stands behind an element that can match in `ways` ways is entered that often, because
//! where the rest fails, the matcher comes back for the next way. Something repeated has one way where what comes next
//! cannot be taken for more of it, else as many as it can be long.

use super::node::{Bytes, Node, first_of};

/// What an element costs each time it is entered.
#[derive(Clone, Copy)]
struct Cost {
    steps: f64,
    /// How often what stands behind it may be tried.
    ways: f64,
}

/// What the next byte of a word costs beside its first: few texts come so far.
const NEXT_OF_WORD: f64 = 0.25;

/// Steps for the worst text of `length` bytes.
pub(super) fn worst(node: &Node, length: usize) -> f64 {
    let length = length as f64;
    let starts = if node.is_anchored() { 1.0 } else { length };
    let nodes = if let Node::Seq(nodes) = node { &**nodes } else { std::slice::from_ref(node) };
    // From here on nothing can fail any more: it is entered once, and then the match is found.
    let sure = nodes.iter().rposition(|node| !node.never_fails()).map_or(0, |last| last + 1);
    let (unsure, sure) = nodes.split_at_checked(sure).unwrap_or((nodes, &[]));
    let behind = first_of(sure, Bytes::default());
    starts * seq(unsure, behind, length).steps + seq(sure, Bytes::default(), length).steps
}

fn seq(nodes: &[Node], next: Bytes, length: f64) -> Cost {
    let mut all = Cost { steps: 0.0, ways: 1.0 };
    let mut in_word = false;
    for (index, node) in nodes.iter().enumerate() {
        let behind = nodes.get(index + 1..).unwrap_or_default();
        let cost = cost(node, first_of(behind, next), length);
        let one = matches!(node, Node::One(_) | Node::End | Node::Border);
        all.steps += all.ways * if one && in_word { NEXT_OF_WORD } else { cost.steps };
        all.ways *= cost.ways;
        in_word = matches!(node, Node::One(_));
    }
    all
}

/// The cost of `node` before something that begins with `next`.
fn cost(node: &Node, next: Bytes, length: f64) -> Cost {
    match node {
        Node::One(_) | Node::Start | Node::End | Node::Border => Cost { steps: 1.0, ways: 1.0 },
        Node::Seq(nodes) => seq(nodes, next, length),
        Node::Either(nodes) => either(nodes, next, length),
        Node::Repeat { node, least, most } => repeat(node, *least, *most, next, length),
    }
}

fn either(nodes: &[Node], next: Bytes, length: f64) -> Cost {
    let (mut seen, mut apart) = (Bytes::default(), true);
    let mut all = Cost { steps: 0.0, ways: 0.0 };
    for node in nodes {
        let first = first_of(std::slice::from_ref(node), next);
        apart &= !seen.meets(first) && !node.may_be_empty();
        seen = seen | first;
    }
    for node in nodes {
        let cost = cost(node, next, length);
        all.steps += cost.steps;
        all.ways = if apart { all.ways.max(cost.ways) } else { all.ways + cost.ways };
    }
    all
}

fn repeat(node: &Node, least: u32, most: Option<u32>, next: Bytes, length: f64) -> Cost {
    let longest = (length / node.shortest().max(1) as f64).max(1.0);
    let times = most.map_or(longest, |most| f64::from(most).min(longest));
    let ends = if node.first().meets(next) { times - f64::from(least).min(times) + 1.0 } else { 1.0 };
    if let Node::One(_) = node {
        return Cost { steps: times, ways: ends };
    }
    // Whether one round can be told from the next, and what it is when something else follows.
    let again = cost(node, node.first(), length);
    let last = cost(node, next | node.first(), length);
    if times <= 1.0 {
        return Cost { steps: last.steps, ways: last.ways + ends - 1.0 };
    }
    if again.ways > 1.0 {
        let ways = again.ways.powf(times);
        return Cost { steps: ways * again.steps, ways: ways * last.ways };
    }
    // There is one way through the text, so each of its bytes is passed once by each part of the element.
    let passes = length * node.size() as f64;
    Cost { steps: (times * last.steps).min(passes), ways: (ends * last.ways).min(passes) }
}
