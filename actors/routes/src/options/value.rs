//! The value of an option once it is read.

use super::{
    auth_url::AuthUrl,
    header::{Header, Part},
    network::Network,
    request_key::RequestKey,
};
use crate::matching::conditions::Condition;
use serde_json::{Value as Json, json};
use std::{collections::BTreeMap, sync::Arc};

/// Options, and what they are.
pub type OptionValues = BTreeMap<&'static str, OptionValue>;

/// One value. What may be large is shared by all groups of paths for which it counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OptionValue {
    /// On or off.
    Switch(bool),
    /// A number, of milliseconds for times, of bytes for sizes.
    Number(u64),
    /// One of a choice, or a text of its kind.
    Text(String),
    /// Names or origins.
    Names(Arc<[String]>),
    /// Networks.
    Networks(Arc<[Network]>),
    /// Headers to set.
    Headers(Arc<[Header]>),
    /// The service that is asked whether a request may pass.
    AuthUrl(AuthUrl),
    /// A part of requests.
    RequestKey(RequestKey),
    /// Ports of Services and percentages.
    Weights(Vec<(String, u64)>),
    /// The conditions on a request.
    Conditions(Arc<[Condition]>),
    /// A regular expression.
    Regex {
        /// As HAProxy takes it.
        pattern: String,
        /// The longest path that it may be asked with, if that is bounded.
        longest_path: Option<usize>,
    },
    /// Rewrites of paths, one rule after the other.
    Rewrites {
        /// Expressions as HAProxy takes them, and paths.
        rules: Vec<(String, String)>,
        /// The longest path that they may be asked with, if that is bounded.
        longest_path: Option<usize>,
    },
}

impl OptionValue {
    /// As templates read it.
    #[must_use]
    pub fn to_json(&self) -> Json {
        match self {
            Self::Switch(on) => json!(on),
            Self::Number(number) => json!(number),
            Self::Text(text) => json!(text),
            Self::Names(names) => json!(**names),
            Self::Networks(networks) => {
                let one = |n: &Network| json!({"network": n.text(), "prefixes": n.prefixes()});
                networks.iter().map(one).collect()
            }
            Self::Headers(headers) => headers.iter().map(of_header).collect(),
            Self::AuthUrl(url) => url.to_json(),
            Self::RequestKey(key) => key.to_json(),
            Self::Weights(weights) => weights
                .iter()
                .map(|(service, weight)| json!({"service": service, "weight": weight}))
                .collect(),
            Self::Conditions(conditions) => {
                conditions.iter().map(|one| json!({"name": one.name, "value": one.value})).collect()
            }
            Self::Regex { pattern, longest_path } => {
                let mut fields = serde_json::Map::from_iter([("pattern".to_owned(), json!(pattern))]);
                fields.extend(longest_path.map(|longest| ("longestPath".to_owned(), json!(longest))));
                Json::Object(fields)
            }
            Self::Rewrites { rules, longest_path } => {
                let one = |(pattern, path): &(String, String)| json!({"pattern": pattern, "path": path});
                let rules: Vec<Json> = rules.iter().map(one).collect();
                let mut fields = serde_json::Map::from_iter([("rules".to_owned(), json!(rules))]);
                fields.extend(longest_path.map(|longest| ("longestPath".to_owned(), json!(longest))));
                Json::Object(fields)
            }
        }
    }
}

/// A value with variables has parts.
fn of_header(header: &Header) -> Json {
    let parts = header.parts();
    if !parts.iter().any(|part| matches!(part, Part::Variable(_))) {
        return json!({"name": header.name, "value": header.value});
    }
    let one = |part: Part<'_>| match part {
        Part::Text(text) => json!({ "text": text }),
        Part::Variable(name) => json!({ "variable": name }),
    };
    let parts: Vec<Json> = parts.into_iter().map(one).collect();
    json!({"name": header.name, "value": header.value, "parts": parts})
}
