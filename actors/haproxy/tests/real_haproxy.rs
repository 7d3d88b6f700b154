//! The check against the real thing: what HAProxy accepts must pass, what it refuses for a reason this crate knows
//! must be found.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::path::{Path, PathBuf};
use std::process::Command;

use haptic_haproxy::{CheckOptions, Code, Document, Version, check};

/// The binaries of all versions the tables are for.
fn haproxies() -> Vec<(Version, PathBuf)> {
    [("3.0", "HAPTIC_HAPROXY_3_0"), ("3.2", "HAPTIC_HAPROXY_3_2"), ("3.4", "HAPTIC_HAPROXY_3_4")]
        .into_iter()
        .map(|(version, variable)| {
            let path = std::env::var_os(variable).unwrap_or_else(|| {
                panic!("{variable} is not set: run the tests through `make test`, which finds HAProxy")
            });
            (version.parse().unwrap(), path.into())
        })
        .collect()
}

/// The files that the configurations in `tests/valid` name.
fn workspace() -> tempfile::TempDir {
    let root = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        let path = root.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    for (name, text) in [
        ("maps/hosts.map", "a b\n"),
        ("maps/paths.map", "a b\n"),
        ("maps/regex.map", "a b\n"),
        ("maps/ip.map", "10.0.0.0/8 a\n"),
        ("maps/int.map", "/a 5\n"),
        ("lists/bad.lst", "10.0.0.1\n"),
        ("lists/paths.lst", "/a\n"),
        ("errors/503.http", "HTTP/1.0 503 X\r\nContent-Length: 2\r\n\r\nno"),
        ("errors/body.txt", "body\n"),
        ("certs/list.txt", "site.pem [alpn h2] x.example\n"),
    ] {
        write(name, text);
    }
    let made = rcgen::generate_simple_self_signed(vec!["x.example".to_owned()]).unwrap();
    write("certs/site.pem", &format!("{}{}", made.signing_key.serialize_pem(), made.cert.pem()));
    write("certs/ca.pem", &made.cert.pem());
    root
}

/// What `haproxy -c` says, and whether it accepts. 2 means "no listener", which is no mistake.
fn ask(haproxy: &Path, folder: &Path, text: &str) -> (bool, String) {
    let file = folder.join("haproxy.cfg");
    std::fs::write(&file, text).unwrap();
    let done =
        Command::new(haproxy).args(["-dr", "-c", "-f", "haproxy.cfg"]).current_dir(folder).output().unwrap();
    let said = String::from_utf8_lossy(&done.stderr).into_owned();
    (matches!(done.status.code(), Some(0 | 2)), said)
}

#[test]
fn nothing_that_haproxy_accepts_is_refused() {
    let folder = workspace();
    let valid = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/valid");
    let mut accepted = 0;
    for entry in std::fs::read_dir(valid).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let text = std::fs::read_to_string(&path).unwrap();
        let mut by_any = false;
        for (version, haproxy) in haproxies() {
            let (accepts, said) = ask(&haproxy, folder.path(), &text);
            let is_there = |file: &str| folder.path().join(file).exists();
            let options = CheckOptions { version, files: Some(&is_there) };
            let problems = check(&Document::parse(&text), &options);
            if accepts {
                assert!(problems.is_empty(), "{name} on {version}: {problems:#?}");
            } else if !matches!(name.as_str(), "http-rules.cfg") {
                assert!(
                    !problems.is_empty(),
                    "{name} on {version}: HAProxy refuses it and the check does not: {said}"
                );
            }
            by_any |= accepts;
            accepted += usize::from(accepts);
        }
        assert!(by_any, "{name} is accepted by no version");
    }
    assert!(accepted >= 75, "only {accepted} configurations were accepted: the binaries do not work");
}

const PROXY: &str = "defaults\n mode http\n timeout client 1s\n timeout server 1s\n timeout connect 1s\n";

#[test]
fn what_the_check_finds_haproxy_refuses_too() {
    let folder = workspace();
    let proxy = |rest: &str| format!("{PROXY}{rest}");
    for (text, code) in [
        (proxy("backend b\n blance roundrobin\n"), Code::UnknownKeyword),
        (proxy("backend b\n option httpchek\n"), Code::UnknownKeyword),
        (proxy("backend b\n timeout conect 1s\n"), Code::UnknownKeyword),
        (proxy("backend b\n http-request set-heder X y\n"), Code::UnknownKeyword),
        (proxy("backend b\n tcp-request content acept\n"), Code::UnknownKeyword),
        (proxy("backend b\n tcp-request contents accept\n"), Code::UnknownKeyword),
        (proxy("backend b\n balance rondrobin\n"), Code::UnknownKeyword),
        (proxy("backend b\n server s 127.0.0.1:80 chek\n"), Code::UnknownKeyword),
        (proxy("backend b\n server s 127.0.0.1:80 weight 3 chek\n"), Code::UnknownKeyword),
        (proxy("backend b\n default-server cheque\n"), Code::UnknownKeyword),
        (proxy("frontend f\n bind 127.0.0.1:18200 ssll\n"), Code::UnknownKeyword),
        (proxy("backend b\n stats enabel\n"), Code::UnknownKeyword),
        (proxy("backend b\n no option httplog\n"), Code::UnknownKeyword),
        (proxy("backend b\n no balance roundrobin\n"), Code::CannotNegate),
        ("global\n maxcon 3\n".to_owned(), Code::UnknownKeyword),
        ("resolvers r\n nameservers a 127.0.0.1:53\n".to_owned(), Code::UnknownKeyword),
        ("cache c\n total-size 3\n".to_owned(), Code::UnknownKeyword),
        ("bakend b\n".to_owned(), Code::UnknownSection),
        ("global\nbakend b\n".to_owned(), Code::UnknownSection),
        (proxy("backend\n"), Code::MissingName),
        (proxy("backend b\nbackend b\n"), Code::DuplicateSection),
        (proxy("frontend b\n bind 127.0.0.1:1\nlisten b\n bind 127.0.0.1:2\n"), Code::DuplicateSection),
        (proxy("listen b\n bind 127.0.0.1:2\nbackend b\n"), Code::DuplicateSection),
        (
            "resolvers a\n nameserver n 1.1.1.1:53\nresolvers a\n nameserver n 1.1.1.1:53\n".to_owned(),
            Code::DuplicateSection,
        ),
        ("cache a\n total-max-size 1\ncache a\n total-max-size 1\n".to_owned(), Code::DuplicateSection),
        ("ring a\n size 32764\nring a\n size 32764\n".to_owned(), Code::DuplicateSection),
        (proxy("backend b\n server s 1.1.1.1:80\n server s 1.1.1.2:80\n"), Code::DuplicateServer),
        (proxy("frontend f\n bind 127.0.0.1:18200\n use_backend nope if TRUE\n"), Code::UndefinedBackend),
        (proxy("frontend f\n bind 127.0.0.1:18200\n default_backend nope\n"), Code::UndefinedBackend),
        (proxy("backend b\n http-request deny if nope\n"), Code::UndefinedAcl),
        (proxy("backend b\n http-request deny if { path / } or !nope\n"), Code::UndefinedAcl),
        (proxy("backend b\n http-request deny if later\n acl later path /\n"), Code::UndefinedAcl),
        (proxy("backend b\n http-request deny if true\n"), Code::UndefinedAcl),
        (proxy("backend b from nope\n"), Code::UndefinedDefaults),
        (proxy("backend b\n http-request deny unless { http_auth(nope) }\n"), Code::UndefinedUserlist),
        (proxy("backend b\n http-request set-var(txn.x) path,map(nope.map)\n"), Code::MissingFile),
        (proxy("backend b\n acl x src -f nope.lst\n"), Code::MissingFile),
        (proxy("backend b\n errorfile 503 nope.http\n"), Code::MissingFile),
        (proxy("backend b\n description \"open\n"), Code::UnmatchedQuote),
        (proxy("backend b\n description \\x4\n"), Code::InvalidEscape),
        (proxy("backend b\n description \"$1\"\n"), Code::InvalidVariable),
        (proxy("backend b\n description a\0b\n"), Code::ControlCharacter),
        (proxy("backend b\n description x"), Code::MissingFinalNewline),
        (proxy(&format!("backend b\n acl x path{}\n", " /a".repeat(62))), Code::TooManyWords),
        (".if 1\nglobal\n maxconn 3\n".to_owned(), Code::UnmatchedDirective),
        ("global\n.endif\n".to_owned(), Code::UnmatchedDirective),
        ("global\n.if 1\n.else\n.else\n.endif\n".to_owned(), Code::UnmatchedDirective),
    ] {
        for (version, haproxy) in haproxies() {
            let is_there = |file: &str| folder.path().join(file).exists();
            let options = CheckOptions { version, files: Some(&is_there) };
            let codes: Vec<_> = check(&Document::parse(&text), &options).iter().map(|p| p.code).collect();
            assert_eq!(codes, [code], "{version}: {text}");
            let (accepts, said) = ask(&haproxy, folder.path(), &text);
            assert!(!accepts, "{version} accepts this, so the check must too:\n{text}\n{said}");
        }
    }
}

#[test]
fn messages_say_what_to_do() {
    let say = |version: &str, text: &str| {
        let options = CheckOptions::new(version.parse().unwrap());
        check(&Document::parse(text), &options).iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
    };
    for (version, text, expected) in [
        (
            "3.4",
            "backend b\n blance source\n",
            "line 2, column 2: HAProxy 3.4 has no keyword 'blance' in a 'backend' section. (did you mean 'balance'?)",
        ),
        (
            "3.4",
            "backend b\n http-request set-heder X y\n",
            "line 2, column 15: HAProxy 3.4 does not know 'http-request set-heder'. (did you mean 'http-request set-header'?)",
        ),
        (
            "3.0",
            "backend b\n server s 1.1.1.1:80 strict-maxconn\n",
            "line 2, column 22: HAProxy 3.0 has no parameter 'strict-maxconn' of 'server'. (HAProxy 3.2 and 3.4 know it)",
        ),
        (
            "3.4",
            "backend b\n nbthread 4\n",
            "line 2, column 2: HAProxy 3.4 has no keyword 'nbthread' in a 'backend' section. (it belongs in the 'global' section)",
        ),
        (
            "3.4",
            "global\nfrontned x\n",
            "line 2, column 1: 'frontned' opens no section of HAProxy 3.4. (did you mean 'frontend'?)",
        ),
        (
            "3.0",
            "log-profile x\n",
            "line 1, column 1: HAProxy 3.0 has no section 'log-profile'. (HAProxy 3.2 and 3.4 know it)",
        ),
        (
            "3.4",
            "frontend f\n default_backend Shop\nbackend shop\n",
            "line 2, column 18: There is no backend 'Shop'. (did you mean 'shop'?)",
        ),
    ] {
        assert_eq!(say(version, text), expected);
    }
}
