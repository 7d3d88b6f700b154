//! From the grammar's tree to nodes, with every mistake a template can have without being rendered.

use super::{
    foreign,
    node::{Block, CallNode, Expression, Frame, Include, NodeKind, SnippetName, TemplateNode},
    path::{Path, PathStart},
    scan::{self, Prepared, STATEMENT, Tag, TagKind},
};
use crate::{
    engine::{
        position::{At, Segment, TemplateLine},
        program::{CompiledTemplate, SnippetNeed, SnippetUse, TemplateNotes},
        templates::Template,
    },
    functions::{self, Count, Function, Role},
    output::framing,
    value::{Value, keypath},
};
use handlebars::{
    Path as CratePath, Template as Tree,
    template::{BlockParam, DecoratorTemplate, HelperTemplate, Parameter, TemplateElement},
};
use haptic_model::Diagnostic;
use haptic_text::suggest::did_you_mean;
use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

/// The pattern of all snippets' names.
const ANY: &str = "*";

const BLOCKS: [&str; 4] = ["each", "if", "unless", "with"];

/// Converts one template, as far as it can be.
pub(crate) fn template(
    template: &Template,
    number: u16,
    allow_raw: bool,
) -> (CompiledTemplate, TemplateNotes) {
    let mut converter = Converter {
        name: template.name.clone(),
        field: template.field.clone(),
        number,
        allow_raw,
        alone: BTreeMap::new(),
        prepared: Prepared::default(),
        line: 1,
        notes: TemplateNotes::default(),
    };
    let block = converter.run(&template.source);
    (CompiledTemplate::Handlebars(block), converter.notes)
}

struct Converter {
    name: Arc<str>,
    field: String,
    number: u16,
    allow_raw: bool,
    /// Tags by line and column: whether they stand alone on their line.
    alone: BTreeMap<(u32, u32), bool>,
    prepared: Prepared,
    /// The line of the text converted last.
    line: u32,
    notes: TemplateNotes,
}

impl Converter {
    fn run(&mut self, source: &str) -> Block {
        if let Some((line, column)) = find_mark(source) {
            self.problem(
                line,
                column,
                "the template holds a private-use character between U+E000 and U+E00F",
                None,
            );
            return Block::default();
        }
        let tags = match scan::tags(source) {
            Ok(tags) => tags,
            Err(trouble) => {
                self.problem(trouble.line, trouble.column, &trouble.message, trouble.help);
                return Block::default();
            }
        };
        let mut troubles = scan::unbalanced(&tags);
        if troubles.is_empty() {
            troubles.extend(scan::too_deep(&tags));
        }
        if !troubles.is_empty() {
            for trouble in troubles {
                self.problem(trouble.line, trouble.column, &trouble.message, trouble.help);
            }
            return Block::default();
        }
        self.alone = tags.iter().map(|t| ((t.line, t.column), t.alone)).collect();
        self.prepared = scan::prepare(source, &tags);
        match parse(&self.prepared.source) {
            Ok(tree) => {
                let at = At { template: self.number, line: 1, column: 1 };
                self.block(&tree, at)
            }
            Err(position) => {
                self.unreadable(position, &tags);
                Block::default()
            }
        }
    }

    /// The grammar says only where it stopped; which tag that is, we know.
    fn unreadable(&mut self, position: Option<(usize, usize)>, tags: &[Tag<'_>]) {
        let (line, column) = position.map_or((1, 1), |(line, column)| {
            (u32::try_from(line).unwrap_or(1), self.prepared.column(line, column))
        });
        let tag = tags
            .iter()
            .filter(|t| t.kind != TagKind::Comment)
            .rfind(|t| (t.line, t.column) <= (line, column))
            .or_else(|| tags.first());
        match tag {
            Some(tag) => {
                let (line, column) = (tag.line, tag.column);
                let message = format!("this tag cannot be read: {{{{{}}}}}", sigil(tag.kind, tag.inner));
                let foreign = foreign::help(tag.inner);
                let help = if tag.inner.trim().is_empty() {
                    "It is empty"
                } else if let Some(help) = &foreign {
                    help
                } else {
                    "A tag is a path such as {{a.b}}, a function with arguments such as {{lower a.b}}, or a block such as {{#if a}}; arguments that are calls need parentheses, texts need quotes"
                };
                self.problem(line, column, &message, Some(help.into()));
            }
            None => self.problem(line, column, "the template cannot be read", None),
        }
    }

    fn problem(&mut self, line: u32, column: u32, message: &str, help: Option<String>) {
        let mut diagnostic = Diagnostic::error("template", message)
            .at_field(self.field.clone())
            .at_template(&self.name, line, column);
        diagnostic.help = help;
        self.notes.problems.push(diagnostic);
    }

    fn problem_at(&mut self, at: At, message: &str, help: &str) {
        let help = if help.is_empty() { None } else { Some(help.to_owned()) };
        self.problem(at.line, at.column, message, help);
    }

    fn block(&mut self, tree: &Tree, within: At) -> Block {
        let mut nodes = Vec::with_capacity(tree.elements.len());
        for (i, element) in tree.elements.iter().enumerate() {
            let at = match tree.mapping.get(i) {
                Some(place) => At {
                    template: self.number,
                    line: u32::try_from(place.0).unwrap_or(within.line),
                    column: self.prepared.column(place.0, place.1),
                },
                None => within,
            };
            if let Some(kind) = self.element(element, at) {
                nodes.push(TemplateNode { at, kind });
            }
        }
        Block { nodes }
    }

    fn optional_block(&mut self, tree: Option<&Tree>, within: At) -> Block {
        tree.map(|t| self.block(t, within)).unwrap_or_default()
    }

    fn element(&mut self, element: &TemplateElement, at: At) -> Option<NodeKind> {
        match element {
            TemplateElement::RawString(text) => {
                let segments = self.segments(text);
                (!segments.is_empty()).then_some(NodeKind::Text(segments))
            }
            TemplateElement::Expression(tag) => {
                self.line = at.line;
                self.print(tag, at)
            }
            TemplateElement::HtmlExpression(tag) => {
                self.line = at.line;
                self.print_raw(tag, at)
            }
            TemplateElement::HelperBlock(tag) => self.helper_block(tag, at),
            TemplateElement::PartialExpression(tag) | TemplateElement::PartialBlock(tag) => {
                self.partial(tag, at)
            }
            TemplateElement::DecoratorBlock(tag) => self.inline_partial(tag, at),
            TemplateElement::DecoratorExpression(_) => {
                self.problem_at(
                    at,
                    "decorators ({{* …}}) are not supported",
                    "Use {{let name=value}} for a variable",
                );
                None
            }
            _ => None,
        }
    }

    /// Cuts text into lines and takes the LINE marks out again.
    fn segments(&mut self, text: &str) -> Vec<Segment> {
        let mut segments: Vec<Segment> = Vec::new();
        let mut add = |text: &str, line: u32, template: u16| {
            let place = TemplateLine { template, line };
            match segments.last_mut() {
                Some(last) if last.place == place && !last.text.ends_with('\n') => {
                    last.text = format!("{}{text}", last.text).into();
                }
                _ if text.is_empty() => {}
                _ => segments.push(Segment { text: text.into(), place }),
            }
        };
        for part in text.split_inclusive('\n') {
            let mut rest = part;
            let mut blank = "";
            while let Some((before, after)) = rest.split_once(framing::LINE) {
                let (number, after) = after.split_once(';').unwrap_or(("", after));
                if !before.trim().is_empty() {
                    add(before, self.line, self.number);
                } else {
                    blank = before;
                }
                self.line = number.parse().unwrap_or(self.line);
                if !blank.is_empty() {
                    add(blank, self.line, self.number);
                    blank = "";
                }
                rest = after;
            }
            add(rest, self.line, self.number);
            if part.ends_with('\n') {
                self.line += 1;
            }
        }
        segments
    }

    fn print(&mut self, tag: &HelperTemplate, at: At) -> Option<NodeKind> {
        if let Some(name) = tag.name.as_name().map(str::to_owned)
            && functions::is_statement(&name)
            && (!tag.params.is_empty() || !tag.hash.is_empty())
        {
            return self.statement(&name, &tag.params, &tag.hash, at, "");
        }
        let expression = self.tag_expression(tag, at, true)?;
        let mark = match &expression {
            Expression::Call(call) => call.function.frame,
            _ => framing::VALUE,
        };
        Some(NodeKind::Print { expression, frame: Frame::Framed(mark) })
    }

    fn print_raw(&mut self, tag: &HelperTemplate, at: At) -> Option<NodeKind> {
        let expression = self.tag_expression(tag, at, true)?;
        if self.allow_raw {
            return Some(NodeKind::Print { expression, frame: Frame::Raw });
        }
        // The configuration's own values are as trusted as its templates; they are looked up at the top of the
        // context whatever stands around, so nothing watched can take their name.
        if let Expression::Path(Path { raw, start: PathStart::Name | PathStart::Root, keys }) = &expression
            && keys.first().is_some_and(|k| matches!(&**k, "extraContext" | "config"))
        {
            let path = Path { raw: raw.clone(), start: PathStart::Root, keys: keys.clone() };
            return Some(NodeKind::Print { expression: Expression::Path(path), frame: Frame::Raw });
        }
        let source = expression.source();
        self.problem_at(
            at,
            &format!("{{{{{{{source}}}}}}} would print a value as structure; only extraContext.… and config.… may be printed raw"),
            &format!("Write {{{{{source}}}}}; templatingSettings.allowRawValues lifts this for trusted clusters"),
        );
        None
    }

    fn tag_expression(&mut self, tag: &HelperTemplate, at: At, printed: bool) -> Option<Expression> {
        if tag.params.is_empty() && tag.hash.is_empty() {
            return self.parameter(&tag.name, at, printed);
        }
        let name = tag.name.as_name().unwrap_or_default().to_owned();
        self.call(&name, &tag.params, &tag.hash, at, printed)
    }

    fn parameter(&mut self, parameter: &Parameter, at: At, printed: bool) -> Option<Expression> {
        match parameter {
            Parameter::Literal(json) => Some(Expression::Literal(Value::from(json))),
            Parameter::Path(path) => Some(self.path(raw(path))),
            Parameter::Name(name) => Some(self.path(name)),
            Parameter::Subexpression(sub) => match sub.as_element() {
                TemplateElement::Expression(tag) if tag.params.is_empty() && tag.hash.is_empty() => {
                    let name = tag.name.as_name().unwrap_or_default();
                    match functions::find(name) {
                        Some(_) => self.call(name, &[], &HashMap::new(), at, printed),
                        None => self.parameter(&tag.name, at, printed),
                    }
                }
                TemplateElement::Expression(tag) => {
                    let name = tag.name.as_name().unwrap_or_default().to_owned();
                    self.call(&name, &tag.params, &tag.hash, at, printed)
                }
                _ => None,
            },
            _ => None,
        }
    }

    fn path(&mut self, raw: &str) -> Expression {
        let path = Path::parse(raw);
        if path.start == PathStart::Name {
            self.notes.reads.extend(path.keys.first().cloned());
        }
        Expression::Path(path)
    }

    fn call(
        &mut self,
        name: &str,
        params: &[Parameter],
        hash: &HashMap<String, Parameter>,
        at: At,
        printed: bool,
    ) -> Option<Expression> {
        let Some(function) = functions::find(name) else {
            let hint = did_you_mean(name, functions::names());
            let help = if BLOCKS.contains(&name) {
                format!("It is a block: {{{{#{name} …}}}}…{{{{/{name}}}}}")
            } else {
                foreign::help(name).unwrap_or_else(|| "`haptic functions` lists them all".into())
            };
            self.problem_at(at, &format!("there is no function {name:?}{hint}"), &help);
            return None;
        };
        if function.role != Role::Value {
            let message = format!("{name} gives no value, so it cannot stand inside another expression");
            self.problem_at(at, &message, &format!("Write it as a tag of its own: {{{{{name} …}}}}"));
            return None;
        }
        if function.frame != framing::VALUE && !printed {
            let message = format!("({name} …) only means something where it is printed");
            self.problem_at(at, &message, &format!("Write {{{{{name} …}}}}, around everything else"));
            return None;
        }
        if let Err(message) = function.check_count(params.len(), hash.keys().map(String::as_str)) {
            self.problem_at(at, &message, &format!("Usage: {}", function.usage()));
            return None;
        }
        if let Some((path, why)) = wrong_path(function, params) {
            let help = "Write it like spec.host, or metadata.labels.[app.kubernetes.io/name]";
            self.problem_at(at, &format!("{path:?} is no path for {name}: {why}"), help);
            return None;
        }
        let arguments = params.iter().map(|p| self.parameter(p, at, false)).collect::<Option<Vec<_>>>()?;
        let named = self.named(hash, at)?;
        self.notes.calls.insert(function.name);
        let call = CallNode { function, arguments, named };
        Some(call.constant().map_or_else(|| Expression::Call(Box::new(call)), Expression::Literal))
    }

    /// Named arguments by name: the grammar's own order is random.
    fn named(&mut self, hash: &HashMap<String, Parameter>, at: At) -> Option<Vec<(Arc<str>, Expression)>> {
        let sorted: BTreeMap<&String, &Parameter> = hash.iter().collect();
        sorted.into_iter().map(|(k, p)| Some((k.as_str().into(), self.parameter(p, at, false)?))).collect()
    }

    fn statement(
        &mut self,
        name: &str,
        params: &[Parameter],
        hash: &HashMap<String, Parameter>,
        at: At,
        indent: &str,
    ) -> Option<NodeKind> {
        let function = functions::find(name)?;
        if let Err(message) = function.check_count(params.len(), hash.keys().map(String::as_str)) {
            self.problem_at(at, &message, &format!("Usage: {}", function.usage()));
            return None;
        }
        let alone = self.alone.get(&(at.line, at.column)).copied().unwrap_or(false);
        let values = params.iter().map(|p| self.parameter(p, at, false)).collect::<Option<Vec<_>>>()?;
        let named = self.named(hash, at)?;
        match function.role {
            Role::Declare | Role::Assign => {
                let mut assigned = named;
                let mut values = values.into_iter();
                while let Some(variable) = values.next() {
                    let (Some(variable), Some(value)) = (variable_name(&variable), values.next()) else {
                        self.problem_at(
                            at,
                            &format!("{name} takes names and values"),
                            &format!("Usage: {}", function.usage()),
                        );
                        return None;
                    };
                    assigned.push((variable, value));
                }
                Some(NodeKind::Assign { declare: function.role == Role::Declare, values: assigned })
            }
            Role::Push => {
                let mut values = values.into_iter();
                let Some(variable) = values.next().as_ref().and_then(variable_name) else {
                    self.problem_at(
                        at,
                        "push needs the name of a variable first",
                        &format!("Usage: {}", function.usage()),
                    );
                    return None;
                };
                Some(NodeKind::Push { variable, values: values.collect() })
            }
            Role::Glob => {
                let pattern = values.into_iter().next()?;
                self.notes.prints.insert(match &pattern {
                    Expression::Literal(Value::Text(pattern)) => pattern.clone(),
                    _ => ANY.into(),
                });
                Some(NodeKind::Glob { pattern, indent: indent.into(), alone })
            }
            Role::Effect | Role::Value => Some(NodeKind::Run(Expression::Call(Box::new(CallNode {
                function,
                arguments: values,
                named,
            })))),
        }
    }

    fn helper_block(&mut self, tag: &HelperTemplate, at: At) -> Option<NodeKind> {
        let name = tag.name.as_name().unwrap_or_default().to_owned();
        if name == "raw" {
            let mut nodes = self.optional_block(tag.template.as_ref(), at).nodes;
            return match nodes.pop() {
                Some(TemplateNode { kind: kind @ NodeKind::Text(_), .. }) => Some(kind),
                _ => None,
            };
        }
        if !BLOCKS.contains(&name.as_str()) {
            let (hint, help) = match functions::find(&name) {
                Some(_) => (String::new(), format!("{name} is a function: {{{{#if ({name} …)}}}}")),
                None => (did_you_mean(&name, BLOCKS), format!("Blocks are {}", BLOCKS.join(", "))),
            };
            self.problem_at(at, &format!("there is no block {name:?}{hint}"), &help);
            return None;
        }
        let [subject] = tag.params.as_slice() else {
            let message = format!("{{{{#{name}}}}} takes one value, here are {}", tag.params.len());
            self.problem_at(at, &message, "Arguments that are calls need parentheses: {{#if (eq a b)}}");
            return None;
        };
        let subject = self.parameter(subject, at, false);
        let (first, second) = match &tag.block_param {
            Some(BlockParam::Single(one)) => (one.as_name().map(Arc::from), None),
            Some(BlockParam::Pair((one, two))) => {
                (one.as_name().map(Arc::from), two.as_name().map(Arc::from))
            }
            _ => (None, None),
        };
        let body = self.optional_block(tag.template.as_ref(), at);
        let otherwise = tag.inverse.as_ref().map(|t| self.block(t, at));
        let subject = subject?;
        Some(match name.as_str() {
            "each" => NodeKind::Each {
                over: subject,
                item: first,
                index: second,
                body,
                otherwise: otherwise.unwrap_or_default(),
            },
            "with" => NodeKind::With { of: subject, name: first, body, otherwise },
            _ => NodeKind::If {
                test: subject,
                wanted: name == "if",
                zero_counts: matches!(
                    tag.hash.get("includeZero"),
                    Some(Parameter::Literal(serde_json::Value::Bool(true)))
                ),
                body,
                otherwise: otherwise.unwrap_or_default(),
            },
        })
    }

    fn partial(&mut self, tag: &DecoratorTemplate, at: At) -> Option<NodeKind> {
        self.line = at.line;
        let alone = self.alone.get(&(at.line, at.column)).copied().unwrap_or(false);
        let indent = if alone { tag.indent.as_deref().unwrap_or_default() } else { "" };
        let fixed = tag.name.as_name().map(|n| n.trim_matches(['\'', '[', ']']).to_owned());
        if let Some(statement) = fixed.as_deref().and_then(|n| n.strip_prefix(STATEMENT))
            && statement != "partial-block"
        {
            return self.statement(statement, &tag.params, &tag.hash, at, indent);
        }
        if fixed.as_deref() == Some("@partial-block") {
            return Some(NodeKind::Slot);
        }
        let block = tag.template.as_ref().map(|t| self.block(t, at));
        let name = match fixed {
            Some(name) => {
                let name: Arc<str> = name.into();
                let how = if block.is_some() { SnippetUse::GiveBlock } else { SnippetUse::Print };
                self.notes.needs.push(SnippetNeed { name: name.clone(), at, how });
                self.notes.prints.insert(name.clone());
                SnippetName::Fixed(name)
            }
            None => {
                self.notes.prints.insert(ANY.into());
                SnippetName::Computed(self.parameter(&tag.name, at, false)?)
            }
        };
        let context = match tag.params.as_slice() {
            [] => None,
            [one] => Some(self.parameter(one, at, false)?),
            more => {
                let message = format!("a snippet takes one context, here are {}", more.len());
                self.problem_at(at, &message, "Give other values by name: {{> snippet port=80}}");
                return None;
            }
        };
        let values = self.named(&tag.hash, at)?;
        Some(NodeKind::Include(Box::new(Include {
            name,
            context,
            values,
            indent: indent.into(),
            alone,
            block,
        })))
    }

    fn inline_partial(&mut self, tag: &DecoratorTemplate, at: At) -> Option<NodeKind> {
        let name = match (tag.name.as_name(), tag.params.as_slice()) {
            (Some("inline"), [Parameter::Literal(serde_json::Value::String(name))]) => name.as_str().into(),
            _ => {
                self.problem_at(at, "only {{#*inline \"name\"}} is supported", "Give the name as a text");
                return None;
            }
        };
        self.notes.inline.insert(Arc::clone(&name));
        let body = self.optional_block(tag.template.as_ref(), at);
        Some(NodeKind::Inline { name, body })
    }
}

/// The grammar's tree, or where the grammar stopped. Its builder panics on some input that its grammar accepts.
fn parse(source: &str) -> Result<Tree, Option<(usize, usize)>> {
    match std::panic::catch_unwind(|| Tree::compile(source)) {
        Ok(Ok(tree)) => Ok(tree),
        Ok(Err(error)) => Err(error.pos()),
        Err(_) => Err(None),
    }
}

fn raw(path: &CratePath) -> &str {
    match path {
        CratePath::Relative((_, raw)) | CratePath::Local((_, _, raw)) => raw,
    }
}

/// `name` and `"name"` both name a variable.
/// The first path among the arguments that cannot be meant as it is written. What is computed is known when it is rendered.
fn wrong_path<'p>(function: &Function, params: &'p [Parameter]) -> Option<(&'p str, &'static str)> {
    let last = function.arguments.last();
    let is_path = |place: usize| {
        let argument = function.arguments.get(place).or(last.filter(|last| last.count == Count::Many));
        argument.is_some_and(|argument| argument.name == "path")
    };
    let texts = params.iter().enumerate().filter(|(place, _)| is_path(*place));
    let mut texts = texts.filter_map(|(_, param)| match param {
        Parameter::Literal(serde_json::Value::String(text)) => Some(text.as_str()),
        _ => None,
    });
    texts.find_map(|path| Some((path, keypath::problem(path.trim_start_matches('-'))?)))
}

fn variable_name(expression: &Expression) -> Option<Arc<str>> {
    match expression {
        Expression::Literal(Value::Text(name)) => Some(name.clone()),
        Expression::Path(Path { start: PathStart::Name, keys, .. }) if keys.len() == 1 => {
            keys.first().cloned()
        }
        _ => None,
    }
}

fn sigil(kind: TagKind, inner: &str) -> String {
    match kind {
        TagKind::Open => format!("#{inner}"),
        TagKind::Close => format!("/{inner}"),
        _ => inner.to_owned(),
    }
}

fn find_mark(source: &str) -> Option<(u32, u32)> {
    let at = source.find(framing::is_mark)?;
    let before = source.get(..at)?;
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
    Some((u32::try_from(line).unwrap_or(1), u32::try_from(column).unwrap_or(1)))
}
