//! Carrying out runtime operations and reading back what HAProxy then runs.
//!
//! Neighbouring operations are sent in one go as long as the failure of one leaves those after it harmless. Before a map leads
//! to a backend it waits until all of the backend is there.

use crate::{
    agent::Inner,
    certificate,
    command::{self, Contents, commands},
    connection::{SocketError, Worker},
    question::{Question, Verdict},
    readback::Expectation,
    readback_files::{self, FileExpectation},
    step::{Next, Step},
};
use haptic_model::Operation;
use std::{
    collections::{BTreeMap, BTreeSet},
    mem::discriminant,
    time::Duration,
};
use tokio::time::Instant;

/// How long HAProxy may take to do what it said it did.
const SETTLED: Duration = Duration::from_secs(1);
/// Operations that are under way at the same time.
const AT_ONCE: usize = 512;

/// An operation with its first commands.
type Prepared<'o> = (&'o Operation, Vec<String>);

impl Inner {
    /// Sends the operations and reads back; gives the worker's pid. Carrying them out again is the same as once.
    pub(crate) async fn operate(&self, operations: &[Operation], contents: &Contents) -> Result<u32, String> {
        let begun = Instant::now();
        let outcome = self.operate_now(operations, contents).await;
        self.ledger.save();
        self.metrics.operated(operations, outcome.is_ok(), begun.elapsed());
        outcome
    }

    async fn operate_now(&self, operations: &[Operation], contents: &Contents) -> Result<u32, String> {
        // All are checked before the first is sent.
        let prepared: Vec<Prepared<'_>> = operations
            .iter()
            .map(|operation| Ok((operation, commands(operation, contents)?)))
            .collect::<Result<_, command::CommandError>>()
            .map_err(|e| e.to_string())?;
        let mut worker = self.current_worker().await.map_err(told)?;
        let pid = worker.pid;
        let earlier = self.ledger.begin(backends_added(operations));
        let outcome = async {
            // After an interrupted order, or while something waits to be removed, one kind may take more than one round.
            let is_plain = earlier.is_none() && self.ledger.counts().0 == 0;
            let together = |one: &Operation, other: &Operation| {
                discriminant(one) == discriminant(other)
                    || stage(one).is_some_and(|stage_of_one| {
                        (is_plain || stage_of_one == Together::Settings) && stage(other) == Some(stage_of_one)
                    })
            };
            for batch in prepared.chunk_by(|(one, _), (other, _)| together(one, other)) {
                self.carry_out(&mut worker, batch, contents, earlier.as_ref()).await?;
            }
            self.verify(&mut worker, operations, contents).await
        };
        let outcome = outcome.await;
        self.sockets.keep(worker);
        outcome?;
        self.ledger.done();
        Ok(pid)
    }

    async fn carry_out(
        &self,
        worker: &mut Worker,
        batch: &[Prepared<'_>],
        contents: &Contents,
        earlier: Option<&BTreeMap<String, String>>,
    ) -> Result<(), String> {
        let there = if earlier.is_some() { lines_there(worker, batch).await? } else { BTreeSet::new() };
        for some in batch.chunks(AT_ONCE) {
            let new = some.iter().filter(|(operation, _)| !is_line_of(operation, &there));
            let steps: Vec<Step<'_>> = new
                .map(|(operation, commands)| {
                    Step::begin(operation, commands.clone(), contents, &self.ledger, earlier)
                })
                .collect::<Result<_, _>>()?;
            self.walk(worker, steps).await?;
        }
        Ok(())
    }

    /// Takes all steps to their ends, side by side.
    async fn walk(&self, worker: &mut Worker, mut steps: Vec<Step<'_>>) -> Result<(), String> {
        while !steps.is_empty() {
            let commands: Vec<&String> = steps.iter().flat_map(Step::sent).collect();
            let answers = worker.ask_all(&commands).await.map_err(told)?;
            let mut answers = answers.as_slice();
            let (mut under_way, mut cleanup, mut problem) = (Vec::new(), Vec::new(), None);
            for mut step in steps {
                let (own, others) = answers.split_at_checked(step.sent().len()).unwrap_or((answers, &[]));
                answers = others;
                match step.next(own, &self.ledger) {
                    Next::Send(_) => under_way.push(step),
                    Next::Done => {}
                    Next::Failed { problem: this, cleanup: after } => {
                        cleanup.extend(after);
                        problem.get_or_insert(this);
                    }
                }
            }
            if let Some(problem) = problem {
                cleanup.extend(under_way.iter().flat_map(Step::abandon));
                worker.ask_all(&cleanup).await.map_err(told)?;
                return Err(problem);
            }
            steps = under_way;
        }
        Ok(())
    }

    /// Compares what HAProxy runs with what was asked for, until it is the same: HAProxy answers `set server … addr` before
    /// a task of it has changed the address.
    async fn verify(
        &self,
        worker: &mut Worker,
        operations: &[Operation],
        contents: &Contents,
    ) -> Result<(), String> {
        let backends = Expectation::of(operations);
        let files = FileExpectation::of(operations, contents);
        let mut questions = backends.questions();
        questions.extend(files.questions());
        let mut maps = files.whole_maps();
        let until = Instant::now() + SETTLED;
        let mut pause = Duration::ZERO;
        loop {
            let mut differences = self.still_open(worker, &mut questions, &mut maps).await?;
            for map in std::mem::take(&mut maps) {
                let mut reading = files.reading(&map, contents);
                let show = command::show_map(&map)?;
                let line = |_, line: &[u8]| {
                    reading.line(&String::from_utf8_lossy(line));
                    Ok(())
                };
                worker.each_line(&[show], line).await.map_err(told)?;
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
                return Err(format!("HAProxy took the commands, but {}", differences.join(", ")));
            }
            if !pause.is_zero() {
                tokio::time::sleep(pause).await;
            }
            pause = (pause * 2).max(Duration::from_millis(1));
        }
    }

    /// Asks what is open, leaves what still differs, and adds maps that have to be read as a whole.
    async fn still_open(
        &self,
        worker: &mut Worker,
        questions: &mut Vec<Question<'_>>,
        maps: &mut BTreeSet<String>,
    ) -> Result<Vec<String>, String> {
        let commands: Vec<&String> = questions.iter().map(|question| &question.command).collect();
        let answers = worker.ask_all(&commands).await.map_err(told)?;
        let mut differences = Vec::new();
        let mut answers = answers.iter();
        questions.retain(|question| {
            let answer = answers.next().map(String::as_str).unwrap_or_default();
            self.note_expiry(question, answer);
            match question.verdict(answer) {
                Verdict::AsWanted => false,
                Verdict::ReadMap(map) => {
                    maps.insert(map);
                    false
                }
                Verdict::Differs(these) => {
                    differences.extend(these);
                    true
                }
            }
        });
        Ok(differences)
    }

    /// HAProxy presents an expired certificate without a word.
    fn note_expiry(&self, question: &Question<'_>, answer: &str) {
        let Some(certificate) = question.command.strip_prefix("show ssl cert ") else { return };
        if let Some(until) = certificate::expired(answer, jiff::Timestamp::now()) {
            tracing::warn!(
                certificate,
                "a certificate that has expired is presented: it was valid until {until}"
            );
            self.metrics.expired_certificate();
        }
    }
}

/// Operations of different kinds that may be under way at the same time: HAProxy carries them out in their order, and the
/// failure of one leaves the others harmless.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Together {
    Settings,
    /// No map leads to the backend yet.
    Coming,
    /// No map leads to the backend any more.
    Going,
}

fn stage(operation: &Operation) -> Option<Together> {
    match operation {
        Operation::SetServerAddress { .. }
        | Operation::SetServerWeight { .. }
        | Operation::SetServerState { .. }
        | Operation::SetServerMaxconn { .. }
        | Operation::SetServerCheck { .. } => Some(Together::Settings),
        Operation::AddBackend { .. } | Operation::AddServer { .. } | Operation::PublishBackend { .. } => {
            Some(Together::Coming)
        }
        Operation::UnpublishBackend { .. }
        | Operation::DeleteServer { .. }
        | Operation::DeleteBackend { .. } => Some(Together::Going),
        _ => None,
    }
}

fn backends_added(operations: &[Operation]) -> BTreeMap<String, String> {
    let added = operations.iter().filter_map(|operation| match operation {
        Operation::AddBackend { backend, defaults } => Some((backend.clone(), defaults.clone())),
        _ => None,
    });
    added.collect()
}

/// The lines to be added that an interrupted order added already: HAProxy would take them twice.
async fn lines_there<'o>(
    worker: &mut Worker,
    batch: &[Prepared<'o>],
) -> Result<BTreeSet<(&'o str, &'o str)>, String> {
    let mut there = BTreeSet::new();
    let mut shown: BTreeMap<&str, String> = BTreeMap::new();
    for (operation, _) in batch {
        let Operation::AddCrtListLine { list, line } = operation else { continue };
        if !shown.contains_key(list.as_str()) {
            let answer = worker.ask(&command::show_crt_list(list)?).await.map_err(told)?;
            shown.insert(list, answer);
        }
        let answer = shown.get(list.as_str()).map(String::as_str).unwrap_or_default();
        if readback_files::numbers_of(answer, line).is_some_and(|found| !found.is_empty()) {
            there.insert((list.as_str(), line.as_str()));
        }
    }
    Ok(there)
}

fn is_line_of(operation: &Operation, there: &BTreeSet<(&str, &str)>) -> bool {
    matches!(operation, Operation::AddCrtListLine { list, line } if there.contains(&(list.as_str(), line.as_str())))
}

fn told(error: SocketError) -> String {
    error.to_string()
}
