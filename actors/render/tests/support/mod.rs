//! Configurations and stores for tests, in a few words.

pub mod cluster;
pub mod parse_line;
pub mod values;

use haptic_model::{
    ActiveConfig, Bundle, Diagnostic, FileKey, Fleet, Object, ObjectRef, Snapshot, Snapshots,
};
use haptic_render::{
    Program, RenderInput, RenderJob, RenderLimits, block_cache::BlockCache, framing, render,
};
use haptic_routes::Routes;
use serde_json::{Value, json};
use std::{collections::BTreeMap, sync::Arc};

pub struct Setup {
    pub spec: Value,
    pub stores: BTreeMap<Arc<str>, Snapshot>,
    pub limits: RenderLimits,
}

impl Setup {
    /// A configuration whose haproxy.cfg is `template`.
    pub fn new(template: &str) -> Self {
        let spec = json!({
            "credentialsSecretRef": {"name": "credentials"},
            "podSelector": {"matchLabels": {"app": "haproxy"}},
            "haproxyConfig": {"template": template},
            "watchedResources": {
                "ingresses": {"apiVersion": "networking.k8s.io/v1", "resources": "ingresses"},
                "endpoints": {
                    "apiVersion": "discovery.k8s.io/v1", "resources": "endpointslices",
                    "indexBy": ["metadata.namespace", "metadata.labels['kubernetes.io/service-name']"],
                },
                "secrets": {"apiVersion": "v1", "resources": "secrets"},
                "labelledsecrets": {"apiVersion": "v1", "resources": "secrets"},
                "services": {"apiVersion": "v1", "resources": "services"},
            },
        });
        let stores = ["ingresses", "endpoints", "secrets", "labelledsecrets", "services"];
        let stores = stores.map(|name| (name.into(), Snapshot::full()));
        Self { spec, stores: stores.into(), limits: RenderLimits::default() }
    }

    /// The same, its templates in Jinja2.
    pub fn jinja(self) -> Self {
        self.with("templatingSettings/engine", json!("jinja2"))
    }

    pub fn with(mut self, pointer: &str, value: Value) -> Self {
        let mut here = &mut self.spec;
        for key in pointer.split('/') {
            here = &mut here[key];
        }
        *here = value;
        self
    }

    pub fn snippet(self, name: &str, template: &str) -> Self {
        self.with(&format!("templateSnippets/{name}/template"), json!(template))
    }

    /// A snippet that says what it is written in.
    pub fn snippet_in(self, engine: &str, name: &str, template: &str) -> Self {
        self.snippet(name, template).with(&format!("templateSnippets/{name}/engine"), json!(engine))
    }

    pub fn map(self, name: &str, template: &str) -> Self {
        self.with(&format!("maps/{name}/template"), json!(template))
    }

    pub fn extra(self, extra: Value) -> Self {
        self.with("templatingSettings/extraContext", extra)
    }

    pub fn object(
        mut self,
        resource: &str,
        namespace: &str,
        name: &str,
        key: &[&str],
        object: Value,
    ) -> Self {
        let object = Object::new(ObjectRef::new(resource, namespace, name), &object);
        let key = key.iter().map(|k| Arc::from(*k)).collect();
        self.stores.get_mut(resource).expect("a store of that name").apply(object, key);
        self
    }

    /// An Ingress of one host; each path leads to a service of its name.
    pub fn ingress(self, namespace: &str, name: &str, host: &str, paths: &[(&str, &str)]) -> Self {
        let paths: Vec<Value> = paths
            .iter()
            .map(|(path, service)| json!({"path": path, "pathType": "Prefix", "backend": {"service": {"name": service, "port": {"number": 80}}}}))
            .collect();
        let object = json!({
            "metadata": {"namespace": namespace, "name": name, "annotations": {"haproxy.org/note": "x"}},
            "spec": {"rules": [{"host": host, "http": {"paths": paths}}]},
        });
        self.object("ingresses", namespace, name, &[namespace, name], object)
    }

    pub fn endpoints(self, namespace: &str, service: &str, number: u32, addresses: &[&str]) -> Self {
        let endpoints: Vec<Value> = addresses.iter().map(|a| json!({"addresses": [a]})).collect();
        let name = format!("{service}-{number}");
        let object = json!({"metadata": {"namespace": namespace, "name": name}, "endpoints": endpoints, "ports": [{"port": 8080}]});
        self.object("endpoints", namespace, &name, &[namespace, service], object)
    }

    /// A Service of one port, 80.
    pub fn service(self, namespace: &str, name: &str) -> Self {
        let object = json!({
            "metadata": {"namespace": namespace, "name": name},
            "spec": {"ports": [{"port": 80, "targetPort": 8080}]},
        });
        self.object("services", namespace, name, &[namespace, name], object)
    }

    pub fn config(&self) -> ActiveConfig {
        ActiveConfig::of("test", "default", serde_json::from_value(self.spec.clone()).expect("a valid spec"))
    }

    pub fn snapshots(&self) -> Snapshots {
        Snapshots::new(self.stores.iter().map(|(n, s)| (n.clone(), Arc::new(s.clone()))).collect())
    }

    pub fn compile(&self) -> Result<Arc<Program>, Vec<Diagnostic>> {
        haptic_render::compile(&self.config().spec)
    }

    pub fn bundle(&self) -> Result<(Bundle, Vec<Diagnostic>), Vec<Diagnostic>> {
        render(&RenderJob {
            compiled: &*self.compile()?,
            config: &self.config(),
            snapshots: &self.snapshots(),
            fleet: &Fleet::default(),
            limits: &self.limits,
        })
    }

    /// Every error of compiling or rendering, one a line.
    pub fn errors(&self) -> String {
        self.bundle().map(|(b, _)| panic!("it rendered: {}", b.config.text)).unwrap_or_else(|e| all(&e))
    }

    /// What the engine printed for haproxy.cfg, before it is encoded.
    pub fn rendered(&self) -> haptic_render::engine::RenderedFile {
        self.rendered_with(None)
    }

    /// The same, with what is known of a render before.
    pub fn rendered_with(&self, cache: Option<&BlockCache<'_>>) -> haptic_render::engine::RenderedFile {
        let compiled = self.compile().unwrap_or_else(|e| panic!("{}", all(&e)));
        let config = self.config();
        let snapshots = Routes::default().beside(&config, &self.snapshots());
        let fleet = Fleet::default();
        let context = haptic_render::bundle::context(&config, &fleet).unwrap();
        let input = RenderInput { config: &config, snapshots: &snapshots, fleet: &fleet, context: &context };
        compiled
            .render_again(&FileKey::config(), &input, &self.limits, cache)
            .unwrap_or_else(|faults| panic!("{faults:?}"))
    }

    /// The same without marks: what it would be without the encoder.
    pub fn unmarked(&self) -> String {
        let pieces: String =
            self.rendered().framed.pieces.iter().map(framing::FramedFragment::text).collect();
        without_marks(&pieces)
    }
}

/// The framed text of haproxy.cfg, or why there is none.
pub fn framed_or_not(setup: &Setup) -> Result<String, String> {
    let compiled = setup.compile().map_err(|problems| all(&problems))?;
    let (config, fleet) = (setup.config(), Fleet::default());
    let (snapshots, context) = (setup.snapshots(), haptic_render::bundle::context(&config, &fleet)?);
    let input = RenderInput { config: &config, snapshots: &snapshots, fleet: &fleet, context: &context };
    let file = compiled.render(&FileKey::config(), &input, &setup.limits);
    let file =
        file.map_err(|faults| faults.iter().map(|fault| fault.diagnostic.to_string()).collect::<String>())?;
    Ok(file.framed.pieces.iter().map(framing::FramedFragment::text).collect())
}

/// The text of haproxy.cfg before it is encoded, or why there is none.
pub fn printed_or_not(setup: &Setup) -> Result<String, String> {
    framed_or_not(setup).map(|text| without_marks(&text))
}

pub fn all(diagnostics: &[Diagnostic]) -> String {
    diagnostics.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

pub fn without_marks(text: &str) -> String {
    let mut out = String::new();
    let mut in_mark = false;
    for c in text.chars() {
        match c {
            ';' if in_mark => in_mark = false,
            _ if in_mark => {}
            framing::LINE | framing::OWNER => in_mark = true,
            c if framing::is_mark(c) => {}
            c => out.push(c),
        }
    }
    out
}
