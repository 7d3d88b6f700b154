//! Follows a request through the rules of a frontend to its backend, and through those of the backend.

use super::{
    arrival,
    condition::applies,
    explanation::{Explanation, ExplanationStep},
    expression::{Sample, Traveller},
    lists,
};
use haptic_haproxy::{Document, Line, Section, SectionKind};

/// Where a request goes.
pub enum RouteFinding {
    Backend(String),
    /// To no backend: a rule answers it, or no frontend takes it. What is asked for it by objects has no part in that.
    Answered(String),
    /// Elsewhere, as a rule tells its client.
    Redirected(String),
    /// To its client: a rule has what it asks for.
    Fulfilled(String),
    /// Nowhere: there is no backend for it.
    Nowhere(String),
    /// It cannot be followed any further.
    Lost(String),
}

/// Follows a request, noting the lines that it comes by.
pub fn follow(
    document: &Document<'_>,
    traveller: &mut Traveller<'_>,
    explanation: &mut Explanation,
) -> RouteFinding {
    let request = traveller.request;
    let Some(place) = arrival::place(document, request, traveller.arrival.port) else {
        let what = if request.tls { "TLS" } else { "plain HTTP" };
        let port = request.port.map(|port| format!(" on port {port}")).unwrap_or_default();
        return RouteFinding::Answered(format!("no frontend takes {what}{port}"));
    };
    traveller.arrival = place.arrival;
    pass_frontend((place.frontend, place.bind), traveller, explanation)
}

/// Follows a request through the frontend that a server of ours hands it to: one that listens at a socket.
pub fn hand_on(
    document: &Document<'_>,
    socket: &str,
    traveller: &mut Traveller<'_>,
    explanation: &mut Explanation,
) -> Option<RouteFinding> {
    let place = arrival::behind_socket(document, socket)?;
    traveller.arrival.name = place.arrival.name;
    Some(pass_frontend((place.frontend, place.bind), traveller, explanation))
}

fn pass_frontend(
    (frontend, bind): (&Section<'_>, usize),
    traveller: &mut Traveller<'_>,
    explanation: &mut Explanation,
) -> RouteFinding {
    let config = &traveller.context.bundle.config;
    explanation.steps.push(ExplanationStep::at("frontend", config, frontend.line));
    explanation.steps.push(ExplanationStep::at("bind", config, bind));
    // HAProxy asks for what monitors it before all rules, and shows its statistics behind those of `http-request`.
    let (path, mut lines) = (&*traveller.request.path, frontend.lines.iter());
    if let Some(line) = lines.find(|line| line.keyword() == "monitor-uri" && line.value(1) == path) {
        explanation.steps.push(ExplanationStep::at("rule", config, line.number));
        return RouteFinding::Fulfilled(format!("monitor-uri, by haproxy.cfg:{}", line.number));
    }
    let statistics = frontend.lines.iter().find(|line| is_of_statistics(line, path));
    let found = frontend.lines.iter().find_map(|line| pass(line, frontend, traveller, explanation));
    match (found, statistics) {
        (Some(RouteFinding::Backend(_)) | None, Some(line)) => {
            explanation.steps.push(ExplanationStep::at("rule", config, line.number));
            return RouteFinding::Fulfilled(format!("statistics, by haproxy.cfg:{}", line.number));
        }
        (Some(way), _) => return way,
        (None, None) => {}
    }
    let default = frontend.lines.iter().rfind(|line| line.keyword() == "default_backend");
    match default {
        Some(line) => {
            explanation.steps.push(ExplanationStep::at("rule", config, line.number));
            RouteFinding::Backend(line.value(1).to_owned())
        }
        // It is its own backend.
        None if frontend.kind == SectionKind::Listen => RouteFinding::Backend(frontend.name.to_string()),
        None => RouteFinding::Nowhere(
            "no use_backend takes it, and the frontend has no default_backend: HAProxy answers 503".into(),
        ),
    }
}

/// Follows a request through the rules of its backend, noting the backend and its servers.
pub fn pass_backend(
    document: &Document<'_>,
    name: &str,
    traveller: &mut Traveller<'_>,
    explanation: &mut Explanation,
) {
    let config = &traveller.context.bundle.config;
    let kinds = [SectionKind::Backend, SectionKind::Listen];
    let Some(section) = kinds.iter().find_map(|kind| document.section(kind, name)) else {
        explanation.why_not.push(format!("haproxy.cfg has no backend {name}: HAProxy answers 503"));
        return;
    };
    let backend = ExplanationStep::at("backend", config, section.line);
    // Of a `listen` section that the request came in by the rules are passed already.
    let is_passed =
        explanation.steps.iter().any(|step| (&step.file, step.line) == (&backend.file, backend.line));
    if !is_passed {
        explanation.steps.push(backend);
    }
    for line in section.lines.iter().filter(|line| matches!(line.keyword(), "server" | "server-template")) {
        explanation.servers.push(ExplanationStep::at("server", config, line.number));
    }
    // Rules of its defaults section come first.
    let at = document.sections.iter().position(|one| std::ptr::eq(one, section));
    let defaults = at.and_then(|at| document.inheritance().get(at).copied().flatten());
    let sections = defaults.and_then(|at| document.sections.get(at)).into_iter().chain([section]);
    let sections = sections.filter(|_| !is_passed);
    for (line, of) in sections.flat_map(|of| of.lines.iter().map(move |line| (line, of))) {
        if let Some(RouteFinding::Answered(_)) = pass(line, of, traveller, explanation) {
            explanation.why_not.push(format!("backend {name} answers by itself: {}", line.text().trim()));
            break;
        }
    }
    if explanation.servers.is_empty() && explanation.why_not.is_empty() {
        explanation.why_not.push(format!("backend {name} has no servers: HAProxy answers 503"));
    }
}

/// Takes a request past one line of the section it is in; the way that it goes from there, if it goes no further. A rule that
/// answers or does not, which is not known here, is noted.
fn pass(
    line: &Line<'_>,
    section: &Section<'_>,
    traveller: &mut Traveller<'_>,
    explanation: &mut Explanation,
) -> Option<RouteFinding> {
    let rule = RoutingRule::of(line)?;
    let applies = applies(line.from(rule.condition), section, traveller);
    let came_by = std::mem::take(&mut traveller.maps);
    let (steps, config) = (&mut explanation.steps, &traveller.context.bundle.config);
    match (rule.action, applies) {
        (Action::SetVariable { name, expression, is_format }, Ok(true)) => {
            let value = match is_format {
                true => traveller.format(&expression),
                false => traveller.sample(&expression),
            };
            steps.append(&mut traveller.maps);
            traveller.variables.insert(name, value);
        }
        (Action::SetVariable { name, .. } | Action::UnsetVariable(name), Err(why)) => {
            traveller.variables.insert(name, Sample::Unknown(why));
        }
        (Action::UnsetVariable(name), Ok(true)) => {
            traveller.variables.remove(&name);
        }
        (Action::Answer, Ok(true)) => {
            steps.extend(came_by);
            steps.push(ExplanationStep::at("rule", config, line.number));
            return Some(answered(line, traveller));
        }
        (Action::Answer, Err(why)) => {
            let text = line.text().trim();
            let maybe = format!("haproxy.cfg:{}, which depends on {why}: {text}", line.number);
            explanation.may_be_answered_by.push(maybe);
        }
        (Action::Use(target), Ok(true)) => {
            let name = traveller.format(&target);
            steps.extend(came_by);
            steps.append(&mut traveller.maps);
            match name {
                Sample::Text(name) if !name.is_empty() => {
                    steps.push(ExplanationStep::at("rule", config, line.number));
                    return Some(RouteFinding::Backend(name));
                }
                Sample::Unknown(why) => return Some(lost(line, &why)),
                _ => {}
            }
        }
        (Action::Use(_), Err(why)) => return Some(lost(line, &why)),
        (Action::Code(_), Ok(true)) if asks_a_list(line, traveller) => {}
        (Action::Code(variables), Ok(true) | Err(_)) => {
            let why = format!("what {} does", line.value(1));
            if variables.is_empty() {
                let maybe = format!(
                    "haproxy.cfg:{}, Lua that may lead it elsewhere: {}",
                    line.number,
                    line.text().trim()
                );
                explanation.may_be_answered_by.push(maybe);
            }
            for name in variables {
                traveller.variables.insert(name, Sample::Unknown(why.clone()));
            }
        }
        (_, Ok(false)) => {}
    }
    None
}

/// Whether Lua asks a list there that can be read: then it is asked.
fn asks_a_list(line: &Line<'_>, traveller: &mut Traveller<'_>) -> bool {
    line.value(1) == lists::ACTION && lists::ask(traveller, line.value(2), line.value(3)).is_some()
}

fn answered(line: &Line<'_>, traveller: &mut Traveller<'_>) -> RouteFinding {
    let words = || line.words.iter().map(|word| &*word.value).skip_while(|word| *word != "redirect").skip(1);
    let after = |option: &str| words().skip_while(|word| *word != option).nth(1).map(str::to_owned);
    let code = after("code").unwrap_or_else(|| "302".into());
    let request = traveller.request;
    let to = match (after("location"), after("prefix"), after("scheme")) {
        (Some(location), _, _) => Some(traveller.format(&location)),
        (_, Some(prefix), _) => Some(traveller.format(&format!("{prefix}{}", request.path))),
        (_, _, Some(scheme)) => {
            Some(traveller.format(&format!("{scheme}://{}{}", request.host, request.path)))
        }
        _ => None,
    };
    match to {
        Some(Sample::Text(to)) => {
            RouteFinding::Redirected(format!("{code} to {to}, by haproxy.cfg:{}", line.number))
        }
        Some(_) => RouteFinding::Redirected(format!(
            "{code}, by haproxy.cfg:{}: {}",
            line.number,
            line.text().trim()
        )),
        None => match service(line).or_else(|| returned(line)) {
            Some(service) if line.value(1) == "use-service" => {
                RouteFinding::Fulfilled(format!("{service}, by haproxy.cfg:{}", line.number))
            }
            Some(status) if status.starts_with('2') => {
                RouteFinding::Fulfilled(format!("{status}, by haproxy.cfg:{}", line.number))
            }
            _ => RouteFinding::Answered(format!(
                "haproxy.cfg:{} answers it: {}",
                line.number,
                line.text().trim()
            )),
        },
    }
}

/// Whether it is a line `stats uri URI`, and a request for that path is for its statistics.
fn is_of_statistics(line: &Line<'_>, path: &str) -> bool {
    let uri = Some(line.value(2))
        .filter(|uri| line.keyword() == "stats" && line.value(1) == "uri" && !uri.is_empty());
    uri.is_some_and(|uri| path.starts_with(uri))
}

/// What a `use-service` has answer.
fn service<'l>(line: &'l Line<'_>) -> Option<&'l str> {
    (line.value(1) == "use-service").then(|| line.value(2))
}

/// The status of a `return`; 200 where it names none.
fn returned<'l>(line: &'l Line<'_>) -> Option<&'l str> {
    let mut words = line.words.iter().map(|word| &*word.value);
    words.find(|word| *word == "return")?;
    Some(words.skip_while(|word| *word != "status").nth(1).unwrap_or("200"))
}

fn lost(line: &Line<'_>, why: &str) -> RouteFinding {
    let text = line.text().trim();
    RouteFinding::Lost(format!(
        "it cannot be followed beyond haproxy.cfg:{}, which depends on {why}: {text}",
        line.number
    ))
}

enum Action {
    SetVariable {
        name: String,
        expression: String,
        is_format: bool,
    },
    UnsetVariable(String),
    Answer,
    Use(String),
    /// Lua, which sets these variables.
    Code(Vec<String>),
}

/// A line that has to do with where a request goes.
struct RoutingRule {
    action: Action,
    /// Where its condition begins.
    condition: usize,
}

impl RoutingRule {
    fn of(line: &Line<'_>) -> Option<Self> {
        let condition = || {
            let found = line.words.iter().position(|word| matches!(&*word.value, "if" | "unless"));
            found.unwrap_or(line.words.len())
        };
        // `tcp-request content set-var(…)`: what is done stands a word later.
        let is_staged =
            line.keyword() == "tcp-request" && matches!(line.value(1), "connection" | "content" | "session");
        let at = if is_staged { 2 } else { 1 };
        let variable = |call: &str| {
            let name = call.split_once('(')?.1.strip_suffix(')')?.split(',').next()?;
            Some(name.to_owned())
        };
        match (line.keyword(), line.value(at)) {
            ("use_backend", target) => Some(Self { action: Action::Use(target.to_owned()), condition: 2 }),
            (
                "http-request",
                "return" | "deny" | "reject" | "tarpit" | "redirect" | "auth" | "silent-drop" | "use-service",
            )
            | ("tcp-request", "reject" | "silent-drop") => {
                Some(Self { action: Action::Answer, condition: condition() })
            }
            ("http-request" | "tcp-request", code) if code.starts_with("lua.") => {
                let arguments = line.words.iter().map(|word| &*word.value).take(condition()).skip(at + 1);
                let variables =
                    arguments.filter(|name| name.starts_with("txn.")).map(str::to_owned).collect();
                Some(Self { action: Action::Code(variables), condition: condition() })
            }
            ("redirect", _) => Some(Self { action: Action::Answer, condition: condition() }),
            ("http-request" | "tcp-request", set) if set.starts_with("set-var") => {
                let action = Action::SetVariable {
                    name: variable(set)?,
                    expression: line.value(at + 1).to_owned(),
                    is_format: set.starts_with("set-var-fmt"),
                };
                Some(Self { action, condition: at + 2 })
            }
            ("http-request" | "tcp-request", unset) if unset.starts_with("unset-var") => {
                Some(Self { action: Action::UnsetVariable(variable(unset)?), condition: at + 1 })
            }
            _ => None,
        }
    }
}
