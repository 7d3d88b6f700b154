//! How many steps a matcher that goes back takes for the worst text of a length: an upper bound.
//!
//! A sequence is entered once; what stands behind an element that can match in `ways` ways is entered that often, because
//! where the rest fails, the matcher comes back for the next way. Something repeated has one way where what comes next
//! cannot be taken for more of it, else as many as it can be long.

use super::{
    compared::Compared,
    node::{Bytes, Node, first_of},
};

/// The cost of an element each time it is entered.
#[derive(Clone, Copy)]
struct Cost {
    steps: f64,
    /// How often what stands behind it may be tried.
    ways: f64,
    /// Steps behind which nothing can fail any more: they are taken once, however often the element is entered.
    once: f64,
}

/// The text that is matched: the longest one, and of which bytes.
#[derive(Clone, Copy)]
struct ComparedText {
    length: f64,
    with: Compared,
}

/// The elements behind an element.
#[derive(Clone, Copy)]
struct Behind {
    /// The bytes that they can begin with.
    first: Bytes,
    /// Whether it can only fail before the text's end.
    is_end: bool,
}

/// The cost of the next byte of a word beside its first: few texts come so far.
const NEXT_OF_WORD: f64 = 0.25;

/// Steps for the worst text of `length` bytes.
pub(super) fn worst(node: &Node, length: usize, with: Compared) -> f64 {
    let text = ComparedText { length: length as f64, with };
    let starts = if node.is_anchored() { 1.0 } else { text.length };
    let nodes = if let Node::Seq(nodes) = node { &**nodes } else { std::slice::from_ref(node) };
    // From here on nothing can fail any more: it is entered once, and then the match is found.
    let sure = nodes.iter().rposition(|node| !node.never_fails()).map_or(0, |last| last + 1);
    let (unsure, sure) = nodes.split_at_checked(sure).unwrap_or((nodes, &[]));
    let end = Behind { first: Bytes::default(), is_end: true };
    let unsure = seq(unsure, Behind { first: first_of(sure, Bytes::default()), ..end }, text);
    let sure = seq(sure, end, text);
    starts * unsure.steps + unsure.once + sure.steps + sure.once
}

fn seq(nodes: &[Node], next: Behind, text: ComparedText) -> Cost {
    let mut all = Cost { steps: 0.0, ways: 1.0, once: 0.0 };
    let mut in_word = false;
    for (index, node) in nodes.iter().enumerate() {
        let behind = nodes.get(index + 1..).unwrap_or_default();
        let is_end = next.is_end && behind.iter().all(|node| matches!(node, Node::End));
        let cost = cost(node, Behind { first: first_of(behind, next.first), is_end }, text);
        let one = matches!(node, Node::One(_) | Node::End | Node::Border);
        all.steps += all.ways * if one && in_word { NEXT_OF_WORD } else { cost.steps };
        all.ways *= cost.ways;
        all.once += cost.once;
        in_word = matches!(node, Node::One(_));
    }
    all
}

/// The cost of `node` before something that begins with `next`.
fn cost(node: &Node, next: Behind, text: ComparedText) -> Cost {
    match node {
        Node::One(_) | Node::Start | Node::End | Node::Border => Cost { steps: 1.0, ways: 1.0, once: 0.0 },
        Node::Seq(nodes) => seq(nodes, next, text),
        Node::Either(nodes) => either(nodes, next, text),
        // What takes everything is at the end behind it, where nothing fails.
        Node::Repeat { least: 0 | 1, .. } if next.is_end && node.takes_everything(text.with) => {
            Cost { steps: 1.0, ways: 1.0, once: 2.0 * text.length }
        }
        Node::Repeat { node, least, most } => repeat(node, *least, *most, next, text),
    }
}

fn either(nodes: &[Node], next: Behind, text: ComparedText) -> Cost {
    let (mut seen, mut apart) = (Bytes::default(), true);
    let mut all = Cost { steps: 0.0, ways: 0.0, once: 0.0 };
    for node in nodes {
        let first = first_of(std::slice::from_ref(node), next.first);
        apart &= !seen.meets(first) && !node.may_be_empty();
        seen = seen | first;
    }
    for node in nodes {
        let cost = cost(node, next, text);
        all.steps += cost.steps;
        all.once += cost.once;
        all.ways = if apart { all.ways.max(cost.ways) } else { all.ways + cost.ways };
    }
    all
}

fn repeat(node: &Node, least: u32, most: Option<u32>, next: Behind, text: ComparedText) -> Cost {
    let longest = (text.length / node.shortest().max(1) as f64).max(1.0);
    let times = most.map_or(longest, |most| f64::from(most).min(longest));
    let ends = if node.first().meets(next.first) { times - f64::from(least).min(times) + 1.0 } else { 1.0 };
    if let Node::One(_) = node {
        return Cost { steps: times, ways: ends, once: 0.0 };
    }
    // What it is when something else follows.
    let last = Behind { first: next.first | node.first(), is_end: next.is_end && times <= 1.0 };
    let last = cost(node, last, text);
    if times <= 1.0 {
        return Cost { ways: last.ways + ends - 1.0, ..last };
    }
    // Whether one round can be told from the next.
    let again = cost(node, Behind { first: node.first(), is_end: false }, text);
    if again.ways > 1.0 {
        let ways = again.ways.powf(times);
        return Cost { steps: ways * again.steps, ways: ways * last.ways, once: 0.0 };
    }
    // There is one way through the text, so each of its bytes is passed once by each part of the element.
    let passes = text.length * node.size() as f64;
    let (steps, ways) = ((times * last.steps).min(passes), (ends * last.ways).min(passes));
    Cost { steps, ways, once: 0.0 }
}
