//! The users of one Secret: lines of `user:hash`.

use super::{Limits, password};
use std::collections::BTreeSet;

/// The longest name of a user.
const LONGEST_NAME: usize = 128;
/// So many problems of one Secret are told; of the others their number.
const TOLD: usize = 5;

/// Users that HAProxy is given.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Users {
    /// Names and hashes, in the order of the lines.
    pub users: Vec<(String, String)>,
    /// What is wrong with other lines.
    pub problems: Vec<String>,
    /// Microseconds that HAProxy takes for all of them whenever it reads its configuration.
    pub cost: u64,
}

/// Reads the lines of a Secret's `auth`. A line that HAProxy cannot take lets nobody in; the other ones count. Users are
/// told by their lines: their names, too, are the Secret's.
///
/// # Errors
/// Why HAProxy is given none of them.
pub fn read(text: &str, limits: &Limits) -> Result<Users, String> {
    let lines = text.lines().map(str::trim).enumerate();
    let lines = lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
    let (mut found, mut names) = (Users::default(), BTreeSet::new());
    let mut wrong = 0;
    for (index, line) in lines {
        if found.users.len() >= limits.users || wrong >= limits.users {
            return Err(format!("it has more than {} users", limits.users));
        }
        let problem = match user(line, limits) {
            Ok((name, ..)) if !names.insert(name) => format!("line {}: its user is there already", index + 1),
            Ok((name, hash, cost)) => {
                found.users.push((name.to_owned(), hash.to_owned()));
                found.cost += cost;
                continue;
            }
            Err(why) => format!("line {}: {why}", index + 1),
        };
        wrong += 1;
        if wrong <= TOLD {
            found.problems.push(problem);
        }
    }
    if wrong > TOLD {
        found.problems.push(format!("and {} lines more", wrong - TOLD));
    }
    Ok(found)
}

fn user<'l>(line: &'l str, limits: &Limits) -> Result<(&'l str, &'l str, u64), String> {
    let (name, hash) = line.split_once(':').ok_or("it must be user:hash")?;
    let (name, hash) = (name.trim(), hash.trim());
    let odd = |c: char| c.is_control() || c.is_whitespace() || matches!(c, '"' | '\'' | '\\');
    if name.is_empty() || name.len() > LONGEST_NAME || name.contains(odd) {
        return Err(format!(
            "the name of a user must have 1 to {LONGEST_NAME} bytes, without blanks and quotes"
        ));
    }
    match password::cost(hash, limits) {
        Ok(cost) => Ok((name, hash, cost)),
        Err(why) => Err(format!("nobody gets in by it, its password is {why}")),
    }
}
