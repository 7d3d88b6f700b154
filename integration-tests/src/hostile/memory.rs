//! What a controller holds in memory while something happens: its own process, the checks it starts, its HAProxy.

use crate::{
    failure::{Failure, Outcome},
    process::descendants,
};
use rustix::process::Pid;
use std::{
    fs,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::Duration,
};

/// Between two looks: a check that ends sooner is seen by chance.
const EVERY: Duration = Duration::from_millis(20);

/// The most that was seen, in megabytes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Peaks {
    /// The controller's process.
    pub controller: f64,
    /// All `haproxy -c` at a time.
    pub checks: f64,
    /// What runs in a container with a limit: both.
    pub container: f64,
    /// All other processes that it started: HAProxy, where the controller keeps one.
    pub haproxy: f64,
}

/// Looks all the time, until it is dropped.
pub struct Watch {
    peaks: Arc<Mutex<Peaks>>,
    stop: Arc<AtomicBool>,
}

impl Watch {
    /// Of the process `root` and those that it starts.
    #[must_use]
    pub fn of(root: u32) -> Self {
        let watch = Self { peaks: Arc::default(), stop: Arc::default() };
        let (peaks, stop) = (Arc::clone(&watch.peaks), Arc::clone(&watch.stop));
        thread::spawn(move || {
            while !stop.load(Ordering::Relaxed) {
                let Ok(now) = look(root) else { break };
                peaks.lock().unwrap_or_else(PoisonError::into_inner).raise(now);
                thread::park_timeout(EVERY);
            }
        });
        watch
    }

    /// The peaks since the last time this was asked.
    #[must_use]
    pub fn take(&self) -> Peaks {
        std::mem::take(&mut *self.peaks.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

impl Peaks {
    fn raise(&mut self, now: Self) {
        self.controller = self.controller.max(now.controller);
        self.checks = self.checks.max(now.checks);
        self.container = self.container.max(now.container);
        self.haproxy = self.haproxy.max(now.haproxy);
    }
}

/// What is in memory now.
pub fn look(root: u32) -> Outcome<Peaks> {
    let controller = resident(root).ok_or_else(|| Failure::new("the controller has ended"))?;
    let mut now = Peaks { controller, container: controller, ..Peaks::default() };
    let root = i32::try_from(root).ok().and_then(Pid::from_raw);
    for process in root.map(descendants).unwrap_or_default() {
        let process = process.as_raw_nonzero().get().unsigned_abs();
        let memory = resident(process).unwrap_or_default();
        if is_check(process) {
            now.checks += memory;
            now.container += memory;
        } else {
            now.haproxy += memory;
        }
    }
    Ok(now)
}

/// A check is told apart by its argument.
fn is_check(process: u32) -> bool {
    let line = fs::read(format!("/proc/{process}/cmdline")).unwrap_or_default();
    line.split(|byte| *byte == 0).any(|word| word == b"-c" || word == b"check-in-sandbox")
}

fn resident(process: u32) -> Option<f64> {
    let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    Some(line.split_whitespace().next()?.parse::<f64>().ok()? / 1024.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_memory_of_this_process_is_seen_and_none_of_one_that_is_not_there() {
        assert!(look(std::process::id()).unwrap().controller > 1.0);
        assert!(look(u32::MAX).is_err());
    }
}
