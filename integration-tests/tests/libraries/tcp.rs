//! TCP services: which connections get to which Service, by ports that the operator lists.

use crate::{
    SERIES,
    around::{Around, service},
    client::{Way, ask, converse},
    echo,
    options::annotations,
    ports::free_port,
    site::Site,
};
use base64::{Engine, engine::general_purpose::STANDARD as BASE64};
use integration_tests::certificate::{self, Authority};
use serde_json::{Value, json};
use std::{
    io::{BufRead, BufReader, Read, Write},
    net::{IpAddr, SocketAddr, TcpListener, TcpStream, UdpSocket},
    time::{Duration, Instant},
};

const HEAD: &str = "GET /x HTTP/1.1\r\nHost: a.example\r\n";

/// A Service of namespace shop at `server`, created on that day, that asks for ports.
fn asking(name: &str, day: u8, server: SocketAddr, options: &[(&str, &str)]) -> Vec<Value> {
    let mut both = service(name, "IPv4", server.port(), &[&server.ip().to_string()]);
    both[0]["metadata"]["annotations"] = annotations(options).into();
    both[0]["metadata"]["creationTimestamp"] = json!(format!("2026-01-{day:02}T00:00:00Z"));
    both.into()
}

/// A site with two ports for TCP services, whose objects `make` makes.
fn on_each(
    make: impl Fn(u16, u16) -> Vec<Value>,
    change: impl Fn(&mut Value),
    check: impl Fn(&dyn Fn(u16) -> SocketAddr, u16, u16),
) {
    for series in SERIES {
        let (first, second) = (free_port(), free_port());
        let site = Site::start_with(series, &make(first, second), |spec| {
            let context = &mut spec["templatingSettings"]["extraContext"];
            context["tcpPorts"] = json!([first, second.to_string()]);
            change(spec);
        });
        check(&|port| SocketAddr::from(([127, 0, 0, 1], port)), first, second);
        drop(site);
    }
}

/// Whether a connection to a port ends, or is not even made.
fn ends(address: SocketAddr) -> bool {
    let Ok(mut stream) = TcpStream::connect(address) else { return true };
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    stream.write_all(b"hello\r\n").is_err() || !matches!(stream.read(&mut [0; 1]), Ok(1))
}

/// A server that is the first to say something, as those of mail and databases are.
pub fn greeting() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for mut connection in listener.incoming().flatten() {
            drop(connection.write_all(b"220 mail.example\r\n"));
        }
    });
    address
}

#[test]
fn connections_at_a_listed_port_get_to_the_service_that_asks_for_it_first() {
    let (server, mail) = (echo::start(), greeting());
    let at = |last: u8| SocketAddr::from(([127, 0, 1, last], server));
    on_each(
        |first, second| {
            let one = asking("first", 5, at(41), &[("tcp-ports", &format!("{first}:80"))]);
            let later = asking("later", 6, at(42), &[("tcp-ports", &format!("{first}:80, 1:80"))]);
            let mail = asking("mail", 1, mail, &[("tcp-ports", &format!("{second}:80"))]);
            [one, later, mail].concat()
        },
        |_| {},
        |address, first, second| {
            assert_eq!(ask(&Way::to(address(first), None), HEAD, "").unwrap().service(), Some(41));
            let begun = Instant::now();
            let mut line = String::new();
            BufReader::new(TcpStream::connect(address(second)).unwrap()).read_line(&mut line).unwrap();
            assert_eq!(line, "220 mail.example\r\n");
            assert!(begun.elapsed() < Duration::from_secs(5), "nobody waits for the client's first word");
        },
    );
}

#[test]
fn nobody_is_served_at_ports_that_nobody_asks_for_and_to_who_may_not_come_in() {
    let at = SocketAddr::from(([127, 0, 1, 41], echo::start()));
    for (networks, is_let_in) in
        [("10.0.0.0/8", false), ("10.0.0.0/8, 127.0.0.0/8", true), ("10.0.0.0/33", false)]
    {
        on_each(
            |first, _| {
                let ports = format!("{first}:80");
                asking("guarded", 1, at, &[("tcp-ports", &ports), ("tcp-allow-from", networks)])
            },
            |_| {},
            |address, first, second| {
                assert_eq!(ask(&Way::to(address(first), None), HEAD, "").is_ok(), is_let_in, "{networks}");
                assert!(ends(address(second)), "a port that nobody asks for");
            },
        );
    }
}

/// An address of this machine at which HAProxy may be reached as at that of a Service. Nothing is sent.
fn address_of_the_machine() -> IpAddr {
    let socket = UdpSocket::bind("0.0.0.0:0").unwrap();
    socket.connect("198.51.100.1:9").expect("the machine has an address beside 127.0.0.1");
    socket.local_addr().unwrap().ip()
}

#[test]
fn a_connection_does_not_go_round_through_haproxys_own_service() {
    // Instead of the cluster: what comes to the Service's address is at HAProxy's at once.
    let (own, server) = (address_of_the_machine(), echo::start());
    let haproxys = |port: u16| {
        let labels = json!({"kubernetes.io/service-name": "haproxy"});
        vec![
            json!({"kind": "HaproxyPod", "address": "10.1.0.1"}),
            json!({"kind": "Service", "metadata": {"namespace": "edge", "name": "haproxy"},
                "spec": {"clusterIP": own.to_string(), "ports": [{"name": "round", "port": port}]}}),
            json!({"kind": "EndpointSlice", "addressType": "IPv4",
                "metadata": {"namespace": "edge", "name": "haproxy", "labels": labels},
                "ports": [{"name": "round", "port": port}], "endpoints": [{"addresses": ["10.1.0.1"]}]}),
        ]
    };
    on_each(
        |first, second| {
            let round = asking("round", 1, (own, first).into(), &[("tcp-ports", &format!("{first}:80"))]);
            let at = SocketAddr::from(([127, 0, 1, 41], server));
            let honest = asking("honest", 1, at, &[("tcp-ports", &format!("{second}:80"))]);
            [haproxys(first), round, honest].concat()
        },
        |spec| {
            let context = &mut spec["templatingSettings"]["extraContext"];
            context["bindAddresses"] = json!(["127.0.0.1", own.to_string()]);
        },
        |address, first, second| {
            let begun = Instant::now();
            assert!(ends(address(first)));
            assert!(begun.elapsed() < Duration::from_secs(5), "it went round until no connection was left");
            assert_eq!(ask(&Way::to(address(second), None), HEAD, "").unwrap().service(), Some(41));
        },
    );
}

#[test]
fn tls_ends_at_a_port_with_a_secret_and_without_it_nobody_is_served() {
    let at = SocketAddr::from(([127, 0, 1, 41], echo::start()));
    let own = certificate::for_host("db.example").unwrap();
    let check_with = |labels: Value| {
        on_each(
            |first, second| {
                let mut manifests = asking(
                    "secured",
                    1,
                    at,
                    &[("tcp-ports", &format!("{first}:80")), ("tcp-tls-secret", "db")],
                );
                manifests.extend(asking(
                    "broken",
                    1,
                    at,
                    &[("tcp-ports", &format!("{second}:80")), ("tcp-tls-secret", "nonesuch")],
                ));
                manifests.push(json!({"kind": "Secret", "metadata": {"namespace": "shop", "name": "db", "labels": labels},
                "data": {"tls.crt": BASE64.encode(&own.pem), "tls.key": BASE64.encode(&own.key)}}));
                manifests
            },
            |_| {},
            |address, first, second| {
                let (answer, shown) =
                    converse(&Way::to(address(first), Some("db.example")), HEAD, "").unwrap();
                assert_eq!((answer.service(), shown), (Some(41), Some(own.der.clone())));
                assert!(ends(address(first)), "what is no TLS");
                assert!(ends(address(second)), "a port without its Secret");
            },
        )
    };
    check_with(json!({}));
    check_with(json!({"haproxy-haptic.org/use": "certificate"}));
}

#[test]
fn config_maps_of_other_controllers_open_ports() {
    let around = Around::asking(&Authority::new("servers").unwrap(), "a.example");
    let at = SocketAddr::from(([127, 0, 1, 41], echo::start()));
    let config_map = |rows: Value| {
        json!({"kind": "ConfigMap",
        "metadata": {"namespace": "edge", "name": "tcp", "labels": {"haproxy-haptic.org/use": "tcp"}}, "data": rows})
    };
    let with = |family: &'static str| {
        move |spec: &mut Value| {
            let name = format!("annotations-{family}");
            spec["libraries"] = json!(["base", "ssl", "ingress", name]);
            spec["templatingSettings"]["extraContext"]["annotationFamilies"] =
                json!({family: {"tcpServices": "edge/tcp"}});
        }
    };
    let proxied = |address| {
        let way = Way { first: "PROXY TCP4 192.0.2.7 192.0.2.1 4711 5432\r\n", ..Way::to(address, None) };
        ask(&way, HEAD, "").unwrap()
    };
    on_each(
        |first, second| {
            let mut manifests = [asking("plain", 1, at, &[]), around.services()].concat();
            manifests.push(config_map(json!({first.to_string(): "shop/plain:80", second.to_string(): "shop/proxied:80:PROXY:PROXY"})));
            manifests
        },
        with("ingress-nginx"),
        |address, first, second| {
            assert_eq!(ask(&Way::to(address(first), None), HEAD, "").unwrap().service(), Some(41));
            let body = proxied(address(second)).body;
            assert!(body.starts_with("proxied") && body.contains("192.0.2.7"), "{body}");
        },
    );
    on_each(
        |first, second| {
            let mut manifests = asking("plain", 1, at, &[]);
            manifests.push(config_map(
                json!({first.to_string(): "shop/plain:80:ssl", second.to_string(): "shop/plain:80:tls"}),
            ));
            manifests
        },
        with("haproxy-org"),
        |address, first, second| {
            let way = Way::to(address(first), Some("default.example"));
            assert_eq!(ask(&way, HEAD, "").unwrap().service(), Some(41));
            assert!(ends(address(second)), "a row that cannot be read");
        },
    );
}
