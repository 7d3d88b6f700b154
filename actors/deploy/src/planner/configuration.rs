//! What changed in haproxy.cfg, by its meaning.

use super::{
    Effect, Reason, ReasonKind, backend::BackendLines, references::References, server::ServerContext,
    view::RunningView, whole_backend,
};
use haptic_haproxy::{
    Document, SectionKind,
    block_index::{DifferingPart, READ_AT_ONCE, differing},
    diff::{ConfigChange, SectionChange, compare},
    views::maxconn,
};
use haptic_model::{Bundle, Capabilities, Operation};

/// The part of a haproxy.cfg that may differ from the other one, with all defaults sections that it needs.
pub(super) struct DifferingConfig<'c> {
    document: Document<'c>,
    /// The defaults section of each section.
    pub inheritance: Vec<Option<usize>>,
    /// What all lines refer to, also those of the part that does not differ.
    pub references: &'c References,
    /// Its files.
    pub bundle: Option<&'c Bundle>,
}

impl<'c> DifferingConfig<'c> {
    fn read(text: &'c str, view: &'c RunningView) -> Self {
        let document = Document::parse(text);
        let inheritance = document.inheritance();
        let (references, bundle) = (&view.block_index().aggregate().references, view.bundle());
        Self { document, inheritance, references, bundle }
    }

    pub fn document(&self) -> &Document<'c> {
        &self.document
    }
}

/// What each change asks of the running HAProxy.
pub(super) fn effects(
    running: &RunningView,
    desired: &RunningView,
    capabilities: Capabilities,
) -> Vec<Effect> {
    let config = |view: &RunningView| view.bundle().map(|bundle| bundle.config.digest);
    if config(running) == config(desired) {
        return Vec::new();
    }
    let parts = differing(running.block_index(), desired.block_index(), READ_AT_ONCE);
    let of_part = |part: DifferingPart<'_>| {
        let (old, new) = part.texts();
        let (old, new) = (DifferingConfig::read(&old, running), DifferingConfig::read(&new, desired));
        effects_of_part(&old, &new, capabilities)
    };
    parts.into_iter().flat_map(of_part).collect()
}

fn effects_of_part(
    old: &DifferingConfig<'_>,
    new: &DifferingConfig<'_>,
    capabilities: Capabilities,
) -> Vec<Effect> {
    let mut effects = Vec::new();
    for change in compare(old.document(), new.document()) {
        match change {
            ConfigChange::Servers { backend, added, removed, modified, reordered } => {
                let facts = backend_named(old, &backend);
                let place = ServerContext {
                    name: &backend,
                    backend: &facts,
                    references: old.references,
                    brought: new.bundle,
                };
                if reordered {
                    effects.extend(place.reordered());
                }
                let is_moved = modified.iter().any(|(a, b)| (&a.address, a.port) != (&b.address, b.port));
                if reordered || is_moved || !added.is_empty() || !removed.is_empty() {
                    let why = backend_named(new, &backend).why_doubled();
                    effects.extend(why.map(|why| Effect::Reload(Reason::new(ReasonKind::Server, why))));
                }
                effects.extend(modified.iter().map(|(before, after)| place.changed(before, after)));
                effects.extend(added.iter().map(|server| place.added(server)));
                effects.extend(removed.iter().map(|server| place.removed(server)));
            }
            ConfigChange::SectionAdded { kind: SectionKind::Backend, position, .. } => {
                effects.extend(whole_backend::added(old, new, position, capabilities));
            }
            ConfigChange::SectionRemoved { kind: SectionKind::Backend, name } => {
                effects.extend(whole_backend::removed(old, &name, capabilities));
            }
            ConfigChange::Section {
                kind: SectionKind::Frontend,
                name,
                what: SectionChange::Lines(lines),
            } if lines.is_change_of("maxconn") => {
                effects.push(frontend_maxconn(new, name));
            }
            other => effects.push(Effect::Reload(Reason::new(ReasonKind::Configuration, other.to_string()))),
        }
    }
    effects
}

/// Only the limit of a frontend changed, which the socket can set.
fn frontend_maxconn(new: &DifferingConfig<'_>, frontend: String) -> Effect {
    let section = new.document().section(&SectionKind::Frontend, &frontend);
    let maxconn = section.and_then(maxconn).and_then(|maxconn| u32::try_from(maxconn).ok());
    match maxconn.filter(|maxconn| *maxconn > 0) {
        Some(maxconn) => Effect::Operations(vec![Operation::SetFrontendMaxconn { frontend, maxconn }]),
        None => {
            let why = format!("frontend {frontend}: maxconn changed");
            Effect::Reload(Reason::new(ReasonKind::Configuration, why))
        }
    }
}

fn backend_named(configuration: &DifferingConfig<'_>, name: &str) -> BackendLines {
    let document = configuration.document();
    let found =
        document.sections.iter().position(|section| section.kind.has_backend() && section.name == name);
    found.map(|at| BackendLines::read(document, &configuration.inheritance, at)).unwrap_or_default()
}
