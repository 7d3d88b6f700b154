//! The examples of the function library in this language, made of those that its table has.

use crate::{
    engine::{
        language::Language,
        program::CompiledTemplate,
        templates::{Role, Template},
    },
    functions::{Argument, Count, Function},
    handlebars::{
        self,
        node::{Block, Expression, NodeKind, TemplateNode},
        path::{Path, PathStart},
    },
    value::Value,
};

/// The examples that this language has in words of its own.
const OWN: [(&str, &str, &str); 7] = [
    ("default", "{{ nothing | default(\"fallback\") }} {{ 0 | default(5) }}", "fallback 0"),
    (
        "set",
        "{% set all = namespace(sum=0) %}{% for n in [1, 2, 3] %}{% set all.sum = all.sum + n %}{% endfor %}{{ all.sum }}",
        "6",
    ),
    (
        "push",
        "{% set hosts = [] %}{% for h in [\"a\", \"b\"] %}{% do hosts.append(h) %}{% endfor %}{{ join(hosts, \",\") }}",
        "a,b",
    ),
    ("and", "{{ 1 and \"x\" }} {{ 1 and 0 }}", "x 0"),
    ("or", "{{ 0 or \"x\" }}", "x"),
    ("not", "{{ not 0 }} {{ not [1] }}", "True False"),
    ("in", "{{ \"GET\" in [\"GET\", \"HEAD\"] }}", "True"),
];

/// The name of an item of a loop that has none.
const ITEM: &str = "item";

/// How `function` is called: `sort_by(list, path[, order])`. What is no function in this language has its name alone.
pub(crate) fn usage(function: &Function) -> String {
    if OWN.iter().any(|(name, ..)| *name == function.name) {
        return function.name.to_owned();
    }
    let mut arguments = String::new();
    for Argument { name, count, .. } in function.arguments {
        let comma = if arguments.is_empty() { "" } else { ", " };
        arguments += &match count {
            Count::Once => format!("{comma}{name}"),
            Count::Maybe => format!("[{comma}{name}]"),
            Count::Many => format!("[{comma}{name}…]"),
            Count::Named => format!("[{comma}{name}=…]"),
        };
    }
    format!("{}({arguments})", function.name)
}

/// A template that calls `function`, and what it prints.
pub(crate) fn example(function: &Function) -> (String, String) {
    if let Some((_, template, gives)) = OWN.iter().find(|(name, ..)| *name == function.name) {
        return ((*template).to_owned(), (*gives).to_owned());
    }
    let template = Template {
        name: function.name.into(),
        field: String::new(),
        role: Role::Snippet,
        language: Language::Handlebars,
        source: function.example.0.into(),
    };
    let text = match handlebars::read(&template, 0, false).0 {
        CompiledTemplate::Handlebars(block) => body(&block),
        CompiledTemplate::Jinja2(_) => String::new(),
    };
    let gives = function.example.1;
    let are_booleans = gives.split(' ').all(|word| ["true", "false"].contains(&word));
    let gives = if are_booleans { gives.replace('t', "T").replace('f', "F") } else { gives.to_owned() };
    (text, gives)
}

fn body(block: &Block) -> String {
    block.nodes.iter().map(node).collect()
}

fn node(node: &TemplateNode) -> String {
    match &node.kind {
        NodeKind::Text(segments) => segments.iter().map(|segment| &*segment.text).collect(),
        NodeKind::Print { expression, .. } => format!("{{{{ {} }}}}", of(expression)),
        NodeKind::Run(expression) => format!("{{% do {} %}}", of(expression)),
        NodeKind::Glob { pattern, .. } => format!("{{{{ render_glob({}) }}}}", of(pattern)),
        NodeKind::Assign { values, .. } => {
            let set = |(name, value): &(_, _)| format!("{{% set {name} = {} %}}", of(value));
            values.iter().map(set).collect()
        }
        NodeKind::If { test, body: inner, otherwise, .. } => {
            format!("{{% if {} %}}{}{}{{% endif %}}", of(test), body(inner), otherwise_of(Some(otherwise)))
        }
        NodeKind::Each { over, item, index, body: inner, otherwise } => {
            let item = item.as_deref().unwrap_or(ITEM);
            let loops = match index {
                Some(index) => format!("{index}, {item} in {}.items()", of(over)),
                None => format!("{item} in {}", of(over)),
            };
            format!("{{% for {loops} %}}{}{}{{% endfor %}}", body(inner), otherwise_of(Some(otherwise)))
        }
        NodeKind::With { of: value, name, body: inner, otherwise } => {
            let name = name.as_deref().unwrap_or(ITEM);
            let otherwise = otherwise_of(otherwise.as_ref());
            let value = of(value);
            format!("{{% set {name} = {value} %}}{{% if {name} %}}{}{otherwise}{{% endif %}}", body(inner))
        }
        _ => String::new(),
    }
}

fn otherwise_of(block: Option<&Block>) -> String {
    let block = block.filter(|block| !block.nodes.is_empty());
    block.map_or_else(String::new, |block| format!("{{% else %}}{}", body(block)))
}

fn of(expression: &Expression) -> String {
    match expression {
        Expression::Literal(value) => literal(value),
        Expression::Path(path) => path_of(path),
        Expression::Call(call) => {
            let all: Vec<String> = call.arguments.iter().map(of).collect();
            let named = call.named.iter().map(|(name, value)| (name, of(value)));
            match call.function.name {
                "array" => format!("[{}]", all.join(", ")),
                "dict" => {
                    let pairs = all.chunks(2).map(|pair| pair.join(": "));
                    let named = named.map(|(name, value)| format!("\"{name}\": {value}"));
                    format!("{{{}}}", pairs.chain(named).collect::<Vec<_>>().join(", "))
                }
                // Whether there is a value is asked of the value itself.
                "default" => format!(
                    "{} | default({})",
                    all.first().map_or("", |of| of),
                    all.get(1..).unwrap_or_default().join(", ")
                ),
                name => {
                    let named = named.map(|(name, value)| format!("{name}={value}"));
                    format!("{name}({})", all.into_iter().chain(named).collect::<Vec<_>>().join(", "))
                }
            }
        }
    }
}

fn literal(value: &Value) -> String {
    value.to_json().map(|json| json.to_string()).unwrap_or_default()
}

fn path_of(path: &Path) -> String {
    let mut text = match path.start {
        PathStart::This { .. } => ITEM.to_owned(),
        _ => String::new(),
    };
    for key in &path.keys {
        let is_name = key.starts_with(|c: char| c.is_ascii_alphabetic())
            && key.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        text.push_str(&match (is_name, key.parse::<usize>()) {
            (true, _) if text.is_empty() => key.to_string(),
            (true, _) => format!(".{key}"),
            (false, Ok(index)) => format!("[{index}]"),
            (false, Err(_)) => format!("[{:?}]", &**key),
        });
    }
    text
}
