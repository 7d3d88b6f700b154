//! What stands in for the data of a Secret when it leaves the controller: of the same kind, always the same, and nothing of it.
//!
//! A pseudonym is made from the names of Secret and entry, and from the kind and shape of the value: PEM with the same blocks,
//! as many lines of users with hashes of the same scheme, a text or bytes of the same length. Another value of an entry
//! has another pseudonym, so that a rotation is one in a recording, too.

mod keys;
mod pem;
#[cfg(test)]
mod tests;
mod text;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use haptic_text::Digest;
use keys::Forge;
use serde_json::{Map, Value};
use std::collections::HashMap;
use text::Seed;

/// Makes pseudonyms, and remembers how many values an entry has had.
#[derive(Debug)]
pub struct Pseudonyms {
    forge: Forge,
    values: HashMap<String, Vec<Digest>>,
}

/// Where an entry of a Secret may stand, and whether it is encoded there.
const PARTS: [(&str, bool); 2] = [("data", true), ("stringData", false)];

impl Pseudonyms {
    /// None made yet.
    ///
    /// # Errors
    /// Never in practice.
    pub fn new() -> Result<Self, String> {
        Ok(Self { forge: Forge::new()?, values: HashMap::new() })
    }

    /// `secret`, a Secret as JSON, with pseudonyms in place of its data, and of annotations that repeat any of it.
    ///
    /// # Errors
    /// Never in practice.
    pub fn secret(&mut self, secret: &mut Value) -> Result<(), String> {
        let name = |field: &str| {
            secret.pointer(&format!("/metadata/{field}")).and_then(Value::as_str).unwrap_or_default()
        };
        let owner = format!("{}/{}", name("namespace"), name("name"));
        let entries: Vec<(Map<String, Value>, bool)> = PARTS
            .iter()
            .filter_map(|(part, encoded)| {
                let taken = secret.get_mut(*part)?.take();
                Some((taken.as_object()?.clone(), *encoded))
            })
            .collect();
        let known = Known::of(&entries);
        if let Some(annotations) = secret.pointer_mut("/metadata/annotations") {
            known.hide_in(annotations, Seed::of([&*owner]));
        }
        for (part, encoded) in PARTS {
            let Some(place) = secret.get_mut(part) else { continue };
            let of_part = entries.iter().find(|(_, found)| *found == encoded);
            let Some((values, _)) = of_part else { continue };
            let mut stands = Map::new();
            for (key, value) in values {
                stands.insert(key.clone(), self.entry(&format!("{owner}/{key}"), value, encoded, &known)?);
            }
            *place = Value::Object(stands);
        }
        Ok(())
    }

    /// In place of what a field is called a password, a token or a key.
    pub fn field(&mut self, owner: &str, value: &mut Value) {
        let seed = self.seed(owner, &value.to_string());
        if let Value::String(hidden) = value {
            *hidden = text::text(hidden, seed);
        } else if value.is_number() {
            *value = Value::from(1);
        }
    }

    fn entry(&mut self, name: &str, value: &Value, encoded: bool, known: &Known) -> Result<Value, String> {
        let Some(held) = value.as_str() else { return Ok(Value::Null) };
        let seed = self.seed(name, held);
        if !encoded {
            return Ok(self.of_text(held, seed, known)?.into());
        }
        Ok(match decoded(held) {
            None => text::masked(held, seed),
            Some(Ok(text)) => STANDARD.encode(self.of_text(&text, seed, known)?),
            Some(Err(bytes)) => STANDARD.encode(text::bytes(bytes.len(), seed)),
        }
        .into())
    }

    fn of_text(&mut self, held: &str, seed: Seed, known: &Known) -> Result<String, String> {
        match pem::is_pem(held) {
            true => pem::pseudonym(held, &known.keys, seed, &mut self.forge),
            false => Ok(text::text(held, seed)),
        }
    }

    /// The seed for the value that `name` has now: another one for each value that it has had.
    fn seed(&mut self, name: &str, value: &str) -> Seed {
        let values = self.values.entry(name.to_owned()).or_default();
        let digest = Digest::of(value.as_bytes());
        let number = values.iter().position(|known| *known == digest).unwrap_or_else(|| {
            values.push(digest);
            values.len() - 1
        });
        Seed::of([name]).nth(number)
    }
}

/// What one Secret holds.
struct Known {
    /// Its private keys.
    keys: Vec<String>,
    /// Its values, as they are and encoded.
    values: Vec<String>,
}

/// A text that is shorter says nothing where it comes again.
const TELLING: usize = 4;

impl Known {
    fn of(entries: &[(Map<String, Value>, bool)]) -> Self {
        let mut known = Self { keys: Vec::new(), values: Vec::new() };
        for (values, encoded) in entries {
            for held in values.values().filter_map(Value::as_str) {
                let plain = match decoded(held) {
                    Some(Ok(text)) if *encoded => text,
                    _ => held.to_owned(),
                };
                known.keys.extend(pem::private_keys(&plain));
                known.values.extend([held.to_owned(), plain.trim().to_owned()]);
            }
        }
        known.values.retain(|value| value.len() >= TELLING);
        known
    }

    /// Masks every text below `value` that has any of the values in it.
    fn hide_in(&self, value: &mut Value, seed: Seed) {
        match value {
            Value::String(text) if self.values.iter().any(|known| text.contains(known.as_str())) => {
                *text = text::masked(text, seed);
            }
            Value::Array(items) => items.iter_mut().for_each(|item| self.hide_in(item, seed)),
            Value::Object(fields) => fields.values_mut().for_each(|field| self.hide_in(field, seed)),
            _ => {}
        }
    }
}

/// What base64 stands for: a text or bytes; `None` for what is none.
fn decoded(held: &str) -> Option<Result<String, Vec<u8>>> {
    let bytes = STANDARD.decode(held.trim()).ok()?;
    Some(String::from_utf8(bytes).map_err(|error| error.into_bytes()))
}
