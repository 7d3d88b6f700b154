//! Headers for browsers.

use crate::{
    families::{ReadAnnotations, Translation},
    options::value::OptionValue,
    sentences::shortened,
};

const METHODS: &str = "GET, PUT, POST, DELETE, PATCH, OPTIONS";
const HEADERS: &str = "DNT,Keep-Alive,User-Agent,X-Requested-With,If-Modified-Since,Cache-Control,Content-Type,Range,Authorization";
/// The longest text of an answer's header.
const LONGEST: usize = 1000;

/// `enable-cors`, `cors-*`.
pub fn cors(said: &ReadAnnotations<'_>, to: &mut Translation<'_>) {
    if !said.is_on("enable-cors") {
        return;
    }
    let given = said.text("cors-allow-origin").unwrap_or("*");
    let all: Vec<&str> = given.split(',').map(str::trim).filter(|one| !one.is_empty()).collect();
    let schemed: Vec<&str> = all.iter().copied().filter(|one| one.contains("://")).collect();
    // Entry by entry: what is no origin leaves the others as they are.
    let (schemed, others): (Vec<&str>, Vec<&str>) =
        schemed.into_iter().partition(|one| to.is_value("cors-allow-origin", one));
    if let Some(other) = others.first() {
        to.differs(
            "cors-allow-origin",
            &format!("has {:?}, which is no origin here: the others of it are let in", shortened(other)),
        );
    }
    let is_every = all.contains(&"*") || (schemed.is_empty() && others.is_empty());
    let origins = if is_every { "*".to_owned() } else { schemed.join(",") };
    if all.contains(&"null") {
        to.differs("cors-allow-origin", "has null, which is no origin here");
    }
    let is_closed = schemed.is_empty() && (all == ["null"] || (!is_every && !others.is_empty()));
    to.set(
        "cors-allow-origin",
        if is_closed { "https://null.invalid" } else { &origins },
        "cors-allow-origin",
    );
    if !to.has("cors-allow-origin") {
        return;
    }
    to.set("cors-preflight", "every", "enable-cors");
    // As they are: these texts are compared by nobody but browsers.
    let lists = [("cors-allow-methods", METHODS), ("cors-allow-headers", HEADERS)];
    for (key, otherwise) in lists {
        let text =
            said.text(key).filter(|text| text.len() <= LONGEST && !text.contains('\n')).unwrap_or(otherwise);
        to.set_value(key, OptionValue::Names([text.to_owned()].into()));
    }
    if let Some(exposed) = said.text("cors-expose-headers").filter(|text| is_exposed(text)) {
        to.set_value("cors-expose-headers", OptionValue::Names([exposed.to_owned()].into()));
    }
    if said.switch("cors-allow-credentials").unwrap_or(true) {
        // With `*` it is as good as nothing for browsers, and nginx says it all the same: a text is not held against it.
        let said = match origins == "*" {
            true => OptionValue::Text("true".to_owned()),
            false => OptionValue::Switch(true),
        };
        to.set_value("cors-allow-credentials", said);
    }
    // Less than none is none for browsers, too.
    let age = said.number("cors-max-age").map(|age| age.max(0)).filter(|age| *age <= 999_999_999);
    let age = age.unwrap_or(1_728_000);
    to.set("cors-max-age", &age.to_string(), "cors-max-age");
}

fn is_exposed(text: &str) -> bool {
    let is_good = |c: char| c.is_ascii_alphanumeric() || "-_,* ".contains(c);
    text.len() <= LONGEST && text.chars().all(is_good)
}

/// The types that nginx compresses besides `text/html`, without `gzip-types`.
const MEDIA_TYPES: &str = "application/atom+xml application/javascript application/x-javascript application/json application/rss+xml application/vnd.ms-fontobject application/x-font-ttf application/x-web-app-manifest+json application/xhtml+xml application/xml font/opentype image/svg+xml image/x-icon text/css text/javascript text/plain text/x-component";

/// `use-gzip`, `gzip-types` of the ConfigMap.
pub fn compression(said: &ReadAnnotations<'_>, to: &mut Translation<'_>) {
    if !said.is_on("use-gzip") {
        return;
    }
    to.set("compression", "gzip", "use-gzip");
    let given = said.text("gzip-types").unwrap_or(MEDIA_TYPES);
    let mut types: Vec<&str> = given.split_whitespace().filter(|one| *one != "text/html").collect();
    types.insert(0, "text/html");
    to.set("compression-types", &types.join(", "), "gzip-types");
}

/// `hsts*` of the ConfigMap, which are on where it says nothing.
pub fn hsts(said: &ReadAnnotations<'_>, to: &mut Translation<'_>) {
    if said.switch("hsts") == Some(false) {
        return;
    }
    let age = said.number("hsts-max-age").unwrap_or(31_536_000);
    to.set("hsts-max-age", &age.to_string(), "hsts-max-age");
    if said.switch("hsts-include-subdomains").unwrap_or(true) {
        to.set("hsts-subdomains", "true", "hsts-include-subdomains");
    }
    if said.is_on("hsts-preload") {
        to.set("hsts-preload", "true", "hsts-preload");
    }
}
