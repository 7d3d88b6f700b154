//! An API server, a network and a few replicas in virtual time, all at the mercy of one number.
//!
//! A replica is the real [`Election`]; what kube-leader-election does between it and the API server (read, then
//! write what the read and the permit allow) is acted out message by message, so that anything can happen between.

mod dice;
mod server;

use dice::Dice;
use haptic_leader::{
    Election, Timing,
    election::{ElectionAction, LeaseAttempt, LeaseRecord, LeaseResponse, ObservedLease},
};
use haptic_model::agent_api::Epoch;
use server::{Outcome, Server, Write};
use std::{cmp::Reverse, collections::BinaryHeap, sync::Arc, time::Duration};
use tokio::time::Instant;

const REPLICAS: usize = 3;
/// The adversary acts for so long, in milliseconds of true time; then there is peace.
const ADVERSITY: u64 = 90_000;
const PEACE: u64 = 60_000;

/// What may happen in a schedule.
#[derive(Clone, Copy, Debug, Default)]
pub struct Rules {
    /// Processes end and new ones begin in their place.
    pub crashes: bool,
    /// Somebody deletes the Lease.
    pub deletions: bool,
    /// Two leaders are allowed as long as agents can tell which one is newer.
    pub only_epochs: bool,
    /// What is broken on purpose.
    pub fault: Option<Fault>,
}

/// A part of the protocol that is left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The API server writes whatever comes.
    BlindWrites,
    /// A leader leads until it hears of another one.
    NoFence,
    /// A replica takes another's lease without waiting, as one with a fast wall clock would.
    Impatience,
    /// A replica leads at once by a Lease that it made in the place of another.
    HastyCreation,
    /// A new process takes the Lease's holder for dead, whoever that is.
    LivingFormer,
}

/// What must never happen.
#[derive(Clone, Debug)]
#[allow(dead_code, reason = "shown when a test fails")]
pub enum Violation {
    /// At this time these two led.
    TwoLeaders(u64, Arc<str>, Arc<str>),
    /// A leadership was not newer than the one before.
    OldEpoch(u64, Epoch, Epoch),
    /// Nobody leads, though nothing disturbs.
    NoLeader,
}

/// Something that happens at a time.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Happening {
    Wake(usize),
    Arrives(usize, u64, Option<Write>),
    Answered(usize, u64, Outcome),
    GivenUp(usize, u64),
    Watched(usize, Option<server::Lease>),
    Freeze(usize),
    Thaw(usize),
    Crash(usize),
    Delete,
}

struct Replica {
    identity: Arc<str>,
    election: Election,
    /// How fast its clock runs, in percent, and what it showed at the beginning.
    rate: u64,
    attempt: Option<(u64, LeaseAttempt)>,
    frozen: bool,
    /// What waits for it while it is frozen.
    missed: Vec<Happening>,
    watched_until: u64,
    /// Until when it leads by [`Fault::HastyCreation`].
    hasty: Option<Instant>,
    /// What its next life finds: who led last in its place, and by which leadership.
    left: Option<(Arc<str>, Epoch)>,
}

pub struct World {
    rules: Rules,
    dice: Dice,
    now: u64,
    zero: Instant,
    server: Server,
    replicas: Vec<Replica>,
    queue: BinaryHeap<Reverse<(u64, u64, Happening)>>,
    counter: u64,
    newest: Option<(Epoch, Arc<str>)>,
}

impl World {
    pub fn new(seed: u64, rules: Rules) -> Self {
        let mut world = Self {
            rules,
            dice: Dice::new(seed),
            now: 0,
            zero: Instant::now(),
            server: Server::new(rules.fault == Some(Fault::BlindWrites)),
            replicas: Vec::new(),
            queue: BinaryHeap::new(),
            counter: 0,
            newest: None,
        };
        for index in 0..REPLICAS {
            let replica = world.replica();
            world.replicas.push(replica);
            let start = world.dice.below(3000);
            world.at(start, Happening::Wake(index));
        }
        for _ in 0..12 {
            let (when, who) = (world.dice.below(ADVERSITY), world.dice.index(REPLICAS));
            world.at(when, Happening::Freeze(who));
        }
        for _ in 0..6 {
            let (when, who) = (world.dice.below(ADVERSITY), world.dice.index(REPLICAS));
            if rules.crashes {
                world.at(when, Happening::Crash(who));
            }
            if rules.deletions {
                world.at(when, Happening::Delete);
            }
        }
        world
    }

    pub fn run(mut self) -> Result<(), Violation> {
        while let Some(Reverse((when, _, happening))) = self.queue.pop() {
            if when > ADVERSITY + PEACE {
                break;
            }
            self.now = self.now.max(when);
            self.happens(happening)?;
            self.check()?;
        }
        let leaders = (0..REPLICAS).filter(|who| self.leads(*who)).count();
        if leaders == 0 { Err(Violation::NoLeader) } else { Ok(()) }
    }

    fn replica(&mut self) -> Replica {
        self.counter += 1;
        let identity: Arc<str> = format!("replica-{}", self.counter).into();
        let rate = 90 + self.dice.below(21);
        let timing = Timing::default();
        let now = self.zero + Duration::from_millis(self.now * rate / 100);
        let election = Election::new(identity.clone(), timing, self.dice.below(1 << 40), now);
        Replica {
            identity,
            election,
            rate,
            attempt: None,
            frozen: false,
            missed: Vec::new(),
            watched_until: 0,
            hasty: None,
            left: None,
        }
    }

    /// The next life of `who`, which is dead.
    fn next_life(&mut self, who: usize) -> Replica {
        let next = self.replica();
        let found = match self.rules.fault {
            Some(Fault::LivingFormer) => self.server.lease.as_ref().map(|l| (Arc::clone(&l.holder), l.epoch)),
            _ => self.replicas[who].left.clone(),
        };
        match found.clone() {
            None => next,
            Some((holder, epoch)) => {
                Replica { election: next.election.succeeding(holder, epoch), left: found, ..next }
            }
        }
    }

    fn at(&mut self, when: u64, happening: Happening) {
        self.counter += 1;
        self.queue.push(Reverse((when, self.counter, happening)));
    }

    fn peace(&self) -> bool {
        self.now >= ADVERSITY
    }

    /// What the clock of `who` shows.
    fn clock(&self, who: usize) -> Instant {
        self.zero + Duration::from_millis(self.now * self.replicas[who].rate / 100)
    }

    /// When the clock of `who` shows `instant`.
    fn true_time(&self, who: usize, instant: Instant) -> u64 {
        let millis = u64::try_from((instant - self.zero).as_millis()).unwrap();
        (millis * 100 / self.replicas[who].rate + 1).max(self.now + 1)
    }

    fn leads(&self, who: usize) -> bool {
        let now = if self.rules.fault == Some(Fault::NoFence) { self.zero } else { self.clock(who) };
        let replica = &self.replicas[who];
        replica.election.term(now).is_some() || replica.hasty.is_some_and(|until| now < until)
    }

    fn check(&self) -> Result<(), Violation> {
        let mut leaders = (0..REPLICAS).filter(|who| self.leads(*who));
        match (leaders.next(), leaders.next()) {
            (Some(one), Some(other)) if !self.rules.only_epochs => {
                let name = |who: usize| Arc::clone(&self.replicas[who].identity);
                Err(Violation::TwoLeaders(self.now, name(one), name(other)))
            }
            _ => Ok(()),
        }
    }

    fn happens(&mut self, happening: Happening) -> Result<(), Violation> {
        match happening {
            Happening::Arrives(who, number, write) => self.arrives(who, number, write)?,
            Happening::Delete => self.delete(),
            Happening::Crash(who) => {
                self.replicas[who] = self.next_life(who);
                self.step(who);
            }
            Happening::Freeze(who) => {
                self.replicas[who].frozen = true;
                let long = if self.dice.one_in(2) { 2_000 } else { 40_000 };
                let until = self.now + self.dice.below(long);
                self.at(until, Happening::Thaw(who));
            }
            Happening::Thaw(who) => {
                self.replicas[who].frozen = false;
                let mut missed = std::mem::take(&mut self.replicas[who].missed);
                self.dice.shuffle(&mut missed);
                for one in missed {
                    self.reaches(who, one);
                }
                self.step(who);
            }
            Happening::Wake(who)
            | Happening::Answered(who, ..)
            | Happening::GivenUp(who, _)
            | Happening::Watched(who, _) => {
                if self.replicas[who].frozen {
                    self.replicas[who].missed.push(happening);
                } else {
                    self.reaches(who, happening);
                    self.step(who);
                }
            }
        }
        Ok(())
    }

    fn reaches(&mut self, who: usize, happening: Happening) {
        match happening {
            Happening::Answered(_, number, outcome) => self.answered(who, number, outcome),
            Happening::GivenUp(_, number) => {
                self.conclude(who, number, LeaseResponse::Failed("no answer in time".into()));
            }
            Happening::Watched(_, lease) => {
                let now = self.clock(who);
                self.replicas[who].election.watched(observed(lease.as_ref()), now);
            }
            _ => {}
        }
    }

    /// Does what the election says now.
    fn step(&mut self, who: usize) {
        if self.replicas[who].attempt.is_some() || self.replicas[who].frozen {
            return;
        }
        let now = self.clock(who);
        match self.replicas[who].election.next(now) {
            ElectionAction::Wait(until) => match self.tempted(who) {
                Some(attempt) => self.begin(who, attempt),
                None => {
                    let when = self.true_time(who, until);
                    self.at(when, Happening::Wake(who));
                }
            },
            ElectionAction::Attempt(permit) => {
                let attempt = self.replicas[who].election.begin(permit, now);
                self.begin(who, attempt);
            }
        }
    }

    /// What a faulty replica tries before its time.
    fn tempted(&mut self, who: usize) -> Option<LeaseAttempt> {
        let (now, election) = (self.clock(who), &mut self.replicas[who].election);
        let mut permit = haptic_leader::permit::Permit::look();
        match (self.rules.fault, election.seen()) {
            (Some(Fault::Impatience), ObservedLease::Present(record)) => {
                permit.take = Some(record.version.clone())
            }
            _ => return None,
        }
        let attempt = election.begin(permit, now);
        self.dice.one_in(20).then_some(attempt)
    }

    fn begin(&mut self, who: usize, attempt: LeaseAttempt) {
        self.counter += 1;
        let number = self.counter;
        let given_up = self.true_time(who, self.clock(who) + attempt.timing.attempt());
        self.replicas[who].attempt = Some((number, attempt));
        self.at(given_up, Happening::GivenUp(who, number));
        self.send(who, number, None);
    }

    /// A message to the API server: late, lost or, rarely, there twice.
    fn send(&mut self, who: usize, number: u64, write: Option<Write>) {
        let copies = match self.dice.below(20) {
            _ if self.peace() => 1,
            0 => 0,
            1 => 2,
            _ => 1,
        };
        for _ in 0..copies {
            let when = self.now + self.delay();
            self.at(when, Happening::Arrives(who, number, write.clone()));
        }
    }

    fn delay(&mut self) -> u64 {
        match self.dice.below(40) {
            _ if self.peace() => 1 + self.dice.below(20),
            0 => self.dice.below(60_000),
            1..4 => self.dice.below(6_000),
            _ => 1 + self.dice.below(50),
        }
    }

    fn arrives(&mut self, who: usize, number: u64, write: Option<Write>) -> Result<(), Violation> {
        let before = self.server.lease.clone();
        let outcome = match write {
            None => Outcome::Read(before.clone()),
            Some(write) => self.server.write(write, self.now),
        };
        if self.server.lease != before {
            self.check_epoch()?;
            self.tell_watches();
        }
        if self.peace() || !self.dice.one_in(20) {
            let when = self.now + self.delay();
            self.at(when, Happening::Answered(who, number, outcome));
        }
        Ok(())
    }

    /// A lease that changed hands has a newer epoch than any before.
    fn check_epoch(&mut self) -> Result<(), Violation> {
        let Some(lease) = &self.server.lease else { return Ok(()) };
        let (epoch, holder) = (lease.epoch, Arc::clone(&lease.holder));
        if let Some((before, by)) = &self.newest {
            let same = *before == epoch && *by == holder;
            if !same && epoch <= *before {
                return Err(Violation::OldEpoch(self.now, *before, epoch));
            }
        }
        self.newest = Some((epoch, holder));
        Ok(())
    }

    /// In order for each replica, late, and sometimes not at all.
    fn tell_watches(&mut self) {
        for who in 0..REPLICAS {
            if !self.peace() && self.dice.one_in(5) {
                continue;
            }
            let when = (self.now + self.delay()).max(self.replicas[who].watched_until);
            self.replicas[who].watched_until = when;
            let lease = self.server.lease.clone();
            self.at(when, Happening::Watched(who, lease));
        }
    }

    /// kube-leader-election behind the guard: what follows a read.
    fn answered(&mut self, who: usize, number: u64, outcome: Outcome) {
        let Some((current, attempt)) = &self.replicas[who].attempt else { return };
        if *current != number {
            return;
        }
        let identity = Arc::clone(&self.replicas[who].identity);
        let seconds = attempt.timing.lease_seconds();
        match outcome {
            Outcome::Read(Some(lease)) => {
                let take = attempt.permit.covers(&lease.version.to_string());
                if lease.holder == identity || take {
                    let write = Write { on: Some(lease.version), holder: identity, seconds, transitions: 0 };
                    self.send(who, number, Some(write));
                } else {
                    self.conclude(who, number, LeaseResponse::Found(observed(Some(&lease))));
                }
            }
            Outcome::Read(None) => match attempt.permit.create {
                Some(transitions) => {
                    let write = Write { on: None, holder: identity, seconds, transitions };
                    self.send(who, number, Some(write));
                }
                None => self.conclude(who, number, LeaseResponse::Found(ObservedLease::Absent)),
            },
            Outcome::Written(lease) => self.conclude(who, number, LeaseResponse::Held(record(&lease))),
            Outcome::Conflict => self.conclude(who, number, LeaseResponse::Conflict),
            Outcome::Gone => self.conclude(who, number, LeaseResponse::Failed("404".into())),
        }
    }

    fn conclude(&mut self, who: usize, number: u64, answer: LeaseResponse) {
        let now = self.clock(who);
        let replica = &mut self.replicas[who];
        if let Some((_, attempt)) = replica.attempt.take_if(|(current, _)| *current == number) {
            if self.rules.fault == Some(Fault::HastyCreation) && matches!(answer, LeaseResponse::Held(_)) {
                replica.hasty = Some(attempt.began + attempt.timing.renew_deadline);
            }
            replica.election.concluded(&attempt, answer, now);
            if let Some(term) = replica.election.term(now) {
                replica.left = Some((Arc::clone(&replica.identity), term.epoch));
            }
        }
    }

    /// Not while a process has never seen the Lease: it would make one, as documented.
    fn delete(&mut self) {
        let known = self.replicas.iter().all(|replica| *replica.election.seen() != ObservedLease::Unknown);
        if (known || self.rules.only_epochs) && self.server.delete(self.now) {
            self.tell_watches();
        }
    }
}

fn record(lease: &server::Lease) -> LeaseRecord {
    LeaseRecord {
        version: lease.version.to_string(),
        holder: Some(lease.holder.to_string()).filter(|holder| !holder.is_empty()),
        lasts: Duration::from_secs(lease.seconds),
        epoch: lease.epoch,
    }
}

fn observed(lease: Option<&server::Lease>) -> ObservedLease {
    lease.map_or(ObservedLease::Absent, |lease| ObservedLease::Present(record(lease)))
}
