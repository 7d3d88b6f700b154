//! Backends that come and go as a whole (HAProxy 3.4 and later; Management Guide 9.3, `add backend`).
//!
//! Such a backend takes everything from a named defaults section. So the section may hold servers and nothing else.

use super::{
    Effect, Reason, ReasonKind, backend::BackendLines, configuration::DifferingConfig, server::ServerContext,
};
use haptic_haproxy::{Section, SectionKind, views::servers};
use haptic_model::{Capabilities, Operation};

/// A backend that is only in the new configuration, at `position` there.
pub(super) fn added(
    old: &DifferingConfig<'_>,
    new: &DifferingConfig<'_>,
    position: usize,
    capabilities: Capabilities,
) -> Vec<Effect> {
    let document = new.document();
    let Some(section) = document.sections.get(position) else { return Vec::new() };
    let facts = BackendLines::read(document, &new.inheritance, position);
    match defaults_of(section, &facts, "add", capabilities) {
        Err(why) => vec![reload(why)],
        Ok(_) if old.references.has_namesake(&section.name) => {
            vec![reload(format!("{}: a frontend or a defaults section has the same name", section.title()))]
        }
        Ok(defaults) => {
            let (backend, defaults) = (section.name.to_string(), defaults.to_owned());
            let place = ServerContext {
                name: &backend,
                backend: &facts,
                references: old.references,
                brought: new.bundle,
            };
            let mut effects = vec![Effect::Operations(vec![
                Operation::AddBackend { backend: backend.clone(), defaults },
                Operation::PublishBackend { backend: backend.clone() },
            ])];
            effects.extend(
                servers(document, &new.inheritance, position)
                    .iter()
                    .map(|server| place.added_with_all(server)),
            );
            effects
        }
    }
}

/// A backend that is only in the running configuration.
pub(super) fn removed(old: &DifferingConfig<'_>, name: &str, capabilities: Capabilities) -> Vec<Effect> {
    let document = old.document();
    let is_it = |section: &Section<'_>| section.kind == SectionKind::Backend && section.name == name;
    let Some(position) = document.sections.iter().position(is_it) else { return Vec::new() };
    let Some(section) = document.sections.get(position) else { return Vec::new() };
    let facts = BackendLines::read(document, &old.inheritance, position);
    let defaults = match defaults_of(section, &facts, "remove", capabilities) {
        Ok(_) if old.references.names_backend(name) => {
            return vec![reload(format!(
                "backend {name} is gone, and the running configuration names it elsewhere"
            ))];
        }
        Ok(defaults) => defaults.to_owned(),
        Err(why) => return vec![reload(why)],
    };
    let backend = name.to_owned();
    let place = ServerContext { name, backend: &facts, references: old.references, brought: None };
    let mut effects = vec![Effect::Operations(vec![
        Operation::UnpublishBackend { backend: backend.clone() },
        Operation::DeleteBackend { backend, defaults },
    ])];
    effects.extend(
        servers(document, &old.inheritance, position).iter().map(|server| place.removed_with_all(server)),
    );
    effects
}

/// The defaults section that the backend takes everything from, or why it cannot come or go at run time.
fn defaults_of<'s>(
    section: &'s Section<'_>,
    facts: &BackendLines,
    verb: &str,
    capabilities: Capabilities,
) -> Result<&'s str, String> {
    let title = section.title();
    if !capabilities.dynamic_backends {
        let who = match capabilities.data_plane_api {
            Some(_) => "the Data Plane API".to_owned(),
            None => format!("HAProxy {}", capabilities.version),
        };
        return Err(format!("{title}: {who} cannot {verb} a backend at run time"));
    }
    let only_servers = |keyword: &str| matches!(keyword, "" | "server");
    if let Some(line) = section.lines.iter().find(|line| !only_servers(line.keyword())) {
        return Err(format!(
            "{title}: HAProxy can {verb} one of nothing but servers at run time, and it has {}",
            line.keyword()
        ));
    }
    if section.lines.iter().any(|line| line.conditional) {
        return Err(format!("{title}: what stands in .if is known only when HAProxy starts"));
    }
    let Some(defaults) = section.from.as_deref() else {
        return Err(format!(
            "{title}: without a named defaults section (backend {} from …) it is made only when HAProxy starts",
            section.name
        ));
    };
    if !facts.has_dynamic_mode() {
        return Err(format!(
            "{title}: defaults {defaults} must say mode http or mode tcp for a backend at run time"
        ));
    }
    Ok(defaults)
}

fn reload(why: String) -> Effect {
    Effect::Reload(Reason::new(ReasonKind::Configuration, why))
}
