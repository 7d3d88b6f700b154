//! The form in which paths are compared: what most servers read in them.
//!
//! Decoded once, `\` as `/`, slashes merged, `;parameters` removed, dot segments resolved; then what cannot stand in a path is
//! encoded again, so that a decoded `?`, `#`, `%` or control character never delimits anything. The library `base` has
//! HAProxy do the same with its converters (snippet `frontend-25-path`); a test asks both about the same paths.

use serde_json::{Map, Value};
use std::fmt;

/// A longer path is only taken in its normal form: HAProxy's buffer holds three times as many bytes.
pub const LONGEST: usize = 5_000;

/// The most levels of `/a/b/../..` that HAProxy resolves.
pub const DEEPEST: u8 = 8;

/// How paths of routes and requests are compared, `extraContext.paths`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Spelling {
    /// In their normal form.
    #[default]
    Normal,
    /// Byte by byte.
    Raw,
}

impl Spelling {
    /// The spelling that `extraContext.paths` asks for; also where requests of other spellings are refused their paths are those of the routes.
    #[must_use]
    pub fn of(extra_context: &Map<String, Value>) -> Self {
        match extra_context.get("paths").and_then(Value::as_str) {
            Some("raw") => Self::Raw,
            _ => Self::Normal,
        }
    }
}

/// A path in its normal form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NormalPath {
    /// Printable ASCII without blanks, `?`, `#`, `;` and `\`.
    pub text: String,
    /// The doubt about servers that read paths otherwise.
    pub doubt: Doubt,
}

/// Whether all servers read the same in a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Doubt {
    /// They do, or what some read lies below what others read.
    None,
    /// It has plain segments `..`: servers that do not resolve them read this.
    Unresolved(String),
    /// Servers differ in what is a dot segment, a separator or a parameter here.
    Ambiguous,
}

/// Why a path has no normal form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unreadable {
    /// `%00`.
    Nul,
    /// Longer than [`LONGEST`].
    TooLong,
    /// More than [`DEEPEST`] levels.
    TooDeep,
}

impl fmt::Display for Unreadable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nul => f.write_str("contains %00"),
            Self::TooLong => write!(f, "is longer than {LONGEST} bytes"),
            Self::TooDeep => write!(f, "goes up more than {DEEPEST} levels by .."),
        }
    }
}

/// The normal form of a path that begins with a slash.
///
/// # Errors
/// When it has none; requests for such a path are refused.
pub fn normal(path: &str) -> Result<NormalPath, Unreadable> {
    let raw = path.as_bytes();
    if path.contains("%00") {
        return Err(Unreadable::Nul);
    }
    let decoded = decoded(&without_parameters(raw));
    let segments = segments(&decoded);
    let (resolved, levels) = resolved(&segments);
    let text = written(&resolved);
    if text != path && raw.len() > LONGEST {
        return Err(Unreadable::TooLong);
    }
    if levels > DEEPEST {
        return Err(Unreadable::TooDeep);
    }
    let climbs = segments.contains(&&b".."[..]);
    let doubt = if (climbs && is_disguised(raw)) || has_separator_in_parameter(raw) {
        Doubt::Ambiguous
    } else if climbs {
        Doubt::Unresolved(written(&segments))
    } else {
        Doubt::None
    };
    Ok(NormalPath { text, doubt })
}

/// Whether the normal form has other segments than the path has by itself: more than an encoding changed.
#[must_use]
pub fn is_reshaped(path: &str, normal: &NormalPath) -> bool {
    encoded(&decoded(path.as_bytes())) != normal.text
}

/// The length of the separator that `path` begins with: a slash or backslash, encoded or not.
fn separator(path: &[u8]) -> Option<usize> {
    match path {
        [b'/' | b'\\', ..] => Some(1),
        [b'%', b'2', b'F' | b'f', ..] | [b'%', b'5', b'C' | b'c', ..] => Some(3),
        _ => None,
    }
}

/// From each `;` to the next separator.
fn without_parameters(path: &[u8]) -> Vec<u8> {
    let (mut kept, mut rest, mut parameter) = (Vec::with_capacity(path.len()), path, false);
    while let [first, after @ ..] = rest {
        parameter = (parameter || *first == b';') && separator(rest).is_none();
        if !parameter {
            kept.push(*first);
        }
        rest = after;
    }
    kept
}

/// Percent-decoded once; what is no escape stays.
fn decoded(path: &[u8]) -> Vec<u8> {
    let (mut bytes, mut rest) = (Vec::with_capacity(path.len()), path);
    while let [first, after @ ..] = rest {
        let escape = match rest {
            [b'%', high, low, after @ ..] => hex(*high).zip(hex(*low)).map(|(h, l)| (h * 16 + l, after)),
            _ => None,
        };
        let (byte, after) = escape.unwrap_or((*first, after));
        bytes.push(byte);
        rest = after;
    }
    bytes
}

fn hex(digit: u8) -> Option<u8> {
    char::from(digit).to_digit(16).and_then(|value| u8::try_from(value).ok())
}

/// The segments between separators, without empty ones and `.`; the last one is empty if the path ends with a separator or
/// a dot segment.
fn segments(path: &[u8]) -> Vec<&[u8]> {
    let mut all = path.split(|byte| matches!(byte, b'/' | b'\\'));
    let mut segments: Vec<&[u8]> = all.clone().filter(|s| !s.is_empty() && **s != b"."[..]).collect();
    if all.next_back().is_some_and(|last| last.is_empty() || *last == b"."[..] || *last == b".."[..]) {
        segments.push(b"");
    }
    segments
}

/// The segments without `..` and what each takes back, and how deep these pairs lie in one another.
fn resolved<'p>(segments: &[&'p [u8]]) -> (Vec<&'p [u8]>, u8) {
    let mut kept: Vec<(&[u8], u8)> = Vec::new();
    let mut deepest = 0_u8;
    for segment in segments {
        if *segment != b".." {
            kept.push((segment, 0));
        } else if let Some((_, inside)) = kept.pop() {
            let level = inside.saturating_add(1);
            deepest = deepest.max(level);
            if let Some((_, below)) = kept.last_mut() {
                *below = level.max(*below);
            }
        }
    }
    (kept.into_iter().map(|(segment, _)| segment).collect(), deepest)
}

fn written(segments: &[&[u8]]) -> String {
    let all: Vec<String> = segments.iter().map(|segment| encoded(segment)).collect();
    format!("/{}", all.join("/"))
}

/// As RFC 3986 lets it stand in a path, the rest as escapes in upper case.
fn encoded(bytes: &[u8]) -> String {
    let escaped = |byte: &u8| {
        let stays = byte.is_ascii_alphanumeric() || b"/-._~!$&'()*+,=:@".contains(byte);
        if stays { char::from(*byte).to_string() } else { format!("%{byte:02X}") }
    };
    bytes.iter().map(escaped).collect()
}

/// Whether servers may differ in what is a segment of this path: encoded dots and separators, backslashes, parameters,
/// empty segments.
fn is_disguised(path: &[u8]) -> bool {
    let escape = |w: &[u8]| matches!(w, [b'%', b'2', b'E' | b'e' | b'F' | b'f'] | [b'%', b'5', b'C' | b'c']);
    path.windows(3).any(escape)
        || path.windows(2).any(|w| w == b"//")
        || path.iter().any(|byte| matches!(byte, b'\\' | b';'))
}

/// Whether a parameter contains what only some servers take for a separator.
fn has_separator_in_parameter(path: &[u8]) -> bool {
    path.split(|byte| *byte == b'/').any(|segment| {
        let parameter = segment.iter().position(|byte| *byte == b';');
        let parameter = parameter.and_then(|at| segment.get(at..)).unwrap_or_default();
        (0..parameter.len()).any(|at| parameter.get(at..).and_then(separator).is_some())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(path: &str) -> String {
        normal(path).map_or_else(|why| why.to_string(), |normal| normal.text)
    }

    #[test]
    fn each_spelling_of_a_path_has_its_normal_form() {
        let spellings = [
            "/admin",
            "//admin",
            "/%61dmin",
            "/./admin",
            "/x/../admin",
            "/admin;v=1",
            "\\admin",
            "/%5Cadmin",
            "/%2e/admin",
            "/x/%2E%2e/admin",
            "/../admin",
            "/;x/admin",
            "/%2Fadmin",
            "/.;y/admin",
            "/x/y/../../admin",
        ];
        for spelling in spellings {
            assert_eq!(text(spelling), "/admin", "{spelling}");
        }
        for below in ["/admin/", "/admin%2F", "/admin/.", "/admin;x/", "/admin/x/..", "/admin%5c"] {
            assert_eq!(text(below), "/admin/", "{below}");
        }
    }

    #[test]
    fn what_is_data_stays_data() {
        let same = [
            "/a%3Fb",
            "/a%23b",
            "/a%3Bb",
            "/%252e%252e/a",
            "/caf%C3%A9",
            "/a%20b",
            "/a%0A",
            "/...",
            "/..a/b..",
            "/A",
        ];
        for path in same {
            assert_eq!(text(path), path);
        }
        assert_eq!(text("/a%zz"), "/a%25zz");
        assert_eq!(text("/a%2"), "/a%252");
        assert_eq!(text("/a+b%2Bc%40d"), "/a+b+c@d");
        assert_eq!(text("/caf\u{e9}|%7c"), "/caf%C3%A9%7C%7C");
        assert_eq!(text("/public%3F/../admin"), "/admin");
        assert_eq!(text("/a/..%0A"), "/a/..%0A");
    }

    #[test]
    fn what_has_no_normal_form_is_refused() {
        assert_eq!(normal("/a%00"), Err(Unreadable::Nul));
        assert_eq!(normal(&format!("/{}", "%61".repeat(2_000))), Err(Unreadable::TooLong));
        assert_eq!(text(&format!("/{}", "a".repeat(9_000))).len(), 9_001);
        let deep = |levels: usize| format!("{}{}/b", "/a".repeat(levels), "/..".repeat(levels));
        assert_eq!(text(&deep(8)), "/b");
        assert_eq!(normal(&deep(9)), Err(Unreadable::TooDeep));
        assert_eq!(text(&"/a/..".repeat(500)), "/");
    }

    #[test]
    fn it_is_in_doubt_where_servers_go_up_differently() {
        let doubt = |path: &str| normal(path).map(|normal| normal.doubt);
        assert_eq!(doubt("//a/./%61;x"), Ok(Doubt::None));
        assert_eq!(doubt("/admin/../public"), Ok(Doubt::Unresolved("/admin/../public".into())));
        for path in [
            "/admin/%2e%2e/public",
            "/a/x%2F..%2F..%2Fb",
            "/a/..;/b",
            "//a/../b",
            "/a\\..\\b",
            "/a;%2Fz/b",
            "/a;\\b",
        ] {
            assert_eq!(doubt(path), Ok(Doubt::Ambiguous), "{path}");
        }
    }

    #[test]
    fn an_encoding_alone_reshapes_nothing() {
        let reshaped = |path: &str| normal(path).is_ok_and(|normal| is_reshaped(path, &normal));
        for path in ["/a", "/caf\u{e9}", "/%61", "/a%20b", "/"] {
            assert!(!reshaped(path), "{path}");
        }
        for path in ["/a//b", "/a;x", "/a/../b", "/a/.", "/a\\b"] {
            assert!(reshaped(path), "{path}");
        }
    }
}
