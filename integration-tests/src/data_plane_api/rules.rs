//! How the API words a line that it has read: options in an order of its own, some of them lost. What it cannot read it keeps
//! as text, and writes behind the lines that it can.

use haptic_haproxy::Line;

/// A line as it is written.
pub struct Rule {
    pub text: String,
    /// Whether it is written behind all others of its keyword.
    pub is_unread: bool,
}

impl Rule {
    fn read(words: &[&str]) -> Self {
        Self { text: words.join(" "), is_unread: false }
    }

    fn unread(words: &[&str]) -> Self {
        Self { text: words.join(" "), is_unread: true }
    }
}

/// Error pages are there for these.
const PAGES: &str = "200 400 401 403 404 405 407 408 410 413 425 429 500 501 502 503 504";

/// Options of a cookie in the order in which they are written, and whether they have a value.
const COOKIE: &[(&str, bool)] = &[
    ("domain", true),
    ("attr", true),
    ("dynamic", false),
    ("httponly", false),
    ("indirect", false),
    ("maxidle", true),
    ("maxlife", true),
    ("nocache", false),
    ("postonly", false),
    ("preserve", false),
    ("insert", false),
    ("prefix", false),
    ("rewrite", false),
    ("secure", false),
];

/// A line that is written in other words, or elsewhere; `minor` is the API's version 3.`minor`.
pub fn rewritten(line: &Line<'_>, minor: u16) -> Option<Rule> {
    let words: Vec<&str> = line.words.iter().map(|word| word.raw).collect();
    match (line.keyword(), line.value(1)) {
        ("cookie", _) => Some(cookie(&words)),
        ("filter", kind) if kind.starts_with("lua.") => Some(Rule::unread(&words)),
        ("http-after-response", action) if action.starts_with("lua.") => Some(Rule::unread(&words)),
        ("filter", "bwlim-in" | "bwlim-out") => {
            let (head, limits) = words.split_at_checked(3)?;
            Some(Rule::read(&[head, &bandwidth(limits)].concat()))
        }
        ("stick-table", _) => Some(stick_table(&words)),
        (keyword, _) if keyword.starts_with("http-") => rule(&words, minor),
        _ => None,
    }
}

/// A rule of `http-request` and the like.
fn rule(words: &[&str], minor: u16) -> Option<Rule> {
    let is_condition = |word: &&str| matches!(*word, "if" | "unless");
    let end = words.iter().position(is_condition).unwrap_or(words.len());
    let (rule, condition) = words.split_at(end);
    let (action, options) = rule.split_at_checked(2)?;
    let read = match action.get(1).copied()? {
        "deny" | "tarpit" => answer("deny_status", options)?,
        "return" => answer("status", options)?,
        "redirect" => match redirect(options) {
            Some(read) => read,
            None => return Some(Rule::unread(words)),
        },
        "wait-for-body" if options.first() == Some(&"at-least") => return Some(Rule::unread(words)),
        name if name.starts_with("set-var(\"") && minor >= 4 => return Some(Rule::unread(words)),
        "set-bandwidth-limit" => {
            let (name, limits) = options.split_at_checked(1)?;
            [name, &bandwidth(limits)].concat()
        }
        _ => return None,
    };
    Some(Rule::read(&[action, &read, condition].concat()))
}

/// Limit, then period.
fn bandwidth<'w>(options: &[&'w str]) -> Vec<&'w str> {
    let mut pairs: Vec<&[&str]> = options.chunks(2).collect();
    pairs.sort_unstable();
    pairs.concat()
}

/// Its options in the order of [`COOKIE`]; others are lost.
fn cookie(words: &[&str]) -> Rule {
    let (head, options) = words.split_at(words.len().min(2));
    let mut written = head.to_vec();
    for (known, has_value) in COOKIE {
        for (at, _) in options.iter().enumerate().filter(|(_, option)| option == &known) {
            written.extend(options.iter().skip(at).take(1 + usize::from(*has_value)));
        }
    }
    Rule::read(&written)
}

/// Of several things that it stores the last one.
fn stick_table(words: &[&str]) -> Rule {
    let last = words.iter().rposition(|word| *word == "store");
    let is_kept = |at: usize| {
        let stores = words.get(at) == Some(&"store") || at > 0 && words.get(at - 1) == Some(&"store");
        !stores || last.is_some_and(|last| at >= last)
    };
    let kept: Vec<&str> =
        words.iter().enumerate().filter(|(at, _)| is_kept(*at)).map(|(_, word)| *word).collect();
    Rule::read(&kept)
}

/// Status, type, content, then headers.
fn answer<'w>(status_word: &'w str, options: &[&'w str]) -> Option<Vec<&'w str>> {
    let (mut status, mut kind, mut content, mut headers) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let mut rest = options;
    while let Some(name) = rest.first() {
        let values = match *name {
            "default-errorfiles" => 0,
            "hdr" => 2,
            _ => 1,
        };
        let (option, left) = rest.split_at_checked(1 + values)?;
        match *name {
            "status" | "deny_status" => status = vec![status_word, option.get(1).copied()?],
            "content-type" => kind = option.to_vec(),
            "hdr" => headers.extend_from_slice(option),
            _ => content = option.to_vec(),
        }
        rest = left;
    }
    if content.first().is_some_and(|content| content.contains("errorfile")) {
        headers.clear();
        status.retain(|word| *word == status_word || PAGES.split(' ').any(|page| page == *word));
    }
    status.retain(|word| *word != "599");
    if status.len() < 2 {
        status.clear();
    }
    Some([status, kind, content, headers].concat())
}

/// Its target, its code, and of all other pairs of words the last.
fn redirect<'w>(options: &[&'w str]) -> Option<Vec<&'w str>> {
    if options.len() % 2 == 1 || options.iter().any(|option| matches!(*option, "ignore-empty" | "keep-query"))
    {
        return None;
    }
    let (mut target, mut code, mut other): (&[_], &[_], &[_]) = (&[], &[], &[]);
    for pair in options.chunks(2) {
        let into = match *pair.first()? {
            "location" | "prefix" | "scheme" => &mut target,
            "code" => &mut code,
            _ => &mut other,
        };
        *into = pair;
    }
    Some([target, code, other].concat())
}

#[cfg(test)]
mod tests {
    use super::*;
    use haptic_haproxy::Document;

    const RECORDED: &str =
        include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../fixtures/dataplaneapi/rules.txt"));

    #[test]
    fn each_recorded_rule_is_written_as_the_real_one_writes_it() {
        for recorded in RECORDED.lines().filter(|line| !line.starts_with('#')) {
            let (harm, rest) = recorded.split_once(' ').unwrap();
            let (sent, written) = rest.split_once(" => ").unwrap_or((rest, rest));
            let text = format!("frontend f\n  {}\n", sent.trim());
            let document = Document::parse(&text);
            for minor in [0, 4] {
                let rule = rewritten(&document.sections[0].lines[0], minor);
                let is_unread = rule.as_ref().is_some_and(|rule| rule.is_unread);
                let text = rule.map_or_else(|| sent.trim().to_owned(), |rule| rule.text);
                let is_moved = harm.starts_with("moved") && (minor == 4 || harm != "moved[3.4]");
                assert_eq!((text.as_str(), is_unread), (written.trim(), is_moved), "3.{minor}: {recorded}");
            }
        }
    }
}
