//! Parts in Jinja2 in the place of those of the libraries, and a frame in Jinja2 around them, asked by requests.

use crate::{
    on_each_haproxy_with,
    options::{both, certificate},
    site::{Scheme, Site},
};
use serde_json::{Value, json};

const HOST: &str = "a.example";

fn manifests() -> Vec<Value> {
    let mut all = both(&[("affinity", "cookie")]);
    all[0]["metadata"]["annotations"]["example.com/team"] = json!("blue team");
    all.push(certificate());
    all
}

/// What a client gets with the options of the Ingress, and without.
fn answers(site: &Site) {
    for scheme in [Scheme::Http, Scheme::Https] {
        let on = site.get(scheme, HOST, "/on");
        assert_eq!((on.status, on.header("x-team")), (200, Some("blue team")), "{on:?}");
        let cookie = on.header("set-cookie").unwrap_or_default();
        assert!(cookie.starts_with("HAPTIC_AFFINITY="), "{on:?}");
        let off = site.get(scheme, HOST, "/off");
        assert_eq!((off.status, off.header("x-team")), (200, None), "{off:?}");
        assert_eq!(site.get(scheme, HOST, "/nowhere").status, 404);
        let robots = site.get(scheme, HOST, "/robots.txt");
        assert_eq!((robots.status, robots.body.as_str()), (200, "User-agent: *, b"));
    }
}

/// Parts of the libraries, written in Jinja2: one that prints parts of theirs, one for each server, one for each backend, one of its own.
fn parts(spec: &mut Value) {
    spec["templatingSettings"]["extraContext"]["ingressOptions"] = json!(["example.com/team"]);
    spec["templatingSettings"]["extraContext"]["agents"] = json!(["*", "b"]);
    let parts = json!({
        "find-route": "{% for rules, unless in [('var(txn.host)', ''), ('var(txn.host),regsub(^[^.]+,*)', ' !{ var(txn.' ~ route ~ ') -m found }'), ('str(*)', ' !{ var(txn.' ~ route ~ ') -m found }')] %}\nhttp-request set-var(txn.rules) {{ rules }} if { var(txn.{{ path }}) -m found }{{ unless }}\n{% include 'find-route-of-rules' %}\n{%- endfor %}\n",
        "ingress-server-options": "{% if options.affinity is defined %} cookie {{ sha256(server.name)[:16] }}{% endif %}{% include 'ingress-server-protocol' %}",
        "ingress-own-10-team": "{% set team = options['example.com/team'] %}{% if team is defined %}\nhttp-response set-header X-Team {{ team | lf }}\n{%- endif %}\n",
        "frontend-35-robots": "{% if agents %}\nhttp-request return status 200 content-type text/plain string \"User-agent: {{ agents | join(', ') }}\" if { path /robots.txt }\n{%- endif %}\n",
    });
    for (name, template) in parts.as_object().unwrap() {
        spec["templateSnippets"][name] = json!({"template": template});
    }
}

/// The frame of the libraries in Jinja2.
const FRAME: &str = r#"
{{ render_glob("check-*") }}
global
    log stdout format raw local0
    maxconn {{ maxConnections }}
    {{ render_glob("global-*") }}

defaults clients
    mode http
    timeout client {{ timeouts.client }}
    timeout http-request {{ timeouts.request }}
    errorfile 503 {{ "503.http" | get_path("file") }}

{%- for algorithm in balanceAlgorithms %}

defaults {{ algorithm }}
    balance {{ algorithm }}
    {% include "profile-body" %}

defaults {{ algorithm }}_cookie
    balance {{ algorithm }}
    {% with name = affinityCookie %}{% include "affinity-cookie" %}{% endwith %}
    {% include "profile-body" %}
{%- endfor %}

frontend health from clients
    {{ render_glob("health") }}

frontend web from clients
    {{ render_glob("bind-*") }}
    {{ render_glob("frontend-*") }}
    default_backend not_found

backend not_found from roundrobin
    http-request return status 404 errorfile {{ "404.http" | get_path("file") }}

{{ render_glob("backend-*") }}
"#;

#[test]
fn parts_in_jinja_take_the_place_of_those_of_the_libraries() {
    on_each_haproxy_with(&manifests(), parts, answers);
}

#[test]
fn what_a_value_says_is_a_value_in_parts_in_jinja() {
    for said in [
        "%[src] %ci %%",
        "a\" http-request deny",
        "x; # y \\",
        "$HOME ${HOME} \"${HOME}\"",
        "{{ 7 * 7 }}{% raw %}{#",
        "' or 1=1 {",
    ] {
        let mut all = manifests();
        all[0]["metadata"]["annotations"]["example.com/team"] = json!(said);
        on_each_haproxy_with(&all, parts, |site| {
            let on = site.get(Scheme::Http, HOST, "/on");
            assert_eq!((on.status, on.header("x-team")), (200, Some(said)), "{on:?}");
        });
    }
}

#[test]
fn a_frame_in_jinja_prints_the_parts_of_the_libraries() {
    let with_frame = |spec: &mut Value| {
        parts(spec);
        spec["templatingSettings"]["engine"] = json!("jinja2");
        spec["haproxyConfig"] = json!({"template": FRAME});
    };
    on_each_haproxy_with(&manifests(), with_frame, answers);
}
