//! What is printed from a Secret's data is known, whatever templates made of it, and shown to nobody.

use crate::support::Setup;
use serde_json::json;

/// `opensesame` in Base64.
const ENCODED: &str = "b3BlbnNlc2FtZQ==";

fn setup(template: &str) -> Setup {
    let secret = json!({
        "kind": "Secret", "metadata": {"namespace": "a", "name": "s"},
        "data": {"password": ENCODED, "lines": "b25lCnR3bw=="},
    });
    Setup::new(template).object("secrets", "a", "s", &["a", "s"], secret)
}

/// haproxy.cfg as it may be shown.
fn shown(template: &str) -> String {
    let (bundle, _) = setup(template).bundle().unwrap_or_else(|e| panic!("{}", crate::support::all(&e)));
    bundle.config.text.shown()
}

#[test]
fn a_text_from_a_secret_is_hidden_whatever_a_template_made_of_it() {
    let cases = [
        ("{{s.data.password}}", "[redacted]"),
        ("{{b64decode s.data.password}}", "[redacted]"),
        ("{{get s \"data.password\"}}", "[redacted]"),
        ("{{upper (trim (b64decode s.data.password))}}", "[redacted]"),
        ("{{concat \"a\" (b64decode s.data.password)}}", "[redacted]"),
        ("{{sha256 s.data.password}}", "[redacted]"),
        ("{{len s.data.password}}", "[redacted]"),
        ("{{let p=(b64decode s.data.password)}}{{p}}", "[redacted]"),
        ("{{#with (b64decode s.data.password) as |p|}}{{p}}{{/with}}", "[redacted]"),
        (
            "{{#each (split (b64decode s.data.lines) \"\\n\") as |l|}}{{l}},{{/each}}",
            "[redacted],[redacted],",
        ),
        ("{{join (split (b64decode s.data.lines) \"\\n\") \"-\"}}", "[redacted]"),
        ("{{join (pluck (list \"secrets\") \"data.password\") \"-\"}}", "[redacted]"),
        ("{{#each s.data as |v k|}}{{k}}={{v}},{{/each}}", "lines=[redacted],password=[redacted],"),
        ("{{default s.data.nope s.data.password}}", "[redacted]"),
        ("{{json s}}", "[redacted]"),
        ("{{> show of=s.data.password}}", "[redacted]"),
        ("{{s.metadata.name}}", "s"),
        ("{{eq s.data.password \"x\"}}", "false"),
    ];
    for (template, expected) in cases {
        let template = format!(
            "#{{{{#with (get_single \"secrets\" \"a\" \"s\") as |s|}}}}{template}{{{{/with}}}} {{{{text}}}}\n"
        );
        let setup =
            |template: &str| setup(template).snippet("show", "{{of}}").extra(json!({"text": "plain"}));
        let (bundle, _) = setup(&template).bundle().unwrap_or_else(|e| panic!("{}", crate::support::all(&e)));
        assert_eq!(bundle.config.text.shown(), format!("#{expected} plain\n"), "{template}");
    }
}

#[test]
fn a_value_that_had_to_be_encoded_is_hidden_as_it_is_written_wherever_it_stands() {
    let template = "global\n  description {{b64decode \"YSBi\"}}\n{{#with (get_single \"secrets\" \"a\" \"s\") as |s|}}\n  \
                    {{let v=(concat s.data.lines \" #'\")}}\n  node {{v}} x '{{v}}' y {{v}}\n{{/with}}\ndefaults\n";
    let expected = "global\n  description a\\ b\n  node [redacted] x [redacted] y [redacted]\ndefaults\n";
    assert_eq!(shown(template), expected);
}

#[test]
fn what_a_template_complains_of_says_nothing_of_a_secret() {
    let template =
        "{{#each (list \"secrets\") as |s|}}\n{{warn \"bad \" (b64decode s.data.password)}}\n{{/each}}\n";
    let (_, warnings) = setup(template).bundle().unwrap();
    assert!(warnings[0].message.contains("bad [from a Secret]"), "{}", warnings[0]);
    let errors = setup("{{#each (list \"secrets\") as |s|}}{{s.data.password.x}}{{/each}}").errors();
    assert!(errors.contains("a text from a Secret") && !errors.contains(ENCODED), "{errors}");
}

#[test]
fn a_value_that_cannot_stand_is_named_and_not_told_when_it_is_from_a_secret() {
    let template = "{{#each (list \"secrets\") as |s|}}\ndescription {{b64decode s.data.lines}}\n{{/each}}\n{{b64decode \"YQpi\"}}\n";
    let errors = setup(template).errors();
    assert!(errors.contains("the value [from a Secret] cannot stand"), "{errors}");
    assert!(!errors.contains("one") && errors.contains("the value \"a\\nb\" cannot stand"), "{errors}");
}

#[test]
fn keys_of_dicts_and_arguments_by_name_in_jinja2_stay_from_a_secret() {
    let template = "#{% for s in secrets.List() %}{% for key in {b64decode(s.data.password): 1} %}{{ key }}{% endfor %} {{ 'x' | replace('x', new=s.data.password) }}{% endfor %}\n";
    let setup = setup(template).jinja();
    let (bundle, _) = setup.bundle().unwrap_or_else(|errors| panic!("{}", crate::support::all(&errors)));
    assert_eq!(bundle.config.text.shown(), "#[redacted] [redacted]\n");
}
