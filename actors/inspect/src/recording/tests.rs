//! What is recorded can be rendered again, whatever happened; what is secret is not in it; and what is no recording is refused.

use super::{
    file::{Bounds, Compressed, Flaw, RecordingReader, Writer},
    line::{RecordedEvent, RecordingLine},
    make::make,
    replay::{Replay, replay},
};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use haptic_commentator::RecordedAttempt;
use haptic_model::{
    ActiveConfig, Diagnostic, Fleet, Generation, HaproxyVersion, Object, ObjectJson, ObjectRef, Quarantine,
    Quarantined, Snapshot, Snapshots,
    pipeline::{Attempt, Cause, Reconcile},
    store::{FetchError, FetchObject, Key},
};
use haptic_render::{RenderJob, RenderLimits, compile};
use proptest::prelude::*;
use serde_json::{Value, json};
use std::{
    collections::BTreeMap,
    fs,
    io::{Cursor, Write},
    sync::Arc,
    time::{Duration, Instant, SystemTime},
};

/// A controller's life, generation by generation.
pub(crate) struct Past {
    spec: Value,
    revision: u64,
    config: Arc<ActiveConfig>,
    fleet: Fleet,
    given: Snapshots,
    held: BTreeMap<Arc<ObjectRef>, Option<(Object, Key)>>,
    pub generations: Vec<RecordedAttempt>,
}

const CONFIG: &str = r#"global
{{#each (list "ingresses") as |ing|}}
{{#if (has ing "spec.bad")}}{{register_error ing "it is bad"}}{{/if}}
# {{ing.metadata.name}} {{ing.spec.host}}
{{#with (get_single "secrets" ing.metadata.namespace ing.metadata.name) as |secret|}}
# {{b64decode secret.data.password}}
{{else}}
{{/with}}
{{/each}}
"#;

impl Past {
    pub fn new() -> Self {
        let spec = json!({
            "credentialsSecretRef": {"name": "c"}, "podSelector": {"matchLabels": {"a": "b"}},
            "haproxyConfig": {"template": CONFIG},
            "maps": {"host.map": {"template": "{{#each (list \"ingresses\") as |ing|}}\n{{ing.spec.host}} {{ing.metadata.name}}\n{{/each}}\n"}},
            "watchedResources": {
                "ingresses": {"apiVersion": "networking.k8s.io/v1", "resources": "ingresses"},
                "secrets": {"apiVersion": "v1", "resources": "secrets", "indexBy": ["metadata.namespace", "metadata.name"]},
            },
        });
        let config = Self::active(&spec, 1);
        let stores = ["ingresses", "secrets"].map(|name| (name.into(), Arc::new(Snapshot::full())));
        Self {
            spec,
            revision: 1,
            config,
            fleet: Fleet::of_version(HaproxyVersion::new(3, 4)),
            given: Snapshots::new(stores.into()),
            held: BTreeMap::new(),
            generations: Vec::new(),
        }
    }

    fn active(spec: &Value, revision: u64) -> Arc<ActiveConfig> {
        let spec = serde_json::from_value(spec.clone()).unwrap();
        Arc::new(ActiveConfig { revision, ..ActiveConfig::of("edge", "haptic", spec) })
    }

    fn configure(&mut self, pointer: &str, value: Value) {
        *self.spec.pointer_mut(pointer).unwrap() = value;
        self.revision += 1;
        self.config = Self::active(&self.spec, self.revision);
    }

    fn change(&mut self, store: &str, change: impl FnOnce(&mut Snapshot)) {
        let mut snapshot = Snapshot::clone(self.given.get(store).unwrap());
        change(&mut snapshot);
        self.given = self.given.with(store.into(), Arc::new(snapshot));
    }

    fn put(&mut self, store: &str, name: &str, value: &Value) {
        let (object, key) = object(store, name, value);
        self.change(store, |snapshot| _ = snapshot.apply(object, key));
    }

    fn remove(&mut self, store: &str, name: &str) {
        self.change(store, |snapshot| _ = snapshot.remove(&ObjectRef::new(store, "shop", name)));
    }

    pub fn ingress(&mut self, name: &str, host: &str) {
        self.put("ingresses", name, &ingress(name, host));
    }

    fn secret(&mut self, name: &str, password: &str) {
        self.put("secrets", name, &secret(name, password));
    }

    /// Renders all of it anew, as the pipeline would, and remembers it.
    pub fn render(&mut self) {
        let mut snapshots = self.given.clone();
        let mut held = Quarantine::default();
        for (object, instead) in &self.held {
            let Some(store) = snapshots.get(&object.resource) else { continue };
            let mut store = Snapshot::clone(store);
            match instead {
                Some((good, key)) => store.restore(Arc::new(good.clone()), key.clone()),
                None => drop(store.remove(object)),
            }
            snapshots = snapshots.with(object.resource.clone(), Arc::new(store));
            let one = Quarantined {
                object: object.clone(),
                why: Diagnostic::error("render", "it is bad"),
                instead: if instead.is_some() {
                    haptic_model::Instead::Former
                } else {
                    haptic_model::Instead::Nothing
                },
                suspected: false,
                since: Generation(1),
                at: Instant::now(),
            };
            held.held.insert(object.clone(), Arc::new(one));
        }
        let compiled = compile(&self.config.spec).unwrap();
        let rendered = haptic_render::render(&RenderJob {
            compiled: &compiled,
            config: &self.config,
            snapshots: &snapshots,
            fleet: &self.fleet,
            limits: &RenderLimits::default(),
        });
        let number = self.generations.len() as u64 + 1;
        let attempt = Attempt {
            reconcile: Reconcile {
                generation: Generation(number),
                cause: Cause::default(),
                triggered: Instant::now(),
            },
            config: self.config.clone(),
            given: Arc::new(self.given.clone()),
            snapshots,
            fleet: Arc::new(self.fleet.clone()),
            held,
            outcome: rendered.map(|(bundle, _)| bundle.digest),
        };
        let at = SystemTime::UNIX_EPOCH + Duration::from_secs(1_800_000_000 + number);
        self.generations.push(RecordedAttempt { at, attempt: Arc::new(attempt) });
    }

    fn recorded(&self) -> Vec<u8> {
        let told = |generation: Generation| {
            vec![RecordedEvent {
                kind: "Rendered".into(),
                unix_ms: 1,
                text: format!("rendered {generation}"),
            }]
        };
        make(&self.generations, told, Vec::new()).unwrap()
    }
}

fn object(store: &str, name: &str, value: &Value) -> (Object, Key) {
    let object = Object::new(ObjectRef::new(store, "shop", name), value);
    (object, ["shop".into(), name.into()].into())
}

fn ingress(name: &str, host: &str) -> Value {
    json!({"kind": "Ingress", "metadata": {"namespace": "shop", "name": name}, "spec": {"host": host}})
}

fn secret(name: &str, password: &str) -> Value {
    json!({"kind": "Secret", "metadata": {"namespace": "shop", "name": name},
        "data": {"password": STANDARD.encode(password)}})
}

/// Replays these bytes from a folder of their own.
fn replayed(bytes: &[u8]) -> Result<Replay, Flaw> {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("recording");
    fs::write(&file, bytes).unwrap();
    replay(&file, |_, _, _| {})
}

fn lines(bytes: &[u8]) -> Vec<RecordingLine> {
    let mut reader = RecordingReader::new(Cursor::new(bytes.to_vec()), Bounds::default()).unwrap();
    let head = RecordingLine::HapticRecording(reader.head().unwrap());
    std::iter::once(head).chain(reader.map(Result::unwrap)).collect()
}

/// The same lines, some of them changed, with an end that fits.
fn written(lines: impl IntoIterator<Item = RecordingLine>) -> Vec<u8> {
    let mut writer = Writer::new(Vec::new());
    for line in lines {
        if !matches!(line, RecordingLine::End(_)) {
            writer.write(&line).unwrap();
        }
    }
    writer.end().unwrap()
}

/// One thing that happens.
#[derive(Clone, Debug)]
enum Happening {
    Ingress(usize, usize),
    Bad(usize),
    Gone(usize),
    Held(usize),
    Replaced(usize),
    Released,
    Template(usize),
    Pod(usize),
    Rendered,
}

fn happening() -> impl Strategy<Value = Happening> {
    prop_oneof![
        4 => (0..6_usize, 0..9_usize).prop_map(|(name, host)| Happening::Ingress(name, host)),
        1 => (0..6_usize).prop_map(Happening::Bad),
        2 => (0..6_usize).prop_map(Happening::Gone),
        1 => (0..6_usize).prop_map(Happening::Held),
        1 => (0..6_usize).prop_map(Happening::Replaced),
        1 => Just(Happening::Released),
        1 => (0..3_usize).prop_map(Happening::Template),
        1 => (0..3_usize).prop_map(Happening::Pod),
        5 => Just(Happening::Rendered),
    ]
}

fn happen(past: &mut Past, happening: &Happening) {
    let reference = |name: &usize| Arc::new(ObjectRef::new("ingresses", "shop", &format!("i{name}")));
    match happening {
        Happening::Ingress(name, host) => past.ingress(&format!("i{name}"), &format!("h{host}.example")),
        Happening::Bad(name) => {
            let mut bad = ingress(&format!("i{name}"), "bad.example");
            bad["spec"]["bad"] = json!(true);
            past.put("ingresses", &format!("i{name}"), &bad);
        }
        Happening::Gone(name) => past.remove("ingresses", &format!("i{name}")),
        Happening::Held(name) => drop(past.held.insert(reference(name), None)),
        Happening::Replaced(name) => {
            let good =
                object("ingresses", &format!("i{name}"), &ingress(&format!("i{name}"), "good.example"));
            past.held.insert(reference(name), Some(good));
        }
        Happening::Released => past.held.clear(),
        Happening::Template(n) => {
            past.configure("/haproxyConfig/template", json!(format!("{CONFIG}# {n}\n")))
        }
        Happening::Pod(minor) => past.fleet = Fleet::of_version(HaproxyVersion::new(3, *minor as u16)),
        Happening::Rendered => past.render(),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn a_replay_renders_what_the_pipeline_rendered_whatever_happened(
        history in proptest::collection::vec(happening(), 1..40)
    ) {
        let mut past = Past::new();
        history.iter().for_each(|one| happen(&mut past, one));
        (0..6).for_each(|name| happen(&mut past, &Happening::Ingress(name, name)));
        past.render();
        prop_assert!(past.generations.last().unwrap().attempt.outcome.is_ok());
        let replay = replayed(&past.recorded()).unwrap();
        prop_assert_eq!(replay.generations.len(), past.generations.len());
        prop_assert_eq!(replay.differing(), 0);
        // There are no Secrets: so it is not only what the recorder rendered, but what was rendered at first.
        for (replayed, taken) in replay.generations.iter().zip(&past.generations) {
            let rendered = taken.attempt.outcome.as_ref().ok();
            prop_assert_eq!(replayed.opening.digest, rendered.copied());
            prop_assert_eq!(replayed.replayed, rendered.copied());
        }
    }
}

#[test]
fn what_is_planted_in_a_secret_is_nowhere_in_the_file() {
    let planted =
        ["planted-password", "planted-annotation", "planted-applied", "planted-user", "planted-token"];
    let mut past = Past::new();
    past.ingress("a", "a.example");
    past.secret("a", "planted-password");
    let mut noted = secret("b", "planted-annotation");
    noted["metadata"]["annotations"] = json!({
        "note": format!("it was planted-annotation or {}", STANDARD.encode("planted-annotation")),
        "kubectl.kubernetes.io/last-applied-configuration": "{\"stringData\": {\"x\": \"planted-applied\"}}",
    });
    noted["data"]["auth"] = json!(STANDARD.encode("planted-user:$6$planted-password"));
    past.put("secrets", "b", &noted);
    let mut held = ingress("c", "c.example");
    held["spec"]["apiToken"] = json!("planted-token");
    past.put("ingresses", "c", &held);
    past.render();
    past.held.insert(
        Arc::new(ObjectRef::new("secrets", "shop", "a")),
        Some(object("secrets", "a", &secret("a", "planted-password"))),
    );
    past.secret("a", "planted-password-2");
    past.render();
    let file = String::from_utf8(past.recorded()).unwrap();
    for secret in planted {
        for form in [secret.to_owned(), STANDARD.encode(secret), STANDARD.encode(format!("{secret}-2"))] {
            assert!(!file.contains(&form), "{form} is in the recording");
        }
        // As a part of what is encoded it has three forms.
        for before in ["", "x", "xx"] {
            let encoded = STANDARD.encode(format!("{before}{secret}"));
            assert!(!file.contains(&encoded[8..encoded.len() - 4]), "{encoded} is in the recording");
        }
    }
    assert_eq!(replayed(file.as_bytes()).unwrap().differing(), 0);
}

#[test]
fn a_rotation_of_a_secret_is_one_in_the_recording() {
    let mut past = Past::new();
    past.ingress("a", "a.example");
    for password in ["one", "two", "one"] {
        past.secret("a", password);
        past.render();
    }
    let digests: Vec<_> = replayed(&past.recorded())
        .unwrap()
        .generations
        .iter()
        .map(|generation| generation.replayed)
        .collect();
    assert_ne!(digests[0], digests[1]);
    assert_eq!(digests[0], digests[2]);
}

#[test]
fn only_what_changed_is_written_of_later_generations() {
    let mut past = Past::new();
    (0..300).for_each(|number| past.ingress(&format!("i{number}"), &format!("h{number}.example")));
    past.render();
    let one = past.recorded().len();
    for number in 0..9 {
        past.ingress("i7", &format!("other{number}.example"));
        past.render();
    }
    let ten = past.recorded().len();
    assert!(ten < one + one / 2, "one generation takes {one} bytes, ten {ten}");
}

#[test]
fn a_generation_that_cannot_be_rendered_fails_again_with_the_same_words() {
    let mut past = Past::new();
    let mut bad = ingress("a", "a.example");
    bad["spec"]["bad"] = json!(true);
    past.put("ingresses", "a", &bad);
    past.render();
    past.held.insert(Arc::new(ObjectRef::new("ingresses", "shop", "a")), None);
    past.render();
    let replay = replayed(&past.recorded()).unwrap();
    assert_eq!(replay.differing(), 0);
    assert!(replay.generations[0].problems[0].contains("it is bad"), "{:?}", replay.generations[0]);
    assert_eq!(replay.generations[1].held, ["ingresses shop/a: it is bad"]);
    assert_eq!(replay.generations[1].events[0].text, "rendered 2");
}

#[test]
fn what_renders_otherwise_is_told_with_its_file_and_lines() {
    let mut past = Past::new();
    past.ingress("a", "a.example");
    past.render();
    past.ingress("b", "b.example");
    past.render();
    let changed = lines(&past.recorded()).into_iter().map(|line| match line {
        RecordingLine::Put(mut put) if &*put.named.name == "b" => {
            put.object.as_mut().unwrap()["spec"]["host"] = json!("other.example");
            RecordingLine::Put(put)
        }
        other => other,
    });
    let changed = written(changed);
    let replay = replayed(&changed).unwrap();
    assert_eq!(replay.generations.iter().map(|g| g.same).collect::<Vec<_>>(), [true, false]);
    let map = replay.generations[1].differences.iter().find(|change| change.path == "maps/host.map").unwrap();
    let diff = map.diff.as_deref().unwrap();
    assert!(diff.contains("-b.example b") && diff.contains("+other.example b"), "{diff}");
    assert!(super::text::verdict(&replay).contains("1 of 2"));
}

/// Has one Secret for whoever asks.
#[derive(Debug)]
struct Elsewhere;

impl FetchObject for Elsewhere {
    fn fetch(&self, reference: &Arc<ObjectRef>) -> Result<Option<Arc<Object>>, FetchError> {
        match &*reference.name {
            "a" => Ok(Some(Arc::new(object("secrets", "a", &secret("a", "planted-elsewhere")).0))),
            "b" => Err(FetchError::Unanswered("the API server says no".into())),
            _ => Ok(None),
        }
    }
}

#[test]
fn what_a_render_fetched_is_in_the_recording_and_nothing_else_of_its_store() {
    let mut past = Past::new();
    past.change("secrets", |store| *store = Snapshot::on_demand(Arc::new(Elsewhere)));
    for name in ["a", "unread"] {
        let (object, key) = object("secrets", name, &json!({}));
        past.change("secrets", |store| {
            _ = store.apply(Object { json: ObjectJson::default(), ..object }, key)
        });
    }
    past.ingress("a", "a.example");
    past.render();
    let recorded = past.recorded();
    let fetched: Vec<_> = lines(&recorded)
        .into_iter()
        .filter_map(|line| if let RecordingLine::Fetched(fetched) = line { Some(fetched) } else { None })
        .collect();
    assert_eq!(fetched.iter().map(|one| &*one.named.name).collect::<Vec<_>>(), ["a"]);
    assert!(!String::from_utf8_lossy(&recorded).contains(&STANDARD.encode("planted-elsewhere")));
    assert_eq!(replayed(&recorded).unwrap().differing(), 0);
}

#[test]
fn what_is_no_whole_recording_is_refused_with_the_reason() {
    let mut past = Past::new();
    past.ingress("a", "a.example");
    past.render();
    let good = past.recorded();
    let mut compressed = Compressed::new(Vec::new());
    compressed.write_all(&good).unwrap();
    let compressed = compressed.end().unwrap();
    assert_eq!(replayed(&compressed).unwrap().differing(), 0, "compressed it is as good");
    let text = String::from_utf8(good.clone()).unwrap();
    let cut_lines: String = text.split_inclusive('\n').take(4).collect();
    let twice = [good.clone(), good.clone()].concat();
    for (what, bytes, said) in [
        ("empty", Vec::new(), "is empty"),
        ("something else", b"hello\n".to_vec(), "is not a recording"),
        ("other JSON", b"{\"kind\": \"Secret\"}\n".to_vec(), "is not a recording"),
        ("bytes", vec![0; 5000], "is not a recording"),
        ("cut within a line", good[..good.len() / 2].to_vec(), "is cut off after line"),
        ("cut between lines", cut_lines.into_bytes(), "is cut off after line 4"),
        ("without its last line end", good[..good.len() - 1].to_vec(), "is cut off"),
        ("compressed, then cut", compressed[..compressed.len() / 2].to_vec(), "is damaged"),
        ("changed", text.replace("a.example", "b.example").into_bytes(), "was changed after it was recorded"),
        (
            "of another format",
            text.replacen("\"format\":1", "\"format\":7", 1).into_bytes(),
            "is written in format 7",
        ),
        ("two in one", twice, "was changed after it was recorded"),
        (
            "with a strange line",
            text.replacen("{\"generation\"", "{\"degeneration\"", 1).into_bytes(),
            "line 2 is none",
        ),
    ] {
        let flaw = replayed(&bytes).unwrap_err().to_string();
        assert!(flaw.contains(said), "{what}: {flaw}");
    }
}

#[test]
fn a_file_that_becomes_too_large_is_refused_before_it_takes_memory() {
    let mut bomb = Compressed::new(Vec::new());
    let mut past = Past::new();
    past.render();
    let head: Vec<u8> = past.recorded().split_inclusive(|byte| *byte == b'\n').next().unwrap().to_vec();
    bomb.write_all(&head).unwrap();
    bomb.write_all(&vec![b' '; 8 << 20]).unwrap();
    let bomb = bomb.end().unwrap();
    assert!(bomb.len() < 10_000, "{}", bomb.len());
    let refused = |bounds: Bounds| {
        let mut reader = RecordingReader::new(Cursor::new(bomb.clone()), bounds).unwrap();
        reader.head().unwrap();
        reader.verify().unwrap_err().to_string()
    };
    assert!(refused(Bounds { line: 4 << 20, all: 4 << 30 }).contains("more than 4 MiB in line 2"));
    let many = [head, b"{\"noFile\":\"x\"}\n".repeat(1 << 17)].concat();
    let mut reader = RecordingReader::new(Cursor::new(many), Bounds { line: 1 << 20, all: 1 << 20 }).unwrap();
    reader.head().unwrap();
    assert!(reader.verify().unwrap_err().to_string().contains("more than 1 MiB"));
}

/// Written by revision 8fae76b.
fn stored() -> std::path::PathBuf {
    std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/stored/recording.jsonl.zst")
}

#[test]
fn a_recording_of_before_renders_the_same() {
    let replay = replay(&stored(), |_, _, _| {}).unwrap();
    assert_eq!((replay.generations.len(), replay.differing()), (7, 0), "{replay:#?}");
    assert!(
        replay.generations[4].held[0].starts_with("ingresses default/bad: "),
        "{:?}",
        replay.generations[4]
    );
    assert!(replay.generations.iter().all(|generation| !generation.events.is_empty()));
}

/// The last line has the digest of all others: a byte that differs shows in it.
#[test]
fn a_recording_of_before_is_written_the_same_again() {
    let mut reader = RecordingReader::open(&stored()).unwrap();
    let mut again = Writer::new(Vec::new());
    again.write(&RecordingLine::HapticRecording(reader.head().unwrap())).unwrap();
    let mut end = None;
    for line in reader {
        match line.unwrap() {
            RecordingLine::End(before) => end = Some(json!({ "end": before })),
            line => again.write(&line).unwrap(),
        }
    }
    let again = String::from_utf8(again.end().unwrap()).unwrap();
    let last: Value = serde_json::from_str(again.lines().last().unwrap()).unwrap();
    assert_eq!(Some(last), end);
}
