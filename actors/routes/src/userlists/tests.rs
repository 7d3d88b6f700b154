//! Which users HAProxy gets, and that what is kept from change to change is what a fresh start gives.

use super::{
    password::{self, PasswordKind},
    shares::without_room,
    users::{of_entries, of_lines as read},
    *,
};

fn said(hash: &str) -> String {
    password::read(hash, &Limits::default()).expect_err(hash)
}

fn hashed(head: &str, length: usize) -> String {
    format!("{head}{}", "a".repeat(length))
}

#[test]
fn a_password_is_judged_by_kind_and_rounds() {
    for (hash, microseconds) in [
        (hashed("$1$salt$", 22), 100),
        (hashed("$5$salt$", 43), 1000),
        (hashed("$6$salt$", 86), 1000),
        (hashed("$6$rounds=10000$salt$", 86), 2000),
        (hashed("$2a$04$", 53), 800),
        (hashed("$2b$05$", 53), 1600),
        (hashed("$2y$07$", 53), 6400),
    ] {
        let read = password::read(&hash, &Limits::default()).unwrap();
        assert_eq!((read.kind, read.cost), (PasswordKind::Crypt, microseconds), "{hash}");
    }
    for (hash, kind) in [
        (hashed("$6$rounds=10001$salt$", 86), "$6$ with 10001 rounds, 10000 are the most"),
        (hashed("$5$rounds=20000000$salt$", 43), "$5$ with 20000000 rounds"),
        (hashed("$2y$08$", 53), "$2y$ with cost 8, 7 is the most"),
        (hashed("$2b$31$", 53), "$2b$ with cost 31"),
        ("{SSHA}W6ph5Mm5Pz8GgiULbPgzG37mj9g=".into(), "of a kind that nobody checks ({SSHA})"),
        (hashed("$y$j9T$salt$", 43), "takes HAProxy too long or that it cannot check ($y$)"),
        (hashed("$7$CU..../....salt$", 43), "($7$)"),
        (hashed("$gy$j9T$salt$", 43), "($gy$)"),
        (hashed("$sha1$40000$salt$", 28), "of a kind that HAProxy does not get"),
        (hashed("$md5,rounds=904$salt$$", 22), "of a kind that HAProxy does not get"),
        (hashed("$3$$", 32), "of a kind that HAProxy does not get"),
        (hashed("$2x$05$", 53), "of a kind that HAProxy does not get"),
    ] {
        assert!(said(&hash).contains(kind), "{hash}: {}", said(&hash));
    }
    for plain in [
        "hunter2",
        "",
        "*",
        "!",
        "abcdefghijklm",
        "{sekret}W6ph5Mm5Pz8GgiULbPgzG37mj9g=",
        "_J9..rasmBYk8r9AiWNc",
    ] {
        assert!(said(plain).starts_with("plain text without {PLAIN} before it, or"), "{plain}");
    }
    for (text, kind, kept) in [
        (hashed("$apr1$salt$", 22), PasswordKind::Digest, hashed("$apr1$salt$", 22)),
        (
            "{SHA}5en6G6MezRroT3XKqkdPOmY/BfQ=".into(),
            PasswordKind::Digest,
            "{SHA}5en6G6MezRroT3XKqkdPOmY/BfQ=".into(),
        ),
        ("{PLAIN}a:b c".into(), PasswordKind::Plain, "a:b c".to_owned()),
    ] {
        let read = password::read(&text, &Limits::default()).unwrap();
        assert_eq!((read.kind, read.text, read.cost), (kind, &*kept, 0), "{text}");
    }
    for broken in [
        hashed("$apr1$salt$", 21),
        hashed("$apr1$saltsalts$", 22),
        "{SHA}c2hvcnQ=".into(),
        "{SHA}?".into(),
        "{PLAIN}".into(),
        "{PLAIN}a\tb".into(),
        hashed("$6$salt$", 85),
        hashed("$6$rounds=999$salt$", 86),
        hashed("$6$rounds=05000$salt$", 86),
        hashed("$6$rounds=-1$salt$", 86),
        hashed("$6$rounds=5000a$salt$", 86),
        hashed("$6$rounds=99999999999999999999$salt$", 86),
        hashed("$6$rounds=5000$rounds=900000$", 86),
        hashed("$6$rounds=", 86),
        hashed("$5$$", 43),
        hashed("$5$saltsaltsaltsalts$", 43),
        hashed("$1$salt$salt$", 22),
        hashed("$2b$7$", 53),
        hashed("$2b$+7$", 53),
        hashed("$2b$03$", 53),
        hashed("$2b$05$", 52),
        format!("{} x", hashed("$1$salt$", 20)),
    ] {
        assert!(said(&broken).starts_with("a broken hash"), "{broken}: {}", said(&broken));
    }
}

#[test]
fn no_problem_quotes_a_secret() {
    for hash in [hashed("$sekret$", 22), hashed("$6$sekret$", 80), "sekret".into(), "$sekret".into()] {
        let users = read(&format!("anna:{hash}"), &Limits::default()).unwrap();
        let problem = users.problems.concat();
        assert!(
            problem.contains("user anna (line 1)")
                && !problem.contains("sekret")
                && !problem.contains("aaaa"),
            "{problem}"
        );
    }
}

#[test]
fn a_line_that_cannot_be_taken_lets_nobody_in_and_hurts_no_other_line() {
    let good = hashed("$1$salt$", 22);
    let text = format!(
        "# users\n\nanna:{good}\r\nbob:plain\ncarl\n:{good}\nd d:{good}\ne\"e:{good}\nanna:{}\nzoe:{good}\n{}:{good}\n",
        hashed("$1$other$", 22),
        "x".repeat(129)
    );
    let users = read(&text, &Limits::default()).unwrap();
    let found: Vec<(&str, &str)> = users.users.iter().map(|user| (&*user.name, &*user.password)).collect();
    assert_eq!(found, [("anna", &*good), ("zoe", &*good)]);
    assert_eq!(users.cost, 200);
    assert_eq!(users.problems.len(), 6, "{:?}", users.problems);
    assert!(
        users.problems[0].contains("user bob (line 4) does not get in, its password is plain text"),
        "{:?}",
        users.problems
    );
    assert!(users.problems.last().unwrap().contains("and 2 users more"), "{:?}", users.problems);
}

#[test]
fn users_may_be_entries_of_the_secret() {
    let entries = |all: &[(&str, &str)]| {
        let all = all.iter().map(|(name, hash)| ((*name).to_owned(), (*hash).to_owned())).collect();
        let users = of_entries(&all, &Limits::default()).unwrap();
        (users.users.into_iter().map(|user| user.name).collect::<Vec<_>>(), users.problems)
    };
    let good = hashed("$apr1$salt$", 22) + "\n";
    assert_eq!(entries(&[("bob", &good), ("anna", &good)]), (vec!["anna".into(), "bob".into()], vec![]));
    let (users, problems) = entries(&[("bob", &good), ("carl", "sekret")]);
    assert_eq!(users, ["bob"]);
    assert!(problems[0].starts_with("user carl (its entry) does not get in, its password is plain"));
    assert!(!problems[0].contains("sekret"));

    let secret = |data: &[(&str, &str)]| {
        let data: serde_json::Map<String, Value> =
            data.iter().map(|(name, text)| ((*name).to_owned(), json!(STANDARD.encode(text)))).collect();
        let reference = Arc::new(ObjectRef::new(SECRETS, "shop", "users"));
        let json = json!({ "data": data }).to_string().into_bytes().into();
        let users = super::read(&Object { reference, version: 0, json }, &Limits::default());
        users.map(|users| users.users.into_iter().map(|user| user.name).collect::<Vec<_>>().join(" "))
    };
    let line = format!("anna:{good}");
    for (data, expected) in [
        (&[("auth", &*line)][..], Ok("anna".to_owned())),
        (&[("auth", &line), ("other", &good)], Ok("anna".to_owned())),
        (&[("anna", &good), ("bob", &good)], Ok("anna bob".to_owned())),
        (&[("auth", &good), ("bob", &good)], Ok("auth bob".to_owned())),
        (&[("auth", "")], Ok(String::new())),
        (&[], Err("it has no auth".to_owned())),
        (
            &[("other", "x")],
            Err("it has no auth, and of its entries user other (its entry) does not get in, its password is plain text without {PLAIN} before it, or of a kind that HAProxy does not get: make it with `openssl passwd -6`".to_owned()),
        ),
    ] {
        assert_eq!(secret(data), expected, "{data:?}");
    }
}

#[test]
fn a_secret_has_so_many_users_and_no_more() {
    let lines = |count: usize, hash: &str| (0..count).map(|n| format!("u{n}:{hash}\n")).collect::<String>();
    let good = hashed("$1$salt$", 22);
    assert_eq!(read(&lines(500, &good), &Limits::default()).unwrap().users.len(), 500);
    for hash in [&*good, "wrong"] {
        assert_eq!(read(&lines(501, hash), &Limits::default()), Err("it has more than 500 users".into()));
    }
}

#[test]
fn namespaces_share_what_there_is() {
    let name = |namespace: &str, name: &str| -> Name { (namespace.into(), name.into()) };
    let refused = |costs: &[(&str, &str, u64)], most| {
        let costs = costs.iter().map(|(n, s, cost)| (name(n, s), *cost)).collect();
        without_room(&costs, most).into_iter().map(|(n, s)| format!("{n}/{s}")).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(refused(&[("a", "1", 60), ("b", "1", 40)], 100), "");
    assert_eq!(refused(&[("a", "1", 10), ("greedy", "1", 60), ("greedy", "2", 60)], 100), "greedy/2");
    assert_eq!(refused(&[("a", "1", 10), ("b", "1", 91), ("c", "1", 200)], 100), "b/1 c/1");
    let many: Vec<(String, u64)> = (0..1000).map(|n| (format!("n{n}"), 1000)).collect();
    let many: Vec<(&str, &str, u64)> = many.iter().map(|(n, cost)| (&**n, "1", *cost)).collect();
    let small: Vec<_> = many.iter().copied().chain([("innocent", "1", 9)]).collect();
    assert!(!refused(&small, 10_000).contains("innocent"));
}
