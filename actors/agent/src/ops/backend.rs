//! Backends (HAProxy 3.4): `add backend`, `publish backend`, `unpublish backend` and `del backend`.

use super::{
    argument::name,
    exchange::{Batch, Exchange, Preparation, PreparedOperation, PriorOperations, accepted},
    read_back::{Expectation, ReadBack, ReadBackVerdict, statistics},
    removals, server,
};
use crate::{disk::ledger::Removal, haproxy::answer::SocketAnswer};
use haptic_model::Operation;
use std::collections::{BTreeMap, BTreeSet};

/// With more backends than this, one look at all costs HAProxy less than one at each: it searches its list for each.
pub(super) const FEW_BACKENDS: usize = 32;

// --- commands --------------------------------------------------------------------------------------

pub(super) fn add<'o>(backend: &'o str, defaults: &'o str) -> Preparation<'o> {
    let add = format!("add backend {} from {}", name(backend)?, name(defaults)?);
    let begin = move |add, prior: &PriorOperations<'_>| {
        let removal = Removal::backend(backend);
        let interrupted = prior.interrupted.as_ref().and_then(|all| all.get(backend));
        Ok(match prior.ledger.cancel(&removal) {
            Some(before) => restore(backend, defaults, removal, before, add),
            None => send_add(backend, add, interrupted.is_some_and(|before| before == defaults)),
        })
    };
    let prepared = PreparedOperation::one(add).in_batch(Batch::Additions).beginning(begin);
    Ok(prepared.expecting(move |all| _ = all.backends.insert(backend)))
}

/// `add backend`. `may_be_there`: an interrupted order added it from the same defaults section, or was about to.
fn send_add<'o>(backend: &'o str, add: Vec<String>, may_be_there: bool) -> Exchange<'o> {
    Exchange::new(add, move |replies, ledger| {
        if may_be_there && replies.iter().any(|reply| reply.says().exists()) {
            return Ok(None);
        }
        accepted(replies).inspect_err(|_| ledger.not_added(backend)).map(|()| None)
    })
}

/// A backend that waited to be removed: it is removed and added, or stays when it still finishes requests and came from the
/// same defaults section.
fn restore<'o>(
    backend: &'o str,
    defaults: &'o str,
    removal: Removal,
    before: String,
    add: Vec<String>,
) -> Exchange<'o> {
    Exchange::new(vec![removal.command()], move |replies, ledger| {
        if replies.iter().any(|reply| removals::is_gone(&removal, reply.says())) {
            return Ok(Some(send_add(backend, add, false)));
        }
        if before != defaults {
            ledger.wait_for(removal, &before);
            return Err(format!("backend {backend} from defaults {before} still finishes requests"));
        }
        Ok(None)
    })
}

pub(super) fn publish<'o>(backend: &'o str) -> Preparation<'o> {
    let publish = PreparedOperation::one(format!("publish backend {}", name(backend)?));
    let expect = move |all: &mut Expectation<'o>| _ = all.published.insert(backend, true);
    Ok(publish.in_batch(Batch::Additions).expecting(expect))
}

pub(super) fn unpublish<'o>(backend: &'o str) -> Preparation<'o> {
    let unpublish = PreparedOperation::one(format!("unpublish backend {}", name(backend)?));
    let expect = move |all: &mut Expectation<'o>| _ = all.published.insert(backend, false);
    Ok(unpublish.or(SocketAnswer::is_missing).in_batch(Batch::Removals).expecting(expect))
}

pub(super) fn delete<'o>(backend: &'o str, defaults: &'o str) -> Preparation<'o> {
    let delete = vec![format!("del backend {}", name(backend)?)];
    let deletion = removals::deletion(delete, Removal::backend(backend), defaults.to_owned());
    Ok(deletion.expecting(move |all| _ = all.backends.remove(backend)))
}

/// The backends that `operations` add, with their defaults sections.
pub(super) fn added(operations: &[Operation]) -> BTreeMap<String, String> {
    let added = operations.iter().filter_map(|operation| match operation {
        Operation::AddBackend { backend, defaults } => Some((backend.clone(), defaults.clone())),
        _ => None,
    });
    added.collect()
}

// --- reading back ----------------------------------------------------------------------------------

/// What to ask of backends and their servers. A backend that was added and has no servers yet is asked for too.
pub(super) fn questions<'e>(all: &'e Expectation<'_>) -> Vec<ReadBack<'e>> {
    let backends: BTreeSet<&str> = all.servers.keys().chain(&all.backends).copied().collect();
    let mut questions: Vec<_> = backends.into_iter().map(|backend| about_servers(all, backend)).collect();
    questions.extend(server::questions_about_maxconn(all));
    let published = all.published.iter().map(|(backend, expected)| (*backend, *expected));
    if all.published.len() > FEW_BACKENDS {
        questions.push(about_publication("-1", published.collect()));
    } else {
        questions.extend(published.map(|one| about_publication(one.0, BTreeMap::from([one]))));
    }
    questions
}

fn about_servers<'e>(all: &'e Expectation<'_>, backend: &'e str) -> ReadBack<'e> {
    ReadBack::new(format!("show servers state {backend}"), move |answer| {
        if SocketAnswer::of(answer.lines().next().unwrap_or_default()).is_missing() {
            let mut servers = all.servers.get(backend).into_iter().flat_map(BTreeMap::values);
            let missing = all.backends.contains(backend) || servers.any(|server| !server.deleted);
            return ReadBackVerdict::of(missing.then(|| format!("there is no backend {backend}")));
        }
        ReadBackVerdict::all(server::differences(all, backend, answer))
    })
}

/// `show stat` says `UP (UNPUB)` of a backend that rules cannot choose.
fn about_publication<'e>(which: &str, expected: BTreeMap<&'e str, bool>) -> ReadBack<'e> {
    ReadBack::new(format!("show stat {which} 2 -1"), move |answer| {
        let shown =
            statistics(answer, "status").map(|(backend, _, status)| (backend, !status.contains("UNPUB")));
        let shown: BTreeMap<&str, bool> =
            shown.filter(|(backend, _)| expected.contains_key(backend)).collect();
        let wrong = expected.iter().filter_map(|(backend, expected)| match (expected, shown.get(backend)) {
            (true, None) => Some(format!("there is no backend {backend}")),
            (true, Some(false)) => Some(format!("backend {backend} is not published")),
            (false, Some(true)) => Some(format!("backend {backend} is still published")),
            _ => None,
        });
        ReadBackVerdict::all(wrong.collect())
    })
}
