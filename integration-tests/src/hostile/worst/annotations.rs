//! Annotations: every one that the libraries know with texts of each shape, values that cost HAProxy most, unknown ones by
//! the thousand.

use super::super::{
    case::{Around, Ask, Case, OPTIONS},
    tenant::options,
    texts::{HUGE, LARGE, numbers, regexes, shapes, slow_path},
};
use crate::failure::Outcome;
use serde_json::{Map, Value, json};

pub fn cases(around: Around) -> Outcome<Vec<Case>> {
    let options: Vec<String> = options()?.into_iter().collect();
    let mut cases = Vec::new();
    let of_shapes = |name: &str, shapes: &[(&'static str, String)]| {
        Case::new(around, name, |m| {
            let each = shapes.iter().flat_map(|(_, text)| options.iter().map(move |option| (option, text)));
            let ingress = |(number, (option, text)): (usize, (&String, &String))| {
                let mut ingress = m.annotated(&format!("i{number}"), &[(option, text.clone())]);
                ingress["spec"]["rules"][0]["host"] = format!("i{number}.{}", m.host).into();
                ingress
            };
            m.with_web(each.enumerate().map(ingress).collect())
        })
    };
    // In two halves: with 140 options all of them at once are 2,400 objects of 40 MB.
    let large = shapes(LARGE);
    let (lists, others) = large.split_at(large.len() / 2);
    cases.push(of_shapes("large lists in every annotation", lists));
    cases.push(of_shapes("large texts in every annotation", others));
    for (size, word) in [(LARGE, "large"), (HUGE, "huge")] {
        for shape in shapes(size) {
            let case =
                of_shapes(&format!("{word} {} in every annotation", shape.0), std::slice::from_ref(&shape));
            let is_often = ["huge lines", "huge networks", "huge marks"]
                .iter()
                .any(|often| case.name.starts_with(often));
            cases.push(if is_often { case } else { case.rarely() });
        }
    }
    // In two halves, too, and all of them only in a long run: with 200 options they are 4,500 objects that are held back.
    let of_numbers = |name: &str, numbers: &[String]| {
        Case::new(around, name, |m| {
            let each = options.iter().enumerate().flat_map(|(at, option)| {
                let numbers = numbers.iter().enumerate();
                numbers.map(move |(way, number)| (format!("i{at}-{way}"), option, number))
            });
            let ingress = |(name, option, number): (String, &String, &String)| {
                let mut ingress = m.annotated(&name, &[(option, number.clone())]);
                ingress["spec"]["rules"][0]["host"] = format!("{name}.{}", m.host).into();
                ingress
            };
            m.with_web(each.map(ingress).collect())
        })
    };
    let numbers = numbers();
    let (some, others) = numbers.split_at(numbers.len() / 2);
    cases.push(of_numbers("strange numbers in every annotation", &numbers).rarely());
    cases.push(of_numbers("some strange numbers in every annotation", some));
    cases.push(of_numbers("other strange numbers in every annotation", others));
    for (number, regex) in regexes().into_iter().enumerate() {
        let made = Case::new(around, &format!("expensive regex {number}"), |m| {
            let ingress =
                m.annotated("web", &[("rewrite-regex", regex), ("rewrite-replacement", "/x".into())]);
            m.with_web(vec![ingress])
        });
        let asked = (0..8).fold(made, |case, _| case.asking(|m| Ask::get(&m.host, &slow_path())));
        cases.push(if number == 5 { asked } else { asked.rarely() });
    }
    cases.push(Case::new(around, "all expensive regexes on one Service", |m| {
        let ingress = |(number, regex): (usize, String)| {
            let annotations = [("rewrite-regex", regex), ("rewrite-replacement", "/x".into())];
            let mut ingress = m.annotated(&format!("i{number}"), &annotations);
            ingress["spec"]["rules"][0]["http"]["paths"][0]["path"] = format!("/p{number}").into();
            ingress
        };
        m.with_web(regexes().into_iter().enumerate().map(ingress).collect())
    }));
    cases.extend(headers(around));
    cases.push(Case::new(around, "annotations nobody knows by the thousand", |m| {
        let of_us = |n: usize| (format!("{OPTIONS}no-such-annotation-{n}"), Value::from("v"));
        let mut ingress = m.ingress("ours");
        ingress["metadata"]["annotations"] = (0..4_000).map(of_us).collect::<Map<_, _>>().into();
        let mut others = m.ingress("theirs");
        let foreign = |n: usize| {
            let family = ["nginx.ingress.kubernetes.io", "haproxy.org", "ingress.kubernetes.io"][n % 3];
            (format!("{family}/snippet-{n}"), Value::from("return 200;\n"))
        };
        others["metadata"]["annotations"] = (0..4_000).map(foreign).collect::<Map<_, _>>().into();
        m.with_web(vec![ingress, others])
    }));
    Ok(cases)
}

/// What changes how the next one reads a message, or is too much for a buffer.
fn headers(around: Around) -> Vec<Case> {
    let smuggled = [
        "Content-Length: 0",
        "Content-Length: 5",
        "Transfer-Encoding: chunked",
        "Transfer-Encoding: xchunked",
        "Connection: close, X-Forwarded-For",
        "Connection: upgrade\nUpgrade: h2c\nHTTP2-Settings: AAMAAABkAAQAoAAAAAIAAAAA",
        "Host: alpha.example",
        "Host: alpha.example\nX-Forwarded-Host: alpha.example",
        "X-Forwarded-For: 127.0.0.1\nForwarded: for=127.0.0.1",
        "Expect: 100-continue",
        "Trailer: Host\nTE: trailers",
        "Keep-Alive: timeout=0",
        "Proxy-Connection: keep-alive",
        "X: a\\r\\nHost: alpha.example",
        "X: %[env(HOME)] %[src] %{+Q}[path]",
        "Set-Cookie: session=1; Domain=alpha.example",
    ];
    let mut cases = vec![Case::new(around, "headers that mean something", |m| {
        let ingress = |(number, header): (usize, &&str)| {
            let both =
                [("request-headers", (*header).to_owned()), ("response-headers", (*header).to_owned())];
            let mut ingress = m.annotated(&format!("i{number}"), &both);
            ingress["spec"]["rules"][0]["http"]["paths"][0]["path"] = format!("/p{number}").into();
            ingress
        };
        m.with_web(smuggled.iter().enumerate().map(ingress).collect())
    })];
    if let Some(case) = cases.first_mut() {
        let host = case.mallory.host.clone();
        case.asks.extend((0..smuggled.len()).map(|number| Ask::get(&host, &format!("/p{number}"))));
    }
    for (name, count, length) in [
        ("a hundred headers", 100, 100),
        ("headers that fill a buffer", 10, 1_600),
        ("one header of 15 KB", 1, 15_000),
        ("one header of 120 KB", 1, 120_000),
    ] {
        let value: String = (0..count).map(|n| format!("X-{n}: {}\n", "v".repeat(length))).collect();
        cases.push(Case::new(around, name, |m| {
            let annotations = [("request-headers", value.clone()), ("response-headers", value.clone())];
            m.with_web(vec![m.annotated("web", &annotations)])
        }));
    }
    cases.push(Case::new(around, "redirects as long as they may be", |m| {
        let target = |size: usize| format!("/{}", "r".repeat(size));
        let ingress = |(number, size): (usize, usize)| {
            let mut ingress = m.annotated(&format!("i{number}"), &[("redirect-to", target(size))]);
            ingress["spec"]["rules"][0]["http"]["paths"] = json!([{
                "path": format!("/p{number}"), "pathType": "Prefix", "backend": super::super::case::backend("web"),
            }]);
            ingress
        };
        m.with_web([1_000, 8_000, 15_000, 16_300, 60_000, HUGE].into_iter().enumerate().map(ingress).collect())
    })
    .asking(|m| Ask::get(&m.host, "/p2"))
    .asking(|m| Ask::get(&m.host, "/p5")));
    cases
}
