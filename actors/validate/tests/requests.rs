//! Requests to real HAProxys that run a bundle: 3.0, 3.2 and 3.4.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]
#![allow(clippy::indexing_slicing, reason = "a test fails by panicking")]

use haptic_model::{Bundle, BundleFile, FileKey, FileKind, HaproxyVersion, crd::Allowance};
use haptic_text::Text;
use haptic_validate::{
    Binaries, CheckLimits, Checker, Sandbox,
    requests::{
        ChosenServer, ClientIdentity, ClientReply, ClientRequest, RequestOutcome, RequestResults, Unasked,
    },
};
use http::{HeaderName, HeaderValue, Method};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, ExtendedKeyUsagePurpose, IsCa, KeyPair};
use std::time::{Duration, Instant};

const VERSIONS: [HaproxyVersion; 3] =
    [HaproxyVersion::new(3, 0), HaproxyVersion::new(3, 2), HaproxyVersion::new(3, 4)];

/// A configuration as people write it, with all that cannot be where requests are tried.
const CONFIG: &str = r#"
global
    log 127.0.0.1:514 local0
    chroot /var/lib/haproxy
    user haproxy
    daemon
    maxconn 100000
    nbthread 8
    stats socket /run/haproxy/admin.sock mode 660 level admin
resolvers cluster
    nameserver dns 10.96.0.10:53
peers fleet
    peer here 10.0.0.1:10000
ring events
    server collector 10.0.0.1:6514
defaults
    mode http
    log global
    option httplog
    option dontlognull
    timeout client 5s
    timeout server 5s
    timeout connect 5s
    default-server check inter 1s resolvers cluster
frontend health
    bind 127.0.0.1:8404
    monitor-uri /healthz
frontend web
    bind 10.1.2.3:80 interface eth9
    bind :443 ssl crt ssl/a.pem crt ssl/b.pem alpn h2,http/1.1
    bind :8443 ssl crt ssl/a.pem ca-file ssl/ca.pem verify required
    tcp-request connection reject if { src 203.0.113.9 }
    http-request set-src req.hdr(x-client) if { req.hdr(x-client) -m found }
    http-request track-sc0 src table counts if { path /counted }
    http-request deny deny_status 429 if { sc_http_req_cnt(0) gt 3 } { path /counted }
    http-request redirect location https://b.example%[pathq] code 301 if { path -m beg /old }
    http-request return status 403 if { src 198.51.100.0/24 }
    http-request set-header X-Client-Name %[ssl_c_s_dn(cn)] if { ssl_c_used }
    http-request set-header X-Name %[ssl_fc_sni] if { ssl_fc }
    http-response set-header X-Frame-Options DENY
    http-response del-header Content-Type
    use_backend empty if { path /empty }
    use_backend %[req.hdr(host),lower,map(maps/host.map)]
    default_backend rest
    balance roundrobin
frontend off
    disabled
    bind :7000
.if streq(a,b)
    bind :7001
.endif
frontend passthrough
    mode tcp
    bind :9443
    tcp-request inspect-delay 5s
    tcp-request content accept if { req_ssl_hello_type 1 }
    use_backend tunnel if { req_ssl_sni -i a.example }
backend counts
    stick-table type ip size 1k store http_req_cnt peers fleet
backend shop
    balance roundrobin
    cookie S insert indirect nocache
    server a shop.internal:8443 ssl verify required ca-file ssl/ca.pem sni str(x) send-proxy-v2 proto h2 cookie one
    server b [2001:db8::1]:8080 cookie two
    server c 10.0.0.3:80 backup
backend rest
    balance roundrobin
    server-template t 1-2 _http._tcp.rest.internal:80 resolvers cluster
backend tunnel
    mode tcp
    server pod 10.0.0.4:443
backend empty
    errorfile 503 general/503.http
"#;

struct Authority(CertifiedIssuer<'static, KeyPair>);

impl Authority {
    fn new() -> Self {
        let mut params = CertificateParams::new(vec![]).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        Self(CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap())
    }

    fn client(&self, name: &str) -> ClientIdentity {
        let mut params = CertificateParams::new(vec![]).unwrap();
        params.distinguished_name.push(rcgen::DnType::CommonName, name);
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &self.0).unwrap();
        ClientIdentity { chain: certificate.pem().into(), key: key.serialize_pem().into() }
    }
}

fn pem(host: &str) -> String {
    let made = rcgen::generate_simple_self_signed([host.to_owned()]).unwrap();
    format!("{}{}", made.cert.pem(), made.signing_key.serialize_pem())
}

fn bundle(config: &str, authority: &Authority) -> Bundle {
    let file = |kind, path: &str, text: &str| {
        BundleFile::new(FileKey::new(kind, path.rsplit('/').next().unwrap()), path, Text::plain(text))
    };
    let files = [
        file(FileKind::Map, "maps/host.map", "shop.example shop\n"),
        file(FileKind::General, "general/503.http", "HTTP/1.0 503 No\r\nX-Page: own\r\n\r\nnobody\n"),
        file(FileKind::Certificate, "ssl/a.pem", &pem("a.example")),
        file(FileKind::Certificate, "ssl/b.pem", &pem("b.example")),
        file(FileKind::Certificate, "ssl/ca.pem", &authority.0.pem()),
    ];
    Bundle::new(BundleFile::new(FileKey::config(), "haproxy.cfg", Text::plain(config)), files)
}

fn checker(limits: CheckLimits) -> Checker {
    let binaries = ["3_0", "3_2", "3_4"].map(|version| {
        let variable = format!("HAPTIC_HAPROXY_{version}");
        std::env::var_os(&variable)
            .unwrap_or_else(|| panic!("{variable} is not set: run this test through `make test`"))
    });
    Checker::new(Binaries::probe(binaries).unwrap(), limits, Sandbox::none())
}

fn get(url: &str) -> ClientRequest {
    ClientRequest {
        method: Method::GET,
        url: url.parse().unwrap(),
        headers: vec![],
        body: "".into(),
        from: "192.0.2.1".parse().unwrap(),
        identity: None,
    }
}

fn from(url: &str, address: &str) -> ClientRequest {
    ClientRequest { from: address.parse().unwrap(), ..get(url) }
}

fn with(url: &str, name: &'static str, value: &'static str) -> ClientRequest {
    let header = (HeaderName::from_static(name), HeaderValue::from_static(value));
    ClientRequest { headers: vec![header], ..get(url) }
}

/// What each HAProxy makes of these questions.
async fn asked(config: &str, authority: &Authority, questions: &[ClientRequest]) -> Vec<RequestResults> {
    let checker = checker(CheckLimits::default());
    let mut all = Vec::new();
    for version in VERSIONS {
        let asked = checker.ask(&bundle(config, authority), version, questions, None).await;
        let asked = asked.unwrap_or_else(|why| panic!("HAProxy {version}: {why:?}"));
        assert_eq!(asked.outcomes.len(), questions.len(), "HAProxy {version}");
        all.push(asked);
    }
    all
}

fn status(outcome: &RequestOutcome) -> u16 {
    match &outcome.reply {
        ClientReply::Answer { status, .. } => *status,
        other => panic!("no answer: {other:?}"),
    }
}

fn header<'o>(outcome: &'o RequestOutcome, name: &str) -> Option<&'o str> {
    let ClientReply::Answer { headers, .. } = &outcome.reply else { panic!("no answer: {outcome:?}") };
    headers.iter().find(|(known, _)| known == name).map(|(_, value)| &**value)
}

fn body(outcome: &RequestOutcome) -> &str {
    let ClientReply::Answer { body, .. } = &outcome.reply else { panic!("no answer: {outcome:?}") };
    body
}

fn chosen(outcome: &RequestOutcome) -> (Option<&str>, Option<&str>) {
    let ChosenServer { backend, server } = outcome.choice.as_ref().expect("it is logged");
    (backend.as_deref(), server.as_deref())
}

#[tokio::test]
async fn answers_are_those_that_clients_would_get_and_servers_are_known_by_name() {
    let authority = Authority::new();
    let questions = [
        get("http://shop.example/cart?x=1"),
        with("http://shop.example/", "cookie", "S=two"),
        get("http://other.example/%2e%2e//a"),
        get("http://other.example/empty"),
        get("http://other.example/old/x?y"),
        from("http://other.example/", "198.51.100.7"),
        from("http://other.example/", "203.0.113.9"),
        get("http://other.example:8404/healthz"),
        ClientRequest {
            method: Method::POST,
            body: "a=1".into(),
            ..from("http://shop.example/", "2001:db8::7")
        },
        with("http://other.example/", "x-client", "198.51.100.8"),
        get("http://other.example:81/"),
        get("http://other.example:7000/"),
    ];
    for RequestResults { outcomes, left_out } in asked(CONFIG, &authority, &questions).await {
        assert!(left_out.is_empty(), "{left_out:?}");
        assert_eq!(chosen(&outcomes[0]), (Some("shop"), Some("a")));
        assert_eq!(header(&outcomes[0], "arrived"), Some("GET /cart?x=1"));
        assert_eq!(header(&outcomes[0], "arrived-host"), Some("shop.example"));
        assert_eq!(header(&outcomes[0], "x-frame-options"), Some("DENY"));
        assert_eq!(header(&outcomes[0], "content-type"), None);
        assert!(body(&outcomes[0]).starts_with("GET /cart?x=1\n"), "{}", body(&outcomes[0]));
        assert_eq!(chosen(&outcomes[1]), (Some("shop"), Some("b")));
        assert_eq!(chosen(&outcomes[2]), (Some("rest"), Some("t1")));
        assert_eq!(header(&outcomes[2], "arrived"), Some("GET /%2e%2e//a"), "as it was sent");
        assert_eq!((status(&outcomes[3]), header(&outcomes[3], "x-page")), (503, Some("own")));
        assert_eq!(chosen(&outcomes[3]), (Some("empty"), None));
        assert_eq!(status(&outcomes[4]), 301);
        assert_eq!(header(&outcomes[4], "location"), Some("https://b.example/old/x?y"));
        assert_eq!(chosen(&outcomes[4]), (None, None));
        assert_eq!((status(&outcomes[5]), chosen(&outcomes[5])), (403, (None, None)));
        assert!(matches!(outcomes[6].reply, ClientReply::Closed(_)), "{:?}", outcomes[6]);
        assert_eq!(
            (status(&outcomes[7]), outcomes[7].choice.as_ref()),
            (200, None),
            "HAProxy does not log it"
        );
        assert!(body(&outcomes[8]).ends_with("\n\na=1"), "{}", body(&outcomes[8]));
        assert_eq!(header(&outcomes[8], "arrived"), Some("POST /"));
        assert_eq!((status(&outcomes[9]), chosen(&outcomes[9])), (403, (None, None)));
        let ClientReply::Impossible(why) = &outcomes[10].reply else { panic!("{:?}", outcomes[10]) };
        assert!(why.starts_with("no bind line has port 81; there is: 8404; 80; 443 with TLS"), "{why}");
        let ClientReply::Impossible(why) = &outcomes[11].reply else { panic!("{:?}", outcomes[11]) };
        assert!(why.starts_with("HAProxy does not listen there: "), "{why}");
    }
}

#[tokio::test]
async fn tls_is_real_with_names_and_certificates_of_clients() {
    let authority = Authority::new();
    let identity = Some(authority.client("anna"));
    let stranger = Some(Authority::new().client("eve"));
    let questions = [
        get("https://b.example/"),
        ClientRequest { identity: identity.clone(), ..get("https://a.example:8443/") },
        ClientRequest { identity: stranger, ..get("https://a.example:8443/") },
        get("https://a.example:8443/"),
        get("https://a.example:9443/through"),
        get("https://[2001:db8::1]/"),
        ClientRequest {
            identity: Some(ClientIdentity { chain: "x".into(), key: "y".into() }),
            ..get("https://b.example/")
        },
    ];
    for RequestResults { outcomes, .. } in asked(CONFIG, &authority, &questions).await {
        assert_eq!(header(&outcomes[0], "arrived-x-name"), Some("b.example"));
        assert_eq!(header(&outcomes[0], "arrived-x-client-name"), None);
        assert_eq!(header(&outcomes[1], "arrived-x-client-name"), Some("anna"));
        assert!(matches!(outcomes[2].reply, ClientReply::Closed(_)), "{:?}", outcomes[2]);
        assert!(matches!(outcomes[3].reply, ClientReply::Closed(_)), "{:?}", outcomes[3]);
        assert_eq!(header(&outcomes[4], "arrived"), Some("GET /through"));
        assert_eq!(chosen(&outcomes[4]), (Some("tunnel"), Some("pod")));
        assert_eq!(status(&outcomes[5]), 200);
        assert!(matches!(outcomes[6].reply, ClientReply::Impossible(_)), "{:?}", outcomes[6]);
    }
}

#[tokio::test]
async fn requests_come_one_after_the_other_to_one_haproxy() {
    let questions: Vec<ClientRequest> = (0..5).map(|_| get("http://other.example/counted")).collect();
    for RequestResults { outcomes, .. } in asked(CONFIG, &Authority::new(), &questions).await {
        let statuses: Vec<u16> = outcomes.iter().map(status).collect();
        assert_eq!(statuses, [200, 200, 200, 429, 429]);
        let servers: Vec<_> = outcomes[..3].iter().map(|outcome| chosen(outcome).1.unwrap()).collect();
        assert_eq!(servers, ["t1", "t2", "t1"]);
    }
}

#[tokio::test]
async fn a_configuration_that_does_not_start_is_told_with_its_own_line() {
    let config = CONFIG.replace("default_backend rest", "default_backend nonesuch");
    let line = config.lines().position(|line| line.contains("nonesuch")).unwrap() + 1;
    let checker = checker(CheckLimits::default());
    for version in VERSIONS {
        let why = checker.ask(&bundle(&config, &Authority::new()), version, &[get("http://a/")], None).await;
        let Err(Unasked::Refused(why)) = why else { panic!("HAProxy {version}: {why:?}") };
        let why = why.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n");
        assert!(why.contains("nonesuch") && !why.contains("sockpair"), "{line}: {why}");
    }
    let config = CONFIG.replace("timeout connect 5s", "timeout connect never");
    let why = checker.ask(&bundle(&config, &Authority::new()), VERSIONS[2], &[get("http://a/")], None).await;
    let Err(Unasked::Refused(why)) = why else { panic!("{why:?}") };
    let line = config.lines().position(|line| line.contains("never")).unwrap() + 1;
    assert!(why[0].to_string().contains(&format!("haproxy.cfg:{line}")), "{why:?}");
}

#[tokio::test]
async fn a_pod_with_the_data_plane_api_is_run_with_its_absolute_names() {
    const ABSOLUTE: &str = "defaults d\n  mode http\n  timeout client 5s\n  timeout server 5s\n  timeout connect 5s\n\
        frontend web from d\n  bind :443 ssl crt /etc/haproxy/ssl/a.pem\n  bind :80\n  \
        use_backend %[req.hdr(host),lower,map(/etc/haproxy/maps/host.map)]\nbackend shop from d\n  server a 10.0.0.1:80\n";
    let file = |kind, name: &str, path: &str, text: &str| {
        BundleFile::new(FileKey::new(kind, name), path, Text::plain(text))
    };
    let files = [
        file(FileKind::Map, "host.map", "/etc/haproxy/maps/host.map", "shop.example shop\n"),
        file(FileKind::Certificate, "a.pem", "/etc/haproxy/ssl/a.pem", &pem("a.example")),
    ];
    let config = BundleFile::new(FileKey::config(), "/etc/haproxy/haproxy.cfg", Text::plain(ABSOLUTE));
    let bundle = Bundle::new(config, files);
    let questions = [get("http://shop.example/x"), get("https://shop.example/")];
    for version in VERSIONS {
        let asked = checker(CheckLimits::default()).ask(&bundle, version, &questions, None).await;
        let RequestResults { outcomes, .. } =
            asked.unwrap_or_else(|why| panic!("HAProxy {version}: {why:?}"));
        assert_eq!(chosen(&outcomes[0]), (Some("shop"), Some("a")), "HAProxy {version}");
        assert_eq!(chosen(&outcomes[1]), (Some("shop"), Some("a")), "HAProxy {version}");
    }
}

#[tokio::test]
async fn many_headers_arrive_and_are_told_as_far_as_haproxy_takes_them() {
    let many = (0..64).map(|n| {
        let name = HeaderName::try_from(format!("x-{n}")).unwrap();
        (name, HeaderValue::try_from("v".repeat(100)).unwrap())
    });
    let question = ClientRequest { headers: many.collect(), ..get("http://shop.example/") };
    for RequestResults { outcomes, .. } in asked(CONFIG, &Authority::new(), &[question]).await {
        assert_eq!(status(&outcomes[0]), 200);
        assert!(header(&outcomes[0], "arrived-x-20").is_some());
        assert!(body(&outcomes[0]).contains("\nx-63: vvv"));
    }
}

#[tokio::test]
async fn what_checks_refuse_is_not_run() {
    let config = CONFIG.replace("    daemon", "    lua-load general/503.http");
    let checker = checker(CheckLimits::default());
    let why = checker.ask(&bundle(&config, &Authority::new()), VERSIONS[2], &[get("http://a/")], None).await;
    let Err(Unasked::Refused(why)) = why else { panic!("{why:?}") };
    assert!(why[0].to_string().contains("runs a program within HAProxy, and is not allowed"), "{why:?}");
}

/// A script asks a frontend of the same HAProxy, which passes it on to a server.
const ASKING: &str = r#"
core.register_action("ask", { "http-req" }, function(txn)
  local answer = core.httpclient():get({ url = "http://sso/check", dst = txn:get_var("proc.own"), headers = txn.http:req_get_headers() })
  txn:set_var("txn.said", answer.status .. " " .. (answer.headers["user"] or {})[0])
end)
"#;
const ASKED: &str = "
global
    lua-load general/503.http
    httpclient.resolvers.disabled on
    set-var proc.own str(unix@own.sock)
defaults
    mode http
    timeout client 5s
    timeout server 5s
    timeout connect 5s
frontend web
    bind :80
    http-request lua.ask
    http-request set-header X-Said %[var(txn.said)]
    default_backend shop
frontend own
    bind unix@own.sock mode 600
    http-request set-header X-Haptic-Check 1
    default_backend sso
backend sso
    server a sso:80
backend shop
    server b shop:80
";

#[tokio::test]
async fn scripts_ask_haproxy_itself_and_the_answering_server_plays_who_is_asked() {
    let made = bundle(ASKED, &Authority::new());
    let script =
        BundleFile::new(FileKey::new(FileKind::General, "503.http"), "general/503.http", Text::plain(ASKING));
    let made = Bundle::new(BundleFile::clone(&made.config), [script]);
    let checker = checker(CheckLimits::default()).allowing(&[Allowance::Lua]);
    let mut refused = with("http://a/", "answer-status", "403");
    refused.headers.push((HeaderName::from_static("answer-user"), HeaderValue::from_static("anna")));
    for version in VERSIONS {
        let questions = [with("http://a/", "answer-user", "anna"), refused.clone()];
        let RequestResults { outcomes, left_out } =
            checker.ask(&made, version, &questions, None).await.unwrap_or_else(|why| panic!("{why:?}"));
        assert_eq!(left_out, Vec::<String>::new());
        let said: Vec<Option<&str>> =
            outcomes.iter().map(|outcome| header(outcome, "arrived-x-said")).collect();
        assert_eq!(said, [Some("200 anna"), Some("403 anna")], "{version:?}: {outcomes:?}");
        assert_eq!(chosen(&outcomes[0]), (Some("shop"), Some("b")));
    }
}

#[tokio::test]
async fn a_configuration_that_never_comes_to_an_end_is_ended() {
    let authority = Authority::new();
    let config = CONFIG.replace("    daemon", "    lua-load general/503.http");
    let endless = bundle(&config, &authority);
    let script = BundleFile::new(
        FileKey::new(FileKind::General, "503.http"),
        "general/503.http",
        Text::plain("while true do end"),
    );
    let files = endless.files.values().filter(|file| &*file.path != "general/503.http");
    let files: Vec<BundleFile> = files.map(|file| BundleFile::clone(file)).chain([script]).collect();
    let endless = Bundle::new(BundleFile::clone(&endless.config), files);
    let limits = CheckLimits { time: Duration::from_secs(1), ..CheckLimits::default() };
    let checker = checker(limits).allowing(&[Allowance::Lua]);
    let why = checker.ask(&endless, VERSIONS[2], &[get("http://a/")], None).await;
    assert!(matches!(why, Err(Unasked::Undecided(_))), "{why:?}");
    // And one that answers nobody.
    let silent = CONFIG.replace("default_backend rest", "http-request wait-for-body time 1h if FALSE\n    tcp-request inspect-delay 1h\n    tcp-request content accept if WAIT_END\n    default_backend rest");
    let end = Instant::now() + Duration::from_secs(1);
    let asked =
        checker.ask(&bundle(&silent, &authority), VERSIONS[2], &[get("http://a/")], Some(end.into())).await;
    assert!(matches!(&asked, Ok(asked) if asked.outcomes.is_empty()), "{asked:?}");
}
