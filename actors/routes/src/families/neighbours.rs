//! Annotations of one Ingress that count for all Ingresses of a namespace on a host: paths that are patterns, canaries, whose
//! certificates clients must have. It reaches no other namespace, whoever has the host.

pub use crate::options::value::OptionValues;

use crate::{claims::Backend, ownership::contest::Age};
use haptic_model::{ObjectRef, host_name::wildcard_over};
use std::{
    collections::{BTreeMap, HashMap, HashSet},
    sync::{Arc, OnceLock},
};

/// A namespace and a host.
pub type HostOfNamespace = (Arc<str>, Arc<str>);

/// A path as it is written, and its type.
pub type PathOfType = (String, String);

/// The options of one Ingress for a host.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HostOptions {
    /// Whether all paths of the host are regular expressions.
    pub patterns: bool,
    /// The certificates that clients must show.
    pub client: OptionValues,
    /// Whether nobody may get in.
    pub closed: bool,
    /// The options that keep clients out of the whole host.
    pub guards: OptionValues,
    /// The options of routes whose requests a canary shares. Of the same path the first counts.
    pub canaries: BTreeMap<PathOfType, OptionValues>,
    /// Whether it has TLS.
    pub tls: bool,
    /// Where requests for its path `/` are redirected, and how long the longest path of the Ingress is that says so.
    pub root: Option<(usize, OptionValues)>,
    /// Other names of it.
    pub aliases: Vec<Arc<str>>,
    /// Where paths lead at which a program may sign clients in.
    pub programs: BTreeMap<String, Backend>,
}

/// All that is said.
#[derive(Clone, Debug, Default)]
pub struct Neighbours {
    hosts_of: HashMap<Arc<ObjectRef>, Vec<Arc<str>>>,
    said: HashMap<HostOfNamespace, SaidOfHost>,
}

/// The options of all Ingresses of a namespace for a host.
#[derive(Clone, Debug, Default)]
struct SaidOfHost {
    by_age: BTreeMap<(Age, Arc<ObjectRef>), HostOptions>,
    /// All of them together, once they are asked for: each of thousands of Ingresses of a host asks for them.
    together: OnceLock<HostOptions>,
}

impl SaidOfHost {
    fn together(&self) -> &HostOptions {
        self.together.get_or_init(|| {
            let mut together = HostOptions::default();
            self.by_age.values().for_each(|younger| together.add(younger));
            together
        })
    }
}

impl HostOptions {
    /// Adds what a younger Ingress says: where there can be only one, that of the older counts.
    fn add(&mut self, younger: &Self) {
        let Self { patterns, client, closed, guards, canaries, tls, root, aliases, programs } = self;
        *patterns |= younger.patterns;
        *closed |= younger.closed;
        *tls |= younger.tls;
        for (values, of_younger) in [(client, &younger.client), (guards, &younger.guards)] {
            if values.is_empty() {
                values.clone_from(of_younger);
            }
        }
        for (path, options) in &younger.canaries {
            canaries.entry(path.clone()).or_insert_with(|| options.clone());
        }
        for (path, backend) in &younger.programs {
            programs.entry(path.clone()).or_insert_with(|| backend.clone());
        }
        let length = |root: &Option<(usize, OptionValues)>| root.as_ref().map(|(length, _)| *length);
        if length(&younger.root) > length(root) {
            root.clone_from(&younger.root);
        }
        if aliases.is_empty() {
            aliases.clone_from(&younger.aliases);
        }
    }
}

impl Neighbours {
    /// Takes the options of an object as they are now. The hosts of its namespace of which something else is said are noted in `different`.
    pub fn set(
        &mut self,
        object: &Arc<ObjectRef>,
        age: &Age,
        said: Vec<(Arc<str>, HostOptions)>,
        different: &mut HashSet<HostOfNamespace>,
    ) {
        let namespace = &object.namespace;
        let mut before: HashMap<Arc<str>, HostOptions> = HashMap::new();
        for host in self.hosts_of.remove(object).unwrap_or_default() {
            let at = (namespace.clone(), host.clone());
            let Some(SaidOfHost { by_age, together }) = self.said.get_mut(&at) else { continue };
            together.take();
            by_age.retain(|(_, of), options| {
                if of != object {
                    return true;
                }
                before.insert(host.clone(), std::mem::take(options));
                false
            });
            if by_age.is_empty() {
                self.said.remove(&at);
            }
        }
        let mut hosts = Vec::new();
        for (host, options) in said {
            if before.remove(&host).as_ref() != Some(&options) {
                different.insert((namespace.clone(), host.clone()));
            }
            let SaidOfHost { by_age, together } =
                self.said.entry((namespace.clone(), host.clone())).or_default();
            together.take();
            by_age.insert((age.clone(), object.clone()), options);
            hosts.push(host);
        }
        different.extend(before.into_keys().map(|host| (namespace.clone(), host)));
        if !hosts.is_empty() {
            self.hosts_of.insert(object.clone(), hosts);
        }
    }

    /// Whether nothing is said.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.said.is_empty()
    }

    fn of(&self, namespace: &str, host: &str) -> Option<&HostOptions> {
        if self.is_empty() {
            return None;
        }
        self.said.get(&(namespace.into(), host.into())).map(SaidOfHost::together)
    }

    /// Whether a host has TLS; with `has_wildcards` also where a wildcard over it has, as in ingress-nginx (`certificate.lua`).
    #[must_use]
    pub fn tls(&self, namespace: &str, host: &str, has_wildcards: bool) -> bool {
        let has = |host: &str| self.of(namespace, host).is_some_and(|host| host.tls);
        has(host) || (has_wildcards && wildcard_over(host).is_some_and(|over| has(&over)))
    }

    /// Where requests for the path `/` of a host are redirected: what the Ingress with the longest path says.
    #[must_use]
    pub fn root(&self, namespace: &str, host: &str) -> Option<&OptionValues> {
        self.of(namespace, host)?.root.as_ref().map(|(_, options)| options)
    }

    /// The program at a path of a host by which clients may be signed in.
    #[must_use]
    pub fn program(&self, namespace: &str, host: &str, path: &str) -> Option<&Backend> {
        self.of(namespace, host)?.programs.get(path)
    }

    /// Other names of a host, by the oldest Ingress that says some.
    #[must_use]
    pub fn aliases(&self, namespace: &str, host: &str) -> &[Arc<str>] {
        self.of(namespace, host).map(|host| &*host.aliases).unwrap_or_default()
    }

    /// Whether all paths of a host are regular expressions.
    #[must_use]
    pub fn patterns(&self, namespace: &str, host: &str) -> bool {
        self.of(namespace, host).is_some_and(|host| host.patterns)
    }

    /// The certificates that clients of a host must show, by the oldest Ingress that says it, and whether nobody may get in.
    #[must_use]
    pub fn client(&self, namespace: &str, host: &str) -> (Option<&OptionValues>, bool) {
        let of_host = self.of(namespace, host);
        let client = of_host.map(|host| &host.client).filter(|client| !client.is_empty());
        (client, of_host.is_some_and(|host| host.closed))
    }

    /// The options that keep clients out of a host, by the oldest Ingress that says it.
    #[must_use]
    pub fn guards(&self, namespace: &str, host: &str) -> Option<&OptionValues> {
        self.of(namespace, host).map(|host| &host.guards).filter(|guards| !guards.is_empty())
    }

    /// The canary of a path, of the oldest Ingress that has one.
    #[must_use]
    pub fn canary(&self, namespace: &str, host: &str, path: &str, path_type: &str) -> Option<&OptionValues> {
        let wanted = (path.to_owned(), path_type.to_owned());
        self.of(namespace, host)?.canaries.get(&wanted)
    }
}
