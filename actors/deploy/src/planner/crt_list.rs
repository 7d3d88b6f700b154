//! crt-lists as HAProxy reads them, and what differs between two.

use std::collections::BTreeMap;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct CrtListLine<'a> {
    /// The certificate's file.
    pub certificate: &'a str,
    /// What stands in brackets.
    pub options: &'a str,
    /// The hosts it is served for. Without any, HAProxy takes those that the certificate names.
    pub hosts: Vec<&'a str>,
}

/// The lines that differ, whatever their order.
#[derive(Debug, Default)]
pub(super) struct CrtListDifference<'e, 'a> {
    /// Lines only in the new list, with their positions there.
    pub added: Vec<(usize, &'e CrtListLine<'a>)>,
    /// Lines only in the old list.
    pub removed: Vec<&'e CrtListLine<'a>>,
}

/// The lines of a list; `None` for one that begins with something else than a plain path.
pub(super) fn entries(text: &str) -> Option<Vec<CrtListLine<'_>>> {
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines.map(CrtListLine::read).collect()
}

impl<'a> CrtListLine<'a> {
    fn read(line: &'a str) -> Option<Self> {
        if line.contains(['"', '\'', '\\']) {
            return None;
        }
        let (certificate, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        let rest = rest.trim_start();
        let (options, hosts) = match rest.strip_prefix('[') {
            Some(rest) => rest.split_once(']')?,
            None => ("", rest),
        };
        let entry = Self { certificate, options: options.trim(), hosts: hosts.split_whitespace().collect() };
        (!certificate.contains(['[', ']'])).then_some(entry)
    }

    /// The line as it is sent.
    pub fn line(&self) -> String {
        let mut line = self.certificate.to_owned();
        if !self.options.is_empty() {
            line.push_str(&format!(" [{}]", self.options.split_whitespace().collect::<Vec<_>>().join(" ")));
        }
        for host in &self.hosts {
            line.push(' ');
            line.push_str(host);
        }
        line
    }
}

/// Compares two lists line by line.
pub(super) fn difference<'e, 'a>(
    old: &'e [CrtListLine<'a>],
    new: &'e [CrtListLine<'a>],
) -> CrtListDifference<'e, 'a> {
    let mut left: BTreeMap<String, Vec<&CrtListLine<'_>>> = BTreeMap::new();
    for entry in old {
        left.entry(entry.line()).or_default().push(entry);
    }
    let mut difference = CrtListDifference::default();
    for (position, entry) in new.iter().enumerate() {
        if left.get_mut(&entry.line()).and_then(Vec::pop).is_none() {
            difference.added.push((position, entry));
        }
    }
    difference.removed = left.into_values().flatten().collect();
    difference
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read_with_options_and_hosts() {
        let read = entries("# c\n\n  a.pem\nb.pem [alpn h2 ]  x.example !y.example \nc.pem z\n").unwrap();
        let lines: Vec<_> = read.iter().map(CrtListLine::line).collect();
        assert_eq!(lines, ["a.pem", "b.pem [alpn h2] x.example !y.example", "c.pem z"]);
        assert!(entries("a.pem [alpn h2\n").is_none());
        assert!(entries("\"a b.pem\"\n").is_none());
    }

    #[test]
    fn the_order_of_lines_is_no_difference() {
        let (old, new) = (entries("a x\nb y\n").unwrap(), entries("b y\na x\nc z\n").unwrap());
        let found = difference(&old, &new);
        assert_eq!(found.added.len(), 1);
        assert!(found.removed.is_empty());
    }
}
