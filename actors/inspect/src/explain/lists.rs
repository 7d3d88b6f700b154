//! The lists that the libraries have Lua ask: of a host, the routes that no key of a map finds. It is read and asked here as there.
//!
//! Of a request only the URL is known. A route that wants more of it is passed by, unless that is assumed, and told of.

use super::expression::{ConditionalRoute, Sample, Traveller};
use regex::bytes::RegexBuilder;

/// The action that asks a list.
pub const ACTION: &str = "lua.haptic-route";

/// The variables that hold a list, in pieces.
const PIECES: [&str; 5] = ["txn.list", "txn.list2", "txn.list3", "txn.list4", "txn.list5"];

/// Does what the action does with the variables of a request: it looks for a route of the path in `txn.NAME` that comes before the one
/// in `variable`. `None`: what it does is not known here.
pub fn ask(traveller: &mut Traveller<'_>, name: &str, variable: &str) -> Option<()> {
    let mut list = String::new();
    for piece in PIECES {
        list += &held(traveller, piece)?.unwrap_or_default();
    }
    let (rules, path) = (held(traveller, "txn.rules")??, held(traveller, &format!("txn.{name}"))??);
    let (route, is_whole) = (held(traveller, variable)?, held(traveller, "txn.exact")?.is_some());
    let question = ListQuestion {
        rules: &rules,
        path: &path,
        host: &traveller.request.host,
        route: route.as_deref(),
        is_whole,
        assumed: traveller.assumed.as_deref(),
    };
    let answer = question.ask(&list)?;
    if let Some(pattern) = answer.pattern.filter(|_| name == "path") {
        traveller.variables.insert("txn.regex".into(), Sample::Text(pattern));
    }
    if let Some(key) = answer.listed {
        traveller.variables.insert("txn.listed".into(), Sample::Text(key));
    }
    traveller.passed_by.extend(answer.passed_by);
    Some(())
}

/// What a variable holds, if that is known, and it holds something.
fn held(traveller: &Traveller<'_>, variable: &str) -> Option<Option<String>> {
    match traveller.variables.get(variable) {
        Some(Sample::Unknown(_)) => None,
        Some(Sample::Text(text)) => Some(Some(text.clone())),
        Some(Sample::Nothing) | None => Some(None),
    }
}

/// What a list is asked.
struct ListQuestion<'q> {
    /// What the keys of its routes begin with.
    rules: &'q str,
    path: &'q str,
    host: &'q str,
    /// The route that keys found.
    route: Option<&'q str>,
    /// Whether that has the whole path.
    is_whole: bool,
    /// The key of a route that has what it wants.
    assumed: Option<&'q str>,
}

/// What it answers.
#[derive(Debug, Default, PartialEq, Eq)]
struct ListAnswer {
    /// The key of a route.
    listed: Option<String>,
    /// Its expression.
    pattern: Option<String>,
    /// Those that come before it and want more.
    passed_by: Vec<ConditionalRoute>,
}

impl ListQuestion<'_> {
    fn ask(&self, list: &str) -> Option<ListAnswer> {
        let (namespace, entries) = list.split_once(';')?;
        let (owner, length) = match self.route {
            Some(route) => about(route).map(|(owner, length)| (owner, Some(length)))?,
            None => (namespace, None),
        };
        let mut answer = ListAnswer::default();
        if owner != namespace {
            return Some(answer);
        }
        for entry in entries.split(';').filter(|entry| !entry.is_empty()) {
            let entry = ListedEntry::read(entry)?;
            let is_shorter = length.is_some_and(|length| entry.path.len() < length);
            if entry.kind != "exact" && (self.is_whole || is_shorter) {
                break;
            }
            // Of the same characters a whole element counts first.
            let is_looser = matches!(entry.kind, "beginning" | "any-case") && entry.conditions.is_empty();
            if is_looser && length == Some(entry.path.len()) || !entry.takes(self.path)? {
                continue;
            }
            let key = format!("{}|{}", self.rules, entry.number);
            let wanted = entry.conditions.iter().filter(|one| !one.holds(self.host));
            let given: Vec<String> = wanted.map(ListedCondition::display).collect();
            if given.is_empty() || self.assumed == Some(&*key) {
                answer.pattern = (entry.kind == "regex").then_some(entry.pattern);
                answer.listed = Some(key);
                break;
            }
            answer.passed_by.push(ConditionalRoute { key, given: given.join(", ") });
        }
        Some(answer)
    }
}

/// Whose a route is, and the length of the path that it begins with.
fn about(route: &str) -> Option<(&str, usize)> {
    let mut fields = route.split('/').skip(1);
    let owner = fields.next()?;
    Some((owner, fields.nth(1)?.parse().ok()?))
}

/// One route of a list.
struct ListedEntry<'e> {
    number: &'e str,
    kind: &'e str,
    /// The longest path that an expression is asked with.
    longest: usize,
    path: String,
    pattern: String,
    conditions: Vec<ListedCondition>,
}

impl<'e> ListedEntry<'e> {
    /// `NUMBER,KIND,LONGEST:OWNER,PATH,PATTERN`, and conditions, each behind a comma.
    fn read(text: &'e str) -> Option<Self> {
        let mut fields = text.split(',');
        let (number, kind, longest) = (fields.next()?, fields.next()?, fields.next()?);
        let longest = longest.split(':').next()?.parse().ok()?;
        let (path, pattern) = (decoded(fields.next()?), decoded(fields.next()?));
        let conditions = fields.map(ListedCondition::read).collect::<Option<_>>()?;
        Some(Self { number, kind, longest, path, pattern, conditions })
    }

    /// Whether it takes a path, whatever else it wants.
    fn takes(&self, path: &str) -> Option<bool> {
        let beginning = path.get(..self.path.len());
        let rest = || path.get(self.path.len()..).unwrap_or_default();
        if self.kind == "any-case" {
            return Some(beginning.is_some_and(|start| start.eq_ignore_ascii_case(&self.path)));
        }
        if beginning != Some(&*self.path) {
            return Some(false);
        }
        match self.kind {
            "exact" => Some(rest().is_empty()),
            "prefix" => Some(rest().is_empty() || rest().starts_with('/')),
            "beginning" => Some(true),
            "regex" if path.len() <= self.longest => {
                let regex = RegexBuilder::new(&self.pattern).unicode(false).build().ok()?;
                Some(regex.is_match(path.as_bytes()))
            }
            _ => None,
        }
    }
}

/// What a route wants of a request besides its path.
enum ListedCondition {
    /// One of these.
    Methods(Vec<String>),
    /// A header or a parameter of the query, with a value, or with one that an expression finds something in.
    Named { is_header: bool, name: String, value: String, is_pattern: bool },
}

impl ListedCondition {
    /// `method|GET|PUT`, `header|NAME|VALUE` or `query|NAME|VALUE`, with the longest value behind an expression.
    fn read(text: &str) -> Option<Self> {
        let (kind, rest) = text.split_once('|')?;
        if kind == "method" {
            return Some(Self::Methods(rest.split('|').map(str::to_owned).collect()));
        }
        let mut fields = rest.split('|');
        let (name, value) = (decoded(fields.next()?), decoded(fields.next()?));
        Some(Self::Named { is_header: kind == "header", name, value, is_pattern: fields.next().is_some() })
    }

    /// Whether a GET request for the host has it that has nothing else.
    fn holds(&self, host: &str) -> bool {
        match self {
            Self::Methods(all) => all.iter().any(|method| method == "GET"),
            Self::Named { is_header, name, value, is_pattern } => {
                *is_header && !is_pattern && name == "host" && value == host
            }
        }
    }

    fn display(&self) -> String {
        match self {
            Self::Methods(all) => format!("method {}", all.join(" or ")),
            Self::Named { is_header, name, value, is_pattern } => {
                let what = if *is_header { "header" } else { "parameter" };
                let how = if *is_pattern { " as" } else { ":" };
                format!("{what} {name}{how} {value}")
            }
        }
    }
}

/// The text of which `encoded` of the routes made this.
fn decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, after @ ..] = rest {
        let escape = digits_of(rest).and_then(|digits| u8::from_str_radix(digits, 16).ok());
        bytes.push(escape.unwrap_or(*first));
        rest = if escape.is_some() { rest.get(3..).unwrap_or_default() } else { after };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The two digits behind a `%` that it begins with.
fn digits_of(rest: &[u8]) -> Option<&str> {
    let digits = rest.strip_prefix(b"%")?.get(..2)?;
    std::str::from_utf8(digits).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIST: &str = "shop;1,exact,0,/whole,,header|x-a|b%20c;2,prefix,0,/x,,method|POST|PUT,query|q|%5E1|256;3,prefix,0,/x,,header|host|a.example;\
        4,regex,64,/r/,%5E/r/[0-9]+$;5,beginning,0,/be,;6,any-case,0,/any,;7,prefix,0,/g,,method|GET;";

    fn asked(path: &str, route: Option<&str>, assumed: Option<&str>) -> ListAnswer {
        let is_whole = false;
        let question = ListQuestion { rules: "a.example", path, host: "a.example", route, is_whole, assumed };
        question.ask(LIST).unwrap()
    }

    fn found(path: &str, route: Option<&str>) -> (Option<String>, Vec<String>) {
        let ListAnswer { listed, passed_by, .. } = asked(path, route, None);
        (listed, passed_by.into_iter().map(|one| one.given).collect())
    }

    #[test]
    fn a_list_is_asked_as_lua_asks_it() {
        for (path, listed) in [
            ("/x/y", Some("3")),
            ("/xy", None),
            ("/r/12", Some("4")),
            ("/r/x", None),
            ("/bear", Some("5")),
            ("/ANYwhere", Some("6")),
            ("/g", Some("7")),
            ("/other", None),
        ] {
            let key = listed.map(|number| format!("a.example|{number}"));
            assert_eq!(found(path, None).0, key, "{path}");
        }
        assert_eq!(asked("/r/12", None, None).pattern.as_deref(), Some("^/r/[0-9]+$"));
        // What keys found comes first where it has more of the path, or is another namespace's.
        for (route, listed) in [
            ("b/shop/i/1", Some("a.example|5".to_owned())),
            ("b/shop/i/3/https", None),
            ("b/shop/i/4", None),
            ("b/blog/i/1", None),
        ] {
            assert_eq!(found("/bear", Some(route)).0, listed, "{route}");
        }
    }

    #[test]
    fn what_wants_more_than_a_url_is_passed_by_and_told_of() {
        let given = |display: &[&str]| display.iter().map(|one| (*one).to_owned()).collect::<Vec<_>>();
        assert_eq!(found("/whole", None), (None, given(&["header x-a: b c"])));
        let (listed, display) = found("/x", None);
        assert_eq!(
            (listed.as_deref(), display),
            (Some("a.example|3"), given(&["method POST or PUT, parameter q as ^1"]))
        );
        let assumed = asked("/x", None, Some("a.example|2"));
        assert_eq!((assumed.listed.as_deref(), assumed.passed_by), (Some("a.example|2"), vec![]));
        let question = ListQuestion {
            rules: "a.example",
            path: "/r/1",
            host: "a.example",
            route: None,
            is_whole: false,
            assumed: None,
        };
        assert_eq!(question.ask("shop;4,regex,2,/r/,x;"), None, "it takes no so long path");
        assert_eq!(question.ask("shop;nonsense;"), None);
    }
}
