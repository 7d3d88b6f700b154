//! What a Secret says in another way all the time is rendered as it was, until it is its turn to have HAProxy reloaded.

use crate::support::{Setup, all};
use base64::{Engine, engine::general_purpose::STANDARD as BASE64};
use haptic_model::Fleet;
use haptic_render::{Checked, RenderJob, Renderer};
use serde_json::json;
use std::time::{Duration, Instant};

const TEMPLATE: &str = r#"{{#each (userlists "ingresses") as |list|}}
userlist {{list.metadata.name}}
    {{#each list.data.users as |user|}}
    user {{user.name}} password {{user.password}}
    {{/each}}
{{/each}}
"#;

fn hash(letter: &str) -> String {
    format!("$5$aaaaaaaa${}", letter.repeat(43))
}

fn with_users(setup: Setup, letter: &str) -> Setup {
    let users = json!({
        "metadata": {"namespace": "shop", "name": "users"},
        "data": {"auth": BASE64.encode(format!("u:{}", hash(letter)))},
    });
    setup.object("labelledsecrets", "shop", "users", &["shop", "users"], users)
}

/// haproxy.cfg at a second.
fn rendered(renderer: &mut Renderer, setup: &Setup, now: Instant) -> String {
    renderer.set_time(now);
    let compiled = setup.compile().unwrap_or_else(|errors| panic!("{}", all(&errors)));
    let job = RenderJob {
        compiled: &compiled,
        config: &setup.config(),
        snapshots: &setup.snapshots(),
        fleet: &Fleet::default(),
        limits: &setup.limits,
    };
    let rendering = renderer.render(&job).unwrap_or_else(|errors| panic!("{}", all(&errors)));
    assert_eq!(renderer.take_difference(), None);
    rendering.bundle.config.text.to_string()
}

#[test]
fn users_that_wait_are_rendered_as_they_were_and_the_render_is_due_at_their_turn() {
    let ingress = json!({
        "metadata": {"namespace": "shop", "name": "a", "annotations": {"haproxy-haptic.org/auth-secret": "users"}},
        "spec": {"rules": [{"host": "shop.example", "http": {"paths": [
            {"path": "/", "pathType": "Prefix", "backend": {"service": {"name": "web", "port": {"number": 80}}}},
        ]}}]},
    });
    let setup = Setup::new(TEMPLATE).object("ingresses", "shop", "a", &["shop", "a"], ingress);
    let (mut setup, begin) = (with_users(setup, "a"), Instant::now());
    let mut renderer = Renderer::checked(Checked::Always);
    let at = |second| begin + Duration::from_secs(second);
    assert!(rendered(&mut renderer, &setup, begin).contains(&hash("a")));
    for (second, (letter, counting)) in
        (1..).zip([("b", "b"), ("c", "c"), ("d", "d"), ("e", "d"), ("f", "d"), ("g", "d")])
    {
        setup = with_users(setup, letter);
        assert!(rendered(&mut renderer, &setup, at(second)).contains(&hash(counting)), "{letter}");
    }
    assert_eq!(renderer.due(), Some(at(61)));
    assert!(rendered(&mut renderer, &setup, at(61)).contains(&hash("g")));
    assert_eq!(renderer.due(), None);
}
