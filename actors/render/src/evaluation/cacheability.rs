//! The objects' blocks that may have to be printed in every render, told from the templates alone: the parts that the walks over
//! templates of every language share.
//!
//! The evaluators watch what a block really does; this says beforehand what it may do. It errs on the side of telling too
//! much: what is not reported here is not found at render time, except for resources on demand and for lists of many items
//! that a template makes itself.

use crate::{
    block_cache::captured::Uncacheable,
    engine::{
        position::At,
        program::{Program, Snippet},
        rendered::ImpureBlock,
    },
    functions::{Function, Group},
};
use std::{collections::BTreeSet, sync::Arc};

/// Snippets nested deeper than this are taken for recursive.
pub(crate) const DEEPEST: usize = 12;

/// The most nodes that are looked at: snippets that include any of many others could take forever. A block that is found until then
/// is told.
const MOST_STEPS: usize = 200_000;

/// Watched objects that a value may hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Holds {
    Nothing,
    /// It may be one.
    Object,
    /// A key, and an object behind it.
    Pair,
    /// A list of them.
    List,
    /// A key, and a list of them behind it.
    Group,
    /// A list of pairs.
    Pairs,
    /// A list of groups.
    Groups,
    /// They may be anywhere in it.
    Deep,
}

/// Where a line stands when a node is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LinePosition {
    Between,
    /// Inside one, or nobody knows.
    Inside,
}

/// Where a part of another language is printed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PartPlace {
    /// The outermost object's block that it stands in.
    pub block: Option<At>,
    pub line: LinePosition,
    /// How many snippets it stands in.
    pub depth: usize,
}

/// Walks a part of another language, which sees these inputs; where a line stands behind it.
pub(crate) type PartWalk =
    for<'p> fn(&mut CacheabilityWalk<'p>, Snippet<'p>, Vec<(&'p Arc<str>, Holds)>, PartPlace) -> LinePosition;

/// The blocks that were found so far.
pub(crate) struct CacheabilityWalk<'p> {
    pub program: &'p Program,
    walk_part: PartWalk,
    found: BTreeSet<ImpureBlock>,
    steps: usize,
    /// Texts that are being captured: no block in them is kept.
    pub captures: usize,
}

impl<'p> CacheabilityWalk<'p> {
    pub fn new(program: &'p Program, walk_part: PartWalk) -> Self {
        Self { program, walk_part, found: BTreeSet::new(), steps: 0, captures: 0 }
    }

    /// Walks a part of another language.
    pub fn foreign(
        &mut self,
        snippet: Snippet<'p>,
        inputs: Vec<(&'p Arc<str>, Holds)>,
        place: PartPlace,
    ) -> LinePosition {
        (self.walk_part)(self, snippet, inputs, place)
    }

    /// Counts more nodes that are looked at; whether they are not too many.
    pub fn goes_on(&mut self, nodes: usize) -> bool {
        self.steps += nodes + 1;
        self.steps <= MOST_STEPS
    }

    /// The outermost object's block there may have to be printed each time.
    pub fn report(&mut self, block: At, why: Uncacheable) {
        let template = self.program.name(block.template);
        self.found.insert(ImpureBlock { template, line: block.line, column: block.column, why });
    }

    /// All that was found.
    pub fn finish(self) -> Vec<ImpureBlock> {
        self.found.into_iter().collect()
    }
}

impl Holds {
    /// The objects that it may hold if it is the one or the other.
    pub fn or(self, other: Self) -> Self {
        match (self, other) {
            (one, Self::Nothing) => one,
            (Self::Nothing, other) => other,
            (one, other) if one == other => one,
            _ => Self::Deep,
        }
    }

    /// The objects that a list or dict holds that has it in it, whatever else.
    pub fn or_deep(self) -> Self {
        if self == Self::Nothing { self } else { Self::Deep }
    }

    /// The objects that an item of it may hold.
    pub fn item(self) -> Self {
        match self {
            Self::List => Self::Object,
            Self::Pairs => Self::Pair,
            Self::Groups => Self::Group,
            Self::Deep => Self::Deep,
            Self::Nothing | Self::Object | Self::Pair | Self::Group => Self::Nothing,
        }
    }

    /// The objects behind the key of it.
    pub fn behind_key(self) -> Self {
        match self {
            Self::Pair => Self::Object,
            Self::Group => Self::List,
            Self::Deep => Self::Deep,
            _ => Self::Nothing,
        }
    }

    /// Whether it may be what a loop prints an object's block for.
    pub fn may_be_object(self) -> bool {
        matches!(self, Self::Object | Self::Pair | Self::Deep)
    }

    /// The objects that a function of the library gives, of arguments that hold those.
    pub fn given_by(function: &Function, arguments: Self) -> Self {
        match function.name {
            "list" | "fetch" | "routes" | "userlists" | "auth_targets" | "class_settings" => Self::List,
            "get_single" | "default_certificate" => Self::Object,
            "len" | "has" | "dict_keys" | "json" | "split" | "range" | "servers" | "host_servers" => {
                Self::Nothing
            }
            "default" | "where" | "reject" | "sort_by" | "unique" | "reverse" | "slice" => arguments,
            "get" | "lookup" | "first" | "last" | "pluck" | "dict_values" => arguments.item(),
            _ if matches!(
                function.group,
                Group::Comparison | Group::Strings | Group::Arithmetic | Group::Haproxy
            ) =>
            {
                Self::Nothing
            }
            _ if arguments == Self::Nothing => Self::Nothing,
            _ => Self::Deep,
        }
    }
}

/// Where a line stands behind what ends so or so.
pub(crate) fn join(ends: impl IntoIterator<Item = LinePosition>) -> LinePosition {
    if ends.into_iter().any(|end| end == LinePosition::Inside) {
        LinePosition::Inside
    } else {
        LinePosition::Between
    }
}
