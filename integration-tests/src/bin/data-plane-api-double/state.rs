//! What the double remembers.

use super::settings::Settings;
use integration_tests::data_plane_api::canonical;
use serde::Deserialize;
use std::collections::BTreeMap;
use tokio::sync::Mutex;

pub struct Double {
    pub settings: Settings,
    pub state: Mutex<State>,
    /// Held while a configuration is checked and written: other writers wait, and nobody else does.
    pub writing: Mutex<()>,
    /// Held during a reload: who asks for one, or for its end, waits.
    pub reloading: Mutex<()>,
    pub faults: Mutex<Faults>,
}

#[derive(Default)]
pub struct State {
    pub version: u64,
    /// What the last reload accepted.
    pub last_good: String,
    /// The reload that the ticker will bring.
    pub asked: Option<String>,
    /// How many there were.
    pub reloads: u64,
    /// How they ended: whether well, and HAProxy's log.
    pub ended: BTreeMap<String, (bool, String)>,
}

/// What goes wrong, each so many times.
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Faults {
    /// Pushes that somebody else was quicker than.
    pub conflicts: u64,
    /// Reloads that are forgotten as if the API had been started anew.
    pub forgotten_reloads: u64,
    /// Runtime changes that are answered with "done" and not made.
    pub undone_changes: u64,
    /// Whether reloads that were asked for wait, for as long as this is so.
    pub held_reloads: bool,
    /// How long the next call waits for its answer.
    pub silent_for_millis: u64,
    /// Configurations with this word lose their last rule of `http-request`.
    pub damages: Option<String>,
}

impl Double {
    pub fn new(settings: Settings) -> Self {
        let text = std::fs::read_to_string(&settings.config_file).unwrap_or_default();
        let version = canonical::version_of(&text).unwrap_or(1);
        let state = State { version, last_good: text, ..State::default() };
        Self {
            settings,
            state: Mutex::new(state),
            writing: Mutex::default(),
            reloading: Mutex::default(),
            faults: Mutex::default(),
        }
    }

    /// Whether a fault of that kind is due, once less afterwards.
    pub async fn is_due(&self, kind: impl Fn(&mut Faults) -> &mut u64) -> bool {
        let mut faults = self.faults.lock().await;
        let left = kind(&mut faults);
        let is_due = *left > 0;
        *left = left.saturating_sub(1);
        is_due
    }

    /// What is written of a configuration that may be one to damage.
    pub async fn damaged(&self, written: String) -> String {
        let word = self.faults.lock().await.damages.clone();
        if word.is_none_or(|word| !written.contains(&word)) {
            return written;
        }
        let mut lines: Vec<&str> = written.split_inclusive('\n').collect();
        if let Some(last) = lines.iter().rposition(|line| line.trim_start().starts_with("http-request ")) {
            lines.remove(last);
        }
        lines.concat()
    }
}
