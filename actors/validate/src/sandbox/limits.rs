//! How much a check may use.

use super::Order;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// How much a check gives way to everything else (`nice`): it keeps a core busy behind changes that are live already.
const NICENESS: i32 = 10;

pub(super) fn put_on(order: &Order) -> Result<(), String> {
    // Who may not give way is no danger.
    let _as_nice_as_before = rustix::process::setpriority_process(None, NICENESS);
    // A configuration that eats memory must not take the controller with it; one of 10,000 backends takes 600 MB.
    limit(Resource::As, order.memory, "memory")?;
    limit(Resource::Cpu, order.seconds, "time on the CPU")?;
    // Pipes are no files: what HAProxy says is still heard.
    exactly(Resource::Fsize, 0, "the size of files")?;
    // A core dump would hold the keys that HAProxy has read.
    exactly(Resource::Core, 0, "core dumps")
}

fn limit(resource: Resource, limit: u64, what: &str) -> Result<(), String> {
    if limit == 0 { Ok(()) } else { exactly(resource, limit, what) }
}

fn exactly(resource: Resource, limit: u64, what: &str) -> Result<(), String> {
    // Nobody but root raises what somebody else has limited further.
    let limit = getrlimit(resource).maximum.map_or(limit, |set| set.min(limit));
    let limit = Rlimit { current: Some(limit), maximum: Some(limit) };
    setrlimit(resource, limit).map_err(|error| format!("{what} cannot be limited: {error}"))
}
