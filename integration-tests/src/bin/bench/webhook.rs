//! The admission webhook, asked as an API server asks it: ten reviews at a time, each of another Ingress; and one after
//! another while a thousand strangers come at once.

use crate::{
    dataset::{Dataset, Member},
    figures::Scope,
    progress::say,
    statistics::{milliseconds, percentile},
};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use integration_tests::{
    Failure, Outcome, Scene, ensure, eventually,
    http::Connection,
    registration::{SECRET, SERVICE},
};
use serde_json::{Value, json};
use std::{
    net::SocketAddr,
    sync::atomic::{AtomicBool, Ordering::Relaxed},
    time::{Duration, Instant},
};
use tokio::task::JoinSet;

/// Reviews at a time.
const AT_ONCE: usize = 10;
/// Reviews of each connection.
const EACH: usize = 40;
/// Before those that count: the first one renders everything.
const FIRST: usize = 3;
/// Who does not know the path, and asks all the same.
const STRANGERS: usize = 1000;
/// What a third of them announces, in bytes: as much as a review may have.
const ANNOUNCED: usize = 8 << 20;
const PORT: u16 = 9443;

/// Measures how long reviews take.
pub async fn measure(
    scene: &Scene,
    dataset: Dataset,
    controller: SocketAddr,
    into: &mut Scope<'_>,
) -> Outcome {
    let (path, address) = (path(scene).await?, SocketAddr::new(controller.ip(), PORT));
    let (sender, namespace) = (Sender { address, path }, scene.namespace.clone());
    let members: Vec<Member> = dataset.first(AT_ONCE * EACH).collect();
    let mut members = members.into_iter().cycle();
    for _ in 0..FIRST {
        let mut connection = sender.connect().await?;
        let member = members.next().ok_or_else(|| Failure::new("there is no Ingress"))?;
        sender.ask(&mut connection, &review(member, &namespace)).await?;
    }
    let mut asking = JoinSet::new();
    for _ in 0..AT_ONCE {
        let reviews: Vec<String> = members.by_ref().take(EACH).map(|m| review(m, &namespace)).collect();
        let sender = sender.clone();
        asking.spawn(async move { sender.ask_all(&reviews).await });
    }
    let mut times = Vec::new();
    for done in asking.join_all().await {
        times.extend(done?);
    }
    tell(&times, &format!("{AT_ONCE} at a time"), into);
    let reviews: Vec<String> = members.take(AT_ONCE * EACH).map(|m| review(m, &namespace)).collect();
    let times = sender.ask_among_strangers(&reviews).await?;
    tell(&times, &format!("while {STRANGERS} strangers come at once"), &mut into.within("attacked"));
    Ok(())
}

fn tell(times: &[Duration], how: &str, into: &mut Scope<'_>) {
    let of = |percent| percentile(times, percent).map_or(0.0, milliseconds);
    into.add("p50_ms", of(50));
    into.add("p99_ms", of(99));
    say(&format!("webhook: {} reviews, {how}: p50 {:.0} ms, p99 {:.0} ms", times.len(), of(50), of(99)));
}

#[derive(Clone)]
struct Sender {
    address: SocketAddr,
    path: String,
}

impl Sender {
    async fn connect(&self) -> Outcome<Connection> {
        Connection::open(self.address, Some(SERVICE)).await
    }

    async fn ask_all(&self, reviews: &[String]) -> Outcome<Vec<Duration>> {
        let mut connection = self.connect().await?;
        let mut times = Vec::with_capacity(reviews.len());
        for review in reviews {
            let asked = Instant::now();
            self.ask(&mut connection, review).await?;
            times.push(asked.elapsed());
        }
        Ok(times)
    }

    /// On a connection that was there before, as an API server has one, until the last stranger was answered.
    async fn ask_among_strangers(&self, reviews: &[String]) -> Outcome<Vec<Duration>> {
        let mut connection = self.connect().await?;
        let over = AtomicBool::new(false);
        let strangers = async {
            let refused = self.strangers().await;
            over.store(true, Relaxed);
            refused
        };
        let honest = async {
            let mut times = Vec::new();
            for review in reviews.iter().cycle() {
                if over.load(Relaxed) && times.len() >= EACH {
                    break;
                }
                let asked = Instant::now();
                self.ask(&mut connection, review).await?;
                times.push(asked.elapsed());
            }
            Outcome::Ok(times)
        };
        let (refused, times) = tokio::join!(strangers, honest);
        ensure(
            refused > STRANGERS / 2,
            format!("only {refused} of {STRANGERS} strangers were answered with 404"),
        )?;
        times
    }

    /// All at once; how many are told that there is nothing. Who sends what nobody reads may see the connection end instead.
    async fn strangers(&self) -> usize {
        let mut asking = JoinSet::new();
        for number in 0..STRANGERS {
            let sender = Self { path: format!("/{number:064x}"), ..self.clone() };
            asking.spawn(async move {
                let mut connection = sender.connect().await?;
                let answer = match number % 3 {
                    0 => connection.announce("POST", &sender.path, ANNOUNCED).await?,
                    _ => connection.post(&sender.path, "{}").await?,
                };
                answer.has_status(404)
            });
        }
        asking.join_all().await.into_iter().filter(Outcome::is_ok).count()
    }

    async fn ask(&self, connection: &mut Connection, review: &str) -> Outcome {
        let answer = connection.post(&self.path, review).await?;
        answer.has_status(200)?;
        let answer: Value = serde_json::from_str(&answer.body)?;
        let response = &answer["response"];
        let judged = response["allowed"] == true && response["warnings"].is_null();
        ensure(judged, format!("the answer is {response}"))
    }
}

/// Where the leader wrote it, for whoever may read Secrets.
async fn path(scene: &Scene) -> Outcome<String> {
    let secret = json!({ "apiVersion": "v1", "kind": "Secret", "metadata": { "name": SECRET } });
    eventually("the webhook has its path", async || {
        let secret = scene.cluster.get(&scene.namespace, &secret).await?;
        let path = STANDARD.decode(secret.data["data"]["path"].as_str().unwrap_or_default())?;
        Ok(format!("/{}", String::from_utf8(path)?))
    })
    .await
}

/// An update of the Ingress of `member` by an annotation.
fn review(member: Member, namespace: &str) -> String {
    let [_, _, mut ingress] = member.manifests();
    ingress["metadata"]["namespace"] = json!(namespace);
    ingress["metadata"]["annotations"] = json!({ "example.com/reviewed": "true" });
    json!({
        "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
        "request": {
            "uid": "705ab4f5-6393-11e8-b7cc-42010a800002", "operation": "UPDATE", "dryRun": false,
            "kind": { "group": "networking.k8s.io", "version": "v1", "kind": "Ingress" },
            "resource": { "group": "networking.k8s.io", "version": "v1", "resource": "ingresses" },
            "name": ingress["metadata"]["name"], "namespace": namespace, "userInfo": { "username": "admin" },
            "object": ingress,
        },
    })
    .to_string()
}
