//! Conditions on a request besides its path, for a route to take it: a method, headers, parameters of its query.

use super::regex_cost::{self, Compared, PatternCost};
use serde::{Deserialize, Serialize};

/// The most lines of one option.
const MOST: usize = 16;
/// The most bytes of a value.
const LONGEST: usize = 256;

/// All of these.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(default)]
pub struct RouteConditions {
    /// One of these, if there are any.
    pub methods: Vec<String>,
    /// Headers, by names in lower case.
    pub headers: Vec<Condition>,
    /// Parameters of the query: of one that is there several times the first counts.
    pub query: Vec<Condition>,
}

/// One of them.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Condition {
    /// Of what.
    pub name: String,
    /// Its value, or an expression that finds something in it; those of routes of the Gateway API take all of it.
    pub value: String,
    /// The longest value that is asked, where it is an expression.
    pub longest: Option<usize>,
}

/// The part of a request that lines of conditions are about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Of {
    /// `NAME: VALUE`.
    Header,
    /// `NAME=VALUE`.
    Query,
}

impl RouteConditions {
    /// The cost of asking for the expressions.
    #[must_use]
    pub fn cost(&self) -> Option<f64> {
        let patterns = self.headers.iter().chain(&self.query).filter(|one| one.longest.is_some());
        let steps = patterns
            .filter_map(|one| regex_cost::cost(&one.value, Compared::Value).ok())
            .map(|PatternCost { steps, .. }| steps);
        steps.reduce(|all, steps| all + steps)
    }

    /// By which routes with more of them are asked first.
    #[must_use]
    pub fn rank(&self) -> impl Ord + use<> {
        (!self.methods.is_empty(), self.headers.len(), self.query.len())
    }
}

/// The conditions of lines, which are expressions if `are_patterns`.
///
/// # Errors
/// The form that they must have, behind the word "it".
pub fn read(text: &str, of: Of, are_patterns: bool) -> Result<Vec<Condition>, String> {
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    if lines.is_empty() || lines.len() > MOST {
        return Err(wanted(of));
    }
    let mut all =
        lines.into_iter().map(|line| condition(line, of, are_patterns)).collect::<Result<Vec<_>, _>>()?;
    all.sort();
    Ok(all)
}

/// The form of lines.
#[must_use]
pub fn wanted(of: Of) -> String {
    let line = match of {
        Of::Header => "NAME: VALUE",
        Of::Query => "NAME=VALUE",
    };
    format!("must be lines of {line}, no more than {MOST}, values in ASCII of up to {LONGEST} bytes")
}

fn condition(line: &str, of: Of, is_pattern: bool) -> Result<Condition, String> {
    let (name, value) =
        line.split_once(if of == Of::Header { ':' } else { '=' }).ok_or_else(|| wanted(of))?;
    let (name, value) = (name.trim(), value.trim());
    let is_inner = |c: char| match of {
        Of::Header => c.is_ascii_alphanumeric() || "_-".contains(c),
        Of::Query => c.is_ascii_graphic() && !"&#".contains(c),
    };
    let is_value = value.len() <= LONGEST && value.chars().all(|c| matches!(c, ' '..='~'));
    if !(1..=64).contains(&name.len()) || !name.chars().all(is_inner) || !is_value {
        return Err(wanted(of));
    }
    let cost = || regex_cost::cost(value, Compared::Value);
    let longest = if is_pattern { Some(cost()?.longest_path) } else { None };
    let name = if of == Of::Header { name.to_ascii_lowercase() } else { name.to_owned() };
    Ok(Condition { name, value: value.to_owned(), longest })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_conditions_in_one_order() {
        let one = read("X-B: 2\nx-a:  a: b \n", Of::Header, false).unwrap();
        assert_eq!(one, read("X-A: a: b\nX-B: 2", Of::Header, false).unwrap());
        assert_eq!((&*one[0].name, &*one[0].value), ("x-a", "a: b"));
        let query = read("q=a=b\nempty=", Of::Query, false).unwrap();
        assert_eq!((&*query[1].name, &*query[1].value, &*query[0].value), ("q", "a=b", ""));
        for (text, of) in [
            ("", Of::Header),
            ("X-A", Of::Header),
            ("X A: 1", Of::Header),
            ("a&b=1", Of::Query),
            ("q=\u{e4}", Of::Query),
        ] {
            assert!(read(text, of, false).unwrap_err().contains("must be lines of NAME"), "{text}");
        }
        assert!(read("X-A: (a+)+b", Of::Header, true).unwrap_err().ends_with(
            "over a value: of what is repeated, each must end where the next one begins, as in ([^/]+)/(.*)"
        ));
        assert!(read("X-A: ^(a|b)?$", Of::Header, true).is_ok(), "a header may be empty");
        let many = "a=1\n".repeat(MOST + 1);
        assert!(read(&many, Of::Query, false).is_err());
    }

    #[test]
    fn only_expressions_cost_something() {
        let headers = read("X-A: a|b,c;", Of::Header, true).unwrap();
        let conditions = RouteConditions { headers, ..RouteConditions::default() };
        assert!(conditions.cost().is_some() && RouteConditions::default().cost().is_none());
    }
}
