//! What each option costs HAProxy for a request: of a route that has it, and of a route that has none beside it.
//!
//! HAProxy runs with one thread. Its time is what the kernel says that the thread ran, so that neither wrk nor servers count.
//! Each figure is the least of several rounds, in which HAProxys with and without the option take turns. Those of one run are kept in
//! fixtures/costs.json, of which docs/reference/libraries.md is made.

use crate::{arguments::Series, dataset::PORT, figures::Scope};
use base64::{Engine, engine::general_purpose::STANDARD as BASE64};
use integration_tests::{
    Failure, Outcome,
    configuration::{Configuration, FRONTEND_PORTS, POD_ADDRESS},
    failure::ensure,
    load::{Connections, Load},
    manifest,
    network::Block,
    process::{self, Process},
    program,
};
use serde_json::{Value, json};
use std::{
    fs,
    net::SocketAddr,
    path::{Path, PathBuf},
    time::Duration,
};
use tokio::{net::TcpStream, process::Command};

const NAMESPACE: &str = "bench";
/// Requests at once.
const CONNECTIONS: usize = 16;
const ROUNDS: usize = 4;
const LASTS: Duration = Duration::from_secs(1);
/// For HAProxy to listen.
const READY_WITHIN: Duration = Duration::from_secs(20);
/// The route with an option, and the one without any.
const HOSTS: [&str; 2] = ["with.example", "without.example"];
/// Servers, and whoever is asked or gets copies.
const SERVICES: [&str; 2] = ["shop", "other"];

/// An option, or several that go together.
struct Measured {
    /// As figures are named.
    name: &'static str,
    annotations: &'static [(&'static str, &'static str)],
    /// What requests have besides, as lines of headers.
    headers: &'static [&'static str],
}

/// All that a request over plain HTTP can show, in the order of their names. Certificates of clients are not among them: wrk has none to show.
/// Nor is the first try of a password, which is one request of thousands: where right ones are remembered, the figure is that of a remembered one.
const ALL: &[Measured] = &[
    of("access-log", &[("access-log", "false")]),
    of("affinity", &[("affinity", "cookie")]),
    of("allow-from", &[("allow-from", "10.0.0.0/8, 127.0.0.0/8, fd00::/8")]),
    of("app-root", &[("app-root", "/shop")]),
    Measured {
        name: "auth-secret by $apr1$",
        annotations: &[("auth-secret", "apr1")],
        headers: &["Authorization: Basic YW5uYTpzZWNyZXQ="],
    },
    Measured {
        name: "auth-secret by $5$ with 1000 rounds",
        annotations: &[("auth-secret", "crypt")],
        headers: &["Authorization: Basic YW5uYTpzZWNyZXQ="],
    },
    of("auth-url", &[("auth-url", "http://other:80/")]),
    of("auth-url, auth-cache", &[("auth-url", "http://other:80/"), ("auth-cache", "10m")]),
    Measured {
        name: "balance-hash",
        annotations: &[("balance-hash", "header:X-User")],
        headers: &["X-User: anna"],
    },
    of("bandwidth", &[("bandwidth", "1g")]),
    Measured {
        name: "canary-cookie",
        annotations: &[("canary-service", "other:80"), ("canary-cookie", "try")],
        headers: &["Cookie: try=always"],
    },
    Measured {
        name: "canary-header",
        annotations: &[("canary-service", "other:80"), ("canary-header", "X-Canary")],
        headers: &["X-Canary: always"],
    },
    of("canary-weight", &[("canary-service", "other:80"), ("canary-weight", "50")]),
    of(
        "canary-weight, canary-sticky",
        &[("canary-service", "other:80"), ("canary-weight", "50"), ("canary-sticky", "true")],
    ),
    Measured {
        name: "compression",
        annotations: &[("compression", "gzip")],
        headers: &["Accept-Encoding: gzip"],
    },
    of("concurrency-limit", &[("concurrency-limit", "1000")]),
    Measured {
        name: "cors-allow-origin",
        annotations: &[("cors-allow-origin", "https://shop.example")],
        headers: &["Origin: https://shop.example"],
    },
    Measured {
        name: "cors-allow-origin, cors-allow-origin-regex",
        annotations: &[
            ("cors-allow-origin", "https://shop.example"),
            ("cors-allow-origin-regex", "https://shop-[0-9]+[.]example"),
        ],
        headers: &["Origin: https://shop-7.example"],
    },
    of("default-service", &[("default-service", "other:80")]),
    of("deny-from", &[("deny-from", "192.0.2.0/24, 198.51.100.0/24")]),
    of("error-pages", &[("error-pages", "pages")]),
    of("error-service", &[("error-service", "other:80")]),
    of("forwarded-prefix", &[("forwarded-prefix", "/shop")]),
    of("health-check", &[("health-check", "tcp")]),
    of("host-rewrite", &[("host-rewrite", "shop.internal")]),
    of(
        "maintenance, maintenance-except",
        &[("maintenance", "true"), ("maintenance-except", "10.0.0.0/8, 127.0.0.0/8")],
    ),
    Measured {
        name: "match-headers",
        annotations: &[("match-headers", "X-Version: 2")],
        headers: &["X-Version: 2"],
    },
    of("max-body-size", &[("max-body-size", "1m")]),
    of("mirror-service", &[("mirror-service", "other:80")]),
    of("mirror-service, mirror-percent: 10", &[("mirror-service", "other:80"), ("mirror-percent", "10")]),
    of("proxy-protocol", &[("proxy-protocol", "v1")]),
    of("rate-limit", &[("rate-limit", "1000000")]),
    of("rate-limit, rate-limit-burst", &[("rate-limit", "1000000"), ("rate-limit-burst", "1000")]),
    Measured {
        name: "rate-limit, rate-limit-key",
        annotations: &[("rate-limit", "1000000"), ("rate-limit-key", "header:X-User")],
        headers: &["X-User: anna"],
    },
    of("redirect-to", &[("redirect-to", "https://shop.example/")]),
    of("remove-request-headers", &[("remove-request-headers", "X-A, X-B")]),
    of("request-buffering", &[("request-buffering", "1s")]),
    of("request-headers", &[("request-headers", "X-A: 1\nX-B: 2")]),
    of(
        "request-headers with variables",
        &[("request-headers", "X-A: ${client-address}\nX-B: ${request-id}")],
    ),
    of("response-headers", &[("response-headers", "X-A: 1\nX-B: 2")]),
    of("retry", &[("retry", "all")]),
    of("rewrite-path", &[("rewrite-path", "/shop")]),
    of("rewrite-regex", &[("rewrite-regex", "^/a(.*)"), ("rewrite-replacement", "/b\\1")]),
    of(
        "satisfy, allow-from, auth-secret",
        &[("satisfy", "any"), ("allow-from", "10.0.0.0/8, 127.0.0.0/8"), ("auth-secret", "crypt")],
    ),
    of("timeout-server", &[("timeout-server", "20s")]),
    of("trailing-slash", &[("trailing-slash", "remove")]),
    of("weights", &[("weights", "other:80=50")]),
];

const fn of(name: &'static str, annotations: &'static [(&'static str, &'static str)]) -> Measured {
    Measured { name, annotations, headers: &[] }
}

/// Measures all of them.
pub async fn measure(series: Series, block: Block, dir: &Path, into: &mut Scope<'_>) -> Outcome {
    let plain = Site::start(series, &of("none", &[]), (block, 0), &dir.join("none")).await?;
    let (mut least, mut rows) = (f64::MAX, Vec::new());
    for (number, measured) in (1_usize..).zip(ALL) {
        let site = Site::start(series, measured, (block, 1), &dir.join(number.to_string())).await?;
        let [mut base, mut with, mut without] = [f64::MAX; 3];
        for round in 0..ROUNDS {
            base = base.min(plain.microseconds(HOSTS[1], &format!("{number}-{round}")).await?);
            with = with.min(site.microseconds(HOSTS[0], &format!("{round}-with")).await?);
            without = without.min(site.microseconds(HOSTS[1], &format!("{round}-without")).await?);
        }
        site.haproxy.kill().await?;
        rows.push((measured.name, with - base, without - base));
        least = least.min(base);
    }
    plain.haproxy.kill().await?;
    into.add("request_us", least);
    for (name, with, without) in rows {
        let mut of = into.within(name);
        of.add("more_us", with);
        of.add("more_for_others_us", without);
    }
    Ok(())
}

/// A HAProxy with both routes.
struct Site {
    haproxy: Process,
    address: SocketAddr,
    headers: &'static [&'static str],
    dir: PathBuf,
}

impl Site {
    async fn start(
        series: Series,
        measured: &Measured,
        (block, number): (Block, u8),
        dir: &Path,
    ) -> Outcome<Self> {
        let (manifests, files) = (dir.join("manifests"), dir.join("files"));
        fs::create_dir_all(&manifests)?;
        let objects: Vec<String> = objects(measured, block).iter().map(Value::to_string).collect();
        fs::write(manifests.join("all.yaml"), objects.join("\n---\n"))?;
        let configuration = dir.join("config.yaml");
        fs::write(&configuration, Configuration::libraries(NAMESPACE)?.manifest.to_string())?;
        let mut render = Command::new(program::haptic()?);
        render.arg("render").arg("-f").arg(configuration).arg("--resources").arg(manifests);
        render.arg("--out").arg(&files).arg("--haproxy-version").arg(series.number());
        process::output(&mut render).await?;
        fs::write(dir.join("one-thread.cfg"), "global\n  nbthread 1\n  default-path config\n")?;
        let mut haproxy = Command::new(program::haproxy(series.haproxy())?);
        haproxy.arg("-db").arg("-f").arg(dir.join("one-thread.cfg")).arg("-f").arg(files.join("haproxy.cfg"));
        haproxy.current_dir(&files).env(POD_ADDRESS, block.pod(number).to_string());
        let mut haproxy = Process::start(haproxy, &dir.join("haproxy.log"))?;
        let address: SocketAddr = (block.pod(number), FRONTEND_PORTS.0).into();
        let ready = tokio::time::Instant::now() + READY_WITHIN;
        while TcpStream::connect(address).await.is_err() {
            haproxy.ensure_running()?;
            ensure(tokio::time::Instant::now() < ready, "HAProxy does not listen")?;
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        Ok(Self { haproxy, address, headers: measured.headers, dir: dir.to_owned() })
    }

    /// HAProxy's time for a request for `host`. `round` is in no other's files.
    async fn microseconds(&self, host: &str, round: &str) -> Outcome<f64> {
        let before = self.nanoseconds()?;
        let hosts = [host.to_owned()];
        let load = Load::start(
            self.address,
            &hosts,
            (Connections::Kept, CONNECTIONS),
            LASTS,
            &self.dir.join(round),
            self.headers,
        )?;
        let tally = load.finish().await?;
        let spent = self.nanoseconds()? - before;
        ensure(tally.failed == 0 && tally.requests > 0, format!("{host}: {}", tally.line))?;
        #[expect(clippy::cast_precision_loss, reason = "far below 2^52")]
        Ok(spent as f64 / 1e3 / tally.requests as f64)
    }

    /// What its thread ran since it was started, as /proc/PID/schedstat says.
    fn nanoseconds(&self) -> Outcome<u64> {
        let file = format!("/proc/{}/schedstat", self.haproxy.id());
        let text = fs::read_to_string(&file)?;
        let ran = text.split(' ').next().and_then(|number| number.parse().ok());
        ran.ok_or_else(|| Failure::new(format!("{file}: {text:?}")))
    }
}

fn objects(measured: &Measured, block: Block) -> Vec<Value> {
    let mut all = Vec::new();
    for (number, name) in (1_u8..).zip(SERVICES) {
        let mut slice = manifest::endpoints(name, &[block.backend(number)]);
        slice["ports"] = json!([{ "name": "http", "port": PORT, "protocol": "TCP" }]);
        all.extend([manifest::service(name), slice]);
    }
    for host in HOSTS {
        all.push(manifest::ingress(host, host, SERVICES[0]));
    }
    if let Some(with) = all.iter_mut().find(|object| object["metadata"]["name"] == HOSTS[0]) {
        for (option, value) in measured.annotations {
            with["metadata"]["annotations"][format!("haproxy-haptic.org/{option}")] = json!(value);
        }
    }
    let secret = |name: &str, line: &str| {
        let metadata = json!({ "name": name, "labels": { "haproxy-haptic.org/use": "users" } });
        json!({ "apiVersion": "v1", "kind": "Secret", "metadata": metadata, "data": { "auth": BASE64.encode(line) } })
    };
    // The password "secret".
    all.push(secret("apr1", "anna:$apr1$salt$VEpBc9VHGUKwI9.yg13Iu0\n"));
    all.push(secret("crypt", "anna:$5$rounds=1000$salt$CCvcOM6b7TEJDPb37Aec/9UpOg4QhPNAxPpL9ZzjTB7\n"));
    let metadata = json!({ "name": "pages", "labels": { "haproxy-haptic.org/use": "pages" } });
    let data = json!({ "503.html": "<p>We will be back soon.</p>" });
    all.push(json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data }));
    all.iter_mut().for_each(|object| object["metadata"]["namespace"] = json!(NAMESPACE));
    all
}
