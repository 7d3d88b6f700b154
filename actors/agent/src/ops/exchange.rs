//! An operation on its way: what to send first, and what to send next given what HAProxy answered. Pure, so that the exchanges
//! of many operations can be sent in one go.

use super::read_back::Expectation;
use crate::{disk::ledger::WorkerLedger, haproxy::answer::SocketAnswer};
use std::collections::BTreeMap;

/// An operation whose commands were checked. Nothing of it has been sent.
pub(crate) struct PreparedOperation<'o> {
    /// The commands, as far as they do not depend on answers.
    pub(super) commands: Vec<String>,
    begin: Box<Begin<'o>>,
    /// Adds what HAProxy must have afterwards.
    pub(super) expect: Box<Expect<'o>>,
    /// Operations of other kinds that may be under way at the same time.
    pub(super) batch: Option<Batch>,
    /// How to see after an interrupted order that it was carried out already.
    pub(super) repetition: Option<Repetition<'o>>,
}

/// The error is a sentence: why the operation cannot be put into commands.
pub(super) type Preparation<'o> = Result<PreparedOperation<'o>, String>;

type Begin<'o> = dyn Fn(Vec<String>, &PriorOperations<'_>) -> Result<Exchange<'o>, String> + Send + Sync + 'o;

type Expect<'o> = dyn Fn(&mut Expectation<'o>) + Send + Sync + 'o;

/// Operations of different kinds that may be under way at the same time: HAProxy carries them out in their order, and the
/// failure of one leaves the others harmless.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Batch {
    Settings,
    /// No map leads to the backend yet.
    Additions,
    /// No map leads to the backend any more.
    Removals,
}

/// A command that shows whether an operation was carried out, and the test of its answer.
pub(crate) struct Repetition<'o> {
    pub(super) command: String,
    pub(super) is_done: Box<dyn Fn(&str) -> bool + Send + Sync + 'o>,
}

/// What operations before these left behind.
pub(crate) struct PriorOperations<'a> {
    pub(super) ledger: &'a WorkerLedger,
    /// After an interrupted order: the backends it may have added, with their defaults sections.
    pub(super) interrupted: Option<BTreeMap<String, String>>,
}

impl<'o> PreparedOperation<'o> {
    /// Each command has to be accepted.
    pub(super) fn new(commands: Vec<String>) -> Self {
        let begin: Box<Begin<'o>> = Box::new(|commands, _| Ok(Exchange::accepted(commands)));
        Self { commands, begin, expect: Box::new(|_| {}), batch: None, repetition: None }
    }

    /// One command, which has to be accepted.
    pub(super) fn one(command: String) -> Self {
        Self::new(vec![command])
    }

    /// Each command has to be accepted, or `or` says of its answer that what it is about is there, or gone, already.
    pub(super) fn or(self, or: fn(&SocketAnswer) -> bool) -> Self {
        self.sent_as(move |commands| Exchange::accepted_or(commands, or))
    }

    /// Its commands are an exchange of its own kind.
    pub(super) fn sent_as(self, exchange: impl Fn(Vec<String>) -> Exchange<'o> + Send + Sync + 'o) -> Self {
        self.beginning(move |commands, _| Ok(exchange(commands)))
    }

    /// How it begins depends on what operations before it left behind.
    pub(super) fn beginning(
        self,
        begin: impl Fn(Vec<String>, &PriorOperations<'_>) -> Result<Exchange<'o>, String> + Send + Sync + 'o,
    ) -> Self {
        Self { begin: Box::new(begin), ..self }
    }

    /// After an interrupted order, it is not sent when `is_done` says so of the answer to `command`.
    pub(super) fn unless_done(
        self,
        command: String,
        is_done: impl Fn(&str) -> bool + Send + Sync + 'o,
    ) -> Self {
        Self { repetition: Some(Repetition { command, is_done: Box::new(is_done) }), ..self }
    }

    /// How it is read back.
    pub(super) fn expecting(self, expect: impl Fn(&mut Expectation<'o>) + Send + Sync + 'o) -> Self {
        Self { expect: Box::new(expect), ..self }
    }

    pub(super) fn in_batch(self, batch: Batch) -> Self {
        Self { batch: Some(batch), ..self }
    }

    pub(super) fn begin(&self, prior: &PriorOperations<'_>) -> Result<Exchange<'o>, String> {
        (self.begin)(self.commands.clone(), prior)
    }
}

/// The first command alone, and those that are sent once it was answered.
pub(super) fn first_and_rest(commands: Vec<String>) -> (Vec<String>, Vec<String>) {
    let mut commands = commands.into_iter();
    (commands.by_ref().take(1).collect(), commands.collect())
}

/// Commands that are sent in one go, and what follows from their answers.
pub(crate) struct Exchange<'o> {
    pub(super) commands: Vec<String>,
    pub(super) answered: Box<Answered<'o>>,
    /// Lets go of an operation that does not go on from here.
    pub(super) cleanup: Option<String>,
}

type Answered<'o> = dyn FnOnce(&[CommandReply<'_>], &WorkerLedger) -> NextExchange<'o> + Send + Sync + 'o;

/// The next exchange, or none when the operation is done.
type NextExchange<'o> = Result<Option<Exchange<'o>>, String>;

impl<'o> Exchange<'o> {
    pub(super) fn new(
        commands: Vec<String>,
        answered: impl FnOnce(&[CommandReply<'_>], &WorkerLedger) -> NextExchange<'o> + Send + Sync + 'o,
    ) -> Self {
        Self { commands, answered: Box::new(answered), cleanup: None }
    }

    /// Each command has to be accepted.
    pub(super) fn accepted(commands: Vec<String>) -> Self {
        Self::new(commands, |replies, _| accepted(replies).map(|()| None))
    }

    /// Each command has to be accepted, or to have an answer of which `or` says that it will do.
    pub(super) fn accepted_or(commands: Vec<String>, or: fn(&SocketAnswer) -> bool) -> Self {
        let is_fine = move |reply: &&CommandReply<'_>| reply.says().is_done() || or(&reply.says());
        Self::new(commands, move |replies, _| {
            replies.iter().find(|reply| !is_fine(reply)).map_or(Ok(None), |reply| Err(reply.refusal()))
        })
    }

    /// `commands`, if there are any, which have to be accepted.
    pub(super) fn then(commands: Vec<String>) -> Option<Self> {
        (!commands.is_empty()).then(|| Self::accepted(commands))
    }

    /// Sends `cleanup` when the operation does not go on from here.
    pub(super) fn or_send(self, cleanup: String) -> Self {
        Self { cleanup: Some(cleanup), ..self }
    }
}

/// A command and what HAProxy answered.
#[derive(Clone, Copy)]
pub(crate) struct CommandReply<'a> {
    pub(super) command: &'a str,
    pub(super) answer: &'a str,
}

impl CommandReply<'_> {
    pub(super) fn says(&self) -> SocketAnswer {
        SocketAnswer::of(self.answer)
    }

    pub(super) fn accepted(&self) -> Result<(), String> {
        if self.says().is_done() { Ok(()) } else { Err(self.refusal()) }
    }

    /// The command without its payload, which may be a private key, and the answer.
    pub(super) fn refusal(&self) -> String {
        let command = self.command.lines().next().unwrap_or_default().trim_end_matches(" <<");
        let answer: String =
            self.answer.trim().lines().next().unwrap_or_default().chars().take(300).collect();
        format!("{command}: HAProxy answered: {answer}")
    }
}

pub(super) fn accepted(replies: &[CommandReply<'_>]) -> Result<(), String> {
    replies.iter().try_for_each(CommandReply::accepted)
}
