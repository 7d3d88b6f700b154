//! What to write for a path that names no rendered file.

use haptic_model::{Bundle, BundleFile, FileKind, suggest};

/// How a template names rendered files, and the one whose name is nearest to that of `path`.
pub(crate) fn instead_of(path: &str, bundle: &Bundle) -> String {
    let name = path.rsplit('/').next().unwrap_or(path);
    let of_templates = || bundle.files.values().filter(|file| !is_of_object(file));
    let nearest = suggest::nearest(name, of_templates().map(|file| &*file.key.name));
    let nearest = nearest.and_then(|name| of_templates().find(|file| *file.key.name == *name));
    match nearest {
        Some(file) => {
            let (name, kind) = (&*file.key.name, argument(file.key.kind));
            format!("The configuration renders no file of that name; did you mean {{{{file_path {name:?} {kind:?}}}}}?")
        }
        None => "The configuration renders no file of that name; {{file_path NAME KIND}} names one that it does".to_owned(),
    }
}

/// Whether the file was made for one object: its name is nobody else's business.
fn is_of_object(file: &BundleFile) -> bool {
    let is_whole = matches!(file.key.kind, FileKind::Certificate | FileKind::General);
    is_whole && file.text.fragments().iter().any(|fragment| fragment.blame().block.is_some())
}

/// The kind as `file_path` takes it.
fn argument(kind: FileKind) -> &'static str {
    match kind {
        FileKind::Map => "map",
        FileKind::Certificate => "certificate",
        FileKind::CrtList => "crt-list",
        FileKind::General | FileKind::Config => "file",
    }
}
