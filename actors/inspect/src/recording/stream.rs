//! A recording that is sent while it is made: one at a time, and off the actors' threads.

use super::{line::RecordedEvent, make::make};
use bytes::Bytes;
use haptic_commentator::{History, HistoryEntry, Recording};
use haptic_model::Generation;
use std::{
    io::{self, Write},
    mem,
    sync::Arc,
    time::Duration,
};
use tokio::{
    runtime::Handle,
    sync::{Semaphore, mpsc},
};

/// So much is sent at once.
const PIECE: usize = 64 << 10;
/// So many pieces may wait for whoever reads them.
const AHEAD: usize = 4;
/// Who does not read for so long does not get the rest.
const TIMEOUT: Duration = Duration::from_secs(30);

/// What there is to be recorded, and whose turn it is.
#[derive(Clone, Debug)]
pub struct RecordingSource {
    recording: Recording,
    turn: Arc<Semaphore>,
}

impl RecordingSource {
    /// A recorder of these generations.
    #[must_use]
    pub fn new(recording: Recording) -> Self {
        Self { recording, turn: Arc::new(Semaphore::new(1)) }
    }
}

/// Why nothing is sent.
#[derive(Debug, PartialEq, Eq)]
pub enum StreamRefusal {
    /// Somebody else is being served.
    Busy,
    /// There is nothing.
    Nothing,
}

impl RecordingSource {
    /// Begins with a recording, as one piece after the other. It ends when all is sent, or nobody listens any more.
    ///
    /// # Errors
    /// Why there is none.
    pub fn begin(&self, history: History) -> Result<mpsc::Receiver<Bytes>, StreamRefusal> {
        let turn = self.turn.clone().try_acquire_owned().map_err(|_| StreamRefusal::Busy)?;
        let generations = self.recording.generations();
        if generations.is_empty() {
            return Err(StreamRefusal::Nothing);
        }
        let (sender, receiver) = mpsc::channel(AHEAD);
        tokio::spawn(async move {
            let _turn = turn;
            let to = Pieces { sender, runtime: Handle::current(), piece: Vec::new() };
            let work = move || make(&generations, |number| events_of(&history, number), to);
            match haptic_runtime::cpu("recording", work).await {
                Ok(Ok(_)) => {}
                Ok(Err(why)) => tracing::warn!("no recording: {why}"),
                Err(panicked) => tracing::error!("no recording: {panicked}"),
            }
        });
        Ok(receiver)
    }
}

fn events_of(history: &History, number: Generation) -> Vec<RecordedEvent> {
    let recorded = |entry: &Arc<HistoryEntry>| RecordedEvent {
        kind: entry.kind.to_owned(),
        unix_ms: u64::try_from(entry.unix_ms).unwrap_or(u64::MAX),
        text: entry.text.clone(),
    };
    history.of_generation(number).iter().map(recorded).collect()
}

/// Hands on what is written, and waits for the reader.
struct Pieces {
    sender: mpsc::Sender<Bytes>,
    runtime: Handle,
    piece: Vec<u8>,
}

impl Write for Pieces {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.piece.extend_from_slice(bytes);
        if self.piece.len() >= PIECE {
            self.flush()?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.piece.is_empty() {
            return Ok(());
        }
        let piece = Bytes::from(mem::take(&mut self.piece));
        let sent = self.runtime.block_on(tokio::time::timeout(TIMEOUT, self.sender.send(piece)));
        match sent {
            Ok(Ok(())) => Ok(()),
            Ok(Err(_)) => Err(io::ErrorKind::BrokenPipe.into()),
            Err(_) => Err(io::Error::new(io::ErrorKind::TimedOut, "whoever asked for it does not read")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recording::tests::Past;

    /// More than fits into what is sent ahead.
    fn long_past() -> RecordingSource {
        let mut past = Past::new();
        (0..5000).for_each(|number| past.ingress(&format!("i{number}"), "shop.example"));
        past.render();
        let recording = Recording::default();
        past.generations.iter().for_each(|taken| recording.keep(&taken.attempt, taken.at, 10));
        RecordingSource::new(recording)
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn one_recording_is_made_at_a_time_and_none_for_somebody_who_has_gone() {
        let nothing = RecordingSource::new(Recording::default());
        assert_eq!(nothing.begin(History::new()).err(), Some(StreamRefusal::Nothing));
        assert_eq!(nothing.begin(History::new()).err(), Some(StreamRefusal::Nothing), "it was nobody's turn");
        let recorder = long_past();
        let mut reading = recorder.begin(History::new()).unwrap();
        let first = reading.recv().await.unwrap();
        assert!(first.starts_with(b"{\"hapticRecording\"") && first.len() >= PIECE);
        assert_eq!(recorder.begin(History::new()).err(), Some(StreamRefusal::Busy));
        drop(reading);
        drop(recorder.turn.acquire().await.unwrap());
        let mut whole = recorder.begin(History::new()).unwrap();
        let mut last = Bytes::new();
        while let Some(piece) = whole.recv().await {
            last = piece;
        }
        assert!(last.ends_with(b"}}\n") && String::from_utf8_lossy(&last).contains("{\"end\""));
    }
}
