//! `/debug`: what every part of the process is doing, as JSON and as a page for people. On loopback unless told otherwise;
//! nothing of a Secret, ever ([redaction](haptic_inspect::redaction)). Only looks: nothing here changes anything but
//! [how much is logged](log_level).

pub mod access;
mod configuration;
mod explain;
mod files;
mod findings;
mod journal;
mod log_level;
#[cfg(debug_assertions)]
mod provoke;
mod quarantine;
mod recording;
mod state;
mod stores;
mod ui;

pub use state::DebugState;

use actix_web::{HttpRequest, HttpResponse, http::header, middleware::from_fn, web};
use haptic_inspect::overview::{self, Overview};
use serde_json::json;
use state::json_of;

/// The pages, with what each shows.
const PAGES: [(&str, &str); 15] = [
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
        "findings",
        "what is found at objects and holds nothing back; ?kind=service_missing, ?namespace=shop, ?limit=N",
    ),
    (
        "recording",
        "what the last generations were made from, with stand-ins for Secrets: `haptic record` makes a file of it",
    ),
    ("checks", "what protects the checks of configurations"),
    ("log-level", "what is logged; PUT /LEVEL forces another level, DELETE lets it go"),
    ("explain", "?url=https://shop.example/cart: the way a request takes, or why it takes none"),
];

/// All paths below `/debug`, for callers that [`access`] lets in.
pub fn routes(state: DebugState, open: bool) -> impl Fn(&mut web::ServiceConfig) + Clone + Send + 'static {
    move |service| {
        let gate = from_fn(move |request, next| access::gate(open, request, next));
        let scope = web::scope("/debug")
            .app_data(web::Data::new(state.clone()))
            .wrap(gate)
            .route("", web::get().to(index))
            .route("/", web::get().to(index))
            .route("/overview", web::get().to(show_overview))
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
            .route("/findings", web::get().to(findings::show))
            .route("/recording", web::get().to(recording::show))
            .route("/checks", web::get().to(checks))
            .route("/explain", web::get().to(explain::show))
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

async fn show_overview(state: web::Data<DebugState>) -> HttpResponse {
    json_of(&json!(overview_now(&state)))
}

fn overview_now(state: &DebugState) -> Overview {
    overview::live::overview(&state.readers, &state.protections)
}

async fn actors(state: web::Data<DebugState>) -> HttpResponse {
    let actors = &state.readers.actors;
    let reasons = [actors.why_not_live(), actors.why_not_observed()].concat();
    json_of(&json!({"actors": actors.actors(), "complaints": reasons}))
}

async fn pods(state: web::Data<DebugState>) -> HttpResponse {
    json_of(&json!(overview_now(&state).pods()))
}

async fn plan(state: web::Data<DebugState>) -> HttpResponse {
    let one = |pod: &overview::PodOverview| json!({"pod": pod.pod, "lastPlan": pod.last_plan});
    json_of(&json!(overview_now(&state).pods().iter().map(one).collect::<Vec<_>>()))
}

async fn held_back(state: web::Data<DebugState>) -> HttpResponse {
    json_of(&quarantine::shown(&state.readers.quarantine.latest(), std::time::Instant::now()))
}

async fn checks(state: web::Data<DebugState>) -> HttpResponse {
    json_of(&json!({ "protections": *state.protections }))
}
