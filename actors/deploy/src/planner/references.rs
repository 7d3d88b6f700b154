//! What the lines of a configuration refer to: servers, files, and whatever may be a backend's name.

use haptic_haproxy::{Document, Line, SectionKind};
use imbl::HashMap;

/// Everything that some line refers to, and how often.
#[derive(Clone, Debug, Default)]
pub(super) struct References {
    /// Backend and server. HAProxy refuses to remove these.
    servers: HashMap<(String, String), u32>,
    /// Files that are loaded already, as they are written.
    files: HashMap<String, u32>,
    /// Every word and part of a word that may name a backend.
    names: HashMap<String, u32>,
    /// Frontends and defaults sections. In a file a backend may have the name of one, at run time not.
    others: HashMap<String, u32>,
}

impl References {
    /// Adds what all lines refer to (`by` is 1), or takes it away (-1).
    pub fn count(&mut self, document: &Document<'_>, by: i32) {
        for section in &document.sections {
            if section.kind.has_frontend() || section.kind == SectionKind::Defaults {
                change(&mut self.others, section.name.to_string(), by);
            }
            for line in &section.lines {
                self.take(&section.name, line, by);
                self.take_names(line, by);
            }
        }
    }

    fn take(&mut self, section: &str, line: &Line<'_>, by: i32) {
        let mut before = "";
        for word in &line.words {
            let value: &str = &word.value;
            match before {
                "use-server" | "track" => self.refer(section, value, by),
                "ca-file" | "crl-file" | "crt" | "ca-verify-file" => {
                    change(&mut self.files, value.to_owned(), by);
                }
                _ => {}
            }
            // Fetches such as `srv_is_up(b/s)` and `srv_conn(s)` name servers too.
            for fetch in value.split("srv_").skip(1) {
                if let Some((argument, _)) =
                    fetch.split_once('(').and_then(|(_, rest)| rest.split_once([')', ',']))
                {
                    self.refer(section, argument, by);
                }
            }
            before = value;
        }
    }

    /// Whatever looks like a name: one too many costs a reload, one too few a refusal. A server's own name, its address and
    /// comments are none.
    fn take_names(&mut self, line: &Line<'_>, by: i32) {
        let from = if line.keyword() == "server" { 3 } else { 1 };
        let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | ':');
        for word in line.from(from) {
            for name in word.value.split(|c| !is_name(c)).filter(|name| !name.is_empty()) {
                change(&mut self.names, name.to_owned(), by);
            }
        }
    }

    fn refer(&mut self, section: &str, name: &str, by: i32) {
        let (backend, server) = name.split_once('/').unwrap_or((section, name));
        change(&mut self.servers, (backend.to_owned(), server.to_owned()), by);
    }

    /// Whether any line names the backend, which then cannot be removed.
    pub fn names_backend(&self, name: &str) -> bool {
        self.names.contains_key(name)
    }

    /// Whether a frontend, a listen or a defaults section has this name.
    pub fn has_namesake(&self, name: &str) -> bool {
        self.others.contains_key(name)
    }

    pub fn names_server(&self, backend: &str, server: &str) -> bool {
        self.servers.contains_key(&(backend.to_owned(), server.to_owned()))
    }

    pub fn has_loaded(&self, file: &str) -> bool {
        self.files.contains_key(file)
    }
}

fn change<K: std::hash::Hash + Eq + Clone>(counts: &mut HashMap<K, u32>, key: K, by: i32) {
    match counts.get_mut(&key) {
        Some(count) if count.saturating_add_signed(by) == 0 => _ = counts.remove(&key),
        Some(count) => *count = count.saturating_add_signed(by),
        None if by > 0 => _ = counts.insert(key, by.unsigned_abs()),
        None => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "frontend f\n http-request deny if { srv_is_up(b/fetched) }\nbackend b\n use-server used if TRUE\n\
         http-request set-header x %[srv_conn(own)]\n server t 10.0.0.1:1 track c/tracked\n";

    #[test]
    fn servers_that_other_lines_name_are_found() {
        let mut references = References::default();
        references.count(&Document::parse(TEXT), 1);
        for (backend, server) in [("b", "fetched"), ("b", "used"), ("b", "own"), ("c", "tracked")] {
            assert!(references.names_server(backend, server), "{backend}/{server}");
        }
        assert!(!references.names_server("b", "t"));
    }

    #[test]
    fn what_is_taken_away_as_often_as_it_was_added_is_gone() {
        let (document, once) = (Document::parse(TEXT), Document::parse("frontend g\n default_backend own\n"));
        let mut references = References::default();
        references.count(&document, 1);
        references.count(&once, 1);
        references.count(&document, -1);
        assert!(!references.names_server("b", "used") && !references.names_backend("tracked"));
        assert!(references.names_backend("own"));
    }
}
