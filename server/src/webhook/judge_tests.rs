//! What the judge says, with a real HAProxy.

use super::*;
use haptic_model::{
    ActiveConfig, Fleet, Generation, Snapshots,
    quarantine::{Quarantine, Quarantined},
};
use haptic_runtime::{CellWriter, cell};
use haptic_validate::{Binaries, CheckLimits, Sandbox};
use haptic_watch::given;
use serde_json::{Map, Value, json};
use std::time::Duration;

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

struct Court {
    judge: Judge,
    checker: Checker,
    config: Arc<ActiveConfig>,
    snapshots: CellWriter<Snapshots>,
    quarantine: CellWriter<Quarantine>,
    _others: (CellWriter<Option<Arc<ActiveConfig>>>, CellWriter<Fleet>),
}

fn service(name: &str, annotations: &Value) -> Map<String, Value> {
    let service = json!({
        "apiVersion": "v1", "kind": "Service",
        "metadata": {"name": name, "namespace": "shop", "annotations": annotations},
    });
    service.as_object().unwrap().clone()
}

fn put(name: &str, annotations: &Value) -> Change {
    Change { object: Some(service(name, annotations)), ..delete(name) }
}

fn delete(name: &str) -> Change {
    let (resources, namespace_labels) = (vec!["services".into()], Map::new());
    Change { resources, namespace: "shop".into(), name: name.into(), object: None, namespace_labels }
}

impl Court {
    /// With these Services in the cluster.
    fn with(services: &[(&str, Value)]) -> Self {
        let haproxy = std::env::var_os("HAPTIC_HAPROXY_3_4").expect("run this through `make test`");
        let checker =
            Checker::new(Binaries::probe([haproxy]).unwrap(), CheckLimits::default(), Sandbox::none());
        let resource = json!({
            "metadata": {"name": "edge", "namespace": "edge"},
            "spec": {
                "credentialsSecretRef": {"name": "c"}, "podSelector": {"matchLabels": {"a": "b"}},
                "watchedResources": {"services": {
                    "apiVersion": "v1", "resources": "services", "enableValidationWebhook": true,
                }},
                "maps": {"path.map": {"template": MAP}}, "haproxyConfig": {"template": TEMPLATE},
            },
        });
        let candidate = haptic_config::Candidate::from_resource(&resource).unwrap();
        let config = crate::command::as_if_active(candidate).unwrap();
        let (config_writer, config_cell) = cell(Some(config.clone()));
        let (snapshots, snapshots_cell) = cell(Snapshots::default());
        let (fleet_writer, fleet) = cell(Fleet::default());
        let (quarantine, held) = cell(Quarantine::default());
        let board = Board { config: config_cell, snapshots: snapshots_cell, quarantine: held, fleet };
        let judge = Judge::new(board, checker.clone());
        let court =
            Self { judge, checker, config, snapshots, quarantine, _others: (config_writer, fleet_writer) };
        court.now(services);
        court
    }

    fn now(&self, services: &[(&str, Value)]) {
        let services = services.iter().map(|(name, annotations)| service(name, annotations)).collect();
        let given = given::Given::from([("services".to_owned(), services)]);
        self.snapshots.publish(given::snapshots(&self.config.spec, &given).unwrap());
    }

    async fn says(&mut self, change: Change) -> Answer {
        self.judge.judge(&[change], in_time()).await.pop().unwrap()
    }
}

/// Later than any check of these ends.
fn in_time() -> Instant {
    Instant::now() + Duration::from_secs(60)
}

fn message(answer: &Answer) -> &str {
    match answer {
        Answer::Denied { message } => message,
        other => panic!("it must be denied: {other:?}"),
    }
}

#[tokio::test]
async fn a_good_object_passes_and_a_bad_one_is_refused_with_object_and_line() {
    let mut court = Court::with(&[("a", json!({}))]);
    assert_eq!(court.says(put("b", &json!({}))).await, Answer::allowed());
    let refused = court.says(put("b", &json!({"server": "a\nb"}))).await;
    let said = message(&refused);
    assert!(said.contains("services shop/b") && said.contains("template haproxyConfig:"), "{said}");
    let refused = court.says(put("b", &json!({"refuse": "x"}))).await;
    assert!(message(&refused).contains("this one is refused"), "{refused:?}");
    assert_eq!(court.says(put("b", &json!({}))).await, Answer::allowed());
}

#[tokio::test]
async fn what_only_haproxy_knows_to_be_wrong_is_refused() {
    let mut court = Court::with(&[("a", json!({}))]);
    let refused = court.says(put("b", &json!({"server": "127.0.0.1:99999"}))).await;
    let said = message(&refused);
    assert!(said.contains("services shop/b") && said.contains("99999"), "{said}");
}

#[tokio::test]
async fn an_old_fault_blocks_nobody_and_hides_no_new_one() {
    for fault in [json!({"server": "a\nb"}), json!({"server": "127.0.0.1:99999"}), json!({"refuse": "x"})] {
        let mut court = Court::with(&[("old", fault.clone()), ("older", fault.clone())]);
        assert_eq!(court.says(put("b", &json!({}))).await, Answer::allowed(), "{fault}");
        let refused = court.says(put("b", &json!({"server": "c\nd"}))).await;
        assert!(!message(&refused).contains("shop/old"), "{refused:?}");
        let mended = court.says(put("old", &json!({}))).await;
        assert!(matches!(mended, Answer::Allowed { .. }), "{mended:?}");
        assert!(matches!(court.says(delete("old")).await, Answer::Allowed { .. }));
    }
}

#[tokio::test]
async fn what_is_held_back_is_left_out_and_its_own_fault_is_no_news() {
    let bad = json!({"server": "127.0.0.1:99999"});
    let mut court = Court::with(&[("held", bad.clone())]);
    let object = Arc::new(ObjectRef::new("services", "shop", "held"));
    let mut with_note = bad.clone();
    with_note["note"] = json!("x");
    let first = court.says(put("held", &with_note)).await;
    assert!(matches!(&first, Answer::Allowed { warnings } if warnings.len() == 1), "{first:?}");
    let held = Quarantined {
        object: object.clone(),
        why: Diagnostic::error("haproxy", "no").of_object(Some(object.clone())),
        replaced: false,
        suspected: false,
        since: Generation(1),
        at: std::time::Instant::now(),
    };
    court.quarantine.publish(Quarantine { held: [(object, held)].into() });
    assert_eq!(court.says(put("b", &json!({}))).await, Answer::allowed());
    message(&court.says(put("b", &bad)).await);
    assert_eq!(court.says(put("held", &json!({}))).await, Answer::allowed());
}

#[tokio::test]
async fn of_many_at_once_only_the_bad_ones_are_refused() {
    let mut court = Court::with(&[("a", json!({}))]);
    let changes = [
        put("b", &json!({})),
        put("c", &json!({"server": "127.0.0.1:99999"})),
        put("d", &json!({})),
        put("e", &json!({"server": "x\ny"})),
        delete("a"),
    ];
    let answers = court.judge.judge(&changes, in_time()).await;
    let verdicts: Vec<&str> = answers.iter().map(Answer::verdict).collect();
    assert_eq!(verdicts, ["allowed", "denied", "allowed", "denied", "allowed"], "{answers:?}");
}

#[tokio::test]
async fn a_warning_of_the_object_is_handed_on_and_one_of_another_object_is_not() {
    let mut court = Court::with(&[("a", json!({"odd": "x"}))]);
    let answer = court.says(put("b", &json!({"odd": "x"}))).await;
    let Answer::Allowed { warnings } = answer else { panic!("{answer:?}") };
    assert!(warnings.len() == 1 && warnings[0].contains("services shop/b"), "{warnings:?}");
}

#[tokio::test]
async fn without_stores_nothing_is_judged() {
    let mut court = Court::with(&[]);
    court.snapshots.publish(Snapshots::default());
    assert!(matches!(court.says(put("b", &json!({}))).await, Answer::Unjudged { .. }));
}

#[tokio::test]
async fn what_has_no_time_left_is_not_judged() {
    let mut court = Court::with(&[("a", json!({}))]);
    let answers = court.judge.judge(&[put("b", &json!({}))], Instant::now()).await;
    let [Answer::Unjudged { why }] = &answers[..] else { panic!("{answers:?}") };
    assert!(why.starts_with("no time was left for it"), "{why}");
    assert_eq!(court.says(put("b", &json!({}))).await, Answer::allowed(), "the next one has its own time");
}

#[tokio::test]
async fn the_live_stores_count_also_after_they_changed() {
    let mut court = Court::with(&[("a", json!({}))]);
    assert_eq!(court.says(put("a", &json!({"x": "y"}))).await, Answer::allowed());
    court.now(&[("a", json!({"refuse": "x"}))]);
    let mut still = json!({"refuse": "x", "and": "y"});
    let answer = court.says(put("a", &still)).await;
    assert!(matches!(&answer, Answer::Allowed { warnings } if warnings.len() == 1), "{answer:?}");
    still["server"] = json!("a\nb");
    message(&court.says(put("a", &still)).await);
    court.now(&[("a", json!({})), ("b", json!({}))]);
    court.judge.rest().await;
    assert_eq!(court.says(delete("b")).await, Answer::allowed());
}

/// The part that is checked must be enough, or each review would cost a check of the whole.
#[tokio::test]
async fn the_checked_part_of_the_ingress_library_and_the_demo_is_valid_by_itself() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    for (config, manifests) in
        [("demo/config.yaml", "demo/manifests"), ("ingress/config.yaml", "demo/manifests")]
    {
        let mut candidate = haptic_config::load_file(&root.join("fixtures").join(config)).unwrap();
        let mut spec = (*candidate.spec).clone();
        let class = spec.templating_settings.extra_context.get_mut("ingressClass");
        class.into_iter().for_each(|class| class["withoutClass"] = json!(true));
        candidate.spec = Arc::new(spec);
        let config = crate::command::as_if_active(candidate).unwrap();
        let origin = crate::wiring::OriginOf::Folder(root.join("fixtures").join(manifests));
        let snapshots = crate::objects::read(&config.spec, &origin).await.unwrap().snapshots;
        let live = Live {
            config: config.clone(),
            snapshots: Arc::new(snapshots),
            quarantine: Arc::default(),
            fleet: Arc::default(),
        };
        let ingress = json!({
            "apiVersion": "networking.k8s.io/v1", "kind": "Ingress",
            "metadata": {"name": "new", "namespace": "shop"},
            "spec": {"rules": [{"host": "new.example", "http": {"paths": [{"path": "/", "pathType": "Prefix",
                "backend": {"service": {"name": "shop", "port": {"number": 80}}}}]}}]},
        });
        let change = Change {
            resources: vec!["ingresses".into()],
            namespace: "shop".into(),
            name: "new".into(),
            object: ingress.as_object().cloned(),
            namespace_labels: Map::new(),
        };
        let compared = Workshop::default().compare(&live, std::slice::from_ref(&change));
        let (before, after) = (compared.bundle_before().unwrap(), compared.after.as_ref().unwrap());
        let after = &after.as_ref().unwrap().bundle;
        let part = reduced(after, before, &change.objects().collect());
        assert!(part.size() < after.size(), "{}: {} of {}", config.name, part.size(), after.size());
        let checker = Court::with(&[]).checker;
        let verdict = checker.check(&part, &[]).await;
        assert!(verdict.passed(), "{:?}\n{}", verdict.diagnostics, part.config.text);
    }
}
