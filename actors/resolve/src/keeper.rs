//! The loop that keeps what names lead to: Services come and go, answers run out.

use crate::{
    dns::Dns,
    table::{Answer, Table},
    wanted::Wanted,
};
use futures::stream::{FuturesUnordered, StreamExt};
use haptic_model::{
    ActiveConfig, HAProxyTemplateConfigSpec, Snapshot, Snapshots,
    external_names::{ExternalNames, Resolved},
};
use haptic_runtime::{CellReader, CellWriter};
use serde::Serialize;
use std::{collections::BTreeSet, sync::Arc, time::Duration};
use tokio::time::Instant;

/// Renders wait so long for the first answers; names without one go without.
const PATIENCE: Duration = Duration::from_secs(4);
/// Answers are gathered so long before they are told: one render for all that come together.
const GATHERED: Duration = Duration::from_millis(20);

/// Why nothing is known of names that are not asked for.
const TOO_MANY: &str = "it is not asked for, because its namespace has more than 100 names, or all together have more than 5,000";

/// What is known; `None` until a render may begin with it.
pub type Names = Option<Arc<ExternalNames>>;

/// Keeps it.
#[derive(Clone)]
pub struct Keeper {
    /// The configuration that was accepted last: it says which stores hold Services.
    pub config: CellReader<Option<Arc<ActiveConfig>>>,
    /// All stores.
    pub snapshots: CellReader<Snapshots>,
    /// Where it goes.
    pub names: Arc<CellWriter<Names>>,
    /// Who is asked; `None`: those of this machine.
    pub dns: Option<Dns>,
}

/// Shown at `/debug/actors`.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Size {
    names: usize,
    without_address: usize,
}

/// What the loop remembers.
#[derive(Default)]
struct Round {
    wanted: Wanted,
    table: Table,
    /// Names that are too many.
    others: BTreeSet<Arc<str>>,
    /// When the stores were first read whole.
    began: Option<Instant>,
    /// Whether anything was told.
    told: bool,
    /// Since when there is news to tell.
    news: Option<Instant>,
}

impl Keeper {
    /// Keeps it until the future is dropped.
    pub async fn run(mut self, shown: impl Fn(&Size)) {
        let mut round = Round::remembering(&self.names.read());
        let mut asked = FuturesUnordered::new();
        let mut dns = self.dns.clone().ok_or_else(String::new);
        loop {
            let now = Instant::now();
            round.look(&self.config.read(), &self.snapshots.read(), now);
            let due = round.table.take_due(now);
            if !due.is_empty() && dns.is_err() {
                dns = Dns::of_system();
            }
            asked.extend(due.into_iter().map(|name| question(dns.clone(), name)));
            if round.is_to_be_told(now) {
                self.names.publish_if_changed(Some(Arc::new(round.known())));
                let (names, without_address) = round.table.size();
                shown(&Size { names, without_address });
                (round.told, round.news) = (true, None);
            }
            tokio::select! {
                Some((name, answer)) = asked.next(), if !asked.is_empty() => round.note(&name, answer),
                () = until(round.next(now)) => {}
                _ = self.snapshots.changed() => {}
                _ = self.config.changed() => {}
            }
        }
    }
}

impl Round {
    /// What was told in a life before stays until there is another answer.
    fn remembering(told: &Names) -> Self {
        let known = told.as_ref().map(|known| (**known).clone());
        Self {
            told: known.is_some(),
            table: Table::remembering(known.unwrap_or_default()),
            ..Self::default()
        }
    }

    fn look(&mut self, config: &Option<Arc<ActiveConfig>>, snapshots: &Snapshots, now: Instant) {
        let Some(config) = config else { return };
        let names = || config.spec.service_stores();
        if !snapshots.synced(names()) {
            return;
        }
        self.began.get_or_insert(now);
        if self.wanted.update(stores(&config.spec, snapshots)) {
            let (names, others) = self.wanted.names();
            self.table.want(&names, now);
            self.others = others;
            self.news.get_or_insert(now);
        }
    }

    fn note(&mut self, name: &str, answer: Answer) {
        let now = Instant::now();
        if self.table.note(name, answer, now) {
            self.news.get_or_insert(now);
        }
    }

    fn is_to_be_told(&self, now: Instant) -> bool {
        match (self.told, self.began) {
            (true, _) => self.news.is_some_and(|news| now >= news + GATHERED),
            (false, Some(began)) => self.table.is_whole() || now >= began + PATIENCE,
            (false, None) => false,
        }
    }

    fn known(&self) -> ExternalNames {
        let mut known = self.table.known();
        known.extend(unknown(&self.others, TOO_MANY));
        known
    }

    /// When to look again though nothing happens.
    fn next(&self, now: Instant) -> Option<Instant> {
        let telling = if self.told {
            self.news.map(|news| news + GATHERED)
        } else {
            self.began.map(|began| began + PATIENCE)
        };
        telling.into_iter().chain(self.table.next_due(now)).min()
    }
}

/// The stores of Services.
fn stores<'s>(
    spec: &HAProxyTemplateConfigSpec,
    snapshots: &'s Snapshots,
) -> impl Iterator<Item = (&'s Arc<str>, &'s Arc<Snapshot>)> {
    let known: Vec<String> = spec.service_stores().map(str::to_owned).collect();
    snapshots.iter().filter(move |(name, _)| known.iter().any(|known| **known == ***name))
}

/// `names`, of which nothing is known for this reason.
fn unknown<'n>(
    names: impl IntoIterator<Item = &'n Arc<str>>,
    why: &str,
) -> impl Iterator<Item = (Arc<str>, Resolved)> {
    names.into_iter().map(move |name| (name.clone(), Resolved { addresses: Vec::new(), why: why.to_owned() }))
}

async fn question(dns: Result<Dns, String>, name: Arc<str>) -> (Arc<str>, Answer) {
    let answer = match dns {
        Ok(dns) => dns.ask(&name).await,
        Err(why) => Answer::Failure(why),
    };
    (name, answer)
}

async fn until(when: Option<Instant>) {
    match when {
        Some(when) => tokio::time::sleep_until(when).await,
        None => std::future::pending().await,
    }
}

/// What the names in `snapshots` lead to, asked once: for commands that render once. What is not known in `time` has no
/// addresses.
pub async fn once(spec: &HAProxyTemplateConfigSpec, snapshots: &Snapshots, time: Duration) -> ExternalNames {
    let (mut wanted, mut table) = (Wanted::default(), Table::default());
    wanted.update(stores(spec, snapshots));
    let end = Instant::now() + time;
    let (names, others) = wanted.names();
    table.want(&names, Instant::now());
    let (dns, mut asked) = (Dns::of_system(), FuturesUnordered::new());
    while !table.is_whole() {
        asked.extend(table.take_due(Instant::now()).into_iter().map(|name| question(dns.clone(), name)));
        match tokio::time::timeout_at(end, asked.next()).await {
            Ok(Some((name, answer))) => table.note(&name, answer, Instant::now()),
            Ok(None) | Err(_) => break,
        };
    }
    let mut known: ExternalNames =
        unknown(&names, "no name server answered in time").chain(unknown(&others, TOO_MANY)).collect();
    known.append(&mut table.known());
    known
}
