//! Looks for those at fault in what was rendered, for a bounded time and beside everything else.

use haptic_attribution::causes::{Charge, FailureCauses, Ruling, find_causes};
use haptic_model::{Bundle, pipeline::Rendered};
use haptic_runtime::cpu;
use std::{sync::Arc, time::Duration};
use tokio::{runtime::Handle, time::Instant};

/// Everybody waits for a search: what is not cleared by then is left out, and cleared piece by piece later.
const LONGEST: Duration = Duration::from_secs(6);
/// Where nothing good is known, nobody has anything until it ends, and what is left out is served by nothing.
const LONGEST_AT_FIRST: Duration = Duration::from_secs(10);

/// What did not pass.
#[derive(Debug)]
pub(crate) struct Search {
    pub rendered: Arc<Rendered>,
    /// What passed last.
    pub good: Option<Arc<Rendered>>,
    /// What was said of it.
    pub ruling: Ruling,
}

impl Search {
    /// Finds causes by what `evaluate` says of parts, that of so many objects, which it says by the time that it is given.
    pub async fn run<J>(self, evaluate: J) -> FailureCauses
    where
        J: AsyncFn(Bundle, usize, Instant) -> Ruling + Send + 'static,
    {
        let runtime = Handle::current();
        let end = Instant::now() + if self.good.is_some() { LONGEST } else { LONGEST_AT_FIRST };
        let work = cpu("validate", move || {
            let evaluate = async |bundle: Bundle, objects: usize| {
                let is_over = || Instant::now() >= end;
                if is_over() {
                    return None;
                }
                let ruling = evaluate(bundle, objects, end).await;
                // What was cut short says nothing.
                (!matches!(ruling, Ruling::Unfinished(_)) || !is_over()).then_some(ruling)
            };
            let charge = Charge {
                bundle: &self.rendered.bundle,
                good: self.good.as_ref().map(|good| &good.bundle),
                ruling: &self.ruling,
                throttled: &self.rendered.previous_failures.throttled,
                is_new_configuration: self.is_new_configuration(),
            };
            runtime.block_on(find_causes(&charge, evaluate))
        });
        work.await.unwrap_or_else(|panicked| {
            tracing::error!(%panicked, "nobody is found at fault");
            FailureCauses::default()
        })
    }

    fn is_new_configuration(&self) -> bool {
        let spec = &self.rendered.config.spec;
        self.good.as_ref().is_none_or(|good| !Arc::ptr_eq(&good.config.spec, spec))
    }
}
