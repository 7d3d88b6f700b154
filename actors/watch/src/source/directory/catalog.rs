//! Which file gives which object. Holds names and digests, no content. Pure.
//!
//! An object that two files define is taken from the first by path order, whatever was read first.

use super::manifest::{Manifest, ManifestIdentity};
use haptic_text::Digest;
use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    path::{Path, PathBuf},
};

/// All files and the objects they give.
#[derive(Debug, Default)]
pub(crate) struct Catalog {
    files: BTreeMap<PathBuf, HashMap<ManifestIdentity, Digest>>,
    givers: HashMap<ManifestIdentity, BTreeSet<PathBuf>>,
}

/// What a new content of one file means.
#[derive(Debug, Default)]
pub(crate) struct FileEffects {
    /// Places in the given manifests of those that are new, changed, or now taken from this file.
    pub(crate) put: Vec<usize>,
    /// No file gives these any more.
    pub(crate) gone: Vec<ManifestIdentity>,
    /// Another file gives these from now on: it must be read.
    pub(crate) moved: BTreeMap<PathBuf, Vec<ManifestIdentity>>,
    /// Objects defined twice in this file, as sentences.
    pub(crate) problems: Vec<String>,
    /// Objects that this file and another one define, with a sentence.
    pub(crate) doubled: Vec<(ManifestIdentity, String)>,
    /// Objects that were defined twice, and are not any more.
    pub(crate) single: Vec<ManifestIdentity>,
}

impl Catalog {
    /// The file holds exactly these now; an empty slice is a file that is gone.
    pub(crate) fn admit(&mut self, path: &Path, manifests: &[Manifest]) -> FileEffects {
        let mut effects = FileEffects::default();
        let before = self.files.remove(path).unwrap_or_default();
        let mut now = HashMap::new();
        for (place, manifest) in manifests.iter().enumerate() {
            let identity = &manifest.identity;
            if now.contains_key(identity) {
                effects
                    .problems
                    .push(format!("{identity} is defined twice in {}; the first is used", path.display()));
                continue;
            }
            let digest = digest_of(manifest);
            let givers = self.givers.entry(identity.clone()).or_default();
            let gave = givers.first().is_some_and(|first| first == path);
            givers.insert(path.to_owned());
            effects.doubled.extend(doubled(identity, givers).map(|problem| (identity.clone(), problem)));
            let gives = givers.first().is_some_and(|first| first == path);
            if gives && !(gave && before.get(identity) == Some(&digest)) {
                effects.put.push(place);
            }
            now.insert(identity.clone(), digest);
        }
        for identity in before.into_keys().filter(|identity| !now.contains_key(identity)) {
            self.leave(path, identity, &mut effects);
        }
        if !now.is_empty() {
            self.files.insert(path.to_owned(), now);
        }
        effects
    }

    /// Whether the object is taken from this file.
    pub(crate) fn gives(&self, path: &Path, identity: &ManifestIdentity) -> bool {
        self.giver(identity).is_some_and(|giver| giver == path)
    }

    /// The file the object is taken from.
    pub(crate) fn giver(&self, identity: &ManifestIdentity) -> Option<&Path> {
        self.givers.get(identity)?.first().map(PathBuf::as_path)
    }

    /// What a file gave when it was last read.
    pub(crate) fn objects_of(&self, path: &Path) -> impl Iterator<Item = &ManifestIdentity> {
        self.files.get(path).into_iter().flat_map(HashMap::keys)
    }

    /// Every object.
    pub(crate) fn objects(&self) -> impl Iterator<Item = &ManifestIdentity> {
        self.givers.keys()
    }

    fn leave(&mut self, path: &Path, identity: ManifestIdentity, effects: &mut FileEffects) {
        let Some(givers) = self.givers.get_mut(&identity) else { return };
        let gave = givers.first().is_some_and(|first| first == path);
        givers.remove(path);
        if givers.len() == 1 {
            effects.single.push(identity.clone());
        }
        match givers.first() {
            None => {
                self.givers.remove(&identity);
                effects.gone.push(identity);
            }
            Some(next) if gave => effects.moved.entry(next.clone()).or_default().push(identity),
            Some(_) => {}
        }
    }
}

fn digest_of(manifest: &Manifest) -> Digest {
    Digest::of(manifest.value.to_string().as_bytes())
}

fn doubled(identity: &ManifestIdentity, givers: &BTreeSet<PathBuf>) -> Option<String> {
    let mut files = givers.iter().map(|path| path.display());
    let (first, second) = (files.next()?, files.next()?);
    Some(format!(
        "{identity} is defined in {first} and in {second}; that of {first} is used: remove one of them"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::directory::manifest::parse;

    fn services(names: &[(&str, u16)]) -> Vec<Manifest> {
        let text: String = names
            .iter()
            .map(|(name, port)| {
                format!(
                    "---\napiVersion: v1\nkind: Service\nmetadata: {{name: {name}}}\nspec: {{port: {port}}}\n"
                )
            })
            .collect();
        parse(Path::new("x.yaml"), text.as_bytes()).unwrap().manifests
    }

    fn named(identities: &[ManifestIdentity]) -> Vec<&str> {
        identities.iter().map(|identity| &*identity.name).collect()
    }

    #[test]
    fn only_what_changed_in_a_file_is_an_effect() {
        let mut catalog = Catalog::default();
        assert_eq!(catalog.admit(Path::new("a"), &services(&[("x", 1), ("y", 1), ("z", 1)])).put, [0, 1, 2]);
        let effects = catalog.admit(Path::new("a"), &services(&[("x", 1), ("y", 2)]));
        assert_eq!((effects.put, named(&effects.gone)), (vec![1], vec!["z"]));
    }

    #[test]
    fn the_first_file_by_path_wins_whichever_was_read_first() {
        let mut catalog = Catalog::default();
        assert_eq!(catalog.admit(Path::new("b"), &services(&[("x", 2)])).put, [0]);
        let effects = catalog.admit(Path::new("a"), &services(&[("x", 1)]));
        assert_eq!(effects.put, [0]);
        let (_, told) = &effects.doubled[0];
        assert!(told.contains("defined in a and in b; that of a is used"), "{told}");
        assert!(catalog.admit(Path::new("b"), &services(&[("x", 3)])).put.is_empty());
    }

    #[test]
    fn when_the_winner_goes_the_other_file_is_asked() {
        let mut catalog = Catalog::default();
        catalog.admit(Path::new("a"), &services(&[("x", 1)]));
        catalog.admit(Path::new("b"), &services(&[("x", 2)]));
        let effects = catalog.admit(Path::new("a"), &[]);
        assert!(effects.gone.is_empty());
        assert_eq!(named(&effects.moved[Path::new("b")]), ["x"]);
        assert_eq!(named(&effects.single), ["x"]);
        assert_eq!(named(&catalog.admit(Path::new("b"), &[]).gone), ["x"]);
    }
}
