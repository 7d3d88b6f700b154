//! Whatever an object holds, what is made of it, printed for it and said about it has a bound, and only that object pays.

use crate::support::Setup;
use haptic_attribution::Faults;
use haptic_model::{Bundle, Diagnostic, Fleet};
use haptic_render::{Checked, RenderJob, Renderer};
use serde_json::{Value, json};

/// An Ingress called `bad` with this annotation, and one called `good` that has nothing of the kind.
fn with(template: &str, note: &str) -> Setup {
    let object = |name: &str, note: &str| json!({"metadata": {"namespace": "n", "name": name, "annotations": {"note": note}}});
    let template = format!(
        "global\n{{{{#each (list \"ingresses\") as |ing|}}}}\n{{{{let note=ing.metadata.annotations.note}}}}\n{template}\n# {{{{ing.metadata.name}}}}\n{{{{/each}}}}\n"
    );
    Setup::new(&template).object("ingresses", "n", "bad", &["n", "bad"], object("bad", note)).object(
        "ingresses",
        "n",
        "good",
        &["n", "good"],
        object("good", "1"),
    )
}

fn faults(setup: &Setup) -> Faults {
    let mut renderer = Renderer::checked(Checked::Always);
    let (config, compiled) = (setup.config(), setup.compile().unwrap());
    let limits = &setup.limits;
    let faults = renderer
        .attempt(&RenderJob {
            compiled: &compiled,
            config: &config,
            snapshots: &setup.snapshots(),
            fleet: &Fleet::default(),
            limits,
        })
        .unwrap_err();
    assert!(renderer.take_difference().is_none());
    assert!(faults.others.is_empty(), "{:?}", faults.others);
    let blamed: Vec<&str> = faults.objects.keys().map(|object| &*object.name).collect();
    assert_eq!(blamed, ["bad"], "nobody else is at fault");
    faults
}

fn messages(faults: Faults) -> Vec<Diagnostic> {
    faults.objects.into_values().flatten().map(|fault| fault.diagnostic).collect()
}

fn rendered(setup: &Setup) -> (Bundle, Vec<Diagnostic>) {
    setup.bundle().unwrap_or_else(|all| panic!("{}", crate::support::all(&all)))
}

/// For each wrong line of a value a sentence that quotes the whole value.
const REFUSES: &str = "{{#each (split note \"\\n\") as |line|}}
{{#unless (matches line \"^[0-9]+$\")}}
{{register_error ing \"the note is \" (json note) \", line \" line \" is no number\"}}
{{/unless}}
{{/each}}";

#[test]
fn of_thousands_of_wrong_lines_the_first_few_are_told_shortly() {
    let lines = (0..40_000).map(|n| format!("v{n}\n")).collect::<String>();
    let told = messages(faults(&with(REFUSES, &lines)));
    assert_eq!(told.len(), 8);
    assert!(told.iter().all(|told| told.message.len() < 1100), "{told:?}");
    assert!(told[0].message.starts_with(r#"the note is "v0\nv1\n"#), "{}", told[0]);
    assert!(told[7].message.contains("nothing more is looked for"), "{}", told[7]);
}

#[test]
fn a_quote_ends_between_two_characters() {
    let told = messages(faults(&with(
        "{{#unless (eq note \"1\")}}{{register_error ing \"it is \" note}}{{/unless}}",
        &"ä".repeat(200),
    )));
    assert_eq!(told[0].message, format!("it is {}…", "ä".repeat(100)));
}

#[test]
fn warnings_are_counted_beyond_the_first_few() {
    let template =
        "{{#each (split note \",\") as |part index|}}{{warn \"number \" index \": \" part}}{{/each}}";
    let (_, warnings) = rendered(&with(template, &vec!["x".repeat(5000); 100].join(",")));
    let of_bad: Vec<_> =
        warnings.iter().filter(|w| w.object.as_ref().unwrap().name.contains("bad")).collect();
    assert_eq!(of_bad.len(), 9, "{warnings:?}");
    assert!(of_bad.iter().all(|warning| warning.message.len() < 300));
    assert_eq!(of_bad[8].message, "and 92 more warnings");
    assert_eq!(warnings.len(), 10, "the other one's is told, too: {warnings:?}");
}

#[test]
fn what_functions_make_for_an_object_has_a_bound() {
    for template in [
        "{{#each (split note \"\\n\") as |line|}}\n{{#if (eq (json note) line)}}\n{{/if}}\n{{/each}}",
        "{{let all=(array)}}\n{{#each (split note \"\\n\") as |line|}}\n{{set all=(append all line note)}}\n{{/each}}",
        "{{let all=(array note)}}\n{{#each (range (len note)) as |n|}}\n{{set all=(concat all all)}}\n{{/each}}",
        "{{let text=note}}\n{{#each (range (len note)) as |n|}}\n{{set text=(printf \"%s%s\" text text)}}\n{{/each}}",
    ] {
        let setup = with(template, &"v\n".repeat(100_000));
        let told = messages(faults(&setup));
        let said = told[0].to_string();
        assert!(
            said.contains("spec.controller.limits.valueBytes") && said.contains("33554432 bytes"),
            "{said}"
        );
    }
}

#[test]
fn a_text_that_would_be_too_long_is_not_made() {
    for (template, said) in [
        ("{{#if (eq (replace note \"v\" note) \"\")}}{{/if}}", "replace: the result would be longer"),
        (
            "{{#if (eq (regex_replace note \"v\" note) \"\")}}{{/if}}",
            "regex_replace: the result would be longer",
        ),
        (
            "{{#if (eq (regex_replace note \"(?s).*\" (repeat \"$0\" 1000)) \"\")}}{{/if}}",
            "regex_replace: the result would be longer",
        ),
        ("{{#if (eq (join (split note \"v\") note) \"\")}}{{/if}}", "join: the result would be longer"),
        ("{{#if (eq (indent note 999) \"\")}}{{/if}}", "indent: the result would be longer"),
    ] {
        let told = messages(faults(&with(template, &"v\n".repeat(100_000))));
        assert!(told[0].message.starts_with(said), "{template}: {}", told[0]);
    }
}

#[test]
fn what_is_wrong_with_a_long_value_is_said_shortly() {
    let long = format!("({}", "x".repeat(200_000));
    for template in [
        "{{#if (matches \"a\" note)}}{{/if}}",
        "{{#if (file_path note \"map\")}}{{/if}}",
        "{{#if (add_file note \"a\" \"b\")}}{{/if}}",
        "{{#if (eq note \"1\")}}{{else}}{{fail \"it is \" note}}{{/if}}",
        "{{#unless (eq note \"1\")}}{{#if (list note)}}{{/if}}{{/unless}}",
    ] {
        let template = format!("{{{{#unless (eq note \"1\")}}}}\n{template}\n{{{{/unless}}}}");
        for told in messages(faults(&with(&template, &long))) {
            assert!(told.to_string().len() < 1500, "{template}: {} bytes", told.to_string().len());
        }
    }
}

#[test]
fn a_pattern_of_an_object_may_not_take_megabytes() {
    let template = "{{#if (matches \"a\" note)}}{{/if}}";
    let told = messages(faults(&with(template, r"(\w{60}){60}")));
    assert!(told[0].message.contains("size limit"), "{}", told[0]);
}

#[test]
fn blocks_that_add_the_same_file_hold_it_once_and_what_a_block_adds_is_counted() {
    let add = "{{#unless (eq note \"1\")}}\n# {{add_file \"file\" (file_name \".txt\" ing.metadata.name) (repeat note 800000)}}\n{{/unless}}";
    let said = messages(faults(&with(add, "vvv")))[0].to_string();
    assert!(said.contains("blockBytes"), "{said}");

    let shared = "# {{add_file \"file\" \"shared.txt\" \"content\"}}\n# {{add_file \"file\" \"shared.txt\" \"content\"}}";
    let rendered = with(shared, "x").rendered();
    assert_eq!(rendered.added.len(), 1);
    assert_eq!(rendered.added[0].blocks.len(), 2);
}

#[test]
fn a_name_that_is_too_long_for_a_file_is_its_objects_fault() {
    let template = "# {{add_file \"file\" note \"content\"}}";
    let told = messages(faults(&with(template, &"x".repeat(250))));
    assert!(told[0].message.contains("has 250 bytes, of 230"), "{}", told[0]);
    let template = "# {{add_file \"file\" (file_name \".txt\" note) \"content\"}}";
    let (bundle, _) = rendered(&with(template, &"x".repeat(250)));
    let names: Vec<usize> = bundle.files.keys().map(|path| path.len()).collect();
    assert_eq!(names.len(), 2, "{names:?}");
}

#[test]
fn marks_in_a_file_that_is_added_are_refused_by_object_whether_or_not_they_fit_together() {
    for content in ["a\u{E003}b", "\u{E000}well-formed\u{E003}", "\u{E005}0;x\u{E006}", "\u{E00F}"] {
        for kind in ["certificate", "file"] {
            let template =
                format!("# {{{{add_file \"{kind}\" (file_name \".pem\" ing.metadata.name) note}}}}");
            let told = messages(faults(&with(&template, content)));
            assert!(told[0].message.contains("private-use character"), "{kind}: {}", told[0]);
        }
    }
}

#[test]
fn a_line_of_a_crt_list_that_haproxy_would_refuse_is_refused_by_object_with_the_limit() {
    let list = |line: &str| {
        let template = format!("{{{{#each (list \"ingresses\") as |ing|}}}}\n{line}\n{{{{/each}}}}\n");
        move |hosts: &str| with("", hosts).with("crtLists", json!({"l": {"template": template}}))
    };
    let one = list("a.pem{{#each (split ing.metadata.annotations.note \" \") as |host|}} {{host}}{{/each}}");
    let hosts = |count: usize, host: &str| vec![host; count].join(" ");
    let fits = rendered(&one(&hosts(2_047, "shop.example"))).0;
    assert_eq!(fits.files["ssl/l"].text.to_string().split_whitespace().count(), 2_050);
    for (hosts, said) in [
        (hosts(2_048, "a.b"), "more than 2048 words"),
        (hosts(1_000, &format!("{}.example", "x".repeat(60))), "longer than 65534 bytes"),
    ] {
        let told = messages(faults(&one(&hosts)));
        assert!(told[0].message.contains(said), "{}", told[0]);
    }
    let chunked = list(
        "{{#each (chunks (split ing.metadata.annotations.note \" \") 7000) as |hosts|}}\na.pem{{#each hosts as |host|}} {{host}}{{/each}}\n\n{{/each}}",
    );
    let text = rendered(&chunked(&hosts(5_000, "shop.example"))).0.files["ssl/l"].text.to_string();
    assert!(
        text.lines().all(|line| line.len() < 7_100) && text.lines().count() > 9,
        "{}",
        text.lines().count()
    );
}

#[test]
fn a_line_of_more_words_than_haproxy_takes_is_refused_by_object() {
    let template = "frontend {{ing.metadata.name}}\n  acl x src{{#each (split note \" \") as |network|}} {{network}}{{/each}}";
    let networks = |count| vec!["10.0.0.1"; count].join(" ");
    rendered(&with(template, &networks(61)));
    let told = messages(faults(&with(template, &networks(62))));
    assert!(told[0].message.contains("more than 64 words"), "{}", told[0]);
}

#[test]
fn of_an_object_that_asks_for_too_many_routes_the_first_count() {
    let paths: Vec<Value> = (0..8)
        .map(|n| json!({"path": format!("/{n}"), "pathType": "Prefix", "backend": {"service": {"name": "s", "port": {"number": 80}}}}))
        .collect();
    let hosts: Vec<String> = (0..8).map(|n| format!("h{n}.example")).collect();
    let object = json!({
        "metadata": {"namespace": "n", "name": "a"},
        "spec": {"rules": [{"host": "h.example", "http": {"paths": paths}}], "tls": [{"hosts": hosts, "secretName": "s"}]},
    });
    let template = "{{#each (routes \"ingresses\") as |set|}}
{{#each set.routes as |r|}}{{r.key}} {{/each}}
{{#each set.tls as |t|}}{{join t.hosts \" \"}}{{/each}}
{{/each}}
";
    let setup = Setup::new("global\n")
        .with("controller", json!({"limits": {"routesPerObject": 2}}))
        .object("ingresses", "n", "a", &["n", "a"], object)
        .object("services", "n", "s", &["n", "s"], json!({"metadata": {}, "spec": {"ports": [{"port": 80}]}}))
        .with("files", json!({"f": {"template": template}}));
    let (bundle, warnings) = rendered(&setup);
    let text = bundle.files["general/f"].text.to_string();
    assert_eq!(text, "h.example/0/ h.example/1/ \nh0.example h1.example\n");
    let told: Vec<&str> = warnings.iter().map(|warning| &*warning.message).collect();
    let bounds: Vec<&&str> = told.iter().filter(|said| said.contains("that it may")).collect();
    assert_eq!(bounds.len(), 2, "{told:?}");
    assert!(bounds[0].contains("8 routes, of 2") && bounds[0].contains("routesPerObject"), "{told:?}");
}
