//! The bundle that an order leads to: its files, and the contents of those that are not on disk. Nothing of it is written, and no content
//! sent to HAProxy, before all of it is known to be what its digests say. What that costs grows with the files, so operations that bring no
//! content do not wait for it.
//!
//! Reads from the disk, but for accepting what is no repair: callers run it off the async threads.

use crate::{
    disk::bundles::{Bundles, StoredBundle, StoredContents},
    disk::request,
};
use haptic_model::{
    Generation,
    agent_api::{Apply, LARGEST_BUNDLE, Outcome, Running, RunningBundle},
};
use haptic_text::{Content, Digest, SplicedText};
use std::{
    collections::{BTreeMap, BTreeSet},
    io,
};

/// Contents by their digest.
pub(crate) type Texts = BTreeMap<Digest, SplicedText>;

/// A bundle with the contents that are not on disk.
#[derive(Clone, Debug)]
pub(crate) struct TargetBundle {
    pub(crate) digest: Digest,
    pub(crate) generation: Generation,
    /// haproxy.cfg's path.
    pub(crate) config: String,
    pub(crate) files: BTreeMap<String, Digest>,
    pub(crate) texts: Texts,
}

/// A bundle whose files add up to its digest, and are all there: on disk, in memory or in the order, whose contents nobody has looked at yet.
#[derive(Debug)]
pub(crate) struct UnverifiedTarget {
    bundle: TargetBundle,
    contents: BTreeMap<String, Content>,
}

/// What the agent has already.
pub(crate) struct Available<'a> {
    pub(crate) bundles: &'a Bundles,
    /// On disk.
    pub(crate) stored: Option<&'a StoredBundle>,
    /// What HAProxy runs, when that is something else.
    pub(crate) live: Option<&'a TargetBundle>,
}

impl TargetBundle {
    pub(crate) fn running(&self) -> Running {
        Running { digest: self.digest, generation: self.generation }
    }

    /// All contents.
    pub(crate) fn read(&self, bundles: &Bundles, stored: Option<&StoredBundle>) -> io::Result<RunningBundle> {
        let content = |path: &String| Ok((path.clone(), self.content(bundles, stored, path)?.to_string()));
        let files = self.files.keys().map(content).collect::<io::Result<_>>()?;
        Ok(RunningBundle { config: self.config.clone(), files })
    }

    /// The same bundle once `now` is on disk in place of `before`: it needs no contents that are there, and keeps those that
    /// were there.
    pub(crate) fn beside(
        &self,
        bundles: &Bundles,
        before: Option<&StoredBundle>,
        now: &StoredBundle,
    ) -> io::Result<Self> {
        let (had, has) = (bundles.had(before, false), bundles.had(Some(now), false));
        let mut texts = Texts::new();
        for digest in
            self.files.iter().filter(|(path, digest)| has.at(path, **digest).is_none()).map(|(_, d)| d)
        {
            let text = match self.texts.get(digest) {
                Some(text) => text.clone(),
                None => {
                    had.read(*digest)?.ok_or_else(|| io::Error::other("a file that HAProxy runs is gone"))?
                }
            };
            texts.insert(*digest, text);
        }
        Ok(Self { texts, ..self.clone() })
    }

    /// The content of one of its files.
    pub(crate) fn content(
        &self,
        bundles: &Bundles,
        stored: Option<&StoredBundle>,
        path: &str,
    ) -> io::Result<SplicedText> {
        let lacking = || io::Error::other(format!("{path} is not a file of the order's bundle"));
        let digest = self.files.get(path).ok_or_else(lacking)?;
        match self.texts.get(digest) {
            Some(text) => Ok(text.clone()),
            None => bundles.had(stored, false).read(*digest)?.ok_or_else(lacking),
        }
    }
}

impl Available<'_> {
    /// The bundle that `apply` leads to.
    ///
    /// # Errors
    /// The outcome: what is wrong with the order, or what is missing.
    pub(crate) fn resolve(&self, apply: Apply) -> Result<TargetBundle, Outcome> {
        self.accept(apply).and_then(|target| self.verify(target))
    }

    /// The bundle that `apply` leads to, as far as its files' digests say.
    ///
    /// # Errors
    /// As [`Self::resolve`].
    pub(crate) fn accept(&self, apply: Apply) -> Result<UnverifiedTarget, Outcome> {
        request::check(&apply).map_err(failed)?;
        let mut files = self.files(apply.since).ok_or(Outcome::Missing { paths: Vec::new() })?;
        let is_same_tree = apply.files.iter().all(|(path, to)| to.is_some() == files.contains_key(path));
        for (path, digest) in apply.files {
            match digest {
                Some(digest) => files.insert(path, digest),
                None => files.remove(&path),
            };
        }
        request::check_files(&apply.config, &files, apply.target, is_same_tree).map_err(failed)?;
        let had = self.had(apply.target);
        let texts = self.still_used(&files);
        let is_made = |content: &Content| match content {
            Content::Whole(_) => true,
            Content::Patch(patch) => self.live_text(patch.of).is_some() || had.anywhere(patch.of).is_some(),
        };
        let made = apply.contents.iter().filter(|(_, content)| is_made(content));
        let made: BTreeSet<Digest> = made.filter_map(|(path, _)| files.get(path).copied()).collect();
        let is_there = |path: &str, digest: &Digest| {
            made.contains(digest) || texts.contains_key(digest) || had.at(path, *digest).is_some()
        };
        let missing = files.iter().filter(|(path, digest)| !is_there(path, digest));
        let missing: Vec<String> = missing.map(|(path, _)| path.clone()).collect();
        if !missing.is_empty() {
            return Err(Outcome::Missing { paths: missing });
        }
        let Apply { target: digest, generation, config, contents, .. } = apply;
        Ok(UnverifiedTarget { bundle: TargetBundle { digest, generation, config, files, texts }, contents })
    }

    /// `target` with its contents.
    ///
    /// # Errors
    /// The outcome: contents are not what their digests say, or what they are patches of is not there any more.
    pub(crate) fn verify(&self, target: UnverifiedTarget) -> Result<TargetBundle, Outcome> {
        let UnverifiedTarget { mut bundle, contents } = target;
        let had = self.had(bundle.digest);
        let mut missing = Vec::new();
        for (path, content) in contents {
            let Some(digest) = bundle.files.get(&path).copied() else { continue };
            match self.text(&path, content, digest, &had)? {
                Some(text) => drop(bundle.texts.insert(digest, text)),
                None if bundle.texts.contains_key(&digest) || had.at(&path, digest).is_some() => {}
                None => missing.push(path),
            }
        }
        if missing.is_empty() { Ok(bundle) } else { Err(Outcome::Missing { paths: missing }) }
    }

    /// What is on disk. A repair looks at every file.
    fn had(&self, target: Digest) -> StoredContents<'_> {
        self.bundles.had(self.stored, self.stored.is_some_and(|stored| stored.digest == target))
    }

    fn live_text(&self, digest: Digest) -> Option<&SplicedText> {
        self.live.and_then(|live| live.texts.get(&digest))
    }

    /// The files of a bundle that is there.
    fn files(&self, since: Option<Digest>) -> Option<BTreeMap<String, Digest>> {
        let Some(since) = since else { return Some(BTreeMap::new()) };
        if let Some(live) = self.live.filter(|live| live.digest == since) {
            return Some(live.files.clone());
        }
        self.stored.filter(|stored| stored.digest == since).map(StoredBundle::digests)
    }

    /// A content that was sent, verified; `None` when what it is a patch of is not there.
    fn text(
        &self,
        path: &str,
        content: Content,
        digest: Digest,
        had: &StoredContents<'_>,
    ) -> Result<Option<SplicedText>, Outcome> {
        let text = match content {
            Content::Whole(text) => SplicedText::from(text),
            Content::Patch(patch) => {
                let known = self.live_text(patch.of).cloned();
                let Some(old) = known.or_else(|| had.read(patch.of).ok().flatten()) else { return Ok(None) };
                let patched = old.patched(&patch, LARGEST_BUNDLE);
                patched.map_err(|e| failed(format!("the patch of {path:?} cannot be applied: {e}")))?
            }
        };
        if text.digest() != digest {
            return Err(failed(format!("the content of {path:?} is not what its digest says")));
        }
        Ok(Some(text))
    }

    /// Contents that HAProxy runs and that are not on disk, as far as the bundle needs them.
    fn still_used(&self, files: &BTreeMap<String, Digest>) -> Texts {
        let texts = self.live.into_iter().flat_map(|live| &live.texts);
        let used = texts.filter(|(digest, _)| files.values().any(|of| of == *digest));
        used.map(|(digest, text)| (*digest, text.clone())).collect()
    }
}

fn failed(message: String) -> Outcome {
    Outcome::Failed { message }
}
