//! What stands outside of values in what a Jinja2 template prints never depends on what a value says.

use crate::support::Setup;
use haptic_render::framing;
use proptest::prelude::*;
use serde_json::json;

/// Expressions over texts of the template, and over two values of watched objects.
fn expression() -> impl Strategy<Value = String> {
    let leaf = prop::sample::select(vec![
        "h",
        "h",
        "g",
        "'a b'",
        "'%s'",
        "'{}'",
        "' '",
        "7",
        "'\\n'",
        "nope|default('q r')",
        "l[0]",
        "d.k",
        "s",
        "''",
    ])
    .prop_map(str::to_owned);
    leaf.prop_recursive(4, 40, 3, |inner| {
        let one = inner.clone();
        let two = (inner.clone(), inner.clone());
        let three = (inner.clone(), inner.clone(), inner);
        prop_oneof![
            two.clone().prop_map(|(a, b)| format!("({a} ~ {b})")),
            two.clone().prop_map(|(a, b)| format!("({a}|string + {b}|string)")),
            three.prop_map(|(a, b, c)| format!("([{a}, {b}]|join({c}))")),
            two.clone().prop_map(|(a, b)| format!("({a})|format({b}, 1, 2)")),
            two.clone().prop_map(|(a, b)| format!("('%s-%5s' % ({a}, {b}))")),
            two.clone().prop_map(|(a, b)| format!("({a})|string|replace({b}|string, 'x')")),
            two.clone().prop_map(|(a, b)| format!("({a})|string|replace('a', {b}|string)")),
            two.clone().prop_map(|(a, b)| format!("({a})|string|replace('a', new={b}|string)")),
            two.clone()
                .prop_map(|(a, b)| format!("({a})|string|truncate(2, true, end={b}|string, leeway=0)")),
            two.clone().prop_map(|(a, b)| format!("({a})|string|wordwrap(3, wrapstring={b}|string)")),
            two.clone().prop_map(|(a, b)| format!("({a})|string|indent({b}|string, true)")),
            two.clone().prop_map(|(a, b)| format!("({a}|string).format({b})")),
            two.clone().prop_map(|(a, b)| format!("({a} if {b} is string else 'no way')")),
            two.clone().prop_map(|(a, b)| format!("({a})|default({b})")),
            two.clone().prop_map(|(a, b)| format!("({a}|string).join([{b}, 'j'])")),
            two.clone().prop_map(|(a, b)| format!("[{a}, {b}]|first")),
            two.prop_map(|(a, b)| format!("(m({a}) ~ {b})")),
            one.clone().prop_map(|a| format!("({a})|string|upper")),
            one.clone().prop_map(|a| format!("({a})|string|trim")),
            one.clone().prop_map(|a| format!("({a})|string|indent(2, true)")),
            one.clone().prop_map(|a| format!("({a})|string|center(9)")),
            one.clone().prop_map(|a| format!("(({a})|string)[:2]")),
            one.clone().prop_map(|a| format!("(({a})|string).partition('a')[0]")),
            one.clone().prop_map(|a| format!("(({a})|string * 2)")),
            one.clone().prop_map(|a| format!("({a})|arg")),
            one.clone().prop_map(|a| format!("[{a}]|map('upper')|first")),
            one.clone().prop_map(|a| format!("'%(k)s %(k)5s'|format(k={a})")),
            one.clone().prop_map(|a| format!("(({a})|string)|wordwrap(3, true, '-')")),
            one.prop_map(|a| format!("{{'k': {a}}}.k")),
        ]
    })
}

fn template() -> impl Strategy<Value = String> {
    let part = (expression(), expression(), 0..5_u8).prop_map(|(a, b, kind)| match kind {
        0 => format!("{{% set c %}}({{{{ {a} }}}}){{% endset %}}{{{{ c }}}}|{{{{ c ~ {b} }}}}\n"),
        1 => format!("{{% for o in [{a}, {b}] %}}{{{{ o }}}};{{% endfor %}}\n"),
        2 => format!("{{% filter upper %}}q {{{{ {a} }}}}{{% endfilter %}}{{{{ {b} }}}}\n"),
        3 => format!("{{% call m({a}) %}}w {{{{ {b} }}}}{{% endcall %}}\n"),
        _ => format!("{{{{ {a} }}}}\n"),
    });
    let head = "{% macro m(x) %}<{{ x }}{% if caller %}{{ caller() }}{% endif %}>{% endmacro %}{% set l = [h] %}{% set d = {'k': g} %}{% set s %}s {{ h }}{% endset %}";
    prop::collection::vec(part, 1..4).prop_map(move |parts| head.to_owned() + &parts.concat())
}

/// What stands outside of values, and how many values there are.
fn skeleton(template: &str, h: &str, g: &str) -> Option<(String, usize)> {
    let setup = Setup::new(template).jinja().extra(json!({"h": h, "g": g}));
    let text = crate::support::framed_or_not(&setup).ok()?;
    let (mut outside, mut values, mut within, mut in_mark) = (String::new(), 0, false, false);
    for c in text.chars() {
        match c {
            ';' if in_mark => in_mark = false,
            _ if in_mark => {}
            framing::LINE | framing::OWNER => {
                assert!(!within, "a mark in a value: {template}");
                in_mark = true;
            }
            framing::VALUE | framing::ARGUMENT | framing::LOG_FORMAT => {
                assert!(!within, "a value in a value: {template}");
                (within, values) = (true, values + 1);
            }
            framing::END => {
                assert!(within, "an end of nothing: {template}");
                within = false;
            }
            c if framing::is_mark(c) => assert!(!within, "a mark in a value: {template}"),
            c if !within => outside.push(c),
            _ => {}
        }
    }
    assert!(!within, "a value without an end: {template}");
    Some((outside, values))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn values_change_nothing_around_them(template in template()) {
        let harmless = skeleton(&template, "x", "y");
        for (h, g) in [("%s a b\n%d %% server q", "7\n'"), ("{} {0} a \u{e4}\u{301}", "{x}"), ("aaa", "%%")] {
            // A value may make an expression fail; it never makes it print another structure.
            if let (Some(harmless), Some(hostile)) = (&harmless, skeleton(&template, h, g)) {
                prop_assert_eq!(harmless, &hostile, "{}", template);
            }
        }
    }
}
