//! Cases one after the other in one arena, which is made afresh when one of them has broken something. Prints a line a case.

use super::{
    arena::{Arena, Options},
    case::Case,
    memory::Peaks,
    trial::{Bounds, Trial},
};
use crate::{failure::Outcome, runner::print};
use serde_json::Value;
use std::time::Instant;

/// Each case is judged by its own memory, not by what the allocator has kept of a hundred cases before it.
const CASES_OF_AN_ARENA: usize = 25;

/// An arena, and how its cases went.
pub struct Suite {
    arena: Option<Arena>,
    options: Options,
    bounds: Bounds,
    /// Alpha's change without anybody hostile.
    pub calm: Trial,
    /// The same right after the start.
    calm_start: Trial,
    /// How many cases the arena has had.
    in_arena: usize,
    /// How many went well.
    pub passed: usize,
    /// The names of those that did not.
    pub failed: Vec<String>,
}

impl Suite {
    /// Starts an arena and measures it before anybody hostile is there.
    pub async fn start(options: Options, bounds: Bounds) -> Outcome<Self> {
        let mut arena = Arena::local(options.clone()).await?;
        let [calm_start, calm] = measured(&mut arena, &bounds).await?;
        let (passed, failed) = (0, Vec::new());
        Ok(Self { arena: Some(arena), options, bounds, calm, calm_start, in_arena: 0, passed, failed })
    }

    /// The next arena is another.
    pub async fn goes_on_with(&mut self, options: Options) -> Outcome {
        if let Some(arena) = self.arena.take() {
            arena.end().await?;
        }
        self.options = options;
        Ok(())
    }

    /// What comes now is judged by these.
    pub fn judges_by(&mut self, bounds: Bounds) {
        self.bounds = bounds;
    }

    /// The next arena is another, and measured again before anybody hostile is there.
    pub async fn starts_over_with(&mut self, options: Options) -> Outcome {
        self.goes_on_with(options).await?;
        let mut arena = Arena::local(self.options.clone()).await?;
        [self.calm_start, self.calm] = measured(&mut arena, &self.bounds).await?;
        (self.arena, self.in_arena) = (Some(arena), 0);
        Ok(())
    }

    /// Tries one case.
    pub async fn attempt(&mut self, case: &Case) -> Outcome<Trial> {
        if self.in_arena == CASES_OF_AN_ARENA
            && let Some(arena) = self.arena.take()
        {
            arena.end().await?;
        }
        let mut arena = match self.arena.take() {
            Some(arena) => arena,
            None => {
                self.in_arena = 0;
                Arena::local(self.options.clone()).await?
            }
        };
        self.in_arena += 1;
        let tried = arena.attempt(case, &self.bounds, &self.calm.peaks).await;
        let trial = tried.unwrap_or_else(|failure| Trial::broken(&case.name, failure.sentence()));
        if trial.found.is_empty() {
            self.arena = Some(arena);
        } else {
            arena.end().await?;
        }
        self.tell(&trial);
        Ok(trial)
    }

    /// Starts a controller where all objects of these cases are there from the beginning.
    pub async fn start_among(&mut self, name: &str, cases: &[&Case]) -> Outcome<Trial> {
        if let Some(arena) = self.arena.take() {
            arena.end().await?;
        }
        let objects: Vec<Value> = cases.iter().flat_map(|case| case.objects.clone()).collect();
        let begun = Instant::now();
        let bounds = self.bounds.at_a_start();
        let trial = match Arena::local_with(self.options.clone(), &objects).await {
            Err(failure) => Trial::broken(name, failure.sentence()),
            Ok(mut arena) => {
                print(&format!("{name}: alpha is served after {:.1} s", begun.elapsed().as_secs_f32()));
                let among = arena.among(name, &bounds, &self.calm_start.peaks).await;
                arena.end().await?;
                among.unwrap_or_else(|failure| Trial::broken(name, failure.sentence()))
            }
        };
        self.tell(&trial);
        Ok(trial)
    }

    /// The controller and its HAProxy are killed while the objects of a case are there, and start again on what they left.
    pub async fn killed_among(&mut self, case: &Case) -> Outcome<Trial> {
        let mut arena = match self.arena.take() {
            Some(arena) => arena,
            None => Arena::local(self.options.clone()).await?,
        };
        let name = format!("killed among {}", case.name);
        let bounds = self.bounds.at_a_start();
        let calm = self.calm_start.peaks;
        let killed = async {
            arena.objects.create_group(&case.slug(), case.objects.clone()).await?;
            arena.alpha_changes(&bounds, &mut Vec::new()).await;
            let mut arena = arena.killed_and_started().await?;
            let trial = arena.among(&name, &bounds, &calm).await;
            arena.end().await?;
            trial
        };
        let trial = killed.await.unwrap_or_else(|failure| Trial::broken(&name, failure.sentence()));
        self.tell(&trial);
        Ok(trial)
    }

    /// Ends the arena; how many cases failed.
    pub async fn end(self) -> Outcome<usize> {
        if let Some(arena) = self.arena {
            arena.end().await?;
        }
        print(&format!("\n{} passed, {} failed", self.passed, self.failed.len()));
        Ok(self.failed.len())
    }

    fn tell(&mut self, trial: &Trial) {
        if trial.found.is_empty() {
            self.passed += 1;
            print(&format!("test {} ... ok ({trial})", trial.case));
        } else {
            self.failed.push(trial.case.clone());
            print(&format!("test {} ... FAILED ({trial})\n    {}", trial.case, trial.found.join("\n    ")));
        }
    }
}

/// Two changes: the first one makes what is made once, and its memory is that of the start.
async fn measured(arena: &mut Arena, bounds: &Bounds) -> Outcome<[Trial; 2]> {
    let start = arena.among("calm", bounds, &Peaks::default()).await?;
    let calm = arena.among("calm", bounds, &Peaks::default()).await?;
    print(&format!("without anybody hostile: {calm}, {:.0} MB at the start", start.peaks.controller));
    Ok([start, calm])
}
