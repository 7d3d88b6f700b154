//! The agent's API: an order is refused, or stays in the agent's folder and makes only the commands that it says.

use haptic_agent::{
    ops::{Contents, commands, map_chunks},
    request,
};
use haptic_model::{
    Operation,
    agent_api::{Apply, Method, Outcome, RunningBundle, Runtime, Status},
};
use haptic_text::Content;
use serde_json::Value;
use std::path::{Component, Path};

/// The same bytes are an order, and an answer to a controller.
pub fn agent_order(data: &[u8]) {
    answers(data);
    let Ok(order) = serde_json::from_slice::<Apply>(data) else { return };
    let told = serde_json::to_value(&order).expect("an order is JSON");
    let again: Apply = serde_json::from_value(told.clone()).expect("what was written is read");
    assert_eq!(serde_json::to_value(&again).expect("an order is JSON"), told);
    if request::check(&order).is_ok() {
        order.files.keys().for_each(|path| stays_inside(path));
    }
    let contents = contents(&order);
    if let Method::Runtime { operations, .. } = &order.method {
        operations.iter().for_each(|operation| does_what_it_says(operation, &contents));
    }
}

fn answers(data: &[u8]) {
    let same = |told: Result<Value, serde_json::Error>, again: Result<Value, serde_json::Error>| {
        assert_eq!(told.expect("it is written"), again.expect("it is written"));
    };
    macro_rules! read {
        ($($kind:ty),*) => {$(
            if let Ok(answer) = serde_json::from_slice::<$kind>(data) {
                let told = serde_json::to_value(&answer);
                let again: $kind = serde_json::to_string(&answer).and_then(|text| serde_json::from_str(&text)).expect("read again");
                same(told, serde_json::to_value(&again));
            }
        )*};
    }
    read!(Status, Runtime, RunningBundle, Outcome);
}

/// As a file system understands it.
fn stays_inside(path: &str) {
    let path = Path::new(path);
    let plain = path.components().all(|name| matches!(name, Component::Normal(_)));
    assert!(plain && path.components().next().is_some(), "{path:?} leaves the folder");
    // Nothing is left out that the system would see.
    assert_eq!(path.components().collect::<std::path::PathBuf>().as_os_str(), path.as_os_str());
}

/// What an agent has in its hands, were the pieces that it keeps its own configuration.
fn contents(order: &Apply) -> Contents {
    const KNOWN: &str = "k v\n-----BEGIN PRIVATE KEY-----\n-----END PRIVATE KEY-----\né\n";
    let mut contents = Contents::new();
    for (path, content) in &order.contents {
        let text = match content {
            Content::Whole(text) => text.clone(),
            Content::Patch(patch) => match patch.apply(KNOWN, 1 << 20) {
                Ok(text) => {
                    assert!(text.len() <= 1 << 20);
                    text
                }
                Err(_) => continue,
            },
        };
        contents.insert(path.clone(), text);
    }
    contents
}

fn does_what_it_says(operation: &Operation, contents: &Contents) {
    let mut sent = commands(operation, contents).unwrap_or_default();
    let refused = sent.is_empty();
    if let (Operation::ReplaceMap { map }, false) = (operation, refused)
        && let Ok(chunks) = map_chunks(map, "7", &contents[map])
    {
        sent.extend(chunks.map_while(Result::ok));
    }
    let mut texts = Vec::new();
    texts_of(&serde_json::to_value(operation).expect("an operation is JSON"), &mut texts);
    for command in &sent {
        let understood = understood(command);
        assert_eq!(understood.len(), 1, "{command:?} is {understood:?}");
        for (number, word) in understood[0].iter().enumerate() {
            let known =
                KEYWORDS.contains(&word.as_str()) || word.trim_start_matches('@').parse::<u64>().is_ok();
            let of_it = texts.contains(word) || is_of_two(word, &texts) || is_address(word, &texts);
            assert!(
                if number == 0 { VERBS.contains(&word.as_str()) } else { known || of_it },
                "{word:?} of {command:?}"
            );
        }
    }
    exact(operation, &sent);
}

/// Where the texts are anybody's, each is one word.
fn exact(operation: &Operation, sent: &[String]) {
    let words: Vec<Vec<String>> = match operation {
        Operation::SetMapEntry { map, key, value } => {
            vec![["set", "map", map, key, value].map(str::to_owned).into()]
        }
        Operation::AddMapEntry { map, key, value } => {
            ["set", "add"].map(|verb| [verb, "map", map, key, value].map(str::to_owned).into()).into()
        }
        Operation::DelMapEntry { map, key } => vec![["del", "map", map, key].map(str::to_owned).into()],
        Operation::AddAclEntry { acl, pattern } => {
            ["del", "add"].map(|verb| [verb, "acl", acl, pattern].map(str::to_owned).into()).into()
        }
        Operation::AddServer { backend, server, address, params, .. } => {
            let start =
                ["add".to_owned(), "server".to_owned(), format!("{backend}/{server}"), address.clone()];
            let add: Vec<_> = start.into_iter().chain(params.iter().cloned()).collect();
            return assert!(sent.first().is_none_or(|first| understood(first) == [add]), "{sent:?}");
        }
        _ => return,
    };
    let read: Vec<Vec<String>> = sent.iter().flat_map(|command| understood(command)).collect();
    assert!(sent.is_empty() || read == words, "{sent:?} is {read:?}");
}

const VERBS: [&str; 11] =
    ["set", "add", "del", "enable", "new", "commit", "prepare", "publish", "unpublish", "show", "clear"];
const KEYWORDS: [&str; 33] = [
    "server",
    "addr",
    "port",
    "weight",
    "state",
    "ready",
    "drain",
    "maint",
    "maxconn",
    "check-port",
    "agent-addr",
    "agent-port",
    "agent-send",
    "health",
    "agent",
    "backend",
    "from",
    "map",
    "acl",
    "ssl",
    "cert",
    "ca-file",
    "crt-list",
    "frontend",
    "<<",
    "-n",
    "enable",
    "add",
    "set",
    "del",
    "new",
    "commit",
    "prepare",
];

fn texts_of(value: &Value, into: &mut Vec<String>) {
    match value {
        Value::String(text) => into.push(text.clone()),
        Value::Array(items) => items.iter().for_each(|item| texts_of(item, into)),
        Value::Object(fields) => fields.values().for_each(|field| texts_of(field, into)),
        _ => {}
    }
}

/// `backend/server`
fn is_of_two(word: &str, texts: &[String]) -> bool {
    word.split_once('/')
        .is_some_and(|(one, other)| [one, other].iter().all(|part| texts.iter().any(|t| t == part)))
}

/// An IP address may be written in another way.
fn is_address(word: &str, texts: &[String]) -> bool {
    let address = word.parse::<std::net::IpAddr>();
    address.is_ok_and(|address| texts.iter().any(|text| text.parse() == Ok(address)))
}

/// The commands that HAProxy reads (`cli_parse_cmdline`, `cli_parse_request` in src/cli.c), as their words: a line ends
/// at its newline or at `;`, a backslash takes the next character as it is, and behind `<<` lines up to an empty one are
/// content.
fn understood(sent: &str) -> Vec<Vec<String>> {
    let (mut commands, mut words, mut word) = (Vec::new(), Vec::new(), None::<String>);
    let mut rest = sent.chars();
    let mut ended = false;
    while !ended {
        let next = rest.next();
        ended = next.is_none();
        match next {
            Some('\\') => word.get_or_insert_default().extend(rest.next()),
            Some(' ' | '\t') => words.extend(word.take()),
            None | Some('\n' | '\r' | ';') => {
                words.extend(word.take());
                if words.last().is_some_and(|last| last.starts_with("<<")) {
                    let content = rest.as_str();
                    let empty = content.starts_with('\n').then_some(1);
                    let end =
                        empty.or_else(|| content.find("\n\n").map(|at| at + 2)).unwrap_or(content.len());
                    rest = content[end..].chars();
                }
                commands.extend((!words.is_empty()).then(|| std::mem::take(&mut words)));
            }
            Some(other) => word.get_or_insert_default().push(other),
        }
    }
    commands
}
