//! What families say where no annotation does costs no reload for each new route.

use super::setups::ingress;
use crate::{
    around::service,
    site::{rendered_for_with, sentences, version_of},
};
use haptic_deploy::planner::{RunningView, plan};
use haptic_model::Capabilities;
use haptic_routes::families::Family;
use integration_tests::program::HaproxySeries;
use serde_json::{Value, json};

#[test]
fn a_new_route_takes_no_reload_whichever_family_reads_it() {
    let series = HaproxySeries::V3_4;
    for family in Family::ALL {
        let routes = |names: &[&str]| -> Vec<Value> {
            let of = |name: &&str| {
                let route = ingress(family, &format!("/{name}"), name, &[]);
                [route].into_iter().chain(service(name, "IPv4", 8080, &["127.0.3.4"])).collect::<Vec<_>>()
            };
            names.iter().flat_map(of).collect()
        };
        let read = |spec: &mut Value| {
            let libraries = spec["libraries"].as_array_mut().unwrap();
            libraries.push(json!(format!("annotations-{}", family.name())));
            spec["templatingSettings"]["extraContext"]["annotationFamilies"] = json!({ family.name(): {} });
        };
        let bundle = |names: &[&str]| {
            rendered_for_with(series, &routes(names), read)
                .unwrap_or_else(|problems| panic!("{}: {}", family.name(), sentences(&problems)))
                .0
        };
        let (one, two) = (bundle(&["one"]), bundle(&["one", "two"]));
        for (before, after) in [(&one, &two), (&two, &one)] {
            let plan = plan(&RunningView::of(before.clone()), after, Capabilities::of(version_of(series)));
            assert_eq!(plan.verdict.reload_reason(), None, "{}", family.name());
        }
    }
}
