//! The annotation that gives paths options of their own: YAML from path as the Ingress has it to options.

use super::annotation::text_of;
use serde::de::DeserializeOwned;
use serde_json::Value as Json;
use std::collections::BTreeMap;

/// Behind the prefix of annotations.
pub const PATHS: &str = "paths";

/// The most paths with options of their own.
const MOST: usize = 100;

/// The options that are written for each path.
///
/// # Errors
/// The form that the text must have, behind the word "it".
pub fn paths(text: &str) -> Result<BTreeMap<String, BTreeMap<String, String>>, String> {
    const WANTED: &str = "must be YAML from paths to options";
    let read: BTreeMap<String, BTreeMap<String, Json>> =
        yaml(text).ok_or_else(|| format!("{WANTED}, such as /api: {{timeout-server: 5m}}"))?;
    if read.len() > MOST {
        return Err(format!("{WANTED}, no more than {MOST} paths, there are {}", read.len()));
    }
    Ok(read.into_iter().map(|(path, options)| (path, texts(options))).collect())
}

/// The options that are written alone.
///
/// # Errors
/// The form that the text must have, behind the word "it".
pub(super) fn options(text: &str) -> Result<BTreeMap<String, String>, String> {
    yaml(text).map(texts).ok_or_else(|| "must be YAML of options, such as timeout-server: 5m".to_owned())
}

fn yaml<T: DeserializeOwned>(text: &str) -> Option<T> {
    let options = serde_saphyr::options! {
        // Aliases make much of a little text, and nobody needs them here.
        alias_limits: serde_saphyr::alias_limits! { max_total_replayed_events: 0 },
        with_snippet: false,
        strict_booleans: true,
    };
    serde_saphyr::from_str_with_options(text, options).ok()
}

fn texts(options: BTreeMap<String, Json>) -> BTreeMap<String, String> {
    options.into_iter().map(|(name, value)| (name, text_of(&value))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_of_paths_are_texts_whatever_yaml_makes_of_them() {
        let text =
            "/api: {timeout-server: 5m, retries: 1}\n/:\n  closed: true\n  allow-from: [10.0.0.0/8, ::1]\n";
        let read = paths(text).unwrap();
        assert_eq!(read["/api"]["timeout-server"], "5m");
        assert_eq!(read["/api"]["retries"], "1");
        assert_eq!((&*read["/"]["closed"], &*read["/"]["allow-from"]), ("true", "10.0.0.0/8, ::1"));
        for wrong in ["/api", "[]", "/api: 5m", "{", "/: {}\n/: {}"] {
            assert!(paths(wrong).unwrap_err().starts_with("must be YAML"), "{wrong}");
        }
        let bomb = "/a: {x: &a [1,1,1,1,1,1,1,1,1,1], y: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a,*a], z: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b,*b], \
            w: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c,*c], v: &e [*d,*d,*d,*d,*d,*d,*d,*d,*d,*d], u: [*e,*e,*e,*e,*e,*e,*e,*e,*e,*e]}";
        assert!(paths(bomb).unwrap_err().starts_with("must be YAML"));
        let many: String = (0..=MOST).map(|n| format!("/{n}: {{}}\n")).collect();
        assert!(paths(&many).unwrap_err().contains("no more than 100 paths, there are 101"));
    }
}
