//! Load: wrk, as many requests as are answered, on connections that are kept or new for each request.
//!
//! It knows nothing of what else happens; it says afterwards how many requests were not answered as they should be.

use crate::{
    failure::{Failure, Outcome},
    process::Process,
    program,
};
use std::{fs, net::SocketAddr, path::Path, time::Duration};
use tokio::process::Command;

/// wrk keeps asking one host after the other, and tells in one line how it went.
const SCRIPT: &str = r#"
local requests, turn = {}, 0
function init(arguments)
  for number, host in ipairs(arguments) do
    wrk.headers["Host"] = host
    requests[number] = wrk.format("GET", "/")
  end
end
function request()
  turn = turn % #requests + 1
  return requests[turn]
end
function done(summary, latency)
  local errors = summary.errors
  io.write(string.format("tally requests=%d status=%d connect=%d read=%d write=%d timeout=%d p99_us=%d\n",
    summary.requests, errors.status, errors.connect, errors.read, errors.write, errors.timeout, latency:percentile(99)))
end
"#;
/// For wrk to end, after its time is over.
const END_WITHIN: Duration = Duration::from_secs(30);

/// How a load's connections live.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Connections {
    /// Kept: any number of requests one after the other.
    Kept,
    /// A new one for each request.
    New,
}

/// wrk at work.
pub struct Load {
    process: Process,
    lasts: Duration,
}

/// How a load went.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Requests that were answered.
    pub requests: u64,
    /// Those answered with something else than success, not answered, and connections refused or broken.
    pub failed: u64,
    /// Of a hundred requests the slowest but one, in microseconds.
    pub p99_us: u64,
    /// wrk's own counts, for people.
    pub line: String,
}

impl Load {
    /// Asks `address` for `hosts`, one after the other, on `count` connections at once, for as long as `lasts`, with these
    /// lines of headers. Its files are in `dir`.
    pub fn start(
        address: SocketAddr,
        hosts: &[String],
        (connections, count): (Connections, usize),
        lasts: Duration,
        dir: &Path,
        headers: &[&str],
    ) -> Outcome<Self> {
        fs::create_dir_all(dir)?;
        let name = format!("wrk-{connections:?}-{count}").to_lowercase();
        let script = dir.join(format!("{name}.lua"));
        fs::write(&script, SCRIPT)?;
        let mut wrk = Command::new(program::wrk()?);
        wrk.arg("-t1").arg(format!("-c{count}")).arg(format!("-d{}s", lasts.as_secs())).arg("-s").arg(script);
        if connections == Connections::New {
            wrk.arg("-H").arg("Connection: close");
        }
        wrk.args(headers.iter().flat_map(|line| ["-H", line]));
        wrk.arg(format!("http://{address}/")).args(hosts);
        Ok(Self { process: Process::start(wrk, &dir.join(format!("{name}.log")))?, lasts })
    }

    /// Waits for its end.
    pub async fn finish(mut self) -> Outcome<Tally> {
        self.process.ended(self.lasts + END_WITHIN).await?;
        let printed = self.process.printed();
        tally(&printed).ok_or_else(|| Failure::new(format!("wrk tells no result: {printed}")))
    }
}

fn tally(printed: &str) -> Option<Tally> {
    let line = printed.lines().find_map(|line| line.strip_prefix("tally "))?;
    let of = |name: &str| -> Option<u64> {
        line.split(' ').find_map(|word| word.strip_prefix(name)?.strip_prefix('='))?.parse().ok()
    };
    let failures = ["status", "connect", "read", "write", "timeout"].map(of);
    let failed = failures.into_iter().try_fold(0, |sum, count| Some(sum + count?))?;
    Some(Tally { requests: of("requests")?, failed, p99_us: of("p99_us")?, line: line.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_failure_counts() {
        let printed =
            "Running 1s test\ntally requests=100 status=1 connect=2 read=3 write=4 timeout=5 p99_us=900\n";
        let tally = tally(printed).unwrap();
        assert_eq!((tally.requests, tally.failed, tally.p99_us), (100, 15, 900));
    }

    #[test]
    fn a_load_that_tells_nothing_is_no_success() {
        assert_eq!(tally("unable to connect to 10.99.0.1:80"), None);
        assert_eq!(tally("tally requests=100 status=1"), None);
    }
}
