//! `haptic local`: the whole pipeline on one machine, with manifests from a folder and a HAProxy of its own.

mod greeting;
mod places;

use crate::{
    cli::{CommandFailure, LocalArgs},
    command::{binaries, end_with_parent, input},
    logging, output,
    process::hardening::{self, FileReaders},
    process::{self, Addresses},
    wiring::{Environment, Pipeline, Pods, leading::LeadingBy},
};
use haptic_agent::{Agent, AgentOptions, CredentialsSource, HaproxyMode, given_in_env};
use haptic_config::{ConfigCandidate, FileOverlay, source::ConfigSource};
use haptic_inspect::offline::certificate;
use haptic_leader::certificate::DefaultCertificate;
use haptic_model::{HaproxyPod, config::Credentials};
use haptic_text::Sensitive;
use haptic_watch::ObjectSource;
use places::{LocalAddresses, PortClaims, ServerAddresses};
use std::{
    net::{Ipv4Addr, SocketAddr},
    path::PathBuf,
    sync::Arc,
    time::Duration,
};

/// Nobody waits for a local HAProxy's last connections.
const DRAIN: Duration = Duration::from_secs(2);

/// Runs until a signal ends it.
///
/// # Errors
/// When it cannot start: the configuration cannot be read, no HAProxy, the folder or a port cannot be used.
pub fn run(args: &LocalArgs) -> Result<(), CommandFailure> {
    hardening::hide_files(FileReaders::Nobody);
    let log_level = logging::start();
    if input::is_standard_input(&args.file) {
        return Err(CommandFailure::Because(
            "haptic local follows its configuration: give it a file with -f".into(),
        ));
    }
    let config = input::read_config(&args.file)?;
    let ClaimedPlaces { addresses, overlay, ports } = ClaimedPlaces::of(config, args)?;
    let debug_port = addresses.first_ports.debug_port;
    let debug = (debug_port != 0).then(|| SocketAddr::new(addresses.debug, debug_port));
    let checker = binaries::checker(&args.haproxy)?;
    let Some(newest) = checker.newest().map(|binary| binary.path.clone()) else {
        return Err(CommandFailure::Because("no HAProxy was found: name it with --haproxy".into()));
    };
    let folder = Folder::new(args.dir.clone())?;
    let certificate = match args.state.folder() {
        Some(state) => certificate::kept_in(&state)?,
        None => certificate::throw_away()?,
    };
    let credentials = given_in_env().map_err(CommandFailure::because)?;
    let credentials = credentials.map_or_else(throw_away_credentials, Ok)?;
    let (file, resources, paranoid) = (args.file.clone(), args.resources.clone(), args.paranoid);
    let runtime = process::runtime()?;
    process::run(runtime.clone(), async move {
        let agent = Agent::start(agent_options(&folder, newest, credentials.clone()));
        let agent = agent.await.map_err(CommandFailure::because)?;
        let environment = Environment {
            source: ConfigSource::File { path: file.clone(), credentials, overlay },
            objects: ObjectSource::Folder(resources.clone()),
            pods: Pods::Fixed(this_machine(agent.local_addr())?),
            leading: LeadingBy::Itself,
            certificate: DefaultCertificate::Secret(Arc::new(certificate)),
            checker,
            log_level: log_level.clone(),
            upkeep: None,
            traces: None,
            paranoid,
        };
        let greets = move |pipeline: &Pipeline| {
            let greeting = greeting::greeting(pipeline, file, resources, debug);
            // Nobody may be reading any more.
            tokio::spawn(async move { drop(output::print(&greeting.await)) });
        };
        let ended = tokio::select! {
            ended = process::control(environment, runtime, addresses, log_level, greets) => ended,
            lost = agent.folder_lost() => Err(CommandFailure::because(lost)),
        };
        agent.stop(true).await;
        drop(ports);
        ended
    })
}

/// The addresses of HAProxy and of this process, and the ports that are claimed for them.
struct ClaimedPlaces {
    addresses: Addresses,
    overlay: FileOverlay,
    ports: PortClaims,
}

impl ClaimedPlaces {
    /// Chooses them for a configuration; says which are not those that it names.
    fn of(config: ConfigCandidate, args: &LocalArgs) -> Result<Self, CommandFailure> {
        let mut addresses = Addresses::new(args.bind_address, args.debug_address);
        let servers = ServerAddresses { bind: addresses.bind, debug: addresses.debug };
        places::must_be_here(args.listen.listen).map_err(CommandFailure::Because)?;
        let mut ports = PortClaims::default();
        let places = places::choose(&config.spec, &args.listen, servers, |at, port| ports.claim(at, port));
        let LocalAddresses { overlay, moved } = places.map_err(CommandFailure::Because)?;
        for moved in moved {
            output::print(&format!("{moved}\n")).map_err(CommandFailure::because)?;
        }
        addresses.first_ports = overlay.over(config).spec.controller.clone();
        Ok(Self { addresses, overlay, ports })
    }
}

fn agent_options(folder: &Folder, binary: PathBuf, credentials: Credentials) -> AgentOptions {
    AgentOptions {
        listen: Some(SocketAddr::new(Ipv4Addr::LOCALHOST.into(), 0)),
        dir: folder.path(),
        socket_dir: None,
        haproxy: HaproxyMode::Spawn { binary, args: Vec::new(), launcher: end_with_parent::words() },
        credentials: Some(CredentialsSource::Fixed(credentials)),
        tls: None,
        drain: DRAIN,
    }
}

/// The agent's folder: a given one stays, a temporary one is removed at the end.
enum Folder {
    Given(PathBuf),
    Temporary(tempfile::TempDir),
}

impl Folder {
    fn new(given: Option<PathBuf>) -> Result<Self, CommandFailure> {
        match given {
            Some(dir) => Ok(Self::Given(dir)),
            None => tempfile::Builder::new()
                .prefix("haptic-")
                .tempdir()
                .map(Self::Temporary)
                .map_err(CommandFailure::because),
        }
    }

    fn path(&self) -> PathBuf {
        match self {
            Self::Given(dir) => dir.clone(),
            Self::Temporary(dir) => dir.path().to_owned(),
        }
    }
}

fn this_machine(address: Option<SocketAddr>) -> Result<HaproxyPod, CommandFailure> {
    let address = address.ok_or_else(|| CommandFailure::Because("the agent does not listen".into()))?;
    Ok(HaproxyPod { uid: "local".into(), ..HaproxyPod::at(HaproxyPod::LOCAL, "haproxy", address) })
}

/// Only this process knows them, and only as long as it runs.
fn throw_away_credentials() -> Result<Credentials, CommandFailure> {
    use std::io::Read;
    let mut bytes = [0; 32];
    let mut random = std::fs::File::open("/dev/urandom").map_err(CommandFailure::because)?;
    random.read_exact(&mut bytes).map_err(CommandFailure::because)?;
    let password = haptic_text::Digest::of(&bytes).to_string();
    Ok(Credentials { username: "local".into(), password: Sensitive::new(password) })
}
