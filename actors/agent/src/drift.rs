//! What HAProxy says of its servers, maps and certificates, for a controller that looks whether somebody changed them by hand. Read line by
//! line: there may be ten thousands.

use crate::{agent::Inner, comparison::pattern_file, connection::SocketError};
use haptic_model::{
    agent_api::{RunningServer, Runtime},
    operation::ServerState,
};

/// Administrative state bits of `srv_admin_state` (management guide, `show servers state`).
const MAINTENANCE: u32 = 0x01 | 0x02 | 0x04 | 0x20 | 0x40;
const DRAIN: u32 = 0x08 | 0x10;

impl Inner {
    /// Reads all servers, the sizes of all maps, and some of what was loaded from files, on a connection of its own.
    ///
    /// # Errors
    /// HAProxy does not answer.
    pub(crate) async fn runtime(&self) -> Result<Runtime, SocketError> {
        let mut worker = self.sockets.worker().await?;
        let (mut runtime, mut columns) = (Runtime::default(), Columns::default());
        let questions = ["show servers state", "show map"];
        let each = |question: usize, line: &[u8]| {
            let line = String::from_utf8_lossy(line);
            match question {
                0 => runtime.servers.extend(columns.server(&line)),
                _ => {
                    runtime.maps.extend(pattern_file(&line).map(|(path, entries)| (path.to_owned(), entries)))
                }
            }
            Ok(())
        };
        worker.each_line(&questions, each).await?;
        runtime.changed = self.changed_files(&mut worker).await?;
        Ok(runtime)
    }
}

/// Where each column is: found by their names, so that new ones do no harm.
#[derive(Debug, Default)]
struct Columns(Vec<String>);

impl Columns {
    fn server(&mut self, line: &str) -> Option<RunningServer> {
        if let Some(header) = line.strip_prefix("# ") {
            self.0 = header.split(' ').map(str::to_owned).collect();
            return None;
        }
        let cells: Vec<&str> = line.split(' ').collect();
        let cell = |name: &str| cells.get(self.0.iter().position(|column| column == name)?).copied();
        let admin: u32 = cell("srv_admin_state")?.parse().ok()?;
        Some(RunningServer {
            backend: cell("be_name")?.to_owned(),
            server: cell("srv_name")?.to_owned(),
            address: cell("srv_addr")?.parse().ok(),
            port: cell("srv_port")?.parse().ok()?,
            weight: cell("srv_uweight")?.parse().ok()?,
            state: if admin & MAINTENANCE != 0 {
                ServerState::Maint
            } else if admin & DRAIN != 0 {
                ServerState::Drain
            } else {
                ServerState::Ready
            },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_are_read_as_haproxy_shows_them() {
        let mut columns = Columns::default();
        let header =
            "# be_id be_name srv_id srv_name srv_addr srv_op_state srv_admin_state srv_uweight srv_port";
        assert_eq!(columns.server("1"), None);
        assert_eq!(columns.server(header), None);
        let server = columns.server("3 b 1 s1 127.0.0.1 0 5 7 80").unwrap();
        assert_eq!((server.backend.as_str(), server.server.as_str(), server.port), ("b", "s1", 80));
        assert_eq!((server.weight, server.state), (7, ServerState::Maint));
        assert_eq!(columns.server("3 b 1 s1 - 0 8 7 80").unwrap().state, ServerState::Drain);
    }
}
