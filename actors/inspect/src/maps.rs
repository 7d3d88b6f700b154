//! What maps say that no request can mean: values that are almost a backend's name, wildcards that nobody asks for.
//!
//! Nothing here is an error: a map may be for anything. A warning is said of a map once, with its first line.

use haptic_haproxy::{Document, views::backend_names};
use haptic_model::{Bundle, BundleFile, Diagnostic, FileKind};
use std::{collections::BTreeSet, sync::Arc};

/// A warning for each map of `bundle` that cannot do what it seems to be for.
#[must_use]
pub fn doubtful(bundle: &Bundle) -> Vec<Diagnostic> {
    let text = bundle.config.text.to_string();
    let document = Document::parse(&text);
    let backends: BTreeSet<&str> = backend_names(&document).collect();
    let asks_for_wildcards = ["(*", ",*"].iter().any(|made| text.contains(made));
    let maps = bundle.files.values().filter(|file| file.key.kind == FileKind::Map);
    let of_map = |map: &Arc<BundleFile>| {
        let wildcard = if asks_for_wildcards { None } else { first_wildcard(map) };
        [first_almost_backend(map, &backends), wildcard]
    };
    maps.flat_map(of_map).flatten().collect()
}

/// The first line of `map` whose value is the name of a backend and something that no name can hold.
fn first_almost_backend(map: &BundleFile, backends: &BTreeSet<&str>) -> Option<Diagnostic> {
    let foreign = |c: char| !c.is_ascii_alphanumeric() && !"-_.:".contains(c);
    first(map, |_, value| {
        let name = value.trim_matches(foreign);
        let is_almost = name != value && backends.contains(name);
        is_almost.then(|| {
            (
                format!("{value:?} is no backend, and {name:?} is one"),
                "Let the value be the backend's name alone",
            )
        })
    })
}

fn first_wildcard(map: &BundleFile) -> Option<Diagnostic> {
    first(map, |key, _| {
        key.starts_with("*.").then(|| {
            let what = format!(
                "no request is looked up as {key:?}: maps know no wildcards, and haproxy.cfg makes no \"*\""
            );
            (what, "Look up what stands in the map, as regsub(^[^.]+,*) makes it of a host")
        })
    })
}

/// What `wrong` says of the first line that is wrong, as a warning at that line.
fn first(
    map: &BundleFile,
    wrong: impl Fn(&str, &str) -> Option<(String, &'static str)>,
) -> Option<Diagnostic> {
    let text = map.text.to_string();
    let said = (1..).zip(text.lines()).find_map(|(number, line)| {
        let (key, value) = line.split_once(char::is_whitespace).filter(|_| !line.starts_with('#'))?;
        Some((number, wrong(key, value.trim())?))
    });
    let (number, (what, help)): (u32, _) = said?;
    let path = &map.path;
    Some(Diagnostic::warning("maps", format!("{path}:{number}: {what}")).help(help))
}

#[cfg(test)]
mod tests {
    use super::*;
    use haptic_model::FileKey;
    use haptic_text::Text;

    fn of_map(config: &str, map: &str) -> Vec<String> {
        let map = BundleFile::new(FileKey::new(FileKind::Map, "a.map"), "maps/a.map", Text::plain(map));
        let config = BundleFile::new(FileKey::config(), "haproxy.cfg", Text::plain(config));
        doubtful(&Bundle::new(config, [map])).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_value_that_is_almost_a_backend_is_told_once() {
        let config = "frontend f\n  bind :80\nbackend shop\n";
        let said = of_map(config, "# a shop/\na shop\nb shop/\nc shop/\n");
        assert!(said.len() == 1 && said[0].contains("maps/a.map:3: \"shop/\" is no backend"), "{said:?}");
        assert_eq!(of_map(config, "a shop/a/b\nb other/\nc yes\n"), [""; 0]);
    }

    #[test]
    fn a_wildcard_that_nobody_asks_for_is_told() {
        let rule =
            |made: &str| format!("frontend f\n  use_backend %[req.hdr(host),{made},map(maps/a.map)]\n");
        assert_eq!(of_map(&rule("regsub(^[^.]*,,)"), "*.a.example x\n").len(), 1);
        assert_eq!(of_map(&rule("regsub(^[^.]+,*)"), "*.a.example x\n"), [""; 0]);
        assert_eq!(of_map(&rule("lower"), "a.example x\n"), [""; 0]);
    }
}
