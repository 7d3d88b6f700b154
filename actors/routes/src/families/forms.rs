//! How families compare paths, and what takes the place of a path's beginning.

use crate::matching::{
    Match, MatchShape, path,
    patterns::{self, Pattern, Rewrite},
};

/// The forms that a family gives the paths of an Ingress.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ForeignForms {
    /// How those of the type ImplementationSpecific are compared.
    pub unspecific: PathForm,
    /// The text in place of the beginning that matched.
    pub target: Option<String>,
}

/// How a path is compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PathForm {
    /// Element by element.
    #[default]
    Elements,
    /// As a whole.
    Whole,
    /// Character by character; a slash at its end does not count.
    Characters,
    /// Character by character, in small or capital letters.
    AnyCase,
    /// As a regular expression for the beginning.
    Regex,
}

impl ForeignForms {
    /// How a path is compared where that is not the usual way. `raw`: paths are compared as they are written.
    ///
    /// # Errors
    /// Why no request has such a path, or why the expression cannot be used.
    #[must_use]
    pub fn pattern(&self, text: &str, path_type: Option<&str>, raw: bool) -> Option<Result<Pattern, String>> {
        let form = match path_type {
            Some("Exact") => PathForm::Whole,
            Some("Prefix") => PathForm::Elements,
            Some("ImplementationSpecific") | None => self.unspecific,
            Some(_) => return None,
        };
        let is_usual = match form {
            PathForm::Elements => true,
            PathForm::Whole => path_type == Some("Exact"),
            _ => false,
        };
        if is_usual && self.target.is_none() {
            return None;
        }
        if form == PathForm::Regex {
            return Some(patterns::read(text, self.target.as_deref()));
        }
        let path = if raw { Ok(text.to_owned()) } else { path::normal(text).map(|normal| normal.text) };
        Some(path.map_err(|why| why.to_string()).map(|path| self.literal(form, &path)))
    }

    /// The rewrite of paths that no path of the Ingress takes: they are those below `/`.
    #[must_use]
    pub fn of_rest(&self) -> Option<Pattern> {
        self.target.is_some().then(|| self.literal(PathForm::Elements, "/"))
    }

    fn literal(&self, form: PathForm, path: &str) -> Pattern {
        let wanted = match form {
            PathForm::Whole => Match::exact("", path),
            PathForm::Characters => Match::beginning("", path.strip_suffix('/').unwrap_or(path), false),
            PathForm::AnyCase => Match::beginning("", path, true),
            PathForm::Elements | PathForm::Regex => Match::prefix("", path),
        };
        let rewrite = self.target.as_deref().map(|target| swapped(path, target, &wanted.shape));
        Pattern::literal(wanted, rewrite)
    }
}

/// The rewrite of a path to `target` and the rest, of which a slash is no part where `target` is `/` or the path ends with one.
fn swapped(path: &str, target: &str, shape: &MatchShape) -> Rewrite {
    let ends = path.ends_with('/');
    let target = if ends && !target.ends_with('/') { format!("{target}/") } else { target.to_owned() };
    // Of a prefix the slash at its end was taken away.
    if target == "/" || (ends && *shape == MatchShape::Prefix) {
        Rewrite::Below(target)
    } else {
        Rewrite::Rest(target)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rewrite(path: &str, path_type: Option<&str>, target: &str) -> Rewrite {
        let paths = ForeignForms { unspecific: PathForm::AnyCase, target: Some(target.to_owned()) };
        paths.pattern(path, path_type, false).unwrap().unwrap().rewrite.unwrap()
    }

    #[test]
    fn a_target_takes_the_place_of_what_matched() {
        for path_type in [None, Some("Prefix")] {
            assert_eq!(rewrite("/abc", path_type, "/"), Rewrite::Below("/".into()));
            assert_eq!(rewrite("/abc", path_type, "/y"), Rewrite::Rest("/y".into()));
            assert_eq!(rewrite("/app", path_type, "/v1/"), Rewrite::Rest("/v1/".into()));
            assert_eq!(rewrite("/", path_type, "/v1"), Rewrite::Below("/v1/".into()));
        }
        assert_eq!(rewrite("/app/", Some("Prefix"), "/v1"), Rewrite::Below("/v1/".into()));
        assert_eq!(rewrite("/app/", None, "/v1"), Rewrite::Rest("/v1/".into()));
        assert_eq!(rewrite("/app", Some("Exact"), "/v1"), Rewrite::Rest("/v1".into()));
    }

    #[test]
    fn what_is_compared_in_the_usual_way_is_no_pattern() {
        let of = |unspecific, path_type| {
            let paths = ForeignForms { unspecific, target: None };
            paths.pattern("/a", path_type, false).map(|pattern| pattern.unwrap().of("h").shape)
        };
        assert_eq!(of(PathForm::AnyCase, Some("Prefix")), None);
        assert_eq!(of(PathForm::AnyCase, Some("Exact")), None);
        assert_eq!(of(PathForm::Elements, None), None);
        assert_eq!(of(PathForm::AnyCase, None), Some(MatchShape::AnyCase));
        assert_eq!(of(PathForm::Characters, Some("ImplementationSpecific")), Some(MatchShape::Beginning));
        assert_eq!(of(PathForm::Whole, None), Some(MatchShape::Exact));
    }
}
