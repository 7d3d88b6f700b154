//! The options of an Ingress that make a difference for requests.

use crate::migrate::compare::samples;
use haptic_routes::{families::ForeignOptions, options::value::OptionValue};
use std::collections::{BTreeMap, BTreeSet};

/// So many headers of answers count because an Ingress names them, each of so many bytes.
const MOST_COMPARED: usize = 64;
const LONGEST_NAME: usize = 200;

/// The options of an Ingress, wherever they stand.
pub(super) struct AskedOptions<'o>(Vec<&'o BTreeMap<&'static str, OptionValue>>);

impl<'o> AskedOptions<'o> {
    pub fn of(foreign: &'o ForeignOptions) -> Self {
        let levels = foreign.levels();
        Self(levels.map(|level| &level.written.values).chain(&foreign.ingress.canary).collect())
    }

    fn values<'s>(&'s self, name: &'s str) -> impl Iterator<Item = &'o OptionValue> + 's {
        self.0.iter().filter_map(move |values| values.get(name))
    }

    pub fn has(&self, name: &str) -> bool {
        self.values(name).next().is_some()
    }

    /// Texts and names; of expressions what they find something in.
    pub fn texts(&self, name: &str) -> Vec<String> {
        let of = |value: &OptionValue| match value {
            OptionValue::Text(text) => vec![text.clone()],
            OptionValue::Names(names) => names.to_vec(),
            OptionValue::Regex { pattern, .. } => samples::sample(pattern).into_iter().collect(),
            _ => Vec::new(),
        };
        let all: BTreeSet<String> = self.values(name).flat_map(of).collect();
        all.into_iter().collect()
    }

    /// Names with values that fulfil these conditions.
    pub fn conditions(&self, name: &str) -> Vec<(String, String)> {
        let mut all = Vec::new();
        for value in self.values(name) {
            let OptionValue::Conditions(conditions) = value else { continue };
            for one in conditions.iter() {
                let value = if name.ends_with("-regex") {
                    samples::sample(&one.value)
                } else {
                    Some(one.value.clone())
                };
                all.extend(value.map(|value| (one.name.clone(), value)));
            }
        }
        all
    }

    pub fn headers_of_answers(&self) -> Vec<String> {
        let mut names: BTreeSet<String> = BTreeSet::new();
        for option in ["response-headers", "add-response-headers", "remove-response-headers"] {
            for value in self.values(option) {
                match value {
                    OptionValue::Headers(headers) => {
                        names.extend(headers.iter().map(|header| header.name.to_ascii_lowercase()));
                    }
                    OptionValue::Names(all) => names.extend(all.iter().map(|name| name.to_ascii_lowercase())),
                    _ => {}
                }
            }
        }
        names.into_iter().filter(|name| name.len() <= LONGEST_NAME).take(MOST_COMPARED).collect()
    }
}
