//! What HAProxy reads back is byte for byte what was printed, in every place of every file kind: asked of the real
//! HAProxys over HTTP.

use haptic_model::FileKind;
use haptic_render::{
    encode::{FileFormat, encode},
    framing::{self, FramedText},
};
use std::{
    collections::BTreeSet,
    fs::File,
    io::{Read, Write},
    os::unix::net::UnixStream,
    path::Path,
    process::{Child, Command},
    time::{Duration, Instant},
};

const CERTIFICATE: &str = "c.pem";

/// Where a value is put, and what is asked for it. `{V}` is the value, `{A}` the same by `arg`, `{L}` by `lf`, `{R}` as a
/// regular expression that matches it, `{N}` the number of the question. A `;` begins another rule.
const PLACES: &[(&str, &str)] = &[
    ("bare word", "return status 200 content-type text/plain string {V}"),
    ("weak quotes", "return status 200 content-type text/plain string \"{V}\""),
    ("strong quotes", "return status 200 content-type text/plain string '{V}'"),
    ("all quotes", "return status 200 content-type text/plain string \"\"'{V}'"),
    ("log-format", "return status 200 content-type text/plain lf-string {L}"),
    ("quoted log-format", "return status 200 content-type text/plain lf-string \"%[str()]{L}\""),
    ("argument", "return status 200 content-type text/plain lf-string %[str({A})]"),
    ("argument in weak quotes", "return status 200 content-type text/plain lf-string \"%[str({A})]\""),
    ("argument in strong quotes", "return status 200 content-type text/plain lf-string '%[str({A})]'"),
    ("plain argument", "return status 200 content-type text/plain lf-string %[str({V})]"),
    ("argument of a converter", "return status 200 content-type text/plain lf-string %[str(),concat({A})]"),
    ("header", "return status 200 hdr X-Answer {L} content-type text/plain string x"),
    ("location", "redirect location {L}"),
    (
        "pattern",
        "return status 200 content-type text/plain string {V} if { path /{N} } { str({A}) -m str -- {V} }",
    ),
    (
        "second pattern",
        "return status 200 content-type text/plain string {V} if { path /{N} } { str({A}) -m str -- x{V} {V} x }",
    ),
    (
        "regular expression",
        "return status 200 content-type text/plain string {V} if { path /{N} } { str({A}) -m reg -- ^{R}$ }",
    ),
    (
        "variable",
        "set-var(txn.v) str({A}) if { path /{N} }; return status 200 content-type text/plain lf-string %[var(txn.v)]",
    ),
    (
        "formatted variable",
        "set-var-fmt(txn.v) \"{L}\" if { path /{N} }; return status 200 content-type text/plain lf-string %[var(txn.v)]",
    ),
    (
        "request header",
        "set-header x-v '{L}' if { path /{N} }; return status 200 content-type text/plain lf-string %[req.fhdr(x-v)]",
    ),
    ("file", "return status 200 content-type text/plain file f{N}"),
    ("error file", "return status 503 errorfile e{N}"),
    ("log-format file", "return status 200 content-type text/plain lf-file l{N}"),
    (
        "pattern file",
        "return status 200 content-type text/plain string {V} if { path /{N} } { str({A}) -m str -f p{N} }",
    ),
];

/// As the engine prints by `arg` and `lf`.
fn argument(value: &str) -> String {
    format!("\"{}\"", value.replace('\\', "\\\\").replace('"', "\\\""))
}

/// As the engine prints by `regex_quote`.
fn quoted_regex(value: &str) -> String {
    let quoted = |c: char| if r"\.+*?()|[]{}^$".contains(c) { vec!['\\', c] } else { vec![c] };
    value.chars().flat_map(quoted).collect()
}

fn print(template: &str, value: &str, number: &str) -> FramedText {
    let framed = |mark: char, text: &str| format!("{mark}{text}{}", framing::END);
    let mut parts = template.split('{');
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        match part.split_at_checked(2) {
            Some(("N}", rest)) => text += &format!("{number}{rest}"),
            Some(("V}", rest)) => text += &(framed(framing::VALUE, value) + rest),
            Some(("A}", rest)) => text += &(framed(framing::ARGUMENT, &argument(value)) + rest),
            Some(("L}", rest)) => text += &(framed(framing::LOG_FORMAT, &value.replace('%', "%%")) + rest),
            Some(("R}", rest)) => text += &(framed(framing::VALUE, &quoted_regex(value)) + rest),
            _ => text += &format!("{{{part}"),
        }
    }
    FramedText { pieces: vec![text.into()], ..FramedText::default() }
}

/// Questions that HAProxy is asked, and the bytes it must answer.
#[derive(Default)]
struct Questions {
    /// A backend for each value.
    config: String,
    map: String,
    crt_list: String,
    /// Names and contents.
    files: Vec<(String, String)>,
    /// What is asked, by its path, and the answer.
    answers: Vec<(String, String, String)>,
    refused: Vec<(&'static str, String)>,
}

impl Questions {
    fn ask() -> Self {
        let mut questions = Self { crt_list: format!("{CERTIFICATE}\n"), ..Self::default() };
        for (index, value) in crate::support::values::values().iter().enumerate() {
            questions.config.push_str(&format!("backend v{index}\n"));
            for (place, (name, rule)) in PLACES.iter().enumerate() {
                questions.ask_rule(&format!("{index}/{place}"), name, rule, value);
            }
            questions.ask_map(&format!("{index}/value"), "value", "k{N} {V}\n", "str(k{N})", value);
            questions.ask_map(&format!("{index}/key"), "key", "{V} v{N}\n", "str({A})", value);
            questions.ask_crt_list("option", "c.pem [alpn {V}] x{N}.example\n", index, value);
            questions.ask_crt_list("filter", "c.pem [alpn h2] {V} *.x{N}.example\n", index, value);
        }
        questions
    }

    fn ask_rule(&mut self, number: &str, place: &'static str, rule: &str, value: &str) {
        let last = rule.rsplit("; ").next().unwrap_or_default();
        let condition = if last.contains(" if ") { "" } else { " if { path /{N} }" };
        let rules: String = rule.split("; ").map(|rule| format!("  http-request {rule}\n")).collect();
        let file = number.replace('/', "_");
        let content = match place {
            "file" => Some(("f", FileFormat::Body, "{V}")),
            "error file" => Some(("e", FileFormat::Content, "HTTP/1.0 503 X\r\n\r\n{V}")),
            "log-format file" => Some(("l", FileFormat::Format, "{L}")),
            "pattern file" => Some(("p", FileFormat::Patterns, "{V}\n")),
            _ => None,
        };
        let comment = if content.is_some() { "" } else { "  # {V}\n" };
        let mut rules = format!("{}{condition}\n{comment}", rules.trim_end());
        if let Some((name, ..)) = content {
            rules = rules.replace(&format!(" {name}{{N}}"), &format!(" {name}{file}"));
        }
        let Ok(rules) = encode(FileKind::Config, &print(&rules, value, number)) else {
            return self.refused.push((place, value.to_owned()));
        };
        if let Some((name, reading, content)) = content {
            let Ok(content) = encode(reading, &print(content, value, number)) else {
                return self.refused.push((place, value.to_owned()));
            };
            self.files.push((format!("{name}{file}"), content.to_string()));
        }
        // Blanks around it do not belong to a field of HTTP.
        let answer = if place == "request header" { value.trim_matches(' ') } else { value };
        self.add(&rules.to_string(), number, format!("{place}: {value:?}"), answer.to_owned());
    }

    fn ask_map(&mut self, number: &str, place: &'static str, line: &str, key: &str, value: &str) {
        let rule = format!(
            "  http-request return status 200 content-type text/plain lf-string %[{key},map_str(m.map)] if {{ path /{{N}} }}\n"
        );
        let line = encode(FileKind::Map, &print(line, value, number));
        let rule = encode(FileKind::Config, &print(&rule, value, number));
        match (line, rule) {
            (Ok(line), Ok(rule)) => {
                let answer = if place == "key" { format!("v{number}") } else { value.to_owned() };
                self.map.push_str(&line.to_string());
                self.add(&rule.to_string(), number, format!("map {place}: {value:?}"), answer);
            }
            _ => self.refused.push((place, value.to_owned())),
        }
    }

    fn ask_crt_list(&mut self, place: &'static str, line: &str, number: usize, value: &str) {
        match encode(FileKind::CrtList, &print(line, value, &number.to_string())) {
            // A protocol's name has 255 bytes at most; several have commas between them.
            Ok(_) if place == "option" && (value.len() > 250 || value.contains(',')) => {}
            Ok(line) => self.crt_list.push_str(&line.to_string()),
            Err(_) => self.refused.push((place, value.to_owned())),
        }
    }

    fn add(&mut self, rules: &str, number: &str, question: String, answer: String) {
        self.config.push_str(rules);
        self.answers.push((number.to_owned(), question, answer));
    }
}

struct Haproxy(Child);

impl Drop for Haproxy {
    fn drop(&mut self) {
        self.0.kill().and_then(|()| self.0.wait()).expect("HAProxy can be stopped");
    }
}

fn start(binary: &str, folder: &Path, questions: &Questions) -> Haproxy {
    std::fs::write(folder.join("m.map"), &questions.map).unwrap();
    std::fs::write(folder.join("l.txt"), &questions.crt_list).unwrap();
    std::fs::copy(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/pem/rsa.pem"), folder.join(CERTIFICATE))
        .unwrap();
    for (name, content) in &questions.files {
        std::fs::write(folder.join(name), content).unwrap();
    }
    let config = format!(
        "global\n  default-path config\n  stats socket {0}/socket level admin\n\
         defaults\n  mode http\n  timeout client 30s\n  timeout server 30s\n  timeout connect 30s\n\
         frontend f\n  bind unix@{0}/http\n  use_backend v%[path,field(2,/)]\n\
         frontend tls\n  bind unix@{0}/tls ssl crt-list l.txt\n{1}",
        folder.display(),
        questions.config
    );
    run(binary, folder, &config)
}

/// Once it listens at `http`.
fn run(binary: &str, folder: &Path, config: &str) -> Haproxy {
    std::fs::write(folder.join("haproxy.cfg"), config).unwrap();
    let mut command = Command::new(binary);
    command
        .args(["-db", "-f"])
        .arg(folder.join("haproxy.cfg"))
        .stderr(File::create(folder.join("said")).unwrap());
    let mut haproxy = Haproxy(command.spawn().expect("HAProxy starts"));
    let deadline = Instant::now() + Duration::from_secs(10);
    loop {
        if UnixStream::connect(folder.join("http")).is_ok() {
            return haproxy;
        }
        let ended = haproxy.0.try_wait().unwrap().is_some();
        if ended || Instant::now() > deadline {
            let said = std::fs::read_to_string(folder.join("said")).unwrap();
            let said =
                said.lines().filter(|line| line.contains("ALERT")).take(20).collect::<Vec<_>>().join("\n");
            panic!("HAProxy does not run: {said}");
        }
        std::thread::park_timeout(Duration::from_millis(5));
    }
}

/// The body of the answer, or its header `X-Answer` or `Location`.
fn get(folder: &Path, number: &str) -> Vec<u8> {
    let mut connection = UnixStream::connect(folder.join("http")).unwrap();
    write!(connection, "GET /{number} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n").unwrap();
    let mut answer = Vec::new();
    connection.read_to_end(&mut answer).unwrap();
    let end = answer.windows(4).position(|four| four == b"\r\n\r\n").expect("a whole head");
    let (head, body) = (&answer[..end + 2], &answer[end + 4..]);
    for name in ["\r\nx-answer: ", "\r\nlocation: "] {
        if let Some(at) = head.windows(name.len()).position(|h| h.eq_ignore_ascii_case(name.as_bytes())) {
            let value = &head[at + name.len()..];
            return value[..value.windows(2).position(|two| two == b"\r\n").unwrap()].to_vec();
        }
    }
    body.to_vec()
}

fn binary(variable: &str) -> String {
    std::env::var(variable)
        .unwrap_or_else(|_| panic!("{variable} does not name a HAProxy: run this test through `make test`"))
}

fn reads_back_what_was_printed(variable: &str) {
    let binary = binary(variable);
    let questions = Questions::ask();
    let folder = tempfile::tempdir().unwrap();
    let _haproxy = start(&binary, folder.path(), &questions);
    let mut wrong = Vec::new();
    for (number, question, answer) in &questions.answers {
        let said = get(folder.path(), number);
        if said != answer.as_bytes() {
            wrong.push(format!("{question}: {:?}", String::from_utf8_lossy(&said)));
        }
    }
    assert!(wrong.is_empty(), "{} of {} differ:\n{}", wrong.len(), questions.answers.len(), wrong.join("\n"));
    let lines = |text: &str| text.lines().map(str::to_owned).collect::<BTreeSet<_>>();
    let map = emit(folder.path(), "show map m.map");
    let entries =
        map.lines().filter_map(|line| line.split_once(' ')).map(|(_, entry)| entry.to_owned()).collect();
    assert_eq!(lines(&questions.map), entries, "the entries of the map");
    // HAProxy shows protocols with a zero behind them.
    let list = emit(folder.path(), "show ssl crt-list l.txt").replace('\0', "");
    assert_eq!(lines(&questions.crt_list), list.lines().skip(1).map(str::to_owned).collect(), "the crt-list");
}

/// What HAProxy answers to a command.
fn emit(folder: &Path, command: &str) -> String {
    let mut socket = UnixStream::connect(folder.join("socket")).unwrap();
    writeln!(socket, "{command}").unwrap();
    let mut answer = Vec::new();
    socket.read_to_end(&mut answer).unwrap();
    String::from_utf8(answer).unwrap().trim_end_matches('\n').to_owned()
}

#[test]
fn haproxy_3_0_reads_back_what_was_printed() {
    reads_back_what_was_printed("HAPTIC_HAPROXY_3_0");
}

#[test]
fn haproxy_3_2_reads_back_what_was_printed() {
    reads_back_what_was_printed("HAPTIC_HAPROXY_3_2");
}

#[test]
fn haproxy_3_4_reads_back_what_was_printed() {
    reads_back_what_was_printed("HAPTIC_HAPROXY_3_4");
}

/// The longest line that a value may make is one, and the patterns of a file are lines.
fn reads_whole_lines(variable: &str) {
    let binary = binary(variable);
    let folder = tempfile::tempdir().unwrap();
    let value = |length: usize| "x".repeat(length);
    let line =
        |reading: FileFormat, template: &str, length| encode(reading, &print(template, &value(length), "0"));
    for (name, reading, template, rest) in
        [("m", FileFormat::Map, "k {V}\n", 2), ("p", FileFormat::Patterns, "{V}\n", 0)]
    {
        let longest = 16_382 - rest;
        let text = line(reading, template, longest).unwrap().to_string();
        assert!(line(reading, template, longest + 1).is_err(), "{name}");
        std::fs::write(folder.path().join(name), text + "last line\n").unwrap();
    }
    let config = format!(
        "global\n  default-path config\n  stats socket {0}/socket level admin\n  tune.bufsize 8192\n\
         defaults\n  mode http\n  timeout client 30s\n  timeout server 30s\n  timeout connect 30s\n\
         frontend f\n  bind unix@{0}/http\n  http-request set-var(txn.x) path,map_str(m)\n\
         \x20 http-request deny if {{ path -f p }}\n",
        folder.path().display()
    );
    let _haproxy = run(&binary, folder.path(), &config);
    for list in ["show map", "show acl"] {
        let files = emit(folder.path(), list);
        let file = files.lines().find(|line| line.contains("(m)") || line.contains("(p)"));
        assert!(file.is_some_and(|line| line.ends_with("entry_cnt=2")), "{list}: {files}");
    }
}

#[test]
fn haproxy_3_0_reads_whole_lines_whatever_its_buffers() {
    reads_whole_lines("HAPTIC_HAPROXY_3_0");
}

#[test]
fn haproxy_3_2_reads_whole_lines_whatever_its_buffers() {
    reads_whole_lines("HAPTIC_HAPROXY_3_2");
}

#[test]
fn haproxy_3_4_reads_whole_lines_whatever_its_buffers() {
    reads_whole_lines("HAPTIC_HAPROXY_3_4");
}

#[test]
fn only_what_cannot_be_written_is_refused() {
    for (place, value) in Questions::ask().refused {
        let control = value.chars().any(|c| c.is_ascii_control());
        let positive = value.trim_start_matches('!').to_ascii_lowercase();
        let punctuation =
            matches!(&*positive, "" | "{" | "}" | "or" | "||") || matches!(&*value, "if" | "unless");
        let argument = place == "plain argument" && value.contains(['(', ')', ',', '"', '\'', '\\']);
        let key = place == "key" && (value.contains(' ') || value.starts_with('#'));
        let pattern = place == "pattern file" && value.starts_with([' ', '#']);
        let blanks = place == "value" && value.trim_matches(' ') != value;
        let listed = matches!(place, "option" | "filter");
        let list = listed && (value.contains([' ', '[', ']']) || value == "*" || value.starts_with('!'));
        let long = value.len() > 4_000;
        assert!(
            control || punctuation || argument || key || pattern || blanks || list || long,
            "{place}: {value:?} was refused"
        );
    }
}
