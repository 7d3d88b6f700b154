//! What of an Ingress no HTTPRoute says.

use crate::migrate::{Family, verdicts::options_of};
use haptic_routes::{
    families::KeyTarget,
    options::{
        PREFIX, RouteOptions,
        table::{With, row},
        value::OptionValue,
    },
};
use std::collections::{BTreeMap, HashSet};

/// Options that something of an HTTPRoute says, or that say how others are meant.
const CARRIED: [&str; 40] = [
    "add-request-headers",
    "add-response-headers",
    "canary-header",
    "canary-header-pattern",
    "canary-header-value",
    "canary-service",
    "canary-weight",
    "cors-allow-credentials",
    "cors-allow-headers",
    "cors-allow-methods",
    "cors-allow-origin",
    "cors-expose-headers",
    "cors-max-age",
    "host-rewrite",
    "match-headers",
    "match-headers-regex",
    "match-methods",
    "match-query",
    "match-query-regex",
    "mirror-percent",
    "mirror-service",
    "path-type",
    "redirect-absolute",
    "redirect-code",
    "redirect-early",
    "redirect-first",
    "redirect-host",
    "redirect-keep-path",
    "redirect-to",
    "remove-request-headers",
    "remove-response-headers",
    "request-headers",
    "response-headers",
    "rewrite-path",
    "rewrite-target",
    "ssl-redirect",
    "ssl-redirect-code",
    "ssl-redirect-port",
    "timeout-server",
    "weights",
];

/// What is not carried, in sentences.
#[derive(Debug)]
pub(super) struct Leftovers<'l> {
    family: Family,
    annotations: &'l BTreeMap<String, String>,
    /// In the order in which it is met.
    pub said: Vec<String>,
    known: HashSet<String>,
    /// Why the Ingress must stay: without something of it more would get in, or would lead elsewhere.
    pub stays: Option<String>,
}

impl<'l> Leftovers<'l> {
    pub fn new(family: Family, annotations: &'l BTreeMap<String, String>) -> Self {
        Self { family, annotations, said: Vec::new(), known: HashSet::new(), stays: None }
    }

    pub fn say(&mut self, sentence: String) {
        if self.known.insert(sentence.clone()) {
            self.said.push(sentence);
        }
    }

    /// Of something without which there is no route.
    pub fn keep(&mut self, sentence: String) {
        self.stays.get_or_insert_with(|| sentence.clone());
        self.say(sentence);
    }

    /// Of an option: why it is not carried. One that guards access keeps the Ingress.
    pub fn option(&mut self, option: &str, why: &str) {
        let sentence = format!("{}: {why}", self.annotation_of(option));
        if row(option).is_some_and(|row| row.guards) { self.keep(sentence) } else { self.say(sentence) }
    }

    /// The same of one without which requests lead elsewhere.
    pub fn deciding(&mut self, option: &str, why: &str) {
        self.keep(format!("{}: {why}", self.annotation_of(option)));
    }

    /// All that options say and no HTTPRoute does, but what `plain` says without any annotation.
    pub fn options(&mut self, options: &RouteOptions, plain: &RouteOptions) {
        for refusal in &options.refused {
            self.keep(format!("{PREFIX}{}: it cannot be read", refusal.option));
        }
        for (option, value) in &options.values {
            let is_plain = plain.values.get(option) == Some(value);
            let is_off = *value == OptionValue::Switch(false) && *option != "access-log";
            let is = |name: &str, text: &str| *option == name && *value == OptionValue::Text(text.to_owned());
            let is_usual = is("protocol", "h1") || is("canary-sticky", "false");
            let is_in_vain = is("canary-sticky", "all") && !options.values.contains_key("affinity");
            let says_nothing = is_off || is_usual || is_in_vain;
            if CARRIED.contains(option) || is_plain || says_nothing || goes_with(option, options) {
                continue;
            }
            match *option {
                "ssl-passthrough" => self.deciding(option, instead(option)),
                _ if option.starts_with("rewrite-") => {
                    self.deciding(option, "filter URLRewrite has no expressions");
                }
                _ => self.option(option, instead(option)),
            }
        }
        for option in options.others.keys() {
            self.option(option, "only templates of the user's own read it");
        }
    }

    /// Where an option is said.
    fn annotation_of(&self, option: &str) -> String {
        let own = format!("{PREFIX}{option}");
        let of_family = |annotation: &&String| {
            let name = self.family.behind_prefix(annotation);
            let key = name.and_then(|name| self.family.key(name)).and_then(|key| match key.to {
                KeyTarget::Alias(name) => self.family.key(name),
                _ => Some(key),
            });
            key.is_some_and(|key| options_of(key).contains(&option))
        };
        match self.annotations.keys().find(of_family) {
            Some(annotation) if !self.annotations.contains_key(&own) => annotation.clone(),
            _ => own,
        }
    }
}

/// Whether it goes with another option that is not carried either.
fn goes_with(option: &str, options: &RouteOptions) -> bool {
    match row(option).map(|row| row.with) {
        Some(With::Needs(other) | With::Beside(other)) => {
            options.values.contains_key(other) && !CARRIED.contains(&other)
        }
        Some(With::Nothing) | None => false,
    }
}

/// What there is in place of an option.
fn instead(option: &str) -> &'static str {
    let begins = |start: &str| option.starts_with(start);
    match option {
        "protocol" => {
            "the Service's port says it by appProtocol: kubernetes.io/h2c, or a BackendTLSPolicy of the Service for TLS"
        }
        "auth-url" => {
            "filter ExternalAuth asks for the path of the request behind another one, which is another question"
        }
        "ssl-passthrough" => "a TLSRoute passes TLS through",
        "app-root" => "make a rule for Exact / with filter RequestRedirect, which keeps the query",
        _ if begins("server-") => "a BackendTLSPolicy of the Service says how servers prove who they are",
        _ if begins("client-c") => {
            "spec.tls.frontend of the Gateway says which certificates clients must show"
        }
        _ if begins("tcp-") => "a TCPRoute leads there",
        _ => "no HTTPRoute says it",
    }
}
