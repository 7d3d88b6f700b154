//! HAProxy at run time: actions, servers, maps, lists.

use super::{haproxy, json_of, said, state::Double};
use actix_web::{
    HttpResponse,
    web::{self, Bytes, Data, Path},
};
use serde_json::{Value, json};
use std::net::IpAddr;

/// A map of more bytes is replaced, to a smaller one is added.
const ADDED: usize = 8192;
/// The states that it can be asked for.
const STATES: [&str; 3] = ["ready", "maint", "drain"];
/// As much as one command of the socket takes.
const COMMAND: usize = 12_000;

pub fn routes(app: &mut web::ServiceConfig) {
    app.route("/runtime/info", web::get().to(info))
        .route("/runtime/backends/{backend}/servers", web::get().to(servers))
        .route("/runtime/backends/{backend}/servers", web::post().to(add_server))
        .route("/runtime/backends/{backend}/servers/{server}", web::get().to(server))
        .route("/runtime/backends/{backend}/servers/{server}", web::put().to(set_server))
        .route("/runtime/backends/{backend}/servers/{server}", web::delete().to(delete_server))
        .route("/runtime/maps", web::get().to(maps))
        .route("/runtime/maps/{map}", web::put().to(put_entries))
        .route("/runtime/maps/{map}/entries", web::get().to(entries))
        .route("/runtime/maps/{map}/entries", web::post().to(add_entry))
        .route("/runtime/maps/{map}/entries/{key}", web::get().to(entry))
        .route("/runtime/maps/{map}/entries/{key}", web::put().to(set_entry))
        .route("/runtime/maps/{map}/entries/{key}", web::delete().to(delete_entry))
        .route("/runtime/acls", web::get().to(lists))
        .route("/runtime/acls/{list}/entries", web::get().to(patterns))
        .route("/runtime/acls/{list}/entries", web::post().to(add_pattern))
        .route("/runtime/acls/{list}/entries/{id}", web::delete().to(delete_pattern));
}

async fn info(double: Data<Double>) -> HttpResponse {
    let master = double.settings.master.display().to_string();
    match haproxy::worker(&double.settings, "show info").await {
        Ok(answer) => {
            let field = |name: &str| {
                answer
                    .lines()
                    .find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
                    .unwrap_or_default()
            };
            let number = |name: &str| field(name).parse::<u64>().unwrap_or_default();
            HttpResponse::Ok().json(json!({
                "info": { "version": field("Version"), "pid": number("Pid"), "uptime": number("Uptime_sec") },
                "runtimeAPI": master,
            }))
        }
        Err(error) => HttpResponse::Ok().json(json!({ "error": error, "runtimeAPI": master })),
    }
}

/// Carries out actions, in order. Unknown ones, and addresses that cannot be read, are passed over without a word.
pub async fn act(double: &Double, actions: &str) -> Result<(), String> {
    for action in actions.split(';').filter(|action| !action.is_empty()) {
        let words: Vec<&str> = action.split(' ').collect();
        let (verb, rest) = words.split_first().map_or(("", &words[..]), |(verb, rest)| (*verb, rest));
        let failed = |why: &str| format!("cannot execute {verb}: {why}");
        let master = double.settings.master.display();
        let Some(command) =
            command(verb, rest).map_err(|why| failed(&why.replace("MASTER", &master.to_string())))?
        else {
            continue;
        };
        if double.is_due(|faults| &mut faults.undone_changes).await {
            continue;
        }
        let answer = haproxy::worker(&double.settings, &command).await.map_err(|why| failed(&why))?;
        // What it says of addresses is no refusal.
        let is_refused =
            if verb == "SetServerAddr" { answer.starts_with("No such") } else { !answer.is_empty() };
        if is_refused {
            return Err(failed(&format!("{master} [3]  {answer} [{command}]")));
        }
    }
    Ok(())
}

/// An action in HAProxy's words; nothing for one that it does not know.
fn command(verb: &str, parameters: &[&str]) -> Result<Option<String>, String> {
    const VERBS: [(&str, usize); 5] = [
        ("SetServerAddr", 4),
        ("SetServerWeight", 3),
        ("SetServerState", 3),
        ("SetServerCheckPort", 3),
        ("SetFrontendMaxConn", 2),
    ];
    let Some((_, count)) = VERBS.iter().find(|(known, _)| *known == verb) else { return Ok(None) };
    if parameters.len() < *count {
        return Err("not enough parameters".to_owned());
    }
    let number = |word: &str| {
        let wrong = |_| format!("strconv.ParseInt: parsing {word:?}: invalid syntax");
        word.parse::<i64>().map_err(wrong)
    };
    let bad_request = || "MASTER bad request".to_owned();
    Ok(Some(match (verb, parameters) {
        (_, parameters) if parameters.contains(&"") => return Err(bad_request()),
        ("SetServerAddr", [backend, server, address, port, ..]) => {
            format!("set server {backend}/{server} addr {address} port {}", number(port)?)
        }
        ("SetServerWeight", [backend, server, weight, ..]) => {
            let (value, most) = weight.strip_suffix('%').map_or((*weight, 256), |percent| (percent, 100));
            if !value.parse().is_ok_and(|value: u16| value <= most) {
                return Err(bad_request());
            }
            format!("set server {backend}/{server} weight {weight}")
        }
        ("SetServerState", [backend, server, state, ..]) => {
            if !STATES.contains(state) {
                return Err(bad_request());
            }
            format!("set server {backend}/{server} state {state}")
        }
        ("SetServerCheckPort", [backend, server, port, ..]) => {
            format!("set server {backend}/{server} check-port {}", number(port)?)
        }
        ("SetFrontendMaxConn", [frontend, maxconn, ..]) => {
            format!("set maxconn frontend {frontend} {}", number(maxconn)?)
        }
        _ => return Ok(None),
    }))
}

async fn shown(double: &Double, backend: &str) -> Result<Vec<Value>, HttpResponse> {
    let answer = haproxy::worker(&double.settings, &format!("show servers state {backend}")).await;
    // It does not tell a socket that fails from a backend that is not there.
    let answer = answer.map_err(|_| said(404, &format!("no data for {backend}: not found")))?;
    let lines = answer.lines().skip(1).filter(|line| !line.starts_with('#')).map(|line| {
        let fields: Vec<&str> = line.split(' ').collect();
        let field = |at: usize| fields.get(at).copied().unwrap_or_default();
        let admin: u32 = field(6).parse().unwrap_or_default();
        let state = if admin & 0x3 != 0 {
            "maint"
        } else if admin & 0x18 != 0 {
            "drain"
        } else {
            "ready"
        };
        json!({
            "name": field(3), "address": field(4), "port": field(18).parse::<u16>().unwrap_or_default(),
            "uweight": field(7).parse::<u32>().unwrap_or_default(),
            "check_port": field(21).parse::<u16>().unwrap_or_default(),
            "admin_state": state, "operational_state": if field(5) == "2" { "up" } else { "down" },
            "backend_name": field(1),
        })
    });
    let servers: Vec<Value> = lines.filter(|server| server["name"] != "").collect();
    if answer.contains("Can't find backend") {
        let status = if double.settings.is_at_least(2) { 404 } else { 500 };
        return Err(said(status, &format!("no data for {backend}: not found")));
    }
    Ok(servers)
}

async fn servers(double: Data<Double>, backend: Path<String>) -> HttpResponse {
    match shown(&double, &backend).await {
        Ok(servers) => HttpResponse::Ok().json(servers),
        Err(refused) => refused,
    }
}

async fn server(double: Data<Double>, path: Path<(String, String)>) -> HttpResponse {
    let (backend, name) = &*path;
    let servers = match shown(&double, backend).await {
        Ok(servers) => servers,
        Err(refused) => return refused,
    };
    match servers.into_iter().find(|server| server["name"] == **name) {
        Some(server) => HttpResponse::Ok().json(server),
        None => said(404, &format!("no data for {backend}/{name}: not found")),
    }
}

async fn add_server(double: Data<Double>, backend: Path<String>, body: Bytes) -> HttpResponse {
    let body = json_of(&body);
    let mut words = String::new();
    for (field, value) in body.as_object().into_iter().flatten() {
        let keyword = match field.as_str() {
            "name" | "address" | "port" => continue,
            "ssl_cafile" => "ca-file".to_owned(),
            "ssl_certificate" => "crt".to_owned(),
            other => other.replace('_', "-"),
        };
        match value {
            Value::String(flag) if flag == "enabled" => words.push_str(&format!(" {keyword}")),
            Value::String(word) => words.push_str(&format!(" {keyword} {word}")),
            other => words.push_str(&format!(" {keyword} {other}")),
        }
    }
    let text = |field: &str| body[field].as_str().unwrap_or_default().to_owned();
    let (name, address) = (text("name"), text("address"));
    let command = format!("add server {backend}/{name} {address}:{}{words}", body["port"]);
    match haproxy::change(&double.settings, &command).await {
        Ok(()) => HttpResponse::Created().json(body),
        Err(why) if why.contains("lready exists") => said(409, &why),
        Err(why) if why.contains("No such backend") => said(404, &why),
        Err(why) => said(400, &why),
    }
}

/// Address, port and weight only from 3.4 on: before, they are answered with 200 and nothing happens. So is an address that is none.
async fn set_server(double: Data<Double>, path: Path<(String, String)>, body: Bytes) -> HttpResponse {
    let body = json_of(&body);
    if body["port"].as_u64().is_some_and(|port| port > u64::from(u16::MAX)) {
        return said(422, "port in body should be less than or equal to 65535");
    }
    let state = body["admin_state"].as_str();
    if state.is_some_and(|state| !STATES.contains(&state)) {
        return said(422, &format!("admin_state in body should be one of [{}]", STATES.join(" ")));
    }
    let at = format!("set server {}/{}", path.0, path.1);
    let mut commands = Vec::new();
    if double.settings.is_at_least(4) {
        let address = body["address"].as_str().filter(|address| address.parse::<IpAddr>().is_ok());
        commands.extend(address.map(|address| format!("{at} addr {address} port {}", body["port"])));
        commands.extend(body["weight"].as_u64().map(|weight| format!("{at} weight {weight}")));
    }
    commands.extend(state.map(|state| format!("{at} state {state}")));
    if double.is_due(|faults| &mut faults.undone_changes).await {
        commands.clear();
    }
    for command in commands {
        // What it says of an address is no refusal: HAProxy tells what it has changed.
        if let Err(why) = haproxy::change(&double.settings, &command).await
            && (why.contains("No such server") || !command.contains(" addr "))
        {
            return match why.contains("No such server") {
                true => said(404, &format!("no data for {}/{}: not found", path.0, path.1)),
                false => said(500, &why),
            };
        }
    }
    server(double, path).await
}

async fn delete_server(double: Data<Double>, path: Path<(String, String)>) -> HttpResponse {
    let at = format!("{}/{}", path.0, path.1);
    let _missing = haproxy::change(&double.settings, &format!("set server {at} state maint")).await;
    match haproxy::change(&double.settings, &format!("del server {at}")).await {
        Ok(()) => HttpResponse::NoContent().finish(),
        Err(why) if why.contains("No such server") => {
            let status = if double.settings.is_at_least(2) { 404 } else { 500 };
            said(status, &format!("no data for {at}: not found"))
        }
        Err(why) => said(500, &why),
    }
}

/// What HAProxy has loaded: number, file, what it tells of it.
async fn loaded(double: &Double, what: &str) -> Result<Vec<(String, String, String)>, HttpResponse> {
    let answer = haproxy::worker(&double.settings, &format!("show {what}")).await;
    let answer = answer.map_err(|error| said(404, &format!("{error} not found")))?;
    let lines = answer.lines().filter_map(|line| {
        let (id, rest) = line.split_once(' ')?;
        let (file, told) = rest.strip_prefix('(')?.split_once(") ")?;
        Some((id.to_owned(), file.to_owned(), told.to_owned()))
    });
    Ok(lines.filter(|(id, ..)| !id.starts_with('#')).collect())
}

async fn maps(double: Data<Double>) -> HttpResponse {
    match loaded(&double, "map").await {
        Ok(maps) => HttpResponse::Ok().json(
            maps.iter()
                .map(|(id, file, told)| json!({ "id": id, "file": file, "description": told, "storage_name": name(file) }))
                .collect::<Vec<_>>(),
        ),
        Err(refused) => refused,
    }
}

fn name(file: &str) -> &str {
    file.rsplit('/').next().unwrap_or_default()
}

fn path_of(double: &Double, map: &str) -> String {
    double.settings.maps.join(map).display().to_string()
}

async fn entries_of(double: &Double, map: &str) -> Result<Vec<Value>, HttpResponse> {
    let file = path_of(double, map);
    let answer = haproxy::worker(&double.settings, &format!("show map {file}")).await;
    let answer = answer.map_err(|error| said(404, &format!("{error} not found")))?;
    if answer.contains("Unknown map identifier") {
        return Err(said(404, &format!("{file} not found")));
    }
    // Values up to their first blank.
    let entries = answer.lines().map(|line| {
        let mut words = line.split(' ');
        let mut word = || words.next().unwrap_or_default();
        json!({ "id": word(), "key": word(), "value": word() })
    });
    Ok(entries.filter(|entry| entry["id"] != "").collect())
}

async fn entries(double: Data<Double>, map: Path<String>) -> HttpResponse {
    match entries_of(&double, &map).await {
        Ok(entries) => HttpResponse::Ok().json(entries),
        Err(refused) => refused,
    }
}

async fn entry(double: Data<Double>, path: Path<(String, String)>) -> HttpResponse {
    match found(&double, &path.0, &path.1).await {
        Ok(Some(entry)) => HttpResponse::Ok().json(entry),
        Ok(None) => said(404, &format!("{} {} not found", double.settings.master.display(), path.1)),
        Err(refused) => refused,
    }
}

/// An entry as it finds it: it reads the answer to `get map`, in which it takes = and , for its own.
async fn found(double: &Double, map: &str, key: &str) -> Result<Option<Value>, HttpResponse> {
    let entries = entries_of(double, map).await?;
    let entry = entries.into_iter().find(|entry| entry["key"] == *key && !key.contains(['=', ',']));
    let cut = entry.map(|mut entry| {
        let value = entry["value"].as_str().and_then(|value| value.split(['=', ',']).next());
        entry["value"] = json!(value);
        entry
    });
    Ok(cut.filter(|entry| entry["value"] != ""))
}

async fn add_entry(double: Data<Double>, map: Path<String>, body: Bytes) -> HttpResponse {
    let body = json_of(&body);
    let text = |field: &str| body[field].as_str().unwrap_or_default();
    let value = text("value").split(' ').next().unwrap_or_default();
    if value.is_empty() {
        let usage = "'add map' expects three parameters (map identifier, key and value) or one parameter and a payload";
        return said(400, &format!("{usage} general error"));
    }
    if let Ok(Some(_)) = found(&double, &map, text("key")).await {
        return said(409, &format!("{} already exists", double.settings.master.display()));
    }
    map_command(&double, &format!("add map {} {} {value}", path_of(&double, &map), text("key")), 201, &body)
        .await
}

async fn set_entry(double: Data<Double>, path: Path<(String, String)>, body: Bytes) -> HttpResponse {
    let body = json_of(&body);
    let value = body["value"].as_str().unwrap_or_default().split(' ').next().unwrap_or_default().to_owned();
    if value.contains(';') {
        return said(404, "invalid character found in runtime command not found");
    }
    let command = format!("set map {} {} {value}", path_of(&double, &path.0), path.1);
    let told = value.split(['=', ',']).next().unwrap_or_default();
    let answer = map_command(&double, &command, 200, &json!({ "key": path.1, "value": told })).await;
    // It looks for the key that it has set, and does not find one with a comma.
    if answer.status().is_success() && path.1.contains(',') {
        HttpResponse::NotFound().finish()
    } else {
        answer
    }
}

async fn delete_entry(double: Data<Double>, path: Path<(String, String)>) -> HttpResponse {
    map_command(&double, &format!("del map {} {}", path_of(&double, &path.0), path.1), 204, &Value::Null)
        .await
}

async fn map_command(double: &Double, command: &str, status: u16, body: &Value) -> HttpResponse {
    if command.contains(';') {
        return said(400, "invalid character found in runtime command general error");
    }
    if double.is_due(|faults| &mut faults.undone_changes).await {
        return HttpResponse::build(actix_web::http::StatusCode::from_u16(status).unwrap_or_default())
            .json(body);
    }
    match haproxy::change(&double.settings, command).await {
        Ok(()) if status == 204 => HttpResponse::NoContent().finish(),
        Ok(()) => {
            HttpResponse::build(actix_web::http::StatusCode::from_u16(status).unwrap_or_default()).json(body)
        }
        Err(why) if why.contains("not found") => said(404, &format!("{why} not found")),
        Err(why) => said(400, &format!("{why} general error")),
    }
}

/// Up to 8 KB are added, more take the place of what is there.
async fn put_entries(double: Data<Double>, map: Path<String>, body: Bytes) -> HttpResponse {
    let body = json_of(&body);
    let file = path_of(&double, &map);
    let lines: Vec<String> = (body.as_array().into_iter().flatten())
        .map(|entry| {
            let text = |field: &str| entry[field].as_str().unwrap_or_default();
            format!("{} {}\n", text("key"), text("value"))
        })
        .collect();
    if lines.iter().any(|line| line.contains(';')) {
        return said(400, "invalid character found in runtime command general error");
    }
    if lines.is_empty() {
        return said(500, "runtime error: index out of range");
    }
    let bytes: usize = lines.iter().map(String::len).sum();
    let mut version = String::new();
    if bytes > ADDED {
        let prepared =
            haproxy::worker(&double.settings, &format!("prepare map {file}")).await.unwrap_or_default();
        version = format!("@{} ", prepared.rsplit(' ').next().unwrap_or_default());
    }
    let mut payload = String::new();
    for (index, line) in lines.iter().enumerate() {
        payload.push_str(line);
        if payload.len() < COMMAND && index + 1 < lines.len() {
            continue;
        }
        if let Err(why) =
            haproxy::change(&double.settings, &format!("add map {version}{file} <<\n{payload}")).await
        {
            return said(400, &format!("{why} general error"));
        }
        payload.clear();
    }
    if bytes > ADDED
        && let Err(why) = haproxy::change(&double.settings, &format!("commit map {version}{file}")).await
    {
        return said(400, &format!("{why} general error"));
    }
    HttpResponse::Created().json(body)
}

async fn lists(double: Data<Double>) -> HttpResponse {
    match loaded(&double, "acl").await {
        Ok(lists) => HttpResponse::Ok().json(
            lists
                .iter()
                .map(|(id, file, told)| json!({ "id": id, "storage_name": file, "description": told }))
                .collect::<Vec<_>>(),
        ),
        Err(refused) => refused,
    }
}

async fn patterns(double: Data<Double>, list: Path<String>) -> HttpResponse {
    let answer = haproxy::worker(&double.settings, &format!("show acl #{list}")).await.unwrap_or_default();
    let patterns = answer.lines().filter_map(|line| line.split_once(' '));
    HttpResponse::Ok()
        .json(patterns.map(|(id, value)| json!({ "id": id, "value": value })).collect::<Vec<_>>())
}

async fn add_pattern(double: Data<Double>, list: Path<String>, body: Bytes) -> HttpResponse {
    let body = json_of(&body);
    let pattern = body["value"].as_str().unwrap_or_default().split(' ').next().unwrap_or_default().to_owned();
    let known = haproxy::worker(&double.settings, &format!("show acl #{list}")).await.unwrap_or_default();
    if known.lines().filter_map(|line| line.split_once(' ')).any(|(_, known)| known == pattern) {
        return said(409, &format!("{} already exists", double.settings.master.display()));
    }
    match haproxy::change(&double.settings, &format!("add acl #{list} {pattern}")).await {
        // Stored whole, and told up to its first comma.
        Ok(()) => {
            HttpResponse::Created().json(json!({ "value": pattern.split(',').next().unwrap_or_default() }))
        }
        Err(why) => said(500, &format!("cannot add ACL files entry for {list}: {why} general error")),
    }
}

async fn delete_pattern(double: Data<Double>, path: Path<(String, String)>) -> HttpResponse {
    let command = format!("del acl #{} #{}", path.0, path.1);
    match haproxy::change(&double.settings, &command).await {
        Ok(()) => HttpResponse::NoContent().finish(),
        Err(why) => said(404, &why),
    }
}
