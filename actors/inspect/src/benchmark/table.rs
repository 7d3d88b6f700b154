//! Times and memory of stages, as a table and as JSON.

use serde::Serialize;
use std::time::{Duration, Instant};

/// The stages so far.
#[derive(Default, Serialize)]
pub(super) struct StageTable {
    stages: Vec<BenchmarkStage>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct BenchmarkStage {
    name: &'static str,
    /// Of several runs the median; 1 run is its own.
    #[serde(rename = "p50Ms")]
    p50: f64,
    #[serde(rename = "p99Ms")]
    p99: f64,
    runs: usize,
    /// Resident memory of this process afterwards.
    memory_mb: u64,
}

impl StageTable {
    /// Measures `work` once.
    pub fn once<T>(&mut self, name: &'static str, work: impl FnOnce() -> T) -> T {
        let began = Instant::now();
        let done = work();
        self.add(name, &mut [began.elapsed()]);
        done
    }

    /// Adds a stage by the times of its runs.
    pub fn add(&mut self, name: &'static str, times: &mut [Duration]) {
        times.sort();
        let at = |hundredths: usize| {
            let index = (times.len() * hundredths / 100).min(times.len().saturating_sub(1));
            times.get(index).copied().unwrap_or_default().as_secs_f64() * 1000.0
        };
        let (p50, p99) = (at(50), at(99));
        self.stages.push(BenchmarkStage { name, p50, p99, runs: times.len(), memory_mb: memory("VmRSS:") });
    }

    /// For people.
    pub fn text(&self) -> String {
        let mut text = format!("{:<34} {:>12} {:>12} {:>10}\n", "stage", "p50", "p99", "memory");
        for BenchmarkStage { name, p50, p99, runs, memory_mb } in &self.stages {
            let p99 = if *runs > 1 { format!("{p99:.1} ms") } else { String::new() };
            text.push_str(&format!(
                "{name:<34} {:>12} {p99:>12} {memory_mb:>7} MB\n",
                format!("{p50:.1} ms")
            ));
        }
        text.push_str(&format!(
            "{:<34} {:>12} {:>12} {:>7} MB\n",
            "most memory at once",
            "",
            "",
            memory("VmHWM:")
        ));
        text
    }
}

/// A line of `/proc/self/status` in megabytes; 0 where there is no such file.
pub(super) fn memory(field: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix(field));
    line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok()).unwrap_or_default() / 1024
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stage_of_several_runs_shows_the_median_and_the_slowest() {
        let mut table = StageTable::default();
        let mut times: Vec<Duration> = (1..=100).rev().map(Duration::from_millis).collect();
        table.add("render", &mut times);
        let text = table.text();
        assert!(text.contains("51.0 ms") && text.contains("100.0 ms"), "{text}");
    }
}
