//! What the evaluator says, with a real HAProxy.

use super::*;
use crate::actor::test_render_stage;
use haptic_model::{
    ActiveConfig, Fleet, Generation, Snapshots,
    quarantine::{Quarantine, Quarantined},
};
use haptic_render::{Checked, CompileCache, RenderJob, RenderLimits, Renderer, RendererFork};
use haptic_runtime::{Publisher, topic};
use haptic_text::Fragment;
use haptic_validate::{Binaries, CheckLimits, Sandbox};
use haptic_watch::provided;
use serde_json::{Map, Value, json};
use std::{sync::atomic::Ordering::Relaxed, time::Duration};

/// Every Service is a backend with its annotation `server` as a server's address.
const TEMPLATE: &str = "
global
defaults
  mode http
  timeout connect 1s
  timeout client 1s
  timeout server 1s
frontend web
  bind :7080
  use_backend %[path,map({{file_path \"path.map\" \"map\"}})]
{{#each (list \"services\") as |service|}}
backend {{proxy_name service.metadata.namespace service.metadata.name}}
  {{#if (has service \"metadata.annotations.refuse\")}}
  {{register_error service \"this one is refused\"}}
  {{/if}}
  {{#if (has service \"metadata.annotations.odd\")}}
  {{warn \"odd is ignored\"}}
  {{/if}}
  server one {{get service \"metadata.annotations.server\" \"127.0.0.1:80\"}}
{{/each}}
";
const MAP: &str = "
{{#each (list \"services\") as |service|}}
/{{service.metadata.name}} {{proxy_name service.metadata.namespace service.metadata.name}}
{{/each}}
";

struct Fixture {
    evaluator: Evaluator,
    checker: Checker,
    config: Arc<ActiveConfig>,
    snapshots: Publisher<Snapshots>,
    quarantine: Publisher<Quarantine>,
    _others: (Publisher<Option<Arc<ActiveConfig>>>, Publisher<Fleet>),
}

fn service(name: &str, annotations: &Value) -> Map<String, Value> {
    let service = json!({
        "apiVersion": "v1", "kind": "Service",
        "metadata": {"name": name, "namespace": "shop", "annotations": annotations},
    });
    service.as_object().unwrap().clone()
}

fn put(name: &str, annotations: &Value) -> ObjectChange {
    ObjectChange { object: Some(service(name, annotations)), ..delete(name) }
}

fn delete(name: &str) -> ObjectChange {
    let (resources, namespace_labels) = (vec!["services".into()], Map::new());
    ObjectChange { resources, namespace: "shop".into(), name: name.into(), object: None, namespace_labels }
}

impl Fixture {
    /// With these Services in the cluster.
    fn with(services: &[(&str, Value)]) -> Self {
        let fixture = Self::of(&json!({
            "credentialsSecretRef": {"name": "c"}, "podSelector": {"matchLabels": {"a": "b"}},
            "watchedResources": {"services": {
                "apiVersion": "v1", "resources": "services", "enableValidationWebhook": true,
            }},
            "maps": {"path.map": {"template": MAP}}, "haproxyConfig": {"template": TEMPLATE},
        }));
        fixture.now(services);
        fixture
    }

    /// Of a configuration, in an empty cluster.
    fn of(spec: &Value) -> Self {
        let haproxy = std::env::var_os("HAPTIC_HAPROXY_3_4").expect("run this through `make test`");
        let checker =
            Checker::new(Binaries::probe([haproxy]).unwrap(), CheckLimits::default(), Sandbox::none());
        let resource = json!({"metadata": {"name": "edge", "namespace": "edge"}, "spec": spec});
        let candidate = haptic_config::ConfigCandidate::from_resource(&resource).unwrap();
        let config = candidate.as_if_active().unwrap();
        let (config_writer, config_cell) = topic(Some(config.clone()));
        let (snapshots, snapshots_cell) = topic(Snapshots::default());
        let (fleet_writer, fleet) = topic(Fleet::default());
        let (quarantine, held) = topic(Quarantine::default());
        let topics = LiveTopics { config: config_cell, snapshots: snapshots_cell, quarantine: held, fleet };
        let evaluator = Evaluator::new(topics, None, checker.clone());
        Self { evaluator, checker, config, snapshots, quarantine, _others: (config_writer, fleet_writer) }
    }

    fn now(&self, services: &[(&str, Value)]) {
        let services = services.iter().map(|(name, annotations)| service(name, annotations)).collect();
        self.publish([("services", services)]);
    }

    /// Our class, the Gateway `shop/web`, and these HTTPRoutes.
    fn publish_routes(&self, routes: Vec<Map<String, Value>>) {
        let controller = json!({"controllerName": "haproxy-haptic.org/gateway-controller"});
        let listeners = json!([{"name": "http", "port": 80, "protocol": "HTTP"}]);
        let gateway = json!({"gatewayClassName": "haptic", "listeners": listeners});
        self.publish([
            ("gatewayclasses", vec![gateway_object("GatewayClass", "", "haptic", controller)]),
            ("gateways", vec![gateway_object("Gateway", "shop", "web", gateway)]),
            ("httproutes", routes),
        ]);
    }

    fn publish<const N: usize>(&self, objects: [(&str, Vec<Map<String, Value>>); N]) {
        let given = objects.map(|(resources, objects)| (resources.to_owned(), objects)).into();
        self.snapshots.publish(provided::snapshots(&self.config.spec, &given).unwrap());
    }

    async fn says(&mut self, change: ObjectChange) -> ReviewAnswer {
        self.evaluator.evaluate(&[change], in_time()).await.pop().unwrap()
    }
}

/// Later than any check of these ends.
fn in_time() -> Instant {
    Instant::now() + Duration::from_secs(60)
}

fn message(answer: &ReviewAnswer) -> &str {
    match answer {
        ReviewAnswer::Denied { message } => message,
        other => panic!("it must be denied: {other:?}"),
    }
}

#[tokio::test]
async fn options_of_a_class_that_cannot_be_read_are_refused() {
    let mut fixture = Fixture::of(&json!({
        "credentialsSecretRef": {"name": "c"}, "podSelector": {"matchLabels": {"a": "b"}},
        "libraries": ["base", "ssl", "ingress"],
        "watchedResources": {"classparameters": {
            "apiVersion": "v1", "resources": "configmaps", "enableValidationWebhook": true,
        }},
    }));
    let class = json!({"apiVersion": "networking.k8s.io/v1", "kind": "IngressClass", "metadata": {"name": "team"}, "spec": {
        "controller": "haproxy-haptic.org/ingress-controller",
        "parameters": {"kind": "ConfigMap", "namespace": "edge", "name": "team"},
    }});
    let class = class.as_object().unwrap().clone();
    let given = provided::ProvidedObjects::from([("ingressclasses".to_owned(), vec![class])]);
    fixture.snapshots.publish(provided::snapshots(&fixture.config.spec, &given).unwrap());
    let put = |enforced: &str| {
        let object = json!({"apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"namespace": "edge", "name": "team"}, "data": {"enforced": enforced}});
        ObjectChange {
            resources: vec!["classparameters".into()],
            namespace: "edge".into(),
            object: object.as_object().cloned(),
            ..delete("team")
        }
    };
    let refused = fixture.says(put("retry: x")).await;
    assert!(
        message(&refused).contains("data.enforced.retry is \"x\", it must be idempotent or all"),
        "{refused:?}"
    );
    let allowed = fixture.says(put("retry: all")).await;
    assert!(matches!(allowed, ReviewAnswer::Allowed { .. }), "{allowed:?}");
}

/// One for Gateways: `shop/web` listens for HTTP, and these hosts are listed.
fn gateway_fixture(hosts: &Value) -> Fixture {
    let api = |resources: &str| json!({"apiVersion": "gateway.networking.k8s.io/v1", "resources": resources, "enableValidationWebhook": true});
    let fixture = Fixture::of(&json!({
        "credentialsSecretRef": {"name": "c"}, "podSelector": {"matchLabels": {"a": "b"}}, "hosts": hosts,
        "libraries": ["base", "ssl", "gateway"], "watchedResources": {
            "gatewayclasses": api("gatewayclasses"), "gateways": api("gateways"), "httproutes": api("httproutes"),
        },
    }));
    fixture.publish_routes(Vec::new());
    fixture
}

fn gateway_object(kind: &str, namespace: &str, name: &str, spec: Value) -> Map<String, Value> {
    let object = json!({"apiVersion": "gateway.networking.k8s.io/v1", "kind": kind,
        "metadata": {"namespace": namespace, "name": name}, "spec": spec});
    object.as_object().cloned().unwrap_or_default()
}

/// The HTTPRoute `shop/cart`.
fn cart(spec: Value) -> Map<String, Value> {
    gateway_object("HTTPRoute", "shop", "cart", spec)
}

fn put_route(route: Map<String, Value>) -> ObjectChange {
    ObjectChange {
        resources: vec!["httproutes".into()],
        namespace: "shop".into(),
        object: Some(route),
        ..delete("cart")
    }
}

#[tokio::test]
async fn a_route_of_which_nothing_can_be_served_is_refused_and_others_are_warned_of() {
    let mut fixture = gateway_fixture(&json!([]));
    let route = |rules: Value| cart(json!({"parentRefs": [{"name": "web"}], "rules": rules}));
    let regex = |value: &str| json!({"matches": [{"headers": [{"name": "a", "type": "RegularExpression", "value": value}]}]});
    let backend = |name: &str| json!({"backendRefs": [{"name": name, "port": 80}]});
    let refused = fixture.says(put_route(route(json!([regex("(")])))).await;
    let said = message(&refused);
    assert!(said.contains("httproutes shop/cart") && said.contains("the value of header \"a\""), "{said}");
    let shared = cart(
        json!({"parentRefs": [{"name": "web"}, {"name": "of-another-controller"}], "rules": [regex("(")]}),
    );
    for warned_of in [route(json!([backend("cart")])), route(json!([backend("cart"), regex("(")])), shared] {
        let warned = fixture.says(put_route(warned_of)).await;
        let ReviewAnswer::Allowed { warnings } = &warned else { panic!("{warned:?}") };
        assert!(warnings.iter().any(|warning| warning.contains("shop/cart")), "{warnings:?}");
    }
    // One that is broken already may be changed in another way.
    let broken = route(json!([regex("(")]));
    fixture.publish_routes(vec![broken]);
    let changed =
        cart(json!({"parentRefs": [{"name": "web"}], "hostnames": ["a.example"], "rules": [regex("(")]}));
    let allowed = fixture.says(put_route(changed)).await;
    assert!(matches!(&allowed, ReviewAnswer::Allowed { warnings } if !warnings.is_empty()), "{allowed:?}");
}

#[tokio::test]
async fn a_route_for_a_host_of_others_is_stored_with_a_warning() {
    let mut fixture = gateway_fixture(&json!([{"hosts": ["pay.example"], "namespaces": ["pay"]}]));
    for hostnames in [json!(["pay.example"]), json!(["own.example", "pay.example"])] {
        let redirect = json!({"type": "RequestRedirect", "requestRedirect": {"hostname": "a.example"}});
        let spec = json!({"parentRefs": [{"name": "web"}], "hostnames": hostnames, "rules": [{"filters": [redirect]}]});
        let warned = fixture.says(put_route(cart(spec))).await;
        let ReviewAnswer::Allowed { warnings } = &warned else { panic!("{warned:?}") };
        let is_told = |warning: &String| {
            warning
                .contains("pay.example belongs to namespace pay by spec.hosts: nothing of it is served there")
        };
        assert!(warnings.iter().any(is_told), "{warnings:?}");
    }
}

#[tokio::test]
async fn a_good_object_passes_and_a_bad_one_is_refused_with_object_and_line() {
    let mut fixture = Fixture::with(&[("a", json!({}))]);
    assert_eq!(fixture.says(put("b", &json!({}))).await, ReviewAnswer::allowed());
    let refused = fixture.says(put("b", &json!({"server": "a\nb"}))).await;
    let said = message(&refused);
    assert!(said.contains("services shop/b") && said.contains("template haproxyConfig:"), "{said}");
    let refused = fixture.says(put("b", &json!({"refuse": "x"}))).await;
    assert!(message(&refused).contains("this one is refused"), "{refused:?}");
    assert_eq!(fixture.says(put("b", &json!({}))).await, ReviewAnswer::allowed());
}

#[tokio::test]
async fn what_only_haproxy_knows_to_be_wrong_is_refused() {
    let mut fixture = Fixture::with(&[("a", json!({}))]);
    let refused = fixture.says(put("b", &json!({"server": "127.0.0.1:99999"}))).await;
    let said = message(&refused);
    assert!(said.contains("services shop/b") && said.contains("99999"), "{said}");
}

#[tokio::test]
async fn an_old_fault_blocks_nobody_and_hides_no_new_one() {
    for fault in [json!({"server": "a\nb"}), json!({"server": "127.0.0.1:99999"}), json!({"refuse": "x"})] {
        let mut fixture = Fixture::with(&[("old", fault.clone()), ("older", fault.clone())]);
        assert_eq!(fixture.says(put("b", &json!({}))).await, ReviewAnswer::allowed(), "{fault}");
        let refused = fixture.says(put("b", &json!({"server": "c\nd"}))).await;
        assert!(!message(&refused).contains("shop/old"), "{refused:?}");
        let mended = fixture.says(put("old", &json!({}))).await;
        assert!(matches!(mended, ReviewAnswer::Allowed { .. }), "{mended:?}");
        assert!(matches!(fixture.says(delete("old")).await, ReviewAnswer::Allowed { .. }));
    }
}

#[tokio::test]
async fn what_is_held_back_is_left_out_and_its_own_fault_is_no_news() {
    let bad = json!({"server": "127.0.0.1:99999"});
    let mut fixture = Fixture::with(&[("held", bad.clone())]);
    let object = Arc::new(ObjectRef::new("services", "shop", "held"));
    let mut with_note = bad.clone();
    with_note["note"] = json!("x");
    let first = fixture.says(put("held", &with_note)).await;
    assert!(matches!(&first, ReviewAnswer::Allowed { warnings } if warnings.len() == 1), "{first:?}");
    let held = Quarantined {
        object: object.clone(),
        why: Diagnostic::error("haproxy", "no").of_object(Some(object.clone())),
        instead: haptic_model::Instead::Nothing,
        suspected: false,
        since: Generation(1),
        at: std::time::Instant::now(),
    };
    fixture.quarantine.publish(Quarantine { held: [(object, Arc::new(held))].into() });
    assert_eq!(fixture.says(put("b", &json!({}))).await, ReviewAnswer::allowed());
    message(&fixture.says(put("b", &bad)).await);
    assert_eq!(fixture.says(put("held", &json!({}))).await, ReviewAnswer::allowed());
}

#[tokio::test]
async fn of_many_at_once_only_the_bad_ones_are_refused() {
    let mut fixture = Fixture::with(&[("a", json!({}))]);
    let changes = [
        put("b", &json!({})),
        put("c", &json!({"server": "127.0.0.1:99999"})),
        put("d", &json!({})),
        put("e", &json!({"server": "x\ny"})),
        delete("a"),
    ];
    let answers = fixture.evaluator.evaluate(&changes, in_time()).await;
    let verdicts: Vec<&str> = answers.iter().map(ReviewAnswer::verdict).collect();
    assert_eq!(verdicts, ["allowed", "denied", "allowed", "denied", "allowed"], "{answers:?}");
}

#[tokio::test]
async fn a_warning_of_the_object_is_handed_on_and_one_of_another_object_is_not() {
    let mut fixture = Fixture::with(&[("a", json!({"odd": "x"}))]);
    let answer = fixture.says(put("b", &json!({"odd": "x"}))).await;
    let ReviewAnswer::Allowed { warnings } = answer else { panic!("{answer:?}") };
    assert!(warnings.len() == 1 && warnings[0].contains("services shop/b"), "{warnings:?}");
}

#[tokio::test]
async fn without_stores_nothing_is_judged() {
    let mut fixture = Fixture::with(&[]);
    fixture.snapshots.publish(Snapshots::default());
    assert!(matches!(fixture.says(put("b", &json!({}))).await, ReviewAnswer::Undecided { .. }));
}

#[tokio::test]
async fn what_has_no_time_left_is_not_judged() {
    let mut fixture = Fixture::with(&[("a", json!({}))]);
    let answers = fixture.evaluator.evaluate(&[put("b", &json!({}))], Instant::now()).await;
    let [ReviewAnswer::Undecided { why }] = &answers[..] else { panic!("{answers:?}") };
    assert!(why.starts_with("no time was left for it"), "{why}");
    assert_eq!(
        fixture.says(put("b", &json!({}))).await,
        ReviewAnswer::allowed(),
        "the next one has its own time"
    );
}

#[tokio::test]
async fn the_live_stores_count_also_after_they_changed() {
    let mut fixture = Fixture::with(&[("a", json!({}))]);
    assert_eq!(fixture.says(put("a", &json!({"x": "y"}))).await, ReviewAnswer::allowed());
    fixture.now(&[("a", json!({"refuse": "x"}))]);
    let mut still = json!({"refuse": "x", "and": "y"});
    let answer = fixture.says(put("a", &still)).await;
    assert!(matches!(&answer, ReviewAnswer::Allowed { warnings } if warnings.len() == 1), "{answer:?}");
    still["server"] = json!("a\nb");
    message(&fixture.says(put("a", &still)).await);
    fixture.now(&[("a", json!({})), ("b", json!({}))]);
    fixture.evaluator.prepare().await;
    assert_eq!(fixture.says(delete("b")).await, ReviewAnswer::allowed());
}

#[test]
fn reviews_begin_with_what_the_pipeline_has_rendered_and_again_when_that_was_forgotten() {
    test_render_stage::run(review_with_a_fork());
}

async fn review_with_a_fork() {
    let mut fixture = Fixture::with(&[("a", json!({})), ("b", json!({})), ("c", json!({}))]);
    let live = Live::of(&fixture.evaluator.topics).unwrap();
    let (mut renderer, mut compiled) = (Renderer::checked(Checked::Never), CompileCache::default());
    let templates = compiled.of(&live.config).unwrap();
    let limits = RenderLimits::default();
    let rendered = renderer
        .render(&RenderJob {
            compiled: &templates,
            config: &live.config,
            snapshots: &live.snapshots,
            fleet: &live.fleet,
            limits: &limits,
        })
        .unwrap()
        .bundle;
    let change = put("b", &json!({"server": "127.0.0.2:80"}));

    let mut cache = RenderCache::from_fork(RendererFork::of(&renderer, &compiled));
    let compared = cache.compare(&live, std::slice::from_ref(&change));
    let addresses =
        |bundle: &Bundle| bundle.config.text.fragments().iter().map(Fragment::address).collect::<Vec<_>>();
    assert_eq!(addresses(compared.bundle_before().unwrap()), addresses(&rendered), "the same memory");

    let (pipeline, asked) = test_render_stage::start(renderer, compiled);
    fixture.evaluator.renderer = Some(pipeline);
    assert_eq!(fixture.says(change.clone()).await, ReviewAnswer::allowed());
    message(&fixture.says(put("b", &json!({"server": "a\nb"}))).await);
    assert_eq!(asked.load(Relaxed), 1);
    fixture.evaluator.forget();
    fixture.evaluator.begin(&live).await;
    let compared = fixture.evaluator.cache.compare(&live, std::slice::from_ref(&change));
    assert_eq!(addresses(compared.bundle_before().unwrap()), addresses(&rendered), "it is used, too");
    assert_eq!(fixture.says(change).await, ReviewAnswer::allowed());
    assert_eq!(asked.load(Relaxed), 2);
}

/// The configuration `config` of the fixtures with the manifests of the demo.
async fn demo(config: &str) -> Live {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures");
    let mut candidate = haptic_config::load_file(&root.join(config)).unwrap();
    let mut spec = (*candidate.spec).clone();
    let class = spec.templating_settings.extra_context.get_mut("ingressClass");
    class.into_iter().for_each(|class| class["withoutClass"] = json!(true));
    candidate.spec = Arc::new(spec);
    let config = candidate.as_if_active().unwrap();
    let origin = haptic_watch::ObjectSource::Folder(root.join("demo/manifests"));
    let snapshots = haptic_inspect::offline::objects::read(&config.spec, &origin).await.unwrap().snapshots;
    Live { config, snapshots: Arc::new(snapshots), quarantine: Arc::default(), fleet: Arc::default() }
}

fn new_ingress(service: &str, annotations: &Value) -> ObjectChange {
    let ingress = json!({
        "apiVersion": "networking.k8s.io/v1", "kind": "Ingress",
        "metadata": {"name": "new", "namespace": "shop", "annotations": annotations},
        "spec": {"rules": [{"host": "new.example", "http": {"paths": [{"path": "/", "pathType": "Prefix",
            "backend": {"service": {"name": service, "port": {"number": 80}}}}]}}]},
    });
    ObjectChange {
        resources: vec!["ingresses".into()],
        namespace: "shop".into(),
        name: "new".into(),
        object: ingress.as_object().cloned(),
        namespace_labels: Map::new(),
    }
}

#[tokio::test]
async fn what_is_found_at_the_reviewed_object_is_a_warning() {
    let live = demo("ingress/config.yaml").await;
    let annotations = json!({"nginx.ingress.kubernetes.io/ssl-redirect": "true"});
    let change = new_ingress("nosvc", &annotations);
    let objects = change.objects().collect();
    let compared = RenderCache::default().compare(&live, std::slice::from_ref(&change));
    let ReviewAnswer::Allowed { warnings } = warned(Some(&change), &compared.warnings(&objects)) else {
        panic!("it is allowed")
    };
    assert_eq!(warnings.len(), 2, "{warnings:?}");
    assert!(warnings[0].contains("Service nosvc, which is not there"), "{warnings:?}");
    assert!(warnings[1].contains("here ssl-redirect"), "{warnings:?}");
}

/// The part that is checked must be enough, or each review would cost a check of the whole.
#[tokio::test]
async fn the_checked_part_of_the_ingress_library_and_the_demo_is_valid_by_itself() {
    for config in ["demo/config.yaml", "ingress/config.yaml"] {
        let live = demo(config).await;
        let change = new_ingress("shop", &json!({}));
        let compared = RenderCache::default().compare(&live, std::slice::from_ref(&change));
        let (part, after) = (compared.part.unwrap(), compared.after.unwrap().unwrap().bundle);
        assert!(part.size() < after.size(), "{config}: {} of {}", part.size(), after.size());
        let checker = Fixture::with(&[]).checker;
        let verdict = checker.check(&part, &[]).await;
        assert!(verdict.passed(), "{:?}\n{}", verdict.diagnostics, part.config.text);
    }
}
