//! Requests of a test: read, sent to a HAProxy that runs what was rendered, and compared with what is expected.

use super::{
    answers::compare,
    assertion::{Fault, judge_verdict},
    report::AssertionResult,
    subject::Outcome as Rendered,
};
use base64::{Engine, engine::general_purpose::STANDARD as BASE64};
use haptic_model::{
    Bundle, Diagnostic, HaproxyVersion,
    crd::{MOST_REQUESTS, MOST_REQUESTS_OF_ALL, Request, RequestCheck, ValidationTest, ValidationTests},
};
use haptic_validate::{
    Checker,
    requests::{ClientIdentity, ClientRequest, RequestResults, Unasked},
};
use serde_json::{Map, Value};
use std::{
    net::{IpAddr, Ipv4Addr},
    sync::OnceLock,
    time::Duration,
};
use tokio::time::Instant;

/// A client that nobody knows: an address for documentation.
const SOMEBODY: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1));

/// Bytes of a URL and of a body, as the resource's schema has them.
const LONGEST_URL: usize = 8 << 10;
const LONGEST_BODY: usize = 64 << 10;

/// How long all requests of all tests may take; it begins with the first.
#[derive(Debug, Default)]
pub(super) struct Time {
    pub most: Option<Duration>,
    began: OnceLock<Instant>,
}

/// What came of a test's requests.
#[derive(Debug, Default)]
pub(super) struct Results {
    pub results: Vec<AssertionResult>,
    /// Nothing is known of some of them, and that is nobody's fault.
    pub undecided: bool,
    /// Why some of them were not sent, where that is no failure.
    pub unsent: Option<String>,
}

impl Time {
    pub fn of(most: Option<Duration>) -> Self {
        Self { most, ..Self::default() }
    }

    fn end(&self) -> Option<Instant> {
        self.most.map(|most| *self.began.get_or_init(Instant::now) + most)
    }
}

/// Sends the requests of `test` to what was rendered for it.
pub(super) async fn ask(
    checker: &Checker,
    version: HaproxyVersion,
    test: &ValidationTest,
    rendered: &Rendered,
    time: &Time,
) -> Results {
    if test.requests.is_empty() {
        return Results::default();
    }
    let bundle = match rendered {
        Ok(bundle) => bundle,
        Err(why) => return failed(test, &format!("rendering failed: {why}")),
    };
    let questions: Result<Vec<_>, _> = test.requests.iter().map(|check| read(&check.request, test)).collect();
    match questions {
        Err(why) => failed(test, &why),
        Ok(questions) => {
            let asked = checker.ask(bundle, version, &questions, time.end()).await;
            concluded(asked, test, bundle, time)
        }
    }
}

fn concluded(
    asked: Result<RequestResults, Unasked>,
    test: &ValidationTest,
    bundle: &Bundle,
    time: &Time,
) -> Results {
    let asked = match asked {
        Ok(asked) => asked,
        Err(Unasked::Refused(why)) => return refused(&why, bundle),
        Err(Unasked::Undecided(why)) if time.most.is_some() => {
            return Results { unsent: Some(why.message), ..Results::default() };
        }
        Err(Unasked::Undecided(why)) => return undecided(&why.to_string()),
    };
    let (sent, all) = (asked.outcomes.len(), test.requests.len());
    let results = test.requests.iter().zip(&asked.outcomes).map(|(check, outcome)| {
        let mut wrong = compare(&check.expect, outcome);
        if !wrong.is_empty() {
            wrong.extend(asked.left_out.iter().map(|what| format!("Not run for requests: {what}")));
        }
        result(check, wrong)
    });
    let mut results = Results { results: results.collect(), ..Results::default() };
    if sent < all {
        let why = format!("there was no time for {} of its {all} requests", all - sent);
        match time.most {
            Some(_) => results.unsent = Some(why),
            None => {
                let rest = undecided(&why);
                results.results.extend(rest.results);
                results.undecided = true;
            }
        }
    }
    results
}

/// All of them, for one reason.
fn failed(test: &ValidationTest, why: &str) -> Results {
    let results = test.requests.iter().map(|check| result(check, vec![why.to_owned()]));
    Results { results: results.collect(), ..Results::default() }
}

fn refused(why: &[Diagnostic], bundle: &Bundle) -> Results {
    let fault = judge_verdict(why, bundle).err().unwrap_or_default();
    let message = format!("HAProxy does not start with what was rendered: {}", fault.message);
    Results { results: vec![of_all(Fault { message, ..fault })], ..Results::default() }
}

fn undecided(why: &str) -> Results {
    Results { results: vec![of_all(why.to_owned().into())], undecided: true, unsent: None }
}

fn of_all(fault: Fault) -> AssertionResult {
    AssertionResult {
        kind: "requests",
        description: None,
        target: None,
        passed: false,
        error: Some(fault.message),
        lines: fault.lines,
    }
}

fn result(check: &RequestCheck, wrong: Vec<String>) -> AssertionResult {
    AssertionResult {
        kind: "request",
        description: check.description.clone(),
        target: Some(format!("{} {}", check.request.method.as_deref().unwrap_or("GET"), check.request.url)),
        passed: wrong.is_empty(),
        error: (!wrong.is_empty()).then(|| wrong.join("\n")),
        lines: Vec::new(),
    }
}

/// What is wrong with the requests of `tests` themselves.
pub(super) fn problems(tests: &ValidationTests) -> Vec<Diagnostic> {
    let mut problems = Vec::new();
    for (name, test) in &tests.by_name {
        let field = format!("spec.validationTests.{name}.requests");
        if test.requests.len() > MOST_REQUESTS {
            let many = format!("a test has at most {MOST_REQUESTS} requests, not {}", test.requests.len());
            problems.push(Diagnostic::error("tests", many).at_field(&field).help("Make two tests of it"));
        }
        for (number, check) in test.requests.iter().enumerate() {
            let wrong = match read(&check.request, test) {
                Err(why) => Some(why),
                Ok(_) if check.expect.is_empty() => {
                    Some("a request that expects nothing proves nothing: give status, for example".to_owned())
                }
                Ok(_) => super::answers::contradiction(&check.expect).map(str::to_owned),
            };
            problems.extend(
                wrong.map(|why| Diagnostic::error("tests", why).at_field(format!("{field}[{number}]"))),
            );
        }
    }
    let all: usize = tests.by_name.values().map(|test| test.requests.len()).sum();
    if all > MOST_REQUESTS_OF_ALL {
        let many = format!("all tests together have at most {MOST_REQUESTS_OF_ALL} requests, not {all}");
        problems.push(Diagnostic::error("tests", many).at_field("spec.validationTests"));
    }
    problems
}

/// The request, ready to be sent.
fn read(request: &Request, test: &ValidationTest) -> Result<ClientRequest, String> {
    let method = request.method.as_deref().unwrap_or("GET");
    let method = method.parse().map_err(|_| format!("{:?} is no method", shortened(method)))?;
    let url = url(&request.url)?;
    let headers = request.headers.iter().map(|(name, value)| {
        let known = name.parse().map_err(|_| format!("{:?} is no name of a header", shortened(name)))?;
        let value =
            value.parse().map_err(|_| format!("the header {name} cannot be {:?}", shortened(value)))?;
        Ok::<_, String>((known, value))
    });
    let body = request.body.clone().unwrap_or_default();
    if body.len() > LONGEST_BODY {
        return Err(format!("a body has at most {LONGEST_BODY} bytes, not {}", body.len()));
    }
    let identity = request.client_certificate.as_deref().map(|secret| identity(secret, test)).transpose()?;
    if identity.is_some() && url.scheme_str() == Some("http") {
        return Err("a clientCertificate is shown in TLS only: write https://".to_owned());
    }
    Ok(ClientRequest {
        method,
        url,
        headers: headers.collect::<Result<_, _>>()?,
        body: body.into(),
        from: request.from.unwrap_or(SOMEBODY),
        identity,
    })
}

fn url(text: &str) -> Result<http::Uri, String> {
    let wrong = |why: &str| {
        format!(
            "{:?} is no URL of a request: {why}, for example https://shop.example/cart?x=1",
            shortened(text)
        )
    };
    if text.len() > LONGEST_URL {
        return Err(format!("a URL has at most {LONGEST_URL} bytes, not {}", text.len()));
    }
    let url: http::Uri = text.parse().map_err(|error| wrong(&format!("{error}")))?;
    match (url.scheme_str(), url.host(), url.authority()) {
        (Some("http" | "https"), Some(host), Some(authority)) if !host.is_empty() => {
            if authority.as_str().contains('@') {
                return Err(wrong("a name and password go into the header Authorization"));
            }
            Ok(url)
        }
        _ => Err(wrong("write http or https, and a host")),
    }
}

/// The certificate in the Secret `namespace/name` among the fixtures.
fn identity(name: &str, test: &ValidationTest) -> Result<ClientIdentity, String> {
    let is_named = |object: &&Map<String, Value>| {
        let meta =
            |field: &str| object.get("metadata").and_then(|meta| meta.get(field)).and_then(Value::as_str);
        let namespace = meta("namespace").unwrap_or("default");
        object.get("kind").and_then(Value::as_str) == Some("Secret")
            && meta("name").is_some_and(|own| format!("{namespace}/{own}") == name)
    };
    let secret = test.fixtures.values().flatten().find(is_named).ok_or_else(|| {
        format!(
            "there is no Secret {:?} among the fixtures: clientCertificate is the namespace/name of one",
            shortened(name)
        )
    })?;
    Ok(ClientIdentity { chain: entry(secret, name, "tls.crt")?, key: entry(secret, name, "tls.key")? })
}

fn entry(secret: &Map<String, Value>, name: &str, key: &str) -> Result<Vec<u8>, String> {
    let text = |field: &str| secret.get(field).and_then(|data| data.get(key)).and_then(Value::as_str);
    match (text("stringData"), text("data")) {
        (Some(plain), _) => Ok(plain.as_bytes().to_vec()),
        (None, Some(encoded)) => BASE64
            .decode(encoded)
            .map_err(|error| format!("{key} of the Secret {name} is not base64: {error}")),
        (None, None) => Err(format!("the Secret {name} has no {key}")),
    }
}

/// Of a value that is told.
pub(super) fn shortened(text: &str) -> String {
    haptic_text::shortened(text, 200).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn test(requests: Value) -> ValidationTests {
        serde_json::from_value(json!([{"name": "one", "requests": requests, "fixtures": {"secrets": [
            {"kind": "Secret", "metadata": {"namespace": "a", "name": "whole"}, "data": {"tls.crt": "eA=="}, "stringData": {"tls.key": "y"}},
            {"kind": "Secret", "metadata": {"name": "half"}, "data": {"tls.crt": "*"}},
        ]}}]))
        .unwrap()
    }

    #[test]
    fn a_request_that_cannot_be_sent_or_proves_nothing_is_a_problem() {
        let status = json!({"status": 200});
        for (request, expect, told) in [
            (json!({"url": "/cart"}), &status, "\"/cart\" is no URL of a request: write http or https"),
            (json!({"url": "ftp://a/"}), &status, "write http or https, and a host"),
            (json!({"url": "http://a b/"}), &status, "is no URL of a request"),
            (json!({"url": "http://u:p@a/"}), &status, "go into the header Authorization"),
            (json!({"url": "http://a/", "method": "G T"}), &status, "\"G T\" is no method"),
            (json!({"url": "http://a/", "headers": {"a b": "1"}}), &status, "\"a b\" is no name of a header"),
            (
                json!({"url": "http://a/", "headers": {"a": "1\n2"}}),
                &status,
                "the header a cannot be \"1\\n2\"",
            ),
            (
                json!({"url": "http://a/", "body": "x".repeat(70_000)}),
                &status,
                "at most 65536 bytes, not 70000",
            ),
            (json!({"url": "http://a/", "clientCertificate": "a/whole"}), &status, "shown in TLS only"),
            (
                json!({"url": "https://a/", "clientCertificate": "b/x"}),
                &status,
                "no Secret \"b/x\" among the fixtures",
            ),
            (
                json!({"url": "https://a/", "clientCertificate": "default/half"}),
                &status,
                "tls.crt of the Secret default/half is not base64",
            ),
            (json!({"url": "http://a/"}), &json!({}), "proves nothing"),
            (
                json!({"url": "http://a/"}),
                &json!({"closed": true, "status": 200}),
                "closed goes with nothing else",
            ),
        ] {
            let found = problems(&test(json!([{"request": request, "expect": expect}])));
            let said: Vec<String> = found.iter().map(ToString::to_string).collect();
            assert!(said.len() == 1 && said[0].contains(told), "{request}: {said:?}, not {told:?}");
            assert!(said[0].contains("spec.validationTests.one.requests[0]"), "{said:?}");
        }
        let good = json!({"request": {"url": "https://a:8443/%2e?x#y", "clientCertificate": "a/whole"}, "expect": status});
        assert!(problems(&test(json!([good]))).is_empty());
        let many = vec![good; MOST_REQUESTS + 1];
        assert!(problems(&test(json!(many)))[0].to_string().contains("at most 64 requests, not 65"));
    }

    #[test]
    fn a_client_has_the_certificate_of_a_fixture() {
        let tests = test(
            json!([{"request": {"url": "https://a/", "clientCertificate": "a/whole", "from": "::1"}, "expect": {"status": 200}}]),
        );
        let test = &tests.by_name["one"];
        let question = read(&test.requests[0].request, test).unwrap();
        assert_eq!(question.identity, Some(ClientIdentity { chain: "x".into(), key: "y".into() }));
        assert_eq!(question.from.to_string(), "::1");
    }
}
