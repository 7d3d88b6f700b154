//! The configuration of the README, made as a new user is told to make it.

use integration_tests::markdown::root;
use integration_tests::{Outcome, ensure, eventually, http, process, program};
use std::{
    fs,
    net::{Ipv4Addr, SocketAddr},
    path::Path,
    time::Duration,
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpListener,
    process::Command,
};

/// A folder as the README tells a new user to prepare it.
pub fn prepared() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("manifests")).unwrap();
    for file in ["config.yaml", "manifests/hello.yaml"] {
        fs::copy(root().join("fixtures/first").join(file), folder.path().join(file)).unwrap();
    }
    folder
}

pub fn haptic(words: &str, folder: &Path) -> Command {
    let mut command = Command::new(program::haptic().unwrap());
    command.args(words.split_whitespace()).current_dir(folder);
    command
}

#[tokio::test]
async fn the_first_configuration_serves() {
    serve_first_configuration().await.unwrap_or_else(|e| panic!("{e}"));
}

/// `haptic local` as the README says, but on ports that nobody else uses; answers come from a server in here.
async fn serve_first_configuration() -> Outcome {
    let folder = prepared();
    let server = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, free_port().await?));
    rewrite(&folder.path().join("config.yaml"), "bind *:7080", &format!("bind {address}"));
    rewrite(
        &folder.path().join("config.yaml"),
        "\nspec:\n",
        "\nspec:\n  controller: {healthzPort: 0, metricsPort: 0, debugPort: 0}\n",
    );
    rewrite(
        &folder.path().join("manifests/hello.yaml"),
        "ports: [{name: http, port: 8000}]",
        &format!("ports: [{{name: http, port: {}}}]", server.local_addr()?.port()),
    );
    let serving = tokio::spawn(serve(server));
    let command = haptic("local -f config.yaml --resources manifests", folder.path());
    let mut local = process::Process::start(command, &folder.path().join("log"))?;
    eventually("the first configuration serves hello.localhost", async || {
        local.ensure_running()?;
        http::get(address, "hello.localhost", "/").await?.is_from("hello")
    })
    .await?;
    let head = head_of(address, "www.hello.localhost").await?;
    ensure(head.contains("x-note: 100% yours\r\n"), format!("the answer was {head}"))?;
    http::get(address, "other.localhost", "/").await?.has_status(404)?;
    let code = local.terminate(Duration::from_secs(25)).await?;
    serving.abort();
    ensure(code == 0, format!("haptic local ended with {code}"))
}

async fn serve(server: TcpListener) {
    while let Ok((mut connection, _)) = server.accept().await {
        tokio::spawn(async move {
            let mut request = [0; 4096];
            while connection.read(&mut request).await.is_ok_and(|count| count > 0) {
                let answer = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";
                if connection.write_all(answer).await.is_err() {
                    return;
                }
            }
        });
    }
}

async fn head_of(address: SocketAddr, host: &str) -> Outcome<String> {
    let mut connection = tokio::net::TcpStream::connect(address).await?;
    connection
        .write_all(format!("GET / HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n").as_bytes())
        .await?;
    let mut answer = String::new();
    connection.read_to_string(&mut answer).await?;
    Ok(answer)
}

async fn free_port() -> Outcome<u16> {
    Ok(TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?.local_addr()?.port())
}

fn rewrite(file: &Path, from: &str, to: &str) {
    let text = fs::read_to_string(file).unwrap();
    assert!(text.contains(from), "{} has no {from:?}", file.display());
    fs::write(file, text.replacen(from, to, 1)).unwrap();
}
