//! The classic configuration, with all its parts, through `haptic local`: maps, error pages, server slots, refusals.

use integration_tests::{
    Failure, Outcome, Scene,
    backend::Backend,
    ensure, eventually, http,
    manifest::BACKEND_PORT,
    process::Process,
    program::{self, HaproxySeries},
};
use serde_json::Value;
use std::{
    fs,
    net::{Ipv4Addr, SocketAddr},
    path::{Path, PathBuf},
    time::Duration,
};
use tokio::process::Command;

const HOST: &str = "shop.localhost";
const HTTP: u16 = 7081;
const STATUS: u16 = 8404;
const DEBUG: u16 = 6060;

pub async fn classic(scene: Scene) -> Outcome {
    let shops = shops(&scene, 11).await?;
    let [cart, blog] = [scene.backend("cart").await?, scene.backend("blog").await?];
    let site = Site::open(&scene, &shops[0], &cart)?;
    site.write("blog.yaml", &(BLOG.to_owned() + &endpoints("blog", &[&blog])))?;

    routes(&site).await?;
    what_the_agent_says_itself_is_told(&site).await?;
    scaling_stays_at_run_time(&site, &shops).await?;
    more_than_ten_double_the_slots(&site, &shops).await?;
    an_ingress_without_host_is_refused(&site, &shops[0]).await?;
    site.close().await
}

/// Exact before prefix before root; whole path elements; hosts.
async fn routes(site: &Site) -> Outcome {
    site.answers_from("/", "shop-0").await?;
    for (path, backend) in [
        ("/exact", "cart"),
        ("/exact/more", "shop-0"),
        ("/anything/else?x=y", "shop-0"),
        ("/blog", "blog"),
        ("/blog/2024", "blog"),
        ("/blogger", "shop-0"),
    ] {
        site.answers_from(path, backend).await?;
    }
    site.get("unknown.localhost", "/").await?.has_status(404)?;
    let status = http::get((site.address, STATUS).into(), "status", "/healthz").await?;
    ensure(
        (status.status, status.body.as_str()) == (200, "OK"),
        format!("{} {}", status.status, status.body),
    )?;

    site.write("empty.yaml", EMPTY)?;
    eventually("a Service without endpoints gets the error page", async || {
        let answer = site.get("empty.localhost", "/").await?;
        answer.has_status(503)?;
        let page = "<p>No server is available to handle this request.</p>";
        ensure(answer.body.contains(page), format!("the page is {:?}", answer.body))
    })
    .await?;
    eventually("what was done for it is told", async || {
        let said = site.events_after(0).await?;
        let done = |text: &&String| text.contains("runs on") && text.contains("default/empty");
        said.iter().find(done).map(drop).ok_or_else(|| Failure::new("it is not"))
    })
    .await
}

/// The directives of the process are ignored, and each says so.
async fn what_the_agent_says_itself_is_told(site: &Site) -> Outcome {
    let said = site.events_after(0).await?;
    for keyword in ["chroot", "user", "group", "daemon"] {
        let told = format!("'{keyword}' in global is ignored");
        ensure(said.iter().any(|text| text.contains(&told)), format!("{told}? It says {said:?}"))?;
    }
    Ok(())
}

/// A server more or less is another address in a slot: no reload.
async fn scaling_stays_at_run_time(site: &Site, shops: &[Backend]) -> Outcome {
    let before = site.newest_event().await?;
    for count in [3, 1, 3] {
        site.write("shop-endpoints.yaml", &endpoints("shop", &shops.iter().take(count).collect::<Vec<_>>()))?;
        site.serves_from_all(shops.iter().take(count)).await?;
        site.serves_from_none(shops.iter().skip(count)).await?;
    }
    let said = eventually("it is told", async || {
        let said = site.events_after(before).await?;
        let is_told = said.iter().any(|text| text.contains("runtime only"));
        ensure(is_told, format!("nothing at run time in {said:?}"))?;
        Ok(said)
    })
    .await?;
    let reloads: Vec<&String> = said.iter().filter(|text| text.contains("reloaded because")).collect();
    ensure(reloads.is_empty(), format!("scaling from 1 to 3 reloaded: {reloads:?}"))?;
    site.has_slots(10).await
}

async fn more_than_ten_double_the_slots(site: &Site, shops: &[Backend]) -> Outcome {
    site.write("shop-endpoints.yaml", &endpoints("shop", &shops.iter().collect::<Vec<_>>()))?;
    site.serves_from_all(shops.iter()).await?;
    site.has_slots(20).await
}

/// It is named, what ran before goes on, and once it is right everything moves on.
async fn an_ingress_without_host_is_refused(site: &Site, shop: &Backend) -> Outcome {
    let before = site.newest_event().await?;
    site.write(
        "no-host.yaml",
        &BLOG
            .replace("host: shop.localhost\n      ", "")
            .replace("metadata: {name: blog", "metadata: {name: no-host"),
    )?;
    eventually("the Ingress is refused by name", async || {
        let said = site.events_after(before).await?;
        let refused =
            said.iter().find(|t| t.contains("Ingress rule missing host") && t.contains("default/no-host"));
        refused.map(drop).ok_or_else(|| Failure::new(format!("it says {said:?}")))
    })
    .await?;
    site.answers_from("/exact", "cart").await?;
    site.answers_from("/blog", "blog").await?;
    site.write(
        "no-host.yaml",
        &BLOG
            .replace("shop.localhost", "late.localhost")
            .replace("metadata: {name: blog", "metadata: {name: no-host"),
    )?;
    site.write("shop-endpoints.yaml", &endpoints("shop", &[shop]))?;
    eventually("the corrected Ingress is served", async || {
        site.get("late.localhost", "/blog").await?.is_from("blog")
    })
    .await?;
    site.answers_from("/", &shop.name).await
}

/// `haptic local` with the classic configuration on the journey's own address.
struct Site {
    address: Ipv4Addr,
    controller: Ipv4Addr,
    manifests: PathBuf,
    folder: PathBuf,
    haptic: Process,
}

impl Site {
    fn open(scene: &Scene, shop: &Backend, cart: &Backend) -> Outcome<Self> {
        let (address, controller) = (scene.block.pod(0), scene.block.controller(0));
        let (manifests, folder) = (scene.dir.join("manifests"), scene.dir.join("haproxy"));
        fs::create_dir_all(&manifests)?;
        let config = fs::read_to_string(fixtures().join("config.yaml"))?;
        let config = config.replace("bind *:", &format!("bind {address}:"));
        fs::write(scene.dir.join("classic.yaml"), config)?;
        let objects = fs::read_to_string(fixtures().join("manifests/shop.yaml"))?;
        let objects =
            objects.replace("18081", &BACKEND_PORT.to_string()).replace("18082", &BACKEND_PORT.to_string());
        let (ingress, slices) =
            objects.split_once("---\n").ok_or_else(|| Failure::new("no EndpointSlices"))?;
        let (shop_slice, cart_slice) =
            slices.split_once("---\n").ok_or_else(|| Failure::new("one EndpointSlice"))?;
        for (name, text) in [
            ("shop.yaml", ingress.to_owned()),
            ("shop-endpoints.yaml", shop_slice.replace("127.0.0.1", &shop.address.to_string())),
            ("cart-endpoints.yaml", cart_slice.replace("127.0.0.1", &cart.address.to_string())),
        ] {
            fs::write(manifests.join(name), text)?;
        }
        let mut command = Command::new(program::haptic()?);
        command.arg("local").arg("--file").arg(scene.dir.join("classic.yaml"));
        command.arg("--resources").arg(&manifests).arg("--dir").arg(&folder);
        for listens in ["--bind-address", "--debug-address"] {
            command.arg(listens).arg(controller.to_string());
        }
        command.arg("--haproxy").arg(program::haproxy(HaproxySeries::default())?);
        let haptic = Process::start(command, &scene.dir.join("local.log"))?;
        Ok(Self { address, controller, manifests, folder, haptic })
    }

    async fn close(self) -> Outcome {
        let code = self.haptic.terminate(Duration::from_secs(40)).await?;
        ensure(code == 0, format!("haptic local ended with exit code {code}"))
    }

    /// Replaces a manifest at one stroke, as editors do.
    fn write(&self, name: &str, text: &str) -> Outcome {
        let new = self.manifests.join(format!(".{name}.new"));
        fs::write(&new, text)?;
        Ok(fs::rename(new, self.manifests.join(name))?)
    }

    async fn get(&self, host: &str, path: &str) -> Outcome<http::Response> {
        http::get((self.address, HTTP).into(), host, path).await
    }

    #[track_caller]
    fn answers_from(&self, path: &str, backend: &str) -> impl Future<Output = Outcome> {
        let address: SocketAddr = (self.address, HTTP).into();
        let (path, backend) = (path.to_owned(), backend.to_owned());
        eventually(format!("{path} is answered by {backend}"), async move || {
            http::get(address, HOST, &path).await?.is_from(&backend)
        })
    }

    /// Waits until each of `backends` gets requests.
    async fn serves_from_all(&self, backends: impl Iterator<Item = &Backend>) -> Outcome {
        for backend in backends {
            let before = backend.requests();
            eventually(format!("{} gets requests", backend.name), async || {
                self.get(HOST, "/").await?.has_status(200)?;
                ensure(backend.requests() > before, "none yet")
            })
            .await?;
        }
        Ok(())
    }

    /// Waits until 20 requests in a row go to none of `backends`.
    async fn serves_from_none(&self, backends: impl Iterator<Item = &Backend>) -> Outcome {
        let names: Vec<&str> = backends.map(|backend| backend.name.as_str()).collect();
        eventually(format!("{names:?} get no requests"), async || {
            for _ in 0..20 {
                let answer = self.get(HOST, "/").await?;
                answer.has_status(200)?;
                ensure(!names.contains(&answer.body.as_str()), format!("{} still answers", answer.body))?;
            }
            Ok(())
        })
        .await
    }

    /// Server lines of the shop's backend in what HAProxy was started with.
    /// On disk, which follows the traffic as soon as the bundle is checked.
    async fn has_slots(&self, count: usize) -> Outcome {
        eventually("the file on disk has its slots", async || {
            let slots = self.slots()?;
            ensure(slots == count, format!("{slots} slots"))
        })
        .await
    }

    fn slots(&self) -> Outcome<usize> {
        let config = fs::read_to_string(self.folder.join("current/haproxy.cfg"))?;
        let shop = format!("backend ing_default_shop_shop_{BACKEND_PORT}");
        let backend =
            config.split_once(&shop).ok_or_else(|| Failure::new(format!("no {shop} in {config}")))?.1;
        let lines = backend.lines().skip(1).take_while(|line| !line.starts_with("backend "));
        Ok(lines.filter(|line| line.trim_start().starts_with("server SRV_")).count())
    }

    async fn newest_event(&self) -> Outcome<u64> {
        Ok(self.events().await?.into_iter().map(|(number, _)| number).max().unwrap_or(0))
    }

    async fn events_after(&self, number: u64) -> Outcome<Vec<String>> {
        Ok(self.events().await?.into_iter().filter(|(n, _)| *n > number).map(|(_, text)| text).collect())
    }

    async fn events(&self) -> Outcome<Vec<(u64, String)>> {
        let answer = http::get((self.controller, DEBUG).into(), "debug", "/debug/events").await?;
        let all: Value = serde_json::from_str(&answer.body)?;
        let entries = all.as_array().into_iter().flatten();
        Ok(entries.filter_map(|e| Some((e["number"].as_u64()?, e["text"].as_str()?.to_owned()))).collect())
    }
}

async fn shops(scene: &Scene, count: usize) -> Outcome<Vec<Backend>> {
    let mut shops = Vec::new();
    for number in 0..count {
        shops.push(scene.backend(&format!("shop-{number}")).await?);
    }
    Ok(shops)
}

fn endpoints(service: &str, backends: &[&Backend]) -> String {
    let list: Vec<String> = backends.iter().map(|b| format!("{{addresses: [{}]}}", b.address)).collect();
    format!(
        "---\napiVersion: discovery.k8s.io/v1\nkind: EndpointSlice\nmetadata:\n  name: {service}-1\n  namespace: default\n  \
         labels: {{kubernetes.io/service-name: {service}}}\naddressType: IPv4\nports: [{{name: \"\", port: {BACKEND_PORT}}}]\n\
         endpoints: [{}]\n",
        list.join(", ")
    )
}

const BLOG: &str = "apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: blog, namespace: default}
spec:
  rules:
    - host: shop.localhost
      http:
        paths: [{path: /blog, pathType: Prefix, backend: {service: {name: blog, port: {number: 8080}}}}]
";

const EMPTY: &str = "apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: empty, namespace: default}
spec:
  rules:
    - host: empty.localhost
      http:
        paths: [{path: /, pathType: Prefix, backend: {service: {name: nothing, port: {number: 8080}}}}]
";

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/classic")
}
