//! Who may look at `/debug`: this machine, unless `--debug-address` says otherwise.
//!
//! A page that some website shows can ask a port of this machine by a name of its own that leads here. So on loopback only
//! names of this machine are answered. Which name was asked for says `Host` alone: of what a proxy would say (`Forwarded` and
//! its like) that page could say anything.

use actix_web::{
    Error, HttpResponse,
    body::{BoxBody, MessageBody},
    dev::{ServiceRequest, ServiceResponse},
    http::header::HOST,
    middleware::Next,
};
use std::net::IpAddr;

/// Lets a request through, or says how it would be let through. `open`: an address that is not loopback was asked for.
///
/// # Errors
/// Those of what is behind it.
pub async fn gate(
    open: bool,
    request: ServiceRequest,
    next: Next<impl MessageBody + 'static>,
) -> Result<ServiceResponse<BoxBody>, Error> {
    let names = names(&request);
    let near = request.peer_addr().is_some_and(|peer| peer.ip().is_loopback());
    if open || (near && names.iter().all(|name| is_of_this_machine(name))) {
        return next.call(request).await.map(ServiceResponse::map_into_boxed_body);
    }
    let why = format!(
        "/debug answers on this machine only, by its address or as localhost, and not as {names:?}. Use kubectl port-forward, \
         or start haptic with --debug-address\n"
    );
    Ok(request.into_response(HttpResponse::Forbidden().content_type("text/plain").body(why)))
}

/// The names that the request asks for: one, unless somebody plays tricks.
fn names(request: &ServiceRequest) -> Vec<String> {
    let of_uri = request.uri().authority().map(ToString::to_string);
    let of_header = request.headers().get_all(HOST);
    of_header.map(|host| String::from_utf8_lossy(host.as_bytes()).into_owned()).chain(of_uri).collect()
}

/// Whether nobody else can give that name to this machine: an address, `localhost`, or a name without a dot.
fn is_of_this_machine(host: &str) -> bool {
    let name = match host.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((address, _)) => address,
        None => host.split_once(':').map_or(host, |(name, _)| name),
    };
    name.parse::<IpAddr>().is_ok() || !name.contains('.') || name.ends_with(".localhost")
}

#[cfg(test)]
mod tests {
    use super::*;
    use actix_web::{App, HttpServer, middleware::from_fn, web};
    use tokio::{
        io::{AsyncReadExt, AsyncWriteExt},
        net::TcpStream,
    };

    /// The status of a server behind the gate for a request line and headers.
    async fn answered(head: &str) -> String {
        let gate = || from_fn(|request, next| gate(false, request, next));
        let app = move || App::new().wrap(gate()).default_service(web::to(|| async { "ok" }));
        let server = HttpServer::new(app).workers(1).disable_signals().bind("127.0.0.1:0").unwrap();
        let address = server.addrs()[0];
        let server = server.run();
        let handle = server.handle();
        actix_web::rt::spawn(server);
        let mut connection = TcpStream::connect(address).await.unwrap();
        connection.write_all(format!("{head}Connection: close\r\n\r\n").as_bytes()).await.unwrap();
        let mut answer = String::new();
        connection.read_to_string(&mut answer).await.unwrap();
        handle.stop(false).await;
        answer.split(' ').nth(1).unwrap().to_owned()
    }

    #[actix_web::test]
    async fn no_header_makes_a_name_of_somebody_else_one_of_this_machine() {
        let debug = "GET /debug HTTP/1.1\r\nHost: ";
        for host in ["localhost:6060", "127.0.0.1", "localhost\r\nX-Forwarded-Host: evil.example"] {
            assert_eq!(answered(&format!("{debug}{host}\r\n")).await, "200", "{host}");
        }
        for more in [
            "",
            "X-Forwarded-Host: localhost\r\n",
            "Forwarded: host=localhost\r\n",
            "X-Forwarded-For: 127.0.0.1\r\nX-Forwarded-Proto: https\r\n",
        ] {
            assert_eq!(answered(&format!("{debug}evil.example\r\n{more}")).await, "403", "{more}");
        }
        for (target, host) in [("localhost", "evil.example"), ("evil.example", "localhost")] {
            let head = format!("GET http://{target}/debug HTTP/1.1\r\nHost: {host}\r\n");
            assert_eq!(answered(&head).await, "403", "{target} {host}");
        }
    }

    #[test]
    fn only_names_that_nobody_else_can_give_are_answered() {
        for host in ["localhost:6060", "127.0.0.1:6060", "[::1]:6060", "::1", "controller", "a.localhost"] {
            assert!(is_of_this_machine(host), "{host}");
        }
        for host in ["evil.example:6060", "127.0.0.1.evil.example", "localhost.evil.example:80"] {
            assert!(!is_of_this_machine(host), "{host}");
        }
    }
}
