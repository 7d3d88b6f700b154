//! What a process holds in memory, as the kernel counts it.

use integration_tests::{Failure, Outcome};
use std::fs;

/// Megabytes of a process.
pub struct Memory {
    /// Now.
    pub resident: f64,
    /// At most so far.
    pub peak: f64,
}

/// The memory of process `number`.
pub fn of(number: u32) -> Outcome<Memory> {
    let status = fs::read_to_string(format!("/proc/{number}/status"))?;
    let of = |field: &str| -> Outcome<f64> {
        let line = status.lines().find_map(|line| line.strip_prefix(field)?.strip_prefix(':'));
        let kilobytes: Option<f64> =
            line.and_then(|line| line.split_whitespace().next()).and_then(|number| number.parse().ok());
        kilobytes
            .map(|kb| kb / 1024.0)
            .ok_or_else(|| Failure::new(format!("/proc has no {field} of {number}")))
    };
    Ok(Memory { resident: of("VmRSS")?, peak: of("VmHWM")? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_memory_of_a_process_is_read_from_the_kernel() {
        let memory = of(std::process::id()).unwrap();
        assert!(memory.resident > 1.0 && memory.peak >= memory.resident - 1.0);
    }
}
