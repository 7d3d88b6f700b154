//! The options of families for single routes of an Ingress.

use super::{Reading, manifest::prefix_or_exact};
use crate::{
    claims::Backend,
    options::{Settings, groups::OwnOptions, table::row, value::OptionValue},
    sentences::shortened,
};
use haptic_model::{Finding, FindingKind};
use std::sync::Arc;

impl Reading<'_> {
    /// The options of a family for one route: a canary of it, or that its path without the slash at its end leads to the one with it.
    pub(super) fn of_route(
        &mut self,
        host: &Arc<str>,
        text: &str,
        path_type: Option<&str>,
        service: Option<&str>,
    ) -> Option<OwnOptions> {
        let mut own = OwnOptions::default();
        self.add_sign_in(host, text, service, &mut own);
        let is_below = |all: &[String]| all.iter().any(|start| text.starts_with(start.as_str()));
        if is_below(&self.foreign().ingress.over_http) {
            own.label.push_str(" over HTTP");
            own.options.insert("ssl-redirect", OptionValue::Text("false".to_owned()));
        }
        if let Some(rules) = self.grouping.annotations().path_rules(text) {
            self.add_family_rules(host, text, prefix_or_exact(path_type), &mut own);
            let is_same = rules.target.as_deref() == Some(text);
            if is_same && self.grouping.own().text("forwarded-prefix").is_some() {
                own.label.push_str(" not rewritten");
                own.without.push("forwarded-prefix");
            }
            if is_below(&rules.without_auth) {
                own.label.push_str(" for everybody");
                own.without.extend(["auth-url", "auth-secret"]);
            }
        } else if text == "/" {
            self.add_root(host, &mut own);
        }
        (!own.label.is_empty()).then_some(own)
    }

    /// Adds those of a family's `oauth` for a route.
    pub(super) fn add_sign_in(
        &mut self,
        host: &Arc<str>,
        text: &str,
        service: Option<&str>,
        own: &mut OwnOptions,
    ) {
        let level = self.foreign().level(service);
        let Some(sign_in) = level.sign_in.clone().filter(|sign_in| !sign_in.has(text)) else { return };
        let program = self.context.program(host, &sign_in.prefix).cloned();
        let program = program.map(|program| self.context.at_port(program));
        if program.is_none() {
            let prefix = shortened(&sign_in.prefix);
            let sentence = format!(
                "oauth asks who has path {prefix} of {}, and no Ingress of the namespace has it: nobody gets in",
                shortened(host)
            );
            let finding = Finding::new(FindingKind::ServiceMissing, sentence).at_host(host);
            // Paths of a host stand together.
            if self.claims.findings.last() != Some(&finding) {
                self.found(finding);
            }
        }
        let by = program.as_ref().map(|Backend { service, port }| format!("{service}:{port}"));
        own.label.push_str(&format!(" signed in by {}{}", by.as_deref().unwrap_or("nobody"), sign_in.prefix));
        own.options.extend(sign_in.options_with(program.as_ref()));
    }

    /// Adds those of a family with rules of its own for paths.
    fn add_family_rules(&self, host: &Arc<str>, text: &str, path_type: &str, own: &mut OwnOptions) {
        let canary = self.context.canary(host, text, path_type);
        if let Some(canary) = canary {
            own.label.push_str(&format!(" canary of {host}{text} {path_type}"));
            own.options.extend(canary.iter().map(|(name, value)| (*name, value.clone())));
        }
        let is_literal = !self.context.has_patterns(host);
        let is_redirected = self.grouping.own().text("redirect-to").is_some();
        if is_literal && path_type != "Exact" && text.len() > 1 && text.ends_with('/') && !is_redirected {
            own.label.push_str(" with a slash");
            own.options.insert("trailing-slash", OptionValue::Text("add".to_owned()));
            own.options.insert("redirect-code", OptionValue::Text("301".to_owned()));
        }
        let cookie = self.grouping.own();
        let has_no_path = cookie.text("affinity").is_some() && cookie.text("affinity-cookie-path").is_none();
        if has_no_path
            && text != "/"
            && let Some(path) = cookie_path(text)
        {
            own.label.push_str(&format!(" with cookies for {text}"));
            own.options.insert("affinity-cookie-path", path);
        }
        if text == "/" {
            self.add_root(host, own);
        }
    }

    /// Adds those of a family's `app-root` of any Ingress of the namespace for `/` of a host.
    pub(super) fn add_root(&self, host: &Arc<str>, own: &mut OwnOptions) {
        if let Some(root) = self.context.root(host) {
            own.label.push_str(&format!(" root of {host}"));
            own.options.extend(root.iter().map(|(name, value)| (*name, value.clone())));
        }
    }
}

/// A path as that of a cookie.
fn cookie_path(text: &str) -> Option<OptionValue> {
    let row = row("affinity-cookie-path")?;
    row.kind.read(text, &Settings::default()).ok()
}
