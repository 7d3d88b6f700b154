//! One key of a family: a row of its table.

use super::values::ValueReader;

/// The facts about a key.
#[derive(Clone, Copy, Debug)]
pub struct FamilyKey {
    /// Behind the prefix; rows are in the order of their names.
    pub name: &'static str,
    /// How its value is read.
    pub value: ValueReader,
    /// Where it may stand; elsewhere it has no effect, and that is said.
    pub places: &'static [KeyPlace],
    /// The effect of a value that cannot be read.
    pub wrong: WrongValue,
    /// The translation of it.
    pub to: KeyTarget,
    /// How near that comes to what its own controller does.
    pub outcome: KeyOutcome,
    /// Values with which nobody sees a difference, whatever the outcome of others is.
    pub same: &'static [&'static str],
}

/// Where a key stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyPlace {
    /// On an Ingress.
    Ingress,
    /// On the Service that a route leads to.
    Service,
    /// In the ConfigMap of the family's own controller, given by the setting `config`.
    Config,
}

/// The effect of a value that cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WrongValue {
    /// It is as if it was not there.
    Default,
    /// All requests get 503.
    Deny,
    /// Nothing of the Ingress is served.
    Drop,
}

/// The translation of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyTarget {
    /// The value of this option.
    Option(&'static str),
    /// Code reads it together with others; these are the options that it may set, for the reference.
    Group(&'static [&'static str]),
    /// Nothing: what it asks for is so, or has no effect that anybody could see.
    Nothing,
    /// Another name of this key, which counts where both are given.
    Alias(&'static str),
}

/// How near it comes to what its own controller does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyOutcome {
    /// Nobody sees a difference.
    Served,
    /// Nobody sees one but for these values, which are found where they stand.
    ServedBut(&'static str),
    /// This is different.
    Differs(&'static str),
    /// It has no effect: what there is instead.
    Finding(&'static str),
}

/// Keys with lines of their controller's own proxy.
const SNIPPETS: [&str; 6] = [
    "backend-config-snippet",
    "config-backend",
    "config-backend-early",
    "config-backend-late",
    "configuration-snippet",
    "server-snippet",
];

impl FamilyKey {
    /// Whether its text is lines of its controller's own proxy: they may keep requests out.
    #[must_use]
    pub fn is_snippet(&self) -> bool {
        SNIPPETS.contains(&self.name)
    }

    /// The same, read so.
    pub(super) const fn reads(self, value: ValueReader) -> Self {
        Self { value, ..self }
    }

    /// The same at other places.
    pub(super) const fn at(self, places: &'static [KeyPlace]) -> Self {
        Self { places, ..self }
    }

    /// The same, the value of an option.
    pub(super) const fn sets(self, option: &'static str) -> Self {
        Self { to: KeyTarget::Option(option), ..self }
    }

    /// The same, read by code that may set these options.
    pub(super) const fn may_set(self, options: &'static [&'static str]) -> Self {
        Self { to: KeyTarget::Group(options), ..self }
    }

    /// The same, where a value that cannot be read does this.
    pub(super) const fn wrong(self, wrong: WrongValue) -> Self {
        Self { wrong, ..self }
    }

    /// The same, with this difference.
    pub(super) const fn differs(self, how: &'static str) -> Self {
        Self { outcome: KeyOutcome::Differs(how), ..self }
    }

    /// The same, whose effect is the same but for these values.
    pub(super) const fn served_but(self, which: &'static str) -> Self {
        Self { outcome: KeyOutcome::ServedBut(which), ..self }
    }

    /// The same, without effect: what there is instead.
    pub(super) const fn cannot(self, instead: &'static str) -> Self {
        Self { outcome: KeyOutcome::Finding(instead), ..self }
    }

    /// The same; with these values nobody sees a difference.
    pub(super) const fn same(self, same: &'static [&'static str]) -> Self {
        Self { same, ..self }
    }
}

/// A key of which any text counts, at Ingresses, for nothing.
pub(super) const fn key(name: &'static str) -> FamilyKey {
    FamilyKey {
        name,
        value: super::values::TEXT,
        places: &[KeyPlace::Ingress],
        wrong: WrongValue::Default,
        to: KeyTarget::Nothing,
        outcome: KeyOutcome::Served,
        same: &[],
    }
}

/// Another name of the key `of`.
pub(super) const fn alias(name: &'static str, of: &'static str) -> FamilyKey {
    FamilyKey { to: KeyTarget::Alias(of), ..key(name) }
}
