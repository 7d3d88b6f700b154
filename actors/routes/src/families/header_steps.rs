//! Rules for headers, one after the other, as options that have no order: what a later rule makes of a header counts.

use super::translation::Translation;
use crate::{
    options::{
        header::{Header, HeadersOf},
        value::OptionValue,
    },
    sentences::shortened,
};

/// What one rule does with a header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum HeaderStep {
    /// It has this value alone.
    Set(String, String),
    /// It has this value, too.
    Add(String, String),
    /// It is not there.
    Remove(String),
}

/// The options for headers of one direction. Headers are removed first, then set, then added to.
#[derive(Clone, Copy, Debug)]
pub(super) struct HeadersTo {
    /// Whose headers they are.
    pub of: HeadersOf,
    set: &'static str,
    add: &'static str,
    remove: &'static str,
}

impl HeadersTo {
    /// What servers get.
    pub const SERVERS: Self = Self {
        of: HeadersOf::Requests,
        set: "request-headers",
        add: "add-request-headers",
        remove: "remove-request-headers",
    };
    /// What clients get.
    pub const CLIENTS: Self = Self {
        of: HeadersOf::Answers,
        set: "response-headers",
        add: "add-response-headers",
        remove: "remove-response-headers",
    };

    /// Has these steps behind what is said already. What the options cannot say of them is left out, and that is told.
    pub fn take<'s>(
        self,
        steps: impl IntoIterator<Item = &'s HeaderStep>,
        key: &str,
        out: &mut Translation<'_>,
    ) {
        for step in steps {
            let (option, name, text) = match step {
                HeaderStep::Set(name, value) => (self.set, name, format!("{name}: {value}")),
                HeaderStep::Add(name, value) => (self.add, name, format!("{name}: {value}")),
                HeaderStep::Remove(name) => (self.remove, name, name.clone()),
            };
            if let Err(wanted) = out.read(option, &text) {
                out.differs(key, &format!("has {:?}, which {wanted}: it is left out", shortened(&text)));
                continue;
            }
            if option != self.add {
                self.forget(name, out);
            }
            if !out.add_line(option, &text, key) {
                return;
            }
        }
    }

    /// What was said of a header before it is removed or set counts no more.
    fn forget(self, name: &str, out: &mut Translation<'_>) {
        for option in [self.set, self.add] {
            let Some(OptionValue::Headers(headers)) = out.values.get(option) else { continue };
            let others = headers.iter().filter(|header| !header.name.eq_ignore_ascii_case(name));
            let others: Vec<Header> = others.cloned().collect();
            match others.is_empty() {
                true => drop(out.values.remove(option)),
                false => out.set_value(option, OptionValue::Headers(others.into())),
            }
        }
    }
}
