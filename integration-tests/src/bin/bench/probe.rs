//! The instrument: asks HAProxy again and again, until its answer shows that a change is live.
//!
//! One thread and blocking calls, because an asynchronous timer is no finer than a millisecond. Each question has one kept
//! connection and a round of requests in one write: where it matters which server of a backend answers, as many as that every one has its
//! turn in a round. The instrument goes before what it measures, where it may: a client of a real cluster does not wait for the processors of this
//! machine. It takes CPU from what it measures, so it rests between rounds, and says how far apart they were: a
//! change is noticed that much late at most.

use integration_tests::{Failure, Outcome};
use std::{
    io::{BufRead, BufReader, Read, Write},
    net::{SocketAddr, TcpStream},
    sync::{
        Arc,
        mpsc::{Receiver, Sender, channel},
    },
    thread,
    time::{Duration, Instant},
};
use tokio::sync::oneshot;

/// As many as a backend has servers, or one that is new could be passed over for a round or two.
const EACH_SERVER: usize = 3;
/// From one round to the next, at least.
const ROUND: Duration = Duration::from_millis(1);
/// On a busy machine a round takes long without costing much.
const REST_AT_MOST: Duration = Duration::from_millis(4);
/// A change that shows no effect for this long never will.
const PATIENCE: Duration = Duration::from_secs(60);
const ANSWER_WITHIN: Duration = Duration::from_secs(5);
/// Of the instrument's thread, as `nice` has it. Below zero takes a right that not every user has.
const NICENESS: i32 = -10;

/// What an answer must be for a change to be live.
#[derive(Clone, Debug)]
pub enum Shows {
    /// Success, with one of these bodies, as soon as one of the backend's servers gives one.
    OneOf(Vec<String>),
    /// Success, with one of these bodies, whichever server of the backend answers.
    Route(Vec<String>),
    /// No route for this host.
    NoRoute,
}

/// When a change was seen.
#[derive(Clone, Copy, Debug)]
pub struct Seen {
    /// The answer's arrival.
    pub at: Instant,
    /// Since the question before: it may have been live for that long already.
    pub late: Duration,
}

/// A handle to the instrument; it ends with the last of them.
#[derive(Clone)]
pub struct Prober(Sender<Question>);

struct Question {
    host: String,
    shows: Shows,
    reply: oneshot::Sender<Outcome<Seen>>,
}

impl Prober {
    /// Starts it, for a HAProxy that listens at `front`.
    pub fn start(front: SocketAddr) -> Self {
        let (questions, incoming) = channel();
        thread::spawn(move || work(front, &incoming));
        Self(questions)
    }

    /// Begins at once to ask for `host`; the future ends when the answer shows what is wanted.
    ///
    /// # Errors
    /// It never does: the last answer.
    pub fn ask(&self, host: String, shows: Shows) -> impl Future<Output = Outcome<Seen>> + use<> {
        let (reply, seen) = oneshot::channel();
        let asked = self.0.send(Question { host, shows, reply });
        async move {
            asked.map_err(|_| Failure::new("the instrument has ended"))?;
            seen.await?
        }
    }
}

fn work(front: SocketAddr, incoming: &Receiver<Question>) {
    let _like_others_without_the_right = rustix::process::setpriority_process(None, NICENESS);
    let mut open: Vec<Asking> = Vec::new();
    loop {
        if open.is_empty() {
            let Ok(question) = incoming.recv() else { return };
            open.push(Asking::new(front, question));
        }
        open.extend(incoming.try_iter().map(|question| Asking::new(front, question)));
        let begun = Instant::now();
        open.iter_mut().for_each(Asking::ask);
        open = open.into_iter().filter_map(|asking| asking.hear(begun)).collect();
        let took = begun.elapsed();
        thread::park_timeout(ROUND.saturating_sub(took).max((2 * took).min(REST_AT_MOST)));
    }
}

/// One question, asked until it is answered.
struct Asking {
    front: SocketAddr,
    question: Question,
    round: Arc<str>,
    connection: Option<BufReader<TcpStream>>,
    begun: Instant,
    round_before: Instant,
    last: String,
}

impl Asking {
    fn new(front: SocketAddr, question: Question) -> Self {
        let round = format!("GET / HTTP/1.1\r\nHost: {}\r\n\r\n", question.host)
            .repeat(question.shows.requests())
            .into();
        let now = Instant::now();
        let last = "no answer".to_owned();
        Self { front, question, round, connection: None, begun: now, round_before: now, last }
    }

    /// Sends one round, on a new connection where the last one is gone.
    fn ask(&mut self) {
        let round = Arc::clone(&self.round);
        if let Err(error) = self.connected().and_then(|mut stream| stream.write_all(round.as_bytes())) {
            self.connection = None;
            self.last = error.to_string();
        }
    }

    fn connected(&mut self) -> std::io::Result<&TcpStream> {
        let kept = match self.connection.take() {
            Some(kept) => kept,
            None => {
                let stream = TcpStream::connect_timeout(&self.front, ANSWER_WITHIN)?;
                stream.set_nodelay(true)?;
                stream.set_read_timeout(Some(ANSWER_WITHIN))?;
                BufReader::new(stream)
            }
        };
        Ok(self.connection.insert(kept).get_ref())
    }

    /// Reads the round's answers; itself again unless the question is answered, or nobody waits any more.
    fn hear(mut self, round: Instant) -> Option<Self> {
        for _ in 0..self.question.shows.requests() {
            let Some(connection) = self.connection.as_mut() else { break };
            match answer(connection) {
                Ok(answer) => {
                    let at = Instant::now();
                    if self.question.shows.is_shown_by(&answer) {
                        let late = at.saturating_duration_since(self.round_before);
                        let _nobody_waits = self.question.reply.send(Ok(Seen { at, late }));
                        return None;
                    }
                    if answer.closes {
                        self.connection = None;
                    }
                    self.last = format!("{} {}", answer.status, answer.body);
                }
                Err(error) => {
                    self.connection = None;
                    self.last = error.to_string();
                }
            }
        }
        self.round_before = round;
        if self.begun.elapsed() > PATIENCE {
            let Question { host, shows, reply } = self.question;
            let never = format!(
                "{host}: no {shows:?} within {} s; the last answer: {}",
                PATIENCE.as_secs(),
                self.last
            );
            let _nobody_waits = reply.send(Err(Failure::new(never)));
            return None;
        }
        (!self.question.reply.is_closed()).then_some(self)
    }
}

impl Shows {
    /// How many requests are a round.
    fn requests(&self) -> usize {
        if matches!(self, Self::OneOf(_)) { EACH_SERVER } else { 1 }
    }

    fn is_shown_by(&self, answer: &Answer) -> bool {
        match self {
            Self::OneOf(bodies) | Self::Route(bodies) => {
                answer.status == 200 && bodies.contains(&answer.body)
            }
            Self::NoRoute => answer.status == 404,
        }
    }
}

/// An answer, as far as it matters here.
struct Answer {
    status: u16,
    body: String,
    closes: bool,
}

/// Reads one answer. HAProxy's own and the endpoints' are short and never chunked.
fn answer(stream: &mut impl BufRead) -> std::io::Result<Answer> {
    let mut line = String::new();
    stream.read_line(&mut line)?;
    let status = line.split(' ').nth(1).and_then(|code| code.parse().ok());
    let status = status.ok_or_else(|| std::io::Error::other("the connection was closed"))?;
    let (mut length, mut closes) = (None, false);
    loop {
        line.clear();
        stream.read_line(&mut line)?;
        let header = line.trim_end().to_ascii_lowercase();
        match header.split_once(':').map(|(name, value)| (name, value.trim())) {
            Some(("content-length", value)) => length = value.parse::<u64>().ok(),
            Some(("connection", "close")) => closes = true,
            Some(_) => {}
            None => break,
        }
    }
    let mut body = String::new();
    match length {
        Some(length) => stream.take(length).read_to_string(&mut body)?,
        None => {
            closes = true;
            stream.read_to_string(&mut body)?
        }
    };
    Ok(Answer { status, body: body.trim().to_owned(), closes })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_read_one_after_the_other() {
        let text = "HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n10.99.1.1HTTP/1.0 404 Not Found\r\nConnection: close\r\n\r\nno";
        let mut stream = text.as_bytes();
        let first = answer(&mut stream).unwrap();
        assert_eq!((first.status, first.body.as_str(), first.closes), (200, "10.99.1.1", false));
        let second = answer(&mut stream).unwrap();
        assert_eq!((second.status, second.body.as_str(), second.closes), (404, "no", true));
        assert!(answer(&mut stream).is_err());
    }

    #[tokio::test]
    async fn the_endpoints_say_on_which_address_they_were_reached() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        drop(listener);
        let _echo = crate::echo::start(port).await.unwrap();
        for address in ["127.0.0.1", "127.0.0.7"] {
            let prober = Prober::start(SocketAddr::new(address.parse().unwrap(), port));
            let seen = prober.ask("x".into(), Shows::OneOf(vec![address.into()])).await.unwrap();
            assert!(seen.late < PATIENCE);
        }
    }
}
