//! Structure, ports, durations, required fields: what can be known without compiling a template.

use super::{hosts, on_demand, webhook};
use crate::library::{self, LIBRARIES};
use haptic_model::{
    Diagnostic, FileKind, HAProxyTemplateConfigSpec, Layout,
    crd::{Interval, TemplatingSettings, WatchedResource},
    selector::LabelSelector,
};
use std::{collections::BTreeMap, time::Duration};

/// Everything that is wrong with the fields themselves.
#[must_use]
pub fn basic(spec: &HAProxyTemplateConfigSpec) -> Vec<Diagnostic> {
    let mut problems = Vec::new();
    required(spec, &mut problems);
    ports(spec, &mut problems);
    durations(spec, &mut problems);
    levels(spec, &mut problems);
    watched(spec, &mut problems);
    files(spec, &mut problems);
    hosts::problems(spec, &mut problems);
    on_demand::problems(spec, &mut problems);
    webhook::problems(spec, &mut problems);
    problems.extend(spec.allow.is_old_list.then(|| old_list(spec)));
    problems.extend(spec.validation_tests.is_old_map.then(old_map));
    problems
}

fn old_list(spec: &HAProxyTemplateConfigSpec) -> Diagnostic {
    let features: Vec<String> = spec.allow.features.iter().map(|feature| format!("{feature:?}")).collect();
    Diagnostic::warning("basic", "a list is what spec.allow was once, and is still taken for its features")
        .at_field("spec.allow")
        .help(format!("Write allow: {{features: [{}]}}", features.join(", ")))
}

fn old_map() -> Diagnostic {
    let what = "a map is what spec.validationTests was once; with the CRD of this version the API server drops the tests in it";
    Diagnostic::warning("basic", what)
        .at_field("spec.validationTests")
        .help("kubectl patch haptpl NAME --type merge -p '{\"spec\":{\"validationTests\":null}}', then apply a list")
}

fn required(spec: &HAProxyTemplateConfigSpec, problems: &mut Vec<Diagnostic>) {
    let mut missing = |field: &str, help: &str| {
        problems.push(
            Diagnostic::error("basic", format!("{field} is required"))
                .at_field(format!("spec.{field}"))
                .help(help),
        );
    };
    if spec.credentials_secret_ref.name.is_empty() {
        missing(
            "credentialsSecretRef.name",
            "Name the Secret with dataplane_username and dataplane_password",
        );
    }
    if spec.pod_selector.match_labels.is_empty() {
        missing(
            "podSelector.matchLabels",
            "Give at least one label of your HAProxy pods, for example app: haproxy",
        );
    }
    if spec.haproxy_config.is_none() {
        missing(
            "haproxyConfig.template",
            "Write the template of haproxy.cfg, or take it from the library base",
        );
    }
    if spec.watched_resources.is_empty() {
        missing("watchedResources", "Name at least one resource to watch, for example ingresses");
    }
    let known = LIBRARIES.each_ref().map(|library| library.name);
    for library in spec.libraries.iter().filter(|name| !known.contains(&name.as_str())) {
        problems.push(
            Diagnostic::error("basic", format!("there is no library {library:?}"))
                .at_field("spec.libraries")
                .help(format!("The libraries are {}", known.join(", "))),
        );
    }
    for (place, name) in spec.libraries.iter().enumerate() {
        let before = spec.libraries.get(..place).unwrap_or_default();
        let needs = library::find(name).map(|library| library.needs).unwrap_or_default();
        if needs.iter().any(|need| !before.iter().any(|known| known == need)) {
            let all = needs.iter().copied().chain([&**name]).collect::<Vec<_>>().join(", ");
            problems.push(
                Diagnostic::warning(
                    "basic",
                    format!("the library {name} needs {} before it", needs.join(" and ")),
                )
                .at_field("spec.libraries")
                .help(format!("Write libraries: [{all}]")),
            );
        }
    }
    engines(spec, problems);
}

/// The languages that templates say they are written in.
fn engines(spec: &HAProxyTemplateConfigSpec, problems: &mut Vec<Diagnostic>) {
    let frame = spec.haproxy_config.iter().map(|config| ("haproxyConfig".to_owned(), &config.engine));
    let sources = [
        ("templateSnippets", &spec.template_snippets),
        ("maps", &spec.maps),
        ("sslCertificates", &spec.ssl_certificates),
        ("crtLists", &spec.crt_lists),
    ];
    let sources = sources.into_iter().flat_map(|(field, named)| {
        named.iter().map(move |(name, source)| (format!("{field}.{name}"), &source.engine))
    });
    let files = spec.files.iter().map(|(name, file)| (format!("files.{name}"), &file.engine));
    let of_all = ("templatingSettings".to_owned(), &spec.templating_settings.engine);
    let all = std::iter::once(of_all).chain(frame).chain(sources).chain(files);
    for (field, engine) in all.filter_map(|(field, engine)| Some((field, engine.as_deref()?))) {
        if !TemplatingSettings::ENGINES.contains(&engine) {
            problems.push(
                Diagnostic::error("basic", format!("there is no template engine {engine:?}"))
                    .at_field(format!("spec.{field}.engine"))
                    .help("Use handlebars or jinja2"),
            );
        }
    }
}

fn ports(spec: &HAProxyTemplateConfigSpec, problems: &mut Vec<Diagnostic>) {
    let c = &spec.controller;
    let ports = [
        ("controller.healthzPort", c.healthz_port),
        ("controller.metricsPort", c.metrics_port),
        ("controller.debugPort", c.debug_port),
        ("controller.webhookPort", c.webhook_port),
    ];
    let mut users: BTreeMap<u16, Vec<&str>> = BTreeMap::new();
    for (field, port) in ports {
        if port != 0 {
            users.entry(port).or_default().push(field);
        }
    }
    for (port, fields) in users.iter().filter(|(_, fields)| fields.len() > 1) {
        let message = format!("port {port} is used by {}", fields.join(" and "));
        problems
            .push(Diagnostic::error("basic", message).at_field(format!("spec.{}", fields.join(", spec."))));
    }
    if spec.dataplane.port == 0 {
        problems.push(
            Diagnostic::error("basic", "port 0 cannot be connected to").at_field("spec.dataplane.port"),
        );
    }
}

fn durations(spec: &HAProxyTemplateConfigSpec, problems: &mut Vec<Diagnostic>) {
    let (d, l) = (&spec.dataplane, &spec.controller.leader_election);
    let mut read = |field: &str, interval: &Interval, may_be_zero: bool| match interval.duration() {
        Ok(duration) if may_be_zero || !duration.is_zero() => Some(duration),
        Ok(_) => {
            problems
                .push(Diagnostic::error("basic", "must be longer than 0").at_field(format!("spec.{field}")));
            None
        }
        Err(why) => {
            problems.push(Diagnostic::error("basic", why).at_field(format!("spec.{field}")));
            None
        }
    };
    read("debounce.quiet", &spec.debounce.quiet, true);
    read("debounce.maxWait", &spec.debounce.max_wait, true);
    read("dataplane.minDeploymentInterval", &d.min_deployment_interval, true);
    read("dataplane.driftPreventionInterval", &d.drift_prevention_interval, false);
    read("controller.massDeletionHold", &spec.controller.mass_deletion_hold, true);
    read("controller.hostHold", &spec.controller.host_hold, true);
    read("controller.reconcileInterval", &spec.controller.reconcile_interval, true);
    read("dataplane.deploymentTimeout", &d.deployment_timeout, false);
    let lease = read("controller.leaderElection.leaseDuration", &l.lease_duration, false);
    let renew = read("controller.leaderElection.renewDeadline", &l.renew_deadline, false);
    let retry = read("controller.leaderElection.retryPeriod", &l.retry_period, false);
    if let (Some(lease), Some(renew), Some(retry)) = (lease, renew, retry) {
        lease_order(lease, renew, retry, problems);
    }
}

/// A leader must have given up (renewDeadline) before another may take over (leaseDuration), after several tries.
fn lease_order(lease: Duration, renew: Duration, retry: Duration, problems: &mut Vec<Diagnostic>) {
    if !(retry < renew && renew < lease) {
        problems.push(
            Diagnostic::error("basic", "retryPeriod < renewDeadline < leaseDuration must hold")
                .at_field("spec.controller.leaderElection")
                .help("The defaults are 2s, 10s and 15s"),
        );
    }
}

fn levels(spec: &HAProxyTemplateConfigSpec, problems: &mut Vec<Diagnostic>) {
    let of_log = spec.logging.level.as_ref().map(|level| ("logging.level", level));
    let of_commentary =
        ("controller.eventCommentator.logLevel", &spec.controller.event_commentator.log_level);
    for (field, level) in of_log.into_iter().chain([of_commentary]) {
        if !["trace", "debug", "info", "warn", "error"].contains(&level.to_lowercase().as_str()) {
            let message = format!("{level:?} is not a log level");
            problems.push(
                Diagnostic::error("basic", message)
                    .at_field(format!("spec.{field}"))
                    .help("Use TRACE, DEBUG, INFO, WARN or ERROR"),
            );
        }
    }
}

fn watched(spec: &HAProxyTemplateConfigSpec, problems: &mut Vec<Diagnostic>) {
    for (name, watched) in &spec.watched_resources {
        let at = format!("spec.watchedResources.{name}");
        let groups = watched.api_version.split('/').count();
        if watched.api_version.is_empty() || groups > 2 {
            let message =
                format!("{:?} is not an API version like v1 or networking.k8s.io/v1", watched.api_version);
            problems.push(Diagnostic::error("basic", message).at_field(format!("{at}.apiVersion")));
        }
        if watched.resources.is_empty() || watched.resources.chars().any(|c| c.is_ascii_uppercase()) {
            problems.push(
                Diagnostic::error("basic", format!("{:?} is not a resource's plural name", watched.resources))
                    .at_field(format!("{at}.resources"))
                    .help("Write it as in URLs, for example ingresses or endpointslices; kubectl api-resources lists them"),
            );
        }
        if watched.index_by.is_empty() {
            problems.push(
                Diagnostic::error("basic", "indexBy needs at least one path")
                    .at_field(format!("{at}.indexBy"))
                    .help("Leave it out for [metadata.namespace, metadata.name]"),
            );
        }
        selectors(&at, watched, problems);
    }
}

/// The API server, too, refuses each list of objects by a selector that cannot be read.
fn selectors(at: &str, watched: &WatchedResource, problems: &mut Vec<Diagnostic>) {
    let selectors =
        [("labelSelector", &watched.label_selector), ("namespaceSelector", &watched.namespace_selector)];
    for (field, selector) in selectors.into_iter().filter_map(|(field, text)| Some((field, text.as_deref()?)))
    {
        if let Err(why) = LabelSelector::parse(selector) {
            problems.push(
                Diagnostic::error("basic", why.to_string())
                    .at_field(format!("{at}.{field}"))
                    .help("Write it as kubectl's -l: app=shop, tier in (web, api), !hidden"),
            );
        }
    }
}

/// File names become paths on the HAProxy pods: no name may leave its folder, no two may be the same file.
fn files(spec: &HAProxyTemplateConfigSpec, problems: &mut Vec<Diagnostic>) {
    let layout = match Layout::of(&spec.dataplane) {
        Ok(layout) => layout,
        Err(why) => {
            problems.push(Diagnostic::error("basic", why).at_field("spec.dataplane"));
            return;
        }
    };
    own_paths(spec, &layout, problems);
    let named = (spec.maps.keys().map(|n| ("maps", n, FileKind::Map)))
        .chain(spec.ssl_certificates.keys().map(|n| ("sslCertificates", n, FileKind::Certificate)))
        .chain(spec.crt_lists.keys().map(|n| ("crtLists", n, FileKind::CrtList)))
        .chain(spec.files.keys().map(|n| ("files", n, FileKind::General)));
    let mut seen: BTreeMap<String, String> = BTreeMap::new();
    for (list, name, kind) in named {
        let field = format!("spec.{list}.{name}");
        let plain = !name.is_empty()
            && !name.starts_with('.')
            && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_'));
        if !plain {
            problems.push(
                Diagnostic::error("basic", format!("{name:?} cannot be a file name"))
                    .at_field(&*field)
                    .help("Use letters, digits, '.', '-' and '_', not starting with '.'"),
            );
            continue;
        }
        if let Some(other) = seen.insert(layout.path(kind, name), field.clone()) {
            problems.push(
                Diagnostic::error("basic", format!("{field} and {other} would be the same file"))
                    .at_field(field),
            );
        }
    }
}

/// The Data Plane API stores files in one folder, under names that it chooses.
fn own_paths(spec: &HAProxyTemplateConfigSpec, layout: &Layout, problems: &mut Vec<Diagnostic>) {
    for (name, file) in &spec.files {
        let Some(path) = file.path.as_deref().filter(|_| layout.stored_by_api) else { continue };
        let last = path.rsplit_once('/').map_or(path, |(_, last)| last);
        let stored = layout.path(FileKind::General, last);
        if stored != path {
            problems.push(
                Diagnostic::error("basic", format!("the Data Plane API cannot store a file as {path:?}"))
                    .at_field(format!("spec.files.{name}.path"))
                    .help(format!("Leave it out, or make it {stored}")),
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn valid() -> Value {
        json!({
            "credentialsSecretRef": {"name": "creds"},
            "podSelector": {"matchLabels": {"app": "haproxy"}},
            "haproxyConfig": {"template": ""},
            "watchedResources": {"ingresses": {"apiVersion": "networking.k8s.io/v1", "resources": "ingresses"}},
        })
    }

    fn check(pointer: &str, value: Value, expected: &str) {
        let mut spec = valid();
        let (parent, field) = pointer.rsplit_once('/').unwrap();
        for part in parent.split('/').filter(|p| !p.is_empty()).scan(String::new(), |path, part| {
            let parent = path.clone();
            path.push('/');
            path.push_str(part);
            Some((parent, part.to_owned()))
        }) {
            let object = spec.pointer_mut(&part.0).unwrap().as_object_mut().unwrap();
            object.entry(part.1).or_insert_with(|| json!({}));
        }
        spec.pointer_mut(parent).unwrap().as_object_mut().unwrap().insert(field.into(), value);
        let said: Vec<String> =
            basic(&serde_json::from_value(spec).unwrap()).iter().map(ToString::to_string).collect();
        assert!(said.len() == 1 && said[0].contains(expected), "{pointer}: {said:#?}, not {expected:?}");
    }

    #[test]
    fn the_map_that_tests_were_once_is_a_warning_that_says_what_to_run() {
        for (tests, told) in
            [(json!({"a": {}}), true), (json!({}), true), (json!([]), false), (json!([{"name": "a"}]), false)]
        {
            let mut spec = valid();
            spec["validationTests"] = tests.clone();
            let problems = basic(&serde_json::from_value(spec).unwrap());
            let said: Vec<String> = problems.iter().map(ToString::to_string).collect();
            assert_eq!(
                said.iter().any(|s| s.contains("kubectl patch haptpl NAME")),
                told,
                "{tests}: {said:?}"
            );
        }
    }

    #[test]
    fn the_list_that_allow_was_once_is_a_warning_that_says_how_it_is_written() {
        check("/allow", json!(["Lua", "HostNames"]), "allow: {features: [Lua, HostNames]}");
    }

    #[test]
    fn a_valid_configuration_has_no_problem() {
        assert_eq!(basic(&serde_json::from_value(valid()).unwrap()), []);
    }

    #[test]
    fn each_bad_field_is_named() {
        check("/podSelector/matchLabels", json!({}), "podSelector.matchLabels is required");
        check("/watchedResources", json!({}), "spec.watchedResources");
        check(
            "/controller/healthzPort",
            json!(9090),
            "port 9090 is used by controller.healthzPort and controller.metricsPort",
        );
        check("/debounce/quiet", json!("soon"), "\"soon\" is not a duration");
        check("/dataplane/driftPreventionInterval", json!("0s"), "must be longer than 0");
        check("/controller/leaderElection", json!({"renewDeadline": "20s"}), "retryPeriod < renewDeadline");
        check("/logging/level", json!("LOUD"), "LOUD");
        check("/watchedResources/x", json!({"apiVersion": "v1", "resources": "Secret"}), "plural name");
        check("/watchedResources/x", json!({"apiVersion": "a/b/c", "resources": "secrets"}), "API version");
        let selecting = |field: &str| {
            let mut watched = json!({"apiVersion": "v1", "resources": "secrets"});
            watched[field] = json!("role in (web");
            watched
        };
        for field in ["labelSelector", "namespaceSelector"] {
            check("/watchedResources/x", selecting(field), &format!("spec.watchedResources.x.{field}"));
            check("/watchedResources/x", selecting(field), "needs a closing");
        }
        check("/maps", json!({"../host.map": {"template": ""}}), "cannot be a file name");
        check("/dataplane/mapsDir", json!("/var/lib/maps"), "must be a folder below");
        check("/libraries", json!(["nonesuch"]), "no library \"nonesuch\"");
        check("/libraries", json!(["ingress"]), "the library ingress needs base and ssl before it");
        check("/libraries", json!(["ssl", "base"]), "Write libraries: [base, ssl]");
        check("/templatingSettings/engine", json!("jinja"), "no template engine");
        check("/haproxyConfig/engine", json!("go"), "no template engine \"go\"");
        let mut spec = valid();
        spec["templatingSettings"] = json!({"engine": "jinja2"});
        assert_eq!(basic(&serde_json::from_value(spec).unwrap()), []);
    }

    #[test]
    fn a_path_that_the_data_plane_api_cannot_store_is_refused() {
        let mut spec = valid();
        spec["dataplane"] = json!({"transport": "dataplaneapi"});
        spec["files"] = json!({"a.http": {"template": "", "path": "/etc/haproxy/general/a.http"}});
        assert_eq!(basic(&serde_json::from_value(spec.clone()).unwrap()), []);
        spec["files"]["a.http"]["path"] = json!("/etc/haproxy/errors/a.http");
        let said = basic(&serde_json::from_value(spec).unwrap());
        assert!(
            said.len() == 1 && said[0].to_string().contains("make it /etc/haproxy/general/a.http"),
            "{said:?}"
        );
    }

    #[test]
    fn a_certificate_and_a_crt_list_of_one_name_are_refused() {
        let mut spec = valid();
        spec["sslCertificates"] = json!({"a.txt": {"template": ""}});
        spec["crtLists"] = json!({"a.txt": {"template": ""}});
        let said = basic(&serde_json::from_value(spec).unwrap());
        assert!(said[0].to_string().contains("same file"), "{said:?}");
    }
}
