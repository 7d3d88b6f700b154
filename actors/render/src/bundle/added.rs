//! Files that templates added: merged over all templates, encoded like any other, none of them twice.

use super::{shares, uses::FileUses};
use crate::{
    encode::{FileFormat, encode},
    functions::path_of,
    output::{
        effects::AddedFile,
        framing::{self, FramedText},
    },
};
use haptic_attribution::{Fault, FaultKind};
use haptic_model::{ActiveConfig, BundleFile, Diagnostic, FileKey, Limit, ObjectRef, crd::LimitsSpec};
use haptic_text::Text;
use std::{
    collections::{BTreeMap, btree_map::Entry},
    sync::Arc,
};

/// Makes files of what templates added; one that was added before is the same file again.
#[derive(Clone, Debug, Default)]
pub(crate) struct AddedFiles {
    last: BTreeMap<FileKey, (AddedFile, FileFormat, BundleFile)>,
}

impl AddedFiles {
    /// The files of `added`, given the files that have templates of their own.
    ///
    /// # Errors
    /// Two different contents for one path, or a content that its kind of file cannot hold; each names the object.
    pub fn make(
        &mut self,
        added: Vec<AddedFile>,
        own: &[BundleFile],
        config: &ActiveConfig,
        uses: &FileUses,
    ) -> Result<Vec<BundleFile>, Vec<Fault>> {
        let mut by_key: BTreeMap<FileKey, AddedFile> = BTreeMap::new();
        let mut problems = Vec::new();
        for file in added {
            match by_key.entry(file.key.clone()) {
                Entry::Vacant(free) => {
                    free.insert(file);
                }
                Entry::Occupied(mut first) if first.get().content == file.content => {
                    first.get_mut().also_by(&file.blocks);
                }
                Entry::Occupied(first) => problems.extend(of_blocks(&file, two_contents(first.get(), &file))),
            }
        }
        problems.extend(too_many(&mut by_key, &config.spec.controller.limits));
        let mut files = Vec::with_capacity(by_key.len());
        for (key, file) in by_key {
            match self.bundle_file(&file, config, uses) {
                Ok((_, made)) if own.iter().any(|o| o.path == made.path) => {
                    let what = format!("{} has a template and is added by another", file.key);
                    let what = Diagnostic::error("render", what).of_object(file.object.clone());
                    problems.extend(of_blocks(&file, what.help("Give one of them another name")));
                }
                Ok((reading, made)) => files.push((key, (file, reading, made))),
                Err(refused) => problems.extend(refused.into_iter().flat_map(|what| of_blocks(&file, what))),
            }
        }
        if !problems.is_empty() {
            return Err(problems);
        }
        let made = files.iter().map(|(_, (.., made))| made.clone()).collect();
        self.last = files.into_iter().collect();
        Ok(made)
    }

    fn bundle_file(
        &self,
        file: &AddedFile,
        config: &ActiveConfig,
        uses: &FileUses,
    ) -> Result<(FileFormat, BundleFile), Vec<Diagnostic>> {
        let path = path_of(config, &file.key).map_err(|e| vec![Diagnostic::error("render", e)])?;
        let reading = uses.reading(file.key.kind, &path);
        let made = match self.last.get(&file.key) {
            Some((known, as_now, made)) if known.is(file) && *as_now == reading && *made.path == *path => {
                made.clone()
            }
            _ => BundleFile::new(file.key.clone(), &path, text_of(file, reading)?),
        };
        Ok((reading, made))
    }
}

/// Takes out what is beyond the limits: of the files for objects of each namespace those that come last, when they are more
/// than half of what all may be.
fn too_many(files: &mut BTreeMap<FileKey, AddedFile>, limits: &LimitsSpec) -> Vec<Fault> {
    let mut of: BTreeMap<Arc<str>, (usize, usize)> = BTreeMap::new();
    let mut faults = Vec::new();
    let (most_files, most_bytes) = (limits.files / 2, limits.file_bytes / 2);
    files.retain(|_, file| {
        let Some(owner) = file.blocks.first() else { return true };
        let (count, bytes) = of.entry(owner.namespace.clone()).or_default();
        (*count, *bytes) = (*count + 1, *bytes + file.content.len());
        let beyond = |what: String, limit: Limit| {
            let message = format!(
                "files for objects of namespace {:?} {what}, half of what all may",
                &*owner.namespace
            );
            let problem = Diagnostic::error("render", message).at_field(limit.field());
            problem.of_object(file.object.clone()).help("Delete what is not needed, or raise the limit")
        };
        let beyond = if *count > most_files {
            beyond(format!("are more than {most_files}"), Limit::Files)
        } else if *bytes > most_bytes {
            beyond(format!("have more than {most_bytes} bytes"), Limit::FileBytes)
        } else {
            return true;
        };
        faults.extend(of_blocks(file, beyond));
        false
    });
    if faults.is_empty() {
        faults.extend(too_many_of_all(files, limits.files, Limit::Files, |_| 1));
        faults.extend(too_many_of_all(files, limits.file_bytes, Limit::FileBytes, |file| file.content.len()));
    }
    faults
}

/// The same for what all namespaces add together.
fn too_many_of_all(
    files: &mut BTreeMap<FileKey, AddedFile>,
    most: usize,
    limit: Limit,
    takes: impl Fn(&AddedFile) -> usize,
) -> Vec<Fault> {
    let all: usize = files.values().map(&takes).sum();
    let of_none: usize = files.values().filter(|file| file.blocks.is_empty()).map(&takes).sum();
    if all <= most {
        return Vec::new();
    }
    let message = format!("all files that are added take {all}, of {most} that they may");
    let problem = Diagnostic::error("render", message).at_field(limit.field());
    if of_none > most {
        return vec![Fault::of_templates(
            problem.help("Look for a loop that adds too many, or raise the limit"),
        )];
    }
    let problem = problem.help("Delete what is not needed, or raise the limit");
    let taken = files.values().filter_map(|file| Some((file.blocks.first()?, takes(file))));
    let beyond = shares::beyond(taken, most - of_none);
    let mut faults = Vec::new();
    files.retain(|_, file| {
        let stays = file.blocks.first().is_none_or(|owner| !beyond.contains(owner));
        if !stays {
            faults.extend(of_blocks(file, problem.clone().of_object(file.object.clone())));
        }
        stays
    });
    faults
}

/// The content as one printed value, so that it is encoded, and refused, like any other.
fn text_of(file: &AddedFile, reading: FileFormat) -> Result<Text, Vec<Diagnostic>> {
    let mut framed = FramedText { templates: vec![file.key.name.clone()], ..FramedText::default() };
    let mut piece = format!("{}0:1;", framing::LINE);
    if let Some(object) = &file.object {
        framed.objects.push(object.clone());
        piece.push_str(&format!("{}0;", framing::OWNER));
    }
    if file.secret {
        piece.push(framing::SECRET);
    }
    piece.push(framing::VALUE);
    piece.push_str(&file.content);
    piece.push(framing::END);
    if file.object.is_some() {
        piece.push(framing::UNOWN);
    }
    framed.pieces.push(piece.into());
    encode(reading, &framed)
}

/// A fault of everybody who added the file.
fn of_blocks(file: &AddedFile, what: Diagnostic) -> Vec<Fault> {
    if file.blocks.is_empty() {
        return vec![Fault::of_templates(what)];
    }
    let of = |block: &Arc<ObjectRef>| Fault {
        object: Some(block.clone()),
        kind: FaultKind::Value,
        diagnostic: what.clone(),
        reads: None,
    };
    file.blocks.iter().map(of).collect()
}

fn two_contents(first: &AddedFile, second: &AddedFile) -> Diagnostic {
    let by = first.object.as_ref().map_or_else(|| "another template".to_owned(), ToString::to_string);
    Diagnostic::error("render", format!("{} was added with another content by {by}", second.key))
        .of_object(second.object.clone())
        .help("Give one of them another name, for example with the namespace in it")
}

#[cfg(test)]
mod tests {
    use super::*;
    use haptic_model::FileKind;

    fn added(name: &str, content: &str, object: &str) -> AddedFile {
        let object = Arc::new(ObjectRef::new("ingresses", "default", object));
        AddedFile {
            secret: false,
            key: FileKey::new(FileKind::Certificate, name),
            content: content.into(),
            object: Some(object.clone()),
            blocks: [object].into(),
        }
    }

    fn config() -> ActiveConfig {
        let spec = r#"{"credentialsSecretRef":{"name":"c"},"podSelector":{"matchLabels":{"a":"b"}}}"#;
        ActiveConfig::of("c", "n", serde_json::from_str(spec).unwrap())
    }

    fn make(added: Vec<AddedFile>) -> Result<Vec<BundleFile>, Vec<Fault>> {
        AddedFiles::default().make(added, &[], &config(), &FileUses::default())
    }

    #[test]
    fn a_file_added_twice_alike_is_one_file_that_knows_its_object() {
        let files = make(vec![added("a.pem", "x\n", "one"), added("a.pem", "x\n", "two")]).unwrap();
        assert_eq!(files.len(), 1);
        assert_eq!((&*files[0].path, files[0].text.to_string().as_str()), ("ssl/a.pem", "x\n"));
        let origin = files[0].text.origin(1).unwrap();
        assert_eq!(origin.object.unwrap().to_string(), "ingresses default/one");
    }

    #[test]
    fn two_contents_for_one_file_are_refused_with_both_objects() {
        let said = make(vec![added("a.pem", "x\n", "one"), added("a.pem", "y\n", "two")]);
        let said = said.unwrap_err()[0].diagnostic.to_string();
        assert!(said.contains("default/one") && said.contains("default/two"), "{said}");
    }

    #[test]
    fn what_a_certificate_cannot_hold_is_refused() {
        let both = vec![added("a.pem", "x\u{7}\n", "one"), added("a.pem", "x\u{7}\n", "two")];
        let said = make(both).unwrap_err();
        assert!(said[0].diagnostic.to_string().contains("default/one"), "{}", said[0].diagnostic);
        let blamed: Vec<_> = said.iter().filter_map(|f| f.object.as_deref()).map(|o| &*o.name).collect();
        assert_eq!(blamed, ["one", "two"], "leaving one out would leave the file");
    }
}
