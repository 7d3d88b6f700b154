//! A name server that answers what a test wants, over UDP on loopback.

use haptic_resolve::Dns;
use hickory_resolver::{
    config::{ConnectionConfig, NameServerConfig, ResolveHosts, ResolverConfig, ResolverOpts},
    proto::{
        op::{Message, MessageType, ResponseCode},
        rr::{
            Name, RData, Record,
            rdata::{A, AAAA, CNAME},
        },
    },
};
use std::{
    collections::BTreeMap,
    net::{IpAddr, SocketAddr, UdpSocket},
    sync::{Arc, Mutex},
    thread,
    time::Duration,
};

/// What is answered for a name.
#[derive(Clone, Debug)]
pub enum Reply {
    /// Addresses, good for so many seconds.
    Addresses(Vec<IpAddr>, u32),
    /// Another name's addresses.
    Alias(String, u32),
    /// The server cannot tell.
    Failure,
    /// No answer.
    Silence,
}

pub fn addresses(addresses: &[&str], seconds: u32) -> Reply {
    Reply::Addresses(addresses.iter().map(|a| a.parse().unwrap()).collect(), seconds)
}

#[derive(Clone, Default)]
pub struct NameServer {
    replies: Arc<Mutex<BTreeMap<String, Reply>>>,
    asked: Arc<Mutex<Vec<String>>>,
    address: Option<SocketAddr>,
}

impl NameServer {
    /// It runs until the test ends. Names that it does not know do not exist.
    pub fn start() -> Self {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        let server = Self { address: Some(socket.local_addr().unwrap()), ..Self::default() };
        let own = server.clone();
        thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok((length, from)) = socket.recv_from(&mut buffer) {
                if let Some(answer) = own.answer(&buffer[..length]) {
                    socket.send_to(&answer, from).unwrap();
                }
            }
        });
        server
    }

    /// From now on `name`, with a dot at its end, is this.
    pub fn set(&self, name: &str, reply: Reply) {
        self.replies.lock().unwrap().insert(name.to_owned(), reply);
    }

    /// What was asked for, in order: `NAME TYPE`.
    pub fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }

    /// Asks it, with these search domains.
    pub fn dns(&self, search: &[&str]) -> Dns {
        let address = self.address.unwrap();
        let mut connection = ConnectionConfig::udp();
        connection.port = address.port();
        let server = NameServerConfig::new(address.ip(), true, vec![connection]);
        let search = search.iter().map(|domain| Name::from_ascii(domain).unwrap()).collect();
        let mut options = ResolverOpts::default();
        (options.timeout, options.attempts) = (Duration::from_millis(300), 1);
        options.use_hosts_file = ResolveHosts::Never;
        Dns::new(ResolverConfig::from_parts(None, search, vec![server]), options).unwrap()
    }

    fn answer(&self, question: &[u8]) -> Option<Vec<u8>> {
        let question = Message::from_vec(question).unwrap();
        let query = question.queries[0].clone();
        let name = query.name().to_ascii().to_lowercase();
        self.asked.lock().unwrap().push(format!("{name} {}", query.query_type()));
        let mut answer = question.clone();
        answer.metadata.message_type = MessageType::Response;
        answer.metadata.recursion_available = true;
        let replies = self.replies.lock().unwrap();
        let (mut own, mut name) = (query.name().clone(), name);
        loop {
            match replies.get(&name) {
                None if own == *query.name() => answer.metadata.response_code = ResponseCode::NXDomain,
                None => {}
                Some(Reply::Failure) => answer.metadata.response_code = ResponseCode::ServFail,
                Some(Reply::Silence) => return None,
                Some(Reply::Addresses(addresses, seconds)) => {
                    for address in addresses {
                        let data = match address {
                            IpAddr::V4(address) => RData::A(A(*address)),
                            IpAddr::V6(address) => RData::AAAA(AAAA(*address)),
                        };
                        if data.record_type() == query.query_type() {
                            answer.add_answer(Record::from_rdata(own.clone(), *seconds, data));
                        }
                    }
                }
                Some(Reply::Alias(other, seconds)) => {
                    let target = Name::from_ascii(other).unwrap();
                    let data = RData::CNAME(CNAME(target.clone()));
                    answer.add_answer(Record::from_rdata(own, *seconds, data));
                    (own, name) = (target, other.clone());
                    continue;
                }
            }
            return Some(answer.to_vec().unwrap());
        }
    }
}
