//! Carrying out runtime operations and reading back what HAProxy then runs.
//!
//! Neighbouring operations are sent in one go as long as the failure of one leaves those after it harmless. Before a map leads
//! to a backend it waits until all of the backend is there.

use super::{
    CommandError, Contents, backend, certificate,
    exchange::{Batch, CommandReply, Exchange, PreparedOperation, PriorOperations, Repetition},
    map::{self, MapReading},
    prepare, questions,
    read_back::{Expectation, ReadBack, ReadBackVerdict},
};
use crate::haproxy::{HaproxyProcess, channel::SocketError, connection::Worker};
use haptic_model::Operation;
use std::{
    collections::{BTreeMap, BTreeSet},
    mem::discriminant,
    time::Duration,
};
use tokio::time::Instant;

/// How long HAProxy may take to do what it said it did.
const CONVERGENCE_TIMEOUT: Duration = Duration::from_secs(1);
/// Operations that are under way at the same time.
const AT_ONCE: usize = 512;

/// Why operations were not carried out.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RunError {
    /// One cannot be put into commands: HAProxy runs what it ran.
    #[error("{0}; HAProxy was sent nothing")]
    NotSent(#[from] CommandError),
    /// HAProxy did not take one, or does not show what it took.
    #[error("{0}")]
    Refused(String),
    /// Its socket broke half-way.
    #[error(transparent)]
    Broken(#[from] SocketError),
}

/// Sends the operations to `worker` and reads back. Carrying them out again is the same as once.
pub(crate) async fn run(
    haproxy: &HaproxyProcess,
    worker: &mut Worker,
    operations: &[Operation],
    contents: &Contents,
) -> Result<(), RunError> {
    let begun = Instant::now();
    let outcome = carry_out(haproxy, worker, operations, contents).await;
    haproxy.ledger.save();
    haproxy.metrics.operated(operations, outcome.is_ok(), begun.elapsed());
    outcome
}

async fn carry_out(
    haproxy: &HaproxyProcess,
    worker: &mut Worker,
    operations: &[Operation],
    contents: &Contents,
) -> Result<(), RunError> {
    // All are checked before the first is sent.
    let prepared = operations
        .iter()
        .map(|operation| Ok((operation, prepare(operation, contents)?)))
        .collect::<Result<Vec<_>, CommandError>>()?;
    let prior = PriorOperations {
        ledger: &haproxy.ledger,
        interrupted: haproxy.ledger.begin(backend::added(operations)),
    };
    let mut run = OperationRun { haproxy, worker, prior };
    run.send_all(&prepared).await?;
    let mut expectation = Expectation::default();
    prepared.iter().for_each(|(_, prepared)| (prepared.expect)(&mut expectation));
    run.read_back(&expectation).await?;
    haproxy.ledger.done();
    Ok(())
}

/// The operations of one order on their way to one worker.
struct OperationRun<'a> {
    haproxy: &'a HaproxyProcess,
    worker: &'a mut Worker,
    prior: PriorOperations<'a>,
}

impl OperationRun<'_> {
    async fn send_all(&mut self, operations: &[(&Operation, PreparedOperation<'_>)]) -> Result<(), RunError> {
        // After an interrupted order, or while something waits to be removed, one kind may take more than one exchange.
        let is_plain = self.prior.interrupted.is_none() && self.prior.ledger.counts().0 == 0;
        let together = |one: &(&Operation, PreparedOperation<'_>),
                        other: &(&Operation, PreparedOperation<'_>)| {
            let batch = one.1.batch.filter(|batch| is_plain || *batch == Batch::Settings);
            discriminant(one.0) == discriminant(other.0) || batch.is_some() && batch == other.1.batch
        };
        for batch in operations.chunk_by(together) {
            let new = self.without_repetitions(batch).await?;
            for some in new.chunks(AT_ONCE) {
                let exchanges = some.iter().map(|prepared| prepared.begin(&self.prior));
                let exchanges = exchanges.collect::<Result<_, String>>()?;
                self.finish(exchanges).await?;
            }
        }
        Ok(())
    }

    /// Those that an interrupted order has not carried out already.
    async fn without_repetitions<'p, 'o>(
        &mut self,
        batch: &'p [(&Operation, PreparedOperation<'o>)],
    ) -> Result<Vec<&'p PreparedOperation<'o>>, RunError> {
        let mut shown: BTreeMap<&str, String> = BTreeMap::new();
        let mut new = Vec::with_capacity(batch.len());
        for (_, prepared) in batch {
            let repetition = prepared.repetition.as_ref().filter(|_| self.prior.interrupted.is_some());
            if let Some(Repetition { command, is_done }) = repetition {
                if !shown.contains_key(command.as_str()) {
                    shown.insert(command, self.worker.channel.ask(command).await?);
                }
                if shown.get(command.as_str()).is_some_and(|answer| is_done(answer)) {
                    continue;
                }
            }
            new.push(prepared);
        }
        Ok(new)
    }

    /// Takes all exchanges to their ends, side by side.
    async fn finish(&mut self, mut exchanges: Vec<Exchange<'_>>) -> Result<(), RunError> {
        while !exchanges.is_empty() {
            let commands: Vec<&String> = exchanges.iter().flat_map(|exchange| &exchange.commands).collect();
            let answers = self.worker.channel.ask_all(&commands).await?;
            let mut answers = answers.as_slice();
            let (mut under_way, mut cleanup, mut problem) = (Vec::new(), Vec::new(), None);
            for Exchange { commands, answered, cleanup: abandon } in exchanges {
                let (own, others) = answers.split_at_checked(commands.len()).unwrap_or((answers, &[]));
                answers = others;
                let replies = commands.iter().zip(own);
                let replies: Vec<_> =
                    replies.map(|(command, answer)| CommandReply { command, answer }).collect();
                match answered(&replies, self.prior.ledger) {
                    Ok(next) => under_way.extend(next),
                    Err(this) => {
                        cleanup.extend(abandon);
                        problem.get_or_insert(this);
                    }
                }
            }
            if let Some(problem) = problem {
                cleanup.extend(under_way.into_iter().filter_map(|exchange| exchange.cleanup));
                self.worker.channel.ask_all(&cleanup).await?;
                return Err(RunError::Refused(problem));
            }
            exchanges = under_way;
        }
        Ok(())
    }

    /// Compares what HAProxy runs with what was asked for, until it is the same: HAProxy answers `set server … addr` before
    /// a task of it has changed the address.
    async fn read_back(&mut self, expectation: &Expectation<'_>) -> Result<(), RunError> {
        let mut questions = questions(expectation);
        let mut maps = map::whole_maps(expectation);
        let until = Instant::now() + CONVERGENCE_TIMEOUT;
        let mut pause = Duration::ZERO;
        loop {
            let mut differences = self.ask(&mut questions, &mut maps).await?;
            for map in std::mem::take(&mut maps) {
                let mut reading = MapReading::of(expectation, &map);
                let line = |_, line: &[u8]| {
                    reading.line(&String::from_utf8_lossy(line));
                    Ok(())
                };
                self.worker.channel.each_line(&[map::show(&map)?], line).await?;
                if let Some(difference) = reading.difference() {
                    differences.push(difference);
                    maps.insert(map);
                }
            }
            if differences.is_empty() {
                return Ok(());
            }
            if Instant::now() > until {
                differences.truncate(5);
                let differences = differences.join(", ");
                return Err(RunError::Refused(format!("HAProxy took the commands, but {differences}")));
            }
            if !pause.is_zero() {
                tokio::time::sleep(pause).await;
            }
            pause = (pause * 2).max(Duration::from_millis(1));
        }
    }

    /// Asks the questions, leaves those whose answers differ, and adds maps that have to be read as a whole.
    async fn ask(
        &mut self,
        questions: &mut Vec<ReadBack<'_>>,
        maps: &mut BTreeSet<String>,
    ) -> Result<Vec<String>, RunError> {
        let commands: Vec<&String> = questions.iter().map(|question| &question.command).collect();
        let answers = self.worker.channel.ask_all(&commands).await?;
        let mut differences = Vec::new();
        let mut answers = answers.iter();
        questions.retain(|question| {
            let answer = answers.next().map(String::as_str).unwrap_or_default();
            self.warn_of_expiry(&question.command, answer);
            match question.check(answer) {
                ReadBackVerdict::AsExpected => false,
                ReadBackVerdict::ReadMap(map) => {
                    maps.insert(map);
                    false
                }
                ReadBackVerdict::Differs(these) => {
                    differences.extend(these);
                    true
                }
            }
        });
        Ok(differences)
    }

    fn warn_of_expiry(&self, command: &str, answer: &str) {
        if let Some((certificate, until)) = certificate::expired(command, answer) {
            tracing::warn!(
                certificate,
                "a certificate that has expired is presented: it was valid until {until}"
            );
            self.haproxy.metrics.expired_certificate();
        }
    }
}

impl From<String> for RunError {
    fn from(words: String) -> Self {
        Self::Refused(words)
    }
}
