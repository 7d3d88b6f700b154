//! Templates: refused or rendered the same twice, and what an object says never makes a line.

use super::parse_line;
use haptic_model::{ActiveConfig, Fleet, HAProxyTemplateConfigSpec, Object, ObjectRef, Snapshot, Snapshots};
use haptic_render::{Engine as _, Limits, Templates, handlebars::HandlebarsEngine, render};
use serde_json::json;
use std::{sync::Arc, time::Duration};

/// What prints one text of the object `i`.
const PRINTED: [&str; 6] = [
    "{{i.spec.text}}",
    "{{lf i.spec.text}}",
    "{{arg i.spec.text}}",
    "{{proxy_name i.spec.text}}",
    "{{#each i.spec.texts as |t|}}{{t}}{{/each}}",
    "{{#each i.spec.texts as |t|}} \"{{lf t}}\"{{/each}}",
];

/// A template is refused, or prints what an object says as values, twice the same. The template and the object's texts
/// are separated by bytes `FF`. In the template, a byte `FE` and one that chooses how stand for a text of the object: then
/// it has as many lines, and does the same in each, whatever the object says.
pub fn template(data: &[u8]) {
    let mut parts = data.split(|byte| *byte == 0xFF);
    let source = parts.next().unwrap_or_default();
    let texts: Vec<String> = parts.map(|text| String::from_utf8_lossy(text).into_owned()).collect();
    if source.contains(&0xFE) {
        return values_make_no_lines(source, &texts);
    }
    let Some(site) = Site::of(&String::from_utf8_lossy(source)) else { return };
    match (site.render(&texts), site.render(&texts)) {
        (Rendered::Text(one), Rendered::Text(two)) => assert_eq!(one, two),
        (Rendered::Refused, Rendered::Refused) => {}
        // Only a limit of time makes a difference.
        (Rendered::Slow, _) | (_, Rendered::Slow) => {}
        _ => panic!("it differs"),
    }
}

fn values_make_no_lines(source: &[u8], texts: &[String]) {
    let mut template = "{{#each (list \"ingresses\") as |i|}}\n".to_owned();
    for (number, part) in source.split(|byte| *byte == 0xFE).enumerate() {
        let (how, rest) =
            part.split_first().filter(|_| number > 0).map_or((0, part), |(how, rest)| (*how, rest));
        if number > 0 {
            template += PRINTED[usize::from(how) % PRINTED.len()];
        }
        // Nothing else is an expression.
        template += &String::from_utf8_lossy(rest).replace(['{', '}'], "");
    }
    template += "\n{{/each}}\n";
    let Some(site) = Site::of(&template) else { return };
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
    compiled: Arc<dyn haptic_render::Compiled>,
    config: ActiveConfig,
}

impl Site {
    fn of(source: &str) -> Option<Self> {
        let spec = json!({
            "credentialsSecretRef": {"name": "c"},
            "podSelector": {"matchLabels": {"app": "haproxy"}},
            "haproxyConfig": {"template": source},
            "watchedResources": {"ingresses": {"apiVersion": "networking.k8s.io/v1", "resources": "ingresses"}},
        });
        let spec: HAProxyTemplateConfigSpec = serde_json::from_value(spec).expect("a specification");
        let compiled = match HandlebarsEngine.compile(&Templates::of(&spec)) {
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
        let reference = Arc::new(ObjectRef::new("ingresses", "n", "o"));
        let object = Object { reference, version: 0, json: object.to_string().into_bytes().into() };
        let mut store = Snapshot::full();
        store.apply(object, Arc::from([Arc::from("n"), Arc::from("o")]));
        let snapshots = Snapshots::new([(Arc::from("ingresses"), Arc::new(store))].into());
        let limits = Limits { time: Duration::from_secs(2), output: 1 << 20, ..Limits::default() };
        match render(&*self.compiled, &self.config, &snapshots, &Fleet::default(), &limits) {
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
