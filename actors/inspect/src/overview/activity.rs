//! What the deployment of a pod is doing, as a sentence.

use haptic_deploy::DeploymentState;
use serde::Deserialize;
use serde_json::Value;

/// What a deployment shows of itself at `/debug/actors`, as a sentence.
pub(super) fn doing(detail: &Value) -> Option<String> {
    DeploymentState::deserialize(detail).ok().map(|state| sentence(&state))
}

fn sentence(state: &DeploymentState) -> String {
    match state {
        DeploymentState::Unknown => "it has not been asked yet".to_owned(),
        DeploymentState::Reading => "it was asked what it runs, and has not answered yet".to_owned(),
        DeploymentState::Standby => "another replica leads, or nothing has passed its check yet".to_owned(),
        DeploymentState::Planning { generation } => format!("what generation {generation} takes is computed"),
        DeploymentState::Checking { generation } => {
            format!("generation {generation} takes a reload, which waits for HAProxy's check")
        }
        DeploymentState::Awaiting { generation, millis } => format!(
            "generation {generation} was rendered before it was known what this pod can do: the next one is waited for, {millis} ms at most"
        ),
        DeploymentState::Waiting { generation, millis } => format!(
            "generation {generation} takes a reload, which waits {millis} ms: the last one is not long ago"
        ),
        DeploymentState::Applying { generation, reload: Some(reason) } => format!(
            "it was told to reload with generation {generation} ({reason}), and has not confirmed it yet"
        ),
        DeploymentState::Applying { generation, reload: None } => {
            format!("it was told to change to generation {generation}, and has not confirmed it yet")
        }
        DeploymentState::Ahead { generation } => {
            format!("it runs generation {generation}, which HAProxy's checker still looks at")
        }
        DeploymentState::Converged { generation } => format!("it runs generation {generation}"),
        DeploymentState::BackingOff { error, millis } => {
            format!("{error}; it is tried again after {millis} ms")
        }
        DeploymentState::Gone => "gone".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use haptic_model::Generation;
    use serde_json::json;

    #[test]
    fn each_state_is_read_as_it_is_shown() {
        let (generation, millis, reload) = (Generation(7), 250, Some("a new frontend".to_owned()));
        let all = [
            DeploymentState::Unknown,
            DeploymentState::Reading,
            DeploymentState::Standby,
            DeploymentState::Planning { generation },
            DeploymentState::Checking { generation },
            DeploymentState::Awaiting { generation, millis },
            DeploymentState::Waiting { generation, millis },
            DeploymentState::Applying { generation, reload },
            DeploymentState::Applying { generation, reload: None },
            DeploymentState::Ahead { generation },
            DeploymentState::Converged { generation },
            DeploymentState::BackingOff { error: "connection refused".into(), millis },
            DeploymentState::Gone,
        ];
        for state in all {
            let shown = serde_json::to_value(&state).unwrap();
            assert_eq!(doing(&shown), Some(sentence(&state)), "{shown}");
        }
    }

    #[test]
    fn the_names_at_debug_are_those_of_before() {
        let shown = json!({ "state": "backingOff", "error": "connection refused", "millis": 250 });
        let told = doing(&shown);
        assert_eq!(told.as_deref(), Some("connection refused; it is tried again after 250 ms"));
        let shown = json!({ "state": "applying", "generation": 7, "reload": null });
        let told = doing(&shown);
        assert_eq!(
            told.as_deref(),
            Some("it was told to change to generation 7, and has not confirmed it yet")
        );
        assert_eq!(doing(&json!({ "leads": true })), None);
    }
}
