//! What HAProxy reads back is byte for byte what was printed, in every place of every file kind: asked of the real
//! HAProxys over HTTP.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

use haptic_model::FileKind;
use haptic_render::{
    marks::{self, Marked},
    settle::settle,
};
use std::{
    io::{BufRead, BufReader, Read, Write},
    os::unix::net::UnixStream,
    path::Path,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

/// `{V}` is the value, `{A}` the same by `arg`, `{L}` by `lf`; `{N}` the number of the question.
const PLACES: &[(&str, &str)] = &[
    ("bare word", "return status 200 content-type text/plain string {V}"),
    ("weak quotes", "return status 200 content-type text/plain string \"{V}\""),
    ("strong quotes", "return status 200 content-type text/plain string '{V}'"),
    ("log-format", "return status 200 content-type text/plain lf-string {L}"),
    ("quoted log-format", "return status 200 content-type text/plain lf-string \"%[str()]{L}\""),
    ("argument", "return status 200 content-type text/plain lf-string %[str({A})]"),
    ("argument in weak quotes", "return status 200 content-type text/plain lf-string \"%[str({A})]\""),
    ("argument in strong quotes", "return status 200 content-type text/plain lf-string '%[str({A})]'"),
    ("plain argument", "return status 200 content-type text/plain lf-string %[str({V})]"),
    ("header", "return status 200 hdr X-Answer {L} content-type text/plain string x"),
    ("pattern", "return status 200 content-type text/plain string {V} if { str({A}) -m str -- {V} }"),
];

fn values() -> Vec<String> {
    let mut values: Vec<String> = [
        "plain",
        "two words",
        " leading",
        "trailing ",
        "  ",
        "\"",
        "'",
        "\\",
        "#",
        "$HOME",
        "${HOME}",
        "a\"b'c\\d#e$f g",
        "\\n",
        "\\x41",
        "\\ ",
        "\\\\",
        "\\\"",
        "'\\''",
        "%",
        "%%",
        "%[src]",
        "%ci",
        "50% off",
        "{",
        "}",
        "!",
        "or",
        "||",
        "if",
        "unless",
        "--",
        "-f",
        "-i",
        "(",
        ")",
        ",",
        "a),lower",
        "a,b",
        "]",
        "a]b",
        "[*]",
        "é☃",
        "\u{a0}",
        "\u{85}",
        "x\u{a0}y",
        "\u{2028}",
        "🦀",
        "=",
        ";",
        "x\n  http-request deny",
        "\t",
        "\0",
        "\r",
        "\u{7f}",
        "",
        "`id`",
        "$(id)",
        "|",
        "&",
        "<x>",
        "~",
        "^",
        "*",
        "?",
        "a:b@c/d",
    ]
    .map(str::to_owned)
    .into();
    // A small generator of its own: the same values on every run.
    let (alphabet, mut state) = (" \"'\\#$%(){}[],!|-nx0aé".chars().collect::<Vec<_>>(), 42_u64);
    values.extend((0..120).map(|_| {
        let mut next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as usize
        };
        (0..1 + next() % 8).map(|_| alphabet[next() % alphabet.len()]).collect()
    }));
    // A map answers with the first line of a key, so each is asked once.
    values.sort();
    values.dedup();
    values
}

/// As the engine prints by `arg` and `lf`.
fn argument(value: &str) -> String {
    format!("\"{}\"", value.replace('\\', "\\\\").replace('"', "\\\""))
}

fn print(template: &str, value: &str, number: usize) -> Marked {
    let framed = |mark: char, text: &str| format!("{mark}{text}{}", marks::END);
    let text = template
        .replace("{N}", &number.to_string())
        .replace("{V}", &framed(marks::VALUE, value))
        .replace("{A}", &framed(marks::ARGUMENT, &argument(value)))
        .replace("{L}", &framed(marks::LOG_FORMAT, &value.replace('%', "%%")));
    Marked { pieces: vec![text.into()], ..Marked::default() }
}

/// Questions that HAProxy is asked, and the bytes it must answer.
#[derive(Default)]
struct Questions {
    config: String,
    map: String,
    answers: Vec<(String, String)>,
    refused: Vec<(&'static str, String)>,
}

impl Questions {
    fn ask() -> Self {
        let mut questions = Self::default();
        for value in values() {
            for (place, rule) in PLACES {
                let number = questions.answers.len();
                let condition = if rule.contains(" if ") { "" } else { " if" };
                let rule = format!("  http-request {rule}{condition} {{ path /{{N}} }}\n  # {{V}}\n");
                match settle(FileKind::Config, &print(&rule, &value, number)) {
                    Ok(text) => questions.add(text.to_string(), format!("{place}: {value:?}"), value.clone()),
                    Err(_) => questions.refused.push((place, value.clone())),
                }
            }
            questions.ask_map("value", "k{N} {V}\n", "str(k{N})", &value, &value);
            questions.ask_map("key", "{V} v{N}\n", "str({A})", &value, "");
        }
        questions
    }

    fn ask_map(&mut self, place: &'static str, line: &str, key: &str, value: &str, answer: &str) {
        let number = self.answers.len();
        let rule = format!(
            "  http-request return status 200 content-type text/plain lf-string %[{key},map_str(m.map)] if {{ path /{{N}} }}\n"
        );
        let line = settle(FileKind::Map, &print(line, value, number));
        let rule = settle(FileKind::Config, &print(&rule, value, number));
        match (line, rule) {
            (Ok(line), Ok(rule)) => {
                let answer = if place == "key" { format!("v{number}") } else { answer.to_owned() };
                self.map.push_str(&line.to_string());
                self.add(rule.to_string(), format!("map {place}: {value:?}"), answer);
            }
            _ => self.refused.push((place, value.to_owned())),
        }
    }

    fn add(&mut self, rule: String, question: String, answer: String) {
        self.config.push_str(&rule);
        self.answers.push((question, answer));
    }
}

struct Haproxy(Child);

impl Drop for Haproxy {
    fn drop(&mut self) {
        self.0.kill().and_then(|()| self.0.wait()).expect("HAProxy can be stopped");
    }
}

fn start(binary: &str, folder: &Path, questions: &Questions) -> (Haproxy, UnixStream) {
    let config = format!(
        "global\n  default-path config\ndefaults\n  mode http\n  timeout client 30s\nfrontend f\n  bind unix@{}/http\n{}",
        folder.display(),
        questions.config
    );
    std::fs::write(folder.join("haproxy.cfg"), config).unwrap();
    std::fs::write(folder.join("m.map"), &questions.map).unwrap();
    let mut command = Command::new(binary);
    command.args(["-db", "-f"]).arg(folder.join("haproxy.cfg")).stderr(Stdio::piped());
    let mut haproxy = Haproxy(command.spawn().expect("HAProxy starts"));
    let deadline = Instant::now() + Duration::from_secs(10);
    loop {
        if let Ok(connection) = UnixStream::connect(folder.join("http")) {
            return (haproxy, connection);
        }
        let ended = haproxy.0.try_wait().unwrap().is_some();
        if ended || Instant::now() > deadline {
            let mut said = String::new();
            haproxy.0.stderr.take().unwrap().take(3000).read_to_string(&mut said).unwrap();
            panic!("HAProxy does not run: {said}");
        }
        std::thread::park_timeout(Duration::from_millis(5));
    }
}

/// The body of the answer, or its header `X-Answer`.
fn get(connection: &mut BufReader<UnixStream>, number: usize) -> Vec<u8> {
    write!(connection.get_mut(), "GET /{number} HTTP/1.1\r\nhost: x\r\n\r\n").unwrap();
    let (mut line, mut length, mut header) = (Vec::new(), 0, None);
    loop {
        line.clear();
        connection.read_until(b'\n', &mut line).unwrap();
        let text = line.strip_suffix(b"\r\n").expect("a whole line");
        if text.is_empty() {
            break;
        }
        let lower = text.to_ascii_lowercase();
        if lower.starts_with(b"content-length: ") {
            length = String::from_utf8_lossy(&text[16..]).parse().unwrap();
        }
        if lower.starts_with(b"x-answer: ") {
            header = Some(text[10..].to_vec());
        }
    }
    let mut body = vec![0; length];
    connection.read_exact(&mut body).unwrap();
    header.unwrap_or(body)
}

fn reads_back_what_was_printed(variable: &str) {
    let binary = std::env::var(variable)
        .unwrap_or_else(|_| panic!("{variable} does not name a HAProxy: run this test through `make test`"));
    let questions = Questions::ask();
    let folder = tempfile::tempdir().unwrap();
    let (_haproxy, connection) = start(&binary, folder.path(), &questions);
    let mut connection = BufReader::new(connection);
    let mut wrong = Vec::new();
    for (number, (question, answer)) in questions.answers.iter().enumerate() {
        let said = get(&mut connection, number);
        if said != answer.as_bytes() {
            wrong.push(format!("{question}: {:?}", String::from_utf8_lossy(&said)));
        }
    }
    assert!(wrong.is_empty(), "{} of {} differ:\n{}", wrong.len(), questions.answers.len(), wrong.join("\n"));
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

#[test]
fn only_what_cannot_be_written_is_refused() {
    for (place, value) in Questions::ask().refused {
        let control = value.chars().any(|c| c.is_ascii_control());
        let punctuation =
            matches!(value.trim_start_matches('!'), "" | "{" | "}" | "or" | "||" | "if" | "unless");
        let argument = place == "plain argument" && value.contains(['(', ')', ',', '"', '\'', '\\']);
        let key = place == "key" && (value.contains(' ') || value.starts_with('#'));
        let blanks = place == "value" && value.trim_matches(' ') != value;
        assert!(control || punctuation || argument || key || blanks, "{place}: {value:?} was refused");
    }
}
