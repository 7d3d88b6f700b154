//! What the old controller answered, as a file for when it is gone: lines of JSON, without bodies and without what is secret in
//! headers ([`ComparedAnswer`]). The first line says what it is, the last one how many there are.

use super::{ComparedAnswer, ComparedIngress, ComparedRequest};
use serde::{Deserialize, Serialize};
use std::io::{BufRead, Read, Write};

/// Which lines there are. Another version is not read.
const VERSION: u32 = 1;
/// A line has no more bytes.
const LONGEST_LINE: u64 = 1 << 20;
/// What the first line begins with.
const KIND: &str = "haptic migrate compare";

/// The first line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ComparisonHead {
    kind: String,
    version: u32,
    /// Of which controller the Ingresses are.
    pub family: String,
    /// Who answered.
    pub reference: Vec<String>,
    /// Headers that count for all requests, in addition to those that always do.
    pub headers: Vec<String>,
}

/// A request and what was answered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RecordedExchange {
    /// What it was asked for.
    pub ingress: ComparedIngress,
    /// What was asked.
    pub request: ComparedRequest,
    /// What was answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answer: Option<ComparedAnswer>,
    /// Why there is no answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
}

#[derive(Serialize, Deserialize)]
struct LastLine {
    /// Requests in the file.
    end: u64,
}

impl ComparisonHead {
    /// Of a recording that begins now.
    #[must_use]
    pub fn new(family: &str, reference: Vec<String>, headers: Vec<String>) -> Self {
        Self { kind: KIND.to_owned(), version: VERSION, family: family.to_owned(), reference, headers }
    }
}

/// Writes a recording.
#[derive(Debug)]
pub struct ComparisonWriter<W> {
    to: W,
    lines: u64,
}

impl<W: Write> ComparisonWriter<W> {
    /// One with its first line.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn begin(mut to: W, head: &ComparisonHead) -> std::io::Result<Self> {
        write_line(&mut to, head)?;
        Ok(Self { to, lines: 0 })
    }

    /// One more request.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn write(&mut self, exchange: &RecordedExchange) -> std::io::Result<()> {
        self.lines += 1;
        write_line(&mut self.to, exchange)
    }

    /// The last line; what it was written to.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn end(mut self) -> std::io::Result<W> {
        write_line(&mut self.to, &LastLine { end: self.lines })?;
        self.to.flush()?;
        Ok(self.to)
    }
}

fn write_line(to: &mut impl Write, line: &impl Serialize) -> std::io::Result<()> {
    serde_json::to_writer(&mut *to, line)?;
    to.write_all(b"\n")
}

/// Reads a recording, request by request.
#[derive(Debug)]
pub struct ComparisonReader<R> {
    from: R,
    /// Its first line.
    pub head: ComparisonHead,
    lines: u64,
    is_done: bool,
}

impl<R: BufRead> ComparisonReader<R> {
    /// One of this family.
    ///
    /// # Errors
    /// A sentence: it is no recording, or one of another family or version.
    pub fn open(mut from: R, family: &str) -> Result<Self, String> {
        let line = line(&mut from)?.unwrap_or_default();
        let head: serde_json::Value = serde_json::from_slice(&line).unwrap_or_default();
        if head.get("kind").and_then(serde_json::Value::as_str) != Some(KIND) {
            return Err("it is no recording of haptic migrate compare --record".to_owned());
        }
        let version = head.get("version").cloned().unwrap_or_default();
        if version != VERSION {
            return Err(format!(
                "it is a recording of version {version}, and this program reads version {VERSION}: record again, or use the program that made it"
            ));
        }
        let head: ComparisonHead = serde_json::from_value(head)
            .map_err(|error| format!("its first line cannot be read: {error}"))?;
        if head.family != family {
            return Err(format!("it is a recording of {}: compare with --from {}", head.family, head.family));
        }
        Ok(Self { from, head, lines: 0, is_done: false })
    }

    fn read(&mut self) -> Result<Option<RecordedExchange>, String> {
        let number = self.lines + 2;
        let Some(line) = line(&mut self.from)? else {
            return Err(format!(
                "it ends after {} requests, before its last line: it is no whole recording",
                self.lines
            ));
        };
        if let Ok(LastLine { end }) = serde_json::from_slice(&line) {
            let is_whole = end == self.lines;
            return if is_whole { Ok(None) } else { Err(format!("it has {} requests of {end}", self.lines)) };
        }
        let exchange = serde_json::from_slice(&line)
            .map_err(|error| format!("line {number} cannot be read: {error}"))?;
        self.lines += 1;
        Ok(Some(exchange))
    }
}

impl<R: BufRead> Iterator for ComparisonReader<R> {
    type Item = Result<RecordedExchange, String>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.is_done {
            return None;
        }
        let read = self.read().transpose();
        self.is_done = !matches!(read, Some(Ok(_)));
        read
    }
}

/// The next line; none at the end.
fn line(from: &mut impl BufRead) -> Result<Option<Vec<u8>>, String> {
    let mut line = Vec::new();
    let read = from.by_ref().take(LONGEST_LINE).read_until(b'\n', &mut line);
    read.map_err(|error| format!("it cannot be read: {error}"))?;
    match line.last() {
        None => Ok(None),
        Some(b'\n') => Ok(Some(line)),
        Some(_) if line.len() as u64 >= LONGEST_LINE => Err(format!(
            "a line is longer than {LONGEST_LINE} bytes: it is no recording of haptic migrate compare --record"
        )),
        Some(_) => Ok(Some(line)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::migrate::compare::{ComparedScheme, requests::RequestReason};

    fn exchange(target: &str, status: Option<u16>) -> RecordedExchange {
        let request = ComparedRequest {
            why: RequestReason::Path,
            scheme: ComparedScheme::Https,
            method: "GET".to_owned(),
            host: Some("a.example".to_owned()),
            target: target.to_owned(),
            headers: vec![("x".to_owned(), "y".to_owned())],
            with_credentials: true,
            compares: vec!["x-a".to_owned()],
        };
        let headers =
            [("Set-Cookie", b"s=hunter2; Secure".as_slice()), ("Authorization", b"Basic aHVudGVyMg==")];
        let answer = status.map(|status| ComparedAnswer::of(status, headers.into_iter(), &["authorization"]));
        let failure = status.is_none().then(|| "nothing answers".to_owned());
        let ingress = ComparedIngress { namespace: "shop".into(), name: "a".into() };
        RecordedExchange { ingress, request, answer, failure }
    }

    fn recorded(all: &[RecordedExchange]) -> Vec<u8> {
        let head =
            ComparisonHead::new("haproxy-org", vec!["http://old".to_owned()], vec!["x-echo".to_owned()]);
        let mut writer = ComparisonWriter::begin(Vec::new(), &head).unwrap();
        all.iter().for_each(|one| writer.write(one).unwrap());
        writer.end().unwrap()
    }

    #[test]
    fn what_is_written_is_read_and_has_no_secrets() {
        let all = [exchange("/a", Some(200)), exchange("/b", None)];
        let file = recorded(&all);
        let reader = ComparisonReader::open(&*file, "haproxy-org").unwrap();
        assert_eq!(reader.head.headers, ["x-echo"]);
        assert_eq!(reader.collect::<Result<Vec<_>, _>>().unwrap(), all);
        let text = String::from_utf8(file).unwrap();
        assert!(!text.contains("hunter2") && !text.contains("aHVudGVyMg"), "{text}");
    }

    #[test]
    fn another_file_family_or_version_and_half_of_one_are_refused() {
        let file = String::from_utf8(recorded(&[exchange("/a", Some(200)), exchange("/b", None)])).unwrap();
        let open =
            |text: &str, family: &str| ComparisonReader::open(text.as_bytes(), family).map(drop).unwrap_err();
        assert!(open("", "haproxy-org").contains("is no recording"));
        assert!(open("kind: Ingress\n", "haproxy-org").contains("is no recording"));
        assert!(open(&file, "ingress-nginx").contains("--from haproxy-org"));
        let newer = file.replace("\"version\":1", "\"version\":9");
        assert!(open(&newer, "haproxy-org").contains("version 9"));
        let half = file.lines().take(2).map(|line| format!("{line}\n")).collect::<String>();
        let last = ComparisonReader::open(half.as_bytes(), "haproxy-org").unwrap().last().unwrap();
        assert!(last.unwrap_err().contains("ends after 1 requests"));
        let less = file.lines().enumerate().filter(|(at, _)| *at != 1).map(|(_, line)| format!("{line}\n"));
        let last = ComparisonReader::open(less.collect::<String>().as_bytes(), "haproxy-org").unwrap().last();
        assert!(last.unwrap().unwrap_err().contains("1 requests of 2"));
        let endless = std::io::BufReader::new(std::io::repeat(b'x'));
        assert!(
            ComparisonReader::open(endless, "haproxy-org").map(drop).unwrap_err().contains("longer than")
        );
    }
}
