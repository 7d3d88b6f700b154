//! The language: what prints, what is an error, how lines and white space come out.

use crate::support::Setup;
use haptic_render::block_cache::{BlockCache, FileCache, PrintedBlock};
use serde_json::json;

fn extra() -> serde_json::Value {
    json!({
        "text": "x", "zero": 0, "none": null, "yes": true, "float": 1.5, "list": [1, 2, 3], "empty": [],
        "dict": {"b": 2, "a": 1}, "labels": {"app.kubernetes.io/name": "web"}, "nested": {"items": [{"n": "p", "inner": [1, 2]}]},
    })
}

fn printed(template: &str) -> String {
    Setup::new(template).extra(extra()).unmarked()
}

#[test]
fn templates_print_what_handlebars_prints() {
    let cases = [
        ("{{text}} {{yes}} {{float}} {{zero}}", "x true 1.5 0"),
        ("a\n  {{#each list}}\n  s {{this}}\n  {{/each}}\nb", "a\n  s 1\n  s 2\n  s 3\nb"),
        ("[ {{~#each list~}} {{this}}, {{~/each~}} ]", "[1,2,3,]"),
        ("a\n{{!-- a }} b --}}\n{{! c }}\nd", "a\nd"),
        ("{{#if empty}}a{{else if none}}b{{else}}c{{/if}}", "c"),
        ("{{#if zero}}a{{/if}}{{#if zero includeZero=true}}b{{/if}}{{#unless zero}}c{{/unless}}", "bc"),
        (
            "{{#each list as |v i|}}{{i}}:{{v}} {{@index}} {{@first}} {{@last}};{{/each}}",
            "0:1 0 true false;1:2 1 false false;2:3 2 false true;",
        ),
        ("{{#each dict as |v k|}}{{k}}={{v}}{{@key}};{{/each}}", "a=1a;b=2b;"),
        ("{{#each empty}}a{{else}}none{{/each}}", "none"),
        ("{{#each none}}a{{else}}none{{/each}}", "none"),
        (
            "{{#each nested.items}}{{#each inner}}{{../n}}-{{this}}-{{@../index}};{{/each}}{{/each}}",
            "p-1-0;p-2-0;",
        ),
        ("{{#each list}}{{@root.text}}{{/each}}", "xxx"),
        (
            "{{labels.[app.kubernetes.io/name]}} {{lookup labels \"app.kubernetes.io/name\"}} {{list.[1]}} {{list.1}}",
            "web web 2 2",
        ),
        ("{{#each [1,2]}}{{this}}{{/each}} {{#with {\"a\":1}}}{{a}}{{/with}}", "12 1"),
        ("{{#with nested.items.0 as |z|}}{{z.n}}{{n}}{{/with}}", "pp"),
        ("{{#with none}}a{{else}}b{{/with}}", "b"),
        ("{{#*inline \"p\"}}{{a}}/{{b}}{{/inline}}{{> p a=1 b=\"z\"}}", "1/z"),
        ("{{#*inline \"p1\"}}ONE{{/inline}}{{> (concat \"p\" 1)}}", "ONE"),
        ("{{#*inline \"w\"}}<{{> @partial-block}}>{{/inline}}{{#> w}}in {{text}}{{/w}}", "<in x>"),
        ("{{#> nowhere}}fallback{{/nowhere}}", "fallback"),
        ("{{{{raw}}}}%[req.hdr(host)] {{no}}{{{{/raw}}}}", "%[req.hdr(host)] {{no}}"),
        (
            "http-request deny if { path_beg /a } !{ ssl_fc } %[src,lower] ^a{2}$",
            "http-request deny if { path_beg /a } !{ ssl_fc } %[src,lower] ^a{2}$",
        ),
        ("\\{{x}} \\\\{{text}}", "{{x}} \\x"),
        ("{{#if (and yes (not zero))}}y{{/if}}{{#each (range 2)}}{{add this 1}}{{/each}}", "y12"),
        ("{{config.podSelector.matchLabels.app}} {{extraContext.text}} {{len fleet.pods}}", "haproxy x 0"),
        ("{{(lower \"A\")}}", "a"),
    ];
    let wrong: Vec<String> = cases
        .iter()
        .map(|(template, expected)| {
            (
                template,
                expected,
                std::panic::catch_unwind(|| printed(template)).unwrap_or_else(|_| "(error)".into()),
            )
        })
        .filter(|(_, expected, got)| got != *expected)
        .map(|(template, expected, got)| format!("{template:?}\n  gives {got:?}\n  not   {expected:?}"))
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn blocks_that_nest_without_an_end_are_refused_before_they_are_parsed() {
    let many = |part: &str| part.repeat(30_000);
    for template in [
        many("{{#if text}}") + &many("{{/if}}"),
        format!("{{{{#if text}}}}{}{{{{/if}}}}", many("{{else if text}}\n")),
    ] {
        let errors = Setup::new(&template).extra(extra()).errors();
        assert!(errors.contains("blocks are nested deeper than 300"), "{errors:.200}");
    }
}

#[test]
fn variables_live_in_their_block_and_are_changed_from_inner_ones() {
    let cases = [
        ("{{let n=1}}{{#if yes}}{{set n=2}}{{/if}}{{n}}", "2"),
        ("{{let n=0}}{{#each list}}{{set n=(add n this)}}{{/each}}{{n}}", "6"),
        ("{{let n=7}}{{#each list}}{{n}}{{/each}}", "777"),
        ("{{let n=7}}{{#each list as |x|}}{{let n=x}}{{n}}{{/each}}{{n}}", "1237"),
        (
            "{{let \"a b\" 1}}{{let all=(array)}}{{#each list}}{{push all this}}{{/each}}{{join all \"+\"}}",
            "1+2+3",
        ),
        ("{{#*inline \"p\"}}{{set n=(add n 1)}}{{/inline}}{{let n=1}}{{> p}}{{> p}}{{n}}", "3"),
        (
            "{{let d=(dict)}}{{#each list as |x|}}{{set d=(put d (string x) x)}}{{/each}}{{json d}}",
            r#"{"1":1,"2":2,"3":3}"#,
        ),
    ];
    for (template, expected) in cases {
        assert_eq!(printed(template), expected, "{template}");
    }
}

#[test]
fn statements_alone_on_a_line_leave_no_line_behind() {
    let template = "a\n  {{let n=1}}\n  {{#if yes}}\n    {{set n=2}}\n  {{/if}}\n  {{warn \"w\"}}\nb {{n}}\n";
    assert_eq!(printed(template), "a\nb 2\n");
}

#[test]
fn partials_keep_the_indentation_of_the_place_they_are_included_at() {
    let setup = Setup::new("x\n    {{> p}}\ny\n  {{#if yes}}\n  {{> outer}}\n  {{/if}}\nz {{> word}}!\n")
        .extra(extra())
        .snippet("p", "l1\n{{#each list}}\n  n {{this}}\n{{/each}}\n\nl2\n")
        .snippet("outer", "o\n  {{> p}}\n")
        .snippet("word", "w");
    assert_eq!(
        setup.unmarked(),
        "x\n    l1\n      n 1\n      n 2\n      n 3\n\n    l2\ny\n  o\n    l1\n      n 1\n      n 2\n      n 3\n\n    l2\nz w!\n"
    );
}

#[test]
fn a_snippet_without_a_final_line_end_does_not_swallow_the_next_line() {
    let setup = Setup::new("  {{> p}}\n  {{> p}}\nend\n").snippet("p", "server a");
    assert_eq!(setup.unmarked(), "  server a\n  server a\nend\n");
}

#[test]
fn render_glob_prints_snippets_by_name_with_its_indentation() {
    let setup = Setup::new("a\n  {{render_glob \"x-*\"}}\nb\n")
        .snippet("x-2", "two\n")
        .snippet("x-1", "one\n")
        .snippet("y", "no\n");
    assert_eq!(setup.unmarked(), "a\n  one\n  two\nb\n");
    for (pattern, expected) in [
        ("x-?", "one\ntwo\n"),
        ("*-1", "before\none\n"),
        ("*", "before\none\ntwo\nten\nno\n"),
        ("x-1", "one\n"),
        ("x*0", "ten\n"),
        ("z*", ""),
    ] {
        let setup = Setup::new(&format!("{{{{render_glob \"{pattern}\"}}}}"))
            .snippet("x-2", "two\n")
            .snippet("x-20", "ten\n")
            .snippet("x-1", "one\n")
            .snippet("a-1", "before\n")
            .snippet("y", "no\n");
        assert_eq!(setup.unmarked(), expected, "{pattern}");
    }
}

#[test]
fn every_line_knows_its_template_line_and_object() {
    let template = "global\n\n  maxconn 5\n{{#each (list \"ingresses\") as |ing|}}\nserver {{ing.metadata.name}} x\n  {{> p}}\n{{/each}}\nend {{text}}\n";
    let setup = Setup::new(template)
        .extra(extra())
        .snippet("p", "# snippet\nuse {{ing.spec.rules.0.host}} y\n")
        .ingress("default", "shop", "shop.example", &[]);
    let (bundle, _) = setup.bundle().unwrap();
    let text = &bundle.config.text;
    assert_eq!(
        text.to_string(),
        "global\n\n  maxconn 5\nserver shop x\n  # snippet\n  use shop.example y\nend x\n"
    );
    let origins: Vec<String> = (1..=7)
        .map(|n| {
            let o = text.origin(n).expect("an origin");
            format!("{}:{} {}", o.template, o.line, o.object.map_or_else(String::new, |o| o.to_string()))
        })
        .collect();
    assert_eq!(
        origins,
        [
            "haproxyConfig:1 ",
            "haproxyConfig:2 ",
            "haproxyConfig:3 ",
            "haproxyConfig:5 ingresses default/shop",
            "p:1 ingresses default/shop",
            "p:2 ingresses default/shop",
            "haproxyConfig:8 "
        ]
    );
}

#[test]
fn each_object_is_a_piece_of_its_own_with_what_it_read() {
    let setup = Setup::new("a\n{{#each (list \"ingresses\") as |ing|}}\n{{ing.metadata.name}} {{len (fetch \"endpoints\" ing.metadata.namespace \"shop\")}}\n{{/each}}\nb\n")
        .ingress("default", "shop", "s", &[])
        .ingress("default", "blog", "b", &[])
        .endpoints("default", "shop", 1, &["10.0.0.1"]);
    let nothing = FileCache::default();
    let rendered = setup.rendered_with(Some(&BlockCache::new(&nothing, &setup.snapshots())));
    assert_eq!(rendered.framed.pieces.len(), 4);
    let outside: Vec<&str> = rendered.outside.iter().map(|r| &*r.resource).collect();
    assert_eq!(outside, ["ingresses"]);
    let blocks: Vec<String> = rendered
        .blocks
        .iter()
        .map(|block| {
            let PrintedBlock::Fresh(b) = block else { panic!("{block:?}") };
            let reads = b.reads.iter().map(|r| r.key.join("/")).collect::<Vec<_>>();
            format!("{} {:?} {reads:?}", b.object.reference, b.piece)
        })
        .collect();
    assert_eq!(
        blocks,
        [
            "ingresses default/blog Some(1) [\"default/shop\"]",
            "ingresses default/shop Some(2) [\"default/shop\"]",
        ]
    );
}

#[test]
fn selected_and_sorted_objects_are_still_objects() {
    let setup = Setup::new("{{#each (sort_by (where (list \"ingresses\") \"spec.rules.0.host\" \"ne\" \"no\") \"-metadata.name\") as |ing|}}\nserver {{ing.metadata.name}} x\n{{/each}}\n{{#each (group_by (list \"ingresses\") \"metadata.namespace\") as |group ns|}}\n{{#each group as |ing|}}\nin {{ns}} {{ing.metadata.name}}\n{{/each}}\n{{/each}}\n")
        .ingress("n", "a", "yes", &[])
        .ingress("n", "b", "yes", &[])
        .ingress("n", "c", "no", &[]);
    let (bundle, _) = setup.bundle().unwrap();
    assert_eq!(bundle.config.text.to_string(), "server b x\nserver a x\nin n a\nin n b\nin n c\n");
    assert_eq!(bundle.config.text.origin(1).unwrap().object.unwrap().to_string(), "ingresses n/b");
    assert_eq!(bundle.config.text.origin(5).unwrap().object.unwrap().to_string(), "ingresses n/c");
}
