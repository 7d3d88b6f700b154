//! The part of a bundle that a change can make invalid: the files' fixed lines and what the change printed. Pure.
//!
//! `haproxy -c` of ten thousand backends takes a second, of these lines a few hundredths. The part may lack what a line
//! of it refers to; so what passes here is valid, and what fails is asked about once more, as a whole.

use haptic_model::{Bundle, BundleFile, FileKind, ObjectRef};
use haptic_text::{Blame, Fragment, Text, TextRun};
use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

/// Makes the part of a bundle that concerns some objects, and remembers what it saw of runs: from one review to the next nearly all stand again.
#[derive(Debug, Default)]
pub struct Reducer {
    /// By their addresses; each is held, so that its address is nobody else's.
    known: HashMap<usize, Arc<KnownRun>>,
}

/// The part that is taken of a run that has stood before.
#[derive(Debug)]
struct KnownRun {
    run: TextRun,
    /// The fragments that were printed for no object.
    fixed: Vec<Fragment>,
    /// For whom the others were printed.
    objects: HashSet<Arc<ObjectRef>>,
}

/// Two versions of a file, and whose part of it is wanted.
struct FilePart<'f> {
    before: Option<&'f BundleFile>,
    after: &'f BundleFile,
    changed: &'f HashSet<Arc<ObjectRef>>,
}

impl Reducer {
    /// The part that `after` has and `before` does not, or that was printed for one of `changed`, with all that was printed for no object.
    /// `before` must be the bundle that was rendered just before, so that what did not change is the same memory.
    pub fn reduced(&mut self, after: &Bundle, before: &Bundle, changed: &HashSet<Arc<ObjectRef>>) -> Bundle {
        let known = std::mem::take(&mut self.known);
        let mut part = |after, before| {
            let (file, seen) = FilePart { before, after, changed }.reduced(&known);
            self.known.extend(seen.into_iter().map(|run| (run.run.address(), run)));
            file
        };
        let config = part(&after.config, Some(&before.config));
        let mut lists = Vec::new();
        for (path, file) in &after.files {
            if matches!(file.key.kind, FileKind::Map | FileKind::CrtList) {
                lists.push(part(file, before.files.get(path).map(|file| &**file)));
            }
        }
        let mut words = FileWords::default();
        words.read(&config.text);
        lists
            .iter()
            .filter(|file| file.key.kind == FileKind::CrtList)
            .for_each(|file| words.read(&file.text));
        let others = after.files.iter().filter(|(path, file)| {
            let list = matches!(file.key.kind, FileKind::Map | FileKind::CrtList);
            let same = before.files.get(*path).is_some_and(|old| old.digest == file.digest);
            !list && (!same || words.name(path))
        });
        let others: Vec<BundleFile> = others.map(|(_, file)| (**file).clone()).collect();
        Bundle::new(config, lists.into_iter().chain(others))
    }
}

impl FilePart<'_> {
    /// The part, and what was seen of runs that stood before.
    fn reduced(&self, known: &HashMap<usize, Arc<KnownRun>>) -> (BundleFile, Vec<Arc<KnownRun>>) {
        let runs = |file: &'_ BundleFile| -> HashSet<usize> {
            file.text.runs().iter().map(TextRun::address).collect()
        };
        let (stood, stand) = (self.before.map(runs).unwrap_or_default(), runs(self.after));
        // What stood in a run that is another one now may be the same as ever.
        let others = self.before.into_iter().flat_map(|file| file.text.runs());
        let others = others.filter(|run| !stand.contains(&run.address())).flat_map(TextRun::fragments);
        let others: HashSet<usize> = others.map(Fragment::address).collect();
        let (mut kept, mut seen) = (Vec::new(), Vec::new());
        for run in self.after.text.runs() {
            let address = run.address();
            if !stood.contains(&address) {
                kept.extend(run.fragments().iter().filter_map(|one| {
                    if others.contains(&one.address()) { self.part_of(one) } else { Some(one.clone()) }
                }));
                continue;
            }
            let facts = known.get(&address).cloned().unwrap_or_else(|| Arc::new(KnownRun::of(run)));
            if self.changed.iter().any(|object| facts.objects.contains(object)) {
                kept.extend(run.fragments().iter().filter_map(|one| self.part_of(one)));
            } else {
                kept.extend(facts.fixed.iter().cloned());
            }
            seen.push(facts);
        }
        (BundleFile::new(self.after.key.clone(), &self.after.path, Text::new(kept)), seen)
    }

    /// The part that is taken of a fragment that stood before.
    fn part_of(&self, fragment: &Fragment) -> Option<Fragment> {
        match fragment.blame().objects.iter().any(|object| self.changed.contains(object)) {
            true => Some(fragment.clone()),
            false => fixed(fragment),
        }
    }
}

impl KnownRun {
    fn of(run: &TextRun) -> Self {
        let objects = run.fragments().iter().flat_map(|fragment| fragment.blame().objects.iter().cloned());
        let fixed = run.fragments().iter().filter_map(fixed);
        Self { run: run.clone(), fixed: fixed.collect(), objects: objects.collect() }
    }
}

/// The part of it that was printed for no object.
fn fixed(fragment: &Fragment) -> Option<Fragment> {
    if fragment.blame().objects.is_empty() { Some(fragment.clone()) } else { fixed_lines(fragment) }
}

/// The lines that were printed for no object.
fn fixed_lines(fragment: &Fragment) -> Option<Fragment> {
    let blame = fragment.blame();
    if blame.lines.iter().all(|line| line.object.is_some()) {
        return None;
    }
    let mut text = String::new();
    let mut lines = Vec::new();
    let mut secrets = Vec::new();
    let mut start = 0;
    for (line, of) in fragment.as_str().split_inclusive('\n').zip(&blame.lines) {
        let end = start + line.len();
        if of.object.is_none() {
            let within = blame.secrets.iter().filter(|at| at.start < end && at.end > start);
            let moved = |at: usize| text.len() + at.clamp(start, end) - start;
            secrets.extend(within.map(|at| moved(at.start)..moved(at.end)));
            text.push_str(line);
            lines.push(*of);
        }
        start = end;
    }
    let (templates, encoded) = (blame.templates.clone(), blame.encoded.clone());
    let blame = Blame { templates, lines, secrets: secrets.into(), encoded, ..Blame::default() };
    Some(Fragment::new(text, Arc::new(blame)))
}

/// The words of some texts, as far as they may name files.
#[derive(Default)]
struct FileWords(HashSet<String>);

impl FileWords {
    fn read(&mut self, text: &Text) {
        for fragment in text.fragments() {
            let ends = |c: char| c.is_whitespace() || "()[]{},:\"'".contains(c);
            let words = fragment.as_str().split(ends).map(|word| word.trim_end_matches('/'));
            let words = words.filter(|word| !word.is_empty() && !self.0.contains(*word));
            let words: Vec<String> = words.map(str::to_owned).collect();
            self.0.extend(words);
        }
    }

    /// Whether a file at `path` is among them: by its path, its name alone, or a folder that it is in.
    fn name(&self, path: &str) -> bool {
        let mut folders = path.match_indices('/').filter_map(|(at, _)| path.get(..at));
        let name = path.rsplit('/').next().unwrap_or(path);
        self.0.contains(path) || self.0.contains(name) || folders.any(|folder| self.0.contains(folder))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use haptic_model::FileKey;
    use haptic_text::{LineBlame, TextBuilder};

    fn reduced(after: &Bundle, before: &Bundle, changed: &HashSet<Arc<ObjectRef>>) -> Bundle {
        Reducer::default().reduced(after, before, changed)
    }

    fn fragment(text: &str, object: Option<&str>) -> Fragment {
        let of = |_| LineBlame { template: 0, object: object.map(|_| 0), line: 1 };
        let blame = Blame {
            templates: vec!["t".into()],
            objects: object
                .map(|name| Arc::new(ObjectRef::new("ingresses", "n", name)))
                .into_iter()
                .collect(),
            lines: text.lines().map(of).collect(),
            ..Blame::default()
        };
        Fragment::new(text, Arc::new(blame))
    }

    fn bundle(config: &[Fragment], list: &[Fragment], certificates: &[&str]) -> Bundle {
        let file = |kind, name: &str, path: &str, fragments: &[Fragment]| {
            BundleFile::new(FileKey::new(kind, name), path, Text::new(fragments.to_vec()))
        };
        let list = file(FileKind::CrtList, "list.txt", "ssl/list.txt", list);
        let certificates = certificates
            .iter()
            .map(|name| file(FileKind::Certificate, name, &format!("ssl/{name}"), &[fragment("x\n", None)]));
        let config = BundleFile::new(FileKey::config(), "haproxy.cfg", Text::new(config.to_vec()));
        Bundle::new(config, certificates.chain([list]))
    }

    #[test]
    fn what_other_objects_printed_is_left_out_with_the_files_it_names() {
        let [head, a, b] = [("frontend f\n", None), ("backend a\n", Some("a")), ("backend b\n", Some("b"))]
            .map(|(text, object)| fragment(text, object));
        let [list_a, list_b] = [("a.pem a.example\n", "a"), ("b.pem b.example\n", "b")]
            .map(|(text, object)| fragment(text, Some(object)));
        let before = bundle(&[head.clone(), a.clone(), b.clone()], std::slice::from_ref(&list_a), &["a.pem"]);
        let b_now = fragment("backend b\n  server\n", Some("b"));
        let after = bundle(&[head, a, b_now], &[list_a, list_b], &["a.pem", "b.pem"]);
        let part = reduced(&after, &before, &HashSet::new());
        assert_eq!(part.config.text.to_string(), "frontend f\nbackend b\n  server\n");
        let paths: Vec<&str> = part.files.keys().map(|path| &**path).collect();
        assert_eq!(paths, ["ssl/b.pem", "ssl/list.txt"]);
        assert_eq!(part.files["ssl/list.txt"].text.to_string(), "b.pem b.example\n");
    }

    #[test]
    fn what_was_printed_for_a_changed_object_is_there_even_if_it_is_the_same() {
        let same = [fragment("backend a\n", Some("a")), fragment("backend b\n", Some("b"))];
        let both = bundle(&same, &[], &[]);
        let changed = HashSet::from([Arc::new(ObjectRef::new("ingresses", "n", "b"))]);
        assert_eq!(reduced(&both, &both, &changed).config.text.to_string(), "backend b\n");
    }

    #[test]
    fn the_next_part_is_that_of_one_who_remembers_nothing() {
        let runs = ["a", "b", "c"].map(|name| {
            let own = fragment(&format!("backend {name}\n"), Some(name));
            TextRun::new(vec![fragment(&format!("# {name}\n"), None), own])
        });
        let of = |runs: &[&TextRun]| {
            let mut text = TextBuilder::default();
            runs.iter().for_each(|run| text.run((*run).clone()));
            let config = BundleFile::new(FileKey::config(), "haproxy.cfg", text.finish());
            Bundle::new(config, [])
        };
        let [a, b, c] = &runs;
        let moved = TextRun::new(b.fragments().iter().rev().cloned().collect());
        let mut reducer = Reducer::default();
        for (before, after, changed, expected) in [
            (of(&[a, b, c]), of(&[a, b, c]), "b", "# a\n# b\nbackend b\n# c\n"),
            (of(&[a, b, c]), of(&[a, b, c]), "c", "# a\n# b\n# c\nbackend c\n"),
            (of(&[a, b]), of(&[a, b, c]), "none", "# a\n# b\n# c\nbackend c\n"),
            (of(&[a, b, c]), of(&[a, &moved, c]), "none", "# a\n# b\n# c\n"),
            (of(&[a, &moved, c]), of(&[a, &moved]), "a", "# a\nbackend a\n# b\n"),
        ] {
            let changed = HashSet::from([Arc::new(ObjectRef::new("ingresses", "n", changed))]);
            let part = reducer.reduced(&after, &before, &changed);
            assert_eq!(part.config.text.to_string(), expected);
            assert_eq!(part.digest, reduced(&after, &before, &changed).digest);
        }
        assert!(reducer.known.len() <= 3, "what does not stand any more is forgotten");
    }

    #[test]
    fn fixed_lines_among_those_of_objects_stay() {
        let mut blame = (**fragment("a\nb\nc\n", Some("a")).blame()).clone();
        blame.lines[1].object = None;
        let mixed = Fragment::new("a\nb\nc\n", Arc::new(blame));
        let both = bundle(&[mixed], &[], &[]);
        let part = reduced(&both, &both, &HashSet::new());
        assert_eq!(part.config.text.to_string(), "b\n");
    }

    #[test]
    fn what_comes_from_secrets_is_known_in_the_part_too() {
        let mut blame = (**fragment("abc\nuser sesame\nc\n", Some("a")).blame()).clone();
        blame.lines[1].object = None;
        blame.secrets = Box::new([1..2, 9..15]);
        let mixed = Fragment::new("abc\nuser sesame\nc\n", Arc::new(blame));
        let both = bundle(&[mixed], &[], &[]);
        let part = reduced(&both, &both, &HashSet::new());
        assert_eq!(part.config.text.shown(), "user [redacted]\n");
        assert_eq!(part.redacted("no user 'sesame'"), "no user '[redacted]'");
    }

    #[test]
    fn a_folder_that_is_named_is_there_with_all_its_files() {
        let both = bundle(&[fragment("bind :443 ssl crt ssl/\n", None)], &[], &["a.pem", "b.pem"]);
        assert_eq!(reduced(&both, &both, &HashSet::new()).files.len(), 3);
    }
}
