//! The options at one level, read by the table.

use super::{
    annotation::{MOST_BYTES, PREFIX, finding},
    level::Level,
    paths::PATHS,
    refusal::Refusal,
    row::Row,
    settings::Settings,
    table::{TABLE, row},
    value::OptionValues,
};
use crate::sentences::shortened;
use haptic_model::{Finding, FindingKind};
use haptic_text::suggest::did_you_mean;
use std::{collections::BTreeMap, sync::Arc};

/// The most names that are no option's and are told: to look for what was meant costs more than to read all others.
const FEW: usize = 5;

/// The most bytes of an option of a user's own at a Service: each Ingress that leads there has a copy of it.
const MOST_BYTES_OF_SERVICE: usize = 4 << 10;

/// The options at one place.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Written {
    /// Options of the table.
    pub values: OptionValues,
    /// Those of a user's own, as they were written.
    pub others: BTreeMap<String, Arc<str>>,
    /// The options that cannot be read.
    pub refused: Vec<Refusal>,
    /// Options that do not stand at this level, with those at which they do.
    pub misplaced: Vec<&'static Row>,
    /// Whether it is written in other words than ours.
    pub is_of_others: bool,
    unknown: Unknown,
}

/// Names that are no option's.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Unknown {
    /// The first few, each with what is said of it.
    few: Vec<(String, String)>,
    more: usize,
}

impl Written {
    /// Of what annotations of others say.
    #[must_use]
    pub fn of_others(values: OptionValues) -> Self {
        Self { values, is_of_others: true, ..Self::default() }
    }

    /// Of names and texts at `level`.
    #[must_use]
    pub fn read<'a>(
        level: Level,
        texts: impl IntoIterator<Item = (&'a str, &'a str)>,
        settings: &Settings,
    ) -> Self {
        let mut written = Self::default();
        for (name, text) in texts {
            written.take(level, name, text, settings);
        }
        written
    }

    fn take(&mut self, level: Level, name: &str, text: &str, settings: &Settings) {
        if text.len() > MOST_BYTES {
            return self.refused.push(Refusal::of_size(name, text.len()));
        }
        let Some(row) = row(name) else {
            return self.take_other(level, name, text, settings);
        };
        if !row.levels.contains(&level) {
            return self.misplaced.push(row);
        }
        match row.kind.at(level).read(text, settings) {
            Ok(value) => _ = self.values.insert(row.name, value),
            Err(wanted) => self.refused.push(Refusal::of_value(name, text, wanted)),
        }
    }

    /// Of what is no option only the name counts.
    fn take_other(&mut self, level: Level, name: &str, text: &str, settings: &Settings) {
        if settings.own.iter().any(|own| own == name) {
            if level == Level::Service && text.len() > MOST_BYTES_OF_SERVICE {
                let wanted = format!(
                    "must have no more than {MOST_BYTES_OF_SERVICE} bytes at a Service, it has {}",
                    text.len()
                );
                return self.refused.push(Refusal::of_value(name, text, wanted));
            }
            self.others.insert(name.to_owned(), text.into());
        } else if self.unknown.few.len() < FEW {
            self.unknown.few.push((name.to_owned(), unknown(name, settings)));
        } else {
            self.unknown.more += 1;
        }
    }

    /// The findings at names that are no option's.
    pub fn unknown(&self) -> impl Iterator<Item = Finding> {
        let Unknown { few, more } = &self.unknown;
        let more =
            (*more > 0).then(|| format!("{more} more annotations {PREFIX}… are none, they are ignored"));
        let more = more.map(|said| Finding::new(FindingKind::OptionUnknown, said));
        let few = few
            .iter()
            .map(|(name, said)| finding(FindingKind::OptionUnknown, &shortened(name), said.clone()));
        few.chain(more)
    }

    /// Names that are no option's of the table, the first few of them.
    pub fn names_of_others(&self) -> impl Iterator<Item = &str> {
        let unknown = self.unknown.few.iter().map(|(name, _)| name.as_str());
        self.others.keys().map(String::as_str).chain(unknown)
    }
}

fn unknown(name: &str, settings: &Settings) -> String {
    let own = settings.own.iter().map(String::as_str);
    let known = TABLE.iter().map(|row| row.name).chain([PATHS]).chain(own);
    let name = shortened(name);
    format!("there is no annotation {PREFIX}{name}{}, it is ignored", did_you_mean(&name, known))
}
