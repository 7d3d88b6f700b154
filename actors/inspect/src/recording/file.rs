//! A recording as bytes: lines of JSON, each counted and in the digest of the last one; compressed in a file. Whoever reads one
//! reads all of it before anything is believed, and never more than fits into memory.

use super::line::{FORMAT, RecordingEnd, RecordingHead, RecordingLine};
use haptic_text::Digest;
use ruzstd::{
    decoding::StreamingDecoder,
    encoding::{CompressionLevel, compress_to_vec},
};
use serde_json::Value;
use std::{
    fs::{self, File},
    io::{self, BufRead, BufReader, Read, Write},
    path::Path,
};

/// How zstd begins (RFC 8878).
const MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];
/// So much is compressed at once, and held meanwhile.
const PIECE: usize = 1 << 20;

/// What a recording may take when it is read.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// Bytes of one line: a rendered file, or all templates.
    pub line: u64,
    /// Bytes of all lines.
    pub all: u64,
}

impl Default for Bounds {
    /// 256 MiB a line, 4 GiB in all.
    fn default() -> Self {
        Self { line: 256 << 20, all: 4 << 30 }
    }
}

/// Why a file cannot be replayed.
#[derive(Debug, thiserror::Error)]
pub enum Flaw {
    /// It cannot be read at all.
    #[error("cannot be read: {0}")]
    Unreadable(io::Error),
    /// It is a pipe, or something else that can be read once.
    #[error(
        "is no file that can be read twice, and a recording is: once to see that it is whole. Write it to a file first"
    )]
    Once,
    /// There is nothing in it.
    #[error("is empty: `haptic record` was ended, or its disk was full; record again")]
    Empty,
    /// It is something else.
    #[error("is not a recording of haptic; `haptic record` makes one")]
    Foreign,
    /// Another version wrote it.
    #[error(
        "is written in format {0}, and this version of haptic reads format {FORMAT}: use the one that recorded it, {1}"
    )]
    Format(u64, String),
    /// Its end is missing.
    #[error("is cut off after line {0}: its end is missing; copy it once more, or record again")]
    Truncated(u64),
    /// Its compression is broken.
    #[error("is damaged behind line {0}: {1}; copy it once more, or record again")]
    Damaged(u64, io::Error),
    /// A line is none that this version knows.
    #[error("line {0} is none of a recording: {1}; the file was changed after it was recorded")]
    Line(u64, String),
    /// Its last line does not fit the others.
    #[error("was changed after it was recorded: its lines are not those that its last line tells of")]
    Changed,
    /// It would take too much memory.
    #[error("holds more than {1} MiB in line {0}: no recording does")]
    LongLine(u64, u64),
    /// The same.
    #[error("holds more than {0} MiB: no recording does")]
    Large(u64),
}

/// Writes lines.
#[derive(Debug)]
pub struct Writer<W> {
    to: W,
    sum: Sum,
}

/// Reads lines.
pub struct RecordingReader {
    from: Box<dyn BufRead>,
    bounds: Bounds,
    read: u64,
    sum: Sum,
    ended: bool,
}

/// How many lines there were, and their digest.
#[derive(Debug)]
struct Sum {
    lines: u64,
    digest: Digest,
}

impl Sum {
    fn new() -> Self {
        Self { lines: 0, digest: Digest::of(b"") }
    }

    fn add(&mut self, line: &[u8]) {
        self.lines += 1;
        self.digest = Digest::of_pieces([self.digest.as_bytes().as_slice(), line]);
    }
}

impl<W: Write> Writer<W> {
    /// Nothing written yet.
    pub fn new(to: W) -> Self {
        Self { to, sum: Sum::new() }
    }

    /// Writes one line.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn write(&mut self, line: &RecordingLine) -> io::Result<()> {
        let mut bytes = serde_json::to_vec(line).map_err(io::Error::other)?;
        self.sum.add(&bytes);
        bytes.push(b'\n');
        self.to.write_all(&bytes)
    }

    /// Writes the last line.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn end(mut self) -> io::Result<W> {
        let Sum { lines, digest } = self.sum;
        self.sum = Sum::new();
        self.write(&RecordingLine::End(RecordingEnd { lines, digest }))?;
        self.to.flush()?;
        Ok(self.to)
    }
}

impl RecordingReader {
    /// What is in the file, compressed or not.
    ///
    /// # Errors
    /// When it cannot be opened.
    pub fn open(path: &Path) -> Result<Self, Flaw> {
        // Asked before it is opened, since that waits for a pipe's other end.
        if !fs::metadata(path).map_err(Flaw::Unreadable)?.is_file() {
            return Err(Flaw::Once);
        }
        let file = File::open(path).map_err(Flaw::Unreadable)?;
        Self::new(BufReader::new(file), Bounds::default())
    }

    /// What comes from there.
    ///
    /// # Errors
    /// When nothing can be read there.
    pub fn new(mut from: impl BufRead + 'static, bounds: Bounds) -> Result<Self, Flaw> {
        let is_compressed = from.fill_buf().map_err(Flaw::Unreadable)?.starts_with(&MAGIC);
        let from: Box<dyn BufRead> = match is_compressed {
            true => Box::new(BufReader::new(Frames { source: Some(from), decoder: None })),
            false => Box::new(from),
        };
        Ok(Self { from, bounds, read: 0, sum: Sum::new(), ended: false })
    }

    /// The first line.
    ///
    /// # Errors
    /// Why this is no recording that can be read.
    pub fn head(&mut self) -> Result<RecordingHead, Flaw> {
        let bytes = self.bytes().map_err(|flaw| match flaw {
            Flaw::Truncated(_) | Flaw::LongLine(..) => Flaw::Foreign,
            other => other,
        })?;
        let Some(bytes) = bytes else { return Err(Flaw::Empty) };
        let value: Value = serde_json::from_slice(&bytes).map_err(|_| Flaw::Foreign)?;
        let head = value.get("hapticRecording").ok_or(Flaw::Foreign)?;
        let format = head.get("format").and_then(Value::as_u64).ok_or(Flaw::Foreign)?;
        if format != u64::from(FORMAT) {
            let by = head.get("haptic").and_then(Value::as_str).unwrap_or("another one");
            return Err(Flaw::Format(format, by.to_owned()));
        }
        serde_json::from_value(head.clone()).map_err(|error| Flaw::Line(1, error.to_string()))
    }

    /// The next line; `None` behind the last one.
    fn line(&mut self) -> Result<Option<RecordingLine>, Flaw> {
        let before = Sum { ..self.sum };
        let Some(bytes) = self.bytes()? else {
            return if self.ended { Ok(None) } else { Err(Flaw::Truncated(self.sum.lines)) };
        };
        if self.ended {
            return Err(Flaw::Changed);
        }
        let line: RecordingLine =
            serde_json::from_slice(&bytes).map_err(|error| Flaw::Line(self.sum.lines, error.to_string()))?;
        if let RecordingLine::End(end) = &line {
            if (end.lines, end.digest) != (before.lines, before.digest) {
                return Err(Flaw::Changed);
            }
            self.ended = true;
        }
        Ok(Some(line))
    }

    /// Reads all that is left, and says whether it is whole.
    ///
    /// # Errors
    /// What is wrong with the file.
    pub fn verify(mut self) -> Result<(), Flaw> {
        self.try_for_each(|line| line.map(drop))
    }

    /// The bytes of the next line without its end.
    fn bytes(&mut self) -> Result<Option<Vec<u8>>, Flaw> {
        let mut line = Vec::new();
        let lines = self.sum.lines;
        let read = (&mut self.from).take(self.bounds.line + 1).read_until(b'\n', &mut line);
        let read = read.map_err(|error| Flaw::Damaged(lines, error))?;
        self.read += read as u64;
        match line.last() {
            None => return Ok(None),
            Some(b'\n') => line.truncate(line.len() - 1),
            Some(_) if read as u64 > self.bounds.line => {
                return Err(Flaw::LongLine(lines + 1, self.bounds.line >> 20));
            }
            Some(_) => return Err(Flaw::Truncated(lines)),
        }
        if self.read > self.bounds.all {
            return Err(Flaw::Large(self.bounds.all >> 20));
        }
        self.sum.add(&line);
        Ok(Some(line))
    }
}

impl Iterator for RecordingReader {
    /// What is wrong with the file is the last that it gives.
    type Item = Result<RecordingLine, Flaw>;

    fn next(&mut self) -> Option<Self::Item> {
        self.line().transpose()
    }
}

/// Compresses what is written to it, a piece at a time: each is a frame of its own.
#[derive(Debug)]
pub struct Compressed<W> {
    to: W,
    piece: Vec<u8>,
}

impl<W: Write> Compressed<W> {
    /// Nothing written yet.
    pub fn new(to: W) -> Self {
        Self { to, piece: Vec::new() }
    }

    /// Writes what is left.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn end(mut self) -> io::Result<W> {
        self.compress()?;
        self.to.flush()?;
        Ok(self.to)
    }

    fn compress(&mut self) -> io::Result<()> {
        if self.piece.is_empty() {
            return Ok(());
        }
        let frame = compress_to_vec(self.piece.as_slice(), CompressionLevel::Fastest);
        self.piece.clear();
        self.to.write_all(&frame)
    }
}

impl<W: Write> Write for Compressed<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let taken = bytes.len().min(PIECE - self.piece.len().min(PIECE));
        self.piece.extend(bytes.iter().take(taken));
        if self.piece.len() >= PIECE {
            self.compress()?;
        }
        Ok(taken)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Decompresses one frame after the other.
struct Frames<R: BufRead> {
    source: Option<R>,
    decoder: Option<StreamingDecoder<R, ruzstd::decoding::FrameDecoder>>,
}

impl<R: BufRead> Read for Frames<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            if let Some(decoder) = &mut self.decoder {
                let read = decoder.read(buffer)?;
                if read > 0 || buffer.is_empty() {
                    return Ok(read);
                }
            }
            if let Some(ended) = self.decoder.take() {
                self.source = Some(ended.into_inner());
            }
            let Some(mut source) = self.source.take() else { return Ok(0) };
            if source.fill_buf()?.is_empty() {
                return Ok(0);
            }
            self.decoder = Some(StreamingDecoder::new(source).map_err(io::Error::other)?);
        }
    }
}
