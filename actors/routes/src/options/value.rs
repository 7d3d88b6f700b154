//! What an option's value is once it is read.

use super::{auth::AuthUrl, header::Header, network::Network};
use crate::conditions::Condition;
use serde_json::{Value as Json, json};

/// One value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OptionValue {
    /// On or off.
    Switch(bool),
    /// A number, of milliseconds for times, of bytes for sizes.
    Number(u64),
    /// One of a choice, or a text of its kind.
    Text(String),
    /// Names or origins.
    Names(Vec<String>),
    /// Networks.
    Networks(Vec<Network>),
    /// Headers to set.
    Headers(Vec<Header>),
    /// Who is asked whether a request may pass.
    AuthUrl(AuthUrl),
    /// Ports of Services and percentages.
    Weights(Vec<(String, u64)>),
    /// What a request must have.
    Conditions(Vec<Condition>),
    /// A regular expression.
    Regex {
        /// As HAProxy takes it.
        pattern: String,
        /// The longest path that it may be asked with, if that is bounded.
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
            Self::Names(names) => json!(names),
            Self::Networks(networks) => {
                let one = |n: &Network| json!({"network": n.text(), "prefixes": n.prefixes()});
                networks.iter().map(one).collect()
            }
            Self::Headers(headers) => {
                headers.iter().map(|h| json!({"name": h.name, "value": h.value})).collect()
            }
            Self::AuthUrl(url) => url.to_json(),
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
        }
    }
}
