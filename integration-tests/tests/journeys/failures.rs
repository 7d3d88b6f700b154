//! Parts around the controller fail and come back.

use integration_tests::{Outcome, Scene, ensure, eventually, eventually_within, http, manifest};
use std::{
    fs,
    net::{Ipv4Addr, SocketAddr},
    time::Duration,
};
use tokio::{
    io::copy_bidirectional,
    net::{TcpListener, TcpStream},
    sync::watch,
    task::JoinSet,
    time::sleep,
};

const HOST: &str = "shop.example";

pub async fn api_server_away_for_a_minute(scene: Scene) -> Outcome {
    let scene = scene.on_own_cluster().await?;
    let (pod, mut controller, [_a, b]) = scene.serving(HOST).await?;
    let (traffic, process) = (pod.traffic(HOST), controller.process_id());
    let outage = Duration::from_secs(integration_tests::soaking(60, 120));
    scene.cluster.stop_api_server().await?;
    sleep(outage).await;
    scene.cluster.start_api_server().await?;
    scene.move_to(&b, &pod, HOST).await?;
    controller.ready().await?;
    ensure(controller.process_id() == process, "the controller was restarted")?;
    traffic.finish_without_loss().await.map(drop)
}

/// As when the node of one API server of several loses its power: nobody says that the connections to it are no more, and new ones lead to
/// another one. A watch is told by nothing but silence.
pub async fn api_server_connections_die(scene: Scene) -> Outcome {
    scene.configure().await?;
    let [a, b, c] = [scene.backend("a").await?, scene.backend("b").await?, scene.backend("c").await?];
    let (way, death) = way_to(SocketAddr::from((scene.cluster.address(), 6443))).await?;
    let kubeconfig = fs::read_to_string(scene.cluster.kubeconfig())?;
    let mut kubeconfig: serde_json::Value = serde_json::from_str(&kubeconfig)?;
    let cluster = &mut kubeconfig["clusters"][0]["cluster"];
    cluster["server"] = format!("https://{way}").into();
    cluster["tls-server-name"] = "localhost".into();
    let file = scene.dir.join("way.kubeconfig");
    fs::write(&file, kubeconfig.to_string())?;
    let pod = scene.pod().await?;
    let mut controller = scene.controller_by(file)?;
    controller.ready().await?;
    scene.publish("shop", HOST, &a).await?;
    pod.serves(HOST, "a").await?;

    death.send_modify(|dead| *dead += 1);
    scene.apply(&manifest::endpoints("shop", &[b.address])).await?;
    let address = pod.http();
    eventually_within(Duration::from_secs(120), "the watch is begun anew", async || {
        http::get(address, HOST, "/").await?.is_from("b")
    })
    .await?;
    scene.apply(&manifest::endpoints("shop", &[c.address])).await?;
    pod.serves(HOST, "c").await?;
    controller.ready().await
}

/// A way to `to`. Connections that have been made die in silence whenever the sender says so.
async fn way_to(to: SocketAddr) -> Outcome<(SocketAddr, watch::Sender<u64>)> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
    let address = listener.local_addr()?;
    let (death, deaths) = watch::channel(0);
    tokio::spawn(async move {
        let mut connections = JoinSet::new();
        while let Ok((mut client, _)) = listener.accept().await {
            let mut deaths = deaths.clone();
            deaths.mark_unchanged();
            connections.spawn(async move {
                let mut server = TcpStream::connect(to).await?;
                tokio::select! {
                    relayed = copy_bidirectional(&mut client, &mut server) => relayed.map(drop),
                    Ok(()) = deaths.changed() => std::future::pending().await,
                }
            });
        }
    });
    Ok((address, death))
}

pub async fn haproxy_killed(scene: Scene) -> Outcome {
    let (pod, _controller, [_a, b]) = scene.serving(HOST).await?;
    pod.has_stored_what_it_runs().await?;
    let killed = pod.worker().await?;
    pod.kill_haproxy()?;
    eventually("another HAProxy runs", async || {
        ensure(pod.worker().await?.pid != killed.pid, "the one that was killed")
    })
    .await?;
    pod.serves(HOST, "a").await?;
    scene.move_to(&b, &pod, HOST).await
}

pub async fn agent_killed(scene: Scene) -> Outcome {
    let (mut pod, _controller, [_a, b]) = scene.serving(HOST).await?;
    pod.crash().await?;
    scene.apply(&manifest::endpoints("shop", &[b.address])).await?;
    pod.start_containers().await?;
    pod.serves(HOST, "b").await
}

pub async fn pod_replaced(scene: Scene) -> Outcome {
    let (old, _controller, [_a, b]) = scene.serving(HOST).await?;
    let new = scene.pod().await?;
    new.serves(HOST, "a").await?;
    old.remove().await?;
    scene.move_to(&b, &new, HOST).await
}

pub async fn one_slow_pod_of_two(scene: Scene) -> Outcome {
    let (quick, _controller) = scene.running().await?;
    let slow = scene.pod().await?;
    let [a, b, c] = [scene.backend("a").await?, scene.backend("b").await?, scene.backend("c").await?];
    scene.publish("shop", HOST, &a).await?;
    quick.serves(HOST, "a").await?;
    slow.serves(HOST, "a").await?;
    slow.wire.hold();
    for next in [&b, &c] {
        scene.move_to(next, &quick, HOST).await?;
    }
    slow.get(HOST, "/").await?.is_from("a")?;
    slow.wire.release();
    slow.serves(HOST, "c").await
}
