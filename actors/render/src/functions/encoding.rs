//! Texts in other forms.

use super::function::{Function, Group, Kind::*, arg, function};
use crate::value::{
    Value,
    read_json::{self, KeyInterner},
};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use sha2::{Digest as _, Sha256};
use std::fmt::Write as _;

pub(super) static FUNCTIONS: &[Function] = &[
    function(
        "b64encode",
        Group::Strings,
        &[arg("text", Text)],
        "In Base64.",
        (r#"{{b64encode "admin:x"}}"#, "YWRtaW46eA=="),
        |call| Ok(STANDARD.encode(call.text(0).as_bytes()).into()),
    ),
    function(
        "b64decode",
        Group::Strings,
        &[arg("text", Text)],
        "The text that Base64 stands for; Secrets hold their data so.",
        (r#"{{b64decode "YWRtaW46eA=="}}"#, "admin:x"),
        |call| call.session.decoded(&call.text(0), from_base64).map(Value::Text),
    ),
    function(
        "json",
        Group::Strings,
        &[arg("value", Any)],
        "As JSON, keys sorted.",
        (r#"{{json (dict b=1 a=(array true))}}"#, r#"{"a":[true],"b":1}"#),
        |call| Ok(call.value(0).to_json()?.to_string().into()),
    ),
    function(
        "from_json",
        Group::Strings,
        &[arg("text", Text)],
        "The value that JSON stands for.",
        (r#"{{get (from_json "{\"a\": 5}") "a"}}"#, "5"),
        |call| {
            read_json::read(&call.text(0), &KeyInterner::default())
                .map_err(|e| format!("this is not JSON at byte {}", e.position))
        },
    ),
    function(
        "yaml",
        Group::Strings,
        &[arg("value", Any)],
        "As YAML, keys sorted, without a line end.",
        (r#"{{yaml (dict a=1)}}"#, "a: 1"),
        |call| {
            let text = serde_saphyr::to_string(&call.value(0).to_json()?).map_err(|e| e.to_string())?;
            Ok(Value::text(text.trim_end()))
        },
    ),
    function(
        "sha256",
        Group::Strings,
        &[arg("text", Text)],
        "The SHA-256 digest, in hexadecimal digits.",
        (r#"{{slice (sha256 "abc") 0 16}}"#, "ba7816bf8f01cfea"),
        |call| {
            let digest = Sha256::digest(call.text(0).as_bytes());
            Ok(digest
                .iter()
                .fold(String::with_capacity(64), |mut hex, byte| {
                    // Writing to a String cannot fail.
                    _ = write!(hex, "{byte:02x}");
                    hex
                })
                .into())
        },
    ),
];

fn from_base64(text: &str) -> Result<String, String> {
    let bytes = STANDARD.decode(text.trim().as_bytes()).map_err(|e| format!("this is not Base64: {e}"))?;
    String::from_utf8(bytes).map_err(|_| "the decoded bytes are not text (UTF-8)".to_owned())
}
