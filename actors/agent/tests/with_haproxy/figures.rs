//! Figures at 10,000 routes, printed: `HAPTIC=target/release/haptic cargo test --release -p haptic-agent --test with_haproxy
//! -- --ignored --nocapture figures`. Not part of a test run: a busy machine says little.

use crate::{
    http::call,
    setting::{Files, Setting, bring, get_metric, order, reload, runtime},
};
use haptic_agent::RunningAgent;
use haptic_model::{Operation, agent_api::Outcome};
use std::{
    net::SocketAddr,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

const ROUTES: usize = 10_000;
const CHANGES: usize = 100;

fn address(route: usize, server: usize) -> String {
    format!("10.{server}.{}.{}", route / 250, route % 250 + 1)
}

/// Some 2.6 MB: backends with three servers each, and a map that leads to them.
fn bundle(setting: &Setting) -> Files {
    let mut config = format!(
        "global\n    maxconn 200\ndefaults web\n    mode http\n    timeout connect 2s\n    timeout client 30s\n    timeout server 30s\n\
         frontend main from web\n    bind unix@{}\n    use_backend %[path,map(maps/a.map,none)]\nbackend none from web\n",
        setting.front().display()
    );
    for route in 0..ROUTES {
        config.push_str(&format!("backend default_shop-with-a-name-{route}_http from web\n"));
        for server in 0..3 {
            let address = address(route, server);
            config.push_str(&format!("    server {address}_8080 {address}:8080 weight 10 maxconn 100\n"));
        }
    }
    let map = (0..ROUTES).map(|route| format!("/route-{route} default_shop-with-a-name-{route}_http\n"));
    Files::from([("haproxy.cfg".to_owned(), config), ("maps/a.map".to_owned(), map.collect())])
}

async fn mean_ms(agent: &RunningAgent, before: (f64, f64)) -> f64 {
    let (sum, count) = sum_and_count(agent).await;
    (sum - before.0) / (count - before.1) * 1e3
}

async fn sum_and_count(agent: &RunningAgent) -> (f64, f64) {
    let page = agent.handle().metrics().await;
    let value = |name: &str| -> f64 {
        page.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')).unwrap().parse().unwrap()
    };
    (value("haptic_agent_operate_seconds_sum"), value("haptic_agent_operate_seconds_count"))
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "prints figures"]
async fn what_runtime_operations_cost_at_ten_thousand_routes() {
    for variable in ["HAPTIC_HAPROXY_3_0", "HAPTIC_HAPROXY_3_4"] {
        let setting = Setting::new(variable);
        let agent = setting.agent().await;
        let mut files = bundle(&setting);
        bring(&agent, None, &files).await;
        let before = sum_and_count(&agent).await;
        for change in 0..CHANGES {
            let backend = format!("default_shop-with-a-name-{change}_http");
            let server = format!("{}_8080", address(change, 0));
            let operation =
                Operation::SetServerAddress { backend, server, address: "10.9.9.9".to_owned(), port: 80 };
            files = applied(&agent, files, vec![operation]).await;
        }
        println!("{variable}: an endpoint change takes {:.2} ms", mean_ms(&agent, before).await);
        if variable.ends_with("3_4") {
            let before = sum_and_count(&agent).await;
            for change in 0..CHANGES {
                files = applied(&agent, files, new_route(change)).await;
            }
            println!("{variable}: a new route takes {:.2} ms", mean_ms(&agent, before).await);
        }
        println!("{variable}: {} operations", get_metric(&agent, "haptic_agent_operations_total").await);
        agent.stop(false).await;
    }
}

fn new_route(number: usize) -> Vec<Operation> {
    let backend = || format!("new-{number}");
    let server = |n: usize| Operation::AddServer {
        backend: backend(),
        server: format!("s{n}"),
        address: format!("10.8.{n}.{}:80", number % 250 + 1),
        params: vec!["weight".to_owned(), "10".to_owned()],
        enabled: true,
    };
    let mut operations = vec![Operation::AddBackend { backend: backend(), defaults: "web".to_owned() }];
    operations.extend((0..3).map(server));
    operations.push(Operation::PublishBackend { backend: backend() });
    let (map, key) = ("maps/a.map".to_owned(), format!("/new-{number}"));
    operations.push(Operation::AddMapEntry { map, key, value: backend() });
    operations
}

/// The files stand for a change; what they say does not matter here.
async fn applied(agent: &RunningAgent, files: Files, operations: Vec<Operation>) -> Files {
    let mut next = files.clone();
    next.entry("maps/a.map".to_owned()).or_default().push_str("# changed\n");
    let outcome = agent.apply(order(Some(&files), &next, runtime(operations))).await;
    assert!(matches!(outcome, Outcome::Applied { reloaded: false, .. }), "{outcome:?}");
    next
}

/// `haptic agent`, as in a pod; it ends with its story.
struct Process(Child);

impl Drop for Process {
    fn drop(&mut self) {
        let pid = i32::try_from(self.0.id()).ok().and_then(rustix::process::Pid::from_raw);
        let _told = pid.map(|pid| rustix::process::kill_process(pid, rustix::process::Signal::INT));
        let _ended = self.0.wait();
    }
}

/// All, and what of it is not the program's own file.
fn resident(process: u32) -> String {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let mb = |field: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(field)).unwrap();
        line.trim().trim_end_matches(" kB").parse::<f64>().unwrap() / 1024.0
    };
    format!("{:.1} MB resident, {:.1} MB of it its own", mb("VmRSS:"), mb("RssAnon:"))
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "prints figures; HAPTIC names the haptic binary"]
async fn what_an_agent_at_rest_takes() {
    let haptic = std::env::var("HAPTIC").expect("HAPTIC names the haptic binary: target/release/haptic");
    let setting = Setting::new("HAPTIC_HAPROXY_3_4");
    let listen: SocketAddr = {
        let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        free.local_addr().unwrap()
    };
    let mut command = Command::new(haptic);
    command.args(["agent", "--listen", &listen.to_string(), "--dir"]).arg(setting.dir.path().join("d"));
    command.arg("--haproxy").arg(&setting.binary).env("HAPTIC_USERNAME", "admin").env("HAPTIC_PASSWORD", "x");
    let agent = Process(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap());
    let begun = Instant::now();
    while tokio::net::TcpStream::connect(listen).await.is_err() {
        assert!(begun.elapsed() < Duration::from_secs(60), "the agent does not listen");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    println!("without a bundle: {}", resident(agent.0.id()));
    let mut files = bundle(&setting);
    println!("bundle: {:.1} MB", files.values().map(String::len).sum::<usize>() as f64 / 1e6);
    let mut base: Option<Files> = None;
    for round in 0..6 {
        let body = serde_json::to_string(&order(base.as_ref(), &files, reload())).unwrap();
        let (code, answer) = call(listen, "POST", "/v1/apply", Some("x"), &body).await;
        assert!(code == 200 && answer.contains("applied"), "{code} {answer}");
        println!("after order {round}: {}", resident(agent.0.id()));
        base = Some(files.clone());
        files.entry("haproxy.cfg".to_owned()).or_default().push_str("# changed\n");
    }
    for _ in 0..5 {
        tokio::time::sleep(Duration::from_secs(1)).await;
        println!("at rest: {}", resident(agent.0.id()));
    }
}
