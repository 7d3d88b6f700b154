//! A bundle taken apart: the lines of no object, and the pieces of each object, which are put together again for some of them.
//!
//! A piece may name what another object's piece holds: a userlist, a backend, a certificate's file. Whoever names it is never
//! put together without it: HAProxy would miss it, which says nothing of whoever names it.

use haptic_haproxy::SectionKind;
use haptic_model::{Bundle, BundleFile, FileKind, ObjectRef};
use haptic_text::Text;
use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::Arc,
};

pub(super) type ObjectSet = BTreeSet<Arc<ObjectRef>>;

/// The number of certificates of a list that are tried in turn as the one that must be there.
const FIRST_CERTIFICATES: usize = 3;

/// A bundle's pieces by whom they would not be there without.
pub(super) struct Parts<'b> {
    files: Vec<&'b Arc<BundleFile>>,
    /// By file.
    nobodys: BTreeMap<usize, Vec<usize>>,
    of: BTreeMap<Arc<ObjectRef>, CheckedPart>,
    /// Those whose pieces are named in lines of no object.
    named_by_nobody: ObjectSet,
}

#[derive(Default)]
struct CheckedPart {
    /// Files and pieces, by number.
    pieces: Vec<(usize, usize)>,
    /// The objects whose pieces it names, but for its own.
    needs: ObjectSet,
}

impl<'b> Parts<'b> {
    pub fn of(bundle: &'b Bundle) -> Self {
        let files: Vec<_> = bundle.all().collect();
        let mut parts =
            Self { files, nobodys: BTreeMap::new(), of: BTreeMap::new(), named_by_nobody: ObjectSet::new() };
        for (number, file) in parts.files.iter().enumerate() {
            for (piece, fragment) in file.text.fragments().iter().enumerate() {
                match &fragment.blame().block {
                    Some(object) => parts.of.entry(object.clone()).or_default().pieces.push((number, piece)),
                    None => parts.nobodys.entry(number).or_default().push(piece),
                }
            }
        }
        parts.find_needs();
        parts
    }

    /// Everybody who has a piece.
    pub fn all(&self) -> impl Iterator<Item = &Arc<ObjectRef>> {
        self.of.keys()
    }

    /// How much is there because of `object`.
    pub fn bytes_of(&self, object: &Arc<ObjectRef>) -> usize {
        let pieces = self.of.get(object).into_iter().flat_map(|part| &part.pieces);
        let fragments =
            pieces.filter_map(|(file, piece)| self.files.get(*file)?.text.fragments().get(*piece));
        fragments.map(|fragment| fragment.as_str().len()).sum()
    }

    /// Of each of `objects`, whose pieces name what its own hold, in whichever file.
    pub fn naming(&self, objects: &ObjectSet) -> BTreeMap<Arc<ObjectRef>, ObjectSet> {
        let mut defined = self.defined();
        defined.values_mut().for_each(|of| of.retain(|object| objects.contains(object)));
        defined.retain(|_, of| !of.is_empty());
        let mut naming: BTreeMap<Arc<ObjectRef>, ObjectSet> = BTreeMap::new();
        for fragment in self.files.iter().flat_map(|file| file.text.fragments()) {
            let Some(block) = &fragment.blame().block else { continue };
            for named in names(fragment.as_str()).filter_map(|name| defined.get(name)).flatten() {
                if named != block {
                    naming.entry(named.clone()).or_default().insert(block.clone());
                }
            }
        }
        naming
    }

    /// The sets that stand without anything that changed: those whose pieces are named in lines of no object, with one of the first certificates of each
    /// list, because HAProxy binds no port for TLS without any.
    pub fn stands(&self) -> Vec<ObjectSet> {
        let lists: Vec<Vec<&Arc<ObjectRef>>> = self.lists().collect();
        let most = lists.iter().map(Vec::len).max().unwrap_or_default().max(1);
        let stand = |number: usize| -> ObjectSet {
            let firsts = lists.iter().filter_map(|list| list.get(number).or(list.last()));
            firsts.copied().chain(&self.named_by_nobody).cloned().collect()
        };
        (0..most).map(stand).collect()
    }

    /// The first objects of each list of certificates in which each line is printed for an object.
    fn lists(&self) -> impl Iterator<Item = Vec<&Arc<ObjectRef>>> {
        let lists = self.files.iter().filter(|file| file.key.kind == FileKind::CrtList);
        lists.filter_map(|file| {
            let lines =
                || file.text.fragments().iter().filter(|fragment| !fragment.as_str().trim().is_empty());
            let mut firsts: Vec<&Arc<ObjectRef>> = Vec::new();
            for fragment in lines() {
                let of = fragment.blame().block.as_ref()?;
                if firsts.len() < FIRST_CERTIFICATES && !firsts.contains(&of) {
                    firsts.push(of);
                }
            }
            (!firsts.is_empty()).then_some(firsts)
        })
    }

    /// These, and all whose pieces they name.
    pub fn closure<'o>(&self, objects: impl IntoIterator<Item = &'o Arc<ObjectRef>>) -> ObjectSet {
        let mut all = ObjectSet::new();
        let mut open: Vec<&Arc<ObjectRef>> = Vec::new();
        for object in objects {
            if all.insert(object.clone()) {
                open.push(object);
            }
        }
        while let Some(object) = open.pop() {
            let needs = self.of.get(object).map(|part| &part.needs);
            for needed in needs.into_iter().flatten() {
                if all.insert(needed.clone()) {
                    open.push(needed);
                }
            }
        }
        all
    }

    /// A bundle of the lines of no object and the pieces of `objects`.
    pub fn together(&self, objects: &ObjectSet) -> Bundle {
        let mut pieces = self.nobodys.clone();
        for (file, piece) in
            objects.iter().filter_map(|object| self.of.get(object)).flat_map(|part| &part.pieces)
        {
            pieces.entry(*file).or_default().push(*piece);
        }
        let mut files = self.files.iter().enumerate().filter_map(|(number, file)| {
            let mut kept = pieces.remove(&number).unwrap_or_default();
            // A certificate without content is none; lists and maps may be empty.
            let is_gone = kept.is_empty() && !file.text.is_empty();
            if is_gone && matches!(file.key.kind, FileKind::Certificate | FileKind::General) {
                return None;
            }
            let all = file.text.fragments();
            if kept.len() == all.len() {
                return Some(BundleFile::clone(file));
            }
            kept.sort_unstable();
            let kept = kept.into_iter().filter_map(|piece| all.get(piece).cloned()).collect();
            Some(BundleFile::new(file.key.clone(), &file.path, Text::new(kept)))
        });
        let Some(config) = files.next() else { return Bundle::new(no_config(), []) };
        Bundle::new(config, files)
    }

    fn find_needs(&mut self) {
        let defined = self.defined();
        let mut needs: BTreeMap<Arc<ObjectRef>, ObjectSet> = BTreeMap::new();
        let mut by_nobody = ObjectSet::new();
        for file in
            self.files.iter().filter(|file| matches!(file.key.kind, FileKind::Config | FileKind::CrtList))
        {
            for fragment in file.text.fragments() {
                let named = words(fragment.as_str()).filter_map(|word| defined.get(word));
                match &fragment.blame().block {
                    None => by_nobody.extend(named.filter_map(|of| of.first()).cloned()),
                    Some(object) => {
                        let others = named.filter(|of| !of.contains(object)).filter_map(|of| of.first());
                        let others: Vec<_> = others.cloned().collect();
                        if !others.is_empty() {
                            needs.entry(object.clone()).or_default().extend(others);
                        }
                    }
                }
            }
        }
        self.named_by_nobody = by_nobody;
        for (object, needs) in needs {
            self.of.entry(object).or_default().needs = needs;
        }
    }

    /// The names that may be used, and who has one of them: sections, and files.
    fn defined(&self) -> HashMap<&'b str, Vec<Arc<ObjectRef>>> {
        let mut defined: HashMap<&str, Vec<Arc<ObjectRef>>> = HashMap::new();
        for file in &self.files {
            if file.key.kind == FileKind::Config {
                for fragment in file.text.fragments() {
                    let Some(object) = &fragment.blame().block else { continue };
                    for name in fragment.as_str().lines().filter_map(section) {
                        defined.entry(name).or_default().push(object.clone());
                    }
                }
            } else if matches!(file.key.kind, FileKind::Certificate | FileKind::General)
                && let Some(object) = file.text.fragments().iter().find_map(|f| f.blame().block.as_ref())
            {
                for name in [&*file.path, file.path.rsplit('/').next().unwrap_or_default()] {
                    defined.entry(name).or_default().push(object.clone());
                }
            }
        }
        defined
    }
}

/// The name of the section that begins here.
fn section(line: &str) -> Option<&str> {
    let mut words = line.split_whitespace();
    SectionKind::of(words.next()?).and_then(|_| words.next())
}

/// The words that may be names anywhere in a text, such as among the settings of a map's entry.
fn names(text: &str) -> impl Iterator<Item = &str> {
    let is_of_names = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | ':');
    text.split(move |c| !is_of_names(c)).filter(|name| !name.is_empty())
}

/// The words that may be names in a line: arguments in parentheses are words of their own, and `a/b` names the section `a`, too.
fn words(text: &str) -> impl Iterator<Item = &str> {
    let ends = |c: char| c.is_whitespace() || "()[]{},\"'%".contains(c);
    let words = text.split(ends).filter(|word| !word.is_empty());
    words.flat_map(|word| [Some(word), word.split_once('/').map(|(section, _)| section)]).flatten()
}

fn no_config() -> BundleFile {
    BundleFile::new(haptic_model::FileKey::config(), "haproxy.cfg", Text::default())
}
