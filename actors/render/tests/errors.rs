//! What is wrong with a template or its data, in words one can act on.

use crate::support::Setup;
use haptic_render::RenderLimits;
use serde_json::json;
use std::time::Duration;

fn setup(template: &str) -> Setup {
    Setup::new(template)
        .extra(json!({"text": "x", "none": null, "list": [1, 2, 3], "dict": {"port": 1}, "top": 5}))
        .snippet("backend", "b\n")
        .ingress("default", "shop", "shop.example", &[("/", "shop")])
}

fn check(cases: &[(&str, &[&str])]) {
    let mut wrong = Vec::new();
    for (template, expected) in cases {
        let errors = setup(template).errors();
        for part in *expected {
            if !errors.contains(part) {
                wrong.push(format!("{template:?}\n  says  {errors}\n  lacks {part}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn what_has_no_text_is_never_printed_as_nothing() {
    check(&[
        ("a\n b {{nope}}", &["nope is missing", "template haproxyConfig:2:4"]),
        ("{{txet}}", &["txet is missing (did you mean \"text\"?)"]),
        ("{{none}}", &["none is null", "default none"]),
        ("{{list}}", &["list is a list of 3, which cannot be printed as text", "{{json"]),
        ("{{dict}}", &["dict is a dict with port, which cannot be printed"]),
        (
            "{{dict.prot}}",
            &["dict.prot is missing: dict is a dict with port, without \"prot\" (did you mean \"port\"?)"],
        ),
        ("{{dict.port.deep}}", &["dict.port.deep is missing: dict.port is the number 1"]),
        ("{{#each nope}}a{{/each}}", &["nope is missing", "(default … (array))"]),
        ("{{#each text}}a{{/each}}", &["text is the text \"x\", which has no items"]),
        ("{{#with nope}}a{{/with}}", &["nope is missing", "{{else}}"]),
        ("{{#each list}}{{top}}{{/each}}", &["top is missing", "@root.top"]),
        ("{{#if (eq nope 1)}}a{{/if}}", &["eq: nope is missing", "default"]),
        ("{{first (array)}}", &["(first …) gives nothing"]),
        (
            "{{#each (list \"ingresses\") as |ing|}}\n{{ing.spec.hots}}\n{{/each}}",
            &["ing.spec.hots is missing", "object ingresses default/shop", "haproxyConfig:2:1"],
        ),
        ("{{@index}}", &["@index is missing"]),
        ("{{#each list}}{{@indxe}}{{/each}}", &["@indxe is missing"]),
        ("{{set n=1}}", &["there is no variable \"n\"", "{{let n=…}}"]),
        ("{{let n=1}}{{push n 2}}", &["push: n is not a list"]),
        ("{{let n=nope}}", &["nope is missing"]),
        ("{{> backend nope}}", &["nope is missing"]),
        ("{{> (concat \"back\" \"edn\")}}", &["there is no snippet \"backedn\" (did you mean \"backend\"?)"]),
        ("{{> @partial-block}}", &["no @partial-block"]),
    ]);
}

#[test]
fn mistakes_are_found_when_a_template_is_compiled_whether_it_runs_or_not() {
    check(&[
        (
            "a\n{{#if text}}\n{{#each list}}\nb\n{{/if}}\n",
            &["{{/if}} closes {{#each}}, which was opened at line 3", "haproxyConfig:5:1"],
        ),
        (
            "{{#if (eq 1 2)}}\na\n{{elseif (eq 2 2)}}\nb\n{{/if}}\n",
            &["there is no {{elseif}}", "haproxyConfig:3:1", "Write {{else if CONDITION}}"],
        ),
        ("a\n  {{#each list}}\nb\n", &["{{#each list}} is never closed", "haproxyConfig:2:3", "{{/each}}"]),
        ("a\n{{/each}}", &["{{/each}} closes nothing", "haproxyConfig:2:1"]),
        ("a {{else}}", &["{{else}} stands outside", "haproxyConfig:1:3"]),
        ("a\nb {{text\nc", &["this tag has no end: {{text", "haproxyConfig:2:3"]),
        ("a\n {{}}", &["this tag cannot be read: {{}}", "haproxyConfig:2:2"]),
        ("a\n {{lower \"x}}", &["haproxyConfig:2:2"]),
        ("{{a b c=}}", &["this tag cannot be read: {{a b c=}}"]),
        (
            "{{#if text}}{{lowr text}}{{/if}}",
            &["there is no function \"lowr\" (did you mean \"lower\"?)", "haproxyConfig:1:13"],
        ),
        (
            "{{#if false}}{{> backedn}}{{/if}}",
            &["there is no snippet \"backedn\" (did you mean \"backend\"?)"],
        ),
        ("{{#ech list}}{{/ech}}", &["there is no block \"ech\" (did you mean \"each\"?)"]),
        ("{{#eq 1 1}}{{/eq}}", &["there is no block \"eq\"", "{{#if (eq …)}}"]),
        ("{{each list}}", &["there is no function \"each\"", "{{#each …}}"]),
        ("{{#if eq text 1}}{{/if}}", &["{{#if}} takes one value, here are 3", "parentheses"]),
        (
            "{{replace \"a\"}}",
            &["replace needs 3 argument(s), here are 1: old is missing", "(replace text old new)"],
        ),
        ("{{lower \"a\" \"b\"}}", &["lower takes at most 1"]),
        ("{{lower \"a\" b=1}}", &["lower takes no argument by name"]),
        ("{{lower (warn \"x\")}}", &["warn gives no value"]),
        ("{{lower (arg \"x\")}}", &["(arg …) only means something where it is printed"]),
        ("{{> backend 1 2}}", &["a snippet takes one context"]),
        ("{{* foo}}", &["decorators"]),
        ("a\u{e003}b", &["private-use character", "haproxyConfig:1:2"]),
    ]);
}

#[test]
fn all_mistakes_of_all_templates_are_told_at_once() {
    let errors = setup("{{lowr 1}}\n{{uper 1}}").snippet("s", "\n{{#if}}").map("m", "{{> nope}}").errors();
    for expected in [
        "\"lowr\"",
        "\"uper\"",
        "template haproxyConfig:2:1",
        "template s:2:1",
        "template m:1:1",
        "templateSnippets.s.template",
    ] {
        assert!(errors.contains(expected), "{errors}\nlacks {expected}");
    }
}

#[test]
fn watched_values_are_never_printed_raw() {
    let evil =
        |template: &str| setup(template).extra(json!({"o": {"config": {"x": "evil"}}, "banner": "a\nb"}));
    for template in [
        "{{{text}}}",
        "{{&text}}",
        "{{#each (list \"ingresses\") as |ing|}}{{{ing.metadata.name}}}{{/each}}",
        "{{{lower \"x\"}}}",
        "{{{fleet.x}}}",
        "{{{this.config.x}}}",
    ] {
        let errors = evil(template).errors();
        assert!(
            errors.contains("would print a value as structure") && errors.contains("allowRawValues"),
            "{template}: {errors}"
        );
    }
    assert_eq!(evil("{{{extraContext.banner}}}\n").unmarked(), "a\nb\n");
    // Whatever `this` is, config means the configuration.
    assert!(evil("{{#with o}}{{{config.x}}}{{/with}}").errors().contains("config.x is missing"));
    assert_eq!(
        evil("{{{o.config.x}}}\n").with("templatingSettings/allowRawValues", json!(true)).unmarked(),
        "evil\n"
    );
}

#[test]
fn marks_in_values_are_refused_where_they_are_printed() {
    let errors =
        Setup::new("a\n{{#each (list \"ingresses\") as |ing|}}\nx {{ing.spec.rules.0.host}}\n{{/each}}")
            .ingress("default", "evil", "a\u{e003}\u{e004}0:1;b", &[])
            .errors();
    for expected in ["U+E003", "ingresses default/evil", "haproxyConfig:3:3"] {
        assert!(errors.contains(expected), "{errors}");
    }
}

#[test]
fn fields_of_objects_that_look_like_handles_are_only_fields() {
    let object = json!({"metadata": {"namespace": "n", "name": "x"}, "a": {"$list": "secrets"}, "b": {"$object": ["secrets", "n", "s"]}});
    let setup = Setup::new("{{#each (list \"ingresses\") as |i|}}{{#each i.a as |v k|}}{{k}}={{v}}{{/each}} {{json i.b}}{{/each}}")
        .object("ingresses", "n", "x", &["n", "x"], object);
    assert_eq!(setup.unmarked(), "$list=secrets {\"$object\":[\"secrets\",\"n\",\"s\"]}");
}

#[test]
fn a_refused_object_stops_the_render_and_is_named() {
    let errors = setup("{{#each (list \"ingresses\") as |ing|}}\n{{register_error ing \"host \" ing.spec.rules.0.host \" is taken\"}}\n{{/each}}").errors();
    for expected in ["host shop.example is taken", "object ingresses default/shop", "haproxyConfig:2:1"] {
        assert!(errors.contains(expected), "{errors}");
    }
}

#[test]
fn warnings_are_handed_on_with_object_and_line() {
    let (_, warnings) = setup("a\n{{#each (list \"ingresses\") as |ing|}}\n{{warn \"careful\"}}\n{{/each}}")
        .bundle()
        .unwrap();
    assert_eq!(
        crate::support::all(&warnings),
        "careful; object ingresses default/shop; template haproxyConfig:3:1"
    );
}

#[test]
fn endless_recursion_stops_at_its_limit() {
    let errors = setup("{{> a}}").snippet("a", "{{> b}}").snippet("b", "{{> a}}").errors();
    assert!(errors.contains("nested deeper than 32: … > b > a > b > a"), "{errors}");
    let bounded = setup("{{> a n=20}}\n").snippet("a", "{{n}} {{#if n}}{{> a n=(sub n 1)}}{{/if}}");
    assert!(bounded.unmarked().starts_with("20 19 18"));
}

#[test]
fn a_render_has_a_time_limit_and_an_output_limit() {
    let mut slow = setup("{{#each (range 1000000)}}{{#each (range 1000000)}}{{/each}}{{/each}}");
    slow.limits = RenderLimits { time: Duration::from_millis(20), ..RenderLimits::default() };
    assert!(slow.errors().contains("takes longer than 20ms"), "{}", slow.errors());
    let mut large = setup("{{#each (range 1000000)}}aaaaaaaaaa\n{{/each}}");
    large.limits = RenderLimits { output: 10_000, ..RenderLimits::default() };
    assert!(large.errors().contains("longer than 10000 bytes"), "{}", large.errors());
    let mut text = setup("{{let s=\"0123456789\"}}{{#each (range 40)}}{{set s=(concat s s)}}{{/each}}");
    text.limits = RenderLimits { output: 10_000, ..RenderLimits::default() };
    assert!(text.errors().contains("concat: the result is longer than 10000 bytes"), "{}", text.errors());
}

#[test]
fn file_names_are_names_and_no_two_files_have_one_path() {
    for name in ["..", "a\u{7}b", "", "."] {
        let errors = setup("x").with("maps", json!({name: {"template": ""}})).errors();
        assert!(errors.contains("cannot be the name of a file"), "{name:?}: {errors}");
    }
    let errors = setup("x").with("maps", json!({"a/b": {"template": ""}})).errors();
    assert!(errors.contains("maps.a/b"), "{errors}");
    let same = json!({"a.pem": {"template": ""}});
    let errors = setup("x").with("sslCertificates", same.clone()).with("crtLists", same).errors();
    assert!(errors.contains("would both be \"ssl/a.pem\""), "{errors}");
    let errors = setup("x").with("files", json!({"a": {"template": "", "path": "/etc/passwd"}})).errors();
    assert!(errors.contains("must be below /etc/haproxy"), "{errors}");
    let errors = setup("x").with("files", json!({"a": {"template": "", "path": "../a"}})).errors();
    assert!(errors.contains(".."), "{errors}");
}
