//! Is an order well-formed? Nothing of it is written before this says so.

use haptic_model::{Digest, agent_api::Apply, bundle::digest_of_files};
use std::collections::BTreeSet;

/// Files of one bundle.
const MOST_FILES: usize = 20_000;
/// Bytes of a file's path.
const LONGEST_PATH: usize = 512;
/// Bytes of all files of one bundle.
pub(crate) const MOST_BYTES: u64 = 64 << 20;
/// The name HAProxy is started with.
pub(crate) const CONFIG: &str = "haproxy.cfg";

/// Checks paths, limits and digests.
///
/// # Errors
/// A sentence that says what is wrong.
pub(crate) fn check(apply: &Apply) -> Result<(), String> {
    if apply.files.len() > MOST_FILES {
        return Err(format!("the bundle has {} files and {MOST_FILES} are possible", apply.files.len()));
    }
    apply.files.keys().try_for_each(|path| check_path(path))?;
    check_config(apply)?;
    check_folders(apply)?;
    check_contents(apply)?;
    if digest(apply) == Some(apply.target) {
        return Ok(());
    }
    Err(format!("the files do not add up to the bundle's digest {}", apply.target.short()))
}

/// The digest of the files as listed.
fn digest(apply: &Apply) -> Option<Digest> {
    let config = apply.files.get_key_value(&apply.config)?;
    let others = apply.files.iter().filter(|(path, _)| **path != apply.config);
    Some(digest_of_files((config.0, config.1), others.map(|(path, digest)| (path.as_str(), digest))))
}

/// A relative path of plain names.
fn check_path(path: &str) -> Result<(), String> {
    let problem = if path.is_empty() {
        "it is empty"
    } else if path.len() > LONGEST_PATH {
        "it is too long"
    } else if path.starts_with('/') {
        "it is absolute; with the agent all files are relative to haproxy.cfg"
    } else if path.chars().any(char::is_control) {
        "it contains a control character"
    } else if path.split('/').any(|name| name.is_empty() || name == "." || name == "..") {
        "it contains an empty name, \".\" or \"..\""
    } else if path.split('/').any(|name| name.len() > 255) {
        "one of its names is longer than 255 bytes"
    } else {
        return Ok(());
    };
    Err(format!("the path {path:?} is refused: {problem}"))
}

fn check_config(apply: &Apply) -> Result<(), String> {
    let config = &apply.config;
    if !apply.files.contains_key(config) {
        return Err(format!("the configuration {config:?} is not among the bundle's files"));
    }
    if config.contains('/') {
        return Err(format!(
            "the configuration {config:?} must lie at the top of the bundle: file names are relative to it"
        ));
    }
    if config != CONFIG && apply.files.contains_key(CONFIG) {
        return Err(format!(
            "the bundle has {config:?} as its configuration and {CONFIG} besides: HAProxy is started with that name"
        ));
    }
    Ok(())
}

/// No path is both a file and a folder.
fn check_folders(apply: &Apply) -> Result<(), String> {
    let folders: BTreeSet<&str> = apply
        .files
        .keys()
        .flat_map(|path| path.match_indices('/').filter_map(move |(end, _)| path.get(..end)))
        .collect();
    match apply.files.keys().find(|path| folders.contains(path.as_str())) {
        Some(path) => Err(format!("{path:?} is a file and a folder of the same bundle")),
        None => Ok(()),
    }
}

fn check_contents(apply: &Apply) -> Result<(), String> {
    let mut total = 0;
    for (path, content) in &apply.contents {
        total += content.len() as u64;
        match apply.files.get(path) {
            None => {
                return Err(format!("the content of {path:?} was sent, which is not a file of the bundle"));
            }
            Some(digest) if *digest != Digest::of(content.as_bytes()) => {
                return Err(format!("the content of {path:?} is not what its digest says"));
            }
            Some(_) => {}
        }
    }
    if total > MOST_BYTES {
        return Err(format!("the contents have {total} bytes and {MOST_BYTES} are possible"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use haptic_model::agent_api::Method;

    fn order(files: &[(&str, &str)]) -> Apply {
        let contents: std::collections::BTreeMap<String, String> =
            files.iter().map(|(path, content)| ((*path).to_owned(), (*content).to_owned())).collect();
        let files = contents.iter().map(|(p, c)| (p.clone(), Digest::of(c.as_bytes()))).collect();
        let mut apply = Apply {
            epoch: haptic_model::Epoch::default(),
            generation: haptic_model::Generation(1),
            base: None,
            target: Digest::of(b""),
            config: CONFIG.to_owned(),
            files,
            contents,
            method: Method::Reload { reason: "test".to_owned() },
        };
        if let Some(digest) = digest(&apply) {
            apply.target = digest;
        }
        apply
    }

    #[test]
    fn a_plain_bundle_is_accepted() {
        assert_eq!(check(&order(&[("haproxy.cfg", "global\n"), ("maps/a b.map", "x y\n")])), Ok(()));
    }

    #[test]
    fn paths_that_leave_the_folder_are_refused() {
        for path in ["../x", "/etc/passwd", "maps/../../x", "maps//x", "./x", "", "a\nb", "maps/", "a\0b"] {
            let error = check(&order(&[("haproxy.cfg", ""), (path, "")])).unwrap_err();
            assert!(error.contains("refused"), "{path:?}: {error}");
        }
    }

    #[test]
    fn a_file_that_is_also_a_folder_is_refused() {
        let error = check(&order(&[("haproxy.cfg", ""), ("maps", ""), ("maps/a", "")])).unwrap_err();
        assert!(error.contains("a file and a folder"), "{error}");
    }

    #[test]
    fn contents_must_be_what_their_digests_say() {
        let mut apply = order(&[("haproxy.cfg", "global\n")]);
        apply.contents.insert(CONFIG.to_owned(), "other\n".to_owned());
        assert!(check(&apply).unwrap_err().contains("digest"));
    }

    #[test]
    fn files_must_add_up_to_the_target() {
        let mut apply = order(&[("haproxy.cfg", "global\n")]);
        apply.target = Digest::of(b"another");
        assert!(check(&apply).unwrap_err().contains("add up"));
    }

    #[test]
    fn a_bundle_without_its_configuration_is_refused() {
        assert!(check(&order(&[("maps/a", "")])).unwrap_err().contains("not among"));
    }

    #[test]
    fn too_many_files_are_refused() {
        let names: Vec<String> = (0..=MOST_FILES).map(|i| format!("maps/{i}")).collect();
        let files: Vec<(&str, &str)> = names.iter().map(|n| (n.as_str(), "")).collect();
        assert!(check(&order(&files)).unwrap_err().contains("20000 are possible"));
    }
}
