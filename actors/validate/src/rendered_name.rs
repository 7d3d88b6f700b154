//! What to write for a path that names no rendered file.

use haptic_model::{Bundle, BundleFile, FileKind};
use haptic_text::suggest;

/// How a template names rendered files, and the one whose name is nearest to that of `path`.
pub(crate) fn instead_of(path: &str, bundle: &Bundle) -> String {
    let name = path.rsplit('/').next().unwrap_or(path);
    let of_templates = || bundle.files.values().filter(|file| !is_of_object(file));
    let nearest = suggest::nearest(name, of_templates().map(|file| &*file.key.name));
    let nearest = nearest.and_then(|name| of_templates().find(|file| *file.key.name == *name));
    match nearest {
        Some(file) => {
            let (name, kind) = (&*file.key.name, argument(file.key.kind));
            format!(
                "Did you mean {{{{file_path {name:?} {kind:?}}}}}? The configuration renders no file of that name"
            )
        }
        None => {
            "The configuration renders no file of that name; {{file_path NAME KIND}} names one that it does"
                .to_owned()
        }
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

#[cfg(test)]
mod tests {
    use super::*;
    use haptic_model::{FileKey, ObjectRef};
    use haptic_text::{Blame, Fragment, Text};
    use std::sync::Arc;

    fn bundle() -> Bundle {
        let file =
            |kind: FileKind, name: &str, text: Text| BundleFile::new(FileKey::new(kind, name), name, text);
        let object = Arc::new(ObjectRef::new("secrets", "other", "tls"));
        let of_object = Arc::new(Blame { block: Some(object), ..Blame::default() });
        Bundle::new(
            BundleFile::new(FileKey::config(), "haproxy.cfg", Text::plain("")),
            [
                file(FileKind::Map, "host.map", Text::plain("")),
                file(FileKind::General, "503.http", Text::plain("")),
                file(
                    FileKind::Certificate,
                    "other_tls.pem",
                    Text::new(vec![Fragment::new("x\n", of_object)]),
                ),
            ],
        )
    }

    #[test]
    fn the_nearest_file_of_a_template_is_named_as_templates_name_it() {
        for (path, said) in [
            ("/etc/haproxy/maps/hots.map", "Did you mean {{file_path \"host.map\" \"map\"}}?"),
            ("/etc/haproxy/errors/503.htm", "Did you mean {{file_path \"503.http\" \"file\"}}?"),
            ("/etc/passwd", "The configuration renders no file of that name; {{file_path NAME KIND}}"),
            // What was made for an object of a namespace is not told to others.
            ("/etc/haproxy/ssl/other_tls.pe", "The configuration renders no file of that name;"),
        ] {
            let instead = instead_of(path, &bundle());
            assert!(instead.starts_with(said), "{path}: {instead}");
        }
    }
}
