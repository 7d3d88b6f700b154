//! The limits of what passwords cost: `extraContext.passwordLimits`.

use haptic_model::ActiveConfig;
use serde_json::Value;

/// The limits of what passwords cost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Of `$5$` and `$6$`.
    pub rounds: u64,
    /// Of bcrypt.
    pub bcrypt_cost: u64,
    /// Users of one Secret.
    pub users: usize,
    /// Milliseconds that all users together cost whenever HAProxy reads its configuration.
    pub milliseconds: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self { rounds: 10_000, bcrypt_cost: 7, users: 500, milliseconds: 1000 }
    }
}

impl Limits {
    pub(crate) fn of(config: &ActiveConfig) -> Self {
        let settings = config.spec.templating_settings.extra_context.get("passwordLimits");
        let setting = |name: &str, otherwise: u64| {
            settings.and_then(|all| all.get(name)).and_then(Value::as_u64).unwrap_or(otherwise)
        };
        let default = Self::default();
        Self {
            rounds: setting("rounds", default.rounds),
            bcrypt_cost: setting("bcryptCost", default.bcrypt_cost),
            users: usize::try_from(setting("users", default.users as u64)).unwrap_or(default.users),
            milliseconds: setting("milliseconds", default.milliseconds),
        }
    }
}
