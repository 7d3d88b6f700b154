//! How an election goes on and ends, on a clock that stands still while anything is to be done: an attempt under way is always awaited, and
//! the Lease is released.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests")]

use actix::Arbiter;
use haptic_leader::{Fence, FenceActor, LeaderActor, LeaderOptions, StepDown, Succession};
use haptic_model::{Epoch, config::ConfigVerdict, crd::LeaderElectionSpec, pipeline::Leadership};
use haptic_runtime::{ActorHandle, Events, Exit, Health, Publisher, Spec, Supervision, Topic, topic};
use http::{Method, Request, Response};
use kube::{Client, client::Body};
use serde_json::{Value, json};
use std::{
    sync::{Arc, Mutex},
    time::Duration,
};
use tokio::time::{pause, sleep};
use tower::{BoxError, service_fn};

/// An API server with one Lease.
#[derive(Clone, Default)]
struct Server(Arc<Mutex<Stored>>);

#[derive(Default)]
struct Stored {
    lease: Option<Value>,
    version: u64,
    /// How long a write takes.
    delay: Duration,
}

impl Server {
    fn client(&self) -> Client {
        let server = self.clone();
        let service = service_fn(move |request: Request<Body>| {
            let server = server.clone();
            async move { server.answer(request).await }
        });
        Client::new(service, "n")
    }

    async fn answer(&self, request: Request<Body>) -> Result<Response<Body>, BoxError> {
        let (parts, body) = request.into_parts();
        if !parts.uri.path().ends_with("/leases/haptic-leader") && parts.method == Method::GET {
            // The watch: an election does without it.
            return std::future::pending().await;
        }
        let body = body.collect_bytes().await?;
        if parts.method == Method::GET {
            let lease = self.0.lock().unwrap().lease.clone();
            return lease
                .map_or_else(|| respond(404, &status(404, "NotFound")), |lease| respond(200, &lease));
        }
        // A write that was sent goes on, whether anybody waits for its answer or not.
        let server = self.clone();
        tokio::spawn(async move { server.write(&body).await }).await?
    }

    async fn write(&self, body: &[u8]) -> Result<Response<Body>, BoxError> {
        let delay = self.0.lock().unwrap().delay;
        sleep(delay).await;
        let stored = &mut *self.0.lock().unwrap();
        let change: Value = serde_json::from_slice(body)?;
        let version = change.pointer("/metadata/resourceVersion").and_then(Value::as_str);
        if version.is_some_and(|version| version != stored.version.to_string()) {
            return respond(409, &status(409, "Conflict"));
        }
        stored.version += 1;
        let lease = stored.lease.get_or_insert_with(|| json!({ "metadata": {}, "spec": {} }));
        for part in ["metadata", "spec"] {
            let fields = change.get(part).and_then(Value::as_object).cloned().unwrap_or_default();
            lease[part].as_object_mut().unwrap().extend(fields);
        }
        lease["metadata"]["resourceVersion"] = json!(stored.version.to_string());
        lease["metadata"]["creationTimestamp"] = json!("2026-01-01T00:00:00Z");
        respond(200, lease)
    }

    fn writes_take(&self, delay: Duration) {
        self.0.lock().unwrap().delay = delay;
    }

    fn transitions(&self) -> Option<i64> {
        self.0.lock().unwrap().lease.as_ref()?["spec"]["leaseTransitions"].as_i64()
    }

    fn holder(&self) -> Option<String> {
        let lease = self.0.lock().unwrap().lease.clone()?;
        lease["spec"]["holderIdentity"].as_str().filter(|holder| !holder.is_empty()).map(str::to_owned)
    }
}

fn respond(code: u16, body: &Value) -> Result<Response<Body>, BoxError> {
    Ok(Response::builder().status(code).body(Body::from(serde_json::to_vec(body)?))?)
}

fn status(code: u16, reason: &str) -> Value {
    json!({ "kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code, "reason": reason, "message": "no" })
}

struct Replica {
    actor: ActorHandle<LeaderActor>,
    leadership: Topic<Leadership>,
    judged: Publisher<Option<ConfigVerdict>>,
    seen_by_pods: Publisher<Epoch>,
}

fn of_verdict(enabled: bool) -> Option<ConfigVerdict> {
    let settings = LeaderElectionSpec { enabled, ..LeaderElectionSpec::default() };
    let leader_election = Some(settings);
    let (problems, credentials) = (Vec::new(), None);
    Some(ConfigVerdict { resource_generation: 1, uid: None, problems, leader_election, credentials })
}

fn replica(server: &Server) -> Replica {
    pause();
    let (publisher, leadership) = topic(Leadership::default());
    let fence = Fence::new(publisher, Events::silent());
    let (supervision, guarded) = (Supervision::new(Health::new()), fence.clone());
    Spec::named("fence")
        .subscribes(&fence.deadline())
        .start(&Arbiter::current(), &supervision, move |own| FenceActor::new(own, guarded.clone()));
    let (judged, verdicts) = topic(of_verdict(true));
    let options = LeaderOptions {
        client: server.client(),
        namespace: "n".into(),
        identity: "replica".into(),
        succession: Arc::new(Succession::default()),
        fence,
    };
    let (seen_by_pods, seen) = topic(Epoch::default());
    let spec = Spec::named("leader").subscribes(&verdicts).subscribes(&seen);
    let actor =
        spec.start(&Arbiter::current(), &supervision, move |own| LeaderActor::new(own, options.clone()));
    Replica { actor, leadership, judged, seen_by_pods }
}

#[actix::test]
async fn a_leader_that_steps_down_amid_a_renewal_awaits_it_and_releases_the_lease() {
    let server = Server::default();
    let mut replica = replica(&server);
    replica.leadership.wait_for(|leadership| leadership.leads).await;
    // Within a few seconds a renewal is under way at any time.
    server.writes_take(Duration::from_millis(1500));
    sleep(Duration::from_secs(3)).await;
    replica.actor.mailbox().send(StepDown).await.unwrap();
    assert_eq!(replica.actor.exited().await, Exit::Done);
    assert!(!replica.leadership.latest().leads);
    sleep(Duration::from_secs(60)).await;
    assert_eq!(server.holder(), None, "whoever comes next does not wait");
}

#[actix::test]
async fn a_leader_whose_api_server_is_silent_leads_no_longer_than_its_deadline() {
    let server = Server::default();
    let mut replica = replica(&server);
    replica.leadership.wait_for(|leadership| leadership.leads).await;
    server.writes_take(Duration::from_secs(3600));
    sleep(Duration::from_secs(11)).await;
    assert!(!replica.leadership.latest().leads);
    server.writes_take(Duration::ZERO);
    replica.leadership.wait_for(|leadership| leadership.leads).await;
}

/// As after its API server was restored: pods have seen leaderships that the Lease knows nothing of.
#[actix::test]
async fn a_leader_whose_lease_counts_less_than_pods_have_seen_has_it_count_on_from_there() {
    let server = Server::default();
    let mut replica = replica(&server);
    replica.leadership.wait_for(|leadership| leadership.leads).await;
    let epoch = replica.leadership.latest().epoch;
    replica.seen_by_pods.publish(Epoch { transitions: 7, ..epoch });
    let counts_on = Leadership { leads: true, epoch: Epoch { transitions: 8, ..epoch } };
    replica.leadership.wait_for(|leadership| *leadership == counts_on).await;
    sleep(Duration::from_secs(60)).await;
    assert_eq!(*replica.leadership.latest(), counts_on);
    assert_eq!(server.transitions(), Some(8));
}

#[actix::test]
async fn a_replica_that_is_alone_from_now_on_gives_the_lease_back_and_takes_it_again_later() {
    let server = Server::default();
    let mut replica = replica(&server);
    replica.leadership.wait_for(|leadership| leadership.leads).await;
    let epoch = replica.leadership.latest().epoch;
    replica.judged.publish(of_verdict(false));
    replica.leadership.wait_for(|leadership| leadership.leads && leadership.epoch != epoch).await;
    assert_eq!(server.holder(), None);
    replica.judged.publish(of_verdict(true));
    replica.leadership.wait_for(|leadership| leadership.leads && leadership.epoch > epoch).await;
    assert_eq!(server.holder().as_deref(), Some("replica"));
}
