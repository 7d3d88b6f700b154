//! Parts in both languages as one program: what crosses the border, and what does not.

use crate::support::Setup;
use serde_json::json;

/// A frame in Handlebars that prints what it is asked for, for each Ingress.
fn frame(tag: &str) -> Setup {
    Setup::new(&format!(
        "global\n{{{{#each (list \"ingresses\") as |ingress|}}}}\n{{{{let hosts=(pluck ingress.spec.rules \"host\")}}}}\n    {tag}\n{{{{/each}}}}\nend\n"
    ))
    .ingress("n", "a", "a.example", &[])
    .ingress("n", "b", "b.example", &[])
}

#[test]
fn a_part_in_jinja_takes_the_place_of_one_in_handlebars() {
    let part = "{% for host in hosts %}\n# {{ ingress.metadata.name }} {{ host | upper }} {{ note | default('-') }}\n{%- endfor %}";
    for (tag, a, b) in [
        ("{{> part}}", "# a A.EXAMPLE -", "# b B.EXAMPLE -"),
        ("{{> part note=\"x\"}}", "# a A.EXAMPLE x", "# b B.EXAMPLE x"),
        ("{{render_glob \"pa*\"}}", "# a A.EXAMPLE -", "# b B.EXAMPLE -"),
        ("{{> (concat \"pa\" \"rt\")}}", "# a A.EXAMPLE -", "# b B.EXAMPLE -"),
    ] {
        let setup = frame(tag).snippet("part", part);
        assert_eq!(setup.unmarked(), format!("global\n\n    {a}\n\n    {b}\nend\n"), "{tag}");
    }
}

#[test]
fn a_part_in_handlebars_takes_the_place_of_one_in_jinja() {
    let setup = Setup::new("{% for ingress in ingresses.List() %}{% for rule in ingress.spec.rules %}{% set host = rule.host %}{% include 'part' %}{% endfor %}{% endfor %}{% include 'part' without context %}")
        .snippet("part", "{{#if host}}# {{ingress.metadata.name}} {{upper host}}\n{{else}}nothing {{extraContext.word}}\n{{/if}}")
        .extra(json!({"word": "w"}))
        .ingress("n", "a", "a.example", &[])
        .ingress("n", "b", "b.example", &[]);
    let setup = setup.with("templateSnippets/part/template", json!("{{#if (default host \"\")}}# {{ingress.metadata.name}} {{upper host}}\n{{else}}nothing {{extraContext.word}}\n{{/if}}"));
    assert_eq!(setup.unmarked(), "# a A.EXAMPLE\n# b B.EXAMPLE\nnothing w\n");
}

#[test]
fn parts_of_both_languages_are_printed_by_the_pattern_of_their_names() {
    let setup = Setup::new("{% set n = 1 %}global\n    {{ render_glob('p*') }}\nend {% set text %}{{ render_glob('p-1*') }}{% endset %}{{ text }}")
        .snippet("p-10", "# a {{n}}\n{{#if n}}\n# b\n{{/if}}\n")
        .snippet("p-20", "{% if n %}# c {{ n }}\n# d{% endif %}\n")
        .snippet("q", "{% if n %}# no{% endif %}");
    let lines = "global\n    # a 1\n    # b\n    # c 1\n    # d\n\nend # a 1\n# b\n";
    assert_eq!(setup.unmarked(), lines);
    let told = Setup::new("{% set x = render_glob('p*') %}").errors();
    assert!(told.contains("render_glob prints snippets"), "{told}");
}

#[test]
fn what_a_part_looks_up_crosses_borders_on_the_way_to_it() {
    let setup = frame("{{> middle}}")
        .snippet("middle", "{% set more = 'm' %}{% include 'inner' %}")
        .snippet("inner", "# {{> leaf}}\n")
        .snippet("leaf", "{% if hosts %}{{ hosts[0] }} {{ more }} {{ secret is defined }}{% endif %}");
    assert_eq!(setup.unmarked(), "global\n    # a.example m False\n    # b.example m False\nend\n");
}

#[test]
fn a_part_that_fails_is_told_at_its_own_line_and_of_the_object() {
    let setup = frame("{{> part}}").snippet("part", "{% if true %}\n# {{ ingress.spec.nowhere }}{% endif %}");
    let faults = setup.rendered().faults;
    assert_eq!(faults.len(), 2, "{faults:?}");
    let told = faults[0].diagnostic.to_string();
    assert!(told.contains("part:2:") && told.contains("ingresses n/a"), "{told}");
}

#[test]
fn values_that_cross_a_border_stay_values() {
    let hostile = "x\nbackend evil";
    for (tag, part) in [
        ("{{> part}}", "{% if true %}# {{ ingress.spec.note }}{% endif %}"),
        ("{{> part note=ingress.spec.note}}", "{% if true %}# {{ 'a' ~ note }}{% endif %}"),
        ("{{> part}}", "{% set note = ingress.spec.note %}{% include 'leaf' %}"),
    ] {
        let setup = frame(tag).snippet("part", part).snippet("leaf", "{{#if note}}# {{note}}{{/if}}");
        let object =
            json!({"metadata": {"namespace": "n", "name": "a"}, "spec": {"note": hostile, "rules": []}});
        let setup = setup.object("ingresses", "n", "a", &["n", "a"], object);
        let told = setup.errors();
        assert!(told.contains("ingresses n/a"), "{tag} {part}: {told}");
    }
}

#[test]
fn what_only_one_language_has_is_refused_across_the_border() {
    for (template, part, expected) in [
        ("{% extends 'part' %}", "{{#if x}}{{/if}}", "no template of Jinja2 extends or imports it"),
        ("{% import 'part' as p %}", "{{#if x}}{{/if}}", "no template of Jinja2 extends or imports it"),
        (
            "{% set n = 'part' %}{% from n import p %}",
            "{{#if x}}{{/if}}",
            "no template of Jinja2 extends or imports it",
        ),
        ("{{#> part}}x{{/part}}", "{% if x %}{% endif %}", "it cannot be given a block"),
        ("{{> prat}}", "{% if x %}{% endif %}", "there is no snippet \"prat\" (did you mean \"part\"?)"),
    ] {
        let told = Setup::new(template).snippet("part", part).errors();
        assert!(told.contains(expected), "{template}: {told}");
    }
}

#[test]
fn parts_that_print_one_another_without_an_end_are_told() {
    let told = Setup::new("{{> a}}")
        .snippet("a", "{{> b}}")
        .snippet("b", "{% if true %}{{ [1] | map('string') | join }}{% include 'a' %}{% endif %}")
        .errors();
    assert!(told.contains("snippets are nested deeper than 32"), "{told}");
}

#[test]
fn each_template_has_the_language_that_is_nearest_said() {
    let plain = "{{ a | default('x') }}";
    let of_all = Setup::new("{% include 'part' %}").jinja().snippet("part", plain);
    assert_eq!(of_all.unmarked(), "x");
    let by_others = Setup::new("{% include 'part' %}").snippet("part", plain);
    assert_eq!(by_others.unmarked(), "x");
    let own = Setup::new("{{> part}}{{lower \"ABC\"}}").snippet_in("jinja2", "part", plain);
    assert_eq!(own.unmarked(), "xabc");
    let said = Setup::new("{{ 'A' | lower }}").jinja().snippet_in("handlebars", "part", "{{#if x}}{{/if}}");
    assert_eq!(said.unmarked(), "a");
    let wrong = Setup::new("{{#if x}}{{/if}}").jinja().errors();
    assert!(wrong.contains("This looks like Handlebars"), "{wrong}");
}
