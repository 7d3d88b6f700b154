//! What somebody is told who has just started `haptic local`: where HAProxy listens, what to edit, where to look.

use crate::wiring::Pipeline;
use haptic_haproxy::{Document, block_index::BlockIndex, views::binds};
use haptic_model::{HaproxyPod, pipeline::PodState};
use haptic_runtime::Topic;
use std::{
    collections::BTreeMap,
    future::Future,
    net::SocketAddr,
    path::{Path, PathBuf},
};

/// A line of its own that scripts may wait for.
const READY: &str = "ready";

/// The greeting, once HAProxy runs what was rendered first.
pub fn greeting(
    pipeline: &Pipeline,
    config: PathBuf,
    manifests: PathBuf,
    debug: Option<SocketAddr>,
) -> impl Future<Output = String> + use<> {
    let (mut pods, validated) = (pipeline.readers.pods.clone(), pipeline.readers.validated.clone());
    async move {
        runs_something(&mut pods).await;
        let validated = validated.latest();
        let listens = validated.as_ref().as_ref().map(|validated| {
            let index: BlockIndex<()> = BlockIndex::of(&validated.bundle().config.text);
            listeners(&index.frontends())
        });
        text(&listens.unwrap_or_default(), &config, &manifests, debug)
    }
}

async fn runs_something(pods: &mut Topic<BTreeMap<HaproxyPod, PodState>>) {
    pods.wait_for(|pods| pods.values().any(|pod| pod.deployed.is_some())).await;
}

fn text(listens: &[String], config: &Path, manifests: &Path, debug: Option<SocketAddr>) -> String {
    let whole = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned()).display().to_string();
    let mut text = format!("HAProxy listens at {}\n", listens.join(", "));
    text.push_str(&format!("edit the manifests in {}, or {}\n", whole(manifests), whole(config)));
    if let Some(debug) = debug {
        text.push_str(&format!("what happens is at http://{debug}/debug\n"));
    }
    text + READY + "\n"
}

/// Where a client reaches the HAProxy of `config`, each once, with the frontend's name.
fn listeners(config: &str) -> Vec<String> {
    let document = Document::parse(config);
    let mut all = Vec::new();
    for (section, mode) in document.sections.iter().zip(document.modes()) {
        for bind in binds(section) {
            let scheme = match (mode, bind.params.iter().any(|word| word == "ssl")) {
                ("http", true) => "https",
                ("http", false) => "http",
                (_, true) => "tls",
                (_, false) => "tcp",
            };
            let places = bind.address.split(',').filter_map(place);
            all.extend(places.map(|(place, more)| format!("{scheme}://{place} ({}{more})", section.name)));
        }
    }
    all.dedup();
    all
}

/// Host and port for a client on this machine, and whether there are others; none for a socket.
fn place(address: &str) -> Option<(String, &'static str)> {
    let (host, port) = address.rsplit_once(':').filter(|_| !address.contains('@'))?;
    Some(match host {
        "" | "*" | "0.0.0.0" | "::" | "[::]" => (format!("127.0.0.1:{port}"), ", on all addresses"),
        host if host.contains(':') && !host.starts_with('[') => (format!("[{host}]:{port}"), ""),
        _ => (address.to_owned(), ""),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_is_told_where_to_ask_and_a_script_when() {
        let config = "defaults\n  mode http\n\
                      frontend http\n  bind 127.0.0.1:7080\n  bind ::1:7080 v6only\n  bind :7443 ssl crt x.pem\n\
                      frontend inner\n  bind unix@/run/x.sock\n\
                      listen db\n  mode tcp\n  bind 127.0.0.1:5432\n";
        let listens = listeners(config);
        let expected = [
            "http://127.0.0.1:7080 (http)",
            "http://[::1]:7080 (http)",
            "https://127.0.0.1:7443 (http, on all addresses)",
            "tcp://127.0.0.1:5432 (db)",
        ];
        assert_eq!(listens, expected);
        let debug = "127.0.0.1:6060".parse().ok();
        let text = text(&listens, Path::new("config.yaml"), Path::new("/nowhere/manifests"), debug);
        assert_eq!(
            text.lines().collect::<Vec<_>>(),
            [
                &format!("HAProxy listens at {}", expected.join(", ")),
                "edit the manifests in /nowhere/manifests, or config.yaml",
                "what happens is at http://127.0.0.1:6060/debug",
                "ready",
            ]
        );
    }
}
