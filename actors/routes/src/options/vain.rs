//! Options without effect: those without others that they go with, and those that other programs would read otherwise.

use super::{
    annotation::{PREFIX, finding},
    route_options::RouteOptions,
    row::With,
    table::TABLE,
};
use haptic_model::{Finding, FindingKind};
use serde_json::{Map, Value as Json};

/// The options that ask for redirects with `redirect-code`.
const REDIRECTS: [&str; 5] = ["app-root", "redirect-host", "redirect-to", "redirect-www", "trailing-slash"];

/// The options of servers over TLS.
const OVER_TLS: [&str; 4] =
    ["server-ca-config-map", "server-ca-secret", "server-certificate-secret", "server-tls-name"];

impl RouteOptions {
    /// Leaves out what does nothing, and says so.
    pub(super) fn leave_out_ineffective(&mut self) {
        for row in TABLE {
            if let With::Beside(other) = row.with
                && !self.is_given(other)
                && self.values.remove(row.name).is_some()
                && self.written.contains(row.name)
            {
                self.ineffective.push(without_effect(row.name, &format!("without {PREFIX}{other}")));
            }
        }
        self.ineffective.extend(self.in_vain());
    }

    /// The findings at options that others, or other controllers' habits, make useless.
    fn in_vain(&self) -> Vec<Finding> {
        let mut said = Vec::new();
        let is_tls = is_over_tls(self.text("protocol"));
        let is_said = |option: &&str| self.values.contains_key(option) && self.written.contains(option);
        for option in OVER_TLS.into_iter().filter(|option| is_said(option) && !is_tls) {
            said.push(without_effect(option, &format!("without {PREFIX}protocol: https or h2s")));
        }
        if ["rewrite-path", "rewrite-regex"].iter().all(is_said) {
            let sentence = format!(
                "annotations {PREFIX}rewrite-path and {PREFIX}rewrite-regex are both given: the second sees what the first made"
            );
            said.push(finding(FindingKind::OptionWithoutEffect, "rewrite-path", sentence));
        }
        for option in ["redirect-to", "rewrite-replacement", "rewrite-path", "app-root"]
            .into_iter()
            .filter(|option| is_said(option))
        {
            let foreign = self.text(option).and_then(|text| foreign_syntax(option, text));
            said.extend(foreign.map(|part| {
                let sentence = format!(
                    "annotation {PREFIX}{option} has {part:?}, which stands as it is: nothing takes its place"
                );
                finding(FindingKind::TakenLiterally, option, sentence)
            }));
        }
        said
    }
}

/// Whether servers that speak `protocol` speak TLS.
pub(super) fn is_over_tls(protocol: Option<&str>) -> bool {
    matches!(protocol, Some("https" | "h2s"))
}

/// Whether it is found that an option does nothing without TLS to servers.
pub(super) fn wants_tls(finding: &Finding) -> bool {
    let option = finding.place.annotation.as_deref().and_then(|key| key.strip_prefix(PREFIX));
    finding.kind == FindingKind::OptionWithoutEffect
        && option.is_some_and(|option| OVER_TLS.contains(&option))
}

/// The finding at an option that is for hosts with TLS.
pub(crate) fn without_tls(option: &str) -> Finding {
    without_effect(option, "over HTTP, and spec.tls has no host of its routes")
}

/// The finding at `app-root`, as it is written, where no route of the object takes requests for `/`.
pub(crate) fn root_without_path(annotation: &str) -> Finding {
    let sentence =
        format!("annotation {annotation} has no effect: no path of the Ingress takes requests for /");
    Finding::new(FindingKind::OptionWithoutEffect, sentence).at_annotation(annotation)
}

/// The finding at the code of redirects where nothing of an object asks for one.
pub(crate) fn code_without_redirect<'o>(
    mut groups: impl Iterator<Item = &'o Map<String, Json>> + Clone,
) -> Option<Finding> {
    let asks = |options: &Map<String, Json>| REDIRECTS.iter().any(|option| options.contains_key(*option));
    let is_given = groups.clone().any(|options| options.contains_key("redirect-code"));
    (is_given && !groups.any(asks)).then(|| {
        without_effect("redirect-code", &format!("without {PREFIX}redirect-to, or another redirect"))
    })
}

fn without_effect(option: &str, why: &str) -> Finding {
    let sentence = format!("annotation {PREFIX}{option} has no effect {why}");
    finding(FindingKind::OptionWithoutEffect, option, sentence)
}

/// Whether other programs would read a path as a regular expression or a pattern.
pub(crate) fn is_like_a_pattern(path: &str) -> bool {
    let marks = [".*", ".+", "\\.", "\\d", "\\w", "(?", "[^", "[a-", "[0-", ")?"];
    marks.iter().any(|mark| path.contains(mark)) || path.ends_with(['$', '*'])
}

/// The part that other programs would put something in the place of.
fn foreign_syntax<'t>(option: &str, text: &'t str) -> Option<&'t str> {
    let marks: &[&str] = if option == "rewrite-replacement" { &["$", "%["] } else { &["$", "%[", "\\1"] };
    let at = marks.iter().filter_map(|mark| text.find(mark)).min()?;
    let rest = text.get(at..)?;
    let end = rest.char_indices().skip(1).find(|(_, c)| !c.is_alphanumeric() && !"_[]().{}".contains(*c));
    rest.get(..end.map_or(rest.len(), |(end, _)| end))
}
