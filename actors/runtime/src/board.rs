//! The board: cells that hold the latest value of something for whoever comes, early or late.
//!
//! State lives here and not in messages, so an actor that starts late or restarts reads and is whole. The types say
//! who may write: a [`CellWriter`] cannot be cloned, a [`CellReader`] can. (An actor's factory keeps its writer in
//! an `Arc`, so that each life of the actor writes to the same cell.)

use std::sync::Arc;

use tokio::sync::watch;

/// The writing end of a cell.
#[derive(Debug)]
pub struct CellWriter<T>(watch::Sender<Arc<T>>);

/// A reading end of a cell, with its own memory of what it has seen.
#[derive(Debug)]
pub struct CellReader<T>(watch::Receiver<Arc<T>>);

/// A cell holding `value`, as its writer and a first reader.
pub fn cell<T>(value: T) -> (CellWriter<T>, CellReader<T>) {
    let (sender, receiver) = watch::channel(Arc::new(value));
    (CellWriter(sender), CellReader(receiver))
}

impl<T: Clone> CellWriter<Vec<T>> {
    /// Puts `item` behind the others, of which no more than `most` stay, the newest: for readers who may be slower than the
    /// writer, and mind what they miss.
    pub fn append(&self, item: T, most: usize) {
        self.update(|held| {
            let surplus = (held.len() + 1).saturating_sub(most);
            held.iter().skip(surplus).cloned().chain([item]).collect()
        });
    }
}

impl<T> CellWriter<T> {
    /// Puts `value` (owned or already shared) in the cell and tells every reader.
    pub fn publish(&self, value: impl Into<Arc<T>>) {
        self.0.send_replace(value.into());
    }

    /// Puts `value` in the cell unless it holds an equal one; whether it was put.
    pub fn publish_if_changed(&self, value: impl Into<Arc<T>>) -> bool
    where
        T: PartialEq,
    {
        let value = value.into();
        self.0.send_if_modified(|held| {
            let changed = **held != *value;
            if changed {
                *held = value;
            }
            changed
        })
    }

    /// Replaces the value by one made from it, with no other write in between.
    pub fn update(&self, change: impl FnOnce(&T) -> T) {
        self.0.send_modify(|held| *held = Arc::new(change(held)));
    }

    /// What the cell holds.
    #[must_use]
    pub fn read(&self) -> Arc<T> {
        Arc::clone(&self.0.borrow())
    }

    /// A reader that has seen the present value.
    #[must_use]
    pub fn reader(&self) -> CellReader<T> {
        CellReader(self.0.subscribe())
    }
}

impl<T> CellReader<T> {
    /// What the cell holds; never waits.
    #[must_use]
    pub fn read(&self) -> Arc<T> {
        Arc::clone(&self.0.borrow())
    }

    /// Resolves with the newest value once it is one this reader has not been given by `changed` before. Values
    /// overwritten meanwhile are skipped. Never resolves again when the writer is gone. Cancel safe.
    pub async fn changed(&mut self) -> Arc<T> {
        match self.0.changed().await {
            Ok(()) => Arc::clone(&self.0.borrow_and_update()),
            Err(_) => futures::future::pending().await,
        }
    }

    /// Resolves with the first value, the present one included, that `wanted` accepts. Never resolves when the
    /// writer is gone and its last value is not wanted. Cancel safe.
    pub async fn wait_for(&mut self, mut wanted: impl FnMut(&T) -> bool) -> Arc<T> {
        if let Ok(value) = self.0.wait_for(|value| wanted(value)).await {
            return Arc::clone(&value);
        }
        futures::future::pending().await
    }
}

/// The clone has seen what its original has seen.
impl<T> Clone for CellReader<T> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;

    use super::*;

    #[test]
    fn of_what_is_appended_the_newest_stay() {
        let (writer, reader) = cell(Vec::new());
        (1..=5).for_each(|number| writer.append(number, 3));
        assert_eq!(*reader.read(), [3, 4, 5]);
    }

    #[tokio::test]
    async fn a_late_reader_sees_the_latest_value() {
        let (writer, _) = cell(1);
        writer.publish(2);
        writer.publish(3);
        assert_eq!(*writer.reader().read(), 3);
    }

    #[tokio::test]
    async fn changed_resolves_once_for_each_batch_of_writes() {
        let (writer, mut reader) = cell(1);
        assert!(reader.changed().now_or_never().is_none());
        writer.publish(2);
        writer.publish(3);
        assert_eq!(reader.changed().now_or_never().as_deref(), Some(&3));
        assert!(reader.changed().now_or_never().is_none());
    }

    #[tokio::test]
    async fn an_equal_value_wakes_nobody() {
        let (writer, mut reader) = cell("a".to_owned());
        assert!(!writer.publish_if_changed("a".to_owned()));
        assert!(reader.changed().now_or_never().is_none());
        assert!(writer.publish_if_changed("b".to_owned()));
        assert_eq!(reader.changed().now_or_never().as_deref().map(String::as_str), Some("b"));
    }

    #[tokio::test]
    async fn a_reader_of_a_finished_writer_keeps_the_value_and_waits() {
        let (writer, mut reader) = cell(7);
        drop(writer);
        assert_eq!(*reader.read(), 7);
        assert!(reader.changed().now_or_never().is_none());
        assert_eq!(reader.wait_for(|value| *value == 7).now_or_never().as_deref(), Some(&7));
    }
}
