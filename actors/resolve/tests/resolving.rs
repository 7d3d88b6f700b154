//! What names lead to, from a real name server: aliases, search lists, failures, answers that change, many names.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

mod name_server;

use actix::Arbiter;
use haptic_model::{
    ActiveConfig, ObjectRef, Snapshot, Snapshots, config::AcceptedConfig, external_names::ExternalNames,
};
use haptic_resolve::{ResolveActor, ResolveOptions, ResolvedNames, table::LookupResponse};
use haptic_runtime::{ActorHandle, Health, Publisher, Spec, Supervision, Topic, topic};
use name_server::{NameServer, Reply, addresses};
use serde_json::json;
use std::{sync::Arc, time::Duration};

fn found(addresses: &[&str], seconds: u64) -> LookupResponse {
    LookupResponse::Addresses(
        addresses.iter().map(|a| a.parse().unwrap()).collect(),
        Duration::from_secs(seconds),
    )
}

#[tokio::test]
async fn a_name_is_its_ipv4_addresses_or_else_those_of_ipv6() {
    let server = NameServer::start();
    server.set("both.example.", addresses(&["fd00::1", "10.0.0.1", "10.0.0.2"], 60));
    server.set("six.example.", addresses(&["fd00::1"], 60));
    server.set("alias.example.", Reply::Alias("far.example.".into(), 7));
    server.set("far.example.", Reply::Alias("both.example.".into(), 300));
    server.set("dangling.example.", Reply::Alias("nowhere.example.".into(), 300));
    let dns = server.dns(&[]);
    assert_eq!(dns.ask("both.example").await, found(&["10.0.0.1", "10.0.0.2"], 60));
    assert_eq!(dns.ask("six.example").await, found(&["fd00::1"], 60));
    assert_eq!(
        dns.ask("alias.example").await,
        found(&["10.0.0.1", "10.0.0.2"], 7),
        "as long as each of them"
    );
    assert_eq!(dns.ask("dangling.example").await, LookupResponse::Nothing);
    assert_eq!(dns.ask("none.example").await, LookupResponse::Nothing);
}

#[tokio::test]
async fn the_search_list_counts_only_where_the_name_itself_does_not_exist() {
    let server = NameServer::start();
    server.set("db.other.svc.cluster.local.", addresses(&["10.0.0.1"], 60));
    server.set("api.example.", addresses(&["10.0.0.2"], 60));
    // What whoever has a namespace `example` could answer.
    server.set("api.example.svc.cluster.local.", addresses(&["10.6.6.6"], 60));
    server.set("ill.example.", Reply::Failure);
    server.set("ill.example.svc.cluster.local.", addresses(&["10.6.6.6"], 60));
    server.set("mute.example.", Reply::Silence);
    server.set("mute.example.svc.cluster.local.", addresses(&["10.6.6.6"], 60));
    let dns = server.dns(&["edge.svc.cluster.local", "svc.cluster.local"]);
    assert_eq!(dns.ask("db.other").await, found(&["10.0.0.1"], 60));
    assert_eq!(dns.ask("api.example").await, found(&["10.0.0.2"], 60));
    for unanswered in ["ill.example", "mute.example"] {
        assert!(matches!(dns.ask(unanswered).await, LookupResponse::Failure(_)), "{unanswered}");
    }
    assert!(server.asked().iter().all(|name| !name.contains("example.svc")), "{:?}", server.asked());
}

/// A running actor, and the stores and topics that it reads.
struct Running {
    stores: Publisher<Snapshots>,
    services: Snapshot,
    names: Topic<ResolvedNames>,
    actor: ActorHandle<ResolveActor>,
    health: Health,
}

impl Running {
    fn start(server: &NameServer) -> Self {
        let spec = json!({"credentialsSecretRef": {"name": "c"}, "podSelector": {"matchLabels": {"a": "b"}},
            "watchedResources": {"services": {"apiVersion": "v1", "resources": "services"}}});
        let config = ActiveConfig::of("haptic", "edge", serde_json::from_value(spec).unwrap());
        let (_, accepted) = topic(Some(AcceptedConfig(Arc::new(config))));
        let (stores, snapshots) = topic(Snapshots::default());
        let (publisher, names) = topic(None);
        let options = ResolveOptions { names: Arc::new(publisher), dns: Some(server.dns(&[])) };
        let health = Health::new();
        let actor = Spec::named("resolve").subscribes(&accepted).subscribes(&snapshots).start(
            &Arbiter::current(),
            &Supervision::new(health.clone()),
            move |own| ResolveActor::new(own, options.clone()),
        );
        let mut services = Snapshot::full();
        services.set_synced();
        Self { stores, services, names, actor, health }
    }

    fn service(&mut self, namespace: &str, name: &str, host: &str) {
        let service = json!({"spec": {"type": "ExternalName", "externalName": host}});
        self.services.put(ObjectRef::new("services", namespace, name), &service);
    }

    fn publish(&self) {
        let store = Arc::new(self.services.clone());
        self.stores.publish(Snapshots::new([("services".into(), store)].into()));
    }

    async fn known(&mut self, wanted: impl Fn(&ExternalNames) -> bool) -> Arc<ExternalNames> {
        let names = self.names.wait_for(|names| names.as_ref().is_some_and(|known| wanted(known)));
        let names = tokio::time::timeout(Duration::from_secs(60), names).await.expect("it becomes known");
        (*names).clone().unwrap()
    }

    async fn leads_to(&mut self, name: &str, expected: &[&str]) -> Arc<ExternalNames> {
        let expected: Vec<std::net::IpAddr> = expected.iter().map(|a| a.parse().unwrap()).collect();
        self.known(|known| known.get(name).is_some_and(|resolved| resolved.addresses == expected)).await
    }
}

#[actix::test]
async fn nothing_is_published_before_the_services_were_read_and_their_names_asked_for() {
    let server = NameServer::start();
    server.set("shop.example.", addresses(&["10.0.0.1"], 60));
    let mut running = Running::start(&server);
    running.service("a", "shop", "shop.example");
    running.service("a", "gone", "gone.example");
    assert!(running.names.latest().is_none());
    running.publish();
    let first = running.known(|_| true).await;
    assert_eq!(first.len(), 2);
    assert!(first["gone.example"].why.contains("does not exist"));
}

#[actix::test]
async fn a_name_that_leads_elsewhere_is_followed_when_its_time_is_over() {
    let server = NameServer::start();
    server.set("shop.example.", addresses(&["10.0.0.1"], 0));
    let mut running = Running::start(&server);
    running.service("a", "shop", "shop.example");
    running.publish();
    running.leads_to("shop.example", &["10.0.0.1"]).await;
    server.set("shop.example.", addresses(&["127.0.0.1"], 0));
    running.leads_to("shop.example", &["127.0.0.1"]).await;
    server.set("shop.example.", Reply::Failure);
    server.set("other.example.", addresses(&["10.0.0.9"], 0));
    let questions = server.asked().len();
    running.service("a", "other", "other.example");
    running.publish();
    // By the time that the other name was asked for twice, the failing one was, too; what it was before stays.
    running.leads_to("other.example", &["10.0.0.9"]).await;
    server.set("other.example.", addresses(&["10.0.0.10"], 0));
    let known = running.leads_to("other.example", &["10.0.0.10"]).await;
    assert!(server.asked().iter().skip(questions).any(|name| name.starts_with("shop.example.")));
    assert_eq!(known["shop.example"].addresses, ["127.0.0.1".parse::<std::net::IpAddr>().unwrap()]);
    running.services.remove(&ObjectRef::new("services", "a", "shop"));
    running.publish();
    running.known(|known| !known.contains_key("shop.example")).await;
}

#[actix::test]
async fn a_thousand_names_that_nobody_answers_for_keep_nobody_waiting() {
    let server = NameServer::start();
    let mut running = Running::start(&server);
    for namespace in 0..10 {
        for number in 0..100 {
            let host = format!("s{number}.a{namespace}.example");
            server.set(&format!("{host}."), Reply::Silence);
            running.service(&format!("a{namespace}"), &format!("s{number}"), &host);
        }
    }
    for number in 0..20 {
        server.set(&format!("z{number}.example."), addresses(&["10.0.0.1"], 60));
        running.service("z", &format!("s{number}"), &format!("z{number}.example"));
    }
    running.publish();
    running.known(|known| known.keys().filter(|name| name.starts_with('z')).count() == 20).await;
    let before = server.asked().into_iter().take_while(|name| !name.starts_with("z19."));
    let before = before.collect::<std::collections::BTreeSet<_>>().len();
    assert!(before < 500, "{before} others were asked for before the last of the innocent");
    // A new one does not wait for them either.
    server.set("new.example.", addresses(&["10.0.0.2"], 60));
    running.service("z", "new", "new.example");
    running.publish();
    running.leads_to("new.example", &["10.0.0.2"]).await;
}

#[actix::test]
async fn an_actor_that_fails_keeps_what_it_published_and_asks_again() {
    let server = NameServer::start();
    server.set("shop.example.", addresses(&["10.0.0.1"], 60));
    let mut running = Running::start(&server);
    running.service("a", "shop", "shop.example");
    running.publish();
    running.leads_to("shop.example", &["10.0.0.1"]).await;
    server.set("shop.example.", addresses(&["10.0.0.2"], 60));
    assert!(running.health.make_panic("resolve"));
    running.leads_to("shop.example", &["10.0.0.2"]).await;
    assert_eq!(running.actor.state().restarts, 1);
}
