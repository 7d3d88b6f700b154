//! `haptic agent`: beside one HAProxy, until a signal ends it.

use crate::{
    cli::{AgentArgs, CommandFailure},
    logging,
    process::{
        frugal::become_frugal,
        hardening::{self, FileReaders},
    },
};
use haptic_agent::{Agent, AgentOptions, CredentialsSource, HaproxyMode, TlsSource};
use haptic_runtime::Signals;
use std::time::Duration;

/// Runs the agent.
///
/// # Errors
/// When it cannot start: no credentials, no HAProxy, the folder or port cannot be used.
pub fn run(args: AgentArgs) -> Result<(), CommandFailure> {
    become_frugal();
    hardening::hide_files(if args.haproxy.is_some() { FileReaders::Nobody } else { FileReaders::Group });
    let _level = logging::start();
    let options = options(args)?;
    // Each thread has memory of its own.
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .thread_keep_alive(Duration::from_secs(1))
        .enable_all()
        .build();
    let runtime = runtime.map_err(CommandFailure::because)?;
    // The agent's HTTP server needs an actix system; everything else in it is plain tokio.
    let system = actix_rt::System::with_tokio_rt(move || runtime);
    system.block_on(serve(options))
}

async fn serve(options: AgentOptions) -> Result<(), CommandFailure> {
    let mut signals = Signals::listen().map_err(CommandFailure::because)?;
    let mut agent = Agent::start(options).await.map_err(CommandFailure::because)?;
    let folder_lost = agent.folder_lost();
    if let Some(address) = agent.local_addr() {
        tracing::info!(%address, "agent is listening");
    }
    let lost = tokio::select! {
        signal = signals.next() => {
            tracing::info!(signal, "stopping; HAProxy finishes its connections");
            None
        }
        lost = folder_lost => Some(lost),
        // HAProxy goes on, and the agent that is started next finds it.
        error = agent.broken() => {
            return Err(CommandFailure::Because(format!("a part of the agent failed, which is a bug in HAPTIC: {error}")));
        }
    };
    tokio::select! {
        () = agent.stop(true) => {}
        signal = signals.next() => tracing::warn!(signal, "second signal: not waiting any longer"),
    }
    lost.map_or(Ok(()), |lost| Err(CommandFailure::because(lost)))
}

fn options(args: AgentArgs) -> Result<AgentOptions, CommandFailure> {
    let credentials = match args.credentials_dir {
        Some(dir) => CredentialsSource::Dir(dir),
        None => CredentialsSource::from_env().map_err(CommandFailure::because)?,
    };
    let haproxy = match (args.haproxy, args.master_socket) {
        (Some(binary), _) => HaproxyMode::Spawn { binary, args: args.haproxy_args, launcher: Vec::new() },
        (None, Some(master_socket)) => HaproxyMode::Attach { master_socket },
        (None, None) => return Err(CommandFailure::Because("give --haproxy or --master-socket".into())),
    };
    let tls = match (args.tls_cert, args.tls_key) {
        (Some(certificate), Some(key)) => Some(TlsSource::Files { certificate, key }),
        _ => None,
    };
    Ok(AgentOptions {
        listen: Some(args.listen),
        dir: args.dir,
        socket_dir: args.socket_dir,
        haproxy,
        credentials: Some(credentials),
        tls,
        drain: Duration::from_secs(args.drain),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::{Cli, Command};
    use clap::Parser;

    #[test]
    fn connections_have_the_time_that_is_given() {
        let drain = |more: &[&str]| {
            let words = ["haptic", "agent", "--dir=/d", "--haproxy=/h", "--credentials-dir=/c"];
            match Cli::parse_from(words.iter().chain(more)).command {
                Command::Agent(args) => options(args).ok().map(|options| options.drain.as_secs()),
                _ => None,
            }
        };
        assert_eq!(drain(&["--drain=600"]), Some(600));
        assert_eq!(drain(&[]), Some(15));
    }
}
