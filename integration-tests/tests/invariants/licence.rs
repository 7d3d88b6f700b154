//! Licence expressions as crates write them: SPDX, and the older `A/B`.

/// Whether `expression` can be satisfied with licences of `allowed` alone.
pub fn allows(allowed: &[String], expression: &str) -> bool {
    let spaced = expression.replace('/', " OR ").replace('(', " ( ").replace(')', " ) ");
    let mut words = spaced.split_whitespace().peekable();
    any(allowed, &mut words)
}

type Words<'a> = std::iter::Peekable<std::str::SplitWhitespace<'a>>;

fn any(allowed: &[String], words: &mut Words<'_>) -> bool {
    let mut satisfied = all(allowed, words);
    while words.next_if_eq(&"OR").is_some() {
        satisfied |= all(allowed, words);
    }
    satisfied
}

fn all(allowed: &[String], words: &mut Words<'_>) -> bool {
    let mut satisfied = one(allowed, words);
    while words.next_if_eq(&"AND").is_some() {
        satisfied &= one(allowed, words);
    }
    satisfied
}

fn one(allowed: &[String], words: &mut Words<'_>) -> bool {
    if words.next_if_eq(&"(").is_some() {
        let satisfied = any(allowed, words);
        return words.next_if_eq(&")").is_some() && satisfied;
    }
    let Some(mut name) = words.next().map(str::to_owned) else { return false };
    if words.next_if_eq(&"WITH").is_some() {
        name = format!("{name} WITH {}", words.next().unwrap_or_default());
    }
    allowed.contains(&name)
}

#[test]
fn expressions_are_understood() {
    let allowed = ["MIT".to_owned(), "ISC".to_owned(), "A WITH x".to_owned()];
    for yes in [
        "MIT",
        "GPL OR MIT",
        "GPL/MIT",
        "GPL / MIT",
        "(GPL OR MIT) AND ISC",
        "A WITH x",
        "GPL AND GPL OR MIT",
    ] {
        assert!(allows(&allowed, yes), "{yes}");
    }
    for no in
        ["GPL", "MIT AND GPL", "(MIT OR ISC) AND GPL", "A", "A WITH y", "MIT AND (GPL OR A)", "", "(MIT"]
    {
        assert!(!allows(&allowed, no), "{no}");
    }
}
