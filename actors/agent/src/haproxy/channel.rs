//! One conversation with HAProxy's command line: any number of commands written in one go, each answer matched to its
//! command, bounded in time and size.
//!
//! The prompt ends an answer. Of all that HAProxy says only the prompt begins a line with it: lines that show what an order
//! brought begin with an address, a name or a file's path without blanks.

use metrics::Histogram;
use std::{
    path::{Path, PathBuf},
    time::Duration,
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{UnixStream, unix::ReadHalf},
    time::{Instant, timeout},
};

/// How long HAProxy may be silent while it is asked something.
pub(crate) const ANSWER_TIMEOUT: Duration = Duration::from_secs(5);
/// How long one batch of commands may take, also when HAProxy goes on talking.
const LONGEST: Duration = Duration::from_secs(120);
/// Bytes of one answer that is kept as a whole.
pub(crate) const LARGEST_ANSWER: usize = 64 << 20;

/// HAProxy did not answer as it should.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SocketError {
    #[error("HAProxy's socket {socket} cannot be reached: {problem}")]
    Unreachable { socket: PathBuf, problem: std::io::Error },
    #[error("HAProxy's socket {socket} broke while asked {command:?}: {problem}")]
    Broken { socket: PathBuf, command: String, problem: std::io::Error },
    #[error("HAProxy's socket {socket} did not answer {command:?} within {seconds} s")]
    Silent { socket: PathBuf, command: String, seconds: u64 },
    #[error("HAProxy's socket {socket} answered {command:?} with something else: {answer}")]
    Strange { socket: PathBuf, command: String, answer: String },
}

/// An open connection in interactive mode.
#[derive(Debug)]
pub(crate) struct Channel {
    stream: UnixStream,
    socket: PathBuf,
    answers: AnswerParser,
    /// Commands are for the worker behind the master that is talked to.
    through_master: bool,
    /// A conversation that was given up in its midst leaves answers behind that nobody waits for.
    is_idle: bool,
    times: Histogram,
}

impl Channel {
    /// Connects and asks for the prompt.
    pub(crate) async fn open(
        socket: &Path,
        through_master: bool,
        times: Histogram,
    ) -> Result<Self, SocketError> {
        let stream = connect(socket).await?;
        let answers = AnswerParser::new(if through_master { &MASTER_PROMPTS } else { &WORKER_PROMPTS });
        let mut channel =
            Self { stream, socket: socket.to_owned(), answers, through_master, is_idle: true, times };
        channel.converse(&["prompt"], b"prompt\n", |_, _| Ok(())).await?;
        Ok(channel)
    }

    /// Sends one command, with its payload on further lines; gives the answer without the empty line at its end.
    pub(crate) async fn ask(&mut self, command: &str) -> Result<String, SocketError> {
        Ok(self.ask_all(&[command]).await?.pop().unwrap_or_default())
    }

    /// Sends all commands in one go; gives their answers in the same order. A command that HAProxy refuses does not keep it
    /// from those that follow.
    pub(crate) async fn ask_all(&mut self, commands: &[impl AsRef<str>]) -> Result<Vec<String>, SocketError> {
        let mut answers = vec![Vec::new(); commands.len()];
        self.each_line(commands, |index, line| {
            let Some(answer) = answers.get_mut(index) else { return Ok(()) };
            if answer.len() + line.len() > LARGEST_ANSWER {
                return Err(std::io::Error::other("the answer has no end"));
            }
            answer.extend_from_slice(line);
            answer.push(b'\n');
            Ok(())
        })
        .await?;
        let texts = commands.iter().zip(answers);
        Ok(texts.map(|(command, answer)| without_echo(command.as_ref(), text(answer))).collect())
    }

    /// As [`Self::ask_all`]; the answers' lines are given one by one with their command's index, and nothing is kept of them.
    pub(crate) async fn each_line(
        &mut self,
        commands: &[impl AsRef<str>],
        on_line: impl FnMut(usize, &[u8]) -> std::io::Result<()>,
    ) -> Result<(), SocketError> {
        let prefix = if self.through_master { "@1 " } else { "" };
        let request: String = commands.iter().flat_map(|command| [prefix, command.as_ref(), "\n"]).collect();
        self.converse(commands, request.as_bytes(), on_line).await
    }

    async fn converse(
        &mut self,
        commands: &[impl AsRef<str>],
        request: &[u8],
        mut on_line: impl FnMut(usize, &[u8]) -> std::io::Result<()>,
    ) -> Result<(), SocketError> {
        let begun = Instant::now();
        self.is_idle = false;
        let (mut read, mut write) = self.stream.split();
        let mut answered = 0;
        let outcome = {
            let (answers, answered) = (&mut self.answers, &mut answered);
            let reading = async move {
                while *answered < commands.len() {
                    match answers.next() {
                        AnswerPart::Line(line) => on_line(*answered, line).map_err(ChannelFailure::Io)?,
                        AnswerPart::End => *answered += 1,
                        AnswerPart::Unfinished => answers.fill(&mut read, begun).await?,
                    }
                }
                Ok(())
            };
            let writing = async { write.write_all(request).await.map_err(ChannelFailure::Io) };
            tokio::try_join!(writing, reading).map(drop)
        };
        self.times.record(begun.elapsed());
        self.is_idle = outcome.is_ok();
        outcome.map_err(|failure| {
            let command = commands.get(answered).map(AsRef::as_ref).unwrap_or_default();
            failure.about(&self.socket, command)
        })
    }

    /// Whether it can be used again: HAProxy has neither closed it nor said what nobody asked for.
    pub(crate) fn is_usable(&self) -> bool {
        let quiet =
            matches!(self.stream.try_read(&mut [0; 1]), Err(e) if e.kind() == std::io::ErrorKind::WouldBlock);
        self.is_idle && quiet && self.answers.is_empty()
    }
}

/// Connects; a queue of connections may be short (the master's is), so a full one is tried again for a while.
pub(crate) async fn connect(socket: &Path) -> Result<UnixStream, SocketError> {
    let unreachable = |problem| SocketError::Unreachable { socket: socket.to_owned(), problem };
    let mut tries = 0;
    loop {
        match UnixStream::connect(socket).await {
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock && tries < 50 => {
                tries += 1;
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
            outcome => return outcome.map_err(unreachable),
        }
    }
}

/// An answer's text without the line ends at its end.
pub(crate) fn text(mut answer: Vec<u8>) -> String {
    while answer.last() == Some(&b'\n') {
        answer.pop();
    }
    String::from_utf8(answer).unwrap_or_else(|e| String::from_utf8_lossy(e.as_bytes()).into_owned())
}

/// HAProxy 3.0 asks for each line of a payload with `+ `.
fn without_echo(command: &str, answer: String) -> String {
    if !command.contains('\n') {
        return answer;
    }
    let rest = answer.trim_start_matches("+ ");
    if rest == "+" { String::new() } else { rest.to_owned() }
}

enum ChannelFailure {
    Io(std::io::Error),
    Silent(Duration),
}

impl ChannelFailure {
    fn about(self, socket: &Path, command: &str) -> SocketError {
        // A payload may be a private key: only the command's own line is ever told.
        let (socket, command) = (socket.to_owned(), command.lines().next().unwrap_or_default().to_owned());
        match self {
            Self::Io(problem) => SocketError::Broken { socket, command, problem },
            Self::Silent(limit) => SocketError::Silent { socket, command, seconds: limit.as_secs() },
        }
    }
}

const WORKER_PROMPTS: [&[u8]; 1] = [b"> "];
const MASTER_PROMPTS: [&[u8]; 2] = [b"master> ", b"master[ReloadFailed]> "];
/// A line that does not end is no answer of HAProxy's.
const LONGEST_LINE: usize = 1 << 20;

/// Cuts what HAProxy says into lines and answers.
#[derive(Debug)]
struct AnswerParser {
    buffer: Vec<u8>,
    /// Where the first unread line begins.
    start: usize,
    prompts: &'static [&'static [u8]],
}

#[derive(Debug, PartialEq, Eq)]
enum AnswerPart<'a> {
    Line(&'a [u8]),
    End,
    /// More has to be read first.
    Unfinished,
}

impl AnswerParser {
    fn new(prompts: &'static [&'static [u8]]) -> Self {
        Self { buffer: Vec::with_capacity(4096), start: 0, prompts }
    }

    fn is_empty(&self) -> bool {
        self.start == self.buffer.len()
    }

    fn next(&mut self) -> AnswerPart<'_> {
        let rest = self.buffer.get(self.start..).unwrap_or_default();
        if let Some(prompt) = self.prompts.iter().find(|prompt| rest.starts_with(prompt)) {
            self.start += prompt.len();
            return AnswerPart::End;
        }
        let Some(length) = rest.iter().position(|byte| *byte == b'\n') else { return AnswerPart::Unfinished };
        let line = self.start..self.start + length;
        self.start = line.end + 1;
        AnswerPart::Line(self.buffer.get(line).unwrap_or_default())
    }

    async fn fill(&mut self, from: &mut ReadHalf<'_>, begun: Instant) -> Result<(), ChannelFailure> {
        self.buffer.drain(..self.start);
        self.start = 0;
        self.buffer.shrink_to(64 << 10);
        if self.buffer.len() > LONGEST_LINE {
            return Err(ChannelFailure::Io(std::io::Error::other("a line of the answer has no end")));
        }
        if begun.elapsed() > LONGEST {
            return Err(ChannelFailure::Silent(LONGEST));
        }
        self.buffer.reserve(16 << 10);
        match timeout(ANSWER_TIMEOUT, from.read_buf(&mut self.buffer)).await {
            Ok(Ok(0)) => Err(ChannelFailure::Io(std::io::ErrorKind::UnexpectedEof.into())),
            Ok(read) => read.map(drop).map_err(ChannelFailure::Io),
            Err(_) => Err(ChannelFailure::Silent(ANSWER_TIMEOUT)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::net::UnixListener;

    fn said(prompts: &'static [&'static [u8]], chunks: &[&[u8]]) -> Vec<Vec<String>> {
        let mut answers = AnswerParser::new(prompts);
        let mut all = vec![Vec::new()];
        for chunk in chunks {
            answers.buffer.extend_from_slice(chunk);
            loop {
                match answers.next() {
                    AnswerPart::Line(line) => {
                        all.last_mut().unwrap().push(String::from_utf8_lossy(line).into_owned())
                    }
                    AnswerPart::End => all.push(Vec::new()),
                    AnswerPart::Unfinished => break,
                }
            }
        }
        all
    }

    #[test]
    fn answers_are_told_apart_wherever_the_stream_is_cut() {
        let worker = b"\n> a > b\nc\n\n> \n> + + x\n\n> ";
        let expected = [vec![""], vec!["a > b", "c", ""], vec![""], vec!["+ + x", ""], vec![]];
        for cut in 0..worker.len() {
            let (first, second) = worker.split_at(cut);
            assert_eq!(said(&WORKER_PROMPTS, &[first, second]), expected, "cut at {cut}");
        }
        let master = b"master> one\n\nmaster[ReloadFailed]> \nmaster[ReloadFailed]> ";
        for cut in 0..master.len() {
            let (first, second) = master.split_at(cut);
            let all = said(&MASTER_PROMPTS, &[first, second]);
            assert_eq!(all, [vec![], vec!["one", ""], vec![""], vec![]], "cut at {cut}");
        }
    }

    #[test]
    fn the_echo_of_a_payload_is_no_part_of_its_answer() {
        assert_eq!(without_echo("add map m <<\na b\n", "+ + + ".to_owned()), "");
        assert_eq!(without_echo("add map m <<\na b\n", "+ +".to_owned()), "");
        assert_eq!(without_echo("set x <<\na\n", "+ Success!".to_owned()), "Success!");
        assert_eq!(without_echo("get map m +", "+ x".to_owned()), "+ x");
    }

    /// A HAProxy that answers each connection with `answer`, whatever it is asked, and then says no more.
    async fn with_a_haproxy_that_says(answer: &'static [u8], hang_up: bool) -> SocketError {
        let dir = tempfile::tempdir().unwrap();
        let socket = dir.path().join("w");
        let listener = UnixListener::bind(&socket).unwrap();
        let haproxy = async {
            let (mut stream, _) = listener.accept().await.unwrap();
            stream.read_exact(&mut [0; b"prompt\n".len()]).await.unwrap();
            let _written = stream.write_all(answer).await;
            if !hang_up {
                std::future::pending::<()>().await;
            }
        };
        let asked = async {
            let mut channel = Channel::open(&socket, false, Histogram::noop()).await?;
            channel.ask("show info").await
        };
        tokio::select! {
            answer = asked => answer.unwrap_err(),
            () = async { haproxy.await; std::future::pending::<()>().await } => unreachable!(),
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_haproxy_that_says_nothing_is_given_up_in_bounded_time() {
        let error = with_a_haproxy_that_says(b"", false).await;
        assert!(
            matches!(&error, SocketError::Silent { seconds: 5, command, .. } if command == "prompt"),
            "{error}"
        );
        let error = with_a_haproxy_that_says(b"\n> half an answer", false).await;
        assert!(matches!(&error, SocketError::Silent { command, .. } if command == "show info"), "{error}");
    }

    #[tokio::test]
    async fn a_haproxy_that_hangs_up_in_an_answer_is_told_with_the_command() {
        let error = with_a_haproxy_that_says(b"\n> half", true).await;
        assert!(matches!(&error, SocketError::Broken { command, .. } if command == "show info"), "{error}");
    }

    #[tokio::test]
    async fn a_line_without_end_is_given_up_in_bounded_memory() {
        let endless: &'static [u8] = Box::leak(vec![b'x'; 4 << 20].into_boxed_slice());
        let error = with_a_haproxy_that_says(endless, false).await.to_string();
        assert!(error.contains("no end"), "{error}");
    }
}
