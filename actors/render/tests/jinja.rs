//! Jinja2: what templates print, what they refuse, and the example of the original design.

use crate::support::Setup;
use serde_json::{Value, json};

fn setup(template: &str) -> Setup {
    Setup::new(template).jinja().extra(json!({
        "name": "shop", "words": ["b", "a", "c"], "port": 80, "nothing": null,
        "people": [{"name": "Ann", "age": 31}, {"name": "Bob", "age": 17}, {"name": "cy", "age": 31}],
    }))
}

/// What is printed, before it is fitted to its place.
fn printed(template: &str) -> String {
    setup(template).unmarked()
}

#[test]
fn templates_print_what_those_of_python_print() {
    for (template, expected) in [
        ("{{ name }} {{ port }} {{ port / 4 }} {{ port // 3 }} {{ 2 ** 3 }}", "shop 80 20.0 26 8"),
        ("{% for w in words %}{{ loop.index }}{{ w }}{{ ',' if not loop.last }}{% endfor %}", "1b,2a,3c"),
        ("{% for w in words if w != 'a' %}{{ w }}{% else %}none{% endfor %}", "bc"),
        ("{% for k, v in {'x': 1, 'a': 2}.items() %}{{ k }}={{ v }};{% endfor %}", "x=1;a=2;"),
        (
            "{% set l = [] %}{% set _ = l.append(1) %}{% do l.extend([2, 3]) %}{{ l | join('-') }} {{ l | length }}",
            "1-2-3 3",
        ),
        (
            "{% set ns = namespace(n=0) %}{% for w in words %}{% set ns.n = ns.n + 1 %}{% endfor %}{{ ns.n }}",
            "3",
        ),
        ("{% macro m(a, b='y') %}<{{ a }}{{ b }}>{% endmacro %}{{ m('x') }}{{ m(1, b=2) }}", "<xy><12>"),
        ("{% macro m() %}[{{ caller('c') }}]{% endmacro %}{% call(x) m() %}{{ x }}!{% endcall %}", "[c!]"),
        ("{% set c %}a{{ name }}{% endset %}{{ c }}{{ c | upper }}", "ashopASHOP"),
        ("{% filter upper %}x{{ name }}{% endfilter %}", "XSHOP"),
        ("{% with a = 1, b = 2 %}{{ a + b }}{% endwith %}", "3"),
        (
            "{{ '%s-%03d' % (name, 7) }} {{ '{} {x}'.format(1, x=2) }} {{ 'a %s' | format(name) }}",
            "shop-007 1 2 a shop",
        ),
        ("{{ name[1:3] }} {{ words[-1] }} {{ words[::-1] | join }} {{ name[0] }}", "ho c cab s"),
        ("{{ people | selectattr('age', 'gt', 18) | map(attribute='name') | join(', ') }}", "Ann, cy"),
        (
            "{% for age, all in people | groupby('age') %}{{ age }}:{{ all | length }} {% endfor %}",
            "17:1 31:2 ",
        ),
        ("{{ people | sort(attribute='name', reverse=true) | map(attribute='name') | join }}", "cyBobAnn"),
        (
            "{{ [3, 1, 2] | sort | join }} {{ [1, 1, 2] | unique | join }} {{ words | batch(2) | map('join') | join('|') }}",
            "123 12 ba|c",
        ),
        ("{{ {'b': 1, 'a': 2} | dictsort | map('first') | join }}", "ab"),
        (
            "{{ nothing | default('x', true) }} {{ missing | default('y') }} {{ missing is defined }}",
            "x y False",
        ),
        (
            "{{ 7 | round(1) }} {{ 2.5 | round }} {{ 1.234 | round(2) }} {{ 5 / 2 | int }} {{ 3 | round(0, 'ceil') }}",
            "7 2.0 1.23 2.5 3.0",
        ),
        (
            "{{ 1 < 2 <= 2 }} {{ 'a' in words }} {{ 3 not in [1] }} {{ 1 == 1.0 }} {{ '1' == 1 }}",
            "True True True True False",
        ),
        ("{{ 1e16 }} {{ 0.00001 }} {{ 10 ** 2 }} {{ -7 // 2 }} {{ -7 % 3 }}", "1e+16 1e-05 100 -4 2"),
        (
            "{% for w in words %}{% if w == 'a' %}{% continue %}{% endif %}{{ w }}{% if w == 'c' %}{% break %}{% endif %}{% endfor %}",
            "bc",
        ),
        (
            "{% set c = cycler('x', 'y') %}{{ c.next() }}{{ c.next() }}{{ c.next() }}{% set j = joiner('|') %}{{ j() }}a{{ j() }}b",
            "xyxa|b",
        ),
        (
            "{% for x in [1, [2, [3]]] recursive %}{% if x is sequence %}({{ loop(x) }}){% else %}{{ x }}{% endif %}{% endfor %}",
            "1(2(3))",
        ),
        ("{% raw %}{{ x }}{% endraw %}{# note #}!", "{{ x }}!"),
        (
            "{{ 'a,b,c'.split(',') | join('+') }} {{ ' x '.strip() }} {{ 'abc'.startswith('ab') }} {{ 'x'.upper() }}",
            "a+b+c x True X",
        ),
        ("{{ lower('ABC') }} {{ 'ABC' | lower }} {{ sha256('a') | length }}", "abc abc 64"),
    ] {
        assert_eq!(printed(template), expected, "{template}");
    }
}

#[test]
fn templates_print_what_those_of_python_print_in_corners_too() {
    for (template, expected) in [
        ("{% set l = [3, 1, 2] %}{% do l.sort(reverse=true) %}{{ l | join }}", "321"),
        (
            "{{ 'abc'.startswith('b', 1) }} {{ 'abc'.endswith('b', 0, 2) }} {{ 'abcabc'.find('c', 3) }} {{ 'abcabc'.rfind('b') }} {{ 'abcabc'.count('b', 3) }} {{ 'éa'.find('a', -1) }}",
            "True True 5 4 1 1",
        ),
        ("{{ 'abcdefghijklmnopqrstuvwxyz!'.strip('abcdefghijklmnopqrstuvwxyz') }}", "!"),
        (
            "{{ '%+d|% d|%#x|%x|%.3d|%+.1f|%+05d|%#06x|%u' | format(5, 5, 255, -255, 5, 1.5, 5, 255, 7) }}",
            "+5| 5|0xff|-ff|005|+1.5|+0005|0x00ff|7",
        ),
        ("{{ '0x1f' | int(0, 16) }} {{ '-0b11' | int(0, 2) }} {{ '1f' | int(0, 16) }}", "31 -3 31"),
        ("{{ 'abc'[5] | default('none') }} {{ 'abc'[-1] }} {{ 'abc'[-5] is defined }}", "none c False"),
        (
            "{{ (1, 2) + (3,) == (1, 2, 3) }} {{ [1] is sameas [1] }} {{ 1 is sameas true }} {{ 1 is sameas 1 }}",
            "True False False True",
        ),
        (
            "{{ 6 // 0.1 }} {{ 6 % 0.1 }} {{ -7.5 // 2 }} {{ -7.5 % 2 }} {{ 7.5 % -2 }}",
            "59.0 0.09999999999999967 -4.0 0.5 -0.5",
        ),
        ("{{ range(6) | slice(3, 'x') | map('join') | join('|') }}", "01x|23x|45x"),
        (
            "{{ 'a\\rb\\x0bc'.splitlines() | join('|') }} {{ 'a\\nb'.splitlines(true) | map('length') | join }}",
            "a|b|c 21",
        ),
        ("{{ 'ßa'.title() }} {{ 'ßa' | capitalize }} {{ 'ßa' | title }}", "Ssa Ssa SSa"),
        (
            "{{ {'a b': 'c/d', 'e': 1} | urlencode }} {{ [('a', 'b')] | urlencode }} {{ 'a b/' | urlencode }}",
            "a+b=c%2Fd&e=1 a=b a%20b/",
        ),
        ("{{ '1_000' | int }} {{ '1_0.5' | float }} {{ '1__0' | int }} {{ '_1' | int(7) }}", "1000 10.5 0 7"),
        (
            "{% set d = dict([('x', 5)], y=6) %}{% do d.update([('z', 7)]) %}{{ d.popitem() | join }} {{ d | length }} {{ d.x }}",
            "z7 2 5",
        ),
        ("{{ '12'.isdigit() }} {{ '½'.isdigit() }} {{ '½'.isnumeric() }}", "True False True"),
        (
            "{{ \"it's a-b\" | wordcount }} {{ [1, 2, 3] | slice(slices=2) | map('join') | join('|') }}",
            "4 12|3",
        ),
    ] {
        assert_eq!(printed(template), expected, "{template}");
    }
    let all = setup("{% set x = 'c' %}{% import 'macros' as m with context %}{{ m.show() }}{% from 'macros' import show %}{{ show() }}")
        .snippet("macros", "{% macro show() %}<{{ x | default('none') }}>{% endmacro %}");
    assert_eq!(all.unmarked(), "<c><none>");
    for (template, expected) in [
        (
            "{{ words | sort(revers=true) | join }}",
            "sort takes no argument \"revers\" (did you mean \"reverse\"?)",
        ),
        ("{{ name | upper(1) }}", "upper takes 0 argument(s), here are 1"),
        ("{{ '{:>5}'.format(name) }}", "a name or a number stands in braces"),
        ("{{ '99999999999999999999' | int }}", "has more than 64 bits"),
        ("{{ '%r' % name }}", "a form has no %r"),
        ("{{ name.split('') | length }}", "split: the separator is empty"),
        ("{{ 'long enough' | truncate(2) }}", "has no room for \"...\""),
        ("{{ {'a': 1} | dictsort(by='vale') | length }}", "is neither key nor value"),
        ("{{ ', '.join([1]) }}", "is no text"),
        ("{% macro m(a) %}{{ a }}{% endmacro %}{{ m(1, a=2) }}", "the macro \"m\" is given \"a\" twice"),
        ("{{ 'a' in missing }}", "missing is undefined"),
    ] {
        let errors = setup(template).errors();
        assert!(errors.contains(expected), "{template}: {errors}");
    }
    let errors = setup("{% macro m(argument) %}{{ argument }}{% endmacro %}{{ m() }}").errors();
    assert!(errors.contains("argument is undefined") && !errors.contains("mean \"argument\""), "{errors}");
}

#[test]
fn keys_that_a_template_says_are_its_own_text() {
    let all = setup(
        "defaults\n{% for key, value in {'timeout client': '5s', 'timeout server': '6s'}.items() %}    {{ key }} {{ value }}\n{% endfor %}",
    );
    let (bundle, _) = all.bundle().unwrap_or_else(|errors| panic!("{}", crate::support::all(&errors)));
    assert!(bundle.config.text.to_string().contains("    timeout client 5s\n"), "{}", bundle.config.text);
    assert_eq!(
        printed(
            "{% set d = {'shop': 1} %}{{ d[name] }} {{ name in d }} {% do d.update({name: 2}) %}{{ d | length }}"
        ),
        "1 True 1"
    );
}

#[test]
fn snippets_see_the_context_and_declare_nothing_outside() {
    let all = setup("{% set x = 1 %}{% include 'part' %}{{ y is defined }} {% include ['no', 'part'] without context %}{% include 'no' ignore missing %}{% import 'macros' as m %}{{ m.twice(x) }}{% from 'macros' import twice as t %}{{ t(2) }}")
        .snippet("part", "<{{ x | default('none') }}>{% set y = 2 %}")
        .snippet("macros", "{% set by = 2 %}{% macro twice(n) %}={{ n * by }}{% endmacro %}");
    assert_eq!(all.unmarked(), "<1>False <none>=2=4");
    let all = setup("{% import 'macros' as m %}{{ m.shown() }}{{ m._own is defined }}")
        .snippet("macros", "{% set _own = 2 %}{% macro shown() %}{{ _own }}{% endmacro %}");
    assert_eq!(all.unmarked(), "2False");
}

#[test]
fn a_template_replaces_blocks_of_the_one_it_extends() {
    let all = setup("{% extends 'base' %}dropped{% block a %}[{{ super() }}]{% endblock %}")
        .snippet("base", "1{% block a %}a{% endblock %}2{% block b %}b{{ self.a() }}{% endblock %}");
    assert_eq!(all.unmarked(), "1[a]2b[a]");
    let all = setup("before{% block a %}[x]{% endblock %}{% extends 'base' %}dropped")
        .snippet("base", "1{% block a %}a{% endblock %}2");
    assert_eq!(all.unmarked(), "before[x]1[x]2");
}

#[test]
fn what_is_undefined_can_be_asked_for_and_not_printed() {
    for (template, expected) in [
        ("{{ nme }}", "nme is undefined (did you mean \"name\"?)"),
        ("{{ people[0].nme.x }}", "people[0].nme is undefined"),
        ("{% for x in missing %}{% endfor %}", "missing is undefined"),
        ("{{ nothing }}", "nothing is none, which prints nothing"),
        ("{{ words }}", "words is a list of 3, which cannot be printed as text"),
        ("{{ x | safe }}", "the filter \"safe\" is not there"),
        ("{{ name | uper }}", "there is no filter \"uper\" (did you mean \"upper\"?)"),
        ("{{ name.__class__ }}", "__class__ is no field of data"),
        ("{% include 'nowhere' %}", "there is no snippet \"nowhere\""),
        ("{{ 1 / 0 }}", "division by zero"),
        ("{{ nofunction(1) }}", "there is no function or macro \"nofunction\""),
    ] {
        let errors = setup(template).errors();
        assert!(errors.contains(expected), "{template}: {errors}");
    }
}

#[test]
fn values_never_become_structure_however_they_are_put_together() {
    let hostile = "x\\nbackend evil";
    for template in [
        "# {{ name }}",
        "# {{ 'a ' ~ name }}",
        "# {{ [name, 'b c'] | join(' ') }}",
        "# {{ '%s' | format(name) }}",
        "# {{ '%s' % name }}",
        "# {{ name | upper }}",
        "# {{ name | replace('x', 'y') }}",
        "# {{ 'a'.replace('a', name) }}",
        "# {% set c %}q {{ name }}{% endset %}{{ c | trim }}",
        "# {% macro m(x) %}{{ x }}{% endmacro %}{{ m(name) ~ 'z' }}",
        "# {{ '{}'.format(name) }}",
        "# {{ name | indent }}",
        "# {{ 'a' | indent(name, true) }}",
        "# {{ 'a' | indent(width=name, first=true) }}",
        "# {{ 'a' | replace('a', new=name) }}",
        "# {{ 'a'.replace('a', new=name) }}",
        "# {{ ['a'] | map('replace', 'a', new=name) | join }}",
        "# {{ 'aaaa bbbb' | truncate(5, end=name, leeway=0) }}",
        "# {{ 'aaaa bbbb' | wordwrap(4, wrapstring=name) }}",
        "# {{ (name, 'a')[0] }}",
        "# {{ name.split('x') | last }}",
    ] {
        let errors = setup(&format!("global\n{template}\n"))
            .extra(json!({"name": hostile.replace("\\n", "\n")}))
            .errors();
        assert!(errors.contains("haproxyConfig"), "{template}: {errors}");
    }
}

#[test]
fn white_space_around_tags_goes_with_them_where_the_settings_say_so() {
    let template = "a\n  {% if true %}\nb\n  {% endif %}\nc";
    assert_eq!(printed(template), "a\n  \nb\n  \nc");
    let both = setup(template)
        .with("templatingSettings/trimBlocks", json!(true))
        .with("templatingSettings/lstripBlocks", json!(true));
    assert_eq!(both.unmarked(), "a\nb\nc");
}

#[test]
fn what_looks_like_another_language_is_told_so() {
    for (template, expected) in [
        ("{% for _, x := range y %}{% end %}", "This looks like Go's templates"),
        ("{% if name %}x{% end %}", "a block is closed by its name"),
        ("{{ .name }}", "names have no dot before them"),
        ("{{#each words}}{{/each}}", "This looks like Handlebars"),
    ] {
        let errors = setup(template).errors();
        assert!(errors.contains(expected), "{template}: {errors}");
    }
}

#[test]
fn templates_tell_their_engine_where_the_configuration_does_not() {
    let told = |template: &str| Setup::new(template).extra(json!({"x": [1]})).unmarked();
    assert_eq!(told("{%- for i in x %}{{ i }}{% endfor %}"), "1");
    assert_eq!(told("{{#each x}}{% if %}{{this}}{{/each}}"), "{% if %}1");
    assert_eq!(told("{{x.[0]}}"), "1");
}

#[test]
fn templates_that_have_no_end_end_with_an_error() {
    let deep = "not ".repeat(100);
    for (template, expected) in [
        (format!("{{% macro m() %}}{{{{ {deep} m() }}}}{{% endmacro %}}{{{{ m() }}}}"), "nested deeper than"),
        ("{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}".to_owned(), "nested deeper than 32"),
        ("{% set l = [] %}{% do l.append(l) %}{{ l == [l] }}".to_owned(), "nested deeper than"),
        ("{% set l = [] %}{% do l.append(l) %}{{ l | tojson }}".to_owned(), "nested deeper than"),
        ("{% set ns = namespace(l=[]) %}{% for i in range(200000) %}{% set ns.l = [ns.l] %}{% endfor %}{{ ns.l == [ns.l] }}".to_owned(), "nested deeper than"),
        ("{{ 'x' * 99999999999 }}".to_owned(), "longer than"),
        ("{{ range(99999999) | length }}".to_owned(), "more than 1000000 items"),
    ] {
        let errors = setup(&template).errors();
        assert!(errors.contains(expected), "{template}: {errors}");
    }
}

#[test]
fn what_is_asked_for_is_never_more_than_there_is_room_for() {
    let nested = "{% set ns = namespace(t=(1,), l=[1], m=[1]) %}{% for i in range(300000) %}{% set ns.t = (ns.t,) %}{% endfor %}{% for i in range(40) %}{% set ns.l = [ns.l, ns.l] %}{% set ns.m = [ns.m, ns.m] %}{% endfor %}";
    for (template, expected) in [
        ("{{ [1] | batch(9223372036854775807, 'x') | length }}".to_owned(), "are too many for a list"),
        (format!("{nested}{{{{ {{ns.t: 1}} | length }}}}"), "nested deeper than"),
        (format!("{nested}{{{{ ns.l == ns.m }}}}"), "more than 2000000 values"),
        (format!("{nested}{{{{ ns.l | tojson }}}}"), "more than 2000000 values"),
        ("{{ (-9223372036854775807 - 1) // -1 }}".to_owned(), "more than 64 bits"),
    ] {
        let errors = setup(&template).errors();
        assert!(errors.contains(expected), "{template}: {errors}");
    }
    let dropped = format!("{nested}{{% set x = ns.t %}}{{% set ns.t = 1 %}}ok");
    assert_eq!(printed(&dropped), "ok");
    assert_eq!(
        printed("{{ (-9223372036854775807 - 1) // -3 }} {{ 7 // -2 }} {{ -7 // -2 }}"),
        "3074457345618258602 -4 3"
    );
    assert_eq!(printed("{{ ('x' * 1000000) | wordwrap(10) | length }}"), "1099999");
}

#[test]
fn templates_that_nest_without_an_end_are_refused_before_they_are_parsed() {
    let many = |part: &str| part.repeat(30_000);
    for (template, expected) in [
        (format!("{{{{ 1{} }}}}", many("\n+ 1")), "this tag is nested deeper than 500"),
        (format!("{{{{ name{} is defined }}}}", many("\n.a")), "this tag is nested deeper than 500"),
        (format!("{{{{ {}1 }}}}", many("not\n")), "this tag is nested deeper than 500"),
        (format!("{{{{ 1{} }}}}", many("\nif 1 else 1")), "this tag is nested deeper than 500"),
        (
            format!("{{{{ {}1{} }}}}", "(".repeat(100), "+1+1+1+1+1+1)".repeat(100)),
            "this tag is nested deeper than 500",
        ),
        (
            format!("{{% if 0 %}}{}{{% endif %}}", many("{% elif 0 %}\n")),
            "`if` and `elif` are nested deeper than 300",
        ),
    ] {
        let errors = setup(&template).errors();
        assert!(errors.contains(expected), "{errors:.200}");
    }
    let flat = format!("{{{{ [{}] | length }}}}", "{'a': port + 1, 'c': [1, 2]},\n".repeat(2_000));
    assert_eq!(printed(&flat), "2000");
}

#[test]
fn resources_are_asked_as_the_original_design_asks_them() {
    let with_objects = |template: &str| {
        let setup = setup(template);
        let setup = setup.object("ingresses", "n", "a", &["n", "a"], json!({"metadata": {"name": "a"}}));
        setup.object("ingresses", "n", "b", &["n", "b"], json!({"metadata": {"name": "b"}}))
    };
    for (template, expected) in [
        ("{% for i in resources.ingresses.List() %}{{ i.metadata.name }}{% endfor %}", "ab"),
        ("{% for i in resources.ingresses.Fetch('n', 'b') %}{{ i.metadata.name }}{% endfor %}", "b"),
        ("{{ resources.ingresses.GetSingle('n', 'a').metadata.name }}", "a"),
        ("{{ resources.get('ingresses').List() | length }}", "2"),
    ] {
        assert_eq!(with_objects(template).unmarked(), expected, "{template}");
    }
}

#[test]
fn a_bad_object_stops_nothing_else() {
    let all = setup("{%- for _, ing in resources.get('ingresses').items() %}\n# {{ ing.spec.rules[0].host }}\n{%- endfor %}\n")
        .ingress("a", "good", "good.example", &[])
        .object("ingresses", "b", "bad", &["b", "bad"], json!({"metadata": {"namespace": "b", "name": "bad"}}));
    let rendered = all.rendered();
    assert_eq!(rendered.faults.len(), 1, "{:?}", rendered.faults);
    let diagnostic = rendered.faults[0].diagnostic.to_string();
    assert!(diagnostic.contains("ing.spec is undefined"), "{diagnostic}");
    assert!(all.unmarked().contains("# good.example"));
}

/// The configuration and the objects of `fixtures/seed`.
fn seed() -> Setup {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/seed");
    let text = std::fs::read_to_string(format!("{folder}/config.yaml")).unwrap();
    let config: Value = serde_saphyr::from_str(&text).unwrap();
    let mut setup = Setup::new(config["haproxy_config"]["template"].as_str().unwrap())
        .jinja()
        .with("watchedResources/endpoints/indexBy", json!(["metadata.labels['kubernetes.io/service-name']"]));
    for (name, snippet) in config["template_snippets"].as_object().unwrap() {
        setup = setup.snippet(name, snippet["template"].as_str().unwrap());
    }
    for kind in ["maps", "files"] {
        for (name, file) in config[kind].as_object().unwrap() {
            setup = setup.with(&format!("{kind}/{name}/template"), file["template"].clone());
        }
    }
    let objects: Value =
        serde_json::from_str(&std::fs::read_to_string(format!("{folder}/objects.json")).unwrap()).unwrap();
    for (resource, list) in objects.as_object().unwrap() {
        for object in list.as_array().unwrap() {
            let metadata = &object["metadata"];
            let (namespace, name) =
                (metadata["namespace"].as_str().unwrap(), metadata["name"].as_str().unwrap());
            let service = metadata["labels"]["kubernetes.io/service-name"].as_str();
            let key = service.map_or_else(|| vec![namespace, name], |service| vec![service]);
            setup = setup.object(resource, namespace, name, &key, object.clone());
        }
    }
    setup
}

#[test]
fn the_example_of_the_original_design_prints_what_python_prints() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/seed/python");
    let python = |name: &str| std::fs::read_to_string(format!("{folder}/{name}")).unwrap();
    // What is fitted to the pods afterwards (paths, `user`, `daemon`) is not the engine's.
    let config = seed().unmarked().replace("general/", "/etc/haproxy/general/");
    assert_eq!(config + "\n", python("haproxy.cfg"));
    let (bundle, _) = seed().bundle().unwrap_or_else(|errors| panic!("{}", crate::support::all(&errors)));
    for file in bundle.files.values() {
        let name = &*file.key.name;
        let kind = if name.ends_with(".map") { "maps" } else { "files" };
        // Where a line of a map ends is the encoder's; what was stored ends with a line end.
        let text = file.text.to_string();
        let expected = python(&format!("{kind}/{name}"));
        assert_eq!(text.strip_suffix('\n').unwrap_or(&text), expected.trim_end_matches('\n'), "{name}");
    }
}
