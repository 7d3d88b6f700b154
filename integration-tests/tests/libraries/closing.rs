//! Servers that close without an answer: whatever may be sent again, clients get an answer soon.

use crate::{
    around::service,
    client::ask,
    on_each_haproxy,
    options::{both, certificate},
    site::SCHEMES,
};
use serde_json::json;
use std::{
    io::{BufRead, BufReader, Read, Write},
    net::{Shutdown, TcpListener, TcpStream},
    thread,
    time::{Duration, Instant},
};

/// What becomes of a connection.
type Server = fn(TcpStream) -> std::io::Result<()>;

const SERVERS: [(&str, Server); 5] = [
    ("closes-at-once", |connection| connection.shutdown(Shutdown::Both)),
    ("reads-and-closes", |mut connection| connection.read(&mut [0; 65_536]).map(drop)),
    ("closes-with-a-reset", |mut connection| connection.read_exact(&mut [0; 1])),
    ("says-half-a-word", |mut connection| {
        let read = connection.read(&mut [0; 65_536])?;
        connection.write_all(if read > 0 { b"HTTP/1.1 20" } else { b"" })
    }),
    // HAProxy keeps the connection for the next request.
    ("answers-once", |connection| {
        let mut reader = BufReader::new(connection);
        let mut line = String::new();
        while reader.read_line(&mut line)? > 2 {
            line.clear();
        }
        reader.get_mut().write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")?;
        reader.read(&mut [0; 65_536]).map(drop)
    }),
];

fn serving(server: Server) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        for connection in listener.incoming().flatten() {
            // HAProxy may be first to close.
            thread::spawn(move || server(connection).is_ok());
        }
    });
    port
}

/// With `protocol: h2` HAProxy 3.0 waits for `timeout-connect` each time, whatever may be sent again; later versions do not.
#[test]
fn a_server_that_closes_keeps_no_client_waiting() {
    for options in [
        &[("retry", "all")][..],
        &[("retry", "all"), ("max-body-size", "10m")],
        &[("retry", "idempotent"), ("retries", "1")],
    ] {
        let mut manifests = both(options);
        let paths = &mut manifests[0]["spec"]["rules"][0]["http"]["paths"];
        *paths = SERVERS.iter().map(|(name, _)| {
            json!({"path": format!("/{name}"), "pathType": "Prefix", "backend": {"service": {"name": name, "port": {"number": 80}}}})
        }).collect();
        manifests.push(certificate());
        for (name, server) in SERVERS {
            manifests.extend(service(name, "IPv4", serving(server), &["127.0.0.1"]));
        }
        on_each_haproxy(&manifests, |site| {
            for ((name, _), scheme) in
                SERVERS.iter().flat_map(|server| SCHEMES.map(|scheme| (server, scheme)))
            {
                for (method, bytes) in
                    [("GET", 0), ("POST", 10), ("POST", 12_000), ("POST", 200_000), ("GET", 0)]
                {
                    let start = Instant::now();
                    let head = format!("{method} /{name} HTTP/1.1\r\nHost: a.example\r\n");
                    // Where an answer could not begin any more the connection ends without one.
                    let answer = ask(&site.way(scheme, "a.example"), &head, &"x".repeat(bytes));
                    let took = start.elapsed();
                    assert!(
                        took < Duration::from_secs(10),
                        "{name} {options:?} {method} {bytes}: {took:?} {answer:?}"
                    );
                }
            }
        });
    }
}
