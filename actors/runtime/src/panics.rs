//! Panics told once, with the name of the actor they happened in.
//!
//! The hook reports and remembers; catching and restarting is the supervisor's work.

use std::{
    any::Any,
    cell::RefCell,
    panic::{self, AssertUnwindSafe, PanicHookInfo},
    sync::Arc,
};

thread_local! {
    static CURRENT: RefCell<Option<Arc<str>>> = const { RefCell::new(None) };
    static LAST: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Sends every panic to tracing, once, with the actor's name and the source location. Call it first in `main`.
pub fn install_panic_hook() {
    panic::set_hook(Box::new(report));
}

/// Runs `work` as `actor`; a panic comes back as its message and place.
pub fn catch<T>(actor: &Arc<str>, work: impl FnOnce() -> T) -> Result<T, String> {
    let outer = CURRENT.replace(Some(Arc::clone(actor)));
    let result = panic::catch_unwind(AssertUnwindSafe(work));
    CURRENT.set(outer);
    result.map_err(|payload| describe(payload.as_ref()))
}

fn report(info: &PanicHookInfo<'_>) {
    let message = message_of(info.payload());
    let place = info.location().map_or_else(|| "an unknown place".to_owned(), ToString::to_string);
    let actor = CURRENT.try_with(|current| current.borrow().as_deref().map(str::to_owned)).ok().flatten();
    let thread = std::thread::current();
    let name = actor.as_deref().or(thread.name()).unwrap_or("unnamed thread");
    tracing::error!(actor = name, place, "panic: {message}");
    LAST.set(Some(format!("{message}, at {place}")));
}

/// The hook's words when it ran, else what the payload alone tells.
fn describe(payload: &(dyn Any + Send)) -> String {
    LAST.take().unwrap_or_else(|| message_of(payload).to_owned())
}

/// The text a panic was raised with.
pub(crate) fn message_of(payload: &(dyn Any + Send)) -> &str {
    payload
        .downcast_ref::<String>()
        .map(String::as_str)
        .or_else(|| payload.downcast_ref::<&str>().copied())
        .unwrap_or("a panic without a message")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_caught_panic_tells_its_message() {
        let actor: Arc<str> = "render".into();
        let caught = catch(&actor, || panic!("no backend {}", 7));
        assert!(caught.is_err_and(|why| why.contains("no backend 7")));
        assert_eq!(catch(&actor, || 3), Ok(3));
    }
}
