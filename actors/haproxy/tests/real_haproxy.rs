//! The check against the real thing: what HAProxy accepts must pass, what it refuses for a reason this crate knows
//! must be found.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::path::{Path, PathBuf};
use std::process::Command;

use haptic_haproxy::{CheckOptions, Code, Document, check};
use haptic_model::HaproxyVersion;

/// The binaries of all versions the tables are for.
fn haproxies() -> Vec<(HaproxyVersion, PathBuf)> {
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
        (
            "mine.lua",
            "core.register_action('mine', {'http-req', 'http-res', 'http-after-res', 'tcp-req', 'tcp-res'}, function() end)\n\
             core.register_service('mine', 'http', function() end)\n\
             core.register_fetches('mine', function() return 'x' end)\n\
             core.register_converters('mine', function(x) return x end)\n",
        ),
    ] {
        write(name, text);
    }
    let made = rcgen::generate_simple_self_signed(vec!["x.example".to_owned()]).unwrap();
    write("certs/site.pem", &format!("{}{}", made.signing_key.serialize_pem(), made.cert.pem()));
    write("certs/ca.pem", &made.cert.pem());
    let whole = format!("{}{}", made.signing_key.serialize_pem(), made.cert.pem());
    write("certs/bundle.pem.ecdsa", &whole);
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

/// Lines of each kind of section, with the sections around them.
const IN: [(&str, &str); 5] = [
    ("frontend", "frontend f\n bind 127.0.0.1:18200\n"),
    ("backend", "backend b\n stick-table type string size 1k\n"),
    ("listen", "listen l\n bind 127.0.0.1:18200\n stick-table type string size 1k\n"),
    ("defaults", "defaults d\n mode http\n timeout client 1s\n timeout server 1s\n timeout connect 1s\n"),
    ("unnamed", "defaults\n mode http\n timeout client 1s\n timeout server 1s\n timeout connect 1s\n"),
];

/// What the check and HAProxy say must agree: sections (or `all` of them), and lines in them.
const LINES: &[(&str, &[&str])] = &[
    (
        "all",
        &[
            "option checkcache",
            "option dontlognull",
            "option httplog",
            "option allbackups",
            "option socket-stats",
            "server s 127.0.0.1:80",
            "default-server check",
            "description x",
            "declare capture request len 5",
            "declare capture reqest len 5",
            "declare zork",
            "tcp-request inspect-delay 1s",
            "tcp-response inspect-delay 1s",
            "tcp-request connection accept",
            "use_backend %[str(a)]",
            "http-request deny if TRUE OR FALSE",
            "http-request deny if { path / } Or { path /x }",
            "http-request deny if TRUE || !TRUE",
            "http-request deny if zork",
            "stick zork",
            "stick on zork",
            "stick on src if zork",
            "log 127.0.0.1:514 local0 info",
            "log 127.0.0.1:514 locl0",
            "log 127.0.0.1:514 local0 inof",
            "log 127.0.0.1:514 len 100 format raw local0 info warning",
            "log 127.0.0.1:514 local0 info warn",
            "log stdout format raw daemon debug",
            "log global",
            "http-request lua.mine",
            "filter lua.mine",
            "tcp-request content lua.mine",
            "log-format %[zork]",
            "log-format %[zork]\n log-format %ci",
            "log-format %[zork]\n disabled",
            "error-log-format %[src,zork]",
            "unique-id-format %[src,hex]",
            "unique-id-format %{+X}o%[src]-%[zork]",
            "unique-id-format %[zork]\n unique-id-format %ci",
            "acl a zork",
            "acl a path,zork",
            "acl a path_begg /x",
            "acl a hdr_beg(host) x",
            "acl a src,ipmask(24) 10.0.0.0",
            "http-request set-header X http_auth(zork)",
            "http-request set-header X %[http_auth(zork)]",
            "acl a http_auth(zork)",
            "http-request set-map(nope.map) %[src] 1",
            "http-request add-acl(nope) %[src]",
            "http-request del-acl(nope) %[src]",
            "http-request set-header X map(nope.map)",
            "http-request set-header X %[src,map_ip(nope.map)]",
            "acl a path map(nope.map)",
            "http-request return status 200 hdr X file content-type text/plain string x",
        ],
    ),
    (
        "backend",
        &[
            "http-request set-var(txn.x) src",
            "http-request set-var(txn.x) srcc",
            "http-request set-var(txn.x) req.hdr(host),lower,field(1,:)",
            "http-request set-var(txn.x) req.hdr(host),lowr",
            "http-request set-var(txn.x) req.hdr(a,1,2)",
            "http-request set-var(txn.x) src,concat(a,b,c,d)",
            "http-request set-var(txn.x) str(a),field(1)",
            "http-request set-var(txn.x) str(),lower()",
            "http-request set-var(txn.x) str(\"a,b\")",
            "http-request set-var(txn.x) path,regsub(a,b,g)",
            "http-request set-var(txn.x) nbsrv",
            "http-request set-var(txn.x) nbsrv(b)",
            "http-request set-header X %[zork]",
            "http-request set-header X %{+Q}[zork]",
            "http-request set-header X %%[zork]",
            "http-request set-header X %[src]-%[req.hdr(a),zork]",
            "http-request replace-header X a %[zork]",
            "http-request replace-path a %[zork]",
            "http-request set-path %[zork]",
            "http-request set-uri %[zork]",
            "http-request redirect location /%[zork]",
            "http-request redirect code 301 prefix %[zork] drop-query",
            "redirect location /%[zork]",
            "http-request return content-type text/plain lf-string %[zork]",
            "http-request return content-type text/plain string %[zork]",
            "http-request deny hdr X %[zork]",
            "http-request auth realm %[zork]",
            "http-request set-map(virt@m) %[zork] 1",
            "http-request track-sc0 zork",
            "http-request set-src zork",
            "http-request set-mark 7",
            "http-request set-mark zork",
            "http-request sc-set-gpt0(0) 1",
            "http-request sc-set-gpt0(0) zork",
            "http-request set-var-fmt(txn.x) %[zork]",
            "http-response set-header X %[zork]",
            "http-after-response set-header X %[zork]",
            "http-response set-status 200 reason %[zork]",
            "tcp-request content set-var(txn.x) zork",
            "tcp-request content track-sc0 src,zork",
            "tcp-response content set-var(txn.x) zork",
            "http-request deny if { zork }",
            "http-request deny if { src,zork }",
            "http-request deny if { path_beg zork }",
            "http-request deny if !{ path /a } or { hdr(x) zork }",
            "stick match zork",
            "stick store-request src",
            "balance hash zork",
            "balance hash zork\n balance source",
            "balance hash path",
            "server s 127.0.0.1:80 sni zork",
            "server s 127.0.0.1:80 ssl verify none sni req.hdr(host)",
            "server s 127.0.0.1:80 cookie sni",
            "server s 127.0.0.1:80 pool-conn-name zork",
            "default-server sni zork",
            "http-check send hdr X %[zork]",
            "http-check send uri %[zork]",
            "http-check set-var(check.x) zork",
            "tcp-check send-lf %[zork]",
            "tcp-check send %[zork]",
            "filter bwlim-in x key zork limit 1m",
            "filter bwlim-in key default-limit 1m default-period 1s",
            "http-error status 404 content-type text/plain lf-string %[zork]",
            "description %[zork]",
            "log-tag %[zork]",
            "acl a path -f nope.lst",
            "acl a path /a -f nope.lst",
            "acl a path -i -m beg -f lists/paths.lst",
            "description -f nope",
            "disabled\n server s 127.0.0.1:80\n server s 127.0.0.1:81",
            "server s 127.0.0.1:80\n server s 127.0.0.1:81",
            "disabled\n acl a http_auth(zork)",
            "disabled\n http-request deny if zork",
            "disabled\n acl a zork",
            "disabled\n enabled\n server s 127.0.0.1:80\n server s 127.0.0.1:81",
            "server s 127.0.0.1:443 ssl verify none crt certs/bundle.pem.ecdsa",
        ],
    ),
    (
        "frontend",
        &[
            "bind 127.0.0.1:18201 ssl crt certs/bundle.pem",
            "bind 127.0.0.1:18201 ssl crt certs/none.pem",
            "default_backend gone",
            "default_backend gone\n default_backend there",
            "default_backend there\n default_backend gone",
            "disabled\n default_backend gone",
            "use_backend gone if FALSE\n disabled",
            "disabled\n use_backend gone\n enabled",
            "disabled\n use_backend %[zork]",
            "use_backend gone",
            "use_backend %[path,map(nope.map)]",
            "http-request capture zork len 5",
            "http-request capture req.hdr(a) len 5",
        ],
    ),
];

/// Whole configurations on which the check and HAProxy must agree.
const WHOLE: &[&str] = &[
    "global\n master-worker\n expose-deprecated-directives\nprogram x\n command /bin/true\n",
    "crt-store s\n load crt certs/site.pem jwt on\n",
    "crt-store s\n load crt certs/site.pem alias a ocsp-update on\n",
    "crt-store s\n load crt certs/site.pem zork on\n",
    "crt-store s\n load crt nope.pem\n",
    "global\n stats socket /tmp/x level admin mode 600 expose-fd listeners\n",
    "global\n stats socket /tmp/x levl admin\n",
    "global\n stats socket /tmp/x level admin zork\n",
    "global\n ssl-default-bind-options no-sslv3 no-tls-tickets ssl-min-ver TLSv1.2\n",
    "global\n ssl-default-bind-options no-sslv3 zork\n",
    "global\n ssl-default-bind-options strict-sni\n",
    "global\n ssl-default-server-options no-sslv3 ssl-max-ver TLSv1.3\n",
    "global\n ssl-default-server-options no-ssl3\n",
    "global\n set-var proc.a int(5)\n set-var-fmt proc.b %[pid]\n",
    "global\n set-var proc.a zork\n",
    "global\n log 127.0.0.1:514 local0 notice\n",
    "global\n log 127.0.0.1:514 lcal0 notice\n",
    "global\n log 127.0.0.1:514 profile p local0\n",
    "defaults x\n mode http\n acl a http_auth(u)\n",
    "defaults x\n mode http\n http-request deny unless { http_auth(u) }\n",
    "defaults x\n mode http\n disabled\n timeout client 1s\nfrontend f from x\n bind 127.0.0.1:18200\n use_backend gone\n",
    "defaults x\n mode http\n disabled\n timeout client 1s\nfrontend f from x\n enabled\n bind 127.0.0.1:18200\n use_backend gone\n",
];

/// Configurations of all rows, with a script loaded and without.
fn rows() -> Vec<String> {
    let mut texts: Vec<String> = WHOLE.iter().map(|text| (*text).to_owned()).collect();
    for (section, lines) in LINES {
        for (_, header) in IN.iter().filter(|(name, _)| *section == "all" || section == name) {
            let there = "backend there\n";
            texts.extend(lines.iter().map(|line| format!("{PROXY}{header} {line}\n{PROXY}{there}")));
        }
    }
    for line in [
        "http-request lua.mine if TRUE",
        "http-response lua.mine",
        "http-after-response lua.mine",
        "tcp-request content lua.mine",
        "tcp-response content lua.mine",
        "http-request use-service lua.mine",
        "http-request set-var(txn.x) lua.mine,lua.mine",
        "http-request set-header X %[src,lua.mine]",
        "acl a lua.mine x",
        "http-request set-header X %[lua.mine,zork]",
    ] {
        texts.push(format!(
            "global\n lua-load mine.lua\n tune.lua.bool-sample-conversion normal\n{PROXY}backend b\n {line}\n"
        ));
        texts.push(format!("global\n lua-load mine.lua\n{PROXY}backend b\n {line}\n"));
        texts.push(format!("{PROXY}backend b\n {line}\n"));
    }
    texts
}

#[test]
fn the_check_and_haproxy_say_the_same() {
    let folder = workspace();
    let mut wrong = Vec::new();
    for (version, haproxy) in haproxies() {
        for text in rows() {
            let is_there = |file: &str| folder.path().join(file).exists();
            let options = CheckOptions { version, files: Some(&is_there) };
            let problems = check(&Document::parse(&text), &options);
            let (accepts, said) = ask(&haproxy, folder.path(), &text);
            if accepts != problems.is_empty() {
                let text = text.replace(PROXY, "");
                wrong.push(format!("--- {version}, HAProxy accepts: {accepts}\n{text}{problems:?}\n{said}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{} rows:\n{}", wrong.len(), wrong.join("\n"));
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
            "3.4",
            "frontend f\n server s 10.0.0.1:80\n",
            "line 2, column 2: HAProxy 3.4 does not take 'server' in a 'frontend' section. (it belongs in a section of these: 'backend', 'listen')",
        ),
        (
            "3.4",
            "backend b\n option dontlognull\n",
            "line 2, column 9: HAProxy 3.4 does not take 'option dontlognull' in a 'backend' section. (it belongs in a section of these: 'defaults', 'frontend', 'listen')",
        ),
        (
            "3.4",
            "backend b\n http-request set-header X %[req.hdrr(a)]\n",
            "line 2, column 30: HAProxy 3.4 has no sample fetch 'req.hdrr'. (did you mean 'req.hdr'?)",
        ),
        (
            "3.4",
            "backend b\n acl a path_bge /x\n",
            "line 2, column 8: HAProxy 3.4 has no sample fetch 'path_bge'. (did you mean 'path_beg'?)",
        ),
        (
            "3.4",
            "backend b\n acl a src,ipmsk(24) x\n",
            "line 2, column 12: HAProxy 3.4 has no converter 'ipmsk'. (did you mean 'ipmask'?)",
        ),
        (
            "3.4",
            "backend b\n acl a req.hdr(a,1,2) x\n",
            "line 2, column 8: 'req.hdr' has 3 arguments and takes 0 to 2.",
        ),
        (
            "3.4",
            "backend b\n http-request lua.mine\n",
            "line 2, column 15: HAProxy 3.4 does not know 'http-request lua.mine'. (load the script that registers it with 'lua-load' in the 'global' section)",
        ),
        (
            "3.4",
            "program x\n",
            "line 1, column 1: HAProxy 3.4 has no section 'program'. (HAProxy 3.0 and 3.2 know it)",
        ),
        (
            "3.4",
            "frontend f\n default_backend nonne\nbackend none\n",
            "line 2, column 18: There is no backend 'nonne'. (did you mean 'none'?)",
        ),
        (
            "3.4",
            "backend b\n acl is_api path /\n http-request deny if is_apii\n",
            "line 3, column 23: There is no ACL 'is_apii' in backend b. (did you mean 'is_api'?)",
        ),
        (
            "3.4",
            "backend b\n http-request deny if true\n",
            "line 2, column 23: There is no ACL 'true' in backend b. (did you mean 'TRUE'?)",
        ),
        (
            "3.4",
            "defaults base\nbackend b from bse\n",
            "line 2, column 16: There is no 'defaults bse' before this backend. (did you mean 'base'?)",
        ),
        (
            "3.4",
            "backend a\n bakend b\n",
            "line 2, column 2: HAProxy 3.4 has no keyword 'bakend' in a 'backend' section. (did you mean 'backend'?)",
        ),
        (
            "3.4",
            "global\n log 127.0.0.1:514 locl0\n",
            "line 2, column 20: HAProxy 3.4 does not know 'log facility locl0'. (did you mean 'log facility local0'?)",
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
