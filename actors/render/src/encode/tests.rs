//! The encoder, case by case: what each place makes of a value, and what it refuses.

use super::*;
use crate::output::framing;
use haptic_model::{FileKind, ObjectRef};
use std::sync::Arc;

/// `«value»`, `«arg:value»` and `«lf:value»` stand for what the engine prints; all belong to `ingresses shop/cart`.
fn framed(template: &str) -> FramedText {
    let text = template
        .replace("«arg:", &framing::ARGUMENT.to_string())
        .replace("«lf:", &framing::LOG_FORMAT.to_string())
        .replace('«', &framing::VALUE.to_string())
        .replace('»', &framing::END.to_string());
    FramedText {
        pieces: vec![format!("{}0:7;{}0;{text}{}", framing::LINE, framing::OWNER, framing::UNOWN).into()],
        templates: vec!["haproxyConfig".into()],
        objects: vec![Arc::new(ObjectRef::new("ingresses", "shop", "cart"))],
    }
}

fn encoded(kind: FileKind, template: &str) -> String {
    match encode(kind, &framed(template)) {
        Ok(text) => text.to_string(),
        Err(refused) => panic!("{template} was refused: {}", refused[0]),
    }
}

fn check(kind: FileKind, table: &[(&str, &str)]) {
    for (template, expected) in table {
        assert_eq!(encoded(kind, template), *expected, "{template}");
    }
}

/// Every template is refused with a message that has these words.
fn refused(kind: FileKind, table: &[(&str, &str)]) {
    for (template, words) in table {
        let Err(all) = encode(kind, &framed(template)) else {
            panic!("{template} was let through as {}", encoded(kind, template));
        };
        let message = all[0].to_string();
        assert!(message.contains(words), "{template}: {message}");
        assert!(message.contains("ingresses shop/cart") && message.contains("haproxyConfig:7"), "{message}");
        assert_eq!(all.len(), 1, "{template}: {}", all[all.len() - 1]);
    }
}

#[test]
fn a_value_is_escaped_for_the_quotes_it_stands_in() {
    check(
        FileKind::Config,
        &[
            (r"  description «a b»", r"  description a\ b"),
            (r#"  description «a"b'c#d\e$f»"#, r#"  description a\"b\'c\#d\\e$f"#),
            (r#"  description "«a"b'c#d\e$f g»""#, r#"  description "a\"b'c#d\\e\$f g""#),
            (r#"  description '«a"b'c#d\e$f g»'"#, r#"  description 'a"b'\''c#d\e$f g'"#),
            (r#"  maxconn 5 # «it's "x" \ $y» and"#, r#"  maxconn 5 # it's "x" \ $y and"#),
            (r#"  description "x"«#»'y'"#, r#"  description "x"\#'y'"#),
            ("  description «grüße ☃»", "  description grüße\\ ☃"),
            ("  description a«»b", "  description ab"),
        ],
    );
}

#[test]
fn only_the_template_moves_the_lexer() {
    check(
        FileKind::Config,
        &[
            (r"  description a\ «b c»", r"  description a\ b\ c"),
            (r#"  description a\"«b c»"#, r#"  description a\"b\ c"#),
            (
                "  description a # it's «a b»\n  description «a b»",
                "  description a # it's a b\n  description a\\ b",
            ),
            ("  description a\r# «a b»\n", "  description a\r# a b\n"),
            (r#"  description "${HOME}«a$b»""#, r#"  description "${HOME}a\$b""#),
            (r#"  description "$HOME/«a$b»""#, r#"  description "$HOME/a\$b""#),
            (r"  description $HOME«$b»", r"  description $HOME$b"),
            (r"  description \x41«b c»", r"  description \x41b\ c"),
        ],
    );
}

#[test]
fn structure_made_of_values_is_refused() {
    refused(
        FileKind::Config,
        &[
            ("  description «a\nb»", "control character \\n"),
            ("  description «a\tb»", "control character \\t"),
            ("  # «a\rb»", "control character \\r"),
            ("  description «»", "would be empty"),
            ("  description \"«»\" x", "would be empty"),
            ("  description «»\0x", "would be empty"),
            ("  «mode» http", "may not choose what a line does"),
            ("  no «option» x", "may not choose what a line does"),
            ("«backend» x", "may not choose what a line does"),
            ("  http-request «deny» if x", "may not choose what a line does"),
            ("  tcp-request content «reject»", "may not choose what a line does"),
            ("  option «httplog»", "may not choose what a line does"),
            ("backend «a b»", "name of a section"),
            (".if «streq(a,a)»", "parts of the configuration"),
            (r"  description a\«b»", "backslash"),
            (r"  description \x4«1»", "backslash"),
            (r#"  description "$HOME«x»""#, "environment variable"),
            (r#"  description "${HOME-«x»}""#, "environment variable"),
        ],
    );
}

#[test]
fn conditions_cannot_be_changed_by_values() {
    refused(
        FileKind::Config,
        &[
            ("  http-request deny if { path «}» }", "`}`"),
            ("  http-request deny if a «or» b", "`or`"),
            ("  http-request deny if a o«r» b", "`or`"),
            ("  http-request deny if a «OR» b", "`OR`"),
            ("  http-request deny if a !«oR» b", "`!oR`"),
            ("  http-request deny if a !«||» b", "`!||`"),
            ("  http-request deny if { req.body_size «lt» 5 }", "an operator"),
            ("  http-request deny if a «o»«r» b", "`or`"),
            ("  http-request deny if a «||» b", "`||`"),
            ("  http-request set-header X \"«unless»\"", "`unless`"),
            ("  use_backend «if»", "`if`"),
            ("  http-request deny if !«» a", "`!`"),
            ("  http-request deny if «!a»", "leading `!`"),
            ("  http-request deny if { path «-f» x }", "a flag"),
            ("  http-request deny if { path -«f» x }", "a flag"),
            ("  acl a path «-f» x", "a flag"),
            ("  acl a path «»", "would be empty"),
            ("  acl a «path»", "fetch or converter"),
            ("  http-request deny if { «path» /x }", "fetch or converter"),
        ],
    );
    check(
        FileKind::Config,
        &[
            ("  http-request deny if { path -- «-f» }", "  http-request deny if { path -- -f }"),
            ("  http-request deny if { path -m str «lt» }", "  http-request deny if { path -m str lt }"),
            ("  http-request deny if { path /«or» }", "  http-request deny if { path /or }"),
            ("  acl «shop»_a path «{»", "  acl shop_a path {"),
            ("  server «or» 10.0.0.1:80", "  server or 10.0.0.1:80"),
            ("  http-request deny if { path «a(,)%[b» }", "  http-request deny if { path a(,)%[b }"),
        ],
    );
}

#[test]
fn addresses_have_hosts_and_ports_only() {
    refused(
        FileKind::Config,
        &[
            ("  server s «$HOME»:80", "`$` is not allowed in an address"),
            ("  server s \"«$HOME»\":80", "`$` is not allowed"),
            ("  server s «unix@/run/master.sock»", "`@` is not allowed"),
            ("  server s «/run/master.sock»", "`/` is not allowed"),
            ("  server s 10.0.0.1:80 addr «fd@3»", "`@` is not allowed"),
            ("  server-template s 3 «a$b»:80", "`$` is not allowed"),
            ("  bind «:1,»:2", "`,` is not allowed"),
            ("  bind unix@/«$HOME»", "`$` is not allowed"),
            ("  log «${HOME}» local0", "`$` is not allowed"),
            ("  stats socket «/x»", "`/` is not allowed"),
            ("  http-check connect addr «$HOME»", "`$` is not allowed"),
        ],
    );
    check(
        FileKind::Config,
        &[
            ("  server s «10.0.0.1»:«80»", "  server s 10.0.0.1:80"),
            ("  server s [«fd99::1»]:80", "  server s [fd99::1]:80"),
            ("  server s «a.example»:80", "  server s a.example:80"),
            ("  bind «*»:80", "  bind *:80"),
            ("  server s unix@/run/«a b»/c", "  server s unix@/run/a\\ b/c"),
        ],
    );
}

#[test]
fn options_of_servers_and_listeners_are_named_by_templates() {
    refused(
        FileKind::Config,
        &[
            ("  server s 10.0.0.1:80 «backup»", "may not choose what a line does"),
            ("  server s 10.0.0.1:80 check «disabled»", "may not choose what a line does"),
            ("  server s 10.0.0.1:80 cookie «a» «disabled»", "may not choose what a line does"),
            ("  default-server «check»", "may not choose what a line does"),
            ("  bind :443 ssl «strict-sni»", "may not choose what a line does"),
            ("  setenv NAME «a b»", "parts of the configuration"),
            ("defaults «from» x", "`from`"),
        ],
    );
    check(
        FileKind::Config,
        &[
            (
                "  server s 10.0.0.1:80 check cookie «a b» maxconn «5»",
                "  server s 10.0.0.1:80 check cookie a\\ b maxconn 5",
            ),
            ("  bind :443 ssl crt «a.pem» alpn h2", "  bind :443 ssl crt a.pem alpn h2"),
        ],
    );
}

#[test]
fn arguments_of_fetches_take_one_argument_only() {
    refused(
        FileKind::Config,
        &[
            ("  http-request deny if { hdr(«a,1») -m found }", "`,`"),
            ("  http-request deny if { hdr(«a)»,lower) x }", "`)`"),
            ("  http-request deny if { hdr(«\"a») x }", "`\"`"),
            ("  http-request deny if { hdr(«arg:\"a»,1) x }", "not make it one"),
            ("  http-request deny if { hdr(«arg:a,b») x }", "not make it one"),
            (r"  http-request deny if { hdr(«arg:a\,b») x }", "not make it one"),
            ("  http-request deny if { hdr('\"«arg:\"a\"»\"') x }", "not make it one"),
            ("  http-request deny if { hdr(a),«lower» x }", "fetch or converter"),
            ("  http-request set-header X %[«src»]", "fetch or converter"),
            ("  http-request set-header X %[hdr(«a,b»)]", "`,`"),
            ("  http-request set-header X «arg:\"a\"»", "`arg` is for"),
            ("  http-request set-var(txn.«a,b») src", "`,`"),
            ("  http-request set-var(txn.«a») «src»", "fetch or converter"),
            ("  http-request set-timeout server «src»", "a number or a time"),
            ("  http-check connect port «src»", "a number or a time"),
            ("  option forwarded host-expr «src»", "fetch or converter"),
            ("  tcp-request session attach-srv s name «src»", "fetch or converter"),
            ("  filter bwlim-in x limit 1 key «src»", "fetch or converter"),
        ],
    );
    check(
        FileKind::Config,
        &[
            (
                "  http-request deny if { hdr(«arg:\"a b,c\"») -m found }",
                "  http-request deny if { hdr(\\\"a\\ b,c\\\") -m found }",
            ),
            (
                "  http-request deny if { \"hdr(«arg:\"a b\"»)\" -m found }",
                "  http-request deny if { \"hdr(\\\"a b\\\")\" -m found }",
            ),
            ("  http-request set-header X %[hdr(«host»)]", "  http-request set-header X %[hdr(host)]"),
            ("  http-request set-var(txn.«a») src", "  http-request set-var(txn.a) src"),
            ("  http-request set-header X a(b,«c,d»)", "  http-request set-header X a(b,c,d)"),
            ("  http-request set-timeout server «30s»", "  http-request set-timeout server 30s"),
            ("  http-request track-sc0 src table «t»", "  http-request track-sc0 src table t"),
        ],
    );
}

#[test]
fn log_formats_take_doubled_percent_signs_only() {
    refused(
        FileKind::Config,
        &[
            ("  http-request set-header X «50%»", "special in a log-format"),
            ("  http-request set-header X «lf:50%»", "doubled"),
            ("  http-request set-header X %«ci»", "`%` before it"),
            ("  http-request set-header X %h«r»", "`%` before it"),
            ("  http-request set-header X %{«+Q»}o", "`%` before it"),
            ("  http-request return status 200 content-type text/plain lf-string «%»", "log-format"),
            ("  http-request return status 200 hdr X «%» string x", "log-format"),
            ("  http-request redirect location https://x«%»", "log-format"),
            ("  redirect prefix «%»", "log-format"),
            ("  use_backend «%[src]»", "log-format"),
            ("  log-format «%ci»", "log-format"),
            ("  unknown «%[src]»", "log-format"),
            ("  unknown «%»%[src]", "log-format"),
            ("  unknown «%{+Q}[env(HOME)]»", "log-format"),
            ("  unknown «%(x)[env(HOME)]»", "log-format"),
            ("  unknown «%»[src]", "log-format"),
            ("  http-request redirect location / set-cookie-fmt «%»", "log-format"),
            ("  http-check expect on-error «%» string x", "log-format"),
            ("  http-check expect string-lf «%»", "log-format"),
        ],
    );
    check(
        FileKind::Config,
        &[
            ("  http-request set-header X «lf:50%%»", "  http-request set-header X 50%%"),
            ("  http-request set-header X %[src],«a»", "  http-request set-header X %[src],a"),
            (
                "  http-request return status 200 content-type text/plain string «%[src]»",
                "  http-request return status 200 content-type text/plain string %[src]",
            ),
            ("  http-request deny if { path «/a%20b» }", "  http-request deny if { path /a%20b }"),
            ("  http-request replace-path ^/(.*) /«x»\\1", "  http-request replace-path ^/(.*) /x\\1"),
        ],
    );
}

#[test]
fn a_map_has_one_key_and_one_value_a_line() {
    check(
        FileKind::Map,
        &[
            ("«h.x»/«a#b» «v w»\n# «c d»\n", "h.x/a#b v w\n# c d\n"),
            ("«k»\t«»", "k\t"),
            (" «k» a «b» c", " k a b c"),
            ("«k» «»a «» b", "k a  b"),
        ],
    );
    refused(
        FileKind::Map,
        &[
            ("«a b» c", "first blank"),
            ("«» c", "key would be empty"),
            ("«»", "key would be empty"),
            ("«#a» c", "is a comment"),
            ("«»#a c", "is a comment"),
            ("«»\0u c", "key would be empty"),
            ("«»\r«x» c", "key would be empty"),
            ("a «\nb»", "control character"),
            ("a « b»", "cuts blanks"),
            ("a «b »\n", "cuts blanks"),
            ("a «» b", "cuts blanks"),
            ("a b «»\n", "cuts blanks"),
            (&format!("a «{}»\n", "x".repeat(16_384)), "HAProxy would read it as two"),
        ],
    );
}

#[test]
fn a_crt_list_has_no_quotes() {
    check(
        FileKind::CrtList,
        &[
            ("«a.pem» [alpn «h2»] «*.x.org» !«y.org»\n", "a.pem [alpn h2] *.x.org !y.org\n"),
            ("a.pem [allow-0rtt verify «none» alpn «h2»] *\n", "a.pem [allow-0rtt verify none alpn h2] *\n"),
        ],
    );
    refused(
        FileKind::CrtList,
        &[
            ("a.pem «b c»", "` ` is special"),
            ("a.pem «»\0x", "would be empty"),
            ("a.pem «[x]»", "`[` is special"),
            ("a.pem [«verify» none]", "choose what a line does"),
            ("a.pem [allow-0rtt «verify» none]", "choose what a line does"),
            ("a.pem [verify none «allow-0rtt»]", "choose what a line does"),
            ("a.pem [alpn «h2» «allow-0rtt»]", "choose what a line does"),
            ("a.pem «*»", "every host's"),
            ("a.pem !«*»", "every host's"),
            ("a.pem «!x»", "leading `!`"),
            ("a.pem «» x", "would be empty"),
            ("«#a».pem", "is a comment"),
        ],
    );
}

#[test]
fn opaque_files_take_values_as_they_are() {
    check(FileKind::General, &[("<p>«a\n\0'\"b»</p>\n", "<p>a\n\0'\"b</p>\n")]);
    check(FileKind::Certificate, &[("«-----BEGIN\n\tx\r\n»", "-----BEGIN\n\tx\r\n")]);
    check(FileKind::General, &[("HTTP/1.0 503 «x y»\r\n\r\n«a\nb»", "HTTP/1.0 503 x y\r\n\r\na\nb")]);
    check(
        FileKind::General,
        &[("«HTTP/1.0 503 x\r\n\r\na»«b\n»\n«c\n»\n", "HTTP/1.0 503 x\r\n\r\nab\n\nc\n\n")],
    );
    refused(FileKind::Certificate, &[("«a\0»", "control character")]);
    refused(
        FileKind::General,
        &[
            ("HTTP/1.0 503 «x\ny»\n\nbody\n", "control character \\n"),
            ("HTTP/1.0 503 «x\r»\n\nbody\n", "control character \\r"),
        ],
    );
}

/// Two objects' blocks between lines of the main template.
fn blocks(first: &str) -> FramedText {
    let (line, owner, value, end, unown) =
        (framing::LINE, framing::OWNER, framing::VALUE, framing::END, framing::UNOWN);
    FramedText {
        pieces: [
            format!("{line}0:1;global\n  maxconn 5\n"),
            format!("{owner}0;{line}1:3;backend {value}{first}{end}\n  mode http\n{unown}"),
            format!("{owner}1;{line}1:3;backend {value}b{end}\n  mode http\n{unown}"),
            format!("{line}0:9;frontend f\n  bind {owner}1;{value}:80{end}"),
            format!("{unown}\n"),
        ]
        .map(Into::into)
        .into(),
        templates: vec!["main".into(), "block".into()],
        objects: vec![Arc::new(ObjectRef::new("i", "n", "a")), Arc::new(ObjectRef::new("i", "n", "b"))],
    }
}

#[test]
fn every_line_is_traced_to_template_and_object() {
    let text = encode(FileKind::Config, &blocks("a")).unwrap();
    let traced: Vec<_> = (1..=8)
        .map(|n| text.origin(n).unwrap())
        .map(|o| {
            format!("{}:{} {}", o.template, o.line, o.object.map_or(String::new(), |o| o.name.to_string()))
        })
        .collect();
    let expected =
        ["main:1 ", "main:2 ", "block:3 a", "block:4 a", "block:3 b", "block:4 b", "main:9 ", "main:10 b"];
    assert_eq!(traced, expected);
    assert_eq!(text.fragments().len(), 4, "pieces that do not end with a line are one fragment");
    assert_eq!(
        text.fragments().get(2).unwrap().blame().objects.len(),
        1,
        "a fragment has the names of its own lines only"
    );
}

#[test]
fn lines_inside_values_of_opaque_files_are_traced() {
    let text = encode(FileKind::General, &framed("a «b\nc» d\ne\n")).unwrap();
    let lines: Vec<_> = (1..=3).map(|n| text.origin(n).unwrap().line).collect();
    assert_eq!(lines, [7, 7, 8]);
    assert_eq!(text.origin(4), None);
}

#[test]
fn unchanged_blocks_are_the_same_memory_in_the_next_generation() {
    let mut encoder = FileEncoder::default();
    let before = encoder.encode(FileKind::Config, &blocks("a")).unwrap();
    let after = encoder.encode(FileKind::Config, &blocks("c")).unwrap();
    let same: Vec<_> = before.fragments().iter().zip(after.fragments()).map(|(b, a)| b.same(a)).collect();
    assert_eq!(same, [true, false, true, true]);
    assert!(encoder.encode(FileKind::Config, &blocks("a\n")).is_err());
    let again = encoder.encode(FileKind::Config, &blocks("c")).unwrap();
    assert!(
        again.fragments().get(1).unwrap().same(after.fragments().get(1).unwrap()),
        "a refused generation forgets nothing"
    );
}

#[test]
fn all_refusals_are_reported_up_to_a_bound() {
    let many = "  description «\0»\n".repeat(300);
    assert_eq!(
        encode(FileKind::Config, &framed(&many)).unwrap_err().len(),
        haptic_attribution::faults::MOST_OF_ONE
    );
    let two = encode(FileKind::Config, &framed("  description «»\n  description «\0»\n")).unwrap_err();
    assert_eq!(two.iter().filter_map(|d| Some(d.template.as_ref()?.line)).collect::<Vec<_>>(), [7, 8]);
}

#[test]
fn long_and_unprintable_values_are_shown_shortened_and_escaped() {
    let message =
        encode(FileKind::Config, &framed(&format!("  description «\u{1b}[31m{}»", "x".repeat(500))))
            .unwrap_err()[0]
            .to_string();
    assert!(message.contains(r"\u{1b}[31mxxx") && message.contains('…') && message.len() < 400, "{message}");
}

#[test]
fn marks_that_do_not_fit_together_are_an_internal_error() {
    let (line, owner, value, end, unown) =
        (framing::LINE, framing::OWNER, framing::VALUE, framing::END, framing::UNOWN);
    let texts = [
        format!("a {value}b\n"),
        format!("a {end}\n"),
        format!("a {value}b{value}c{end}{end}\n"),
        format!("{line}5:1;a\n"),
        format!("{line}x;a\n"),
        format!("{line}"),
        format!("{line}99999999999:1;"),
        format!("{owner}7;a\n"),
        format!("{unown}a\n"),
        "\u{E00F}a\n".to_owned(),
    ];
    for text in texts {
        let framed = FramedText { pieces: vec![text.as_str().into()], ..FramedText::default() };
        for kind in [FileKind::Config, FileKind::Map, FileKind::CrtList, FileKind::General] {
            let errors = encode(kind, &framed).unwrap_err();
            assert!(errors[0].message.contains("internal error"), "{text:?}: {}", errors[0]);
        }
    }
}
