//! Files: maps, certificates and others.

use super::{haproxy, reloads, said, state::Double};
use actix_web::{
    HttpMessage, HttpRequest, HttpResponse,
    web::{self, Bytes, Data, Path, Query},
};
use haptic_text::Digest;
use serde::Deserialize;
use serde_json::{Value, json};
use std::{
    fs,
    path::{Path as FilePath, PathBuf},
};

/// What such a key begins with, in PKCS #8 and Base64: the API does not read it.
const ED25519: [&str; 2] = ["MC4CAQAwBQYDK2Vw", "MFECAQEwBQYDK2Vw"];

pub fn routes(app: &mut web::ServiceConfig) {
    app.route("/storage/{kind}", web::get().to(list))
        .route("/storage/{kind}", web::post().to(create))
        .route("/storage/{kind}/{name}", web::get().to(read))
        .route("/storage/{kind}/{name}", web::put().to(replace))
        .route("/storage/{kind}/{name}", web::delete().to(delete));
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct How {
    skip_reload: bool,
}

fn folder(double: &Double, kind: &str) -> PathBuf {
    match kind {
        "maps" => double.settings.maps.clone(),
        "ssl_certificates" => double.settings.certificates.clone(),
        _ => double.settings.general.clone(),
    }
}

async fn list(double: Data<Double>, kind: Path<String>) -> HttpResponse {
    let folder = folder(&double, &kind);
    let mut names: Vec<String> = (fs::read_dir(&folder).into_iter().flatten().flatten())
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    let files = names.iter().map(|name| json!({ "storage_name": name, "file": folder.join(name) }));
    HttpResponse::Ok().json(files.collect::<Vec<_>>())
}

async fn read(double: Data<Double>, path: Path<(String, String)>) -> HttpResponse {
    let (kind, name) = &*path;
    let file = folder(&double, kind).join(name);
    match fs::read(&file) {
        // No call gives a key back.
        Ok(content) if kind == "ssl_certificates" => {
            HttpResponse::Ok().json(about(name, &file, &String::from_utf8_lossy(&content)))
        }
        Ok(content) => HttpResponse::Ok().body(content),
        Err(_) => missing(&double, kind, name),
    }
}

/// What it tells of a certificate. The numbers of the real one are read from it; these only differ where it does.
fn about(name: &str, file: &FilePath, content: &str) -> Value {
    let certificate = content.split("-----END CERTIFICATE-----").next().unwrap_or_default();
    json!({
        "storage_name": name, "file": file, "size": content.len(), "description": "managed SSL file",
        "serial": Digest::of(certificate.as_bytes()).short(),
    })
}

fn missing(double: &Double, kind: &str, name: &str) -> HttpResponse {
    let folder = folder(double, kind);
    said(404, &format!("missing object: file {name} doesn't exist in dir: {}", folder.display()))
}

async fn create(
    request: HttpRequest,
    double: Data<Double>,
    kind: Path<String>,
    how: Query<How>,
    body: Bytes,
) -> HttpResponse {
    let Some((name, content)) = form(&request, &body) else { return said(400, "http: no such file") };
    let name = sanitised(&kind, &name);
    let file = folder(&double, &kind).join(&name);
    if file.exists() {
        return said(409, &format!("object already exists: file {} already exists", file.display()));
    }
    store(&double, &kind, &name, &content, (true, how.skip_reload)).await
}

async fn replace(
    request: HttpRequest,
    double: Data<Double>,
    path: Path<(String, String)>,
    how: Query<How>,
    body: Bytes,
) -> HttpResponse {
    let (kind, name) = &*path;
    if !folder(&double, kind).join(name).exists() {
        return missing(&double, kind, name);
    }
    let content = match (kind.as_str(), request.content_type()) {
        ("general", "multipart/form-data") => match form(&request, &body) {
            Some((_, content)) => content,
            None => return said(400, "http: no such file"),
        },
        ("general", other) | (_, other) if other != "text/plain" || kind == "general" => {
            return said(415, &format!("header Content-Type has unexpected value {other:?}"));
        }
        _ if body.is_empty() => {
            let status = if double.settings.is_at_least(4) { 400 } else { 422 };
            return said(status, "value is required but missing");
        }
        _ => String::from_utf8_lossy(&body).into_owned(),
    };
    store(&double, kind, name, &content, (false, how.skip_reload)).await
}

/// Writes it. A certificate goes to HAProxy as well, in versions that do so; what was refused stays on disk all the same.
async fn store(
    double: &Double,
    kind: &str,
    name: &str,
    content: &str,
    (is_new, skips): (bool, bool),
) -> HttpResponse {
    let file = folder(double, kind).join(name);
    if let Err(error) = fs::write(&file, content) {
        let why = error.to_string().split(" (os error").next().unwrap_or_default().to_lowercase();
        return said(500, &format!("open {}: {why}", file.display()));
    }
    let about = about(name, &file, content);
    if kind != "ssl_certificates" {
        return match is_new {
            true => HttpResponse::Created().json(about),
            false if skips => HttpResponse::NoContent().finish(),
            false => accepted(double, about).await,
        };
    }
    if !content.contains("BEGIN CERTIFICATE") {
        return said(500, "failed to parse certificate");
    }
    let is_unread = ED25519.iter().any(|key| content.contains(key));
    if is_unread || !content.contains("PRIVATE KEY") {
        return said(500, "file should contain both certificate and private key");
    }
    // Without a reload it reaches the disk alone.
    let path = file.display().to_string();
    let is_known = is_new || is_loaded(double, &path).await;
    let is_live =
        !skips && is_known && double.settings.is_at_least(2) && to_haproxy(double, &path, content).await;
    match (is_live || skips, is_new) {
        (true, true) => HttpResponse::Created().json(about),
        (true, false) => HttpResponse::Ok().json(about),
        (false, _) => accepted(double, about).await,
    }
}

async fn accepted(double: &Double, about: Value) -> HttpResponse {
    let id = reloads::ask(&mut *double.state.lock().await);
    HttpResponse::Accepted().insert_header(("Reload-Id", id)).json(about)
}

/// A certificate that HAProxy has never heard of takes a reload to be replaced.
async fn is_loaded(double: &Double, file: &str) -> bool {
    let known = haproxy::worker(&double.settings, "show ssl cert").await.unwrap_or_default();
    known.lines().any(|line| line.trim_start_matches('*') == file)
}

async fn to_haproxy(double: &Double, file: &str, content: &str) -> bool {
    let settings = &double.settings;
    let _known = haproxy::worker(settings, &format!("new ssl cert {file}")).await;
    let set =
        haproxy::worker(settings, &format!("set ssl cert {file} <<\n{}\n", content.replace("\n\n", "\n")))
            .await;
    let committed = haproxy::worker(settings, &format!("commit ssl cert {file}")).await;
    set.is_ok_and(|answer| !answer.contains("rror"))
        && committed.is_ok_and(|answer| answer.contains("Success"))
}

async fn delete(double: Data<Double>, path: Path<(String, String)>) -> HttpResponse {
    let (kind, name) = &*path;
    let file = folder(&double, kind).join(name);
    if !file.exists() {
        return missing(&double, kind, name);
    }
    let config = fs::read_to_string(&double.settings.config_file).unwrap_or_default();
    let path = file.display().to_string();
    if let Some((at, line)) = config.lines().enumerate().find(|(_, line)| line.contains(&path)) {
        let refused =
            format!("rejecting attempt to delete file {path} referenced in haproxy conf at line {}", at + 1);
        return said(409, &format!("{refused}: {}", line.trim()));
    }
    let _gone = fs::remove_file(&file);
    HttpResponse::NoContent().finish()
}

/// Name and content of the form's file.
fn form(request: &HttpRequest, body: &Bytes) -> Option<(String, String)> {
    let content_type = request.headers().get("Content-Type")?.to_str().ok()?;
    let boundary = content_type.split_once("boundary=")?.1;
    let body = std::str::from_utf8(body).ok()?;
    let (head, rest) = body.split_once("\r\n\r\n")?;
    let name = head.split_once("name=\"file_upload\"; filename=\"")?.1.split_once('"')?.0;
    let content = rest.rsplit_once(&format!("\r\n--{boundary}--"))?.0;
    Some((name.to_owned(), content.to_owned()))
}

/// What its storage makes of a name.
fn sanitised(kind: &str, name: &str) -> String {
    let name = name.rsplit('/').next().unwrap_or_default();
    let (stem, extension) =
        name.rsplit_once('.').map_or((name, String::new()), |(stem, e)| (stem, format!(".{e}")));
    let mut kept = String::new();
    for c in stem.chars() {
        match c.is_ascii_alphanumeric() || matches!(c, '_' | '-') {
            true => kept.push(c),
            false if kept.ends_with('_') => {}
            false => kept.push('_'),
        }
    }
    let is_map = kind != "maps" || extension == ".map";
    format!("{kept}{extension}{}", if is_map { "" } else { ".map" })
}
