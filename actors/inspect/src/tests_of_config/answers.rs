//! Whether an answer is what a request expects, and if not, a sentence for each thing that it is not. Pure.

use super::requests::shortened;
use haptic_model::crd::Expectation;
use haptic_validate::requests::{ChosenServer, ClientReply, RequestOutcome};

/// What cannot hold together.
pub(super) fn contradiction(expect: &Expectation) -> Option<&'static str> {
    let closed = Expectation { closed: true, ..Expectation::default() };
    let said = "closed goes with nothing else: a connection that is closed has no answer";
    (expect.closed && *expect != closed).then_some(said)
}

/// All that is not as expected; the last sentence says what came instead.
pub(super) fn compare(expect: &Expectation, outcome: &RequestOutcome) -> Vec<String> {
    let (status, headers, body) = match &outcome.reply {
        ClientReply::Closed(_) if expect.closed => return Vec::new(),
        ClientReply::Closed(how) => {
            return vec![format!("HAProxy closed the connection without an answer: {how}")];
        }
        ClientReply::TooLate(after) => {
            return vec![format!("There was no answer within {} s", after.as_secs())];
        }
        ClientReply::Impossible(why) => return vec![format!("There is no answer: {why}")],
        ClientReply::Answer { status, headers, body } => (*status, headers, body),
    };
    let mut wrong = Vec::new();
    if expect.closed {
        wrong.push("The connection is answered, expected it to be closed".to_owned());
    }
    if let Some(expected) = expect.status.filter(|expected| *expected != status) {
        wrong.push(format!("Status is {status}, expected {expected}"));
    }
    if let Some(expected) = &expect.location {
        wrong.extend(of_header("location", Some(expected), headers));
    }
    for (name, expected) in &expect.headers {
        wrong.extend(of_header(name, expected.as_deref(), headers));
    }
    wrong.extend(of_choice(expect, outcome.choice.as_ref()));
    if let Some(part) = expect.body.as_deref().filter(|part| !body.contains(part)) {
        wrong.push(format!("Body lacks {:?}; it is {:?}", shortened(part), shortened(body)));
    }
    if !wrong.is_empty() {
        wrong.push(format!("It was answered with {status}{}", by(outcome.choice.as_ref())));
    }
    wrong
}

/// One of several values is enough.
fn of_header(name: &str, expected: Option<&str>, headers: &[(String, String)]) -> Option<String> {
    let values = headers.iter().filter(|(known, _)| known.eq_ignore_ascii_case(name));
    let values: Vec<&str> = values.map(|(_, value)| &**value).collect();
    let is = match &values[..] {
        [] => "absent".to_owned(),
        some => some.iter().map(|value| format!("{:?}", shortened(value))).collect::<Vec<_>>().join(" and "),
    };
    match expected {
        None if values.is_empty() => None,
        None => Some(format!("Header {name} is {is}, expected none")),
        Some(expected) if values.contains(&expected) => None,
        Some(expected) => Some(format!("Header {name} is {is}, expected {:?}", shortened(expected))),
    }
}

fn of_choice(expect: &Expectation, choice: Option<&ChosenServer>) -> Vec<String> {
    let backend = choice.map(|choice| choice.backend.as_deref());
    let server = choice.map(|choice| choice.server.as_deref());
    let pairs = [("backend", &expect.backend, backend), ("server", &expect.server, server)];
    let wrong = pairs.into_iter().filter_map(|(what, expected, is)| {
        let expected = expected.as_deref()?;
        let named = |name: &str| match name {
            "" => format!("no {what}"),
            name => format!("{what} {:?}", shortened(name)),
        };
        match is {
            None => Some(format!("HAProxy logged nothing, expected {}", named(expected))),
            Some(is) if is.unwrap_or_default() == expected => None,
            Some(is) => {
                Some(format!("It went to {}, expected {}", named(is.unwrap_or_default()), named(expected)))
            }
        }
    });
    wrong.collect()
}

fn by(choice: Option<&ChosenServer>) -> String {
    match choice {
        None => String::new(),
        Some(ChosenServer { backend: Some(backend), server: Some(server) }) => {
            format!(" by server {server} of backend {backend}")
        }
        Some(ChosenServer { backend: Some(backend), server: None }) => {
            format!(" by HAProxy itself in backend {backend}")
        }
        Some(ChosenServer { backend: None, .. }) => {
            " by HAProxy itself, before a backend was chosen".to_owned()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn answer(backend: Option<&str>, server: Option<&str>) -> RequestOutcome {
        let headers = [("server", "x"), ("set-cookie", "a=1"), ("set-cookie", "b=2"), ("location", "/new")];
        let headers = headers.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec();
        let choice = ChosenServer { backend: backend.map(str::to_owned), server: server.map(str::to_owned) };
        RequestOutcome {
            reply: ClientReply::Answer { status: 200, headers, body: "GET /cart\nhost: a\n".to_owned() },
            choice: Some(choice),
        }
    }

    fn wrong(expect: Value, outcome: &RequestOutcome) -> Vec<String> {
        compare(&serde_json::from_value(expect).unwrap(), outcome)
    }

    #[test]
    fn what_is_as_expected_says_nothing() {
        let served = answer(Some("shop"), Some("a"));
        let all = json!({"status": 200, "headers": {"Set-Cookie": "b=2", "x-powered-by": null}, "backend": "shop",
            "server": "a", "location": "/new", "body": "host: a"});
        assert!(wrong(all, &served).is_empty());
        assert!(wrong(json!({"backend": "", "server": ""}), &answer(None, None)).is_empty());
        let closed = RequestOutcome { reply: ClientReply::Closed("TLS".to_owned()), choice: None };
        assert!(wrong(json!({"closed": true}), &closed).is_empty());
    }

    #[test]
    fn each_thing_that_is_not_as_expected_is_a_sentence() {
        let served = answer(Some("shop"), Some("a"));
        let (last, by_itself) = (
            "It was answered with 200 by server a of backend shop",
            "It was answered with 200 by HAProxy itself, before a backend was chosen",
        );
        for (expect, outcome, told) in [
            (json!({"status": 404}), &served, vec!["Status is 200, expected 404", last]),
            (
                json!({"status": 1, "headers": {"server": null, "set-cookie": "c", "x": "1"}}),
                &served,
                vec![
                    "Status is 200, expected 1",
                    "Header server is \"x\", expected none",
                    "Header set-cookie is \"a=1\" and \"b=2\", expected \"c\"",
                    "Header x is absent, expected \"1\"",
                    last,
                ],
            ),
            (
                json!({"backend": "blog", "server": ""}),
                &served,
                vec![
                    "It went to backend \"shop\", expected backend \"blog\"",
                    "It went to server \"a\", expected no server",
                    last,
                ],
            ),
            (
                json!({"backend": "blog"}),
                &answer(None, None),
                vec!["It went to no backend, expected backend \"blog\"", by_itself],
            ),
            (
                json!({"location": "/old"}),
                &served,
                vec!["Header location is \"/new\", expected \"/old\"", last],
            ),
            (
                json!({"body": "POST"}),
                &served,
                vec!["Body lacks \"POST\"; it is \"GET /cart\\nhost: a\\n\"", last],
            ),
            (
                json!({"closed": true}),
                &served,
                vec!["The connection is answered, expected it to be closed", last],
            ),
            (
                json!({"status": 200}),
                &RequestOutcome { reply: ClientReply::Closed("reset".to_owned()), choice: None },
                vec!["HAProxy closed the connection without an answer: reset"],
            ),
            (
                json!({"status": 200}),
                &RequestOutcome {
                    reply: ClientReply::TooLate(std::time::Duration::from_secs(5)),
                    choice: None,
                },
                vec!["There was no answer within 5 s"],
            ),
            (
                json!({"closed": true}),
                &RequestOutcome {
                    reply: ClientReply::Impossible("no bind line has TLS".to_owned()),
                    choice: None,
                },
                vec!["There is no answer: no bind line has TLS"],
            ),
            (
                json!({"backend": "b"}),
                &RequestOutcome { choice: None, ..served.clone() },
                vec!["HAProxy logged nothing, expected backend \"b\"", "It was answered with 200"],
            ),
        ] {
            assert_eq!(wrong(expect.clone(), outcome), told, "{expect}");
        }
    }
}
