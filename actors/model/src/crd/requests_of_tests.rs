//! Requests of a test: what a client sends to HAProxy, and what must come of it.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use std::{collections::BTreeMap, net::IpAddr};

/// Requests of one test.
pub const MOST_REQUESTS: usize = 64;
/// Requests of all tests of a configuration.
pub const MOST_REQUESTS_OF_ALL: usize = 2000;

/// A request, and what must come of it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RequestCheck {
    /// What it proves, shown in results.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 1024))]
    pub description: Option<String>,
    /// What the client sends.
    pub request: Request,
    /// At least one thing that must hold of the answer.
    pub expect: Expectation,
}

/// What a client sends.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Request {
    /// GET without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 32))]
    pub method: Option<String>,
    /// `http://host/path?query`, or `https` for TLS with the host as server name. With a port: the bind line with that port.
    #[schemars(length(min = 1, max = 8192))]
    pub url: String,
    /// Values by name. A `Host` takes the place of the one in the URL.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(schema_with = "headers")]
    pub headers: BTreeMap<String, String>,
    /// Sent as it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 65536))]
    pub body: Option<String>,
    /// The client's address; 192.0.2.1 without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>", length(max = 45))]
    pub from: Option<IpAddr>,
    /// `namespace/name` of a Secret among the fixtures; its `tls.crt` and `tls.key` are the client's certificate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 320))]
    pub client_certificate: Option<String>,
}

/// What must hold of an answer. What is absent here may be anything.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Expectation {
    /// The status code.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 100, max = 599))]
    pub status: Option<u16>,
    /// Values by name; `null`: the answer has no such header.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(schema_with = "expected_headers")]
    pub headers: BTreeMap<String, Option<String>>,
    /// The backend that HAProxy chose; empty: none, a frontend answered by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 1024))]
    pub backend: Option<String>,
    /// The server that HAProxy chose; empty: none, HAProxy answered by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 1024))]
    pub server: Option<String>,
    /// The whole header Location.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 8192))]
    pub location: Option<String>,
    /// A part of the body. The answering server's body is the request as it arrived.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 65536))]
    pub body: Option<String>,
    /// `true`: HAProxy ends the connection without an answer, as it does when it refuses TLS or rejects a connection.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub closed: bool,
}

impl Expectation {
    /// Whether it asks for nothing.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

fn headers(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "object", "maxProperties": 64,
        "additionalProperties": {"type": "string", "maxLength": 8192}
    })
}

fn expected_headers(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "object", "maxProperties": 64,
        "additionalProperties": {"type": "string", "nullable": true, "maxLength": 8192}
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_header_that_must_be_absent_is_null_and_comes_back_as_it_was_written() {
        let check = json!({
            "request": {"url": "https://a.example/", "from": "2001:db8::1", "clientCertificate": "a/b"},
            "expect": {"status": 200, "headers": {"server": null, "x-a": "1"}, "backend": ""},
        });
        let read: RequestCheck = serde_json::from_value(check.clone()).unwrap();
        assert_eq!(read.expect.headers["server"], None);
        assert_eq!(serde_json::to_value(&read).unwrap(), check);
        assert!(Expectation::default().is_empty() && !read.expect.is_empty());
    }
}
