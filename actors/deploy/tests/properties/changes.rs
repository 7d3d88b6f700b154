//! Random worlds, and random changes of them.

use super::{
    dice::Dice,
    upstream,
    world::{Backend, CERTIFICATES, HOSTS, Line, PROFILES, Server, Target, World},
};
use std::collections::{BTreeMap, BTreeSet};

const BACKENDS: usize = 5;
const SERVERS: usize = 5;

/// A world with a little of everything.
pub fn world(dice: &mut Dice) -> World {
    let mut world = World {
        server_timeout: 5,
        frontend_maxconn: Some(50),
        style: 0,
        backends: BTreeMap::new(),
        exact: Vec::new(),
        prefix: Vec::new(),
        contained: vec![("/a".to_owned(), "first".to_owned())],
        regex: vec![("^/a".to_owned(), "first".to_owned())],
        network: Vec::new(),
        denied: Vec::new(),
        denied_parts: Vec::new(),
        strict: Vec::new(),
        lax: vec![Line { certificate: 0, options: "", hosts: Vec::new() }],
        certificates: vec![0; CERTIFICATES + 1],
        authorities: [BTreeSet::from([0]), BTreeSet::from([0, 1]), BTreeSet::from([0])],
        keeps_unused: dice.one_in(3),
    };
    for _ in 0..2 {
        add_backend(&mut world, dice);
    }
    for _ in 0..12 {
        routes(&mut world, dice);
        certificates(&mut world, dice);
        servers(&mut world, dice);
    }
    world
}

/// The world after a few changes.
pub fn changed(world: &World, dice: &mut Dice) -> World {
    let mut world = world.clone();
    for _ in 0..=dice.below(3) {
        change(&mut world, dice);
    }
    world
}

fn change(world: &mut World, dice: &mut Dice) {
    match dice.below(30) {
        0..=9 => servers(world, dice),
        10..=17 => routes(world, dice),
        18..=23 => certificates(world, dice),
        24 => add_backend(world, dice),
        25 => remove_backend(world, dice),
        26 => whole_route(world, dice),
        27 => world.style = dice.below(12),
        28 => world.frontend_maxconn = *dice.pick(&[Some(40), Some(60), Some(80), None]),
        _ => rarely(world, dice),
    }
}

fn rarely(world: &mut World, dice: &mut Dice) {
    match dice.below(5) {
        0 => world.server_timeout = 5 + dice.below(3),
        1 => world.keeps_unused = !world.keeps_unused,
        2 => with_backend(world, dice, |backend, dice| {
            backend.lines = *dice.pick(&["", "    http-request set-header x-line 1\n", "    fullconn 7\n"]);
        }),
        3 => with_backend(world, dice, |backend, dice| backend.profile = dice.below(PROFILES.len())),
        _ => with_backend(world, dice, |backend, _| backend.edition += 1),
    }
}

fn add_backend(world: &mut World, dice: &mut Dice) {
    let number = dice.below(BACKENDS);
    // Half of all are of the first two kinds: most backends are.
    let profile = if dice.one_in(2) { dice.below(2) } else { dice.below(PROFILES.len()) };
    let lines = if dice.one_in(8) { "    http-request set-header x-line 1\n" } else { "" };
    let named = !dice.one_in(10);
    let mut servers: Vec<(usize, Server)> =
        (0..dice.below(SERVERS)).map(|name| (name, Server::plain(dice.below(3)))).collect();
    for (_, server) in &mut servers {
        if dice.one_in(3) {
            vary(server, dice);
        }
    }
    world.backends.entry(number).or_insert(Backend { edition: 0, profile, named, lines, servers });
}

fn remove_backend(world: &mut World, dice: &mut Dice) {
    if let Some(number) = some_backend(world, dice) {
        world.backends.remove(&number);
    }
}

/// A route comes with its backend, or goes with it.
fn whole_route(world: &mut World, dice: &mut Dice) {
    let number = dice.below(BACKENDS);
    let host = dice.below(HOSTS);
    world.prefix.retain(|(_, value)| !value.starts_with(&format!("b{number}-")));
    if world.backends.remove(&number).is_none() {
        let servers = vec![(0, Server::plain(dice.below(3)))];
        let backend = Backend { edition: dice.below(3), profile: 0, named: true, lines: "", servers };
        world.prefix.push((format!("g{host}/"), backend.name(number)));
        world.backends.insert(number, backend);
    }
}

fn some_backend(world: &World, dice: &mut Dice) -> Option<usize> {
    let numbers: Vec<usize> = world.backends.keys().copied().collect();
    (!numbers.is_empty()).then(|| *dice.pick(&numbers))
}

fn with_backend(world: &mut World, dice: &mut Dice, change: impl FnOnce(&mut Backend, &mut Dice)) {
    if let Some(number) = some_backend(world, dice) {
        change(world.backends.get_mut(&number).unwrap(), dice);
    }
}

fn servers(world: &mut World, dice: &mut Dice) {
    with_backend(world, dice, |backend, dice| match dice.below(10) {
        0..=2 => {
            let name = dice.below(SERVERS);
            if backend.servers.iter().all(|(known, _)| *known != name) {
                let mut server = Server::plain(dice.below(3));
                vary(&mut server, dice);
                let at = if dice.one_in(4) { 0 } else { backend.servers.len() };
                backend.servers.insert(at, (name, server));
            }
        }
        3 | 4 if !backend.servers.is_empty() => {
            backend.servers.remove(dice.below(backend.servers.len()));
        }
        5 if backend.servers.len() > 1 => {
            let at = dice.below(backend.servers.len());
            let moved = backend.servers.remove(at);
            backend.servers.push(moved);
        }
        _ if !backend.servers.is_empty() => {
            let at = dice.below(backend.servers.len());
            vary(&mut backend.servers[at].1, dice);
        }
        _ => {}
    });
}

/// Changes something of a server, mostly what the socket can change.
fn vary(server: &mut Server, dice: &mut Dice) {
    match dice.below(16) {
        0..=3 => {
            server.target = Target::Plain { address: 1 + dice.below(3), upstream: dice.below(3) };
        }
        4..=6 => server.weight = *dice.pick(&[None, Some(0), Some(1), Some(9), Some(100), Some(256)]),
        7..=8 => server.maxconn = *dice.pick(&[None, Some(3), Some(9)]),
        9..=11 => server.state = *dice.pick(&["", "", " disabled", " enabled"]),
        12 => {
            let verify = *dice.pick(&[None, Some(0), Some(2), Some(2)]);
            server.target = Target::Tls { upstream: dice.below(2), verify, sni: dice.one_in(2) };
        }
        _ => {
            let agent = *upstream::AGENT;
            let one = [
                String::new(),
                " check".to_owned(),
                " check inter 9s".to_owned(),
                " check inter 50ms fall 1 port 1".to_owned(),
                format!(" check port {}", upstream::PLAIN[0]),
                format!(" check port {}", upstream::PLAIN[1]),
                format!(" agent-check agent-inter 9s agent-port {agent}"),
                " agent-check agent-inter 9s agent-port 1 agent-send \"a b\"".to_owned(),
                " agent-check agent-inter 9s agent-port 1 agent-addr 127.0.0.2 agent-send c".to_owned(),
                " backup".to_owned(),
                " backup".to_owned(),
                " cookie one".to_owned(),
                " send-proxy".to_owned(),
                " minconn 2".to_owned(),
                " pool-max-conn 5 pool-purge-delay 9s".to_owned(),
                " maxqueue 4".to_owned(),
                " hash-key addr".to_owned(),
                " no-check".to_owned(),
            ];
            let is_tls = matches!(server.target, Target::Tls { .. });
            server.more = if is_tls && dice.one_in(3) {
                format!(" crt ssl/c{}.pem", dice.below(CERTIFICATES))
            } else {
                dice.pick(&one).clone()
            };
        }
    }
}

fn routes(world: &mut World, dice: &mut Dice) {
    let host = format!("h{}.example", dice.below(HOSTS));
    let group = format!("g{}", dice.below(HOSTS));
    match dice.below(12) {
        0 | 1 => set(&mut world.exact, host, group, dice),
        2..=4 => {
            let backend = backend_name(world, dice);
            let path = *dice.pick(&["/", "/", "/a", "/a/b"]);
            set(&mut world.prefix, format!("{group}{path}"), backend, dice);
        }
        5 => forget(&mut world.exact, dice),
        6 => forget(&mut world.prefix, dice),
        7 => {
            let key = dice.pick(&["/a", "/a/b", "b", "/"]).to_string();
            set(&mut world.contained, key, format!("c{}", dice.below(4)), dice);
        }
        8 => {
            let key = dice.pick(&["^/a", "^/a/b$", "[b-d]", "^/"]).to_string();
            set(&mut world.regex, key, format!("r{}", dice.below(4)), dice);
            if dice.one_in(3) {
                world.regex.reverse();
            }
        }
        9 => {
            let key = dice.pick(&["10.0.0.0/8", "10.1.0.0/16", "10.1.2.3", "::/0", "fd00::/8"]).to_string();
            set(&mut world.network, key, format!("n{}", dice.below(4)), dice);
        }
        10 => toggle(
            &mut world.denied,
            dice.pick::<String>(&[host.to_uppercase(), host.clone(), "other host".to_owned()]),
        ),
        _ => toggle(&mut world.denied_parts, dice.pick::<&str>(&["/b", "/deny", "x y", "#x"])),
    }
}

fn backend_name(world: &World, dice: &mut Dice) -> String {
    if dice.one_in(6) {
        return dice.pick(&["nowhere", "none", "web"]).to_string();
    }
    some_backend(world, dice)
        .map_or_else(|| "nowhere".to_owned(), |number| world.backends[&number].name(number))
}

/// Sets an entry; rarely beside one of the same key, and rarely in front.
fn set(entries: &mut Vec<(String, String)>, key: String, value: String, dice: &mut Dice) {
    match entries.iter_mut().find(|(known, _)| *known == key) {
        Some((_, known)) if !dice.one_in(15) => *known = value,
        _ if dice.one_in(5) => entries.insert(0, (key, value)),
        _ => entries.push((key, value)),
    }
}

fn forget(entries: &mut Vec<(String, String)>, dice: &mut Dice) {
    match dice.below(8) {
        0 => entries.clear(),
        _ if entries.is_empty() => {}
        _ => {
            entries.remove(dice.below(entries.len()));
        }
    }
}

fn toggle(all: &mut Vec<String>, one: &str) {
    let before = all.len();
    all.retain(|known| known != one);
    if all.len() == before {
        all.push(one.to_owned());
    }
}

fn certificates(world: &mut World, dice: &mut Dice) {
    match dice.below(10) {
        0..=2 => {
            let at = dice.below(CERTIFICATES + 1);
            world.certificates[at] = dice.below(3);
        }
        3 => {
            let at = dice.below(3);
            world.authorities[at] =
                dice.pick::<BTreeSet<usize>>(&[[0].into(), [1].into(), [0, 1].into()]).clone();
        }
        4..=6 => {
            let line = line(dice);
            let at = if dice.one_in(4) { 0 } else { world.strict.len() };
            world.strict.insert(at, line);
        }
        7 if !world.strict.is_empty() => {
            world.strict.remove(dice.below(world.strict.len()));
        }
        8 => world.lax.push(line(dice)),
        9 if world.lax.len() > 1 => {
            world.lax.remove(dice.below(world.lax.len()));
        }
        _ => {}
    }
}

fn line(dice: &mut Dice) -> Line {
    let certificate = dice.below(CERTIFICATES);
    let options = *dice.pick(&[
        "",
        "",
        "",
        " [alpn http/1.1]",
        " [ alpn  h2,http/1.1 ]",
        " [ssl-min-ver TLSv1.3]",
        " [verify optional ca-file ssl/ca2.pem]",
        " [verify optional ca-file ssl/ca0.pem alpn h2]",
    ]);
    let host = dice.below(HOSTS);
    let hosts = match dice.below(8) {
        0 => Vec::new(),
        1 => vec!["*.example".to_owned()],
        2 => vec!["*.example".to_owned(), format!("!h{host}.example")],
        3 => vec![format!("H{host}.Example"), format!("www.h{host}.example")],
        4 => vec![format!("h{host}.example")],
        _ => vec![format!("h{certificate}.example")],
    };
    Line { certificate, options, hosts }
}
