//! Patterns in the files of ACLs: one that comes or goes is a call.

use super::{ApiStep, BLANKS, NeedsReload, check_entry, unproven::Unproven};
use crate::{call_error::CallError, client::Api, responses::ResponseMeaning};
use std::collections::{BTreeMap, BTreeSet};

/// A pattern that comes to its list, or goes.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct PatternStep {
    list: String,
    pattern: String,
    /// Whether it is in the list afterwards.
    is_in: bool,
}

/// Whether a pattern should be in its list, by list.
#[derive(Default)]
pub(crate) struct ExpectedPatterns(BTreeMap<String, BTreeMap<String, bool>>);

/// `POST runtime/acls/N/entries`.
pub(super) fn add(list: &str, pattern: &str) -> Result<ApiStep, NeedsReload> {
    check_entry(list, &[pattern])?;
    if pattern.contains(BLANKS) {
        return Err(NeedsReload::PatternWithBlank { list: list.to_owned() });
    }
    Ok(step(list, pattern, true))
}

/// `DELETE runtime/acls/N/entries/E`.
pub(super) fn delete(list: &str, pattern: &str) -> ApiStep {
    step(list, pattern, false)
}

fn step(list: &str, pattern: &str, is_in: bool) -> ApiStep {
    ApiStep::Pattern(PatternStep { list: list.to_owned(), pattern: pattern.to_owned(), is_in })
}

impl PatternStep {
    /// `wanted` notes what is compared later.
    pub async fn carry_out(&self, api: &Api, wanted: &mut ExpectedPatterns) -> Result<(), CallError> {
        let of_list = wanted.0.entry(self.list.clone()).or_default();
        of_list.insert(self.pattern.clone(), self.is_in);
        let Some(number) = api.list(&self.list).await? else { return Err(not_loaded(&self.list).into()) };
        if self.is_in { self.add(api, &number).await } else { self.delete(api, &number).await }
    }

    async fn add(&self, api: &Api, number: &str) -> Result<(), CallError> {
        match api.add_pattern(number, &self.pattern).await {
            Err(why) if why.means(ResponseMeaning::Exists) => Ok(()),
            done => done,
        }
    }

    async fn delete(&self, api: &Api, number: &str) -> Result<(), CallError> {
        for found in api.patterns(number).await?.iter().filter(|found| found.value == self.pattern) {
            api.delete_pattern(number, &found.id).await?;
        }
        Ok(())
    }
}

impl ExpectedPatterns {
    /// Compares with what HAProxy shows.
    pub async fn read_back(&self, api: &Api) -> Result<(), CallError> {
        for (list, wanted) in &self.0 {
            let Some(number) = api.list(list).await? else { return Err(not_loaded(list).into()) };
            let there = api.patterns(&number).await?;
            let there: BTreeSet<&str> = there.iter().map(|pattern| &*pattern.value).collect();
            if wanted.iter().any(|(pattern, is_in)| there.contains(&**pattern) != *is_in) {
                return Err(Unproven::Patterns { list: list.clone() }.into());
            }
        }
        Ok(())
    }
}

fn not_loaded(list: &str) -> Unproven {
    Unproven::NotLoaded { list: list.to_owned() }
}
