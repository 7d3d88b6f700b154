//! How the API words a rule that it has read: options in an order of its own, some of them lost. What it cannot read it keeps
//! as text, and writes behind the rules that it can.

use haptic_haproxy::Line;

/// A rule as it is written.
pub struct Rule {
    pub text: String,
    /// Whether it is written behind all others of its keyword.
    pub is_unread: bool,
}

/// Error pages are there for these.
const PAGES: &str = "200 400 401 403 404 405 407 408 410 413 425 429 500 501 502 503 504";

/// A rule that is written in other words, or elsewhere; `minor` is the API's version 3.`minor`.
pub fn rewritten(line: &Line<'_>, minor: u16) -> Option<Rule> {
    if !line.keyword().starts_with("http-") {
        return None;
    }
    let words: Vec<&str> = line.words.iter().map(|word| word.raw).collect();
    let is_condition = |word: &&str| matches!(*word, "if" | "unless");
    let end = words.iter().position(is_condition).unwrap_or(words.len());
    let (rule, condition) = words.split_at(end);
    let (action, options) = rule.split_at_checked(2)?;
    let unread = || Some(Rule { text: words.join(" "), is_unread: true });
    let read = match action.get(1).copied()? {
        "deny" | "tarpit" => answer("deny_status", options)?,
        "return" => answer("status", options)?,
        "redirect" => match redirect(options) {
            Some(read) => read,
            None => return unread(),
        },
        "wait-for-body" if options.first() == Some(&"at-least") => return unread(),
        name if name.starts_with("set-var(\"") && minor >= 4 => return unread(),
        "set-bandwidth-limit" => bandwidth(options)?,
        _ => return None,
    };
    let all = action.iter().map(|word| (*word).to_owned()).chain(read);
    let all: Vec<String> = all.chain(condition.iter().map(|word| (*word).to_owned())).collect();
    Some(Rule { text: all.join(" "), is_unread: false })
}

/// Status, type, content, then headers.
fn answer(status_word: &str, options: &[&str]) -> Option<Vec<String>> {
    let (mut status, mut kind, mut content, mut headers) = (None, None, None, Vec::new());
    let mut rest = options;
    while let [name, after @ ..] = rest {
        let values = match *name {
            "default-errorfiles" => 0,
            "hdr" => 2,
            _ => 1,
        };
        let (values, left) = after.split_at_checked(values)?;
        let text = std::iter::once(name).chain(values).copied().collect::<Vec<_>>().join(" ");
        match *name {
            "status" | "deny_status" => status = values.first().copied(),
            "content-type" => kind = Some(text),
            "hdr" => headers.push(text),
            _ => content = Some(text),
        }
        rest = left;
    }
    let has_page = content.as_ref().is_some_and(|content| content.contains("errorfile"));
    if has_page {
        headers.clear();
        status = status.filter(|status| PAGES.split(' ').any(|page| page == *status));
    }
    let status = status.filter(|status| *status != "599").map(|status| format!("{status_word} {status}"));
    Some(status.into_iter().chain(kind).chain(content).chain(headers).collect())
}

/// Its target, its code, and of all other pairs of words the last.
fn redirect(options: &[&str]) -> Option<Vec<String>> {
    if options.len() % 2 == 1 || options.iter().any(|option| matches!(*option, "ignore-empty" | "keep-query"))
    {
        return None;
    }
    let (mut target, mut code, mut other) = (None, None, None);
    for pair in options.chunks(2) {
        let into = match *pair.first()? {
            "location" | "prefix" | "scheme" => &mut target,
            "code" => &mut code,
            _ => &mut other,
        };
        *into = Some(pair.join(" "));
    }
    Some(target.into_iter().chain(code).chain(other).collect())
}

fn bandwidth(options: &[&str]) -> Option<Vec<String>> {
    let (name, pairs) = options.split_first()?;
    let mut pairs: Vec<String> = pairs.chunks(2).map(|pair| pair.join(" ")).collect();
    pairs.sort();
    Some(std::iter::once((*name).to_owned()).chain(pairs).collect())
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
