//! `haptic render` and `haptic plan` with objects that cannot be used: the others are rendered, and the exit code tells.

use crate::{
    place::{Done, Place},
    plan::CONFIG,
};
use std::fs;

fn place() -> Place {
    let place = Place::new();
    let server = "        server {{";
    let refusing =
        "        {{#if (has service.spec \"port\")}}{{register_error service \"it has a port\"}}{{/if}}\n";
    place.write("config.yaml", &CONFIG.replace(server, &format!("{refusing}{server}")));
    service(&place, "good", "clusterIP: 10.0.0.1");
    place
}

fn service(place: &Place, name: &str, spec: &str) {
    let text = format!("apiVersion: v1\nkind: Service\nmetadata: {{name: {name}}}\nspec: {{{spec}}}\n");
    place.write(&format!("manifests/{name}.yaml"), &text);
}

fn render(place: &Place) -> Done {
    place.haptic(&["render", "-f", "config.yaml", "--resources", "manifests", "--out", "out"])
}

fn plan(place: &Place) -> Done {
    place.haptic(&["plan", "out", "-f", "config.yaml", "--resources", "manifests"])
}

#[test]
fn an_object_at_fault_is_left_out_and_told_without_a_word_of_controllers() {
    let place = place();
    render(&place).must(0, &[]);
    service(&place, "bad", "clusterIP: 10.0.0.2, port: 80");
    service(&place, "late", "clusterIP: 10.0.0.3");
    let done = render(&place);
    done.must_complain("render", 1, &["left out: it has a port", "services default/bad"]);
    for of_controllers in ["last good", "stays", "held back"] {
        assert!(!done.err.contains(of_controllers), "{}", done.err);
    }
    let rendered = fs::read_to_string(place.path().join("out/haproxy.cfg")).unwrap();
    assert!(rendered.contains("server late") && !rendered.contains("server bad"), "{rendered}");
    let done = plan(&place);
    done.must_complain("plan", 1, &["left out: it has a port"]);
    assert!(done.out.contains("no change"), "{}", done.out);
}

#[test]
fn a_manifest_that_cannot_be_read_is_no_success() {
    let place = place();
    place.write("manifests/b.yaml", "a: [");
    let validate = ["validate", "-f", "config.yaml", "--resources", "manifests"];
    for done in [render(&place), plan(&place), place.haptic(&validate)] {
        done.must_complain("a broken manifest", 1, &["manifests/b.yaml:1:", "correct the file"]);
        assert!(!done.err.contains("stays"), "{}", done.err);
    }
    assert!(place.path().join("out/haproxy.cfg").exists());
}

#[test]
fn a_kind_that_nobody_watches_is_told_and_no_mistake() {
    let place = place();
    place.write("manifests/d.yaml", "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: x}\n");
    render(&place).must_complain("render", 0, &["ignored: ", "d.yaml holds objects of kind Deployment"]);
}
