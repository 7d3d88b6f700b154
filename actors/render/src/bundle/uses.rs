//! The formats in which haproxy.cfg reads each file, so that values in a general file are encoded for them.
//!
//! A file that nothing is known to read is content. Nothing here looks at the files themselves.

use crate::encode::FileFormat;
use haptic_haproxy::{
    Document,
    block_index::{Aggregate, BlockIndex},
    views::{Bases, ReferenceKind as Use, file_references_below},
};
use haptic_model::FileKind;
use haptic_text::Text;
use std::collections::BTreeMap;

/// The uses of files by one configuration, kept from one to the next.
#[derive(Clone, Debug, Default)]
pub(crate) struct FileUses {
    block_index: BlockIndex<UseCounts>,
}

impl FileUses {
    /// Goes on to another configuration.
    pub fn advance(&mut self, config: &Text) {
        self.block_index.advance(config);
    }

    /// How a file of that kind is read at `path`. Only of a general one its kind says nothing.
    pub fn reading(&self, kind: FileKind, path: &str) -> FileFormat {
        if kind != FileKind::General {
            return kind.into();
        }
        let uses = self.block_index.aggregate().of.get(path);
        let others = uses.into_iter().flat_map(BTreeMap::keys);
        others.fold(FileFormat::Content, |reading, other| both(reading, as_reading(*other)))
    }
}

/// Encoded for both; where that cannot be, values have no place.
fn both(one: FileFormat, other: FileFormat) -> FileFormat {
    match (one, other) {
        (one, other) if one == other => one,
        (FileFormat::Content, other) | (other, FileFormat::Content) => other,
        (FileFormat::Format, FileFormat::Body) | (FileFormat::Body, FileFormat::Format) => FileFormat::Format,
        // A line of a map is a pattern, too.
        (FileFormat::Map, FileFormat::Patterns) | (FileFormat::Patterns, FileFormat::Map) => FileFormat::Map,
        _ => FileFormat::Code,
    }
}

fn as_reading(of: Use) -> FileFormat {
    match of {
        Use::Map => FileFormat::Map,
        Use::Acl => FileFormat::Patterns,
        Use::CrtList => FileFormat::CertificateList,
        Use::Body => FileFormat::Body,
        Use::Format => FileFormat::Format,
        Use::Code => FileFormat::Code,
        Use::ErrorFile | Use::Certificate | Use::Key | Use::Ca | Use::Crl | Use::Other => FileFormat::Content,
    }
}

/// How often each file is used for what.
#[derive(Clone, Debug, Default)]
struct UseCounts {
    of: BTreeMap<Box<str>, BTreeMap<Use, usize>>,
}

impl Aggregate for UseCounts {
    fn enter(&mut self, block: &Document<'_>, bases: &Bases) -> bool {
        for file in file_references_below(block, bases) {
            *self.of.entry(file.path.into()).or_default().entry(file.kind).or_default() += 1;
        }
        false
    }

    fn remove(&mut self, block: &Document<'_>, bases: &Bases) {
        for file in file_references_below(block, bases) {
            let Some(uses) = self.of.get_mut(file.path.as_str()) else { continue };
            if let Some(count) = uses.get_mut(&file.kind) {
                *count -= 1;
                if *count == 0 {
                    uses.remove(&file.kind);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use haptic_text::{Blame, Fragment};
    use std::sync::Arc;

    fn uses(uses: &mut FileUses, blocks: &[&str]) -> Vec<FileFormat> {
        let fragments = blocks.iter().map(|block| Fragment::new(*block, Arc::<Blame>::default()));
        uses.advance(&Text::new(fragments.collect()));
        ["a", "b"].map(|path| uses.reading(FileKind::General, path)).into()
    }

    #[test]
    fn a_file_is_read_as_what_haproxy_makes_of_it_as_long_as_it_does() {
        let answer =
            |how: &str| format!("listen x\n  http-request return status 200 content-type a/b {how}\n");
        for (config, reading) in [
            (answer("lf-file a"), FileFormat::Format),
            (answer("file a"), FileFormat::Body),
            (answer("file a") + &answer("lf-file a"), FileFormat::Format),
            ("listen x\n  acl x src -f a\n".into(), FileFormat::Patterns),
            ("listen x\n  acl x src -f a\n  acl x src,map(a) x\n".into(), FileFormat::Map),
            ("listen x\n  bind :1 ssl crt-list a\n".into(), FileFormat::CertificateList),
            ("global\n  lua-load a\n".into(), FileFormat::Code),
            ("listen x\n  filter spoe config a\n".into(), FileFormat::Code),
            ("listen x\n  acl x src -f a\n".to_owned() + &answer("file a"), FileFormat::Code),
            ("listen x\n  errorfile 503 a\n".into(), FileFormat::Content),
        ] {
            let mut known = FileUses::default();
            assert_eq!(
                uses(&mut known, &[&config, "listen y\n"]),
                [reading, FileFormat::Content],
                "{config}"
            );
            assert_eq!(uses(&mut known, &["listen y\n"]), [FileFormat::Content; 2], "{config}");
        }
    }

    #[test]
    fn a_file_of_another_kind_is_what_it_is() {
        let mut known = FileUses::default();
        uses(&mut known, &["listen x\n  acl x src -f a\n"]);
        assert_eq!(known.reading(FileKind::Map, "a"), FileFormat::Map);
    }
}
