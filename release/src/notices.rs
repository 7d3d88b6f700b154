//! The licences of all that is linked, as their crates bring them: one text once, with all to whom it belongs.

use crate::{Error, linked::Linked};
use cargo_metadata::Package;
use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

/// How names of files with licences begin.
const NAMES: [&str; 5] = ["licen", "copying", "copyright", "notice", "unlicense"];

/// How deep below a crate's folder C sources may bring a licence of their own.
const DEPTH: usize = 3;

const LINE: &str = "\n--------------------------------------------------------------------------------\n";

/// The whole file.
pub fn text(linked: &Linked) -> Result<String, Error> {
    let mut texts: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut list = String::new();
    for package in linked.crates.iter().filter(|package| package.source.is_some()) {
        let name = format!("{} {}", package.name, package.version);
        let licence = package.license.clone().ok_or_else(|| Error::Unlicensed(name.clone()))?;
        list += &format!("{name}: {licence}\n");
        for text in texts_of(package, &licence, &linked.crates)? {
            texts.entry(text).or_default().push(name.clone());
        }
    }
    let mut whole = format!("haptic is linked with these crates:\n\n{list}");
    for (text, owners) in texts {
        whole += &format!("{LINE}{}:\n\n{}\n", owners.join(", "), text.trim_end());
    }
    Ok(whole)
}

/// What a crate says of its licence: its files, or those of a crate of the same repository under the same licence, or else its
/// manifest, where that names one whose text is ours, too.
fn texts_of(package: &Package, licence: &str, all: &[Package]) -> Result<Vec<String>, Error> {
    let beside = all.iter().filter(|other| {
        package.repository.is_some()
            && other.repository == package.repository
            && other.license == package.license
    });
    for package in std::iter::once(package).chain(beside) {
        let texts = own_texts(package)?;
        if !texts.is_empty() {
            return Ok(texts);
        }
    }
    let authors = package.authors.join(", ");
    let name = format!(
        "{licence}, by {}. The crate brings no text of it",
        if authors.is_empty() { "its authors" } else { &authors }
    );
    if !licence.contains("Apache-2.0") {
        return Err(Error::Unlicensed(format!("{}: {name}, and it", package.name)));
    }
    let apache = Path::new(env!("CARGO_MANIFEST_DIR")).join("../LICENSE");
    Ok(vec![format!("{name}; that of Apache-2.0 is:\n\n{}", read(&apache)?)])
}

fn own_texts(package: &Package) -> Result<Vec<String>, Error> {
    let folder = package.manifest_path.parent().map(|folder| folder.as_std_path().to_owned());
    let mut files = Vec::new();
    collect(&folder.unwrap_or_default(), DEPTH, &mut files)?;
    files.sort();
    files.iter().map(|file| read(file)).collect()
}

fn read(path: &Path) -> Result<String, Error> {
    let text = fs::read(path).map_err(|error| Error::File { path: path.to_owned(), error })?;
    Ok(String::from_utf8_lossy(&text).replace("\r\n", "\n"))
}

fn collect(folder: &Path, depth: usize, files: &mut Vec<PathBuf>) -> Result<(), Error> {
    let failed = |error| Error::File { path: folder.to_owned(), error };
    for entry in fs::read_dir(folder).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
        let source =
            ["rs", "c", "h"].iter().any(|kind| path.extension().is_some_and(|extension| extension == *kind));
        if path.is_dir() && depth > 0 && !["target", "tests", "benches"].contains(&name.as_str()) {
            collect(&path, depth - 1, files)?;
        } else if path.is_file() && !source && NAMES.iter().any(|begin| name.starts_with(begin)) {
            files.push(path);
        }
    }
    Ok(())
}
