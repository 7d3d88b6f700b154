//! What HAProxy reads at a start only of objects that options name: a change of it takes a reload though nobody asks for anything else.

use crate::{
    reload_pace::ReadAtStart,
    userlists::{self, Limits, password::PasswordKind},
};
use haptic_model::{Object, store::Key};
use haptic_text::Digest;
use serde::Deserialize;
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

/// The key of a certificate: no option has it read as what is read at a start only.
const PRIVATE_KEY: &str = "tls.key";

/// A version of an object that options name.
#[derive(Clone, Debug)]
pub(crate) struct NamedContent {
    pub object: Arc<Object>,
    /// Of its store.
    pub key: Key,
    lines: BTreeMap<&'static str, Digest>,
}

impl NamedContent {
    /// `options`: those that name it.
    pub fn of(object: &Arc<Object>, key: &Key, options: &BTreeSet<&'static str>, limits: &Limits) -> Self {
        let lines = options.iter().map(|option| (*option, lines(option, object, limits))).collect();
        Self { object: object.clone(), key: key.clone(), lines }
    }
}

impl ReadAtStart for NamedContent {
    type Lines<'a> = BTreeMap<&'static str, Digest>;

    fn lines(&self) -> Self::Lines<'_> {
        self.lines.clone()
    }
}

fn lines(option: &str, object: &Object, limits: &Limits) -> Digest {
    match option {
        "auth-secret" => users(object, limits),
        _ => entries(object),
    }
}

/// Of users whose passwords Lua checks HAProxy follows each change.
fn users(secret: &Object, limits: &Limits) -> Digest {
    let Ok(read) = userlists::read(secret, limits) else { return Digest::of(b"none") };
    let listed = read.users.iter().filter(|user| user.kind != PasswordKind::Digest);
    let lines = listed.map(|user| format!("{} {} {}\n", user.kind.word(), user.name, user.password));
    Digest::of(format!("users\n{}", lines.collect::<String>()).as_bytes())
}

/// Which of them count is said by names in the object, or by other options.
fn entries(object: &Object) -> Digest {
    #[derive(Deserialize)]
    struct EntriesOfObject {
        #[serde(default)]
        data: Option<BTreeMap<String, String>>,
        #[serde(default, rename = "binaryData")]
        binary: Option<BTreeMap<String, String>>,
    }

    let json = object.json.bytes();
    let Ok(EntriesOfObject { data, binary }) = serde_json::from_slice(&json) else {
        return Digest::of(&json);
    };
    let mut data = data.unwrap_or_default();
    data.remove(PRIVATE_KEY);
    Digest::of(format!("{data:?} {:?}", binary.unwrap_or_default()).as_bytes())
}
