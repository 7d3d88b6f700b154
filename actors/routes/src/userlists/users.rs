//! The users of one Secret: lines of `user:hash`, or an entry for each user.

use super::{
    limits::Limits,
    password::{self, Password, PasswordKind},
};
use crate::sentences::shortened;
use std::collections::{BTreeMap, BTreeSet};

/// The longest name of a user.
const LONGEST_NAME: usize = 128;
/// The most problems of one Secret that are told; of the others their number is.
const TOLD: usize = 5;

/// Somebody who may get in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PasswordUser {
    /// The name.
    pub name: String,
    /// The text that the password is compared with.
    pub password: String,
    /// How.
    pub kind: PasswordKind,
}

/// Users that HAProxy is given.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Users {
    /// In the order of the lines, or of the names.
    pub users: Vec<PasswordUser>,
    /// The faults of other lines.
    pub problems: Vec<String>,
    /// Microseconds that HAProxy takes for all of them whenever it reads its configuration.
    pub cost: u64,
}

/// Reads the lines of a Secret's `auth`. A line that cannot be taken lets nobody in; the other ones count.
///
/// # Errors
/// Why HAProxy is given none of them.
pub fn of_lines(text: &str, limits: &Limits) -> Result<Users, String> {
    let lines = text.lines().map(str::trim).enumerate();
    let lines = lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
    collect(lines.map(|(index, line)| (format!("line {}", index + 1), user_of(line))), limits)
}

/// A name, and a hash or password. What stands behind another colon is a comment (nginx: auth_basic_user_file): no hash has one, a password may.
fn user_of(line: &str) -> Option<(&str, &str)> {
    let (name, hash) = line.split_once(':')?;
    let is_hash = hash.starts_with('$') || hash.starts_with("{SHA}");
    Some((name, hash.split_once(':').filter(|_| is_hash).map_or(hash, |(hash, _)| hash)))
}

/// Reads a Secret whose entries are users, with their hashes.
///
/// # Errors
/// Why HAProxy is given none of them.
pub fn of_entries(entries: &BTreeMap<String, String>, limits: &Limits) -> Result<Users, String> {
    let entries = entries.iter().map(|(name, hash)| (&**name, hash.trim()));
    collect(entries.map(|entry| ("its entry".to_owned(), Some(entry))), limits)
}

/// Users, each with where it stands.
fn collect<'u>(
    entries: impl Iterator<Item = (String, Option<(&'u str, &'u str)>)>,
    limits: &Limits,
) -> Result<Users, String> {
    let (mut found, mut names) = (Users::default(), BTreeSet::new());
    let mut wrong = 0;
    for (place, entry) in entries {
        if found.users.len() >= limits.users || wrong >= limits.users {
            return Err(format!("it has more than {} users", limits.users));
        }
        let problem = match user(&place, entry, limits) {
            Ok((name, _)) if !names.insert(name) => {
                // Who it is is the Secret's.
                format!("{place}: its user is there already")
            }
            Ok((name, Password { kind, text, cost })) => {
                found.users.push(PasswordUser { name: name.to_owned(), password: text.to_owned(), kind });
                found.cost += cost;
                continue;
            }
            Err(why) => why,
        };
        wrong += 1;
        if wrong <= TOLD {
            found.problems.push(problem);
        }
    }
    if wrong > TOLD {
        found.problems.push(format!("and {} users more", wrong - TOLD));
    }
    Ok(found)
}

fn user<'u>(
    place: &str,
    entry: Option<(&'u str, &'u str)>,
    limits: &Limits,
) -> Result<(&'u str, Password<'u>), String> {
    let (name, hash) = entry.ok_or_else(|| format!("{place} must be user:hash"))?;
    let (name, hash) = (name.trim(), hash.trim());
    let odd = |c: char| c.is_control() || c.is_whitespace() || matches!(c, '"' | '\'' | '\\');
    if name.is_empty() || name.len() > LONGEST_NAME || name.contains(odd) {
        return Err(format!(
            "{place}: the name of a user must have 1 to {LONGEST_NAME} bytes, without blanks and quotes"
        ));
    }
    let password = password::read(hash, limits);
    password
        .map(|password| (name, password))
        .map_err(|why| format!("user {} ({place}) does not get in, its password is {why}", shortened(name)))
}
