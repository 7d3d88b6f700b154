//! The endpoints: one server on every address of this machine, which answers with the address it was reached on.

use integration_tests::{Failure, Outcome};
use std::net::Ipv4Addr;
use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader},
    net::{TcpListener, TcpStream},
    task::JoinHandle,
};

/// Starts it on `port` of every address.
pub async fn start(port: u16) -> Outcome<JoinHandle<()>> {
    let listener = TcpListener::bind((Ipv4Addr::UNSPECIFIED, port)).await;
    let listener = listener.map_err(|e| Failure::new(format!("the endpoints at port {port}: {e}")))?;
    Ok(tokio::spawn(async move {
        while let Ok((connection, _)) = listener.accept().await {
            tokio::spawn(converse(connection));
        }
    }))
}

/// Answers every request on one connection until the client closes it or asks for that. Requests have no bodies. The line of the
/// PROXY protocol is one like others.
async fn converse(connection: TcpStream) -> std::io::Result<()> {
    connection.set_nodelay(true)?;
    let body = connection.local_addr()?.ip().to_string();
    let answer = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    let mut stream = BufReader::new(connection);
    let mut line = String::new();
    let mut last = false;
    loop {
        line.clear();
        match stream.read_line(&mut line).await? {
            0 => return Ok(()),
            _ if line.trim_end().eq_ignore_ascii_case("connection: close") => last = true,
            _ if line.trim_end().is_empty() => {
                stream.write_all(answer.as_bytes()).await?;
                if last {
                    return stream.shutdown().await;
                }
            }
            _ => {}
        }
    }
}
