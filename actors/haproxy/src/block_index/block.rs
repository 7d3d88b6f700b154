//! One block: its text, and the little about it that is asked often enough to be kept.

use crate::document::{Directive, Document, Section, SectionKind};
use haptic_text::Fragment;
use std::{
    borrow::Cow,
    hash::{DefaultHasher, Hash, Hasher},
    sync::Arc,
};

/// A block in its list, with what walks over all blocks ask, so that they need not leave the list.
#[derive(Clone, Debug)]
pub(super) struct IndexedBlock {
    pub block: Arc<ConfigBlock>,
    /// The hash of its only section's kind and name; of several, those in the block.
    pub key: Option<u64>,
    pub inherited: Inherited,
    pub fragments: u32,
    pub traits: Traits,
}

/// The `defaults` sections that a block's sections name as those they start from.
#[derive(Clone, Copy, Debug)]
pub(super) enum Inherited {
    None,
    /// One, by a part of the hash of its kind and name.
    One(u32),
    /// Those in the block.
    Several,
}

#[derive(Debug)]
pub(super) struct ConfigBlock {
    pub fragments: Box<[Fragment]>,
    /// The hashes of kind and name of its sections, when they are not exactly one.
    pub keys: Box<[u64]>,
    /// Parts of the hashes of the `defaults` sections that its sections start from, when they are several.
    pub inherited: Box<[u32]>,
}

/// What a block has.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Traits {
    /// It begins with a header. Without one it can stand only at the beginning of a configuration.
    pub headed: bool,
    /// Its last line has an end.
    pub ended: bool,
    /// A `global` section.
    pub global: bool,
    /// A `defaults` section.
    pub defaults: bool,
    /// A `frontend` or `listen` section.
    pub frontend: bool,
    /// An `.if` without its `.endif`, or the other way round.
    pub unbalanced: bool,
    /// Its aggregate wants to find it again.
    pub marked: bool,
}

impl IndexedBlock {
    pub fn new(fragments: Vec<Fragment>) -> Self {
        let ended = fragments.last().is_some_and(ends_line);
        let (traits, keys, inherited) = {
            let text = text_of(&fragments);
            let document = Document::parse(&text);
            (Traits { ended, ..Traits::of(&document) }, keys(&document), inherited(&document))
        };
        let (key, keys) = match keys.as_slice() {
            [key] => (Some(*key), Box::default()),
            _ => (None, keys.into()),
        };
        let (inherited, several) = match inherited.as_slice() {
            [] => (Inherited::None, Box::default()),
            [one] => (Inherited::One(*one), Box::default()),
            _ => (Inherited::Several, inherited.into()),
        };
        Self {
            fragments: u32::try_from(fragments.len()).unwrap_or(u32::MAX),
            block: Arc::new(ConfigBlock { fragments: fragments.into(), keys, inherited: several }),
            key,
            inherited,
            traits,
        }
    }

    /// Reads its text.
    pub fn read<T>(&self, reader: impl FnOnce(&Document<'_>) -> T) -> T {
        reader(&Document::parse(&self.text()))
    }

    pub fn text(&self) -> Cow<'_, str> {
        text_of(&self.block.fragments)
    }

    /// The hashes of its sections' kinds and names.
    pub fn keys(&self) -> &[u64] {
        match &self.key {
            Some(key) => std::slice::from_ref(key),
            None => &self.block.keys,
        }
    }

    /// Whether its sections are compared with those of their names and bear on no other ones.
    pub fn stands_apart(&self) -> bool {
        let Traits { headed, global, defaults, frontend, unbalanced, .. } = self.traits;
        headed && !global && !defaults && !frontend && !unbalanced
    }

    /// Whether it has defaults sections, and others beside them.
    pub fn has_other_than_defaults(&self) -> bool {
        self.traits.defaults && self.key.is_none()
    }

    /// Whether it is one section that says by name which defaults section it starts from.
    pub fn names_all_defaults(&self) -> bool {
        self.key.is_some() && matches!(self.inherited, Inherited::One(_))
    }

    /// Whether one of its sections may start from one of these, by the hashes of their kind and name.
    pub fn may_start_from(&self, keys: &[u64]) -> bool {
        let is_one = |part: &u32| keys.iter().any(|key| part_of(*key) == *part);
        match &self.inherited {
            Inherited::None => false,
            Inherited::One(part) => is_one(part),
            Inherited::Several => self.block.inherited.iter().any(is_one),
        }
    }

    pub fn bytes(&self) -> usize {
        let ConfigBlock { fragments, keys, inherited } = &*self.block;
        let lists = size_of_val(&**fragments) + size_of_val(&**keys) + size_of_val(&**inherited);
        size_of::<Self>() + size_of::<ConfigBlock>() + lists
    }
}

fn text_of(fragments: &[Fragment]) -> Cow<'_, str> {
    match fragments {
        [one] => Cow::Borrowed(one.as_str()),
        several => Cow::Owned(several.iter().map(Fragment::as_str).collect()),
    }
}

/// Parts of the hashes of the `defaults` sections that sections name.
fn inherited(document: &Document<'_>) -> Vec<u32> {
    let named = document.sections.iter().filter_map(|section| section.from.as_deref());
    named.map(|name| part_of(key(&SectionKind::Defaults, name))).collect()
}

/// Half of a hash. Two names that share it are taken for one.
fn part_of(key: u64) -> u32 {
    let [a, b, c, d, ..] = key.to_le_bytes();
    u32::from_le_bytes([a, b, c, d])
}

impl Traits {
    /// What either has.
    pub fn or(self, other: Self) -> Self {
        Self {
            headed: self.headed || other.headed,
            ended: self.ended || other.ended,
            global: self.global || other.global,
            defaults: self.defaults || other.defaults,
            frontend: self.frontend || other.frontend,
            unbalanced: self.unbalanced || other.unbalanced,
            marked: self.marked || other.marked,
        }
    }

    fn of(document: &Document<'_>) -> Self {
        let has = |is: &dyn Fn(&Section<'_>) -> bool| document.sections.iter().any(is);
        let mut meaningful =
            document.sections.iter().filter(|section| section.header.is_some() || has_words(section));
        Self {
            headed: meaningful.next().is_some_and(|first| first.header.is_some()),
            ended: false,
            global: has(&|section| section.kind == SectionKind::Global),
            defaults: has(&|section| section.kind == SectionKind::Defaults),
            frontend: has(&|section| section.kind.has_frontend()),
            unbalanced: !is_balanced(document),
            marked: false,
        }
    }
}

/// Lines before the first header that mean something.
fn has_words(section: &Section<'_>) -> bool {
    section.header.is_none() && section.lines.iter().any(|line| !line.words.is_empty())
}

fn is_balanced(document: &Document<'_>) -> bool {
    let mut depth = 0_usize;
    for line in document.lines() {
        match line.directive() {
            Some(Directive::If) => depth += 1,
            Some(Directive::Endif) if depth == 0 => return false,
            Some(Directive::Endif) => depth -= 1,
            _ => {}
        }
    }
    depth == 0
}

fn keys(document: &Document<'_>) -> Vec<u64> {
    let sections = document.sections.iter().filter(|section| section.header.is_some() || has_words(section));
    sections.map(|section| key(&section.kind, &section.name)).collect()
}

fn key(kind: &SectionKind, name: &str) -> u64 {
    let mut state = DefaultHasher::new();
    (kind, name).hash(&mut state);
    state.finish()
}

pub(super) fn ends_line(fragment: &Fragment) -> bool {
    fragment.as_str().ends_with('\n')
}
