//! Servers that go while connections still keep them: HAProxy has them in maintenance until the last one ends.

use crate::{
    call_error::CallError, client::Api, error::ApiError, memory::PodMemory, responses::ResponseMeaning,
    target::ApplyTarget,
};
use haptic_haproxy::{Document, Section, SectionKind, views::servers};
use haptic_model::operation::ServerState;
use serde_json::Value;

/// Adds a server, which stays in maintenance until its state is set.
pub(super) async fn add(
    api: &Api,
    (backend, server): (&str, &str),
    body: &Value,
    target: ApplyTarget<'_>,
    memory: &mut PodMemory,
) -> Result<(), CallError> {
    let id = (backend.to_owned(), server.to_owned());
    let mut added = api.add_server(backend, body).await;
    if added.as_ref().is_err_and(|why| why.means(ResponseMeaning::Exists))
        && let Some(before) = memory.lingering.get(&id)
    {
        let is_as_before =
            || target.config_text().and_then(|text| written(text, backend, server)).as_ref() == Some(before);
        // The last connections of the one before may have ended meanwhile. If not, it comes back as it was.
        added = match api.delete_server(backend, server).await {
            Ok(()) => api.add_server(backend, body).await,
            Err(CallError::Refused(_)) if is_as_before() => Ok(()),
            Err(CallError::Refused(_)) => added,
            failed => failed,
        };
    }
    added?;
    memory.lingering.remove(&id);
    Ok(())
}

/// Gone when its last connections are; the API puts it into maintenance before.
pub(super) async fn delete(
    api: &Api,
    (backend, server): (&str, &str),
    config: &str,
    memory: &mut PodMemory,
) -> Result<(), CallError> {
    if remove(api, backend, server).await? {
        return Ok(());
    }
    let running = memory.files.as_ref().and_then(|(_, files)| files.get(config));
    let words = running.and_then(|(_, text)| written(text, backend, server)).unwrap_or_default();
    memory.lingering.insert((backend.to_owned(), server.to_owned()), words);
    api.set_state(backend, server, ServerState::Maint).await
}

/// Tries again to remove servers whose connections may have ended: few at once, for each is several calls, and the next change waits.
pub(crate) async fn sweep(api: &Api, memory: &mut PodMemory) -> Result<(), ApiError> {
    const AT_ONCE: usize = 5;
    let turn = memory.looked % memory.lingering.len().max(1);
    memory.looked = memory.looked.wrapping_add(1);
    let some: Vec<(String, String)> = memory
        .lingering
        .keys()
        .cycle()
        .skip(turn)
        .take(AT_ONCE.min(memory.lingering.len()))
        .cloned()
        .collect();
    for (backend, server) in some {
        if remove(api, &backend, &server).await? {
            memory.lingering.remove(&(backend, server));
        }
    }
    Ok(())
}

/// Removes a server; whether HAProxy has it no longer.
async fn remove(api: &Api, backend: &str, server: &str) -> Result<bool, ApiError> {
    if let Err(error) = api.delete_server(backend, server).await {
        error.refusal()?;
        return Ok(api.server(backend, server).await?.is_none());
    }
    Ok(true)
}

/// The words of a server in haproxy.cfg, its defaults included.
fn written(config: &str, backend: &str, server: &str) -> Option<String> {
    let document = Document::parse(config);
    let is_it = |section: &Section<'_>| {
        matches!(section.kind, SectionKind::Backend | SectionKind::Listen) && section.name == backend
    };
    let position = document.sections.iter().position(is_it)?;
    let servers = servers(&document, &document.inheritance(), position);
    let found = servers.iter().find(|known| known.name == server)?;
    let words: Vec<String> = found
        .effective_params()
        .iter()
        .filter(|parameter| parameter.name != "disabled")
        .flat_map(|parameter| parameter.words().map(str::to_owned).collect::<Vec<_>>())
        .collect();
    Some(format!("{} {}", found.endpoint, words.join(" ")))
}
