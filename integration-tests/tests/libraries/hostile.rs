//! Hostile objects, a thousand at a time: everybody else's files are, line for line, those of a cluster without them.
//!
//! Render, settling pass and keyword check are the real ones, and HAProxy's checker names nobody else.

use crate::site;
use haptic_attribution::quarantine::{QuarantineState, RenderTiming};
use haptic_haproxy::{
    CheckOptions, Document, Line, check,
    views::{ReferenceKind, file_references},
};
use haptic_model::{
    ActiveConfig, Bundle, Fleet, Generation, HaproxyVersion, ObjectRef, Snapshots, pipeline::RenderBasis,
};
use haptic_render::{Checked, Program, RenderJob, RenderLimits, Renderer};
use haptic_text::Text;
use integration_tests::{
    certificate,
    dice::Dice,
    hostile::{Field, Payload, Tenant, payloads},
};
use serde_json::Value;
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, LazyLock},
    thread,
    time::Instant,
};

const GOOD: [&str; 2] = ["tenant-a", "tenant-b"];

/// A cluster with two good tenants, and the pipeline until HAProxy's checker.
struct Cluster {
    config: ActiveConfig,
    compiled: Arc<Program>,
    fleet: Fleet,
    renderer: Renderer,
    quarantine: QuarantineState,
    tenants: Snapshots,
    good: Option<(RenderBasis, Bundle)>,
    generation: u64,
}

impl Cluster {
    fn new() -> Self {
        let config = site::configuration(&site::spec(7080, 7443, 7084));
        let compiled = site::compiled(&config.spec).unwrap();
        let version = HaproxyVersion::new(3, 4);
        let fleet = Fleet::of_version(version);
        let tenants = GOOD.iter().flat_map(|name| tenant(name, &format!("{name}.example")).objects);
        let tenants: Vec<Value> = tenants.chain(site::surroundings(8080)).collect();
        let tenants = site::snapshots(&config, &tenants);
        let mut cluster = Self {
            config,
            compiled,
            fleet,
            renderer: Renderer::checked(Checked::Never),
            quarantine: QuarantineState::default(),
            tenants,
            good: None,
            generation: 0,
        };
        let (bundle, snapshots) = cluster.render(&[]);
        let config = Arc::new(cluster.config.clone());
        let basis = RenderBasis { generation: Generation(1), config, snapshots, digest: bundle.digest };
        cluster.good = Some((basis, bundle));
        cluster
    }

    fn render(&mut self, more: &[Value]) -> (Bundle, Snapshots) {
        let snapshots = site::with_objects(&self.config, &self.tenants, more);
        let job = RenderJob {
            compiled: &self.compiled,
            config: &self.config,
            snapshots: &snapshots,
            fleet: &self.fleet,
            limits: &RenderLimits::default(),
        };
        loop {
            self.generation += 1;
            let timing = RenderTiming {
                generation: Generation(self.generation),
                now: Instant::now(),
                good: self.good.as_ref().map(|(basis, _)| basis),
            };
            let outcome = job.render(&mut self.quarantine, &mut self.renderer, &timing);
            match outcome.rendering {
                Ok(rendering) => return (rendering.bundle, outcome.snapshots),
                Err(_) if outcome.again => {}
                Err(faults) => {
                    panic!("it stopped everybody: {}", site::sentences(&faults.into_diagnostics()))
                }
            }
        }
    }

    /// What everybody else has, in a cluster without anybody hostile.
    fn expected(&self) -> BTreeMap<String, Vec<String>> {
        files_of_good(&self.good.as_ref().unwrap().1)
    }

    /// Who is held back, and why.
    fn held(&self) -> BTreeMap<Arc<ObjectRef>, String> {
        self.quarantine
            .described()
            .held
            .iter()
            .map(|(object, held)| (object.clone(), held.to_string()))
            .collect()
    }
}

fn tenant(namespace: &str, host: &str) -> Tenant {
    let certificate = certificate::for_host(host).unwrap();
    Tenant::new(namespace, host, &certificate.pem, &certificate.key).unwrap()
}

fn is_good(object: &ObjectRef) -> bool {
    &*object.resource == "ingressclasses"
        || GOOD.contains(&&*object.namespace)
        || &*object.namespace == "edge"
}

/// The lines of each file that are not for somebody hostile.
fn files_of_good(bundle: &Bundle) -> BTreeMap<String, Vec<String>> {
    let lines = |text: &Text| -> Vec<String> {
        lines(text)
            .into_iter()
            .filter(|(owner, _)| owner.as_deref().is_none_or(is_good))
            .map(|(_, l)| l)
            .collect()
    };
    // Certificates and pages that templates add are each for one object, which its name begins with.
    let is_added = |path: &str| path.starts_with("ssl/") || path.ends_with(".page");
    let of_hostile = |path: &str| is_added(path) && !GOOD.iter().any(|good| path.contains(good));
    let files = bundle.all().map(|file| (file.path.to_string(), lines(&file.text)));
    files.filter(|(path, _)| !of_hostile(path)).collect()
}

/// Each line with whom it is for.
fn lines(text: &Text) -> Vec<(Option<Arc<ObjectRef>>, String)> {
    let mut all = Vec::new();
    for fragment in text.fragments() {
        for (index, line) in fragment.as_str().lines().enumerate() {
            let own = fragment.blame().origin(index).and_then(|origin| origin.object);
            all.push((fragment.blame().block.clone().or(own), line.to_owned()));
        }
    }
    all
}

/// What HAProxy's keywords say against a configuration is said of hostile lines alone, and these read nothing that they
/// should not: no variable of the environment, no fetch of it, no file but the bundle's.
fn hostile_lines_are_refused_alone_or_only_lines(bundle: &Bundle, what: &str) {
    let text = bundle.config.text.to_string();
    let owners = lines(&bundle.config.text);
    let is_hostile = |line: usize| owners[line - 1].0.as_deref().is_some_and(|owner| !is_good(owner));
    let document = Document::parse(&text);
    for problem in check(&document, &CheckOptions::new(HaproxyVersion::new(3, 4))) {
        assert!(is_hostile(problem.line), "{what}: {problem:?} of {:?}", owners[problem.line - 1].1);
    }
    for line in document.lines().filter(|line| is_hostile(line.number)) {
        assert!(
            line.words.iter().all(|word| !word.has_variable),
            "{what}: an environment variable in {:?}",
            line.raw
        );
        assert!(!evaluates(line), "{what}: an expression in {:?}", line.raw);
    }
    let read = file_references(&document).into_iter().filter(|file| is_hostile(file.line));
    // A map is named in an expression, and a text that only looks like one names none; nor does a cookie's name, or what of a
    // path is replaced.
    let names_none = ["cookie ", "http-request replace-path "];
    let names_none =
        |line: usize| names_none.iter().any(|words| owners[line - 1].1.trim_start().starts_with(words));
    for file in read.filter(|file| file.kind != ReferenceKind::Map && !names_none(file.line)) {
        let known = bundle.all().any(|of_bundle| *of_bundle.path == *file.path);
        assert!(known, "{what}: {file:?} of {:?}", owners[file.line - 1].1);
    }
}

/// What the library prints for a variable of a header, beside which a payload may stand.
const OF_VARIABLE: (&str, &str) = ("%[var(txn.", ")]");

/// `word` without escaped percent signs and the library's own variables.
fn without_variables(word: &str) -> String {
    let word = word.replace("%%", "");
    let (before, after) = OF_VARIABLE;
    let mut parts = word.split(before);
    let mut rest = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let name = part.split_once(after).filter(|(name, _)| {
            !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_')
        });
        match name {
            Some((_, text)) => rest.push_str(text),
            None => rest.extend([before, part]),
        }
    }
    rest
}

/// Whether an action with log-formats has an expression of a payload in one: the libraries' own ask for neither.
fn evaluates(line: &Line<'_>) -> bool {
    let action = line.value(1);
    let formats = line.keyword().starts_with("http-")
        && ["set-", "add-", "replace-", "redirect", "return"].iter().any(|start| action.starts_with(start));
    let words = line.from(2).iter().take_while(|word| !matches!(&*word.value, "if" | "unless"));
    let words: Vec<_> = words.collect();
    // Before the last word of those that replace stands a regular expression.
    let from = if action.starts_with("replace-") { words.len().saturating_sub(1) } else { 0 };
    formats
        && words[from..].iter().map(|word| without_variables(&word.value)).any(|word| {
            word.split('%').skip(1).any(|rest| {
                rest.starts_with(['[', '{', '(']) && (rest.contains("env(") || rest.contains("/etc/passwd"))
            })
        })
}

/// First words of lines: what lines do.
fn directives(bundle: &Bundle, good: bool) -> BTreeSet<String> {
    let lines = lines(&bundle.config.text).into_iter();
    let lines = lines.filter(|(owner, _)| owner.as_deref().is_none_or(is_good) == good);
    lines.filter_map(|(_, line)| line.split_whitespace().next().map(str::to_owned)).collect()
}

/// Renders with these tenants beside the good ones; how many of their objects are held back.
fn nobody_else_feels(cluster: &mut Cluster, hostile: &[Tenant], what: &str) -> usize {
    let objects: Vec<Value> = hostile.iter().flat_map(|tenant| tenant.objects.clone()).collect();
    let (bundle, _) = cluster.render(&objects);
    let expected = cluster.expected();
    let got = files_of_good(&bundle);
    assert_eq!(expected.keys().collect::<Vec<_>>(), got.keys().collect::<Vec<_>>(), "{what}: files");
    for (path, lines) in &expected {
        let other = lines.iter().zip(&got[path]).find(|(a, b)| a != b);
        assert_eq!(other, None, "{what}: {path}");
        assert_eq!(lines.len(), got[path].len(), "{what}: lines of {path}");
    }
    hostile_lines_are_refused_alone_or_only_lines(&bundle, what);
    let known = directives(&cluster.good.as_ref().unwrap().1, true);
    let new: Vec<_> = directives(&bundle, false).difference(&known).cloned().collect();
    assert!(new.is_empty(), "{what}: lines that do what nobody else's do: {new:?}");
    no_key_is_anybody_elses(&bundle, what);
    let held = cluster.held();
    for (object, why) in &held {
        assert!(!is_good(object), "{what}: {object} is held back: {why}");
        assert!(why.len() > 40 && !why.contains("internal error"), "{what}: {object}: {why}");
    }
    held.len()
}

/// Hostile routes are of hostile hosts.
fn no_key_is_anybody_elses(bundle: &Bundle, what: &str) {
    for file in bundle.all().filter(|file| file.path.starts_with("maps/path-")) {
        for (owner, line) in lines(&file.text) {
            let foreign = GOOD.iter().any(|good| {
                line.strip_prefix(&format!("{good}.example"))
                    .is_some_and(|rest| rest.starts_with(['/', '|', ' ']))
            });
            let hostile = owner.as_deref().is_some_and(|owner| !is_good(owner));
            assert!(!(foreign && hostile), "{what}: {} has {line:?} of {owner:?}", file.path);
        }
    }
}

fn tenants(count: usize) -> Vec<Tenant> {
    let first = Tenant::new("hostile-0", "hostile-0.example", "", "").unwrap();
    (0..count).map(|number| first.renamed("hostile-0", &format!("hostile-{number}"))).collect()
}

/// The fields that change something in the files or are refused, and all others: asked once for all tests.
static FIELDS: LazyLock<(Vec<Field>, Vec<Field>)> = LazyLock::new(|| {
    let mut cluster = Cluster::new();
    let plain = tenants(1).remove(0);
    let mut seen = |tenant: &Tenant| {
        let (bundle, _) = cluster.render(&tenant.objects);
        let files =
            bundle.all().map(|file| (file.path.to_string(), file.text.to_string())).collect::<Vec<_>>();
        (files, cluster.held())
    };
    let before = seen(&plain);
    let fields = plain.fields().unwrap().into_iter();
    fields
        .partition(|field| ["probe", "", "a b"].iter().any(|probe| seen(&plain.with(field, probe)) != before))
});

/// So many payloads are tried at once, each in every so manieth field; in a long run, each in every field.
const AT_ONCE: usize = 3;

/// So many fields are hostile at once: a render has a bound in time.
const FIELDS_AT_ONCE: usize = 60;

#[test]
fn any_text_of_any_object_may_be_hostile() {
    let (read, _) = &*FIELDS;
    assert!(read.len() > 40, "only {} fields are read: {read:?}", read.len());
    let payloads = payloads().unwrap();
    // It is the longest of all tests: half of it beside the other half.
    let (even, odd): (Vec<_>, Vec<_>) =
        payloads.chunks(AT_ONCE).enumerate().partition(|(number, _)| number.is_multiple_of(2));
    let held: usize = thread::scope(|scope| {
        let halves = [even, odd].map(|half| scope.spawn(move || held_back(half)));
        halves.into_iter().map(|half| half.join().unwrap()).sum()
    });
    assert!(held > 500, "only {held} were held back");
}

/// How many objects are held back with these groups of payloads in their fields.
fn held_back(groups: Vec<(usize, &[Payload])>) -> usize {
    let mut cluster = Cluster::new();
    let (read, unread) = &*FIELDS;
    let numbered: Vec<(usize, &Field)> = read.iter().enumerate().collect();
    let tenants = tenants(2 * FIELDS_AT_ONCE + AT_ONCE);
    let (own, others) = tenants.split_at(2 * FIELDS_AT_ONCE);
    let mut held = 0;
    for (number, group) in groups {
        for turn in 0..integration_tests::soaking(1, 3).try_into().unwrap() {
            let payload = |at: usize| &group[(at + number + turn) % group.len()].text;
            for fields in numbered.chunks(FIELDS_AT_ONCE) {
                let hostile = fields.iter().zip(own.chunks(2)).flat_map(|((at, field), pair)| {
                    [pair[0].with(field, payload(*at)), pair[1].with_behind(field, payload(at + 1))]
                });
                // What nobody reads may all be hostile together.
                let unread = others.iter().enumerate().map(|(at, tenant)| {
                    unread.iter().fold(tenant.clone(), |tenant, field| tenant.with(field, payload(at)))
                });
                let hostile: Vec<Tenant> = hostile.chain(unread).collect();
                held += nobody_else_feels(&mut cluster, &hostile, &format!("{group:?}"));
            }
        }
    }
    held
}

#[test]
fn several_texts_may_be_hostile_at_once() {
    let mut cluster = Cluster::new();
    let (read, _) = &*FIELDS;
    let payloads = payloads().unwrap();
    let tenants = tenants(60);
    let mut dice = Dice(7);
    for round in 0..4 {
        let hostile: Vec<Tenant> = tenants
            .iter()
            .map(|tenant| {
                (0..2 + dice.below(5)).fold(tenant.clone(), |tenant, _| {
                    let field = &read[dice.below(read.len())];
                    let mut text = payloads[dice.below(payloads.len())].text.clone();
                    if dice.below(2) == 0 {
                        text += &payloads[dice.below(payloads.len())].text;
                    }
                    if dice.below(2) == 0 {
                        tenant.with(field, &text)
                    } else {
                        tenant.with_behind(field, &text)
                    }
                })
            })
            .collect();
        nobody_else_feels(&mut cluster, &hostile, &format!("round {round}"));
    }
}
