//! The checking of passwords, and its cost for HAProxy: told from the hash alone, so that every
//! replica on every machine decides alike.

use super::limits::Limits;
use base64::{Engine as _, engine::general_purpose::STANDARD};

/// Characters of hashes and salts (crypt(5)).
fn is_coded(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'.' || byte == b'/')
}

const ADVICE: &str = "make it with `openssl passwd -6`";

/// The way in which a password is checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PasswordKind {
    /// HAProxy itself, by libcrypt.
    Crypt,
    /// Lua: libcrypt does not know it.
    Digest,
    /// HAProxy, which is told the password.
    Plain,
}

impl PasswordKind {
    /// In a word, for templates.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Crypt => "crypt",
            Self::Digest => "digest",
            Self::Plain => "plain",
        }
    }
}

/// A password that can be checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Password<'h> {
    /// How.
    pub kind: PasswordKind,
    /// The text that it is compared with.
    pub text: &'h str,
    /// About how many microseconds HAProxy takes for it when it reads its configuration.
    pub cost: u64,
}

/// Reads what stands behind a user's name.
///
/// # Errors
/// The kind of password it is, and why nobody checks it; never the password.
pub fn read<'h>(hash: &'h str, limits: &Limits) -> Result<Password<'h>, String> {
    let of = |kind, text| Password { kind, text, cost: 0 };
    // haproxy-ingress writes `user::password`.
    if let Some(plain) = hash.strip_prefix("{PLAIN}").or_else(|| hash.strip_prefix(':')) {
        let is_printable = !plain.is_empty() && !plain.contains(char::is_control);
        return is_printable.then(|| of(PasswordKind::Plain, plain)).ok_or_else(|| broken("{PLAIN}"));
    }
    if let Some(digest) = hash.strip_prefix("{SHA}") {
        let is_sha1 = STANDARD.decode(digest).is_ok_and(|bytes| bytes.len() == 20);
        return is_sha1.then(|| of(PasswordKind::Digest, hash)).ok_or_else(|| broken("{SHA}"));
    }
    if let Some(rest) = hash.strip_prefix("$apr1$") {
        return salted(rest, 8, 22).then(|| of(PasswordKind::Digest, hash)).ok_or_else(|| broken("$apr1$"));
    }
    Ok(Password { kind: PasswordKind::Crypt, text: hash, cost: cost(hash, limits)? })
}

/// About how many microseconds HAProxy takes for it.
fn cost(hash: &str, limits: &Limits) -> Result<u64, String> {
    let mut parts = hash.splitn(3, '$');
    let (Some(""), Some(id), Some(rest)) = (parts.next(), parts.next(), parts.next()) else {
        let kind = hash.split_once('}').map(|(kind, _)| kind).filter(|kind| kind.starts_with('{'));
        let known =
            kind.filter(|kind| ["{SSHA", "{MD5", "{SMD5", "{CRYPT", "{SSHA512", "{SHA512"].contains(kind));
        return Err(match known {
            Some(kind) => format!("of a kind that nobody checks ({kind}}}): {ADVICE}"),
            None => format!(
                "plain text without {{PLAIN}} before it, or of a kind that HAProxy does not get: {ADVICE}"
            ),
        });
    };
    match id {
        "1" => salted(rest, 8, 22).then_some(100).ok_or_else(|| broken("$1$")),
        "5" | "6" => sha_crypt(id, rest, limits),
        "2a" | "2b" | "2y" => bcrypt(id, rest, limits),
        "y" | "gy" | "7" | "argon2i" | "argon2id" | "scrypt" => {
            Err(format!("of a kind that takes HAProxy too long or that it cannot check (${id}$): {ADVICE}"))
        }
        _ => Err(format!("of a kind that HAProxy does not get: {ADVICE}")),
    }
}

fn broken(kind: &str) -> String {
    format!("a broken hash of the kind {kind}: {ADVICE}")
}

/// `SALT$HASH`.
fn salted(text: &str, longest_salt: usize, length: usize) -> bool {
    text.split_once('$').is_some_and(|(salt, hash)| {
        (1..=longest_salt).contains(&salt.len()) && hash.len() == length && is_coded(salt) && is_coded(hash)
    })
}

fn sha_crypt(id: &str, rest: &str, limits: &Limits) -> Result<u64, String> {
    let kind = format!("${id}$");
    let (rounds, rest) = match rest.strip_prefix("rounds=") {
        Some(rest) => rest.split_once('$').ok_or_else(|| broken(&kind))?,
        None => ("5000", rest),
    };
    // Below 1,000 implementations differ.
    let plain =
        rounds.bytes().all(|byte| byte.is_ascii_digit()) && !rounds.starts_with('0') && rounds.len() <= 9;
    let rounds: u64 =
        rounds.parse().ok().filter(|rounds| plain && *rounds >= 1000).ok_or_else(|| broken(&kind))?;
    if rounds > limits.rounds {
        return Err(format!("{kind} with {rounds} rounds, {} are the most", limits.rounds));
    }
    let length = if id == "5" { 43 } else { 86 };
    if !salted(rest, 16, length) {
        return Err(broken(&kind));
    }
    Ok(rounds / 5)
}

fn bcrypt(id: &str, rest: &str, limits: &Limits) -> Result<u64, String> {
    let kind = format!("${id}$");
    let (cost, rest) = rest.split_once('$').ok_or_else(|| broken(&kind))?;
    let two_digits = cost.len() == 2 && cost.bytes().all(|byte| byte.is_ascii_digit());
    let cost: u32 = cost
        .parse()
        .ok()
        .filter(|cost| two_digits && (4..=31).contains(cost))
        .ok_or_else(|| broken(&kind))?;
    if u64::from(cost) > limits.bcrypt_cost {
        return Err(format!("{kind} with cost {cost}, {} is the most", limits.bcrypt_cost));
    }
    if rest.len() != 53 || !is_coded(rest) {
        return Err(broken(&kind));
    }
    Ok(50 << cost)
}
