//! The function library: every example does what it says, and no name stands in a field's way.

use crate::support::Setup;
use haptic_render::{
    Language,
    functions::{self, Role},
};
use serde_json::json;

/// The world that the examples of the table live in.
fn world(template: &str) -> Setup {
    Setup::new(template)
        .snippet("example-1", "one\n")
        .snippet("example-2", "two\n")
        .map("host.map", "")
        .ingress("default", "shop", "shop.example", &[("/", "shop")])
        .ingress("default", "blog", "blog.example", &[("/", "blog")])
        .service("default", "shop")
        .endpoints("default", "shop", 1, &["10.0.0.1"])
        .endpoints("default", "shop", 2, &["10.0.0.2"])
        .endpoints("default", "blog", 1, &["10.0.0.3"])
}

#[test]
fn every_example_of_the_table_gives_its_stated_result() {
    let wrong: Vec<String> = functions::table()
        .filter_map(|f| {
            let (template, gives) = f.example;
            let printed = match world(template).compile() {
                Ok(_) => std::panic::catch_unwind(|| world(template).unmarked())
                    .unwrap_or_else(|_| "(it fails)".into()),
                Err(errors) => crate::support::all(&errors),
            };
            (printed != gives)
                .then(|| format!("{}: {template}\n  gives  {printed:?}\n  not    {gives:?}", f.name))
        })
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_example_in_jinja_gives_its_stated_result() {
    let wrong: Vec<String> = functions::table()
        .filter_map(|f| {
            let (template, gives) = functions::example(f, Language::Jinja2);
            let printed = std::panic::catch_unwind(|| world(&template).jinja().unmarked());
            let printed = printed.unwrap_or_else(|_| "(it fails)".into());
            (printed.trim_end() != gives.trim_end())
                .then(|| format!("{}: {template}\n  gives  {printed:?}\n  not    {gives:?}", f.name))
        })
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn names_are_unique_and_every_function_is_documented() {
    let names: Vec<&str> = functions::names().collect();
    let mut unique = names.clone();
    unique.sort_unstable();
    unique.dedup();
    assert_eq!(names.len(), unique.len());
    for f in functions::table() {
        assert!(f.doc.ends_with('.'), "{}: {}", f.name, f.doc);
        assert!(f.example.0.contains(f.name), "the example of {} does not use it", f.name);
    }
}

#[test]
fn a_field_with_the_name_of_a_function_is_still_a_field() {
    for f in functions::table() {
        let name = f.name;
        let setup = Setup::new(&format!("{{{{#with @root.extraContext.o}}}}{{{{{name}}}}} {{{{this.{name}}}}} {{{{lower {name}}}}}{{{{/with}}}}"))
            .extra(json!({"o": {name: "field"}}));
        assert_eq!(setup.unmarked(), "field field field", "{name}");
    }
}

/// Fields of Ingress, Service, EndpointSlice, Secret, Gateway and HTTPRoute that templates print.
const FIELDS: &[&str] = &[
    "addresses",
    "allowedRoutes",
    "annotations",
    "apiVersion",
    "appProtocol",
    "backend",
    "backendRef",
    "backendRefs",
    "backendRequest",
    "certificateRefs",
    "clusterIP",
    "conditions",
    "controller",
    "data",
    "defaultBackend",
    "deprecatedTopology",
    "endpoints",
    "exact",
    "externalName",
    "extensionRef",
    "filters",
    "from",
    "gatewayClassName",
    "generation",
    "group",
    "headers",
    "hints",
    "host",
    "hostname",
    "hostnames",
    "hosts",
    "http",
    "immutable",
    "ingressClassName",
    "ip",
    "ipFamilies",
    "key",
    "kind",
    "kinds",
    "labels",
    "listeners",
    "loadBalancer",
    "mode",
    "method",
    "name",
    "namespace",
    "namespaces",
    "nodeName",
    "nodePort",
    "number",
    "options",
    "parentRefs",
    "parents",
    "path",
    "pathType",
    "paths",
    "port",
    "ports",
    "prefix",
    "protocol",
    "publishNotReadyAddresses",
    "queryParams",
    "ready",
    "regex",
    "remove",
    "replaceFullPath",
    "replacePrefixMatch",
    "request",
    "requestHeaderModifier",
    "requestMirror",
    "requestRedirect",
    "resource",
    "resourceVersion",
    "responseHeaderModifier",
    "rules",
    "scheme",
    "secretName",
    "sectionName",
    "selector",
    "service",
    "serviceName",
    "serving",
    "sessionAffinity",
    "spec",
    "status",
    "statusCode",
    "stringData",
    "targetPort",
    "targetRef",
    "terminating",
    "timeouts",
    "tls",
    "type",
    "uid",
    "urlRewrite",
    "value",
    "weight",
    "zone",
];

#[test]
fn no_function_bears_the_name_of_a_field_that_templates_print() {
    let clashes: Vec<&str> = functions::names().filter(|n| FIELDS.contains(n)).collect();
    assert!(clashes.is_empty(), "{clashes:?}");
}

#[test]
fn the_listing_names_every_function_in_each_form() {
    let all = functions::Listing::whole();
    let (text, markdown, json) = (all.as_text(), all.as_markdown(), all.as_json());
    for f in functions::table() {
        assert!(text.contains(&f.usage()) && markdown.contains(&f.usage()), "{}", f.name);
        assert!(json.as_array().unwrap().iter().any(|j| j["name"] == f.name), "{}", f.name);
    }
    assert!(functions::table().any(|f| f.role == Role::Glob));
    let jinja = functions::Listing::whole().in_language(Language::Jinja2).as_text();
    for usage in ["  get(of, path[, default])\n", "  proxy_name([part…])\n", "  default\n"] {
        assert!(jinja.contains(usage), "{usage}");
    }
}

#[test]
fn errors_of_functions_name_function_argument_and_what_it_got() {
    let cases = [
        (
            r#"{{slice (array 1) "a"}}"#,
            r#"slice: argument 2 (start) must be a whole number, it is the text "a""#,
        ),
        (r#"{{join 5 ","}}"#, "join: argument 1 (list) must be a list, it is the number 5"),
        (r#"{{lower (array 1)}}"#, "lower: argument 1 (text) must be a text, it is a list of 1"),
        (r#"{{div 1 0}}"#, "div: division by 0"),
        (r#"{{add 9223372036854775807 1}}"#, "add: the result is too large"),
        (r#"{{b64decode "!"}}"#, "b64decode: this is not Base64"),
        (r#"{{regex_replace "a" "(" ""}}"#, r#"regex_replace: "(" is not a regular expression"#),
        (
            r#"{{len (list "ingreses")}}"#,
            r#"list: "ingreses" is not watched (did you mean "ingresses"?); watchedResources has: endpoints, ingresses, labelledsecrets, secrets, services"#,
        ),
        (
            r#"{{file_path "hots.map" "map"}}"#,
            r#"file_path: maps has no "hots.map" (did you mean "host.map"?)"#,
        ),
        (r#"{{file_path "host.map" "maps"}}"#, r#""maps" is no kind of file"#),
        (r#"{{json (where (array (dict n=1)) "n" "like" 1)}}"#, r#"where: "like" is no operator"#),
        (r#"{{printf "%d" "x"}}"#, r#"printf: %d takes a whole number, it got the text "x""#),
        (r#"{{len (range 100000000)}}"#, "range: more than 1000000 numbers"),
        (r#"{{repeat "abcdefgh" 100000000}}"#, "repeat: the result would be longer"),
        (r#"{{lt 1 (array)}}"#, "lt: the number 1 and a list of 0 have no order"),
        (r#"{{json (dict "a")}}"#, r#"dict: the key the text "a" has no value"#),
        (r#"{{fail "no certificate for " "shop"}}"#, "no certificate for shop"),
    ];
    for (template, expected) in cases {
        let errors = world(template).errors();
        assert!(errors.contains(expected), "{template}\n  {errors}\n  lacks {expected}");
        assert!(errors.contains("template haproxyConfig:1:1"), "{errors}");
    }
}
