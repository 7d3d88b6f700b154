//! A program that signs clients in, at a path of the host itself: the Service of that path is asked.

use crate::{
    claims::{Backend, Port},
    options::{
        auth_url::AuthUrl,
        value::{OptionValue, OptionValues},
    },
};
use memchr::memmem;

/// The demand of `oauth` of jcmoraisjr/haproxy-ingress.
#[derive(Clone, Debug, PartialEq)]
pub struct SignIn {
    /// The path of the program, without a slash at its end.
    pub prefix: String,
    /// The options of routes beside the service that is asked.
    pub options: OptionValues,
}

/// The part of paths that such programs have. Others are not remembered, and not found.
const PART: &str = "auth";

/// Whether an object may have a path of such a program.
#[must_use]
pub fn may_have_program(json: &[u8]) -> bool {
    memmem::find(json, PART.as_bytes()).is_some()
}

/// A path as programs are looked up by it, if it may be that of one.
#[must_use]
pub fn path_of_program(path: &str) -> Option<&str> {
    path.contains(PART).then(|| path.trim_end_matches('/'))
}

impl SignIn {
    /// Whether a path is the program's: its pages need no sign-in.
    #[must_use]
    pub fn has(&self, path: &str) -> bool {
        path.strip_prefix(self.prefix.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    }

    /// The options of a route of a host where `program` has the path; where nobody has it, nobody gets in.
    #[must_use]
    pub fn options_with(&self, program: Option<&Backend>) -> OptionValues {
        let asked = program.and_then(|Backend { service, port }| match port {
            Port::Number(port) => AuthUrl::of(&format!("http://{service}:{port}{}/auth", self.prefix)).ok(),
            Port::Name(_) => None,
        });
        let Some(asked) = asked else { return OptionValues::from([("closed", OptionValue::Switch(true))]) };
        let mut options = self.options.clone();
        options.insert("auth-url", OptionValue::AuthUrl(asked));
        options
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_no_program_has_the_path_nobody_gets_in() {
        let sign_in = SignIn { prefix: "/oauth2".into(), options: OptionValues::new() };
        let program = |port| Backend { service: "sso".into(), port };
        let asked = sign_in.options_with(Some(&program(Port::Number(4180))));
        let Some(OptionValue::AuthUrl(url)) = asked.get("auth-url") else { panic!("{asked:?}") };
        assert_eq!((url.uri.as_str(), url.port), ("/oauth2/auth", 4180));
        let closed = OptionValues::from([("closed", OptionValue::Switch(true))]);
        assert_eq!(sign_in.options_with(None), closed);
        assert_eq!(sign_in.options_with(Some(&program(Port::Name("web".into())))), closed);
    }

    #[test]
    fn its_own_pages_are_below_its_path() {
        let sign_in = SignIn { prefix: "/oauth2".into(), options: OptionValues::new() };
        let open =
            ["/oauth2", "/oauth2/", "/oauth2/start", "/oauth22", "/", ""].map(|path| sign_in.has(path));
        assert_eq!(open, [true, true, true, false, false, false]);
        assert_eq!(path_of_program("/oauth2/"), Some("/oauth2"));
        assert_eq!(path_of_program("/app"), None);
    }
}
