//! The types of options' values: how the text of each is read, and what is said where it cannot be.

use super::{
    auth_url::{self, AuthUrl},
    certificate_facts,
    class_objects::{qualified_name, qualified_service},
    form::Form,
    header::{self, headers_with_variables},
    level::Level,
    network::networks,
    quantity::{byte_count, milliseconds, number},
    request_key::{self, RequestKey},
    rewrites,
    settings::Settings,
    value::OptionValue,
};
use crate::{
    claims::Backend,
    matching::{
        conditions::{self, Of},
        regex_cost,
    },
};
use std::ops::RangeInclusive;

/// The longest time an option may say: a day.
const LONGEST_TIME: u64 = 86_400_000;

/// The most types of answers that are compressed.
const MOST_MEDIA_TYPES: usize = 50;
/// Most statuses of an option.
const MOST_STATUSES: usize = 50;

/// The most Services that share the requests of a route with its own.
const MOST_WEIGHTS: usize = 10;

/// How a text is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `true` or `false`.
    Switch,
    /// One of these.
    Choice(&'static [&'static str]),
    /// One of the ways of balancing that the setting `balanceAlgorithms` has.
    Balance,
    /// A whole number, and of what.
    Number {
        /// At least.
        least: u64,
        /// At most.
        most: u64,
        /// The things that are counted, in words: `a number of seconds`.
        what: &'static str,
    },
    /// A time with its unit, up to a day.
    Time,
    /// A time with its unit, up to a number of milliseconds, and in words.
    TimeUpTo(u64, &'static str),
    /// A time with its unit, of a number of milliseconds at least and at most, and in words.
    TimeFromTo(u64, u64, &'static str),
    /// A part of requests.
    RequestKey,
    /// A size in bytes, or with k, m or g.
    Size,
    /// The same, as HAProxy itself reads it: in 32 bits.
    SizeOfHaproxy,
    /// Networks, separated by commas.
    Networks,
    /// `*`, or origins separated by commas.
    Origins,
    /// Names of headers or methods, separated by commas.
    Names,
    /// The same for browsers, who get them as they are written; `*` is one.
    NamesAsWritten,
    /// Names of headers that are passed on, separated by commas.
    HeaderNames,
    /// The same, or what names begin with.
    HeaderNamesOrStarts,
    /// Media types, separated by commas.
    MediaTypes,
    /// Some of these, separated by commas.
    Several(&'static [&'static str]),
    /// Statuses of answers from 300 to 599, separated by commas.
    Statuses,
    /// Where it is asked whether a request may pass.
    AuthUrl,
    /// Lines of `NAME: VALUE`, in which variables may stand.
    Headers(header::HeadersOf),
    /// Lines of `NAME: FACT`, of a client's certificate.
    CertificateHeaders,
    /// Names that a client's certificate may have, separated by commas.
    CertificateNames,
    /// A text of up to a number of characters.
    Text {
        /// Characters.
        most: usize,
        /// The form of the texts.
        form: Form,
    },
    /// The name of a Secret of the same namespace.
    Secret,
    /// The name of a ConfigMap of the same namespace.
    ConfigMap,
    /// Lines of what a request must have.
    Conditions {
        /// Of headers or of the query.
        of: Of,
        /// Whether values are regular expressions.
        patterns: bool,
    },
    /// Namespace and name of an object of that kind.
    QualifiedName(&'static str),
    /// A port of a Service of the same namespace.
    ServicePort,
    /// A port of a Service with its namespace.
    QualifiedServicePort,
    /// Ports of Services, each with the percentage of requests that it gets.
    Weights,
    /// A regular expression that is asked with paths.
    Regex,
    /// A regular expression that finds something in the value of a header.
    ValueRegex,
    /// Lines of a regular expression and what takes the place of a path in which it finds something.
    Rewrites,
    /// A regular expression that whole origins match.
    OriginRegex,
}

impl Kind {
    /// How the text is read at that level: the class is in no namespace.
    #[must_use]
    pub fn at(self, level: Level) -> Self {
        match self {
            Self::ConfigMap if level == Level::Class => Self::QualifiedName("ConfigMap"),
            Self::ServicePort if level == Level::Class => Self::QualifiedServicePort,
            other => other,
        }
    }

    /// Reads `text`.
    ///
    /// # Errors
    /// The form that it must have, behind the word "it".
    pub fn read(self, text: &str, settings: &Settings) -> Result<OptionValue, String> {
        let wrong = || format!("must be {}", self.expected(settings));
        let value = match self {
            Self::Switch => text.parse().ok().map(OptionValue::Switch),
            Self::Choice(all) => all.contains(&text).then(|| OptionValue::Text(text.to_owned())),
            Self::Balance => {
                settings.balance.iter().any(|one| one == text).then(|| OptionValue::Text(text.to_owned()))
            }
            Self::Number { least, most, .. } => {
                number(text).filter(|n| (least..=most).contains(n)).map(OptionValue::Number)
            }
            Self::Time => return time(text, 1..=LONGEST_TIME, wrong),
            Self::TimeUpTo(most, _) => return time(text, 1..=most, wrong),
            Self::TimeFromTo(least, most, _) => return time(text, least..=most, wrong),
            Self::RequestKey => RequestKey::of(text).map(OptionValue::RequestKey),
            Self::HeaderNames => header::names(text).map(named),
            Self::HeaderNamesOrStarts => header::names_or_starts(text).map(named),
            Self::MediaTypes => media_types(text).map(named),
            Self::Several(all) => several(text, all).map(named),
            Self::Statuses => statuses(text).map(named),
            Self::AuthUrl => {
                let url = AuthUrl::of(text).map_err(|wanted| format!("must be {wanted}"))?;
                Some(OptionValue::AuthUrl(url))
            }
            Self::Size => byte_count(text).filter(|n| *n > 0).map(OptionValue::Number),
            Self::SizeOfHaproxy => {
                let fits = |n: &u64| (1..=u64::from(u32::MAX)).contains(n);
                byte_count(text).filter(fits).map(OptionValue::Number)
            }
            Self::Networks => {
                let read = networks(text, settings.networks).map_err(|wanted| format!("must be {wanted}"))?;
                Some(OptionValue::Networks(read.into()))
            }
            Self::Origins => return origins(text, settings.origins).ok_or_else(wrong),
            Self::Names => names(text, false).map(named),
            Self::NamesAsWritten => names(text, true).map(|_| named(vec![text.trim_matches(' ').to_owned()])),
            Self::Headers(of) => {
                let read = headers_with_variables(text, settings.headers, of)
                    .map_err(|wanted| format!("must be {wanted}"))?;
                Some(OptionValue::Headers(read.into()))
            }
            Self::CertificateHeaders => {
                let read = certificate_facts::headers(text, settings.headers)
                    .map_err(|wanted| format!("must be {wanted}"))?;
                Some(OptionValue::Headers(read.into()))
            }
            Self::CertificateNames => certificate_facts::names(text).map(named),
            Self::Text { most, form } => {
                let fits = text.chars().count() <= most && form.has(text);
                fits.then(|| OptionValue::Text(form.kept(text).to_owned()))
            }
            Self::Secret | Self::ConfigMap => {
                is_object_name(text).then(|| OptionValue::Text(text.to_owned()))
            }
            Self::Conditions { of, patterns } => {
                let read = conditions::read(text, of, patterns)?;
                Some(OptionValue::Conditions(read.into()))
            }
            Self::QualifiedName(_) => qualified_name(text).map(|_| OptionValue::Text(text.to_owned())),
            Self::ServicePort => Backend::of(text).map(|_| OptionValue::Text(text.to_owned())),
            Self::QualifiedServicePort => qualified_service(text).map(|_| OptionValue::Text(text.to_owned())),
            Self::Weights => weights(text).map(OptionValue::Weights),
            Self::Regex => return regex(text.to_owned(), regex_cost::longest_path),
            Self::ValueRegex => return regex(text.to_owned(), regex_cost::longest_value),
            Self::OriginRegex => {
                let (flag, text) = text.strip_prefix("(?i)").map_or(("", text), |rest| ("(?i)", rest));
                return regex(format!("{flag}^(?:{text})$"), regex_cost::longest_value);
            }
            Self::Rewrites => return rewrites::read(text),
        };
        value.ok_or_else(wrong)
    }

    /// The form of a value, behind "it must be".
    #[must_use]
    pub fn expected(self, settings: &Settings) -> String {
        match self {
            Self::Switch => "true or false".to_owned(),
            Self::Choice(all) => one_of(all),
            Self::Balance => format!("one of {}", settings.balance.join(", ")),
            Self::Number { least, most, what } => format!("{what} from {least} to {most}"),
            Self::Time => "a time such as 500ms, 30s or 5m, longer than 0 and up to 24h".to_owned(),
            Self::TimeUpTo(_, most) => format!("a time such as 500ms or 2s, longer than 0 and up to {most}"),
            Self::TimeFromTo(_, _, range) => format!("a time such as 500ms or 2s, from {range}"),
            Self::RequestKey => request_key::EXPECTED.to_owned(),
            Self::HeaderNames => {
                "names of headers separated by commas, up to 1000 characters, without those that HAProxy itself sets"
                    .to_owned()
            }
            Self::HeaderNamesOrStarts => {
                "names of headers, or what they begin with such as X-Auth-*, separated by commas, up to 1000 characters, without those that HAProxy itself sets"
                    .to_owned()
            }
            Self::MediaTypes => {
                format!("up to {MOST_MEDIA_TYPES} media types such as text/html, separated by commas")
            }
            Self::Several(all) => format!("some of {}, separated by commas", all.join(", ")),
            Self::Statuses => {
                format!("up to {MOST_STATUSES} statuses from 300 to 599, separated by commas")
            }
            Self::AuthUrl => auth_url::EXPECTED.to_owned(),
            Self::Size => "a size such as 500k or 10m, larger than 0".to_owned(),
            Self::SizeOfHaproxy => "a size such as 500k or 10m, larger than 0 and less than 4g".to_owned(),
            Self::Networks => format!(
                "networks such as 10.0.0.0/8 or fd00::/8, separated by commas, no more than {}",
                settings.networks
            ),
            Self::Origins => format!(
                "* or origins such as https://shop.example or https://*.shop.example, separated by commas, no more than {} origins",
                settings.origins
            ),
            Self::Names => "names separated by commas, up to 1000 characters".to_owned(),
            Self::NamesAsWritten => "* or names separated by commas, up to 1000 characters".to_owned(),
            Self::Headers(_) => format!(
                "lines of NAME: VALUE, no more than {} of up to 1000 bytes, without those that HAProxy itself sets",
                settings.headers
            ),
            Self::CertificateHeaders => format!(
                "lines of NAME: FACT, no more than {} of up to 1000 bytes, with subject, cn, issuer, sha1, sha256, pem, der or verify, without those that HAProxy itself sets",
                settings.headers
            ),
            Self::CertificateNames => certificate_facts::EXPECTED_NAMES.to_owned(),
            Self::Text { most, form } => form.expected(most),
            Self::Secret => "the name of a Secret in the same namespace".to_owned(),
            Self::ConfigMap => "the name of a ConfigMap in the same namespace".to_owned(),
            Self::Conditions { of, .. } => conditions::wanted(of).trim_start_matches("must be ").to_owned(),
            Self::QualifiedName(kind) => format!("NAMESPACE/NAME of a {kind}"),
            Self::ServicePort => "NAME:PORT of a Service in the same namespace".to_owned(),
            Self::QualifiedServicePort => "NAMESPACE/NAME:PORT of a Service".to_owned(),
            Self::Weights => format!(
                "up to {MOST_WEIGHTS} times NAME:PORT=PERCENT of Services in the same namespace, separated by commas, 100 percent together at the most"
            ),
            Self::OriginRegex => {
                "a regular expression of up to 490 characters that does not go back and forth over an origin"
                    .to_owned()
            }
            Self::Regex => {
                "a regular expression of up to 500 characters that does not go back and forth over a path"
                    .to_owned()
            }
            Self::ValueRegex => {
                "a regular expression of up to 500 characters that does not go back and forth over a value"
                    .to_owned()
            }
            Self::Rewrites => rewrites::expected(),
        }
    }
}

/// Whether an object can have the name: unlike those of DNS, its parts may be long.
fn is_object_name(text: &str) -> bool {
    let inner = |c: u8| c.is_ascii_lowercase() || c.is_ascii_digit() || c == b'-';
    let is_part = |part: &str| {
        !part.is_empty() && part.bytes().all(inner) && !part.starts_with('-') && !part.ends_with('-')
    };
    text.len() <= 253 && text.split('.').all(is_part)
}

fn named(names: Vec<String>) -> OptionValue {
    OptionValue::Names(names.into())
}

fn time(text: &str, good: RangeInclusive<u64>, wrong: impl Fn() -> String) -> Result<OptionValue, String> {
    match milliseconds(text) {
        None if number(text).is_some_and(|n| n > 0 && n < 10_000_000) => {
            Err(format!("must be a time with its unit: {text} what? Write {text}s"))
        }
        time => time.filter(|n| good.contains(n)).map(OptionValue::Number).ok_or_else(wrong),
    }
}

fn regex(pattern: String, longest: impl Fn(&str) -> Result<usize, String>) -> Result<OptionValue, String> {
    let longest = longest(&pattern)?;
    let longest_path = (longest < regex_cost::LONGEST_PATH).then_some(longest);
    Ok(OptionValue::Regex { pattern, longest_path })
}

fn media_types(text: &str) -> Option<Vec<String>> {
    let is_word = |c: char| c.is_ascii_alphanumeric() || "!#$&^_.+-".contains(c);
    let is_part = |part: &str| !part.is_empty() && part.len() <= 127 && part.chars().all(is_word);
    let read = |one: &str| {
        let (kind, subtype) = one.split_once('/')?;
        (is_part(kind) && is_part(subtype)).then(|| one.to_ascii_lowercase())
    };
    let all: Option<Vec<String>> = text.split(',').map(|one| read(one.trim())).collect();
    all.filter(|all| all.len() <= MOST_MEDIA_TYPES)
}

fn statuses(text: &str) -> Option<Vec<String>> {
    let read = |one: &str| {
        let status: u16 = one.trim().parse().ok()?;
        (300..=599).contains(&status).then(|| status.to_string())
    };
    let all: Option<Vec<String>> = text.split(',').map(read).collect();
    all.filter(|all| all.len() <= MOST_STATUSES)
}

fn several(text: &str, all: &[&str]) -> Option<Vec<String>> {
    let known = |one: &str| all.contains(&one).then(|| one.to_owned());
    text.split(',').map(|one| known(one.trim())).collect()
}

fn one_of(all: &[&str]) -> String {
    match all {
        [rest @ .., last] if !rest.is_empty() => format!("{} or {last}", rest.join(", ")),
        _ => all.concat(),
    }
}

/// `None`: not all of them are origins, or there are too many.
fn origins(text: &str, most: usize) -> Option<OptionValue> {
    let is_origin = |origin: &str| {
        let rest = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"));
        rest.is_some_and(|rest| {
            let (host, port) = rest.split_once(':').map_or((rest, None), |(host, port)| (host, Some(port)));
            let is_port = |port: &str| (1..=5).contains(&port.len()) && number(port).is_some();
            // Of a wildcard the rest has a dot: nobody has all hosts of a top-level domain.
            let wildcard = host.strip_prefix("*.").filter(|below| below.trim_matches('.').contains('.'));
            let host = wildcard.unwrap_or(host);
            !host.is_empty()
                && host.chars().all(|c| c.is_ascii_alphanumeric() || ".-".contains(c))
                && port.is_none_or(is_port)
        })
    };
    let all: Vec<&str> = text.split(',').map(str::trim).collect();
    let good = text == "*" || (all.len() <= most && all.iter().all(|origin| is_origin(origin)));
    good.then(|| OptionValue::Names(all.into_iter().map(str::to_owned).collect()))
}

/// `None`: not all of them are, or they are too many or too much.
fn weights(text: &str) -> Option<Vec<(String, u64)>> {
    let one = |part: &str| {
        let (service, weight) = part.trim().split_once('=')?;
        let weight = number(weight).filter(|weight| *weight <= 100)?;
        Backend::of(service).map(|_| (service.to_owned(), weight))
    };
    let all: Vec<(String, u64)> = text.split(',').take(MOST_WEIGHTS + 1).map(one).collect::<Option<_>>()?;
    let together: u64 = all.iter().map(|(_, weight)| weight).sum();
    (all.len() <= MOST_WEIGHTS && together <= 100).then_some(all)
}

fn names(text: &str, or_all: bool) -> Option<Vec<String>> {
    let is_word =
        |name: &str| !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || "_-".contains(c));
    let is_name = |name: &str| is_word(name) || (or_all && name == "*");
    let all: Vec<&str> = text.split(',').map(|name| name.trim_matches(' ')).collect();
    let is_trimmed = text.trim_matches(' ') == text;
    let good = text.len() <= 1000 && is_trimmed && all.iter().all(|name| is_name(name));
    good.then(|| all.into_iter().map(str::to_owned).collect())
}
