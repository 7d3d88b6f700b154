//! Watched objects. What is given are handles: an object is parsed when something reads it.

use super::{
    call::Call,
    function::{Function, Group, Kind::*, arg, function, many},
};
use crate::{
    servers::{
        destinations::Destinations,
        endpoints::{self, Found, Server, Surroundings},
    },
    value::Value,
};
use haptic_model::{Diagnostic, ObjectRef, store::Key};
use haptic_routes::{
    options::Settings,
    owners::{Listed, Owners},
    unreadable_settings,
};
use serde_json::json;
use std::sync::Arc;

pub(super) static FUNCTIONS: &[Function] = &[
    function(
        "list",
        Group::Resources,
        &[arg("resource", Text)],
        "All objects of a watched resource, by namespace and name.",
        (r#"{{#each (list "ingresses") as |ing|}}{{ing.metadata.name}} {{/each}}"#, "blog shop "),
        |call| call.session.objects(&call.text(0), [].into()),
    ),
    function(
        "fetch",
        Group::Resources,
        &[arg("resource", Text), many("key", Text)],
        "The objects with these index values (the resource's indexBy, in order; fewer values give more objects).",
        (r#"{{len (fetch "endpoints" "default" "shop")}} {{len (fetch "endpoints" "default")}}"#, "2 3"),
        |call| call.session.objects(&call.text(0), key(call, 1)),
    ),
    function(
        "get_single",
        Group::Resources,
        &[arg("resource", Text), arg("namespace", Text), arg("name", Text)],
        "The object of that namespace and name; missing if there is none. The namespace of a cluster-wide object is \"\".",
        (r#"{{get (get_single "ingresses" "default" "shop") "spec.rules.0.host"}}"#, "shop.example"),
        |call| call.session.object(&call.text(0), &call.text(1), &call.text(2)),
    ),
    function(
        "routes",
        Group::Resources,
        &[arg("resource", Text), many("key", Text)],
        "What each object of a watched resource of Ingresses got of the requests it asks for; with a namespace, or namespace and name, only theirs. Of two that ask for the same the older one gets it. Each has metadata (namespace, name), options (what its annotations haproxy-haptic.org/… ask for, as values), groups (the options of its paths, by the names of groups: those without options of their own have the Ingress's name), faults (sentences: why it cannot be taken), routes (host, path, exact, key, tls, https: whether HTTP is redirected, group, backend), backends (name, service, port, group; each once), tls (the lines it has in a crt-list: hosts, except: hosts below these that the line is not for, namespace and secret of the certificate, ca with namespace and secret of the CA that verifies clients, first: whether it is the first certificate of the hosts, trusted: whether that CA alone verifies their clients), clientCa (NAMESPACE/SECRET, where it names one) and rejected (sentences). Of the Gateway API there are \"httproutes\", \"grpcroutes\", \"tlsroutes\" and \"tcproutes\" (routes: kind, key and value; levels: key and chunks; rules: name and settings), \"gateways\" (listeners: id, port, target, hostname, tls, slot, open, certificates, way), \"gateway ports\" (plain, tls, tcp; web, streams, tlsStreams, endedStreams: whether there are any), \"gateway backends\" (backends: name, port, protocol) and, by namespace and name, \"gateway authorities\" (what a Secret would have: data).",
        (
            r#"{{#each (routes "ingresses") as |set|}}{{#each set.routes as |r|}}{{r.key}}={{r.backend.service}} {{/each}}{{/each}}"#,
            "blog.example/=blog shop.example/=shop ",
        ),
        |call| call.session.routes(&call.text(0), key(call, 1)),
    ),
    function(
        "any_asks_for",
        Group::Resources,
        &[arg("resource", Text), arg("option", Text)],
        "Whether any object of a watched resource of Ingresses has the annotation haproxy-haptic.org/ with that name; as costly as reading one object. Of \"gateway\": whether any route of the Gateway API needs lists, choice, headers, cors or lua at all.",
        (r#"{{#if (any_asks_for "ingresses" "retry")}}one does{{else}}none does{{/if}}"#, "none does"),
        |call| {
            let found = call.session.askers(&call.text(0), call.text(1))?;
            Ok(Value::Bool(matches!(found, Value::List(found) if !found.is_empty())))
        },
    ),
    function(
        "route_settings_problems",
        Group::Resources,
        &[],
        "What cannot be read of the settings extraContext that say how routes are read (routes, ingressClass, annotationFamilies, …), in sentences.",
        (
            r#"{{#each (route_settings_problems) as |why|}}{{why}}{{else}}nothing is wrong{{/each}}"#,
            "nothing is wrong",
        ),
        |call| {
            let context = &call.session.input().config.spec.templating_settings.extra_context;
            let mut problems = unreadable_settings(context);
            problems.extend(Settings::of(context).class.problems);
            Ok(Value::list(problems.into_iter().map(Value::from).collect()))
        },
    ),
    function(
        "class_settings",
        Group::Resources,
        &[arg("resource", Text)],
        "The IngressClasses of ours that name a ConfigMap with options by their parameters: class, and of the ConfigMap store (the name of the watched resource that has it), namespace, name and problems (sentences about its options); or missing, a sentence on why it is not read.",
        (r#"{{#each (class_settings "ingresses") as |class|}}{{class.name}}{{else}}none{{/each}}"#, "none"),
        |call| call.session.class_settings(&call.text(0)),
    ),
    function(
        "listed_hosts",
        Group::Resources,
        &[],
        "The patterns of spec.hosts, the most specific first: dicts with pattern, below (what all hosts that a wildcard covers end with; absent in others) and namespaces.",
        (
            r#"{{#each (listed_hosts) as |listed|}}{{listed.pattern}} {{else}}no host is listed{{/each}}"#,
            "no host is listed",
        ),
        |call| Ok(listed(&Owners::of(&call.session.input().config.spec))),
    ),
    function(
        "userlists",
        Group::Resources,
        &[arg("resource", Text), many("key", Text)],
        "The users of each labelled Secret that the annotation auth-secret of a route names; with a namespace, or namespace and name, only theirs. Each has metadata (namespace, name), data.users (name, password) and problems (sentences about other lines), or refused (why HAProxy is given no user of it). What passwords may cost is in extraContext.passwordLimits.",
        (r#"{{len (userlists "ingresses")}} {{len (userlists "ingresses" "default" "users")}}"#, "0 0"),
        |call| call.session.userlists(&call.text(0), key(call, 1)),
    ),
    function(
        "auth_targets",
        Group::Resources,
        &[arg("resource", Text), many("key", Text)],
        "Who is asked whether requests of a namespace may pass (annotation auth-url), each once; with a namespace, only those of its routes. Each has metadata (namespace: of the routes), name (of its backend), host, port, tls, abroad (whether it is no Service of that namespace) and, of a Service, namespace and service.",
        (r#"{{len (auth_targets "ingresses")}} {{len (auth_targets "ingresses" "default")}}"#, "0 0"),
        |call| call.session.auth_targets(&call.text(0), key(call, 1)),
    ),
    function(
        "default_certificate",
        Group::Resources,
        &[],
        "The Secret with the certificate for hosts that have none, which the controller made; missing if it made none, because extraContext.defaultCertificate is no dict.",
        (r#"{{#with (default_certificate)}}there is one{{else}}there is none{{/with}}"#, "there is none"),
        |call| call.session.default_certificate(),
    ),
    function(
        "servers",
        Group::Resources,
        &[
            arg("services", Text),
            arg("slices", Text),
            arg("namespace", Text),
            arg("service", Text),
            arg("port", Any),
        ],
        "The servers of a Service's port (its number or name): dicts with name, address, port, named and external, by address. Takes the watched resources of Services and of EndpointSlices, these indexed by namespace and Service. Ready endpoints count; where there are none, those that serve while they terminate. A Service of type ExternalName has those that the controller resolves its name to (external is true; named: whether spec.allow.destinations has their network). Loopback, link-local, multicast and reserved addresses, those of a cloud's metadata, HAProxy's own ports in its pods and the Services that lead there are left out with a warning, unless spec.allow.destinations has their network.",
        (
            r#"{{#each (servers "services" "endpoints" "default" "shop" 80) as |s|}}{{s.name}} {{s.address}}:{{s.port}} {{/each}}"#,
            "10.0.0.1_8080 10.0.0.1:8080 10.0.0.2_8080 10.0.0.2:8080 ",
        ),
        servers,
    ),
    function(
        "service_servers",
        Group::Resources,
        &[arg("services", Text), arg("namespace", Text), arg("service", Text), arg("port", Any)],
        "The address of a Service itself (clusterIP) with its port (a number or name), behind which the cluster chooses a server: one dict as those of servers, none of a headless Service. One of type ExternalName has those that the controller resolves its name to.",
        (r#"{{len (service_servers "services" "default" "shop" 80)}}"#, "0"),
        service_servers,
    ),
    function(
        "host_servers",
        Group::Resources,
        &[arg("host", Text), arg("port", Any)],
        "The servers that a host name or address outside of the cluster leads to, by what the controller resolves it to: dicts as those of servers. Only those whose network spec.allow.destinations has.",
        (r#"{{len (host_servers "auth.example" 443)}}"#, "0"),
        host_servers,
    ),
];

fn listed(owners: &Owners) -> Value {
    let one = |Listed { pattern, suffix, namespaces }: Listed| {
        let mut listed = json!({"pattern": pattern, "namespaces": namespaces});
        if let (Some(suffix), Some(fields)) = (suffix, listed.as_object_mut()) {
            fields.insert("below".to_owned(), suffix.into());
        }
        Value::from(&listed)
    };
    Value::list(owners.listed().into_iter().map(one).collect())
}

fn key(call: &Call<'_>, from: usize) -> Key {
    call.rest(from).iter().filter_map(Value::printed).collect()
}

/// The result of `find` with the facts of this render.
fn surrounded<F>(call: &Call<'_>, find: impl FnOnce(&Surroundings<'_>) -> F) -> F {
    let input = call.session.input();
    find(&Surroundings {
        destinations: Destinations::new(&input.config.spec, input.fleet),
        resolved: &|name| call.session.external_name(name),
        leads_to_fleet: &|address, port| call.session.leads_to_fleet(address, port),
    })
}

fn servers(call: &Call<'_>) -> Result<Value, String> {
    let (services, namespace, name) = (call.text(0), call.text(2), call.text(3));
    let service = call.session.object(&services, &namespace, &name)?;
    let slices = call.session.objects(&call.text(1), [namespace.clone(), name.clone()].into())?;
    let slices = if let Value::List(slices) = &slices { slices.as_slice() } else { &[] };
    let found =
        surrounded(call, |surroundings| endpoints::servers(&service, slices, call.value(4), surroundings))?;
    Ok(with_warning(call, found, ObjectRef::new(&services, &namespace, &name)))
}

fn service_servers(call: &Call<'_>) -> Result<Value, String> {
    let (services, namespace, name) = (call.text(0), call.text(1), call.text(2));
    let service = call.session.object(&services, &namespace, &name)?;
    let found =
        surrounded(call, |surroundings| endpoints::of_service(&service, call.value(3), surroundings))?;
    Ok(with_warning(call, found, ObjectRef::new(&services, &namespace, &name)))
}

/// The servers of a Service; of what is left out a warning is said.
fn with_warning(call: &Call<'_>, found: Found, service: ObjectRef) -> Value {
    if !found.left_out.is_empty() {
        call.session.warn(nothing_goes_to(&found).of_object(Some(Arc::new(service))));
    }
    Value::list(found.servers.into_iter().map(server).collect())
}

fn host_servers(call: &Call<'_>) -> Result<Value, String> {
    let found =
        surrounded(call, |surroundings| endpoints::of_host(&call.text(0), call.value(1), surroundings));
    if !found.left_out.is_empty() {
        call.session.warn(nothing_goes_to(&found));
    }
    Ok(Value::list(found.servers.into_iter().map(server).collect()))
}

fn nothing_goes_to(found: &Found) -> Diagnostic {
    let more = match found.more_left_out {
        0 => String::new(),
        more => format!("; and {more} more"),
    };
    let said = found.left_out.join("; ");
    let warning = Diagnostic::warning("render", format!("no server is made of {said}{more}"));
    match found.is_refused {
        true => warning.help(
            "If servers may be there, add their network to spec.allow.destinations of the configuration",
        ),
        false => warning,
    }
}

fn server(server: Server) -> Value {
    let Server { name, address, port, external, named } = server;
    let fields = [
        ("name", name.into()),
        ("address", address.into()),
        ("port", Value::Number(port.into())),
        ("external", Value::Bool(external)),
        ("named", Value::Bool(named)),
    ];
    Value::dict(fields.map(|(key, value)| (key.into(), value)))
}
