//! Streams of messages that an actor may give up. Its context keeps a stream until that ends, and a future of a context must not be
//! cancelled: see [`haptic_runtime::supervisor`].

use futures::{Stream, StreamExt, channel::oneshot};

/// Ends a stream when it is dropped.
pub(super) struct StreamScope {
    _dropped: oneshot::Sender<()>,
}

/// `stream`, for as long as the scope lives.
pub(super) fn scoped<S: Stream>(stream: S) -> (StreamScope, impl Stream<Item = S::Item>) {
    let (sender, dropped) = oneshot::channel();
    (StreamScope { _dropped: sender }, stream.take_until(dropped))
}
