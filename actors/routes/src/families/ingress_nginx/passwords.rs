//! Passwords, and the Secrets that they are in.

use crate::families::{ReadAnnotations, Translation};

/// `satisfy: any`: a client of the list need not say who it is. Of a password and who is asked both must let it pass.
pub fn satisfied(said: &ReadAnnotations<'_>, to: &mut Translation<'_>) {
    if said.text("satisfy") != Some("any") {
        return;
    }
    let has = |option: &str| to.has(option);
    let (secret, url) = (has("auth-secret"), has("auth-url"));
    if secret && url {
        to.differs("satisfy", "is any: of a password and auth-url both must let a request pass");
    }
    if !secret && !url {
        return;
    }
    if to.has("allow-from") {
        to.set("satisfy", "any", "satisfy");
    } else {
        // Whoever says who it is gets in, and nobody else: the list decides nothing (nginx, `ngx_http_core_access_phase`).
        to.remove("deny-from");
    }
}

/// `auth-type`, `auth-secret`, `auth-realm`. Where nobody can tell who may pass, nobody may.
pub fn passwords(said: &ReadAnnotations<'_>, to: &mut Translation<'_>) {
    let Some(kind) = said.text("auth-type") else { return };
    if kind == "digest" {
        return to.close("auth-type", "is digest, which nobody speaks here");
    }
    if kind != "basic" {
        return to.drop("auth-type", "is neither basic nor digest");
    }
    let Some(secret) = said.text("auth-secret") else {
        return to.close("auth-type", "is basic without an auth-secret");
    };
    let Some(secret) = own_secret("auth-secret", secret, to) else { return };
    to.set("auth-secret", secret, "auth-secret");
    if !to.has("auth-secret") {
        to.level.closed = true;
    }
    if let Some(realm) = said.text("auth-realm") {
        to.set("auth-realm", realm.trim_start_matches('-'), "auth-realm");
    }
    // What a client says to nginx is not for servers.
    to.set("remove-request-headers", "authorization", "auth-secret");
}

/// The name of a Secret of the Ingress's own namespace; with another one's nobody gets in.
pub(super) fn own_secret<'s>(key: &str, text: &'s str, to: &mut Translation<'_>) -> Option<&'s str> {
    match text.split_once('/') {
        None => Some(text),
        Some((namespace, name)) if namespace == to.about().namespace => Some(name),
        Some(_) => {
            to.close(key, "names a Secret of another namespace");
            None
        }
    }
}
