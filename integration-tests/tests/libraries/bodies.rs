//! A limit of bodies holds however a body is sent: with its length, in chunks, over HTTP/2.

use crate::{
    SERIES,
    around::{Around, service},
    on_each_haproxy, on_each_haproxy_with,
    options::{both, certificate},
    site::{Scheme, rendered_for, rendered_for_with, version_of},
};
use integration_tests::certificate::Authority;
use serde_json::{Value, json};
use std::{
    cell::RefCell,
    collections::BTreeMap,
    io::{ErrorKind, Read, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
        mpsc::{Receiver, channel},
    },
    thread,
    time::Duration,
};

const LIMIT: usize = 100_000;

/// What a server got of a request's body: its chunks' bytes, and whether its end.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Got {
    path: String,
    bytes: usize,
    whole: bool,
}

/// A server that reads a body in chunks, answers when it is whole, and knows what it got. A path with `early` is answered
/// before, and never to the end; one with `upgrade` becomes a tunnel.
struct Sink {
    port: u16,
    got: Receiver<Got>,
    ends: Arc<AtomicBool>,
}

impl Sink {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let (tell, got) = channel();
        let ends = Arc::new(AtomicBool::new(false));
        let until = Arc::clone(&ends);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                if until.load(Ordering::SeqCst) {
                    break;
                }
                let tell = tell.clone();
                thread::spawn(move || tell.send(serve(stream)));
            }
        });
        Self { port, got, ends }
    }

    /// What it got of each request, when all connections have ended.
    fn all(self) -> Vec<Got> {
        self.ends.store(true, Ordering::SeqCst);
        drop(TcpStream::connect(("127.0.0.1", self.port)).unwrap());
        self.got.iter().collect()
    }
}

fn serve(mut stream: TcpStream) -> Got {
    let (mut text, mut piece, mut answered) = (Vec::new(), vec![0; 65_536], false);
    loop {
        let size = stream.read(&mut piece).unwrap_or(0);
        text.extend_from_slice(&piece[..size]);
        let (head, body) = match text.windows(4).position(|w| w == b"\r\n\r\n") {
            Some(end) => (String::from_utf8_lossy(&text[..end]).into_owned(), &text[end + 4..]),
            None if size == 0 => return Got::default(),
            None => continue,
        };
        let path = head.split(' ').nth(1).unwrap_or_default().to_owned();
        let is_tunnel = path.contains("/upgrade");
        let (bytes, whole) = if is_tunnel { (body.len(), size == 0) } else { chunks(body) };
        if size == 0 || whole {
            let _gone =
                stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok");
            return Got { path, bytes, whole };
        }
        if !answered && path.contains("/early") {
            answered = stream
                .write_all(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n")
                .is_ok();
        }
        if !answered && is_tunnel {
            let tunnel = b"HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: test\r\n\r\n";
            answered = stream.write_all(tunnel).is_ok();
        }
    }
}

/// The bytes in chunks, and whether the last one is there.
fn chunks(mut body: &[u8]) -> (usize, bool) {
    let mut bytes = 0;
    while let Some(end) = body.windows(2).position(|w| w == b"\r\n") {
        let size = usize::from_str_radix(std::str::from_utf8(&body[..end]).unwrap(), 16).unwrap();
        if size == 0 {
            return (bytes, body.len() >= end + 4);
        }
        bytes += size.min(body.len() - end - 2);
        let Some(rest) = body.get(end + 2 + size + 2..) else { break };
        body = rest;
    }
    (bytes, false)
}

/// Sends a body in chunks, the second one after the answer where that comes early; all that is answered until the connection
/// ends or an answer is whole.
fn send(address: SocketAddr, path: &str, size: usize, chunk: usize) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    stream.set_write_timeout(Some(Duration::from_secs(30))).unwrap();
    let head = format!("POST {path} HTTP/1.1\r\nHost: a.example\r\nTransfer-Encoding: chunked\r\n\r\n");
    let mut sent = stream.write_all(head.as_bytes());
    let (mut left, mut begun) = (size, String::new());
    while sent.is_ok() && left > 0 {
        let now = left.min(chunk);
        let piece = format!("{now:x}\r\n{}\r\n", "a".repeat(now));
        sent = stream.write_all(piece.as_bytes());
        left -= now;
        if path.contains("/early") && left + now == size {
            begun = until_hello(&mut stream);
        }
    }
    if sent.is_ok() {
        let _gone = stream.write_all(b"0\r\n\r\n");
    }
    begun + &answered(&mut stream)
}

/// What is answered early.
fn until_hello(stream: &mut TcpStream) -> String {
    let (mut text, mut byte) = (String::new(), [0]);
    while !text.ends_with("hello\r\n") {
        stream.read_exact(&mut byte).unwrap();
        text.push(char::from(byte[0]));
    }
    text
}

/// Whether an answer has as much of a body as it says.
fn is_whole(text: &str) -> bool {
    let Some((head, body)) = text.split_once("\r\n\r\n") else { return false };
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
    length.and_then(|length| length.parse().ok()) == Some(body.len())
}

fn answered(stream: &mut TcpStream) -> String {
    let (mut text, mut piece) = (String::new(), [0; 4096]);
    while !text.ends_with("ok") && !is_whole(&text) {
        match stream.read(&mut piece) {
            Ok(0) => break,
            Ok(size) => text.push_str(&String::from_utf8_lossy(&piece[..size])),
            Err(e) if matches!(e.kind(), ErrorKind::ConnectionReset | ErrorKind::BrokenPipe) => break,
            Err(e) => panic!("{e} after {text:?}"),
        }
    }
    text
}

fn limited(port: u16) -> Vec<Value> {
    let mut manifests = both(&[("max-body-size", "100000")]);
    for ingress in &mut manifests {
        ingress["spec"]["rules"][0]["http"]["paths"][0]["backend"]["service"] =
            json!({"name": "sink", "port": {"number": 80}});
    }
    manifests.extend(service("sink", "IPv4", port, &["127.0.0.1"]));
    manifests.push(certificate());
    manifests
}

/// A class whose routes all have a limit.
fn of_class(spec: &mut Value) {
    spec["templatingSettings"]["extraContext"]["routes"] = json!({"defaults": {"max-body-size": "2m"}});
}

#[test]
fn a_body_without_a_length_ends_at_the_limit() {
    ends_at_the_limit(|_| {});
}

#[test]
fn a_body_without_a_length_ends_at_the_limit_where_the_class_has_one_too() {
    ends_at_the_limit(of_class);
}

fn ends_at_the_limit(change: impl Fn(&mut Value)) {
    let sink = Sink::start();
    // The path of each request, and the size of what must come whole.
    let asked = RefCell::new(BTreeMap::<String, Option<usize>>::new());
    on_each_haproxy_with(&limited(sink.port), change, |site| {
        let clients =
            Around::clients(&Authority::new("any").unwrap(), site.address(Scheme::Https), "a.example");
        for address in [site.address(Scheme::Http), clients.over_h2()] {
            let ask = |below: &str, size: usize, chunk: usize, comes: bool| {
                let path = format!("{below}/{}", asked.borrow().len());
                asked.borrow_mut().insert(path.clone(), comes.then_some(size));
                send(address, &path, size, chunk)
            };
            for (size, chunk) in [(1, 1), (LIMIT, LIMIT), (LIMIT, 999), (LIMIT - 1, 7_000)] {
                let answer = ask("/on", size, chunk, true);
                assert!(answer.starts_with("HTTP/1.1 200"), "{size} in {chunk}: {answer}");
            }
            for (size, chunk) in
                [(LIMIT + 1, LIMIT + 1), (LIMIT + 1, 999), (5_000_000, 1_000), (5_000_000, 1_000_000)]
            {
                let answer = ask("/on", size, chunk, false);
                // Who still sends may see the end of the connection before the answer.
                assert!(
                    answer.starts_with("HTTP/1.1 413") || (size > 1_000_000 && answer.is_empty()),
                    "{size} in {chunk}: {answer}"
                );
            }
            let answer = ask("/on/early", 5_000_000, 10_000, false);
            assert!(
                answer.contains("hello") && !answer.contains("\r\n0\r\n") && !answer.contains(" 413"),
                "it has no end: {answer}"
            );
            let answer = ask("/off", 1_000_000, 10_000, true);
            assert!(answer.starts_with("HTTP/1.1 200"), "others have no limit: {answer}");
        }
    });
    let (asked, mut whole) = (asked.into_inner(), 0);
    for got in sink.all().into_iter().filter(|got| !got.path.is_empty()) {
        match asked[&got.path] {
            Some(size) => assert_eq!((got.bytes, got.whole), (size, true), "{got:?}"),
            None => assert!(!got.whole && got.bytes <= LIMIT, "{got:?}"),
        }
        whole += usize::from(got.whole);
    }
    assert_eq!(whole, asked.values().flatten().count());
}

#[test]
fn a_length_that_is_too_large_is_refused_before_a_body_comes() {
    let sink = Sink::start();
    on_each_haproxy(&limited(sink.port), |site| {
        let mut stream = TcpStream::connect(site.address(Scheme::Http)).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        stream.write_all(b"POST /on HTTP/1.1\r\nHost: a.example\r\nContent-Length: 100001\r\n\r\n").unwrap();
        assert!(answered(&mut stream).starts_with("HTTP/1.1 413"));
    });
    assert!(sink.all().is_empty());
}

#[test]
fn a_tunnel_has_no_body() {
    let sink = Sink::start();
    on_each_haproxy(&limited(sink.port), |site| {
        let mut stream = TcpStream::connect(site.address(Scheme::Http)).unwrap();
        stream.write_all(b"GET /on/upgrade HTTP/1.1\r\nHost: a.example\r\nConnection: upgrade\r\nUpgrade: test\r\n\r\n").unwrap();
        let mut head = [0; 12];
        stream.read_exact(&mut head).unwrap();
        assert_eq!(&head, b"HTTP/1.1 101");
        stream.write_all(&vec![b'a'; 3 * LIMIT]).unwrap();
        stream.shutdown(std::net::Shutdown::Write).unwrap();
        assert_eq!(sink.got.recv().unwrap().bytes, 3 * LIMIT);
    });
}

#[test]
fn the_filter_is_there_where_a_limit_is_and_needs_no_permission() {
    for series in SERIES {
        let versions = [version_of(series)];
        let (with, _) = rendered_for(series, &both(&[("max-body-size", "1k")])).unwrap();
        assert_eq!(
            filtered(&with.config.text.to_string()),
            ["backend shop_on_s1_80"],
            "other routes pay nothing"
        );
        let (of_all, _) = rendered_for_with(series, &both(&[("max-body-size", "1k")]), of_class).unwrap();
        assert_eq!(
            filtered(&of_all.config.text.to_string()),
            ["frontend web"],
            "a new route takes no reload"
        );
        let digest = with.files["general/haptic.lua"].digest;
        assert_eq!(haptic_validate::syntax::problems(&with, &versions, &[]), [], "its digest is {digest}");
        let all = [("path-type", "regex"), ("canary-service", "s3:80"), ("max-body-size", "1k")];
        let (all, _) = rendered_for(series, &both(&all)).unwrap();
        assert_eq!(haptic_validate::syntax::problems(&all, &versions, &[]), []);
        assert_eq!(
            all.config.text.to_string().matches("lua-load").count(),
            1,
            "the Data Plane API keeps one"
        );
        let (without, _) = rendered_for(series, &both(&[("retry", "all")])).unwrap();
        assert!(!without.config.text.contains("lua"), "others pay nothing");
    }
}

/// The kind and name of each section with the filter.
fn filtered(config: &str) -> Vec<String> {
    let mut header = String::new();
    let mut found = Vec::new();
    for line in config.lines() {
        if !line.starts_with([' ', '\t', '#']) && !line.is_empty() {
            header = line.split(' ').take(2).collect::<Vec<_>>().join(" ");
        } else if line.trim() == "filter lua.haptic-body" {
            found.push(header.clone());
        }
    }
    found
}
