//! The parameters of `server` and `bind` lines as they stand there, each with its values.

use crate::{document::Word, keywords};

/// The words of `words`, which follow an address, in groups: a parameter and its values. `keyword` is `server` or `bind`.
pub fn parameters<'l, 'a>(words: &'l [Word<'a>], keyword: &str) -> Vec<&'l [Word<'a>]> {
    let table = format!("{keyword} values");
    let mut groups = Vec::new();
    let mut rest = words;
    while let Some(first) = rest.first() {
        let (group, after) = rest.split_at_checked(size(first, rest, &table)).unwrap_or((rest, &[]));
        groups.push(group);
        rest = after;
    }
    groups
}

fn size(first: &Word<'_>, words: &[Word<'_>], table: &str) -> usize {
    if first.value == "source" {
        // `source <address> [usesrc <address>] [interface <name>]`, configuration manual 5.2
        let mut size = 2;
        while words.get(size).is_some_and(|word| matches!(&*word.value, "usesrc" | "interface")) {
            size += 2;
        }
        return size;
    }
    let stem = first.value.split('(').next().unwrap_or_default();
    let takes_value =
        keywords::all().iter().filter_map(|known| known.table(table)).any(|known| known.contains(stem));
    1 + usize::from(takes_value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Document;

    fn groups(line: &str) -> Vec<String> {
        let document = Document::parse(line);
        let line = document.lines().next().unwrap();
        let from = if line.keyword() == "bind" { 2 } else { 3 };
        let groups = parameters(line.from(from), line.keyword());
        groups.iter().map(|group| group.iter().map(|word| word.raw).collect::<Vec<_>>().join(" ")).collect()
    }

    #[test]
    fn each_parameter_has_its_own_values() {
        assert_eq!(
            groups(
                "server a 10.0.0.1:80 check cookie \"disabled\" source 1.1.1.1 usesrc clientip backup ca-file x"
            ),
            ["check", "cookie \"disabled\"", "source 1.1.1.1 usesrc clientip", "backup", "ca-file x"]
        );
        assert_eq!(
            groups("bind :443 ssl crt tfo accept-proxy interface ssl alpn h2"),
            ["ssl", "crt tfo", "accept-proxy", "interface ssl", "alpn h2"]
        );
    }
}
