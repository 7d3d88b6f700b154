//! `haptic local`: the whole pipeline on one machine, with manifests from a folder and a HAProxy of its own.

use crate::{
    binaries,
    cli::{Failure, LocalArgs},
    command, default_certificate,
    hardening::{self, Readers},
    leading::LeadingBy,
    logging,
    process::{self, Addresses},
    wiring::{OriginOf, Outside, Pods},
};
use haptic_agent::{Agent, AgentOptions, CredentialsSource, HaproxyMode};
use haptic_config::source::Source;
use haptic_leader::certificate::keeper::DefaultCertificate;
use haptic_model::{
    HaproxyPod,
    secret::{Credentials, Sensitive},
};
use std::{
    net::{IpAddr, Ipv4Addr, SocketAddr},
    path::PathBuf,
    sync::Arc,
    time::Duration,
};

/// The namespace of the only pod.
pub const NAMESPACE: &str = "local";

/// Nobody waits for a local HAProxy's last connections.
const DRAIN: Duration = Duration::from_secs(2);

/// Runs until a signal ends it.
///
/// # Errors
/// When it cannot start: the configuration cannot be read, no HAProxy, the folder or a port cannot be used.
pub fn run(args: &LocalArgs) -> Result<(), Failure> {
    hardening::hide_files(Readers::Nobody);
    let log_level = logging::start();
    if command::is_standard_input(&args.file) {
        return Err(Failure::Because(
            "haptic local follows its configuration: give it a file with -f".into(),
        ));
    }
    command::read_config(&args.file)?;
    let checker = binaries::checker(&args.haproxy)?;
    let Some(newest) = checker.newest().map(|binary| binary.path.clone()) else {
        return Err(Failure::Because("no HAProxy was found: name it with --haproxy".into()));
    };
    let folder = Folder::new(args.dir.clone())?;
    let certificate = match args.state.folder() {
        Some(state) => default_certificate::kept_in(&state)?,
        None => default_certificate::throw_away().map_err(Failure::Because)?,
    };
    let credentials = throw_away_credentials()?;
    let (file, resources) = (args.file.clone(), args.resources.clone());
    let (bind, debug) = (args.bind_address, args.debug_address);
    let paranoid = args.paranoid;
    let runtime = process::runtime()?;
    process::run(runtime.clone(), async move {
        let agent = Agent::start(AgentOptions {
            listen: Some(SocketAddr::new(Ipv4Addr::LOCALHOST.into(), 0)),
            dir: folder.path(),
            socket_dir: None,
            haproxy: HaproxyMode::Spawn { binary: newest, args: Vec::new() },
            credentials: Some(CredentialsSource::Fixed(credentials.clone())),
            tls: None,
            drain: DRAIN,
        });
        let agent = agent.await.map_err(Failure::because)?;
        let outside = Outside {
            source: Source::File { path: file, credentials },
            origin: OriginOf::Folder(resources),
            pods: Pods::Fixed(this_machine(agent.local_addr())?),
            leading: LeadingBy::Itself,
            certificate: DefaultCertificate::Secret(Arc::new(certificate)),
            checker,
            forced_level: log_level.forced(),
            traces: None,
            paranoid,
        };
        let ended = process::control(outside, runtime, Addresses::new(bind, debug), log_level).await;
        agent.stop(true).await;
        ended
    })
}

/// The agent's folder: a given one stays, a temporary one is removed at the end.
enum Folder {
    Given(PathBuf),
    Temporary(tempfile::TempDir),
}

impl Folder {
    fn new(given: Option<PathBuf>) -> Result<Self, Failure> {
        match given {
            Some(dir) => Ok(Self::Given(dir)),
            None => tempfile::Builder::new()
                .prefix("haptic-")
                .tempdir()
                .map(Self::Temporary)
                .map_err(Failure::because),
        }
    }

    fn path(&self) -> PathBuf {
        match self {
            Self::Given(dir) => dir.clone(),
            Self::Temporary(dir) => dir.path().to_owned(),
        }
    }
}

fn this_machine(address: Option<SocketAddr>) -> Result<HaproxyPod, Failure> {
    let address = address.ok_or_else(|| Failure::Because("the agent does not listen".into()))?;
    let (ip, port): (IpAddr, u16) = (address.ip(), address.port());
    Ok(HaproxyPod {
        namespace: NAMESPACE.into(),
        name: "haproxy".into(),
        uid: "local".into(),
        address: ip,
        other_addresses: Vec::new(),
        port,
    })
}

/// Only this process knows them, and only as long as it runs.
fn throw_away_credentials() -> Result<Credentials, Failure> {
    use std::io::Read;
    let mut bytes = [0; 32];
    let mut random = std::fs::File::open("/dev/urandom").map_err(Failure::because)?;
    random.read_exact(&mut bytes).map_err(Failure::because)?;
    let password = haptic_model::Digest::of(&bytes).to_string();
    Ok(Credentials { username: "local".into(), password: Sensitive::new(password) })
}
