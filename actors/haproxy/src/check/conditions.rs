//! ACLs that a condition names must be declared before it, in the same section (HAProxy looks them up while it reads).

use std::collections::HashMap;

use crate::document::{Document, Line, Section, SectionKind};
use crate::expressions::{condition, takes_condition};
use crate::keywords;
use crate::problem::{Code, Problem};

/// ACLs that HAProxy declares itself (configuration manual 7.4).
const PREDEFINED: [&str; 24] = [
    "TRUE",
    "FALSE",
    "LOCALHOST",
    "HTTP",
    "HTTP_1.0",
    "HTTP_1.1",
    "HTTP_2.0",
    "HTTP_3.0",
    "METH_CONNECT",
    "METH_DELETE",
    "METH_GET",
    "METH_HEAD",
    "METH_OPTIONS",
    "METH_PATCH",
    "METH_POST",
    "METH_PUT",
    "METH_TRACE",
    "HTTP_URL_ABS",
    "HTTP_URL_SLASH",
    "HTTP_URL_STAR",
    "HTTP_CONTENT",
    "RDP_COOKIE",
    "REQ_CONTENT",
    "WAIT_END",
];

pub(super) fn check(document: &Document<'_>, problems: &mut Vec<Problem>) {
    for section in &document.sections {
        if section.kind.is_proxy() || section.kind == SectionKind::FcgiApp {
            Conditions::of(section).check(section, problems);
        }
    }
}

/// The ACLs of a section with the line of their first declaration.
struct Conditions<'s> {
    declared: HashMap<&'s str, usize>,
    /// Whether some ACL's name is not known here.
    uncertain: bool,
}

impl<'s> Conditions<'s> {
    fn of(section: &'s Section<'_>) -> Self {
        let mut conditions = Self { declared: HashMap::new(), uncertain: false };
        for line in section.lines.iter().filter(|line| line.keyword() == "acl") {
            if let Some(name) = line.words.get(1) {
                conditions.uncertain |= name.has_variable;
                conditions.declared.entry(name.value.as_ref()).or_insert(line.number);
            }
        }
        conditions
    }

    fn check(&self, section: &Section<'_>, problems: &mut Vec<Problem>) {
        if self.uncertain {
            return;
        }
        for line in
            section.lines.iter().filter(|line| takes_condition(&section.kind, line) && !line.conditional)
        {
            let start = condition(line);
            for (at, name) in names(line, start) {
                match self.declared.get(name) {
                    Some(declared) if *declared < line.number => {}
                    _ if PREDEFINED.contains(&name) => {}
                    found => problems.push(self.undefined(line, at, name, found.copied(), section)),
                }
            }
        }
    }

    fn undefined(
        &self,
        line: &Line<'_>,
        at: usize,
        name: &str,
        declared: Option<usize>,
        section: &Section<'_>,
    ) -> Problem {
        let problem = |message| Problem::at(Code::UndefinedAcl, line, at, message);
        if let Some(later) = declared {
            return problem(format!("The ACL '{name}' is declared only later, on line {later}."))
                .help("move the 'acl' line up");
        }
        let names = self.declared.keys().copied().chain(PREDEFINED);
        let near = keywords::nearest_name(name, names);
        problem(format!("There is no ACL '{name}' in {}.", section.title())).help(match near {
            Some(near) => format!("did you mean '{near}'?"),
            None => format!("declare it with 'acl {name} …' before this line"),
        })
    }
}

/// The ACL names of the condition that starts at `start`, with their positions.
fn names<'l>(line: &'l Line<'_>, start: Option<usize>) -> Vec<(usize, &'l str)> {
    let Some(start) = start else { return Vec::new() };
    if line.from(start).iter().any(|word| word.has_variable) {
        return Vec::new();
    }
    let mut found = Vec::new();
    let mut inside = false;
    for (at, word) in line.words.iter().enumerate().skip(start) {
        match word.value.trim_start_matches('!') {
            "{" => inside = true,
            "}" => inside = false,
            "" | "||" => {}
            or if or.eq_ignore_ascii_case("or") => {}
            name if !inside => found.push((at, name)),
            _ => {}
        }
    }
    found
}
