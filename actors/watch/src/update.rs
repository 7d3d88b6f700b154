//! What a source tells the pump. Objects arrive ingested: compact, without ignored fields, with their key.

use crate::ingest::Ingested;
use haptic_model::{ObjectRef, Oversized};
use std::{collections::BTreeSet, sync::Arc};
use tokio::sync::Notify;

/// The part of a resource that one list covers: a namespace, or `""` for all of it.
pub type ListScope = Arc<str>;

/// One message of a source.
#[derive(Clone, Debug)]
pub enum Update {
    /// Exactly these scopes make up the store from now on. Always the first message.
    Scopes(BTreeSet<ListScope>),
    /// A complete list of the scope follows.
    ListBegun(ListScope),
    /// An object of the list.
    Listed(ListScope, Ingested),
    /// An object that is still there, but cannot be read at present: what the store has of it stays.
    Kept(ListScope, Arc<ObjectRef>),
    /// The list is complete: what it did not name is gone.
    ListEnded(ListScope),
    /// An object was created or changed.
    Put(ListScope, Ingested),
    /// An object is gone, or no longer selected.
    Gone(ListScope, Arc<ObjectRef>),
    /// An object of a list, or one that was created or changed, is larger than any may be.
    Oversized(ListScope, Arc<Oversized>),
    /// All objects of a namespace follow beside the watch, because some of them were left out and there is room again.
    OfferBegun(ListScope),
    /// One of them.
    Offered(ListScope, Ingested),
    /// These were all.
    OfferEnded(ListScope),
    /// An object cannot be used and is left out: what the store has of it stays.
    Malformed(ListScope, Arc<ObjectRef>, String),
    /// The API server does not know the kind, which is optional: as long as that is so, there are no objects of it. What the store has
    /// stays, because a kind does not vanish before its objects do.
    Absent(String),
    /// The watch does not work at present and is tried again: what is wrong, and what to do.
    Failed(String),
    /// All that could not be read has been read.
    Recovered,
    /// Somebody waits until what came before this is published.
    Awaited(Arc<Notify>),
}
