//! The stores beside one of objects that hold routes: *sets*, one for each object, with what it got; options that anybody asks
//! for; users.
//!
//! `routes "ingresses"` reads sets as `list` reads the resource itself. Because a set is an object like any other, blocks that
//! are printed for it are kept from render to render, and only those are printed again whose own set changed: the index is
//! updated by what changed in the store.

mod batches;
mod record;
pub(crate) mod records;

use crate::{
    claims::{Claims, RouteGroup},
    families::Neighbours,
    findings::certificates::{NamedCertificates, SecretsAtTime},
    gateway::{GatewayModel, port_record::RECORDED_AS},
    ingress::{
        self, IngressError, IngressInputs,
        class::{self, Classes},
    },
    objects::{
        paced_contents::{ContentContext, PacedContents},
        referenced::{self, ReferencedObjects, ReferencedStores, ReferencingIngress},
        services::{self, Services},
    },
    ownership::{index::RouteIndex, memory::Clock, owners::Owners},
    reload_pace::ReloadsPerMinute,
    store_names::{auth_targets_of, class_settings_of, options_of, store_of, userlists_of},
    tcp::TcpModel,
    userlists::{Limits, Userlists},
};
use batches::in_batches;
use haptic_model::{
    ActiveConfig, Finding, FindingKind, Findings, HostHolds, Object, ObjectRef, Snapshot, Snapshots,
    gateway::GatewayVerdicts, host_holds,
};
use records::Records;
use std::{
    collections::{BTreeMap, BTreeSet, HashSet},
    sync::Arc,
    time::{Duration, Instant, SystemTime},
};

/// The findings at objects of all stores, from render to render.
#[derive(Clone, Debug, Default)]
struct FoundTogether {
    all: Findings,
    /// By where it was found.
    of: BTreeMap<Arc<str>, Findings>,
}

/// The indexes of all resources that hold routes, from render to render.
#[derive(Clone, Debug, Default)]
pub struct Routes {
    tables: BTreeMap<Arc<str>, Table>,
    now: Option<Instant>,
    date: Option<SystemTime>,
    gateway: GatewayModel,
    tcp: TcpModel,
    contents: PacedContents,
    found: FoundTogether,
    /// The store with what the controller before had written down, as it is known.
    holds: Arc<Snapshot>,
    /// The holds that were written down and are still to be read.
    unread: HostHolds,
    /// Whether [`Self::beside`] was called.
    is_begun: bool,
}

#[derive(Clone, Debug)]
struct Table {
    /// The store as the index knows it.
    source: Arc<Snapshot>,
    services: Services,
    referenced: ReferencedObjects,
    settings: TableSettings,
    neighbours: Neighbours,
    index: RouteIndex,
    records: Records,
    sets: Arc<Snapshot>,
    options: Arc<Snapshot>,
    auth_targets: Arc<Snapshot>,
    class_settings: Arc<Snapshot>,
    userlists: Userlists,
}

/// The things, besides the objects themselves, that decide who gets what.
#[derive(Clone, Debug, PartialEq)]
struct TableSettings {
    classes: Classes,
    owners: Arc<Owners>,
    /// Routes that one object may have.
    most: usize,
}

impl Routes {
    /// Sets the time of the next call of [`Self::beside`]. Without a time nothing is kept for those that are gone.
    pub fn set_time(&mut self, now: Instant) {
        self.now = Some(now);
    }

    /// Sets the date of the next call of [`Self::beside`]. Without one it is not said of certificates that they expire.
    pub fn set_date(&mut self, date: SystemTime) {
        self.date = Some(date);
    }

    /// The same without a time: nothing is kept for those that are gone, nor does any change wait, from the next call of [`Self::beside`] on.
    #[must_use]
    pub fn without_time(&self) -> Self {
        Self { now: None, unread: HostHolds::default(), ..self.clone() }
    }

    /// The same with nothing in it but what is remembered: what it gives next is that of a fresh start which knows as much.
    #[must_use]
    pub fn emptied(&self) -> Self {
        let tables = self.tables.iter().map(|(name, table)| (name.clone(), table.emptied()));
        let tcp = TcpModel::default();
        Self {
            tables: tables.collect(),
            now: self.now,
            date: self.date,
            gateway: self.gateway.emptied(),
            tcp,
            contents: self.contents.emptied(),
            found: FoundTogether::default(),
            holds: self.holds.clone(),
            unread: self.unread.clone(),
            is_begun: self.is_begun,
        }
    }

    /// Remembers, from the next call of [`Self::beside`] on, what another one had written down.
    pub fn remember(&mut self, written: HostHolds) {
        self.unread = written;
    }

    /// The memory, and the holders of what others wait for, as of the last call of [`Self::beside`]; `None` before the first.
    #[must_use]
    pub fn holds(&self) -> Option<HostHolds> {
        let written = self.tables.iter().map(|(name, table)| (name.clone(), table.index.written().clone()));
        let unread = self.unread.0.clone().into_iter();
        let ports = [(RECORDED_AS.into(), self.gateway.written_ports().clone())];
        let all = unread.chain(written).chain(ports).filter(|(_, held)| !held.is_empty());
        self.is_begun.then(|| HostHolds(all.collect()))
    }

    /// `snapshots` with a store of sets and ones of options and of userlists beside each store that holds routes.
    #[must_use]
    pub fn beside(&mut self, config: &ActiveConfig, snapshots: &Snapshots) -> Snapshots {
        let most = config.spec.controller.limits.routes_per_object;
        let settings = TableSettings {
            classes: Classes::of(config, snapshots),
            owners: Arc::new(Owners::of(&config.spec)),
            most,
        };
        let of_config_maps = settings.classes.findings();
        let hold = config.spec.controller.host_hold.get();
        let clock = self.now.map(|now| Clock { now, hold }).filter(|clock| !clock.hold.is_zero());
        let reloads = ReloadsPerMinute::of(&config.spec.templating_settings.extra_context);
        let pace = self.now.map(|now| (now, reloads));
        self.read_holds(snapshots, hold);
        self.is_begun = true;
        let services = services::watched(config, snapshots);
        let referenced = referenced::watched(&config.spec, snapshots);
        let secrets = SecretsAtTime::of(config, snapshots, self.date);
        let mut all = snapshots.clone();
        let known: Vec<Arc<str>> = class::ingress_stores(&config.spec).collect();
        self.tables.retain(|name, _| known.contains(name));
        for name in known {
            // The objects of an on-demand store are not there to be looked at.
            let Some(source) = snapshots.get(&name).filter(|store| !store.is_on_demand()) else { continue };
            let mut table = self.tables.remove(&name).unwrap_or_else(|| Table::new(&settings));
            table.set_secrets(&secrets);
            table.index.set_pace(pace);
            if let Some(written) = self.unread.0.remove(&name) {
                table.index.set_clock(clock);
                table.index.remember(&written);
            }
            let mut table = table.updated(source, services.clone(), &referenced, &settings, clock);
            table.update_sets();
            all =
                all.with(store_of(&name), table.sets.clone()).with(options_of(&name), table.options.clone());
            all = all.with(auth_targets_of(&name), table.auth_targets.clone());
            all = all.with(class_settings_of(&name), table.class_settings.clone());
            self.tables.insert(name, table);
        }
        let all = self.pace_contents(config, all, pace);
        self.tcp.set_secrets(&secrets);
        let all = self.tcp.beside(config, snapshots, all);
        if let Some(written) = self.unread.0.remove(RECORDED_AS) {
            self.gateway.remember(&written);
        }
        let all = self.gateway.beside(config, snapshots, all, self.now, clock);
        self.gather_findings(of_config_maps);
        all
    }

    /// `all` with what options name as it counts: with userlists, and without what waits for a reload.
    fn pace_contents(
        &mut self,
        config: &ActiveConfig,
        all: Snapshots,
        clock: Option<(Instant, ReloadsPerMinute)>,
    ) -> Snapshots {
        let tables = &self.tables;
        let options = |kind, name: &_| {
            tables.values().flat_map(|table| table.index.options_naming(kind, name)).collect()
        };
        let context = ContentContext { options: &options, limits: Limits::of(config), clock };
        let mut all = self.contents.beside(all, &context);
        for (name, table) in &mut self.tables {
            let userlists = table.userlists.update(config, &all, &table.sets);
            all = all.with(userlists_of(name), userlists);
        }
        all
    }

    /// `of_config_maps`: at those of other controllers.
    fn gather_findings(&mut self, of_config_maps: Findings) {
        let tables = self.tables.iter().map(|(name, table)| (store_of(name), table.records.findings()));
        let others = [
            ("tcp".into(), self.tcp.findings()),
            ("gateway".into(), self.gateway.findings()),
            ("config maps".into(), &of_config_maps),
            ("contents".into(), self.contents.findings()),
        ];
        self.found.follow(tables.chain(others).map(|(of, found)| (of, found.clone())).collect());
    }

    /// Takes up the record of the controller before, if it is news.
    fn read_holds(&mut self, snapshots: &Snapshots, hold: Duration) {
        let (Some(store), Some(now)) = (snapshots.get(host_holds::STORE), self.now) else { return };
        if store.is_unchanged_since(&self.holds) {
            return;
        }
        self.holds = store.clone();
        let Some(record) = host_holds::record_in(store) else { return };
        // What this one knows itself counts before it; who reads records says what is wrong with one.
        if let Ok(read) = HostHolds::read(&record.json.bytes(), hold, now) {
            // Where hosts are not kept, ports are all the same; those of this process are newer than what it read when it began.
            let has_ports = self.unread.0.contains_key(RECORDED_AS);
            let is_kept = |resource: &str| match resource {
                RECORDED_AS => !has_ports,
                _ => !hold.is_zero(),
            };
            for (resource, held) in read.0.into_iter().filter(|(resource, _)| is_kept(resource)) {
                let unread = self.unread.0.entry(resource).or_default();
                *unread = std::mem::take(unread).union(held);
            }
        }
    }

    /// When something that is kept for those that are gone is free, or a certificate expires, though nothing may change until then.
    #[must_use]
    pub fn due(&self) -> Option<Instant> {
        let expiring = || {
            let of_tables = self.tables.values().map(|table| table.index.certificates());
            let all = of_tables.chain([self.tcp.certificates()]);
            let next = all.filter_map(NamedCertificates::due).min()?;
            Some(self.now? + next.duration_since(self.date?).unwrap_or_default())
        };
        let free = self.tables.values().filter_map(|table| table.index.due());
        free.chain(self.gateway.due()).chain(self.contents.due()).chain(expiring()).min()
    }

    /// The findings at all objects, as of the last call of [`Self::beside`].
    #[must_use]
    pub fn findings(&self) -> Findings {
        self.found.all.clone()
    }

    /// The verdicts on objects of the Gateway API, as of the last call of [`Self::beside`].
    #[must_use]
    pub fn gateway_verdicts(&self) -> Arc<GatewayVerdicts> {
        self.gateway.verdicts()
    }

    /// The index of the resource of that name, as of the last call of [`Self::beside`].
    #[must_use]
    pub fn index(&self, resource: &str) -> Option<&RouteIndex> {
        self.tables.get(resource).map(|table| &table.index)
    }
}

impl FoundTogether {
    fn follow(&mut self, now: BTreeMap<Arc<str>, Findings>) {
        let none = Findings::default();
        for (_, gone) in self.of.iter().filter(|(of, _)| !now.contains_key(*of)) {
            self.all.follow(gone, &none);
        }
        for (of, found) in &now {
            self.all.follow(self.of.get(of).unwrap_or(&none), found);
        }
        self.of = now;
    }
}

impl Table {
    fn new(settings: &TableSettings) -> Self {
        let index = RouteIndex::with_owners(settings.owners.clone());
        Self::with_index(index, Records::default(), settings.clone())
    }

    fn emptied(&self) -> Self {
        let index = self.index.emptied(self.settings.owners.clone());
        Self::with_index(index, Records::default(), self.settings.clone())
    }

    fn with_index(index: RouteIndex, records: Records, settings: TableSettings) -> Self {
        let (sets, options) = (Arc::new(records.sets().clone()), Arc::new(index.options().clone()));
        let auth_targets = Arc::new(index.auth_targets().clone());
        let class_settings = Arc::new(settings.classes.settings_store());
        Self {
            source: Arc::new(Snapshot::full()),
            services: Services::default(),
            referenced: ReferencedObjects::default(),
            settings,
            neighbours: Neighbours::default(),
            index,
            records,
            sets,
            options,
            auth_targets,
            class_settings,
            userlists: Userlists::default(),
        }
    }

    fn set_secrets(&mut self, secrets: &SecretsAtTime) {
        let touched = self.index.set_secrets(secrets);
        self.records.write(&self.index, touched);
    }

    fn updated(
        mut self,
        source: &Arc<Snapshot>,
        services: Option<Arc<Snapshot>>,
        referenced: &ReferencedStores,
        settings: &TableSettings,
        clock: Option<Clock>,
    ) -> Self {
        let services = self.services.update(services, &settings.classes.options);
        let naming = self.referenced.update(referenced);
        if self.settings != *settings {
            self = self.on(settings, clock);
        }
        self.index.set_clock(clock);
        let is_unchanged =
            source.is_unchanged_since(&self.source) && services.is_empty() && naming.is_empty();
        if is_unchanged && !self.index.is_due() {
            return self;
        }
        let before = std::mem::replace(&mut self.source, source.clone());
        let mut again = HashSet::new();
        for difference in source.differences_from(&before) {
            let object = difference.after.or(difference.before).map(|(object, _)| object);
            if let Some(object) = object {
                let is_there = difference.after.is_some();
                self.neighbours.note(object, is_there, &settings.classes, &mut again);
            }
        }
        let inputs = IngressInputs {
            services: &self.services,
            neighbours: &self.neighbours,
            referenced: &self.referenced,
        };
        let changes = in_batches(source.differences_from(&before), |d| match (d.after, d.before) {
            (Some((object, _)), _) => Some(changed(object, settings, &inputs)),
            (None, Some((object, _))) => {
                inputs.referenced.forget(&name_of(&object.reference));
                Some((object.reference.clone(), None))
            }
            (None, None) => None,
        });
        let mut leading: BTreeSet<_> = self.index.leading_to(&services).into_iter().collect();
        // What counts for them may be another thing than when they began to wait.
        leading.extend(self.index.due_objects().cloned());
        leading.extend(self.index.naming(&again));
        let mut leading: BTreeSet<ReferencingIngress> =
            leading.iter().map(|object| name_of(object)).collect();
        leading.extend(naming);
        let leading = leading.iter().filter_map(|(namespace, name)| source.get(namespace, name));
        let leading = in_batches(leading, |object| changed(object, settings, &inputs));
        let touched = self.index.update(leading.chain(changes.flatten()));
        self.records.write(&self.index, touched);
        self
    }

    fn update_sets(&mut self) {
        if !self.records.sets().is_unchanged_since(&self.sets) {
            self.sets = Arc::new(self.records.sets().clone());
        }
        if !self.index.options().is_unchanged_since(&self.options) {
            self.options = Arc::new(self.index.options().clone());
        }
        if !self.index.auth_targets().is_unchanged_since(&self.auth_targets) {
            self.auth_targets = Arc::new(self.index.auth_targets().clone());
        }
    }

    /// The same objects where other classes are ours, or hosts belong to others: all of them are read again.
    fn on(self, settings: &TableSettings, clock: Option<Clock>) -> Self {
        let Self { source, mut services, referenced, mut index, mut records, userlists, .. } = self;
        services.read_again(&settings.classes.options);
        index.set_clock(clock);
        index.set_owners(settings.owners.clone());
        let mut neighbours = Neighbours::default();
        for object in source.iter() {
            neighbours.note(object, true, &settings.classes, &mut HashSet::new());
        }
        let inputs = IngressInputs { services: &services, neighbours: &neighbours, referenced: &referenced };
        let touched = index.update(in_batches(source.iter(), |object| changed(object, settings, &inputs)));
        records.write(&index, touched);
        let table = Self::with_index(index, records, settings.clone());
        Self { source, services, referenced, userlists, neighbours, ..table }
    }
}

fn name_of(ingress: &ObjectRef) -> ReferencingIngress {
    (ingress.namespace.clone(), ingress.name.clone())
}

fn changed(
    object: &Object,
    settings: &TableSettings,
    inputs: &IngressInputs<'_>,
) -> (Arc<ObjectRef>, Option<Claims>) {
    inputs.referenced.forget(&name_of(&object.reference));
    let claims = match ingress::claims(&object.json.bytes(), &settings.classes, inputs) {
        Ok(claims) => Some(claims.within(settings.most)),
        Err(IngressError::OtherClass) => None,
        Err(why @ IngressError::Unreadable(_)) => Some(unreadable(&object.reference, why.to_string())),
    };
    (object.reference.clone(), claims)
}

/// The claims of an object that cannot be read: its name, and why it gets nothing.
fn unreadable(object: &ObjectRef, why: String) -> Claims {
    let metadata = serde_json::json!({ "namespace": object.namespace, "name": object.name });
    let fields = serde_json::Map::from_iter([
        ("metadata".to_owned(), metadata),
        ("faults".to_owned(), serde_json::json!([])),
    ]);
    let group = RouteGroup { id: object.name.clone(), ..RouteGroup::default() };
    let findings = vec![Finding::new(FindingKind::ObjectUnreadable, why)];
    Claims { findings, groups: vec![group], fields: fields.into(), ..Claims::default() }
}
