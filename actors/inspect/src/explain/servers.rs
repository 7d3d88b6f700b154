//! Which servers a backend has.

use haptic_haproxy::{Document, SectionKind};

/// The socket at which the only server of a backend listens, where it is one.
pub fn socket_of(document: &Document<'_>, backend: &str) -> Option<String> {
    let section = document.section(&SectionKind::Backend, backend)?;
    let mut servers = section.lines.iter().filter(|line| line.keyword() == "server");
    let address = servers.next()?.value(2);
    let is_socket = ["unix@", "abns@", "/"].iter().any(|start| address.starts_with(start));
    (is_socket && servers.next().is_none()).then(|| address.to_owned())
}

/// How many servers a backend has that are not in maintenance; `None`: there is no such backend.
pub fn ready(document: &Document<'_>, backend: &str) -> Option<usize> {
    let section = document.section(&SectionKind::Backend, backend)?;
    let ready = section.lines.iter().filter(|line| !line.from(3).iter().any(|word| word.value == "disabled"));
    let counts = ready.map(|line| match line.keyword() {
        "server" => 1,
        "server-template" => count_of(line.value(2)),
        _ => 0,
    });
    Some(counts.sum())
}

/// Of `3` or `2-4`, as a `server-template` has it.
fn count_of(range: &str) -> usize {
    let (first, last) = range.split_once('-').unwrap_or(("1", range));
    let numbers = first.parse().ok().zip(last.parse().ok());
    numbers.map_or(0, |(first, last): (usize, usize)| last.saturating_add(1).saturating_sub(first))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_of_templates_count_and_those_in_maintenance_do_not() {
        let text = "backend b\n  server a 10.0.0.1:80\n  server d 10.0.0.2:80 disabled\n  server-template t 3 x.test:80\n  \
                    server-template u 2-3 x.test:80\nbackend none\n  mode http\n";
        let document = Document::parse(text);
        assert_eq!(["b", "none", "other"].map(|name| ready(&document, name)), [Some(6), Some(0), None]);
    }
}
