//! Alpha and beta: their objects, their servers, what they are asked, and what is right.
//!
//! Alpha has a host of each kind: plain, of its own certificate, by a wildcard, with client certificates, with a password, with
//! a path for some networks only, given to it by the configuration. Beta has the default certificate. Alpha changes, too:
//! endpoints move, routes come.

use super::{
    case::{Around, Ask, Mallory},
    witness::{Client, Question},
};
use crate::{
    backend::Backend,
    certificate::{self, Authority},
    eventually::eventually_within,
    failure::Outcome,
    manifest::BACKEND_PORT,
    network::{Block, METADATA},
};
use serde_json::{Value, json};
use std::{net::Ipv4Addr, time::Duration};

/// What a server answers that nobody may reach through HAProxy.
pub const CANARY: &str = "nobody may reach this";
/// A host that the configuration gives to alpha, whoever asks for it first.
pub const LISTED: &str = "listed.example";
/// The servers of alpha, in the order in which its endpoints move.
pub const MOVING: [&str; 2] = ["alpha one", "alpha two"];

/// So long another arena may take.
const OTHER_ARENA: Duration = Duration::from_secs(180);

/// Alpha and beta: their objects, servers, and clients.
pub struct Innocents {
    /// What they wrote before anybody else.
    pub objects: Vec<Value>,
    /// Without a certificate, and with alpha's.
    pub clients: (Client, Client),
    servers: Vec<Backend>,
}

impl Innocents {
    /// In this block, with so many Ingresses of beta more.
    pub async fn new(block: Block, more: usize) -> Outcome<Self> {
        let authority = Authority::new("alpha")?;
        let clients = (Client::anonymous()?, Client::with(&authority.sign(&["client".to_owned()])?)?);
        Ok(Self { objects: innocent(block, &authority, more)?, clients, servers: servers(block).await? })
    }

    /// Ends their servers: another arena may take their addresses.
    pub async fn end(self) {
        for server in self.servers {
            server.stop().await;
        }
    }
}

async fn servers(block: Block) -> Outcome<Vec<Backend>> {
    let mut servers = Vec::new();
    let names = ["alpha", MOVING[0], MOVING[1], "mallory", "beta"];
    for (number, name) in (0..).zip(names) {
        servers.push(Backend::start(name, block.backend(number)).await?);
    }
    // Every arena has these addresses for itself: another one waits for its end.
    for address in [Ipv4Addr::LOCALHOST, METADATA] {
        let free = async || Backend::start(CANARY, address).await;
        servers.push(eventually_within(OTHER_ARENA, "the other arena has ended", free).await?);
    }
    Ok(servers)
}

/// Everything that alpha and beta have.
fn innocent(block: Block, authority: &Authority, more: usize) -> Outcome<Vec<Value>> {
    let tenant = |namespace: &str, server: u8| Mallory {
        namespace: namespace.to_owned(),
        host: format!("{namespace}.example"),
        around: Around { haproxy: block.pod(0), server: block.backend(server) },
    };
    let (alpha, beta) = (tenant("alpha", 0), tenant("beta", 4));
    let own = certificate::for_host("alpha.example")?;
    let wild = certificate::for_host("*.alpha.example")?;
    let users = "anna:$5$rounds=1000$saltsalt$eKLZU9t9OoPWrqOQsoTIKG0aYkZ5rGOoOQhiIvoSWX2\n";
    let named = |mut ingress: Value, host: &str, path: &str| {
        ingress["spec"]["rules"][0]["host"] = host.into();
        ingress["spec"]["rules"][0]["http"]["paths"][0]["path"] = path.into();
        ingress
    };
    let mut secure =
        named(alpha.annotated("secure", &[("client-ca-secret", "ca".into())]), "secure.alpha.example", "/");
    secure["spec"]["tls"] = json!([{ "hosts": ["secure.alpha.example"], "secretName": "wild" }]);
    let mut any = named(alpha.ingress("any"), "*.alpha.example", "/");
    any["spec"]["tls"] = json!([{ "hosts": ["*.alpha.example"], "secretName": "wild" }]);
    let mut objects = alpha.with_web(vec![
        alpha.secured("web", &["alpha.example"], "own"),
        named(
            alpha.annotated("private", &[("allow-from", "192.0.2.0/24".into())]),
            "alpha.example",
            "/private",
        ),
        named(alpha.annotated("login", &[("auth-secret", "users".into())]), "alpha.example", "/login"),
        secure,
        any,
        alpha.tls("own", &own.pem, &own.key),
        alpha.tls("wild", &wild.pem, &wild.key),
        alpha.labelled("ca", "ca.crt", &authority.pem),
        alpha.labelled("users", "auth", users),
        alpha.service("moving"),
        named(alpha.ingress("listed"), LISTED, "/"),
        to_moving(named(alpha.ingress("moving"), "moving.alpha.example", "/")),
    ]);
    objects.extend(beta.with_web(vec![beta.ingress("web")]));
    objects.extend((0..more).flat_map(|number| crowd(&beta, number)));
    for object in &mut objects {
        object["metadata"]["creationTimestamp"] = json!("2026-01-01T00:00:00Z");
    }
    Ok(objects)
}

/// An Ingress of many, with its Service and endpoints, of which only the first is there.
fn crowd(beta: &Mallory, number: usize) -> [Value; 3] {
    let name = format!("crowd-{number}");
    let mut ingress = beta.ingress(&name);
    ingress["spec"]["rules"][0]["host"] = format!("{name}.beta.example").into();
    ingress["spec"]["rules"][0]["http"]["paths"][0]["backend"]["service"]["name"] = name.clone().into();
    let addresses = (1..4).map(|n| format!("10.97.{}.{}", number / 80 % 256, number % 80 * 3 + n));
    [ingress, beta.service(&name), beta.slice(&name, &name, &addresses.collect::<Vec<_>>(), BACKEND_PORT)]
}

fn to_moving(mut ingress: Value) -> Value {
    ingress["spec"]["rules"][0]["http"]["paths"][0]["backend"]["service"]["name"] = "moving".into();
    ingress
}

/// Alpha's endpoints that move, at one address.
#[must_use]
pub fn moved_to(address: Ipv4Addr) -> Value {
    let alpha = alpha();
    let mut slice = alpha.slice("moving", "moving", &[address.to_string()], BACKEND_PORT);
    slice["metadata"]["creationTimestamp"] = json!("2026-01-01T00:00:00Z");
    slice
}

/// A route of alpha that was not there.
#[must_use]
pub fn fresh(number: usize) -> Value {
    let mut ingress = alpha().ingress(&format!("fresh-{number}"));
    ingress["spec"]["rules"][0]["host"] = format!("fresh-{number}.example").into();
    ingress
}

fn alpha() -> Mallory {
    let nowhere = Around { haproxy: Ipv4Addr::UNSPECIFIED, server: Ipv4Addr::UNSPECIFIED };
    Mallory { namespace: "alpha".to_owned(), host: "alpha.example".to_owned(), around: nowhere }
}

/// What is asked of the two all the time, with a part of the right answer.
pub fn questions((anonymous, known): &(Client, Client)) -> Vec<(Question, &'static str)> {
    let (alpha, beta) = ("\r\n\r\nalpha", "\r\n\r\nbeta");
    let refused = ["HTTP/1.1 401 ", "HTTP/1.1 403 "];
    let ask = |tls, host: &str, path: &str| (anonymous.clone(), Ask { tls, ..Ask::get(host, path) });
    let login = Ask::get("alpha.example", "/login");
    let (_, secure) = ask(true, "secure.alpha.example", "/");
    vec![
        (ask(false, "alpha.example", "/"), alpha),
        (ask(true, "alpha.example", "/"), alpha),
        (ask(true, "any.alpha.example", "/"), alpha),
        (ask(true, "secure.alpha.example", "/"), refused[1]),
        ((known.clone(), secure), alpha),
        (ask(false, "alpha.example", "/private"), refused[1]),
        ((anonymous.clone(), login.clone()), refused[0]),
        ((anonymous.clone(), login.with_password()), alpha),
        (ask(false, LISTED, "/"), alpha),
        (ask(false, "beta.example", "/"), beta),
        (ask(true, "beta.example", "/"), beta),
    ]
}
