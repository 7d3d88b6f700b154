//! Secrets: passwords that cost too much, certificates and authorities that are broken, weak, large or many.

use super::super::{
    admission::SECRET,
    case::{Around, Ask, Case, Mallory},
    pem,
};
use crate::{
    certificate::{self, Authority},
    failure::Outcome,
};
use serde_json::{Value, json};

/// Of a Secret's data, with room for its other key.
const ROOM: usize = SECRET - (8 << 10);
/// Of one that is no larger than the controller takes, in base64.
const KEPT: usize = 700 << 10;

pub fn cases(around: Around) -> Outcome<Vec<Case>> {
    let mut cases = users(around);
    cases.extend(certificates(around)?);
    cases.extend(authorities(around)?);
    Ok(cases)
}

fn users(around: Around) -> Vec<Case> {
    let sha512 =
        "$6$saltsalt$TVLlQcbpFVof5W3Yz4DTP6gRstiNuHwwTt6GLc1E5n0U0aDehy0S5knV8wiOQSpT0Y77vwPZN.Pq.H91p5hVO1";
    let sha256 = "$5$saltsalt$0IyaXrmV7.sGNS6tirgqHLqX/G.FBvgkYA.lpPdS5sA";
    let hash = sha512.rsplit('$').next().unwrap_or_default();
    let with_rounds = |kind: &str, rounds: &str| format!("${kind}$rounds={rounds}$saltsalt${hash}");
    let many = |count: usize, hash: &str| (0..count).map(|n| format!("user{n}:{hash}\n")).collect::<String>();
    let kinds = [
        ("$6$ of 20,000,000 rounds", with_rounds("6", "20000000")),
        ("$6$ of 999,999,999 rounds", with_rounds("6", "999999999")),
        ("$5$ of 1,000,000 rounds", with_rounds("5", "1000000")),
        ("$6$ of more rounds than a number has", with_rounds("6", &"9".repeat(30))),
        ("$6$ of negative rounds", with_rounds("6", "-1")),
        ("bcrypt of cost 31", "$2y$31$abcdefghijklmnopqrstuuMVqYhvbJUBGqVQZ5n1QYcUwZf1dmWlS".into()),
        ("bcrypt of cost 12", "$2b$12$abcdefghijklmnopqrstuuMVqYhvbJUBGqVQZ5n1QYcUwZf1dmWlS".into()),
        ("yescrypt", "$y$jFT$saltsaltsaltsalt$abcdefghijklmnopqrstuvwxyz0123456789ABCDEFG".into()),
        (
            "yescrypt, as dear as it goes",
            "$y$jUT$saltsaltsaltsalt$abcdefghijklmnopqrstuvwxyz0123456789ABCDEFG".into(),
        ),
        ("scrypt", "$7$DU..../....saltsaltsalt$abcdefghijklmnopqrstuvwxyz0123456789ABCDEFG".into()),
        ("a kind that nobody knows", "$zz$x$y".into()),
        ("a hash of 700 KB", format!("$6${}${hash}", "s".repeat(KEPT))),
    ];
    let often = ["$6$ of 20,000,000 rounds", "yescrypt"];
    let mut cases: Vec<Case> = kinds
        .iter()
        .map(|(name, hash)| {
            let case = with_users(around, &format!("password {name}"), format!("anna:{hash}\n"));
            if often.contains(name) { case } else { case.rarely() }
        })
        .collect();
    cases.push(Case::new(around, "passwords of every kind", |m| {
        let pair = |(number, (_, hash)): (usize, &(&str, String))| {
            let name = format!("k{number}");
            let mut ingress = m.annotated(&name, &[("auth-secret", name.clone())]);
            ingress["spec"]["rules"][0]["host"] = format!("{name}.{}", m.host).into();
            [ingress, m.labelled(&name, "auth", format!("anna:{hash}\n"))]
        };
        m.with_web(kinds.iter().enumerate().flat_map(pair).collect())
    }));
    cases.push(with_users(around, "6,000 users of $6$", many(6_000, sha512)));
    cases.push(with_users(around, "9,000 users of $5$", many(9_000, sha256)).rarely());
    cases.push(with_users(around, "60,000 users without a hash", many(60_000, "")));
    cases.push(with_users(around, "one user 6,000 times", format!("anna:{sha512}\n").repeat(6_000)).rarely());
    cases.push(with_users(around, "lines that are no users", "x\n".repeat(KEPT / 2)));
    cases.push(with_users(around, "colons alone", ":".repeat(KEPT)).rarely());
    cases.push(with_users(around, "users with names that mean something", format!(
        "anna password x:{sha256}\n# :{sha256}\nanna\tgroups g:{sha256}\n\u{e000}:{sha256}\n\"anna:{sha256}\nanna':{sha256}\n:{sha256}\n{}:{sha256}\n",
        "n".repeat(100_000)
    )));
    cases.push(Case::new(around, "users that no Ingress names", |m| {
        (0..4).map(|n| m.labelled(&format!("s{n}"), "auth", many(6_000, sha512))).collect()
    }));
    cases.push(Case::new(around, "50 Secrets of users, each named", |m| {
        let pair = |n: usize| {
            let name = format!("s{n}");
            let mut ingress = m.annotated(&name, &[("auth-secret", name.clone())]);
            ingress["spec"]["rules"][0]["host"] = format!("{name}.{}", m.host).into();
            [ingress, m.labelled(&name, "auth", many(900, sha512))]
        };
        m.with_web((0..50).flat_map(pair).collect())
    }));
    cases.push(Case::new(around, "a Secret of 20,000 keys", |m| {
        let data =
            (0..20_000).map(|n| (format!("k{n}"), Value::from("eA=="))).collect::<serde_json::Map<_, _>>();
        let mut secret = m.labelled("keys", "auth", "anna:x");
        secret["data"] = data.into();
        m.with_web(vec![secret, m.annotated("web", &[("auth-secret", "keys".into())])])
    }));
    cases
}

fn with_users(around: Around, name: &str, users: String) -> Case {
    Case::new(around, name, |m| {
        m.with_web(vec![
            m.labelled("users", "auth", users),
            m.annotated("web", &[("auth-secret", "users".into())]),
        ])
    })
    .asking(|m| Ask::get(&m.host, "/").with_password())
}

fn certificates(around: Around) -> Outcome<Vec<Case>> {
    let of = |name: &str, certificate: &str, key: &str| with_certificate(around, name, certificate, key);
    let good = certificate::for_host("mallory.example")?;
    let other = certificate::for_host("mallory.example")?;
    let (mut cases, mut kinds) = (Vec::new(), Vec::new());
    for (kind, text) in pem::kinds()? {
        let (certificate, key) = text.split_at(split_of(&text));
        let certificate = if certificate.is_empty() { good.pem.as_str() } else { certificate };
        let key = if key.is_empty() { good.key.as_str() } else { key };
        cases.push(of(&format!("key or certificate: {kind}"), certificate, key).rarely());
        kinds.push((certificate.to_owned(), key.to_owned()));
        cases.push(of(&format!("good, then {kind}"), &format!("{}{text}", good.pem), &good.key).rarely());
    }
    cases.push(Case::new(around, "keys and certificates of every kind", |m| {
        let each = kinds.iter().enumerate().flat_map(|(number, (certificate, key))| {
            let name = format!("k{number}");
            let host = format!("{name}.{}", m.host);
            [m.secured(&name, &[&host], &name), m.tls(&name, certificate, key)]
        });
        m.with_web(each.collect())
    }));
    let broken = |text: &str| pem::broken(text);
    cases.push(Case::new(around, "certificates broken in every way", |m| {
        let each = broken(&good.pem).into_iter().map(|(_, text)| (text, good.key.clone()));
        let keys = broken(&good.key.replace("PRIVATE KEY", "CERTIFICATE")).into_iter();
        let keys = keys.map(|(_, text)| (good.pem.clone(), text.replace("CERTIFICATE", "PRIVATE KEY")));
        let pair = |(number, (certificate, key)): (usize, (String, String))| {
            let name = format!("c{number}");
            let mut ingress = m.secured(&name, &[&format!("{name}.{}", m.host)], &name);
            ingress["spec"]["rules"][0]["host"] = format!("{name}.{}", m.host).into();
            [ingress, m.tls(&name, certificate, key)]
        };
        m.with_web(each.chain(keys).enumerate().flat_map(pair).collect())
    }));
    let chain = pem::repeated(&good, KEPT);
    let mut extra = vec![
        of("a chain of 700 KB", &chain, &good.key),
        of("a chain of 1 MB", &pem::repeated(&good, ROOM), &good.key),
        of("a key of another certificate", &good.pem, &other.key),
        of("a certificate of 700 KB of lines", &format!("{}{}", good.pem, "A\n".repeat(KEPT / 2)), &good.key),
        of(
            "beginnings of certificates by the thousand",
            &"-----BEGIN CERTIFICATE-----\n".repeat(25_000),
            &good.key,
        ),
        of("both in either key", &format!("{}{}", good.pem, good.key), &format!("{}{}", good.key, good.pem)),
        of(
            "two certificates and two keys",
            &format!("{}{}", other.pem, good.pem),
            &format!("{}{}", good.key, other.key),
        ),
    ];
    extra.push(Case::new(around, "a certificate of 5,000 names", |m| {
        let names: Vec<String> = (0..5_000).map(|n| format!("h{n}.{}", m.host)).collect();
        let made = Authority::new("mallory").and_then(|authority| authority.sign(&names));
        let made = made.unwrap_or_else(|_| good.clone());
        m.with_web(vec![m.tls("own", &made.pem, &made.key), m.secured("web", &[&m.host], "own")])
    }));
    extra.push(Case::new(around, "500 certificates", |m| {
        let pair = |n: usize| {
            let name = format!("c{n}");
            [m.secured(&name, &[&format!("{name}.{}", m.host)], &name), m.tls(&name, &good.pem, &good.key)]
        };
        m.with_web((0..500).flat_map(pair).collect())
    }));
    extra.push(Case::new(around, "20 chains of 700 KB", |m| {
        let pair = |n: usize| {
            let name = format!("c{n}");
            [m.secured(&name, &[&format!("{name}.{}", m.host)], &name), m.tls(&name, &chain, &good.key)]
        };
        m.with_web((0..20).flat_map(pair).collect())
    }));
    cases.extend(extra);
    Ok(cases)
}

/// Where the key of a file with both begins.
fn split_of(text: &str) -> usize {
    text.find("-----END CERTIFICATE-----\n").map_or(0, |at| at + "-----END CERTIFICATE-----\n".len())
}

fn with_certificate(around: Around, name: &str, certificate: &str, key: &str) -> Case {
    Case::new(around, name, |m| {
        m.with_web(vec![m.tls("own", certificate, key), m.secured("web", &[&m.host], "own")])
    })
}

fn authorities(around: Around) -> Outcome<Vec<Case>> {
    let good = certificate::for_host("mallory.example")?;
    let authority = Authority::new("mallory")?.pem;
    let with_ca = |m: &Mallory, number: usize, bundle: &str, option: &str| {
        let (name, host) = (format!("a{number}"), format!("a{number}.{}", m.host));
        let mut ingress = m.annotated(&name, &[(option, name.clone()), ("protocol", "https".into())]);
        ingress["spec"]["rules"][0]["host"] = host.clone().into();
        ingress["spec"]["tls"] = json!([{ "hosts": [host], "secretName": "own" }]);
        [ingress, m.labelled(&name, "ca.crt", bundle)]
    };
    let case = |name: &str, bundles: &[String], option: &str| {
        Case::new(around, name, |m| {
            let each =
                bundles.iter().enumerate().flat_map(|(number, bundle)| with_ca(m, number, bundle, option));
            let mut objects: Vec<Value> = each.collect();
            objects.push(m.tls("own", &good.pem, &good.key));
            m.with_web(objects)
        })
        .asking(|m| Ask { tls: true, ..Ask::get(&format!("a0.{}", m.host), "/") })
    };
    let mut broken: Vec<String> = pem::broken(&authority).into_iter().map(|(_, text)| text).collect();
    for (_, text) in pem::kinds()? {
        broken.extend([format!("{authority}{text}"), format!("{text}{authority}"), text]);
    }
    let mut many = String::new();
    for number in 0..60 {
        many.push_str(&Authority::new(&format!("mallory {number}"))?.pem);
    }
    let many = many.repeat(KEPT / many.len());
    let mut cases = Vec::new();
    for option in ["client-ca-secret", "server-ca-secret"] {
        cases.push(case(&format!("{option} broken in every way"), &broken, option));
        cases.push(case(&format!("{option} of 700 KB"), std::slice::from_ref(&many), option));
        cases.push(case(&format!("30 of {option} of 700 KB"), &vec![many.clone(); 30], option));
        cases.push(case(
            &format!("{option} of 600 KB of blanks"),
            &[format!("{authority}{}", " \n".repeat(300_000))],
            option,
        ));
    }
    for (number, text) in broken.iter().enumerate() {
        cases.push(
            case(
                &format!("client CA broken in way {number}"),
                std::slice::from_ref(text),
                "client-ca-secret",
            )
            .rarely(),
        );
    }
    Ok(cases)
}
