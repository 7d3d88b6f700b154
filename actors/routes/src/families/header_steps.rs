//! Rules for headers, one after the other, as options that have no order: what a later rule makes of a header counts.

use super::translation::Translation;
use crate::{
    options::{
        header::{Header, HeadersOf, plain},
        value::OptionValue,
    },
    sentences::shortened,
};

/// The step of one rule for a header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum HeaderStep {
    /// It has this value alone.
    Set(String, String),
    /// It has this value, too.
    Add(String, String),
    /// It is not there.
    Remove(String),
    /// It has a value that cannot be said.
    Unsaid(String),
}

/// Headers in which clients speak for themselves, whatever lines say of them.
const OF_CLIENTS: [&str; 12] = [
    "accept",
    "authorization",
    "cache-control",
    "cookie",
    "date",
    "host",
    "origin",
    "pragma",
    "priority",
    "range",
    "referer",
    "user-agent",
];
/// The prefixes of names of other headers that clients send.
const BEGIN_OF_CLIENTS: [&str; 5] = ["accept-", "access-control-", "content-", "if-", "sec-"];

/// The headers that tell servers of each request in any case.
const TOLD: [&str; 10] = [
    "forwarded",
    "x-forwarded-for",
    "x-forwarded-host",
    "x-forwarded-port",
    "x-forwarded-prefix",
    "x-forwarded-proto",
    "x-forwarded-scheme",
    "x-original-forwarded-for",
    "x-real-ip",
    "x-request-id",
];

/// The options for headers of one direction. Headers are removed first, then set, then added to.
#[derive(Clone, Copy, Debug)]
pub(super) struct HeadersTo {
    /// The side whose headers they are.
    pub of: HeadersOf,
    set: &'static str,
    add: &'static str,
    remove: &'static str,
}

impl HeadersTo {
    /// The headers of requests.
    pub const SERVERS: Self = Self {
        of: HeadersOf::Requests,
        set: "request-headers",
        add: "add-request-headers",
        remove: "remove-request-headers",
    };
    /// The headers of answers.
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
        let mut has_room = true;
        for step in steps {
            let (option, name, text) = match step {
                HeaderStep::Set(name, value) => (self.set, name, format!("{name}: {value}")),
                HeaderStep::Add(name, value) => (self.add, name, format!("{name}: {value}")),
                HeaderStep::Remove(name) => (self.remove, name, self.removed(name)),
                HeaderStep::Unsaid(name) => {
                    self.distrust(name, key, out);
                    continue;
                }
            };
            if let Err(wanted) = out.read(option, &text) {
                out.differs(key, &format!("has {:?}, which {wanted}: it is left out", shortened(&text)));
            } else if has_room {
                if option != self.add {
                    self.forget(name, out);
                }
                has_room = out.add_line(option, &text, key);
                if has_room {
                    continue;
                }
            }
            if option != self.add {
                self.distrust(name, key, out);
            }
        }
    }

    /// Servers believe what a header says that somebody sets for them: where that cannot be said, clients do not say it either.
    fn distrust(self, name: &str, key: &str, out: &mut Translation<'_>) {
        if self.of == HeadersOf::Requests {
            self.forget(name, out);
            distrust(name, key, out);
        }
    }

    /// A name as it is removed: of requests in each spelling.
    fn removed(self, name: &str) -> String {
        match self.of {
            HeadersOf::Requests => plain(name),
            HeadersOf::Answers => name.to_owned(),
        }
    }

    /// Forgets the steps for a header before it is removed or set.
    fn forget(self, name: &str, out: &mut Translation<'_>) {
        for option in [self.set, self.add] {
            let Some(OptionValue::Headers(headers)) = out.value(option) else { continue };
            let others = headers.iter().filter(|header| !header.name.eq_ignore_ascii_case(name));
            let others: Vec<Header> = others.cloned().collect();
            match others.is_empty() {
                true => out.remove(option),
                false => out.set_value(option, OptionValue::Headers(others.into())),
            }
        }
    }
}

/// Clients do not say anything to servers by a header that they may be told something by, which cannot be said.
pub(super) fn distrust(name: &str, key: &str, out: &mut Translation<'_>) {
    const OPTION: &str = "remove-request-headers";
    let name = plain(name);
    let is_of_clients =
        OF_CLIENTS.contains(&&*name) || BEGIN_OF_CLIENTS.iter().any(|begin| name.starts_with(begin));
    if is_of_clients || TOLD.contains(&&*name) || out.read(OPTION, &name).is_err() {
        return;
    }
    let known = match out.value(OPTION) {
        Some(OptionValue::Names(names)) => names.contains(&name),
        _ => false,
    };
    if !known && !out.add_line(OPTION, &name, key) {
        out.close(key, &format!("says to servers what {name} is, and clients would say it in its place"));
    }
}
