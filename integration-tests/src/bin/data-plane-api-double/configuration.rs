//! The configuration as a whole: read, checked, written.

use super::{haproxy, reloads, runtime, said, state::Double};
use actix_web::{
    HttpMessage, HttpRequest, HttpResponse,
    http::header,
    web::{self, Bytes, Data, Query},
};
use integration_tests::data_plane_api::canonical;
use serde::Deserialize;
use std::{fs, path::Path};

pub fn routes(app: &mut web::ServiceConfig) {
    app.route("/configuration/version", web::get().to(version))
        .route("/configuration/raw", web::get().to(read))
        .route("/configuration/raw", web::post().to(write));
}

#[derive(Deserialize)]
#[serde(default)]
#[derive(Default)]
struct How {
    version: u64,
    skip_reload: bool,
    only_validate: bool,
}

async fn version(double: Data<Double>) -> HttpResponse {
    HttpResponse::Ok().json(double.state.lock().await.version)
}

async fn read(double: Data<Double>) -> HttpResponse {
    match fs::read_to_string(&double.settings.config_file) {
        Ok(text) => as_text(200, &text, None),
        Err(error) => {
            let file = double.settings.config_file.display();
            said(500, &format!("failed to read configuration: open {file}: {}", plain(&error)))
        }
    }
}

async fn write(request: HttpRequest, double: Data<Double>, how: Query<How>, body: Bytes) -> HttpResponse {
    let is_text = request.content_type() == "text/plain";
    if !is_text {
        return said(415, &format!("header Content-Type has unexpected value {:?}", request.content_type()));
    }
    let text = String::from_utf8_lossy(&body).into_owned();
    if text.is_empty() {
        return said(400, "value is required but missing");
    }
    if !text.contains('\n') {
        return said(400, "invalid configuration: no newline character found");
    }
    if how.only_validate {
        return validate(&double, &text).await;
    }
    // Who needs a reload waits for the one under way.
    let _after_one = if how.skip_reload { None } else { Some(double.reloading.lock().await) };
    let after_others = double.writing.lock().await;
    if double.is_due(|faults| &mut faults.conflicts).await {
        double.state.lock().await.version += 1;
    }
    let current = double.state.lock().await.version;
    if how.version == 0 {
        let which = "version or transaction not specified";
        return said(400, &format!("{which}: {which}, specify only one"));
    }
    if how.version != current {
        let (is, given) = (current, how.version);
        return said(
            409,
            &format!("version mismatch: version in configuration file is {is}, given version is {given}"),
        );
    }
    if let Err(refused) = store(&double, current, &text).await {
        return refused;
    }
    let written = fs::read_to_string(&double.settings.config_file).unwrap_or_default();
    if !how.skip_reload {
        let id = reloads::ask(&mut *double.state.lock().await);
        return as_text(202, &written, Some(&id));
    }
    drop(after_others);
    let actions = request.headers().get("X-Runtime-Actions").and_then(|value| value.to_str().ok());
    match runtime::act(&double, actions.unwrap_or_default()).await {
        Ok(()) => as_text(201, &written, None),
        Err(why) => said(500, &why),
    }
}

async fn validate(double: &Double, text: &str) -> HttpResponse {
    // One for each request: several may be checked at once.
    let file = match tempfile::NamedTempFile::with_prefix("onlyvalidate") {
        Ok(file) => file,
        Err(error) => return said(500, &plain(&error)),
    };
    let _refused_by_the_checker = fs::write(file.path(), text);
    let checked = haproxy::check(&double.settings, file.path()).await;
    match checked {
        Ok(()) => {
            let current = fs::read_to_string(&double.settings.config_file).unwrap_or_default();
            as_text(202, &current, None)
        }
        Err(why) => said(400, &why),
    }
}

/// Checks what it made of `text` and puts it in place.
async fn store(double: &Double, version: u64, text: &str) -> Result<(), HttpResponse> {
    let settings = &double.settings;
    let transaction = format!("{:08x}-{}", std::process::id(), version);
    let file = settings.transactions.join(format!("haproxy.cfg.{transaction}"));
    let (written, _) = canonical::write(text, version + 1, settings.minor());
    let written = double.damaged(written).await;
    put(&file, &written)?;
    if let Err(why) = haproxy::check(settings, &file).await {
        let _gone = fs::remove_file(&file);
        let (head, lines) =
            why.split_once("msg=").map_or((&*why, ""), |(head, _)| (head, &why[head.len()..]));
        return Err(said(400, &format!("{head}err transactionId={transaction} \n{lines}")));
    }
    fs::rename(&file, &settings.config_file).map_err(|error| unwritten(&settings.config_file, &error))?;
    double.state.lock().await.version = version + 1;
    Ok(())
}

fn put(file: &Path, text: &str) -> Result<(), HttpResponse> {
    fs::write(file, text).map_err(|error| unwritten(file, &error))
}

fn unwritten(file: &Path, error: &std::io::Error) -> HttpResponse {
    said(500, &format!("open {}: {}", file.display(), plain(error)))
}

/// As the real one words it.
fn plain(error: &std::io::Error) -> String {
    error.to_string().split(" (os error").next().unwrap_or_default().to_lowercase()
}

fn as_text(status: u16, text: &str, reload: Option<&str>) -> HttpResponse {
    let code = actix_web::http::StatusCode::from_u16(status).unwrap_or_default();
    let mut answer = HttpResponse::build(code);
    answer.insert_header((header::CONTENT_TYPE, "text/plain"));
    if let Some(checksum) = canonical::checksum_of(text) {
        answer.insert_header(("Configuration-Checksum", checksum));
    }
    if let Some(id) = reload {
        answer.insert_header(("Reload-Id", id));
    }
    answer.body(text.to_owned())
}
