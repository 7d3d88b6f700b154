//! `haptic explain` from a configuration and a folder: the way of a request, or why it takes none.

use super::place::Place;

const CONFIG: &str = "apiVersion: haproxy-haptic.org/v1alpha1
kind: HAProxyTemplateConfig
metadata: {name: test}
spec:
  libraries: [base, ssl, ingress]
  credentialsSecretRef: {name: c}
  podSelector: {matchLabels: {app: haproxy}}
  templatingSettings: {extraContext: {ingressClass: {name: ours}}}
";

const OBJECTS: &str = "apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: shop, namespace: default, creationTimestamp: 2025-01-01T00:00:00Z}
spec:
  ingressClassName: ours
  rules:
    - host: shop.example
      http:
        paths:
          - {path: /web, pathType: Prefix, backend: {service: {name: web, port: {number: 80}}}}
          - {path: /gone, pathType: Prefix, backend: {service: {name: gone, port: {number: 80}}}}
          - {path: /idle, pathType: Prefix, backend: {service: {name: idle, port: {number: 80}}}}
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: late, namespace: default, creationTimestamp: 2025-06-01T00:00:00Z}
spec:
  ingressClassName: ours
  rules:
    - host: shop.example
      http: {paths: [{path: /web, pathType: Prefix, backend: {service: {name: other, port: {number: 80}}}}]}
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: foreign, namespace: default}
spec:
  ingressClassName: theirs
  rules:
    - host: foreign.example
      http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: web, port: {number: 80}}}}]}
---
apiVersion: v1
kind: Service
metadata: {name: web, namespace: default}
spec: {ports: [{port: 80, targetPort: 8080}]}
---
apiVersion: v1
kind: Service
metadata: {name: idle, namespace: default}
spec: {ports: [{port: 80, targetPort: 8080}]}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: web-1, namespace: default, labels: {kubernetes.io/service-name: web}}
addressType: IPv4
ports: [{port: 8080}]
endpoints: [{addresses: [10.0.0.1]}]
";

fn explained(place: &Place, url: &str, code: i32, words: &[&str]) {
    let arguments = ["explain", url, "-f", "config.yaml", "--resources", "objects", "--state-dir", "state"];
    place.haptic(&arguments).must(code, words);
}

#[test]
fn a_request_is_followed_to_its_servers_or_the_reason_why_it_has_none_is_told() {
    let place = Place::new();
    place.write("config.yaml", CONFIG);
    place.write("objects/all.yaml", OBJECTS);
    explained(
        &place,
        "http://shop.example/web/cart",
        0,
        &[
            "goes to backend default_shop_web_80, 1 server",
            "path-prefix.map",
            "ingresses default/shop",
            "10.0.0.1:8080",
        ],
    );
    let why = [
        ("http://nobody.example/", "no Ingress names the host nobody.example"),
        (
            "http://shop.example/other",
            "ingresses default/shop names the host, but not this path: it has /web, /gone, /idle",
        ),
        (
            "http://foreign.example/",
            "ingresses default/foreign: there is no IngressClass theirs; of this controller: none",
        ),
        ("http://shop.example/gone", "there is no Service default/gone"),
        ("http://shop.example/idle", "Service default/idle has no endpoints"),
        (
            "http://shop.example/other",
            "late: shop.example/web (Prefix) is taken by ingresses default/shop, which is older",
        ),
    ];
    for (url, why) in why {
        explained(&place, url, 1, &["is not served", why]);
    }
    explained(&place, "ftp://shop.example/", 2, &["neither http nor https"]);
    let own = [("healthz", "monitor-uri"), ("metrics", "prometheus-exporter"), ("stats;csv", "statistics")];
    for (path, what) in own {
        let answered = format!("is answered by HAProxy itself: {what}, by haproxy.cfg:");
        explained(&place, &format!("http://shop.example:7084/{path}"), 0, &[&answered]);
    }
    explained(&place, "http://shop.example:7084/else", 1, &["is not served", "Here are /healthz"]);
}

const ROUTES: &str = "apiVersion: gateway.networking.k8s.io/v1
kind: GatewayClass
metadata: {name: haptic}
spec: {controllerName: haproxy-haptic.org/gateway-controller}
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: edge, namespace: default}
spec:
  gatewayClassName: haptic
  listeners:
    - {name: http, port: 80, protocol: HTTP, hostname: '*.example'}
    - {name: odd, port: 8080, protocol: HTTP}
    - {name: passed, port: 443, protocol: TLS, tls: {mode: Passthrough}}
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: cart, namespace: default}
spec:
  parentRefs: [{name: edge, sectionName: http}]
  hostnames: [cart.example]
  rules:
    - matches: [{path: {type: Exact, value: /web}}, {path: {type: PathPrefix, value: /api}}]
      backendRefs: [{name: web, port: 80}]
    - matches: [{path: {type: PathPrefix, value: /idle}}]
      backendRefs: [{name: idle, port: 80}]
    - matches: [{path: {type: PathPrefix, value: /old}}]
      filters: [{type: RequestRedirect, requestRedirect: {hostname: new.example}}]
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: gone, namespace: default}
spec:
  parentRefs: [{name: edge}]
  hostnames: ['*.gone.example']
  rules: [{backendRefs: [{name: gone, port: 80}]}]
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: split, namespace: default}
spec:
  parentRefs: [{name: edge, sectionName: http}]
  hostnames: [split.example]
  rules:
    - matches: [{path: {value: /two}}]
      backendRefs: [{name: web, port: 80, weight: 9}, {name: idle, port: 80}]
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: listed, namespace: default}
spec:
  parentRefs: [{name: edge, sectionName: http}]
  hostnames: [listed.example]
  rules:
    - matches: [{headers: [{name: a, value: b}]}]
      backendRefs: [{name: web, port: 80}]
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: lost, namespace: default}
spec:
  parentRefs: [{name: nowhere}]
  hostnames: [lost.example]
  rules: [{backendRefs: [{name: web, port: 80}]}]
---
apiVersion: gateway.networking.k8s.io/v1
kind: TLSRoute
metadata: {name: mail, namespace: default}
spec:
  parentRefs: [{name: edge, sectionName: passed}]
  hostnames: [mail.example]
  rules: [{backendRefs: [{name: web, port: 80}]}]
---
";

#[test]
fn a_request_is_followed_through_a_gateway() {
    let place = Place::new();
    place.write("config.yaml", &CONFIG.replace("[base, ssl, ingress]", "[base, ssl, ingress, gateway]"));
    place.write("objects/all.yaml", &format!("{ROUTES}{OBJECTS}"));
    let served = [
        ("http://cart.example/web", "backend gateway:default_web_80_h1, 1 server"),
        ("http://cart.example/api/x", "Gateway default/edge, port 80: port 20000 of HAProxy"),
        ("http://cart.example/api", "httproutes default/cart"),
        ("http://cart.example/old", "is redirected: 302 to http://new.example/old"),
        ("https://mail.example/", "backend gateway:default_web_80_tcp, 1 server"),
        ("http://split.example/two", "backend gateway:default_web_80_h1, 1 server, unless a rule answers it"),
        ("http://split.example/two", "Lua that may lead it elsewhere: http-request lua.haptic-choose"),
        ("http://shop.example/web", "goes to backend default_shop_web_80"),
    ];
    for (url, words) in served {
        explained(&place, url, 0, &[words]);
    }
    let listed = [
        "http://listed.example/ is not served",
        "http://listed.example/ with header a: b goes to backend gateway:default_web_80_h1, 1 server",
    ];
    explained(&place, "http://listed.example/", 1, &listed);
    let why = [
        (
            "http://cart.example/web/more",
            "httproutes default/cart names the host, but not this path: it has /web, /api, /idle, /old",
        ),
        ("http://cart.example/idle", "Service default/idle has no endpoints"),
        ("http://a.b.gone.example/", "httproutes default/gone: there is no Service default/gone"),
        (
            "http://lost.example/",
            "httproutes default/lost: none of its parentRefs is a Gateway of this controller",
        ),
        ("http://nobody.example/", "no Ingress and no route names the host nobody.example"),
    ];
    for (url, why) in why {
        explained(&place, url, 1, &["is not served", why]);
    }
}

#[test]
fn a_host_of_others_is_told_at_each_route_for_it() {
    let place = Place::new();
    let hosts = "  hosts: [{hosts: [cart.example], namespaces: [pay]}]\n";
    let config = CONFIG.replace("[base, ssl, ingress]", "[base, ssl, gateway]");
    place.write("config.yaml", &format!("{config}{hosts}"));
    let wide = "apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: wide, namespace: default}
spec:
  parentRefs: [{name: edge, sectionName: http}]
  hostnames: ['*.example']
  rules: [{backendRefs: [{name: web, port: 80}]}]
---
";
    place.write("objects/all.yaml", &format!("{ROUTES}{OBJECTS}"));
    let why = "httproutes default/cart: cart.example belongs to namespace pay by spec.hosts: nothing of it is served there";
    explained(&place, "http://cart.example/web", 1, &["is not served", why]);
    place.write("objects/all.yaml", &format!("{ROUTES}{wide}{OBJECTS}"));
    let rule = "template gateway-rule-41-owners";
    explained(&place, "http://cart.example/web", 1, &["is not served", "httproutes default/wide", rule]);
    explained(&place, "http://split.example/two", 0, &["backend gateway:default_web_80_h1"]);
}

/// Beside [`ROUTES`]: a host that an Ingress and a Gateway have, a route with a condition, and listeners that are not served.
const MORE: &str = "apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: both, namespace: default}
spec:
  ingressClassName: ours
  rules:
    - host: both.example
      http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: web, port: {number: 80}}}}]}
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: both, namespace: default}
spec:
  parentRefs: [{name: edge}]
  hostnames: [both.example]
  rules: [{backendRefs: [{name: web, port: 80}]}]
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: cond, namespace: default}
spec:
  parentRefs: [{name: edge, sectionName: http}]
  hostnames: [cond.example]
  rules:
    - matches: [{path: {value: /x}, headers: [{name: a, value: '1'}]}]
      backendRefs: [{name: web, port: 80}]
    - matches: [{path: {value: /y}}]
      backendRefs: [{name: web, port: 80}]
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: locked, namespace: default}
spec:
  gatewayClassName: haptic
  allowedListeners: {namespaces: {from: Same}}
  listeners: [{name: https, port: 8443, protocol: HTTPS, tls: {certificateRefs: [{name: missing}]}}]
---
apiVersion: gateway.networking.k8s.io/v1
kind: ListenerSet
metadata: {name: set, namespace: default}
spec:
  parentRef: {name: locked}
  listeners:
    - {name: own, port: 8444, protocol: HTTPS, hostname: set.example, tls: {certificateRefs: [{name: cert, namespace: shop}]}}
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: locked, namespace: default}
spec:
  parentRefs: [{name: locked}]
  hostnames: [both.example, locked.example]
  rules: [{backendRefs: [{name: web, port: 80}]}]
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: in-set, namespace: default}
spec:
  parentRefs: [{kind: ListenerSet, name: set}]
  hostnames: [set.example]
  rules: [{matches: [{path: {value: /in}}], backendRefs: [{name: web, port: 80}]}]
---
";

/// [`ROUTES`] and [`MORE`], and what is said of a request there.
fn said_beside(url: &str) -> String {
    let place = Place::new();
    place.write("config.yaml", &CONFIG.replace("[base, ssl, ingress]", "[base, ssl, ingress, gateway]"));
    place.write("objects/all.yaml", &format!("{ROUTES}{MORE}{OBJECTS}"));
    let arguments = ["explain", url, "-f", "config.yaml", "--resources", "objects", "--state-dir", "state"];
    place.haptic(&arguments).out
}

#[test]
fn a_port_is_the_gateways_that_has_it_and_where_an_ingress_has_it_too_both_ways_are_told() {
    let (ingress, gateway) =
        ("goes to backend default_both_web_80", "goes to backend gateway:default_web_80_h1");
    for (url, by_ingress, port_of_gateway) in [
        ("http://both.example/", true, Some("port 80: port")),
        ("http://both.example:80/", true, Some("port 80: port")),
        ("http://both.example:8080/", false, Some("port 8080: port")),
        ("http://both.example:20000/", false, Some("port 80: port 20000 of HAProxy")),
        ("http://both.example:7080/", true, None),
        ("http://both.example:9999/", true, None),
    ] {
        let said = said_beside(url);
        assert_eq!(said.contains(ingress), by_ingress, "{url}: {said}");
        assert_eq!(said.contains(gateway), port_of_gateway.is_some(), "{url}: {said}");
        let step = port_of_gateway.map_or_else(String::new, |port| format!("Gateway default/edge, {port}"));
        assert!(said.contains(&step), "{url}: {said}");
    }
}

#[test]
fn of_a_listener_that_is_not_served_and_of_a_route_that_is_at_another_port_that_is_told() {
    let locked = "listener https of Gateway default/locked at port 8443 is not served: the certificate of Secret default/missing cannot be used";
    for (url, told) in [
        ("https://locked.example:8443/", locked),
        ("https://both.example:8443/", locked),
        (
            "http://locked.example/",
            "httproutes default/locked names the host, but is at no listener of port 80: those that it names have 8443",
        ),
        (
            "http://cart.example:8080/web",
            "httproutes default/cart names the host, but is at no listener of port 8080: those that it names have 80",
        ),
        (
            "https://set.example:8444/other",
            "listener own of ListenerSet default/set at port 8444 is not served: Secret shop/cert is in another namespace",
        ),
    ] {
        let said = said_beside(url);
        assert!(said.contains("is not served") && said.contains(told), "{url}: {said}");
        assert!(!said.contains("goes to") && !said.contains("but not this path"), "{url}: {said}");
    }
}

#[test]
fn a_route_with_a_condition_is_a_way_of_its_own_and_no_other_path_is_lost_by_it() {
    let said = said_beside("http://cond.example/y");
    assert!(
        said.contains("http://cond.example/y goes to backend gateway:default_web_80_h1, 1 server\n"),
        "{said}"
    );
    let said = said_beside("http://cond.example/x");
    for told in [
        "http://cond.example/x is not served",
        "http://cond.example/x with header a: 1 goes to backend gateway:default_web_80_h1",
    ] {
        assert!(said.contains(told), "{said}");
    }
}

#[test]
fn what_a_configuration_does_with_a_request_that_cannot_be_known_is_not_guessed() {
    let place = Place::new();
    let own = "libraries: []\n  watchedResources: {ingresses: {apiVersion: networking.k8s.io/v1, resources: ingresses}}\n  \
               haproxyConfig:\n    template: |\n      defaults d\n        mode http\n        timeout client 1s\n        \
               timeout connect 1s\n        timeout server 1s\n      frontend f from d\n        bind :80\n        \
               acl inner src 10.0.0.0/8\n        use_backend a if inner\n        default_backend b\n      \
               backend a from d\n      backend b from d\n        server s 10.0.0.1:80\n";
    place.write("config.yaml", &CONFIG.replace("libraries: [base, ssl, ingress]\n", own));
    place.write("objects/all.yaml", OBJECTS);
    explained(
        &place,
        "http://shop.example/",
        1,
        &[
            "http://shop.example/ cannot be followed to its end",
            "cannot be followed beyond haproxy.cfg:9, which depends on src",
            "use_backend a if inner",
        ],
    );
}

/// [`OBJECTS`] with one annotation of the Ingress `shop`.
fn with(annotation: &str) -> Place {
    let place = Place::new();
    place.write("config.yaml", CONFIG);
    let shop = "metadata: {name: shop, namespace: default, ";
    let annotated = format!("{shop}annotations: {{haproxy-haptic.org/{annotation}}}, ");
    place.write("objects/all.yaml", &OBJECTS.replace(shop, &annotated));
    place
}

#[test]
fn what_lua_decides_by_more_than_a_url_is_not_guessed_and_only_for_hosts_that_ask_it() {
    let place = with("match-methods: POST");
    let ways = [
        "http://shop.example/web is not served",
        "http://shop.example/web with method POST goes to backend default_shop_web_80, 1 server",
    ];
    explained(&place, "http://shop.example/web", 1, &ways);
    explained(
        &with("match-methods: GET"),
        "http://shop.example/web",
        0,
        &["goes to backend default_shop_web_80"],
    );
    let canary = "canary-service: 'idle:80', haproxy-haptic.org/canary-weight: '5'";
    let told = [
        "goes to backend default_shop_web_80",
        "Lua that may lead it elsewhere: http-request lua.haptic-choose",
    ];
    explained(&with(canary), "http://shop.example/web", 0, &told);
    let place = with(canary);
    let objects = OBJECTS.replace("name: foreign, namespace: default}", "name: plain, namespace: default}");
    let objects = objects.replace("ingressClassName: theirs", "ingressClassName: ours");
    let regex =
        "metadata: {name: shop, namespace: default, annotations: {haproxy-haptic.org/path-type: regex}, ";
    let objects = objects.replace("metadata: {name: shop, namespace: default, ", regex);
    place.write("objects/all.yaml", &objects);
    explained(&place, "http://foreign.example/", 0, &["goes to backend default_plain_web_80, 1 server"]);
}

#[test]
fn a_rule_that_may_answer_a_request_is_told_of_and_one_that_does_is_the_only_reason() {
    let url = "http://shop.example/web";
    let arguments = ["explain", url, "-f", "config.yaml", "--resources", "objects", "--state-dir", "state"];
    let place = with("allow-from: 10.0.0.0/8");
    let done = place.haptic(&arguments);
    done.must(
        0,
        &["1 server, unless a rule answers it", "may be answered by haproxy.cfg:", "deny deny_status 403"],
    );
    let place = with("redirect-to: 'https://elsewhere.example/'");
    let done = place.haptic(&arguments);
    done.must(0, &["is redirected: 302 to https://elsewhere.example/"]);
    assert!(!done.out.contains("does it have the port"), "{}", done.out);
    let place = with("maintenance: 'true'");
    place
        .haptic(&arguments)
        .must(1, &["is not served", "answers by itself: http-request deny deny_status 503"]);
    let place = with("rewrite-path: /y");
    let done = place.haptic(&arguments);
    done.must(0, &["goes to backend"]);
    assert!(!done.out.contains("may be answered by"), "{}", done.out);
}

#[test]
fn one_bad_object_of_a_folder_is_held_back_and_the_others_are_explained() {
    let place = with("rate-limit: ten");
    let other = "---\napiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata: {name: good, namespace: default}\nspec:\n  \
                 ingressClassName: ours\n  rules:\n    - host: good.example\n      http: {paths: [{path: /, pathType: Prefix, \
                 backend: {service: {name: web, port: {number: 80}}}}]}\n";
    place.write("objects/good.yaml", other);
    explained(&place, "http://good.example/", 0, &["goes to backend", "1 server"]);
    explained(
        &place,
        "http://shop.example/gone",
        1,
        &[
            "is not served",
            "rate-limit",
            "without what cannot be read: annotation",
            "It is served without what cannot be read",
        ],
    );
}

#[test]
fn what_somebody_wrote_into_an_object_commands_no_terminal_and_begins_no_line() {
    let place = Place::new();
    place.write("config.yaml", CONFIG);
    let ingress = "apiVersion: networking.k8s.io/v1
kind: Ingress
metadata:
  name: evil
  namespace: default
  annotations: {kubernetes.io/ingress.class: \"\\e[2J\\e]0;owned\\a\\nhttp://evil.example/ goes to backend a\"}
spec:
  rules:
    - host: evil.example
      http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: web, port: {number: 80}}}}]}
";
    place.write("objects/evil.yaml", ingress);
    let told =
        "there is no IngressClass \\u{1b}[2J\\u{1b}]0;owned\\u{7}\n          http://evil.example/ goes";
    explained(&place, "http://evil.example/", 1, &[told]);
}

#[test]
fn a_redirect_is_told_with_where_it_leads_and_is_no_failure() {
    for (annotation, to) in [
        ("redirect-to: /x", "is redirected: 302 to /x, by haproxy.cfg:"),
        (
            "redirect-to: 'https://b.example/', haproxy-haptic.org/redirect-code: '301'",
            "301 to https://b.example/, by",
        ),
    ] {
        explained(&with(annotation), "http://shop.example/web", 0, &[to]);
    }
}

#[test]
fn a_frontend_that_leads_to_no_backend_is_found_by_its_port() {
    let place = Place::new();
    let own = "libraries: []\n  watchedResources: {services: {apiVersion: v1, resources: services}}\n  \
               haproxyConfig:\n    template: |\n      defaults d\n        mode http\n        timeout client 1s\n        \
               timeout connect 1s\n        timeout server 1s\n      frontend f from d\n        bind :80\n        \
               default_backend b\n      frontend g from d\n        bind :7081\n        \
               http-request return status 410 if { path /old }\n        http-request return status 200\n      \
               backend b from d\n";
    place.write("config.yaml", &CONFIG.replace("libraries: [base, ssl, ingress]\n", own));
    place.write("objects/all.yaml", OBJECTS);
    explained(&place, "http://x:7081/", 0, &["is answered by HAProxy itself: 200, by haproxy.cfg:"]);
    explained(
        &place,
        "http://x:7081/old",
        1,
        &["is not served", "answers it: http-request return status 410"],
    );
    let url = "http://x/";
    let arguments = ["explain", url, "-f", "config.yaml", "--resources", "objects", "--state-dir", "state"];
    let done = place.haptic(&arguments);
    assert!(done.code == Some(1) && !done.out.contains("no Ingress"), "{}", done.out);
}

#[test]
fn what_no_route_of_a_class_takes_goes_to_its_service_while_that_has_servers() {
    let place = Place::new();
    let ours = "extraContext: {ingressClass: {name: ours}";
    let left = format!("{ours}, routes: {{defaults: {{default-service: 'default/web:80'}}}}");
    place.write("config.yaml", &CONFIG.replace(ours, &left));
    place.write("objects/all.yaml", OBJECTS);
    for url in ["http://shop.example/nowhere", "http://unknown.example/"] {
        explained(
            &place,
            url,
            0,
            &["goes to backend default_class:default_web_80, 1 server", "10.0.0.1:8080"],
        );
    }
    place
        .write("objects/all.yaml", &OBJECTS.replace("endpoints: [{addresses: [10.0.0.1]}]", "endpoints: []"));
    explained(&place, "http://unknown.example/", 1, &["is not served"]);
}

/// Its own templates, with a section that is frontend and backend in one.
const LISTEN: &str = "apiVersion: haproxy-haptic.org/v1alpha1
kind: HAProxyTemplateConfig
metadata: {name: own}
spec:
  credentialsSecretRef: {name: c}
  podSelector: {matchLabels: {app: haproxy}}
  watchedResources: {services: {apiVersion: v1, resources: services}}
  haproxyConfig:
    template: |
      defaults
          mode http
          timeout connect 5s
          timeout client 5s
          timeout server 5s
      listen both
          bind :7082
          http-request deny if { path /no }
          http-request deny if { src 192.0.2.1 }
          server s 10.0.0.1:80
";

#[test]
fn a_listen_section_is_its_own_backend() {
    let place = Place::new();
    place.write("config.yaml", LISTEN);
    place.write("objects/none.yaml", "");
    let ways = ["goes to backend both, 1 server", "frontend  listen both", "server s 10.0.0.1:80"];
    explained(&place, "http://x.example:7082/", 0, &ways);
    explained(&place, "http://x.example:7082/no", 1, &["is not served", "http-request deny if { path /no }"]);
    place.write("config.yaml", &LISTEN.replace("          server s 10.0.0.1:80\n", ""));
    explained(&place, "http://x.example:7082/", 1, &["backend both has no servers: HAProxy answers 503"]);
}
