//! The API server's audit log: what service accounts asked, and whether they were allowed to.

use crate::failure::Outcome;
use serde_json::{Value, json};
use std::{fs, path::Path};

/// Only service accounts are of interest, and a watch is told when it begins.
#[must_use]
pub fn policy() -> Value {
    json!({
        "apiVersion": "audit.k8s.io/v1", "kind": "Policy", "omitStages": ["RequestReceived"],
        "rules": [
            { "level": "Metadata", "userGroups": ["system:serviceaccounts"] },
            { "level": "None" },
        ],
    })
}

/// One request.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Request {
    /// `system:serviceaccount:NAMESPACE:NAME`.
    pub user: String,
    /// `list`.
    pub verb: String,
    /// `""` for the core group.
    pub group: String,
    /// With the subresource: `ingresses/status`. Empty for what is no resource.
    pub resource: String,
    /// Empty where there is none, or all are meant.
    pub namespace: String,
    /// Empty for all.
    pub name: String,
    /// Whether it was refused for want of a right.
    pub denied: bool,
}

/// The requests in the log `file`.
pub fn read(file: &Path) -> Outcome<Vec<Request>> {
    let text = fs::read_to_string(file)?;
    // The last line may be half written.
    Ok(text.lines().filter_map(|line| serde_json::from_str(line).ok()).map(|entry| request(&entry)).collect())
}

fn request(entry: &Value) -> Request {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let object = &entry["objectRef"];
    let resource = match object["subresource"].as_str() {
        Some(sub) => format!("{}/{sub}", text(&object["resource"])),
        None => text(&object["resource"]),
    };
    Request {
        user: text(&entry["user"]["username"]),
        verb: text(&entry["verb"]),
        group: text(&object["apiGroup"]),
        resource,
        namespace: text(&object["namespace"]),
        name: text(&object["name"]),
        denied: entry["responseStatus"]["code"] == 403,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_of_the_log_is_read() {
        let entry = json!({
            "verb": "patch", "user": { "username": "u" }, "responseStatus": { "code": 403 },
            "objectRef": { "resource": "ingresses", "subresource": "status", "apiGroup": "networking.k8s.io",
                "namespace": "a", "name": "b" },
        });
        let read = request(&entry);
        assert_eq!((read.resource.as_str(), read.group.as_str()), ("ingresses/status", "networking.k8s.io"));
        assert!(read.denied && read.name == "b" && read.namespace == "a" && read.user == "u");
    }
}
