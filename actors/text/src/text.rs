//! A rendered file as a list of shared pieces, each of which knows where its lines come from.
//!
//! Equal pieces are the same `Arc` from one generation to the next, so later stages look only at what changed.

use crate::{
    digest::{Digest, DigestMarks},
    object_ref::ObjectRef,
    sensitive::Sensitive,
};
use std::{borrow::Cow, fmt, ops::Range, sync::Arc};

/// What is shown in place of what comes from a Secret.
pub const REDACTED: &str = "[redacted]";

/// Where one line of a file comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    /// The template's name: `haproxyConfig`, a snippet's or a file's name.
    pub template: Arc<str>,
    /// The line in that template, from 1.
    pub line: u32,
    /// The watched object that was being printed, if any.
    pub object: Option<Arc<ObjectRef>>,
}

/// Origins of a fragment's lines, with names stored once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Blame {
    /// Template names that `lines` index.
    pub templates: Vec<Arc<str>>,
    /// Objects that `lines` index.
    pub objects: Vec<Arc<ObjectRef>>,
    /// One entry a line of the fragment.
    pub lines: Vec<LineBlame>,
    /// The object whose block, the outermost one, printed all of the fragment: without that object it would not be there.
    pub block: Option<Arc<ObjectRef>>,
    /// How many servers its lines say, if it is of haproxy.cfg.
    pub servers: usize,
    /// How many active checks of servers they ask for.
    pub checks: usize,
    /// The bytes of the fragment that come from a Secret's data, in their order: shown to nobody.
    pub secrets: Box<[Range<usize>]>,
    /// What those of them that had to be encoded say to HAProxy: nobody is told that, either.
    pub encoded: Box<[Sensitive]>,
}

/// Where one line comes from, as indices into its [`Blame`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LineBlame {
    /// Index into [`Blame::templates`].
    pub template: u16,
    /// Index into [`Blame::objects`].
    pub object: Option<u32>,
    /// The template's line, from 1.
    pub line: u32,
}

/// A piece of a file. Whole lines, except in opaque files.
#[derive(Clone)]
pub struct Fragment {
    text: Arc<str>,
    blame: Arc<Blame>,
}

/// Fragments that follow one another, in one piece of memory: what is the same from one generation to the next is passed on as a whole,
/// and no fragment of it is touched. Cheap to clone.
#[derive(Clone, Debug)]
pub struct TextRun {
    content: Arc<RunContent>,
}

/// With what walks over whole files ask for.
#[derive(Debug)]
struct RunContent {
    fragments: Box<[Fragment]>,
    bytes: usize,
    lines: usize,
    servers: usize,
    checks: usize,
}

/// A rendered file: fragments in order, in runs.
#[derive(Clone, Debug, Default)]
pub struct Text {
    runs: Arc<[TextRun]>,
}

/// A text that grows.
#[derive(Debug, Default)]
pub struct TextBuilder {
    runs: Vec<TextRun>,
    open: Vec<Fragment>,
}

/// The fragments of a text.
#[derive(Clone, Copy, Debug)]
pub struct Fragments<'t> {
    runs: &'t [TextRun],
}

/// Goes through the fragments of a text.
pub type FragmentIter<'t> = std::iter::FlatMap<
    std::slice::Iter<'t, TextRun>,
    std::slice::Iter<'t, Fragment>,
    fn(&'t TextRun) -> std::slice::Iter<'t, Fragment>,
>;

impl Blame {
    /// The origin of the `index`th line (from 0) of the fragment.
    #[must_use]
    pub fn origin(&self, index: usize) -> Option<Origin> {
        let line = self.lines.get(index)?;
        Some(Origin {
            template: self.templates.get(usize::from(line.template))?.clone(),
            line: line.line,
            object: line.object.and_then(|o| self.objects.get(o as usize)).cloned(),
        })
    }
}

/// Its length: certificates and their keys are text, too.
impl std::fmt::Debug for Fragment {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Fragment").field("bytes", &self.text.len()).finish_non_exhaustive()
    }
}

impl Fragment {
    /// A piece of text with the origins of its lines.
    #[must_use]
    pub fn new(text: impl Into<Arc<str>>, blame: Arc<Blame>) -> Self {
        Self { text: text.into(), blame }
    }

    /// The characters.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The characters as anybody may see them: without what comes from Secrets.
    #[must_use]
    pub fn shown(&self) -> Cow<'_, str> {
        let text = &*self.text;
        if self.blame.secrets.is_empty() {
            return Cow::Borrowed(text);
        }
        let mut shown = String::with_capacity(text.len());
        let mut at = 0;
        for secret in &self.blame.secrets {
            shown.push_str(text.get(at..secret.start).unwrap_or_default());
            shown.push_str(REDACTED);
            // Lines keep their numbers.
            let hidden = text.get(secret.clone()).unwrap_or_default();
            shown.extend(hidden.chars().filter(|c| *c == '\n'));
            at = secret.end;
        }
        shown.push_str(text.get(at..).unwrap_or_default());
        Cow::Owned(shown)
    }

    /// What is in it from Secrets: as it stands there, and as it is read.
    pub fn secrets(&self) -> impl Iterator<Item = &str> {
        let written = self.blame.secrets.iter().filter_map(|at| self.text.get(at.clone()));
        written.chain(self.blame.encoded.iter().map(Sensitive::reveal))
    }

    /// The origins of its lines.
    #[must_use]
    pub fn blame(&self) -> &Arc<Blame> {
        &self.blame
    }

    /// Whether both are the same piece in memory, which is how unchanged pieces are recognised.
    #[must_use]
    pub fn same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.text, &other.text)
    }

    /// Where it is in memory: the same number for the same piece, as long as it is held.
    #[must_use]
    pub fn address(&self) -> usize {
        Arc::as_ptr(&self.text).addr()
    }
}

impl TextRun {
    /// These fragments.
    #[must_use]
    pub fn new(fragments: Vec<Fragment>) -> Self {
        let sum = |of: fn(&Fragment) -> usize| fragments.iter().map(of).sum();
        let (bytes, lines) = (sum(|f| f.text.len()), sum(|f| f.blame.lines.len()));
        let (servers, checks) = (sum(|f| f.blame.servers), sum(|f| f.blame.checks));
        Self { content: Arc::new(RunContent { fragments: fragments.into(), bytes, lines, servers, checks }) }
    }

    /// The fragments in order.
    #[must_use]
    pub fn fragments(&self) -> &[Fragment] {
        &self.content.fragments
    }

    /// Length in bytes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.content.bytes
    }

    /// How many lines have an origin.
    #[must_use]
    pub fn lines(&self) -> usize {
        self.content.lines
    }

    /// How many servers its lines say: [`Blame::servers`].
    #[must_use]
    pub fn servers(&self) -> usize {
        self.content.servers
    }

    /// How many active checks its lines ask for: [`Blame::checks`].
    #[must_use]
    pub fn checks(&self) -> usize {
        self.content.checks
    }

    /// Where it is in memory: the same number for the same run, as long as it is held.
    #[must_use]
    pub fn address(&self) -> usize {
        Arc::as_ptr(&self.content).addr()
    }
}

impl TextBuilder {
    /// Goes on with a fragment.
    pub fn fragment(&mut self, fragment: Fragment) {
        self.open.push(fragment);
    }

    /// Goes on with a run.
    pub fn run(&mut self, run: TextRun) {
        self.close();
        self.runs.push(run);
    }

    /// All of it.
    #[must_use]
    pub fn finish(mut self) -> Text {
        self.close();
        Text { runs: self.runs.into() }
    }

    fn close(&mut self) {
        if !self.open.is_empty() {
            self.runs.push(TextRun::new(std::mem::take(&mut self.open)));
        }
    }
}

impl<'t> Fragments<'t> {
    /// One after the other.
    pub fn iter(self) -> FragmentIter<'t> {
        self.into_iter()
    }

    /// How many there are.
    #[must_use]
    pub fn len(self) -> usize {
        self.runs.iter().map(|run| run.fragments().len()).sum()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.len() == 0
    }

    /// The one of that number, from 0.
    #[must_use]
    pub fn get(self, number: usize) -> Option<&'t Fragment> {
        let mut left = number;
        for run in self.runs {
            match run.fragments().get(left) {
                None => left -= run.fragments().len(),
                found => return found,
            }
        }
        None
    }

    /// Those from one number up to another.
    pub fn range(self, numbers: Range<usize>) -> impl Iterator<Item = &'t Fragment> {
        let mut passed = 0;
        self.runs.iter().flat_map(move |run| {
            let of_run = |at: usize| at.saturating_sub(passed).min(run.fragments().len());
            let (start, end) = (of_run(numbers.start), of_run(numbers.end));
            passed += run.fragments().len();
            run.fragments().get(start..end.max(start)).unwrap_or_default()
        })
    }

    /// All of them.
    #[must_use]
    pub fn to_vec(self) -> Vec<Fragment> {
        self.iter().cloned().collect()
    }
}

impl<'t> IntoIterator for Fragments<'t> {
    type Item = &'t Fragment;
    type IntoIter = FragmentIter<'t>;

    fn into_iter(self) -> Self::IntoIter {
        self.runs.iter().flat_map(|run| run.fragments().iter())
    }
}

impl Text {
    /// A file made of `fragments`.
    #[must_use]
    pub fn new(fragments: Vec<Fragment>) -> Self {
        let builder = TextBuilder { open: fragments, ..TextBuilder::default() };
        builder.finish()
    }

    /// A file of one piece whose origin nobody knows (read back from a pod, or from a test).
    #[must_use]
    pub fn plain(text: &str) -> Self {
        Self::new(vec![Fragment::new(text, Arc::default())])
    }

    /// The pieces in order.
    #[must_use]
    pub fn fragments(&self) -> Fragments<'_> {
        Fragments { runs: &self.runs }
    }

    /// The pieces in order, as they are passed on together.
    #[must_use]
    pub fn runs(&self) -> &[TextRun] {
        &self.runs
    }

    /// Length in bytes.
    #[must_use]
    pub fn len(&self) -> usize {
        self.runs.iter().map(TextRun::bytes).sum()
    }

    /// Whether there is not a single byte.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether `words` stand in it, on one line.
    #[must_use]
    pub fn contains(&self, words: &str) -> bool {
        let ends_line = |f: &Fragment| f.text.ends_with('\n');
        if words.contains('\n') || !self.fragments().iter().rev().skip(1).all(ends_line) {
            return self.to_string().contains(words);
        }
        self.fragments().iter().any(|f| f.text.contains(words))
    }

    /// The digest of the whole.
    #[must_use]
    pub fn digest(&self) -> Digest {
        Digest::of_pieces(self.fragments().iter().map(|f| f.text.as_bytes()))
    }

    /// The same, which goes on from what `marks` know of a text with the same first `same` bytes.
    #[must_use]
    pub fn digest_after(&self, same: usize, marks: &mut DigestMarks) -> Digest {
        marks.digest(same, self.fragments().iter().map(|f| f.text.as_bytes()))
    }

    /// The fragments behind so many runs.
    fn after_runs(&self, runs: usize) -> FragmentIter<'_> {
        Fragments { runs: self.runs.get(runs..).unwrap_or_default() }.into_iter()
    }

    /// How many bytes both begin with, by whole fragments. Runs that were passed on are not looked into.
    #[must_use]
    pub fn begins_as(&self, other: &Self) -> usize {
        let passed_on = self.runs.iter().zip(&*other.runs).take_while(|(a, b)| a.address() == b.address());
        let runs = passed_on.count();
        let bytes: usize = self.runs.iter().take(runs).map(TextRun::bytes).sum();
        let alike = self
            .after_runs(runs)
            .zip(other.after_runs(runs))
            .take_while(|(a, b)| a.same(b) || a.text == b.text);
        bytes + alike.map(|(fragment, _)| fragment.text.len()).sum::<usize>()
    }

    /// Where line `number` (from 1) of the file comes from.
    #[must_use]
    pub fn origin(&self, number: u32) -> Option<Origin> {
        let (fragment, index) = self.place(number)?;
        fragment.blame.origin(index)
    }

    /// The fragment that line `number` (from 1) is in, and its number there, from 0.
    fn place(&self, number: u32) -> Option<(&Fragment, usize)> {
        let mut index = (number as usize).checked_sub(1)?;
        for fragment in self.fragments() {
            let lines = fragment.blame.lines.len();
            if index < lines {
                return Some((fragment, index));
            }
            // A fragment without blame still has lines, which must be skipped.
            let lines = if lines == 0 { fragment.text.matches('\n').count() } else { lines };
            index = index.checked_sub(lines)?;
        }
        None
    }

    /// Whom line `number` (from 1) would not be there without: the object of the block that printed its fragment, else the
    /// one it was printed for.
    #[must_use]
    pub fn blamed(&self, number: u32) -> Option<Arc<ObjectRef>> {
        let (fragment, index) = self.place(number)?;
        let of_line = || fragment.blame.origin(index).and_then(|origin| origin.object);
        fragment.blame.block.clone().or_else(of_line)
    }

    /// The whole as anybody may see it: without what comes from Secrets.
    #[must_use]
    pub fn shown(&self) -> String {
        self.fragments().iter().map(Fragment::shown).collect()
    }

    /// Line `number` (from 1), without its end, as anybody may see it.
    #[must_use]
    pub fn line(&self, number: u32) -> Option<String> {
        self.shown().lines().nth((number as usize).checked_sub(1)?).map(str::to_owned)
    }
}

impl fmt::Display for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.fragments().iter().try_for_each(|p| f.write_str(&p.text))
    }
}

impl PartialEq for Text {
    fn eq(&self, other: &Self) -> bool {
        self.len() == other.len() && self.to_string() == other.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fragment(text: &str, template: &str, first_line: u32) -> Fragment {
        let lines = (0..text.lines().count() as u32)
            .map(|i| LineBlame { template: 0, object: None, line: first_line + i })
            .collect();
        Fragment::new(text, Arc::new(Blame { templates: vec![template.into()], lines, ..Blame::default() }))
    }

    #[test]
    fn a_line_is_traced_through_all_fragments_before_it() {
        let text = Text::new(vec![fragment("a\nb\n", "main", 1), fragment("c\n", "snippet", 7)]);
        let origin = text.origin(3).unwrap();
        assert_eq!((&*origin.template, origin.line), ("snippet", 7));
        assert_eq!(text.line(3).as_deref(), Some("c"));
        assert_eq!(text.origin(4), None);
        assert_eq!(text.origin(0), None);
    }

    #[test]
    fn words_are_found_in_and_between_pieces() {
        let text = Text::new(vec![fragment("ab", "m", 1), fragment("cd\n", "m", 1), fragment("e\n", "m", 2)]);
        for (words, found) in [("bc", true), ("e", true), ("d\ne", true), ("ce", false)] {
            assert_eq!(text.contains(words), found, "{words}");
        }
    }

    #[test]
    fn what_comes_from_secrets_is_not_shown_and_lines_keep_their_numbers() {
        let secrets = Box::new([5..8, 11..14]);
        let blame = Arc::new(Blame { secrets, ..Blame::default() });
        let text = Text::new(vec![Fragment::new("user abc k=x\ny end\n", blame)]);
        assert_eq!(text.shown(), "user [redacted] k=[redacted]\n end\n");
        assert_eq!(text.line(1).as_deref(), Some("user [redacted] k=[redacted]"));
    }

    #[test]
    fn what_two_texts_begin_with_is_found_across_runs_and_fragments() {
        let [a, b, c] = ["a\n", "b\nb\n", "c\n"].map(|text| fragment(text, "m", 1));
        let of = |runs: &[&TextRun]| Text { runs: runs.iter().map(|run| (*run).clone()).collect() };
        let [first, second] = [vec![a.clone(), b.clone()], vec![c.clone()]].map(TextRun::new);
        let again = TextRun::new(vec![fragment("a\n", "other", 9), b.clone()]);
        let changed = TextRun::new(vec![a, fragment("x\n", "m", 1)]);
        let text = of(&[&first, &second]);
        assert_eq!(text.begins_as(&of(&[&first, &second])), 8);
        assert_eq!(text.begins_as(&of(&[&again, &second])), 8, "the same words from elsewhere");
        assert_eq!(text.begins_as(&of(&[&changed, &second])), 2);
        assert_eq!(text.begins_as(&of(&[&first])), 6);
        assert_eq!(text.begins_as(&Text::default()), 0);
    }

    #[test]
    fn a_text_of_runs_is_that_of_their_fragments() {
        let [a, b, c] = ["a\n", "b\nb\n", "c\n"].map(|text| fragment(text, "m", 1));
        let mut builder = TextBuilder::default();
        builder.fragment(a.clone());
        builder.run(TextRun::new(vec![b.clone(), c.clone()]));
        builder.run(TextRun::new(Vec::new()));
        builder.fragment(a.clone());
        let (text, flat) = (builder.finish(), Text::new(vec![a.clone(), b, c, a]));
        assert_eq!((text.len(), text.to_string(), text.digest()), (10, flat.to_string(), flat.digest()));
        assert_eq!((text.runs().len(), text.fragments().len(), text.runs()[1].lines()), (4, 4, 3));
        for number in 0..5 {
            let [one, other] = [&text, &flat].map(|text| text.fragments().get(number));
            assert_eq!(one.map(Fragment::address), other.map(Fragment::address));
        }
        assert_eq!(text.origin(4).map(|origin| origin.line), Some(1));
    }

    #[test]
    fn the_digest_does_not_depend_on_how_a_file_is_cut() {
        let cut = Text::new(vec![fragment("a\n", "m", 1), fragment("b\n", "m", 2)]);
        assert_eq!(cut.digest(), Text::plain("a\nb\n").digest());
    }
}
