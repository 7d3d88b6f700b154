//! Maps: an entry that comes, changes or goes is a call, and so are all of a large map at once.

use super::{ApiStep, BLANKS, NeedsReload, check_entry, unproven::Unproven};
use crate::{
    call_error::CallError, client::Api, look::shown_value, memory::Files, responses::ResponseMeaning,
};
use haptic_text::pattern_file::map_entries;
use std::collections::BTreeMap;

/// A map of more bytes is replaced at once by the API; to a smaller one it adds.
const REPLACED_AT_ONCE: usize = 8192;

/// A change of a map.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum MapStep {
    /// `PUT runtime/maps/M/entries/K`.
    Set { map: String, key: String, value: String },
    /// `POST runtime/maps/M/entries`, or as one of several when its value has blanks.
    Add { map: String, key: String, value: String },
    /// `DELETE runtime/maps/M/entries/K`.
    Delete { map: String, key: String },
    /// `PUT runtime/maps/M`.
    Replace { map: String },
}

/// The value that a key should have, or that it should not be there, by map.
#[derive(Default)]
pub(crate) struct ExpectedEntries(BTreeMap<String, BTreeMap<String, Option<String>>>);

// --- planning --------------------------------------------------------------------------------------

pub(super) fn set_entry(map: &str, key: &str, value: &str) -> Result<ApiStep, NeedsReload> {
    check_entry(map, &[key, value])?;
    if value.contains(BLANKS) {
        return Err(NeedsReload::ValueWithBlank { map: map.to_owned() });
    }
    let (map, key, value) = (map.to_owned(), key.to_owned(), value.to_owned());
    Ok(ApiStep::Map(MapStep::Set { map, key, value }))
}

pub(super) fn add_entry(map: &str, key: &str, value: &str) -> Result<ApiStep, NeedsReload> {
    check_entry(map, &[key, value])?;
    let (map, key, value) = (map.to_owned(), key.to_owned(), value.to_owned());
    Ok(ApiStep::Map(MapStep::Add { map, key, value }))
}

pub(super) fn delete_entry(map: &str, key: &str) -> Result<ApiStep, NeedsReload> {
    check_entry(map, &[key])?;
    Ok(ApiStep::Map(MapStep::Delete { map: map.to_owned(), key: key.to_owned() }))
}

/// All entries of `text` in the place of those of `map`.
pub(super) fn replace(map: &str, text: &str) -> Result<ApiStep, NeedsReload> {
    let bytes: usize = map_entries(text).map(|(key, value)| key.len() + value.len() + 2).sum();
    if bytes <= REPLACED_AT_ONCE {
        return Err(NeedsReload::SmallMap { map: map.to_owned() });
    }
    map_entries(text).try_for_each(|(key, value)| check_entry(map, &[key, value]))?;
    Ok(ApiStep::Map(MapStep::Replace { map: map.to_owned() }))
}

// --- carrying out ----------------------------------------------------------------------------------

impl MapStep {
    /// `files` are those of the bundle that the pod is brought to; `wanted` notes what is compared later.
    pub async fn carry_out(
        &self,
        api: &Api,
        files: &Files,
        wanted: &mut ExpectedEntries,
    ) -> Result<(), CallError> {
        match self {
            Self::Set { map, key, value } => {
                wanted.note(map, key, Some(value));
                set(api, map, key, value).await
            }
            Self::Add { map, key, value } => {
                wanted.note(map, key, Some(value));
                add(api, map, key, value).await
            }
            Self::Delete { map, key } => {
                wanted.note(map, key, None);
                delete(api, map, key).await
            }
            Self::Replace { map } => {
                let text = files.get(map).map(|(_, text)| &**text).unwrap_or_default();
                put(api, map, text).await
            }
        }
    }
}

async fn set(api: &Api, map: &str, key: &str, value: &str) -> Result<(), CallError> {
    // It may change the entry and not find its own change.
    api.set_entry(map, key, value).await.or_else(unless_silent)
}

async fn add(api: &Api, map: &str, key: &str, value: &str) -> Result<(), CallError> {
    if value.is_empty() || value.contains(BLANKS) {
        return api.put_entries(map, &[(key, value)]).await;
    }
    match api.add_entry(map, key, value).await {
        Err(why) if why.means(ResponseMeaning::Exists) => set(api, map, key, value).await,
        done => done,
    }
}

async fn delete(api: &Api, map: &str, key: &str) -> Result<(), CallError> {
    match api.delete_entry(map, key).await {
        Err(why) if why.means(ResponseMeaning::NotFound) => Ok(()),
        done => done.or_else(unless_silent),
    }
}

fn unless_silent(why: CallError) -> Result<(), CallError> {
    if why.means(ResponseMeaning::Silent) { Ok(()) } else { Err(why) }
}

/// All entries of `text`, which are counted afterwards.
async fn put(api: &Api, map: &str, text: &str) -> Result<(), CallError> {
    let entries: Vec<(&str, &str)> = map_entries(text).collect();
    api.put_entries(map, &entries).await?;
    let loaded = api.maps().await?.into_iter().find(|loaded| loaded.file == map);
    match loaded.and_then(|map| map.entries()) {
        Some(is) if is != entries.len() => {
            Err(Unproven::Entries { map: map.to_owned(), is, should: entries.len() }.into())
        }
        _ => Ok(()),
    }
}

// --- reading back ----------------------------------------------------------------------------------

impl ExpectedEntries {
    fn note(&mut self, map: &str, key: &str, value: Option<&str>) {
        let of_map = self.0.entry(map.to_owned()).or_default();
        of_map.insert(key.to_owned(), value.map(str::to_owned));
    }

    /// Compares with what HAProxy shows.
    pub async fn read_back(&self, api: &Api) -> Result<(), CallError> {
        for (map, wanted) in &self.0 {
            // The API cuts an entry that it is asked for by its key, so all are read.
            let mut shown: BTreeMap<String, Vec<String>> = BTreeMap::new();
            for entry in api.entries(map).await? {
                if wanted.contains_key(&entry.key) {
                    shown.entry(entry.key).or_default().push(entry.value);
                }
            }
            let is_wanted = |(key, value): (&String, &Option<String>)| {
                let there = shown.get(key).map(Vec::as_slice).unwrap_or_default();
                match (value, there) {
                    (None, []) => true,
                    (Some(value), [only]) => shown_value(only) == shown_value(value),
                    _ => false,
                }
            };
            if !wanted.iter().all(is_wanted) {
                return Err(Unproven::Entry { map: map.clone() }.into());
            }
        }
        Ok(())
    }
}
