//! A regular expression as far as its cost depends on it. Groups are not there: what they hold stands in their place.

use super::compared::Compared;
use std::ops::BitOr;

/// A set of bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Bytes([u128; 2]);

impl Bytes {
    pub(super) fn insert(&mut self, byte: u8) {
        let [low, high] = &mut self.0;
        *(if byte < 128 { low } else { high }) |= 1 << (byte % 128);
    }

    pub(super) fn meets(self, other: Self) -> bool {
        let ([a, b], [c, d]) = (self.0, other.0);
        a & c != 0 || b & d != 0
    }

    fn has(self, byte: u8) -> bool {
        let mut one = Self::default();
        one.insert(byte);
        self.meets(one)
    }

    /// Whether it holds all that such a text can have in it. Values with a line break are asked with no expression.
    pub(super) fn is_everything(self, with: Compared) -> bool {
        let mut all = 0..=u8::MAX;
        match with {
            Compared::Path => all.all(|byte| byte < b'!' || byte == 0x7f || self.has(byte)),
            Compared::Value => all.all(|byte| byte == b'\n' || self.has(byte)),
        }
    }

    /// As a part of an expression.
    pub(super) fn written(self) -> String {
        if self.is_everything(Compared::Value) {
            return ".".to_owned();
        }
        let all: Vec<u8> = (0..=u8::MAX).filter(|byte| self.has(*byte)).collect();
        let ranges = all.chunk_by(|byte, next| byte + 1 == *next);
        let ranges: String = ranges.map(range).collect();
        if all.len() == 1 { ranges } else { format!("[{ranges}]") }
    }
}

/// Bytes that follow one another.
fn range(bytes: &[u8]) -> String {
    let escaped = |byte: &u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' => char::from(*byte).to_string(),
        _ => format!("\\x{byte:02x}"),
    };
    match bytes {
        [start, .., end] => format!("{}-{}", escaped(start), escaped(end)),
        _ => bytes.iter().map(escaped).collect(),
    }
}

impl BitOr for Bytes {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        let ([a, b], [c, d]) = (self.0, other.0);
        Self([a | c, b | d])
    }
}

#[derive(Clone, Debug)]
pub(super) enum Node {
    /// One byte of these.
    One(Bytes),
    /// `^`, `\A`.
    Start,
    /// `$`, `\z`.
    End,
    /// `\b`, `\B`.
    Border,
    Seq(Vec<Node>),
    Either(Vec<Node>),
    Repeat {
        node: Box<Node>,
        least: u32,
        most: Option<u32>,
    },
}

impl Node {
    /// One behind the other, without sequences in sequences.
    pub(super) fn seq(nodes: impl IntoIterator<Item = Self>) -> Self {
        let mut all = Vec::new();
        for node in nodes {
            match node {
                Self::Seq(inner) => all.extend(inner),
                node => all.push(node),
            }
        }
        match <[Self; 1]>::try_from(all) {
            Ok([only]) => only,
            Err(all) => Self::Seq(all),
        }
    }

    /// The bytes that it can begin with, if it is not empty.
    pub(super) fn first(&self) -> Bytes {
        match self {
            Self::One(bytes) => *bytes,
            Self::Start | Self::End | Self::Border => Bytes::default(),
            Self::Repeat { node, .. } => node.first(),
            Self::Either(nodes) => nodes.iter().fold(Bytes::default(), |all, node| all | node.first()),
            Self::Seq(nodes) => first_of(nodes, Bytes::default()),
        }
    }

    /// Whether it can match nothing at all.
    pub(super) fn may_be_empty(&self) -> bool {
        self.shortest() == 0
    }

    /// Bytes that it matches at the least.
    pub(super) fn shortest(&self) -> usize {
        match self {
            Self::One(_) => 1,
            Self::Start | Self::End | Self::Border => 0,
            Self::Seq(nodes) => nodes.iter().map(Self::shortest).sum(),
            Self::Either(nodes) => nodes.iter().map(Self::shortest).min().unwrap_or(0),
            Self::Repeat { node, least, .. } => node.shortest().saturating_mul(*least as usize),
        }
    }

    /// How much PCRE2 makes of it: it writes out what is counted.
    pub(super) fn size(&self) -> usize {
        match self {
            Self::One(_) | Self::Start | Self::End | Self::Border => 1,
            Self::Seq(nodes) | Self::Either(nodes) => {
                nodes.iter().fold(1, |size, node| size.saturating_add(node.size()))
            }
            Self::Repeat { node, least, most } => {
                let times = most.unwrap_or(*least).max(1) as usize;
                // Of a set, a count is no more than a number.
                let times = if matches!(**node, Self::One(_)) { 1 } else { times };
                node.size().saturating_mul(times)
            }
        }
    }

    /// Whether each match begins at the start of the path.
    pub(super) fn is_anchored(&self) -> bool {
        match self {
            Self::Start => true,
            Self::Seq(nodes) => nodes.first().is_some_and(Self::is_anchored),
            Self::Either(nodes) => nodes.iter().all(Self::is_anchored),
            _ => false,
        }
    }

    /// Whether it takes all that is left of such a text.
    pub(super) fn takes_everything(&self, with: Compared) -> bool {
        matches!(self, Self::Repeat { node, most: None, .. }
            if matches!(**node, Self::One(bytes) if bytes.is_everything(with)))
    }

    /// Whether it takes whatever comes, also nothing: it never fails.
    pub(super) fn never_fails(&self) -> bool {
        match self {
            Self::One(_) | Self::Start | Self::End | Self::Border => false,
            Self::Seq(nodes) => nodes.iter().all(Self::never_fails),
            Self::Either(nodes) => nodes.iter().any(Self::never_fails),
            Self::Repeat { node, least, .. } => *least == 0 || node.never_fails(),
        }
    }
}

/// The bytes that can come next where `nodes` stand before something that begins with `behind`.
pub(super) fn first_of(nodes: &[Node], behind: Bytes) -> Bytes {
    let mut all = Bytes::default();
    for node in nodes {
        all = all | node.first();
        // Behind the end of the path nothing comes.
        if matches!(node, Node::End) || !node.may_be_empty() {
            return all;
        }
    }
    all | behind
}
