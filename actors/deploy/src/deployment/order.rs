//! The order that brings a bundle to a pod: only what differs from one that the pod has. Pure.

use super::failure::DeployFailure;
use haptic_model::{
    Bundle, BundleFile, Epoch, Generation,
    agent_api::{Apply, Method},
};
use haptic_text::{Content, Digest, Patch};
use std::collections::{BTreeMap, BTreeSet};

/// What an order is made against.
#[derive(Clone, Debug)]
pub(super) struct OrderBaseline<'a> {
    pub epoch: Epoch,
    /// What must be there for the order to be right.
    pub base: Option<Digest>,
    /// A bundle that the pod has, if its files are known.
    pub since: Option<&'a Bundle>,
    /// Another one.
    pub besides: Option<&'a Bundle>,
    /// What the pod said it lacks.
    pub missing: &'a MissingContent,
}

/// What a pod said it does not have, though it should.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum MissingContent {
    /// Nothing.
    #[default]
    Nothing,
    /// These files.
    Files(Vec<String>),
    /// Everything.
    All,
}

impl MissingContent {
    /// The pod says that it lacks `paths`, or with none everything.
    ///
    /// # Errors
    /// It lacks what was sent.
    pub fn learn(&mut self, paths: Vec<String>) -> Result<(), DeployFailure> {
        let next = if paths.is_empty() { Self::All } else { Self::Files(paths) };
        match std::mem::take(self) {
            Self::Nothing => {}
            Self::Files(_) if next == Self::All => {}
            Self::Files(paths) => return Err(DeployFailure::StillMissing(paths.join(", "))),
            Self::All => return Err(DeployFailure::StillMissing("everything".to_owned())),
        }
        *self = next;
        Ok(())
    }
}

impl OrderBaseline<'_> {
    /// The order for `bundle`.
    pub fn order(&self, bundle: &Bundle, generation: Generation, method: Method) -> Apply {
        let since = self.since.filter(|_| *self.missing != MissingContent::All);
        let (mut files, mut contents) = (BTreeMap::new(), BTreeMap::new());
        let present = self.present();
        for file in bundle.all() {
            let before = since.and_then(|since| file_at(since, &file.path));
            let is_lacked = self.is_lacked(&file.path);
            if is_lacked || before.is_none_or(|before| before.digest != file.digest) {
                files.insert(file.path.to_string(), Some(file.digest));
            }
            if is_lacked {
                contents.insert(file.path.to_string(), Content::Whole(file.text.to_string()));
            } else if !present.contains(&file.digest) {
                contents.insert(file.path.to_string(), content(before, file));
            }
        }
        for file in since.into_iter().flat_map(Bundle::all) {
            if file_at(bundle, &file.path).is_none() {
                files.insert(file.path.to_string(), None);
            }
        }
        Apply {
            epoch: self.epoch,
            generation,
            base: self.base,
            target: bundle.digest,
            config: bundle.config.path.to_string(),
            since: since.map(|since| since.digest),
            files,
            contents,
            method,
        }
    }

    fn present(&self) -> BTreeSet<Digest> {
        if *self.missing == MissingContent::All {
            return BTreeSet::new();
        }
        let bundles = self.since.into_iter().chain(self.besides);
        bundles.flat_map(Bundle::all).map(|file| file.digest).collect()
    }

    fn is_lacked(&self, path: &str) -> bool {
        matches!(self.missing, MissingContent::Files(paths) if paths.iter().any(|lacked| lacked == path))
    }
}

fn file_at<'a>(bundle: &'a Bundle, path: &str) -> Option<&'a BundleFile> {
    if *bundle.config.path == *path {
        Some(&bundle.config)
    } else {
        bundle.files.get(path).map(|file| &**file)
    }
}

fn content(before: Option<&BundleFile>, file: &BundleFile) -> Content {
    let patch = before.and_then(|before| Patch::between(&before.text, before.digest, &file.text));
    patch.map_or_else(|| Content::Whole(file.text.to_string()), Content::Patch)
}

#[cfg(test)]
mod tests {
    use super::*;
    use haptic_model::{FileKey, FileKind};
    use haptic_text::{Fragment, Text};
    use std::sync::Arc;

    fn bundle(config: Vec<Fragment>, maps: &[(&str, &str)]) -> Bundle {
        let maps = maps.iter().map(|(name, text)| {
            BundleFile::new(FileKey::new(FileKind::Map, name), &format!("maps/{name}"), Text::plain(text))
        });
        Bundle::new(BundleFile::new(FileKey::config(), "haproxy.cfg", Text::new(config)), maps)
    }

    fn order(since: Option<&Bundle>, bundle: &Bundle, missing: &MissingContent) -> Apply {
        let base = since.map(|since| since.digest);
        let baseline = OrderBaseline { epoch: Epoch::default(), base, since, besides: None, missing };
        baseline.order(bundle, Generation(1), Method::Store)
    }

    #[test]
    fn only_what_differs_is_listed_and_sent() {
        let fragment = |text: &str| Fragment::new(text, Arc::default());
        let (head, tail) = (fragment("global\n"), fragment("backend b\n"));
        let old = bundle(vec![head.clone(), tail.clone()], &[("a", "1\n"), ("b", "2\n"), ("c", "3\n")]);
        let new =
            bundle(vec![head, fragment("# new\n"), tail], &[("a", "1\n"), ("b", "two\n"), ("d", "3\n")]);
        let apply = order(Some(&old), &new, &MissingContent::Nothing);
        assert_eq!(apply.since, Some(old.digest));
        assert_eq!(apply.files.keys().collect::<Vec<_>>(), ["haproxy.cfg", "maps/b", "maps/c", "maps/d"]);
        assert_eq!(apply.files["maps/c"], None);
        assert_eq!(
            apply.contents.keys().collect::<Vec<_>>(),
            ["haproxy.cfg", "maps/b"],
            "c's bytes are there"
        );
        assert_eq!(apply.contents["haproxy.cfg"].sent(), 6);
    }

    #[test]
    fn a_pod_that_lacks_everything_gets_everything() {
        let old = bundle(vec![], &[("a", "1\n")]);
        let all = order(Some(&old), &old, &MissingContent::All);
        assert_eq!((all.since, all.files.len(), all.contents.len()), (None, 2, 2));
        let one = order(Some(&old), &old, &MissingContent::Files(vec!["maps/a".into()]));
        assert_eq!(
            (one.files.len(), one.contents.keys().map(String::as_str).collect::<Vec<_>>()),
            (1, vec!["maps/a"])
        );
    }
}
