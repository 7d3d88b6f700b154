//! What a scrape shows of events.

use std::sync::LazyLock;

use haptic_model::{
    Finding, FindingKind, Limit, LimitReached, ObjectRef,
    event::ConfigName,
    figure::{CachingStage, TimedPart, WaitingStage},
    limits::Crowded,
    pipeline::Cause,
};
use metrics_exporter_prometheus::PrometheusBuilder;

use super::*;

fn scrape(events: &[Event]) -> String {
    let exporter = PrometheusBuilder::new().build_recorder();
    metrics::with_local_recorder(&exporter, || {
        describe();
        let mut recorder = MetricsRecorder::new();
        events.iter().for_each(|event| recorder.record(event));
    });
    exporter.handle().render()
}

/// What is found in a cluster without faults.
static NOTHING: LazyLock<Findings> = LazyLock::new(Findings::default);

fn now(events: &Events) -> Now<'_> {
    Now { events, actors: &[], leads: true, held_back: 0, findings: &NOTHING }
}

fn deployed(reload: Option<&str>) -> Event {
    Event::Deployed {
        generation: Generation(1),
        pod: "default/haproxy-0".into(),
        reload: reload.map(str::to_owned),
        reload_kind: reload.map(|_| "configuration"),
        operations: 1,
        files: 0,
        took: Duration::from_millis(40),
        lag: Some(Duration::from_millis(90)),
    }
}

fn has(scrape: &str, line: &str) {
    assert!(scrape.lines().any(|found| found == line), "no line `{line}` in\n{scrape}");
}

#[test]
fn a_generation_is_counted_from_reconcile_to_pod() {
    let generation = Generation(1);
    let text = scrape(&[
        Event::ReconcileStarted { generation, cause: Cause::default(), waited: Duration::ZERO },
        Event::Rendered {
            generation,
            bytes: 9,
            files: 1,
            digest: haptic_text::Digest::of(b"x"),
            took: Duration::from_millis(500),
            kept: 0,
            printed: 0,
            uncacheable: BTreeMap::new(),
        },
        Event::Validated { generation, configuration: 1, took: Duration::from_millis(250), cached: false },
        deployed(None),
        deployed(Some("a bind changed")),
    ]);
    has(&text, "haptic_reconciliation_total 1");
    has(&text, "haptic_reconciliation_duration_seconds_sum 0.75");
    has(&text, "haptic_validation_total 1");
    has(&text, "haptic_deployment_total 2");
    has(&text, "haptic_deployment_duration_seconds_count 2");
    has(&text, r#"haptic_reloads_total{reason="configuration"} 1"#);
    has(&text, r#"haptic_stage_duration_seconds_sum{stage="render"} 0.5"#);
    has(&text, r#"haptic_stage_duration_seconds_count{stage="deploy"} 2"#);
}

#[test]
fn failures_count_as_attempts_and_as_errors() {
    let generation = Generation(1);
    let text = scrape(&[
        Event::RenderFailed { generation, configuration: 1, diagnostics: Vec::new() },
        Event::ValidationFailed {
            generation,
            configuration: 1,
            diagnostics: Vec::new(),
            took: Duration::ZERO,
        },
        Event::DeployFailed {
            generation,
            pod: "default/haproxy-0".into(),
            message: "refused".into(),
            retry_in: Duration::from_secs(1),
        },
        Event::ActorRestarted {
            actor: "deploy default/haproxy-0".into(),
            reason: "boom".into(),
            restarts: 1,
        },
        Event::ActorRestarted { actor: "render".into(), reason: "boom".into(), restarts: 1 },
    ]);
    has(&text, "haptic_reconciliation_errors_total 2");
    has(&text, "haptic_validation_total 1");
    has(&text, "haptic_validation_errors_total 1");
    has(&text, "haptic_deployment_total 1");
    has(&text, "haptic_deployment_errors_total 1");
    has(&text, r#"haptic_actor_restarts_total{actor="deploy"} 1"#);
    has(&text, r#"haptic_actor_restarts_total{actor="render"} 1"#);
}

#[test]
fn a_store_is_shown_at_its_size_and_no_longer_than_it_is_there() {
    let scraped = |stores: &[(&str, usize)]| {
        store_sizes(stores.iter().map(|(name, count)| ((*name).to_owned(), *count)))
    };
    has(&scraped(&[("extra", 1), ("ingresses", 5)]), r#"haptic_resource_count{type="extra"} 1"#);
    let text = scraped(&[("ingresses", 5)]);
    has(&text, r#"haptic_resource_count{type="ingresses"} 5"#);
    assert!(!text.contains("extra"), "{text}");
    let size = Event::StoreSize { resource: "extra".into(), objects: 1 };
    assert!(!scrape(&[size]).contains("haptic_resource_count"), "what events tell stays for ever");
}

#[test]
fn who_leads_what_is_held_back_and_what_is_found_is_known_though_every_event_is_lost() {
    let exporter = exporter();
    let (events, _kept) = haptic_runtime::Outbox::channel(1);
    let mut found = Findings::default();
    let web = Arc::new(ObjectRef::new("ingresses", "shop", "web"));
    found.set(&web, vec![Finding::new(FindingKind::ServiceMissing, "Service web is not there")]);
    let scraped = |leads, held_back| {
        let findings = if leads { &found } else { &*NOTHING };
        let now = Now { events: &events, actors: &[], leads, held_back, findings };
        metrics::with_local_recorder(&exporter, || record_now(&now));
        exporter.handle().render()
    };
    let text = scraped(true, 3);
    has(&text, "haptic_leader 1");
    has(&text, "haptic_quarantined_objects 3");
    has(&text, r#"haptic_findings{kind="service_missing"} 1"#);
    let text = scraped(false, 0);
    has(&text, "haptic_leader 0");
    has(&text, "haptic_quarantined_objects 0");
    has(&text, r#"haptic_findings{kind="service_missing"} 0"#);
}

fn crowded(resource: &Arc<str>, namespace: &str) -> LimitReached {
    let crowded = Crowded { by: Limit::StoreBytes, most: 1, rejected: 1 };
    LimitReached::Namespace { resource: resource.clone(), namespace: namespace.into(), crowded }
}

#[test]
fn what_is_left_out_is_a_gauge_for_each_limit_and_reaching_one_counts() {
    let left_out = |count| Event::LeftOut {
        resource: "ingresses".into(),
        counts: Limit::OF_STORES.map(|limit| (limit, if limit == Limit::StoreBytes { count } else { 0 })),
    };
    let reached = Event::LimitReached { reached: crowded(&"ingresses".into(), "junk") };
    let text = scrape(&[left_out(9000), reached, left_out(7)]);
    has(&text, r#"haptic_left_out_objects{type="ingresses",limit="storeBytes"} 7"#);
    has(&text, r#"haptic_left_out_objects{type="ingresses",limit="objectBytes"} 0"#);
    has(&text, r#"haptic_limits_reached_total{limit="storeBytes"} 1"#);
    let too_long = haptic_model::Diagnostic::error("render", "too long").at_field(Limit::MapEntries.field());
    let text = scrape(&[Event::RenderFailed {
        generation: Generation(1),
        configuration: 1,
        diagnostics: vec![too_long],
    }]);
    has(&text, r#"haptic_limits_reached_total{limit="mapEntries"} 1"#);
    has(&text, r#"haptic_limits_reached_total{limit="blockBytes"} 0"#);
}

/// Every event, each time with names of its own: ten times as many would make no other series.
fn everything_that_users_name() -> impl Iterator<Item = Event> {
    (0..1_000_u64).flat_map(|n| {
        let generation = Generation(n);
        let pod: Arc<str> = format!("default/haproxy-{n}").into();
        let object = Arc::new(haptic_model::ObjectRef::new("ingresses", "default", &format!("shop-{n}")));
        let resource: Arc<str> = format!("resource-{}", n % 8).into();
        let diagnostics = vec![haptic_model::Diagnostic::error("render", format!("wrong {n}"))];
        [
            Event::ReconcileStarted { generation, cause: Cause::default(), waited: Duration::ZERO },
            Event::Timed { part: TimedPart::Debounce, generation, pod: None, took: Duration::ZERO },
            Event::Timed { part: TimedPart::Agent, generation, pod: Some(pod.clone()), took: Duration::ZERO },
            Event::Timed { part: TimedPart::Store, generation, pod: Some(pod.clone()), took: Duration::ZERO },
            Event::Timed { part: TimedPart::Syntax, generation, pod: None, took: Duration::ZERO },
            Event::Timed { part: TimedPart::Search, generation, pod: None, took: Duration::ZERO },
            Event::Planned {
                generation,
                pod: pod.clone(),
                kind: "reload",
                operations: 1,
                took: Duration::ZERO,
            },
            Event::Waited { stage: WaitingStage::Render, took: Duration::ZERO },
            Event::Waited { stage: WaitingStage::Validate, took: Duration::ZERO },
            rendered(&[(&format!("template-{n}"), 1)]),
            Event::RenderFailed { generation, configuration: 1, diagnostics: diagnostics.clone() },
            Event::Validated { generation, configuration: 1, took: Duration::ZERO, cached: false },
            Event::ConfigRejected {
                name: ConfigName::Own(format!("default/{n}").into()),
                diagnostics,
                asked: Default::default(),
            },
            deployed(Some(&format!("backend b{n} is new"))),
            Event::DeployFailed {
                generation,
                pod: pod.clone(),
                message: format!("no {n}"),
                retry_in: Duration::ZERO,
            },
            Event::DriftFound { pod: pod.clone(), what: format!("server s{n}") },
            Event::PodDiscovered { pod: pod.clone() },
            Event::PodGone { pod: pod.clone() },
            Event::LeftOut { resource: resource.clone(), counts: Limit::OF_STORES.map(|limit| (limit, 1)) },
            Event::LimitReached { reached: crowded(&resource, &format!("namespace-{n}")) },
            Event::ObjectMalformed { object, message: String::new() },
            Event::WatchFailed { resource: resource.clone(), message: format!("{n}") },
            Event::StoreSize { resource, objects: 1 },
            Event::ActorRestarted {
                actor: format!("deploy {pod}").into(),
                reason: String::new(),
                restarts: 1,
            },
            Event::ElectionTroubled { lease: "l".into(), why: Some(format!("{n}")) },
            Event::LeadershipChanged { leads: n % 2 == 0, why: None },
            Event::Kept { by: CachingStage::Render, bytes: 1 },
            Event::Kept { by: CachingStage::Syntax, bytes: 1 },
        ]
    })
}

/// With the buckets of the table, as the server has them.
fn exporter() -> metrics_exporter_prometheus::PrometheusRecorder {
    let mut builder = PrometheusBuilder::new();
    for metric in METRICS {
        if let MetricType::Histogram(bounds) = metric.kind {
            let name = metrics_exporter_prometheus::Matcher::Full(metric.name.to_owned());
            builder = builder.set_buckets_for_metric(name, bounds).expect("bounds");
        }
    }
    builder.build_recorder()
}

#[test]
fn whatever_users_name_there_are_less_than_600_series() {
    let exporter = exporter();
    let (events, _kept) = haptic_runtime::Outbox::channel(1);
    metrics::with_local_recorder(&exporter, || {
        describe();
        let mut recorder = MetricsRecorder::new();
        everything_that_users_name().for_each(|event| recorder.record(&event));
        record_now(&now(&events));
        for resource in ["ingresses", "services", "secrets", "configuration", "other"] {
            for verdict in ["allowed", "denied", "unjudged"] {
                let labels = [("resource", resource), ("verdict", verdict)];
                counter!(table::WEBHOOK_REQUESTS_TOTAL.name, &labels).increment(1);
            }
            histogram!(table::WEBHOOK_DURATION_SECONDS.name, "resource" => resource).record(0.1);
        }
        waited("observe", Duration::ZERO);
    });
    let lags = pod_lags((0..20).map(|n| (format!("d/{n}"), Duration::ZERO)));
    let page =
        exporter.handle().render() + &lags + &store_sizes((0..9).map(|n| (format!("resource-{n}"), n)));
    let series = page.lines().filter(|line| !line.starts_with('#') && !line.is_empty()).count();
    assert!((300..600).contains(&series), "{series} series\n{page}");
}

#[test]
fn every_metric_that_is_recorded_is_in_the_table_with_its_labels_and_type() {
    let exporter = exporter();
    let (events, _kept) = haptic_runtime::Outbox::channel(1);
    metrics::with_local_recorder(&exporter, || {
        let mut recorder = MetricsRecorder::new();
        everything_that_users_name().take(100).for_each(|event| recorder.record(&event));
        record_now(&now(&events));
    });
    let page = exporter.handle().render()
        + &pod_lags([("d/p".to_owned(), Duration::ZERO)])
        + &store_sizes([("ingresses".to_owned(), 1)]);
    let mut families = 0;
    for line in page.lines().filter_map(|line| line.strip_prefix("# TYPE ")) {
        let (name, kind) = line.split_once(' ').expect("a type");
        let metric = METRICS.iter().find(|metric| metric.name == name).unwrap_or_else(|| panic!("no {name}"));
        let declared = match metric.kind {
            MetricType::Counter => "counter",
            MetricType::Gauge => "gauge",
            MetricType::Histogram(_) => "histogram",
        };
        assert_eq!(kind, declared, "{name}");
        let series = page.lines().filter(|line| line.starts_with(&format!("{name}{{")));
        for label in series.flat_map(|line| line.split(['{', ',', '}']).skip(1)) {
            let Some((label, value)) = label.split_once("=\"") else { continue };
            let declared = metric.labels.iter().find(|declared| declared.name == label);
            let declared = declared.unwrap_or_else(|| panic!("{name} has no label {label}"));
            if let LabelValues::These(values) = declared.values {
                assert!(values.contains(&value.trim_end_matches('"')), "{name}: no {label} {value}");
            }
        }
        families += 1;
    }
    assert!(families >= 29, "only {families}");
}

#[test]
fn names_follow_the_conventions() {
    let mut names = std::collections::BTreeSet::new();
    for Metric { name, kind, help, .. } in METRICS {
        assert!(names.insert(name), "{name} is there twice");
        assert!(name.starts_with("haptic_") && !help.is_empty() && !help.ends_with('.'), "{name}");
        assert_eq!(*kind == MetricType::Counter, name.ends_with("_total"), "{name}");
        assert!(!matches!(kind, MetricType::Histogram(_)) || name.ends_with("_seconds"), "{name}");
    }
}

#[test]
fn counters_with_known_labels_are_there_before_anything_happens() {
    let text = scrape(&[]);
    has(&text, "haptic_deployment_errors_total 0");
    has(&text, r#"haptic_reloads_total{reason="drift"} 0"#);
}

fn rendered(uncacheable: &[(&str, usize)]) -> Event {
    Event::Rendered {
        generation: Generation(1),
        bytes: 9,
        files: 1,
        digest: haptic_text::Digest::of(b"x"),
        took: Duration::from_millis(500),
        kept: 0,
        printed: 0,
        uncacheable: uncacheable.iter().map(|(template, count)| (Arc::from(*template), *count)).collect(),
    }
}

#[test]
fn blocks_that_cannot_be_kept_are_shown_by_template_until_there_are_none() {
    let text = scrape(&[rendered(&[("host.map", 3), ("haproxyConfig", 1)]), rendered(&[("host.map", 4)])]);
    has(&text, r#"haptic_render_untracked_blocks{template="host.map"} 4"#);
    has(&text, r#"haptic_render_untracked_blocks{template="haproxyConfig"} 0"#);
    let many: Vec<String> = (0..1000).map(|n| format!("t{n:04}")).collect();
    let many: Vec<(&str, usize)> = many.iter().map(|name| (name.as_str(), 1)).collect();
    let text = scrape(&[rendered(&many)]);
    has(&text, r#"haptic_render_untracked_blocks{template="other"} 936"#);
}

#[test]
fn parts_of_stages_are_timed_and_what_they_keep_is_counted() {
    let text = scrape(&[
        Event::Planned {
            generation: Generation(1),
            pod: "default/haproxy-0".into(),
            kind: "runtime",
            operations: 2,
            took: Duration::from_millis(250),
        },
        Event::Kept { by: CachingStage::Syntax, bytes: 9 },
        Event::Kept { by: CachingStage::Syntax, bytes: 7 },
    ]);
    has(&text, r#"haptic_stage_duration_seconds_sum{stage="plan"} 0.25"#);
    has(&text, r#"haptic_kept_bytes{by="syntax"} 7"#);
}

#[test]
fn each_pod_that_is_there_shows_its_lag() {
    let text = pod_lags([("default/haproxy-0".to_owned(), Duration::from_millis(90))]);
    has(&text, r#"haptic_pod_convergence_lag_seconds{pod="default/haproxy-0"} 0.09"#);
    assert_eq!(pod_lags([]).lines().count(), 2);
}

#[test]
fn outbox_and_fleet_are_read_at_each_scrape() {
    let (events, _kept) = haptic_runtime::Outbox::channel(1);
    let exporter = PrometheusBuilder::new().build_recorder();
    for _ in 0..3 {
        events.emit(Event::CredentialsChanged);
    }
    metrics::with_local_recorder(&exporter, || record_now(&now(&events)));
    let text = exporter.handle().render();
    has(&text, "haptic_event_subscribers 1");
    has(&text, "haptic_events_published_total 3");
    has(&text, r#"haptic_events_dropped_total{observer="(by hand)"} 2"#);
}
