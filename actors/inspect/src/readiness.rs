//! Whether this process may be relied on, and why not.

use crate::readers::Readers;
use haptic_config::ConfigState;
use haptic_debounce::gate::Gate;

impl Readers {
    /// Why not to rely on this process; empty when ready.
    #[must_use]
    pub fn why_not_ready(&self) -> Vec<String> {
        let mut reasons = self.actors.why_not_live();
        if !self.actors.all_running() {
            reasons.push("an actor is starting or being restarted".into());
        }
        reasons.extend(self.actors.why_withheld());
        if *self.draining.latest() {
            reasons.push("the process is shutting down".into());
        }
        match Gate::of(self.config.latest().as_ref().as_ref(), &self.snapshots.latest()) {
            Gate::Open | Gate::Unanswered(_) => reasons.extend(self.why_the_next_waits()),
            Gate::NoConfig => reasons.push(self.why_no_config()),
            Gate::Unsynced(names) => reasons.extend(self.why_not_read(&names)),
        }
        reasons.extend(self.why_no_credentials());
        reasons.extend(self.why_no_webhook());
        reasons
    }

    /// A webhook that only a watched resource asks for may lack the rights and objects that it needs: that is logged, and hinders
    /// nothing else.
    fn why_no_webhook(&self) -> Option<String> {
        let config = self.config.latest();
        config.as_ref().as_ref()?.spec.controller.webhook.as_ref()?;
        (*self.webhook.latest()).clone()
    }

    /// What keeps the newest valid configuration from replacing the one in force; that it takes time is no reason.
    fn why_the_next_waits(&self) -> Option<String> {
        let (accepted, config) = (self.accepted.latest(), self.config.latest());
        let (accepted, config) = (accepted.as_ref().as_ref()?, config.as_ref().as_ref()?);
        let (snapshots, troubles) = (self.snapshots.latest(), self.troubles.latest());
        let why = |name: &str| Some(format!("{name}: {}", troubles.get(name)?));
        let unreadable: Vec<String> = accepted.unread(&snapshots).filter_map(why).collect();
        let waits = accepted.revision > config.revision && !unreadable.is_empty();
        waits.then(|| {
            let why = unreadable.join("\n");
            format!("the new configuration waits, the one before stays in force: {why}")
        })
    }

    /// Where nothing is in force, it is why there is no configuration.
    fn why_no_credentials(&self) -> Option<String> {
        let config_verdict = self.config_verdict.latest();
        let why = config_verdict.as_ref().as_ref()?.credentials.as_ref()?;
        self.config.latest().is_some().then(|| format!("the credentials before stay in use: {why}"))
    }

    /// What keeps watched resources from being read: a sentence for each that fails, one for all that only take time.
    fn why_not_read(&self, names: &[String]) -> Vec<String> {
        let troubles = self.troubles.latest();
        let (failing, reading): (Vec<&String>, Vec<&String>) =
            names.iter().partition(|name| troubles.contains_key(name.as_str()));
        let why = |name: &String| Some(format!("{name}: {}", troubles.get(name.as_str())?));
        let mut reasons: Vec<String> = failing.into_iter().filter_map(why).collect();
        if !reading.is_empty() {
            let names: Vec<&str> = reading.into_iter().map(String::as_str).collect();
            reasons.push(format!("not yet read to the end: {}", names.join(", ")));
        }
        reasons
    }

    fn why_no_config(&self) -> String {
        match &*self.config_state.latest() {
            ConfigState::Waiting(why) => why.clone(),
            ConfigState::Invalid(problems) => {
                let said: Vec<String> = problems.iter().map(ToString::to_string).collect();
                format!("the configuration is invalid: {}", said.join("\n"))
            }
            ConfigState::Valid | ConfigState::Deleted => "there is no valid configuration yet".into(),
        }
    }
}
