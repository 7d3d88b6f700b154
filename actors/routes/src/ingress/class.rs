//! The classes of our Ingresses: IngressClass, default class, and the annotation of old.

use crate::{
    claims::Backend,
    families::{About, FamiliesOfClasses, Family, FamilySettings, translate},
    matching::path::Spelling,
    objects::config_maps::{self, FoundConfigMap},
    options::{Settings, class::Class, shared_lines::SharedLines},
    sentences::shortened,
};
use haptic_model::{
    ActiveConfig, Findings, HAProxyTemplateConfigSpec, Object, ObjectRef, Snapshot, Snapshots,
};
use serde_json::{Map, Value, json};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

/// `spec.controller` of the classes that are ours, unless `extraContext.ingressClass.controller` says otherwise.
pub const CONTROLLER: &str = "haproxy-haptic.org/ingress-controller";

/// On an IngressClass that Ingresses without a class belong to.
const DEFAULT_ANNOTATION: &str = "ingressclass.kubernetes.io/is-default-class";

/// The classes that are ours.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Classes {
    /// Every Ingress is ours, because no IngressClasses are watched.
    all: bool,
    names: BTreeSet<String>,
    /// Ingresses without a class are ours.
    without: bool,
    /// How the paths of Ingresses are compared.
    pub(crate) spelling: Spelling,
    /// The settings of their options by the configuration.
    pub(crate) options: Arc<Settings>,
    /// The settings of a ConfigMap, by the name of the class.
    of_classes: BTreeMap<Arc<str>, ClassSettings>,
    /// The class that counts for Ingresses without one.
    default: Option<Arc<str>>,
    /// The controllers of classes that were taken over.
    controllers: BTreeMap<Arc<str>, Arc<str>>,
    /// The families with what ConfigMaps of their controllers say.
    families: FamiliesOfClasses,
    /// The lines that most backends have.
    pub(crate) shared: Arc<SharedLines>,
}

/// The ConfigMap that an IngressClass names by its parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
struct ClassSettings {
    options: Arc<Settings>,
    /// The watched resource that has it, if any; namespace and name.
    config_map: (Option<Arc<str>>, String, String),
    /// Why it does not count, where that is not its own fault.
    missing: Option<String>,
}

impl Classes {
    /// Every class.
    #[must_use]
    pub fn all() -> Self {
        Self {
            all: true,
            names: BTreeSet::new(),
            without: true,
            spelling: Spelling::default(),
            options: Arc::default(),
            of_classes: BTreeMap::new(),
            default: None,
            controllers: BTreeMap::new(),
            families: FamiliesOfClasses::default(),
            shared: Arc::default(),
        }
    }

    /// Our classes among the watched ones. `extraContext.ingressClass` has `controller`, `name` (a class that is ours even
    /// if there is no IngressClass of that name) and `withoutClass` (whether Ingresses without a class are ours).
    #[must_use]
    pub fn of(config: &ActiveConfig, snapshots: &Snapshots) -> Self {
        let extra_context = &config.spec.templating_settings.extra_context;
        let (options, spelling) = (Arc::new(Settings::of(extra_context)), Spelling::of(extra_context));
        let of_classes = FamiliesOfClasses::of(&options, &config.spec, snapshots);
        let Some(store) = classes_resource(&config.spec).and_then(|name| snapshots.get(name)) else {
            return Self { spelling, options, families: of_classes, ..Self::all() }.with_shared_lines();
        };
        let settings = extra_context.get("ingressClass");
        let setting = |key: &str| settings.and_then(|s| s.get(key));
        let controller = setting("controller").and_then(Value::as_str).unwrap_or(CONTROLLER);
        let name = setting("name").and_then(Value::as_str).filter(|n| !n.is_empty());
        let mut classes = Self {
            all: false,
            names: name.map(str::to_owned).into_iter().collect(),
            without: setting("withoutClass").and_then(Value::as_bool).unwrap_or(false),
            spelling,
            options,
            of_classes: BTreeMap::new(),
            default: None,
            controllers: BTreeMap::new(),
            families: of_classes,
            shared: Arc::default(),
        };
        let families = classes.options.families.clone();
        classes.names.extend(families.iter().flat_map(|family| family.take_classes.iter().cloned()));
        let is_taken = |name: &str, controller: &str| {
            let takes = |family: &FamilySettings| {
                family.take_classes.contains(name) || family.take_controllers.contains(controller)
            };
            families.iter().any(takes)
        };
        let config_maps = ConfigMaps { spec: &config.spec, snapshots };
        for object in store.iter() {
            let Ok(Some(class)) = store.load(object) else { continue };
            let Ok(value) = class.value() else { continue };
            let of_class = value.pointer("/spec/controller").and_then(Value::as_str).unwrap_or_default();
            let taken = is_taken(&class.reference.name, of_class);
            if of_class != controller && !taken {
                continue;
            }
            if taken {
                classes.controllers.insert(class.reference.name.clone(), of_class.into());
            }
            let annotations = value.pointer("/metadata/annotations");
            let default = annotations.and_then(|a| a.get(DEFAULT_ANNOTATION)).and_then(Value::as_str);
            let name = &class.reference.name;
            if default == Some("true") {
                classes.without = true;
                classes.default.get_or_insert_with(|| name.clone());
            }
            // What a class of theirs names by its parameters is in their words.
            if taken {
                classes.families.take_parameters(name, &value, &classes.options, &config.spec, snapshots);
            } else if let Some(settings) = config_maps.settings(name, &value, &classes.options) {
                classes.of_classes.insert(name.clone(), settings);
            }
            classes.names.insert(name.to_string());
        }
        classes.with_shared_lines()
    }

    /// The same with the lines that backends have where no object says otherwise.
    fn with_shared_lines(mut self) -> Self {
        let mut shared = SharedLines::default();
        let of_classes = self.of_classes.values().map(|settings| &settings.options);
        for settings in of_classes.chain([&self.options]) {
            let Class { defaults, enforced, .. } = &settings.class;
            let of_class = || defaults.iter().chain(enforced).map(|(name, value)| (*name, value.clone()));
            shared.add(&of_class().collect());
            for family in self.families.iter() {
                let said = translate(family, &BTreeMap::new(), None, About::default(), settings);
                shared.add(
                    &defaults
                        .clone()
                        .into_iter()
                        .chain(said.level.written.values)
                        .chain(enforced.clone())
                        .collect(),
                );
            }
        }
        self.shared = Arc::new(shared);
        self
    }

    /// The settings of the options of an Ingress of that class.
    pub(crate) fn settings_of(&self, class: Option<&str>) -> &Arc<Settings> {
        let class = class.or(self.default.as_deref());
        let own = class.and_then(|class| self.of_classes.get(class));
        own.map_or(&self.options, |own| &own.options)
    }

    /// The families of annotations that an Ingress of that class has, the first of which counts where two say the same.
    pub(crate) fn families_of(&self, class: Option<&str>) -> Vec<&FamilySettings> {
        let class = class.or(self.default.as_deref());
        let controller = class.and_then(|class| self.controllers.get(class)).map(|controller| &**controller);
        let all = self.families.of_class(class).iter();
        all.filter(|family| family.is_of(class, controller)).collect()
    }

    /// Whether a ConfigMap of a family's controller says something by one of these keys.
    pub(crate) fn says_by_config(&self, keys: &[&str]) -> bool {
        self.families.says_by_config(keys)
    }

    /// Whether Ingresses of a namespace may say something of each other's.
    pub(crate) fn reads_neighbours(&self) -> bool {
        self.options.families.iter().any(|family| family.family != Family::HaproxyOrg)
    }

    /// The backend that gets the requests for hosts of Ingresses with these settings which no route takes, where it is another one than
    /// that of all.
    pub(crate) fn left_to(&self, settings: &Settings) -> Option<String> {
        let of_class = settings.class.service();
        of_class
            .filter(|of_class| self.options.class.service().as_ref() != Some(of_class))
            .map(|one| one.name)
    }

    /// The findings at ConfigMaps of other controllers.
    pub(crate) fn findings(&self) -> Findings {
        let mut findings = Findings::default();
        for (config_map, found) in &self.families.findings {
            findings.set(config_map, found.clone());
        }
        findings
    }

    /// The settings of ConfigMaps: an object for each class that names one, one for each sentence about settings of families, and one for the
    /// configuration's own word where that names objects.
    pub(crate) fn settings_store(&self) -> Snapshot {
        let mut store = Snapshot::full();
        let mut add = |name: &str, fields: Value| {
            let object = Object::new(ObjectRef::new("ingressclasses", "", name), &fields);
            store.apply(object, [Arc::from(name)].into());
        };
        let mut named = NamedByClasses::default();
        let of_all = named.fields(&self.options.class);
        if !of_all.is_empty() {
            let fields =
                Map::from_iter([("class".to_owned(), json!(OF_ALL)), ("problems".to_owned(), json!([]))]);
            add(OF_ALL, Value::Object(fields.into_iter().chain(of_all).collect()));
        }
        for (class, settings) in &self.of_classes {
            let (watched, namespace, name) = &settings.config_map;
            let problems = &settings.options.class.problems;
            let mut fields = match &settings.missing {
                Some(missing) => json!({"class": class, "missing": missing, "problems": []}),
                None => json!({
                    "class": class, "store": watched, "namespace": namespace, "name": name, "problems": problems,
                }),
            };
            if let Some(fields) = fields.as_object_mut() {
                fields.extend(named.fields(&settings.options.class));
            }
            add(class, fields);
        }
        for lines in self.shared.iter() {
            let lines_of = json!({"profile": lines.name, "options": lines.options});
            add(&lines.name, json!({"class": lines.name, "problems": [], "lines": lines_of}));
        }
        if self.shared.limits_bodies {
            let name = "limits of bodies";
            add(name, json!({"class": name, "problems": [], "limitsBodies": true}));
        }
        for (number, missing) in self.families.warnings.iter().enumerate() {
            // No class has such a name.
            let name = format!("annotation families {number}");
            add(&name, json!({"class": name, "missing": missing, "problems": []}));
        }
        store.set_synced();
        store
    }

    /// Whether an Ingress of that class is ours.
    #[must_use]
    pub fn take(&self, class: Option<&str>) -> bool {
        self.all
            || match class {
                Some(class) => self.names.contains(class),
                None => self.without,
            }
    }
}

/// The name of the configuration's settings for all classes, which no class has.
const OF_ALL: &str = "extraContext.routes";

/// The objects that classes name: of those which several name HAProxy gets one.
#[derive(Default)]
struct NamedByClasses {
    written: BTreeSet<String>,
}

impl NamedByClasses {
    /// `leftTo`: the backend for requests that no route takes; `service`, `pages` and `certificate` as far as no class before has them.
    fn fields(&mut self, class: &Class) -> Map<String, Value> {
        let mut fields = Map::new();
        let mut add = |name: &str, value| fields.insert(name.to_owned(), value);
        if let Some(service) = class.service() {
            add("leftTo", json!(service.name));
            let (Backend { service: name, port }, namespace) = (service.backend, service.namespace);
            let port = port.to_json();
            let value = json!({"backend": service.name, "namespace": namespace, "name": name, "port": port});
            if self.written.insert(service.name) {
                add("service", value);
            }
        }
        if let Some(pages) = class.pages() {
            let (namespace, name) = pages.config_map;
            let value = json!({"profile": pages.profile, "namespace": namespace, "name": name, "replace": pages.replace});
            if self.written.insert(pages.profile) {
                add("pages", value);
            }
        }
        if let Some((namespace, name)) = class.certificate()
            && self.written.insert(format!("{namespace}/{name}"))
        {
            add("certificate", json!({"namespace": namespace, "name": name}));
        }
        fields
    }
}

/// The ConfigMaps that are watched.
struct ConfigMaps<'c> {
    spec: &'c HAProxyTemplateConfigSpec,
    snapshots: &'c Snapshots,
}

impl ConfigMaps<'_> {
    /// The settings of a class that names parameters. Where they cannot be found nobody knows what they enforce: nobody gets in.
    fn settings(&self, class: &str, value: &Value, options: &Arc<Settings>) -> Option<ClassSettings> {
        let parameters = value.pointer("/spec/parameters")?;
        let text = |field: &str| parameters.get(field).and_then(Value::as_str).unwrap_or_default();
        let (kind, namespace, name) = (text("kind"), text("namespace"), text("name"));
        let config_map = |watched| (watched, namespace.to_owned(), name.to_owned());
        let missing = |why: &str| ClassSettings {
            options: Arc::new(Settings { class: options.class.closed(), ..Settings::clone(options) }),
            config_map: config_map(None),
            missing: Some(format!(
                "IngressClass {} names {} {}/{} by its parameters, {why}: all requests for its Ingresses get 503",
                shortened(class),
                shortened(kind),
                shortened(namespace),
                shortened(name)
            )),
        };
        if kind != "ConfigMap" || !text("apiGroup").is_empty() {
            return Some(missing("which is no ConfigMap"));
        }
        let Some(FoundConfigMap { watched, data, .. }) =
            config_maps::find(self.spec, self.snapshots, namespace, name)
        else {
            return Some(missing("which is not there, or no ConfigMaps of its namespace are watched"));
        };
        let class = options.class.with(&data, options);
        let options = Arc::new(Settings { class, ..Settings::clone(options) });
        Some(ClassSettings { options, config_map: config_map(Some(watched)), missing: None })
    }
}

/// The watched resource that holds IngressClasses.
pub(crate) fn classes_resource(spec: &HAProxyTemplateConfigSpec) -> Option<&str> {
    let is = |w: &haptic_model::crd::WatchedResource| {
        w.resources == "ingressclasses" && w.api_version.starts_with("networking.k8s.io/")
    };
    spec.watched_resources.iter().find(|(_, w)| is(w)).map(|(name, _)| name.as_str())
}

/// Classes, and where each of a kind names its settings.
const CLASSES: [(&str, &str); 2] =
    [("ingressclasses", "/spec/parameters"), ("gatewayclasses", "/spec/parametersRef")];

/// The objects in which operators say what counts for all Ingresses and routes, or for those of a class: the classes, and the ConfigMaps that
/// these and the families of annotations name.
#[must_use]
pub fn settings_objects(config: &ActiveConfig, snapshots: &Snapshots) -> Vec<Arc<ObjectRef>> {
    let spec = &config.spec;
    let families = FamilySettings::of(&spec.templating_settings.extra_context);
    let named = families.iter().filter_map(|family| family.config_map.as_deref()?.split_once('/'));
    let of_families: Vec<[String; 2]> =
        named.map(|(namespace, name)| [namespace, name].map(str::to_owned)).collect();
    let (mut all, mut named) = (Vec::new(), of_families.clone());
    for (resources, pointer) in CLASSES {
        let stores = spec.watched_resources.iter().filter(|(_, watched)| watched.resources == resources);
        for store in stores.filter_map(|(name, _)| snapshots.get(name.as_str())) {
            for object in store.iter() {
                all.push(object.reference.clone());
                let Ok(Some(class)) = store.load(object) else { continue };
                let Ok(value) = class.value() else { continue };
                named.extend(settings_of_class(value.pointer(pointer), &of_families));
            }
        }
    }
    let found =
        named.iter().filter_map(|[namespace, name]| config_maps::find(spec, snapshots, namespace, name));
    all.extend(found.map(|found| found.reference));
    all
}

/// Namespaces and names of what a class may name: without a namespace it is that of the family's controller.
fn settings_of_class(parameters: Option<&Value>, of_families: &[[String; 2]]) -> Vec<[String; 2]> {
    let text = |field: &str| parameters.and_then(|of| of.get(field)).and_then(Value::as_str);
    let Some(name) = text("name") else { return Vec::new() };
    match text("namespace") {
        Some(namespace) => vec![[namespace.to_owned(), name.to_owned()]],
        None => of_families.iter().map(|[namespace, _]| [namespace.clone(), name.to_owned()]).collect(),
    }
}

/// The names under which Ingresses are watched.
pub fn ingress_stores(spec: &HAProxyTemplateConfigSpec) -> impl Iterator<Item = Arc<str>> {
    let is = |w: &haptic_model::crd::WatchedResource| {
        w.resources == "ingresses" && w.api_version.starts_with("networking.k8s.io/")
    };
    spec.watched_resources.iter().filter(move |(_, w)| is(w)).map(|(name, _)| name.as_str().into())
}
