//! Somebody who is asked whether requests may pass, and answers as the path says: well, badly, or not at all.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::{TcpListener, TcpStream},
    sync::{Arc, Mutex},
    thread,
    time::Duration,
};

/// What it was asked: the heads of requests.
#[derive(Clone, Default)]
pub struct Questions(Arc<Mutex<Vec<String>>>);

impl Questions {
    /// Those with these words, in lower case.
    pub fn with(&self, words: &str) -> Vec<String> {
        self.0.lock().unwrap().iter().filter(|head| head.contains(words)).cloned().collect()
    }
}

/// Starts it at all IPv4 addresses; its port. It ends with the process.
pub fn start() -> (u16, Questions) {
    let listener = TcpListener::bind("0.0.0.0:0").unwrap();
    let (port, questions) = (listener.local_addr().unwrap().port(), Questions::default());
    let asked = questions.clone();
    thread::spawn(move || {
        for connection in listener.incoming().flatten() {
            let asked = asked.clone();
            thread::spawn(move || while converse(&connection, &asked).is_some() {});
        }
    });
    (port, questions)
}

/// One question and its answer; `None` where the connection ends.
fn converse(connection: &TcpStream, asked: &Questions) -> Option<()> {
    let mut reader = BufReader::new(connection);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if reader.read_line(&mut head).ok()? == 0 {
            return None;
        }
    }
    let head = head.to_lowercase();
    asked.0.lock().unwrap().push(head.clone());
    let path = head.split(' ').nth(1)?.split('?').next()?.to_owned();
    let mut stream = connection;
    let mut say = |text: &str| stream.write_all(text.as_bytes()).ok();
    let sized = |status: &str, headers: &str, body: &str| {
        format!("HTTP/1.1 {status}\r\n{headers}Content-Length: {}\r\n\r\n{body}", body.len())
    };
    let user = "X-Auth-User: anna\r\nX-Auth-Groups: staff\r\nX-Auth-Groups: admins\r\nX-Seen: yes\r\n";
    match path.trim_start_matches('/').split_once('/').map_or((path.trim_start_matches('/'), ""), |it| it) {
        ("ok", _) => say(&sized("200 OK", user, "")),
        ("groups", _) => say(&sized(
            "200 OK",
            &format!("X-Auth-User: anna\r\nX-Auth-Groups: {}\r\n", "g".repeat(3_000)),
            "",
        )),
        ("plain", _) => say(&sized("204 No Content", "", "")),
        ("cookie", _) => say(&sized("202 Accepted", "Set-Cookie: a=1; Path=/\r\nSet-Cookie: b=2\r\n", "")),
        // As oauth2-proxy answers.
        ("oauth2", "auth") if head.contains("_oauth2_proxy=good") => {
            say(&sized("202 Accepted", "X-Auth-Request-User: anna\r\nX-Auth-Request-Email: a@b\r\n", ""))
        }
        ("oauth2", "auth") => {
            say(&sized("401 Unauthorized", "Set-Cookie: _oauth2_proxy_csrf=1\r\n", "Unauthorized"))
        }
        ("api", _) if head.contains("\ncookie: session=good") => {
            say(&sized("200 OK", "Remote-User: anna\r\n", ""))
        }
        ("api", _) => say(&sized("401 Unauthorized", "", "")),
        ("by-cookie", _) if head.contains("\ncookie: session=good") => say(&sized("200 OK", user, "")),
        ("by-cookie", _) => say(&sized("401 Unauthorized", "WWW-Authenticate: Session\r\n", "sign in")),
        ("status", status) => say(&sized(
            &format!("{status} So"),
            "Location: https://login.example/\r\nWWW-Authenticate: Basic realm=x\r\nSet-Cookie: c=3\r\nX-Inside: y\r\n",
            "no",
        )),
        ("marked", _) => say(&sized("503 No", "X-Haptic-Hop: 1\r\nX-Auth-User: anna\r\n", "")),
        ("early", _) => {
            say(&("HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n".to_owned() + &sized("401 No", "", "")))
        }
        ("continue", _) => say(&("HTTP/1.1 100 Continue\r\n\r\n".to_owned() + &sized("403 No", "", ""))),
        ("switch", _) => say("HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n"),
        ("informed", _) => say("HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n").and(None),
        ("never", _) => hold(connection),
        ("close", _) => None,
        ("nonsense", _) => say("200 OK, come in\r\n\r\n").and(None),
        ("ftp", _) => say("FTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").and(None),
        ("half", _) => say("HTTP/1.1 200 OK\r\nX-Auth-User: an").and(None),
        ("no-status", _) => say("HTTP/1.1 OK\r\nContent-Length: 0\r\n\r\n").and(None),
        ("big-status", _) => say("HTTP/1.1 2000 OK\r\nContent-Length: 0\r\n\r\n").and(None),
        ("truncated", _) => say("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nshort").and(None),
        ("cut-chunk", _) => say("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n10\r\nshort").and(None),
        ("bad-chunk", _) => say("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n").and(None),
        ("two-lengths", _) => {
            say("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab").and(None)
        }
        ("bad-length", _) => say("HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n").and(None),
        ("control", _) => say("HTTP/1.1 200 OK\r\nX-Auth-User: a\0b\r\nContent-Length: 0\r\n\r\n").and(None),
        ("bare", _) => {
            say("HTTP/1.1 200 OK\r\nX-Auth-User: a\rX-B: c\r\nContent-Length: 0\r\n\r\n").and(None)
        }
        ("large-head", _) => say(&sized("200 OK", &format!("X-Auth-User: {}\r\n", "a".repeat(20_000)), "")),
        ("many-heads", _) => say(&sized("200 OK", &"X-A: b\r\n".repeat(500), "")),
        ("large-body", _) => say(&sized("200 OK", user, &"a".repeat(100_000))),
        ("endless", _) => {
            say("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
            while say(&format!("1000\r\n{}\r\n", "a".repeat(4096))).is_some() {}
            None
        }
        ("drip-head", _) => drip(connection, "HTTP/1.1 200 OK\r\nX-Auth-User: anna"),
        ("drip-body", _) => {
            say("HTTP/1.1 200 OK\r\nX-Auth-User: anna\r\nTransfer-Encoding: chunked\r\n\r\n");
            drip(connection, &"1\r\na\r\n".repeat(100))
        }
        ("drip-length", _) => {
            say("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n");
            drip(connection, &"a".repeat(100))
        }
        _ => say(&sized("404 Not Found", "", "")),
    }
}

/// A byte at a time, more slowly than anybody waits for the whole.
fn drip(mut stream: &TcpStream, text: &str) -> Option<()> {
    for byte in text.bytes() {
        stream.write_all(&[byte]).ok()?;
        thread::park_timeout(Duration::from_millis(200));
    }
    None
}

/// Says nothing until the other side ends.
fn hold(stream: &TcpStream) -> Option<()> {
    std::io::copy(&mut Read::by_ref(&mut { stream }), &mut std::io::sink()).ok()?;
    None
}
