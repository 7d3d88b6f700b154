//! Blocks stand again in groups: after one change all others are passed on as they are, and are not looked at one by one.

use crate::support::Setup;
use haptic_model::{ActiveConfig, Fleet, ObjectRef};
use haptic_render::{Checked, Program, RenderJob, RenderLimits, Renderer};
use haptic_text::{Text, TextRun};
use std::{collections::HashSet, sync::Arc};

const HANDLEBARS: &str = "frontend f\n  bind :80\n{{#each (list \"ingresses\") as |o|}}\nbackend {{o.metadata.name}}\n  {{> servers of=o}}\n{{/each}}\n";
const SERVERS: &str = "{{#each (fetch \"endpoints\" of.metadata.namespace of.metadata.name) as |slice|}}\n{{#each slice.endpoints as |e|}}\nserver {{first e.addresses}} {{first e.addresses}}:80\n{{/each}}\n{{/each}}\n";
const JINJA: &str = "frontend f\n  bind :80\n{%- for _, o in resources.get('ingresses', {}).items() %}\nbackend {{ o.metadata.name }}\n{%- for slice in fetch('endpoints', o.metadata.namespace, o.metadata.name) %}{% for e in slice.endpoints %}\n  server {{ e.addresses[0] }} {{ e.addresses[0] }}:80{% endfor %}{% endfor %}{% endfor %}\n";

/// Objects at first: many groups in a build for tests, whose groups are small.
const COUNT: usize = 48;
/// Runs that one change may make anew: the group that it is in, and what it becomes with its neighbours.
const NEW: usize = 3;

struct World {
    setup: Setup,
    config: ActiveConfig,
    compiled: Arc<Program>,
    renderer: Renderer,
}

impl World {
    fn new(setup: Setup, count: usize) -> Self {
        let setup = (0..count).fold(setup, |setup, number| with(setup, &name(number), "10.0.0.1"));
        let compiled = setup.compile().unwrap_or_else(|e| panic!("{}", crate::support::all(&e)));
        Self { config: setup.config(), setup, compiled, renderer: Renderer::checked(Checked::Never) }
    }

    fn put(&mut self, number: usize, address: &str) {
        let setup = std::mem::replace(&mut self.setup, Setup::new(""));
        self.setup = with(setup, &name(number), address);
    }

    fn delete(&mut self, number: usize) {
        let gone = ObjectRef::new("ingresses", "a", &name(number));
        self.setup.stores.get_mut("ingresses").unwrap().remove(&gone);
    }

    /// haproxy.cfg of the next bundle, which is that of a full render.
    fn render(&mut self) -> Text {
        let Self { setup, config, compiled, renderer } = self;
        let config = &*config;
        let (snapshots, fleet, limits) = (setup.snapshots(), Fleet::default(), RenderLimits::default());
        let render = |renderer: &mut Renderer| {
            renderer
                .render(&RenderJob {
                    compiled,
                    config,
                    snapshots: &snapshots,
                    fleet: &fleet,
                    limits: &limits,
                })
                .unwrap()
                .bundle
        };
        let bundle = render(renderer);
        let full = render(&mut Renderer::checked(Checked::Never));
        assert_eq!(bundle.config.text.to_string(), full.config.text.to_string());
        assert_eq!(bundle.digest, full.digest);
        bundle.config.text.clone()
    }
}

/// Numbers between those that there are at first stand between them, too.
fn name(number: usize) -> String {
    format!("o{number:04}")
}

fn with(setup: Setup, name: &str, address: &str) -> Setup {
    setup.ingress("a", name, name, &[("/", name)]).endpoints("a", name, 1, &[address])
}

fn worlds() -> [World; 3] {
    let handlebars = Setup::new(HANDLEBARS).snippet("servers", SERVERS);
    // Jinja2 prints no line end at a template's end: haproxy.cfg gets one.
    let with_text_behind = Setup::new(&format!("{JINJA}\nbackend behind\n  mode http\n")).jinja();
    [handlebars, Setup::new(JINJA).jinja(), with_text_behind].map(|setup| World::new(setup, COUNT))
}

/// How many runs of `after` are not those of `before`.
fn fresh(before: &Text, after: &Text) -> usize {
    let known: HashSet<usize> = before.runs().iter().map(TextRun::address).collect();
    after.runs().iter().filter(|run| !known.contains(&run.address())).count()
}

#[test]
fn one_change_makes_the_group_anew_that_it_is_in_and_no_other() {
    for mut world in worlds() {
        // Groups are made of what the first render printed.
        world.render();
        world.put(3, "10.0.0.9");
        let mut before = world.render();
        for number in [COUNT / 2, 0, COUNT - 1, 7, COUNT / 2] {
            world.put(number, "10.0.0.2");
            world.render();
            world.put(number, &format!("10.0.1.{number}"));
            let after = world.render();
            let (fresh, all) = (fresh(&before, &after), after.runs().len());
            assert!(all > 3 * NEW && fresh <= 2 * NEW, "{fresh} of {all} runs are new");
            before = after;
        }
    }
}

#[test]
fn groups_keep_their_size_while_objects_come_and_go() {
    for mut world in worlds() {
        world.render();
        for number in COUNT..2 * COUNT {
            world.put(number, "10.0.0.3");
            world.render();
        }
        let runs = world.render().runs().len();
        for number in (0..2 * COUNT).filter(|number| number % 8 != 0) {
            world.delete(number);
            world.render();
        }
        world.put(1, "10.0.0.4");
        world.render();
        let left = world.render().runs().len();
        assert!(left * 3 < runs, "of {runs} runs {left} are left for an eighth of the objects");
    }
}
