//! What others say of a bundle's files, without what these have of Secrets: HAProxy, its socket and whoever reads files in its
//! place quote what they do not understand. Whom a sentence leads to must be found in it before.

use crate::{
    bundle::{Bundle, FileKind},
    diagnostic::Diagnostic,
};
use haptic_text::{Fragment, REDACTED};
use std::{collections::HashMap, ops::Range};

/// So many bytes in a row that stand in a Secret, too, are from there.
const RUN: usize = 8;
/// What is shorter is hidden where it is a whole word. Any sentence may have words of fewer bytes than these: they are hidden
/// where they are quoted.
const WORD: usize = 4;

/// Replaces what `sentences` quote of the Secrets in `bundles` by [`REDACTED`]. Lines stay lines.
///
/// What is in certificates' files does not count: nobody quotes that.
pub fn redact<'s>(bundles: &[&Bundle], sentences: impl IntoIterator<Item = &'s mut String>) {
    let mut sentences = sentences.into_iter().peekable();
    // Mostly there are none.
    if sentences.peek().is_none() {
        return;
    }
    let files = bundles.iter().flat_map(|bundle| bundle.all());
    let files = files.filter(|file| file.key.kind != FileKind::Certificate);
    let mut secrets = files.flat_map(|file| file.text.fragments()).flat_map(Fragment::secrets).peekable();
    if secrets.peek().is_none() {
        return;
    }
    // One look at the secrets for all of them.
    let mut words = String::new();
    let mut places = Vec::new();
    for sentence in sentences {
        let start = words.len();
        words.push_str(sentence);
        places.push((sentence, start..words.len()));
        words.push('\n');
    }
    let mut quotation = Quotation::of(&words);
    secrets.for_each(|secret| quotation.hide(secret));
    for (sentence, at) in places {
        *sentence = quotation.shown(at);
    }
}

impl Bundle {
    /// `words` of others about it, as anybody may see them: see [`redact`].
    #[must_use]
    pub fn redacted(&self, words: &str) -> String {
        let mut words = words.to_owned();
        redact(&[self], [&mut words]);
        words
    }

    /// The same of all that `diagnostics` about it say.
    pub fn redact(&self, diagnostics: &mut [Diagnostic]) {
        let sentences =
            diagnostics.iter_mut().flat_map(|d| std::iter::once(&mut d.message).chain(&mut d.help));
        redact(&[self], sentences);
    }
}

/// Somebody's words, and what of them is hidden.
struct Quotation<'w> {
    words: &'w str,
    /// All runs of [`RUN`] bytes and where they begin, sorted.
    runs: Vec<([u8; RUN], usize)>,
    /// Which two bytes a run begins with: most of what Secrets hold is known by that not to be quoted.
    begins: Vec<bool>,
    /// The words that are shorter, and where they begin.
    short: HashMap<&'w str, Vec<usize>>,
    /// By byte.
    hidden: Vec<bool>,
}

impl<'w> Quotation<'w> {
    fn of(words: &'w str) -> Self {
        let windows = words.as_bytes().windows(RUN).enumerate();
        let mut runs: Vec<([u8; RUN], usize)> =
            windows.filter_map(|(at, run)| Some((run.try_into().ok()?, at))).collect();
        runs.sort_unstable();
        let mut begins = vec![false; 1 << 16];
        for (run, _) in &runs {
            if let Some(begins) = begins.get_mut(beginning(run)) {
                *begins = true;
            }
        }
        let mut short: HashMap<&str, Vec<usize>> = HashMap::new();
        for word in words.split(is_between).filter(|word| !word.is_empty() && word.len() < RUN) {
            // Both lie in the same memory.
            short.entry(word).or_default().push(word.as_ptr().addr() - words.as_ptr().addr());
        }
        Self { words, runs, begins, short, hidden: vec![false; words.len()] }
    }

    /// Hides what stands in `secret`, too: the whole, a piece of it, or a short line or word of it.
    fn hide(&mut self, secret: &str) {
        for run in secret.as_bytes().windows(RUN) {
            if self.begins.get(beginning(run)) == Some(&true) {
                self.hide_run(run);
            }
        }
        for line in secret.lines().map(str::trim).filter(|line| !line.is_empty() && line.len() < RUN) {
            self.hide_short(line);
        }
        for word in secret.split(is_between).filter(|word| (WORD..RUN).contains(&word.len())) {
            self.hide_short(word);
        }
    }

    fn hide_run(&mut self, run: &[u8]) {
        let first = self.runs.partition_point(|(known, _)| known.as_slice() < run);
        let known = self.runs.get(first..).unwrap_or_default().iter();
        for (_, at) in known.take_while(|(known, _)| known == run) {
            fill(&mut self.hidden, *at, RUN);
        }
    }

    fn hide_short(&mut self, text: &str) {
        let places = match text.contains(is_between) {
            true => self.words.match_indices(text).map(|(at, _)| at).collect(),
            false => self.short.get(text).cloned().unwrap_or_default(),
        };
        for at in places {
            if text.len() >= WORD || self.is_quoted(at..at + text.len()) {
                fill(&mut self.hidden, at, text.len());
            }
        }
    }

    fn is_quoted(&self, at: Range<usize>) -> bool {
        let is_quote = |byte: Option<&u8>| matches!(byte, Some(b'\'' | b'"' | b'`'));
        let bytes = self.words.as_bytes();
        is_quote(at.start.checked_sub(1).and_then(|before| bytes.get(before))) && is_quote(bytes.get(at.end))
    }

    fn shown(&self, range: Range<usize>) -> String {
        let mut shown = String::new();
        let mut was_hidden = false;
        for (at, c) in self.words.get(range.clone()).unwrap_or_default().char_indices() {
            let at = range.start + at;
            let hidden = self.hidden.get(at..at + c.len_utf8()).unwrap_or_default();
            let is_hidden = c != '\n' && hidden.contains(&true);
            if is_hidden && !was_hidden {
                shown.push_str(REDACTED);
            }
            if !is_hidden {
                shown.push(c);
            }
            was_hidden = is_hidden;
        }
        shown
    }
}

fn is_between(c: char) -> bool {
    !c.is_alphanumeric()
}

fn beginning(run: &[u8]) -> usize {
    match run {
        [first, second, ..] => usize::from(*first) << 8 | usize::from(*second),
        _ => 0,
    }
}

fn fill(hidden: &mut [bool], at: usize, length: usize) {
    if let Some(bytes) = hidden.get_mut(at..at + length) {
        bytes.fill(true);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bundle::{BundleFile, FileKey};
    use haptic_text::{Blame, Sensitive, Text};
    use std::sync::Arc;

    /// A bundle with these texts from Secrets.
    fn bundle(secrets: &[&str]) -> Bundle {
        let fragment = |secret: &&str| {
            let blame = Blame { secrets: std::iter::once(5..5 + secret.len()).collect(), ..Blame::default() };
            Fragment::new(format!("line {secret}\n"), Arc::new(blame))
        };
        let config = BundleFile::new(FileKey::config(), "haproxy.cfg", Text::plain("global\n"));
        let text = Text::new(secrets.iter().map(fragment).collect());
        Bundle::new(config, [BundleFile::new(FileKey::new(FileKind::General, "f"), "files/f", text)])
    }

    #[test]
    fn what_haproxy_quotes_of_a_secret_is_not_told() {
        for (secret, said, told) in [
            ("planted-name", "there is no ACL 'planted-name'", "there is no ACL '[redacted]'"),
            (
                "planted-name",
                "no ACL 'planted-name', no backend 'planted-name'.",
                "no ACL '[redacted]', no backend '[redacted]'.",
            ),
            (
                "host-of-mine:8080",
                "could not resolve address 'host-of-mine'",
                "could not resolve address '[redacted]'",
            ),
            ("planted-name-that-is-long", "unknown 'planted-name-th...'", "unknown '[redacted]...'"),
            ("db.corp:80", "no 'db.corp' here", "no 'db.[redacted]' here"),
            ("10.0.0.1\nsesame\n", "'sesame' is no address", "'[redacted]' is no address"),
            ("first\nplanted-second\nthird", "a\nplanted-second\nb", "a\n[redacted]\nb"),
            ("wörd-und-mehr", "was wörd-und-mehr?", "was [redacted]?"),
            ("admin", "ignoring duplicated user 'admin'", "ignoring duplicated user '[redacted]'"),
            ("a!b?c", "what is a!b?c", "what is [redacted]"),
        ] {
            assert_eq!(bundle(&[secret]).redacted(said), told);
        }
    }

    #[test]
    fn short_texts_leave_sentences_as_they_are() {
        let said = "a server is on line 12 of the file, in the section 'backend': no 'on' there";
        for secret in ["a", "12", "on", "the", "erve", "sect", "ectio", ""] {
            let told = if secret == "on" { said.replace("'on'", "'[redacted]'") } else { said.to_owned() };
            assert_eq!(bundle(&[secret]).redacted(said), told, "{secret}");
        }
        assert_eq!(bundle(&["12"]).redacted("no '12'"), "no '[redacted]'");
        assert_eq!(bundle(&[]).redacted(said), said);
    }

    #[test]
    fn a_text_that_was_encoded_is_hidden_as_haproxy_reads_it() {
        let blame = Blame {
            secrets: std::iter::once(5..13).collect(),
            encoded: Box::new([Sensitive::new("my word".into())]),
            ..Blame::default()
        };
        let text = Text::new(vec![Fragment::new("  x  my\\ word\n", Arc::new(blame))]);
        let bundle = Bundle::new(BundleFile::new(FileKey::config(), "haproxy.cfg", text), []);
        assert_eq!(bundle.redacted("'my word' in `x my\\ word`"), "'[redacted]' in `x [redacted]`");
    }

    #[test]
    fn all_sentences_of_diagnostics_are_redacted_each_for_itself() {
        let mut said = vec![
            Diagnostic::error("syntax", "unknown planted-name"),
            Diagnostic::error("syntax", "fine").help("is planted-name meant?"),
        ];
        bundle(&["planted-name"]).redact(&mut said);
        assert_eq!(said[0].message, "unknown [redacted]");
        assert_eq!(
            (said[1].message.as_str(), said[1].help.as_deref()),
            ("fine", Some("is [redacted] meant?"))
        );
    }
}
