//! Operations alone: what HAProxy follows at once, while what is on its disk stays as it is. A push of a large configuration takes
//! the API seconds; these take milliseconds, and do not wait for one.

use crate::{
    apply::PodSession, error::ApiError, operate::ExpectedState, step::server, stop::Stop, target::ApplyTarget,
};
use haptic_model::{
    Operation,
    agent_api::{Apply, Method, Outcome, Running},
};
use std::sync::Arc;

/// Whether the order can be carried out by calls that touch no file: servers come and go, nothing but haproxy.cfg differs, and what
/// differs is to be stored later.
pub(crate) fn is_fast(order: &Apply) -> bool {
    let Method::Runtime { operations, store: false } = &order.method else { return false };
    let is_call = |operation: &Operation| {
        matches!(
            operation,
            Operation::AddServer { .. } | Operation::DeleteServer { .. } | Operation::SetServerState { .. }
        )
    };
    let only_config = order.files.keys().all(|path| *path == order.config);
    order.since.is_some() && order.since == order.base && only_config && operations.iter().all(is_call)
}

impl PodSession<'_> {
    /// Carries out an order that [`is_fast`]. `None`: the pod is not as it was left, and has to be looked at first.
    pub async fn fast_path(mut self, order: &Apply) -> Result<Option<Outcome>, ApiError> {
        // A push under way raises it.
        self.version = match self.memory.is_pushing {
            true => self.memory.version,
            false => Some(self.api.configuration_version().await?),
        };
        if !self.is_as_left().await? {
            self.memory.is_known = self.was_known;
            return Ok(None);
        }
        if let Some(outcome) = self.objection(order) {
            return Ok(Some(outcome));
        }
        self.follow(order).await.or_else(Stop::into_result).map(Some)
    }

    async fn follow(&mut self, order: &Apply) -> Result<Outcome, Stop> {
        let target = match self.memory.target(order) {
            Ok(target) => Arc::new(target),
            Err(paths) => {
                self.memory.is_known = self.was_known;
                return Ok(Outcome::Missing { paths });
            }
        };
        let steps = self.steps(order, &target).map_err(Stop::half_way)?;
        let Some(before) = self.memory.record.clone() else {
            return Ok(Outcome::Conflict { running: None });
        };
        self.announce(order, &[]).await?;
        let mut wanted = ExpectedState::default();
        let files = ApplyTarget { files: &target, config: &order.config };
        self.carry_out_all(&steps, files, &mut wanted).await?;
        wanted.read_back(self.api).await?;
        server::sweep(self.api, self.memory).await?;
        let mut record = before.running(Running { digest: order.target, generation: order.generation });
        record.epoch = record.epoch.max(order.epoch);
        self.write_record(record).await?;
        self.memory.runs_beyond(order.target, target);
        self.memory.is_known = true;
        Ok(self.applied(false, String::new()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use haptic_model::{Epoch, Generation};
    use haptic_text::{Content, Digest};
    use std::collections::BTreeMap;

    fn order(operations: Vec<Operation>, files: &[&str]) -> Apply {
        let base = Some(Digest::of(b"before"));
        Apply {
            epoch: Epoch::default(),
            generation: Generation(2),
            base,
            target: Digest::of(b"after"),
            config: "haproxy.cfg".to_owned(),
            since: base,
            files: files.iter().map(|path| ((*path).to_owned(), Some(Digest::of(b"x")))).collect(),
            contents: BTreeMap::<String, Content>::new(),
            method: Method::Runtime { operations, store: false },
        }
    }

    fn delete() -> Operation {
        Operation::DeleteServer { backend: "b".into(), server: "s".into(), params: vec![] }
    }

    #[test]
    fn only_servers_that_come_and_go_are_followed_without_a_push() {
        assert!(is_fast(&order(vec![delete()], &["haproxy.cfg"])));
        let weight = Operation::SetServerWeight { backend: "b".into(), server: "s".into(), weight: 3 };
        assert!(!is_fast(&order(vec![delete(), weight], &["haproxy.cfg"])), "an action needs a push");
        assert!(!is_fast(&order(vec![delete()], &["haproxy.cfg", "maps/a.map"])), "a map is a file");
        let stored = Method::Runtime { operations: vec![delete()], store: true };
        assert!(!is_fast(&Apply { method: stored, ..order(Vec::new(), &[]) }));
        let whole = Apply { since: None, ..order(vec![delete()], &["haproxy.cfg"]) };
        assert!(!is_fast(&whole), "what else differs is unknown");
    }
}
