//! Objects that the class names for the routes of others: in any namespace, as only the operator can.

use super::{class::Class, difference::GroupOptions, value::OptionValue};
use crate::{
    claims::{Backend, QualifiedName},
    names::name_of,
};
use haptic_model::host_name::is_host;
use haptic_text::Digest;
use std::sync::Arc;

/// The option for pages in place of errors.
const PAGES: &str = "error-pages";
/// The option for those that take the place of servers' answers.
const PAGES_REPLACE: &str = "error-pages-replace";
/// Both.
pub(crate) const PAGES_OPTIONS: [&str; 2] = [PAGES, PAGES_REPLACE];
/// Of a group the profile that has its pages.
pub(crate) const PAGES_PROFILE: &str = "pages-profile";
/// The option for who gets the requests that a route cannot serve.
pub(crate) const SERVICE: &str = "default-service";
/// The option for the certificate of hosts that have none.
const CERTIFICATE: &str = "default-certificate";

/// In the place of an Ingress in the name of a backend. No Ingress is called so, and no group of its paths.
const BACKEND_OF: &str = "class:default";
/// The digits that tell the profiles with pages apart.
const DIGITS: usize = 8;

/// Pages that all routes of a class have: they stand in profiles of their own, which backends share.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ClassPages {
    pub config_map: QualifiedName,
    /// Whether they take the place of servers' answers, too.
    pub replace: bool,
    /// The ending of the names of its profiles.
    pub profile: String,
}

/// A Service for the requests that a route cannot serve.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ClassService {
    pub namespace: Arc<str>,
    pub backend: Backend,
    /// The name of its backend.
    pub name: String,
}

/// `NAMESPACE/NAME`.
pub(crate) fn qualified_name(text: &str) -> Option<QualifiedName> {
    let (namespace, name) = text.split_once('/')?;
    let is_name = is_namespace(namespace) && is_host(name) && !name.starts_with('*');
    is_name.then(|| (namespace.into(), name.into()))
}

/// `NAMESPACE/NAME:PORT`.
pub(crate) fn qualified_service(text: &str) -> Option<ClassService> {
    let (namespace, service) = text.split_once('/')?;
    let backend = Backend::of(service)?;
    let parts = [namespace, BACKEND_OF, &*backend.service, &backend.port.to_string()];
    let name = is_namespace(namespace).then(|| name_of(&parts, "").ok()).flatten()?;
    Some(ClassService { namespace: namespace.into(), backend, name })
}

fn is_namespace(text: &str) -> bool {
    is_host(text) && !text.contains(['.', '*'])
}

impl ClassPages {
    fn of(config_map: &str, replace: bool) -> Option<Self> {
        let digest = Digest::of(format!("{config_map} {replace}").as_bytes()).to_string();
        let profile = format!("pages-{}", digest.get(..DIGITS).unwrap_or_default());
        Some(Self { config_map: qualified_name(config_map)?, replace, profile })
    }
}

impl Class {
    fn text(&self, option: &str) -> Option<&str> {
        match self.enforced.get(option).or_else(|| self.defaults.get(option))? {
            OptionValue::Text(text) => Some(text),
            _ => None,
        }
    }

    pub(crate) fn pages(&self) -> Option<ClassPages> {
        ClassPages::of(self.text(PAGES)?, self.text(PAGES_REPLACE) == Some("all"))
    }

    pub(crate) fn service(&self) -> Option<ClassService> {
        qualified_service(self.text(SERVICE)?)
    }

    pub(crate) fn certificate(&self) -> Option<QualifiedName> {
        qualified_name(self.text(CERTIFICATE)?)
    }

    /// The profile of routes with these options, if their pages are those of the class as it shows them.
    pub(crate) fn profile_of(&self, options: GroupOptions<'_>) -> Option<String> {
        let own = ClassPages::of(options.text(PAGES)?, options.text(PAGES_REPLACE) == Some("all"))?;
        self.pages().filter(|pages| *pages == own).map(|pages| pages.profile)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_class_names_has_a_namespace() {
        for (text, is_name) in [
            ("edge/pages", true),
            ("edge/pages.shop", true),
            ("pages", false),
            ("/pages", false),
            ("edge/", false),
            ("edge/a/b", false),
            ("Edge/pages", false),
            ("edge.a/pages", false),
        ] {
            assert_eq!(qualified_name(text).is_some(), is_name, "{text}");
        }
        for (text, name) in [
            ("edge/sorry:80", Some("edge_class:default_sorry_80")),
            ("edge/sorry:web", Some("edge_class:default_sorry_web")),
            ("edge/sorry", None),
            ("sorry:80", None),
            ("*/sorry:80", None),
        ] {
            assert_eq!(qualified_service(text).map(|service| service.name).as_deref(), name, "{text}");
        }
    }
}
