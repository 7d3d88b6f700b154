//! Which blocks are printed again after a change, and which are not.

use crate::{
    incremental::told,
    support::{Setup, all},
};
use haptic_model::{ActiveConfig, FileKey, Fleet};
use haptic_render::{Checked, Program, RenderJob, RenderLimits, Renderer, engine::Uncacheable};
use std::sync::Arc;

/// One template with the same three Ingresses, before and after a change.
struct History {
    setup: Setup,
    config: ActiveConfig,
    compiled: Arc<Program>,
    renderer: Renderer,
}

impl History {
    fn new(template: &str) -> Self {
        Self::of(Setup::new(template))
    }

    fn of(setup: Setup) -> Self {
        let setup = setup
            .ingress("n", "a", "a.example", &[("/", "a")])
            .ingress("n", "b", "b.example", &[("/", "b")])
            .ingress("n", "c", "c.example", &[("/", "c")])
            .endpoints("n", "a", 1, &["10.0.0.1"]);
        let (config, compiled) = (setup.config(), setup.compile().unwrap());
        Self { setup, config, compiled, renderer: Renderer::checked(Checked::Always) }
    }

    /// How many blocks are printed anew, and how many could not be kept.
    fn printed(&mut self, change: impl FnOnce(Setup) -> Setup) -> (usize, usize) {
        let setup = std::mem::replace(&mut self.setup, Setup::new(""));
        self.setup = change(setup);
        self.renderer
            .render(&RenderJob {
                compiled: &self.compiled,
                config: &self.config,
                snapshots: &self.setup.snapshots(),
                fleet: &Fleet::default(),
                limits: &RenderLimits::default(),
            })
            .unwrap_or_else(|e| panic!("{}", all(&e)));
        let size = self.renderer.cache();
        (size.printed, size.uncacheable)
    }
}

fn each(body: &str) -> String {
    format!(
        "{{{{let outer=1}}}}{{{{let all=(list \"ingresses\")}}}}\n{{{{#each (list \"ingresses\") as |o|}}}}\n{body}{{{{/each}}}}\n"
    )
}

const ENDPOINTS: &str =
    "x {{o.metadata.name}} {{len (fetch \"endpoints\" \"n\" o.metadata.name)}} {{outer}}\n";

#[test]
fn a_change_prints_only_the_blocks_that_saw_it() {
    let mut history = History::new(&each(ENDPOINTS));
    assert_eq!(history.printed(|s| s), (3, 0));
    assert_eq!(history.printed(|s| s), (0, 0));
    assert_eq!(history.printed(|s| s.endpoints("n", "a", 1, &["10.0.0.2"])), (1, 0));
    assert_eq!(history.printed(|s| s.endpoints("n", "elsewhere", 1, &["10.0.0.2"])), (0, 0));
    assert_eq!(history.printed(|s| s.ingress("n", "b", "other.example", &[])), (1, 0));
    assert_eq!(history.printed(|s| s.ingress("n", "aa", "new.example", &[])), (1, 0));
    assert_eq!(history.renderer.cache().blocks, 4);
}

#[test]
fn blocks_of_jinja_templates_that_begin_with_a_line_end_are_kept() {
    let template = "{% set outer = 1 %}global\n{%- for _, o in resources.get('ingresses').items() %}{% include 'part' %}{%- endfor %}\n\nend {{ outer }}\n";
    let part = "{% if o.spec %}\nx {{ o.metadata.name }} {{ fetch('endpoints', 'n', o.metadata.name) | length }} {{ outer }}{% endif %}";
    let mut history = History::of(Setup::new(template).jinja().snippet("part", part));
    assert_eq!(history.setup.unmarked(), "global\nx a 1 1\nx b 0 1\nx c 0 1\n\nend 1");
    assert_eq!(history.printed(|s| s), (3, 0));
    assert_eq!(history.printed(|s| s), (0, 0));
    assert_eq!(history.printed(|s| s.endpoints("n", "a", 1, &["10.0.0.2"])), (1, 0));
    assert_eq!(history.printed(|s| s.ingress("n", "b", "other.example", &[])), (1, 0));
    assert_eq!(history.printed(|s| s.ingress("n", "aa", "new.example", &[])), (1, 0));
    assert_eq!(history.renderer.cache().blocks, 4);
}

#[test]
fn a_block_that_sees_its_index_is_printed_again_when_that_changes() {
    let mut history = History::new(&each("x {{@index}}\n"));
    assert_eq!(history.printed(|s| s), (3, 0));
    assert_eq!(
        history.printed(|s| s.ingress("n", "bb", "h", &[])),
        (2, 0),
        "the new one and the one behind it"
    );
}

#[test]
fn what_cannot_be_tracked_is_printed_each_time_with_its_reason() {
    let cases = [
        ("{{#if (once \"k\")}}x\n{{/if}}y\n", Uncacheable::Once),
        ("{{set outer=(add outer 1)}}\n", Uncacheable::OuterVariable),
        ("x {{len all}}\n", Uncacheable::OuterObjects),
        ("x {{o.metadata.name}} ", Uncacheable::InsideLine),
    ];
    for (body, why) in cases {
        let mut history = History::new(&each(body));
        history.printed(|s| s);
        let (printed, uncacheable) =
            history.printed(|s| s.endpoints("n", "a", 1, &["10.0.0.2"]).ingress("n", "b", "h", &[]));
        assert_eq!((printed, uncacheable), (3, 3), "{body}");
        let said = history.renderer.uncacheable(&history.compiled);
        assert_eq!((said.len(), said[0].count, said[0].block.why), (1, 3, why), "{said:?}");
        assert_eq!((&*said[0].block.template, said[0].block.line), ("haproxyConfig", 2));
        assert_eq!(said[0].file, FileKey::config());
    }
}

#[test]
fn blocks_that_may_be_printed_each_time_are_told_from_the_templates() {
    let setup = Setup::new(
        "{{let all=(list \"ingresses\") n=0}}\n{{#each all as |o|}}\nx {{len all}}{{> part}}\n{{/each}}\n{{#each (list \"ingresses\") as |o|}}\nx {{o.metadata.name}} {{@index}} {{n}}\n{{/each}}\n",
    )
    .snippet("part", "{{#if (once \"k\")}}{{set n=1}}{{/if}}")
    .map("m", "a {{#with (get_single \"ingresses\" \"n\" \"a\") as |o|}}{{o.metadata.name}}{{/with}}\n");
    let told: Vec<String> = setup
        .compile()
        .unwrap()
        .impure_blocks()
        .iter()
        .map(|b| format!("{}:{} {:?}", b.template, b.line, b.why))
        .collect();
    let expected = [
        "haproxyConfig:2 Once",
        "haproxyConfig:2 OuterVariable",
        "haproxyConfig:2 OuterObjects",
        "m:1 InsideLine",
    ];
    assert_eq!(told, expected);
}

#[test]
fn blocks_of_jinja_that_may_be_printed_each_time_are_told_from_the_templates() {
    let told = |template: &str| -> Vec<String> {
        let setup = Setup::new(template)
            .jinja()
            .snippet("part", "{% if once('k') %}{% do seen.append(o.metadata.name) %}{% endif %}")
            .snippet("macros", "{% macro grow(l, o) %}{% do l.append(o) %}{% endmacro %}");
        let blocks = setup.compile().unwrap_or_else(|e| panic!("{}", all(&e))).impure_blocks();
        blocks.iter().map(|block| format!("{}:{} {:?}", block.template, block.line, block.why)).collect()
    };
    let line = |body: &str| {
        format!(
            "{{% set seen = [] %}}{{% set all = list('ingresses') %}}{{% import 'macros' as macros %}}\n{{%- for _, o in resources.get('ingresses', {{}}).items() %}}\nx {body}{{%- endfor %}}\nend\n"
        )
    };
    for pure in [
        "{{ o.metadata.name }}",
        "{{ loop.index }} {{ seen | length }}",
        "{% for rule in o.spec.get('rules', []) | selectattr('host', 'defined') %}{{ rule.host }}{% endfor %}",
        "{% set own = [] %}{% do own.append(o) %}{{ macros.grow(own, o) }}{{ own | length }}",
        "{% for s in resources.endpoints.fetch(o.metadata.name) %}{{ s.metadata.name }}{% break %}{% endfor %}",
        "{% for service, group in list('ingresses') | groupby('spec.service') %}{{ service }}{{ group | length }}{% endfor %}",
    ] {
        assert_eq!(told(&line(pure)), [""; 0], "{pure}");
    }
    for (impure, why) in [
        ("{{ loop.cycle('a', 'b') }}", vec!["OuterVariable"]),
        ("{{ all | length }}", vec!["OuterObjects"]),
        ("{% do seen.append(1) %}", vec!["OuterVariable"]),
        ("{{ macros.grow(seen, 1) }}", vec!["OuterVariable"]),
        ("{% include 'part' %}", vec!["Once", "OuterVariable"]),
        ("{% if o.spec %}{% break %}{% endif %}", vec!["OuterVariable"]),
    ] {
        let whys: Vec<String> = why.iter().map(|why| format!("haproxyConfig:2 {why}")).collect();
        assert_eq!(told(&line(impure)), whys, "{impure}");
    }
    let inside = "{% for o in list('ingresses') %}{{ o.metadata.name }} {% endfor %}\n{% set x %}{% for o in list('ingresses') %}\nx{% endfor %}{% endset %}";
    assert_eq!(told(inside), ["haproxyConfig:1 InsideLine", "haproxyConfig:2 InsideLine"]);
}

#[test]
fn a_block_of_jinja_that_begins_with_a_loop_over_objects_is_kept() {
    let template = "{%- for o in list('ingresses') %}{% for s in fetch('endpoints', 'n', o.metadata.name) %}\n  s {{ s.metadata.name }}{% else %}\n  none{% endfor %}{% endfor %}\n";
    let mut history = History::of(Setup::new(template).jinja());
    assert_eq!(history.printed(|s| s), (3, 0));
    assert_eq!(history.printed(|s| s.endpoints("n", "b", 1, &["10.0.0.2"])), (1, 0));
}

#[test]
fn a_block_of_jinja_that_asks_whether_there_is_one_before_it_is_kept() {
    let template = "{%- for o in list('ingresses') %}\nx {{ 'first' if loop.previtem is undefined else loop.previtem.metadata.name }}{% endfor %}\n";
    let mut history = History::of(Setup::new(template).jinja());
    assert_eq!(history.printed(|s| s), (3, 0));
    assert_eq!(
        history.printed(|s| s.ingress("n", "bb", "h", &[])),
        (2, 0),
        "the new one and the one behind it"
    );
}

#[test]
fn snippets_that_include_any_of_many_are_told_of_in_bounded_time() {
    let mut setup = Setup::new("{{> (concat \"s\" \"1\")}}\n");
    for number in 0..30 {
        setup = setup.snippet(
            &format!("s{number}"),
            "{{> (concat \"s\" \"1\")}}{{#each (list \"ingresses\")}}{{> (concat \"s\" \"2\")}}{{/each}}",
        );
    }
    assert!(!setup.compile().unwrap().impure_blocks().is_empty());
}

#[test]
fn a_render_that_is_checked_is_the_full_one_even_if_tracking_is_broken() {
    let setup = History::new(&each(ENDPOINTS)).setup;
    let (config, compiled) = (setup.config(), setup.compile().unwrap());
    let mut renderer = Renderer::forgetful().and_checked(Checked::Always);
    let mut told_by = |setup: &Setup| {
        told(&renderer.render(&RenderJob {
            compiled: &compiled,
            config: &config,
            snapshots: &setup.snapshots(),
            fleet: &Fleet::default(),
            limits: &RenderLimits::default(),
        }))
    };
    told_by(&setup);
    let changed = setup.endpoints("n", "b", 1, &["10.0.0.2"]);
    let full = Renderer::checked(Checked::Never);
    let full = { full }.render(&RenderJob {
        compiled: &compiled,
        config: &config,
        snapshots: &changed.snapshots(),
        fleet: &Fleet::default(),
        limits: &RenderLimits::default(),
    });
    assert_eq!(told_by(&changed), told(&full));
}

#[test]
fn a_render_with_a_fault_keeps_what_is_not_at_fault() {
    let body = "{{#if (eq o.spec.rules.0.host \"evil\")}}{{fail \"evil\"}}{{/if}}\nx {{o.metadata.name}}\n";
    let mut history = History::new(&each(body));
    assert_eq!(history.printed(|s| s), (3, 0));
    let evil =
        Setup { stores: history.setup.stores.clone(), ..Setup::new("") }.ingress("n", "b", "evil", &[]);
    let stores = evil.snapshots();
    let failed = history.renderer.render(&RenderJob {
        compiled: &history.compiled,
        config: &history.config,
        snapshots: &stores,
        fleet: &Fleet::default(),
        limits: &RenderLimits::default(),
    });
    assert!(all(&failed.unwrap_err()).contains("evil"));
    assert_eq!(history.printed(|s| s.ingress("n", "c", "other", &[])), (2, 0), "b and c");
}

#[test]
fn what_nothing_has_read_prints_nothing_not_even_what_is_printed_each_time() {
    let body =
        "{{set total=(add total 1)}}\nx {{total}} {{len (fetch \"endpoints\" \"n\" o.metadata.name)}}\n";
    let mut history = History::new(&format!("{{{{let total=0}}}}{}", each(body)));
    assert_eq!(history.printed(|s| s), (3, 3));
    assert_eq!(history.printed(|s| s.endpoints("n", "nobodys", 1, &["10.0.0.8"])), (0, 3));
    assert_eq!(history.printed(|s| s.endpoints("n", "b", 1, &["10.0.0.9"])), (3, 3));
}

#[test]
fn a_block_that_failed_is_printed_again_when_what_it_had_read_changes() {
    let found = "(fetch \"endpoints\" \"n\" o.metadata.name)";
    let body = format!(
        "{{{{#unless {found}}}}}{{{{fail \"no endpoints\"}}}}{{{{/unless}}}}\nx {{{{o.metadata.name}}}}\n"
    );
    let mut history = History::new(&each(&body));
    history.renderer = Renderer::checked(Checked::Never);
    let (stores, fleet, limits) = (history.setup.snapshots(), Fleet::default(), RenderLimits::default());
    let failed = history
        .renderer
        .render(&RenderJob {
            compiled: &history.compiled,
            config: &history.config,
            snapshots: &stores,
            fleet: &fleet,
            limits: &limits,
        })
        .unwrap_err();
    assert!(all(&failed).contains("no endpoints"));
    let both = |s: Setup| s.endpoints("n", "b", 1, &["10.0.0.8"]).endpoints("n", "c", 1, &["10.0.0.9"]);
    assert_eq!(history.printed(both), (2, 0));
}

#[test]
fn a_fork_goes_on_as_the_renderer_would_and_changes_nothing_for_it() {
    let mut history = History::new(&each(ENDPOINTS));
    assert_eq!(history.printed(|s| s), (3, 0));
    let mut fork = history.renderer.fork();
    let beside = Setup { stores: history.setup.stores.clone(), ..Setup::new("") };
    let beside = beside.endpoints("n", "b", 1, &["10.0.0.8"]).snapshots();
    let (fleet, limits) = (Fleet::default(), RenderLimits::default());
    let render = |renderer: &mut Renderer| {
        let rendering = renderer
            .render(&RenderJob {
                compiled: &history.compiled,
                config: &history.config,
                snapshots: &beside,
                fleet: &fleet,
                limits: &limits,
            })
            .unwrap();
        (rendering.bundle.digest, renderer.cache().printed)
    };
    let (digest, printed) = render(&mut fork);
    assert_eq!(printed, 1, "of b");
    assert_eq!(render(&mut Renderer::checked(Checked::Never)).0, digest);
    assert_eq!(history.printed(|s| s), (0, 0), "nothing has changed there");
}

#[test]
fn limits_hold_as_in_a_full_render() {
    let setup = History::new(&each("x {{o.metadata.name}} {{o.spec.rules.0.host}}\n")).setup;
    let (config, compiled) = (setup.config(), setup.compile().unwrap());
    let longer =
        Setup { stores: setup.stores.clone(), ..Setup::new("") }.ingress("n", "a", &"h".repeat(300), &[]);
    for output in 0..900 {
        let limits = RenderLimits { output, ..RenderLimits::default() };
        let mut renderer = Renderer::checked(Checked::Never);
        for snapshots in [setup.snapshots(), longer.snapshots(), setup.snapshots()] {
            let kept = renderer.render(&RenderJob {
                compiled: &compiled,
                config: &config,
                snapshots: &snapshots,
                fleet: &Fleet::default(),
                limits: &limits,
            });
            let full = Renderer::checked(Checked::Never).render(&RenderJob {
                compiled: &compiled,
                config: &config,
                snapshots: &snapshots,
                fleet: &Fleet::default(),
                limits: &limits,
            });
            assert_eq!(told(&kept), told(&full), "limit {output}");
        }
    }
}
