//! One option: a row of the table.

use super::{
    annotation::PREFIX,
    kind::Kind,
    level::Level::{self, Class, Ingress, Path},
    settings::Settings,
};

/// One option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    /// Behind `haproxy-haptic.org/`; rows are in the order of their names.
    pub name: &'static str,
    /// How its value is read.
    pub kind: Kind,
    /// A good value.
    pub example: &'static str,
    /// The value that counts where the option it goes with is given and it is not; empty: none.
    pub default: &'static str,
    /// The option that it goes with.
    pub with: With,
    /// Where it may stand.
    pub levels: &'static [Level],
    /// Whether a change reloads HAProxy, on 3.4.
    pub reload: Reload,
    /// Whether it guards access, to the route or to what servers are sent: a value that cannot be read must let nobody in.
    pub guards: bool,
    /// The effect of it.
    pub about: &'static str,
}

/// The effect of an option without another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum With {
    /// It stands alone.
    Nothing,
    /// It is wrong without that one.
    Needs(&'static str),
    /// It has no effect without that one.
    Beside(&'static str),
}

/// Whether HAProxy reads at a start only what an option asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reload {
    /// It follows at run time.
    No,
    /// Once for each change of the option.
    Change,
    /// Once where something is used for the first time; the reference says what.
    FirstUse,
}

impl Row {
    /// The form of its value, at whichever level it stands.
    #[must_use]
    pub fn expected(&self, settings: &Settings) -> String {
        let (near, of_class) = (self.kind.expected(settings), self.kind.at(Class));
        if self.kind == of_class || !self.levels.contains(&Class) {
            return near;
        }
        format!("{near}; of the class {}", of_class.expected(settings))
    }

    /// The sentence about it where it stands elsewhere.
    #[must_use]
    pub fn misplaced(&self) -> String {
        let words: Vec<&str> = self.levels.iter().map(|level| level.word()).collect();
        format!("annotation {PREFIX}{} has no effect there: it stands at {}", self.name, words.join(", "))
    }
}

/// The row of most options.
pub(super) const ROW: Row = Row {
    name: "",
    kind: Kind::Switch,
    example: "",
    default: "",
    with: With::Nothing,
    levels: &[Path, Ingress, Class],
    reload: Reload::No,
    guards: false,
    about: "",
};

/// The statuses with which HAProxy refuses a request.
pub(crate) const REFUSALS: &[&str] = &[
    "400", "401", "403", "404", "405", "407", "408", "410", "413", "421", "422", "425", "429", "500", "501",
    "502", "503", "504",
];
