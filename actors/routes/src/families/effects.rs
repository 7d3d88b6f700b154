//! The effects of a family's annotations: on an Ingress as a whole, and on the routes that lead to one Service.

use super::{answers::PathAnswer, forms::ForeignForms, paths::PathRules, sign_in::SignIn};
use crate::options::{
    Written,
    value::{OptionValue, OptionValues},
};
use haptic_model::Finding;

/// To an Ingress as a whole, wherever it is said.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct IngressEffects {
    /// Whether nothing of it is served.
    pub dropped: bool,
    /// Whether that is so for a value that cannot be read.
    pub unreadable: bool,
    /// Whether requests that do not meet the conditions of a route of it are refused, and lead to no other route of the host.
    pub refuses: bool,
    /// How its paths are read, where that is not as ours are.
    pub paths: Option<PathRules>,
    /// Of a canary, what the options of a route have whose requests it shares; such an Ingress has no routes of its own.
    pub canary: Option<OptionValues>,
    /// More names of its hosts.
    pub aliases: Vec<String>,
    /// Other hosts whose requests are redirected to its own, as far as nobody has routes there.
    pub redirected: Vec<String>,
    /// The beginnings of paths at which HTTP is not redirected to HTTPS.
    pub over_http: Vec<String>,
    /// The answers of single paths of its hosts.
    pub answers: Vec<PathAnswer>,
    /// The options that keep clients out of all routes of its hosts that have no lists of their own.
    pub over_host: OptionValues,
    /// The findings at the annotations.
    pub findings: Vec<Finding>,
}

/// To routes: to those of an Ingress, or to those of it that lead to a Service with annotations of its own.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LevelEffects {
    /// The options, as if they were written.
    pub written: Written,
    /// Whether all requests get 503, whatever other levels say.
    pub closed: bool,
    /// Whether nothing leads there.
    pub left_out: bool,
    /// The clients that are kept out, whatever other levels say.
    pub blocked: Option<OptionValue>,
    /// How paths are compared.
    pub forms: ForeignForms,
    /// The question for clients that have not signed in.
    pub sign_in: Option<SignIn>,
    /// Whether servers get the certificate of a client as a whole, where that is not said of the host.
    pub passes_certificate: Option<bool>,
}

impl IngressEffects {
    /// Whether the Ingress has no routes of its own.
    #[must_use]
    pub fn is_left_out(&self) -> bool {
        self.dropped || self.canary.is_some()
    }

    /// Adds what another family does. Where there can be only one, that of the first counts.
    pub fn merge(&mut self, other: Self) {
        self.dropped |= other.dropped;
        self.unreadable |= other.unreadable;
        self.refuses |= other.refuses;
        self.paths = self.paths.take().or(other.paths);
        self.canary = self.canary.take().or(other.canary);
        self.aliases.extend(other.aliases);
        self.redirected.extend(other.redirected);
        if self.over_http.is_empty() {
            self.over_http = other.over_http;
        }
        extend_with_new(&mut self.answers, other.answers);
        self.over_host.extend(other.over_host);
        extend_with_new(&mut self.findings, other.findings);
    }
}

impl LevelEffects {
    /// None yet.
    #[must_use]
    pub fn none() -> Self {
        Self { written: Written::of_others(OptionValues::new()), ..Self::default() }
    }

    /// Adds what another family does. Where there can be only one, that of the first counts.
    pub fn merge(&mut self, other: Self) {
        let values = std::mem::take(&mut self.written.values);
        self.written.values = other.written.values.into_iter().chain(values).collect();
        self.closed |= other.closed;
        self.left_out |= other.left_out;
        self.blocked = all_of(self.blocked.take(), other.blocked);
        if self.forms == ForeignForms::default() {
            self.forms = other.forms;
        }
        self.sign_in = self.sign_in.take().or(other.sign_in);
        self.passes_certificate = self.passes_certificate.or(other.passes_certificate);
    }
}

fn extend_with_new<T: PartialEq>(known: &mut Vec<T>, more: Vec<T>) {
    let new: Vec<T> = more.into_iter().filter(|one| !known.contains(one)).collect();
    known.extend(new);
}

/// The networks of both.
fn all_of(first: Option<OptionValue>, second: Option<OptionValue>) -> Option<OptionValue> {
    match (first, second) {
        (Some(OptionValue::Networks(first)), Some(OptionValue::Networks(second))) => {
            Some(OptionValue::Networks(first.iter().chain(second.iter()).cloned().collect()))
        }
        (first, second) => first.or(second),
    }
}
