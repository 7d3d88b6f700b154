//! `/livez`, and `/healthz` by its older name: may the process go on? `/readyz`: may it be relied on? Reasons under `?verbose`.

use actix_web::{HttpRequest, HttpResponse, web};
use haptic_inspect::Readers;

pub fn routes(readers: Readers) -> impl Fn(&mut web::ServiceConfig) + Clone + Send + 'static {
    move |service| {
        service
            .app_data(web::Data::new(readers.clone()))
            .route("/livez", web::get().to(livez))
            .route("/readyz", web::get().to(readyz))
            .route("/healthz", web::get().to(livez))
            .route("/", web::get().to(|| async { "Here are /livez, /readyz and /healthz.\n" }));
    }
}

async fn livez(request: HttpRequest, readers: web::Data<Readers>) -> HttpResponse {
    answer(&request, &readers.actors.why_not_live())
}

async fn readyz(request: HttpRequest, readers: web::Data<Readers>) -> HttpResponse {
    answer(&request, &readers.why_not_ready())
}

fn answer(request: &HttpRequest, reasons: &[impl ToString]) -> HttpResponse {
    if reasons.is_empty() {
        return HttpResponse::Ok().body("ok\n");
    }
    let verbose = request.query_string().split('&').any(|q| q == "verbose" || q.starts_with("verbose="));
    let body = match verbose {
        true => reasons.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"),
        false => format!("{} reason(s); add ?verbose", reasons.len()),
    };
    HttpResponse::ServiceUnavailable().body(format!("{body}\n"))
}
