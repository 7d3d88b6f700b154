//! Which backend and server HAProxy chose for a request, from its own log.

use super::{ChosenServer, RequestOutcome};
use std::collections::HashSet;

/// The port that the first request comes from, the next one from the next: it tells requests apart.
pub(super) const FIRST_PORT: u16 = 20_000;

/// What HAProxy writes of each request: the client's port, who was chosen, and how it ended.
pub(super) const LOG: &str =
    "    log stdout format raw daemon\n    log-format \"haptic %cp %f %b %s %tsc\"\n";

/// Adds the choices in `log` to `outcomes`. `listens` are the proxies that are frontend and backend in one.
pub(super) fn add_choices(outcomes: &mut [RequestOutcome], log: &[String], listens: &HashSet<String>) {
    let mut next = 0;
    for (port, choice) in log.iter().filter_map(|line| read(line, listens)) {
        // A rule that sets another address of the client leaves no port. Requests come one after the other.
        let at = port.checked_sub(FIRST_PORT).map_or(next, usize::from);
        if let Some(outcome) = outcomes.get_mut(at) {
            outcome.choice = Some(choice);
            next = at + 1;
        }
    }
}

fn read(line: &str, listens: &HashSet<String>) -> Option<(u16, ChosenServer)> {
    let words: Vec<&str> = line.split(' ').collect();
    let ["haptic", port, frontend, backend, server, ..] = words[..] else { return None };
    // A frontend that rejects TLS is marked so.
    let frontend = frontend.trim_end_matches('~');
    let answers_itself = backend == frontend && !listens.contains(frontend);
    let choice = ChosenServer {
        backend: (!answers_itself).then(|| backend.to_owned()),
        server: (!server.starts_with('<')).then(|| server.to_owned()),
    };
    Some((port.parse().ok()?, choice))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::requests::ClientReply;

    #[test]
    fn each_request_finds_its_line_also_when_its_port_is_lost() {
        let mut outcomes =
            vec![RequestOutcome { reply: ClientReply::Closed(String::new()), choice: None }; 5];
        let log = [
            "192.0.2.1:20000 [23/Nov/2026:07:35:14.069] web/w: SSL handshake failure",
            "haptic 20001 web~ shop a --",
            "haptic 0 web web <NOSRV> LR",
            "haptic 20003 both both <STATS> LR",
            "haptic 20999 web shop a --",
        ];
        let log = log.map(str::to_owned);
        add_choices(&mut outcomes, &log, &HashSet::from(["both".to_owned()]));
        let choice = |backend: Option<&str>, server: Option<&str>| {
            Some(ChosenServer { backend: backend.map(str::to_owned), server: server.map(str::to_owned) })
        };
        let told: Vec<_> = outcomes.into_iter().map(|outcome| outcome.choice).collect();
        assert_eq!(
            told,
            [None, choice(Some("shop"), Some("a")), choice(None, None), choice(Some("both"), None), None]
        );
    }
}
