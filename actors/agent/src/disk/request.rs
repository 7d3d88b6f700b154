//! Is an order well-formed? Nothing of it is written before this says so.

use haptic_model::{
    agent_api::{Apply, LARGEST_BUNDLE},
    bundle::digest_of_files,
};
use haptic_text::Digest;
use std::collections::{BTreeMap, BTreeSet};

/// Files of one bundle.
const MOST_FILES: usize = 50_000;
/// Bytes of a file's path.
const LONGEST_PATH: usize = 512;
/// The name HAProxy is started with.
pub(crate) const CONFIG: &str = "haproxy.cfg";

/// Checks what the order itself says: paths, limits, that nothing is sent in vain.
///
/// # Errors
/// A sentence that says what is wrong.
pub fn check(apply: &Apply) -> Result<(), String> {
    apply.files.keys().try_for_each(|path| check_path(path))?;
    let total: u64 = apply.contents.values().map(|content| content.sent() as u64).sum();
    if total > LARGEST_BUNDLE as u64 {
        return Err(format!("the contents have {total} bytes and {LARGEST_BUNDLE} are possible"));
    }
    let known = |path: &&String| apply.files.get(*path).is_none_or(Option::is_none);
    match apply.contents.keys().find(known) {
        Some(path) => Err(format!("the content of {path:?} was sent, which is not a file of the order")),
        None => Ok(()),
    }
}

/// Checks the bundle that an order leads to. `same_tree`: no file came or went.
///
/// # Errors
/// A sentence that says what is wrong.
pub fn check_files(
    config: &str,
    files: &BTreeMap<String, Digest>,
    target: Digest,
    same_tree: bool,
) -> Result<(), String> {
    if files.len() > MOST_FILES {
        return Err(format!("the bundle has {} files and {MOST_FILES} are possible", files.len()));
    }
    check_config(config, files)?;
    if !same_tree {
        check_folders(files)?;
    }
    if digest(config, files) == Some(target) {
        return Ok(());
    }
    Err(format!("the files do not add up to the bundle's digest {}", target.short()))
}

/// The digest of the files as listed.
fn digest(config: &str, files: &BTreeMap<String, Digest>) -> Option<Digest> {
    let of_config = files.get(config)?;
    let others = files.iter().filter(|(path, _)| **path != config);
    Some(digest_of_files((config, of_config), others.map(|(path, digest)| (path.as_str(), digest))))
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

fn check_config(config: &str, files: &BTreeMap<String, Digest>) -> Result<(), String> {
    if !files.contains_key(config) {
        return Err(format!("the configuration {config:?} is not among the bundle's files"));
    }
    if config.contains('/') {
        return Err(format!(
            "the configuration {config:?} must lie at the top of the bundle: file names are relative to it"
        ));
    }
    if config != CONFIG && files.contains_key(CONFIG) {
        return Err(format!(
            "the bundle has {config:?} as its configuration and {CONFIG} besides: HAProxy is started with that name"
        ));
    }
    Ok(())
}

/// No path is both a file and a folder.
fn check_folders(files: &BTreeMap<String, Digest>) -> Result<(), String> {
    let folders: BTreeSet<&str> = files
        .keys()
        .flat_map(|path| path.match_indices('/').filter_map(move |(end, _)| path.get(..end)))
        .collect();
    match files.keys().find(|path| folders.contains(path.as_str())) {
        Some(path) => Err(format!("{path:?} is a file and a folder of the same bundle")),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use haptic_model::agent_api::Method;
    use haptic_text::Content;

    fn files(files: &[(&str, &str)]) -> BTreeMap<String, Digest> {
        files.iter().map(|(path, content)| ((*path).to_owned(), Digest::of(content.as_bytes()))).collect()
    }

    /// All checks of an order that brings these files anew.
    fn check_all(listed: &[(&str, &str)], target: Option<Digest>) -> Result<(), String> {
        let files = files(listed);
        let target = target.or(digest(CONFIG, &files)).unwrap_or(Digest::of(b""));
        let apply = Apply {
            epoch: haptic_model::Epoch::default(),
            generation: haptic_model::Generation(1),
            base: None,
            target,
            config: CONFIG.to_owned(),
            since: None,
            files: files.iter().map(|(path, digest)| (path.clone(), Some(*digest))).collect(),
            contents: listed
                .iter()
                .map(|(p, c)| ((*p).to_owned(), Content::Whole((*c).to_owned())))
                .collect(),
            method: Method::Reload { reason: "test".to_owned() },
        };
        check(&apply)?;
        check_files(CONFIG, &files, target, false)
    }

    #[test]
    fn a_plain_bundle_is_accepted() {
        assert_eq!(check_all(&[("haproxy.cfg", "global\n"), ("maps/a b.map", "x y\n")], None), Ok(()));
    }

    #[test]
    fn paths_that_leave_the_folder_are_refused() {
        for path in ["../x", "/etc/passwd", "maps/../../x", "maps//x", "./x", "", "a\nb", "maps/", "a\0b"] {
            let error = check_all(&[("haproxy.cfg", ""), (path, "")], None).unwrap_err();
            assert!(error.contains("refused"), "{path:?}: {error}");
        }
    }

    #[test]
    fn a_file_that_is_also_a_folder_is_refused() {
        let error = check_all(&[("haproxy.cfg", ""), ("maps", ""), ("maps/a", "")], None).unwrap_err();
        assert!(error.contains("a file and a folder"), "{error}");
    }

    #[test]
    fn a_content_of_no_file_is_refused() {
        let order = r#"{"epoch":{"leaseCreated":0,"transitions":0},"generation":1,"base":null,"target":"TARGET","config":"haproxy.cfg","since":null,"files":{"gone":null},"contents":{"gone":"x"},"method":{"by":"store"}}"#;
        let apply: Apply =
            serde_json::from_str(&order.replace("TARGET", &Digest::of(b"").to_string())).unwrap();
        assert!(check(&apply).unwrap_err().contains("not a file of the order"));
    }

    #[test]
    fn files_must_add_up_to_the_target() {
        let error = check_all(&[("haproxy.cfg", "global\n")], Some(Digest::of(b"another"))).unwrap_err();
        assert!(error.contains("add up"));
    }

    #[test]
    fn a_bundle_without_its_configuration_is_refused() {
        assert!(check_all(&[("maps/a", "")], None).unwrap_err().contains("not among"));
    }

    #[test]
    fn too_many_files_are_refused() {
        let names: Vec<String> = (0..=MOST_FILES).map(|i| format!("maps/{i}")).collect();
        let files: Vec<(&str, &str)> = names.iter().map(|n| (n.as_str(), "")).collect();
        assert!(check_all(&files, None).unwrap_err().contains("50000 are possible"));
    }
}
