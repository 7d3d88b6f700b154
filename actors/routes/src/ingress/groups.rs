//! The groups of an Ingress's routes: with their options, what HAProxy reads of them together.

use crate::{
    claims::{Backend, Fields, RouteGroup, ToHttps, choices::Choices},
    matching::{lists::encoded, regex_cost::asked_of_values},
    options::{
        self, Settings,
        class_objects::{self, qualified_service},
        difference::GroupOptions,
        groups::OptionGroup,
        shared_lines::{self, SharedLines},
    },
};
use serde_json::{Map, Value, json};
use std::sync::Arc;

/// The things that decide besides the options themselves.
#[derive(Clone, Copy)]
pub(super) struct GroupedBy<'g> {
    pub(super) namespace: &'g str,
    pub(super) settings: &'g Settings,
    pub(super) shared: &'g SharedLines,
}

impl GroupedBy<'_> {
    /// The groups of these options, the first of which are those of the object as a whole.
    pub(super) fn groups(self, all: Vec<OptionGroup>) -> Vec<RouteGroup> {
        let (mut all, none) = (all.into_iter(), Map::new());
        let Some(OptionGroup { id, options: mut of_object }) = all.next() else { return Vec::new() };
        let first = self.group(id, &mut of_object, &none);
        let others = all.map(|OptionGroup { id, mut options }| {
            let group = self.group(id, &mut options, &of_object);
            RouteGroup { options: options.into(), ..group }
        });
        let others: Vec<RouteGroup> = others.collect();
        let first = RouteGroup { options: of_object.into(), ..first };
        std::iter::once(first).chain(others).collect()
    }

    /// The group of these options, in which what its choices are is added as HAProxy reads them.
    fn group(self, id: Arc<str>, own: &mut Map<String, Value>, of_object: &Map<String, Value>) -> RouteGroup {
        let options = GroupOptions { own, of_object };
        let choices = Choices::of(options);
        let pages = self.settings.class.profile_of(options);
        let lines = self.shared.profile_of(options).map(str::to_owned);
        let group = RouteGroup {
            id,
            suffix: suffix_of(options, pages.as_deref(), lines.as_deref()),
            to_https: to_https(options, self.settings),
            others: choices.backends(),
            asks_for_passwords: options.text("auth-secret").is_some(),
            options: Fields::default(),
        };
        let name_of = |backend: &Backend| group.name_of(self.namespace, backend);
        let made = [
            ("choice", choices.text(options, name_of)),
            ("mirror", choices.mirror().map(name_of)),
            ("default-backend", choices.default().map(name_of).or_else(|| service_of_class(options))),
            (class_objects::PAGES_PROFILE, pages),
            (shared_lines::LINES_PROFILE, lines),
            (shared_lines::BODY_FILTER, self.shared.count_bodies_apart(options).then(|| "own".to_owned())),
            ("errors", choices.errors().map(name_of)),
            ("cors-origins", origins_of(options)),
        ];
        if let Some(window) = options.text("rate-limit-period").and_then(options::rate::window) {
            own.insert(window, json!(true));
        }
        for (name, text) in made {
            if text.is_some() || of_object.contains_key(name) {
                own.insert(name.to_owned(), json!(text));
            }
        }
        group
    }
}

/// The ending of the names of backends with these options.
fn suffix_of(options: GroupOptions<'_>, pages: Option<&str>, lines: Option<&str>) -> Box<str> {
    let affinity = options.text("affinity").map(|_| "cookie");
    let parts = [options.text("balance"), affinity, options.text("protocol"), pages, lines];
    let suffix: String = parts.into_iter().flatten().map(|part| format!("_{part}")).collect();
    suffix.into()
}

fn to_https(options: GroupOptions<'_>, settings: &Settings) -> ToHttps {
    match options.text("ssl-redirect") {
        Some("always") => ToHttps::Always,
        Some("false") => ToHttps::Never,
        None if !settings.ssl_redirect => ToHttps::Never,
        _ => ToHttps::WithTls,
    }
}

/// The backend of the Service that a class names for what a route cannot serve.
fn service_of_class(options: GroupOptions<'_>) -> Option<String> {
    Some(qualified_service(options.text(class_objects::SERVICE)?)?.name)
}

/// The expression for origins whose pages may ask, as HAProxy's Lua reads it.
fn origins_of(options: GroupOptions<'_>) -> Option<String> {
    let regex = options.get("cors-allow-origin-regex")?;
    let pattern = regex.get("pattern").and_then(Value::as_str).unwrap_or_default();
    let longest = regex.get("longestPath").map_or_else(String::new, Value::to_string);
    Some(format!("{},{longest}", encoded(&asked_of_values(pattern))))
}
