//! Users for basic authentication: which Secrets HAProxy is given, and which of their lines.
//!
//! Beside the store of routes there is a store of *userlists*, one for each Secret that a route of ours names; a label
//! alone costs nobody anything. What is printed of a Secret is decided here and nowhere else: by the hashes
//! ([`password`]), by the number of users ([`users`]), and by what all users together cost ([`shares`]). It is kept up to
//! date change by change; a function of stores and configuration, no I/O.

mod limits;
pub mod password;
pub mod shares;
#[cfg(test)]
mod tests;
pub mod users;

pub use limits::Limits;

use crate::options::difference::OPTIONS_OF_GROUPS;
use base64::{Engine as _, engine::general_purpose::STANDARD};
use haptic_model::{ActiveConfig, Object, ObjectRef, Snapshot, Snapshots};
use serde::Deserialize;
use serde_json::{Value, json};
use shares::Name;
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};
use users::{PasswordUser, Users};

/// The watched resource that holds Secrets of users.
const SECRETS: &str = "labelledsecrets";
/// The annotation that names one, without its prefix.
const OPTION: &str = "auth-secret";
/// Where its users are.
const ENTRY: &str = "auth";

/// The userlists of one resource of routes, from render to render.
#[derive(Clone, Debug)]
pub struct Userlists {
    limits: Limits,
    /// The stores as this knows them.
    sets: Arc<Snapshot>,
    secrets: Arc<Snapshot>,
    /// The Secrets that a route names.
    named: BTreeMap<Arc<ObjectRef>, Vec<Name>>,
    /// How many routes name a Secret.
    uses: BTreeMap<Name, usize>,
    /// The users of Secrets that are named.
    read: BTreeMap<Name, Result<Users, String>>,
    refused: BTreeSet<Name>,
    lists: Arc<Snapshot>,
}

impl Default for Userlists {
    fn default() -> Self {
        let mut lists = Snapshot::full();
        lists.set_synced();
        Self {
            limits: Limits::default(),
            sets: Arc::new(Snapshot::full()),
            secrets: Arc::new(Snapshot::full()),
            named: BTreeMap::new(),
            uses: BTreeMap::new(),
            read: BTreeMap::new(),
            refused: BTreeSet::new(),
            lists: Arc::new(lists),
        }
    }
}

impl Userlists {
    /// The store of userlists for the routes in `sets`.
    pub fn update(
        &mut self,
        config: &ActiveConfig,
        snapshots: &Snapshots,
        sets: &Arc<Snapshot>,
    ) -> Arc<Snapshot> {
        let secrets = snapshots.get(SECRETS).cloned().unwrap_or_else(|| Arc::new(Snapshot::full()));
        let (limits, mut touched) = (Limits::of(config), self.routes_changed(sets));
        for change in secrets.differences_from(&self.secrets) {
            touched.extend(change.after.or(change.before).map(|(object, _)| name_of(&object.reference)));
        }
        if limits != self.limits {
            touched.extend(self.uses.keys().cloned());
            self.limits = limits;
        }
        (self.sets, self.secrets) = (sets.clone(), secrets);
        touched.retain(|name| self.uses.contains_key(name) || self.read.contains_key(name));
        if !touched.is_empty() {
            self.read_again(&touched);
            self.write(touched);
        }
        self.lists.clone()
    }

    /// The Secrets that are named by more or fewer routes than before.
    fn routes_changed(&mut self, sets: &Snapshot) -> BTreeSet<Name> {
        let mut touched = BTreeSet::new();
        let before = self.sets.clone();
        for change in sets.differences_from(&before) {
            let Some((object, _)) = change.after.or(change.before) else { continue };
            for name in self.named.remove(&object.reference).into_iter().flatten() {
                match self.uses.get_mut(&name) {
                    Some(uses) if *uses > 1 => *uses -= 1,
                    _ => drop(self.uses.remove(&name)),
                }
                touched.insert(name);
            }
            let names = change.after.map(|(set, _)| named_by(set)).unwrap_or_default();
            for name in &names {
                *self.uses.entry(name.clone()).or_default() += 1;
                touched.insert(name.clone());
            }
            if !names.is_empty() {
                self.named.insert(object.reference.clone(), names);
            }
        }
        touched
    }

    fn read_again(&mut self, touched: &BTreeSet<Name>) {
        for name in touched {
            let secret = self.secrets.get(&name.0, &name.1).filter(|_| self.uses.contains_key(name));
            match secret {
                Some(secret) => drop(self.read.insert(name.clone(), read(secret, &self.limits))),
                None => drop(self.read.remove(name)),
            }
        }
    }

    /// Writes what changed, and what has room now or has none any more.
    fn write(&mut self, mut touched: BTreeSet<Name>) {
        let costs =
            self.read.iter().filter_map(|(name, read)| Some((name.clone(), read.as_ref().ok()?.cost)));
        let refused = shares::without_room(&costs.collect(), self.limits.milliseconds.saturating_mul(1000));
        touched.extend(refused.symmetric_difference(&self.refused).cloned());
        self.refused = refused;
        let lists = Arc::make_mut(&mut self.lists);
        for name in touched {
            let resource: Arc<str> = SECRETS.into();
            let reference = Arc::new(ObjectRef { resource, namespace: name.0.clone(), name: name.1.clone() });
            let Some(read) = self.read.get(&name) else {
                lists.remove(&reference);
                continue;
            };
            let list = match read {
                Ok(_) if self.refused.contains(&name) => Err(NO_ROOM),
                Ok(users) => Ok(users),
                Err(why) => Err(why.as_str()),
            };
            lists.put(reference, &json_of(&name, list));
        }
    }
}

const NO_ROOM: &str = "all users together cost HAProxy more than extraContext.passwordLimits.milliseconds at each start, \
    and its namespace has more than a fair part of that; take fewer users, or fewer rounds";

fn name_of(object: &ObjectRef) -> Name {
    (object.namespace.clone(), object.name.clone())
}

/// The Secrets that a set of routes names, each once.
fn named_by(set: &Object) -> Vec<Name> {
    let json = set.json.bytes();
    let text = std::str::from_utf8(&json).unwrap_or_default();
    // Most name none.
    if !text.contains(OPTION) {
        return Vec::new();
    }
    let set_of: Value = serde_json::from_str(text).unwrap_or_default();
    let groups = set_of.get(OPTIONS_OF_GROUPS).and_then(Value::as_object).into_iter().flatten();
    let all = set_of.get("options").into_iter().chain(groups.map(|(_, options)| options));
    let secrets: BTreeSet<&str> = all.filter_map(|options| options.get(OPTION)?.as_str()).collect();
    secrets.into_iter().map(|secret| (set.reference.namespace.clone(), secret.into())).collect()
}

/// The users of a Secret.
///
/// # Errors
/// Why HAProxy is given none of them.
pub(crate) fn read(secret: &Object, limits: &Limits) -> Result<Users, String> {
    #[derive(Deserialize)]
    struct Secret {
        #[serde(default)]
        data: BTreeMap<String, String>,
    }

    let Secret { data } = serde_json::from_slice(&secret.json.bytes()).map_err(|_| "it cannot be read")?;
    // A user who is called like the entry for all users has no lines of users, and be it the only one.
    match data.get(ENTRY).map(|encoded| decoded(ENTRY, encoded)).transpose()? {
        Some(text) if text.contains(':') || (data.len() == 1 && !text.starts_with('$')) => {
            users::of_lines(&text, limits)
        }
        None if data.is_empty() => Err(format!("it has no {ENTRY}")),
        _ if data.len() > limits.users => Err(format!("it has more than {} users", limits.users)),
        _ => {
            let text =
                |(name, encoded): (&String, &String)| Ok((name.clone(), decoded("an entry", encoded)?));
            let users = users::of_entries(&data.iter().map(text).collect::<Result<_, String>>()?, limits)?;
            match users.problems.first().filter(|_| users.users.is_empty()) {
                Some(problem) => Err(format!("it has no {ENTRY}, and of its entries {problem}")),
                None => Ok(users),
            }
        }
    }
}

fn decoded(entry: &str, encoded: &str) -> Result<String, String> {
    let bytes = STANDARD.decode(encoded.trim()).map_err(|_| format!("{entry} is not Base64"))?;
    String::from_utf8(bytes).map_err(|_| format!("{entry} is not text"))
}

/// A Secret like the one it was made of, as far as what it holds is one, too.
fn json_of(name: &Name, list: Result<&Users, &str>) -> Value {
    let metadata = json!({ "namespace": name.0, "name": name.1 });
    match list {
        Err(why) => json!({ "kind": "Secret", "metadata": metadata, "refused": why }),
        Ok(Users { users, problems, .. }) => {
            let one = |PasswordUser { name, password, kind }: &PasswordUser| json!({ "name": name, "password": password, "kind": kind.word() });
            let users: Vec<Value> = users.iter().map(one).collect();
            json!({ "kind": "Secret", "metadata": metadata, "data": { "users": users }, "problems": problems })
        }
    }
}
