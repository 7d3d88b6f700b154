//! What is known of the names that Services name, and when it is published: Services come and go, answers expire.

use crate::{
    dns::Dns,
    table::{LookupResponse, NameTable},
    wanted::RequestedNames,
};
use futures::stream::{FuturesUnordered, StreamExt};
use haptic_model::{
    HAProxyTemplateConfigSpec, Snapshot, Snapshots,
    external_names::{ExternalNames, Resolved},
};
use haptic_routes::class;
use serde::Serialize;
use std::{collections::BTreeSet, sync::Arc, time::Duration};
use tokio::time::Instant;

/// Renders wait for the first answers up to this time; names without one go without.
const FIRST_TIMEOUT: Duration = Duration::from_secs(4);
/// Answers are gathered for this time before they are published: one render for all that come together.
const QUIET: Duration = Duration::from_millis(20);

/// Why nothing is known of names that are not asked for.
const TOO_MANY: &str = "it is not asked for, because its namespace has more than 100 names, or all together have more than 5,000";

/// What is known; `None` until a render may begin with it.
pub type ResolvedNames = Option<Arc<ExternalNames>>;

/// Shown at `/debug/actors`.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TableSize {
    names: usize,
    without_address: usize,
}

/// What is known of the names, and what is to be published of it.
#[derive(Default)]
pub struct Resolution {
    wanted: RequestedNames,
    table: NameTable,
    /// Names that are too many.
    surplus: BTreeSet<Arc<str>>,
    /// When the stores were first read whole.
    began: Option<Instant>,
    is_published: bool,
    /// Since when what is known differs from what is published.
    changed: Option<Instant>,
}

impl Resolution {
    /// What was `published` in a life before stays until there is another answer.
    #[must_use]
    pub fn continuing(published: &ResolvedNames) -> Self {
        let known = published.as_ref().map(|known| (**known).clone());
        Self {
            is_published: known.is_some(),
            table: NameTable::remembering(known.unwrap_or_default()),
            ..Self::default()
        }
    }

    /// Follows the stores of Services and Ingresses once all of them are read.
    pub fn update(&mut self, spec: &HAProxyTemplateConfigSpec, snapshots: &Snapshots, now: Instant) {
        let read = named_by(spec);
        if !snapshots.synced(read.iter().map(String::as_str)) {
            return;
        }
        self.began.get_or_insert(now);
        if self.wanted.update(stores(spec, snapshots)) {
            let (names, surplus) = self.wanted.names();
            self.table.want(&names, now);
            self.surplus = surplus;
            self.changed.get_or_insert(now);
        }
    }

    /// What to ask for now. Each name is to be [answered](Self::answered).
    pub fn take_due(&mut self, now: Instant) -> Vec<Arc<str>> {
        self.table.take_due(now)
    }

    /// Records what a name server answered.
    pub fn answered(&mut self, name: &str, answer: LookupResponse, now: Instant) {
        if self.table.record(name, answer, now) {
            self.changed.get_or_insert(now);
        }
    }

    /// All that is known, if it is to be published now; then it counts as published.
    pub fn take_news(&mut self, now: Instant) -> Option<ExternalNames> {
        let is_due = match (self.is_published, self.began) {
            (true, _) => self.changed.is_some_and(|changed| now >= changed + QUIET),
            (false, Some(began)) => self.table.is_whole() || now >= began + FIRST_TIMEOUT,
            (false, None) => false,
        };
        if !is_due {
            return None;
        }
        (self.is_published, self.changed) = (true, None);
        let mut known = self.table.known();
        known.extend(unknown(&self.surplus, TOO_MANY));
        Some(known)
    }

    /// How many names there are.
    #[must_use]
    pub fn size(&self) -> TableSize {
        let (names, without_address) = self.table.size();
        TableSize { names, without_address }
    }

    /// When there is something to do though nothing happens.
    #[must_use]
    pub fn next(&self, now: Instant) -> Option<Instant> {
        let publishing = if self.is_published {
            self.changed.map(|changed| changed + QUIET)
        } else {
            self.began.map(|began| began + FIRST_TIMEOUT)
        };
        publishing.into_iter().chain(self.table.next_due(now)).min()
    }
}

/// The names of the stores of Services and Ingresses.
fn named_by(spec: &HAProxyTemplateConfigSpec) -> Vec<String> {
    let ingresses = class::ingress_stores(spec).map(|name| name.to_string());
    spec.service_stores().map(str::to_owned).chain(ingresses).collect()
}

fn stores<'s>(
    spec: &HAProxyTemplateConfigSpec,
    snapshots: &'s Snapshots,
) -> impl Iterator<Item = (&'s Arc<str>, &'s Arc<Snapshot>)> {
    let known = named_by(spec);
    snapshots.iter().filter(move |(name, _)| known.iter().any(|known| **known == ***name))
}

/// `names`, of which nothing is known for this reason.
fn unknown<'n>(
    names: impl IntoIterator<Item = &'n Arc<str>>,
    why: &str,
) -> impl Iterator<Item = (Arc<str>, Resolved)> {
    names.into_iter().map(move |name| (name.clone(), Resolved { addresses: Vec::new(), why: why.to_owned() }))
}

/// Asks `dns` for `name`; an error says why there is nobody to ask.
pub async fn question(dns: Result<Dns, String>, name: Arc<str>) -> (Arc<str>, LookupResponse) {
    let answer = match dns {
        Ok(dns) => dns.ask(&name).await,
        Err(why) => LookupResponse::Failure(why),
    };
    (name, answer)
}

/// What the names in `snapshots` lead to, asked once: for commands that render once. What is not known in `time` has no
/// addresses.
pub async fn once(spec: &HAProxyTemplateConfigSpec, snapshots: &Snapshots, time: Duration) -> ExternalNames {
    let (mut wanted, mut table) = (RequestedNames::default(), NameTable::default());
    wanted.update(stores(spec, snapshots));
    let end = Instant::now() + time;
    let (names, surplus) = wanted.names();
    table.want(&names, Instant::now());
    let (dns, mut asked) = (Dns::of_system(), FuturesUnordered::new());
    while !table.is_whole() {
        asked.extend(table.take_due(Instant::now()).into_iter().map(|name| question(dns.clone(), name)));
        match tokio::time::timeout_at(end, asked.next()).await {
            Ok(Some((name, answer))) => table.record(&name, answer, Instant::now()),
            Ok(None) | Err(_) => break,
        };
    }
    let mut known: ExternalNames =
        unknown(&names, "no name server answered in time").chain(unknown(&surplus, TOO_MANY)).collect();
    known.append(&mut table.known());
    known
}
