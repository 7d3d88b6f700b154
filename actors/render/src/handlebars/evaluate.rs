//! Walks a template's nodes and prints.

use super::{
    Program,
    node::{At, Block, Call, Expression, Frame, Include, Kind, Name, Node},
    path::{Path, Start},
    scope::{Loop, Scope},
};
use crate::{
    around::Border,
    engine::Limits,
    functions,
    output::{Output, Place},
    recall::Site,
    session::Session,
    value::Value,
    watched::Watched,
};
use haptic_model::{Diagnostic, Limit, ObjectRef, suggest::did_you_mean};
use std::sync::Arc;

/// Why a render stopped.
pub(super) struct Failure {
    message: String,
    help: Option<String>,
    at: Option<At>,
    object: Option<Arc<ObjectRef>>,
    /// The limit that was passed, where it is a setting.
    limit: Option<Limit>,
    /// Whether a limit was passed that is one for all objects together.
    of_all: bool,
}

type Outcome<T = ()> = Result<T, Box<Failure>>;

/// Renders one file.
pub(super) struct Evaluator<'p> {
    program: &'p Program,
    session: Session<'p>,
    output: Output<'p>,
    limits: &'p Limits,
    /// Partials being printed, for the message when they nest too deep.
    including: Vec<Arc<str>>,
}

impl From<String> for Box<Failure> {
    fn from(message: String) -> Self {
        Box::new(Failure { message, help: None, at: None, object: None, limit: None, of_all: false })
    }
}

impl Failure {
    fn with_help(message: String, help: impl Into<String>) -> Box<Self> {
        Box::new(Self {
            message,
            help: Some(help.into()),
            at: None,
            object: None,
            limit: None,
            of_all: false,
        })
    }

    pub fn into_diagnostic(self, names: &[Arc<str>]) -> Diagnostic {
        let mut diagnostic = Diagnostic::error("render", self.message).of_object(self.object);
        diagnostic.help = self.help;
        diagnostic.field = self.limit.map(Limit::field);
        match self.at.and_then(|at| Some((at, names.get(usize::from(at.template))?))) {
            Some((at, name)) => diagnostic.at_template(name, at.line, at.column),
            None => diagnostic,
        }
    }
}

impl<'p> Evaluator<'p> {
    pub fn new(program: &'p Program, session: Session<'p>, output: Output<'p>, limits: &'p Limits) -> Self {
        Self { program, session, output, limits, including: Vec::new() }
    }

    pub fn run(&mut self, block: &'p Block) -> Outcome {
        let scope = Scope::top(self.session.input().context.clone());
        self.block(block, &scope)
    }

    pub fn into_parts(self) -> (Session<'p>, Output<'p>) {
        (self.session, self.output)
    }

    fn block(&mut self, block: &'p Block, scope: &Scope<'_, 'p>) -> Outcome {
        for node in &block.nodes {
            if let Kind::Text(segments) = &node.kind {
                segments.iter().for_each(|s| self.output.text(s));
                continue;
            }
            self.node(node, scope).map_err(|mut failure| {
                failure.at.get_or_insert(node.at);
                if failure.object.is_none() {
                    failure.object = self.session.owner();
                }
                failure
            })?;
        }
        self.output.tick().map_err(|passed| {
            let failure = Failure::with_help(passed.message, passed.help);
            Box::new(Failure { limit: passed.limit, of_all: passed.of_all, ..*failure })
        })
    }

    fn node(&mut self, node: &'p Node, scope: &Scope<'_, 'p>) -> Outcome {
        match &node.kind {
            Kind::Text(segments) => segments.iter().for_each(|s| self.output.text(s)),
            Kind::Print { expression, frame } => {
                let value = self.evaluate(expression, scope)?;
                self.print(&value, expression, *frame, node.at, scope)?;
            }
            Kind::Run(expression) => {
                let before = self.session.said();
                let result = self.evaluate(expression, scope);
                let name = self.program.names.get(usize::from(node.at.template)).map_or("", |n| n);
                self.session.place_new(before, name, node.at.line, node.at.column);
                result?;
            }
            Kind::Assign { declare, values } => self.assign(*declare, values, scope)?,
            Kind::Push { variable, values } => self.push(variable, values, scope)?,
            Kind::If { test, wanted, zero_counts, body, otherwise } => {
                let value = self.evaluate(test, scope)?;
                let is_true = value.is_true() || (*zero_counts && matches!(value, Value::Number(_)));
                self.block(if is_true == *wanted { body } else { otherwise }, scope)?;
            }
            Kind::Each { over, item, index, body, otherwise } => {
                let list = self.evaluate(over, scope)?;
                self.each(&list, over, (item.as_ref(), index.as_ref()), (body, otherwise), node.at, scope)?;
            }
            Kind::With { of, name, body, otherwise } => {
                let value = self.evaluate(of, scope)?;
                self.with(value, of, name.as_ref(), (body, otherwise.as_ref()), node.at, scope)?;
            }
            Kind::Include(include) => self.include(include, scope)?,
            Kind::Slot => match scope.slot() {
                Some((block, around)) => self.block(block, around)?,
                None => {
                    return Err(Failure::with_help(
                        "there is no @partial-block here".into(),
                        "Include this snippet with {{#> snippet}}…{{/snippet}}",
                    ));
                }
            },
            Kind::Glob { pattern, indent, alone } => self.glob(pattern, indent, *alone, scope)?,
            Kind::Inline { name, body } => scope.define_inline(name, body),
        }
        Ok(())
    }

    fn print(
        &mut self,
        value: &Value,
        expression: &Expression,
        frame: Frame,
        at: At,
        scope: &Scope<'_, 'p>,
    ) -> Outcome {
        let place = Place { template: at.template, line: at.line };
        let printed;
        let text = match (value, frame) {
            (Value::Text(text), _) => &**text,
            (Value::Secret(text), _) => {
                self.output.secret();
                &**text
            }
            (Value::Number(number), Frame::Marked(mark)) => {
                self.output.number(number, mark, place);
                return Ok(());
            }
            (other, _) => match other.printed() {
                Some(text) => {
                    printed = text;
                    &*printed
                }
                None => return Err(unprintable(value, expression, scope)),
            },
        };
        match frame {
            Frame::Marked(mark) => self.output.value(text, mark, place).map_err(Into::into),
            Frame::Raw => {
                if text.contains(crate::marks::is_mark) {
                    return Err(format!("{} holds a private-use character", expression.source()).into());
                }
                self.output.raw(text, place);
                Ok(())
            }
        }
    }

    fn each(
        &mut self,
        list: &Value,
        over: &Expression,
        (item_name, index_name): (Option<&Arc<str>>, Option<&Arc<str>>),
        (body, otherwise): (&'p Block, &'p Block),
        at: At,
        scope: &Scope<'_, 'p>,
    ) -> Outcome {
        let mut inner = scope.block(Value::Missing);
        let mut step = |this: &mut Self, value: Value, state: Loop| {
            if let Some(name) = item_name {
                let index = index_name.map(|n| {
                    (n.clone(), state.key.clone().map_or_else(|| Value::count(state.index), Value::Text))
                });
                inner.parameters.clear();
                inner.parameters.push((name.clone(), value.clone()));
                inner.parameters.extend(index);
            }
            inner.forget_variables();
            inner.loop_state = Some(state);
            match &value {
                Value::Object(object) => {
                    if this.stands_again(object, body, &inner) {
                        return Ok(());
                    }
                    let fresh = this.session.recent(object);
                    inner.this = Value::Object(fresh.clone());
                    if let Some(parameter) = inner.parameters.first_mut() {
                        parameter.1 = inner.this.clone();
                    }
                    this.object_block(&fresh, body, at, &mut inner)
                }
                _ => {
                    (inner.this, inner.border) = (value, None);
                    this.block(body, &inner)
                }
            }
        };
        match list {
            Value::List(items) if !items.is_empty() => {
                for (index, value) in items.iter().enumerate() {
                    step(self, value.clone(), Loop { index, last: index + 1 == items.len(), key: None })?;
                }
                Ok(())
            }
            Value::Dict(dict) if !dict.is_empty() => {
                for (index, (key, value)) in dict.iter().enumerate() {
                    let state = Loop { index, last: index + 1 == dict.len(), key: Some(key.clone()) };
                    step(self, value.clone(), state)?;
                }
                Ok(())
            }
            Value::List(_) | Value::Dict(_) | Value::Null => self.block(otherwise, scope),
            Value::Missing => {
                Err(missing(over, scope, "Write (default … (array)) around it if it may be absent"))
            }
            other => Err(Failure::with_help(
                format!("{} is {}, which has no items", over.source(), other.describe()),
                "{{#each}} takes a list or a dict",
            )),
        }
    }

    /// Prints what an outermost object's block printed in the render before, if it would print the same again.
    fn stands_again(&mut self, object: &Watched, body: &'p Block, scope: &Scope<'_, 'p>) -> bool {
        let Some(recall) = self.session.recall() else { return false };
        let block = std::ptr::from_ref(body).addr();
        let Some((number, kept)) = recall.find(block, object.object(), self.including.len()) else {
            return false;
        };
        let namespace = &object.reference().namespace;
        let stands = self.output.fits(namespace, kept.indent(), kept.most())
            && kept.around().iter().all(|(around, found)| scope.finds(around, found, recall.alike()))
            && self.session.again(number, kept.effects());
        if stands {
            self.output.again(object.reference(), kept.fragment(), kept.bytes());
        }
        stands
    }

    /// A block printed for a watched object: reads and lines within belong to it. An outermost one that fails prints
    /// nothing, and the render goes on.
    fn object_block(
        &mut self,
        object: &Watched,
        body: &'p Block,
        at: At,
        scope: &mut Scope<'_, 'p>,
    ) -> Outcome {
        let site = self.session.recall().map(|_| Site {
            block: std::ptr::from_ref(body).addr(),
            place: (at.template, at.line, at.column),
            object: object.object().clone(),
            depth: self.including.len(),
            indent: self.output.indentation().into(),
        });
        scope.border = site.as_ref().map(|_| Border::default());
        let (outermost, depth) = (self.session.owner().is_none(), self.including.len());
        self.session.enter(object);
        self.output.begin_object(object.reference());
        let result = self.block(body, scope).map_err(|mut failure| {
            failure.object.get_or_insert_with(|| object.reference().clone());
            failure
        });
        self.session.leave();
        match result {
            Err(failure) if outermost && !failure.of_all => {
                self.output.abandon_object();
                self.including.truncate(depth);
                self.session.failed(object.reference(), failure.into_diagnostic(&self.program.names));
                Ok(())
            }
            result => {
                let printed = self.output.end_object();
                if let (Ok(()), Some(site), Some(border), Some(printed)) =
                    (&result, site, &scope.border, printed)
                {
                    self.session.remember(site, border, printed);
                }
                result
            }
        }
    }

    fn with(
        &mut self,
        value: Value,
        of: &Expression,
        name: Option<&Arc<str>>,
        (body, otherwise): (&'p Block, Option<&'p Block>),
        at: At,
        scope: &Scope<'_, 'p>,
    ) -> Outcome {
        if !value.is_true() {
            return match otherwise {
                Some(block) => self.block(block, scope),
                None if matches!(value, Value::Missing) => {
                    Err(missing(of, scope, "Give {{#with}} an {{else}} if it may be absent"))
                }
                None => Ok(()),
            };
        }
        let mut inner = scope.block(value.clone());
        inner.parameters.extend(name.map(|n| (n.clone(), value.clone())));
        match &value {
            Value::Object(object) if self.stands_again(object, body, &inner) => Ok(()),
            Value::Object(object) => self.object_block(object, body, at, &mut inner),
            _ => self.block(body, &inner),
        }
    }

    fn include(&mut self, include: &'p Include, scope: &Scope<'_, 'p>) -> Outcome {
        let name: Arc<str> = match &include.name {
            Name::Fixed(name) => name.clone(),
            Name::Computed(expression) => match self.evaluate(expression, scope)? {
                Value::Text(name) => name,
                other => {
                    return Err(format!(
                        "a snippet's name is a text; {} is {}",
                        expression.source(),
                        other.describe()
                    )
                    .into());
                }
            },
        };
        let program = self.program;
        let block = match scope.inline(&name).or_else(|| program.snippet(&name)) {
            Some(block) => block,
            None => match &include.block {
                Some(fallback) => return self.block(fallback, scope),
                None => {
                    let hint = did_you_mean(&name, program.snippets.keys().map(|n| &**n));
                    return Err(Failure::with_help(
                        format!("there is no snippet {name:?}{hint}"),
                        "Add it to templateSnippets",
                    ));
                }
            },
        };
        let this = match &include.context {
            Some(expression) => self.argument(expression, scope)?,
            None => scope.this.clone(),
        };
        let values = self.named(&include.values, scope)?;
        let slot = include.block.as_ref().map(|b| (b, scope));
        let mut inner = scope.partial(this, slot);
        inner.parameters = values;
        if let Some(own) = &include.block {
            // {{#> layout}}{{#*inline "part"}}…: parts defined in the block are seen by the snippet.
            own.nodes.iter().for_each(|node| {
                if let Kind::Inline { name, body } = &node.kind {
                    inner.define_inline(name, body);
                }
            });
        }
        self.partial(&name, block, &include.indent, include.alone, &inner)
    }

    fn partial(
        &mut self,
        name: &Arc<str>,
        block: &'p Block,
        indent: &str,
        alone: bool,
        scope: &Scope<'_, 'p>,
    ) -> Outcome {
        self.including.push(name.clone());
        if self.including.len() > self.limits.depth {
            let chain: Vec<&str> = self.including.iter().rev().take(4).rev().map(|n| &**n).collect();
            return Err(Failure::with_help(
                format!("snippets are nested deeper than {}: … > {}", self.limits.depth, chain.join(" > ")),
                "A snippet that includes itself must stop some day: put it into an {{#if}}",
            ));
        }
        let before = self.output.indent(indent);
        let result = self.block(block, scope);
        self.output.dedent(before, alone && result.is_ok() && !block.nodes.is_empty());
        self.including.pop();
        result
    }

    fn glob(&mut self, pattern: &'p Expression, indent: &str, alone: bool, scope: &Scope<'_, 'p>) -> Outcome {
        let Value::Text(pattern) = self.argument(pattern, scope)? else {
            return Err("render_glob takes a pattern of snippet names, such as \"backend-*\""
                .to_owned()
                .into());
        };
        let program = self.program;
        for (name, number) in &program.snippets {
            if functions::glob_matches(&pattern, name)
                && let Some(block) = program.blocks.get(usize::from(*number))
            {
                let inner = scope.partial(scope.this.clone(), None);
                self.partial(name, block, indent, alone, &inner)?;
            }
        }
        Ok(())
    }

    fn assign(
        &mut self,
        declare: bool,
        values: &'p [(Arc<str>, Expression)],
        scope: &Scope<'_, 'p>,
    ) -> Outcome {
        for (name, expression) in values {
            let value = self.argument(expression, scope)?;
            if declare {
                scope.declare(name, value);
            } else if !scope.change(name, |old| *old = value) {
                return Err(undeclared(name));
            }
        }
        Ok(())
    }

    fn push(&mut self, name: &Arc<str>, values: &'p [Expression], scope: &Scope<'_, 'p>) -> Outcome {
        let values = values.iter().map(|v| self.argument(v, scope)).collect::<Outcome<Vec<_>>>()?;
        let mut is_list = true;
        let found = scope.change(name, |variable| match variable {
            Value::List(list) => Arc::make_mut(list).extend(values),
            _ => is_list = false,
        });
        if !found {
            return Err(undeclared(name));
        }
        if is_list { Ok(()) } else { Err(format!("push: {name} is not a list").into()) }
    }

    fn evaluate(&mut self, expression: &'p Expression, scope: &Scope<'_, 'p>) -> Outcome<Value> {
        match expression {
            Expression::Literal(value) => Ok(value.clone()),
            Expression::Path(path) => scope.lookup(path).map_err(Into::into),
            Expression::Call(call) => self.call(call, scope),
        }
    }

    /// The value of an expression that must be there.
    fn argument(&mut self, expression: &'p Expression, scope: &Scope<'_, 'p>) -> Outcome<Value> {
        match self.evaluate(expression, scope)? {
            Value::Missing => Err(missing(expression, scope, "")),
            value => Ok(value),
        }
    }

    fn named(
        &mut self,
        values: &'p [(Arc<str>, Expression)],
        scope: &Scope<'_, 'p>,
    ) -> Outcome<Vec<(Arc<str>, Value)>> {
        values.iter().map(|(name, e)| Ok((name.clone(), self.argument(e, scope)?))).collect()
    }

    fn call(&mut self, call: &'p Call, scope: &Scope<'_, 'p>) -> Outcome<Value> {
        let mut arguments = Vec::with_capacity(call.arguments.len());
        for (i, expression) in call.arguments.iter().enumerate() {
            let value = self.evaluate(expression, scope)?;
            if matches!(value, Value::Missing) && !call.function.accepts_missing(i) {
                let mut failure = missing(expression, scope, "");
                failure.message = format!("{}: {}", call.function.name, failure.message);
                if failure.help.as_deref().is_none_or(str::is_empty) {
                    failure.help = Some("Write (default … \"value\") around it if it may be absent".into());
                }
                return Err(failure);
            }
            arguments.push(value);
        }
        let named = self.named(&call.named, scope)?;
        let value = call.function.call(arguments, &named, &self.session)?;
        self.output.hold(self.session.take_held());
        if self.session.made(value.own_bytes()) > self.limits.values {
            let message = format!("functions made more than {} bytes of values for it", self.limits.values);
            let failure =
                Failure::with_help(message, "Look for a loop that computes too much, or raise the limit");
            return Err(Box::new(Failure { limit: Some(Limit::ValueBytes), ..*failure }));
        }
        match &value {
            Value::Text(text) | Value::Secret(text) if text.len() > self.limits.output => {
                Err(format!("{}: the result is longer than {} bytes", call.function.name, self.limits.output)
                    .into())
            }
            Value::List(list) if list.len() > functions::LONGEST_LIST => Err(format!(
                "{}: the result has more than {} items",
                call.function.name,
                functions::LONGEST_LIST
            )
            .into()),
            _ => Ok(value),
        }
    }
}

fn undeclared(name: &str) -> Box<Failure> {
    Failure::with_help(
        format!("there is no variable {name:?} here"),
        format!("Declare it in this block or one around it: {{{{let {name}=…}}}}"),
    )
}

fn unprintable(value: &Value, expression: &Expression, scope: &Scope<'_, '_>) -> Box<Failure> {
    let source = expression.source();
    match value {
        Value::Missing => missing(expression, scope, ""),
        Value::Null => Failure::with_help(
            format!("{source} is null, which prints nothing"),
            format!("Write {{{{default {source} \"value\"}}}} if it may be null"),
        ),
        other => Failure::with_help(
            format!("{source} is {}, which cannot be printed as text", other.describe()),
            "Print one of its fields, or its JSON with {{json …}}",
        ),
    }
}

/// Says how far a path leads, and what could be meant.
fn missing(expression: &Expression, scope: &Scope<'_, '_>, help: &str) -> Box<Failure> {
    let Expression::Path(path) = expression else {
        return Failure::with_help(format!("{} gives nothing", expression.source()), help);
    };
    let raw = &path.raw;
    let Some((last, before)) = path.keys.split_last() else {
        return Failure::with_help(format!("{raw} is missing"), help);
    };
    if path.start == Start::Name && before.is_empty() {
        let names = scope.names();
        let hint = did_you_mean(last, names.iter().map(|n| &**n));
        let help = if scope.root_has(last) {
            format!("Inside a block, names at the top of the context are reached as @root.{raw}")
        } else {
            help.to_owned()
        };
        return Failure::with_help(format!("{raw} is missing{hint}"), help);
    }
    // The first key that leads nowhere.
    for length in 0..path.keys.len() {
        let (Some(known), Some(next)) = (path.keys.get(..length), path.keys.get(length)) else { break };
        let prefix = Path { raw: raw.clone(), start: path.start.clone(), keys: known.to_vec() };
        let Ok(value) = scope.lookup(&prefix) else { break };
        if value.field(next).ok().flatten().is_some() || (length == 0 && scope.named(next).is_some()) {
            continue;
        }
        let what = if length == 0 {
            "the value here".to_owned()
        } else {
            known.iter().map(|k| &**k).collect::<Vec<_>>().join(".")
        };
        let hint = match value.as_dict() {
            Ok(Some(dict)) => did_you_mean(next, dict.iter().map(|(k, _)| &**k)),
            _ => String::new(),
        };
        let help = if path.start == Start::Name && length == 0 && scope.root_has(next) {
            format!("Inside a block, names at the top of the context are reached as @root.{raw}")
        } else {
            help.to_owned()
        };
        return Failure::with_help(
            format!("{raw} is missing: {what} is {}, without {next:?}{hint}", value.describe()),
            help,
        );
    }
    Failure::with_help(format!("{raw} is missing"), help)
}
