//! HAProxy hashes once for each user whenever it reads a configuration. A check can only find out whether it knows the kind of a hash, so one
//! user of each kind keeps its hash, and others get a password that costs nothing. More users than are ordinary keep theirs, and so do those
//! whose hash takes longer than is ordinary: a start of HAProxy would take long for them, too, so a check is to find that out.

use std::{borrow::Cow, collections::BTreeSet};

/// How HAProxy's own word for a password in clear, of any user, reads.
const CHEAP: &str = "insecure-password -";

/// The most users that cost nothing: together a second or two at a start of HAProxy.
const MOST_CHEAP: usize = 500;
/// The most rounds of `$5$` and `$6$`, and the highest cost of bcrypt, that are ordinary: the defaults of `passwordLimits`.
const ROUNDS: u32 = 10_000;
const BCRYPT_COST: u32 = 7;

/// The kinds of hashes that one user has kept, and how many users have become cheap.
#[derive(Debug, Default)]
pub struct CheapPasswords {
    kept: BTreeSet<String>,
    cheap: usize,
}

impl CheapPasswords {
    /// Whole lines of haproxy.cfg, in which one user of each kind is as expensive as it was.
    pub fn replaced<'t>(&mut self, lines: &'t str) -> Cow<'t, str> {
        if !lines.contains(" password $") {
            return Cow::Borrowed(lines);
        }
        let replaced = lines.split_inclusive('\n').map(|line| self.line(line).unwrap_or(Cow::Borrowed(line)));
        Cow::Owned(replaced.collect())
    }

    /// Another line, if this one has a user with a hash of a kind that is kept already.
    fn line(&mut self, line: &str) -> Option<Cow<'static, str>> {
        let (user, rest) = line.split_once(" password ")?;
        if !user.trim_start().starts_with("user ") {
            return None;
        }
        let end = rest.find(char::is_whitespace).unwrap_or(rest.len());
        let (hash, groups) = rest.split_at_checked(end)?;
        let kind = kind_of(hash)?;
        if self.kept.insert(kind.to_owned()) || self.cheap == MOST_CHEAP {
            return None;
        }
        self.cheap += 1;
        Some(Cow::Owned(format!("{user} {CHEAP}{groups}")))
    }
}

/// The kind of a hash that is surely complete and takes no longer than is ordinary, as crypt(5) has it: `5`, `6`, `2b` and the like.
fn kind_of(hash: &str) -> Option<&str> {
    let (kind, rest) = hash.strip_prefix('$')?.split_once('$')?;
    let is_whole = match kind {
        "5" => is_sha(rest, 43),
        "6" => is_sha(rest, 86),
        "2a" | "2b" | "2y" => is_bcrypt(rest),
        _ => false,
    };
    is_whole.then_some(kind)
}

/// `[rounds=N$]SALT$DIGEST`.
fn is_sha(rest: &str, digest: usize) -> bool {
    let after_rounds = rest.strip_prefix("rounds=").map(|rounds| rounds.split_once('$'));
    let rest = match after_rounds {
        Some(Some((rounds, rest))) if is_at_most(rounds, ROUNDS) => rest,
        Some(_) => return false,
        None => rest,
    };
    rest.split_once('$').is_some_and(|(salt, end)| {
        salt.len() <= 16 && is_of_alphabet(salt) && end.len() == digest && is_of_alphabet(end)
    })
}

/// `COST$SALT-AND-DIGEST`.
fn is_bcrypt(rest: &str) -> bool {
    rest.split_once('$').is_some_and(|(cost, end)| {
        cost.len() == 2 && is_at_most(cost, BCRYPT_COST) && end.len() == 53 && is_of_alphabet(end)
    })
}

fn is_at_most(number: &str, most: u32) -> bool {
    number.bytes().all(|byte| byte.is_ascii_digit()) && number.parse().is_ok_and(|number: u32| number <= most)
}

fn is_of_alphabet(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sha256(salt: &str) -> String {
        format!("$5${salt}${}", "k".repeat(43))
    }

    #[test]
    fn one_user_of_each_kind_keeps_its_hash() {
        let mut passwords = CheapPasswords::default();
        let (first, second) = (sha256("a"), sha256("rounds=10000$b"));
        let bcrypt = format!("$2y$07${}", "b".repeat(53));
        let lines = format!(
            "userlist u\n    user a password {first}\n    user b password {second} groups g\n    user c password {bcrypt}"
        );
        assert_eq!(
            passwords.replaced(&lines),
            format!(
                "userlist u\n    user a password {first}\n    user b insecure-password - groups g\n    user c password {bcrypt}"
            )
        );
        assert_eq!(
            passwords.replaced(&format!("    user d password {bcrypt}\n")),
            "    user d insecure-password -\n"
        );
    }

    #[test]
    fn what_haproxy_may_refuse_stays_as_it_is() {
        let mut passwords = CheapPasswords::default();
        passwords.replaced(&format!("    user a password {}\n", sha256("a")));
        let short = sha256("a").replace("kk", "");
        for line in [
            format!("    user a password {short}\n"),
            format!("    user a password {}\n", sha256("rounds=x$a")),
            format!("    user a password {}\n", sha256("rounds=10001$a")),
            format!("    user a password {}\n", sha256("a\u{e4}")),
            format!("    http-request set-header X \"a password {}\n", sha256("a")),
            "    user a password $y$j9T$abc$def\n".to_owned(),
        ] {
            assert_eq!(passwords.replaced(&line), line);
        }
    }

    #[test]
    fn more_users_than_are_ordinary_are_as_expensive_as_they_are() {
        let lines = format!("    user a password {}\n", sha256("a")).repeat(MOST_CHEAP + 3);
        let replaced = CheapPasswords::default().replaced(&lines).into_owned();
        assert_eq!(replaced.matches(CHEAP).count(), MOST_CHEAP);
    }
}
