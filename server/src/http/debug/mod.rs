//! `/debug`: what every part of the process is doing, as JSON and as a page for people. On loopback unless told otherwise;
//! nothing of a Secret, ever ([`redaction`]). Only looks: nothing here changes anything but
//! [how much is logged](log_level).

pub mod access;
mod configuration;
mod files;
mod journal;
mod log_level;
#[cfg(debug_assertions)]
mod provoke;
mod quarantine;
pub mod recording;
pub mod redaction;
mod stores;
mod ui;
mod way;

use super::health::Vitality;
use crate::{logging::LogLevel, overview::look::look};
use actix_web::{HttpRequest, HttpResponse, http::header, middleware::from_fn, web};
use haptic_commentator::History;
use haptic_deploy::PodStates;
use haptic_leader::Reporting;
use haptic_model::{
    Quarantine,
    pipeline::{Leadership, Refused, Rendered, SetAside, Validated},
};
use haptic_runtime::CellReader;
use serde_json::{Value, json};
use std::sync::Arc;

/// What can be looked at.
#[derive(Clone, Debug)]
pub struct Inside {
    /// Actors, configuration, stores, and what speaks against being ready.
    pub vitality: Vitality,
    /// What was rendered last.
    pub rendered: CellReader<Option<Arc<Rendered>>>,
    /// What passed all checks last.
    pub validated: CellReader<Option<Arc<Validated>>>,
    /// What was checked last, when it was refused.
    pub refused: CellReader<Option<Arc<Refused>>>,
    /// The newest configuration, while another one is rendered in its place.
    pub set_aside: CellReader<Option<Arc<SetAside>>>,
    /// What is known of each pod.
    pub pods: CellReader<PodStates>,
    /// What is held back.
    pub quarantine: CellReader<Quarantine>,
    /// Whether this process leads.
    pub leadership: CellReader<Leadership>,
    /// What cannot be told to the API server.
    pub reporting: CellReader<Reporting>,
    /// What is logged.
    pub log_level: LogLevel,
    /// What happened.
    pub history: History,
    /// What the last generations were made from.
    pub recorder: recording::Recorder,
    /// What protects checks, as it is everywhere: [`crate::protections`].
    pub protections: Arc<Value>,
    /// Who is told, for tests.
    #[cfg(debug_assertions)]
    pub events: haptic_runtime::Events,
}

/// The pages, with what each shows.
const PAGES: [(&str, &str); 14] = [
    (
        "overview",
        "everything at a glance: what is wrong, configuration, generations, pods, objects held back",
    ),
    ("actors", "each actor: its life, its queue, its last failure"),
    ("config", "the configuration in force, and what is wrong with the newest one"),
    (
        "stores",
        "watched objects: counts and sizes; /NAME lists one store, /NAME/NAMESPACE/OBJECT shows one object",
    ),
    ("events", "what happened, oldest first; ?generation=N, ?limit=N"),
    ("generations", "the last generations with the time each stage took"),
    ("files", "the rendered files; /PATH shows one, each line with its template line and object"),
    ("plan", "what was done to each pod last, and why it was reloaded"),
    ("pods", "each HAProxy pod: what it runs, how far behind it is"),
    ("quarantine", "objects that are held back, and why"),
    (
        "recording",
        "what the last generations were made from, with stand-ins for Secrets: `haptic record` makes a file of it",
    ),
    ("checks", "what protects the checks of configurations"),
    ("log-level", "what is logged; PUT /LEVEL forces another level, DELETE lets it go"),
    ("explain", "?url=https://shop.example/cart: the way a request takes, or why it takes none"),
];

/// All paths below `/debug`, for callers that [`access`] lets in.
pub fn routes(inside: Inside, open: bool) -> impl Fn(&mut web::ServiceConfig) + Clone + Send + 'static {
    move |service| {
        let gate = from_fn(move |request, next| access::gate(open, request, next));
        let scope = web::scope("/debug")
            .app_data(web::Data::new(inside.clone()))
            .wrap(gate)
            .route("", web::get().to(index))
            .route("/", web::get().to(index))
            .route("/overview", web::get().to(overview))
            .route("/actors", web::get().to(actors))
            .route("/config", web::get().to(configuration::show))
            .route("/stores", web::get().to(stores::all))
            .route("/stores/{store}", web::get().to(stores::one))
            .route("/stores/{store}/{object:.*}", web::get().to(stores::object))
            .route("/events", web::get().to(journal::events))
            .route("/generations", web::get().to(journal::generations))
            .route("/files", web::get().to(files::all))
            .route("/files/{path:.*}", web::get().to(files::one))
            .route("/plan", web::get().to(plan))
            .route("/pods", web::get().to(pods))
            .route("/quarantine", web::get().to(held_back))
            .route("/recording", web::get().to(recording::show))
            .route("/checks", web::get().to(checks))
            .route("/explain", web::get().to(way::show))
            .route("/ui.css", web::get().to(ui::style))
            .route("/ui.js", web::get().to(ui::script))
            .route("/log-level", web::get().to(log_level::show))
            .route("/log-level", web::delete().to(log_level::let_go))
            .route("/log-level/{level}", web::put().to(log_level::force));
        #[cfg(debug_assertions)]
        let scope = scope
            .route("/panic/{actor:.*}", web::post().to(provoke::panic_actor))
            .route("/block/{actor:.*}", web::post().to(provoke::block_actor))
            .route("/unblock/{actor:.*}", web::post().to(provoke::unblock_actor))
            .route("/flood/{events}", web::post().to(provoke::flood_observers));
        service.service(scope).route("/", web::get().to(to_debug));
    }
}

/// What a browser asks first.
async fn to_debug() -> HttpResponse {
    HttpResponse::Found().insert_header((header::LOCATION, "/debug")).finish()
}

/// The page for browsers, the list of pages for programs.
async fn index(request: HttpRequest) -> HttpResponse {
    let accepts = request.headers().get(header::ACCEPT).and_then(|accept| accept.to_str().ok());
    if accepts.is_some_and(|accept| accept.contains("text/html")) {
        return ui::page();
    }
    let pages = PAGES.map(|(page, shows)| json!({"path": format!("/debug/{page}"), "shows": shows}));
    json_of(&json!(pages))
}

async fn overview(inside: web::Data<Inside>) -> HttpResponse {
    json_of(&json!(look(&inside)))
}

async fn actors(inside: web::Data<Inside>) -> HttpResponse {
    let actors = &inside.vitality.actors;
    let complaints = [actors.why_not_live(), actors.why_not_observed()].concat();
    json_of(&json!({"actors": actors.actors(), "complaints": complaints}))
}

async fn pods(inside: web::Data<Inside>) -> HttpResponse {
    json_of(&json!(look(&inside).pods()))
}

async fn plan(inside: web::Data<Inside>) -> HttpResponse {
    let one = |pod: &crate::overview::Pod| json!({"pod": pod.pod, "lastPlan": pod.last_plan});
    json_of(&json!(look(&inside).pods().iter().map(one).collect::<Vec<_>>()))
}

async fn held_back(inside: web::Data<Inside>) -> HttpResponse {
    json_of(&quarantine::shown(&inside.quarantine.read(), std::time::Instant::now()))
}

async fn checks(inside: web::Data<Inside>) -> HttpResponse {
    json_of(&json!({ "protections": *inside.protections }))
}

fn json_of(value: &Value) -> HttpResponse {
    HttpResponse::Ok()
        .content_type("application/json")
        .insert_header((header::CACHE_CONTROL, "no-store"))
        .body(format!("{value:#}\n"))
}

fn nothing(why: String) -> HttpResponse {
    HttpResponse::NotFound().content_type("text/plain; charset=utf-8").body(why + "\n")
}
