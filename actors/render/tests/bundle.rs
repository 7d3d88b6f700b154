//! Whole bundles: the same input gives the same bytes, unchanged pieces stay the same memory.

use crate::support::Setup;
use haptic_model::Fleet;
use haptic_render::{RenderJob, RenderLimits, Renderer};
use haptic_text::Fragment;
use serde_json::json;

const CONFIG: &str = r#"global
    maxconn {{limits.maxconn}}

frontend http
    bind :80
    use_backend %[req.hdr(host),lower,map({{file_path "host.map" "map"}})]
{{#each (list "ingresses") as |ing|}}
  {{#each ing.spec.rules as |rule|}}
    {{#each rule.http.paths as |p|}}

backend {{proxy_name ing.metadata.namespace p.backend.service.name}}
    # {{get ing "metadata.annotations.[haproxy.org/note]" "none"}}
      {{#each (fetch "endpoints" ing.metadata.namespace p.backend.service.name) as |slice|}}
        {{> servers slice=slice}}
      {{/each}}
    {{/each}}
  {{/each}}
{{/each}}"#;

const SERVERS: &str = r#"{{#each slice.endpoints as |e|}}
{{#let_nothing}}{{/let_nothing}}
{{/each}}"#;

fn world(order: &[&str]) -> Setup {
    let servers = SERVERS.replace(
        "{{#let_nothing}}{{/let_nothing}}",
        "server {{first e.addresses}}_{{slice.ports.0.port}} {{first e.addresses}}:{{slice.ports.0.port}}",
    );
    let mut setup = Setup::new(CONFIG)
        .extra(json!({"limits": {"maxconn": 2000}}))
        .snippet("servers", &servers)
        .map("host.map", "{{#each (list \"ingresses\") as |ing|}}\n{{ing.spec.rules.0.host}} {{proxy_name ing.metadata.namespace ing.metadata.name}}\n{{/each}}\n");
    for name in order {
        setup = setup.ingress("default", name, &format!("{name}.example"), &[("/", name)]).endpoints(
            "default",
            name,
            1,
            &["10.0.0.1", "10.0.0.2"],
        );
    }
    setup
}

#[test]
fn a_configuration_renders_to_exactly_these_bytes() {
    let (bundle, warnings) =
        world(&["shop"]).bundle().unwrap_or_else(|e| panic!("{}", crate::support::all(&e)));
    assert_eq!(
        bundle.config.text.to_string(),
        "global\n    maxconn 2000\n\nfrontend http\n    bind :80\n    use_backend %[req.hdr(host),lower,map(maps/host.map)]\n\nbackend default_shop\n    # x\n        server 10.0.0.1_8080 10.0.0.1:8080\n        server 10.0.0.2_8080 10.0.0.2:8080\n"
    );
    assert_eq!(bundle.files["maps/host.map"].text.to_string(), "shop.example default_shop\n");
    assert!(warnings.is_empty());
}

#[test]
fn the_same_objects_give_the_same_bytes_whatever_came_first() {
    let names = ["a", "b", "c", "d", "e", "f", "g", "h"];
    let mut shuffled = names;
    shuffled.reverse();
    shuffled.swap(1, 5);
    let first = world(&names).bundle().unwrap().0;
    for _ in 0..3 {
        assert_eq!(world(&shuffled).bundle().unwrap().0.digest, first.digest);
    }
}

#[test]
fn unchanged_objects_keep_their_fragments_between_generations() {
    let before = world(&["a", "b", "c"]);
    let after = world(&["a", "b", "c"]).endpoints("default", "b", 1, &["10.9.9.9"]);
    let compiled = before.compile().unwrap();
    let mut renderer = Renderer::default();
    let mut render = |setup: &Setup| {
        renderer
            .render(&RenderJob {
                compiled: &compiled,
                config: &setup.config(),
                snapshots: &setup.snapshots(),
                fleet: &Fleet::default(),
                limits: &RenderLimits::default(),
            })
            .unwrap()
            .bundle
    };
    let (old, new) = (render(&before), render(&after));
    let changed: Vec<&str> = new
        .config
        .text
        .fragments()
        .iter()
        .filter(|f| !old.config.text.fragments().iter().any(|o| f.same(o)))
        .map(Fragment::as_str)
        .collect();
    assert_eq!(changed, ["\nbackend default_b\n    # x\n        server 10.9.9.9_8080 10.9.9.9:8080\n"]);
}

#[test]
fn a_missing_line_end_is_added_to_haproxy_cfg_only() {
    let setup = Setup::new("global").map("m", "a b");
    let (bundle, _) = setup.bundle().unwrap();
    assert_eq!(bundle.config.text.to_string(), "global\n");
    assert_eq!(bundle.files["maps/m"].text.to_string(), "a b");
}

#[test]
fn a_configuration_without_haproxy_cfg_is_an_error() {
    let mut setup = Setup::new("");
    setup.spec.as_object_mut().unwrap().remove("haproxyConfig");
    assert!(setup.errors().contains("haproxyConfig.template"));
}
