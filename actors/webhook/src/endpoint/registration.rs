//! The ValidatingWebhookConfiguration as it must be: each webhook's path and authorities. Everything else in it is its owner's.
//! Pure.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde_json::{Value, json};

/// The list `webhooks` as it must be, if it is not so already.
#[must_use]
pub fn corrected(webhooks: &Value, path: &str, bundle: Option<&str>) -> Option<Value> {
    let mut right = webhooks.clone();
    for webhook in right.as_array_mut()? {
        let Some(client) = webhook.get_mut("clientConfig").and_then(Value::as_object_mut) else { continue };
        if let Some(bundle) = bundle {
            client.insert("caBundle".into(), json!(STANDARD.encode(bundle)));
        }
        if let Some(service) = client.get_mut("service").and_then(Value::as_object_mut) {
            service.insert("path".into(), json!(path));
        } else if let Some(url) = client.get("url").and_then(Value::as_str) {
            let url = with_path(url, path);
            client.insert("url".into(), json!(url));
        }
    }
    (right != *webhooks).then_some(right)
}

/// The authorities that the API server trusts in every one of `webhooks`, PEM.
#[must_use]
pub fn registered(webhooks: &Value) -> Option<String> {
    let bundle = |webhook: &Value| webhook.pointer("/clientConfig/caBundle")?.as_str().map(str::to_owned);
    let mut all = webhooks.as_array()?.iter().map(bundle);
    let first = all.next()??;
    let same = all.all(|other| other.as_ref() == Some(&first));
    let pem = STANDARD.decode(first).ok().and_then(|pem| String::from_utf8(pem).ok());
    pem.filter(|_| same)
}

/// The path at which the API server asks every one of `webhooks`, without its slash.
#[must_use]
pub fn registered_path(webhooks: &Value) -> Option<String> {
    let path = |webhook: &Value| {
        let client = webhook.get("clientConfig")?;
        let of_service = client.pointer("/service/path").and_then(Value::as_str).map(str::to_owned);
        let of_url =
            || Some(format!("/{}", client.get("url")?.as_str()?.split_once("://")?.1.split_once('/')?.1));
        of_service.or_else(of_url)
    };
    let mut all = webhooks.as_array()?.iter().map(path);
    let first = all.next()??;
    all.all(|other| other.as_ref() == Some(&first)).then(|| first.trim_start_matches('/').to_owned())
}

fn with_path(url: &str, path: &str) -> String {
    let (scheme, rest) = url.split_once("://").unwrap_or(("https", url));
    let host = rest.split(['/', '?']).next().unwrap_or_default();
    format!("{scheme}://{host}{path}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn webhooks() -> Value {
        json!([
            {"name": "a", "failurePolicy": "Ignore", "clientConfig": {"service": {"name": "w", "namespace": "n"}}},
            {"name": "b", "clientConfig": {"url": "https://haptic.example:9443/old?x"}},
        ])
    }

    #[test]
    fn path_and_authorities_are_written_and_nothing_else() {
        let right = corrected(&webhooks(), "/secret", Some("pem")).unwrap();
        let mut expected = webhooks();
        expected[0]["clientConfig"]["service"]["path"] = json!("/secret");
        expected[1]["clientConfig"]["url"] = json!("https://haptic.example:9443/secret");
        for webhook in expected.as_array_mut().unwrap() {
            webhook["clientConfig"]["caBundle"] = json!("cGVt");
        }
        assert_eq!(right, expected);
        assert_eq!(corrected(&right, "/secret", Some("pem")), None);
        assert_eq!(registered(&right).as_deref(), Some("pem"));
        assert_eq!(registered_path(&right).as_deref(), Some("secret"), "of Services and of URLs");
        assert_eq!(registered_path(&webhooks()), None);
    }

    #[test]
    fn authorities_that_somebody_else_writes_stay() {
        let mut theirs = webhooks();
        theirs[0]["clientConfig"]["caBundle"] = json!("dGhlaXJz");
        let right = corrected(&theirs, "/secret", None).unwrap();
        assert_eq!(right[0]["clientConfig"]["caBundle"], "dGhlaXJz");
        assert_eq!(registered(&right), None, "the other webhook has none");
    }
}
