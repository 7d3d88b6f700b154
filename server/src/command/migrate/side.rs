//! One side of a comparison: a controller that is asked at its address for any host, whatever that host's name leads to.

use super::credentials::HostCredentials;
use crate::cli::SideUrl;
use awc::{
    Client, Connector,
    http::{Method, header},
};
use futures::StreamExt as _;
use haptic_inspect::migrate::compare::{
    ComparedAnswer, ComparedRequest, ComparedScheme, requests::SAFE_METHODS,
};
use haptic_validate::requests::AnyCertificate;
use rustls::{
    ClientConfig, RootCertStore,
    pki_types::{CertificateDer, pem::PemObject},
};
use std::{cell::Cell, net::SocketAddr, path::Path, rc::Rc, sync::Arc, time::Duration};
use tokio::{
    net::{TcpStream, lookup_host},
    time::{Instant, sleep_until, timeout},
};

/// What the old controller's log shows of these requests.
const USER_AGENT: &str = concat!("haptic-migrate-compare/", env!("CARGO_PKG_VERSION"));
/// So much of a body is read, so that servers finish what they began.
const MOST_OF_BODY: usize = 64 << 10;
/// A body that has no end is left after this time.
const BODY_TIME: Duration = Duration::from_secs(1);

/// Not more than so many requests a second.
pub struct Pace {
    period: Duration,
    next: Cell<Instant>,
}

impl Pace {
    pub fn new(rate: u32) -> Self {
        Self { period: Duration::from_secs(1) / rate.max(1), next: Cell::new(Instant::now()) }
    }

    /// Waits until the next request may be sent.
    async fn wait(&self) {
        let now = self.next.get().max(Instant::now());
        self.next.set(now + self.period);
        sleep_until(now).await;
    }
}

/// How both sides are asked.
pub struct SideRules {
    pub limit: Duration,
    pub rate: u32,
    /// Headers of answers that count for all requests.
    pub headers: Vec<String>,
    /// Methods that may be asked by in addition to those that change nothing.
    pub methods: Vec<String>,
    pub credentials: HostCredentials,
    pub tls: Arc<ClientConfig>,
}

/// A controller that is asked.
pub struct ComparedSide {
    addresses: Vec<(SideUrl, SocketAddr)>,
    // awc knows connections by their host alone: each side needs a client of its own.
    client: Client,
    pace: Pace,
    rules: Rc<SideRules>,
}

impl ComparedSide {
    /// The one at these addresses, which listens there.
    ///
    /// # Errors
    /// A sentence: nothing listens there.
    pub async fn connect(urls: &[SideUrl], rules: &Rc<SideRules>) -> Result<Self, String> {
        let mut addresses = Vec::new();
        for url in urls {
            let address = listening(url, rules.limit).await;
            addresses.push((url.clone(), address.map_err(|why| format!("nothing answers at {url}: {why}"))?));
        }
        let connector = Connector::new()
            .timeout(rules.limit)
            .handshake_timeout(rules.limit)
            .rustls_0_23(rules.tls.clone());
        let client = Client::builder().connector(connector).disable_timeout().disable_redirects().finish();
        Ok(Self { addresses, client, pace: Pace::new(rules.rate), rules: rules.clone() })
    }

    /// Whether it can be asked so.
    pub fn speaks(&self, scheme: ComparedScheme) -> bool {
        self.addresses.iter().any(|(url, _)| url.scheme == scheme)
    }

    /// What counts of its answer.
    ///
    /// # Errors
    /// A sentence: there is none.
    pub async fn ask(&self, request: &ComparedRequest) -> Result<ComparedAnswer, String> {
        let of_scheme = self.addresses.iter().find(|(url, _)| url.scheme == request.scheme);
        let Some((url, address)) = of_scheme else {
            return Err(format!(
                "it is asked over {0}: give an address with {0}:// as well",
                request.scheme.name()
            ));
        };
        if !SAFE_METHODS.contains(&&*request.method) && !self.rules.methods.contains(&request.method) {
            return Err(format!("it may change something: --method {} allows it", request.method));
        }
        self.pace.wait().await;
        let answer = timeout(self.rules.limit, self.exchange(url, *address, request)).await;
        let answer =
            answer.unwrap_or_else(|_| Err(format!("no answer within {} s", self.rules.limit.as_secs())));
        answer.map_err(|why| format!("{url}: {why}"))
    }

    async fn exchange(
        &self,
        url: &SideUrl,
        address: SocketAddr,
        request: &ComparedRequest,
    ) -> Result<ComparedAnswer, String> {
        let host = request.host.as_deref().unwrap_or(&url.host);
        let method = Method::from_bytes(request.method.as_bytes()).map_err(|error| error.to_string())?;
        let place = format!("{}://{host}{}", request.scheme.name(), request.target);
        let mut asked = self.client.request(method, place).address(address).force_close().no_decompress();
        asked = asked.insert_header((header::USER_AGENT, USER_AGENT));
        for (name, value) in &request.headers {
            // Recordings are files: what is in them is no reason to send names and passwords.
            if ["authorization", "proxy-authorization"].contains(&&*name.to_ascii_lowercase()) {
                return Err("credentials are sent of --credentials alone".to_owned());
            }
            asked = asked.append_header((name.as_str(), value.as_str()));
        }
        if request.with_credentials {
            let (name, password) = self
                .rules
                .credentials
                .of(host)
                .ok_or_else(|| format!("--credentials has no line for {host}"))?;
            asked = asked.basic_auth(name, password);
        }
        let mut answer = asked.send().await.map_err(|error| error.to_string())?;
        let names: Vec<&str> =
            self.rules.headers.iter().chain(&request.compares).map(String::as_str).collect();
        let headers = answer.headers().iter().map(|(name, value)| (name.as_str(), value.as_bytes()));
        let compared = ComparedAnswer::of(answer.status().as_u16(), headers, &names);
        let body = async {
            let mut read = 0;
            while let Some(Ok(bytes)) = answer.next().await {
                read += bytes.len();
                if read > MOST_OF_BODY {
                    break;
                }
            }
        };
        // What counts is there already.
        drop(timeout(BODY_TIME, body).await);
        Ok(compared)
    }
}

/// The first address of a name at which something listens.
async fn listening(url: &SideUrl, limit: Duration) -> Result<SocketAddr, String> {
    let host = url.host.trim_start_matches('[').trim_end_matches(']');
    let addresses = timeout(limit, lookup_host((host, url.port))).await;
    let addresses = addresses
        .map_err(|_| "its name is not resolved in time".to_owned())?
        .map_err(|error| error.to_string())?;
    let mut why = "its name has no address".to_owned();
    for address in addresses {
        match timeout(limit, TcpStream::connect(address)).await {
            Ok(Ok(_)) => return Ok(address),
            Ok(Err(error)) => why = error.to_string(),
            Err(_) => why = format!("no connection within {} s", limit.as_secs()),
        }
    }
    Err(why)
}

/// TLS that trusts the authority in the file, or without one any certificate: what is compared are answers, and hosts without a
/// certificate of their own have one that nobody signed.
///
/// # Errors
/// A sentence: the file holds no certificate.
pub fn tls(ca: Option<&Path>) -> Result<Arc<ClientConfig>, String> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider.clone())
        .with_safe_default_protocol_versions()
        .map_err(|error| format!("TLS cannot be set up: {error}"))?;
    let Some(file) = ca else {
        let any = Arc::new(AnyCertificate::new(provider));
        return Ok(Arc::new(builder.dangerous().with_custom_certificate_verifier(any).with_no_client_auth()));
    };
    let cannot = |error: &dyn std::fmt::Display| format!("cannot read {}: {error}", file.display());
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_file_iter(file).map_err(|error| cannot(&error))? {
        roots.add(certificate.map_err(|error| cannot(&error))?).map_err(|error| cannot(&error))?;
    }
    if roots.is_empty() {
        return Err(format!("{} holds no PEM certificate", file.display()));
    }
    Ok(Arc::new(builder.with_root_certificates(roots).with_no_client_auth()))
}
