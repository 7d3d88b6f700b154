//! Work on many things, on as many threads as there are processors.

use std::{iter, panic, thread};

/// For fewer a thread costs more than it saves.
const FEW: usize = 64;
/// The most results that are held at a time.
const BATCH: usize = 1024;

/// The results of `work` for each item, in their order.
pub(crate) fn in_batches<T: Sync, R: Send>(
    mut items: impl Iterator<Item = T>,
    work: impl Fn(&T) -> R + Sync,
) -> impl Iterator<Item = R> {
    let batches = iter::from_fn(move || {
        let batch: Vec<T> = items.by_ref().take(BATCH).collect();
        (!batch.is_empty()).then(|| at_once(&batch, &work))
    });
    batches.flatten()
}

fn at_once<T: Sync, R: Send>(batch: &[T], work: &(impl Fn(&T) -> R + Sync)) -> Vec<R> {
    let all = |part: &[T]| part.iter().map(work).collect::<Vec<R>>();
    if batch.len() < FEW {
        return all(batch);
    }
    let workers = thread::available_parallelism().map_or(1, usize::from);
    let mut parts = batch.chunks(batch.len().div_ceil(workers));
    let own = parts.next().unwrap_or_default();
    thread::scope(|scope| {
        let spawned: Vec<_> = parts
            .map(|part| {
                (part, thread::Builder::new().name("routes".into()).spawn_scoped(scope, || all(part)))
            })
            .collect();
        let mut results = all(own);
        for (part, thread) in spawned {
            results.extend(match thread {
                Ok(thread) => thread.join().unwrap_or_else(|panicked| panic::resume_unwind(panicked)),
                // There are as many threads as there may be.
                Err(_) => all(part),
            });
        }
        results
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_come_in_the_order_of_the_items_however_many_there_are() {
        for count in [0, 1, 63, 64, 65, 1_023, 1_024, 1_025, 5_000] {
            let results = in_batches(0..count, |item| item * 2);
            assert!(results.eq((0..count).map(|item| item * 2)), "{count}");
        }
    }

    #[test]
    fn a_panic_of_a_thread_is_one_of_the_whole() {
        let work = |item: &i32| assert!(*item != 900, "no");
        assert!(panic::catch_unwind(|| in_batches(0..1_000, work).count()).is_err());
    }
}
