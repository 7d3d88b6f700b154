//! Whether HAProxy knows the fetches and converters of expressions, and how many arguments they take.

use super::keywords::{KeywordChecker, known_elsewhere, with_help};
use crate::document::{Line, Word};
use crate::expressions::{Calls, ExpressionCall, WordFormat, calls, embedded, formats_read_later, places};
use crate::problem::{Code, Problem};

/// How the names of functions begin that only other builds have.
const OTHER_BUILDS: [&str; 4] = ["51d.", "da-", "wurfl-", "ot."];

/// What may stand at a place of an expression.
#[derive(Clone, Copy)]
enum ExpressionRole {
    /// The keyword of an ACL, or a fetch.
    Acl,
    Fetch,
    Converter,
}

impl ExpressionRole {
    fn table(self) -> &'static str {
        match self {
            Self::Acl | Self::Fetch => "fetches",
            Self::Converter => "converters",
        }
    }
}

impl KeywordChecker<'_, '_> {
    /// The expressions that HAProxy reads when it comes to the line.
    pub(super) fn expressions(&self, line: &Line<'_>, problems: &mut Vec<Problem>) {
        // Which backend a disabled proxy would use is never read.
        if !(self.disabled && line.keyword() == "use_backend") {
            places(&self.section.kind, line, &mut |at, reading| self.expression(line, at, reading, problems));
        }
    }

    /// The expressions that HAProxy reads when it has read everything.
    pub(super) fn later_expressions(&self, problems: &mut Vec<Problem>) {
        if !self.disabled {
            for (line, at, reading) in formats_read_later(self.section) {
                self.expression(line, at, reading, problems);
            }
        }
    }

    /// The word `at` of a line.
    pub(super) fn expression(
        &self,
        line: &Line<'_>,
        at: usize,
        reading: WordFormat,
        problems: &mut Vec<Problem>,
    ) {
        let Some(word) = line.words.get(at).filter(|word| !word.has_variable) else { return };
        let first = |calls, role| self.first_problem(line, word, calls, role);
        problems.extend(match reading {
            WordFormat::Format => embedded(&word.value).find_map(|calls| first(calls, ExpressionRole::Fetch)),
            WordFormat::SampleOrNumber
                if word.value.starts_with(|c: char| c == '-' || c.is_ascii_digit()) =>
            {
                None
            }
            WordFormat::Sample | WordFormat::SampleOrNumber => {
                first(calls(&word.value), ExpressionRole::Fetch)
            }
            WordFormat::Acl => first(calls(&word.value), ExpressionRole::Acl),
        });
    }

    fn first_problem(
        &self,
        line: &Line<'_>,
        word: &Word<'_>,
        calls: Calls<'_>,
        first: ExpressionRole,
    ) -> Option<Problem> {
        let mut role = first;
        for call in calls {
            if OTHER_BUILDS.iter().any(|start| call.name.starts_with(start)) {
                return None;
            }
            let problem = self.unknown_function(&call, role).or_else(|| self.wrong_arguments(&call, role));
            if let Some((code, message, help)) = problem {
                // Inside quotes and escapes the column is not that of the text.
                let start = if word.raw == word.value { call.start } else { 0 };
                let problem = Problem::new(code, line.number, word.column + start, message);
                return Some(with_help(problem, help));
            }
            role = ExpressionRole::Converter;
        }
        None
    }

    fn unknown_function(
        &self,
        call: &ExpressionCall<'_>,
        role: ExpressionRole,
    ) -> Option<(Code, String, Option<String>)> {
        let names = self.known.table(role.table())?;
        let aliases = self.known.table("acl").filter(|_| matches!(role, ExpressionRole::Acl));
        if names.contains(call.name) || aliases.is_some_and(|aliases| aliases.contains(call.name)) {
            return None;
        }
        let help = if call.name.starts_with("lua.") {
            if self.lua {
                return None;
            }
            Some(NEEDS_LUA.to_owned())
        } else {
            let near = aliases.and_then(|aliases| aliases.nearest_by(call.name));
            let near = near.into_iter().chain(names.nearest_by(call.name)).min();
            known_elsewhere(role.table(), call.name)
                .or_else(|| near.map(|(_, near)| format!("did you mean '{near}'?")))
        };
        let noun = match role {
            ExpressionRole::Acl | ExpressionRole::Fetch => "sample fetch",
            ExpressionRole::Converter => "converter",
        };
        let message = format!("HAProxy {} has no {noun} '{}'.", self.version, call.name);
        Some((Code::UnknownKeyword, message, help))
    }

    fn wrong_arguments(
        &self,
        call: &ExpressionCall<'_>,
        role: ExpressionRole,
    ) -> Option<(Code, String, Option<String>)> {
        let names = self.known.table(role.table()).filter(|names| names.contains(call.name))?;
        let (least, most) = names.arity(call.name);
        // None at all may mean what the surroundings say.
        let count = call.count().filter(|count| *count > most || (*count > 0 && *count < least))?;
        let takes = match (least, most) {
            (_, 0) => "no argument".to_owned(),
            (least, most) if least == most => format!("{most}"),
            (least, most) => format!("{least} to {most}"),
        };
        let message = format!("'{}' has {count} arguments and takes {takes}.", call.name);
        Some((Code::WrongArguments, message, None))
    }
}

/// What to do about a name that only a script can register.
pub(super) const NEEDS_LUA: &str =
    "load the script that registers it with 'lua-load' in the 'global' section";
