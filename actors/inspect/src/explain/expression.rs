//! What a sample expression gives for a request: `var(txn.host),lower,map(maps/host.map)`.
//!
//! The fetches and converters are those by which configurations choose backends; of any other one nothing is guessed.

use super::{
    arrival::Arrival,
    explanation::{Context, ExplainedRequest, ExplanationStep},
    servers,
};
use haptic_haproxy::Document;
use std::{collections::HashMap, sync::Arc};

/// What an expression gives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sample {
    Text(String),
    /// Nothing: a header that is not there, a key that is in no map.
    Nothing,
    /// That is not known here, because of this fetch or converter.
    Unknown(String),
}

/// A route that takes a request if there is more to it than its URL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConditionalRoute {
    /// By which a map has it.
    pub key: String,
    /// What more: `header a: 1`.
    pub given: String,
}

/// A request on its way: what its variables hold, and which lines of maps it came by.
pub struct Traveller<'a> {
    pub context: &'a Context<'a>,
    /// haproxy.cfg.
    pub document: &'a Document<'a>,
    pub request: &'a ExplainedRequest,
    /// Where HAProxy takes it.
    pub arrival: Arrival,
    pub variables: HashMap<String, Sample>,
    pub maps: Vec<ExplanationStep>,
    /// The route, by its key, that has what it wants besides the URL.
    pub assumed: Option<String>,
    /// Those of lists that would have come first.
    pub passed_by: Vec<ConditionalRoute>,
    /// Of maps that were asked, by their paths.
    texts: HashMap<String, Arc<str>>,
}

impl<'a> Traveller<'a> {
    /// One that has come by nothing yet.
    pub fn new(
        context: &'a Context<'a>,
        document: &'a Document<'a>,
        request: &'a ExplainedRequest,
        arrival: Arrival,
    ) -> Self {
        Self {
            context,
            document,
            request,
            arrival,
            variables: HashMap::new(),
            maps: Vec::new(),
            assumed: None,
            passed_by: Vec::new(),
            texts: HashMap::new(),
        }
    }

    /// The value of `expression`.
    pub fn sample(&mut self, expression: &str) -> Sample {
        let mut parts = parts(expression).into_iter();
        let mut value = self.fetch(parts.next().unwrap_or_default());
        for converter in parts {
            value = match value {
                Sample::Text(text) => self.convert(&text, converter),
                other => return other,
            };
        }
        value
    }

    /// The value of a log-format such as `%[var(txn.backend)]` or `shop-%[path]`.
    pub fn format(&mut self, format: &str) -> Sample {
        let (mut text, mut rest) = (String::new(), format);
        while let Some((before, after)) = rest.split_once("%[") {
            text.push_str(before);
            let Some(end) = closing(after) else { return Sample::Unknown(format.to_owned()) };
            match self.sample(after.get(..end).unwrap_or_default()) {
                Sample::Text(value) => text.push_str(&value),
                Sample::Nothing => {}
                unknown @ Sample::Unknown(_) => return unknown,
            }
            rest = after.get(end + 1..).unwrap_or_default();
        }
        Sample::Text(text + rest)
    }

    fn fetch(&self, fetch: &str) -> Sample {
        let (name, arguments) = call(fetch);
        let argument = arguments.first().map(String::as_str).unwrap_or_default();
        let request = self.request;
        let text = |text: &str| Sample::Text(text.to_owned());
        match name {
            "hdr" | "req.hdr" | "req.fhdr" | "hdr_dom" | "hdr_end" | "hdr_beg"
                if argument.eq_ignore_ascii_case("host") =>
            {
                text(&request.host)
            }
            "path" | "path_beg" | "path_end" | "path_dir" | "path_sub" | "pathq" | "url" => {
                text(&request.path)
            }
            "base" | "base_beg" => Sample::Text(format!("{}{}", request.host, request.path)),
            "ssl_fc_sni" | "req.ssl_sni" if request.tls => text(&request.host),
            "ssl_fc" => text(if request.tls { "1" } else { "0" }),
            "method" => text("GET"),
            "so_name" => text(&self.arrival.name),
            "dst_port" => match self.arrival.port {
                Some(port) => Sample::Text(port.to_string()),
                None => Sample::Unknown(fetch.to_owned()),
            },
            // That of a greeting: any browser's.
            "req.ssl_hello_type" if request.tls => text("1"),
            "str" => text(argument),
            "bool" => text(if argument == "true" { "1" } else { "0" }),
            "int" => text(argument),
            "var" => self.variables.get(argument).cloned().unwrap_or(Sample::Nothing),
            "nbsrv" => self.ready_servers(argument),
            "always_true" => text("1"),
            "always_false" => text("0"),
            // A request of which only the URL is known has no other headers and parameters.
            "hdr" | "req.hdr" | "req.fhdr" | "req.cook" | "cook" | "url_param" | "ssl_fc_sni" | "query" => {
                Sample::Nothing
            }
            _ => Sample::Unknown(fetch.to_owned()),
        }
    }

    fn convert(&mut self, text: &str, converter: &str) -> Sample {
        let (name, arguments) = call(converter);
        let argument = |index: usize| arguments.get(index).map(String::as_str).unwrap_or_default();
        match name {
            "lower" => Sample::Text(text.to_ascii_lowercase()),
            "upper" => Sample::Text(text.to_ascii_uppercase()),
            "ltrim" => Sample::Text(text.trim_start_matches(|c| argument(0).contains(c)).to_owned()),
            "rtrim" => Sample::Text(text.trim_end_matches(|c| argument(0).contains(c)).to_owned()),
            "host_only" => Sample::Text(text.split_once(':').map_or(text, |(host, _)| host).to_owned()),
            "concat" => match self.fetch(&format!("var({})", argument(1))) {
                Sample::Text(middle) => Sample::Text(format!("{text}{}{middle}{}", argument(0), argument(2))),
                Sample::Nothing => Sample::Text(format!("{text}{}{}", argument(0), argument(2))),
                unknown @ Sample::Unknown(_) => unknown,
            },
            "field" => field(text, &arguments),
            "regsub" => match regex::Regex::new(argument(0)) {
                Ok(pattern) if argument(2).contains('g') => {
                    Sample::Text(pattern.replace_all(text, regex::NoExpand(argument(1))).into_owned())
                }
                Ok(pattern) => Sample::Text(pattern.replace(text, regex::NoExpand(argument(1))).into_owned()),
                Err(_) => Sample::Unknown(converter.to_owned()),
            },
            "param" => {
                let separator = if argument(1).is_empty() { "&" } else { argument(1) };
                let mut all = text.split(separator).filter_map(|pair| pair.split_once('='));
                all.find(|(key, _)| *key == argument(0))
                    .map_or(Sample::Nothing, |(_, v)| Sample::Text(v.to_owned()))
            }
            "length" => Sample::Text(text.len().to_string()),
            "nbsrv" => self.ready_servers(text),
            "strcmp" => match self.fetch(&format!("var({})", argument(0))) {
                Sample::Text(other) => Sample::Text((text.cmp(&other) as i8).to_string()),
                Sample::Nothing => Sample::Nothing,
                unknown @ Sample::Unknown(_) => unknown,
            },
            "add" => match (text.parse::<i64>(), self.number(argument(0))) {
                (Ok(value), Some(more)) => Sample::Text(value.saturating_add(more).to_string()),
                _ => Sample::Unknown(converter.to_owned()),
            },
            "bytes" if arguments.len() == 1 => {
                let from = self.number(argument(0)).and_then(|from| usize::try_from(from).ok());
                match from.and_then(|from| text.get(from..)) {
                    Some(rest) => Sample::Text(rest.to_owned()),
                    None => Sample::Unknown(converter.to_owned()),
                }
            }
            "map" | "map_str" | "map_beg" | "map_end" | "map_sub" => {
                self.map(name, text, argument(0), arguments.get(1))
            }
            _ => Sample::Unknown(converter.to_owned()),
        }
    }

    /// How many servers a backend has to send requests to. What their checks find is not known here: they pass.
    fn ready_servers(&self, backend: &str) -> Sample {
        let ready = servers::ready(self.document, backend);
        ready.map_or(Sample::Nothing, |count| Sample::Text(count.to_string()))
    }

    /// A number, or the variable that holds one.
    fn number(&self, argument: &str) -> Option<i64> {
        let held = || match self.variables.get(argument)? {
            Sample::Text(text) => text.parse().ok(),
            _ => None,
        };
        argument.parse().ok().or_else(held)
    }

    /// Of a map the first line that fits; by beginnings the longest.
    fn map(&mut self, how: &str, text: &str, path: &str, default: Option<&String>) -> Sample {
        let Some(file) = self.context.bundle.all().find(|file| *file.path == *path) else {
            return Sample::Unknown(format!("{how}({path}), which the bundle does not contain"));
        };
        let content = match self.texts.get(path) {
            Some(known) => known.clone(),
            None => {
                let text: Arc<str> = file.text.to_string().into();
                self.texts.insert(path.to_owned(), text.clone());
                text
            }
        };
        let lines = content.lines().enumerate().filter(|(_, line)| !line.starts_with('#'));
        let entries = lines.filter_map(|(at, line)| {
            let (key, value) = line.trim().split_once([' ', '\t']).unwrap_or((line.trim(), ""));
            let fits = match how {
                "map_beg" => text.starts_with(key),
                "map_end" => text.ends_with(key),
                "map_sub" => text.contains(key),
                _ => text == key,
            };
            (fits && !key.is_empty()).then_some((key.len(), at + 1, value.trim()))
        });
        let found = match how {
            "map_beg" => entries.reduce(|best, next| if next.0 > best.0 { next } else { best }),
            _ => { entries }.next(),
        };
        match (found, default) {
            (Some((_, line, value)), _) => {
                self.maps.push(ExplanationStep::at("map", file, line));
                Sample::Text(value.to_owned())
            }
            (None, Some(default)) => Sample::Text(default.clone()),
            (None, None) => Sample::Nothing,
        }
    }
}

/// `field(2,/)` and `field(2,/,2)`: from which on, and how many; 0 are all. `field(-1,.,2)`: the last two.
fn field(text: &str, arguments: &[String]) -> Sample {
    let number = |index: usize| arguments.get(index).map_or(Some(1), |n| n.parse::<isize>().ok());
    let delimiters = arguments.get(1).cloned().unwrap_or_default();
    let (Some(first), Some(Ok(count))) = (number(0).filter(|n| *n != 0), number(2).map(usize::try_from))
    else {
        return Sample::Unknown(format!("field({})", arguments.join(",")));
    };
    let fields: Vec<&str> = text.split(|c| delimiters.contains(c)).collect();
    let count = if count == 0 { fields.len() } else { count };
    let away = first.unsigned_abs() - 1;
    let wanted: Vec<&str> = if first > 0 {
        fields.into_iter().skip(away).take(count).collect()
    } else {
        let end = fields.len().saturating_sub(away);
        fields.into_iter().take(end).skip(end.saturating_sub(count)).collect()
    };
    let joint = delimiters.chars().next().map(String::from).unwrap_or_default();
    if wanted.is_empty() { Sample::Nothing } else { Sample::Text(wanted.join(&joint)) }
}

/// An expression at its commas, those in parentheses left alone.
fn parts(expression: &str) -> Vec<&str> {
    let (mut parts, mut depth, mut start) = (Vec::new(), 0_usize, 0);
    for (at, c) in expression.char_indices() {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                parts.extend(expression.get(start..at));
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.extend(expression.get(start..));
    parts
}

/// A name and its arguments, quotes removed.
fn call(part: &str) -> (&str, Vec<String>) {
    let Some((name, rest)) = part.split_once('(') else { return (part.trim(), Vec::new()) };
    let inside = rest.strip_suffix(')').unwrap_or(rest);
    let plain = |argument: &str| argument.trim_matches(['"', '\'']).replace('\\', "");
    (name.trim(), inside.split(',').map(plain).collect())
}

/// Where the bracket that is open ends.
fn closing(text: &str) -> Option<usize> {
    let mut depth = 0_usize;
    text.char_indices().find_map(|(at, c)| match c {
        '[' => {
            depth += 1;
            None
        }
        ']' if depth == 0 => Some(at),
        ']' => {
            depth -= 1;
            None
        }
        _ => None,
    })
}
