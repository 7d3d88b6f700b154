//! The setting `tcpPorts`: ports and ranges of them.

use serde_json::{Map, Value};
use std::{collections::BTreeMap, ops::RangeInclusive, sync::Arc};

/// The most ports that HAProxy listens at for that: each is a line.
const MOST: usize = 256;

/// The ports that the operator lists.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ListedPorts {
    all: BTreeMap<u16, PortOwners>,
    /// The entries that cannot be read, in sentences.
    pub problems: Vec<String>,
}

/// The namespaces that a port is for; `None`: all of them.
type PortOwners = Option<Arc<[String]>>;

impl ListedPorts {
    /// Of `extraContext`.
    pub fn of(context: &Map<String, Value>) -> Self {
        let mut listed = Self::default();
        let Some(given) = context.get("tcpPorts") else { return listed };
        let entries = given.as_array().map_or(std::slice::from_ref(given), Vec::as_slice);
        let own: Vec<u64> = ["httpPort", "httpsPort", "healthPort"]
            .iter()
            .filter_map(|name| context.get(*name).and_then(Value::as_u64))
            .collect();
        for entry in entries {
            let Some((range, owners)) = read(entry) else {
                listed.problems.push(format!(
                    "extraContext.tcpPorts has {entry}, it must be a port, a range such as \"9000-9010\", or {{ports: 5432, namespaces: [db]}}"
                ));
                continue;
            };
            if listed.all.len() + range.len() > MOST {
                listed.problems.push(format!("extraContext.tcpPorts has more than {MOST} ports"));
                return listed;
            }
            if let Some(port) = own.iter().find(|port| range.clone().any(|one| u64::from(one) == **port)) {
                let sentence =
                    format!("extraContext.tcpPorts has {entry}, and port {port} is another one of HAProxy's");
                listed.problems.push(sentence);
                continue;
            }
            for port in range {
                listed.all.entry(port).or_insert_with(|| owners.clone());
            }
        }
        listed
    }

    /// Whether a port is listed.
    pub fn has(&self, port: u16) -> bool {
        self.all.contains_key(&port)
    }

    /// Whether a port that is listed is for a namespace.
    pub fn admits(&self, port: u16, namespace: &str) -> bool {
        let owners = self.all.get(&port).and_then(Option::as_ref);
        owners.is_none_or(|owners| owners.iter().any(|owner| owner == namespace))
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = u16> {
        self.all.keys().copied()
    }
}

/// An entry: ports, and the namespaces that they are for.
fn read(entry: &Value) -> Option<(RangeInclusive<u16>, PortOwners)> {
    let Some(fields) = entry.as_object() else { return Some((range(entry)?, None)) };
    let names = fields.get("namespaces")?.as_array()?.iter().map(|name| name.as_str().map(str::to_owned));
    Some((range(fields.get("ports")?)?, Some(names.collect::<Option<_>>()?)))
}

/// The ports of a text, `None` where it is none.
fn range(entry: &Value) -> Option<RangeInclusive<u16>> {
    let text = entry.as_u64().map(|port| port.to_string()).or_else(|| entry.as_str().map(str::to_owned))?;
    let (first, last) = text.split_once('-').unwrap_or((&text, &text));
    let port = |text: &str| text.trim().parse::<u16>().ok().filter(|port| *port > 0);
    let (first, last) = (port(first)?, port(last)?);
    (first <= last).then_some(first..=last)
}
