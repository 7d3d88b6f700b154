//! What a user writes and no template reads: settings of extraContext, and snippets.
//!
//! What templates say between their braces is searched for names. Where a name is computed, nothing is known, and nothing said.

use haptic_config::library;
use haptic_model::{Diagnostic, HAProxyTemplateConfigSpec};
use haptic_render::{Templates, glob_matches};
use serde_json::{Map, Value};
use std::collections::BTreeSet;

/// A warning for each setting and snippet that nothing reads.
#[must_use]
pub fn unused(spec: &HAProxyTemplateConfigSpec) -> Vec<Diagnostic> {
    let given = library::merged(serde_json::json!({ "libraries": spec.libraries })).unwrap_or_default();
    let dict = |pointer: &str| given.pointer(pointer).and_then(Value::as_object).cloned().unwrap_or_default();
    let templates = Templates::of(spec);
    let mut names = TemplateNames::default();
    templates.all.iter().for_each(|template| names.take(&template.source));
    let mut found = Vec::new();
    if !names.computes_settings {
        let known = dict("/templatingSettings/extraContext");
        settings(&names, &known, &spec.templating_settings.extra_context, "", &mut found);
    }
    if !names.computes_snippets {
        let known = dict("/templateSnippets");
        let own = spec.template_snippets.keys().filter(|name| !known.contains_key(*name));
        let unprinted = own.filter(|name| !names.prints(name));
        found.extend(unprinted.map(|name| snippet(name, &names, is_jinja(spec, name))));
    }
    found
}

/// Those of `own` that are no settings of libraries (`known`) and named nowhere.
fn settings(
    names: &TemplateNames<'_>,
    known: &Map<String, Value>,
    own: &Map<String, Value>,
    path: &str,
    found: &mut Vec<Diagnostic>,
) {
    for (name, value) in own {
        let path = format!("{path}{name}");
        match (known.get(name), value) {
            (Some(Value::Object(known)), Value::Object(own)) if !known.is_empty() => {
                settings(names, known, own, &format!("{path}."), found);
            }
            (Some(_), _) => {}
            (None, _) if names.words.contains(&**name) => {}
            (None, _) => {
                let lacking = libraries_of_families(&path, value);
                let meant = if lacking.is_empty() { did_you_mean(name, known.keys()) } else { String::new() };
                let what = format!("nothing reads extraContext.{path}{meant}");
                let field = format!("spec.templatingSettings.extraContext.{path}");
                let warning = Diagnostic::warning("template", what).at_field(field);
                found.push(match lacking.is_empty() {
                    true => warning,
                    false => warning.help(format!("Add {} to libraries", lacking.join(" and "))),
                });
            }
        }
    }
}

/// The libraries that read the settings of annotations of other controllers at `path`.
fn libraries_of_families(path: &str, value: &Value) -> Vec<String> {
    let families: Vec<&str> = match path.split_once('.') {
        None if path == FAMILIES => {
            value.as_object().into_iter().flatten().map(|(name, _)| &**name).collect()
        }
        Some((FAMILIES, family)) => vec![family],
        _ => Vec::new(),
    };
    let named = families.into_iter().map(|family| format!("annotations-{family}"));
    named.filter(|name| library::find(name).is_some()).collect()
}

const FAMILIES: &str = "annotationFamilies";

fn is_jinja(spec: &HAProxyTemplateConfigSpec, snippet: &str) -> bool {
    let own = spec.template_snippets.get(snippet).and_then(|snippet| snippet.engine.as_deref());
    own.or(spec.templating_settings.engine.as_deref()) == Some("jinja2")
}

fn snippet(name: &str, names: &TemplateNames<'_>, is_jinja: bool) -> Diagnostic {
    let stem = |name: &str| name.split('-').next().unwrap_or_default().to_owned();
    let stems: BTreeSet<String> = names.patterns.iter().map(|pattern| stem(pattern)).collect();
    let own = stem(name);
    let rest = name.strip_prefix(&*own).unwrap_or_default();
    let near = match nearest(&own, stems.iter()) {
        Some(known) if *known != own => format!("; did you mean {known}{rest}?"),
        _ => String::new(),
    };
    let include = if is_jinja { "{% include \"NAME\" %}" } else { "{{> NAME}}" };
    Diagnostic::warning("template", format!("no template prints this snippet{near}"))
        .at_field(format!("spec.templateSnippets.{name}"))
        .help(format!("Include it with {include}, or give it a name that a render_glob prints"))
}

fn did_you_mean<'k>(name: &str, known: impl Iterator<Item = &'k String>) -> String {
    nearest(name, known).map_or_else(String::new, |known| format!("; did you mean {known}?"))
}

fn nearest<'k>(name: &str, known: impl Iterator<Item = &'k String>) -> Option<&'k String> {
    let nearest = known.map(|known| (strsim::osa_distance(name, known), known)).min();
    nearest.filter(|(edits, known)| *edits <= 1 + known.len() / 4).map(|(_, known)| known)
}

/// The names in templates.
#[derive(Debug, Default)]
struct TemplateNames<'t> {
    words: BTreeSet<&'t str>,
    /// What stands alone or in quotes, whole.
    wholes: BTreeSet<&'t str>,
    patterns: BTreeSet<&'t str>,
    computes_settings: bool,
    computes_snippets: bool,
}

impl<'t> TemplateNames<'t> {
    fn take(&mut self, text: &'t str) {
        for (open, close) in [("{{", "}}"), ("{%", "%}")] {
            let tags = text.split(open).skip(1).filter_map(|rest| rest.split(close).next());
            tags.filter(|tag| !tag.starts_with('!')).for_each(|tag| self.take_tag(tag));
        }
    }

    fn take_tag(&mut self, tag: &'t str) {
        let is_glob = tag.contains("render_glob");
        for (place, part) in tag.split(['"', '\'']).enumerate() {
            match place % 2 {
                0 => {
                    let between = |c: char| c.is_whitespace() || "{}()=|,~#/>".contains(c);
                    part.split(between).for_each(|name| self.take_name(name));
                }
                _ if is_glob => _ = self.patterns.insert(part),
                // A sentence names nothing.
                _ if part.contains(char::is_whitespace) => {}
                _ => self.take_name(part),
            }
        }
        let is_computed = |after: &str| !after.trim_start().starts_with(['"', '\'']);
        self.computes_snippets |= tag.trim_start_matches(['~', '#', ' ']).starts_with('>')
            && tag.split_once('>').is_some_and(|(_, name)| name.trim_start().starts_with('('));
        let word = |tag: &'t str| tag.trim_start_matches(['-', '+', ' ']).split_once(' ');
        self.computes_snippets |= word(tag).is_some_and(|(statement, name)| {
            ["include", "import", "extends", "from"].contains(&statement)
                && !name.trim_start().starts_with(['"', '\'', '['])
        });
        let globs = tag.split("render_glob").skip(1);
        self.computes_snippets |= globs.map(|after| after.trim_start_matches('(')).any(is_computed);
        for all in ["@root", "extraContext"] {
            let mut uses = tag.split(all).skip(1).filter(|after| !after.starts_with(['.', '-', '_']));
            self.computes_settings |= uses.any(is_computed);
        }
    }

    fn take_name(&mut self, name: &'t str) {
        self.wholes.insert(name);
        self.words.extend(name.split(['.', '[', ']', '@']));
    }

    fn prints(&self, snippet: &str) -> bool {
        self.wholes.contains(snippet) || self.patterns.iter().any(|pattern| glob_matches(pattern, snippet))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn told(more: Value) -> Vec<String> {
        let mut spec = json!({"libraries": ["base", "ssl", "ingress"], "credentialsSecretRef": {"name": "c"},
            "podSelector": {"matchLabels": {"a": "b"}}});
        spec.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let candidate = haptic_config::parse(&spec.to_string(), "edge.yaml").unwrap();
        unused(&candidate.spec).iter().map(ToString::to_string).collect()
    }

    fn of_settings(settings: Value) -> Vec<String> {
        told(json!({"templatingSettings": {"extraContext": settings}}))
    }

    #[test]
    fn what_the_libraries_have_is_read() {
        assert_eq!(told(json!({})), [""; 0]);
        let good = json!({"timeouts": {"server": "2m"}, "defaultCertificate": {"namespace": "a", "name": "b"},
            "ingressClass": {"withoutClass": true}, "annotationLimits": {"headers": 3}});
        assert_eq!(of_settings(good), [""; 0]);
    }

    #[test]
    fn a_setting_that_nothing_reads_is_told_with_the_one_that_is_meant() {
        for (settings, expected) in [
            (
                json!({"timeout": {"server": "2m"}}),
                "nothing reads extraContext.timeout; did you mean timeouts?",
            ),
            (
                json!({"timeouts": {"srever": "2m"}}),
                "nothing reads extraContext.timeouts.srever; did you mean server?",
            ),
            (
                json!({"ingressclass": {}}),
                "nothing reads extraContext.ingressclass; did you mean ingressClass?",
            ),
            (json!({"whatever": 1}), "nothing reads extraContext.whatever"),
        ] {
            let told = of_settings(settings);
            assert!(told.len() == 1 && told[0].contains(expected), "{told:?}");
        }
    }

    #[test]
    fn of_settings_for_annotations_it_is_told_which_library_reads_them() {
        let families = |families: Value| of_settings(json!({"annotationFamilies": families}));
        let told = families(json!({"ingress-nginx": {}, "haproxy-org": {}}));
        let expected = "Add annotations-haproxy-org and annotations-ingress-nginx to libraries";
        assert!(told.len() == 1 && told[0].contains(expected), "{told:?}");
        let told = super::tests::told(json!({
            "libraries": ["base", "ssl", "ingress", "annotations-ingress-nginx"],
            "templatingSettings": {"extraContext": {"annotationFamilies": {"haproxy-org": {}}}},
        }));
        assert!(told.len() == 1 && told[0].contains("Add annotations-haproxy-org to libraries"), "{told:?}");
        assert!(!families(json!({"haproxy-orgs": {}}))[0].contains("libraries"));
    }

    #[test]
    fn how_a_snippet_is_included_is_said_in_its_own_language() {
        let own =
            json!({"frontend-50-own": {"template": "x"}, "lonely": {"template": "x", "engine": "jinja2"}});
        let told = told(json!({"templateSnippets": own}));
        assert!(told[0].contains("lonely") || told[1].contains("lonely"), "{told:?}");
        for one in &told {
            assert_eq!(one.contains("{% include \"NAME\" %}"), one.contains("lonely"), "{one}");
        }
    }

    #[test]
    fn a_snippet_that_nothing_prints_is_told() {
        let snippet = |name: &str| told(json!({"templateSnippets": {name: {"template": "x"}}}));
        let told = snippet("frontent-35-robots");
        assert!(
            told.len() == 1
                && told[0].contains("no template prints this snippet; did you mean frontend-35-robots?"),
            "{told:?}"
        );
        assert_eq!(snippet("frontend-35-robots"), [""; 0]);
        assert_eq!(snippet("certificate"), [""; 0], "one of a library is replaced");
    }

    #[test]
    fn where_names_are_computed_nothing_is_said() {
        let with = |template: &str| {
            let own = json!({"frontend-50-own": {"template": template}, "lonely": {"template": "x"}});
            told(json!({"templateSnippets": own, "templatingSettings": {"extraContext": {"lonely": 1}}}))
                .len()
        };
        assert_eq!(with("x"), 2);
        assert_eq!(with("{{json extraContext}}"), 1);
        assert_eq!(with("{{get @root (concat \"lo\" \"nely\")}}"), 1);
        assert_eq!(with("{{> (concat \"lo\" \"nely\")}}"), 1);
        assert_eq!(with("{{lonely}} {{> lonely}}"), 0);
        assert_eq!(with("{% include name %}"), 1);
        assert_eq!(with("{{ lonely }}{% include 'lonely' %}"), 0);
    }
}
