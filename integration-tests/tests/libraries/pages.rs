//! Pages in place of errors: from ConfigMaps of an Ingress or of all, for maintenance, and a Service in place of one without servers.

use crate::{
    around::service,
    auth_server,
    client::Answer,
    on_each_haproxy, on_each_haproxy_with,
    options::{both, certificate},
    protocols::leading_to,
    site::{SCHEMES, Scheme, rendered_alone, sentences},
};
use serde_json::{Value, json};

const HOST: &str = "a.example";

pub fn pages(namespace: &str, name: &str, pages: &[(&str, &str)]) -> Value {
    let data: serde_json::Map<String, Value> =
        pages.iter().map(|(key, text)| ((*key).to_owned(), json!(text))).collect();
    json!({"kind": "ConfigMap", "data": data,
        "metadata": {"namespace": namespace, "name": name, "labels": {"haproxy-haptic.org/use": "pages"}}})
}

/// Status, type and body, without the end of its last line.
fn shown(answer: &Answer) -> (u16, &str, &str) {
    (answer.status, answer.header("content-type").unwrap_or_default(), answer.body.trim_end())
}

/// The Ingress has all paths, and leads to somebody who answers as they say.
fn leading_to_answers(options: &[(&str, &str)], port: u16) -> Vec<Value> {
    let mut manifests = leading_to("answers", 80, options);
    manifests[0]["spec"]["rules"][0]["http"]["paths"][0]["path"] = json!("/");
    manifests.extend(service("answers", "IPv4", port, &["127.0.0.1"]));
    manifests
}

#[test]
fn what_a_limit_refuses_has_the_page_of_its_status() {
    let all = [("429", "<h1>later</h1>"), ("503.txt", "full")];
    for (status, more, page) in [
        (429, None, ("text/html", "<h1>later</h1>")),
        (503, Some(("rate-limit-status", "503")), ("text/plain", "full")),
        (404, Some(("rate-limit-status", "404")), ("text/html", "")),
    ] {
        let mut options = vec![("error-pages", "pages"), ("rate-limit", "1"), ("rate-limit-period", "hour")];
        options.extend(more);
        let mut manifests = both(&options);
        manifests.push(pages("shop", "pages", &all));
        on_each_haproxy(&manifests, |site| {
            assert_eq!(site.get(Scheme::Http, HOST, "/on").service(), Some(1));
            let refused = site.get(Scheme::Http, HOST, "/on");
            assert_eq!((refused.status, refused.header("retry-after")), (status, Some("3600")));
            let (_, kind, text) = shown(&refused);
            assert_eq!(kind, page.0);
            assert!(text.starts_with(page.1) && !text.contains("10."), "{text}");
            assert_eq!(site.get(Scheme::Http, HOST, "/off").service(), Some(2), "others have no limit");
        });
    }
}

#[test]
fn errors_have_the_pages_of_the_config_map() {
    let all = [
        ("503", "<h1>100% \"sorry\" %[src] ${HOME}</h1>"),
        ("404.json", "{\"error\": 404}"),
        ("418.txt", "tea"),
    ];
    let own = ("error-pages", "pages");
    let mut nobody = leading_to("nobody", 80, &[own]);
    nobody.extend(service("nobody", "IPv4", 1, &[]));
    nobody.push(pages("shop", "pages", &all));
    on_each_haproxy(&nobody, |site| {
        for scheme in SCHEMES {
            assert_eq!(shown(&site.get(scheme, HOST, "/on")), (503, "text/html", all[0].1));
            assert_eq!(site.get(scheme, HOST, "/off").service(), Some(2));
        }
    });
    let (port, _) = auth_server::start();
    for (replace, not_found, tea) in [
        ("own", (404, "", "no"), (418, "", "no")),
        ("all", (404, "application/json", all[1].1), (418, "text/plain", "tea")),
    ] {
        let mut manifests = leading_to_answers(&[own, ("error-pages-replace", replace)], port);
        manifests.push(pages("shop", "pages", &all));
        on_each_haproxy(&manifests, |site| {
            assert_eq!(shown(&site.get(Scheme::Http, HOST, "/status/404")), not_found);
            assert_eq!(shown(&site.get(Scheme::Https, HOST, "/status/418")), tea);
            let head = site.ask(Scheme::Http, "HEAD", HOST, "/plain", "", "");
            assert_eq!(head.status, 204);
            assert_eq!(site.get(Scheme::Http, HOST, "/status/500").status, 500);
        });
    }
}

#[test]
fn a_page_keeps_what_says_how_a_client_may_go_on() {
    let (port, _) = auth_server::start();
    let mut manifests = leading_to_answers(&[("error-pages", "pages"), ("error-pages-replace", "all")], port);
    manifests.push(pages("shop", "pages", &[("401", "who?"), ("401.html", "who is it?")]));
    on_each_haproxy(&manifests, |site| {
        let asked = site.get(Scheme::Http, HOST, "/status/401");
        assert_eq!(
            (asked.header("www-authenticate"), asked.body.trim_end()),
            (Some("Basic realm=x"), "who?")
        );
    });
    let said = sentences(&rendered_alone(&manifests).unwrap().1);
    assert!(said.contains("page 401.html of ConfigMap shop/pages is not shown"), "{said}");
}

#[test]
fn an_answer_that_a_service_makes_keeps_it_too() {
    let refusing = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = refusing.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for mut asked in refusing.incoming().flatten() {
            drop(std::io::Read::read(&mut asked, &mut [0; 4096]));
            let answer = b"HTTP/1.1 401 Who\r\nConnection: close\r\nContent-Length: 3\r\n\r\nwho";
            drop(std::io::Write::write_all(&mut asked, answer));
        }
    });
    let (answers, _) = auth_server::start();
    let options = [("error-service", "refusing:80"), ("error-service-statuses", "401")];
    let mut manifests = leading_to_answers(&options, answers);
    manifests.extend(service("refusing", "IPv4", port, &["127.0.0.1"]));
    on_each_haproxy(&manifests, |site| {
        let asked = site.get(Scheme::Http, HOST, "/status/401");
        let told = (asked.status, asked.header("www-authenticate"), asked.body.as_str());
        assert_eq!(told, (401, Some("Basic realm=x"), "who"));
    });
}

#[test]
fn what_is_no_page_is_told_and_changes_nothing() {
    let large = "x".repeat(12_001);
    let wrong =
        [("200", "x"), ("5xx", "x"), ("503.html.gz", "x"), ("404.png", "x"), ("500", &large), ("502", "it")];
    let mut manifests = both(&[("error-pages", "pages")]);
    manifests.push(pages("shop", "pages", &wrong));
    let (bundle, warnings) = rendered_alone(&manifests).unwrap();
    let (config, said) = (bundle.config.text.to_string(), sentences(&warnings));
    assert_eq!(config.matches("http-error ").count(), 1, "{config}");
    for key in ["200", "5xx", "503.html.gz", "404.png"] {
        assert!(said.contains(&format!("key {key} of ConfigMap shop/pages is no page")), "{said}");
    }
    assert!(said.contains("page 500 of ConfigMap shop/pages has more than 12,000 bytes"), "{said}");
    for (replace, is_told) in [("own", true), ("all", false)] {
        let mut manifests = both(&[("error-pages", "pages"), ("error-pages-replace", replace)]);
        manifests.push(pages("shop", "pages", &[("418", "tea"), ("407", "ask")]));
        let said = sentences(&rendered_alone(&manifests).unwrap().1);
        assert_eq!(
            said.contains("page 418 of ConfigMap shop/pages is for a status that only servers give"),
            is_told
        );
        assert!(!said.contains("page 407"), "{said}");
    }
    let missing = rendered_alone(&both(&[("error-pages", "pages")])).unwrap();
    assert!(sentences(&missing.1).contains("there is no ConfigMap shop/pages"), "{:?}", missing.1);
    // That of another namespace is not there either.
    let mut manifests = both(&[("error-pages", "pages")]);
    manifests.push(pages("other", "pages", &[("503", "theirs")]));
    let (bundle, _) = rendered_alone(&manifests).unwrap();
    assert!(bundle.all().all(|file| !file.text.to_string().contains("theirs")));
    let said = sentences(&rendered_alone(&both(&[("error-pages", "other/pages")])).expect_err("a path"));
    assert!(said.contains("must be the name of a ConfigMap in the same namespace"), "{said}");
}

#[test]
fn pages_of_all_take_the_place_of_haproxys_own() {
    let mut manifests = both(&[("deny-from", "127.0.0.0/8")]);
    manifests.push(certificate());
    manifests.push(pages("edge", "pages", &[("403", "not you"), ("503.txt", "nobody")]));
    let mut nobody = leading_to("nobody", 80, &[])[0].clone();
    nobody["metadata"]["name"] = json!("nobody");
    nobody["spec"]["rules"][0]["http"]["paths"][0]["path"] = json!("/nobody");
    manifests.push(nobody);
    manifests.extend(service("nobody", "IPv4", 1, &[]));
    let setting = |spec: &mut Value| {
        spec["templatingSettings"]["extraContext"]["errorPages"] =
            json!({"namespace": "edge", "name": "pages"});
    };
    on_each_haproxy_with(&manifests, setting, |site| {
        for scheme in SCHEMES {
            assert_eq!(shown(&site.get(scheme, HOST, "/on")), (403, "text/html", "not you"));
            assert_eq!(shown(&site.get(scheme, HOST, "/nobody")), (503, "text/plain", "nobody"));
            assert_eq!(site.get(scheme, HOST, "/off").service(), Some(2));
        }
    });
}

#[test]
fn in_maintenance_everybody_but_some_gets_503() {
    let seen = |options: &[(&str, &str)], more: &[Value], expected: (u16, &str)| {
        let mut manifests = both(options);
        manifests.push(certificate());
        manifests.extend_from_slice(more);
        on_each_haproxy(&manifests, |site| {
            for scheme in SCHEMES {
                let on = site.get(scheme, HOST, "/on");
                assert_eq!(on.status, expected.0, "{options:?}");
                assert!(on.body.contains(expected.1), "{on:?}");
                assert_eq!(site.get(scheme, HOST, "/off").service(), Some(2));
            }
        });
    };
    let on = ("maintenance", "true");
    seen(&[on], &[], (503, ""));
    let page = pages("shop", "pages", &[("503", "back at noon")]);
    seen(&[on, ("error-pages", "pages")], &[page], (503, "back at noon"));
    seen(&[on, ("maintenance-except", "127.0.0.0/8")], &[], (200, "127.0.1.1"));
    seen(&[on, ("maintenance-except", "10.0.0.0/8")], &[], (503, ""));
    seen(&[("maintenance", "false")], &[], (200, "127.0.1.1"));
}

#[test]
fn another_service_gets_the_requests_while_the_paths_own_has_no_server() {
    for (own, default, expected) in
        [("nobody", "s3:80", Some(3)), ("s1", "s3:80", Some(1)), ("nobody", "nobody:80", None)]
    {
        let mut manifests = leading_to(own, 80, &[("default-service", default)]);
        manifests.extend(service("nobody", "IPv4", 1, &[]));
        on_each_haproxy(&manifests, |site| {
            for scheme in SCHEMES {
                assert_eq!(site.get(scheme, HOST, "/on").service(), expected);
                assert_eq!(site.get(scheme, HOST, "/off").service(), Some(2));
            }
        });
    }
    let said =
        sentences(&rendered_alone(&both(&[("default-service", "other/s3:80")])).expect_err("a namespace"));
    assert!(said.contains("NAME:PORT of a Service in the same namespace"), "{said}");
}

#[test]
fn a_service_makes_answers_in_place_of_servers_with_some_statuses() {
    let mut manifests = both(&[("error-service", "s3:80"), ("error-service-statuses", "404, 410")]);
    manifests.push(certificate());
    on_each_haproxy(&manifests, |site| {
        for (scheme, name) in SCHEMES.into_iter().zip(["http", "https"]) {
            let answer = site.get(scheme, HOST, &format!("/on/first-404/{name}?x"));
            assert_eq!((answer.status, answer.service(), answer.sent("x-code")), (200, Some(3), Some("404")));
            let told = ["x-original-uri", "x-namespace", "x-ingress-name"].map(|header| answer.sent(header));
            let uri = format!("/on/first-404/{name}?x");
            assert_eq!(told, [Some(uri.as_str()), Some("shop"), Some("on")]);
            let check = "X-Haptic-Check: 1\r\n";
            let answer = site.ask(scheme, "GET", HOST, &format!("/on/first-404/{name}/check"), check, "");
            assert_eq!((answer.service(), answer.sent("x-code")), (Some(3), Some("404")), "{answer:?}");
            // Other statuses, and those of others, pass.
            assert_eq!(site.get(scheme, HOST, &format!("/on/first-418/{name}")).status, 418);
            assert_eq!(site.get(scheme, HOST, &format!("/off/first-404/{name}")).status, 404);
        }
    });
}
