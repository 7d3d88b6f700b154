//! What a topic promises to an actor, each promise with the actor that would break it.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, AtomicUsize, Ordering::SeqCst},
    },
    thread,
    time::Duration,
};

use actix::prelude::*;
use tokio::{
    sync::{Semaphore, watch},
    time::timeout,
};

use super::subject::supervision;
use crate::{
    ActorHandle, Arbiters, Envelope, Exit, Health, OwnHandle, Publisher, RestartPolicy, Spec, Supervision,
    Topic, topic,
};

/// Panics in a handler, as often as there is bad luck left.
const UNLUCKY: u64 = 13;
/// Is handled for as long as there is no permit.
const SLOW: u64 = 99;

struct Number(u64);
struct Word(&'static str);

#[derive(Message)]
#[rtype(result = "u64")]
struct Ask(&'static str);

#[derive(Message)]
#[rtype(result = "()")]
struct Cancel;

/// Writes down what it receives.
struct Listener {
    own: OwnHandle<Self>,
    log: Log,
    last: u64,
}

#[derive(Clone)]
struct Log {
    lines: Arc<watch::Sender<Vec<String>>>,
    bad_luck: Arc<AtomicU64>,
    permits: Arc<Semaphore>,
}

impl Log {
    fn new() -> Self {
        let permits = Arc::new(Semaphore::new(0));
        Self { lines: Arc::new(watch::Sender::new(Vec::new())), bad_luck: Arc::default(), permits }
    }

    fn write(&self, line: impl Into<String>) {
        self.lines.send_modify(|lines| lines.push(line.into()));
    }

    /// Waits for as many lines as `wanted` has words; they are these, in this order.
    async fn expect(&self, wanted: &str) {
        let count = wanted.split(' ').count();
        let mut lines = self.lines.subscribe();
        let written = timeout(Duration::from_secs(30), lines.wait_for(|lines| lines.len() >= count)).await;
        drop(written);
        let lines = self.lines.send_replace(Vec::new());
        assert_eq!(lines.join(" "), wanted);
    }
}

impl Actor for Listener {
    type Context = Context<Self>;

    fn started(&mut self, _: &mut Self::Context) {
        self.log.write("started");
    }
}

crate::rebuilt!(Listener);

impl Handler<Envelope<Number>> for Listener {
    type Result = AtomicResponse<Self, ()>;

    fn handle(&mut self, number: Envelope<Number>, _: &mut Self::Context) -> Self::Result {
        self.last = number.0;
        if number.0 > 0 {
            self.log.write(number.0.to_string());
        }
        let takes_bad_luck = |left: u64| left.checked_sub(1);
        if number.0 == UNLUCKY && self.log.bad_luck.fetch_update(SeqCst, SeqCst, takes_bad_luck).is_ok() {
            panic!("{UNLUCKY}");
        }
        let permits = Arc::clone(&self.log.permits);
        let handled = async move {
            if number.0 == SLOW {
                permits.acquire().await.unwrap().forget();
            }
        };
        AtomicResponse::new(Box::pin(handled.into_actor(self)))
    }
}

impl Handler<Envelope<Word>> for Listener {
    type Result = ();

    fn handle(&mut self, word: Envelope<Word>, _: &mut Self::Context) {
        if !word.0.is_empty() {
            self.log.write(word.0);
        }
    }
}

impl Handler<Ask> for Listener {
    type Result = u64;

    fn handle(&mut self, Ask(what): Ask, _: &mut Self::Context) -> u64 {
        self.log.write(what);
        assert_ne!(what, "panic");
        self.last
    }
}

impl Handler<Cancel> for Listener {
    type Result = ();

    /// actix keeps the cancelled handle across a restart, and cancels the future of that number in the next life.
    #[expect(clippy::disallowed_methods, reason = "what it does to a topic is what is tested")]
    fn handle(&mut self, _: Cancel, context: &mut Self::Context) {
        let timer = context.run_later(Duration::from_secs(60), |_, _| {});
        context.cancel_future(timer);
        panic!("with a stale handle");
    }
}

fn listener(log: &Log, words: &Topic<Word>, numbers: &Topic<Number>) -> ActorHandle<Listener> {
    let (supervision, _) = supervision();
    listener_under(&supervision, log, words, numbers)
}

fn listener_under(
    supervision: &Supervision,
    log: &Log,
    words: &Topic<Word>,
    numbers: &Topic<Number>,
) -> ActorHandle<Listener> {
    let log = log.clone();
    Spec::named("listener").subscribes(words).subscribes(numbers).start(
        &Arbiter::current(),
        supervision,
        move |own| Listener { own, log: log.clone(), last: 0 },
    )
}

async fn ask(kept: &ActorHandle<Listener>, what: &'static str) -> Option<u64> {
    kept.mailbox().send(Ask(what)).await.ok()
}

#[actix::test]
async fn the_retained_messages_come_first_in_declared_order_in_every_life() {
    let (log, (say, words), (count, numbers)) = (Log::new(), topic(Word("")), topic(Number(0)));
    for number in 1..=3 {
        count.publish(Number(number));
    }
    say.publish(Word("word"));
    let kept = listener(&log, &words, &numbers);
    assert_eq!(ask(&kept, "ask").await, Some(3));
    log.expect("started word 3 ask").await;
    count.publish(Number(4));
    log.expect("4").await;
    let (lost, queued) = (kept.mailbox().send(Ask("panic")), kept.mailbox().send(Ask("queued")));
    assert!(lost.await.is_err());
    assert_eq!(queued.await, Ok(4));
    log.expect("panic started word 4 queued").await;
}

#[actix::test]
async fn of_what_comes_while_an_actor_is_busy_it_receives_the_newest() {
    let (log, (say, words), (count, numbers)) = (Log::new(), topic(Word("")), topic(Number(0)));
    let _kept = listener(&log, &words, &numbers);
    count.publish(Number(SLOW));
    log.expect("started 99").await;
    let neighbour = listener(&Log::new(), &topic(Word("")).1, &topic(Number(0)).1);
    for number in 1..=5 {
        count.publish(Number(number));
        say.publish(Word("word"));
        assert_eq!(ask(&neighbour, "did it have a turn?").await, Some(0));
    }
    assert!(log.lines.borrow().is_empty(), "nothing is handled amid a handler that waits");
    log.permits.add_permits(1);
    let mut lines = log.lines.subscribe();
    lines.wait_for(|lines| lines.len() == 2).await.unwrap();
    let mut received = log.lines.send_replace(Vec::new());
    received.sort();
    assert_eq!(received, ["5", "word"], "whose turn it is, is open");
}

#[actix::test]
async fn nothing_is_delivered_amid_a_handler_that_waits() {
    let (log, (say, words), (count, numbers)) = (Log::new(), topic(Word("")), topic(Number(0)));
    let ((supervision, _), in_actor) = (supervision(), log.clone());
    let _kept = Spec::named("listener").subscribes(&numbers).subscribes(&words).start(
        &Arbiter::current(),
        &supervision,
        move |own| Listener { own, log: in_actor.clone(), last: 0 },
    );
    log.expect("started").await;
    for _ in 0..2 {
        count.publish(Number(SLOW));
        say.publish(Word("word"));
        let mut lines = log.lines.subscribe();
        lines.wait_for(|lines| lines.iter().any(|line| line == "99")).await.unwrap();
        assert_eq!(log.lines.borrow().last().map(String::as_str), Some("99"));
        log.permits.add_permits(1);
        lines.wait_for(|lines| lines.len() == 2).await.unwrap();
        log.lines.send_replace(Vec::new());
    }
}

#[actix::test]
async fn a_message_that_ends_two_lives_is_withheld_until_a_newer_one_comes() {
    let (log, (say, words), (count, numbers)) = (Log::new(), topic(Word("")), topic(Number(0)));
    let (supervision, _) = supervision();
    say.publish(Word("word"));
    let kept = listener_under(&supervision, &log, &words, &numbers);
    log.bad_luck.store(1, SeqCst);
    count.publish(Number(UNLUCKY));
    log.expect("started word 13 started word 13").await;
    assert!(kept.state().withheld.is_empty(), "the second life handled it");
    log.bad_luck.store(1, SeqCst);
    assert!(ask(&kept, "panic").await.is_none());
    log.expect("panic started word 13 started word 13").await;
    assert!(kept.state().withheld.is_empty(), "what was handled well begins to count again");

    log.bad_luck.store(u64::MAX, SeqCst);
    count.publish(Number(UNLUCKY));
    log.expect("13 started word 13 started word").await;
    assert_eq!(ask(&kept, "alive").await, Some(0));
    assert_eq!(kept.state().withheld, ["Number"]);
    assert!(supervision.health.is_live(), "another process would panic on it, too");
    let why = supervision.health.why_withheld().join("");
    assert!(why.starts_with("actor listener panicked twice on the newest Number"), "{why}");

    count.publish(Number(14));
    log.expect("alive 14").await;
    assert!(kept.state().withheld.is_empty() && supervision.health.why_withheld().is_empty());
}

#[actix::test]
async fn a_stale_cancellation_does_not_make_the_next_life_deaf() {
    let (log, (_say, words), (count, numbers)) = (Log::new(), topic(Word("")), topic(Number(0)));
    let kept = listener(&log, &words, &numbers);
    for number in 1..=3 {
        assert!(kept.mailbox().send(Cancel).await.is_err());
        assert!(ask(&kept, "ask").await.is_some());
        count.publish(Number(number));
        let mut lines = log.lines.subscribe();
        let is_received = |lines: &Vec<String>| lines.last() == Some(&number.to_string());
        timeout(Duration::from_secs(30), lines.wait_for(is_received)).await.expect("deaf").unwrap();
    }
}

#[actix::test]
async fn whoever_subscribes_to_more_topics_than_it_has_turns_receives_them_all() {
    let (log, topics) = (Log::new(), (0..40).map(|_| topic(Word(""))).collect::<Vec<_>>());
    let (supervision, _) = supervision();
    let (spec, in_actor) = (Spec::named("listener"), log.clone());
    let spec = topics.iter().fold(spec, |spec, (_, words)| spec.subscribes(words));
    let _kept = spec.start(&Arbiter::current(), &supervision, move |own| Listener {
        own,
        log: in_actor.clone(),
        last: 0,
    });
    log.expect("started").await;
    topics.iter().for_each(|(say, _)| say.publish(Word("word")));
    log.expect(["word"; 40].join(" ").as_str()).await;
}

/// Publishes the next number to itself whenever it has received one.
struct Endless {
    numbers: Arc<Publisher<Number>>,
}

impl Actor for Endless {
    type Context = Context<Self>;
}

impl Supervised for Endless {}

impl Handler<Envelope<Number>> for Endless {
    type Result = ();

    fn handle(&mut self, number: Envelope<Number>, context: &mut Self::Context) {
        self.numbers.publish(Number(number.0 + 1));
        // The worst for others: each message makes the context poll once more.
        context.run_later(Duration::ZERO, |_, _| {});
    }
}

#[actix::test]
async fn a_topic_without_end_leaves_its_neighbours_their_turns() {
    let (numbers_out, numbers) = topic(Number(0));
    let (supervision, _) = supervision();
    numbers_out.publish(Number(1));
    let numbers_out = Arc::new(numbers_out);
    let endless =
        Spec::named("endless")
            .subscribes(&numbers)
            .start(&Arbiter::current(), &supervision, move |_| Endless { numbers: Arc::clone(&numbers_out) });
    let neighbour = listener(&Log::new(), &topic(Word("")).1, &topic(Number(0)).1);
    for _ in 0..5 {
        assert_eq!(ask(&neighbour, "ask").await, Some(0));
    }
    endless.dismiss();
    endless.exited().await;
}

/// Says of each number that it received it.
struct Echo {
    own: OwnHandle<Self>,
    echoes: Arc<Publisher<Number>>,
}

crate::supervised!(Echo);

impl Handler<Envelope<Number>> for Echo {
    type Result = ();

    fn handle(&mut self, number: Envelope<Number>, context: &mut Self::Context) {
        // Different pauses, so that the next number comes before, while and after this thread goes to sleep.
        (0..(number.0 * 7919) % 400).for_each(|_| std::hint::spin_loop());
        if number.0 > 0 {
            self.echoes.publish(Number(number.0 + 1));
        }
        if number.0 == 2 {
            self.own.finish(context);
        }
    }
}

fn echo(
    name: &str,
    out: Publisher<Number>,
    inward: &Topic<Number>,
    arbiter: &ArbiterHandle,
    supervision: &Supervision,
) -> ActorHandle<Echo> {
    let out = Arc::new(out);
    let actor = move |own| Echo { own, echoes: Arc::clone(&out) };
    Spec::named(name).subscribes(inward).start(arbiter, supervision, actor)
}

#[test]
fn no_wake_up_between_two_threads_is_lost() {
    const ROUNDS: u64 = 50_000;
    on_arbiters(async |health, arbiters| {
        let supervision = Supervision::new(health);
        let ((left, lefts), (right, rights)) = (topic(Number(0)), topic(Number(0)));
        let mut reached = lefts.clone();
        right.publish(Number(3));
        for (name, out, inward) in [("one", left, &rights), ("other", right, &lefts)] {
            let arbiter = arbiters.start(name).unwrap();
            echo(name, out, inward, &arbiter, &supervision);
        }
        let reached = reached.wait_for(|number| number.0 >= ROUNDS);
        timeout(Duration::from_secs(60), reached).await.expect("a wake-up was lost");
    });
}

#[actix::test]
async fn whoever_is_dismissed_has_unsubscribed_and_its_message_stays() {
    let ((count, numbers), (out, echoes)) = (topic(Number(0)), topic(Number(0)));
    let (supervision, _) = supervision();
    let kept = echo("echo", out, &numbers, &Arbiter::current(), &supervision);
    count.publish(Number(2));
    assert_eq!(kept.exited().await, Exit::Done);
    assert_eq!(echoes.latest().0, 3);
    // its supervisor's task ends after it has said so.
    while numbers.subscribers() > 0 {
        tokio::task::yield_now().await;
    }
}

/// Is flooded; nothing of it may starve.
struct Flooded {
    seen: Arc<Seen>,
}

#[derive(Default)]
struct Seen {
    newest: AtomicU64,
    words: AtomicUsize,
    ticks: AtomicUsize,
}

impl Actor for Flooded {
    type Context = Context<Self>;

    fn started(&mut self, context: &mut Self::Context) {
        context.run_interval(Duration::from_millis(1), |actor, _| {
            actor.seen.ticks.fetch_add(1, SeqCst);
        });
    }
}

impl Supervised for Flooded {}

impl Handler<Envelope<Number>> for Flooded {
    type Result = ();

    fn handle(&mut self, number: Envelope<Number>, context: &mut Self::Context) {
        assert!(
            self.seen.newest.swap(number.0, SeqCst) < number.0.max(1),
            "numbers come in order, each once"
        );
        // The worst for others: each message makes the context poll once more.
        context.run_later(Duration::ZERO, |_, _| {});
    }
}

impl Handler<Envelope<Word>> for Flooded {
    type Result = ();

    fn handle(&mut self, _: Envelope<Word>, _: &mut Self::Context) {
        self.seen.words.fetch_add(1, SeqCst);
    }
}

impl Handler<Ask> for Flooded {
    type Result = u64;

    fn handle(&mut self, _: Ask, _: &mut Self::Context) -> u64 {
        self.seen.newest.load(SeqCst)
    }
}

#[test]
fn a_flood_occupies_one_slot_and_starves_neither_topics_nor_mailbox_nor_timers() {
    const FLOOD: u64 = 200_000;
    on_arbiters(async |health, arbiters| {
        let arbiter = arbiters.start("flooded").unwrap();
        let ((count, numbers), (say, words), seen) =
            (topic(Number(0)), topic(Word("")), Arc::<Seen>::default());
        let (supervision, in_actor) = (Supervision::new(health), Arc::clone(&seen));
        let kept = Spec::named("flooded").subscribes(&numbers).subscribes(&words).start(
            &arbiter,
            &supervision,
            move |_| Flooded { seen: Arc::clone(&in_actor) },
        );
        let flood = thread::spawn(move || {
            (1..=FLOOD).for_each(|number| count.publish(Number(number)));
            count
        });
        let mut rounds = 0;
        while !flood.is_finished() || rounds == 0 {
            let before = seen.words.load(SeqCst);
            say.publish(Word("word"));
            while seen.words.load(SeqCst) == before {
                tokio::task::yield_now().await;
            }
            kept.mailbox().send(Ask("")).await.unwrap();
            rounds += 1;
        }
        while kept.mailbox().send(Ask("")).await.unwrap() < FLOOD || seen.ticks.load(SeqCst) == 0 {
            tokio::task::yield_now().await;
        }
        drop(flood.join().unwrap());
        assert_eq!(kept.state().restarts, 0);
    });
}

fn on_arbiters(test: impl AsyncFnOnce(Health, Arbiters) + 'static) {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let (runtime, health) = (Arc::new(runtime.unwrap()), Health::new());
    let arbiters = Arbiters::new(Arc::clone(&runtime), health.clone(), Duration::from_secs(10));
    let ended = crate::run(runtime, async {
        test(health, arbiters).await;
        0
    });
    assert_eq!(ended.unwrap(), 0);
}

/// An actor that fails whatever it receives spends its budget like any other.
#[actix::test]
async fn many_panics_end_in_death_though_their_messages_are_withheld() {
    let (log, (_say, words), (count, numbers)) = (Log::new(), topic(Word("")), topic(Number(0)));
    let (supervision, _) = supervision();
    let supervision = supervision.policy(RestartPolicy::default());
    log.bad_luck.store(u64::MAX, SeqCst);
    let kept = listener_under(&supervision, &log, &words, &numbers);
    count.publish(Number(UNLUCKY));
    for _ in 0..4 {
        assert!(ask(&kept, "panic").await.is_none());
    }
    assert_eq!(kept.exited().await, Exit::Dead);
}
