//! A render that keeps what did not change gives what a full render gives, whatever the templates and the history.

use crate::support::{Setup, all};
use haptic_model::{
    ActiveConfig, Bundle, Diagnostic, Fleet, HaproxyPod, Object, ObjectRef, Snapshot, Snapshots,
    store::{FetchError, FetchObject},
};
use haptic_render::{Checked, Program, RenderJob, RenderLimits, Renderer, Rendering, engine::Uncacheable};
use proptest::{
    prelude::*,
    test_runner::{TestError, TestRunner},
};
use serde_json::{Value, json};
use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
};

/// What stands in an object's block. `o` is the object, `i` the loop's index where there is one.
const INNER: [&str; 41] = [
    "x {{o.metadata.name}} {{get o \"spec.value\" \"-\"}}\n",
    "{{#each (fetch \"endpoints\" o.metadata.namespace o.spec.service) as |s|}}\n  s {{s.metadata.name}} {{get s \"spec.value\" \"-\"}}\n{{else}}\n  no endpoints\n{{/each}}\n",
    "{{#each (fetch \"endpoints\" o.metadata.namespace) as |s|}}\n  n {{s.metadata.name}} {{@index}} {{@last}}\n{{/each}}\n",
    "{{#each (list \"endpoints\") as |s|}}\n  l {{s.metadata.name}}\n{{/each}}\n",
    "{{#with (get_single \"secrets\" o.metadata.namespace o.spec.service) as |secret|}}\n  w {{get secret \"spec.value\" \"-\"}}\n{{else}}\n  no secret\n{{/with}}\n",
    "x {{len (fetch \"secrets\" o.spec.service)}} {{len (list \"ingresses\")}}\n",
    "x {{default @index \"-\"}}\n",
    "x {{default @first \"-\"}} {{default @last \"-\"}}\n",
    "x {{default i \"no index\"}}\n",
    "{{#if (once o.spec.service)}}\nfirst {{o.spec.service}}\n{{/if}}\n",
    "{{set total=(add total 1)}}\nx {{total}}\n",
    "{{push names o.metadata.name}}\n",
    "x {{len names}} {{total}}\n",
    "x {{outer}}\n",
    "x {{default flag \"off\"}}\n",
    "x {{len @root.fleet.pods}} {{@root.word}}\n",
    "x {{len (default ../fleet.pods (array))}}\n",
    "x {{get ../this \"a\" \"-\"}} {{get (default ../../this (dict)) \"a\" \"-\"}}\n",
    "  {{> part of=o}}\n",
    "{{> part of=o}}{{> part of=(default chief o)}}",
    "{{#> layout}}\n  given {{o.metadata.name}} {{outer}}\n{{/layout}}\n",
    "{{> given}}\n",
    "{{warn \"warned \" o.metadata.name \" \" (get o \"spec.value\" \"-\")}}\n",
    "x {{add_file \"file\" (concat \"f-\" o.spec.service) (get o \"spec.value\" \"-\")}}\n",
    "x {{add_file \"certificate\" (concat o.metadata.namespace \"-\" o.metadata.name) (get o \"spec.value\" \"-\")}}\n",
    "{{#if (eq (get o \"spec.value\" \"-\") \"refused\")}}{{register_error o \"refused\"}}{{/if}}\n",
    "{{#if (eq (get o \"spec.value\" \"-\") \"failing\")}}{{fail \"failing\"}}{{/if}}\n",
    "x {{o.spec.value}}\n",
    "x {{o.metadata.name}} ",
    "global\n  daemon\n  user {{o.metadata.name}}\n",
    "  daemon\n  errorfile 503 /etc/haproxy/maps/map.map # {{o.metadata.name}}\n",
    "{{let own=(get o \"spec.value\" \"-\")}}\nx {{own}}\n",
    "{{let outer=o.spec.service}}x {{outer}}\n",
    "{{#each (where (list \"ingresses\") \"spec.service\" \"eq\" o.spec.service) as |p|}}\n  p {{p.metadata.name}} {{default @../index \"-\"}}\n{{/each}}\n",
    "{{#each everything as |e|}}\n  e {{e.metadata.name}}\n{{/each}}\n",
    "{{#if (contains words (get o \"spec.value\" \"-\"))}}known{{else}}unknown{{/if}} word\n",
    "x {{get (default chief (dict)) \"spec.value\" \"-\"}}\n",
    "  {{> of_jinja}}\n",
    "{{> of_jinja of=o}}{{render_glob \"of_h*\"}}\n",
    "x {{#each (list \"remote\") as |r|}}{{get r \"spec.value\" \"-\"}},{{/each}}\n",
    "{{#each (routes \"ingresses\" o.metadata.namespace o.metadata.name) as |set|}}\n{{#each set.routes as |r|}}\n  r {{r.key}} {{r.backend.name}}\n{{/each}}\n{{#each set.rejected as |why|}}\n  no {{why}}\n{{/each}}\n{{/each}}\n",
];

/// What stands around blocks. BODY is the block.
const OUTER: [&str; 19] = [
    "{{#each (list \"ingresses\") as |o|}}\nBODY{{/each}}\n",
    "{{#each (list \"ingresses\") as |o i|}}\nBODY{{else}}\nnothing\n{{/each}}\n",
    "{{#each zones as |z|}}\nzone {{z.a}}\n{{#each (list \"ingresses\") as |o|}}\nBODY{{/each}}\n{{/each}}\n",
    "{{#each (group_by (list \"ingresses\") \"spec.service\") as |group service|}}\ngroup {{service}}\n{{#each group as |o i|}}\nBODY{{/each}}\n{{/each}}\n",
    "{{#each (sort_by (list \"ingresses\") \"-metadata.name\") as |o|}}\nBODY{{/each}}\n",
    "{{#with (get_single \"ingresses\" \"a\" \"x\") as |o|}}\nBODY{{else}}\nno x\n{{/with}}\n",
    "{{#each (fetch \"ingresses\" \"a\") as |o|}}\nBODY{{/each}}\n",
    "    {{> looping}}\nend\n",
    "{{#> looping_given}}\nx {{outer}}\n{{/looping_given}}\n",
    "{{#if (gt (len (list \"secrets\")) 1)}}{{let flag=(len (list \"secrets\"))}}{{/if}}{{#each (list \"ingresses\") as |o|}}\nBODY{{/each}}\n",
    "{{#if (gt (len (list \"endpoints\")) 1)}}{{#*inline \"given\"}}inline {{outer}}{{/inline}}{{/if}}\n{{#each (list \"ingresses\") as |o|}}\nBODY{{/each}}\n",
    "{{let outer=(len (list \"endpoints\"))}}\n{{#each (list \"ingresses\") as |o|}}\nBODY{{/each}}\n",
    "pre {{#each (list \"ingresses\") as |o|}}BODY{{/each}}post\n",
    "{{#each (list \"remote\") as |o|}}\nBODY{{/each}}\n",
    "{{#each (list \"ingresses\") as |a|}}\n{{#each (list \"secrets\") as |o|}}\nBODY{{/each}}\n{{/each}}\n",
    "{{#each (concat (list \"ingresses\") (array (dict metadata=(dict namespace=\"a\" name=\"plain\") spec=(dict service=\"x\"))) (list \"secrets\")) as |o i|}}\nBODY{{/each}}\n",
    "plain {{len (list \"secrets\")}} {{outer}}\n",
    "  {{> of_jinja_looping}}\n",
    "{{#each (routes \"ingresses\") as |set|}}\n{{#with (get_single \"ingresses\" set.metadata.namespace set.metadata.name) as |o|}}\nBODY{{/with}}{{#each set.routes as |r|}}\n  r {{r.key}} {{r.backend.name}}\n{{/each}}\n{{/each}}\n",
];

const HEAD: &str = "{{let total=0 names=(array) outer=word everything=(list \"endpoints\") words=(pluck (list \"secrets\") \"spec.value\")}}{{let chief=(default (get_single \"secrets\" \"a\" \"x\") (dict metadata=(dict name=\"none\")))}}\n";

/// The same in Jinja2, where blocks mostly begin with a line's end.
const JINJA_INNER: [&str; 40] = [
    "\nx {{ o.metadata.name }} {{ o.spec.value | default('-') }}",
    "{% for s in fetch('endpoints', o.metadata.namespace, o.spec.service) %}\n  s {{ s.metadata.name }} {{ s.spec.value | default('-') }}{% else %}\n  no endpoints{% endfor %}",
    "{% for s in resources.endpoints.fetch(o.metadata.namespace) %}\n  n {{ s.metadata.name }} {{ loop.index }} {{ loop.last }}{% endfor %}",
    "{% for _, s in resources.get('endpoints').items() %}\n  l {{ s.metadata.name }}{% endfor %}",
    "{% set secret = get_single('secrets', o.metadata.namespace, o.spec.service) %}{% if secret is defined %}\n  w {{ secret.spec.value | default('-') }}{% endif %}",
    "\nx {{ fetch('secrets', o.spec.service) | length }} {{ ingresses.List() | length }}",
    "\nx {{ loop.index0 if loop is defined else '-' }}",
    "\nx {{ loop.first if loop is defined }} {{ loop.last if loop is defined }}",
    "\nx {{ loop.cycle('odd', 'even') if loop is defined }}",
    "{% if once(o.spec.service) %}\nfirst {{ o.spec.service }}{% endif %}",
    "{% set ns.total = ns.total + 1 %}\nx {{ ns.total }}",
    "{% do names.append(o.metadata.name) %}",
    "\nx {{ names | length }} {{ ns.total }}",
    "\nx {{ outer }}",
    "\nx {{ flag | default('off') }}",
    "\nx {{ fleet.pods | length }} {{ word }}",
    "{% set _ = ns.seen.append(o.metadata.name) %}\nx {{ ns.seen | last }}",
    "\nx {{ m(o.metadata.name) }} {{ macros.twice(o.spec.service) }}",
    "\n  {% include 'part' %}",
    "{% with of = chief | default(o) %}\n{% include 'part' %}{% endwith %}",
    "{% call m('a') %}given {{ o.metadata.name }} {{ outer }}{% endcall %}",
    "\n{{ listing(o.metadata.namespace) }}",
    "{% do warn('warned ', o.metadata.name, ' ', o.spec.value | default('-')) %}",
    "\nx {{ add_file('file', 'f-' ~ o.spec.service, o.spec.value | default('-')) }}",
    "\nx {{ add_file('certificate', o.metadata.namespace ~ '-' ~ o.metadata.name, o.spec.value | default('-')) }}",
    "{% if o.spec.value | default('-') == 'refused' %}{% do register_error(o, 'refused') %}{% endif %}",
    "{% if o.spec.value | default('-') == 'failing' %}{% do fail('failing') %}{% endif %}",
    "\nx {{ o.spec.value }}",
    "\nx {{ o.metadata.name }} \n",
    "\nglobal\n  daemon\n  user {{ o.metadata.name }}",
    "x {{ o.metadata.name }}\n",
    "{% set own = o.spec.value | default('-') %}\nx {{ own }}",
    "{% set outer = o.spec.service %}\nx {{ outer }}",
    "{% for p in list('ingresses') | selectattr('spec.service', 'eq', o.spec.service) %}\n  p {{ p.metadata.name }}{% endfor %}",
    "{% for e in everything %}\n  e {{ e.metadata.name }}{% endfor %}",
    "\n{{ 'known' if o.spec.value | default('-') in words else 'unknown' }} word",
    "{% set c %}{% for s in fetch('endpoints', o.metadata.namespace) %}{{ s.metadata.name }}{% endfor %}{% endset %}\nx {{ c }}",
    "\n{% include 'of_handlebars' %}",
    "\n{% with of = o %}{% include 'of_handlebars' %}{% endwith %}{% set c %}{% include 'of_handlebars' %}{% endset %}{{ c }}",
    "\nx {% for r in list('remote') %}{{ r.spec.value | default('-') }},{% endfor %}",
];

const JINJA_OUTER: [&str; 16] = [
    "{%- for o in list('ingresses') %}BODY{% endfor %}\n",
    "{%- for _, o in resources.get('ingresses', {}).items() %}BODY{% else %}\nnothing{% endfor %}\n",
    "{% for z in zones %}\nzone {{ z.a }}{% for o in ingresses.List() %}BODY{% endfor %}{% endfor %}\n",
    "{% for service, group in list('ingresses') | groupby('spec.service') %}\ngroup {{ service }}{% for o in group %}BODY{% endfor %}{% endfor %}\n",
    "{% for o in list('ingresses') | sort(attribute='metadata.name', reverse=true) %}BODY{% endfor %}\n",
    "{% for o in fetch('ingresses', 'a') %}BODY{% endfor %}\n",
    "{% include 'looping' %}\nend\n",
    "{{ looping_macro() }}\n",
    "{% set text %}{% for o in list('ingresses') %}BODY{% endfor %}{% endset %}{{ text }}\n",
    "{% if list('secrets') | length > 1 %}{% set flag = list('secrets') | length %}{% endif %}{% for o in list('ingresses') %}BODY{% endfor %}\n",
    "{% set outer = list('endpoints') | length %}{% for o in list('ingresses') if o.spec.value | default('-') != 'two' %}BODY{% endfor %}\n",
    "pre {% for o in list('ingresses') %}BODY{% endfor %}post\n",
    "{% for o in list('remote') %}BODY{% endfor %}\n",
    "{% include 'of_handlebars_looping' %}\n",
    "{% for a in list('ingresses') %}{% for o in list('secrets') %}BODY{% endfor %}{% endfor %}\n",
    "{% for o in list('ingresses') + [{'metadata': {'namespace': 'a', 'name': 'plain'}, 'spec': {'service': 'x'}}] + list('secrets') %}BODY{% endfor %}\n",
];

const JINJA_HEAD: &str = "{% set ns = namespace(total=0, seen=[]) %}{% set names = [] %}{% set outer = word %}{% set everything = list('endpoints') %}{% set words = list('secrets') | map(attribute='spec.value', default='none') | list %}{% set chief = get_single('secrets', 'a', 'x') %}{% import 'macros' as macros %}{% macro m(a) %}<{{ a }} {{ outer }}{% if caller %}{{ caller() }}{% endif %}>{% endmacro %}{% macro listing(n) %}{% for s in fetch('endpoints', n) %}{{ s.metadata.name }} {{ ns.total }},{% endfor %}{% endmacro %}{% macro looping_macro() %}{% for o in list('ingresses') %}\nx {{ o.metadata.name }} {{ o.spec.value | default('-') }}{% endfor %}{% endmacro %}\n";

/// Parts of both languages, which print one another.
const OF_BOTH: [(&str, &str, &str); 4] = [
    (
        "jinja2",
        "of_jinja",
        "part {{ (of | default(o)).metadata.name }} {{ outer | default('-') }} {{ total | default('-') }}{% for s in list('endpoints') %}\n  {{ s.metadata.name }} {{ words | default([]) | length }}{% endfor %}\n{% include 'of_handlebars' %}",
    ),
    (
        "handlebars",
        "of_handlebars",
        "leaf {{default outer \"-\"}} {{default flag \"off\"}} {{get (default of o) \"spec.value\" \"-\"}}\n{{#each (list \"secrets\") as |s|}}\n  {{s.metadata.name}} {{default outer \"-\"}}\n{{/each}}\n",
    ),
    ("jinja2", "of_jinja_looping", "{% for o in list('ingresses') %}{% include 'of_jinja' %}{% endfor %}"),
    (
        "handlebars",
        "of_handlebars_looping",
        "{{#each (list \"ingresses\") as |o|}}\n{{> of_jinja}}\n{{/each}}\n",
    ),
];

/// What templates are made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Language {
    Handlebars,
    Jinja,
}

impl Language {
    fn inner(self) -> &'static [&'static str] {
        match self {
            Self::Handlebars => &INNER,
            Self::Jinja => &JINJA_INNER,
        }
    }

    fn outer(self) -> &'static [&'static str] {
        match self {
            Self::Handlebars => &OUTER,
            Self::Jinja => &JINJA_OUTER,
        }
    }

    fn head(self) -> &'static str {
        match self {
            Self::Handlebars => HEAD,
            Self::Jinja => JINJA_HEAD,
        }
    }

    fn snippets(self, setup: Setup, looping: &str) -> Setup {
        let setup = OF_BOTH
            .iter()
            .fold(setup, |setup, (engine, name, template)| setup.snippet_in(engine, name, template));
        match self {
            Self::Handlebars => setup
                .snippet("part", "part {{get of \"metadata.name\" \"-\"}} {{default outer \"-\"}}\n")
                .snippet("layout", "before\n  {{> @partial-block}}\nafter {{total}}\n")
                .snippet("given", "given {{default flag \"-\"}}")
                .snippet(
                    "looping",
                    &format!("{{{{#each (list \"ingresses\") as |o|}}}}\n{looping}{{{{/each}}}}\n"),
                )
                .snippet(
                    "looping_given",
                    "{{#each (list \"ingresses\") as |o|}}\n{{> @partial-block}}\n{{/each}}\n",
                ),
            Self::Jinja => setup
                .jinja()
                .snippet("part", "part {{ (of | default(o)).metadata.name }} {{ outer | default('-') }}")
                .snippet(
                    "macros",
                    "{% set sign = '=' %}{% macro twice(x) %}{{ x }}{{ sign }}{{ x }}{% endmacro %}",
                )
                .snippet(
                    "looping",
                    &format!("{{%- for o in list('ingresses') %}}{looping}{{%- endfor %}}\n"),
                ),
        }
    }
}

const NAMESPACES: [&str; 2] = ["a", "b"];
const NAMES: [&str; 4] = ["x", "y", "z", "za"];
const SERVICES: [&str; 2] = ["x", "t"];
const STORES: [&str; 4] = ["ingresses", "endpoints", "secrets", "remote"];

/// Some templates: which wrappers, with which blocks, and the word that extraContext gives.
#[derive(Clone, Debug)]
struct Sketch {
    language: Language,
    files: [Vec<(usize, Vec<usize>)>; 3],
    looping: Vec<usize>,
    word: u8,
}

#[derive(Clone, Debug)]
enum Step {
    Put {
        store: usize,
        namespace: usize,
        name: usize,
        service: usize,
        value: u8,
    },
    Delete {
        store: usize,
        namespace: usize,
        name: usize,
    },
    /// What an on-demand store would fetch changes, and nobody says so.
    Remote(u8),
    Config(usize),
    Fleet(u8),
    /// A store is filled anew with equal objects, as after a lost watch.
    Refill(usize),
    Nothing,
}

/// The cluster at one moment.
struct World {
    stores: BTreeMap<Arc<str>, Snapshot>,
    fleet: Fleet,
    remote: Arc<Remote>,
    config: usize,
}

#[derive(Debug, Default)]
struct Remote(Mutex<u8>);

impl FetchObject for Remote {
    fn fetch(&self, reference: &Arc<ObjectRef>) -> Result<Option<Arc<Object>>, FetchError> {
        let value = self.0.lock().unwrap().to_string();
        Ok(Some(Arc::new(object_of(reference.clone(), "x", Some(&value)))))
    }
}

fn object_of(reference: Arc<ObjectRef>, service: &str, value: Option<&str>) -> Object {
    let mut json = json!({
        "metadata": {"namespace": &*reference.namespace, "name": &*reference.name},
        "spec": {"service": service},
    });
    if let Some(value) = value {
        json["spec"]["value"] = json!(value);
        // Ingresses of one service ask for the same host, and for the same path where they have the same value.
        let backend = json!({"service": {"name": service, "port": {"number": 80}}});
        let paths = json!([{"path": format!("/{value}"), "pathType": "Exact", "backend": backend}]);
        json["spec"]["rules"] = json!([{"host": service, "http": {"paths": paths}}]);
    }
    Object::new(reference, &json)
}

/// Mostly harmless values; a few that a template or the encoder refuses.
fn value_of(number: u8) -> Option<&'static str> {
    match number {
        0..=5 => Some("one"),
        6..=10 => Some("two"),
        11..=13 => Some(""),
        14 => None,
        15 => Some("refused"),
        16 => Some("failing"),
        _ => Some("control\u{7}"),
    }
}

impl World {
    fn new() -> Self {
        let remote = Arc::new(Remote::default());
        let stores = STORES.map(|name| {
            let store = if name == "remote" { Snapshot::on_demand(remote.clone()) } else { Snapshot::full() };
            (name.into(), store)
        });
        let mut world = Self { stores: stores.into(), fleet: Fleet::default(), remote, config: 0 };
        for (store, namespace, name, service) in
            [(0, 0, 0, 0), (0, 0, 1, 1), (0, 1, 2, 0), (1, 0, 0, 0), (2, 0, 0, 1), (3, 0, 0, 0)]
        {
            world.put(store, namespace, name, service, Some("one"));
        }
        world
    }

    fn put(&mut self, store: usize, namespace: usize, name: usize, service: usize, value: Option<&str>) {
        let (namespace, name, service) = (NAMESPACES[namespace], NAMES[name], SERVICES[service]);
        let reference = Arc::new(ObjectRef::new(STORES[store], namespace, name));
        let key: Vec<Arc<str>> = match STORES[store] {
            "endpoints" => vec![namespace.into(), service.into()],
            "secrets" => vec![service.into()],
            _ => vec![namespace.into(), name.into()],
        };
        let object = object_of(reference, service, value);
        self.stores.get_mut(STORES[store]).unwrap().apply(object, key.into());
    }

    fn take(&mut self, step: &Step) {
        match *step {
            Step::Put { store, namespace, name, service, value } => {
                self.put(store, namespace, name, service, value_of(value));
            }
            Step::Delete { store, namespace, name } => {
                let reference = ObjectRef::new(STORES[store], NAMESPACES[namespace], NAMES[name]);
                self.stores.get_mut(STORES[store]).unwrap().remove(&reference);
            }
            Step::Remote(value) => *self.remote.0.lock().unwrap() = value,
            Step::Config(number) => self.config = number,
            Step::Fleet(pods) => self.fleet.pods = (0..pods).map(pod).collect(),
            Step::Refill(store) => self.refill(STORES[store]),
            Step::Nothing => {}
        }
    }

    fn refill(&mut self, name: &str) {
        if name == "remote" {
            return;
        }
        let mut anew = Snapshot::full();
        for object in self.stores[name].iter() {
            let json: Value = object.value().unwrap();
            let service: Arc<str> = json["spec"]["service"].as_str().unwrap().into();
            let ObjectRef { namespace, name: own, .. } = (*object.reference).clone();
            let key: Vec<Arc<str>> = match name {
                "endpoints" => vec![namespace, service],
                "secrets" => vec![service],
                _ => vec![namespace, own],
            };
            anew.apply(Object::clone(object), key.into());
        }
        self.stores.insert(name.into(), anew);
    }

    fn snapshots(&self) -> Snapshots {
        Snapshots::new(self.stores.iter().map(|(n, s)| (n.clone(), Arc::new(s.clone()))).collect())
    }
}

fn pod(number: u8) -> HaproxyPod {
    HaproxyPod::at("n", &format!("pod-{number}"), ([10, 0, 0, number], 5555))
}

impl Sketch {
    fn template(&self, file: usize) -> String {
        let inner = self.language.inner();
        let body = |all: &[usize]| all.iter().map(|i| inner[*i]).collect::<String>();
        let outer = self.language.outer();
        let parts = self.files[file].iter().map(|(o, inner)| outer[*o].replace("BODY", &body(inner)));
        format!("{}{}", self.language.head(), parts.collect::<String>())
    }

    fn setup(&self) -> Setup {
        let looping: String = self.looping.iter().map(|i| self.language.inner()[*i]).collect();
        let setup = Setup::new(&self.template(0))
            .map("host.map", &self.template(1))
            .with("files/page/template", json!(self.template(2)))
            .with("watchedResources/remote", json!({"apiVersion": "v1", "resources": "remotes"}))
            .extra(json!({"word": format!("w{}", self.word), "zones": [{"a": 1}, {"a": "two"}]}));
        self.language.snippets(setup, &looping)
    }
}

fn sketches(language: Language) -> impl Strategy<Value = Sketch> {
    let inner = move || prop::collection::vec(0..language.inner().len(), 1..4);
    let file = || prop::collection::vec((0..language.outer().len(), inner()), 1..4);
    ([file(), file(), file()], inner(), 0..3_u8).prop_map(move |(files, looping, word)| Sketch {
        language,
        files,
        looping,
        word,
    })
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let place = || (0..STORES.len(), 0..NAMESPACES.len(), 0..NAMES.len());
    let put =
        (place(), 0..SERVICES.len(), 0..18_u8).prop_map(|((store, namespace, name), service, value)| {
            Step::Put { store, namespace, name, service, value }
        });
    let delete = place().prop_map(|(store, namespace, name)| Step::Delete { store, namespace, name });
    let step = prop_oneof![
        8 => put,
        3 => delete,
        1 => (0..3_u8).prop_map(Step::Remote),
        1 => (0..2_usize).prop_map(Step::Config),
        1 => (0..3_u8).prop_map(Step::Fleet),
        1 => (0..STORES.len()).prop_map(Step::Refill),
        1 => Just(Step::Nothing),
    ];
    prop::collection::vec(step, 1..14)
}

type QuarantinedRender = Result<Rendering, Vec<Diagnostic>>;

/// All that a render says: bytes, the origin of every line, warnings, errors.
pub fn told(outcome: &QuarantinedRender) -> String {
    match outcome {
        Err(errors) => format!("ERRORS\n{errors:#?}"),
        Ok(Rendering { bundle, warnings, findings, gateway_verdicts }) => {
            let found: Vec<_> = findings.iter().collect();
            let lines = lines(bundle);
            format!(
                "{} {lines}\nWARNINGS {warnings:#?}\nFINDINGS {found:#?}\nVERDICTS {gateway_verdicts:?}",
                bundle.digest
            )
        }
    }
}

fn lines(bundle: &Bundle) -> String {
    let mut told = String::new();
    for file in bundle.all() {
        let text = file.text.to_string();
        assert_eq!(file.digest, haptic_text::Digest::of(text.as_bytes()));
        told.push_str(&format!("\nFILE {} {}\n", file.key, file.path));
        for (number, line) in text.split_inclusive('\n').enumerate() {
            told.push_str(&format!("{line:?} {:?}\n", file.text.origin(u32::try_from(number).unwrap() + 1)));
        }
    }
    told
}

/// Renders the whole history with `renderer` and, each step, in full.
fn follows(sketches: &[Sketch], steps: &[Step], renderer: &mut Renderer) -> Result<(), TestCaseError> {
    let variants: Vec<(ActiveConfig, Arc<Program>)> = sketches
        .iter()
        .map(|s| s.setup())
        .map(|s| (s.config(), s.compile().unwrap_or_else(|e| panic!("{}", all(&e)))))
        .collect();
    let limits = RenderLimits::default();
    let mut world = World::new();
    for (number, step) in std::iter::once(&Step::Nothing).chain(steps).enumerate() {
        world.take(step);
        let (config, compiled) = &variants[world.config];
        let snapshots = world.snapshots();
        let kept = renderer.render(&RenderJob {
            compiled,
            config,
            snapshots: &snapshots,
            fleet: &world.fleet,
            limits: &limits,
        });
        let full = Renderer::checked(Checked::Never).render(&RenderJob {
            compiled,
            config,
            snapshots: &snapshots,
            fleet: &world.fleet,
            limits: &limits,
        });
        let known = compiled.impure_blocks();
        for found in renderer.uncacheable(compiled) {
            let said = known.contains(&found.block) || found.block.why == Uncacheable::OnDemand;
            prop_assert!(said || full.is_err(), "step {number}: {found:?} is not among {known:#?}");
        }
        let (kept, full) = (told(&kept), told(&full));
        prop_assert!(kept == full, "step {number}, {step:?}\n--- kept\n{kept}\n--- full\n{full}");
    }
    Ok(())
}

fn cases() -> u32 {
    std::env::var("PROPTEST_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(300)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_is_kept_is_what_a_full_render_prints(
        first in sketches(Language::Handlebars),
        second in sketches(Language::Handlebars),
        steps in steps(),
    ) {
        follows(&[first, second], &steps, &mut Renderer::checked(Checked::Never))?;
    }

    #[test]
    fn what_is_kept_of_jinja_templates_is_what_a_full_render_prints(
        first in sketches(Language::Jinja),
        second in sketches(Language::Jinja),
        steps in steps(),
    ) {
        follows(&[first, second], &steps, &mut Renderer::checked(Checked::Never))?;
    }
}

#[test]
fn a_renderer_that_forgets_what_was_read_is_found_out() {
    let config = ProptestConfig {
        cases: 2000,
        max_shrink_iters: 0,
        failure_persistence: None,
        ..ProptestConfig::default()
    };
    let mut runner = TestRunner::new_with_rng(
        config,
        prop::test_runner::TestRng::deterministic_rng(prop::test_runner::RngAlgorithm::ChaCha),
    );
    let outcome = runner.run(
        &((sketches(Language::Handlebars), sketches(Language::Handlebars)), steps()),
        |((first, second), steps)| follows(&[first, second], &steps, &mut Renderer::forgetful()),
    );
    assert!(matches!(outcome, Err(TestError::Fail(..))), "the fault was not found: {outcome:?}");
}

#[test]
fn what_follows_a_refused_line_is_kept_without_it() {
    let sketch = |file: Vec<(usize, Vec<usize>)>| Sketch {
        language: Language::Handlebars,
        files: [file, vec![(0, vec![0])], vec![(0, vec![0])]],
        looping: vec![0],
        word: 0,
    };
    let sketches = [sketch(vec![(15, vec![36])]), sketch(vec![(0, vec![0])])];
    let steps = [Step::Delete { store: 0, namespace: 1, name: 2 }];
    follows(&sketches, &steps, &mut Renderer::checked(Checked::Never)).unwrap();
}
