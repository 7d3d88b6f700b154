//! What a HAProxy that runs for requests can do, and what it cannot whatever it is configured to.

use crate::subject::{SECRET, VERSIONS, bundle, confined, free};
use haptic_model::{Bundle, HaproxyVersion, crd::Allowance};
use haptic_validate::{
    Checker,
    requests::{ClientReply, ClientRequest},
};
use std::{
    fs,
    io::{Read, Write},
    net::TcpListener,
    os::unix::net::UnixListener,
    path::Path,
};

async fn body(checker: &Checker, bundle: &Bundle, version: HaproxyVersion) -> String {
    let question = ClientRequest {
        method: http::Method::GET,
        url: "http://a.example/x".parse().unwrap(),
        headers: vec![],
        body: "".into(),
        from: "192.0.2.1".parse().unwrap(),
        identity: None,
    };
    let asked = checker.ask(bundle, version, &[question], None).await.unwrap_or_else(|why| panic!("{why:?}"));
    match &asked.outcomes[0].reply {
        ClientReply::Answer { body, .. } => body.clone(),
        other => panic!("HAProxy {version}: {other:?}"),
    }
}

#[tokio::test]
async fn it_answers_from_within_the_sandbox() {
    let frontend = "    default_backend shop\nbackend shop\n    server a shop.internal:80 check";
    let bundle = bundle("    log 127.0.0.1:514 local0", frontend, ("general/x", ""));
    for version in VERSIONS {
        let body = body(&confined(), &bundle, version).await;
        assert!(body.starts_with("GET /x\nhost: a.example\n"), "HAProxy {version}: {body}");
    }
}

/// A service that answers with all that it got hold of.
fn burglar(place: &Path, tcp: u16) -> Bundle {
    let place = place.display();
    let script = format!(
        r#"core.register_service("burglar", "http", function(applet)
    local got = ""
    local function try(what, action)
        local ok, result = pcall(action)
        if ok and result then got = got .. "GOT " .. what .. ": " .. tostring(result) .. "\n" end
    end
    local function connected(...)
        local socket = core.tcp()
        socket:settimeout(1)
        return socket:connect(...) and socket:send("x") and socket:receive("*l")
    end
    try("tcp", function() return connected("127.0.0.1", {tcp}) end)
    try("unix", function() return connected("{place}/stream") end)
    try("file", function() return io.open("{place}/token"):read("*a") end)
    try("listing", function() return io.open("/etc/passwd"):read("*l") end)
    try("write", function() return io.open("haptic-preamble.cfg", "w"):write("x") end)
    try("new file", function() return io.open("new", "w") end)
    try("process", function() return io.popen("echo hello"):read("*l") end)
    try("command", function() return os.execute("true") end)
    applet:set_status(200)
    applet:start_response()
    applet:send("done\n" .. got)
end)
"#
    );
    bundle(
        "    lua-load general/x.lua",
        "    http-request use-service lua.burglar",
        ("general/x.lua", &script),
    )
}

#[tokio::test]
async fn a_script_reaches_no_network_no_socket_and_no_file() {
    let place = tempfile::tempdir().unwrap();
    fs::write(place.path().join("token"), SECRET).unwrap();
    let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
    let bundle = burglar(place.path(), tcp.local_addr().unwrap().port());
    let unix = UnixListener::bind(place.path().join("stream")).unwrap();
    std::thread::spawn(move || tcp.incoming().flatten().for_each(greet));
    std::thread::spawn(move || unix.incoming().flatten().for_each(greet));
    let (confined, free) = (confined().allowing(&[Allowance::Lua]), free().allowing(&[Allowance::Lua]));
    for version in VERSIONS {
        let open = body(&free, &bundle, version).await;
        for what in ["tcp", "unix", "file", "listing", "write"] {
            assert!(open.contains(&format!("GOT {what}")), "HAProxy {version} elsewhere: {what}\n{open}");
        }
        assert_eq!(body(&confined, &bundle, version).await, "done\n", "HAProxy {version}");
    }
}

/// Answers a first byte.
fn greet(mut connection: impl Read + Write) {
    drop(connection.read_exact(&mut [0]).and_then(|()| connection.write_all(b"hello\n")));
}
