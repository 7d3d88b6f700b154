//! What a render makes of names, and of what names lead to a moment later.

use crate::support::Setup;
use haptic_model::{
    Fleet, Snapshot,
    external_names::{ExternalNames, Resolved, STORE, store},
};
use haptic_render::{Checked, RenderJob, Renderer};
use serde_json::json;
use std::sync::Arc;

const TEMPLATE: &str = "\
{{#each (list \"services\") as |s|}}
backend {{proxy_name s.metadata.name}}
{{#each (servers \"services\" \"endpoints\" s.metadata.namespace s.metadata.name 80) as |server|}}
  server {{server.name}} {{server.address}}:{{server.port}}
{{/each}}
{{/each}}
";

fn setup() -> Setup {
    let external = |setup: Setup, name: &str| {
        let object = json!({"metadata": {"namespace": "a", "name": name},
            "spec": {"type": "ExternalName", "externalName": format!("{name}.example")}});
        setup.object("services", "a", name, &["a", name], object)
    };
    external(external(Setup::new(TEMPLATE), "one"), "two")
}

fn names(of_one: &[&str]) -> ExternalNames {
    let to = |addresses: &[&str]| Resolved {
        addresses: addresses.iter().map(|a| a.parse().unwrap()).collect(),
        why: String::new(),
    };
    [("one.example".into(), to(of_one)), ("two.example".into(), to(&["10.0.0.2"]))].into()
}

#[test]
fn where_a_name_leads_is_judged_each_time_and_costs_its_own_service_alone() {
    let setup = setup();
    let (config, limits) = (setup.config(), setup.limits);
    let compiled = setup.compile().unwrap_or_else(|e| panic!("{}", crate::support::all(&e)));
    let mut renderer = Renderer::checked(Checked::Never);
    let mut known = Snapshot::full();
    let mut render = |of_one: &[&str]| {
        known = store(known.clone(), &names(of_one));
        let snapshots = setup.snapshots().with(STORE.into(), Arc::new(known.clone()));
        let rendering = renderer
            .render(&RenderJob {
                compiled: &compiled,
                config: &config,
                snapshots: &snapshots,
                fleet: &Fleet::default(),
                limits: &limits,
            })
            .unwrap();
        (rendering.bundle.config.text.to_string(), crate::support::all(&rendering.warnings))
    };
    let two = "backend two\n  server 10.0.0.2_80 10.0.0.2:80\n";
    let (text, warnings) = render(&["10.0.0.1"]);
    assert_eq!((text, &*warnings), (format!("backend one\n  server 10.0.0.1_80 10.0.0.1:80\n{two}"), ""));
    let (text, warnings) = render(&["10.0.0.1", "169.254.169.254", "fd00:ec2::254"]);
    assert_eq!(text, format!("backend one\n  server 10.0.0.1_80 10.0.0.1:80\n{two}"));
    for said in
        ["services a/one", "169.254.169.254 port 80", "fd00:ec2::254 port 80", "spec.allow.destinations"]
    {
        assert!(warnings.contains(said), "{said}: {warnings}");
    }
    assert!(!warnings.contains("a/two"), "{warnings}");
    let (text, _) = render(&["127.0.0.1"]);
    assert_eq!(text, format!("backend one\n{two}"));
    let (text, warnings) = render(&["10.0.0.3"]);
    assert_eq!((text, &*warnings), (format!("backend one\n  server 10.0.0.3_80 10.0.0.3:80\n{two}"), ""));
}
