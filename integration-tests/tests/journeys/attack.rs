//! The admission webhook under attack: from strangers, and from somebody who got to know its path.

use crate::webhook::{Guarded, bad_ingress, refusal, review};
use integration_tests::{
    Failure, Outcome, Scene, ensure, eventually, haproxy_pod::HaproxyPod, http::Connection, manifest,
    registration,
};
use serde_json::json;
use std::{fs, io::ErrorKind::WouldBlock, net::SocketAddr};
use tokio::{net::TcpStream, task::JoinSet};

const HOST: &str = "shop.example";
/// So many begin a handshake and say nothing.
const MUTE: usize = 600;
/// So many hold a connection each and say nothing more.
const SILENT: usize = 150;
/// So many ask at once.
const ASKING: usize = 1000;
/// Memory that the attack may take, in KiB: all bodies at once have at most 64 MiB.
const MEMORY: u64 = 400 << 10;

/// With `failurePolicy: Fail`, each answer that the API server does not get is a change that fails.
pub async fn by_strangers(scene: Scene) -> Outcome {
    let (guarded, pod, address) = guarded(scene).await?;
    let scene = &guarded.scene;
    let controller = &guarded.controllers[0];
    let before = memory(controller.process_id())?;
    let judged = controller.metric_sum("haptic_webhook_requests_total").await?;
    others_are_silent(address).await?;
    // Handshakes that never end, and connections on which nothing is asked.
    let (mut mute, mut idle) = (Vec::new(), Vec::new());
    for _ in 0..SILENT {
        mute.push(TcpStream::connect(address).await?);
        idle.push(Connection::open(address, Some(registration::SERVICE)).await);
    }
    let mut asking = JoinSet::new();
    for number in 0..ASKING {
        asking.spawn(async move {
            let mut connection = Connection::open(address, Some(registration::SERVICE)).await?;
            let path = format!("/{number:064x}");
            let body = "x".repeat(if number % 100 == 0 { 4 << 20 } else { 64 });
            match number % 3 {
                0 => connection.announce("POST", &path, 8 << 20).await,
                _ => connection.post(&path, &body).await,
            }
        });
    }
    let mut number = 0;
    let mut answered = 0;
    while let Some(answer) = asking.join_next().await {
        // Who sends megabytes that nobody reads may find the connection gone before the answer.
        if let Ok(response) = answer? {
            response.has_status(404)?;
            answered += 1;
        }
        if number % 100 == 0 {
            change(&guarded, number).await?;
        }
        number += 1;
    }
    ensure(answered > ASKING / 2, format!("only {answered} of {ASKING} strangers got an answer"))?;
    drop((mute, idle));
    let own = controller.metric_sum("haptic_webhook_requests_total").await? - judged;
    ensure(own <= 40.0, format!("{own} reviews were judged, and the API server asked about 20"))?;
    let grown = memory(controller.process_id())?.saturating_sub(before);
    ensure(grown < MEMORY, format!("it took {grown} KiB more"))?;
    let b = scene.backend("b").await?;
    scene.move_to(&b, &pod, HOST).await?;
    guarded.guards().await
}

/// A handshake does not wait for those that never end: all of them are still open when it has its answer.
async fn others_are_silent(address: SocketAddr) -> Outcome {
    eventually("an answer while others say nothing", async || {
        let mut mute = Vec::new();
        for _ in 0..MUTE {
            mute.push(TcpStream::connect(address).await?);
        }
        let mut connection = Connection::open(address, Some(registration::SERVICE)).await?;
        connection.post("/nothing", "").await?.has_status(404)?;
        let is_open = |stream: &TcpStream| stream.try_read(&mut [0]).is_err_and(|e| e.kind() == WouldBlock);
        ensure(mute.iter().all(is_open), "it came when they had been given up")
    })
    .await
}

/// The path got known: reviews that are forged, replayed, slow, deep and huge. Nothing is stored, and the pipeline goes on.
pub async fn by_insiders(scene: Scene) -> Outcome {
    let (guarded, pod, address) = guarded(scene).await?;
    let scene = &guarded.scene;
    let controller = &guarded.controllers[0];
    let (path, before) = (guarded.path().await?, memory(controller.process_id())?);
    let mut attacks = JoinSet::new();
    let mut attack = |status: &'static [u16], body: Option<String>| {
        let path = path.clone();
        attacks.spawn(async move {
            let mut connection = Connection::open(address, Some(registration::SERVICE)).await?;
            let answer = match body {
                Some(body) => connection.post(&path, &body).await?,
                // A body that does not come.
                None => connection.announce("POST", &path, 1 << 20).await?,
            };
            ensure(status.contains(&answer.status), format!("{}: {}", answer.status, answer.body))
        });
    };
    let replayed = review(&scene.namespace, &manifest::ingress("forged", HOST, "shop"), 7);
    let (deep, wide) = ("[".repeat(1 << 20), format!("[{}1]", "1,".repeat(1 << 20)));
    // Any of them may come too late for a thread that has all of them before it: 408.
    for number in 0..60 {
        attack(&[408, 503], None);
        attack(&[200, 408, 503], Some(replayed.clone()));
        let strange = review("kube-system", &bad_ingress("strange"), number);
        attack(&[200, 408, 503], Some(strange.replace("ingresses", "nothing-that-is-watched")));
        if number % 10 == 0 {
            attack(&[400, 408, 503], Some(replayed.replace("\"spec\":{", &format!("\"spec\":{deep}{{"))));
            attack(
                &[200, 400, 408, 503],
                Some(replayed.replace("\"spec\":{", &format!("\"x\":{wide},\"spec\":{{"))),
            );
        }
    }
    let b = scene.backend("b").await?;
    scene.move_to(&b, &pod, HOST).await?;
    while let Some(done) = attacks.join_next().await {
        done??;
    }
    let forged = scene.cluster.get(&scene.namespace, &manifest::ingress("many-7", HOST, "shop")).await;
    ensure(forged.is_err(), "a forged review stored something")?;
    let grown = memory(controller.process_id())?.saturating_sub(before);
    ensure(grown < MEMORY, format!("it took {grown} KiB more"))?;
    ensure(controller.actors().await?.values().all(|restarts| *restarts == 0), "an actor was restarted")?;
    change(&guarded, 1).await?;
    guarded.guards().await
}

/// A webhook that must answer, in front of a pod that serves.
async fn guarded(scene: Scene) -> Outcome<(Guarded, HaproxyPod, SocketAddr)> {
    let pod = scene.pod().await?;
    let guarded = Guarded::start(scene, 1, "Fail", json!({})).await?;
    let a = guarded.scene.backend("a").await?;
    guarded.scene.publish("shop", HOST, &a).await?;
    pod.serves(HOST, "a").await?;
    let address = (guarded.controllers[0].address, crate::webhook::PORT).into();
    Ok((guarded, pod, address))
}

/// The API server asks about a good change, and about a bad one.
async fn change(guarded: &Guarded, number: usize) -> Outcome {
    let mut ingress = manifest::ingress("shop", HOST, "shop");
    ingress["metadata"]["annotations"] = json!({ "example.com/number": number.to_string() });
    guarded.scene.apply(&ingress).await?;
    let said = refusal(guarded.scene.apply(&bad_ingress("bad")).await)?;
    ensure(said.contains("/bad"), said)
}

/// What a process has in memory, in KiB.
fn memory(process: u32) -> Outcome<u64> {
    let status = fs::read_to_string(format!("/proc/{process}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let number = line.and_then(|line| line.split_whitespace().next()?.parse().ok());
    number.ok_or_else(|| Failure::new("no VmRSS"))
}
