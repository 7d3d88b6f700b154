//! Values in general files are encoded for what haproxy.cfg makes of the file, or refused.

use crate::support::{Setup, all};
use haptic_model::{Bundle, Fleet};
use haptic_render::{Checked, RenderJob, RenderLimits, Renderer};
use serde_json::json;

const ANSWER: &str = "  http-request return status 200 content-type text/plain ";

/// A general file of that template, and a haproxy.cfg that reads it by `how`.
fn setup(how: &str, file: &str, value: &str) -> Setup {
    let each = format!("{{{{#each (list \"ingresses\") as |i|}}}}\n{file}\n{{{{/each}}}}");
    Setup::new(&format!("global\nlisten x\n{how}\n")).with("files", json!({"f": {"template": each}})).ingress(
        "default",
        "evil",
        value,
        &[],
    )
}

fn content(bundle: &Bundle) -> String {
    let file = bundle.all().find(|file| &*file.path == "general/f").expect("the file");
    file.text.to_string()
}

#[test]
fn what_would_be_more_than_a_value_in_a_file_is_refused() {
    let value = "{{i.spec.rules.0.host}}";
    for (how, file, hostile, told) in [
        (format!("{ANSWER}lf-file general/f"), value, "%[env(HOME)]", "Write {{lf VALUE}}"),
        (format!("{ANSWER}lf-file general/f"), "%{{i.spec.rules.0.host}}", "ci", "Write the whole variable"),
        (
            format!("{ANSWER}lf-file general/f"),
            "%[str({{i.spec.rules.0.host}})]",
            "a),env(HOME",
            "{{arg VALUE}}",
        ),
        (format!("{ANSWER}lf-file general/f"), "%[{{i.spec.rules.0.host}}]", "src", "name a fetch"),
        ("  acl x src -f general/f".into(), value, "10.0.0.1\n0.0.0.0/0", "control character"),
        ("  acl x src -f general/f".into(), value, "# x", "comment"),
        ("  acl x src -f general/f".into(), value, "", "Leave the line out"),
        ("  acl x src -f general/f".into(), "{{i.spec.rules.0.host}} x", "", "cuts blanks"),
        ("  acl x src -f general/f".into(), value, " x", "cuts blanks"),
        (
            "  use_backend %[path,map(general/f)]".into(),
            "{{i.spec.rules.0.host}} x",
            "a b",
            "ends at its first blank",
        ),
        ("  bind :1 ssl crt-list general/f".into(), "a.pem {{i.spec.rules.0.host}}", "*", "every host's"),
        (".if true\n  lua-load general/f\n.endif".into(), "x = \"{{i.spec.rules.0.host}}\"", "a", "set-var"),
        ("  filter spoe engine e config general/f".into(), value, "x", "HAProxy executes"),
        (format!("{ANSWER}file general/f\n  acl x src -f general/f"), value, "x", "HAProxy executes"),
    ] {
        let errors = setup(&how, file, hostile).errors();
        for part in ["object ingresses default/evil", "template f:2", told] {
            assert!(errors.contains(part), "{how}: {errors}\nlacks {part}");
        }
    }
}

#[test]
fn a_body_that_haproxy_would_not_send_is_refused() {
    let long = "x".repeat(15_361);
    for how in ["file", "lf-file"] {
        let said = setup(&format!("{ANSWER}{how} general/f"), "{{i.spec.rules.0.host}}", &long).errors();
        assert!(said.contains("longer than 15360 bytes") && said.contains("default/evil"), "{said}");
    }
    let unread =
        setup("", "{{i.spec.rules.0.host}}", &long).bundle().unwrap_or_else(|e| panic!("{}", all(&e)));
    assert!(content(&unread.0).contains(&long));
}

#[test]
fn what_is_only_a_value_is_written_as_it_is() {
    for (how, file, value, written) in [
        (format!("{ANSWER}lf-file general/f"), "a {{lf i.spec.rules.0.host}}", "50% \"x\"", "a 50%% \"x\"\n"),
        (format!("{ANSWER}file general/f"), "{{i.spec.rules.0.host}}", "%[src]\n", "%[src]\n\n"),
        ("  acl x src -f general/f".into(), "{{i.spec.rules.0.host}}", "a b", "a b\n"),
        (".if true\n  lua-load general/f\n.endif".into(), "x = {{i.spec.rules.0.host}}", "17", "x = 17\n"),
    ] {
        let bundle = setup(&how, file, value).bundle().unwrap_or_else(|e| panic!("{how}: {}", all(&e))).0;
        assert_eq!(content(&bundle), written, "{how}");
    }
}

#[test]
fn a_file_that_a_template_adds_is_read_in_its_way_too() {
    for (how, refused) in [("file", false), ("lf-file", true)] {
        let rule = format!("{ANSWER}{how} {{{{add_file \"file\" \"f\" i.spec.rules.0.host}}}}");
        let template =
            format!("global\nlisten x\n{{{{#each (list \"ingresses\") as |i|}}}}\n{rule}\n{{{{/each}}}}\n");
        let setup = Setup::new(&template).ingress("default", "evil", "%[env(HOME)]", &[]);
        assert_eq!(setup.bundle().is_err(), refused, "{how}");
    }
}

#[test]
fn a_file_is_written_anew_when_it_is_read_in_another_way() {
    let of = |how: &str| {
        let reads = format!(
            "global\nlisten x\n{ANSWER}{{{{#if (has (first (list \"services\")) \"metadata.labels\")}}}}lf-file{{{{else}}}}file{{{{/if}}}} general/f\n"
        );
        let service = match how {
            "lf-file" => json!({"metadata": {"namespace": "n", "name": "s", "labels": {}}}),
            _ => json!({"metadata": {"namespace": "n", "name": "s"}}),
        };
        setup("", "{{i.spec.rules.0.host}}", "%[env(HOME)]")
            .with("haproxyConfig/template", json!(reads))
            .object("services", "n", "s", &["n", "s"], service)
    };
    let (plain, format) = (of("file"), of("lf-file"));
    let (compiled, config) = (plain.compile().unwrap(), plain.config());
    let mut renderer = Renderer::checked(Checked::Always);
    for (stores, refused) in [(&plain, false), (&format, true), (&plain, false), (&format, true)] {
        let rendered = renderer.render(&RenderJob {
            compiled: &compiled,
            config: &config,
            snapshots: &stores.snapshots(),
            fleet: &Fleet::default(),
            limits: &RenderLimits::default(),
        });
        assert_eq!(rendered.is_err(), refused, "{rendered:?}");
        assert_eq!(renderer.take_difference(), None);
    }
}
