//! Proxies that listen at the same place, or one that does so with TLS and without. HAProxy starts with them, and the kernel gives
//! each connection to one of them.
//!
//! An address and all addresses (`127.0.0.1:80` and `*:80`) are not the same place: the more specific one gets its own.

use crate::{
    check::disabled,
    document::{Document, Line, Section, SectionKind},
};
use std::{net::IpAddr, ops::RangeInclusive};

/// Two listeners at the same place that are of two proxies, or of which one takes TLS.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SharedListener {
    /// As the later one writes it.
    pub address: String,
    /// The earlier proxy: `frontend web`.
    pub proxy: String,
    /// The line of its listener, from 1.
    pub first: usize,
    /// The line of the other one's.
    pub second: usize,
}

/// A listener, so that those at the same place stand side by side when they are sorted.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Listener {
    place: ListenAddress,
    from: u16,
    to: u16,
    line: usize,
    section: usize,
    address: String,
    is_tls: bool,
}

/// Where connections come from, but for the port.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct ListenAddress {
    kind: ListenerKind,
    host: String,
    /// What follows `interface` and `namespace`.
    within: Vec<String>,
}

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum ListenerKind {
    Stream,
    Quic,
    /// A path, or a name of Linux.
    Socket,
}

/// All of them in the configuration that `pieces` are, in the order of their lines; of several at one place each with the one before.
/// Backends, nearly all of a large one, are not read.
#[must_use]
pub fn shared<'t>(pieces: impl IntoIterator<Item = &'t str>) -> Vec<SharedListener> {
    let mut rest = WithoutBackends::default();
    pieces.into_iter().for_each(|piece| rest.piece(piece));
    let (text, numbers) = rest.finish();
    let in_whole = |line: usize| numbers.get(line.saturating_sub(1)).copied().unwrap_or(line);
    let of_whole = |shared: SharedListener| SharedListener {
        first: in_whole(shared.first),
        second: in_whole(shared.second),
        ..shared
    };
    of_document(&Document::parse(&text)).into_iter().map(of_whole).collect()
}

/// A configuration without its backends, and what lines of it are called in the whole.
#[derive(Default)]
struct WithoutBackends {
    text: String,
    /// Of each line, from 1.
    numbers: Vec<usize>,
    /// How many lines there were.
    line: usize,
    is_left_out: bool,
    /// The beginning of a line that goes on in the next piece.
    open: String,
}

impl WithoutBackends {
    fn piece(&mut self, piece: &str) {
        for part in piece.split_inclusive('\n') {
            if self.open.is_empty() && part.ends_with('\n') {
                self.line(part);
                continue;
            }
            self.open.push_str(part);
            if part.ends_with('\n') {
                let line = std::mem::take(&mut self.open);
                self.line(&line);
            }
        }
    }

    fn line(&mut self, line: &str) {
        self.line += 1;
        let trimmed = line.trim_start_matches([' ', '\t']);
        let word = trimmed.split(|c: char| c.is_ascii_whitespace() || c == '#').next().unwrap_or_default();
        match SectionKind::of(word) {
            Some(kind) => self.is_left_out = kind == SectionKind::Backend,
            // What it says is not what is written: it may open a section, or be one more line of the backend.
            None if self.is_left_out && word.contains(['"', '\'', '\\']) => {
                self.is_left_out = false;
                self.keep("backend quoted\n");
            }
            None => {}
        }
        // Conditions go on behind a backend.
        if !self.is_left_out || word.starts_with('.') {
            self.keep(line);
        }
    }

    fn keep(&mut self, line: &str) {
        self.text.push_str(line);
        self.numbers.push(self.line);
    }

    fn finish(mut self) -> (String, Vec<usize>) {
        let last = std::mem::take(&mut self.open);
        if !last.is_empty() {
            self.line(&last);
        }
        (self.text, self.numbers)
    }
}

fn of_document(document: &Document<'_>) -> Vec<SharedListener> {
    let disabled = disabled::disabled(document);
    let sections = document.sections.iter().zip(disabled).enumerate();
    let proxies = sections.filter(|(_, (section, disabled))| section.kind.has_frontend() && !disabled);
    let mut all: Vec<Listener> = proxies.flat_map(|(at, (section, _))| listeners(at, section)).collect();
    all.sort();
    let mut found = Vec::new();
    let mut widest: Option<&Listener> = None;
    for listener in &all {
        if let Some(other) = widest.filter(|other| other.place == listener.place && listener.from <= other.to)
        {
            if other.section != listener.section || other.is_tls != listener.is_tls {
                let (first, second) =
                    if other.line < listener.line { (other, listener) } else { (listener, other) };
                found.push(SharedListener {
                    address: second.address.clone(),
                    proxy: document.sections.get(first.section).map(Section::title).unwrap_or_default(),
                    first: first.line,
                    second: second.line,
                });
            }
            if listener.to <= other.to {
                continue;
            }
        }
        widest = Some(listener);
    }
    found.sort_by_key(|shared| (shared.second, shared.first));
    found
}

/// Those of a section whose place is certain.
fn listeners<'d>(at: usize, section: &'d Section<'_>) -> impl Iterator<Item = Listener> + 'd {
    let certain = |line: &&Line<'_>| {
        line.keyword() == "bind" && !line.conditional && line.words.iter().all(|word| !word.has_variable)
    };
    section.lines.iter().filter(certain).flat_map(move |line| {
        let within = within(line);
        let is_tls = line.from(2).iter().any(|word| word.value == "ssl");
        let addresses = line.value(1).split(',').filter(|address| !address.is_empty());
        addresses
            .map(str::to_owned)
            .filter_map(move |address| {
                let (kind, host, ports) = place(&address)?;
                let place = ListenAddress { kind, host, within: within.clone() };
                let (from, to) = ports.into_inner();
                Some(Listener { place, from, to, line: line.number, section: at, address, is_tls })
            })
            .collect::<Vec<_>>()
    })
}

fn within(line: &Line<'_>) -> Vec<String> {
    let words: Vec<&str> = line.from(2).iter().map(|word| &*word.value).collect();
    let narrows = words.windows(2).filter(|pair| matches!(pair.first(), Some(&"interface" | &"namespace")));
    narrows.map(|pair| pair.join(" ")).collect()
}

/// Kind, host and ports of an address; `None` where that is not in its words.
fn place(address: &str) -> Option<(ListenerKind, String, RangeInclusive<u16>)> {
    let (family, rest) = address.split_once('@').unwrap_or(("", address));
    if address.starts_with('/') || matches!(family, "unix" | "uxst" | "abns" | "abnsz") {
        let name = if address.starts_with('/') { format!("unix@{address}") } else { address.to_owned() };
        return Some((ListenerKind::Socket, name, 0..=0));
    }
    let (kind, is_v6) = match family {
        "" | "ipv4" => (ListenerKind::Stream, false),
        "ipv6" => (ListenerKind::Stream, true),
        "quic4" => (ListenerKind::Quic, false),
        "quic6" => (ListenerKind::Quic, true),
        _ => return None,
    };
    let (host, ports) = rest.rsplit_once(':')?;
    Some((kind, host_of(host, is_v6), ports_of(ports)?))
}

fn host_of(host: &str, is_v6: bool) -> String {
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    match (bare.parse::<IpAddr>(), bare) {
        (Ok(address), _) => address.to_string(),
        (Err(_), "" | "*") if is_v6 => "::".to_owned(),
        (Err(_), "" | "*") => "0.0.0.0".to_owned(),
        (Err(_), name) => name.to_ascii_lowercase(),
    }
}

fn ports_of(ports: &str) -> Option<RangeInclusive<u16>> {
    let (from, to) = ports.split_once('-').unwrap_or((ports, ports));
    Some(from.parse().ok()?..=to.parse().ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shared_by(binds: &[&str]) -> Vec<(usize, usize, String)> {
        let text: String =
            binds.iter().enumerate().map(|(at, bind)| format!("frontend f{at}\n bind {bind}\n")).collect();
        let found = shared([&*text]);
        found.into_iter().map(|shared| (shared.first, shared.second, shared.proxy)).collect()
    }

    #[test]
    fn the_same_place_in_other_words_is_shared() {
        for binds in [
            ["*:80", ":80"],
            ["0.0.0.0:80 ssl crt x", "ipv4@*:80"],
            ["[::]:80", "ipv6@:80"],
            ["::1:80", "[0:0::1]:80"],
            ["10.0.0.1:80,10.0.0.2:80", "10.0.0.2:80"],
            [":8000-8010", ":8010"],
            ["/run/x.sock", "unix@/run/x.sock mode 600"],
            ["quic4@:443 ssl crt x", "quic4@0.0.0.0:443 ssl crt y"],
            [":80 interface eth0", ":80 name x interface eth0"],
        ] {
            assert_eq!(shared_by(&binds), [(2, 4, "frontend f0".to_owned())], "{binds:?}");
        }
    }

    #[test]
    fn backends_are_not_read_and_lines_have_their_numbers() {
        let backend = "backend b\n # x\n server s :80\n\n";
        for (text, expected) in [
            (format!("frontend f\n bind :80\n{backend}listen l\n bind :80\n{backend}"), vec![(2, 8)]),
            (format!("{backend}frontend f\n bind :80\n{backend}frontend g\n bind :80"), vec![(6, 12)]),
            (format!("frontend f\n bind :80\n{backend}\"listen\" l\n bind :80\n"), vec![(2, 8)]),
            (
                "frontend f\n bind :80\nlisten l\n bind :80\nbackend b\n \"server\" s :81\n disabled\n"
                    .to_owned(),
                vec![(2, 4)],
            ),
            (
                "frontend f\n bind :80\nbackend b\n .if defined(X)\nlisten l\n bind :80\n.endif\n".to_owned(),
                vec![],
            ),
            (
                "frontend f\n bind :80\nbackend b\n .if 0\n .endif\nlisten l\n bind :80\n".to_owned(),
                vec![(2, 7)],
            ),
        ] {
            for cut in 0..text.len() {
                let (one, other) = text.split_at(cut);
                let found: Vec<_> =
                    shared([one, other]).iter().map(|shared| (shared.first, shared.second)).collect();
                assert_eq!(found, expected, "{text} cut at {cut}");
            }
            let whole: Vec<_> = of_document(&Document::parse(&text))
                .iter()
                .map(|shared| (shared.first, shared.second))
                .collect();
            assert_eq!(whole, expected, "{text}");
        }
    }

    #[test]
    fn what_haproxy_and_the_kernel_tell_apart_is_not_shared() {
        for binds in [
            ["*:80", "127.0.0.1:80"],
            ["*:80", ":::80 v6only"],
            [":443 ssl crt x", "quic4@:443 ssl crt x"],
            [":80 interface eth0", ":80 interface eth1"],
            [":8000-8009", ":8010"],
            ["\"$ADDRESS\":80", "\"$ADDRESS\":80"],
            ["fd@3", "fd@3"],
        ] {
            assert_eq!(shared_by(&binds), [], "{binds:?}");
        }
        for text in [
            "frontend f\n bind :80\n bind :80\n",
            "frontend f\n bind :80\nlisten g\n disabled\n bind :80\n",
            "frontend f\n bind :80\n.if defined(X)\nfrontend g\n bind :80\n.endif\n",
        ] {
            assert_eq!(shared([text]), [], "{text}");
        }
    }

    #[test]
    fn one_proxy_has_a_place_with_tls_or_without() {
        let found = shared(["frontend f\n bind :443\n bind :443 ssl crt x\n"]);
        let lines: Vec<_> =
            found.iter().map(|shared| (shared.first, shared.second, &*shared.proxy)).collect();
        assert_eq!(lines, [(2, 3, "frontend f")]);
    }

    #[test]
    fn each_of_several_is_told_with_another_one() {
        let found = shared_by(&[":80", ":8000-9000", ":80", ":8500", ":8600-8700", ":80"]);
        let lines: Vec<_> = found.iter().map(|(first, second, _)| (*first, *second)).collect();
        assert_eq!(lines, [(2, 6), (4, 8), (4, 10), (2, 12)]);
    }
}
