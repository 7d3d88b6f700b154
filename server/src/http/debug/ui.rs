//! The page for people: three files, no other host, and it works with whatever `/debug` answers.

use actix_web::{HttpResponse, http::header};

const PAGE: &str = include_str!("ui/page.html");
const STYLE: &str = include_str!("ui/ui.css");
const SCRIPT: &str = include_str!("ui/ui.js");

/// Nothing from elsewhere is loaded, and nothing is sent elsewhere, whatever an object's text holds.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; \
                      base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

pub(super) fn page() -> HttpResponse {
    answer("text/html; charset=utf-8", PAGE)
}

pub(super) async fn style() -> HttpResponse {
    answer("text/css; charset=utf-8", STYLE)
}

pub(super) async fn script() -> HttpResponse {
    answer("text/javascript; charset=utf-8", SCRIPT)
}

fn answer(kind: &'static str, body: &'static str) -> HttpResponse {
    HttpResponse::Ok()
        .content_type(kind)
        .insert_header((header::CONTENT_SECURITY_POLICY, POLICY))
        .insert_header((header::CACHE_CONTROL, "no-store"))
        .body(body)
}
