//! Which users HAProxy gets, and that what is kept from change to change is what a fresh start gives.

use super::{password::cost, shares::without_room, users::read, *};

fn said(hash: &str) -> String {
    cost(hash, &Limits::default()).expect_err(hash)
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
        assert_eq!(cost(&hash, &Limits::default()), Ok(microseconds), "{hash}");
    }
    for (hash, kind) in [
        (hashed("$6$rounds=10001$salt$", 86), "$6$ with 10001 rounds, 10000 are the most"),
        (hashed("$5$rounds=20000000$salt$", 43), "$5$ with 20000000 rounds"),
        (hashed("$2y$08$", 53), "$2y$ with cost 8, 7 is the most"),
        (hashed("$2b$31$", 53), "$2b$ with cost 31"),
        (hashed("$apr1$salt$", 22), "Apache's own ($apr1$)"),
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
        "{SHA}W6ph5Mm5Pz8GgiULbPgzG37mj9g=",
        "_J9..rasmBYk8r9AiWNc",
    ] {
        assert!(said(plain).starts_with("plain text, or"), "{plain}");
    }
    for broken in [
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
            problem.contains("line 1")
                && !problem.contains("anna")
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
    assert_eq!(users.users, [("anna".to_owned(), good.clone()), ("zoe".to_owned(), good)]);
    assert_eq!(users.cost, 200);
    assert_eq!(users.problems.len(), 6, "{:?}", users.problems);
    assert!(users.problems[0].contains("line 4: nobody gets in by it"), "{:?}", users.problems);
    assert!(users.problems.last().unwrap().contains("and 2 lines more"), "{:?}", users.problems);
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
