//! What a backend as a whole allows at run time (measured on HAProxy 3.0.11, 3.2.26 and 3.4.7).

use haptic_haproxy::{
    Document, Line, Section, SectionKind,
    views::{BackendServer, servers},
};
use std::collections::HashSet;

/// The lines of a backend that decide whether its servers may come, go and change their weight.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct BackendLines {
    /// `backend shop`.
    pub title: String,
    balance: Option<String>,
    hash_type: Option<String>,
    mode: Option<String>,
    without_balancing: Option<&'static str>,
    all_backups: bool,
    /// Servers that are used only without others.
    backups: usize,
    /// A server whose place among others is that of its number, which is that of its line.
    numbered: Option<String>,
    /// A server that consistent hashing places where another one is: who comes first there gets the requests.
    doubled: Option<String>,
}

impl BackendLines {
    /// Reads the section at `position` with the defaults sections it starts from.
    pub fn read(document: &Document<'_>, inheritance: &[Option<usize>], position: usize) -> Self {
        let mut chain: Vec<&Section<'_>> = Vec::new();
        let mut next = Some(position);
        while let Some(section) = next.and_then(|at| document.sections.get(at)) {
            chain.push(section);
            // A section starts only from one before it, so this ends.
            next = next.and_then(|at| inheritance.get(at).copied().flatten().filter(|&parent| parent < at));
        }
        let mut backend = Self {
            title: chain.first().map(|section| section.title()).unwrap_or_default(),
            ..Self::default()
        };
        chain.iter().rev().flat_map(|section| &section.lines).for_each(|line| backend.take(line));
        if chain.first().is_some_and(|section| section.kind != SectionKind::Defaults) {
            let (is_consistent, mut places) = (backend.is_consistent(), HashSet::new());
            for server in servers(document, inheritance, position) {
                backend.backups += usize::from(server.param("backup").is_some());
                if is_consistent && backend.doubled.is_none() && !places.insert(place(&server)) {
                    backend.doubled = Some(server.name.clone());
                }
                if backend.numbered.is_none() && is_numbered(&server) {
                    backend.numbered = Some(server.name);
                }
            }
        }
        backend
    }

    fn take(&mut self, line: &Line<'_>) {
        match (line.keyword(), line.value(1)) {
            ("balance", algorithm) => self.balance = Some(algorithm.to_owned()),
            ("hash-type", kind) => self.hash_type = Some(kind.to_owned()),
            ("mode", mode) => self.mode = Some(mode.to_owned()),
            ("dispatch", _) => self.without_balancing = Some("dispatch"),
            ("option", "transparent") => self.without_balancing = Some("option transparent"),
            ("no", "option") if line.value(2) == "transparent" => self.without_balancing = None,
            ("option", "allbackups") => self.all_backups = true,
            ("no", "option") if line.value(2) == "allbackups" => self.all_backups = false,
            _ => {}
        }
    }

    /// Whether its mode is one that backends added at run time can have, and is written down.
    pub fn has_dynamic_mode(&self) -> bool {
        matches!(self.mode.as_deref(), Some("http" | "tcp"))
    }

    /// Why weights cannot change and servers cannot come; `None` when they can.
    ///
    /// Without a `balance` line HAProxy uses roundrobin (3.0, 3.2) or random (since 3.3): both are dynamic.
    pub fn why_fixed(&self) -> Option<String> {
        let title = &self.title;
        if self.mode.as_deref() == Some("log") {
            return Some(format!("{title}: servers of mode log are fixed"));
        }
        if let Some(line) = self.without_balancing {
            return Some(format!("{title}: with {line} its servers are fixed"));
        }
        let balance = self.balance();
        match self.algorithm() {
            _ if self.is_turned() => None,
            "first" => Some(format!("{title}: balance first uses servers in the order of their lines")),
            "static-rr" => Some(format!("{title}: balance static-rr allows no server changes at run time")),
            _ if self.is_consistent() => None,
            _ => Some(format!(
                "{title}: balance {balance} needs hash-type consistent for server changes at run time"
            )),
        }
    }

    /// Why `server` cannot come or go alone; `None` when it can. Consistent hashing places a server by its number, unless
    /// `hash-key` says otherwise, and HAProxy numbers those in its file anew with each start.
    pub fn why_numbered(&self, server: Option<&BackendServer>) -> Option<String> {
        let balance = self.balance();
        let name = server.filter(|server| is_numbered(server)).map(|server| &server.name);
        let name = name.or(self.numbered.as_ref()).filter(|_| self.is_consistent())?;
        Some(format!(
            "{}: balance {balance} places server {name} by its line, unless it has hash-key addr-port",
            self.title
        ))
    }

    /// Why servers cannot come to be as they are here one by one; `None` when they can.
    pub fn why_doubled(&self) -> Option<String> {
        let (title, balance) = (&self.title, self.balance());
        let name = self.doubled.as_ref()?;
        Some(format!(
            "{title}: balance {balance} places server {name} by its line, because another one has its address"
        ))
    }

    /// Why servers cannot stand in another order; `None` when their order does not matter.
    pub fn why_ordered(&self) -> Option<String> {
        let title = &self.title;
        if self.backups > 1 && !self.all_backups {
            return Some(format!(
                "{title}: its backup servers are used in the order of their lines, which changed"
            ));
        }
        let by_lines = !self.is_turned() && (!self.is_consistent() || self.numbered.is_some());
        by_lines.then(|| {
            format!("{title}: balance {} follows the order of servers, which changed", self.balance())
        })
    }

    /// Whether servers stand on a ring, so that most requests stay where they are when one comes or goes.
    fn is_consistent(&self) -> bool {
        let is_hashed = !self.is_turned() && !matches!(self.algorithm(), "first" | "static-rr");
        is_hashed && self.hash_type.as_deref() == Some("consistent")
    }

    fn balance(&self) -> &str {
        self.balance.as_deref().unwrap_or("roundrobin")
    }

    fn algorithm(&self) -> &str {
        self.balance().split('(').next().unwrap_or_default()
    }

    /// Whether servers take turns, by weights that can change.
    fn is_turned(&self) -> bool {
        matches!(self.algorithm(), "roundrobin" | "leastconn" | "random" | "sticky")
    }
}

/// What consistent hashing places a server by. The ports of servers that `hash-key addr` places may differ.
fn place(server: &BackendServer) -> String {
    let key = server.param("hash-key").and_then(|values| values.into_iter().next());
    match (key.as_deref(), server.port) {
        (Some("addr"), _) => server.address.clone(),
        (Some("addr-port"), Some(port)) => format!("{}:{port}", server.address),
        _ => server.name.clone(),
    }
}

/// Whether the keyword `hash-key` of the server is `id`, its default.
fn is_numbered(server: &BackendServer) -> bool {
    server.param("hash-key").is_none_or(|values| values.first().is_none_or(|key| key == "id"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn backend(text: &str) -> BackendLines {
        let document = Document::parse(text);
        BackendLines::read(&document, &document.inheritance(), document.sections.len() - 1)
    }

    #[test]
    fn static_algorithms_allow_no_server_changes() {
        for (text, fixed) in [
            ("backend b\n", false),
            ("backend b\n balance leastconn\n", false),
            ("backend b\n balance random(2)\n", false),
            ("backend b\n balance first\n", true),
            ("backend b\n balance static-rr\n", true),
            ("backend b\n balance source\n", true),
            ("backend b\n balance uri whole\n hash-type map-based\n", true),
            ("backend b\n balance hdr(host)\n hash-type consistent sdbm avalanche\n", false),
            ("defaults\n balance source\nbackend b\n", true),
            ("defaults\n balance source\n hash-type consistent\nbackend b\n", false),
            ("defaults\n balance source\nbackend b\n balance roundrobin\n", false),
            ("backend b\n mode log\n", true),
            ("backend b\n option transparent\n", true),
        ] {
            assert_eq!(backend(text).why_fixed().is_some(), fixed, "{text}");
        }
    }
}
