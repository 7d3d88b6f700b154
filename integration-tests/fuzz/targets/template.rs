//! Templates: refused or rendered the same twice, and what an object says never makes a line.

use super::parse_line;
use haptic_model::{ActiveConfig, Fleet, HAProxyTemplateConfigSpec, ObjectRef, Snapshot, Snapshots};
use haptic_render::{Language, RenderJob, RenderLimits, render};
use serde_json::json;
use std::{sync::Arc, time::Duration};

const LANGUAGES: [Language; 2] = [Language::Handlebars, Language::Jinja2];

/// What prints one text of the object `i`, and a loop over all objects.
fn printed(language: Language) -> ([&'static str; 2], &'static [&'static str]) {
    match language {
        Language::Handlebars => (
            ["{{#each (list \"ingresses\") as |i|}}\n", "\n{{/each}}\n"],
            &[
                "{{i.spec.text}}",
                "{{lf i.spec.text}}",
                "{{arg i.spec.text}}",
                "{{proxy_name i.spec.text}}",
                "{{#each i.spec.texts as |t|}}{{t}}{{/each}}",
                "{{#each i.spec.texts as |t|}} \"{{lf t}}\"{{/each}}",
            ],
        ),
        Language::Jinja2 => (
            ["{% for i in ingresses.List() %}\n", "\n{% endfor %}\n"],
            &[
                "{{ i.spec.text }}",
                "{{ i.spec.text | lf }}",
                "{{ i.spec.text | arg }}",
                "{{ proxy_name(i.spec.text) }}",
                "{% for t in i.spec.texts %}{{ t }}{% endfor %}",
                "{{ 'a ' ~ i.spec.text }}",
                "{{ i.spec.texts | join(' ') }}",
                "{% set c %}{{ i.spec.text }}{% endset %}{{ '%s|%s' % (c, c | upper) }}",
            ],
        ),
    }
}

/// A template is refused, or prints what an object says as values, twice the same. The template and the object's texts
/// are separated by bytes `FF`. In the template, a byte `FE` and one that chooses how stand for a text of the object: then
/// it has as many lines, and does the same in each, whatever the object says.
pub fn template(data: &[u8]) {
    let mut parts = data.split(|byte| *byte == 0xFF);
    let source = parts.next().unwrap_or_default();
    let texts: Vec<String> = parts.map(|text| String::from_utf8_lossy(text).into_owned()).collect();
    for language in LANGUAGES {
        if source.contains(&0xFE) {
            values_make_no_lines(language, source, &texts);
        } else {
            renders_twice_the_same(language, &String::from_utf8_lossy(source), &texts);
        }
    }
}

fn renders_twice_the_same(language: Language, source: &str, texts: &[String]) {
    let Some(site) = Site::of(language, source) else { return };
    match (site.render(texts), site.render(texts)) {
        (Rendered::Text(one), Rendered::Text(two)) => assert_eq!(one, two),
        (Rendered::Refused, Rendered::Refused) => {}
        // Only a limit of time makes a difference.
        (Rendered::Slow, _) | (_, Rendered::Slow) => {}
        _ => panic!("it differs"),
    }
}

fn values_make_no_lines(language: Language, source: &[u8], texts: &[String]) {
    let ([opens, closes], prints) = printed(language);
    let mut template = opens.to_owned();
    for (number, part) in source.split(|byte| *byte == 0xFE).enumerate() {
        let (how, rest) =
            part.split_first().filter(|_| number > 0).map_or((0, part), |(how, rest)| (*how, rest));
        if number > 0 {
            template += prints[usize::from(how) % prints.len()];
        }
        // Nothing else is an expression.
        template += &String::from_utf8_lossy(rest).replace(['{', '}'], "");
    }
    template += closes;
    let Some(site) = Site::of(language, &template) else { return };
    let harmless = vec!["1".to_owned(); texts.len()];
    let (Rendered::Text(meant), Rendered::Text(hostile)) = (site.render(&harmless), site.render(texts))
    else {
        return;
    };
    let (meant, hostile) = (directives(&meant), directives(&hostile));
    assert_eq!(meant.len(), hostile.len(), "{template} has other lines");
    let differs = meant.iter().zip(&hostile).find(|(meant, hostile)| meant != hostile);
    assert_eq!(differs, None, "{template} does something else");
}

/// What each line does: its first word, as HAProxy reads it. Comments do nothing.
fn directives(text: &str) -> Vec<Result<Option<String>, &'static str>> {
    let first = |words: Vec<String>| words.into_iter().next();
    text.split('\n').map(|line| parse_line::words(line).map(first)).collect()
}

enum Rendered {
    Text(String),
    Refused,
    Slow,
}

/// A compiled template.
struct Site {
    compiled: Arc<haptic_render::Program>,
    config: ActiveConfig,
}

impl Site {
    fn of(language: Language, source: &str) -> Option<Self> {
        let spec = json!({
            "credentialsSecretRef": {"name": "c"},
            "podSelector": {"matchLabels": {"app": "haproxy"}},
            "haproxyConfig": {"template": source, "engine": language.name()},
            "watchedResources": {"ingresses": {"apiVersion": "networking.k8s.io/v1", "resources": "ingresses"}},
        });
        let spec: HAProxyTemplateConfigSpec = serde_json::from_value(spec).expect("a specification");
        let compiled = match haptic_render::compile(&spec) {
            Ok(compiled) => compiled,
            Err(problems) => {
                assert!(!problems.is_empty(), "refused for nothing");
                return None;
            }
        };
        Some(Self { compiled, config: ActiveConfig::of("fuzz", "default", spec) })
    }

    /// With one object that says these texts.
    fn render(&self, texts: &[String]) -> Rendered {
        let object = json!({"metadata": {"namespace": "n", "name": "o"}, "spec": {"texts": texts, "text": texts.first()}});
        let mut store = Snapshot::full();
        store.put(ObjectRef::new("ingresses", "n", "o"), &object);
        let snapshots = Snapshots::new([(Arc::from("ingresses"), Arc::new(store))].into());
        let limits =
            RenderLimits { time: Duration::from_secs(2), output: 1 << 20, ..RenderLimits::default() };
        let job = RenderJob {
            compiled: &self.compiled,
            config: &self.config,
            snapshots: &snapshots,
            fleet: &Fleet::default(),
            limits: &limits,
        };
        match render(&job) {
            Ok((bundle, _)) => Rendered::Text(bundle.config.text.to_string()),
            Err(problems) => {
                let defect = problems.iter().find(|problem| problem.message.contains("internal error"));
                assert!(defect.is_none(), "{defect:?}");
                let slow = problems.iter().any(|problem| problem.message.contains("takes longer"));
                if slow { Rendered::Slow } else { Rendered::Refused }
            }
        }
    }
}
