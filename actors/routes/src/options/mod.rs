//! What annotations ask for: read once, by the types of one table ([`table`]). Templates write values and read no texts.
//!
//! A value that cannot be read is a [`Refusal`], with what a user needs to set it right. Nothing here knows who gets requests.

mod affinity;
pub mod auth;
pub mod class;
pub(crate) mod class_objects;
pub mod client;
mod concurrency;
pub mod difference;
pub mod groups;
pub mod header;
mod health;
pub mod kind;
pub mod level;
mod mend;
pub mod network;
mod pages;
pub mod paths;
pub mod quantity;
pub mod rate;
mod redirects;
mod refusal;
pub mod request_key;
pub mod rewrites;
pub mod table;
mod tcp;
#[cfg(test)]
mod tests;
pub(crate) mod tls;
mod tries;
mod vain;
pub mod value;

pub use level::Written;
pub use mend::mended;
pub use refusal::{Refusal, Wrong};
pub(crate) use vain::{code_without_redirect, is_like_a_pattern, root_without_path, without_tls};

use crate::families::FamilySettings;
use class::Class;
use haptic_model::{Finding, FindingKind};
use level::Level;
use serde_json::{Map, Value as Json};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};
use table::{TABLE, With, row};
use value::OptionValue;

/// What our own annotations begin with.
pub const PREFIX: &str = "haproxy-haptic.org/";

/// What one of them may have: twice what any option takes. Of a larger one only its size is told.
pub(crate) const MOST_BYTES: usize = 64 << 10;

/// Options in the place of each other, the first before the second: of those at one level both cannot stand, of others the nearer counts.
const INSTEAD_OF: [[&str; 2]; 2] =
    [["server-ca-config-map", "server-ca-secret"], ["server-ca-secret", "server-ca-config-map"]];

/// So many times what comes in a period may come at once.
const MOST_BURST: u64 = 100;

/// What the configuration says of options.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Most networks of an option.
    pub networks: usize,
    /// Most origins.
    pub origins: usize,
    /// Most lines of headers.
    pub headers: usize,
    /// Ways of balancing.
    pub balance: Vec<String>,
    /// Options that templates of the user's own read, as text: ours by their names, annotations of others whole.
    pub own: Vec<String>,
    /// Whether HTTP is redirected to HTTPS where there is TLS.
    pub ssl_redirect: bool,
    /// Whether `appProtocol` of a Service's port counts where no annotation says what servers speak.
    pub app_protocol: bool,
    /// Whether Ingresses may have TLS passed through.
    pub passthrough: bool,
    /// Whether there are proxies whose X-Forwarded-For is believed.
    pub trusts_proxies: bool,
    /// What the class says.
    pub class: Class,
    /// Other controllers' annotations that are read.
    pub families: Arc<[FamilySettings]>,
}

impl Default for Settings {
    fn default() -> Self {
        let balance = ["roundrobin", "leastconn", "random", "source"].map(str::to_owned).into();
        Self {
            networks: 500,
            origins: 100,
            headers: 32,
            balance,
            own: Vec::new(),
            ssl_redirect: false,
            app_protocol: true,
            passthrough: false,
            trusts_proxies: false,
            class: Class::default(),
            families: Arc::default(),
        }
    }
}

impl Settings {
    /// Of `extraContext`: `annotationLimits`, `balanceAlgorithms`, `ingressOptions`, `sslRedirect`, `appProtocol`, `passthrough`, `trustedProxies`,
    /// `annotationFamilies` and `routes`.
    #[must_use]
    pub fn of(context: &Map<String, Json>) -> Self {
        let default = Self::default();
        let limit = |name: &str, otherwise: usize| {
            let limit = context.get("annotationLimits").and_then(|all| all.get(name)).and_then(Json::as_u64);
            limit.and_then(|limit| usize::try_from(limit).ok()).unwrap_or(otherwise)
        };
        let texts = |name: &str| {
            let all = context.get(name).and_then(Json::as_array)?;
            Some(all.iter().filter_map(Json::as_str).map(str::to_owned).collect())
        };
        let on = |value: &Json| matches!(value, Json::Bool(true)) || value.as_str() == Some("true");
        let settings = Self {
            networks: limit("networks", default.networks),
            origins: limit("origins", default.origins),
            headers: limit("headers", default.headers),
            balance: texts("balanceAlgorithms").unwrap_or(default.balance),
            own: texts("ingressOptions").unwrap_or_default(),
            ssl_redirect: context.get("sslRedirect").is_some_and(on),
            app_protocol: context.get("appProtocol").is_none_or(on),
            passthrough: context.get("passthrough").is_some_and(on),
            trusts_proxies: context
                .get("trustedProxies")
                .and_then(Json::as_array)
                .is_some_and(|all| !all.is_empty()),
            class: Class::default(),
            families: FamilySettings::of(context).into(),
        };
        Self { class: Class::of(context, &settings), ..settings }
    }
}

/// The options of one object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RouteOptions {
    /// Those of the table, as values.
    pub values: BTreeMap<&'static str, OptionValue>,
    /// Others, as they were written.
    pub others: BTreeMap<String, Arc<str>>,
    /// What cannot be read.
    pub refused: Vec<Refusal>,
    /// What does nothing, or something else than it may seem.
    pub ineffective: Vec<Finding>,
    /// Which are written in words of ours at the object, so that it can be told of them there.
    pub(crate) written: BTreeSet<&'static str>,
}

/// What is found at an option of ours.
pub(crate) fn finding(kind: FindingKind, option: &str, sentence: String) -> Finding {
    Finding::new(kind, sentence).at_annotation(&format!("{PREFIX}{option}"))
}

/// Whether nobody may get in where the option cannot be read; of those of a user's own nobody knows.
fn guards(option: &str, settings: &Settings) -> bool {
    let of_own = || option == paths::PATHS || settings.own.iter().any(|own| own == option);
    row(option).map_or_else(of_own, |row| row.guards)
}

/// What an annotation is called as an option: ours without [`PREFIX`], those of others whole.
fn option_of<'k>(key: &'k str, settings: &Settings) -> Option<&'k str> {
    let of_others = || settings.own.iter().any(|own| own == key && own.contains('/'));
    key.strip_prefix(PREFIX).or_else(|| of_others().then_some(key))
}

impl RouteOptions {
    /// Of annotations, by their names behind [`PREFIX`].
    #[must_use]
    pub fn read<'a>(written: impl IntoIterator<Item = (&'a str, &'a str)>, settings: &Settings) -> Self {
        Self::of_levels([Some(&Written::read(Level::Ingress, written, settings))], settings)
    }

    /// Of what stands at each level, the nearest first.
    #[must_use]
    pub fn of_levels<'w>(
        levels: impl IntoIterator<Item = Option<&'w Written>, IntoIter: DoubleEndedIterator>,
        settings: &Settings,
    ) -> Self {
        let mut options = Self { values: settings.class.defaults.clone(), ..Self::default() };
        let (mut unknown, mut own) = (Vec::new(), BTreeSet::new());
        for written in levels.into_iter().rev().flatten() {
            own.extend(written.values.keys().copied().filter(|_| !written.is_of_others));
            for [nearer, farther] in INSTEAD_OF {
                if written.values.contains_key(nearer) {
                    options.values.remove(farther);
                }
            }
            options.values.extend(written.values.iter().map(|(name, value)| (*name, value.clone())));
            options.others.extend(written.others.clone());
            options.refused.extend(written.refused.iter().cloned());
            let misplaced =
                |row: &&table::Row| finding(FindingKind::OptionWithoutEffect, row.name, row.misplaced());
            options.ineffective.extend(written.misplaced.iter().map(misplaced));
            unknown.extend(written.unknown());
        }
        options.written.clone_from(&own);
        options.set_against_each_other();
        if settings.class.enforced.is_empty() {
            own.clear();
        }
        let own = own.into_iter().filter_map(|name| Some((name, options.values.get(name)?.clone())));
        let own: Vec<(&'static str, OptionValue)> = own.collect();
        settings.class.enforce(&mut options.values);
        options.fill_in(settings);
        settings.class.enforce_rate(&mut options.values);
        let overridden = own.iter().filter(|(name, value)| options.values.get(name) != Some(value));
        let sentence = "does not count as it is written: the class enforces something else";
        let found = |(name, _): &(&'static str, OptionValue)| {
            finding(FindingKind::OptionWithoutEffect, name, format!("annotation {PREFIX}{name} {sentence}"))
        };
        options.ineffective.extend(overridden.map(found).collect::<Vec<_>>());
        options.leave_out_ineffective();
        options.ineffective.extend(unknown);
        options
    }

    /// The text of an option that is one.
    #[must_use]
    pub fn text(&self, name: &str) -> Option<&str> {
        match self.values.get(name)? {
            OptionValue::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Whether a switch is on.
    #[must_use]
    pub fn is_on(&self, name: &str) -> bool {
        self.values.get(name) == Some(&OptionValue::Switch(true))
    }

    fn refuse(&mut self, option: &str, text: &str, wanted: String) {
        self.values.remove(option);
        self.refused.push(Refusal::of_value(option, text, wanted));
    }

    /// What is wrong with options only because of others.
    fn set_against_each_other(&mut self) {
        for row in TABLE {
            if let With::Needs(other) = row.with
                && !self.values.contains_key(other)
                && self.values.remove(row.name).is_some()
                && !self.is_given(other)
            {
                self.refused.push(Refusal::alone(row.name, other));
            }
        }
        for [one, other] in INSTEAD_OF {
            if self.values.contains_key(other) && self.values.remove(one).is_some() {
                self.refused.push(Refusal::beside(one, other));
            }
        }
        let every = OptionValue::Names(["*".to_owned()].into());
        if self.values.get("cors-allow-credentials") == Some(&OptionValue::Switch(true))
            && self.values.get("cors-allow-origin") == Some(&every)
        {
            let wanted = "must be false where all origins are allowed: browsers refuse both together";
            self.refuse("cors-allow-credentials", "true", wanted.to_owned());
        }
        if self.values.contains_key("client-certificate-names")
            && self.text("client-certificate") == Some("optional")
        {
            let wanted = "must be required where client-certificate-names says whose it must be";
            self.refuse("client-certificate", "optional", wanted.to_owned());
        }
        if let (Some(OptionValue::Number(limit)), Some(OptionValue::Number(burst))) =
            (self.values.get("rate-limit"), self.values.get("rate-limit-burst"))
            && *burst > limit.saturating_mul(MOST_BURST)
        {
            let (burst, wanted) = (*burst, format!("must be up to {MOST_BURST} times rate-limit"));
            self.refuse("rate-limit-burst", &burst.to_string(), wanted);
        }
        // What is behind a URL is a path of it; behind a path it could be a host.
        if self.is_on("redirect-keep-path") && self.text("redirect-to").is_some_and(|to| to.starts_with('/'))
        {
            let wanted = "must be false where redirect-to is a path: only behind a URL the path is kept";
            self.refuse("redirect-keep-path", "true", wanted.to_owned());
        }
    }

    fn is_given(&self, option: &str) -> bool {
        self.values.contains_key(option) || self.refused.iter().any(|refusal| refusal.option == option)
    }

    /// The defaults of those that go with a given one.
    fn fill_in(&mut self, settings: &Settings) {
        for row in TABLE {
            if let With::Beside(other) = row.with
                && self.values.contains_key(other)
                && !self.values.contains_key(row.name)
                && let Ok(value) = row.kind.read(row.default, settings)
            {
                self.values.insert(row.name, value);
            }
        }
    }

    /// As templates read them.
    #[must_use]
    pub fn to_json(&self) -> Json {
        Json::Object(self.to_map())
    }

    fn to_map(&self) -> Map<String, Json> {
        let values = self.values.iter().map(|(name, value)| ((*name).to_owned(), value.to_json()));
        let others = self.others.iter().map(|(name, text)| (name.clone(), Json::from(&**text)));
        values.chain(others).collect()
    }
}
