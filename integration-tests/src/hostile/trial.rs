//! One case in an arena: what it does to alpha and beta, to the controller and to HAProxy.

use super::{
    arena::Arena,
    case::{Ask, Case, NAMESPACE},
    innocents::{CANARY, MOVING, fresh, moved_to},
    memory::Peaks,
};
use crate::{
    eventually_within,
    failure::{Failure, Outcome, ensure},
};
use serde_json::Value;
use std::{
    fmt,
    time::{Duration, Instant},
};

/// A longer sentence is none: it quotes values of 200 bytes, and names of 253.
const READABLE: usize = 4_000;
const USELESS: &str = "a sentence that helps nobody:";

/// Requests of a client of mallory.
const AT_ONCE: usize = 16;
/// What is in none of the answers.
const UNREACHABLE: [&str; 4] = [CANARY, "haproxy_process", "Statistics Report", "haptic_agent"];

/// What a case may do.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// Until alpha's change is live.
    pub live: Duration,
    /// The same where something had to be found first.
    pub found: Duration,
    /// Until what alpha's change is in has passed all checks, and a restart would serve it.
    pub checked: Duration,
    /// Megabytes of controller and checks, above what they take without the case.
    pub more: f64,
    /// The controller's memory, by what it has without the case.
    pub controller: f64,
    /// The same at a start, by what a start without the case takes.
    pub start: f64,
    /// Megabytes of controller and checks in all.
    pub container: f64,
    /// Reloads, for the case, alpha's change, and the end of both.
    pub reloads: f64,
    /// Of alpha's answers.
    pub answer: Duration,
}

impl Bounds {
    /// What is promised.
    #[must_use]
    pub fn promised() -> Self {
        Self {
            live: Duration::from_secs(2),
            found: Duration::from_secs(10),
            checked: Duration::from_secs(20),
            more: 128.0,
            controller: f64::INFINITY,
            start: f64::INFINITY,
            container: 1024.0,
            reloads: 8.0,
            answer: Duration::from_secs(1),
        }
    }

    /// What is promised where a namespace has many bad objects at once, beside a site that is larger than they are: then so is what
    /// `haproxy -c` needs for all of it.
    #[must_use]
    pub fn many() -> Self {
        Self { more: f64::INFINITY, controller: 1.5, start: 1.5, ..Self::promised() }
    }

    /// The same in as many namespaces.
    #[must_use]
    pub fn everywhere() -> Self {
        let minute = Duration::from_secs(60);
        Self { live: minute, found: minute, checked: minute, start: 2.0, ..Self::many() }
    }

    /// The same for a start. Many together may take more than one; the container is as large as ever.
    #[must_use]
    pub fn at_a_start(self) -> Self {
        Self { more: f64::INFINITY, controller: self.start, ..self }
    }

    /// The same on a busy machine, with a controller that is not optimised.
    #[must_use]
    pub fn loose() -> Self {
        let promised = Self::promised();
        Self {
            live: Duration::from_secs(10),
            found: Duration::from_secs(20),
            checked: Duration::from_secs(40),
            more: 256.0,
            answer: Duration::from_secs(8),
            ..promised
        }
    }
}

/// How it went.
#[derive(Clone, Debug)]
pub struct Trial {
    /// The case.
    pub case: String,
    /// Until alpha's change was live.
    pub live: Option<Duration>,
    /// Until it had passed all checks.
    pub checked: Option<Duration>,
    /// Memory.
    pub peaks: Peaks,
    /// Reloads.
    pub reloads: f64,
    /// Objects that were held back.
    pub held: usize,
    /// The longest that an answer for alpha or beta took.
    pub slowest: Duration,
    /// What is wrong, in sentences.
    pub found: Vec<String>,
}

impl fmt::Display for Trial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown =
            |time: Option<Duration>| time.map_or("never".to_owned(), |t| format!("{:.2} s", t.as_secs_f32()));
        write!(
            f,
            "live {}, checked {}, answers {:.2} s, controller {:.0} MB, checks {:.0} MB, HAProxy {:.0} MB, {} reloads, {} held back",
            shown(self.live),
            shown(self.checked),
            self.slowest.as_secs_f32(),
            self.peaks.controller,
            self.peaks.checks,
            self.peaks.haproxy,
            self.reloads,
            self.held
        )
    }
}

/// What was counted before a case.
#[derive(Clone, Copy, Debug)]
struct Before {
    reloads: f64,
    workers: f64,
    event: u64,
}

impl Trial {
    /// One that broke the arena.
    #[must_use]
    pub fn broken(case: &str, why: &str) -> Self {
        let (peaks, slowest) = (Peaks::default(), Duration::ZERO);
        let found = vec![why.to_owned()];
        Self {
            case: case.to_owned(),
            live: None,
            checked: None,
            peaks,
            reloads: 0.0,
            held: 0,
            slowest,
            found,
        }
    }
}

impl Arena {
    /// Writes the objects of `case` while alpha changes, asks what it asks, and takes them away again.
    ///
    /// # Errors
    /// The arena itself is broken: it must be made afresh.
    pub async fn attempt(&mut self, case: &Case, bounds: &Bounds, calm: &Peaks) -> Outcome<Trial> {
        let before = self.begin().await?;
        self.objects.create_group(&case.slug(), case.objects.clone()).await?;
        let mut trial = self.changed_among(&case.name, before, bounds).await;
        trial.found.extend(self.asks(&case.asks).await);
        self.objects.delete_group(&case.slug(), case.objects.clone()).await?;
        // An arena that failed is not used again.
        if trial.found.is_empty()
            && let Err(failure) = self.is_calm(bounds).await
        {
            trial.found.push(format!("it is not over when its objects are gone: {}", failure.sentence()));
        }
        self.judge(&mut trial, before, bounds, calm).await;
        Ok(trial)
    }

    /// Alpha changes among whatever is there.
    pub async fn among(&mut self, name: &str, bounds: &Bounds, calm: &Peaks) -> Outcome<Trial> {
        let before = self.begin().await?;
        let mut trial = self.changed_among(name, before, bounds).await;
        self.judge(&mut trial, before, bounds, calm).await;
        Ok(trial)
    }

    async fn begin(&self) -> Outcome<Before> {
        let (reloads, workers) = self.haproxy().await?;
        let event = self.events().await?.iter().filter_map(|event| event["number"].as_u64()).max();
        let (_, _) = (self.memory.take(), self.witness.take());
        Ok(Before { reloads, workers, event: event.unwrap_or_default() })
    }

    async fn changed_among(&mut self, name: &str, before: Before, bounds: &Bounds) -> Trial {
        let mut found = Vec::new();
        let (live, checked) = self.alpha_changes(bounds, &mut found).await;
        let held = self.blamed(&mut found).await;
        found.extend(self.problems_since(before.event).await);
        let (peaks, reloads, slowest) = (Peaks::default(), 0.0, Duration::ZERO);
        Trial { case: name.to_owned(), live, checked, peaks, reloads, held, slowest, found }
    }

    async fn judge(&mut self, trial: &mut Trial, before: Before, bounds: &Bounds, calm: &Peaks) {
        if let Err(failure) = self.is_alive().await {
            trial.found.push(format!("the controller does not live: {}", failure.sentence()));
        }
        if let Ok((reloads, workers)) = self.haproxy().await {
            trial.reloads = reloads - before.reloads;
            if workers - before.workers > trial.reloads {
                trial.found.push("HAProxy ended and was started again".to_owned());
            }
        }
        let seen = self.witness.take();
        (trial.peaks, trial.slowest) = (self.memory.take(), seen.slowest);
        trial.found.extend(seen.changes.into_iter().map(|change| format!("an answer changed: {change}")));
        let live = if trial.held > 0 { bounds.found } else { bounds.live };
        let more = trial.peaks.container - calm.container;
        let times = trial.peaks.controller / calm.controller;
        let checks = [
            (trial.live.is_none_or(|took| took <= live), "alpha's change was live late".to_owned()),
            (
                trial.checked.is_none_or(|took| took <= bounds.checked),
                "what alpha changed was checked late".to_owned(),
            ),
            (trial.slowest <= bounds.answer, "answers for alpha and beta were slow".to_owned()),
            (more <= bounds.more || *calm == Peaks::default(), format!("{more:.0} MB more memory")),
            (
                times <= bounds.controller || *calm == Peaks::default(),
                format!("{times:.2} times the controller's memory"),
            ),
            (trial.peaks.container <= bounds.container, format!("{:.0} MB of memory", trial.peaks.container)),
            (trial.reloads <= bounds.reloads, format!("{} reloads", trial.reloads)),
        ];
        trial.found.extend(checks.into_iter().filter(|(holds, _)| !holds).map(|(_, what)| what));
    }

    /// Alpha's endpoint moves and a route of alpha comes: until both are live, and until both are checked.
    pub async fn alpha_changes(
        &mut self,
        bounds: &Bounds,
        found: &mut Vec<String>,
    ) -> (Option<Duration>, Option<Duration>) {
        self.changes += 1;
        let number = self.changes;
        let begun = Instant::now();
        let written = async {
            self.objects.change(&moved_to(self.moving(number))).await?;
            self.objects.create(&fresh(number)).await
        };
        let change = async {
            written.await?;
            self.is_live(number, bounds.found).await?;
            let live = begun.elapsed();
            Ok::<_, Failure>((live, self.is_checked(bounds.checked).await.map(|()| begun.elapsed())))
        };
        let changed = change.await;
        drop(self.objects.delete(&fresh(number)).await);
        match changed {
            Ok((live, Ok(checked))) => (Some(live), Some(checked)),
            Ok((live, Err(failure))) => {
                found.push(format!("what alpha changed is not checked: {}", shortened(failure.sentence())));
                (Some(live), None)
            }
            Err(failure) => {
                found.push(format!("alpha's change is not live: {}", shortened(failure.sentence())));
                (None, None)
            }
        }
    }

    async fn is_live(&self, number: usize, within: Duration) -> Outcome {
        let wanted = [
            (Ask::get("moving.alpha.example", "/"), MOVING[number % MOVING.len()]),
            (Ask::get(&format!("fresh-{number}.example"), "/"), "alpha"),
        ];
        eventually_within(within, "alpha's change", async || {
            ensure(self.container() < 3_000.0, "the controller takes 3 GB: it is given up")?;
            for (ask, right) in &wanted {
                let answer = self.client().ask(self.front, ask, Duration::from_secs(2)).await;
                ensure(
                    answer.ends_with(&format!("\r\n\r\n{right}")),
                    format!("{}: {}", ask.host, shortened(&answer)),
                )?;
            }
            Ok(())
        })
        .await
    }

    /// Waits until what is rendered now has passed all checks and is deployed.
    async fn is_checked(&self, within: Duration) -> Outcome {
        let rendered = eventually_within(within, "anything is rendered", async || {
            let generations = self.look("/debug/generations").await?;
            generations["rendered"]["generation"].as_u64().ok_or_else(|| Failure::new("nothing is"))
        });
        let rendered = Some(rendered.await?);
        eventually_within(within, "it is checked and deployed", async || {
            let generations = self.look("/debug/generations").await?;
            let pods = self.look("/debug/pods").await?;
            let (validated, deployed) =
                (generations["validated"]["generation"].as_u64(), pods[0]["deployed"].as_u64());
            ensure(validated >= rendered, format!("rendered {rendered:?}, checked {validated:?}"))?;
            ensure(deployed >= rendered, format!("rendered {rendered:?}, deployed {deployed:?}"))
        })
        .await
    }

    /// Nothing is held back, and everything is checked.
    async fn is_calm(&self, bounds: &Bounds) -> Outcome {
        eventually_within(bounds.checked, "nothing is held back", async || {
            let held = self.look("/debug/quarantine").await?;
            let first = held["objects"][0]["sentence"].as_str().unwrap_or_default().to_owned();
            ensure(held["held"] == 0, format!("{} objects, first: {}", held["held"], shortened(&first)))
        })
        .await?;
        self.is_checked(bounds.checked).await
    }

    /// What a client of mallory gets is never what nobody may reach.
    async fn asks(&self, asks: &[Ask]) -> Vec<String> {
        let mut found = Vec::new();
        // Many at once would be a test of the machine.
        for asks in asks.chunks(AT_ONCE) {
            let mut asking = tokio::task::JoinSet::new();
            for ask in asks.iter().cloned() {
                let (client, front) = (self.client().clone(), self.front);
                asking.spawn(async move { (client.ask(front, &ask, Duration::from_secs(3)).await, ask) });
            }
            while let Some(Ok((answer, ask))) = asking.join_next().await {
                let reached = UNREACHABLE.iter().find(|what| answer.contains(**what));
                found.extend(reached.map(|what| format!("{}{} reaches {what:?}", ask.host, ask.path)));
            }
        }
        found
    }

    /// How many objects are held back; all of them mallory's.
    async fn blamed(&self, found: &mut Vec<String>) -> usize {
        let Ok(quarantine) = self.look("/debug/quarantine").await else { return 0 };
        let objects = quarantine["objects"].as_array().cloned().unwrap_or_default();
        for held in &objects {
            let sentence = held["sentence"].as_str().unwrap_or_default();
            if !is_of_mallory(held["object"].as_str().unwrap_or_default()) {
                found.push(format!("somebody else is blamed: {} ({})", held["object"], shortened(sentence)));
            } else if is_useless(sentence) && !found.iter().any(|known| known.starts_with(USELESS)) {
                found.push(format!("{USELESS} {} bytes: {}", sentence.len(), shortened(sentence)));
            }
        }
        objects.len()
    }

    async fn events(&self) -> Outcome<Vec<Value>> {
        Ok(self.look("/debug/events").await?.as_array().cloned().unwrap_or_default())
    }

    /// Warnings that name alpha or beta, and news that no input should bring about.
    async fn problems_since(&self, last: u64) -> Vec<String> {
        let events = self.events().await.unwrap_or_default();
        let new = events.iter().filter(|event| event["number"].as_u64() > Some(last));
        let bad = new.filter(|event| {
            let level = event["level"].as_str().unwrap_or_default().to_lowercase();
            let object = event["object"].as_str().unwrap_or_default();
            let text = event["text"].as_str().unwrap_or_default();
            let is_warning = ["warn", "error"].contains(&level.as_str());
            let is_innocent = [" alpha/", " beta/"].iter().any(|of| object.contains(of));
            // How long HAProxy took for a password tells how busy the machine is.
            let is_about_time = text.contains("milliseconds to verify");
            is_warning && is_innocent && !is_about_time
                || text.contains("internal error")
                || event["kind"] == "ActorRestarted"
        });
        bad.take(2)
            .map(|event| {
                let text = shortened(event["text"].as_str().unwrap_or_default());
                format!("it says {} of {}: {text}", event["kind"], event["object"])
            })
            .collect()
    }
}

/// What nobody can read, or do anything about.
fn is_useless(sentence: &str) -> bool {
    sentence.contains("internal error") || sentence.len() > READABLE
}

/// `ingresses NAMESPACE/NAME`.
fn is_of_mallory(object: &str) -> bool {
    object.split_once(' ').is_some_and(|(_, name)| name.starts_with(NAMESPACE))
}

fn shortened(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    line.chars().take(300).collect()
}
